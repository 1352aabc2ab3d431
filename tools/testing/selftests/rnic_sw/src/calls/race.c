// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * race connect|accept ADDRESS PORT ROUNDS: destroy a queue pair while another thread uses it to
 * connect, or to accept a request.  In each round the call must return, although the peer, which is
 * this program as well, does not end the connection.
 *
 * The first calls are timed; they return before the queue pair is destroyed.  In later rounds a
 * thread of higher priority destroys the queue pair at a random moment of the call.  Because of the
 * priority one CPU is sufficient.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#define PATIENCE	30	/* in seconds, for each round */
#define TIMED		8	/* number of timed rounds */
#define LONG_NAP	50000	/* microseconds, longer than a call */
#define BACKLOG		1024

static struct rdma_event_channel *quiet;
static struct sockaddr_in to;
static pthread_barrier_t start;
static long took[TIMED];	/* in microseconds */
static int rounds;
static int (*call)(struct rdma_cm_id *id, struct rdma_conn_param *param);

struct side {
	struct rdma_cm_id	*id;
	struct ibv_qp		*qp;
};

static int compare_times(const void *a, const void *b)
{
	long one = *(const long *)a, other = *(const long *)b;

	return (one > other) - (one < other);
}

/*
 * Choose the delay in microseconds before the QP is destroyed: at most the median duration of a
 * call, so that exceptionally slow calls do not count
 */
static long choose_delay(void)
{
	if (rounds < TIMED)
		return LONG_NAP;
	if (rounds == TIMED)
		qsort(took, TIMED, sizeof(took[0]), compare_times);
	return random() % (took[TIMED / 2] + 1);
}

static void *connect_or_accept_and_time(void *arg)
{
	const struct side *side = arg;
	struct rdma_conn_param param = calls_make_conn_param(side->qp);
	long began;

	calls_set_priority(0);
	pthread_barrier_wait(&start);
	began = calls_now_us();
	call(side->id, &param);
	if (rounds < TIMED)
		took[rounds] = calls_now_us() - began;
	return NULL;
}

static void race_call_with_destroy(struct rdma_cm_id *id)
{
	struct timespec nap = { .tv_nsec = 1000 * choose_delay() };
	struct side side = { id, calls_create_qp(id) };
	pthread_t thread;

	if (pthread_create(&thread, NULL, connect_or_accept_and_time, &side))
		calls_die("pthread_create");
	pthread_barrier_wait(&start);
	nanosleep(&nap, NULL);
	if (ibv_destroy_qp(side.qp))
		calls_die("ibv_destroy_qp");
	pthread_join(thread, NULL);
	rdma_destroy_id(id);
}

static void race_accept_with_destroy(void)
{
	struct rdma_cm_id *peer = calls_create_resolved_id(&to);
	struct ibv_qp *qp = calls_create_qp(peer);
	struct rdma_conn_param param = calls_make_conn_param(qp);

	if (rdma_connect(peer, &param))
		calls_die("rdma_connect");
	race_call_with_destroy(calls_wait_event(RDMA_CM_EVENT_CONNECT_REQUEST));
	ibv_destroy_qp(qp);
	rdma_destroy_id(peer);
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener;
	int accepting;

	if (argc != 5)
		return 2;
	accepting = strcmp(argv[1], "connect");
	call = accepting ? rdma_accept : rdma_connect;
	pthread_barrier_init(&start, NULL, 2);
	calls_init_from_args(&to, argv + 2, PATIENCE);
	quiet = rdma_create_event_channel();
	/* the requests of connect mode go to the channel quiet, which the program never reads */
	if (!quiet || rdma_create_id(accepting ? calls_events : quiet, &listener,
				     NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&to) ||
	    rdma_listen(listener, BACKLOG))
		calls_die("rdma_listen");
	calls_set_priority(CALLS_SECOND);
	for (; rounds < atoi(argv[4]); rounds++) {
		alarm(PATIENCE);
		if (accepting)
			race_accept_with_destroy();
		else
			race_call_with_destroy(calls_create_resolved_id(&to));
	}
	return 0;
}
