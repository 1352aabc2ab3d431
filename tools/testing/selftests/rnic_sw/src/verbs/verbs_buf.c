// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test buffers: every byte of the buffer and of its guard areas can be verified. */
#include <sys/mman.h>

#include "verbs.h"

#define GUARD		4096
#define SKEW		13	/* so that an MR starts at an odd address */
#define CLEAR_SEED	0xc1ea5eed
#define GUARD_SEED	0x9a5d9a5d

size_t get_page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

uint8_t compute_pattern_byte(uint32_t seed, size_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull +
		     seed * 0xd1b54a32d192ed03ull;

	x ^= x >> 29;
	return (x * 0xbf58476d1ce4e5b9ull) >> 56;
}

uint32_t get_random_below(uint32_t n)
{
	static uint64_t state = 0x2545f4914f6cdd1dull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 16) % n;
}

static void fill_pattern(uint8_t *p, size_t len, uint32_t seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = compute_pattern_byte(seed, i);
}

/* Return: the index of the first byte that differs from the pattern, or @len */
static size_t find_difference(const uint8_t *p, size_t len, uint32_t seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != compute_pattern_byte(seed, i))
			break;
	return i;
}

static size_t get_tail_len(const struct buf *b)
{
	return b->map_len - (b->at + b->len - b->map);
}

void buf_create(struct buf *b, size_t len)
{
	memset(b, 0, sizeof(*b));
	b->len = len;
	b->map_len = GUARD + SKEW + len + GUARD;
	b->map = mmap(NULL, b->map_len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(b->map != MAP_FAILED, "%zu bytes", len);
	b->at = b->map + GUARD + SKEW;
	fill_pattern(b->map, GUARD + SKEW, GUARD_SEED);
	fill_pattern(b->at + len, get_tail_len(b), GUARD_SEED);
	buf_clear(b);
}

int add_odp_access_if_set(int access)
{
	return setting.on_demand ? access | IBV_ACCESS_ON_DEMAND : access;
}

void buf_reg(struct buf *b, struct ibv_pd *pd, int access)
{
	b->mr = ibv_reg_mr(pd, b->at, b->len, add_odp_access_if_set(access));
	CHECK(b->mr, "reg_mr of %zu bytes: %m", b->len);
}

void buf_free(struct buf *b)
{
	buf_check_guards(b);
	if (b->mr)
		CHECK(!ibv_dereg_mr(b->mr), "%m");
	munmap(b->map, b->map_len);
	memset(b, 0, sizeof(*b));
}

void buf_clear(struct buf *b)
{
	fill_pattern(b->at, b->len, CLEAR_SEED);
}

void buf_fill(struct buf *b, size_t off, size_t len, uint32_t seed)
{
	CHECK(off + len <= b->len, "the range must lie in the buffer");
	fill_pattern(b->at + off, len, seed);
}

void buf_expect_pattern(const struct buf *b, size_t off, size_t len, uint32_t seed)
{
	size_t i = find_difference(b->at + off, len, seed);

	CHECK(i == len, "byte %zu of %zu (at %zu) is 0x%02x, not 0x%02x",
	      i, len, off, b->at[off + i], compute_pattern_byte(seed, i));
}

/* Compare byte by byte, because the pattern is counted from the start of the buffer */
void buf_expect_clear(const struct buf *b, size_t off, size_t len)
{
	size_t i;

	for (i = off; i < off + len; i++)
		CHECK(b->at[i] == compute_pattern_byte(CLEAR_SEED, i),
		      "byte %zu of the buffer was written", i);
}

void buf_expect_only_pattern(const struct buf *b, size_t off, size_t len, uint32_t seed)
{
	buf_expect_pattern(b, off, len, seed);
	buf_expect_clear(b, 0, off);
	buf_expect_clear(b, off + len, b->len - off - len);
	buf_check_guards(b);
}

void buf_check_guards(const struct buf *b)
{
	size_t i = find_difference(b->map, GUARD + SKEW, GUARD_SEED);

	CHECK(i == GUARD + SKEW, "the last %zu bytes before the buffer were written",
	      GUARD + SKEW - i);
	i = find_difference(b->at + b->len, get_tail_len(b), GUARD_SEED);
	CHECK(i == get_tail_len(b), "byte %zu after the buffer was written", i);
}

/* The comparison functions must detect a difference */
static void test_buf_checks_detect_changes(void)
{
	struct buf b;

	buf_create(&b, 1000);
	buf_fill(&b, 10, 20, 7);
	buf_expect_only_pattern(&b, 10, 20, 7);
	CHECK(find_difference(b.at + 10, 20, 8) < 20, "another seed must give another pattern");
	CHECK(find_difference(b.at + 11, 19, 7) < 19, "another position must give another pattern");
	b.at[-1] ^= 1;
	CHECK(find_difference(b.map, GUARD + SKEW, GUARD_SEED) < GUARD + SKEW,
	      "a write before the buffer must be detected");
}

const struct test buf_tests[] = {
	CASE("buf_notices", test_buf_checks_detect_changes, 0, "the test itself"),
	{}
};
