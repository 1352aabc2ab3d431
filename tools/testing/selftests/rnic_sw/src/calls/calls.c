// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Common code of the programs that make calls of rdma_cm: see calls.h. */
#define _GNU_SOURCE
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

#include "calls.h"

#define TIMEOUT_MS	10000

struct rdma_event_channel *calls_events;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

_Noreturn void calls_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	exit(1);
}

long calls_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void die_of_timeout(int sig)
{
	static const char words[] = "timeout: a call does not return\n";

	(void)sig;
	if (write(2, words, sizeof(words) - 1) < 0)
		_exit(3);
	_exit(2);
}

void calls_init_from_args(struct sockaddr_in *to, char **words, int seconds)
{
	to->sin_family = AF_INET;
	to->sin_port = htons(atoi(words[1]));
	if (inet_pton(AF_INET, words[0], &to->sin_addr) != 1)
		calls_die(words[0]);
	signal(SIGALRM, die_of_timeout);
	alarm(seconds);
	calls_events = rdma_create_event_channel();
	if (!calls_events)
		calls_die("rdma_create_event_channel");
}

void calls_set_priority(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &param))
		calls_die("sched_setscheduler");
}

struct rdma_cm_id *calls_wait_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	do {
		if (rdma_get_cm_event(calls_events, &ev))
			calls_die("rdma_get_cm_event");
		id = ev->event == type ? ev->id : NULL;
		rdma_ack_cm_event(ev);
	} while (!id);
	return id;
}

struct ibv_qp *calls_create_qp(struct rdma_cm_id *id)
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
			calls_die("ibv_create_cq");
	}
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ibv_create_qp(pd, &attr);
	if (!qp)
		calls_die("ibv_create_qp");
	return qp;
}

struct rdma_cm_id *calls_create_resolved_id(const struct sockaddr_in *to)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(calls_events, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)to, TIMEOUT_MS))
		calls_die("rdma_resolve_addr");
	calls_wait_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, TIMEOUT_MS))
		calls_die("rdma_resolve_route");
	calls_wait_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

struct rdma_conn_param calls_make_conn_param(const struct ibv_qp *qp)
{
	return (struct rdma_conn_param) {
		.responder_resources = 1,
		.qp_num = qp->qp_num,
	};
}
