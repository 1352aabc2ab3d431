// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * stopped connect|listen|unlisten|count ADDRESS PORT ROUNDS: a preempted call must not block
 * another one.
 *
 * The first thread is preempted in the middle of its call, and the second thread makes the same
 * call for another port.  The second call must not wait for the first one.  In mode count, the
 * first thread reads counters of the device, and the second creates a queue pair.
 *
 * All threads run on one CPU.  The first thread has normal priority; the second one preempts it at
 * a random moment of the call.  A third thread has a priority between these: if the second thread
 * waits for the first, the third one runs for a long time, and so the first cannot continue.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#define PATIENCE	30	/* in seconds, for each round */
#define TIMED		8	/* number of timed rounds */
#define LONG_NAP	50000	/* in microseconds, longer than a call */
/*
 * How long the third thread runs, and the stopped thread does not, in microseconds.  It must be
 * less than one second: after that, real-time throttling lets threads of normal priority run.
 */
#define STOPPED		400000
#define BACKLOG		16
#define COUNTED		500	/* number of queue pairs in mode count */
/* microseconds to wait before a read of counters: the RDMA core caches them for this time */
#define AGE		10000

struct side {
	struct rdma_cm_id	*id;
	struct ibv_qp		*qp;
};

struct call {
	const char	*name;
	void		(*prepare)(struct side *side);
	void		(*first)(struct side *side);
	void		(*second)(struct side *side);
};

static struct sockaddr_in to;
static pthread_barrier_t start;
static sem_t stop, stopped;
static int returned;		/* 1 when the second call has returned */
static int waited;		/* number of rounds in which the second call waited for the first */
static long took, sum;
static pid_t first_tid;
static int rounds;

/* Use another port in each call, so that the calls share only global state */
static void use_next_port(void)
{
	to.sin_port = htons(ntohs(to.sin_port) + 1);
}

static void create_resolved_side(struct side *side)
{
	use_next_port();
	side->id = calls_create_resolved_id(&to);
	side->qp = calls_create_qp(side->id);
}

static void call_connect(struct side *side)
{
	struct rdma_conn_param param = calls_make_conn_param(side->qp);

	if (rdma_connect(side->id, &param))
		calls_die("rdma_connect");
}

static void create_bound_side(struct side *side)
{
	use_next_port();
	if (rdma_create_id(calls_events, &side->id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(side->id, (struct sockaddr *)&to))
		calls_die("rdma_bind_addr");
}

static void call_listen(struct side *side)
{
	if (rdma_listen(side->id, BACKLOG))
		calls_die("rdma_listen");
}

static void bind_and_listen(struct side *side)
{
	create_bound_side(side);
	call_listen(side);
}

static void destroy_listener(struct side *side)
{
	rdma_destroy_id(side->id);
	side->id = NULL;
}

static struct side many;	/* its ID opens the device for the queue pairs of mode count */

static void create_many_qps_once_and_wait(struct side *side)
{
	int i;

	(void)side;
	if (!many.id) {
		create_bound_side(&many);
		for (i = 0; i < COUNTED; i++)
			calls_create_qp(many.id);
	}
	usleep(AGE);
}

static void read_counter(struct side *side)
{
	char path[128], value[32];
	FILE *file;

	(void)side;
	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/tx_retransmits",
		 ibv_get_device_name(many.id->verbs->device));
	file = fopen(path, "r");
	if (!file || !fgets(value, sizeof(value), file))
		calls_die(path);
	fclose(file);
}

static void create_side_qp(struct side *side)
{
	side->qp = calls_create_qp(many.id);
}

static const struct call calls[] = {
	{ "connect", create_resolved_side, call_connect, call_connect },
	{ "listen", create_bound_side, call_listen, call_listen },
	{ "unlisten", bind_and_listen, destroy_listener, destroy_listener },
	{ "count", create_many_qps_once_and_wait, read_counter, create_side_qp },
	{}
};

static const struct call *call = calls;

static void destroy_side(const struct side *side)
{
	if (side->qp)
		ibv_destroy_qp(side->qp);
	if (side->id)
		rdma_destroy_id(side->id);
}

static void *make_first_call_and_time(void *arg)
{
	long began;

	calls_set_priority(0);
	first_tid = gettid();
	pthread_barrier_wait(&start);
	began = calls_now_us();
	call->first(arg);
	took = calls_now_us() - began;
	return NULL;
}

/*
 * Read the kernel stack of thread @tid.  Return: true if a function of this project's modules is on
 * the stack, false otherwise
 */
static bool scan_stack_for_our_modules(pid_t tid, bool show)
{
	static const char *const modules[] = {
		"[iw_ddp]", "[iw_mpa]", "[iw_sctp_ddp]", "[rnic_sw]",
	};
	bool ours = false;
	char line[128];
	FILE *file;
	size_t i;

	snprintf(line, sizeof(line), "/proc/self/task/%d/stack", tid);
	file = fopen(line, "r");
	if (!file)
		calls_die(line);
	while (fgets(line, sizeof(line), file)) {
		for (i = 0; i < sizeof(modules) / sizeof(*modules); i++)
			ours |= !!strstr(line, modules[i]);
		if (show)
			printf("  %s", line);
	}
	fclose(file);
	return ours;
}

/* Only a wait in this project's modules counts: librdmacm and the RDMA core have global locks */
static void count_waiting_call(void)
{
	if (!scan_stack_for_our_modules(getpid(), false) || waited++)
		return;
	printf("round %d, stack of the second thread:\n", rounds);
	scan_stack_for_our_modules(getpid(), true);
	printf("stack of the first thread:\n");
	scan_stack_for_our_modules(first_tid, true);
}

/* Thread function of the third thread, which gets the CPU only while the second one sleeps */
static void *run_while_second_waits(void *arg)
{
	long end;

	calls_set_priority(CALLS_SECOND);
	for (;;) {
		sem_wait(&stop);
		end = calls_now_us() + STOPPED;
		while (!__atomic_load_n(&returned, __ATOMIC_SEQ_CST))
			if (calls_now_us() > end) {
				count_waiting_call();
				break;
			}
		sem_post(&stopped);
	}
	return arg;
}

static void run_round(void)
{
	struct side first = {}, second = {};
	struct timespec nap = { .tv_nsec = 1000 * LONG_NAP };
	pthread_t thread;

	call->prepare(&first);
	call->prepare(&second);
	if (rounds >= TIMED)
		nap.tv_nsec = 1000 * (random() % (sum / TIMED + 1));
	returned = 0;
	if (pthread_create(&thread, NULL, make_first_call_and_time, &first))
		calls_die("pthread_create");
	pthread_barrier_wait(&start);
	nanosleep(&nap, NULL);
	sem_post(&stop);
	call->second(&second);
	__atomic_store_n(&returned, 1, __ATOMIC_SEQ_CST);
	sem_wait(&stopped);
	pthread_join(thread, NULL);
	if (rounds < TIMED)
		sum += took;
	destroy_side(&first);
	destroy_side(&second);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	cpu_set_t one;

	if (argc != 5)
		return 2;
	while (call->name && strcmp(call->name, argv[1]))
		call++;
	if (!call->name)
		return 2;
	pthread_barrier_init(&start, NULL, 2);
	sem_init(&stop, 0, 0);
	sem_init(&stopped, 0, 0);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		calls_die("sched_setaffinity");
	calls_init_from_args(&to, argv + 2, PATIENCE);
	if (pthread_create(&thread, NULL, run_while_second_waits, NULL))
		calls_die("pthread_create");
	calls_set_priority(CALLS_FIRST);
	for (; rounds < atoi(argv[4]); rounds++) {
		alarm(PATIENCE);
		run_round();
	}
	printf("the second call waited in %d of %d rounds; a call takes %ld us\n", waited, rounds,
	       sum / TIMED);
	return !!waited;
}
