// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Completion counters while requests complete on other CPUs, and while their program ends. */
#include <pthread.h>
#include <sys/wait.h>

#include "verbs_comp.h"

/* Thread that posts Writes to a QP, each with a CQE, until @n have completed or @stop is set */
struct writer {
	struct fixture	*d;
	uint32_t	n, done;
	volatile bool	stop;
};

static void *write_until_stopped(void *arg)
{
	struct writer *w = arg;

	for (; w->done < w->n && !w->stop; w->done++) {
		post_job(&w->d->p.c, &(struct job){
			.id = w->done, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &w->d->c,
			.len = 8, .raddr = (uintptr_t)w->d->s.at, .rkey = w->d->s.mr->rkey });
		expect_success(w->d->p.c.scq, w->done, IBV_WC_RDMA_WRITE);
	}
	return NULL;
}

enum { WRITERS = 2 };

/*
 * Writes of two connections and increases by the program are counted by one counter at the same
 * time, at both ends: none may be lost
 */
static void test_comp_concurrent_counts_are_kept(void)
{
	const uint32_t each = scale_rounds(4000), added = scale_rounds(2000);
	struct fixture d[WRITERS] = {};
	struct writer w[WRITERS] = {};
	struct ibv_context *ctx, *peer;
	pthread_t th[WRITERS];
	uint32_t cntr, theirs, i;

	for (i = 0; i < WRITERS; i++)
		fixture_open(&d[i], &(struct opts){}, 100);
	ctx = d[0].p.c.id->verbs;
	peer = d[0].p.s.id->verbs;
	skip_without_comp_counters(ctx);
	cntr = comp_create(ctx);
	theirs = comp_create(peer);
	for (i = 0; i < WRITERS; i++) {
		CHECK(!comp_attach(&d[i].p.c, cntr, OF_WRITE), "%m");
		CHECK(!comp_attach(&d[i].p.s, theirs, OF_PEER_WRITE), "%m");
		w[i] = (struct writer){ .d = &d[i], .n = each };
		CHECK(!pthread_create(&th[i], NULL, write_until_stopped, &w[i]), "%m");
	}
	for (i = 0; i < added; i++)
		CHECK(!comp_modify_value(ctx, cntr, ENTRY_COMP, OP_INC, 1), "%m");
	for (i = 0; i < WRITERS; i++)
		CHECK(!pthread_join(th[i], NULL), "%m");
	expect_comp_value(ctx, cntr, ENTRY_COMP, WRITERS * each + added);
	expect_comp_value(peer, theirs, ENTRY_COMP, WRITERS * each);
	for (i = 0; i < WRITERS; i++)
		fixture_close(&d[i]);
	CHECK(!comp_destroy(ctx, cntr) && !comp_destroy(peer, theirs), "%m");
}

/* The core refuses an attach (EBUSY) while another thread posts to the QP, so retry */
static void attach_to_busy_qp(const struct end *e, uint32_t cntr, uint64_t mask)
{
	int err, tries = 0;

	do
		err = comp_attach(e, cntr, mask);
	while (err == EBUSY && ++tries < 100000);
	CHECK(!err, "%s after %d tries", strerror(err), tries);
}

/*
 * A counter is attached, and its value set, while requests complete; the QP is destroyed while
 * requests complete, and the counter directly after it
 */
static void test_comp_attach_during_completions(void)
{
	uint32_t round, cntr, theirs;

	for (round = 0; round < scale_rounds(40); round++) {
		struct writer w = { .n = UINT32_MAX };
		struct ibv_context *ctx, *peer;
		struct fixture d = {};
		pthread_t th;
		uint64_t n;

		fixture_open(&d, &(struct opts){}, 100);
		ctx = d.p.c.id->verbs;
		peer = d.p.s.id->verbs;
		skip_without_comp_counters(ctx);
		cntr = comp_create(ctx);
		theirs = comp_create(peer);
		w.d = &d;
		CHECK(!pthread_create(&th, NULL, write_until_stopped, &w), "%m");
		sleep_ms(round % 4);
		attach_to_busy_qp(&d.p.s, theirs, OF_ALL);
		attach_to_busy_qp(&d.p.c, cntr, OF_WRITE);
		sleep_ms(2);
		CHECK(!comp_modify_value(ctx, cntr, ENTRY_COMP, OP_SET, 0), "%m");
		sleep_ms(1);
		n = comp_read(ctx, cntr, ENTRY_COMP);
		w.stop = true;
		CHECK(!pthread_join(th, NULL), "%m");
		CHECK(n <= w.done && comp_read(ctx, cntr, ENTRY_COMP) <= w.done, "%llu of %u",
		      (unsigned long long)n, w.done);
		/* these Writes are still in flight when the server's QP is destroyed */
		for (n = 0; n < 40; n++)
			post_job(&d.p.c, &(struct job){
				.op = IBV_WR_RDMA_WRITE, .b = &d.c, .len = 8,
				.raddr = (uintptr_t)d.s.at, .rkey = d.s.mr->rkey });
		rdma_destroy_qp(d.p.s.id);
		d.p.s.qp = NULL;
		CHECK(!comp_destroy(peer, theirs), "%m");
		rdma_destroy_qp(d.p.c.id);
		d.p.c.qp = NULL;
		CHECK(!comp_destroy(ctx, cntr), "%m");
		fixture_free(&d);
	}
}

/* In a child: exit while requests complete, with counters created before and after the QP */
static void exit_with_counters_attached(void)
{
	struct writer w = { .n = UINT32_MAX };
	struct fixture d = {};
	struct ibv_context *ctx;
	uint32_t older;
	pthread_t th;

	pair_prepare(&d.p, &(struct opts){});
	ctx = d.p.c.id->verbs;
	skip_without_comp_counters(ctx);
	older = comp_create(ctx);
	pair_free(&d.p);
	fixture_open(&d, &(struct opts){}, 100);
	CHECK(d.p.c.id->verbs == ctx, "librdmacm uses one context for a device");
	CHECK(!comp_attach(&d.p.c, older, OF_WRITE), "%m");
	CHECK(!comp_attach(&d.p.c, comp_create(ctx), OF_SEND | OF_RECV), "%m");
	CHECK(!comp_attach(&d.p.s, comp_create(d.p.s.id->verbs), OF_PEER_WRITE), "%m");
	w.d = &d;
	CHECK(!pthread_create(&th, NULL, write_until_stopped, &w), "%m");
	sleep_ms(20);
	_exit(0);
}

/* The kernel frees the counters of a program that ends; a later comp_limit would detect a leak */
static void test_comp_counters_are_freed_at_exit(void)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 4; i++) {
		pid = fork();
		CHECK(pid >= 0, "%m");
		if (!pid)
			exit_with_counters_attached();
		CHECK(waitpid(pid, &status, 0) == pid, "%m");
		if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
			skip("the RDMA core of this kernel has no completion counters");
		CHECK(!status, "ended with %#x", status);
	}
}

const struct test comp_race_tests[] = {
	CASE("comp_two_cpus", test_comp_concurrent_counts_are_kept, 120, ""),
	CASE("comp_race", test_comp_attach_during_completions, 120, ""),
	CASE("comp_end", test_comp_counters_are_freed_at_exit, 60, ""),
	{}
};
