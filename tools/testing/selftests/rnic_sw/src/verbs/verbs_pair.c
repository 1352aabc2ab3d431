// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connections with both ends in one thread. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>

#include "verbs.h"

#define CM_MS	10000

void enter_netns(const char *ns)
{
	static int home = -1;
	char path[128];
	int fd;

	if (home < 0)
		home = open("/proc/self/ns/net", O_RDONLY);
	if (!ns) {
		CHECK(!setns(home, CLONE_NEWNET), "%m");
		return;
	}
	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0, "%s: %m", path);
	CHECK(!setns(fd, CLONE_NEWNET), "%s: %m", path);
	close(fd);
}

/* Create the identifier in namespace @ns, to which it then belongs */
static struct rdma_cm_id *create_id(struct rdma_event_channel *ch, const char *ns)
{
	struct rdma_cm_id *id;
	int err;

	if (ns)
		enter_netns(ns);
	err = rdma_create_id(ch, &id, NULL, RDMA_PS_TCP);
	if (ns)
		enter_netns(NULL);
	CHECK(!err, "rdma_create_id: %m");
	return id;
}

void parse_addr(const char *text, struct sockaddr_storage *sa)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct addrinfo *ai;

	CHECK(!getaddrinfo(text, NULL, &hints, &ai), "address %s must be numeric", text);
	memcpy(sa, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
}

static struct rdma_event_channel *create_channel(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();

	CHECK(ch, "%m");
	return ch;
}

void pair_expect_event(struct pair *p, struct rdma_event_channel *ch,
		       enum rdma_cm_event_type type)
{
	struct pollfd pfd = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	uint8_t len;

	CHECK(poll(&pfd, 1, scale_timeout(CM_MS)) == 1, "no event, want %s",
	      rdma_event_str(type));
	CHECK(!rdma_get_cm_event(ch, &ev), "%m");
	p->ev = *ev;
	len = ev->param.conn.private_data ? ev->param.conn.private_data_len : 0;
	if (len)
		memcpy(p->said, ev->param.conn.private_data, len);
	p->ev.param.conn.private_data_len = len;
	rdma_ack_cm_event(ev);
	CHECK(p->ev.event == type, "event %s (%d), want %s",
	      rdma_event_str(p->ev.event), p->ev.status, rdma_event_str(type));
}

static void set_defaults(struct opts *o)
{
	o->sq = o->sq ?: 64;
	o->rq = o->rq ?: 64;
	o->ssge = o->ssge ?: 1;
	o->rsge = o->rsge ?: 1;
	o->cqe = o->cqe ?: 256;
	o->ird = o->ird ?: 16;
	o->ord = o->ord ?: 16;
	o->s_ird = o->s_ird ?: o->ird;
	o->s_ord = o->s_ord ?: o->ord;
	o->addr = o->addr ?: setting.addr;
	o->at = o->at ?: o->addr;
}

static void start_listening(struct pair *p)
{
	struct sockaddr_storage sa;
	int one = 1;

	parse_addr(p->o.at, &sa);
	p->lch = create_channel();
	p->listen = create_id(p->lch, setting.server_ns);
	CHECK(!p->o.v6only || !rdma_set_option(p->listen, RDMA_OPTION_ID,
	      RDMA_OPTION_ID_AFONLY, &one, sizeof(one)), "%m");
	CHECK(!rdma_bind_addr(p->listen, (struct sockaddr *)&sa),
	      "bind to %s: %m", p->o.at);
	CHECK(!rdma_listen(p->listen, 8), "%m");
}

static void resolve_addr_and_route(struct pair *p)
{
	struct sockaddr_storage sa;

	parse_addr(p->o.addr, &sa);
	if (sa.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&sa)->sin6_port =
			rdma_get_src_port(p->listen);
	else
		((struct sockaddr_in *)&sa)->sin_port =
			rdma_get_src_port(p->listen);
	CHECK(!rdma_resolve_addr(p->c.id, NULL, (struct sockaddr *)&sa, 2000),
	      "%m");
	pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_resolve_route(p->c.id, 2000), "%m");
	pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static struct ibv_cq *make_cq(const struct opts *o, struct end *e)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = o->cqe,
		.channel = e->cc,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_cq *cq;

	if (o->cq_ex) {
		struct ibv_cq_ex *ex = ibv_create_cq_ex(e->id->verbs, &attr);

		cq = ex ? ibv_cq_ex_to_cq(ex) : NULL;
	} else {
		cq = ibv_create_cq(e->id->verbs, o->cqe, NULL, e->cc, 0);
	}
	CHECK(cq, "create_cq: %m");
	return cq;
}

static struct ibv_srq *make_srq(const struct opts *o, struct end *e)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = o->srq, .max_sge = o->rsge },
	};
	struct ibv_srq *srq = ibv_create_srq(e->pd, &attr);

	CHECK(srq, "create_srq: %m");
	return srq;
}

static void create_objects(const struct opts *o, struct end *e)
{
	if (e->pd)
		return;		/* the end uses objects of another pair */
	e->pd = ibv_alloc_pd(e->id->verbs);
	CHECK(e->pd, "%m");
	if (o->events) {
		e->cc = ibv_create_comp_channel(e->id->verbs);
		CHECK(e->cc, "%m");
	}
	e->scq = make_cq(o, e);
	e->rcq = make_cq(o, e);
}

void pair_create_qp(struct pair *p, struct end *e)
{
	const struct opts *o = &p->o;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = o->sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.cap = {
			.max_send_wr = o->sq,
			.max_recv_wr = o->rq,
			.max_send_sge = o->ssge,
			.max_recv_sge = o->rsge,
			.max_inline_data = o->inl,
		},
	};

	create_objects(o, e);
	if (o->srq && e == &p->s && !e->srq)
		e->srq = make_srq(o, e);
	attr.srq = e->srq;
	attr.pd = e->pd;
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	if (o->send_ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = o->send_ops;
	}
	CHECK(!rdma_create_qp_ex(e->id, &attr), "rdma_create_qp: %m");
	e->qp = e->id->qp;
}

void pair_prepare(struct pair *p, const struct opts *o)
{
	p->o = *o;
	set_defaults(&p->o);
	start_listening(p);
	p->c.ch = create_channel();
	p->c.id = create_id(p->c.ch, setting.client_ns);
	resolve_addr_and_route(p);
	pair_create_qp(p, &p->c);
}

void pair_connect_async(struct pair *p)
{
	struct rdma_conn_param param = {
		.responder_resources = p->o.ird,
		.initiator_depth = p->o.ord,
		.private_data = p->o.hello,
		.private_data_len = p->o.hello_len,
	};

	CHECK(!rdma_connect(p->c.id, &param), "%m");
}

void pair_request(struct pair *p)
{
	pair_connect_async(p);
	pair_expect_event(p, p->lch, RDMA_CM_EVENT_CONNECT_REQUEST);
	p->s.ch = p->lch;
	p->s.id = p->ev.id;
}

void pair_accept(struct pair *p)
{
	struct rdma_conn_param param = {
		.responder_resources = p->o.s_ird,
		.initiator_depth = p->o.s_ord,
		.private_data = p->o.welcome,
		.private_data_len = p->o.welcome_len,
	};

	CHECK(!rdma_accept(p->s.id, &param), "%m");
	pair_expect_event(p, p->lch, RDMA_CM_EVENT_ESTABLISHED);
	pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_ESTABLISHED);
}

void pair_open(struct pair *p, const struct opts *o)
{
	memset(p, 0, sizeof(*p));
	pair_prepare(p, o);
	pair_request(p);
	pair_create_qp(p, &p->s);
	pair_accept(p);
}

static void borrow_objects(struct end *e, const struct end *from)
{
	e->pd = from->pd;
	e->scq = from->scq;
	e->rcq = from->rcq;
	e->srq = from->srq;
	e->lent = true;
}

void pair_open_like(struct pair *p, const struct pair *like)
{
	memset(p, 0, sizeof(*p));
	borrow_objects(&p->c, &like->c);
	borrow_objects(&p->s, &like->s);
	pair_prepare(p, &like->o);
	pair_request(p);
	pair_create_qp(p, &p->s);
	pair_accept(p);
}

void pair_disconnect(struct pair *p)
{
	CHECK(!rdma_disconnect(p->c.id), "%m");
	pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(p, p->lch, RDMA_CM_EVENT_DISCONNECTED);
}

static void destroy_end(struct end *e)
{
	if (e->qp)
		rdma_destroy_qp(e->id);
	if (e->id)
		CHECK(!rdma_destroy_id(e->id), "%m");
	if (e->lent || !e->pd)
		return;
	if (e->srq)
		CHECK(!ibv_destroy_srq(e->srq), "%m");
	CHECK(!ibv_destroy_cq(e->scq), "%m");
	CHECK(!ibv_destroy_cq(e->rcq), "%m");
	if (e->cc)
		CHECK(!ibv_destroy_comp_channel(e->cc), "%m");
	CHECK(!ibv_dealloc_pd(e->pd), "%m");
}

void pair_free(struct pair *p)
{
	destroy_end(&p->c);
	destroy_end(&p->s);
	CHECK(!rdma_destroy_id(p->listen), "%m");
	rdma_destroy_event_channel(p->lch);
	rdma_destroy_event_channel(p->c.ch);
	memset(p, 0, sizeof(*p));
}

void pair_close(struct pair *p)
{
	pair_disconnect(p);
	pair_free(p);
}

/* Send an empty message.  The receive has a buffer of one byte, because siw needs a buffer. */
static void send_empty_message(const struct end *from, const struct end *to, uint64_t id)
{
	struct buf b;

	buf_create(&b, 1);
	buf_reg(&b, to->pd, IBV_ACCESS_LOCAL_WRITE);
	post_recv(to, id, &b, 0, 1);
	post_send(from, id, NULL, 0, 0);
	expect_recv(to->rcq, id, 0);
	expect_success(from->scq, id, IBV_WC_SEND);
	buf_free(&b);
}

void wait_until_idle(void)
{
	struct pair p;

	pair_open(&p, &(struct opts){});
	send_empty_message(&p.c, &p.s, 1);
	send_empty_message(&p.s, &p.c, 2);
	pair_close(&p);
}

void move_to_error(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	CHECK(!ibv_modify_qp(e->qp, &attr, IBV_QP_STATE), "%m");
}

int query_qp_state(const struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK(!ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init), "%m");
	return attr.qp_state;
}

void fixture_open(struct fixture *d, const struct opts *o, size_t len)
{
	pair_open(&d->p, o);
	buf_create(&d->c, len);
	buf_create(&d->s, len);
	buf_reg(&d->c, d->p.c.pd, RIGHTS_ALL);
	buf_reg(&d->s, d->p.s.pd, RIGHTS_ALL);
}

void fixture_free(struct fixture *d)
{
	buf_free(&d->c);
	buf_free(&d->s);
	pair_free(&d->p);
}

void fixture_close(struct fixture *d)
{
	pair_disconnect(&d->p);
	fixture_free(d);
}
