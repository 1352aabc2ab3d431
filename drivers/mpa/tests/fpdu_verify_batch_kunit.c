// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Test batches of FPDUs whose payloads are stored contiguously. The source of each FPDU
 * changes between copying and verifying the FPDU.
 */
#include <kunit/test.h>

#include "../crc.h"
#include "../fpdu_verify.h"

#define MANY		7
#define ULPDU_MOST	2000
#define BEFORE		(DDP_RX_HEAD_LEN + 8)	/* bytes of the buffer before the first payload */
#define AFTER_PAYLOAD	(MPA_ALIGN - 1 + MPA_CRC_SIZE)
#define UNTOUCHED	0xee

/* Lengths of ULPDUs. The tests skip those that have no payload after an untagged header. */
static const u32 sizes[] = {
	15, 16, 17, 18, 19, 20, 21, 22, 28, 29, 30, 31, 44, 114, 1442, 1443, 1444, ULPDU_MOST,
};

/* Lengths of the DDP headers: tagged and untagged */
static const u32 hdr_lens[] = { IW_DDP_T_HDR_LEN, IW_DDP_HDR_MAX };

struct fixture {
	u8	src_bytes[ULPDU_MOST + AFTER_PAYLOAD + MPA_LEN_SIZE];	/* one FPDU */
	u8	memory[BEFORE + MANY * ULPDU_MOST + AFTER_PAYLOAD];	/* buffer of the batch */
};

static u8 get_pattern_byte(u32 i)
{
	return i * 151 + (i >> 8);
}

/* Write FPDU number @nth, counted from 0, to @p */
static void build_fpdu(u8 *p, u32 ulpdu_len, u32 nth)
{
	u32 end = mpa_fpdu_content_len(ulpdu_len) - MPA_CRC_SIZE, i;

	put_unaligned_be16(ulpdu_len, p);
	for (i = MPA_LEN_SIZE; i < end; i++)
		p[i] = i < MPA_LEN_SIZE + ulpdu_len ? get_pattern_byte(nth * ulpdu_len + i) : 0;
	mpa_crc_final(mpa_crc_update(mpa_crc_init(), p, end), p + end);
}

/* Fill the buffer with UNTOUCHED. Return: destination of the first payload. */
static u8 *reset_memory_and_get_dst(struct fixture *x)
{
	memset(x->memory, UNTOUCHED, sizeof(x->memory));
	return x->memory + BEFORE;
}

static struct fixture *new_fixture(struct kunit *test)
{
	struct fixture *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, x);
	return x;
}

/*
 * Count the wrong bytes of the buffer. The buffer must contain the payloads of @n FPDUs, and
 * all other bytes must be UNTOUCHED. Do not check the bytes directly after the payloads, to
 * which a dropped FPDU may have been copied.
 */
static u32 count_wrong_bytes(const struct fixture *x, u32 ulpdu_len, u32 hdr_len, u32 n)
{
	u32 payload = ulpdu_len - hdr_len, wrong = 0, i, k;

	for (i = 0; i < BEFORE; i++)
		wrong += x->memory[i] != UNTOUCHED;
	for (k = 0; k < n; k++)
		for (i = 0; i < payload; i++)
			wrong += x->memory[BEFORE + k * payload + i] !=
				 get_pattern_byte(k * ulpdu_len + MPA_LEN_SIZE + hdr_len + i);
	for (i = BEFORE + (n + 1) * payload + AFTER_PAYLOAD; i < sizeof(x->memory); i++)
		wrong += x->memory[i] != UNTOUCHED;
	return wrong;
}

/*
 * Copy the FPDU of @x to the batch, overwrite the source, and then verify the copy. @head:
 * the header to compare with. Return: true if the payload was added to the batch, false
 * otherwise.
 */
static bool copy_fpdu_and_add_if_valid(struct fixture *x, struct mpa_fpdu_batch *r, const u8 *head)
{
	u8 *to = mpa_fpdu_batch_prepare_dst(r);
	struct ddp_rx_head before;

	ddp_rx_head_read(&before, head);
	memcpy(to, x->src_bytes, r->wire_len);
	memset(x->src_bytes, 0x55, r->wire_len);
	return mpa_fpdu_batch_add_if_valid(r, &before);
}

/* Begin a batch and add @n valid FPDUs to it */
static void begin_batch_with_fpdus(struct kunit *test, struct fixture *x, struct mpa_fpdu_batch *r,
				   u32 ulpdu_len, u32 hdr_len, u32 n)
{
	u32 i;

	mpa_fpdu_batch_begin(r, ulpdu_len, hdr_len, reset_memory_and_get_dst(x));
	for (i = 0; i < n; i++) {
		build_fpdu(x->src_bytes, ulpdu_len, i);
		KUNIT_EXPECT_TRUE(test, copy_fpdu_and_add_if_valid(x, r, x->src_bytes));
	}
}

/*
 * RFC 5044 6 (MPA-69): the payloads of a batch are stored as they were verified, and
 * the bytes that headers have overwritten are restored.
 */
static void batch_payloads_are_contiguous(struct kunit *test)
{
	struct fixture *x = new_fixture(test);
	struct mpa_fpdu_batch r;
	u32 i, h;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (h = 0; h < ARRAY_SIZE(hdr_lens); h++) {
			if (sizes[i] <= hdr_lens[h])
				continue;
			begin_batch_with_fpdus(test, x, &r, sizes[i], hdr_lens[h], MANY);
			KUNIT_EXPECT_EQ_MSG(test, 0u,
					    count_wrong_bytes(x, sizes[i], hdr_lens[h], MANY),
					    "ULPDUs of %u bytes, header of %u bytes", sizes[i],
					    hdr_lens[h]);
		}
	}
}

/*
 * Expect that FPDU 2 is dropped if its bit @bit is changed, and that the payloads of FPDUs 0
 * and 1, which were added before, stay unchanged
 */
static void expect_flip_detected(struct kunit *test, struct fixture *x, struct mpa_fpdu_batch *r,
				 u32 ulpdu_len, u32 hdr_len, u32 bit)
{
	build_fpdu(x->src_bytes, ulpdu_len, 2);
	x->src_bytes[bit / 8] ^= 1 << bit % 8;
	KUNIT_EXPECT_FALSE_MSG(test, copy_fpdu_and_add_if_valid(x, r, x->src_bytes),
			       "ULPDU of %u bytes, bit %u changed", ulpdu_len, bit);
	KUNIT_EXPECT_EQ(test, count_wrong_bytes(x, ulpdu_len, hdr_len, 2), 0u);
}

static void expect_all_flips_detected(struct kunit *test, struct fixture *x, u32 ulpdu_len,
				      u32 hdr_len)
{
	struct mpa_fpdu_batch r;
	u32 bit, left;

	begin_batch_with_fpdus(test, x, &r, ulpdu_len, hdr_len, 2);
	left = r.left;
	for (bit = 0; bit < 8 * r.wire_len; bit++)
		expect_flip_detected(test, x, &r, ulpdu_len, hdr_len, bit);
	KUNIT_EXPECT_EQ(test, left, r.left);
	build_fpdu(x->src_bytes, ulpdu_len, 2);
	KUNIT_EXPECT_TRUE(test, copy_fpdu_and_add_if_valid(x, &r, x->src_bytes));
	KUNIT_EXPECT_EQ(test, count_wrong_bytes(x, ulpdu_len, hdr_len, 3), 0u);
	KUNIT_EXPECT_EQ(test, left - 1, r.left);
}

/*
 * RFC 5044 4.4, 8 (2) (MPA-53, MPA-54, MPA-133): an FPDU is dropped if any of its bits
 * is changed. The earlier payloads stay unchanged, and more FPDUs can be added.
 */
static void batch_drops_invalid_fpdu(struct kunit *test)
{
	struct fixture *x = new_fixture(test);
	u32 i, h;

	/* long FPDUs have too many bits */
	for (i = 0; sizes[i] <= 114; i++)
		for (h = 0; h < ARRAY_SIZE(hdr_lens); h++)
			if (sizes[i] > hdr_lens[h])
				expect_all_flips_detected(test, x, sizes[i], hdr_lens[h]);
}

/*
 * An FPDU is dropped if its header differs from the copy that was made of the header
 * before, even if the CRC is correct.
 */
static void batch_drops_changed_header(struct kunit *test)
{
	struct fixture *x = new_fixture(test);
	u8 head[DDP_RX_HEAD_LEN];
	struct mpa_fpdu_batch r;
	u32 i, hdr;

	for (i = 0; i < 2 * DDP_RX_HEAD_LEN; i++) {
		hdr = hdr_lens[i % 2];
		mpa_fpdu_batch_begin(&r, 44, hdr, reset_memory_and_get_dst(x));
		build_fpdu(x->src_bytes, 44, 0);
		memcpy(head, x->src_bytes, sizeof(head));
		head[i / 2] ^= 1;
		KUNIT_EXPECT_FALSE(test, copy_fpdu_and_add_if_valid(x, &r, head));
		KUNIT_EXPECT_EQ(test, count_wrong_bytes(x, 44, hdr, 0), 0u);
		build_fpdu(x->src_bytes, 44, 0);
		KUNIT_EXPECT_TRUE(test, copy_fpdu_and_add_if_valid(x, &r, x->src_bytes));
		KUNIT_EXPECT_EQ(test, count_wrong_bytes(x, 44, hdr, 1), 0u);
	}
}

/* A batch accepts as many FPDUs as fit into MPA_FPDU_BATCH_SIZE bytes, and no more. */
static void batch_fills_to_capacity(struct kunit *test)
{
	u8 octets[DDP_RX_HEAD_LEN];
	struct mpa_fpdu_batch r;
	u32 ulpdu, hdr, end, i;

	for (i = 0; i <= 2 * MPA_ULPDU_MAX + 1; i++) {
		ulpdu = i / 2;
		hdr = hdr_lens[i % 2];
		mpa_fpdu_batch_begin(&r, ulpdu, hdr, octets + sizeof(octets));
		if (ulpdu <= hdr || mpa_fpdu_content_len(ulpdu) > MPA_FPDU_BATCH_SIZE) {
			KUNIT_EXPECT_EQ(test, 0u, r.left);
			continue;
		}
		/* compute the end of the first FPDU that the batch does not accept */
		end = r.left * (ulpdu - hdr) + mpa_fpdu_content_len(ulpdu);
		KUNIT_EXPECT_GT(test, end, (u32)MPA_FPDU_BATCH_SIZE);
		end -= ulpdu - hdr;
		KUNIT_EXPECT_LE(test, end, (u32)MPA_FPDU_BATCH_SIZE);
	}
}

static struct kunit_case run_cases[] = {
	KUNIT_CASE(batch_payloads_are_contiguous),
	KUNIT_CASE(batch_drops_invalid_fpdu),
	KUNIT_CASE(batch_drops_changed_header),
	KUNIT_CASE(batch_fills_to_capacity),
	{}
};

static struct kunit_suite run_suite = {
	.name = "mpa_fpdu_batch",
	.test_cases = run_cases,
};

kunit_test_suite(run_suite);
