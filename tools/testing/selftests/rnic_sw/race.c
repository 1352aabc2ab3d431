// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * race connect|accept ADDRESS PORT ROUNDS: a queue pair is destroyed while
 * another thread connects it, or accepts a request with it.  Each round has to
 * end by itself: the peer, which is this program as well, ends nothing.
 *
 * The first calls are timed, and run to their end before the queue pair goes.
 * From then on it goes at a random moment of the call, by a thread that comes
 * first wherever the kernel looks who does: one CPU is enough.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define PATIENCE	30	/* seconds for a round */
#define TIMED		8	/* rounds */
#define LONG_NAP	50000	/* microseconds: they are over by then */
#define TIMEOUT_MS	10000
#define BACKLOG		1024

static struct rdma_event_channel *quiet, *ours;
static struct sockaddr_in to;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static pthread_barrier_t start;
static long took[TIMED];	/* microseconds */
static int rounds;
static int (*call)(struct rdma_cm_id *id, struct rdma_conn_param *param);

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "race: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void stuck(int sig)
{
	static const char words[] = "race: it does not end\n";

	(void)sig;
	if (write(2, words, sizeof(words) - 1) < 0)
		_exit(3);
	_exit(2);
}

static struct rdma_cm_id *expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	do {
		if (rdma_get_cm_event(ours, &ev))
			die("rdma_get_cm_event");
		id = ev->event == type ? ev->id : NULL;
		rdma_ack_cm_event(ev);
	} while (!id);
	return id;
}

/* librdmacm does not know it: it would look into what is being freed */
static struct ibv_qp *new_qp(struct rdma_cm_id *id)
{
	struct ibv_qp *qp;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (!pd) {
		pd = ibv_alloc_pd(id->verbs);
		cq = pd ? ibv_create_cq(id->verbs, 16, NULL, NULL, 0) : NULL;
		if (!cq)
			die("ibv_create_cq");
	}
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ibv_create_qp(pd, &attr);
	if (!qp)
		die("ibv_create_qp");
	return qp;
}

static struct rdma_cm_id *caller(void)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(ours, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, TIMEOUT_MS))
		die("rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, TIMEOUT_MS))
		die("rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

struct side {
	struct rdma_cm_id	*id;
	struct ibv_qp		*qp;
};

static struct rdma_conn_param terms(const struct ibv_qp *qp)
{
	return (struct rdma_conn_param) {
		.responder_resources = 1,
		.qp_num = qp->qp_num,
	};
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static long nap_before(void)
{
	long sum = 0;
	int i;

	if (rounds < TIMED)
		return LONG_NAP;
	for (i = 0; i < TIMED; i++)
		sum += took[i];
	return random() % (sum / TIMED + 1);
}

static void *caller_thread(void *arg)
{
	static const struct sched_param other;
	const struct side *side = arg;
	struct rdma_conn_param param = terms(side->qp);

	long began;

	sched_setscheduler(0, SCHED_OTHER, &other);
	pthread_barrier_wait(&start);
	began = now();
	call(side->id, &param);
	if (rounds < TIMED)
		took[rounds] = now() - began;
	return NULL;
}

static void race(struct rdma_cm_id *id)
{
	struct timespec nap = { .tv_nsec = 1000 * nap_before() };
	struct side side = { id, new_qp(id) };
	pthread_t thread;

	if (pthread_create(&thread, NULL, caller_thread, &side))
		die("pthread_create");
	pthread_barrier_wait(&start);
	nanosleep(&nap, NULL);
	if (ibv_destroy_qp(side.qp))
		die("ibv_destroy_qp");
	pthread_join(thread, NULL);
	rdma_destroy_id(id);
}

static void race_accept(void)
{
	struct rdma_cm_id *peer = caller();
	struct ibv_qp *qp = new_qp(peer);
	struct rdma_conn_param param = terms(qp);

	if (rdma_connect(peer, &param))
		die("rdma_connect");
	race(expect(RDMA_CM_EVENT_CONNECT_REQUEST));
	ibv_destroy_qp(qp);
	rdma_destroy_id(peer);
}

int main(int argc, char **argv)
{
	static const struct sched_param first = { .sched_priority = 1 };
	struct rdma_cm_id *listener;
	int accepting;

	if (argc != 5)
		return 2;
	accepting = !strcmp(argv[1], "accept");
	call = accepting ? rdma_accept : rdma_connect;
	to.sin_family = AF_INET;
	to.sin_port = htons(atoi(argv[3]));
	if (inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
		die(argv[2]);
	signal(SIGALRM, stuck);
	pthread_barrier_init(&start, NULL, 2);
	ours = rdma_create_event_channel();
	quiet = rdma_create_event_channel();
	/* who is not to be accepted is never looked at */
	if (!ours || !quiet ||
	    rdma_create_id(accepting ? ours : quiet, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&to) ||
	    rdma_listen(listener, BACKLOG))
		die("rdma_listen");
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		die("sched_setscheduler");
	for (; rounds < atoi(argv[4]); rounds++) {
		alarm(PATIENCE);
		if (accepting)
			race_accept();
		else
			race(caller());
	}
	return 0;
}
