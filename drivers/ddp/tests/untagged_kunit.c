// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test the checks of MSN, MO and length of untagged segments. */
#include <kunit/test.h>
#include <linux/prandom.h>
#include "../untagged.h"

static void init_queues(struct ddp_untagged_queue *uq)
{
	int qn;

	for (qn = 0; qn < DDP_QUEUES; qn++)
		ddp_untagged_init(&uq[qn]);
}

/*
 * RFC 5041 4.3 (DDP-42, DDP-45): the first segment of each queue is accepted
 * with MSN 1 and MO 0, and is refused with MSN 0.
 */
static void untagged_first_msn_is_one(struct kunit *test)
{
	struct ddp_untagged_queue uq[DDP_QUEUES];
	struct ddp_hdr h = {};

	init_queues(uq);
	for (h.qn = 0; h.qn < DDP_QUEUES; h.qn++) {
		h.msn = 1;
		KUNIT_EXPECT_EQ(test, ddp_untagged_check_hdr(uq, &h), IW_OK);
		h.msn = 0;
		KUNIT_EXPECT_EQ(test, ddp_untagged_check_hdr(uq, &h), IW_DDP_U_MSN_RANGE);
	}
}

/* A segment, and the expected result of ddp_untagged_check_hdr() */
struct due {
	const char	*name;
	u32		qn;
	u32		msn;
	u32		mo;
	enum iw_reason	why;
};

/* In the test, queue 2 expects MSN 7 and MO 100, and all other queues expect MSN 1 and MO 0 */
static const struct due dues[] = {
	{ "next expected", 2, 7, 100, IW_OK },
	{ "another queue", 3, 1, 0, IW_OK },
	{ "queue 4", 4, 7, 100, IW_DDP_U_QN },
	{ "queue 2^32 - 1", U32_MAX, 7, 100, IW_DDP_U_QN },
	{ "queue 2 + 2^31", 0x80000002, 7, 100, IW_DDP_U_QN },
	{ "MSN repeated", 2, 6, 100, IW_DDP_U_MSN_RANGE },
	{ "MSN skipped", 2, 8, 100, IW_DDP_U_MSN_RANGE },
	{ "MSN half way round", 2, 0x80000007, 100, IW_DDP_U_MSN_RANGE },
	{ "MSN of another queue", 3, 7, 0, IW_DDP_U_MSN_RANGE },
	{ "byte repeated", 2, 7, 99, IW_DDP_U_MO },
	{ "byte skipped", 2, 7, 101, IW_DDP_U_MO },
	{ "MO 0 again", 2, 7, 0, IW_DDP_U_MO },
	{ "MO far too large", 2, 7, U32_MAX, IW_DDP_U_MO },
	{ "QN checked before MSN", 5, 8, 0, IW_DDP_U_QN },
	{ "MSN checked before MO", 2, 8, 0, IW_DDP_U_MSN_RANGE },
};

static void describe_due(const struct due *d, char *desc)
{
	strscpy(desc, d->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(due, dues, describe_due);

/*
 * RFC 5041 7.1 U1, U3, U5 (DDP-86, DDP-92, DDP-94): a segment is
 * accepted only if its MSN and MO are the next expected ones of its queue.
 */
static void only_expected_untagged_segment_is_accepted(struct kunit *test)
{
	const struct due *d = test->param_value;
	const struct ddp_hdr h = { .qn = d->qn, .msn = d->msn, .mo = d->mo };
	struct ddp_untagged_queue uq[DDP_QUEUES];

	init_queues(uq);
	uq[2].msn = 7;
	uq[2].mo = 100;
	KUNIT_EXPECT_EQ(test, ddp_untagged_check_hdr(uq, &h), d->why);
}

/*
 * RFC 5041 4.3, 7.1 U5 (DDP-43, DDP-95): around the wrap of the MSN only the
 * next expected MSN is accepted.
 */
static void untagged_msn_wraps(struct kunit *test)
{
	struct ddp_hdr h = { .last = true };
	struct ddp_untagged_queue uq[DDP_QUEUES];
	int i, off;

	init_queues(uq);
	uq[0].msn = U32_MAX - 2;
	for (i = -3; i < 3; i++) {
		for (off = -5; off <= 5; off++) {
			h.msn = (u32)i + (u32)off;
			KUNIT_EXPECT_EQ(test, ddp_untagged_check_hdr(uq, &h),
					off ? IW_DDP_U_MSN_RANGE : IW_OK);
		}
		h.msn = i;
		ddp_untagged_advance(&uq[0], &h, 0);
	}
	KUNIT_EXPECT_EQ(test, uq[0].msn, 3u);
}

/* Compute the expected result of ddp_untagged_check_len() for a segment, byte by byte */
static enum iw_reason get_expected_len_result(u32 mo, u32 payload, u32 buf_len)
{
	u64 at = mo;

	if (at > buf_len)
		return IW_DDP_U_TOO_LONG;
	while (payload--)
		if (at++ >= buf_len)
			return IW_DDP_U_TOO_LONG;
	return IW_OK;
}

/*
 * RFC 5041 7.1 U4 (DDP-93): for MOs and payloads below 12 bytes and buffers
 * below 24 bytes, ddp_untagged_check_len() returns the result of get_expected_len_result().
 */
static void untagged_check_len_matches_reference(struct kunit *test)
{
	struct ddp_hdr h = {};
	u32 payload, buf_len;

	for (h.mo = 0; h.mo < 12; h.mo++)
		for (payload = 0; payload < 12; payload++)
			for (buf_len = 0; buf_len < 24; buf_len++)
				KUNIT_EXPECT_EQ(test,
						ddp_untagged_check_len(&h, payload,
								       buf_len),
						get_expected_len_result(h.mo, payload,
									buf_len));
}

/*
 * RFC 5041 7.1 U4, 5.2 (DDP-93, DDP-48): ddp_untagged_check_len() does not wrap if
 * the sum of MO and payload exceeds 32 bits.
 */
static void untagged_check_len_does_not_wrap(struct kunit *test)
{
	struct ddp_hdr h = { .mo = U32_MAX };

	KUNIT_EXPECT_EQ(test, ddp_untagged_check_len(&h, 0, U32_MAX), IW_OK);
	KUNIT_EXPECT_EQ(test, ddp_untagged_check_len(&h, 1, U32_MAX), IW_DDP_U_TOO_LONG);
	KUNIT_EXPECT_EQ(test, ddp_untagged_check_len(&h, U32_MAX, 10), IW_DDP_U_TOO_LONG);
	h.mo = U32_MAX - 9;
	KUNIT_EXPECT_EQ(test, ddp_untagged_check_len(&h, 9, U32_MAX), IW_OK);
	KUNIT_EXPECT_EQ(test, ddp_untagged_check_len(&h, 10, U32_MAX), IW_DDP_U_TOO_LONG);
	KUNIT_EXPECT_EQ(test, ddp_untagged_check_len(&h, 20, U32_MAX), IW_DDP_U_TOO_LONG);
}

/*
 * RFC 5041 4.3, 5.2 (DDP-41, DDP-44, DDP-51): 5000 segments of interleaved
 * messages on all queues are accepted if each has the next MSN and MO.
 */
static void untagged_accepts_interleaved_messages(struct kunit *test)
{
	u32 messages[DDP_QUEUES] = {}, octets[DDP_QUEUES] = {};
	struct ddp_untagged_queue uq[DDP_QUEUES];
	struct rnd_state rnd;
	struct ddp_hdr h;
	u32 payload;
	int i;

	init_queues(uq);
	prandom_seed_state(&rnd, 7);
	for (i = 0; i < 5000; i++) {
		memset(&h, 0, sizeof(h));
		h.qn = prandom_u32_state(&rnd) % DDP_QUEUES;
		h.last = prandom_u32_state(&rnd) % 3 == 0;
		h.msn = messages[h.qn] + 1;
		h.mo = octets[h.qn];
		payload = prandom_u32_state(&rnd) % 1500;
		KUNIT_EXPECT_EQ(test, ddp_untagged_check_hdr(uq, &h), IW_OK);
		ddp_untagged_advance(&uq[h.qn], &h, payload);
		octets[h.qn] += payload;
		if (h.last) {
			messages[h.qn]++;
			octets[h.qn] = 0;
			/* the MSN of a completed message is refused */
			KUNIT_EXPECT_EQ(test, ddp_untagged_check_hdr(uq, &h),
					IW_DDP_U_MSN_RANGE);
		}
	}
}

static struct kunit_case untagged_cases[] = {
	KUNIT_CASE(untagged_first_msn_is_one),
	KUNIT_CASE_PARAM(only_expected_untagged_segment_is_accepted, due_gen_params),
	KUNIT_CASE(untagged_msn_wraps),
	KUNIT_CASE(untagged_check_len_matches_reference),
	KUNIT_CASE(untagged_check_len_does_not_wrap),
	KUNIT_CASE(untagged_accepts_interleaved_messages),
	{}
};

static struct kunit_suite untagged_suite = {
	.name = "ddp_untagged",
	.test_cases = untagged_cases,
};

kunit_test_suite(untagged_suite);

MODULE_DESCRIPTION("DDP untagged queues: tests");
MODULE_LICENSE("Dual BSD/GPL");
