// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/stream{,_work}.c: life of a session, which may
 * have to move to another association.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"

static struct {
	struct sddp_assoc	a, other;
	int			another;	/* result of reserving another association */
	u32			asked;		/* number of attempts */
	struct ddp_stream	stream;		/* the program's stream */
	u32			bound, up, downs, closed, refused;
	enum iw_reason		why;		/* reason of the last end */
	struct delayed_work	*timer;
	u32			queued;		/* times queued for sending */
	u32			puts;		/* references to associations dropped */
	bool			eager;		/* the other association's worker runs at once */
	u32			guests_left;	/* sessions that left after they were accepted */
} world;

unsigned long jiffies;
struct workqueue_struct *sddp_wq;
const struct ddp_llp_ops sddp_llp_ops;
struct ddp_session_type sddp_session_type = { .release = sddp_stream_release };

bool host_mod_delayed(struct delayed_work *d, unsigned long ms)
{
	world.timer = d;
	return true;
}

void host_cancel_delayed(struct delayed_work *d)
{
	world.timer = NULL;
}

/* DDP, and the user of sessions ------------------------------------------------ */

int ddp_stream_bind(struct ddp_stream *s, struct ddp_llp *llp)
{
	world.bound++;
	return 0;
}

void ddp_llp_down(struct ddp_stream *s, enum iw_reason why)
{
	WARN_ON(s != &world.stream);
	world.downs++;
	world.why = why;
}

enum iw_reason ddp_session_established(struct ddp_session *ss,
				       const struct ddp_offer *o)
{
	WARN_ON(o || world.closed);
	world.up++;
	return IW_OK;
}

void ddp_session_closed(struct ddp_session *ss, enum iw_reason why,
			const struct ddp_offer *o)
{
	world.closed++;
	world.why = why;
}

void ddp_session_peer_closed(struct ddp_session *ss) {}
void ddp_port_leave(struct ddp_caller *c) {}

enum iw_reason ddp_sock_reason(int err, enum iw_reason otherwise)
{
	return otherwise;
}

/* The rest of iw_sctp_ddp ------------------------------------------------------ */

void sddp_assoc_left(struct sddp_assoc *a, const struct sddp_stream *st)
{
	world.guests_left += st->up;
	atomic_dec(&a->live);
}

struct sddp_assoc *sddp_assoc_another(const struct sddp_assoc *a,
				      const struct ddp_session *ss, u16 *id)
{
	world.asked++;
	if (world.another)
		return ERR_PTR(world.another);
	*id = 2;
	atomic_inc(&world.other.live);
	return &world.other;
}

void sddp_listen_refused(struct sddp_assoc *a, enum iw_reason why)
{
	world.refused++;
}

void sddp_assoc_put(struct sddp_assoc *a)
{
	world.puts++;
}

void sddp_tx_queue(struct sddp_stream *st)
{
	world.queued++;
}

void sddp_crowd_guest(struct sddp_assoc *a)
{
	a->used = true;
}

/* The session is accepted at once on the other association */
void sddp_assoc_kick(struct sddp_assoc *a)
{
	if (world.eager && a == &world.other)
		list_first_entry(&a->ready, struct sddp_stream, ready)->up = true;
}

void sddp_tx_forget(struct sddp_stream *st) {}
void sddp_rx_settle(struct sddp_stream *st) {}
void sddp_rx_resume(struct sddp_stream *st) {}
void sddp_early_forget(struct sddp_stream *st) {}
void sddp_rx_begin(struct sddp_stream *st) {}
void sddp_stray_leave(struct sddp_stream *st, bool owed) {}

/* Run an association's worker */
static u32 work(struct sddp_assoc *a)
{
	struct sddp_stream *st;
	u32 n = 0;

	while (!list_empty(&a->ready)) {
		st = list_first_entry(&a->ready, struct sddp_stream, ready);
		list_del_init(&st->ready);
		sddp_stream_serve(st);
		ddp_session_put(&st->ss);
		n++;
	}
	return n;
}

/* Cases ------------------------------------------------------------------------ */

static void stands(struct sddp_assoc *a, u32 limit)
{
	a->phase = SDDP_UP;
	a->limit = limit;
	INIT_LIST_HEAD(&a->ready);
	INIT_LIST_HEAD(&a->late);
}

static int begin(struct kunit *test)
{
	memset(&world, 0, sizeof(world));
	stands(&world.a, 4);
	stands(&world.other, 4);
	return 0;
}

static void leave(struct kunit *test)
{
	work(&world.a);
	work(&world.other);
	KUNIT_EXPECT_EQ(test, 0, host_pieces);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&world.a.live));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&world.other.live));
}

/* Open a session, with a reference for the program besides the table's */
static struct sddp_stream *opened(u16 id, bool active)
{
	struct sddp_stream *st = sddp_stream_new(NULL, NULL, active);

	st->a = &world.a;
	st->id = id;
	st->told = true;
	atomic_inc(&world.a.live);
	xa_store(&world.a.streams, id, st, GFP_KERNEL);
	ddp_session_get(&st->ss);
	return st;
}

/* The QP is notified of the end once, and unbound */
static void expect_over(struct kunit *test, struct sddp_stream *st, enum iw_reason why)
{
	KUNIT_EXPECT_EQ(test, 1u, world.downs);
	KUNIT_EXPECT_EQ(test, 1u, world.closed);
	KUNIT_EXPECT_EQ(test, why, world.why);
	KUNIT_EXPECT_NULL(test, st->stream);
	/* references of the QP and the program */
	ddp_session_put(&st->ss);
	ddp_session_put(&st->ss);
}

/*
 * The program accepts after the session has ended, before the worker has
 * reported that
 */
static void ends_before_its_answer(struct kunit *test)
{
	struct sddp_control *c = kzalloc(sizeof(*c), GFP_KERNEL);
	struct sddp_stream *st = opened(1, false);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_answer(st, c, &world.stream));
	KUNIT_EXPECT_EQ(test, 1u, world.bound);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	sddp_stream_end(st, IW_LOCAL_ABORT, NULL);
	/* a later answer fails */
	KUNIT_EXPECT_EQ(test, -ECONNRESET, sddp_stream_answer(st, c, &world.stream));
	work(&world.a);
	KUNIT_EXPECT_NULL(test, xa_load(&world.a.streams, 1));
	expect_over(test, st, IW_TIMEOUT);
}

/* If the peer allows too few streams, the session moves to another association */
static void moves_on(struct kunit *test)
{
	struct sddp_stream *st = opened(4, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, &world.stream));
	KUNIT_EXPECT_NOT_NULL(test, world.timer);
	sddp_stream_event(st, SDDP_EV_TX);
	work(&world.a);
	KUNIT_EXPECT_PTR_EQ(test, &world.other, st->a);
	KUNIT_EXPECT_EQ(test, 2, (int)st->id);
	KUNIT_EXPECT_NULL(test, xa_load(&world.a.streams, 4));
	KUNIT_EXPECT_PTR_EQ(test, (void *)st, xa_load(&world.other.streams, 2));
	KUNIT_EXPECT_EQ(test, 0u, world.queued);
	KUNIT_EXPECT_EQ(test, 1u, world.puts);
	/* events raised meanwhile are handled there */
	KUNIT_EXPECT_EQ(test, 1u, work(&world.other));
	KUNIT_EXPECT_EQ(test, 1u, world.queued);
	KUNIT_EXPECT_EQ(test, 1u, world.asked);
	list_del_init(&st->late);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	work(&world.other);
	expect_over(test, st, IW_TIMEOUT);
}

/*
 * If the session is accepted there at once, the first association does not
 * count it as accepted
 */
static void up_at_once(struct kunit *test)
{
	struct sddp_stream *st = opened(4, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, &world.stream));
	sddp_stream_event(st, SDDP_EV_TX);
	world.eager = true;
	work(&world.a);
	world.eager = false;
	KUNIT_EXPECT_TRUE(test, st->up);
	KUNIT_EXPECT_EQ(test, 0u, world.guests_left);
	work(&world.other);
	list_del_init(&st->late);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	work(&world.other);
	expect_over(test, st, IW_TIMEOUT);
}

/* The last stream that the peer allows can be used */
static void stays(struct kunit *test)
{
	struct sddp_stream *st = opened(3, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, &world.stream));
	sddp_stream_event(st, SDDP_EV_TX);
	work(&world.a);
	KUNIT_EXPECT_EQ(test, 0u, world.asked);
	KUNIT_EXPECT_EQ(test, 1u, world.queued);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	work(&world.a);
	expect_over(test, st, IW_TIMEOUT);
}

/* Without another association the session fails; if it has ended, none is reserved */
static void goes_nowhere(struct kunit *test)
{
	struct sddp_stream *st = opened(6, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, &world.stream));
	world.another = -ENOMEM;
	sddp_stream_event(st, SDDP_EV_TX);
	work(&world.a);
	KUNIT_EXPECT_EQ(test, 1u, world.asked);
	expect_over(test, st, IW_NO_MEMORY);
}

static void ends_where_it_is(struct kunit *test)
{
	struct sddp_stream *st = opened(6, true);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_begin(st, &world.stream));
	sddp_stream_stop(st, IW_LOCAL_ABORT);
	work(&world.a);
	KUNIT_EXPECT_EQ(test, 0u, world.asked);
	expect_over(test, st, IW_LOCAL_ABORT);
}

/* The program accepts or rejects a request, but SCTP does not accept the message */
static struct sddp_stream *answered(struct kunit *test, enum sddp_what what)
{
	struct sddp_control *c = kzalloc(sizeof(*c), GFP_KERNEL);
	struct sddp_stream *st = opened(1, false);
	bool yes = what == SDDP_SAY_ACCEPT;

	c->what = what;
	st->s.state = SDDP_REQUESTED;
	sddp_stream_deadline(st, DDP_ANSWER_TIME);
	KUNIT_EXPECT_EQ(test, 0, sddp_stream_answer(st, c, yes ? &world.stream : NULL));
	sddp_stream_event(st, SDDP_EV_TX);
	work(&world.a);
	KUNIT_EXPECT_EQ(test, 1u, world.queued);
	KUNIT_EXPECT_PTR_EQ(test, c, st->say);
	return st;
}

/* The worker finds that the session's timer has expired */
static void look_late(struct sddp_stream *st)
{
	world.a.looked = jiffies;
	sddp_stream_event(st, SDDP_EV_TIMEOUT);
	work(&world.a);
	list_del_init(&st->late);
	sddp_stream_late(st, false);
}

/* The time limit is half a minute from the program's answer */
static void expect_time(struct kunit *test, struct sddp_stream *st)
{
	KUNIT_EXPECT_NOT_NULL(test, world.timer);
	jiffies += 29 * HZ;
	look_late(st);
	KUNIT_EXPECT_EQ(test, 0u, world.closed);
	jiffies += HZ;
	look_late(st);
	KUNIT_EXPECT_EQ(test, 1u, world.closed);
	KUNIT_EXPECT_EQ(test, IW_TIMEOUT, world.why);
	st->s.state = SDDP_IDLE;
	work(&world.a);
}

static void cannot_say_no(struct kunit *test)
{
	struct sddp_stream *st = answered(test, SDDP_SAY_REJECT);

	expect_time(test, st);
	KUNIT_EXPECT_EQ(test, 0u, world.up);
	KUNIT_EXPECT_FALSE(test, world.a.used);
	ddp_session_put(&st->ss);
}

/* The connection is reported as established at once, and later as ended */
static void cannot_say_yes(struct kunit *test)
{
	struct sddp_stream *st = answered(test, SDDP_SAY_ACCEPT);

	KUNIT_EXPECT_EQ(test, 1u, world.up);
	KUNIT_EXPECT_TRUE(test, world.a.used);
	sddp_stream_event(st, SDDP_EV_TX);
	work(&world.a);
	KUNIT_EXPECT_EQ(test, 1u, world.up);
	expect_time(test, st);
	expect_over(test, st, IW_TIMEOUT);
}

/* A graceful end while the Accept is not sent: posted data is sent after the Accept */
static void yes_and_bye(struct kunit *test)
{
	struct sddp_stream *st = answered(test, SDDP_SAY_ACCEPT);
	unsigned long deadline = st->deadline;

	sddp_stream_stop(st, IW_LOCAL_CLOSE);
	work(&world.a);
	KUNIT_EXPECT_EQ(test, 0u, world.closed);
	/* the Accept's time limit is not extended */
	KUNIT_EXPECT_EQ(test, deadline, st->deadline);
	KUNIT_EXPECT_NE(test, 0u, st->timed);
	st->s.state = SDDP_OPEN;
	sddp_stream_close(st);
	KUNIT_EXPECT_EQ(test, 0u, world.closed);
	KUNIT_EXPECT_EQ(test, 130u, st->timed);
	sddp_stream_end(st, IW_LOCAL_CLOSE, NULL);
	st->s.state = SDDP_IDLE;
	work(&world.a);
	expect_over(test, st, IW_LOCAL_CLOSE);
}

/* The device is removed while the Reject is not sent */
static void no_and_gone(struct kunit *test)
{
	struct sddp_stream *st = answered(test, SDDP_SAY_REJECT);

	sddp_stream_stop(st, IW_LOCAL_ABORT);
	work(&world.a);
	KUNIT_EXPECT_EQ(test, 1u, world.closed);
	KUNIT_EXPECT_EQ(test, IW_LOCAL_ABORT, world.why);
	st->s.state = SDDP_IDLE;
	sddp_stream_event(st, SDDP_EV_TX);
	work(&world.a);
	ddp_session_put(&st->ss);
}

static struct kunit_case sddp_stream_cases[] = {
	KUNIT_CASE(ends_before_its_answer),
	KUNIT_CASE(moves_on),
	KUNIT_CASE(up_at_once),
	KUNIT_CASE(stays),
	KUNIT_CASE(goes_nowhere),
	KUNIT_CASE(ends_where_it_is),
	KUNIT_CASE(cannot_say_no),
	KUNIT_CASE(cannot_say_yes),
	KUNIT_CASE(yes_and_bye),
	KUNIT_CASE(no_and_gone),
	{}
};

static struct kunit_suite sddp_stream_suite = {
	.name = "sddp_stream",
	.init = begin,
	.exit = leave,
	.test_cases = sddp_stream_cases,
};

kunit_test_suite(sddp_stream_suite);
