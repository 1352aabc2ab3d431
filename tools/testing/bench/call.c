// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connection rate: set up a connection, exchange a ping, close the connection, and repeat. All
 * connections use the same CQ and memory; each has its own QP.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "rate.h"

#define CQES		64
#define BACKLOG		8

/* Create the objects that all connections share. @at: an ID of the device */
static void create_shared_objects(struct side *s, struct rdma_cm_id *at)
{
	s->window = get_window_size(s->opt);
	s->buf = calloc(1, s->window);
	s->comp = ibv_create_comp_channel(at->verbs);
	if (!s->buf || !s->comp)
		die("memory, or ibv_create_comp_channel");
	s->cq = ibv_create_cq(at->verbs, CQES, NULL, s->comp, 0);
	if (!s->cq)
		die("ibv_create_cq");
	s->mr = ibv_reg_mr(at->pd, s->buf, s->window, IBV_ACCESS_LOCAL_WRITE);
	if (!s->mr)
		die("ibv_reg_mr");
}

static void destroy_shared_objects(struct side *s, struct rdma_cm_id *at)
{
	if (s->unacked)
		ibv_ack_cq_events(s->cq, s->unacked);
	ibv_dereg_mr(s->mr);
	ibv_destroy_cq(s->cq);
	ibv_destroy_comp_channel(s->comp);
	rdma_destroy_id(at);
	free(s->buf);
}

static void make_qp_and_post_recv(struct side *s)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (rdma_create_qp(s->id, NULL, &attr))
		die("rdma_create_qp");
	post_recvs(s, 0, 1);
}

static void destroy_connection(struct side *s)
{
	rdma_destroy_qp(s->id);
	if (rdma_destroy_id(s->id))
		die("rdma_destroy_id");
}

static void connect_and_ping_once(struct side *s, uint64_t n, uint32_t octets)
{
	side_resolve(s);
	make_qp_and_post_recv(s);
	side_establish(s);
	ping_send(s, n, octets);
	ping_wait(s);
	rdma_disconnect(s->id);
	side_wait_event(s, RDMA_CM_EVENT_DISCONNECTED);
	destroy_connection(s);
}

/* Accept a connection and answer its ping. Return: the length in bytes of the received ping */
static uint32_t accept_and_answer_once(struct side *s, uint64_t n)
{
	uint32_t octets;

	side_wait_request(s);
	make_qp_and_post_recv(s);
	side_accept_request(s);
	octets = ping_wait(s);
	ping_send(s, n, s->opt->size);
	side_wait_event(s, RDMA_CM_EVENT_DISCONNECTED);
	rdma_disconnect(s->id);
	destroy_connection(s);
	return octets;
}

static uint64_t connect_and_ping_until(struct side *s, uint64_t done, double until)
{
	do
		connect_and_ping_once(s, done++, s->opt->size);
	while (now() < until);
	return done;
}

void run_connects_active_side(const struct options *opt, struct shared *sh, pid_t peer,
			      struct mark *m)
{
	struct side s = { .opt = opt, .sh = sh };
	struct rdma_cm_id *at;
	eventfd_t one;

	eventfd_read(sh->ready, &one);
	side_create_event_channel(&s);
	side_resolve(&s);
	at = s.id;
	create_shared_objects(&s, at);
	m[0].messages = connect_and_ping_until(&s, 0, now() + opt->warm);
	record_mark(&m[0], peer);
	m[1].messages = connect_and_ping_until(&s, m[0].messages, m[0].time + opt->secs);
	record_mark(&m[1], peer);
	connect_and_ping_once(&s, m[1].messages, FAREWELL);
	destroy_shared_objects(&s, at);
}

void run_connects_passive_side(const struct options *opt, struct shared *sh)
{
	struct side s = { .opt = opt, .sh = sh };
	struct rdma_cm_id *at;
	uint64_t n = 0;

	side_create_event_channel(&s);
	side_listen(&s, BACKLOG);
	at = s.id;
	create_shared_objects(&s, at);
	eventfd_write(sh->ready, 1);
	while (accept_and_answer_once(&s, n++) != FAREWELL)
		;
	destroy_shared_objects(&s, at);
}
