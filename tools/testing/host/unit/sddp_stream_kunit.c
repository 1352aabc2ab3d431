// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/stream{,_work}.c: life cycle of a session, which
 * may have to move to another association.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"

static struct {
	struct sddp_assoc	a, other;
	int			another;	/* result of reserving another association */
	int			bind_err;	/* error of ddp_stream_bind(); 0: none */
	u32			requests;	/* number of reservations of another association */
	struct ddp_stream	stream;		/* the program's stream */
	u32			bound, up, downs, closed, refused;
	enum iw_reason		why;		/* reason of the last end */
	struct delayed_work	*timer;
	u32			queued;		/* number of times queued for sending */
	u32			puts;		/* references to associations dropped */
	bool			eager;		/* kicking @other accepts its session at once */
	u32			accepted_ended;	/* accepted sessions that have ended */
} stubs;

unsigned long jiffies;
struct workqueue_struct *sddp_wq;
const struct ddp_llp_ops sddp_llp_ops;
struct ddp_session_type sddp_session_type = { .release = sddp_stream_release };

bool host_mod_delayed(struct delayed_work *d, unsigned long ms)
{
	stubs.timer = d;
	return true;
}

void host_cancel_delayed(struct delayed_work *d)
{
	stubs.timer = NULL;
}

/* Stubs of DDP and of the ULP ------------------------------------- */

int ddp_stream_bind(struct ddp_stream *s, struct ddp_llp *llp)
{
	stubs.bound += !stubs.bind_err;
	return stubs.bind_err;
}

void ddp_llp_report_down(struct ddp_stream *s, enum iw_reason why)
{
	WARN_ON(s != &stubs.stream);
	stubs.downs++;
	stubs.why = why;
}

enum iw_reason ddp_session_report_established(struct ddp_session *ss,
					      const struct ddp_offer *o)
{
	WARN_ON(o || stubs.closed);
	stubs.up++;
	return IW_OK;
}

void ddp_session_report_closed(struct ddp_session *ss, enum iw_reason why,
			       const struct ddp_offer *o)
{
	stubs.closed++;
	stubs.why = why;
}

void ddp_session_report_peer_closed(struct ddp_session *ss) {}
void ddp_port_detach_request(struct ddp_conn_req *c) {}

enum iw_reason ddp_sock_err_to_reason(int err, enum iw_reason otherwise)
{
	return otherwise;
}

/* Other functions of iw_sctp_ddp ----------------------------------------------- */

void sddp_assoc_account_session_end(struct sddp_assoc *a, const struct sddp_stream *st)
{
	stubs.accepted_ended += st->accepted;
	atomic_dec(&a->live);
}

struct sddp_assoc *sddp_reserve_other_stream_pair(const struct sddp_assoc *a,
						  const struct ddp_session *ss, u16 *id)
{
	stubs.requests++;
	if (stubs.another)
		return ERR_PTR(stubs.another);
	*id = 2;
	atomic_inc(&stubs.other.live);
	return &stubs.other;
}

void sddp_listen_report_refused(struct sddp_assoc *a, enum iw_reason why)
{
	stubs.refused++;
}

void sddp_assoc_put(struct sddp_assoc *a)
{
	stubs.puts++;
}

void sddp_tx_enqueue_stream(struct sddp_stream *st)
{
	stubs.queued++;
}

void sddp_assoc_record_accepted_session(struct sddp_assoc *a)
{
	a->peer_accepted = true;
}

/*
 * Queue the worker. If @eager, the session is accepted on the other association
 * before this returns.
 */
void sddp_assoc_kick(struct sddp_assoc *a)
{
	if (stubs.eager && a == &stubs.other)
		list_first_entry(&a->ready, struct sddp_stream, ready)->accepted = true;
}

void sddp_tx_drop_pending_segment(struct sddp_stream *st) {}
void sddp_rx_start_counting_if_ended(struct sddp_stream *st) {}
void sddp_rx_resume(struct sddp_stream *st) {}
void sddp_kept_chunks_free(struct sddp_stream *st) {}
void sddp_rx_begin_session(struct sddp_stream *st) {}
void sddp_stream_make_orphan(struct sddp_stream *st, bool owed) {}

/* Run an association's worker. Return: the number of sessions with events. */
static u32 run_worker(struct sddp_assoc *a)
{
	struct sddp_stream *st;
	u32 n = 0;

	while (!list_empty(&a->ready)) {
		st = list_first_entry(&a->ready, struct sddp_stream, ready);
		list_del_init(&st->ready);
		sddp_stream_handle_events(st);
		ddp_session_put(&st->ss);
		n++;
	}
	return n;
}

/* Cases ------------------------------------------------------------------------ */

static void init_assoc(struct sddp_assoc *a, u32 limit)
{
	a->phase = SDDP_UP;
	a->limit = limit;
	INIT_LIST_HEAD(&a->ready);
	INIT_LIST_HEAD(&a->late);
}

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	init_assoc(&stubs.a, 4);
	init_assoc(&stubs.other, 4);
	return 0;
}

static void test_exit(struct kunit *test)
{
	run_worker(&stubs.a);
	run_worker(&stubs.other);
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&stubs.a.live));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&stubs.other.live));
}

/* Open a session with two references: one of the table and one of the program */
static struct sddp_stream *open_session(u16 id, bool active)
{
	struct sddp_stream *st = sddp_stream_new(NULL, NULL, active);

	st->a = &stubs.a;
	st->id = id;
	st->reported = true;
	atomic_inc(&stubs.a.live);
	xa_store(&stubs.a.streams, id, st, GFP_KERNEL);
	ddp_session_get(&st->ss);
	return st;
}

/* Expect that the QP was notified of the end once, with @why, and that the QP is unbound */
static void expect_session_ended_and_put_refs(struct kunit *test, struct sddp_stream *st,
					      enum iw_reason why)
{
	KUNIT_EXPECT_EQ(test, 1u, stubs.downs);
	KUNIT_EXPECT_EQ(test, 1u, stubs.closed);
	KUNIT_EXPECT_EQ(test, why, stubs.why);
	KUNIT_EXPECT_NULL(test, st->stream);
	/* references of the QP and the program */
	ddp_session_put(&st->ss);
	ddp_session_put(&st->ss);
}

/*
 * An accept is ignored if the session has already ended, even if the worker has not reported the
 * end yet
 */
static void accept_after_session_end_is_ignored(struct kunit *test)
{
	struct sddp_control *c = kzalloc(sizeof(*c), GFP_KERNEL);
	struct sddp_stream *st = open_session(1, false);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_set_reply(st, c, &stubs.stream));
	KUNIT_EXPECT_EQ(test, 1u, stubs.bound);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	sddp_stream_end(st, IW_LOCAL_ABORT, NULL);
	/* an accept after the end fails */
	KUNIT_EXPECT_EQ(test, -ECONNRESET, sddp_stream_set_reply(st, c, &stubs.stream));
	run_worker(&stubs.a);
	KUNIT_EXPECT_NULL(test, xa_load(&stubs.a.streams, 1));
	expect_session_ended_and_put_refs(test, st, IW_TIMEOUT);
}

/* If the peer allows too few streams, the session moves to another association */
static void session_moves_to_other_assoc(struct kunit *test)
{
	struct sddp_stream *st = open_session(4, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, &stubs.stream));
	KUNIT_EXPECT_NOT_NULL(test, stubs.timer);
	sddp_stream_set_event(st, SDDP_EV_TX);
	run_worker(&stubs.a);
	KUNIT_EXPECT_PTR_EQ(test, &stubs.other, st->a);
	KUNIT_EXPECT_EQ(test, 2, (int)st->id);
	KUNIT_EXPECT_NULL(test, xa_load(&stubs.a.streams, 4));
	KUNIT_EXPECT_PTR_EQ(test, (void *)st, xa_load(&stubs.other.streams, 2));
	KUNIT_EXPECT_EQ(test, 0u, stubs.queued);
	KUNIT_EXPECT_EQ(test, 1u, stubs.puts);
	/* the other association handles events that were raised during the move */
	KUNIT_EXPECT_EQ(test, 1u, run_worker(&stubs.other));
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	KUNIT_EXPECT_EQ(test, 1u, stubs.requests);
	list_del_init(&st->late);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	run_worker(&stubs.other);
	expect_session_ended_and_put_refs(test, st, IW_TIMEOUT);
}

/*
 * If a session moves to another association and the peer accepts it there immediately,
 * the first association does not count it as an accepted session
 */
static void moved_session_is_counted_once(struct kunit *test)
{
	struct sddp_stream *st = open_session(4, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, &stubs.stream));
	sddp_stream_set_event(st, SDDP_EV_TX);
	stubs.eager = true;
	run_worker(&stubs.a);
	stubs.eager = false;
	KUNIT_EXPECT_TRUE(test, st->accepted);
	KUNIT_EXPECT_EQ(test, 0u, stubs.accepted_ended);
	run_worker(&stubs.other);
	list_del_init(&st->late);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	run_worker(&stubs.other);
	expect_session_ended_and_put_refs(test, st, IW_TIMEOUT);
}

/* A session on the last stream that the peer allows does not move */
static void last_stream_does_not_move(struct kunit *test)
{
	struct sddp_stream *st = open_session(3, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, &stubs.stream));
	sddp_stream_set_event(st, SDDP_EV_TX);
	run_worker(&stubs.a);
	KUNIT_EXPECT_EQ(test, 0u, stubs.requests);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	run_worker(&stubs.a);
	expect_session_ended_and_put_refs(test, st, IW_TIMEOUT);
}

/* If no other association can be reserved, the session fails */
static void move_without_assoc_fails(struct kunit *test)
{
	struct sddp_stream *st = open_session(6, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, &stubs.stream));
	stubs.another = -ENOMEM;
	sddp_stream_set_event(st, SDDP_EV_TX);
	run_worker(&stubs.a);
	KUNIT_EXPECT_EQ(test, 1u, stubs.requests);
	expect_session_ended_and_put_refs(test, st, IW_NO_MEMORY);
}

/* A session may begin without a DDP stream, which is bound later and then has a reference */
static void stream_can_be_bound_after_begin(struct kunit *test)
{
	struct sddp_stream *st = open_session(1, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, NULL));
	KUNIT_EXPECT_EQ(test, 0u, stubs.bound);
	KUNIT_EXPECT_NOT_NULL(test, stubs.timer);
	KUNIT_EXPECT_PTR_EQ(test, (void *)st, xa_load(&stubs.a.streams, 1));
	KUNIT_EXPECT_EQ(test, 2, st->ss.ref.refs);
	/* without success nothing changes */
	stubs.bind_err = -ENOTCONN;
	KUNIT_EXPECT_EQ(test, -ENOTCONN, sddp_stream_bind(st, &stubs.stream));
	KUNIT_EXPECT_NULL(test, st->stream);
	KUNIT_EXPECT_EQ(test, 2, st->ss.ref.refs);
	stubs.bind_err = 0;
	KUNIT_EXPECT_EQ(test, 0, sddp_stream_bind(st, &stubs.stream));
	KUNIT_EXPECT_PTR_EQ(test, &stubs.stream, st->stream);
	KUNIT_EXPECT_EQ(test, 3, st->ss.ref.refs);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	run_worker(&stubs.a);
	expect_session_ended_and_put_refs(test, st, IW_TIMEOUT);
}

/* A session that ends before its DDP stream is bound reports its end only to the program */
static void end_without_stream_is_reported_to_program(struct kunit *test)
{
	struct sddp_stream *st = open_session(1, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, NULL));
	sddp_stream_request_end(st, IW_LOCAL_ABORT);
	run_worker(&stubs.a);
	KUNIT_EXPECT_EQ(test, 0u, stubs.downs);
	KUNIT_EXPECT_EQ(test, 1u, stubs.closed);
	KUNIT_EXPECT_EQ(test, IW_LOCAL_ABORT, stubs.why);
	ddp_session_put(&st->ss);
}

static void aborted_session_does_not_move(struct kunit *test)
{
	struct sddp_stream *st = open_session(6, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, &stubs.stream));
	sddp_stream_request_end(st, IW_LOCAL_ABORT);
	run_worker(&stubs.a);
	KUNIT_EXPECT_EQ(test, 0u, stubs.requests);
	expect_session_ended_and_put_refs(test, st, IW_LOCAL_ABORT);
}

/*
 * Open a session whose request the program has accepted or rejected, but whose reply has not been
 * passed to SCTP yet
 */
static struct sddp_stream *open_session_with_unsent_reply(struct kunit *test,
							  enum sddp_chunk_kind what)
{
	struct sddp_control *c = kzalloc(sizeof(*c), GFP_KERNEL);
	struct sddp_stream *st = open_session(1, false);
	bool yes = what == SDDP_KIND_ACCEPT;

	c->kind = what;
	st->s.state = SDDP_REQUESTED;
	sddp_stream_set_deadline(st, DDP_ANSWER_TIMEOUT);
	KUNIT_EXPECT_EQ(test, 0, sddp_stream_set_reply(st, c, yes ? &stubs.stream : NULL));
	sddp_stream_set_event(st, SDDP_EV_TX);
	run_worker(&stubs.a);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	KUNIT_EXPECT_PTR_EQ(test, c, st->pending_control);
	return st;
}

/* Run the worker after the session's timer has expired */
static void run_worker_at_timeout(struct sddp_stream *st)
{
	stubs.a.polled_at = jiffies;
	sddp_stream_set_event(st, SDDP_EV_TIMEOUT);
	run_worker(&stubs.a);
	list_del_init(&st->late);
	sddp_stream_end_if_late(st, false);
}

/* Expect that the session ends half a minute after the program has accepted or rejected */
static void expect_session_ends_after_30_s(struct kunit *test, struct sddp_stream *st)
{
	KUNIT_EXPECT_NOT_NULL(test, stubs.timer);
	jiffies += 29 * HZ;
	run_worker_at_timeout(st);
	KUNIT_EXPECT_EQ(test, 0u, stubs.closed);
	jiffies += HZ;
	run_worker_at_timeout(st);
	KUNIT_EXPECT_EQ(test, 1u, stubs.closed);
	KUNIT_EXPECT_EQ(test, IW_TIMEOUT, stubs.why);
	st->s.state = SDDP_IDLE;
	run_worker(&stubs.a);
}

static void unsent_reject_ends_session_at_timeout(struct kunit *test)
{
	struct sddp_stream *st = open_session_with_unsent_reply(test, SDDP_KIND_REJECT);

	expect_session_ends_after_30_s(test, st);
	KUNIT_EXPECT_EQ(test, 0u, stubs.up);
	KUNIT_EXPECT_FALSE(test, stubs.a.peer_accepted);
	ddp_session_put(&st->ss);
}

/*
 * If the Accept cannot be sent, the program gets established immediately, and
 * closed at the time limit
 */
static void unsent_accept_is_up_until_timeout(struct kunit *test)
{
	struct sddp_stream *st = open_session_with_unsent_reply(test, SDDP_KIND_ACCEPT);

	KUNIT_EXPECT_EQ(test, 1u, stubs.up);
	KUNIT_EXPECT_TRUE(test, stubs.a.peer_accepted);
	sddp_stream_set_event(st, SDDP_EV_TX);
	run_worker(&stubs.a);
	KUNIT_EXPECT_EQ(test, 1u, stubs.up);
	expect_session_ends_after_30_s(test, st);
	expect_session_ended_and_put_refs(test, st, IW_TIMEOUT);
}

/*
 * After a graceful close, a session whose Accept is not sent yet stays open, to
 * send Accept and data
 */
static void close_keeps_unsent_accept(struct kunit *test)
{
	struct sddp_stream *st = open_session_with_unsent_reply(test, SDDP_KIND_ACCEPT);
	unsigned long deadline = st->deadline;

	sddp_stream_request_end(st, IW_LOCAL_CLOSE);
	run_worker(&stubs.a);
	KUNIT_EXPECT_EQ(test, 0u, stubs.closed);
	/* the close does not extend the time limit of the Accept */
	KUNIT_EXPECT_EQ(test, deadline, st->deadline);
	KUNIT_EXPECT_NE(test, 0u, st->deadline_seconds);
	st->s.state = SDDP_OPEN;
	sddp_stream_advance_close(st);
	KUNIT_EXPECT_EQ(test, 0u, stubs.closed);
	KUNIT_EXPECT_EQ(test, 130u, st->deadline_seconds);
	sddp_stream_end(st, IW_LOCAL_CLOSE, NULL);
	st->s.state = SDDP_IDLE;
	run_worker(&stubs.a);
	expect_session_ended_and_put_refs(test, st, IW_LOCAL_CLOSE);
}

/* If the device is removed before the Reject is sent, the session ends without delay */
static void device_removal_drops_reject(struct kunit *test)
{
	struct sddp_stream *st = open_session_with_unsent_reply(test, SDDP_KIND_REJECT);

	sddp_stream_request_end(st, IW_LOCAL_ABORT);
	run_worker(&stubs.a);
	KUNIT_EXPECT_EQ(test, 1u, stubs.closed);
	KUNIT_EXPECT_EQ(test, IW_LOCAL_ABORT, stubs.why);
	st->s.state = SDDP_IDLE;
	sddp_stream_set_event(st, SDDP_EV_TX);
	run_worker(&stubs.a);
	ddp_session_put(&st->ss);
}

static struct kunit_case sddp_stream_cases[] = {
	KUNIT_CASE(accept_after_session_end_is_ignored),
	KUNIT_CASE(session_moves_to_other_assoc),
	KUNIT_CASE(moved_session_is_counted_once),
	KUNIT_CASE(last_stream_does_not_move),
	KUNIT_CASE(move_without_assoc_fails),
	KUNIT_CASE(stream_can_be_bound_after_begin),
	KUNIT_CASE(end_without_stream_is_reported_to_program),
	KUNIT_CASE(aborted_session_does_not_move),
	KUNIT_CASE(unsent_reject_ends_session_at_timeout),
	KUNIT_CASE(unsent_accept_is_up_until_timeout),
	KUNIT_CASE(close_keeps_unsent_accept),
	KUNIT_CASE(device_removal_drops_reject),
	{}
};

static struct kunit_suite sddp_stream_suite = {
	.name = "sddp_stream",
	.init = test_init,
	.exit = test_exit,
	.test_cases = sddp_stream_cases,
};

kunit_test_suite(sddp_stream_suite);
