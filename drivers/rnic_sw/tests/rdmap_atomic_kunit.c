// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../rdmap_hdr.h"

static const struct rdmap_atomic example = {
	.code = RDMAP_ATOMIC_CMP_SWAP,
	.id = 0x01020304,
	.stag = 0x11121314,
	.to = 0x2122232425262728,
	.data = 0x3132333435363738,
	.mask = 0x4142434445464748,
	.cmp = 0x5152535455565758,
	.cmp_mask = 0x6162636465666768,
};

/* The encoded form of @example, written by hand from RFC 7306 figure 4 */
static const u8 example_bytes[RDMAP_AREQ_LEN] = {
	0x00, 0x00, 0x00, 0x02, 0x01, 0x02, 0x03, 0x04,
	0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24,
	0x25, 0x26, 0x27, 0x28, 0x31, 0x32, 0x33, 0x34,
	0x35, 0x36, 0x37, 0x38, 0x41, 0x42, 0x43, 0x44,
	0x45, 0x46, 0x47, 0x48, 0x51, 0x52, 0x53, 0x54,
	0x55, 0x56, 0x57, 0x58, 0x61, 0x62, 0x63, 0x64,
	0x65, 0x66, 0x67, 0x68,
};

/* RFC 7306 5.2.1 (EXT-34): an Atomic Request is encoded as in figure 4. */
static void atomic_request_matches_figure(struct kunit *test)
{
	u8 p[RDMAP_AREQ_LEN];

	rdmap_atomic_encode(p, &example);
	KUNIT_EXPECT_EQ(test, 0, memcmp(p, example_bytes, sizeof(p)));
}

/*
 * An Atomic Request has the same bytes after it is decoded and encoded again.
 */
static void request_encode_restores_decoded_bytes(struct kunit *test)
{
	struct rdmap_atomic a = {};
	u8 p[RDMAP_AREQ_LEN];

	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_atomic_decode(&a, example_bytes));
	rdmap_atomic_encode(p, &a);
	KUNIT_EXPECT_EQ(test, 0, memcmp(p, example_bytes, sizeof(p)));
}

/*
 * RFC 7306 5.2.1: rdmap_atomic_decode() ignores reserved bits (EXT-35). It
 * accepts the codes of FetchAdd and CmpSwap (EXT-36, EXT-44), and refuses all
 * others, also that of Swap.
 */
static void only_fetch_add_and_cmp_swap_are_accepted(struct kunit *test)
{
	struct rdmap_atomic a;
	u8 p[RDMAP_AREQ_LEN];
	int code;

	memcpy(p, example_bytes, sizeof(p));
	memset(p, 0xff, 3);
	for (code = 0; code < 16; code++) {
		bool known = code == 0 || code == 2;

		p[3] = 0xf0 | code;
		KUNIT_EXPECT_EQ(test, known ? IW_OK : IW_RDMAP_OPCODE,
				rdmap_atomic_decode(&a, p));
		KUNIT_EXPECT_EQ(test, code, (int)a.code);
	}
}

/*
 * RFC 7306 5.2.1, 5.2.2 (EXT-37, EXT-49): an Atomic Response is encoded and
 * decoded as in figure 6.
 */
static void response_matches_figure(struct kunit *test)
{
	static const u8 want[RDMAP_ARESP_LEN] = {
		0x01, 0x02, 0x03, 0x04,
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
	};
	u8 p[RDMAP_ARESP_LEN];
	u32 id;
	u64 old;

	rdmap_aresp_encode(p, 0x01020304, 0x1112131415161718);
	KUNIT_EXPECT_EQ(test, 0, memcmp(p, want, sizeof(p)));
	rdmap_aresp_decode(want, &id, &old);
	KUNIT_EXPECT_EQ(test, 0x01020304u, id);
	KUNIT_EXPECT_EQ(test, 0x1112131415161718ull, old);
}

/* Add @add to @old field by field, like the pseudocode of RFC 7306 5.1.1 */
static u64 compute_expected_field_add(u64 old, u64 add, u64 tops)
{
	u64 result = 0, carry = 0;
	int bit;

	for (bit = 0; bit < 64; bit++) {
		u64 sum = carry + (old >> bit & 1) + (add >> bit & 1);

		result |= (sum & 1) << bit;
		carry = sum >> 1;
		if (tops >> bit & 1)
			carry = 0;
	}
	return result;
}

static u64 apply_fetch_add(u64 old, u64 add, u64 tops)
{
	const struct rdmap_atomic a = {
		.code = RDMAP_ATOMIC_FETCH_ADD, .data = add, .mask = tops,
		/* FetchAdd ignores these fields: RFC 7306 5.2.1 (EXT-39) */
		.cmp = 1, .cmp_mask = 1,
	};

	return rdmap_compute_atomic_result(&a, old);
}

/*
 * RFC 7306 1.1, 5.1.1 (EXT-3, EXT-20): FetchAdd with mask 0 adds 64-bit values,
 * and drops the carry out of the top bit.
 */
static void fetch_add_drops_carry(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0ull, apply_fetch_add(U64_MAX, 1, 0));
	KUNIT_EXPECT_EQ(test, 7ull, apply_fetch_add(7, 0, 0));
	KUNIT_EXPECT_EQ(test, 0x100000000ull, apply_fetch_add(0xffffffff, 1, 0));
}

/*
 * RFC 7306 5.1.1 (EXT-19): FetchAdd gives the results of the RFC's pseudocode
 * for 20000 random values and masks.
 */
static void fetch_add_matches_pseudocode(struct kunit *test)
{
	static const u64 tops[] = {
		0, U64_MAX, 1, 1ull << 63, 0x8000000080000000,
		0x8080808080808080, 0x8888888888888888, 0x0000000100000000,
	};
	struct rnd_state rnd;
	u64 v[3];
	int i;

	prandom_seed_state(&rnd, 5041);
	for (i = 0; i < 20000; i++) {
		prandom_bytes_state(&rnd, v, sizeof(v));
		if (i & 1)
			v[2] = tops[i / 2 % 8];
		KUNIT_ASSERT_EQ(test, compute_expected_field_add(v[0], v[1], v[2]),
				apply_fetch_add(v[0], v[1], v[2]));
	}
}

static u64 apply_cmp_swap(u64 old, u64 cmp, u64 cmp_mask, u64 swap, u64 mask)
{
	const struct rdmap_atomic a = {
		.code = RDMAP_ATOMIC_CMP_SWAP, .data = swap, .mask = mask,
		.cmp = cmp, .cmp_mask = cmp_mask,
	};

	return rdmap_compute_atomic_result(&a, old);
}

/*
 * RFC 7306 5.1.2 (EXT-23 to EXT-25, EXT-27): CmpSwap compares only bits in the
 * compare mask and stores only bits in the swap mask.
 */
static void cmp_swap_obeys_masks(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 9ull, apply_cmp_swap(5, 5, U64_MAX, 9, U64_MAX));
	KUNIT_EXPECT_EQ(test, 5ull, apply_cmp_swap(5, 4, U64_MAX, 9, U64_MAX));
	/* the values are equal in the bits of the compare mask */
	KUNIT_EXPECT_EQ(test, 9ull, apply_cmp_swap(0x105, 5, 0xff, 9, U64_MAX));
	/* the compare mask is 0, so the values count as equal */
	KUNIT_EXPECT_EQ(test, 9ull, apply_cmp_swap(5, 4, 0, 9, U64_MAX));
	/* only the bits of the swap mask are stored */
	KUNIT_EXPECT_EQ(test, 0x12cdull,
			apply_cmp_swap(0x1234, 0x1234, U64_MAX, 0xabcd, 0xff));
	KUNIT_EXPECT_EQ(test, 0x1234ull,
			apply_cmp_swap(0x1234, 0x1234, U64_MAX, 0xabcd, 0));
}

static struct kunit_case rdmap_atomic_cases[] = {
	KUNIT_CASE(atomic_request_matches_figure),
	KUNIT_CASE(request_encode_restores_decoded_bytes),
	KUNIT_CASE(only_fetch_add_and_cmp_swap_are_accepted),
	KUNIT_CASE(response_matches_figure),
	KUNIT_CASE(fetch_add_drops_carry),
	KUNIT_CASE(fetch_add_matches_pseudocode),
	KUNIT_CASE(cmp_swap_obeys_masks),
	{}
};

static struct kunit_suite rdmap_atomic_suite = {
	.name = "rnic_sw_rdmap_atomic",
	.test_cases = rdmap_atomic_cases,
};

kunit_test_suite(rdmap_atomic_suite);
