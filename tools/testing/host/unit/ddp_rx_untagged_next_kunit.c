// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of the fast path for untagged segments that continue a message, one by one and in
 * batches, and of the cached MR reference.
 */
#include <kunit/test.h>

#include "fetch.h"
#include "rx.h"

#define LEN	48u	/* length of each segment */
#define PAYLOAD	30u
#define MOST	100u	/* size of the buffer */

/*
 * The MSN equals the payload length. So if the fast path read the MSN as a TO,
 * which has the same offset in a tagged header, the next segment would seem to
 * be contiguous.
 */
static const struct ddp_hdr first = { .ulp8 = 0x43, .ulp32 = 0x12345678, .msn = PAYLOAD };

/* Begin a pass and receive the first segment of a message */
static void receive_first_segment(struct ddp_stream *s)
{
	s->uq[0].msn = first.msn;
	ddp_rx_begin(s);
	receive_segment(s, &first, 0, LEN);
}

static struct ddp_stream *open_and_receive_first_segment(void)
{
	struct ddp_stream *s = open_rx_stream();

	receive_first_segment(s);
	return s;
}

static bool offer_segment_with_mo(struct ddp_stream *s, u32 mo, enum iw_reason *why)
{
	struct ddp_hdr h = first;
	u8 octets[LEN] = {};

	h.mo = mo;
	ddp_hdr_encode(octets, &h);
	return receive_if_expected(s, octets, LEN, why);
}

/*
 * Offer a segment after the first one to the fast path. Expect that the fast path accepts it if
 * @good is true: it may accept only a segment with the next MO and an otherwise equal header.
 */
static void expect_fast_path_only_if_good(struct kunit *test, const u8 *octets, u32 len, bool good)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why = IW_UNREADABLE;

	KUNIT_EXPECT_EQ(test, good, receive_if_expected(s, octets, len, &why));
	KUNIT_EXPECT_EQ(test, (u32)good, stubs.next_segs);
	KUNIT_EXPECT_EQ(test, 1u + good, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 1u + good, stubs.placed);
	KUNIT_EXPECT_EQ(test, PAYLOAD * (1 + good), s->uq[0].mo);
	if (good) {
		KUNIT_EXPECT_EQ(test, IW_OK, why);
		KUNIT_EXPECT_EQ(test, PAYLOAD, stubs.admit_hdr.mo);
		KUNIT_EXPECT_EQ(test, first.ulp32, stubs.admit_hdr.ulp32);
		KUNIT_EXPECT_EQ(test, PAYLOAD, stubs.payload);
		KUNIT_EXPECT_EQ(test, PAYLOAD, stubs.len);
		KUNIT_EXPECT_PTR_EQ(test, (const void *)octets + DDP_U_HDR_LEN, stubs.body);
	}
	ddp_rx_end(s);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
}

static void fast_path_needs_next_mo_and_same_header(struct kunit *test)
{
	struct ddp_hdr next = first;
	u8 octets[100] = {};
	u32 len, bit;

	next.mo = PAYLOAD;
	ddp_hdr_encode(octets, &next);
	for (len = DDP_U_HDR_LEN; len < 60; len++) {
		expect_fast_path_only_if_good(test, octets, len, len == LEN);
		for (bit = 0; bit < 8 * DDP_U_HDR_LEN; bit++) {
			octets[bit / 8] ^= 1 << bit % 8;
			expect_fast_path_only_if_good(test, octets, len, false);
			octets[bit / 8] ^= 1 << bit % 8;
		}
	}
}

/* The reference is dropped before the message is delivered */
static void ref_is_dropped_before_delivery(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	struct ddp_hdr last = first;
	enum iw_reason why;
	u8 octets[LEN] = {};

	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_mr);
	KUNIT_EXPECT_TRUE(test, offer_segment_with_mo(s, PAYLOAD, &why));
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_mr);
	last.mo = 2 * PAYLOAD;
	last.last = true;
	KUNIT_EXPECT_FALSE(test, is_expected_segment(s, &last, LEN, 0));
	receive_segment(s, &last, 0, LEN);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 3 * PAYLOAD, stubs.total);
	KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
	/* no segment continues a complete message */
	last.mo = 3 * PAYLOAD;
	ddp_hdr_encode(octets, &last);
	KUNIT_EXPECT_FALSE(test, receive_if_expected(s, octets, LEN, &why));
	/* the first segment of a message uses the general path */
	KUNIT_EXPECT_FALSE(test, offer_segment_with_mo(s, 3 * PAYLOAD, &why));
	KUNIT_EXPECT_FALSE(test, offer_segment_with_mo(s, 0, &why));
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
}

/* RFC 5041 7.1 U4: the error report quotes a segment beyond the buffer as received */
static void segment_beyond_buffer_is_quoted(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why;
	u32 mo;

	for (mo = PAYLOAD; mo + PAYLOAD <= MOST; mo += PAYLOAD)
		KUNIT_EXPECT_TRUE(test, offer_segment_with_mo(s, mo, &why));
	KUNIT_EXPECT_TRUE(test, offer_segment_with_mo(s, mo, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_U_TOO_LONG, why);
	KUNIT_EXPECT_EQ(test, IW_DDP_U_TOO_LONG, stubs.why);
	KUNIT_EXPECT_EQ(test, LEN, stubs.quoted.seg_len);
	KUNIT_EXPECT_EQ(test, (u32)DDP_U_HDR_LEN, stubs.quoted.ddp_len);
	KUNIT_EXPECT_EQ(test, mo, get_unaligned_be32(stubs.quoted.ddp + DDP_U_MO));
	KUNIT_EXPECT_EQ(test, 3u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
	KUNIT_EXPECT_FALSE(test, offer_segment_with_mo(s, mo + PAYLOAD, &why));
	ddp_rx_end(s);
}

static void fast_path_error_fails_stream(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why;

	stubs.admits = IW_RDMAP_UNSPEC;
	KUNIT_EXPECT_TRUE(test, offer_segment_with_mo(s, PAYLOAD, &why));
	KUNIT_EXPECT_EQ(test, IW_RDMAP_UNSPEC, stubs.why);
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	ddp_rx_end(s);

	/* another context has failed the stream */
	s = open_and_receive_first_segment();
	set_bit(0, &s->failed);
	KUNIT_EXPECT_FALSE(test, offer_segment_with_mo(s, PAYLOAD, &why));
	ddp_rx_end(s);
}

/* A deferred segment is admitted once, and no other segment overtakes it */
static void deferred_segment_is_retried(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	struct ddp_hdr h = first;
	enum iw_reason why;

	stubs.places = IW_AGAIN;
	KUNIT_EXPECT_TRUE(test, offer_segment_with_mo(s, PAYLOAD, &why));
	KUNIT_EXPECT_EQ(test, IW_AGAIN, why);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	KUNIT_EXPECT_EQ(test, PAYLOAD, s->uq[0].mo);
	stubs.places = IW_OK;
	KUNIT_EXPECT_FALSE(test, offer_segment_with_mo(s, PAYLOAD, &why));
	KUNIT_EXPECT_FALSE(test, offer_segment_with_mo(s, 2 * PAYLOAD, &why));
	h.mo = PAYLOAD;
	receive_segment(s, &h, 0, LEN);
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 2u, stubs.placed);
	KUNIT_EXPECT_TRUE(test, offer_segment_with_mo(s, 2 * PAYLOAD, &why));
	KUNIT_EXPECT_EQ(test, IW_OK, why);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	ddp_rx_end(s);
}

/*
 * A first segment that waits for a receive was not admitted, so it has no buffer. If a sender on
 * this machine changes its MO meanwhile, the fast path must not take it for the next segment.
 */
static void segment_after_unadmitted_one_is_refused(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	struct ddp_hdr h = first;
	enum iw_reason why;

	s->uq[0].msn = first.msn;
	ddp_rx_begin(s);
	stubs.admits = IW_AGAIN;
	receive_segment(s, &first, 0, LEN);
	stubs.admits = IW_OK;
	KUNIT_EXPECT_FALSE(test, offer_segment_with_mo(s, PAYLOAD, &why));
	KUNIT_EXPECT_EQ(test, 0u, stubs.placed);
	/* DDP-94: the general path finds the wrong MO */
	h.mo = PAYLOAD;
	receive_segment(s, &h, 0, LEN);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	KUNIT_EXPECT_EQ(test, IW_DDP_U_MO, stubs.why);
	ddp_rx_end(s);
}

/* Messages in different queues are continued independently */
static void each_queue_continues_its_own_message(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	struct ddp_hdr h = { .ulp8 = 0x41, .qn = 1, .msn = 1 };
	u8 octets[LEN] = {};
	enum iw_reason why;

	receive_segment(s, &h, 0, LEN);
	KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
	h.mo = PAYLOAD;
	ddp_hdr_encode(octets, &h);
	KUNIT_EXPECT_TRUE(test, receive_if_expected(s, octets, LEN, &why));
	KUNIT_EXPECT_PTR_EQ(test, &s->sink[1], stubs.sink);
	KUNIT_EXPECT_EQ(test, PAYLOAD, s->uq[0].mo);
	KUNIT_EXPECT_EQ(test, 2 * PAYLOAD, s->uq[1].mo);
	KUNIT_EXPECT_FALSE(test, offer_segment_with_mo(s, PAYLOAD, &why));
	ddp_rx_end(s);
}

/*
 * A segment uses the general path if the last segment belongs to another message,
 * if it has no payload, or if its MO is not contiguous
 */
static void noncontinuing_segments_use_general_path(struct kunit *test)
{
	static const struct ddp_hdr write = { .tagged = true };
	struct ddp_stream *s = open_and_receive_first_segment();
	struct ddp_hdr h = first;
	u8 octets[DDP_U_HDR_LEN];
	enum iw_reason why;

	receive_segment(s, &write, 0, LEN);
	KUNIT_EXPECT_FALSE(test, offer_segment_with_mo(s, PAYLOAD, &why));
	h.mo = PAYLOAD;
	receive_segment(s, &h, 0, LEN);
	KUNIT_EXPECT_EQ(test, 0u, stubs.next_segs);
	h.mo = 2 * PAYLOAD;
	receive_segment(s, &h, 0, DDP_U_HDR_LEN);
	ddp_hdr_encode(octets, &h);
	KUNIT_EXPECT_FALSE(test, receive_if_expected(s, octets, DDP_U_HDR_LEN, &why));
	receive_segment(s, &h, 0, DDP_U_HDR_LEN);
	KUNIT_EXPECT_EQ(test, 0u, stubs.next_segs);
	KUNIT_EXPECT_EQ(test, 5u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	ddp_rx_end(s);

	/* outside a pass no reference is cached */
	s = open_rx_stream();
	s->uq[0].msn = first.msn;
	receive_segment(s, &first, 0, LEN);
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
}

/* Batches ------------------------------------------------------------------------ */

#define RUN	3	/* segments after the first one; the buffer ends in the last of them */

static u8 bodies[RUN * PAYLOAD];

/* Receive a batch of @n segments after the first one. Return: the number of segments processed. */
static int receive_run(struct ddp_stream *s, u32 n, enum iw_reason *why)
{
	struct ddp_hdr h[RUN];
	u32 i;

	for (i = 0; i < n; i++) {
		h[i] = first;
		h[i].mo = PAYLOAD * (1 + i);
	}
	return receive_batch(s, h, n, LEN, bodies, why);
}

/* The MO of a segment in a batch depends on its index, and the page offset on the receive buffer */
static void batch_continues_message(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	const u32 page_off = host_memory.page_off;
	struct ddp_hdr h = first;

	h.mo = PAYLOAD * 3;
	KUNIT_EXPECT_TRUE(test, is_expected_segment(s, &h, LEN, 2));
	KUNIT_EXPECT_FALSE(test, is_expected_segment(s, &h, LEN, 1));
	KUNIT_EXPECT_FALSE(test, is_expected_segment(s, &h, LEN - 1, 2));
	host_memory.page_off = 123;
	KUNIT_EXPECT_EQ(test, 123u, ddp_rx_get_next_page_off(s));
	h.mo = PAYLOAD;
	h.last = true;
	receive_segment(s, &h, 0, LEN);
	KUNIT_EXPECT_EQ(test, 0u, ddp_rx_get_next_page_off(s));
	host_memory.page_off = page_off;
	ddp_rx_end(s);
}

/*
 * Expect that @n segments after the first one have been processed, and that the one after them is
 * processed and delivered as the last one of the message
 */
static void expect_next_segments_received(struct kunit *test, struct ddp_stream *s, u32 n)
{
	struct ddp_hdr last = first;

	KUNIT_EXPECT_EQ(test, n, stubs.next_segs);
	KUNIT_EXPECT_EQ(test, (1 + n) * PAYLOAD, s->uq[0].mo);
	last.last = true;
	last.mo = (1 + n) * PAYLOAD;
	receive_segment(s, &last, 0, DDP_U_HDR_LEN + 10);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, (1 + n) * PAYLOAD + 10, stubs.total);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
	ddp_rx_end(s);
}

/* DDP-44, DDP-51: a batch is placed at once, and the queue expects the segment after it */
static void batch_is_placed_at_once(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why;

	stubs.fits = RUN;
	KUNIT_EXPECT_EQ(test, 2, receive_run(s, 2, &why));
	KUNIT_EXPECT_EQ(test, IW_OK, why);
	KUNIT_EXPECT_EQ(test, 2 * PAYLOAD, stubs.fitted);
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, PAYLOAD, stubs.admit_hdr.mo);
	KUNIT_EXPECT_EQ(test, 2 * PAYLOAD, stubs.payload);
	KUNIT_EXPECT_EQ(test, 2u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 2u, stubs.together);
	KUNIT_EXPECT_EQ(test, (u64)PAYLOAD, stubs.to);
	KUNIT_EXPECT_PTR_EQ(test, (const void *)bodies, stubs.body);
	KUNIT_EXPECT_EQ(test, 1u, stubs.copies_ended);
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_mr);
	expect_next_segments_received(test, s, 2);
}

/* If an SGE ends within the batch, the segments before its end are placed at once, others singly */
static void rest_of_batch_after_sge_is_placed_singly(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	enum iw_reason why;

	stubs.more_buf = PAYLOAD;
	receive_first_segment(s);
	stubs.fits = 2;
	KUNIT_EXPECT_EQ(test, 3, receive_run(s, 3, &why));
	KUNIT_EXPECT_EQ(test, IW_OK, why);
	KUNIT_EXPECT_EQ(test, 3 * PAYLOAD, stubs.fitted);
	KUNIT_EXPECT_EQ(test, 3u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 3u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 2u, stubs.together);
	KUNIT_EXPECT_EQ(test, 3 * PAYLOAD, stubs.admit_hdr.mo);
	KUNIT_EXPECT_EQ(test, PAYLOAD, stubs.len);
	KUNIT_EXPECT_PTR_EQ(test, (const void *)(bodies + 2 * PAYLOAD), stubs.body);
	expect_next_segments_received(test, s, 3);
}

/*
 * The segments are placed one by one if they cannot be placed at once, or if RDMAP does not admit
 * several segments together
 */
static void refused_batch_is_placed_singly(struct kunit *test)
{
	struct ddp_stream *s;
	enum iw_reason why;
	int how;

	for (how = 0; how < 2; how++) {
		s = open_and_receive_first_segment();
		stubs.fits = how ? RUN : 0;
		stubs.refuses_many = how;
		KUNIT_EXPECT_EQ(test, 2, receive_run(s, 2, &why));
		KUNIT_EXPECT_EQ(test, 3u, stubs.placed);
		KUNIT_EXPECT_EQ(test, 0u, stubs.together);
		KUNIT_EXPECT_PTR_EQ(test, (const void *)(bodies + PAYLOAD), stubs.body);
		expect_next_segments_received(test, s, 2);
	}
}

/* On PREEMPT_RT the reference is dropped after each copy, and taken again for the next batch */
static void batch_keeps_no_ref_on_preempt_rt(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why;

	stubs.preempt_rt = true;
	stubs.fits = RUN;
	s->rx_mr = NULL;
	KUNIT_EXPECT_EQ(test, 2, receive_run(s, 2, &why));
	KUNIT_EXPECT_EQ(test, 1u, stubs.copies_ended);
	KUNIT_EXPECT_EQ(test, 2u, stubs.together);
	KUNIT_EXPECT_NULL(test, s->rx_mr);
	expect_next_segments_received(test, s, 2);
}

/*
 * DDP-93: if a segment of a batch exceeds the receive buffer, the segments before it are placed,
 * and the error report quotes its header
 */
static void batch_ends_at_segment_beyond_buffer(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why;

	stubs.fits = RUN;
	KUNIT_EXPECT_EQ(test, 2, receive_run(s, RUN, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_U_TOO_LONG, why);
	KUNIT_EXPECT_EQ(test, IW_DDP_U_TOO_LONG, stubs.why);
	KUNIT_EXPECT_EQ(test, 3u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.together);
	KUNIT_EXPECT_EQ(test, LEN, stubs.quoted.seg_len);
	KUNIT_EXPECT_EQ(test, 3 * PAYLOAD, get_unaligned_be32(stubs.quoted.ddp + DDP_U_MO));
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
	ddp_rx_end(s);
}

/* The second segment of a batch that waits for a page is admitted once, and retried */
static void deferred_batch_segment_is_retried(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	struct ddp_hdr h = first;
	enum iw_reason why;

	stubs.places = IW_AGAIN;
	stubs.places_at = 2;
	KUNIT_EXPECT_EQ(test, 1, receive_run(s, 2, &why));
	KUNIT_EXPECT_EQ(test, IW_AGAIN, why);
	KUNIT_EXPECT_EQ(test, 3u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 2 * PAYLOAD, s->uq[0].mo);
	stubs.places = IW_OK;
	h.mo = 2 * PAYLOAD;
	KUNIT_EXPECT_EQ(test, NOT_EXPECTED, receive_batch(s, &h, 1, LEN, bodies, &why));
	receive_segment(s, &h, 0, LEN);
	KUNIT_EXPECT_EQ(test, 3u, stubs.admitted);
	expect_next_segments_received(test, s, 2);
}

/* No segment of a batch is admitted or placed after another context has failed the stream */
static void batch_ends_when_stream_fails(struct kunit *test)
{
	const struct iw_failure f = { .why = IW_LOCAL_PROT };
	struct ddp_stream *s = open_and_receive_first_segment();
	struct ddp_hdr next = first;
	struct ddp_rx_batch b;
	enum iw_reason why;

	next.mo = PAYLOAD;
	stubs.fits = RUN;
	KUNIT_ASSERT_TRUE(test, build_batch(s, &b, &next, 1, LEN, bodies));
	b.n = 2;
	ddp_stream_fail(s, &f);
	KUNIT_EXPECT_EQ(test, 0u, ddp_rx_batch(s, &b, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC, why);
	KUNIT_EXPECT_EQ(test, 1u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	ddp_rx_end(s);
}

static struct kunit_case rx_goes_on_cases[] = {
	KUNIT_CASE(fast_path_needs_next_mo_and_same_header),
	KUNIT_CASE(ref_is_dropped_before_delivery),
	KUNIT_CASE(segment_beyond_buffer_is_quoted),
	KUNIT_CASE(fast_path_error_fails_stream),
	KUNIT_CASE(deferred_segment_is_retried),
	KUNIT_CASE(segment_after_unadmitted_one_is_refused),
	KUNIT_CASE(each_queue_continues_its_own_message),
	KUNIT_CASE(noncontinuing_segments_use_general_path),
	KUNIT_CASE(batch_continues_message),
	KUNIT_CASE(batch_is_placed_at_once),
	KUNIT_CASE(rest_of_batch_after_sge_is_placed_singly),
	KUNIT_CASE(refused_batch_is_placed_singly),
	KUNIT_CASE(batch_keeps_no_ref_on_preempt_rt),
	KUNIT_CASE(batch_ends_at_segment_beyond_buffer),
	KUNIT_CASE(deferred_batch_segment_is_retried),
	KUNIT_CASE(batch_ends_when_stream_fails),
	{}
};

static struct kunit_suite ddp_rx_untagged_next_suite = {
	.name = "ddp_rx_untagged_next",
	.test_cases = rx_goes_on_cases,
};

kunit_test_suite(ddp_rx_untagged_next_suite);
