// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../odp_range.h"

#define SHIFT	12
#define PAGE	4096ull
#define CHUNK	(ODP_CHUNK_PAGES * PAGE)

static void expect_span(struct kunit *test, struct odp_span s, u64 chunk,
			u32 first, u32 pages)
{
	KUNIT_EXPECT_EQ(test, chunk, s.chunk);
	KUNIT_EXPECT_EQ(test, first, s.first);
	KUNIT_EXPECT_EQ(test, pages, s.pages);
}

/*
 * A span ends at the end of the range, at the end of its chunk, or after
 * ODP_BATCH pages.
 */
static void span_ends_at_range_or_chunk_end(struct kunit *test)
{
	expect_span(test, odp_compute_next_span(0, 1, SHIFT), 0, 0, 1);
	expect_span(test, odp_compute_next_span(PAGE - 1, PAGE, SHIFT), 0, 0, 1);
	expect_span(test, odp_compute_next_span(PAGE - 1, PAGE + 1, SHIFT), 0, 0, 2);
	expect_span(test, odp_compute_next_span(CHUNK - 1, CHUNK + 1, SHIFT), 0,
		    ODP_CHUNK_PAGES - 1, 1);
	expect_span(test, odp_compute_next_span(CHUNK, CHUNK + 1, SHIFT), 1, 0, 1);
	expect_span(test, odp_compute_next_span(CHUNK, 3 * CHUNK, SHIFT), 1, 0, ODP_BATCH);
	KUNIT_EXPECT_EQ(test, 0u, odp_compute_next_span(5, 5, SHIFT).pages);
	KUNIT_EXPECT_EQ(test, 0u, odp_compute_next_span(0, 0, SHIFT).pages);
}

/* Successive spans cover each byte of a range exactly once. */
static void spans_cover_range_once(struct kunit *test)
{
	struct rnd_state rnd;
	u64 at, from, end;
	struct odp_span s;
	int i;

	prandom_seed_state(&rnd, 14);
	for (i = 0; i < 1000; i++) {
		from = prandom_u32_state(&rnd);
		end = from + prandom_u32_state(&rnd) % (4 * CHUNK);
		for (at = from; at < end;) {
			s = odp_compute_next_span(at, end, SHIFT);
			KUNIT_ASSERT_EQ(test, at >> SHIFT,
					s.chunk * ODP_CHUNK_PAGES + s.first);
			KUNIT_ASSERT_TRUE(test, s.pages && s.pages <= ODP_BATCH);
			KUNIT_ASSERT_TRUE(test, s.first + s.pages <=
						ODP_CHUNK_PAGES);
			at = (s.chunk * ODP_CHUNK_PAGES + s.first + s.pages)
			     << SHIFT;
		}
		KUNIT_ASSERT_TRUE(test, at == from || at - end < PAGE);
	}
}

/*
 * odp_compute_span_in_chunk() returns the pages that the range and the chunk have in
 * common, and 0 pages if there are none.
 */
static void span_in_chunk_is_intersection(struct kunit *test)
{
	const u64 all = ODP_CHUNK_PAGES;

	expect_span(test, odp_compute_span_in_chunk(1, 0, U64_MAX, SHIFT), 1, 0, all);
	expect_span(test, odp_compute_span_in_chunk(1, CHUNK, 2 * CHUNK, SHIFT), 1, 0, all);
	expect_span(test, odp_compute_span_in_chunk(1, CHUNK + PAGE, CHUNK + 2 * PAGE, SHIFT),
		    1, 1, 1);
	expect_span(test, odp_compute_span_in_chunk(1, CHUNK - 1, CHUNK + 1, SHIFT), 1, 0, 1);
	expect_span(test, odp_compute_span_in_chunk(1, 2 * CHUNK - 1, 3 * CHUNK, SHIFT), 1,
		    all - 1, 1);
	KUNIT_EXPECT_EQ(test, 0u, odp_compute_span_in_chunk(1, 0, CHUNK, SHIFT).pages);
	KUNIT_EXPECT_EQ(test, 0u,
			odp_compute_span_in_chunk(1, 2 * CHUNK, U64_MAX, SHIFT).pages);
	KUNIT_EXPECT_EQ(test, 0u,
			odp_compute_span_in_chunk(1, CHUNK + 5, CHUNK + 5, SHIFT).pages);
}

/*
 * The look-ahead range of odp_compute_lookahead_end() ends after ODP_AHEAD pages, or at the
 * end of the MR if that is nearer.
 */
static void lookahead_is_limited(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 100ull, odp_compute_lookahead_end(100, 100, SHIFT));
	KUNIT_EXPECT_EQ(test, 100ull, odp_compute_lookahead_end(100, 50, SHIFT));
	KUNIT_EXPECT_EQ(test, 200ull, odp_compute_lookahead_end(100, 200, SHIFT));
	KUNIT_EXPECT_EQ(test, 100 + ODP_AHEAD * PAGE,
			odp_compute_lookahead_end(100, U64_MAX, SHIFT));
	KUNIT_EXPECT_EQ(test, U64_MAX, odp_compute_lookahead_end(U64_MAX - 1, U64_MAX, SHIFT));
}

/*
 * Functions that remove the address tags of arm64 (8 bits), x86 (LAM, 6 bits)
 * and RISC-V (7 bits), and one that removes no bit
 */
static u64 untag_arm64(u64 at)
{
	return at & (u64)((s64)(at << 8) >> 8);
}

static u64 untag_lam(u64 at)
{
	return at & ~(0x3full << 57);
}

static u64 untag_riscv(u64 at)
{
	return (s64)(at << 7) >> 7;
}

static u64 untag_none(u64 at)
{
	return at;
}

/*
 * In the mask that odp_find_addr_mask() returns, exactly the bits of the tag are
 * clear.
 */
static void addr_mask_excludes_tag(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (1ull << 56) - 1, odp_find_addr_mask(untag_arm64));
	KUNIT_EXPECT_EQ(test, ~(0x3full << 57), odp_find_addr_mask(untag_lam));
	KUNIT_EXPECT_EQ(test, (1ull << 57) - 1, odp_find_addr_mask(untag_riscv));
	KUNIT_EXPECT_EQ(test, U64_MAX, odp_find_addr_mask(untag_none));
}

static struct kunit_case odp_range_cases[] = {
	KUNIT_CASE(span_ends_at_range_or_chunk_end),
	KUNIT_CASE(spans_cover_range_once),
	KUNIT_CASE(span_in_chunk_is_intersection),
	KUNIT_CASE(lookahead_is_limited),
	KUNIT_CASE(addr_mask_excludes_tag),
	{}
};

static struct kunit_suite odp_range_suite = {
	.name = "odp_range",
	.test_cases = odp_range_cases,
};

kunit_test_suite(odp_range_suite);
