// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The kernel and the program change pages, before messages and during them.  A message must send
 * what the program would read, and the program must read what has arrived.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include "madvise.h"
#include "verbs_odp.h"

#define PAGES	8u
#define HUGE	(2ul << 20)
#define TIMES	16u

/* Apply @away before each of some messages, and then during many messages */
static void exchange_with_page_changes(struct fixture *d, size_t len, away_fn *away)
{
	exchange_all_message_types(d, len, 1, away);
	exchange_while_changing_pages(d, len, scale_rounds(TIMES) ?: 1, away);
}

static void exchange_file_buffers_with_changes(away_fn *away)
{
	struct fixture d;

	odp_fixture_open(&d, PAGES);
	exchange_with_page_changes(&d, d.s.len, away);
	odp_fixture_close(&d);
}

/* Unmap the pages of a file without losing data */
static void advise_pages_dontneed(struct buf *b)
{
	CHECK(!madvise(b->at, b->len, MADV_DONTNEED), "%m");
}

static void test_dontneed(void)
{
	exchange_file_buffers_with_changes(advise_pages_dontneed);
}

static void change_protection_briefly(struct buf *b)
{
	CHECK(!mprotect(b->at, b->len, PROT_READ | PROT_WRITE | PROT_EXEC), "%m");
	CHECK(!mprotect(b->at, b->len, PROT_READ | PROT_WRITE), "%m");
}

static void test_protect(void)
{
	exchange_file_buffers_with_changes(change_protection_briefly);
}

/* Forbid access for a moment, while no message is in flight */
static void forbid_access_briefly(struct buf *b)
{
	CHECK(!mprotect(b->at, b->len, PROT_NONE), "%m");
	CHECK(!mprotect(b->at, b->len, PROT_READ | PROT_WRITE), "%m");
}

static void test_access_forbidden_briefly(void)
{
	struct fixture d;

	odp_fixture_open_private(&d, PAGES);
	exchange_all_message_types(&d, d.s.len, 1, forbid_access_briefly);
	odp_fixture_close(&d);
}

/* Move the data away and back to the registered address */
static void move_and_restore_buf(struct buf *b)
{
	void *elsewhere = mmap(NULL, b->len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(elsewhere != MAP_FAILED, "%m");
	CHECK(mremap(b->at, b->len, b->len, MREMAP_MAYMOVE | MREMAP_FIXED,
		     elsewhere) == elsewhere, "%m");
	CHECK(mremap(elsewhere, b->len, b->len, MREMAP_MAYMOVE | MREMAP_FIXED, b->at) ==
	      b->at, "%m");
}

static void test_messages_after_mremap_and_back(void)
{
	struct fixture d;

	odp_fixture_open_private(&d, PAGES);
	exchange_all_message_types(&d, d.s.len, 1, move_and_restore_buf);
	odp_fixture_close(&d);
}

/*
 * Other pages replace those at the registered address in one step, without unmapping the address;
 * the next message must use the new pages.
 */
static void test_messages_use_replacing_pages(void)
{
	struct buf other, *at;
	struct fixture d;
	uint32_t i;

	odp_fixture_open_private(&d, PAGES);
	for (i = 0; i < 20; i++) {
		at = i % 2 ? &d.c : &d.s;
		exchange_all_message_types(&d, d.s.len, i, NULL);
		pages_create(&other, PAGES);
		buf_fill(&other, 0, other.len, 100 + i);
		CHECK(mremap(other.at, other.len, other.len, MREMAP_MAYMOVE |
			     MREMAP_FIXED, at->at) == at->at, "%m");
		post_job(&d.p.c, &(struct job){
			.id = 1, .flags = SIG, .b = &d.c, .len = d.c.len,
			.op = i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			.raddr = (uintptr_t)d.s.at, .rkey = d.s.mr->rkey });
		expect_success(d.p.c.scq, 1, i % 2 ? IBV_WC_RDMA_WRITE : IBV_WC_RDMA_READ);
		if (i % 2)
			wait_all_placed_by_read(&d);
		/* compare all but the first byte, which wait_all_placed_by_read() has used */
		CHECK(!memcmp(d.c.at + 1, d.s.at + 1, d.c.len - 1), "both buffers must be equal");
		CHECK(at->at[5] == compute_pattern_byte(100 + i, 5),
		      "the memory must have the new content");
	}
	odp_fixture_close(&d);
}

/*
 * For map_file_again(), which maps the same file again over its own mapping while messages use it:
 * the files of both buffers, and the buffer that uses the first file
 */
static int fd_of[2];
static struct buf *first;

static void map_file_again(struct buf *b)
{
	const int fd = fd_of[b != first];

	CHECK(mmap(b->at, b->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	      b->at, "%m");
}

static void test_messages_while_file_is_remapped(void)
{
	struct fixture d;

	odp_pair_open(&d.p, &(struct opts){});
	first = &d.c;
	fd_of[0] = create_memfd_of_pages(PAGES);
	fd_of[1] = create_memfd_of_pages(PAGES);
	pages_map(&d.c, PAGES, fd_of[0]);
	pages_map(&d.s, PAGES, fd_of[1]);
	buf_reg(&d.c, d.p.c.pd, RIGHTS_ODP);
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ODP);
	exchange_with_page_changes(&d, d.s.len, map_file_again);
	odp_fixture_close(&d);
}

/* Pages shared with a child ----------------------------------------------- */

static uint64_t compute_sum(const struct buf *b)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < b->len; i++)
		sum = sum * 31 + b->at[i];
	return sum;
}

/* Fork a child that checks that messages of the parent do not change the child's memory */
static void fork_checking_child(struct buf *b)
{
	uint64_t sum;
	pid_t pid;
	int i;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (pid)
		return;
	sum = compute_sum(b);
	for (i = 0; i < 5; i++) {
		usleep(2000);
		if (compute_sum(b) != sum)
			_exit(FAIL);
	}
	_exit(PASS);
}

/*
 * Like fork_checking_child(), but limit the number of children: first wait for a previous child,
 * and check its result
 */
static void fork_limited_checking_child(struct buf *b)
{
	static int children;
	int status;

	fork_checking_child(b);
	if (++children < 4)
		return;
	children--;
	CHECK(wait(&status) > 0 && !status, "the child's memory must not change: %x", status);
}

static void test_messages_keep_child_memory(void)
{
	struct fixture d;
	int status;

	odp_fixture_open_private(&d, PAGES);
	exchange_with_page_changes(&d, d.s.len, fork_limited_checking_child);
	while (wait(&status) > 0)
		CHECK(!status, "the child's memory must not change: %x", status);
	odp_fixture_close(&d);
}

/* The parent must keep using its own pages, during and after the life of the child */
static void test_forked_once(void)
{
	struct fixture d;
	int status;

	odp_fixture_open_private(&d, PAGES);
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	fork_checking_child(&d.s);
	exchange_all_message_types(&d, d.s.len, 2, NULL);
	CHECK(wait(&status) > 0 && !status, "%x", status);
	exchange_all_message_types(&d, d.s.len, 3, NULL);
	odp_fixture_close(&d);
}

/* Pages given up by the program --------------------------------------------- */

/*
 * The first message after the program has discarded a page must read zeros, because the driver must
 * not keep a reference to the old page
 */
static void test_discarded_pages_read_as_zero(void)
{
	struct fixture d;
	uint32_t i;
	size_t k;

	odp_fixture_open_private(&d, PAGES);
	for (i = 0; i < 30; i++) {
		odp_write_and_check(&d, 0, d.s.len, i, NULL);
		exchange_read(&d, 0, d.s.len, i, NULL);
		CHECK(!madvise(d.s.at, d.s.len, MADV_DONTNEED), "%m");
		post_job(&d.p.c, &(struct job){
			.id = 1, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c,
			.len = d.c.len, .raddr = (uintptr_t)d.s.at,
			.rkey = d.s.mr->rkey });
		expect_success(d.p.c.scq, 1, IBV_WC_RDMA_READ);
		for (k = 0; k < d.c.len; k++)
			CHECK(!d.c.at[k], "byte %zu is %x", k, d.c.at[k]);
	}
	odp_fixture_close(&d);
}

/*
 * MADV_FREE: the kernel may drop a page unless it is written afterwards. A Write from the peer
 * counts as such a write.
 */
static void test_peer_writes_survive_madv_free(void)
{
	struct fixture d;
	uint32_t i;

	odp_fixture_open_private(&d, PAGES);
	for (i = 0; i < 10; i++) {
		odp_write_and_check(&d, 0, d.s.len, i, NULL);
		CHECK(!madvise(d.s.at, d.s.len, MADV_FREE), "%m");
		buf_fill(&d.c, 0, d.c.len, 77 + i);
		post_job(&d.p.c, &(struct job){
			.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d.c,
			.len = d.c.len, .raddr = (uintptr_t)d.s.at,
			.rkey = d.s.mr->rkey });
		expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
		/* the Writes are placed before reclaim, and then must survive it */
		wait_all_placed_by_read(&d);
		CHECK(!madvise(d.s.at, d.s.len, MADV_PAGEOUT), "%m");
		buf_expect_pattern(&d.s, 0, d.s.len, 77 + i);
	}
	odp_fixture_close(&d);
}

/*
 * Truncate the file to its first half, and restore its length. Messages that use the first half
 * must not be affected.
 */
static void truncate_and_grow_file(struct buf *b)
{
	const int fd = fd_of[b != first];

	CHECK(!ftruncate(fd, b->len / 2) && !ftruncate(fd, b->len), "%m");
}

static void test_messages_while_file_is_truncated(void)
{
	struct fixture d;

	odp_pair_open(&d.p, &(struct opts){});
	first = &d.c;
	fd_of[0] = create_memfd_of_pages(2 * PAGES);
	fd_of[1] = create_memfd_of_pages(2 * PAGES);
	pages_map(&d.c, 2 * PAGES, fd_of[0]);
	pages_map(&d.s, 2 * PAGES, fd_of[1]);
	buf_reg(&d.c, d.p.c.pd, RIGHTS_ODP);
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ODP);
	exchange_with_page_changes(&d, d.s.len / 2, truncate_and_grow_file);
	/* after the file has grown again, new pages replace those that were cut off */
	odp_write_and_check(&d, 0, d.s.len, 5, NULL);
	CHECK(!ftruncate(fd_of[1], d.s.len / 2) && !ftruncate(fd_of[1], d.s.len), "%m");
	exchange_read(&d, 0, d.s.len / 2, 6, NULL);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c, .len = 100,
		.raddr = (uintptr_t)d.s.at + d.s.len / 2, .rkey = d.s.mr->rkey });
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_READ);
	CHECK(!d.c.at[0] && !memcmp(d.c.at, d.c.at + 1, 99), "new pages must be zero");
	odp_fixture_close(&d);
}

/* If a peer writes to a page of a file, the data must reach the file after the page is unmapped */
static void test_file_written(void)
{
	static uint8_t back[PAGES * 65536];
	char name[] = "/var/tmp/rnic_sw-XXXXXX";
	int fd = mkstemp(name);
	struct fixture d;
	uint32_t i;

	odp_pair_open(&d.p, &(struct opts){});
	CHECK(fd >= 0 && !unlink(name) && !ftruncate(fd, PAGES * get_page_size()), "%m");
	pages_create(&d.c, PAGES);
	pages_map(&d.s, PAGES, fd);
	buf_reg(&d.c, d.p.c.pd, RIGHTS_ODP);
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ODP);
	for (i = 0; i < 10; i++) {
		odp_write_and_check(&d, 0, d.s.len, i, NULL);
		CHECK(!madvise(d.s.at, d.s.len, MADV_DONTNEED) && !fsync(fd), "%m");
		CHECK(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "fadvise");
		CHECK(pread(fd, back, d.s.len, 0) == (ssize_t)d.s.len, "%m");
		CHECK(!memcmp(back, d.c.at, d.s.len), "the file must have what was written");
	}
	odp_fixture_close(&d);
	CHECK(!close(fd), "%m");
}

/* Changes by the kernel ------------------------------------------------------ */

/* Migrate all movable pages */
static void compact_memory(struct buf *b)
{
	(void)b;
	write_file("/proc/sys/vm/compact_memory", "1");
}

static long count_migrated_pages(void)
{
	FILE *f = fopen("/proc/vmstat", "r");
	char line[128];
	long n = 0;

	CHECK(f, "/proc/vmstat: %m");
	while (fgets(line, sizeof(line), f) && !sscanf(line, "pgmigrate_success %ld", &n))
		;
	fclose(f);
	return n;
}

static void test_messages_while_pages_migrate(void)
{
	struct fixture d;
	long before, moved;

	skip_without_file("/proc/sys/vm/compact_memory", "CONFIG_COMPACTION");
	before = count_migrated_pages();
	odp_fixture_open_private(&d, PAGES);
	exchange_all_message_types(&d, d.s.len, 1, compact_memory);
	exchange_while_changing_pages(&d, d.s.len, 4, compact_memory);
	odp_fixture_close(&d);
	moved = count_migrated_pages() - before;
	if (!moved)
		skip("no pages could be migrated");
	printf("# %ld pages were migrated\n", moved);
}

static void page_out_buf(struct buf *b)
{
	CHECK(!madvise(b->at, b->len, MADV_PAGEOUT), "%m");
}

static void skip_without_swap(void)
{
	skip_without_file("/proc/swaps", "CONFIG_SWAP");
	if (read_number_in("/proc/meminfo", "SwapTotal:") <= 0)
		skip("no swap space: CONFIG_ZRAM, or a loop device");
}

/* Swap out private memory and memfds; messages must swap the pages in */
static void pages_can_be_swapped_out(void)
{
	const char *where = "/proc/vmstat";
	struct fixture d;
	long out, in;

	skip_without_swap();
	out = read_number_in(where, "pswpout ");
	in = read_number_in(where, "pswpin ");
	odp_fixture_open_private(&d, PAGES);
	exchange_with_page_changes(&d, d.s.len, page_out_buf);
	odp_fixture_close(&d);
	odp_fixture_open(&d, PAGES);
	exchange_with_page_changes(&d, d.s.len, page_out_buf);
	odp_fixture_close(&d);
	printf("# %ld pages out, %ld in\n", read_number_in(where, "pswpout ") - out,
	       read_number_in(where, "pswpin ") - in);
	CHECK(read_number_in(where, "pswpout ") > out, "pages must be swapped out");
}

/* Create an aligned buffer of two huge pages */
static void create_huge_buf(struct buf *b)
{
	uint8_t *at;

	pages_create(b, 3 * HUGE / get_page_size());
	at = (uint8_t *)(((uintptr_t)b->map + HUGE - 1) & ~(HUGE - 1));
	b->at = at;
	b->len = 2 * HUGE;
}

static long read_huge_kib(void)
{
	return read_number_in("/proc/self/smaps_rollup", "AnonHugePages:");
}

/* Collapse the pages to huge pages, if any are available */
static void collapse_to_huge_pages(struct buf *b)
{
	if (madvise(b->at, b->len, MADV_COLLAPSE))
		CHECK(errno == EAGAIN || errno == ENOMEM || errno == EINVAL || errno == EBUSY,
		      "%m");
}

static void split_huge_page(struct buf *b)
{
	uint8_t *last = b->at + b->len - get_page_size();

	CHECK(!mprotect(last, get_page_size(), PROT_READ), "%m");
	CHECK(!mprotect(last, get_page_size(), PROT_READ | PROT_WRITE), "%m");
}

/* Collapse both buffers to huge pages and split them, alternately */
static void collapse_or_split_huge_page(struct buf *b)
{
	static unsigned int turn;

	if (turn++ & 2)
		split_huge_page(b);
	else
		collapse_to_huge_pages(b);
}

static void test_huge(void)
{
	const char *knob = "/sys/kernel/mm/transparent_hugepage/enabled";
	struct fixture d;

	skip_without_file(knob, "CONFIG_TRANSPARENT_HUGEPAGE");
	write_file(knob, "madvise");
	odp_pair_open(&d.p, &(struct opts){});
	create_huge_buf(&d.c);
	create_huge_buf(&d.s);
	CHECK(!madvise(d.c.at, d.c.len, MADV_HUGEPAGE), "%m");
	CHECK(!madvise(d.s.at, d.s.len, MADV_HUGEPAGE), "%m");
	buf_reg(&d.c, d.p.c.pd, RIGHTS_ODP);
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ODP);
	/* a message must fault in a huge page */
	odp_write_and_check(&d, 0, HUGE, 1, NULL);
	CHECK(read_huge_kib() > 0, "there must be a huge page");
	exchange_all_message_types(&d, 64 * get_page_size(), 1, split_huge_page);
	exchange_all_message_types(&d, 64 * get_page_size(), 2, collapse_to_huge_pages);
	/* no message uses the last page, because split_huge_page() protects it for a moment */
	exchange_while_changing_pages(&d, HUGE / 16, scale_rounds(TIMES) ?: 1,
				      collapse_or_split_huge_page);
	odp_fixture_close(&d);
}

#define KSM	"/sys/kernel/mm/ksm/"

/* Fill all pages with the same content and wait until KSM has merged them */
static void fill_and_wait_merged(struct buf *c, struct buf *s, uint32_t seed)
{
	const uint64_t until = now_ms() + scale_timeout(15000);
	size_t i;

	for (i = 0; i < PAGES; i++) {
		buf_fill(c, i * get_page_size(), get_page_size(), seed);
		buf_fill(s, i * get_page_size(), get_page_size(), seed);
	}
	while (read_number_in(KSM "pages_sharing", "") < (long)PAGES) {
		if (now_ms() > until)
			skip("pages are not merged here");
		sleep_ms(20);
	}
}

/* Pages of equal content are merged, and a message must unshare them */
static void test_message_unshares_merged_pages(void)
{
	struct fixture d;
	uint32_t i;

	skip_without_file(KSM "run", "CONFIG_KSM");
	odp_fixture_open_private(&d, PAGES);
	CHECK(!madvise(d.c.at, d.c.len, MADV_MERGEABLE), "%m");
	CHECK(!madvise(d.s.at, d.s.len, MADV_MERGEABLE), "%m");
	write_file(KSM "pages_to_scan", "1000");
	write_file(KSM "sleep_millisecs", "2");
	write_file(KSM "run", "1");
	for (i = 0; i < 4; i++) {
		fill_and_wait_merged(&d.c, &d.s, i);
		/* the other users of the merged page must keep its content */
		post_job(&d.p.c, &(struct job){
			.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d.c,
			.off = 7, .len = 5, .rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)d.s.at + 2 * get_page_size() });
		expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
		wait_all_placed_by_read(&d);
		CHECK(!memcmp(d.s.at + 2 * get_page_size(), d.c.at + 7, 5), "must be written");
		buf_expect_pattern(&d.s, 0, get_page_size(), i);
		buf_expect_pattern(&d.s, 3 * get_page_size(), get_page_size(), i);
		buf_expect_pattern(&d.c, 4 * get_page_size(), get_page_size(), i);
		exchange_all_message_types(&d, d.s.len, 1, NULL);
	}
	write_file(KSM "run", "2");
	odp_fixture_close(&d);
}

const struct test odp_away_tests[] = {
	CASE("odp_dontneed", test_dontneed, 60, ""),
	CASE("odp_protect", test_protect, 60, ""),
	CASE("odp_shut", test_access_forbidden_briefly, 0, ""),
	CASE("odp_moved", test_messages_after_mremap_and_back, 0, ""),
	CASE("odp_replaced", test_messages_use_replacing_pages, 0, ""),
	CASE("odp_mapped_again", test_messages_while_file_is_remapped, 60, ""),
	CASE("odp_forked", test_messages_keep_child_memory, 60, ""),
	CASE("odp_forked_once", test_forked_once, 0, ""),
	CASE("odp_given_up", test_discarded_pages_read_as_zero, 0, ""),
	CASE("odp_freed", test_peer_writes_survive_madv_free, 0, ""),
	CASE("odp_truncated", test_messages_while_file_is_truncated, 60, ""),
	CASE("odp_file_written", test_file_written, 0, ""),
	CASE("odp_migrated", test_messages_while_pages_migrate, 120, ""),
	CASE("odp_huge", test_huge, 120, ""),
	CASE("odp_merged", test_message_unshares_merged_pages, 120, ""),
	{ .name = "odp_swapped", .run = pages_can_be_swapped_out, .seconds = 120, .shows = "",
	 .asked = true },
	{}
};
