// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Life of a session over SCTP: drivers/sctp_ddp/stream.c between a program, the
 * worker of its association and another one, to which it may have to go.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"

static struct {
	struct sddp_assoc	a, other;
	int			another;	/* what asking for one comes to */
	u32			asked;		/* for one */
	struct ddp_stream	stream;		/* the program's */
	u32			bound, up, downs, closed, refused;
	enum iw_reason		why;		/* it is told */
	struct delayed_work	*timer;
	u32			queued;		/* to send */
	u32			puts;		/* of associations */
	bool			eager;		/* the other one's worker is faster than whoever wakes it */
	u32			guests_left;	/* sessions that were up where they left */
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

/* DDP, and who uses the session ------------------------------------------------ */

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

/* It is accepted at once there */
void sddp_assoc_kick(struct sddp_assoc *a)
{
	if (world.eager && a == &world.other)
		list_first_entry(&a->ready, struct sddp_stream, ready)->up = true;
}

void sddp_tx_forget(struct sddp_stream *st) {}
void sddp_rx_settle(struct sddp_stream *st) {}
void sddp_rx_resume(struct sddp_stream *st) {}
void sddp_rx_forget(struct sddp_stream *st) {}
void sddp_rx_begin(struct sddp_stream *st) {}
void sddp_stray_leave(struct sddp_stream *st, bool owed) {}

/* An association's worker */
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

/* The program's, besides the table's reference */
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

/* Its queue pair hears of the end once, and goes */
static void expect_over(struct kunit *test, struct sddp_stream *st, enum iw_reason why)
{
	KUNIT_EXPECT_EQ(test, 1u, world.downs);
	KUNIT_EXPECT_EQ(test, 1u, world.closed);
	KUNIT_EXPECT_EQ(test, why, world.why);
	KUNIT_EXPECT_NULL(test, st->stream);
	/* the queue pair's, and the program's */
	ddp_session_put(&st->ss);
	ddp_session_put(&st->ss);
}

/* It says yes, and before the worker has heard that the session ends */
static void ends_before_its_answer(struct kunit *test)
{
	struct sddp_control *c = kzalloc(sizeof(*c), GFP_KERNEL);
	struct sddp_stream *st = opened(1, false);

	KUNIT_EXPECT_EQ(test, 0, sddp_stream_answer(st, c, &world.stream));
	KUNIT_EXPECT_EQ(test, 1u, world.bound);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	sddp_stream_end(st, IW_LOCAL_ABORT, NULL);
	/* who comes later hears that it is too late */
	KUNIT_EXPECT_EQ(test, -ECONNRESET, sddp_stream_answer(st, c, &world.stream));
	work(&world.a);
	KUNIT_EXPECT_NULL(test, xa_load(&world.a.streams, 1));
	expect_over(test, st, IW_TIMEOUT);
}

/* The peer allows so few streams that the session has to go elsewhere */
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
	/* what was asked of it meanwhile it is asked there */
	KUNIT_EXPECT_EQ(test, 1u, work(&world.other));
	KUNIT_EXPECT_EQ(test, 1u, world.queued);
	KUNIT_EXPECT_EQ(test, 1u, world.asked);
	list_del_init(&st->late);
	sddp_stream_end(st, IW_TIMEOUT, NULL);
	work(&world.other);
	expect_over(test, st, IW_TIMEOUT);
}

/* It is up at the other one before its old worker goes on: it was no guest here */
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

/* The last one that is allowed stays */
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

/* There is no other, or it is over: then no other is asked for */
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

/* A peer's request, and the program says yes, or no, which SCTP does not take */
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

/* The association's worker sees that a stream's timer has run out */
static void look_late(struct sddp_stream *st)
{
	world.a.looked = jiffies;
	sddp_stream_event(st, SDDP_EV_TIMEOUT);
	work(&world.a);
	list_del_init(&st->late);
	sddp_stream_late(st, false);
}

/* Half a minute from the answer on, not from the request */
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

/* The program hears at once that it is connected, and later that it is not */
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

/* It ends gracefully meanwhile: what it has posted leaves behind the Accept */
static void yes_and_bye(struct kunit *test)
{
	struct sddp_stream *st = answered(test, SDDP_SAY_ACCEPT);
	unsigned long deadline = st->deadline;

	sddp_stream_stop(st, IW_LOCAL_CLOSE);
	work(&world.a);
	KUNIT_EXPECT_EQ(test, 0u, world.closed);
	/* that wins no time for the Accept */
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

/* Its device goes */
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
