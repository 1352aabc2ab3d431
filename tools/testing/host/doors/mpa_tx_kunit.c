// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who transmits over TCP, when, and for how long: drivers/mpa/{tx,due}.c
 * between sockets, workers, a softirq and a clock of the test's.
 */
#include <kunit/test.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/mpa/internal.h"

#define CROWD	300
#define STRETCH	4	/* batches */

/* A connection, and what it has to send */
struct guest {
	struct mpa_conn		c;
	struct ddp_stream	stream;
	u32			left;		/* batches */
	u32			works;		/* runs of the worker to come */
	u64			done;		/* when the last one went, ns */
};

static struct {
	u64			now;		/* ns */
	u64			batch_ns;	/* that sending one takes */
	u32			sent;		/* batches */
	int			err;		/* what sending comes to */
	u32			tries;		/* to send */
	u32			works;		/* runs of workers asked for */
	u32			waits;		/* for a socket */
	struct compat_bh	*raised;
	struct delayed_work	*timer;
	unsigned long		ms;		/* when that is due */
	bool			irqs_off;
} world;

static struct guest guests[CROWD];

/* The kernel --------------------------------------------------------------- */

struct workqueue_struct *mpa_wq;

u64 host_now(void)
{
	return world.now;
}

bool host_irqs_off(void)
{
	return world.irqs_off;
}

/* Raised where neither is off it would be ksoftirqd's */
void host_raise(struct compat_bh *bh)
{
	WARN_ON(!host_bh_off && !world.irqs_off);
	world.raised = bh;
}

bool host_queue_delayed(struct delayed_work *d, unsigned long ms)
{
	if (world.timer)
		return false;
	world.timer = d;
	world.ms = ms;
	return true;
}

/* Return: what it took, ns */
static u64 softirq(void)
{
	struct compat_bh *bh = world.raised;
	u64 began = world.now;

	world.raised = NULL;
	if (bh)
		bh->run(bh);
	return world.now - began;
}

static bool fire(void)
{
	struct delayed_work *d = world.timer;

	world.timer = NULL;
	if (d)
		d->work.func(&d->work);
	return d;
}

/* The rest of iw_mpa ------------------------------------------------------- */

static struct guest *guest_of(struct mpa_conn *c)
{
	return container_of(c, struct guest, c);
}

void mpa_conn_event(struct mpa_conn *c, enum mpa_event ev)
{
	if (ev != MPA_EV_TX)
		return;
	guest_of(c)->works++;
	world.works++;
}

bool mpa_frame_batch(struct mpa_conn *c, u32 emss)
{
	u32 left = guest_of(c)->left;

	c->out.len = !!left;
	c->out.last = left <= 1;
	return true;
}

void mpa_frame_drop(struct mpa_conn *c)
{
	c->out.len = 0;
}

u32 mpa_sock_emss(const struct mpa_conn *c)
{
	return 1460;
}

void mpa_sock_note_cpu(const struct mpa_conn *c)
{
}

int mpa_sock_send(struct mpa_conn *c)
{
	world.now += world.batch_ns;
	world.tries++;
	if (world.err)
		return world.err;
	guest_of(c)->left--;
	guest_of(c)->done = world.now;
	world.sent++;
	return 0;
}

void mpa_sock_wait(struct mpa_conn *c)
{
	world.waits++;
}

/* Guests ------------------------------------------------------------------- */

static void released(struct kref *ref)
{
	WARN_ON(true);
}

static const struct ddp_session_type type = { .release = released };
static void sent(struct ddp_stream *s) { }
static const struct ddp_ulp_ops ulp = { .sent = sent };

/* @n of them, each with so many batches to send */
static struct mpa_conn *crowd(u32 n, u32 batches)
{
	struct guest *g;

	memset(&world, 0, sizeof(world));
	memset(guests, 0, sizeof(guests));
	mpa_due_init();
	for (g = guests; g < guests + n; g++) {
		ddp_stream_init(&g->stream, &ulp, NULL, NULL);
		kref_init(&g->c.ss.ref);
		g->c.ss.type = &type;
		g->c.tx_stream = &g->stream;
		g->c.tx_open = true;
		g->left = batches;
		mpa_tx_init(&g->c);
	}
	return &guests[0].c;
}

static void work(struct guest *g)
{
	if (!g->works)
		return;
	g->works = 0;
	mpa_tx_work(&g->c);
}

/* Nobody has anything to send, nobody owes anything */
static void expect_done(struct kunit *test, u32 n)
{
	struct guest *g;

	for (g = guests; g < guests + n; g++) {
		KUNIT_EXPECT_EQ(test, 0u, g->left);
		KUNIT_EXPECT_EQ(test, 0, g->c.tx.v);
		KUNIT_EXPECT_EQ(test, 1, g->c.ss.ref.refs);
	}
	KUNIT_EXPECT_TRUE(test, !world.raised && !world.timer);
}

/* Cases -------------------------------------------------------------------- */

/* All are woken at once: softirq ends in time, and nobody is forgotten */
static void crowd_is_woken(struct kunit *test)
{
	const u64 most = NSEC_PER_MSEC + STRETCH * 100000;
	u64 took, longest = 0;
	u32 i, rounds = 0;

	crowd(CROWD, 10);
	world.batch_ns = 100000;
	for (i = 0; i < CROWD; i++)
		mpa_tx_kick(&guests[i].c, false);
	KUNIT_EXPECT_EQ(test, 0u, world.tries);
	while ((world.raised || world.works) && rounds++ < CROWD) {
		took = softirq();
		longest = max(longest, took);
		world.works = 0;
		for (i = 0; i < CROWD; i++)
			work(&guests[i]);
	}
	KUNIT_EXPECT_LE(test, longest, most);
	KUNIT_EXPECT_GT(test, longest, (u64)NSEC_PER_MSEC - 1);
	KUNIT_EXPECT_EQ(test, 10u * CROWD, world.sent);
	expect_done(test, CROWD);
}

/* Little is sent in softirq, and who came first goes first */
static void few_in_softirq(struct kunit *test)
{
	u32 i;

	crowd(10, 2);
	world.batch_ns = 1000;
	for (i = 0; i < 10; i++)
		mpa_tx_kick(&guests[i].c, false);
	softirq();
	KUNIT_EXPECT_EQ(test, 0u, world.works);
	for (i = 1; i < 10; i++)
		KUNIT_EXPECT_GT(test, guests[i].done, guests[i - 1].done);
	expect_done(test, 10);
}

/* Who posts with interrupts off may not have BH on again */
static void interrupts_off(struct kunit *test)
{
	crowd(1, 2);
	world.irqs_off = true;
	mpa_tx_kick(&guests[0].c, false);
	world.irqs_off = false;
	softirq();
	KUNIT_EXPECT_EQ(test, 2u, world.sent);
	expect_done(test, 1);
}

/* Who has much gets a turn in softirq, then it is the worker's */
static void much_is_the_workers(struct kunit *test)
{
	struct mpa_conn *c = crowd(1, 1000);

	mpa_tx_kick(c, false);
	KUNIT_EXPECT_EQ(test, 0u, world.works);
	softirq();
	KUNIT_EXPECT_EQ(test, (u32)STRETCH, world.sent);
	KUNIT_EXPECT_EQ(test, 1u, world.works);
	KUNIT_EXPECT_TRUE(test, !world.raised);
	/* nor has that one it for ever */
	work(guests);
	KUNIT_EXPECT_EQ(test, 5u * STRETCH, world.sent);
	KUNIT_EXPECT_EQ(test, 2u, world.works);
	/* and it waits for no process: none has the socket */
	KUNIT_EXPECT_EQ(test, 0u, world.waits);
	KUNIT_EXPECT_TRUE(test, !world.raised);
}

/* A program that posts gets one stretch, softirq the next, and no two in a row */
static void push_is_one_stretch(struct kunit *test)
{
	struct mpa_conn *c = crowd(1, 100);

	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, (u32)STRETCH, world.sent);
	KUNIT_EXPECT_TRUE(test, world.raised);
	KUNIT_EXPECT_EQ(test, 0u, world.works);
	softirq();
	KUNIT_EXPECT_EQ(test, 2u * STRETCH, world.sent);
	KUNIT_EXPECT_TRUE(test, !world.raised);
	KUNIT_EXPECT_EQ(test, 1u, world.works);
}

/* No memory: it is asked for again ever later, whoever kicks meanwhile */
static void no_memory(struct kunit *test)
{
	struct mpa_conn *c = crowd(1, 3);
	unsigned long want = 1;
	u32 i;

	world.err = -ENOMEM;
	mpa_tx_kick(c, false);
	softirq();
	for (i = 0; i < 15; i++) {
		KUNIT_EXPECT_EQ(test, i + 1, world.tries);
		KUNIT_EXPECT_EQ(test, want, world.ms);
		mpa_tx_kick(c, false);
		mpa_tx_push(c);
		KUNIT_EXPECT_TRUE(test, !world.raised);
		KUNIT_EXPECT_EQ(test, 0u, guests->works);
		KUNIT_ASSERT_TRUE(test, fire());
		work(guests);
		want = min(2 * want, 1000ul);
	}
	world.err = 0;
	fire();
	work(guests);
	expect_done(test, 1);

	/* the next time it is short is another time */
	guests->left = 1;
	world.err = -ENOMEM;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 1ul, world.ms);
}

/* No room: TCP will tell; nobody asks again by himself */
static void no_room(struct kunit *test)
{
	struct mpa_conn *c = crowd(1, 3);

	world.err = -EAGAIN;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 1u, world.tries);
	KUNIT_EXPECT_TRUE(test, !world.raised && !world.timer);
	KUNIT_EXPECT_EQ(test, 0u, world.works);
	world.err = 0;
	mpa_tx_kick(c, false);
	softirq();
	expect_done(test, 1);
}

/* Somebody has the socket: softirq tries, then a worker waits, and owns nothing */
static void socket_in_use(struct kunit *test)
{
	struct mpa_conn *c = crowd(1, 3);

	world.err = -EBUSY;
	mpa_tx_push(c);
	softirq();
	KUNIT_EXPECT_EQ(test, 2u, world.tries);
	KUNIT_EXPECT_EQ(test, 0u, world.waits);
	KUNIT_EXPECT_EQ(test, 1u, world.works);
	world.works = 0;
	work(guests);
	KUNIT_EXPECT_EQ(test, 4u, world.waits);
	KUNIT_EXPECT_EQ(test, 1u, world.works);
	KUNIT_EXPECT_EQ(test, MPA_TX_PENDING, c->tx.v);
	world.err = 0;
	work(guests);
	expect_done(test, 1);
}

/* A responder, asked for the end with so much held back before its turn */
static struct mpa_conn *ends_shut(u32 batches)
{
	struct mpa_conn *c = crowd(1, batches);

	c->tx_open = false;
	c->closing = true;
	mpa_tx_push(c);
	return c;
}

/* The peer's first FPDU may still come: what is held back is not given up */
static void end_waits_for_turn(struct kunit *test)
{
	struct mpa_conn *c = ends_shut(2);

	KUNIT_EXPECT_FALSE(test, c->drained);
	c->tx_open = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 2u, world.sent);
	KUNIT_EXPECT_TRUE(test, c->drained);
	expect_done(test, 1);
}

/* ... until it cannot come any more: the end need not wait */
static void turn_never_comes(struct kunit *test)
{
	struct mpa_conn *c = ends_shut(2);

	c->peer_closed = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_TRUE(test, c->drained);
	KUNIT_EXPECT_EQ(test, 0u, world.tries);

	c = ends_shut(2);
	c->rx_stopped = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_TRUE(test, c->drained);
}

/* Nothing held back: there is nothing to wait for */
static void nothing_held_back(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, ends_shut(0)->drained);
}

/* What waits for the peer's answer leaves before the end, unless none can come */
static void end_waits_for_answer(struct kunit *test)
{
	struct mpa_conn *c = crowd(1, 0);

	guests[0].stream.awaits = true;
	c->closing = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_FALSE(test, c->drained);
	/* nobody asks for it again by himself */
	KUNIT_EXPECT_EQ(test, 0, c->tx.v);
	c->peer_closed = true;
	guests[0].stream.rests = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_FALSE(test, c->drained);
	guests[0].stream.rests = false;
	mpa_tx_push(c);
	KUNIT_EXPECT_TRUE(test, c->drained);
}

/* What the peer asks for before the worker has sent the FIN: none of it goes in front */
static void asked_after_drained(struct kunit *test)
{
	struct mpa_conn *c = crowd(1, 0);

	c->closing = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_TRUE(test, c->drained);
	guests[0].left = 2;
	/* TCP would take a part of the first batch */
	world.err = -EAGAIN;
	mpa_tx_kick(c, false);
	softirq();
	KUNIT_EXPECT_EQ(test, 0u, world.tries);
	KUNIT_EXPECT_EQ(test, 0u, c->out.len);
	KUNIT_EXPECT_EQ(test, 0, c->tx.v);
}

static struct kunit_case mpa_tx_cases[] = {
	KUNIT_CASE(crowd_is_woken),
	KUNIT_CASE(few_in_softirq),
	KUNIT_CASE(interrupts_off),
	KUNIT_CASE(much_is_the_workers),
	KUNIT_CASE(push_is_one_stretch),
	KUNIT_CASE(no_memory),
	KUNIT_CASE(no_room),
	KUNIT_CASE(socket_in_use),
	KUNIT_CASE(end_waits_for_turn),
	KUNIT_CASE(turn_never_comes),
	KUNIT_CASE(nothing_held_back),
	KUNIT_CASE(end_waits_for_answer),
	KUNIT_CASE(asked_after_drained),
	{}
};

static struct kunit_suite mpa_tx_suite = {
	.name = "mpa_tx",
	.test_cases = mpa_tx_cases,
};

kunit_test_suite(mpa_tx_suite);
