// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Common parts of both ends of a queue pair: connect, poll, sleep. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "rate.h"

#define BATCH		16
#define TIMEOUT_MS	3000
#define WINDOW_MIN	(1u << 20)
#define HUGE_PAGE	((size_t)2 << 20)

/*
 * Return: the size in bytes of the window, the part of a buffer whose slots, one message each, are
 * used in turn
 */
size_t get_window_size(const struct options *opt)
{
	size_t slot = opt->size ? opt->size : 1;

	return slot >= WINDOW_MIN ? slot : WINDOW_MIN / slot * slot;
}

uint64_t get_slot_offset(const struct side *s, uint64_t message)
{
	size_t slot = s->opt->size ? s->opt->size : 1;

	return message % (s->window / slot) * slot;
}

static uint8_t get_pattern_byte(size_t i)
{
	return (i * 2654435761u + (i >> 12)) >> 9;
}

void fill_pattern(uint8_t *buf, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = get_pattern_byte(i);
}

bool has_pattern(const uint8_t *buf, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (buf[i] != get_pattern_byte(i))
			return false;
	return true;
}

/*
 * Check whether each slot must have been written, so that its content can be compared. Once is not
 * enough, because the operation that ends a run may skip a slot.
 */
bool has_filled_all_slots(const struct side *s, uint64_t messages)
{
	return messages > 4 * s->window / (s->opt->size ? s->opt->size : 1);
}

/*
 * Wait for an event of type @want. A connection request may arrive before the event for the end of
 * the previous connection: keep the request for a later call.
 */
static struct rdma_cm_event *
side_get_event_of_type(struct side *s, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev = s->caller;

	if (ev && want == RDMA_CM_EVENT_CONNECT_REQUEST) {
		s->caller = NULL;
		return ev;
	}
	if (rdma_get_cm_event(s->events, &ev))
		die("rdma_get_cm_event");
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST && want != ev->event && !s->caller) {
		s->caller = ev;
		return side_get_event_of_type(s, want);
	}
	if (ev->event != want) {
		fprintf(stderr, "rate: event %s (%d), expected %s\n",
			rdma_event_str(ev->event), ev->status,
			rdma_event_str(want));
		exit(1);
	}
	return ev;
}

void side_wait_event(struct side *s, enum rdma_cm_event_type want)
{
	rdma_ack_cm_event(side_get_event_of_type(s, want));
}

static int get_access_flags(const struct options *opt)
{
	return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
	       IBV_ACCESS_REMOTE_WRITE |
	       (opt->on_demand ? IBV_ACCESS_ON_DEMAND : 0);
}

/*
 * Allocate huge pages if available: with small pages the cost of a message would vary between runs,
 * because it depends on how many of the pages are contiguous
 */
static uint8_t *alloc_huge_pages(size_t len)
{
	uint8_t *buf;

	len = (len + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	buf = aligned_alloc(HUGE_PAGE, len);
	if (!buf)
		die("aligned_alloc");
	madvise(buf, len, MADV_HUGEPAGE);
	return buf;
}

static uint8_t *alloc_pages(size_t len)
{
	void *buf = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf == MAP_FAILED)
		die("mmap");
	madvise(buf, len, MADV_NOHUGEPAGE);
	return buf;
}

static void make_buffer(struct side *s)
{
	size_t len;

	s->window = get_window_size(s->opt);
	len = s->skew + s->window + SPARE;
	/* small pages, if a measurement drops single pages */
	s->buf = s->opt->faults ? alloc_pages(len) : alloc_huge_pages(len);
	memset(s->buf, 0, len);
	s->buf += s->skew;
	s->mr = ibv_reg_mr(s->id->pd, s->buf, s->window + SPARE,
			   get_access_flags(s->opt));
	if (!s->mr)
		die("ibv_reg_mr");
}

static void make_qp_cq_and_buffer(struct side *s, uint32_t sends, uint32_t recvs)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = sends,
			.max_recv_wr = recvs,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	s->comp = ibv_create_comp_channel(s->id->verbs);
	if (!s->comp)
		die("ibv_create_comp_channel");
	s->cq = ibv_create_cq(s->id->verbs, sends + recvs, NULL, s->comp, 0);
	if (!s->cq)
		die("ibv_create_cq");
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	if (!s->opt->by_hand && rdma_create_qp(s->id, NULL, &attr))
		die("rdma_create_qp");
	if (s->opt->by_hand) {
		s->id->qp = ibv_create_qp(s->id->pd, &attr);
		if (!s->id->qp)
			die("ibv_create_qp");
		move_to_init_by_modify_qp(s);
	}
	make_buffer(s);
}

static struct rdma_conn_param make_conn_param(const struct options *opt)
{
	return (struct rdma_conn_param) {
		.responder_resources = opt->reads,
		.initiator_depth = opt->reads,
	};
}

void side_create_event_channel(struct side *s)
{
	s->events = rdma_create_event_channel();
	if (!s->events)
		die("rdma_create_event_channel");
}

static void make_id(struct side *s)
{
	if (rdma_create_id(s->events, &s->id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
}

static struct sockaddr_in get_passive_address(const struct side *s)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = s->sh->port,
	};

	if (inet_pton(AF_INET, s->opt->addr, &sin.sin_addr) != 1)
		die("parse the address");
	return sin;
}

/* Create an ID and resolve it to the port of the passive end, which must be listening */
void side_resolve(struct side *s)
{
	struct sockaddr_in sin = get_passive_address(s);

	make_id(s);
	if (rdma_resolve_addr(s->id, NULL, (struct sockaddr *)&sin, TIMEOUT_MS))
		die("rdma_resolve_addr");
	side_wait_event(s, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(s->id, TIMEOUT_MS))
		die("rdma_resolve_route");
	side_wait_event(s, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void side_establish(struct side *s)
{
	struct rdma_conn_param param = make_conn_param(s->opt);

	if (rdma_connect(s->id, &param))
		die("rdma_connect");
	side_wait_event(s, RDMA_CM_EVENT_ESTABLISHED);
}

/* Create an ID for the device that has the address of the passive end */
static void side_create_id_on_passive_device(struct side *s)
{
	struct sockaddr_in sin = get_passive_address(s);

	make_id(s);
	if (rdma_bind_addr(s->id, (struct sockaddr *)&sin))
		die("rdma_bind_addr");
}

/* Wait until the passive end listens, and connect to it */
void side_connect(struct side *s)
{
	eventfd_t one;

	eventfd_read(s->sh->ready, &one);
	side_create_event_channel(s);
	if (s->opt->by_hand)
		side_create_id_on_passive_device(s);
	else
		side_resolve(s);
	make_qp_cq_and_buffer(s, s->opt->depth + 1, 1);
	if (s->opt->by_hand)
		connect_by_modify_qp(s, 1);
	else
		side_establish(s);
}

void side_listen(struct side *s, int backlog)
{
	side_create_id_on_passive_device(s);
	if (rdma_listen(s->id, backlog))
		die("rdma_listen");
	s->sh->port = rdma_get_src_port(s->id);
}

/* Wait for a connection request and take its ID */
void side_wait_request(struct side *s)
{
	struct rdma_cm_event *ev = side_get_event_of_type(s, RDMA_CM_EVENT_CONNECT_REQUEST);

	s->id = ev->id;
	rdma_ack_cm_event(ev);
}

void side_accept_request(struct side *s)
{
	struct rdma_conn_param param = make_conn_param(s->opt);

	if (rdma_accept(s->id, &param))
		die("rdma_accept");
	side_wait_event(s, RDMA_CM_EVENT_ESTABLISHED);
}

/* Accept one connection; post receives before it is established */
void side_accept(struct side *s)
{
	side_create_event_channel(s);
	if (s->opt->by_hand)
		side_create_id_on_passive_device(s);
	else
		side_listen(s, 1);
	eventfd_write(s->sh->ready, 1);
	if (!s->opt->by_hand)
		side_wait_request(s);
	s->skew = s->opt->skew;
	make_qp_cq_and_buffer(s, s->opt->op == OP_PING ? s->opt->depth : 1, s->opt->recvs);
	if (s->opt->op == OP_READ)
		fill_pattern(s->buf, s->window);
	s->sh->addr = (uintptr_t)s->buf;
	s->sh->rkey = s->mr->rkey;
	post_recvs(s, 0, s->opt->recvs);
	s->sh->allowed = s->opt->recvs;
	if (s->opt->by_hand)
		connect_by_modify_qp(s, 0);
	else
		side_accept_request(s);
}

void side_destroy(struct side *s)
{
	if (s->unacked)
		ibv_ack_cq_events(s->cq, s->unacked);
	if (!s->opt->by_hand)
		rdma_disconnect(s->id);
	rdma_destroy_qp(s->id);
	ibv_dereg_mr(s->mr);
	ibv_destroy_cq(s->cq);
	ibv_destroy_comp_channel(s->comp);
}

void post_recvs(struct side *s, uint64_t first, uint32_t n)
{
	struct ibv_recv_wr wr[BATCH], *bad;
	struct ibv_sge sge[BATCH];
	uint32_t i, some;

	for (; n; n -= some, first += some) {
		some = n < BATCH ? n : BATCH;
		for (i = 0; i < some; i++) {
			sge[i] = (struct ibv_sge) {
				.addr = (uintptr_t)s->buf +
					get_slot_offset(s, first + i),
				.length = s->opt->size,
				.lkey = s->mr->lkey,
			};
			wr[i] = (struct ibv_recv_wr) {
				.next = i + 1 < some ? &wr[i + 1] : NULL,
				.sg_list = &sge[i],
				.num_sge = 1,
			};
		}
		if (ibv_post_recv(s->id->qp, wr, &bad))
			die("ibv_post_recv");
	}
}

int side_poll_cq(struct side *s, struct ibv_wc *wc, int n)
{
	int got = ibv_poll_cq(s->cq, n, wc);
	int i;

	if (got < 0)
		die("ibv_poll_cq");
	for (i = 0; i < got; i++) {
		if (wc[i].status == IBV_WC_SUCCESS)
			continue;
		fprintf(stderr, "rate: a completion failed: %s\n",
			ibv_wc_status_str(wc[i].status));
		exit(1);
	}
	return got;
}

void side_arm_cq(struct side *s)
{
	if (ibv_req_notify_cq(s->cq, 0))
		die("ibv_req_notify_cq");
}

void side_get_and_ack_cq_event(struct side *s)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(s->comp, &cq, &context))
		die("ibv_get_cq_event");
	if (++s->unacked < 256)
		return;
	ibv_ack_cq_events(s->cq, s->unacked);
	s->unacked = 0;
}
