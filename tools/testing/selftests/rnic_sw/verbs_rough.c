// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Rough treatment: many threads, and a program that spoils its own rings. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "verbs.h"

/* Threads ----------------------------------------------------------------- */

enum { THREADS = 4, EACH = 500 };

struct poster {
	struct desk	*d;
	uint32_t	nr;
};

static void *post_many(void *arg)
{
	const struct poster *t = arg;
	uint32_t i;

	for (i = 0; i < EACH; i++) {
		struct job j = {
			.id = t->nr * EACH + i, .op = IBV_WR_SEND, .flags = SIG,
			.b = &t->d->c, .off = t->nr * EACH + i, .len = 1 };

		while (try_job(&t->d->p.c, &j) == ENOMEM)
			pause_ms(1);
	}
	return NULL;
}

/* Each thread's sends arrive once, in the order in which it posted them */
static void threads_post(void)
{
	uint32_t next[THREADS] = {}, i, t;
	struct poster posters[THREADS];
	pthread_t th[THREADS];
	struct desk d;

	desk_open(&d, &(struct opts){ .sq = 64, .rq = THREADS * EACH,
		  .cqe = THREADS * EACH }, THREADS * EACH);
	for (i = 0; i < THREADS * EACH; i++)
		do_recv(&d.p.s, i, &d.s, i, 1);
	for (t = 0; t < THREADS; t++) {
		posters[t] = (struct poster){ &d, t };
		CHECK(!pthread_create(&th[t], NULL, post_many, &posters[t]),
		      "%m");
	}
	for (i = 0; i < THREADS * EACH; i++) {
		struct ibv_wc wc = next_wc(d.p.c.scq);

		t = wc.wr_id / EACH;
		CHECK(!wc.status && t < THREADS && wc.wr_id % EACH == next[t]++,
		      "%llu: %s", (unsigned long long)wc.wr_id,
		      ibv_wc_status_str(wc.status));
	}
	for (i = 0; i < THREADS * EACH; i++)
		want_recv(d.p.s.rcq, i, 1);
	for (t = 0; t < THREADS; t++)
		CHECK(!pthread_join(th[t], NULL), "%m");
	want_none(d.p.s.rcq);
	desk_close(&d);
}

/* Rings ------------------------------------------------------------------- */

struct ring {
	uint32_t	*at;
	size_t		words;
};

/* What the process has mapped of the device */
static size_t find_rings(struct ring *ring, size_t max)
{
	unsigned long long from, to;
	char line[512];
	size_t n = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	CHECK(f, "%m");
	while (n < max && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/uverbs") ||
		    sscanf(line, "%llx-%llx", &from, &to) != 2)
			continue;
		ring[n].at = (uint32_t *)(uintptr_t)from;
		ring[n++].words = (to - from) / 4;
	}
	fclose(f);
	CHECK(n, "no ring is mapped");
	return n;
}

/* Indices, lengths and keys as they could be, and as they could not */
static uint32_t nonsense(void)
{
	switch (any_below(5)) {
	case 0:
		return any_below(20);
	case 1:
		return -any_below(20);
	case 2:
		return 1u << any_below(32);
	default:
		return any_below(0x7fffffff) * 2;
	}
}

static void scribble(const struct ring *r)
{
	uint32_t i, n = any_below(40);

	for (i = 0; i < n; i++) {
		/* headers are the more interesting part */
		size_t at = any_below(any_below(2) ? 48 : r->words);

		*(volatile uint32_t *)(r->at + at) = nonsense();
	}
}

/* A program that writes anything into its rings, then goes, as it must */
static void spoil_one(uint32_t seed)
{
	struct ring ring[16];
	struct desk d;
	size_t n, i, k;

	while (seed--)
		any_below(10);
	desk_open(&d, &(struct opts){ .sq = 8, .rq = 8, .ssge = 4 }, 5000);
	n = find_rings(ring, ARRAY_SIZE(ring));
	for (k = 0; k < 40; k++) {
		try_recv(&d.p.s, k, &d.s, 0, 5000);
		try_job(&d.p.c, &(struct job){
			.id = k, .op = k % 3 ? IBV_WR_SEND : IBV_WR_RDMA_READ,
			.b = &d.c, .flags = SIG, .len = k * 100,
			.raddr = (uintptr_t)d.s.at, .rkey = d.s.mr->rkey });
		for (i = 0; i < n; i++)
			scribble(&ring[i]);
	}
	buf_guards(&d.s);
	buf_guards(&d.c);
	if (any_below(2))
		rdma_disconnect(d.p.c.id);
}

static void spoil_many(void)
{
	int status;
	uint32_t i;
	pid_t pid;

	for (i = 0; i < rounds(100); i++) {
		pid = fork();
		CHECK(pid >= 0, "%m");
		if (!pid) {
			alarm(20);
			spoil_one(i);
			_exit(PASS);
		}
		CHECK(waitpid(pid, &status, 0) == pid, "%m");
		/* its own library may well die of it */
		CHECK(!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM,
		      "%u hangs", i);
		CHECK(!WIFEXITED(status) || !WEXITSTATUS(status), "%u", i);
	}
}

/* Meanwhile another program's connection works as ever */
static void rings_spoilt(void)
{
	int status = 0;
	struct desk d;
	uint32_t i;
	pid_t pid = fork();

	CHECK(pid >= 0, "%m");
	if (!pid) {
		spoil_many();
		_exit(PASS);
	}
	desk_open(&d, &(struct opts){}, 5000);
	for (i = 0; !waitpid(pid, &status, WNOHANG); i++) {
		buf_fill(&d.c, 0, 4000, i);
		do_recv(&d.p.s, i, &d.s, 7, 4000);
		do_send(&d.p.c, i, &d.c, 0, 4000);
		want_ok(d.p.c.scq, i, IBV_WC_SEND);
		want_recv(d.p.s.rcq, i, 4000);
		buf_has_only(&d.s, 7, 4000, i);
		buf_clear(&d.s);
		pause_ms(5);
	}
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "see above");
	desk_close(&d);
}

/* A ring that is unmapped or mapped elsewhere is the program's loss only */
static void rings_unmapped(void)
{
	struct ring ring[16];
	struct desk d;
	size_t n, i;

	desk_open(&d, &(struct opts){}, 100);
	do_recv(&d.p.s, 1, &d.s, 0, 100);
	do_send(&d.p.c, 1, &d.c, 0, 100);
	want_recv(d.p.s.rcq, 1, 100);
	n = find_rings(ring, ARRAY_SIZE(ring));
	for (i = 0; i < n; i++)
		CHECK(!munmap(ring[i].at, ring[i].words * 4), "%m");
	rdma_disconnect(d.p.c.id);
	pair_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	/* the process goes without cleaning up */
}

const struct test rough_tests[] = {
	CASE("threads_post", threads_post, 0, "RDMAP-98 RDMAP-124"),
	CASE("rings_spoilt", rings_spoilt, 60,
	     "DDP-121 DDP-125 DDP-130 DDP-132 RDMAP-184 RDMAP-186 SEC-4 SEC-6"),
	CASE("rings_unmapped", rings_unmapped, 0, "DDP-130"),
	{}
};
