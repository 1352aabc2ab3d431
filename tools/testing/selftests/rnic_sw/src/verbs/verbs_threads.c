// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Several threads that post to one QP. */
#include <pthread.h>
#include <semaphore.h>

#include "verbs.h"

enum { THREADS = 4, EACH = 500, DEPTH = 64 };

/*
 * Number of free entries of the send queue.  A thread that finds no free entry sleeps: on a machine
 * with few CPUs, busy retries would leave no CPU time for the completions.
 */
static sem_t places;

struct poster {
	struct fixture	*d;
	uint32_t	nr;
};

static void *post_many_requests(void *arg)
{
	const struct poster *t = arg;
	uint32_t i;

	for (i = 0; i < EACH; i++) {
		struct job j = {
			.id = t->nr * EACH + i, .op = IBV_WR_SEND, .flags = SIG,
			.b = &t->d->c, .off = (t->nr * EACH + i) * 4,
			.len = 4 };

		while (sem_wait(&places))
			CHECK(errno == EINTR, "%m");
		post_job(&t->d->p.c, &j);
	}
	return NULL;
}

/* Check that the messages of each thread have arrived in the order of the thread's posts */
static void check_arrival_order(const struct buf *b)
{
	uint32_t next[THREADS] = {}, i, id;

	for (i = 0; i < THREADS * EACH; i++) {
		memcpy(&id, b->at + i * 4, 4);
		CHECK(id / EACH < THREADS && id % EACH == next[id / EACH]++,
		      "message %u of thread %u, expected %u", id % EACH,
		      id / EACH, next[id / EACH % THREADS]);
	}
}

/* The Sends of each thread must arrive once, and in the order of posting */
static void test_threads_post(void)
{
	uint32_t next[THREADS] = {}, i, t;
	struct poster posters[THREADS];
	pthread_t th[THREADS];
	struct fixture d;

	fixture_open(&d, &(struct opts){ .sq = DEPTH, .rq = THREADS * EACH,
		     .cqe = THREADS * EACH }, THREADS * EACH * 4);
	for (i = 0; i < THREADS * EACH; i++) {
		memcpy(d.c.at + i * 4, &i, 4);
		post_recv(&d.p.s, i, &d.s, i * 4, 4);
	}
	CHECK(!sem_init(&places, 0, DEPTH), "%m");
	for (t = 0; t < THREADS; t++) {
		posters[t] = (struct poster){ &d, t };
		CHECK(!pthread_create(&th[t], NULL, post_many_requests, &posters[t]),
		      "%m");
	}
	for (i = 0; i < THREADS * EACH; i++) {
		struct ibv_wc wc = wait_next_wc(d.p.c.scq);

		t = wc.wr_id / EACH;
		CHECK(!wc.status && t < THREADS && wc.wr_id % EACH == next[t]++,
		      "%llu: %s", (unsigned long long)wc.wr_id,
		      ibv_wc_status_str(wc.status));
		CHECK(!sem_post(&places), "%m");
	}
	for (i = 0; i < THREADS * EACH; i++)
		expect_recv(d.p.s.rcq, i, 4);
	check_arrival_order(&d.s);
	for (t = 0; t < THREADS; t++)
		CHECK(!pthread_join(th[t], NULL), "%m");
	expect_no_completion(d.p.s.rcq);
	fixture_close(&d);
}

const struct test rough_tests[] = {
	CASE("threads_post", test_threads_post, 60, "RDMAP-98 RDMAP-124"),
	{}
};
