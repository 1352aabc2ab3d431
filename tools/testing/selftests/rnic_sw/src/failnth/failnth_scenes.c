// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Scenes of failnth with a connection between two ends in this process. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "failnth.h"

#define PATIENCE	45000	/* ms; a call that takes longer is considered hung */
#define TIMEOUT_MS	20000
#define SMALL		700
#define LARGE		40000
#define OCTETS		(2 * LARGE)

struct end {
	struct rdma_cm_id	*id;
	struct ibv_pd		*pd;
	struct ibv_cq		*cq;
	struct ibv_mr		*mr;
	char			*mem;
	bool			up;
	bool			over;
	int			why;	/* errno, the reason of @over */
};

struct pair {
	struct rdma_event_channel *ch;
	struct rdma_cm_id	*listen;
	struct end		c, s;
	struct rdma_cm_id	*again;	/* the second request, which is not accepted */
	bool			refuse;	/* accept no request */
	bool			resolved;
};

/* Events ------------------------------------------------------------------ */

static void record_event(struct pair *p, const struct rdma_cm_event *ev)
{
	struct end *e = ev->id == p->c.id ? &p->c : &p->s;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		p->resolved = true;
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		/* after a failure the client sends another request, with an older MPA revision */
		if (p->s.id || p->refuse)
			p->again = ev->id;
		else
			p->s.id = ev->id;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		e->up = true;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		e->over = true;
		e->why = ECONNRESET;
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		e->over = true;
		e->why = ev->status < 0 ? -ev->status : EIO;
		break;
	default:
		break;
	}
}

/* Return: 0; ETIME if no event arrives within @ms; or another errno */
static int wait_and_record_event(struct pair *p, long ms)
{
	struct pollfd fd = { .fd = p->ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	int err;

	if (poll(&fd, 1, ms > 0 ? ms : 0) != 1)
		return ETIME;
	err = TRY(rdma_get_cm_event(p->ch, &ev));
	/* librdmacm has handled this event itself, so it reports none */
	if (err == EAGAIN)
		return 0;
	if (err)
		return err;
	record_event(p, ev);
	rdma_ack_cm_event(ev);
	if (p->again && rdma_destroy_id(p->again))
		return report_wrong_result("a connection request cannot be destroyed");
	p->again = NULL;
	return 0;
}

static bool is_resolved_or_over(const struct pair *p)
{
	return p->resolved || p->c.over;
}

static bool has_request_or_is_client_over(const struct pair *p)
{
	return p->s.id || p->c.over;
}

static bool are_both_up_or_over(const struct pair *p)
{
	return (p->c.up || p->c.over) && (p->s.up || p->s.over);
}

static bool is_client_up_or_over(const struct pair *p)
{
	return p->c.up || p->c.over;
}

static bool is_client_over(const struct pair *p)
{
	return p->c.over;
}

static bool is_server_over(const struct pair *p)
{
	return p->s.over;
}

static bool are_both_over(const struct pair *p)
{
	return p->c.over && p->s.over;
}

static const char *describe_state(const struct end *e)
{
	if (e->over)
		return "over";
	if (e->up)
		return "up";
	return e->id ? "not connected" : "not created";
}

static int wait_until(struct pair *p, bool (*so)(const struct pair *p),
		      const char *what)
{
	long until = now_ms() + PATIENCE;
	int err = 0;

	while (!so(p) && !err)
		err = wait_and_record_event(p, until - now_ms());
	if (err == ETIME)
		return report_wrong_result("no %s in time; the client is %s, the server is %s",
					   what, describe_state(&p->c), describe_state(&p->s));
	return err;
}

/* Ends -------------------------------------------------------------------- */

static int create_end_pd_cq_and_mr(struct end *e)
{
	int err = MADE(e->pd = ibv_alloc_pd(e->id->verbs));

	if (err)
		return err;
	err = MADE(e->cq = ibv_create_cq(e->id->verbs, 16, NULL, NULL, 0));
	if (err)
		return err;
	e->mem = mmap(NULL, OCTETS, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (e->mem == MAP_FAILED) {
		e->mem = NULL;
		return ENOMEM;
	}
	return MADE(e->mr = ibv_reg_mr(e->pd, e->mem, OCTETS,
				       IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_REMOTE_READ |
				       IBV_ACCESS_REMOTE_WRITE));
}

static int create_end(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8,
			 .max_send_sge = 2, .max_recv_sge = 2 },
		.sq_sig_all = 1,
	};
	int err = create_end_pd_cq_and_mr(e);

	if (err)
		return err;
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	return TRY(rdma_create_qp(e->id, e->pd, &attr));
}

/* Free an end.  Destruction must not fail. */
static int destroy_end(struct end *e)
{
	int err = 0;

	if (e->id && e->id->qp)
		rdma_destroy_qp(e->id);
	if (e->mr)
		err |= ibv_dereg_mr(e->mr);
	if (e->cq)
		err |= ibv_destroy_cq(e->cq);
	if (e->pd)
		err |= ibv_dealloc_pd(e->pd);
	if (e->id)
		err |= rdma_destroy_id(e->id);
	if (e->mem)
		munmap(e->mem, OCTETS);
	memset(e, 0, sizeof(*e));
	return err ? report_wrong_result("cannot destroy an end: %s", strerror(errno)) : 0;
}

/* Free both ends.  Return: @err, or WRONG if freeing fails */
static int destroy_pair(struct pair *p, int err)
{
	/*
	 * read the remaining events first, because connection requests that were not accepted must
	 * be destroyed
	 */
	while (p->ch && !wait_and_record_event(p, 0))
		;
	if (destroy_end(&p->c) || destroy_end(&p->s))
		err = WRONG;
	if (p->listen && rdma_destroy_id(p->listen))
		err = report_wrong_result("cannot destroy a listener");
	if (p->ch)
		rdma_destroy_event_channel(p->ch);
	return err;
}

/* Connecting -------------------------------------------------------------- */

static struct sockaddr_in make_address(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = port };

	inet_pton(AF_INET, setting.addr, &a.sin_addr);
	return a;
}

static int start_listening(struct pair *p)
{
	struct sockaddr_in at = make_address(0);
	int err;

	err = MADE(p->ch = rdma_create_event_channel());
	if (err)
		return err;
	fcntl(p->ch->fd, F_SETFL, O_NONBLOCK);
	err = TRY(rdma_create_id(p->ch, &p->listen, NULL, RDMA_PS_TCP));
	if (!err)
		err = TRY(rdma_bind_addr(p->listen, (struct sockaddr *)&at));
	if (!err)
		err = TRY(rdma_listen(p->listen, 4));
	return err;
}

static int create_and_resolve_client_id(struct pair *p)
{
	struct sockaddr_in to = make_address(rdma_get_src_port(p->listen));
	int err;

	err = TRY(rdma_create_id(p->ch, &p->c.id, NULL, RDMA_PS_TCP));
	if (!err)
		err = TRY(rdma_resolve_addr(p->c.id, NULL, (struct sockaddr *)&to,
					    TIMEOUT_MS));
	if (!err)
		err = wait_until(p, is_resolved_or_over, "address resolution");
	if (err || p->c.over)
		return err ? err : p->c.why;
	p->resolved = false;
	err = TRY(rdma_resolve_route(p->c.id, TIMEOUT_MS));
	if (!err)
		err = wait_until(p, is_resolved_or_over, "route resolution");
	return err ? err : p->c.why;
}

static struct rdma_conn_param make_conn_param(void)
{
	return (struct rdma_conn_param) {
		.responder_resources = 4,
		.initiator_depth = 4,
		.private_data = "hello",
		.private_data_len = 5,
	};
}

/* Connect, and wait for the request at the server */
static int connect_client_and_wait_request(struct pair *p)
{
	struct rdma_conn_param param = make_conn_param();
	int err = start_listening(p);

	if (!err)
		err = create_and_resolve_client_id(p);
	if (!err)
		err = create_end(&p->c);
	if (!err)
		err = TRY(rdma_connect(p->c.id, &param));
	if (!err)
		err = wait_until(p, has_request_or_is_client_over, "connection request");
	return err ? err : p->c.why;
}

static int post_receive(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->mem, OCTETS, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return ibv_post_recv(e->id->qp, &wr, &bad);
}

/* Close the server after a failure; the client must be notified that it is not accepted */
static int close_server_after_error(struct pair *p, int err)
{
	p->refuse = true;
	if (destroy_end(&p->s))
		return WRONG;
	return wait_until(p, is_client_over, "end of the client after a failure of the server")
	       ? WRONG : err;
}

static int accept_request(struct pair *p)
{
	struct rdma_conn_param param = make_conn_param();
	int err = create_end(&p->s);

	if (!err)
		err = post_receive(&p->s);
	if (!err)
		err = TRY(rdma_accept(p->s.id, &param));
	return err ? close_server_after_error(p, err) : 0;
}

static int establish_pair(struct pair *p)
{
	int err = connect_client_and_wait_request(p);

	if (!err)
		err = accept_request(p);
	if (!err)
		err = wait_until(p, are_both_up_or_over, "established connection");
	if (err || (!p->c.over && !p->s.over))
		return err;
	err = p->c.over ? p->c.why : p->s.why;
	return wait_until(p, are_both_over, "end of the other side") ? WRONG : err;
}

/* Traffic ----------------------------------------------------------------- */

static int post_request(struct end *e, enum ibv_wr_opcode op, uint32_t len,
			const struct end *peer)
{
	bool in = op == IBV_WR_RDMA_READ;
	struct ibv_sge sge = {
		(uintptr_t)e->mem + (in ? LARGE : 0), len, e->mr->lkey
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = op, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.wr.rdma = { (uintptr_t)peer->mem + LARGE, peer->mr->rkey },
	};

	return ibv_post_send(e->id->qp, &wr, &bad);
}

/* Return: 0 after @left good completions, or an error at the first bad one */
static int wait_completions(struct pair *p, struct ibv_cq *cq, int left)
{
	long until = now_ms() + PATIENCE;
	struct ibv_wc wc;
	int n, err = 0;

	while (left && !err) {
		n = ibv_poll_cq(cq, 1, &wc);
		if (n < 0 || (n && wc.status))
			return EIO;
		left -= n;
		if (n)
			continue;
		if (now_ms() > until)
			return report_wrong_result("%d completions missing; the client is %s, the server is %s",
						   left, describe_state(&p->c), describe_state(&p->s));
		err = wait_and_record_event(p, 1);
		if (err == ETIME)
			err = 0;
	}
	return err;
}

static int run_traffic(struct pair *p)
{
	int err;

	memset(p->c.mem, 'w', LARGE);
	err = post_request(&p->c, IBV_WR_RDMA_WRITE, LARGE, &p->s);
	if (!err)
		err = post_request(&p->c, IBV_WR_RDMA_READ, LARGE, &p->s);
	if (!err)
		err = post_request(&p->c, IBV_WR_SEND, SMALL, &p->s);
	if (!err)
		err = wait_completions(p, p->c.cq, 3);
	if (!err)
		err = wait_completions(p, p->s.cq, 1);
	if (err)
		return err;
	return memcmp(p->c.mem, p->c.mem + LARGE, LARGE) ||
	       memcmp(p->c.mem, p->s.mem, SMALL) ? report_wrong_result("wrong data") : 0;
}

static int disconnect_pair(struct pair *p, int err)
{
	int late = TRY(rdma_disconnect(p->c.id));

	if (late && late != EINVAL)
		return late;
	return wait_until(p, are_both_over, "end of both sides") ? WRONG : err;
}

int run_traffic_scene(void)
{
	struct pair p = {};
	int err = establish_pair(&p);

	if (!err)
		err = disconnect_pair(&p, run_traffic(&p));
	return destroy_pair(&p, err);
}

int run_drop_scene(void)
{
	struct pair p = {};
	int err = establish_pair(&p);

	/* end the client without a disconnect: the server must notice */
	if (!err && destroy_end(&p.c))
		err = WRONG;
	else if (!err)
		err = wait_until(&p, is_server_over, "end of the server");
	return destroy_pair(&p, err);
}

static int reject_request(struct pair *p)
{
	int err = TRY(rdma_reject(p->s.id, "no", 2));

	if (err)
		return close_server_after_error(p, err);
	err = wait_until(p, is_client_up_or_over, "rejection");
	if (err)
		return err;
	if (p->c.up)
		return report_wrong_result("connected after a rejection");
	return p->c.why == ECONNREFUSED ? 0 : p->c.why;
}

int run_reject_scene(void)
{
	struct pair p = {};
	int err = connect_client_and_wait_request(&p);

	if (!err)
		err = reject_request(&p);
	return destroy_pair(&p, err);
}
