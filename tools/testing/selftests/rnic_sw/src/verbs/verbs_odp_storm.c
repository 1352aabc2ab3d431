// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Stress: many messages while another CPU removes and remaps pages. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "madvise.h"
#include "verbs_odp.h"

/* Change a random range of a file mapping in a way that keeps its content */
static void disturb_pages(const struct buf *b, int fd)
{
	const size_t pages = b->len / get_page_size(), from = get_random_below(pages);
	const size_t n = 1 + get_random_below(pages - from), len = n * get_page_size();
	uint8_t *at = b->at + from * get_page_size();

	switch (get_random_below(6)) {
	case 0:
		CHECK(!mprotect(at, len, PROT_READ | PROT_WRITE | PROT_EXEC), "%m");
		CHECK(!mprotect(at, len, PROT_READ | PROT_WRITE), "%m");
		break;
	case 1:
		CHECK(mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			   from * get_page_size()) == at, "%m");
		break;
	case 2:
		CHECK(!madvise(at, len, MADV_COLD), "%m");
		break;
	case 3:
		CHECK(!madvise(at, len, MADV_PAGEOUT), "%m");
		break;
	default:
		CHECK(!madvise(at, len, MADV_DONTNEED), "%m");
	}
}

enum { QPS = 4, SLICES = 8, SLICE = 10000 };

struct storm {
	struct pair	p[QPS];
	struct buf	c, s;		/* source and target of the Writes */
	struct buf	back;		/* sink of the Reads */
	int		fd[3];
	bool		stop;
	uint32_t	times;
};

static void *keep_disturbing_pages(void *arg)
{
	struct storm *st = arg;

	while (!__atomic_load_n(&st->stop, __ATOMIC_ACQUIRE)) {
		disturb_pages(&st->s, st->fd[1]);
		disturb_pages(&st->c, st->fd[0]);
		disturb_pages(&st->back, st->fd[2]);
		st->times++;
		sched_yield();
	}
	return NULL;
}

static void storm_create_buf(struct storm *st, int which, struct buf *b, const struct end *e)
{
	const size_t pages = QPS * SLICES * SLICE / get_page_size() + 1;

	st->fd[which] = create_memfd_of_pages(pages);
	pages_map(b, pages, st->fd[which]);
	buf_reg(b, e->pd, RIGHTS_ODP);
}

static void storm_open(struct storm *st)
{
	int i;

	memset(st, 0, sizeof(*st));
	odp_pair_open(&st->p[0], &(struct opts){});
	for (i = 1; i < QPS; i++)
		pair_open_like(&st->p[i], &st->p[0]);
	storm_create_buf(st, 0, &st->c, &st->p[0].c);
	storm_create_buf(st, 1, &st->s, &st->p[0].s);
	storm_create_buf(st, 2, &st->back, &st->p[0].c);
}

static void storm_close(struct storm *st)
{
	int i;

	pages_free(&st->c);
	pages_free(&st->s);
	pages_free(&st->back);
	for (i = QPS; i--;)
		pair_close(&st->p[i]);
}

/* Each QP writes its slices and reads them back; all QPs do so concurrently */
static void post_slices(struct storm *st, size_t base)
{
	struct job j = { .rkey = st->s.mr->rkey };
	int i, k;

	for (k = 0; k < SLICES; k++) {
		for (i = 0; i < QPS; i++) {
			j.off = base + (i * SLICES + k) * (size_t)SLICE;
			j.len = SLICE;
			j.raddr = (uintptr_t)st->s.at + j.off;
			j.op = IBV_WR_RDMA_WRITE;
			j.flags = 0;
			j.b = &st->c;
			post_job(&st->p[i].c, &j);
			j.op = IBV_WR_RDMA_READ;
			j.flags = SIG;
			j.b = &st->back;
			post_job(&st->p[i].c, &j);
		}
	}
}

static void run_round(struct storm *st, uint32_t seed)
{
	const size_t base = get_random_below(100), len = QPS * SLICES * (size_t)SLICE;
	struct ibv_wc wc;
	int i;

	buf_fill(&st->c, base, len, seed);
	post_slices(st, base);
	for (i = 0; i < QPS * SLICES; i++) {
		wc = wait_next_wc(st->p[0].c.scq);
		CHECK(!wc.status, "%s, vendor error %u", ibv_wc_status_str(wc.status),
		      wc.vendor_err);
	}
	buf_expect_pattern(&st->back, base, len, seed);
	buf_expect_pattern(&st->s, base, len, seed);
}

/*
 * No byte may differ while another thread changes the mappings in ways that keep the content of the
 * pages
 */
static void test_pages_changing_during_messages(void)
{
	const uint64_t until = now_ms() + scale_rounds(4000);
	pthread_t thread;
	struct storm st;
	uint32_t n = 0;

	storm_open(&st);
	CHECK(!pthread_create(&thread, NULL, keep_disturbing_pages, &st), "%m");
	for (; n < 20 || now_ms() < until; n++)
		run_round(&st, n);
	__atomic_store_n(&st.stop, true, __ATOMIC_RELEASE);
	CHECK(!pthread_join(thread, NULL), "%m");
	printf("# %u rounds, disturbed %u times\n", n, st.times);
	CHECK(st.times > n / 4, "pages must change often enough");
	storm_close(&st);
}

/* Freed pages: no message may write to them after another user has got them ------- */

#define ENOUGH_WRITES	16

struct flood {
	struct fixture	d;
	bool		stop;
	uint64_t	writes;
};

/* Write continuously, 8 Writes at a time; the content of the data does not matter */
static void *write_continuously(void *arg)
{
	struct flood *f = arg;
	uint32_t i;

	while (!__atomic_load_n(&f->stop, __ATOMIC_ACQUIRE)) {
		for (i = 0; i < 8; i++)
			post_job(&f->d.p.c, &(struct job){
				.id = i, .op = IBV_WR_RDMA_WRITE, .flags = SIG,
				.b = &f->d.c, .len = f->d.c.len,
				.rkey = f->d.s.mr->rkey,
				.raddr = (uintptr_t)f->d.s.at });
		for (i = 0; i < 8; i++)
			expect_success(f->d.p.c.scq, i, IBV_WC_RDMA_WRITE);
		__atomic_fetch_add(&f->writes, 8, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Allocate pages immediately after freeing some, usually the same ones: no Write may change them */
static void free_and_check_reused_pages(struct flood *f, uint32_t seed)
{
	struct buf b;
	int i;

	CHECK(!madvise(f->d.s.at, f->d.s.len, MADV_DONTNEED), "%m");
	pages_create(&b, f->d.s.len / get_page_size());
	buf_fill(&b, 0, b.len, seed);
	for (i = 0; i < 3; i++) {
		sched_yield();
		buf_expect_pattern(&b, 0, b.len, seed);
	}
	pages_free(&b);
}

static void test_freed_pages_not_written(void)
{
	const uint64_t until = now_ms() + scale_rounds(4000);
	struct flood f = {};
	pthread_t thread;
	uint32_t n = 0;

	odp_fixture_open_private(&f.d, 16);
	memset(f.d.c.at, 0xee, f.d.c.len);
	CHECK(!pthread_create(&thread, NULL, write_continuously, &f), "%m");
	/* a busy machine may complete few Writes in that time: continue until there are enough */
	for (; n < 100 || now_ms() < until ||
	       __atomic_load_n(&f.writes, __ATOMIC_RELAXED) <= ENOUGH_WRITES; n++)
		free_and_check_reused_pages(&f, n);
	__atomic_store_n(&f.stop, true, __ATOMIC_RELEASE);
	CHECK(!pthread_join(thread, NULL), "%m");
	printf("# %llu Writes, pages taken away %u times\n", (unsigned long long)f.writes, n);
	odp_fixture_close(&f.d);
}

/* Holes ----------------------------------------------------------------------- */

/*
 * Poll completions of messages. The first message that needs the missing page must end the stream.
 * Return: true if a message has needed the page, false if all messages have succeeded.
 */
static bool poll_all_and_check_failed(struct fixture *d, uint32_t posted)
{
	bool failed = false;
	struct ibv_wc wc;
	uint32_t i;

	for (i = 0; i < posted; i++) {
		wc = wait_next_wc(d->p.c.scq);
		CHECK(wc.wr_id == i && !(failed && !wc.status), "%u: %s", i,
		      ibv_wc_status_str(wc.status));
		failed = wc.status;
	}
	return failed;
}

static bool unmap_page_during_messages(struct buf *s, struct buf *c, uint32_t round)
{
	const size_t at = get_random_below(s->len / get_page_size()) * get_page_size();
	struct fixture d = {};
	uint32_t i;
	bool ended;

	odp_pair_open(&d.p, &(struct opts){});
	buf_reg(s, d.p.s.pd, RIGHTS_ODP);
	buf_reg(c, d.p.c.pd, RIGHTS_ODP);
	for (i = 0; i < 16; i++)
		post_job(&d.p.c, &(struct job){
			.id = i, .flags = SIG, .b = c, .len = c->len,
			.op = i % 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			.rkey = s->mr->rkey, .raddr = (uintptr_t)s->at });
	usleep(get_random_below(3000));
	CHECK(!munmap((round % 2 ? s : c)->at + at, get_page_size()), "%m");
	ended = poll_all_and_check_failed(&d, 16);
	/* map a new page there for later rounds */
	CHECK(mmap((round % 2 ? s : c)->at + at, get_page_size(), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED, "%m");
	CHECK(!ibv_dereg_mr(s->mr) && !ibv_dereg_mr(c->mr), "%m");
	s->mr = c->mr = NULL;
	pair_free(&d.p);
	return ended;
}

static void test_pages_unmapped_during_messages(void)
{
	const uint32_t n = scale_rounds(80);
	uint32_t i, ended = 0;
	struct buf s, c;

	pages_create(&s, 32);
	pages_create(&c, 32);
	for (i = 0; i < n; i++)
		ended += unmap_page_during_messages(&s, &c, i);
	printf("# %u of %u met the hole\n", ended, n);
	CHECK(ended, "a message must meet the hole in at least one round");
	pages_free(&s);
	pages_free(&c);
}

/* MRs that are larger than the memory limit -------------------------------------- */

/* Write each page and read it back, @times times */
static void write_and_read_all_pages(struct fixture *d, uint32_t times)
{
	const size_t piece = 64 * get_page_size();
	uint32_t turn;
	size_t at;

	for (turn = 0; turn < times; turn++) {
		for (at = 0; at < d->s.len; at += piece)
			buf_fill(&d->c, at, piece, turn + at);
		for (at = 0; at < d->s.len; at += piece) {
			post_job(&d->p.c, &(struct job){
				.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG,
				.b = &d->c, .off = at, .len = piece,
				.rkey = d->s.mr->rkey, .raddr = (uintptr_t)d->s.at + at });
			expect_success(d->p.c.scq, 1, IBV_WC_RDMA_WRITE);
		}
		memset(d->c.at, 0, d->c.len);
		for (at = 0; at < d->s.len; at += piece) {
			post_job(&d->p.c, &(struct job){
				.id = 1, .op = IBV_WR_RDMA_READ, .flags = SIG,
				.b = &d->c, .off = at, .len = piece,
				.rkey = d->s.mr->rkey, .raddr = (uintptr_t)d->s.at + at });
			expect_success(d->p.c.scq, 1, IBV_WC_RDMA_READ);
		}
		for (at = 0; at < d->s.len; at += piece)
			buf_expect_pattern(&d->c, at, piece, turn + at);
	}
}

/* The memory limit of the control group is far below the size of the two MRs */
static void transfers_survive_memory_pressure(void)
{
	const char *mib = getenv("T_GROUP_MIB");
	size_t pages = (mib ? atol(mib) : 0) * 2 * (1ul << 20) / get_page_size();
	struct fixture d;

	if (!pages)
		skip("set T_GROUP_MIB to the limit of the control group");
	odp_fixture_open_private(&d, pages);
	write_and_read_all_pages(&d, scale_rounds(4));
	odp_fixture_close(&d);
	odp_fixture_open(&d, pages);
	write_and_read_all_pages(&d, scale_rounds(4));
	odp_fixture_close(&d);
}

const struct test odp_storm_tests[] = {
	CASE("odp_storm", test_pages_changing_during_messages, 120, ""),
	CASE("odp_not_touched", test_freed_pages_not_written, 120, ""),
	CASE("odp_holes", test_pages_unmapped_during_messages, 240, ""),
	{ .name = "odp_squeezed", .run = transfers_survive_memory_pressure, .seconds = 300,
	 .shows = "", .asked = true },
	{}
};
