// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of the fast path for repeated Writes: single-segment Writes with
 * the header of the previous Write. The MR reference stays cached between them.
 */
#include <kunit/test.h>
#include <linux/mm.h>

#include "rx.h"

/*
 * Within a receive pass the MR reference stays cached after the end of a Write,
 * because the upcalls for a Write do not invalidate MRs
 */
static void ref_stays_cached_after_write(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	struct ddp_placed p;

	stubs.rights = DDP_REMOTE_WRITE;
	ddp_rx_begin(s);
	receive_segment(s, &good_write, 0, 50);
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_mr);
	/* no segment continues a complete message */
	KUNIT_EXPECT_EQ(test, 0u, ddp_rx_get_next_page_off(s));
	receive_segment(s, &good_send, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	receive_segment(s, &good_write, 0, 50);
	receive_segment(s, &good_write, 0, 14);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	receive_segment(s, &good_write, 0, 50);
	ddp_rx_end(s);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	receive_segment(s, &good_write, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_mr);

	/*
	 * a segment that was placed early and is delivered now does not count as the previous Write
	 */
	ddp_rx_begin(s);
	receive_segment(s, &good_write, 0, 50);
	memcpy(p.hdr, wire.octets, sizeof(p.hdr));
	p.len = 50;
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_rx_deliver_placed_segment(s, &p));
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	stubs.rights = DDP_LOCAL_WRITE;
	receive_segment(s, &good_write, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
}

static const struct ddp_hdr some_write = {
	.tagged = true, .last = true, .ulp8 = 0x40, .stag = 0x12345678, .to = 0xfffffff0,
};

/* Open a stream, begin a pass and receive one Write */
static struct ddp_stream *open_and_receive_write(void)
{
	struct ddp_stream *s = open_rx_stream();

	stubs.rights = DDP_REMOTE_WRITE;
	ddp_rx_begin(s);
	receive_segment(s, &some_write, 0, 50);
	return s;
}

/*
 * Receive a segment after a Write. Expect that the fast path accepts it as a repeated Write if
 * @alike is true, and does not accept it otherwise.
 */
static void expect_repeated_write_only_if_alike(struct kunit *test, const u8 *octets, u32 len,
						bool alike)
{
	struct ddp_stream *s = open_and_receive_write();
	enum iw_reason why = IW_UNREADABLE;
	bool taken;

	taken = receive_if_expected(s, octets, len, &why);
	KUNIT_EXPECT_EQ(test, alike, taken);
	KUNIT_EXPECT_EQ(test, (u32)alike, stubs.repeated);
	KUNIT_EXPECT_EQ(test, 1u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	if (alike) {
		KUNIT_EXPECT_EQ(test, IW_OK, why);
		KUNIT_EXPECT_EQ(test, get_unaligned_be64(octets + DDP_T_TO), stubs.to);
		KUNIT_EXPECT_EQ(test, len - IW_DDP_T_HDR_LEN, stubs.len);
		KUNIT_EXPECT_PTR_EQ(test, (const void *)octets + IW_DDP_T_HDR_LEN, stubs.body);
	}
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, (u32)alike, stubs.wrote);
}

/* A segment is a repeated Write only if its header equals the last Write's, except for the TO */
static void repeated_write_needs_same_header_except_to(struct kunit *test)
{
	u8 octets[IW_DDP_HDR_MAX];
	u32 len, bit;

	ddp_hdr_encode(octets, &some_write);
	for (len = 15; len < 60; len++) {
		expect_repeated_write_only_if_alike(test, octets, len, len == 50);
		for (bit = 0; bit < 8 * IW_DDP_T_HDR_LEN; bit++) {
			octets[bit / 8] ^= 1 << bit % 8;
			expect_repeated_write_only_if_alike(test, octets, len,
							    len == 50 && bit >= 8 * DDP_T_TO);
			octets[bit / 8] ^= 1 << bit % 8;
		}
	}
}

/*
 * Several Writes are reported together: before the next upcall, or at the end of
 * the pass
 */
static void repeated_writes_are_reported_together(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_write();
	struct ddp_placed p = { .len = 50 };
	enum iw_reason why;
	u8 head[IW_DDP_HDR_MAX];
	u32 i;

	ddp_hdr_encode(head, &some_write);
	memcpy(p.hdr, head, sizeof(p.hdr));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, receive_if_expected(s, head, 50, &why));
	KUNIT_EXPECT_EQ(test, 0u, stubs.wrote);
	receive_segment(s, &good_send, 0, 50);
	KUNIT_EXPECT_EQ(test, 3u, stubs.wrote);
	KUNIT_EXPECT_EQ(test, 36u, stubs.wrote_len);
	KUNIT_EXPECT_EQ(test, 3u, stubs.wrote_first);

	/* Writes are reported before the delivery of a segment that was placed early */
	receive_segment(s, &some_write, 0, 50);
	KUNIT_EXPECT_TRUE(test, receive_if_expected(s, head, 50, &why));
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_rx_deliver_placed_segment(s, &p));
	KUNIT_EXPECT_EQ(test, 4u, stubs.wrote_first);

	/*
	 * if another context has failed the stream, Writes placed before the failure are still
	 * reported
	 */
	receive_segment(s, &some_write, 0, 50);
	KUNIT_EXPECT_TRUE(test, receive_if_expected(s, head, 50, &why));
	set_bit(0, &s->failed);
	KUNIT_EXPECT_FALSE(test, receive_if_expected(s, head, 50, &why));
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 5u, stubs.wrote);
	ddp_rx_begin(s);
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 5u, stubs.wrote);
}

/*
 * A Write of one segment may begin at the TO where the previous Write ended. It is a new
 * message and not the next segment of the previous one, so the fast path for repeated
 * Writes takes it. The first segment of a longer Write takes neither fast path.
 */
static void repeated_write_is_no_continuation(struct kunit *test)
{
	struct ddp_hdr h = some_write;
	struct ddp_stream *s = open_and_receive_write();

	/*
	 * a Write at the TO where the last Write ended is a repeated Write,
	 * whose payload is read from the lower layer
	 */
	h.to += 36;
	receive_segment(s, &h, 0, 50);
	KUNIT_EXPECT_EQ(test, 1u, stubs.repeated);
	KUNIT_EXPECT_NULL(test, stubs.body);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	h.to += 36;
	KUNIT_EXPECT_TRUE(test, is_expected_segment(s, &h, 50, 0));
	h.last = false;
	KUNIT_EXPECT_FALSE(test, is_expected_segment(s, &h, 50, 0));
	receive_segment(s, &h, 0, 50);
	h.to += 36;
	receive_segment(s, &h, 0, 50);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 1u, stubs.wrote);
	h.to += 36;
	h.last = true;
	receive_segment(s, &h, 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	/* a Write of one segment after a longer Write is a repeated Write too */
	receive_segment(s, &some_write, 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, stubs.repeated);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	ddp_rx_end(s);
}

/*
 * If a repeated Write fails, the error report quotes its header as received, the
 * Write is not delivered, and no other Write is accepted after it
 */
static void failed_repeated_write_is_quoted(struct kunit *test)
{
	const enum iw_reason whys[] = { IW_DDP_T_BOUNDS, IW_RDMAP_UNSPEC };
	struct ddp_hdr h = some_write;
	enum iw_reason why;
	struct ddp_stream *s;
	u8 head[IW_DDP_HDR_MAX];
	u32 how;

	h.to = 0x1122334455667788;
	ddp_hdr_encode(head, &h);
	for (how = 0; how < ARRAY_SIZE(whys); how++) {
		s = open_and_receive_write();
		KUNIT_EXPECT_TRUE(test, receive_if_expected(s, wire.octets, 50, &why));
		/* if both DDP and RDMAP find an error, that of RDMAP is reported */
		stubs.places = IW_DDP_T_BOUNDS;
		if (how)
			stubs.admits = whys[how];
		KUNIT_EXPECT_TRUE(test, receive_if_expected(s, head, 50, &why));
		KUNIT_EXPECT_EQ(test, whys[how], why);
		KUNIT_EXPECT_EQ(test, whys[how], stubs.why);
		KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
		KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
		KUNIT_EXPECT_EQ(test, 1u, stubs.wrote);
		KUNIT_EXPECT_EQ(test, 1u, stubs.wrote_first);
		KUNIT_EXPECT_EQ(test, 2u, stubs.placed);
		KUNIT_EXPECT_EQ(test, 50u, stubs.quoted.seg_len);
		KUNIT_EXPECT_EQ(test, (u32)IW_DDP_T_HDR_LEN, stubs.quoted.ddp_len);
		KUNIT_EXPECT_EQ(test, 0, memcmp(head, stubs.quoted.ddp, IW_DDP_T_HDR_LEN));
		KUNIT_EXPECT_NULL(test, s->rx_mr);
		stubs.places = IW_OK;
		stubs.admits = IW_OK;
		KUNIT_EXPECT_FALSE(test, receive_if_expected(s, head, 50, &why));
		KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC, ddp_rx_segment(s, &llp, head, 50));
		KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
		ddp_rx_end(s);
	}
}

/*
 * After the transmit path has failed the stream, no Write is accepted, although
 * the receive path still has the cached MR reference
 */
static void failed_stream_takes_no_repeated_write(struct kunit *test)
{
	const struct iw_failure f = { .why = IW_LOCAL_PROT };
	struct ddp_stream *s = open_and_receive_write();
	enum iw_reason why;

	ddp_stream_fail(s, &f);
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_mr);
	KUNIT_EXPECT_FALSE(test, receive_if_expected(s, wire.octets, 50, &why));
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	ddp_rx_end(s);
}

/*
 * A repeated Write to a page that is not present is admitted once and delivered
 * once, and no other Write overtakes it
 */
static void repeated_write_waits_for_page(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_write();
	struct ddp_hdr h = some_write;
	enum iw_reason why;
	u8 head[IW_DDP_HDR_MAX];

	h.to += 1000;
	ddp_hdr_encode(head, &h);
	stubs.places = IW_AGAIN;
	KUNIT_EXPECT_TRUE(test, receive_if_expected(s, head, 50, &why));
	KUNIT_EXPECT_EQ(test, IW_AGAIN, why);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);

	ddp_rx_begin(s);
	stubs.places = IW_OK;
	KUNIT_EXPECT_FALSE(test, receive_if_expected(s, head, 50, &why));
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_rx_segment(s, &llp, head, 50));
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.wrote);
	/* the stream still remembers the access right that Writes need */
	KUNIT_EXPECT_EQ(test, (u8)DDP_REMOTE_WRITE, s->rx_seg.rights);
	KUNIT_EXPECT_TRUE(test, receive_if_expected(s, head, 50, &why));
	KUNIT_EXPECT_EQ(test, IW_OK, why);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	ddp_rx_end(s);
}

/* Batches ------------------------------------------------------------------------ */

#define RUN	4	/* Writes of 36 bytes, at TOs that do not follow each other */

static u8 bodies[RUN * 36];

static void make_writes(struct ddp_hdr *h)
{
	static const u64 tos[RUN] = { 7000, 0, U64_MAX, 7036 };
	u32 i;

	for (i = 0; i < RUN; i++) {
		h[i] = some_write;
		h[i].to = tos[i];
	}
}

/* Each Write of a batch is placed at its own TO; all of them are reported together */
static void batch_of_writes_is_placed(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_write();
	struct ddp_hdr h[RUN];
	enum iw_reason why;

	make_writes(h);
	KUNIT_EXPECT_EQ(test, RUN, receive_batch(s, h, RUN, 50, bodies, &why));
	KUNIT_EXPECT_EQ(test, IW_OK, why);
	KUNIT_EXPECT_EQ(test, (u32)RUN, stubs.repeated);
	KUNIT_EXPECT_EQ(test, h[RUN - 1].to, stubs.to);
	KUNIT_EXPECT_PTR_EQ(test, (const void *)(bodies + 36 * (RUN - 1)), stubs.body);
	/* Writes are never placed at once, because each has its own last byte */
	KUNIT_EXPECT_EQ(test, 0u, stubs.fitted);
	KUNIT_EXPECT_EQ(test, 0u, stubs.wrote);
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, (u32)RUN, stubs.wrote);
	KUNIT_EXPECT_EQ(test, 36u, stubs.wrote_len);
	KUNIT_EXPECT_EQ(test, 1u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
}

/*
 * DDP-99: if a Write of a batch is out of bounds, the Writes before it are placed and reported, its
 * header is quoted, and the Writes after it are not placed
 */
static void batch_ends_at_write_out_of_bounds(struct kunit *test)
{
	struct ddp_hdr h[RUN];
	struct ddp_stream *s;
	enum iw_reason why;
	u32 bad;

	make_writes(h);
	for (bad = 0; bad < RUN; bad++) {
		s = open_and_receive_write();
		stubs.places = IW_DDP_T_BOUNDS;
		stubs.places_at = 1 + bad;
		KUNIT_EXPECT_EQ(test, (int)bad, receive_batch(s, h, RUN, 50, bodies, &why));
		KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, why);
		KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, stubs.why);
		KUNIT_EXPECT_EQ(test, 1 + bad, stubs.placed);
		KUNIT_EXPECT_EQ(test, bad, stubs.wrote);
		KUNIT_EXPECT_EQ(test, h[bad].to, get_unaligned_be64(stubs.quoted.ddp + DDP_T_TO));
		KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
		KUNIT_EXPECT_NULL(test, s->rx_mr);
		ddp_rx_end(s);
		KUNIT_EXPECT_EQ(test, bad, stubs.wrote);
	}
}

/* A Write of a batch that waits for a page is admitted once, and no other Write overtakes it */
static void batch_ends_at_deferred_write(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_write();
	struct ddp_hdr h[RUN];
	enum iw_reason why;

	make_writes(h);
	stubs.places = IW_AGAIN;
	stubs.places_at = 3;
	KUNIT_EXPECT_EQ(test, 2, receive_batch(s, h, RUN, 50, bodies, &why));
	KUNIT_EXPECT_EQ(test, IW_AGAIN, why);
	KUNIT_EXPECT_EQ(test, 2u, stubs.wrote);
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
	stubs.places = IW_OK;
	KUNIT_EXPECT_EQ(test, NOT_EXPECTED, receive_batch(s, &h[2], 2, 50, bodies, &why));
	receive_segment(s, &h[2], 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 1, receive_batch(s, &h[3], 1, 50, bodies, &why));
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 3u, stubs.wrote);
}

/* No Write of a batch is placed after another context has failed the stream */
static void batch_ends_when_stream_fails(struct kunit *test)
{
	const struct iw_failure f = { .why = IW_LOCAL_PROT };
	struct ddp_stream *s = open_and_receive_write();
	struct ddp_rx_batch b;
	struct ddp_hdr h[RUN];
	enum iw_reason why;

	make_writes(h);
	KUNIT_ASSERT_TRUE(test, build_batch(s, &b, h, RUN, 50, bodies));
	ddp_stream_fail(s, &f);
	KUNIT_EXPECT_EQ(test, 0u, ddp_rx_batch(s, &b, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC, why);
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	ddp_rx_end(s);

	/* the stream fails while the second Write is placed */
	s = open_and_receive_write();
	stubs.fails_at = 3;
	KUNIT_EXPECT_EQ(test, 2, receive_batch(s, h, RUN, 50, bodies, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC, why);
	KUNIT_EXPECT_EQ(test, 3u, stubs.placed);
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 2u, stubs.wrote);
}

static struct kunit_case rx_alike_cases[] = {
	KUNIT_CASE(ref_stays_cached_after_write),
	KUNIT_CASE(repeated_write_needs_same_header_except_to),
	KUNIT_CASE(repeated_writes_are_reported_together),
	KUNIT_CASE(repeated_write_is_no_continuation),
	KUNIT_CASE(failed_repeated_write_is_quoted),
	KUNIT_CASE(failed_stream_takes_no_repeated_write),
	KUNIT_CASE(repeated_write_waits_for_page),
	KUNIT_CASE(batch_of_writes_is_placed),
	KUNIT_CASE(batch_ends_at_write_out_of_bounds),
	KUNIT_CASE(batch_ends_at_deferred_write),
	KUNIT_CASE(batch_ends_when_stream_fails),
	{}
};

static struct kunit_suite ddp_rx_repeat_write_suite = {
	.name = "ddp_rx_repeat_write",
	.test_cases = rx_alike_cases,
};

kunit_test_suite(ddp_rx_repeat_write_suite);
