// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/conn_queue.c, with the worker of conn_work.c: ordered
 * queues of connections in start-up. The state machine is a stub.
 */
#include <kunit/test.h>
#include <linux/once.h>
#include <linux/sched.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/mpa/internal.h"

#define CROWD	40
#define TURNS	16	/* connections handled by one run of the worker */

static struct {
	struct mpa_conn		c[CROWD];
	struct work_struct	*queued;
	const struct mpa_conn	*order[CROWD];	/* connections in the order of handling */
	u32			handled;
	bool			again;	/* handling a connection raises another event for it */
} stubs;

static struct task_struct process;
struct task_struct *current = &process;
u32 host_rescheds;
unsigned long jiffies;

bool host_queue_work(struct work_struct *w)
{
	if (stubs.queued)
		return false;
	stubs.queued = w;
	return true;
}

/* Run the worker once. Return: the number of connections handled. */
static u32 run_worker_once(void)
{
	struct work_struct *w = stubs.queued;
	u32 before = stubs.handled;

	stubs.queued = NULL;
	if (w)
		w->func(w);
	return stubs.handled - before;
}

bool mpa_conn_handle_events(struct mpa_conn *c, unsigned long events)
{
	stubs.order[stubs.handled++] = c;
	if (!stubs.again)
		return false;
	ddp_session_get(&c->ss);
	if (!mpa_connq_add(c))
		ddp_session_put(&c->ss);
	return false;
}

bool mpa_conn_trylock(struct mpa_conn *c)
{
	return mutex_trylock(&c->mutex);
}

void mpa_conn_unlock(struct mpa_conn *c)
{
	mutex_unlock(&c->mutex);
}

bool mpa_conn_has_events(const struct mpa_conn *c)
{
	return false;
}

/* Not called by these tests */
void mpa_conn_arm_timer_if_earlier(struct mpa_conn *c, unsigned long delay) {}
void mpa_conn_tear_down(struct mpa_conn *c, enum iw_reason why, const struct ddp_offer *o) {}

static void fail_on_release(struct kref *ref)
{
	WARN_ON(true);
}

static const struct ddp_session_type type = { .release = fail_on_release };

static int test_init(struct kunit *test)
{
	int i;

	memset(&stubs, 0, sizeof(stubs));
	process.tgid = 7;
	for (i = 0; i < CROWD; i++) {
		stubs.c[i].ss.type = &type;
		kref_init(&stubs.c[i].ss.ref);
		INIT_LIST_HEAD(&stubs.c[i].connq_entry);
		stubs.c[i].phase = MPA_STARTUP;
	}
	return 0;
}

static bool add_conn(int i)
{
	ddp_session_get(&stubs.c[i].ss);
	return mpa_connq_add(&stubs.c[i]);
}

/* Assign @n connections to one queue */
static void assign_conns_to_queue(int n)
{
	int i;

	for (i = 0; i < n; i++)
		stubs.c[i].connq = mpa_connq_get(NULL, mpa_connq_work);
}

static void test_exit(struct kunit *test)
{
	int i;

	while (stubs.queued)
		run_worker_once();
	for (i = 0; i < CROWD; i++) {
		KUNIT_EXPECT_EQ(test, 1, stubs.c[i].ss.ref.refs);
		mpa_connq_put(stubs.c[i].connq);
	}
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
}

/* Connections are handled in the order of their events, each once */
static void conns_are_handled_in_event_order(struct kunit *test)
{
	assign_conns_to_queue(3);
	KUNIT_EXPECT_TRUE(test, add_conn(2));
	KUNIT_EXPECT_TRUE(test, add_conn(0));
	KUNIT_EXPECT_TRUE(test, mpa_connq_has_pending_conn(stubs.c[0].connq));
	KUNIT_EXPECT_FALSE(test, add_conn(2));
	ddp_session_put(&stubs.c[2].ss);
	KUNIT_EXPECT_EQ(test, 2u, run_worker_once());
	KUNIT_EXPECT_PTR_EQ(test, &stubs.c[2], stubs.order[0]);
	KUNIT_EXPECT_PTR_EQ(test, &stubs.c[0], stubs.order[1]);
	KUNIT_EXPECT_NULL(test, stubs.queued);
	KUNIT_EXPECT_FALSE(test, mpa_connq_has_pending_conn(stubs.c[0].connq));
	KUNIT_EXPECT_TRUE(test, add_conn(2));
	KUNIT_EXPECT_EQ(test, 1u, run_worker_once());
}

/* A long queue is handled in several runs of the worker */
static void long_queue_takes_several_runs(struct kunit *test)
{
	int i;

	assign_conns_to_queue(CROWD);
	for (i = 0; i < CROWD; i++)
		add_conn(i);
	host_rescheds = 0;
	for (i = 0; i < CROWD / TURNS; i++)
		KUNIT_EXPECT_EQ(test, (u32)TURNS, run_worker_once());
	KUNIT_EXPECT_EQ(test, (u32)CROWD / TURNS * TURNS, host_rescheds);
	KUNIT_EXPECT_EQ(test, (u32)CROWD % TURNS, run_worker_once());
	KUNIT_EXPECT_NULL(test, stubs.queued);
}

/* A connection that always has new events must not block other connections */
static void busy_conn_does_not_block_others(struct kunit *test)
{
	assign_conns_to_queue(2);
	add_conn(0);
	add_conn(1);
	stubs.again = true;
	KUNIT_EXPECT_EQ(test, (u32)TURNS, run_worker_once());
	KUNIT_EXPECT_PTR_EQ(test, &stubs.c[0], stubs.order[2]);
	stubs.again = false;
	KUNIT_EXPECT_EQ(test, 2u, run_worker_once());
}

/* Each process and each listener has its own queue; the hash of queues has a random seed */
static void each_process_and_listener_has_own_queue(struct kunit *test)
{
	int seeds = host_seeds;
	struct mpa_connq *ours = mpa_connq_get(NULL, mpa_connq_work);
	struct mpa_connq *same = mpa_connq_get(NULL, mpa_connq_work);
	struct mpa_connq *at = mpa_connq_get(&stubs, mpa_connq_work);
	struct mpa_connq *there = mpa_connq_get(&process, mpa_connq_work), *other;

	KUNIT_EXPECT_GT(test, host_seeds, seeds);
	process.tgid = 8;
	other = mpa_connq_get(NULL, mpa_connq_work);
	KUNIT_EXPECT_PTR_EQ(test, ours, same);
	KUNIT_EXPECT_TRUE(test, ours != at && ours != other && at != other);
	KUNIT_EXPECT_TRUE(test, at != there);
	same = mpa_connq_get(&stubs, mpa_connq_work);
	KUNIT_EXPECT_PTR_EQ(test, at, same);
	mpa_connq_put(at);
	mpa_connq_put(same);
	mpa_connq_put(there);
	mpa_connq_put(ours);
	mpa_connq_put(ours);
	mpa_connq_put(other);
	mpa_connq_put(NULL);
}

static struct kunit_case mpa_connq_cases[] = {
	KUNIT_CASE(conns_are_handled_in_event_order),
	KUNIT_CASE(long_queue_takes_several_runs),
	KUNIT_CASE(busy_conn_does_not_block_others),
	KUNIT_CASE(each_process_and_listener_has_own_queue),
	{}
};

static struct kunit_suite mpa_connq_suite = {
	.name = "mpa_conn_queue",
	.init = test_init,
	.exit = test_exit,
	.test_cases = mpa_connq_cases,
};

kunit_test_suite(mpa_connq_suite);
