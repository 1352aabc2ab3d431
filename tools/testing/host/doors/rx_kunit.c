// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/{rx,stream}.c: the general receive path. Lower
 * layer and ULP are stubs.
 */
#include <kunit/test.h>
#include <ddp/llp.h>

#include "rx.h"

/* Calls of the stubs, and their results ------------------------------------------ */

struct rx_world world;

struct ddp_region region;

void ddp_hold_drop(struct ddp_region **held)
{
	*held = NULL;
}

static enum iw_reason place(void)
{
	if (!world.places)
		world.placed++;
	return world.places;
}

enum iw_reason ddp_place_tagged(struct ddp_stream *s, struct ddp_llp *llp,
				const struct ddp_hdr *h, u32 len, u8 rights)
{
	if (!world.places)
		s->rx_held = &region;
	if (llp)
		return place();
	world.checked++;
	return world.places;
}

bool ddp_place_fits(const struct ddp_stream *s, u64 to, u32 len)
{
	world.to = to;
	world.fitted = len;
	return world.fits;
}

enum iw_reason ddp_place_more(struct ddp_stream *s, struct ddp_llp *llp,
			      const void *body, u64 to, u32 len, bool last)
{
	world.another += last;
	world.body = body;
	world.to = to;
	world.len = len;
	/* successful up to that segment */
	if (world.placed >= world.places_at)
		return place();
	if (++world.placed == world.fails_at)
		set_bit(0, &s->failed);
	return IW_OK;
}

enum iw_reason ddp_place_untagged(struct ddp_stream *s, struct ddp_llp *llp,
				  const void *body, struct ddp_cursor *to, u32 len)
{
	if (!world.places)
		s->rx_held = &region;
	world.body = body;
	world.len = len;
	world.sink = to;
	return place();
}

static enum iw_reason asked(struct ddp_stream *s, const struct ddp_hdr *h,
			    u32 payload, struct ddp_grant *g, bool goes_on)
{
	static const struct ddp_buf buf = { .len = 100 };

	world.admitted++;
	world.wrote_first = world.wrote;
	/* a next segment may have a cached reference */
	world.held += !h->tagged && !goes_on && s->rx_held;
	world.asked = *h;
	world.payload = payload;
	g->buf = &buf;
	g->rights = world.rights;
	return world.admits;
}

static enum iw_reason admit(struct ddp_stream *s, const struct ddp_hdr *h,
			    u32 payload, struct ddp_grant *g)
{
	return asked(s, h, payload, g, false);
}

static enum iw_reason more(struct ddp_stream *s, const struct ddp_hdr *h,
			   u32 payload, u32 n)
{
	struct ddp_grant none;

	if (n > 1 && world.refuses_many)
		return IW_RDMAP_OPCODE;
	world.went_on += n;
	return asked(s, h, payload, &none, true);
}

static void wrote(struct ddp_stream *s, u32 payload, u32 n)
{
	world.wrote += n;
	world.wrote_len = payload;
}

static enum iw_reason deliver(struct ddp_stream *s, const struct ddp_hdr *h,
			      u32 total)
{
	if (!world.delivers)
		world.delivered++;
	world.told = *h;
	world.total = total;
	world.held += !!s->rx_held;
	return world.delivers;
}

static void failed(struct ddp_stream *s, const struct iw_fault *f)
{
	world.failed++;
	world.held += !!s->rx_held;
	world.why = f->why;
	world.quoted = *f;
}

static bool early(struct ddp_stream *s, const struct ddp_hdr *h, u32 payload,
		  struct ddp_grant *g)
{
	return !world.admits;
}

static void down(struct ddp_stream *s, enum iw_reason why)
{
	world.down++;
	world.down_why = why;
}

static const struct ddp_ulp_ops ulp_ops = {
	.admit = admit, .more = more, .wrote = wrote, .early = early, .deliver = deliver,
	.failed = failed, .down = down,
};

/* A lower layer ------------------------------------------------------------- */

struct rx_wire wire;

static void llp_kick(struct ddp_llp *llp, bool bulk)
{
	world.kicked++;
}

static bool llp_read(struct ddp_llp *llp, void *dst, u32 len)
{
	memcpy(dst, wire.octets + wire.at, len);
	wire.at += len;
	return true;
}

static void llp_close(struct ddp_llp *llp, enum iw_reason why)
{
	world.closed++;
}

static void llp_quiesce(struct ddp_llp *llp)
{
	world.quiet++;
}

static void llp_query(struct ddp_llp *llp, struct ddp_query *q)
{
	q->llp = "test";
}

static const struct ddp_llp_ops llp_ops = {
	.kick = llp_kick, .read = llp_read, .close = llp_close,
	.quiesce = llp_quiesce, .query = llp_query,
};

struct ddp_llp llp = { .ops = &llp_ops };

struct ddp_stream *rx_open(void)
{
	static struct ddp_stream s;

	memset(&world, 0, sizeof(world));
	ddp_stream_init(&s, &ulp_ops, NULL, NULL);
	ddp_stream_bind(&s, &llp);
	return &s;
}

static void on_wire(const struct ddp_hdr *h)
{
	memset(&wire, 0, sizeof(wire));
	ddp_hdr_encode(wire.octets, h);
	wire.at = IW_DDP_T_HDR_LEN;
}

/*
 * Receive a segment of @len bytes with this header, its first byte XORed with
 * @change
 */
void rx_comes(struct ddp_stream *s, const struct ddp_hdr *h, u8 change,
		  u32 len)
{
	on_wire(h);
	wire.octets[0] ^= change;
	ddp_rx_segment(s, &llp, wire.octets, len);
}

/*
 * Receive an out-of-order segment. Return: true if it was placed and need not
 * be kept.
 */
static bool comes_early(struct ddp_stream *s, const struct ddp_hdr *h, u32 len,
			struct ddp_placed *p)
{
	on_wire(h);
	return ddp_rx_early(s, &llp, wire.octets, len, p);
}

const struct ddp_hdr good_write = { .tagged = true, .last = true };
const struct ddp_hdr good_send = { .last = true, .msn = 1 };

static void good_ones(struct kunit *test)
{
	struct ddp_stream *s = rx_open();

	rx_comes(s, &good_write, 0, 50);
	rx_comes(s, &good_send, 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, world.placed);
	KUNIT_EXPECT_EQ(test, 2u, world.delivered);
	KUNIT_EXPECT_EQ(test, 0u, world.failed + world.closed);
}

static void expect_told(struct kunit *test, const struct ddp_hdr *h)
{
	KUNIT_EXPECT_EQ(test, 1u, world.delivered);
	KUNIT_EXPECT_EQ(test, h->tagged, world.told.tagged);
	KUNIT_EXPECT_EQ(test, h->ulp8, world.told.ulp8);
	KUNIT_EXPECT_EQ(test, h->ulp32, world.told.ulp32);
	KUNIT_EXPECT_EQ(test, h->stag, world.told.stag);
	KUNIT_EXPECT_EQ(test, h->qn, world.told.qn);
	KUNIT_EXPECT_EQ(test, h->msn, world.told.msn);
}

/* DDP-28, DDP-32, DDP-37: the ULP gets the message's header fields at delivery */
static void told_at_delivery(struct kunit *test)
{
	static const struct ddp_hdr write = {
		.tagged = true, .last = true, .ulp8 = 0x42, .stag = 0xa1b2c3d4,
		.to = 0x1122334455667788,
	}, send = {
		.last = true, .ulp8 = 0x44, .ulp32 = 0x99887766, .msn = 1,
	};
	struct ddp_placed p;
	struct ddp_stream *s;

	s = rx_open();
	rx_comes(s, &write, 0, 50);
	expect_told(test, &write);

	s = rx_open();
	KUNIT_ASSERT_TRUE(test, comes_early(s, &write, 50, &p));
	ddp_rx_placed(s, &p);
	expect_told(test, &write);

	s = rx_open();
	rx_comes(s, &send, 0, 50);
	expect_told(test, &send);
}

/* Ways to fail -------------------------------------------------------------- */

struct way {
	const char	*name;
	enum iw_reason	why;
	struct ddp_hdr	h;
	u32		len;
	u8		change;
	enum iw_reason	admits, places, delivers;
};

static const struct way ways[] = {
	{ "short", IW_DDP_SHORT, { .tagged = true }, 13 },
	{ "tagged version", IW_DDP_T_VERSION, { .tagged = true }, 50, 1 },
	{ "untagged version", IW_DDP_U_VERSION, { .msn = 1 }, 50, 2 },
	{ "queue", IW_DDP_U_QN, { .qn = 4, .msn = 1 }, 50 },
	{ "MSN", IW_DDP_U_MSN_RANGE, { .msn = 2 }, 50 },
	{ "MO", IW_DDP_U_MO, { .msn = 1, .mo = 1 }, 50 },
	{ "too long", IW_DDP_U_TOO_LONG, { .msn = 1 }, 119 },
	{ "STag", IW_DDP_T_STAG, { .tagged = true }, 50,
	  .places = IW_DDP_T_STAG },
	{ "memory of the receive", IW_LOCAL_PROT, { .msn = 1 }, 50,
	  .places = IW_LOCAL_PROT },
	{ "no receive", IW_DDP_U_NO_BUFFER, { .msn = 1 }, 50,
	  .admits = IW_DDP_U_NO_BUFFER },
	{ "opcode", IW_RDMAP_OPCODE, { .tagged = true }, 50,
	  .admits = IW_RDMAP_OPCODE },
	{ "at delivery", IW_RDMAP_INVALIDATE, { .last = true, .msn = 1 }, 50,
	  .delivers = IW_RDMAP_INVALIDATE },
};

static void describe_way(const struct way *w, char *desc)
{
	strscpy(desc, w->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(way, ways, describe_way);

/* The failure is reported once, and later segments are ignored */
static void expect_failed(struct kunit *test, struct ddp_stream *s,
			  enum iw_reason why)
{
	u32 placed = world.placed, delivered = world.delivered;

	KUNIT_EXPECT_EQ(test, 1u, world.failed);
	KUNIT_EXPECT_EQ(test, why, world.why);
	world.admits = world.places = world.delivers = IW_OK;
	rx_comes(s, &good_write, 0, 50);
	rx_comes(s, &good_send, 0, 50);
	rx_comes(s, &good_write, 1, 50);
	KUNIT_EXPECT_EQ(test, 1u, world.failed);
	KUNIT_EXPECT_EQ(test, placed, world.placed);
	KUNIT_EXPECT_EQ(test, delivered, world.delivered);
}

/* The stream stays open: only the ULP closes the lower layer */
static void expect_open(struct kunit *test, struct ddp_stream *s)
{
	KUNIT_EXPECT_EQ(test, 0u, world.closed);
	/* the transmit path still works, for a Terminate */
	ddp_kick(s);
	KUNIT_EXPECT_EQ(test, 1u, world.kicked);
	ddp_stream_close(s, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 1u, world.closed);
}

/*
 * DDP-70, DDP-79, DDP-80, DDP-84, DDP-104, RDMAP-156: each wrong segment fails
 * the stream with its reason
 */
static void fails_and_stays(struct kunit *test)
{
	const struct way *w = test->param_value;
	struct ddp_stream *s = rx_open();

	world.admits = w->admits;
	world.places = w->places;
	world.delivers = w->delivers;
	rx_comes(s, &w->h, w->change, w->len);
	expect_failed(test, s, w->why);
	expect_open(test, s);
}

/*
 * DDP-70, DDP-79, DDP-84, DDP-85: an error of the lower layer fails the stream,
 * but does not close it
 */
static void lower_error(struct kunit *test)
{
	struct ddp_stream *s = rx_open();

	ddp_llp_error(s, IW_MPA_CRC);
	expect_failed(test, s, IW_MPA_CRC);
	expect_open(test, s);
}

/* Out of order -------------------------------------------------------------------- */

static const struct ddp_hdr early_write = {
	.tagged = true, .last = true, .ulp8 = 0x40, .stag = 1, .to = 2,
};

/*
 * An out-of-order segment is placed once and later delivered once, by its saved
 * header
 */
static void placed_early(struct kunit *test)
{
	struct ddp_stream *s = rx_open();
	u8 want[IW_DDP_HDR_MAX];
	struct ddp_placed p;

	KUNIT_ASSERT_TRUE(test, comes_early(s, &early_write, 50, &p));
	KUNIT_EXPECT_NULL(test, s->rx_held);
	KUNIT_EXPECT_EQ(test, 1u, world.placed);
	KUNIT_EXPECT_EQ(test, 0u, world.delivered);
	KUNIT_EXPECT_EQ(test, 50u, p.len);
	ddp_hdr_encode(want, &early_write);
	KUNIT_EXPECT_EQ(test, 0, memcmp(want, p.hdr, sizeof(p.hdr)));

	KUNIT_EXPECT_EQ(test, IW_OK, ddp_rx_placed(s, &p));
	KUNIT_EXPECT_EQ(test, 1u, world.placed);
	KUNIT_EXPECT_EQ(test, 1u, world.checked);
	KUNIT_EXPECT_EQ(test, 1u, world.delivered);
}

/*
 * A segment that may not be placed early is kept until it is in order, and is
 * no error before
 */
static void not_placed_early(struct kunit *test)
{
	struct ddp_stream *s = rx_open();
	struct ddp_placed p;

	KUNIT_EXPECT_FALSE(test, comes_early(s, &good_send, 50, &p));
	world.places = IW_DDP_T_STAG;
	KUNIT_EXPECT_FALSE(test, comes_early(s, &early_write, 50, &p));
	world.places = IW_OK;
	world.admits = IW_RDMAP_OPCODE;
	KUNIT_EXPECT_FALSE(test, comes_early(s, &early_write, 50, &p));
	KUNIT_EXPECT_EQ(test, 0u, world.placed + world.failed);
}

/* After a failure, no segment is placed, in order or not */
static void nothing_after_failure(struct kunit *test)
{
	struct ddp_stream *s = rx_open();
	struct ddp_placed p, later;

	KUNIT_ASSERT_TRUE(test, comes_early(s, &early_write, 50, &p));
	ddp_llp_error(s, IW_MPA_CRC);
	KUNIT_EXPECT_FALSE(test, comes_early(s, &early_write, 50, &later));
	KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC, ddp_rx_placed(s, &p));
	KUNIT_EXPECT_EQ(test, 1u, world.placed);
	KUNIT_EXPECT_EQ(test, 0u, world.delivered);
}

/* Page faults -------------------------------------------------------------------- */

/* A deferred tagged segment is admitted once, and placed and delivered on retry */
static void put_off_tagged(struct kunit *test)
{
	struct ddp_stream *s = rx_open();

	world.places = IW_NOT_NOW;
	rx_comes(s, &early_write, 0, 50);
	rx_comes(s, &early_write, 0, 50);
	KUNIT_EXPECT_EQ(test, 0u, world.placed + world.delivered);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	world.places = IW_OK;
	rx_comes(s, &early_write, 0, 50);
	KUNIT_EXPECT_EQ(test, 1u, world.admitted);
	KUNIT_EXPECT_EQ(test, 1u, world.delivered);
	rx_comes(s, &good_write, 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, world.admitted);
	KUNIT_EXPECT_EQ(test, 2u, world.delivered);
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
}

/* A deferred untagged segment as well, also if delivery is deferred */
static void put_off_untagged(struct kunit *test)
{
	const struct ddp_hdr second = { .last = true, .msn = 2 };
	struct ddp_stream *s = rx_open();

	world.places = IW_NOT_NOW;
	rx_comes(s, &good_send, 0, 50);
	world.places = IW_OK;
	world.delivers = IW_NOT_NOW;
	rx_comes(s, &good_send, 0, 50);
	KUNIT_EXPECT_EQ(test, 0u, world.delivered);
	world.delivers = IW_OK;
	rx_comes(s, &good_send, 0, 50);
	KUNIT_EXPECT_EQ(test, 1u, world.admitted);
	KUNIT_EXPECT_EQ(test, 1u, world.delivered);
	rx_comes(s, &second, 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, world.delivered);
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
}

/*
 * A retried segment must equal the deferred one, even if its memory was changed
 * meanwhile
 */
static void comes_again_changed(struct kunit *test)
{
	struct ddp_stream *s;
	int how;

	for (how = 0; how < 2; how++) {
		s = rx_open();
		world.places = IW_NOT_NOW;
		rx_comes(s, &early_write, 0, 50);
		world.places = IW_OK;
		rx_comes(s, how ? &early_write : &good_write, 0, how ? 51 : 50);
		KUNIT_EXPECT_EQ(test, 0u, world.placed + world.delivered);
		expect_failed(test, s, IW_DDP_CATASTROPHIC);
	}
}

/* The lower layer ends ------------------------------------------------------ */

/*
 * The ULP is notified when the lower layer ends, even if the stream has failed
 * before
 */
static void goes_down(struct kunit *test)
{
	struct ddp_stream *s = rx_open();

	ddp_llp_down(s, IW_MPA_LOST);
	KUNIT_EXPECT_EQ(test, 1u, world.down);
	KUNIT_EXPECT_EQ(test, IW_MPA_LOST, world.down_why);
	KUNIT_EXPECT_TRUE(test, ddp_tx_failed(s));

	s = rx_open();
	ddp_llp_error(s, IW_MPA_CRC);
	ddp_llp_down(s, IW_MPA_LOST);
	KUNIT_EXPECT_EQ(test, 1u, world.down);
	KUNIT_EXPECT_EQ(test, IW_MPA_LOST, world.down_why);
	KUNIT_EXPECT_EQ(test, 1u, world.failed);
}

/* A lower layer without stream numbers reports none */
static void is_looked_at(struct kunit *test)
{
	struct ddp_stream *s = rx_open();
	struct ddp_query q;

	ddp_stream_query(s, &q);
	KUNIT_EXPECT_STREQ(test, "test", q.llp);
	KUNIT_EXPECT_EQ(test, DDP_QUERY_NO_STREAM, q.stream);

	/* the stream is unbound */
	ddp_stream_unbind(s);
	KUNIT_EXPECT_EQ(test, 1u, world.quiet);
	ddp_stream_query(s, &q);
	KUNIT_EXPECT_NULL(test, q.llp);
	KUNIT_EXPECT_EQ(test, DDP_QUERY_NO_STREAM, q.stream);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, ddp_stream_bind(s, &llp));
}

static struct kunit_case rx_cases[] = {
	KUNIT_CASE(good_ones),
	KUNIT_CASE(told_at_delivery),
	KUNIT_CASE_PARAM(fails_and_stays, way_gen_params),
	KUNIT_CASE(lower_error),
	KUNIT_CASE(placed_early),
	KUNIT_CASE(not_placed_early),
	KUNIT_CASE(nothing_after_failure),
	KUNIT_CASE(put_off_tagged),
	KUNIT_CASE(put_off_untagged),
	KUNIT_CASE(comes_again_changed),
	KUNIT_CASE(goes_down),
	KUNIT_CASE(is_looked_at),
	{}
};

static struct kunit_suite rx_suite = {
	.name = "rx",
	.test_cases = rx_cases,
};

kunit_test_suite(rx_suite);
