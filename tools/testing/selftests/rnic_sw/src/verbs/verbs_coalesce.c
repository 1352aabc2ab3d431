// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Doorbell coalescing: posts in quick succession are sent together.  On a machine where a system
 * call takes longer than the limit for coalescing, nothing is coalesced, and the cases only check
 * that all messages arrive.
 */
#include <pthread.h>

#include "verbs.h"

#define DEPTH	64u

/* Write word @n of the client to the server */
static void write_word(const struct fixture *d, uint32_t n, uint32_t flags)
{
	size_t off = n % DEPTH * 8;

	post_job(&d->p.c, &(struct job){
		.id = n, .op = IBV_WR_RDMA_WRITE, .b = &d->c, .off = off, .len = 8,
		.raddr = (uintptr_t)d->s.at + off, .rkey = d->s.mr->rkey,
		.flags = flags });
}

/* Wait for word @n only by reading memory: another post would cause coalesced posts to be sent */
static void wait_word(const struct fixture *d, uint32_t n)
{
	size_t off = n % DEPTH * 8;
	uint64_t end = now_ms() + scale_timeout(WC_MS);

	while (memcmp(d->s.at + off, d->c.at + off, 8)) {
		CHECK(now_ms() < end, "word %u must arrive", n);
		__atomic_signal_fence(__ATOMIC_ACQUIRE);
	}
}

static void open_word_fixture(struct fixture *d)
{
	fixture_open(d, &(struct opts){ .sq = DEPTH }, DEPTH * 8);
}

/* After any number of posts, the last one must be sent without another doorbell */
static void test_coalesce_bursts(void)
{
	uint64_t was;
	uint32_t n, i;
	struct fixture d;

	open_word_fixture(&d);
	was = read_counter(&d.p.c, "tx_coalesced");
	for (n = 1; n < scale_rounds(2000); n++) {
		uint32_t last = get_random_below(DEPTH);

		buf_fill(&d.c, 0, DEPTH * 8, n);
		buf_clear(&d.s);
		for (i = 0; i < last; i++)
			write_word(&d, i, 0);
		write_word(&d, last, SIG);
		wait_word(&d, last);
		expect_success(d.p.c.scq, last, IBV_WC_RDMA_WRITE);
		buf_expect_only_pattern(&d.s, 0, (last + 1) * 8, n);
	}
	printf("# coalesced %llu times\n",
	       (unsigned long long)(read_counter(&d.p.c, "tx_coalesced") - was));
	fixture_close(&d);
}

/* A long sequence of posts, each with different bytes, must arrive unchanged */
static void test_coalesce_stream(void)
{
	const uint32_t n = scale_rounds(40000);
	uint32_t i, done = 0;
	struct fixture d;

	open_word_fixture(&d);
	for (i = 0; i < n; i++) {
		if (i - done == DEPTH) {
			expect_success(d.p.c.scq, done + 15, IBV_WC_RDMA_WRITE);
			done += 16;
		}
		buf_fill(&d.c, i % DEPTH * 8, 8, i);
		write_word(&d, i, i % 16 == 15 ? SIG : 0);
	}
	while (done + 16 <= n) {
		expect_success(d.p.c.scq, done + 15, IBV_WC_RDMA_WRITE);
		done += 16;
	}
	wait_word(&d, n - 1);
	for (i = n - DEPTH; i < n; i++)
		buf_expect_pattern(&d.s, i % DEPTH * 8, 8, i);
	expect_no_completion(d.p.c.scq);
	fixture_close(&d);
}

/* State of a thread that posts until one of its requests is flushed */
struct poster {
	struct fixture	*d;
	uint32_t	posted;
	uint32_t	done;
	bool		flushed;
};

static void wait_and_count_completion(struct poster *p)
{
	struct ibv_wc wc = wait_next_wc(p->d->p.c.scq);

	CHECK(wc.wr_id == p->done, "%u of %llu", p->done, (unsigned long long)wc.wr_id);
	CHECK(!wc.status ? !p->flushed : wc.status == IBV_WC_WR_FLUSH_ERR, "%u: %s",
	      p->done, ibv_wc_status_str(wc.status));
	p->flushed = wc.status;
	p->done++;
}

static void *post_until_flushed(void *arg)
{
	struct poster *p = arg;

	while (!p->flushed) {
		while (p->posted - p->done < DEPTH)
			write_word(p->d, p->posted++, SIG);
		wait_and_count_completion(p);
	}
	/* in the error state each request must complete, even if its doorbell could be coalesced */
	while (p->done != p->posted)
		wait_and_count_completion(p);
	for (; p->posted - p->done < DEPTH / 2; p->posted++)
		write_word(p->d, p->posted, SIG);
	while (p->done != p->posted)
		wait_and_count_completion(p);
	return NULL;
}

/* The QP goes to error while a thread posts: each request must complete */
static void test_qp_to_error_while_coalescing(void)
{
	uint32_t turn;

	for (turn = 0; turn < scale_rounds(40); turn++) {
		struct poster p = {};
		pthread_t thread;
		struct fixture d;

		open_word_fixture(&d);
		p.d = &d;
		CHECK(!pthread_create(&thread, NULL, post_until_flushed, &p), "%m");
		sleep_ms(get_random_below(20));
		move_to_error(&d.p.c);
		CHECK(!pthread_join(thread, NULL), "%m");
		fixture_free(&d);
	}
}

/* The QP is destroyed immediately after posts */
static void test_qp_destroyed_after_coalesced_posts(void)
{
	uint32_t turn, i;
	struct fixture d;

	for (turn = 0; turn < scale_rounds(40); turn++) {
		open_word_fixture(&d);
		for (i = 0; i < DEPTH; i++)
			write_word(&d, i, 0);
		rdma_destroy_qp(d.p.c.id);
		d.p.c.qp = NULL;
		fixture_free(&d);
	}
}

const struct test coalesce_tests[] = {
	CASE("coalesce_bursts", test_coalesce_bursts, 60, "the ABI: need-wakeup"),
	CASE("coalesce_stream", test_coalesce_stream, 60, "the ABI: need-wakeup"),
	CASE("coalesce_error", test_qp_to_error_while_coalescing, 60, ""),
	CASE("coalesce_destroyed", test_qp_destroyed_after_coalesced_posts, 60, ""),
	{}
};
