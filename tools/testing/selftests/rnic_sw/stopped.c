// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * stopped connect|listen ADDRESS PORT ROUNDS: a thread is stopped in the middle
 * of its call, as a program is whose turn does not come, and another one makes
 * the same call, for another port.  That one must not wait for the first.
 *
 * One CPU for all.  The first thread is like anybody's, the other comes before
 * it, at a random moment of the call.  A third stands between them: whenever the
 * other waits, that one runs, for long, and the first does not.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#define PATIENCE	30	/* seconds for a round */
#define TIMED		8	/* rounds */
#define LONG_NAP	50000	/* microseconds: the call is over by then */
/*
 * Microseconds.  Whoever is not in such a hurry is given some time by the
 * kernel when it has had none for nearly a second.
 */
#define STOPPED		400000
#define BACKLOG		16

struct side {
	struct rdma_cm_id	*id;
	struct ibv_qp		*qp;	/* of who connects */
};

static struct sockaddr_in to;
static pthread_barrier_t start;
static sem_t stop, stopped;
static int returned;		/* the second call */
static int waited;		/* it did, for as long as the first was stopped */
static long took, sum;
static pid_t first_tid;
static int rounds, listening;

static void make_call(const struct side *side)
{
	struct rdma_conn_param param;

	if (listening && rdma_listen(side->id, BACKLOG))
		calls_die("rdma_listen");
	if (listening)
		return;
	param = calls_terms(side->qp);
	if (rdma_connect(side->id, &param))
		calls_die("rdma_connect");
}

/* Ports differ: nothing is shared but what all share */
static struct side new_side(void)
{
	struct side side = {};

	to.sin_port = htons(ntohs(to.sin_port) + 1);
	if (!listening) {
		side.id = calls_resolved(&to);
		side.qp = calls_new_qp(side.id);
		return side;
	}
	if (rdma_create_id(calls_events, &side.id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(side.id, (struct sockaddr *)&to))
		calls_die("rdma_bind_addr");
	return side;
}

static void end_side(const struct side *side)
{
	if (side->qp)
		ibv_destroy_qp(side->qp);
	rdma_destroy_id(side->id);
}

static void *first_caller(void *arg)
{
	long began;

	calls_priority(0);
	first_tid = gettid();
	pthread_barrier_wait(&start);
	began = calls_now();
	make_call(arg);
	took = calls_now() - began;
	return NULL;
}

/* Where the callers are in the kernel, the second one first */
static void show_stacks(void)
{
	char line[128];
	FILE *file;
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(line, sizeof(line), "/proc/self/task/%d/stack",
			 i ? first_tid : getpid());
		file = fopen(line, "r");
		printf("round %d, the %s caller:\n", rounds,
		       i ? "first" : "second");
		while (file && fgets(line, sizeof(line), file))
			printf("  %s", line);
		if (file)
			fclose(file);
	}
}

/* It does not run at all unless the second caller waits */
static void *between(void *arg)
{
	long end;

	calls_priority(CALLS_SECOND);
	for (;;) {
		sem_wait(&stop);
		end = calls_now() + STOPPED;
		while (!__atomic_load_n(&returned, __ATOMIC_SEQ_CST))
			if (calls_now() > end) {
				if (!waited++)
					show_stacks();
				break;
			}
		sem_post(&stopped);
	}
	return arg;
}

static void one_round(void)
{
	struct side first = new_side(), second = new_side();
	struct timespec nap = { .tv_nsec = 1000 * LONG_NAP };
	pthread_t thread;

	if (rounds >= TIMED)
		nap.tv_nsec = 1000 * (random() % (sum / TIMED + 1));
	returned = 0;
	if (pthread_create(&thread, NULL, first_caller, &first))
		calls_die("pthread_create");
	pthread_barrier_wait(&start);
	nanosleep(&nap, NULL);
	sem_post(&stop);
	make_call(&second);
	__atomic_store_n(&returned, 1, __ATOMIC_SEQ_CST);
	sem_wait(&stopped);
	pthread_join(thread, NULL);
	if (rounds < TIMED)
		sum += took;
	end_side(&first);
	end_side(&second);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	cpu_set_t one;

	if (argc != 5)
		return 2;
	listening = !strcmp(argv[1], "listen");
	pthread_barrier_init(&start, NULL, 2);
	sem_init(&stop, 0, 0);
	sem_init(&stopped, 0, 0);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		calls_die("sched_setaffinity");
	calls_init(&to, argv + 2, PATIENCE);
	if (pthread_create(&thread, NULL, between, NULL))
		calls_die("pthread_create");
	calls_priority(CALLS_FIRST);
	for (; rounds < atoi(argv[4]); rounds++) {
		alarm(PATIENCE);
		one_round();
	}
	printf("%d of %d waited; a call takes %ld us\n", waited, rounds,
	       sum / TIMED);
	return !!waited;
}
