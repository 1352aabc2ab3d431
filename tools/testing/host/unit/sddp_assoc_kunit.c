// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/assoc{,_idle,_work}.c: the worker of an
 * association, and when the association ends. The socket is a stub.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "sddp_assoc.h"

/* Cases ------------------------------------------------------------------------- */

bool run_worker(void)
{
	sddp_assoc_kick(stubs.a);
	stubs.queued = false;
	stubs.a->work.func(&stubs.a->work);
	return stubs.queued;
}

int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	jiffies = 1;
	stubs.a = sddp_assoc_new(&stubs.net, &stubs.owner, sddp_assoc_work);
	stubs.sock_state = SDDP_SOCK_OPEN;
	sddp_assoc_get(stubs.a);
	run_worker();
	KUNIT_EXPECT_EQ(test, (int)SDDP_UP, (int)stubs.a->phase);
	KUNIT_EXPECT_EQ(test, 1u, stubs.received);
	return 0;
}

static void expect_assoc_up(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)SDDP_UP, (int)stubs.a->phase);
	KUNIT_EXPECT_EQ(test, 0u, stubs.released);
}

void expect_assoc_ended(struct kunit *test, enum iw_reason why, bool abort)
{
	KUNIT_EXPECT_EQ(test, (int)SDDP_ENDED, (int)stubs.a->phase);
	KUNIT_EXPECT_EQ(test, (int)why, (int)stubs.a->why);
	KUNIT_EXPECT_EQ(test, 1u, stubs.released);
	KUNIT_EXPECT_EQ(test, (u32)!abort, stubs.shutdowns);
}

void test_exit(struct kunit *test)
{
	if (stubs.queued)	/* drop the reference of the work item */
		sddp_assoc_put(stubs.a);
	sddp_assoc_put(stubs.a);
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
	KUNIT_EXPECT_EQ(test, 0, stubs.net.held);
}

/* All received data is processed before the association ends */
static void data_is_processed_before_end(struct kunit *test)
{
	stubs.sock_state = SDDP_SOCK_LOST;
	stubs.more = 1;
	KUNIT_EXPECT_TRUE(test, run_worker());
	expect_assoc_up(test);
	stubs.more = 0;
	run_worker();
	expect_assoc_ended(test, IW_PEER_RESET, true);
}

/*
 * After a loss nothing is sent: the peer may have restarted and would receive
 * data of another association
 */
static void lost_assoc_sends_nothing(struct kunit *test)
{
	u32 sent = stubs.sent, acks = stubs.acks;

	stubs.again = true;
	stubs.sock_state = SDDP_SOCK_LOST;
	stubs.more = 1;
	KUNIT_EXPECT_TRUE(test, run_worker());
	expect_assoc_up(test);
	KUNIT_EXPECT_EQ(test, sent, stubs.sent);
	KUNIT_EXPECT_EQ(test, acks, stubs.acks);
	stubs.more = 0;
	run_worker();
	expect_assoc_ended(test, IW_PEER_RESET, true);
	KUNIT_EXPECT_EQ(test, sent, stubs.sent);
}

/*
 * A lost association sends nothing and ends without delay, even if one of its
 * streams is deferred
 */
static void lost_assoc_drops_deferred_segment(struct kunit *test)
{
	stubs.a->deferred = 1;
	stubs.sock_state = SDDP_SOCK_LOST;
	stubs.more = 1;
	KUNIT_EXPECT_TRUE(test, run_worker());
	expect_assoc_up(test);
	stubs.more = 0;
	run_worker();
	expect_assoc_ended(test, IW_PEER_RESET, true);
}

/*
 * If a stream is deferred, a lost association ends without delay, even if there
 * is no memory to receive the remaining data
 */
static void lost_assoc_ends_without_memory(struct kunit *test)
{
	stubs.a->deferred = 1;
	stubs.sock_state = SDDP_SOCK_LOST;
	stubs.more = -ENOMEM;
	run_worker();
	expect_assoc_ended(test, IW_PEER_RESET, true);
}

/* If no stream is deferred, the end waits for memory to receive the remaining data */
static void end_waits_for_memory(struct kunit *test)
{
	stubs.sock_state = SDDP_SOCK_LOST;
	stubs.more = -ENOMEM;
	KUNIT_EXPECT_FALSE(test, run_worker());
	expect_assoc_up(test);
	KUNIT_EXPECT_TRUE(test, stubs.waits);
	KUNIT_EXPECT_EQ(test, jiffies + 10, stubs.due);
	stubs.more = 0;
	run_worker();
	expect_assoc_ended(test, IW_PEER_RESET, true);
}

/*
 * After a SHUTDOWN from the peer, a deferred segment must be processed before the association ends
 */
static void deferred_segment_is_processed_after_shutdown(struct kunit *test)
{
	stubs.a->deferred = 1;
	stubs.sock_state = SDDP_SOCK_PEER_DONE;
	KUNIT_EXPECT_FALSE(test, run_worker());
	expect_assoc_up(test);
	stubs.a->deferred = 0;
	run_worker();
	expect_assoc_ended(test, IW_PEER_CLOSED, false);
}

/*
 * After a SHUTDOWN from the peer, only the session with a deferred segment stays.
 * The other sessions must end, and no new session may use the association.
 */
static void shutdown_ends_other_sessions(struct kunit *test)
{
	static struct sddp_stream waits = { .id = 1, .deferred = true }, other = { .id = 2 };

	xa_store(&stubs.a->streams, 1, &waits, GFP_KERNEL);
	xa_store(&stubs.a->streams, 2, &other, GFP_KERNEL);
	stubs.a->deferred = 1;
	run_worker();
	stubs.sock_state = SDDP_SOCK_PEER_DONE;
	/* the association does not end before received data has been processed */
	stubs.more = -ENOMEM;
	run_worker();
	KUNIT_EXPECT_EQ(test, 0u, stubs.ended);
	KUNIT_EXPECT_EQ(test, 1u, stubs.unhashed);
	stubs.more = 0;
	run_worker();
	expect_assoc_up(test);
	KUNIT_EXPECT_EQ(test, 1u, stubs.ended);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&waits, xa_load(&stubs.a->streams, 1));
	KUNIT_EXPECT_NULL(test, xa_load(&stubs.a->streams, 2));
	stubs.a->deferred = 0;
	run_worker();
	expect_assoc_ended(test, IW_PEER_CLOSED, false);
	KUNIT_EXPECT_EQ(test, 2u, stubs.ended);
}

/* An association that always has more to send can still end */
static void sending_assoc_can_end(struct kunit *test)
{
	stubs.again = true;
	KUNIT_EXPECT_TRUE(test, run_worker());
	expect_assoc_up(test);
	stubs.sock_state = SDDP_SOCK_LOST;
	run_worker();
	expect_assoc_ended(test, IW_PEER_RESET, true);
}

/*
 * After a SHUTDOWN of the peer the association ends as soon as all received data is processed, even
 * if there is data to send: the peer would not accept it
 */
static void shutdown_ends_sending_assoc(struct kunit *test)
{
	stubs.again = true;
	stubs.sock_state = SDDP_SOCK_PEER_DONE;
	stubs.more = 1;
	KUNIT_EXPECT_TRUE(test, run_worker());
	expect_assoc_up(test);
	stubs.more = 0;
	run_worker();
	expect_assoc_ended(test, IW_PEER_CLOSED, false);
}

/* Let time pass until @then, with an event for the worker every @each ms */
static void advance_time_until(unsigned long then, u32 each)
{
	struct work_struct *w = &stubs.a->retry.work;

	for (; jiffies != then; jiffies++) {
		if (stubs.waits && jiffies == stubs.due) {
			stubs.waits = false;
			w->func(w);
			run_worker();
		}
		if (jiffies % each == 0)
			run_worker();
	}
}

/* A deferred session and events for the worker do not postpone the next attempt to send */
static void deferred_session_does_not_delay_sending(struct kunit *test)
{
	stubs.a->deferred = 1;
	stubs.more = -ENOMEM;
	stubs.no_memory = true;
	stubs.sent = 0;
	advance_time_until(jiffies + 5000, 400);
	KUNIT_EXPECT_EQ(test, 0u, stubs.sent);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(stubs.a->sndbuf_full));
	stubs.no_memory = false;
	advance_time_until(jiffies + 1000, 400);
	KUNIT_EXPECT_GT(test, stubs.sent, 0u);
	WRITE_ONCE(stubs.a->stop, true);
	run_worker();
}

/* The next attempt to receive is made after 10 ms, even if the next attempt to send is later */
static void earlier_retry_time_is_used(struct kunit *test)
{
	stubs.no_memory = true;
	run_worker();
	KUNIT_EXPECT_EQ(test, jiffies + 500, stubs.due);
	stubs.more = -ENOMEM;
	run_worker();
	KUNIT_EXPECT_EQ(test, jiffies + 10, stubs.due);
	/* the delay grows when the timer expires, not with each run of the worker */
	run_worker();
	KUNIT_EXPECT_EQ(test, 10u, stubs.a->retry_delay);
	advance_time_until(jiffies + 11, 1000000);
	KUNIT_EXPECT_EQ(test, 20u, stubs.a->retry_delay);
	WRITE_ONCE(stubs.a->stop, true);
	run_worker();
}

/*
 * If an association ends while it is being accepted, it stays allocated until
 * sddp_assoc_set_up_passive() is done
 */
static void assoc_that_ends_in_accept_stays_allocated(struct kunit *test)
{
	struct sddp_assoc *a = sddp_assoc_new(&stubs.net, NULL, sddp_assoc_work);
	int both = host_allocations;

	stubs.locks_at_once = true;
	KUNIT_EXPECT_EQ(test, 0, sddp_assoc_set_up_passive(a));
	KUNIT_EXPECT_EQ(test, 1u, stubs.released);
	KUNIT_EXPECT_EQ(test, both, stubs.left);
	KUNIT_EXPECT_EQ(test, both - 1, host_allocations);
	/* end the association of the fixture */
	WRITE_ONCE(stubs.a->stop, true);
	run_worker();
}

/* If an association is unusable, accepting it fails, and the listener counts the reason */
static void unusable_assoc_is_refused(struct kunit *test)
{
	struct sddp_assoc *a = sddp_assoc_new(&stubs.net, NULL, sddp_assoc_work);

	stubs.wrong = IW_SCTP_ADDRESSES;
	KUNIT_EXPECT_EQ(test, -EPROTO, sddp_assoc_set_up_passive(a));
	KUNIT_EXPECT_EQ(test, (int)IW_SCTP_ADDRESSES, (int)stubs.refused);
	stubs.refused = IW_OK;
	stubs.wrong = IW_PEER_RESET;
	KUNIT_EXPECT_EQ(test, -EPROTO, sddp_assoc_set_up_passive(a));
	KUNIT_EXPECT_EQ(test, (int)IW_OK, (int)stubs.refused);
	KUNIT_EXPECT_FALSE(test, stubs.queued);
	sddp_assoc_put(a);
	stubs.wrong = IW_SCTP_ADDRESSES;
	stubs.a->phase = SDDP_CONNECTING;
	run_worker();
	expect_assoc_ended(test, IW_SCTP_ADDRESSES, true);
}

/* When an association may end ------------------------------------------------------ */

static struct sddp_stream unasked, asked = { .reported = true },
	accepted_one = { .reported = true, .accepted = true },
	ours = { .reported = true, .s.active = true };

/* Replace the fixture's association with a passive one */
static void replace_with_passive_assoc(void)
{
	WRITE_ONCE(stubs.a->stop, true);
	run_worker();
	sddp_assoc_put(stubs.a);
	stubs.a = sddp_assoc_new(&stubs.net, NULL, sddp_assoc_work);
	sddp_assoc_get(stubs.a);
	sddp_assoc_set_up_passive(stubs.a);
	run_worker();
	stubs.released = 0;
	stubs.shutdowns = 0;
	stubs.rejoined = 0;
}

static void add_session(const struct sddp_stream *st)
{
	atomic_inc(&stubs.a->live);
	stubs.a->accepted_sessions += st->accepted;
	stubs.a->peer_accepted |= st->accepted && !stubs.a->active;
}

static void end_session(const struct sddp_stream *st)
{
	sddp_assoc_account_session_end(stubs.a, st);
	if (stubs.queued || stubs.a->idle_due)
		run_worker();
}

static void open_and_end_session(const struct sddp_stream *st)
{
	add_session(st);
	end_session(st);
}

static bool is_assoc_up(void)
{
	return stubs.a->phase == SDDP_UP;
}

void advance_ms(u32 ms)
{
	while (ms--) {
		jiffies++;
		if (!stubs.armed || jiffies < stubs.idle_timeout)
			continue;
		stubs.armed = false;
		stubs.a->idle.work.func(&stubs.a->idle.work);
		/* run_worker() drops the reference of the timer */
		run_worker();
		while (stubs.queued)
			run_worker();
	}
}

/* Expect that the association ends after exactly @seconds */
static void expect_end_after_seconds(struct kunit *test, u32 seconds)
{
	advance_ms(seconds * 1000 - 1);
	KUNIT_EXPECT_TRUE(test, is_assoc_up());
	advance_ms(1);
	KUNIT_EXPECT_FALSE(test, is_assoc_up());
	expect_assoc_ended(test, IW_LOCAL_CLOSE, !stubs.a->active);
}

/* An association without any session ends after 10 s */
static void assoc_without_session_ends(struct kunit *test)
{
	replace_with_passive_assoc();
	expect_end_after_seconds(test, 10);
}

/* If an evicted association gets a session before it ends, it does not end */
static void session_cancels_eviction(struct kunit *test)
{
	replace_with_passive_assoc();
	stubs.at_limit = true;
	add_session(&asked);
	sddp_assoc_account_session_end(stubs.a, &asked);
	stubs.comes = true;
	run_worker();
	expect_assoc_up(test);
	end_session(&asked);
	expect_assoc_ended(test, IW_LOCAL_CLOSE, true);
}

/* An evicted association that has violated the protocol ends even if it gets a session */
static void violating_assoc_with_session_is_evicted(struct kunit *test)
{
	replace_with_passive_assoc();
	stubs.at_limit = true;
	add_session(&asked);
	stubs.a->end_reason = IW_SCTP_SEQUENCE;
	sddp_assoc_account_session_end(stubs.a, &asked);
	stubs.comes = true;
	run_worker();
	expect_assoc_ended(test, IW_SCTP_SEQUENCE, true);
}

/*
 * 10 s after the end of its last accepted session an association counts as
 * unaccepted again, and after 60 s it ends
 */
static void idle_assoc_becomes_unaccepted(struct kunit *test)
{
	replace_with_passive_assoc();
	open_and_end_session(&accepted_one);
	stubs.a->violations = 7;
	advance_ms(9999);
	KUNIT_EXPECT_EQ(test, 0u, stubs.shrunk + stubs.rejoined);
	advance_ms(1);
	KUNIT_EXPECT_EQ(test, 1u, stubs.shrunk);
	KUNIT_EXPECT_EQ(test, 1u, stubs.rejoined);
	KUNIT_EXPECT_TRUE(test, !stubs.a->peer_accepted && !stubs.a->violations);
	expect_end_after_seconds(test, 50);
}

/* Requests that are not reported to a program do not extend the idle timeout of 60 s */
static void unreported_requests_keep_idle_timeout(struct kunit *test)
{
	int n;

	replace_with_passive_assoc();
	open_and_end_session(&accepted_one);
	for (n = 0; n < 11; n++) {
		advance_ms(5000);
		open_and_end_session(&unasked);
	}
	KUNIT_EXPECT_FALSE(test, stubs.a->peer_accepted);
	expect_end_after_seconds(test, 5);
}

/*
 * After a program has rejected a request, the association ends after 10 s, like a new association,
 * or after the rest of the 60 s, if that is longer
 */
static void rejected_request_keeps_timeout(struct kunit *test)
{
	replace_with_passive_assoc();
	advance_ms(5000);
	add_session(&asked);
	advance_ms(100000);
	KUNIT_EXPECT_TRUE(test, is_assoc_up());
	end_session(&asked);
	KUNIT_EXPECT_EQ(test, 1u, stubs.rejoined);
	advance_ms(5000);
	open_and_end_session(&accepted_one);
	open_and_end_session(&asked);
	expect_end_after_seconds(test, 60);
}

/*
 * If another session is accepted before the end, both idle timeouts start again after that session
 */
static void next_session_restarts_timeouts(struct kunit *test)
{
	static const u32 after[] = { 9999, 10000, 59999 };
	int n;

	replace_with_passive_assoc();
	open_and_end_session(&accepted_one);
	for (n = 0; n < ARRAY_SIZE(after); n++) {
		advance_ms(after[n]);
		add_session(&accepted_one);
		advance_ms(100000);
		KUNIT_EXPECT_TRUE(test, stubs.a->peer_accepted);
		end_session(&accepted_one);
	}
	KUNIT_EXPECT_EQ(test, 2u, stubs.shrunk);
	expect_end_after_seconds(test, 60);
}

/* The association does not end while a request is pending, which may be accepted later */
static void pending_request_keeps_assoc(struct kunit *test)
{
	replace_with_passive_assoc();
	open_and_end_session(&accepted_one);
	advance_ms(59999);
	add_session(&asked);
	advance_ms(60000);
	KUNIT_EXPECT_TRUE(test, is_assoc_up());
	stubs.a->accepted_sessions++;
	stubs.a->peer_accepted = true;
	advance_ms(60000);
	KUNIT_EXPECT_TRUE(test, is_assoc_up() && stubs.a->peer_accepted);
	end_session(&accepted_one);
	expect_end_after_seconds(test, 60);
}

/*
 * If a session begins and ends after the timer has expired and before the worker
 * runs, the idle timeouts start again
 */
static void session_before_worker_restarts_timeouts(struct kunit *test)
{
	replace_with_passive_assoc();
	stubs.a->idle_due = true;
	open_and_end_session(&accepted_one);
	KUNIT_EXPECT_FALSE(test, stubs.a->idle_due);
	KUNIT_EXPECT_TRUE(test, is_assoc_up() && stubs.a->peer_accepted);
	advance_ms(10000);
	stubs.a->idle_due = true;
	run_worker();
	expect_end_after_seconds(test, 50);
}

/* With several sessions the idle timeouts start when the last session ends */
static void last_session_starts_timeouts(struct kunit *test)
{
	replace_with_passive_assoc();
	add_session(&accepted_one);
	add_session(&accepted_one);
	end_session(&accepted_one);
	advance_ms(70000);
	KUNIT_EXPECT_TRUE(test, is_assoc_up() && stubs.a->peer_accepted);
	end_session(&accepted_one);
	expect_end_after_seconds(test, 60);
}

/*
 * The association ends after 10 s instead of 60 s if there are too many unaccepted
 * associations, or if SCTP has queued too much data for it
 */
static void limits_shorten_idle_timeout(struct kunit *test)
{
	bool *const why[] = { &stubs.holds, &stubs.at_limit };
	int n;

	for (n = 0; n < ARRAY_SIZE(why); n++) {
		replace_with_passive_assoc();
		open_and_end_session(&accepted_one);
		*why[n] = true;
		expect_end_after_seconds(test, 10);
		*why[n] = false;
	}
}

/*
 * On an association that this side has established, only sessions that this side has requested may
 * extend the idle timeout
 */
static void only_local_sessions_keep_active_assoc(struct kunit *test)
{
	advance_ms(4999);
	open_and_end_session(&ours);
	advance_ms(4999);
	open_and_end_session(&accepted_one);
	advance_ms(3000);
	open_and_end_session(&unasked);
	open_and_end_session(&asked);
	expect_end_after_seconds(test, 2);
	KUNIT_EXPECT_EQ(test, 0u, stubs.shrunk + stubs.rejoined);
}

static struct kunit_case sddp_assoc_cases[] = {
	KUNIT_CASE(assoc_without_session_ends),
	KUNIT_CASE(session_cancels_eviction),
	KUNIT_CASE(violating_assoc_with_session_is_evicted),
	KUNIT_CASE(idle_assoc_becomes_unaccepted),
	KUNIT_CASE(unreported_requests_keep_idle_timeout),
	KUNIT_CASE(rejected_request_keeps_timeout),
	KUNIT_CASE(next_session_restarts_timeouts),
	KUNIT_CASE(pending_request_keeps_assoc),
	KUNIT_CASE(session_before_worker_restarts_timeouts),
	KUNIT_CASE(last_session_starts_timeouts),
	KUNIT_CASE(limits_shorten_idle_timeout),
	KUNIT_CASE(only_local_sessions_keep_active_assoc),
	KUNIT_CASE(data_is_processed_before_end),
	KUNIT_CASE(lost_assoc_sends_nothing),
	KUNIT_CASE(lost_assoc_drops_deferred_segment),
	KUNIT_CASE(lost_assoc_ends_without_memory),
	KUNIT_CASE(end_waits_for_memory),
	KUNIT_CASE(deferred_segment_is_processed_after_shutdown),
	KUNIT_CASE(shutdown_ends_other_sessions),
	KUNIT_CASE(sending_assoc_can_end),
	KUNIT_CASE(shutdown_ends_sending_assoc),
	KUNIT_CASE(deferred_session_does_not_delay_sending),
	KUNIT_CASE(earlier_retry_time_is_used),
	KUNIT_CASE(assoc_that_ends_in_accept_stays_allocated),
	KUNIT_CASE(unusable_assoc_is_refused),
	{}
};

static struct kunit_suite sddp_assoc_suite = {
	.name = "sddp_assoc",
	.init = test_init,
	.exit = test_exit,
	.test_cases = sddp_assoc_cases,
};

kunit_test_suite(sddp_assoc_suite);
