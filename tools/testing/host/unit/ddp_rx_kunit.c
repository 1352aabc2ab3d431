// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/{rx,stream}.c: the general receive path. The lower
 * layer and the ULP are stubs.
 */
#include <kunit/test.h>
#include <ddp/llp.h>

#include "rx.h"

/*
 * Receive an out-of-order segment. Return: true if it was placed and need not
 * be kept.
 */
static bool receive_early_segment(struct ddp_stream *s, const struct ddp_hdr *h, u32 len,
				  struct ddp_placed *p)
{
	encode_header_on_wire(h);
	return ddp_rx_try_place_early_segment(s, &llp, wire.octets, len, p);
}

static void correct_segments_are_delivered(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();

	receive_segment(s, &good_write, 0, 50);
	receive_segment(s, &good_send, 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed + stubs.closed);
}

static void expect_delivered_hdr(struct kunit *test, const struct ddp_hdr *h)
{
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, h->tagged, stubs.deliver_hdr.tagged);
	KUNIT_EXPECT_EQ(test, h->ulp8, stubs.deliver_hdr.ulp8);
	KUNIT_EXPECT_EQ(test, h->ulp32, stubs.deliver_hdr.ulp32);
	KUNIT_EXPECT_EQ(test, h->stag, stubs.deliver_hdr.stag);
	KUNIT_EXPECT_EQ(test, h->qn, stubs.deliver_hdr.qn);
	KUNIT_EXPECT_EQ(test, h->msn, stubs.deliver_hdr.msn);
}

/* DDP-28, DDP-32, DDP-37: the ULP gets the message's header fields at delivery */
static void ulp_gets_header_at_delivery(struct kunit *test)
{
	static const struct ddp_hdr write = {
		.tagged = true, .last = true, .ulp8 = 0x42, .stag = 0xa1b2c3d4,
		.to = 0x1122334455667788,
	}, send = {
		.last = true, .ulp8 = 0x44, .ulp32 = 0x99887766, .msn = 1,
	};
	struct ddp_placed p;
	struct ddp_stream *s;

	s = open_rx_stream();
	receive_segment(s, &write, 0, 50);
	expect_delivered_hdr(test, &write);

	s = open_rx_stream();
	KUNIT_ASSERT_TRUE(test, receive_early_segment(s, &write, 50, &p));
	ddp_rx_deliver_placed_segment(s, &p);
	expect_delivered_hdr(test, &write);

	s = open_rx_stream();
	receive_segment(s, &send, 0, 50);
	expect_delivered_hdr(test, &send);
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

/* Expect that the failure is reported once, and that later segments are ignored */
static void expect_failure_reported_once(struct kunit *test, struct ddp_stream *s,
					 enum iw_reason why)
{
	u32 placed = stubs.placed, delivered = stubs.delivered;

	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	KUNIT_EXPECT_EQ(test, why, stubs.why);
	stubs.admits = stubs.places = stubs.delivers = IW_OK;
	receive_segment(s, &good_write, 0, 50);
	receive_segment(s, &good_send, 0, 50);
	receive_segment(s, &good_write, 1, 50);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	KUNIT_EXPECT_EQ(test, placed, stubs.placed);
	KUNIT_EXPECT_EQ(test, delivered, stubs.delivered);
}

/* Expect that the stream stays open: only the ULP closes the lower layer */
static void expect_only_ulp_closes_stream(struct kunit *test, struct ddp_stream *s)
{
	KUNIT_EXPECT_EQ(test, 0u, stubs.closed);
	/* the transmit path still works, for a Terminate */
	ddp_kick(s);
	KUNIT_EXPECT_EQ(test, 1u, stubs.kicked);
	ddp_stream_close(s, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 1u, stubs.closed);
}

/*
 * DDP-70, DDP-79, DDP-80, DDP-84, DDP-104, RDMAP-156: each wrong segment fails the stream with the
 * expected reason
 */
static void wrong_segment_fails_stream(struct kunit *test)
{
	const struct way *w = test->param_value;
	struct ddp_stream *s = open_rx_stream();

	stubs.admits = w->admits;
	stubs.places = w->places;
	stubs.delivers = w->delivers;
	receive_segment(s, &w->h, w->change, w->len);
	expect_failure_reported_once(test, s, w->why);
	expect_only_ulp_closes_stream(test, s);
}

/*
 * DDP-70, DDP-79, DDP-84, DDP-85: an error of the lower layer fails the stream,
 * but does not close it
 */
static void llp_error_fails_stream(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();

	ddp_llp_report_error(s, IW_MPA_CRC);
	expect_failure_reported_once(test, s, IW_MPA_CRC);
	expect_only_ulp_closes_stream(test, s);
}

/* Out of order -------------------------------------------------------------------- */

static const struct ddp_hdr early_write = {
	.tagged = true, .last = true, .ulp8 = 0x40, .stag = 1, .to = 2,
};

/*
 * An out-of-order segment is placed once and later delivered once, by its saved
 * header
 */
static void early_segment_is_placed_once(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	u8 want[IW_DDP_HDR_MAX];
	struct ddp_placed p;

	KUNIT_ASSERT_TRUE(test, receive_early_segment(s, &early_write, 50, &p));
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 50u, p.len);
	ddp_hdr_encode(want, &early_write);
	KUNIT_EXPECT_EQ(test, 0, memcmp(want, p.hdr, sizeof(p.hdr)));

	KUNIT_EXPECT_EQ(test, IW_OK, ddp_rx_deliver_placed_segment(s, &p));
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 1u, stubs.checked);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
}

/*
 * The lower layer keeps an out-of-order segment that may not be placed early. If the segment has an
 * error, the stream fails only when the segment is in order.
 */
static void unplaced_early_segment_is_kept(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	struct ddp_placed p;

	KUNIT_EXPECT_FALSE(test, receive_early_segment(s, &good_send, 50, &p));
	stubs.places = IW_DDP_T_STAG;
	KUNIT_EXPECT_FALSE(test, receive_early_segment(s, &early_write, 50, &p));
	stubs.places = IW_OK;
	stubs.admits = IW_RDMAP_OPCODE;
	KUNIT_EXPECT_FALSE(test, receive_early_segment(s, &early_write, 50, &p));
	KUNIT_EXPECT_EQ(test, 0u, stubs.placed + stubs.failed);
}

/* After a failure, no segment is placed, in order or not */
static void nothing_is_placed_after_failure(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	struct ddp_placed p, later;

	KUNIT_ASSERT_TRUE(test, receive_early_segment(s, &early_write, 50, &p));
	ddp_llp_report_error(s, IW_MPA_CRC);
	KUNIT_EXPECT_FALSE(test, receive_early_segment(s, &early_write, 50, &later));
	KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC, ddp_rx_deliver_placed_segment(s, &p));
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.delivered);
}

/* Page faults -------------------------------------------------------------------- */

/* A deferred tagged segment is admitted once, and placed and delivered on retry */
static void deferred_tagged_segment_is_admitted_once(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();

	stubs.places = IW_AGAIN;
	receive_segment(s, &early_write, 0, 50);
	receive_segment(s, &early_write, 0, 50);
	KUNIT_EXPECT_EQ(test, 0u, stubs.placed + stubs.delivered);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	stubs.places = IW_OK;
	receive_segment(s, &early_write, 0, 50);
	KUNIT_EXPECT_EQ(test, 1u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	receive_segment(s, &good_write, 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
}

/*
 * A deferred untagged segment is admitted once, and placed and delivered on
 * retry. If only its delivery is deferred, the retry does not place it again.
 */
static void deferred_untagged_segment_is_admitted_once(struct kunit *test)
{
	const struct ddp_hdr second = { .last = true, .msn = 2 };
	struct ddp_stream *s = open_rx_stream();

	stubs.places = IW_AGAIN;
	receive_segment(s, &good_send, 0, 50);
	stubs.places = IW_OK;
	stubs.delivers = IW_AGAIN;
	receive_segment(s, &good_send, 0, 50);
	KUNIT_EXPECT_EQ(test, 0u, stubs.delivered);
	stubs.delivers = IW_OK;
	receive_segment(s, &good_send, 0, 50);
	KUNIT_EXPECT_EQ(test, 1u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	receive_segment(s, &second, 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
}

/*
 * A retried segment must equal the deferred segment. If the retried one has other bytes or another
 * length, the stream fails.
 */
static void retry_must_equal_deferred_segment(struct kunit *test)
{
	struct ddp_stream *s;
	int how;

	for (how = 0; how < 2; how++) {
		s = open_rx_stream();
		stubs.places = IW_AGAIN;
		receive_segment(s, &early_write, 0, 50);
		stubs.places = IW_OK;
		receive_segment(s, how ? &early_write : &good_write, 0, how ? 51 : 50);
		KUNIT_EXPECT_EQ(test, 0u, stubs.placed + stubs.delivered);
		expect_failure_reported_once(test, s, IW_DDP_CATASTROPHIC);
	}
}

/* The connection of the lower layer ends ------------------------------------ */

/*
 * When the lower layer's connection ends, the ULP is notified, even if the
 * stream has failed before
 */
static void ulp_is_notified_of_llp_end(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();

	ddp_llp_report_down(s, IW_MPA_LOST);
	KUNIT_EXPECT_EQ(test, 1u, stubs.down);
	KUNIT_EXPECT_EQ(test, IW_MPA_LOST, stubs.down_why);
	KUNIT_EXPECT_TRUE(test, ddp_tx_has_failed(s));

	s = open_rx_stream();
	ddp_llp_report_error(s, IW_MPA_CRC);
	ddp_llp_report_down(s, IW_MPA_LOST);
	KUNIT_EXPECT_EQ(test, 1u, stubs.down);
	KUNIT_EXPECT_EQ(test, IW_MPA_LOST, stubs.down_why);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
}

/* A lower layer without stream numbers reports none */
static void query_reports_no_stream_numbers(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	struct ddp_query q;

	ddp_stream_query(s, &q);
	KUNIT_EXPECT_STREQ(test, "test", q.llp);
	KUNIT_EXPECT_EQ(test, DDP_QUERY_NO_STREAM, q.stream);

	/* the stream is unbound */
	ddp_stream_unbind(s);
	KUNIT_EXPECT_EQ(test, 1u, stubs.unbinds);
	ddp_stream_query(s, &q);
	KUNIT_EXPECT_NULL(test, q.llp);
	KUNIT_EXPECT_EQ(test, DDP_QUERY_NO_STREAM, q.stream);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, ddp_stream_bind(s, &llp));
}

static struct kunit_case rx_cases[] = {
	KUNIT_CASE(correct_segments_are_delivered),
	KUNIT_CASE(ulp_gets_header_at_delivery),
	KUNIT_CASE_PARAM(wrong_segment_fails_stream, way_gen_params),
	KUNIT_CASE(llp_error_fails_stream),
	KUNIT_CASE(early_segment_is_placed_once),
	KUNIT_CASE(unplaced_early_segment_is_kept),
	KUNIT_CASE(nothing_is_placed_after_failure),
	KUNIT_CASE(deferred_tagged_segment_is_admitted_once),
	KUNIT_CASE(deferred_untagged_segment_is_admitted_once),
	KUNIT_CASE(retry_must_equal_deferred_segment),
	KUNIT_CASE(ulp_is_notified_of_llp_end),
	KUNIT_CASE(query_reports_no_stream_numbers),
	{}
};

static struct kunit_suite rx_suite = {
	.name = "ddp_rx",
	.test_cases = rx_cases,
};

kunit_test_suite(rx_suite);
