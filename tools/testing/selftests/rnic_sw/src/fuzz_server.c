// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Test server that wire_fuzz.py attacks.  It runs on the tested device, accepts all connections,
 * with receives posted and memory registered, sends some messages itself, and cleans up after
 * connections however they end.
 *
 * It reads commands as lines of text and replies to each with "ok ..." or "err ...".  For a
 * connection of the peer, the first byte of the Private Data gives the server's actions (enum
 * action); for a connection to the peer, an argument of the command "call" gives them.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define CONNS		64
#define LISTENERS	16
#define RECVS		6	/* posted on each connection */
#define READS		4
#define LEN		512	/* length of a receive, and maximum length of a Read */
#define SLOT		600	/* distance of buffers; the bytes between them stay unwritten */
#define GUARD		4096
#define FILL		0x5a
#define LINE		256
#define THEIR_STAG	0x1111	/* the raw peer accepts any STag */

enum action {
	ACT_SEND	= 0x01,
	ACT_WRITE	= 0x02,
	ACT_READ	= 0x04,
	ACT_ATOMIC	= 0x08,
	ACT_DISCONNECT	= 0x10,	/* disconnect as soon as the connection is established */
	ACT_DESTROY	= 0x20,	/* like ACT_DISCONNECT, but destroy the QP */
	ACT_REJECT	= 0x40,
	ACT_IGNORE	= 0x80,	/* destroy the request */
};

#define REMOTE_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* Registered memory between guard areas */
static struct area {
	const char	*name;
	size_t		len;
	int		access;
	bool		foreign;	/* in another PD than the QPs */
	bool		constant;	/* the peer must not change any byte */
	bool		slots;		/* only the first LEN bytes of each SLOT may change */
	uint8_t		*base;
	struct ibv_mr	*mr;
} areas[] = {
	{ .name = "target", .len = 8192, .access = REMOTE_ALL },
	{ .name = "source", .len = 4000, .access = IBV_ACCESS_REMOTE_READ,
	  .constant = true },
	{ .name = "local", .len = 4000, .access = IBV_ACCESS_LOCAL_WRITE,
	  .constant = true },
	{ .name = "foreign", .len = 4000, .access = REMOTE_ALL,
	  .foreign = true, .constant = true },
	{ .name = "inbox", .len = CONNS * RECVS * SLOT,
	  .access = IBV_ACCESS_LOCAL_WRITE, .slots = true },
	{ .name = "sink", .len = CONNS * READS * SLOT,
	  .access = IBV_ACCESS_LOCAL_WRITE, .slots = true },
};

enum { TARGET, SOURCE, LOCAL, FOREIGN, INBOX, SINK, AREAS };

static struct conn {
	struct rdma_cm_id	*id;
	bool			has_qp;
	uint32_t		qpn;
	uint8_t			actions;
	uint8_t			told[3];	/* Private Data of the connection request */
} conns[CONNS];

static struct ibv_context *ctx;
static struct ibv_pd *pds[2];
static struct ibv_comp_channel *comp;
static struct ibv_cq *cq;
static struct rdma_event_channel *chan;
static struct rdma_cm_id *listeners[LISTENERS];
static int nlisteners;
static unsigned long qps, established, received, done, flushed, asyncs;

static void print_reply(int failed, const char *what)
{
	if (failed)
		printf("err %d %s: %s\n", errno, what, strerror(errno));
	else
		printf("ok\n");
}

/* Memory ------------------------------------------------------------------ */

static uint8_t *get_area_data(const struct area *a)
{
	return a->base + GUARD;
}

static bool create_area(struct area *a)
{
	size_t all = a->len + 2 * GUARD;

	a->base = malloc(all);
	if (!a->base)
		return false;
	memset(a->base, FILL, all);
	a->mr = ibv_reg_mr(pds[a->foreign], get_area_data(a), a->len, a->access);
	return a->mr;
}

static bool is_filled(const uint8_t *p, size_t len)
{
	return p[0] == FILL && !memcmp(p, p + 1, len - 1);
}

static bool is_intact(const struct area *a)
{
	const uint8_t *data = get_area_data(a);
	bool good = is_filled(a->base, GUARD) &&
		    is_filled(data + a->len, GUARD);
	size_t at;

	if (a->constant)
		good &= is_filled(data, a->len);
	for (at = 0; a->slots && at < a->len; at += SLOT)
		good &= is_filled(data + at + LEN, SLOT - LEN);
	return good;
}

/* check: print the names of the areas in which bytes have changed that no peer may write */
static void run_check_command(char **w)
{
	int i;

	(void)w;
	printf("ok");
	for (i = 0; i < AREAS; i++)
		if (!is_intact(&areas[i]))
			printf(" %s", areas[i].name);
	printf("\n");
}

/* areas: print NAME ADDRESS LENGTH KEY of each area */
static void run_areas_command(char **w)
{
	int i;

	(void)w;
	printf("ok");
	for (i = 0; i < AREAS; i++)
		printf(" %s %llu %zu %u", areas[i].name,
		       (unsigned long long)(uintptr_t)get_area_data(&areas[i]),
		       areas[i].len, areas[i].mr->rkey);
	printf("\n");
}

/* Connections ------------------------------------------------------------- */

static struct conn *allocate_conn(struct rdma_cm_id *id, uint8_t actions)
{
	struct conn *c = conns;

	while (c < conns + CONNS && c->id)
		c++;
	if (c == conns + CONNS)
		return NULL;
	*c = (struct conn){ .id = id, .actions = actions };
	id->context = c;
	return c;
}

static void destroy_conn(struct conn *c)
{
	if (c->has_qp)
		rdma_destroy_qp(c->id);
	rdma_destroy_id(c->id);
	c->has_qp = false;
	c->id = NULL;
}

static struct ibv_sge make_sge(int area, uint32_t offset, uint32_t len)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)get_area_data(&areas[area]) + offset,
		.length = len,
		.lkey = areas[area].mr->lkey,
	};
}

static void post_recv(struct conn *c, uint32_t slot)
{
	struct ibv_sge sge = make_sge(INBOX, slot * SLOT, LEN);
	struct ibv_recv_wr *bad, wr = {
		.wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	ibv_post_recv(c->id->qp, &wr, &bad);
}

static bool create_qp_and_post_recvs(struct conn *c)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 16,
			.max_recv_wr = RECVS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr rights = { .qp_access_flags = REMOTE_ALL };
	uint32_t i;

	if (rdma_create_qp(c->id, pds[0], &attr))
		return false;
	qps++;
	c->has_qp = true;
	c->qpn = c->id->qp->qp_num;
	ibv_modify_qp(c->id->qp, &rights, IBV_QP_ACCESS_FLAGS);
	for (i = 0; i < RECVS; i++)
		post_recv(c, (c - conns) * RECVS + i);
	return true;
}

static void post_request(struct conn *c, enum ibv_wr_opcode op, struct ibv_sge sge)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = ~0ull,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = 64;
		wr.wr.atomic.rkey = THEIR_STAG;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = 64;
		wr.wr.rdma.rkey = THEIR_STAG;
	}
	ibv_post_send(c->id->qp, &wr, &bad);
}

/*
 * Check whether the ORD permits a Read: if the ORD is 0, posting a Read would be an error of this
 * program
 */
static bool can_post_reads(struct conn *c)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !ibv_query_qp(c->id->qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC,
			     &init) && attr.max_rd_atomic;
}

static void do_established_actions(struct conn *c)
{
	uint32_t slot = (c - conns) * READS * SLOT;

	established++;
	if (c->actions & (ACT_READ | ACT_ATOMIC) && !can_post_reads(c))
		c->actions &= ~(ACT_READ | ACT_ATOMIC);
	if (c->actions & ACT_WRITE)
		post_request(c, IBV_WR_RDMA_WRITE, make_sge(SOURCE, 0, 700));
	if (c->actions & ACT_SEND)
		post_request(c, IBV_WR_SEND, make_sge(SOURCE, 0, 100));
	if (c->actions & ACT_READ) {
		post_request(c, IBV_WR_RDMA_READ, make_sge(SINK, slot, LEN));
		post_request(c, IBV_WR_RDMA_READ, make_sge(SINK, slot + SLOT, 40));
	}
	if (c->actions & ACT_ATOMIC)
		post_request(c, IBV_WR_ATOMIC_FETCH_AND_ADD,
			     make_sge(SINK, slot + 2 * SLOT, 8));
	if (c->actions & ACT_DISCONNECT)
		rdma_disconnect(c->id);
	if (c->actions & ACT_DESTROY)
		destroy_conn(c);
}

static struct rdma_conn_param terms = {
	.initiator_depth = 4,
	.responder_resources = 4,
	.retry_count = 7,
};

static void accept_request(struct rdma_cm_id *id, uint8_t actions)
{
	struct conn *c = allocate_conn(id, actions);

	if (!c) {
		rdma_destroy_id(id);
		return;
	}
	if (actions & ACT_REJECT)
		rdma_reject(id, "no", 2);
	if (actions & (ACT_REJECT | ACT_IGNORE) || !create_qp_and_post_recvs(c) ||
	    rdma_accept(id, &terms))
		destroy_conn(c);
}

static struct sockaddr_storage parse_address(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct sockaddr_storage out = {};
	struct addrinfo *info;

	if (!getaddrinfo(host, port, &hints, &info)) {
		memcpy(&out, info->ai_addr, info->ai_addrlen);
		freeaddrinfo(info);
	}
	return out;
}

/* listen ADDRESS PORT */
static void run_listen_command(char **w)
{
	struct sockaddr_storage a = parse_address(w[1], w[2]);
	struct rdma_cm_id **id = &listeners[nlisteners];

	if (nlisteners == LISTENERS ||
	    rdma_create_id(chan, id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(*id, (struct sockaddr *)&a) ||
	    rdma_listen(*id, CONNS))
		print_reply(1, "listen");
	else
		printf("ok %d\n", nlisteners++);
}

/*
 * Set the Private Data of the connection request: the actions, and the number of the command. The
 * peer needs the number, because connections may reach it in another order than the commands.
 */
static void set_request_private_data(struct conn *c, int actions, int number)
{
	c->told[0] = actions;
	c->told[1] = number >> 8;
	c->told[2] = number;
}

/* call ADDRESS PORT ACTIONS [NUMBER] */
static void run_call_command(char **w)
{
	struct sockaddr_storage a = parse_address(w[1], w[2]);
	struct rdma_cm_id *id;
	struct conn *c;

	if (rdma_create_id(chan, &id, NULL, RDMA_PS_TCP)) {
		print_reply(1, "call");
		return;
	}
	c = allocate_conn(id, atoi(w[3]) & ~(ACT_REJECT | ACT_IGNORE));
	if (c)
		set_request_private_data(c, atoi(w[3]), w[4] ? atoi(w[4]) : 0);
	if (!c || rdma_resolve_addr(id, NULL, (struct sockaddr *)&a, 2000)) {
		print_reply(1, "call");
		rdma_destroy_id(id);
		if (c)
			c->id = NULL;
		return;
	}
	printf("ok\n");
}

/* stat: print the number of connections, then the counts of events */
static void run_stat_command(char **w)
{
	int i, live = 0;

	(void)w;
	for (i = 0; i < CONNS; i++)
		live += !!conns[i].id;
	printf("ok %d %lu %lu %lu %lu %lu %lu\n", live, qps, established,
	       received, done, flushed, asyncs);
}

/* Events ------------------------------------------------------------------ */

static void count_completion_and_repost(const struct ibv_wc *wc)
{
	struct conn *c = conns;

	if (wc->status) {
		flushed++;
		return;
	}
	if (!(wc->opcode & IBV_WC_RECV)) {
		done++;
		return;
	}
	received++;
	while (c < conns + CONNS && !(c->has_qp && c->qpn == wc->qp_num))
		c++;
	if (c < conns + CONNS)
		post_recv(c, wc->wr_id);
}

static void count_completions_and_repost(void)
{
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *context;

	if (ibv_get_cq_event(comp, &which, &context))
		return;
	ibv_ack_cq_events(which, 1);
	ibv_req_notify_cq(which, 0);
	while (ibv_poll_cq(which, 1, &wc) == 1)
		count_completion_and_repost(&wc);
}

static void read_async_event(void)
{
	struct ibv_async_event ev;

	if (ibv_get_async_event(ctx, &ev))
		return;
	asyncs++;
	ibv_ack_async_event(&ev);
}

static int start_connect(struct conn *c)
{
	struct rdma_conn_param param = terms;

	param.private_data = c->told;
	param.private_data_len = sizeof(c->told);
	return rdma_connect(c->id, &param);
}

/* Return: true if the connection continues, false if it has ended */
static bool continue_connect(struct conn *c, enum rdma_cm_event_type what)
{
	switch (what) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return !rdma_resolve_route(c->id, 2000);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return create_qp_and_post_recvs(c) && !start_connect(c);
	case RDMA_CM_EVENT_ESTABLISHED:
		do_established_actions(c);
		return true;
	default:
		return false;
	}
}

static void handle_cm_event(void)
{
	enum rdma_cm_event_type what;
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	struct conn *c;
	uint8_t actions = 0;

	if (rdma_get_cm_event(chan, &ev))
		return;
	what = ev->event;
	id = ev->id;
	c = id->context;
	if (ev->param.conn.private_data_len)
		actions = *(const uint8_t *)ev->param.conn.private_data;
	rdma_ack_cm_event(ev);
	if (what == RDMA_CM_EVENT_CONNECT_REQUEST)
		accept_request(id, actions);
	else if (c && c->id && !continue_connect(c, what))
		destroy_conn(c);
}

/* The loop ---------------------------------------------------------------- */

static const struct command {
	const char	*name;
	int		words;
	void		(*run)(char **w);
} commands[] = {
	{ "listen", 3, run_listen_command },
	{ "call", 4, run_call_command },
	{ "areas", 1, run_areas_command },
	{ "check", 1, run_check_command },
	{ "stat", 1, run_stat_command },
	{}
};

static void run_command(char *line)
{
	const struct command *cmd = commands;
	char *w[5] = {};
	int n = 0;

	for (char *p = strtok(line, " \n"); p && n < 5; p = strtok(NULL, " \n"))
		w[n++] = p;
	while (cmd->name && (!n || strcmp(cmd->name, w[0])))
		cmd++;
	if (cmd->name && n >= cmd->words)
		cmd->run(w);
	else
		printf("err 0 no such command\n");
	fflush(stdout);
}

/* Read one command. Only one can be pending, because the sender waits for the reply. */
static bool read_and_run_command(void)
{
	char line[LINE];
	ssize_t n = read(0, line, sizeof(line) - 1);

	if (n <= 0)
		return false;
	line[n] = 0;
	run_command(line);
	return true;
}

static void run_event_loop(void)
{
	struct pollfd fds[] = {
		{ .fd = 0, .events = POLLIN },
		{ .fd = chan->fd, .events = POLLIN },
		{ .fd = comp->fd, .events = POLLIN },
		{ .fd = ctx->async_fd, .events = POLLIN },
	};

	while (poll(fds, 4, -1) >= 0) {
		if (fds[2].revents)
			count_completions_and_repost();
		if (fds[3].revents)
			read_async_event();
		if (fds[1].revents)
			handle_cm_event();
		if (fds[0].revents && !read_and_run_command())
			return;
	}
}

static bool open_device_and_create_areas(const char *name)
{
	struct ibv_context **all = rdma_get_devices(NULL);
	int i;

	for (; all && *all && !ctx; all++)
		if (!strcmp(ibv_get_device_name((*all)->device), name))
			ctx = *all;
	if (!ctx)
		return false;
	chan = rdma_create_event_channel();
	pds[0] = ibv_alloc_pd(ctx);
	pds[1] = ibv_alloc_pd(ctx);
	comp = ibv_create_comp_channel(ctx);
	cq = comp ? ibv_create_cq(ctx, 8192, NULL, comp, 0) : NULL;
	if (!chan || !pds[0] || !pds[1] || !cq)
		return false;
	for (i = 0; i < AREAS; i++)
		if (!create_area(&areas[i]))
			return false;
	return !ibv_req_notify_cq(cq, 0);
}

int main(int argc, char **argv)
{
	if (argc != 2 || !open_device_and_create_areas(argv[1])) {
		fprintf(stderr, "fuzz_server: cannot open device %s: %s\n",
			argc == 2 ? argv[1] : "named", strerror(errno));
		return 1;
	}
	print_reply(0, "");
	fflush(stdout);
	run_event_loop();
	return 0;
}
