// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/paged.c: access to ODP and dma-buf MRs. Memory,
 * lower layer and buffers are stubs.
 */
#include <kunit/test.h>
#include <ddp/llp.h>

#include "../../../../drivers/ddp/internal.h"

#define BASE	1000	/* TO of the MR's first byte */
#define FROM	16	/* offset of the MR's first byte in the memory */
#define RUN	24	/* bytes that are contiguous in the memory */
#define END	64	/* size of the memory */

static struct {
	u8		octets[END];	/* the memory */
	rwlock_t	lock;
	u32		runs;		/* number of extents returned */
	u32		written;	/* number of extents returned for writing */
	u32		faults;	/* number of page faults */
	u64		at;		/* offset of the last page fault */
	u32		reads;		/* number of reads from the lower layer */
	u32		last;		/* bytes of the last read */
	bool		unreadable;
	bool		outside;	/* true if data was copied without the lock */
} stubs;

static bool find_extent(void *mem, u64 at, bool write, struct ddp_extent *extent)
{
	u32 there = RUN - at % RUN;

	if (at >= END)
		return false;
	extent->at = (u8 *)mem + at;
	extent->len = min(extent->len, min(there, (u32)(END - at)));
	extent->lock = &stubs.lock;
	read_lock(&stubs.lock);
	stubs.runs++;
	stubs.written += write;
	return true;
}

static void record_fault(void *mem, struct ddp_fault *w)
{
	stubs.faults++;
	stubs.at = w->at;
}

static const struct ddp_mem_ops mem_ops = { .extent = find_extent, .fault_in = record_fault };

static const struct ddp_region region = {
	.base = BASE, .mem_base = FROM, .mem = stubs.octets, .ops = &mem_ops,
};

/* An MR of kernel memory, in which each TO is a kernel address */
static const struct ddp_region kernel;

static bool llp_read(struct ddp_llp *llp, void *dst, u32 len)
{
	memset(dst, 'x', len);
	stubs.outside |= !stubs.lock.readers;
	stubs.reads++;
	stubs.last = len;
	return !stubs.unreadable;
}

static const struct ddp_llp_ops llp_ops = { .read = llp_read };
static struct ddp_llp llp = { .ops = &llp_ops };

static int test_init(struct kunit *test)
{
	int i;

	memset(&stubs, 0, sizeof(stubs));
	for (i = 0; i < END; i++)
		stubs.octets[i] = i;
	return 0;
}

static void expect_unlocked(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, stubs.lock.readers);
}

/* A copy across several extents reads exactly the requested bytes */
static void copy_reads_only_requested_bytes(struct kunit *test)
{
	struct ddp_fault w = {};
	u8 flat[40];
	int i;

	KUNIT_EXPECT_EQ(test, IW_OK,
			ddp_paged_copy_to_flat(&region, BASE + 4, 40, flat, &w));
	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ(test, FROM + 4 + i, (int)flat[i]);
	KUNIT_EXPECT_EQ(test, 3u, stubs.runs);
	KUNIT_EXPECT_EQ(test, 0u, stubs.written);
}

/*
 * A copy to several destinations maps each extent once and writes nothing
 * between the destinations
 */
static void scatter_fills_only_destinations(struct kunit *test)
{
	struct ddp_fault w = {};
	u8 flat[3 * 16];
	int i;

	memset(flat, 0xee, sizeof(flat));
	KUNIT_EXPECT_EQ(test, 3u, ddp_paged_scatter_to_buffers(&region, BASE + 4, flat, 16, 10,
							       3, &w));
	for (i = 0; i < 3 * 16; i++)
		KUNIT_EXPECT_EQ(test, i % 16 < 10 ? FROM + 4 + i / 16 * 10 + i % 16 : 0xee,
				(int)flat[i]);
	KUNIT_EXPECT_EQ(test, 3u, stubs.runs);
	KUNIT_EXPECT_EQ(test, 0u, stubs.written);
}

/* A destination that cannot be filled completely does not count */
static void partial_destination_is_not_counted(struct kunit *test)
{
	struct ddp_fault w = { .suppressed = true };
	u8 flat[4 * 10];

	KUNIT_EXPECT_EQ(test, 2u, ddp_paged_scatter_to_buffers(&region, BASE + END - FROM - 25,
							       flat, 10, 10, 4, &w));
	KUNIT_EXPECT_EQ(test, END - 25, (int)flat[0]);
	KUNIT_EXPECT_EQ(test, END - 25 + 19, (int)flat[19]);
	KUNIT_EXPECT_EQ(test, 0u, stubs.faults);
	KUNIT_EXPECT_EQ(test, 0u, ddp_paged_scatter_to_buffers(&region, BASE + END - FROM,
							       flat, 10, 10, 4, &w));
}

static void copy_writes_only_requested_bytes(struct kunit *test)
{
	struct ddp_fault w = {};
	u8 flat[40];
	int i;

	for (i = 0; i < 40; i++)
		flat[i] = 100 + i;
	KUNIT_EXPECT_EQ(test, IW_OK,
			ddp_paged_copy_from_flat(&region, BASE + 4, 40, flat, false, &w));
	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ(test, 100 + i, (int)stubs.octets[FROM + 4 + i]);
	KUNIT_EXPECT_EQ(test, FROM + 3, (int)stubs.octets[FROM + 3]);
	KUNIT_EXPECT_EQ(test, FROM + 44, (int)stubs.octets[FROM + 44]);
	KUNIT_EXPECT_EQ(test, 3u, stubs.written);
}

/* At the end of a message, and only there, the last byte is read separately */
static void last_byte_of_msg_is_read_separately(struct kunit *test)
{
	struct ddp_fault w = {};

	KUNIT_EXPECT_EQ(test, IW_OK,
			ddp_paged_copy_from_llp(&region, BASE, 40, &llp, false, &w));
	KUNIT_EXPECT_EQ(test, 3u, stubs.reads);
	KUNIT_EXPECT_EQ(test, 8u, stubs.last);
	stubs.reads = 0;
	KUNIT_EXPECT_EQ(test, IW_OK,
			ddp_paged_copy_from_llp(&region, BASE, 40, &llp, true, &w));
	KUNIT_EXPECT_EQ(test, 4u, stubs.reads);
	KUNIT_EXPECT_EQ(test, 1u, stubs.last);
	KUNIT_EXPECT_FALSE(test, stubs.outside);
}

static void copy_reports_llp_error(struct kunit *test)
{
	struct ddp_fault w = {};

	stubs.unreadable = true;
	KUNIT_EXPECT_EQ(test, IW_UNREADABLE,
			ddp_paged_copy_from_llp(&region, BASE, 8, &llp, false, &w));
	KUNIT_EXPECT_EQ(test, 1u, stubs.reads);
}

/* A copy of memory that is partly missing requests the first missing byte */
static void copy_requests_first_missing_byte(struct kunit *test)
{
	struct ddp_fault w = {};
	u8 flat[16];

	KUNIT_EXPECT_EQ(test, IW_AGAIN,
			ddp_paged_copy_to_flat(&region, BASE + END - FROM - 8, 16,
					       flat, &w));
	KUNIT_EXPECT_EQ(test, 1u, stubs.runs);
	KUNIT_EXPECT_EQ(test, 1u, stubs.faults);
	KUNIT_EXPECT_EQ(test, (u64)END, stubs.at);
}

/* Copies of kernel memory must take no lock */
static void kernel_memory_is_copied_unlocked(struct kunit *test)
{
	u8 from[8] = "octets!", to[8];
	struct ddp_fault w = {};

	KUNIT_EXPECT_EQ(test, IW_OK,
			ddp_paged_copy_to_flat(&kernel, (uintptr_t)from, 8, to, &w));
	KUNIT_EXPECT_STREQ(test, "octets!", (char *)to);
	KUNIT_EXPECT_EQ(test, IW_OK,
			ddp_paged_copy_from_flat(&kernel, (uintptr_t)from, 8, "another",
						 true, &w));
	KUNIT_EXPECT_STREQ(test, "another", (char *)from);
}

static void add_to_word(void *arg, u64 *word)
{
	*word += *(u64 *)arg;
}

static void atomic_needs_present_aligned_word(struct kunit *test)
{
	u64 one = 1, word = 41, *there = (u64 *)(stubs.octets + FROM);
	struct ddp_fault w = {};

	*there = 41;
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_paged_apply_atomic(&region, BASE, NULL, NULL, &w));
	KUNIT_EXPECT_EQ(test, 0u, stubs.runs);
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_paged_apply_atomic(&region, BASE, add_to_word, &one, &w));
	KUNIT_EXPECT_EQ(test, 42ull, *there);
	KUNIT_EXPECT_EQ(test, 1u, stubs.written);
	KUNIT_EXPECT_EQ(test, IW_RDMAP_STREAM,
			ddp_paged_apply_atomic(&region, BASE + 4, add_to_word, &one, &w));
	KUNIT_EXPECT_EQ(test, IW_AGAIN,
			ddp_paged_apply_atomic(&region, BASE + END - FROM, add_to_word, &one, &w));
	KUNIT_EXPECT_EQ(test, IW_OK,
			ddp_paged_apply_atomic(&kernel, (uintptr_t)&word, add_to_word, &one, &w));
	KUNIT_EXPECT_EQ(test, 42ull, word);
}

static struct kunit_case paged_cases[] = {
	KUNIT_CASE(copy_reads_only_requested_bytes),
	KUNIT_CASE(scatter_fills_only_destinations),
	KUNIT_CASE(partial_destination_is_not_counted),
	KUNIT_CASE(copy_writes_only_requested_bytes),
	KUNIT_CASE(last_byte_of_msg_is_read_separately),
	KUNIT_CASE(copy_reports_llp_error),
	KUNIT_CASE(copy_requests_first_missing_byte),
	KUNIT_CASE(kernel_memory_is_copied_unlocked),
	KUNIT_CASE(atomic_needs_present_aligned_word),
	{}
};

static struct kunit_suite paged_suite = {
	.name = "ddp_paged",
	.init = test_init,
	.exit = expect_unlocked,
	.test_cases = paged_cases,
};

kunit_test_suite(paged_suite);
