// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * While messages are in flight, the program changes pages so that their content is lost or moved.
 * Each byte must then be what was sent, or the result of the program's own action.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "madvise.h"
#include "verbs_odp.h"

#define PAGES	8u
#define TIMES	12u

/* mremap: other pages with equal content replace those of the MR --------------------- */

#define SAME	7u

struct mover {
	struct buf	*b;
	bool		stop;
	uint32_t	times;
};

static void replace_by_moved_pages(struct buf *b)
{
	struct buf other;

	pages_create(&other, b->len / get_page_size());
	buf_fill(&other, 0, other.len, SAME);
	CHECK(mremap(other.at, other.len, other.len, MREMAP_MAYMOVE | MREMAP_FIXED, b->at) ==
	      b->at, "%m");
}

static void *keep_replacing_pages(void *arg)
{
	struct mover *m = arg;

	while (!__atomic_load_n(&m->stop, __ATOMIC_ACQUIRE)) {
		replace_by_moved_pages(m->b);
		__atomic_add_fetch(&m->times, 1, __ATOMIC_RELAXED);
		sched_yield();
	}
	return NULL;
}

/* Read the server's buffer, and let the server send it */
static void read_and_receive(struct fixture *d)
{
	buf_clear(&d->c);
	post_job(&d->p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d->c, .len = d->c.len,
		.raddr = (uintptr_t)d->s.at, .rkey = d->s.mr->rkey });
	expect_success(d->p.c.scq, 1, IBV_WC_RDMA_READ);
	buf_expect_pattern(&d->c, 0, d->c.len, SAME);
	buf_clear(&d->c);
	post_recv(&d->p.c, 2, &d->c, 0, d->c.len);
	post_send(&d->p.s, 3, &d->s, 0, d->s.len);
	expect_recv(d->p.c.rcq, 2, d->c.len);
	expect_success(d->p.s.scq, 3, IBV_WC_SEND);
	buf_expect_pattern(&d->c, 0, d->c.len, SAME);
}

static void test_messages_while_pages_are_replaced(void)
{
	const uint32_t n = scale_rounds(100);
	struct mover m = {};
	pthread_t thread;
	struct fixture d;
	uint32_t i;

	odp_fixture_open_private(&d, PAGES);
	buf_fill(&d.s, 0, d.s.len, SAME);
	m.b = &d.s;
	CHECK(!pthread_create(&thread, NULL, keep_replacing_pages, &m), "%m");
	for (i = 0; i < n || __atomic_load_n(&m.times, __ATOMIC_RELAXED) < 10; i++)
		read_and_receive(&d);
	__atomic_store_n(&m.stop, true, __ATOMIC_RELEASE);
	CHECK(!pthread_join(thread, NULL), "%m");
	printf("# moved %u times during %u messages\n", m.times, 2 * i);
	odp_fixture_close(&d);
}

/* MADV_FREE --------------------------------------------------------------------- */

struct freer {
	struct buf	*b;
	bool		stop;
	uint32_t	times;
};

/*
 * Repeatedly give up the pages with MADV_FREE: the kernel may drop those that are not written
 * afterwards
 */
static void *keep_freeing(void *arg)
{
	struct freer *f = arg;

	while (!__atomic_load_n(&f->stop, __ATOMIC_ACQUIRE)) {
		CHECK(!madvise(f->b->at, f->b->len, MADV_FREE), "%m");
		if (madvise(f->b->at, f->b->len, MADV_PAGEOUT))
			CHECK(errno == EINVAL, "%m");
		__atomic_add_fetch(&f->times, 1, __ATOMIC_RELAXED);
		sched_yield();
	}
	return NULL;
}

/*
 * Check that each page has the content of the last Write or, if the program gave it up after that,
 * zeros, but never other content
 */
static void check_written_or_zero(const struct fixture *d)
{
	size_t i;

	for (i = 1; i < d->s.len; i++) {
		const uint8_t octet = d->s.at[i];

		CHECK(!octet || octet == d->c.at[i], "byte %zu is %x, not %x", i, octet,
		      d->c.at[i]);
	}
}

static void test_writes_while_pages_are_freed(void)
{
	const uint32_t n = scale_rounds(60);
	struct freer f = {};
	pthread_t thread;
	struct fixture d;
	uint32_t i;

	odp_fixture_open_private(&d, PAGES);
	f.b = &d.s;
	CHECK(!pthread_create(&thread, NULL, keep_freeing, &f), "%m");
	for (i = 0; i < n || !__atomic_load_n(&f.times, __ATOMIC_RELAXED); i++) {
		buf_fill(&d.c, 0, d.c.len, i);
		post_job(&d.p.c, &(struct job){
			.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d.c,
			.len = d.c.len, .raddr = (uintptr_t)d.s.at, .rkey = d.s.mr->rkey });
		expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
		wait_all_placed_by_read(&d);
		check_written_or_zero(&d);
	}
	__atomic_store_n(&f.stop, true, __ATOMIC_RELEASE);
	CHECK(!pthread_join(thread, NULL), "%m");
	printf("# given up %u times during %u Writes\n", f.times, i);
	/* no thread frees pages any more, so data that is written now must survive reclaim */
	odp_write_and_check(&d, 0, d.s.len, 5, NULL);
	CHECK(!madvise(d.s.at, d.s.len, MADV_PAGEOUT) || errno == EINVAL, "%m");
	CHECK(!memcmp(d.s.at + 1, d.c.at + 1, d.s.len - 1), "data written last must survive");
	exchange_all_message_types(&d, d.s.len, 6, NULL);
	odp_fixture_close(&d);
}

/* KSM --------------------------------------------------------------------------- */

#define KSM	"/sys/kernel/mm/ksm/"

static void start_merging(struct fixture *d)
{
	CHECK(!madvise(d->c.at, d->c.len, MADV_MERGEABLE), "%m");
	CHECK(!madvise(d->s.at, d->s.len, MADV_MERGEABLE), "%m");
	write_file(KSM "pages_to_scan", "1000");
	write_file(KSM "sleep_millisecs", "1");
	write_file(KSM "run", "1");
}

/* Use few different contents, so that KSM merges pages that a message has just written */
static void exchange_pages(struct fixture *d, uint32_t seed)
{
	const size_t page = get_page_size();
	size_t at;

	for (at = 0; at < d->s.len; at += page) {
		exchange_send(d, at, page, seed % 2, NULL);
		odp_write_and_check(d, at, page, seed % 2, NULL);
		exchange_read(d, at, page, seed % 2, NULL);
	}
}

/* Return: the number of pages unshared so far; -1 if the kernel does not count them */
static long count_unshared_pages(void)
{
	return read_number_in("/proc/vmstat", "cow_ksm ");
}

static void test_messages_while_ksm_merges_pages(void)
{
	const uint64_t until = now_ms() + scale_timeout(15000);
	struct fixture d;
	long before;
	uint32_t i;

	skip_without_file(KSM "run", "CONFIG_KSM");
	before = count_unshared_pages();
	if (before < 0)
		skip("no cow_ksm in /proc/vmstat");
	odp_fixture_open_private(&d, PAGES);
	start_merging(&d);
	for (i = 0; i < 20 || count_unshared_pages() < before + 20; i++) {
		exchange_pages(&d, i);
		if (now_ms() > until)
			skip("KSM merges too few pages here");
	}
	printf("# unshared %ld times, %u rounds\n", count_unshared_pages() - before, i);
	write_file(KSM "run", "2");
	odp_fixture_close(&d);
}

/* Hugetlb pages ------------------------------------------------------------------- */

#define SET_ASIDE	"/proc/sys/vm/nr_hugepages"

static long read_huge_page_size(void)
{
	return read_number_in("/proc/meminfo", "Hugepagesize:") * 1024;
}

static void create_and_map_hugetlb_memfd(struct buf *b, size_t len)
{
	int fd = memfd_create("rnic_sw-verbs", MFD_CLOEXEC | MFD_HUGETLB);

	CHECK(fd >= 0 && !ftruncate(fd, len), "%m");
	pages_map(b, len / get_page_size(), fd);
	CHECK(!close(fd), "%m");
}

static void advise_dontneed_and_reprotect(struct buf *b)
{
	/* some kernels refuse MADV_DONTNEED for hugetlb pages */
	CHECK(!madvise(b->at, b->len, MADV_DONTNEED) || errno == EINVAL, "%m");
	CHECK(!mprotect(b->at, b->len, PROT_READ | PROT_WRITE | PROT_EXEC), "%m");
	CHECK(!mprotect(b->at, b->len, PROT_READ | PROT_WRITE), "%m");
}

static void test_hugetlb(void)
{
	const size_t some = 64 * get_page_size();
	char before[32];
	struct fixture d;
	long had;

	skip_without_file(SET_ASIDE, "CONFIG_HUGETLBFS");
	had = read_number_in(SET_ASIDE, "");
	snprintf(before, sizeof(before), "%ld", had);
	odp_pair_open(&d.p, &(struct opts){});
	write_file(SET_ASIDE, "4");
	if (read_number_in("/proc/meminfo", "HugePages_Free:") < 2)
		skip("there is no room for huge pages");
	create_and_map_hugetlb_memfd(&d.c, read_huge_page_size());
	create_and_map_hugetlb_memfd(&d.s, read_huge_page_size());
	buf_reg(&d.c, d.p.c.pd, RIGHTS_ODP);
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ODP);
	odp_write_and_check(&d, 0, d.s.len, 1, advise_dontneed_and_reprotect);
	exchange_all_message_types(&d, some, 2, advise_dontneed_and_reprotect);
	exchange_while_changing_pages(&d, some, scale_rounds(TIMES) ?: 1, advise_dontneed_and_reprotect);
	odp_fixture_close(&d);
	write_file(SET_ASIDE, before);
}

const struct test odp_under_tests[] = {
	CASE("odp_moved_under", test_messages_while_pages_are_replaced, 60, ""),
	CASE("odp_freed_under", test_writes_while_pages_are_freed, 60, ""),
	CASE("odp_merged_under", test_messages_while_ksm_merges_pages, 120, ""),
	CASE("odp_hugetlb", test_hugetlb, 60, ""),
	{}
};
