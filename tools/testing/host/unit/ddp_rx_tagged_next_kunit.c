// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of the fast paths for tagged segments that continue a message, and
 * of the cached MR reference.
 */
#include <kunit/test.h>
#include <linux/mm.h>

#include "rx.h"

/* The cached MR reference ------------------------------------------------------ */

static const struct ddp_hdr write_goes_on = { .tagged = true };

/* The reference is kept between segments of a message, within a receive pass only */
static void mr_ref_is_cached_within_message(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();

	ddp_rx_begin(s);
	receive_segment(s, &write_goes_on, 0, 50);
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_mr);
	receive_segment(s, &good_write, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	receive_segment(s, &write_goes_on, 0, 50);
	receive_segment(s, &good_send, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	/* a segment without payload does not access the MR, so the reference is dropped */
	receive_segment(s, &write_goes_on, 0, 50);
	receive_segment(s, &write_goes_on, 0, 14);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	receive_segment(s, &write_goes_on, 0, 50);
	ddp_rx_end(s);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	receive_segment(s, &write_goes_on, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
}

/*
 * The reference is dropped before a failure is reported, because the ULP may
 * invalidate the MR
 */
static void ref_is_dropped_before_failure_report(struct kunit *test)
{
	const struct ddp_hdr bad_send = { .msn = 2 };
	struct ddp_stream *s;
	int how;

	for (how = 0; how < 3; how++) {
		s = open_rx_stream();
		ddp_rx_begin(s);
		receive_segment(s, &write_goes_on, 0, 50);
		if (how == 0)
			stubs.admits = IW_RDMAP_OPCODE;
		if (how == 1)
			receive_segment(s, &bad_send, 0, 50);
		else
			receive_segment(s, &write_goes_on, 0, how ? 13 : 50);
		KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
		KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
		KUNIT_EXPECT_NULL(test, s->rx_mr);
		ddp_rx_end(s);
	}
	/* the reference is dropped before a failure of the lower layer is reported */
	s = open_rx_stream();
	ddp_rx_begin(s);
	receive_segment(s, &write_goes_on, 0, 50);
	ddp_llp_report_error(s, IW_MPA_CRC);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
	ddp_rx_end(s);
}

/* Next segments ------------------------------------------------------------------ */

/*
 * Expect that the second segment of a message is placed, or refused, according
 * to its own header and not that of the first
 */
static void expect_own_header_used(struct kunit *test, const u8 *octets, u32 len)
{
	struct ddp_stream *s = open_rx_stream();
	const struct ddp_hdr first = {
		.tagged = true, .ulp8 = 0x40, .stag = 0x12345678, .to = 0xfffffff0,
	};
	struct ddp_hdr h;
	bool good;

	ddp_rx_begin(s);
	receive_segment(s, &first, 0, 50);
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_mr);
	memset(&wire, 0, sizeof(wire));
	memcpy(wire.octets, octets, IW_DDP_T_HDR_LEN);
	wire.at = IW_DDP_T_HDR_LEN;
	good = !ddp_hdr_decode(&h, wire.octets, min(len, (u32)IW_DDP_HDR_MAX));
	ddp_rx_segment(s, &llp, wire.octets, len);
	if (!good || !h.tagged) {
		KUNIT_EXPECT_EQ(test, 1u, stubs.admitted);
		KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	} else {
		KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
		KUNIT_EXPECT_EQ(test, 0, memcmp(&h, &stubs.admit_hdr, sizeof(h)));
		KUNIT_EXPECT_EQ(test, len - IW_DDP_T_HDR_LEN, stubs.payload);
		KUNIT_EXPECT_EQ(test, (u32)h.last, stubs.delivered);
	}
	ddp_rx_end(s);
}

static void segment_uses_its_own_header(struct kunit *test)
{
	const struct ddp_hdr next = {
		.tagged = true, .ulp8 = 0x40, .stag = 0x12345678,
		.to = 0xfffffff0ull + 36,
	};
	u8 octets[IW_DDP_HDR_MAX];
	u32 len, bit;

	for (len = 15; len < 60; len++) {
		ddp_hdr_encode(octets, &next);
		expect_own_header_used(test, octets, len);
		KUNIT_EXPECT_EQ(test, (u32)(len == 50), stubs.next_segs);
		for (bit = 0; bit < 8 * IW_DDP_T_HDR_LEN; bit++) {
			octets[bit / 8] ^= 1 << bit % 8;
			expect_own_header_used(test, octets, len);
			octets[bit / 8] ^= 1 << bit % 8;
		}
	}
}

/* An untagged segment never continues a tagged message, whatever its fields are */
static void untagged_never_continues_tagged(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	struct ddp_hdr h = { .msn = 1 };

	ddp_rx_begin(s);
	/*
	 * the MSN equals the payload length, so that the next TO would seem to be contiguous if the
	 * fast path read the MSN as a TO
	 */
	for (h.mo = 0; h.mo < 3; h.mo++) {
		h.last = h.mo == 2;
		receive_segment(s, &h, 0, IW_DDP_HDR_MAX + 1);
		KUNIT_EXPECT_EQ(test, h.mo, stubs.admit_hdr.mo);
	}
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	ddp_rx_end(s);
}

/* If a segment that continues a message fails, the error report quotes its header as received */
static void failed_continuation_is_quoted(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	struct ddp_hdr h = { .tagged = true, .to = 100 };

	ddp_rx_begin(s);
	receive_segment(s, &h, 0, 50);
	h.to += 36;
	stubs.places = IW_DDP_T_BOUNDS;
	receive_segment(s, &h, 0, 50);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, stubs.why);
	KUNIT_EXPECT_EQ(test, 50u, stubs.quoted.seg_len);
	KUNIT_EXPECT_EQ(test, (u32)IW_DDP_T_HDR_LEN, stubs.quoted.ddp_len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(wire.octets, stubs.quoted.ddp, IW_DDP_T_HDR_LEN));
	ddp_rx_end(s);
}

#define NOT_MORE	(-1)

/*
 * Offer a contiguous segment at @to to the fast path. Return: its result, or
 * NOT_MORE if it is not accepted.
 */
static int offer_to_fast_path(struct ddp_stream *s, u64 to, u32 len)
{
	const struct ddp_hdr h = { .tagged = true, .to = to };
	enum iw_reason why = IW_OK;

	memset(&wire, 0, sizeof(wire));
	ddp_hdr_encode(wire.octets, &h);
	if (!receive_if_expected(s, wire.octets, len, &why))
		return NOT_MORE;
	return why;
}

/* The fast path accepts only a segment that continues the last segment */
static void fast_path_needs_continuation(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	const u8 *body = wire.octets + IW_DDP_T_HDR_LEN;

	/* no segment is accepted before a message begins, or for a message of an earlier pass */
	ddp_rx_begin(s);
	KUNIT_EXPECT_EQ(test, NOT_MORE, offer_to_fast_path(s, 36, 50));
	receive_segment(s, &write_goes_on, 0, 50);
	ddp_rx_end(s);
	ddp_rx_begin(s);
	KUNIT_EXPECT_EQ(test, NOT_MORE, offer_to_fast_path(s, 36, 50));

	receive_segment(s, &write_goes_on, 0, 50);
	KUNIT_EXPECT_EQ(test, NOT_MORE, offer_to_fast_path(s, 35, 50));
	KUNIT_EXPECT_EQ(test, NOT_MORE, offer_to_fast_path(s, 36, 49));
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 2u, stubs.placed);
	KUNIT_EXPECT_EQ(test, (int)IW_OK, offer_to_fast_path(s, 36, 50));
	KUNIT_EXPECT_EQ(test, (int)IW_OK, offer_to_fast_path(s, 72, 50));
	KUNIT_EXPECT_EQ(test, 2u, stubs.next_segs);
	KUNIT_EXPECT_EQ(test, 4u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 72ull, stubs.to);
	KUNIT_EXPECT_PTR_EQ(test, (const void *)body, stubs.body);
	/* the last segment uses the general path */
	receive_segment(s, &(struct ddp_hdr){ .tagged = true, .last = true, .to = 108 }, 0, 50);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	ddp_rx_end(s);
}

/* An error on the fast path fails the stream as on the general path, and ends placement */
static void fast_path_error_fails_stream(struct kunit *test)
{
	const enum iw_reason whys[] = { IW_DDP_T_BOUNDS, IW_RDMAP_OPCODE, IW_MPA_CRC };
	struct ddp_stream *s;
	u32 how, placed;

	for (how = 0; how < ARRAY_SIZE(whys); how++) {
		s = open_rx_stream();
		ddp_rx_begin(s);
		receive_segment(s, &write_goes_on, 0, 50);
		if (how == 0)
			stubs.places = whys[how];
		if (how == 1)
			stubs.admits = whys[how];
		if (how == 2)
			ddp_llp_report_error(s, whys[how]);
		KUNIT_EXPECT_EQ(test, how == 2 ? NOT_MORE : (int)whys[how],
				offer_to_fast_path(s, 36, 50));
		KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
		KUNIT_EXPECT_EQ(test, whys[how], stubs.why);
		KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
		if (how < 2)
			KUNIT_EXPECT_EQ(test, 0, memcmp(wire.octets, stubs.quoted.ddp,
							IW_DDP_T_HDR_LEN));
		placed = stubs.placed;
		stubs.places = IW_OK;
		stubs.admits = IW_OK;
		KUNIT_EXPECT_EQ(test, NOT_MORE, offer_to_fast_path(s, 36, 50));
		KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC,
				ddp_rx_segment(s, &llp, wire.octets, 50));
		KUNIT_EXPECT_EQ(test, placed, stubs.placed);
		KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
		ddp_rx_end(s);
	}
}

/*
 * After the transmit path has failed the stream, no segment is placed, although
 * the receive path still has the cached MR reference
 */
static void failed_stream_uses_no_fast_path(struct kunit *test)
{
	const struct iw_failure f = { .why = IW_LOCAL_PROT };
	struct ddp_stream *s = open_rx_stream();

	ddp_rx_begin(s);
	receive_segment(s, &write_goes_on, 0, 50);
	ddp_stream_fail(s, &f);
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_mr);
	KUNIT_EXPECT_EQ(test, NOT_MORE, offer_to_fast_path(s, 36, 50));
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	ddp_rx_end(s);
}

/* A deferred segment must be admitted only once, and retried on the general path */
static void deferred_segment_is_retried(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();

	ddp_rx_begin(s);
	receive_segment(s, &write_goes_on, 0, 50);
	stubs.places = IW_AGAIN;
	KUNIT_EXPECT_EQ(test, (int)IW_AGAIN, offer_to_fast_path(s, 36, 50));
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);

	ddp_rx_begin(s);
	stubs.places = IW_OK;
	KUNIT_EXPECT_EQ(test, NOT_MORE, offer_to_fast_path(s, 36, 50));
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_rx_segment(s, &llp, wire.octets, 50));
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	KUNIT_EXPECT_EQ(test, (int)IW_OK, offer_to_fast_path(s, 72, 50));
	ddp_rx_end(s);
}

/* Batches ------------------------------------------------------------------------ */

#define RUN	3	/* segments of 36 bytes, after a first one at TO 0 */

static u8 bodies[RUN * 36];

static struct ddp_stream *open_and_receive_first_segment(void)
{
	struct ddp_stream *s = open_rx_stream();

	ddp_rx_begin(s);
	receive_segment(s, &write_goes_on, 0, 50);
	stubs.fits = RUN;
	return s;
}

static bool is_next_segment(struct ddp_stream *s, u64 to, u32 len, u32 n)
{
	const struct ddp_hdr h = { .tagged = true, .to = to };

	return is_expected_segment(s, &h, len, n);
}

/* Receive a batch of RUN segments after the first one. Return: the number of segments processed. */
static int receive_run(struct ddp_stream *s, enum iw_reason *why)
{
	struct ddp_hdr h[RUN];
	u32 i;

	for (i = 0; i < RUN; i++)
		h[i] = (struct ddp_hdr) { .tagged = true, .to = 36 * (1 + i) };
	return receive_batch(s, h, RUN, 50, bodies, why);
}

/* Expect that the stream accepts a next segment only after the @taken segments of the batch */
static void expect_next_segment_after(struct kunit *test, struct ddp_stream *s, u32 taken)
{
	KUNIT_EXPECT_TRUE(test, is_next_segment(s, 36 * (1 + taken), 50, 0));
	KUNIT_EXPECT_EQ(test, 36 * (1 + taken), ddp_rx_get_next_page_off(s));
}

static void batch_continues_message(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();

	ddp_rx_begin(s);
	KUNIT_EXPECT_FALSE(test, is_next_segment(s, 36, 50, 0));
	receive_segment(s, &write_goes_on, 0, 50);
	expect_next_segment_after(test, s, 0);
	KUNIT_EXPECT_TRUE(test, is_next_segment(s, 36 * 6, 50, 5));
	KUNIT_EXPECT_FALSE(test, is_next_segment(s, 36 * 6, 50, 4));
	KUNIT_EXPECT_FALSE(test, is_next_segment(s, 36 * 6, 49, 5));
	/* the page offset is computed from the MR's memory, not from the TO */
	region.base = 5;
	region.skip = 4000;
	KUNIT_EXPECT_EQ(test, (u32)((36 - 5 + 4000) & ~PAGE_MASK), ddp_rx_get_next_page_off(s));
	region.base = 0;
	region.skip = 0;
	ddp_rx_end(s);
	KUNIT_EXPECT_FALSE(test, is_next_segment(s, 36, 50, 0));
}

static void batch_is_placed_with_one_copy(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why;

	KUNIT_EXPECT_EQ(test, RUN, receive_run(s, &why));
	KUNIT_EXPECT_EQ(test, (u32)RUN, stubs.next_segs);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(bodies), stubs.payload);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(bodies), stubs.fitted);
	KUNIT_EXPECT_EQ(test, 36ull, stubs.admit_hdr.to);
	KUNIT_EXPECT_EQ(test, IW_OK, why);
	KUNIT_EXPECT_EQ(test, 2u, stubs.placed);
	KUNIT_EXPECT_EQ(test, (u32)RUN, stubs.together);
	KUNIT_EXPECT_EQ(test, 1u, stubs.copies_ended);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(bodies), stubs.len);
	KUNIT_EXPECT_EQ(test, 36ull, stubs.to);
	KUNIT_EXPECT_PTR_EQ(test, (const void *)bodies, stubs.body);
	expect_next_segment_after(test, s, RUN);
	/* the last segment is delivered as usual */
	receive_segment(s, &(struct ddp_hdr){ .tagged = true, .last = true, .to = 36 * (1 + RUN) },
		 0, 50);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	ddp_rx_end(s);
}

/*
 * If the batch cannot be placed with one copy, or RDMAP does not admit several
 * segments together, the segments are admitted and placed one by one
 */
static void refused_batch_is_placed_singly(struct kunit *test)
{
	enum iw_reason why;
	struct ddp_stream *s;
	int how;

	for (how = 0; how < 2; how++) {
		s = open_and_receive_first_segment();
		stubs.fits = how ? RUN : 0;
		stubs.refuses_many = how;
		KUNIT_EXPECT_EQ(test, RUN, receive_run(s, &why));
		KUNIT_EXPECT_EQ(test, (u32)RUN, stubs.next_segs);
		KUNIT_EXPECT_EQ(test, 36u, stubs.payload);
		KUNIT_EXPECT_EQ(test, 1u + RUN, stubs.placed);
		KUNIT_EXPECT_EQ(test, 36u, stubs.len);
		KUNIT_EXPECT_EQ(test, 36ull * RUN, stubs.to);
		KUNIT_EXPECT_PTR_EQ(test, (const void *)(bodies + 36 * (RUN - 1)), stubs.body);
		expect_next_segment_after(test, s, RUN);
		ddp_rx_end(s);
	}
}

/* If RDMAP refuses a batch of one segment, the segment is not offered to RDMAP again */
static void refused_segment_is_not_offered_again(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();

	stubs.admits = IW_RDMAP_OPCODE;
	KUNIT_EXPECT_EQ(test, (int)IW_RDMAP_OPCODE, offer_to_fast_path(s, 36, 50));
	KUNIT_EXPECT_EQ(test, 1u, stubs.next_segs);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	ddp_rx_end(s);
}

/*
 * If the second segment of a batch fails, the first one is placed, the error
 * report quotes the second one, and the third one is not processed
 */
static void failed_segment_of_batch_is_quoted(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why;

	stubs.fits = 0;
	stubs.places_at = 2;
	stubs.places = IW_DDP_T_BOUNDS;
	KUNIT_EXPECT_EQ(test, 1, receive_run(s, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, why);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, stubs.why);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
	KUNIT_EXPECT_EQ(test, 50u, stubs.quoted.seg_len);
	KUNIT_EXPECT_EQ(test, 36ull * 2, get_unaligned_be64(stubs.quoted.ddp + DDP_T_TO));
	KUNIT_EXPECT_EQ(test, 36ull * 2, stubs.to);
	ddp_rx_end(s);
}

/*
 * If the second segment of a batch is deferred, the general path retries it
 * without admitting it again
 */
static void deferred_batch_segment_is_retried(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why;

	stubs.fits = 0;
	stubs.places_at = 2;
	stubs.places = IW_AGAIN;
	KUNIT_EXPECT_EQ(test, 1, receive_run(s, &why));
	KUNIT_EXPECT_EQ(test, IW_AGAIN, why);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	KUNIT_EXPECT_EQ(test, 3u, stubs.admitted);
	stubs.places = IW_OK;
	receive_segment(s, &(struct ddp_hdr){ .tagged = true, .to = 36 * 2 }, 0, 50);
	KUNIT_EXPECT_EQ(test, 3u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	expect_next_segment_after(test, s, 2);
	ddp_rx_end(s);
}

/*
 * No segment of a batch is placed if the MR has been invalidated since the last segment, or if
 * another context has failed the stream
 */
static void no_segment_is_placed_after_revoke_or_failure(struct kunit *test)
{
	const struct iw_failure f = { .why = IW_LOCAL_PROT };
	const struct ddp_hdr next = { .tagged = true, .to = 36 };
	struct ddp_stream *s = open_and_receive_first_segment();
	struct ddp_rx_batch b;
	enum iw_reason why;

	stubs.fits = 0;
	stubs.places = IW_DDP_T_STAG;
	KUNIT_EXPECT_EQ(test, 0, receive_run(s, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG, why);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	KUNIT_EXPECT_EQ(test, 36ull, get_unaligned_be64(stubs.quoted.ddp + DDP_T_TO));
	ddp_rx_end(s);

	s = open_and_receive_first_segment();
	KUNIT_ASSERT_TRUE(test, build_batch(s, &b, &next, 1, 50, bodies));
	b.n = RUN;
	ddp_stream_fail(s, &f);
	KUNIT_EXPECT_EQ(test, 0u, ddp_rx_batch(s, &b, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC, why);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.fitted);
	ddp_rx_end(s);

	/* the stream fails in the middle of a batch whose segments are placed one by one */
	s = open_and_receive_first_segment();
	stubs.fits = 0;
	stubs.fails_at = 3;
	KUNIT_EXPECT_EQ(test, 2, receive_run(s, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC, why);
	KUNIT_EXPECT_EQ(test, 3u, stubs.placed);
	ddp_rx_end(s);
}

static struct kunit_case rx_more_cases[] = {
	KUNIT_CASE(mr_ref_is_cached_within_message),
	KUNIT_CASE(ref_is_dropped_before_failure_report),
	KUNIT_CASE(segment_uses_its_own_header),
	KUNIT_CASE(untagged_never_continues_tagged),
	KUNIT_CASE(failed_continuation_is_quoted),
	KUNIT_CASE(fast_path_needs_continuation),
	KUNIT_CASE(fast_path_error_fails_stream),
	KUNIT_CASE(failed_stream_uses_no_fast_path),
	KUNIT_CASE(deferred_segment_is_retried),
	KUNIT_CASE(batch_continues_message),
	KUNIT_CASE(batch_is_placed_with_one_copy),
	KUNIT_CASE(refused_batch_is_placed_singly),
	KUNIT_CASE(refused_segment_is_not_offered_again),
	KUNIT_CASE(failed_segment_of_batch_is_quoted),
	KUNIT_CASE(deferred_batch_segment_is_retried),
	KUNIT_CASE(no_segment_is_placed_after_revoke_or_failure),
	{}
};

static struct kunit_suite ddp_rx_tagged_next_suite = {
	.name = "ddp_rx_tagged_next",
	.test_cases = rx_more_cases,
};

kunit_test_suite(ddp_rx_tagged_next_suite);
