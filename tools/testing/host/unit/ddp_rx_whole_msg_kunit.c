// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of the fast path for untagged messages of one segment that follow each other in a
 * queue.
 */
#include <kunit/test.h>

#include "rx.h"

#define LEN	48u	/* length of the first segment */
#define MSN	5u	/* its MSN */

static const struct ddp_hdr first = {
	.last = true, .ulp8 = 0x43, .ulp32 = 0x12345678, .msn = MSN,
};

/* Open a stream, begin a pass and receive the first message */
static struct ddp_stream *open_and_receive_first_segment(void)
{
	struct ddp_stream *s = open_rx_stream();

	s->uq[0].msn = first.msn;
	ddp_rx_begin(s);
	receive_segment(s, &first, 0, LEN);
	return s;
}

/* Offer a segment to the fast path. Return: true if the fast path has processed it. */
static bool offer_message_to_fast_path(struct ddp_stream *s, const struct ddp_hdr *h, u32 len,
				       enum iw_reason *why)
{
	u8 octets[200] = {};

	ddp_hdr_encode(octets, h);
	return receive_if_expected(s, octets, len, why);
}

static struct ddp_hdr make_hdr(u32 msn)
{
	struct ddp_hdr h = first;

	h.msn = msn;
	return h;
}

/* Offer bytes after the first message. Expect that the fast path accepts them if @good. */
static void expect_fast_path_only_if_good(struct kunit *test, const u8 *octets, u32 len, bool good)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why = IW_UNREADABLE;

	KUNIT_EXPECT_EQ(test, good, receive_if_expected(s, octets, len, &why));
	KUNIT_EXPECT_EQ(test, 1u + good, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 1u + good, stubs.placed);
	KUNIT_EXPECT_EQ(test, 1u + good, stubs.delivered);
	KUNIT_EXPECT_EQ(test, MSN + 1 + good, s->uq[0].msn);
	if (good) {
		KUNIT_EXPECT_EQ(test, IW_OK, why);
		KUNIT_EXPECT_EQ(test, MSN + 1, stubs.deliver_hdr.msn);
		KUNIT_EXPECT_EQ(test, len - DDP_U_HDR_LEN, stubs.payload);
		KUNIT_EXPECT_EQ(test, len - DDP_U_HDR_LEN, stubs.total);
		KUNIT_EXPECT_EQ(test, len - DDP_U_HDR_LEN, stubs.len);
		KUNIT_EXPECT_PTR_EQ(test, (const void *)octets + DDP_U_HDR_LEN, stubs.body);
	}
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
}

/* The message may have any length, but every bit of the header must be the expected one */
static void fast_path_needs_next_header(struct kunit *test)
{
	const struct ddp_hdr next = make_hdr(MSN + 1);
	u8 octets[100] = {};
	u32 len, bit;

	ddp_hdr_encode(octets, &next);
	for (len = IW_DDP_T_HDR_LEN; len < 60; len++) {
		expect_fast_path_only_if_good(test, octets, len, len >= DDP_U_HDR_LEN);
		for (bit = 0; bit < 8 * DDP_U_HDR_LEN; bit++) {
			octets[bit / 8] ^= 1 << bit % 8;
			expect_fast_path_only_if_good(test, octets, len, false);
			octets[bit / 8] ^= 1 << bit % 8;
		}
	}
}

/*
 * DDP-46: a message that is shorter than its header has the expected header if the bytes after the
 * message do. It is left to the general path, which refuses it.
 */
static void short_message_is_left_to_general_path(struct kunit *test)
{
	const struct ddp_hdr next = make_hdr(MSN + 1);
	static const u8 body[DDP_U_HDR_LEN];
	struct ddp_rx_batch b;
	struct ddp_stream *s;
	enum iw_reason why;
	u32 len;

	for (len = 0; len < DDP_U_HDR_LEN; len++) {
		s = open_and_receive_first_segment();
		KUNIT_ASSERT_TRUE(test, build_batch(s, &b, &next, 1, len, body));
		why = IW_UNREADABLE;
		KUNIT_EXPECT_EQ(test, 0u, ddp_rx_batch(s, &b, &why));
		KUNIT_EXPECT_EQ(test, IW_OK, why);
		KUNIT_EXPECT_EQ(test, 1u, stubs.admitted);
		KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
		receive_segment(s, &next, 0, len);
		KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
		KUNIT_EXPECT_EQ(test, IW_DDP_SHORT, stubs.why);
		KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
		ddp_rx_end(s);
	}
}

/* The MSN of only one message is predicted, so a batch cannot have more */
static void batch_has_one_message(struct kunit *test)
{
	const struct ddp_hdr next[] = { make_hdr(MSN + 1), make_hdr(MSN + 2) };
	struct ddp_stream *s = open_and_receive_first_segment();
	u8 bodies[2 * LEN] = {};
	enum iw_reason why;

	KUNIT_EXPECT_EQ(test, NOT_EXPECTED, receive_batch(s, next, 2, LEN, bodies, &why));
	KUNIT_EXPECT_EQ(test, 1, receive_batch(s, next, 1, LEN, bodies, &why));
	KUNIT_EXPECT_EQ(test, 1, receive_batch(s, next + 1, 1, LEN, bodies, &why));
	KUNIT_EXPECT_EQ(test, 3u, stubs.delivered);
	ddp_rx_end(s);
}

/* No message is processed after another context has failed the stream */
static void failed_stream_takes_no_message(struct kunit *test)
{
	const struct iw_failure f = { .why = IW_LOCAL_PROT };
	const struct ddp_hdr next = make_hdr(MSN + 1);
	struct ddp_stream *s = open_and_receive_first_segment();
	static const u8 body[LEN];
	struct ddp_rx_batch b;
	enum iw_reason why;

	KUNIT_ASSERT_TRUE(test, build_batch(s, &b, &next, 1, LEN, body));
	ddp_stream_fail(s, &f);
	KUNIT_EXPECT_EQ(test, 0u, ddp_rx_batch(s, &b, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC, why);
	KUNIT_EXPECT_FALSE(test, offer_message_to_fast_path(s, &next, LEN, &why));
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	ddp_rx_end(s);
}

static void successive_messages_use_fast_path(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	enum iw_reason why;
	u32 i;

	for (i = 1; i <= 20; i++) {
		struct ddp_hdr h = make_hdr(MSN + i);

		/* a message of another kind in between uses the general path */
		if (i == 10) {
			h.ulp8 = 0x44;
			KUNIT_EXPECT_FALSE(test, offer_message_to_fast_path(s, &h, LEN, &why));
			receive_segment(s, &h, 0, LEN);
			i++;
			h.msn++;
			KUNIT_EXPECT_TRUE(test, offer_message_to_fast_path(s, &h, LEN, &why));
			h = make_hdr(MSN + ++i);
			receive_segment(s, &h, 0, LEN);
			continue;
		}
		KUNIT_EXPECT_TRUE(test, offer_message_to_fast_path(s, &h, LEN + i, &why));
		KUNIT_EXPECT_EQ(test, IW_OK, why);
	}
	KUNIT_EXPECT_EQ(test, 21u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, MSN + 21, s->uq[0].msn);
	ddp_rx_end(s);
}

/* DDP-41: the MSN wraps from 2^32 - 1 to 0, and the QN is not changed by that */
static void msn_wraps_without_changing_qn(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	struct ddp_hdr h = make_hdr(U32_MAX);
	enum iw_reason why;

	s->uq[0].msn = U32_MAX;
	ddp_rx_begin(s);
	receive_segment(s, &h, 0, LEN);
	h.msn = 0;
	h.qn = 1;
	KUNIT_EXPECT_FALSE(test, offer_message_to_fast_path(s, &h, LEN, &why));
	h.qn = 0;
	KUNIT_EXPECT_TRUE(test, offer_message_to_fast_path(s, &h, LEN, &why));
	h.msn = 1;
	KUNIT_EXPECT_TRUE(test, offer_message_to_fast_path(s, &h, LEN, &why));
	KUNIT_EXPECT_EQ(test, 3u, stubs.delivered);
	ddp_rx_end(s);
}

/* The last segment of a longer message tells nothing about the next message */
static void message_after_longer_one_uses_general_path(struct kunit *test)
{
	struct ddp_stream *s = open_rx_stream();
	struct ddp_hdr h = make_hdr(MSN);
	enum iw_reason why;

	s->uq[0].msn = MSN;
	ddp_rx_begin(s);
	h.last = false;
	receive_segment(s, &h, 0, LEN);
	h.last = true;
	h.mo = LEN - DDP_U_HDR_LEN;
	receive_segment(s, &h, 0, LEN);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	h = make_hdr(MSN + 1);
	KUNIT_EXPECT_FALSE(test, offer_message_to_fast_path(s, &h, LEN, &why));
	h.mo = LEN - DDP_U_HDR_LEN;
	KUNIT_EXPECT_FALSE(test, offer_message_to_fast_path(s, &h, LEN, &why));
	ddp_rx_end(s);
}

/* A message that waits for a page is retried on the general path, and no other overtakes it */
static void deferred_message_is_retried(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	struct ddp_hdr h = make_hdr(MSN + 1), after = make_hdr(MSN + 2);
	enum iw_reason why;

	stubs.places = IW_AGAIN;
	KUNIT_EXPECT_TRUE(test, offer_message_to_fast_path(s, &h, LEN, &why));
	KUNIT_EXPECT_EQ(test, IW_AGAIN, why);
	stubs.places = IW_OK;
	KUNIT_EXPECT_FALSE(test, offer_message_to_fast_path(s, &after, LEN, &why));
	KUNIT_EXPECT_FALSE(test, offer_message_to_fast_path(s, &h, LEN, &why));
	receive_segment(s, &h, 0, LEN);
	KUNIT_EXPECT_EQ(test, 2u, stubs.admitted);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_TRUE(test, offer_message_to_fast_path(s, &after, LEN, &why));
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	ddp_rx_end(s);
}

/* A message that waits for a receive is admitted again; the next one does not take its place */
static void message_waiting_for_receive_is_retried(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	struct ddp_hdr h = make_hdr(MSN + 1);
	enum iw_reason why;

	stubs.admits = IW_AGAIN;
	KUNIT_EXPECT_TRUE(test, offer_message_to_fast_path(s, &h, LEN, &why));
	KUNIT_EXPECT_EQ(test, IW_AGAIN, why);
	stubs.admits = IW_OK;
	KUNIT_EXPECT_FALSE(test, offer_message_to_fast_path(s, &h, LEN, &why));
	receive_segment(s, &h, 0, LEN);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	ddp_rx_end(s);
}

/* RFC 5041 7.1: the error report quotes the message as received */
static void refused_message_is_quoted(struct kunit *test)
{
	struct ddp_stream *s = open_and_receive_first_segment();
	struct ddp_hdr h = make_hdr(MSN + 1);
	enum iw_reason why;

	/* the buffer has 100 bytes */
	KUNIT_EXPECT_TRUE(test, offer_message_to_fast_path(s, &h, DDP_U_HDR_LEN + 101, &why));
	KUNIT_EXPECT_EQ(test, IW_DDP_U_TOO_LONG, why);
	KUNIT_EXPECT_EQ(test, IW_DDP_U_TOO_LONG, stubs.why);
	KUNIT_EXPECT_EQ(test, DDP_U_HDR_LEN + 101u, stubs.quoted.seg_len);
	KUNIT_EXPECT_EQ(test, (u32)DDP_U_HDR_LEN, stubs.quoted.ddp_len);
	KUNIT_EXPECT_EQ(test, MSN + 1, get_unaligned_be32(stubs.quoted.ddp + DDP_U_MSN));
	KUNIT_EXPECT_EQ(test, 1u, stubs.placed);
	h.msn++;
	KUNIT_EXPECT_FALSE(test, offer_message_to_fast_path(s, &h, LEN, &why));
	ddp_rx_end(s);
}

static struct kunit_case rx_whole_msg_cases[] = {
	KUNIT_CASE(fast_path_needs_next_header),
	KUNIT_CASE(short_message_is_left_to_general_path),
	KUNIT_CASE(batch_has_one_message),
	KUNIT_CASE(failed_stream_takes_no_message),
	KUNIT_CASE(successive_messages_use_fast_path),
	KUNIT_CASE(msn_wraps_without_changing_qn),
	KUNIT_CASE(message_after_longer_one_uses_general_path),
	KUNIT_CASE(deferred_message_is_retried),
	KUNIT_CASE(message_waiting_for_receive_is_retried),
	KUNIT_CASE(refused_message_is_quoted),
	{}
};

static struct kunit_suite rx_whole_msg_suite = {
	.name = "ddp_rx_whole_msg",
	.test_cases = rx_whole_msg_cases,
};

kunit_test_suite(rx_whole_msg_suite);
