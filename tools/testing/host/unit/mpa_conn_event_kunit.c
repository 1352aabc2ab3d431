// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/conn_event.c and conn_work.c, with conn.c: when the
 * worker runs for a connection. Socket and listener are stubs.
 */
#include <linux/slab.h>

#include "mpa_conn.h"

/*
 * Setting a later deadline does not restart the timer. When the timer expires
 * before the deadline, the worker starts it for the remaining time.
 */
static void later_deadline_keeps_timer(struct kunit *test)
{
	struct mpa_conn *c = open_passive_conn();

	KUNIT_EXPECT_EQ(test, 10ul * HZ, stubs.delay);
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.requests);
	KUNIT_EXPECT_EQ(test, 1u, stubs.armed);
	jiffies += 10 * HZ;
	mpa_conn_set_event(c, MPA_EV_TIMEOUT);
	run_worker(c);
	KUNIT_EXPECT_EQ(test, 2u, stubs.armed);
	KUNIT_EXPECT_EQ(test, (DDP_ANSWER_TIMEOUT - 10ul) * HZ, stubs.delay);
	/* without a deadline the timer stops; a new deadline starts it */
	mpa_conn_lock(c);
	mpa_conn_set_deadline(c, 0);
	KUNIT_EXPECT_EQ(test, 1u, stubs.disarmed);
	mpa_conn_unlock(c);
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, 2u, stubs.armed);
	mpa_conn_lock(c);
	mpa_conn_set_deadline(c, DDP_ANSWER_TIMEOUT);
	KUNIT_EXPECT_EQ(test, 3u, stubs.armed);
	mpa_conn_arm_timer_if_earlier(c, HZ);
	KUNIT_EXPECT_EQ(test, 4u, stubs.armed);
	KUNIT_EXPECT_EQ(test, 1ul * HZ, stubs.delay);
	mpa_conn_unlock(c);
	/* the timer function only sets an event */
	c->timer.work.func(&c->timer.work);
	KUNIT_EXPECT_EQ(test, 1ul << MPA_EV_TIMEOUT, c->events);
}

/*
 * Events raised by a pass are handled by further passes of the same run of the
 * worker, up to a limit
 */
static void worker_repeats_passes_up_to_limit(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(0);

	stubs.queued = 0;
	stubs.events = 2;
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, 3u, stubs.received);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	stubs.events = 100;
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, 3u + 4, stubs.received);
	KUNIT_EXPECT_EQ(test, 3u, stubs.queued);
	/*
	 * a worker that serves only one connection makes up to 4 passes, even if
	 * other connections wait in the ordered queue
	 */
	stubs.others = true;
	run_worker(c);
	KUNIT_EXPECT_EQ(test, 7u + 4, stubs.received);
	KUNIT_EXPECT_EQ(test, 4u, stubs.queued);
	/* if a pass has much to transmit, the worker makes no further pass in this run */
	mpa_conn_set_event(c, MPA_EV_TX);
	run_worker(c);
	KUNIT_EXPECT_EQ(test, 12u, stubs.received);
	KUNIT_EXPECT_EQ(test, 1u, stubs.full_passes);
	KUNIT_EXPECT_EQ(test, 6u, stubs.queued);
	/*
	 * a connection with data left to receive gets another run even after
	 * its deadline, but only for a limited time
	 */
	stubs.events = 0;
	stubs.more = true;
	c->has_deadline = true;
	c->deadline = jiffies;
	run_worker(c);
	KUNIT_EXPECT_EQ(test, 13u, stubs.received);
	KUNIT_EXPECT_EQ(test, 7u, stubs.queued);
	KUNIT_EXPECT_EQ(test, 1u, stubs.armed);
	jiffies += MPA_DEADLINE_CLOSE * HZ - 1;
	run_worker(c);
	expect_reports(test, 0, 0, 0, IW_OK);
	jiffies++;
	run_worker(c);
	expect_reports(test, 0, 0, 1, IW_TIMEOUT);
}

/* A queued work item has one reference to the connection */
static void queued_work_holds_one_ref(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(0);
	int refs = c->ss.ref.refs;

	stubs.keep_work = true;
	mpa_conn_set_event(c, MPA_EV_RX);
	KUNIT_EXPECT_EQ(test, refs + 1, c->ss.ref.refs);
	mpa_conn_set_event(c, MPA_EV_STATE);
	KUNIT_EXPECT_EQ(test, refs + 1, c->ss.ref.refs);
	KUNIT_EXPECT_EQ(test, 0u, stubs.connq_queued);
	stubs.work->func(stubs.work);
	KUNIT_EXPECT_EQ(test, 1u, stubs.received);
	KUNIT_EXPECT_EQ(test, refs, c->ss.ref.refs);
}

/* Open an active connection whose Reply has arrived */
static struct mpa_conn *open_conn_with_reply(struct kunit *test)
{
	static const char key[] = "MPA ID Rep Frame\x40\x01";
	static const struct ddp_offer offer;
	static int stream;
	struct mpa_conn *c = open_passive_conn();

	memcpy(stubs.octets, key, sizeof(key) - 1);
	stubs.takes = INT_MAX;
	c->su = kzalloc(sizeof(*c->su), GFP_KERNEL);
	c->conn_req.listener = NULL;
	c->reported = true;
	c->bound_stream = (void *)&stream;
	mpa_startup_init(c->su, true, 1, true, false);
	KUNIT_EXPECT_EQ(test, 0, mpa_startup_set_offer(c->su, &offer));
	return c;
}

/*
 * When a connection reaches Full Operation, its first receive pass follows in
 * the same run of the worker, unless other connections wait in the ordered queue
 */
static void first_rx_pass_follows_startup(struct kunit *test)
{
	struct mpa_conn *c = open_conn_with_reply(test);

	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, MPA_FULL, c->phase);
	KUNIT_EXPECT_EQ(test, 1u, stubs.received);
	KUNIT_EXPECT_EQ(test, 1u, stubs.connq_queued);
	KUNIT_EXPECT_EQ(test, 0u, stubs.queued);

	c = open_conn_with_reply(test);
	c->phase = MPA_CONNECTING;
	stubs.others = true;
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, MPA_FULL, c->phase);
	KUNIT_EXPECT_EQ(test, 0u, stubs.received);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	run_worker(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.received);
}

/* If the ULP has bound no stream in the established upcall, the connection is torn down */
static void conn_without_stream_is_torn_down(struct kunit *test)
{
	struct mpa_conn *c = open_conn_with_reply(test);

	c->bound_stream = NULL;
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, MPA_ENDED, c->phase);
	KUNIT_EXPECT_EQ(test, IW_LOCAL_ABORT, stubs.why);
	KUNIT_EXPECT_EQ(test, 0u, stubs.received);
	/* the driver frees this with the connection, which this test does not free */
	kfree(c->su);
}

/* A worker that finds the mutex held is queued again when the mutex is released */
static void run_worker_with_mutex_held(struct mpa_conn *c)
{
	stubs.unlocked = NULL;
	c->mutex.held++;
	set_state_event_and_run_worker(c);
	c->mutex.held--;
}

static void held_mutex_postpones_events(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(0);

	mpa_conn_lock(c);
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, 0u, stubs.received);
	KUNIT_EXPECT_EQ(test, 0u, stubs.queued);
	mpa_conn_unlock(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	run_worker(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.received);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	/* the worker runs, and finds the mutex held, just before the mutex is released */
	stubs.unlocked = run_worker_with_mutex_held;
	mpa_conn_lock(c);
	mpa_conn_unlock(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.received);
	KUNIT_EXPECT_EQ(test, 3u, stubs.queued);
	run_worker(c);
	/* unbinding the stream queues the end of the connection */
	ddp_session_get(&c->ss);
	mpa_conn_unbind(c);
	KUNIT_EXPECT_EQ(test, 4u, stubs.queued);
	run_worker(c);
	expect_reports(test, 0, 0, 1, IW_LOCAL_ABORT);
	/* a connection that has ended is not queued again, whatever events it gets */
	mpa_conn_set_event(c, MPA_EV_RX);
	c->events = 1ul << MPA_EV_ABORT;
	run_worker(c);
	expect_reports(test, 0, 0, 1, IW_LOCAL_ABORT);
	KUNIT_EXPECT_EQ(test, 4u, stubs.queued);
}

/*
 * An event does not queue a connection that is still being created. If an event has been set
 * meanwhile, the connection is queued when it is unlocked after mpa_conn_enter_first_phase().
 */
static void new_conn_is_queued_at_unlock(struct kunit *test)
{
	struct mpa_conn *c = open_passive_conn();

	KUNIT_EXPECT_EQ(test, 0u, stubs.connq_queued);
	c->phase = MPA_NEW;
	mpa_conn_init(c);
	mpa_conn_set_event(c, MPA_EV_STATE);
	/* if a worker runs for the connection nevertheless, the worker does nothing */
	run_worker(c);
	KUNIT_EXPECT_EQ(test, 0u, stubs.connq_queued);
	mpa_conn_lock(c);
	mpa_conn_enter_first_phase(c);
	KUNIT_EXPECT_EQ(test, 0u, stubs.connq_queued);
	mpa_conn_unlock(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.connq_queued);
	KUNIT_EXPECT_EQ(test, 0u, stubs.queued);
}

static struct kunit_case mpa_turn_cases[] = {
	KUNIT_CASE(later_deadline_keeps_timer),
	KUNIT_CASE(worker_repeats_passes_up_to_limit),
	KUNIT_CASE(queued_work_holds_one_ref),
	KUNIT_CASE(first_rx_pass_follows_startup),
	KUNIT_CASE(conn_without_stream_is_torn_down),
	KUNIT_CASE(held_mutex_postpones_events),
	KUNIT_CASE(new_conn_is_queued_at_unlock),
	{}
};

static struct kunit_suite mpa_conn_event_suite = {
	.name = "mpa_conn_event",
	.test_cases = mpa_turn_cases,
};

kunit_test_suite(mpa_conn_event_suite);
