// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Test server for the raw peer: makes calls of verbs and rdma_cm on the tested device.
 *
 * It reads commands as lines of text and replies to each with "ok ..." or "err ...".  Each event is
 * reported in a separate line: "cm ...", "wc ...", "async ...".  Connections, MRs and listeners are
 * referred to by number.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "direct_verbs.h"
#include "raw_server.h"

#define CONNS		4096
#define WORDS		12
#define PD_MAX		256		/* maximum length of Private Data, in bytes */
#define LINE		16384
#define DEPTH		64
#define PATIENCE	10000		/* in milliseconds */

static struct ibv_context *ctx;
struct ibv_pd *pds[2];
static struct ibv_comp_channel *comp;
static int comp_fd, async_fd;	/* -1: the descriptor has failed and is not polled */
static struct ibv_cq *cq;
static struct conn conns[CONNS];
static int nconns;
static bool solicited_only;

void print_error(const char *what)
{
	printf("err %d %s: %s\n", errno, what, strerror(errno));
}

void print_reply(int failed, const char *what)
{
	if (failed)
		print_error(what);
	else
		printf("ok\n");
}

void print_hex(const void *data, size_t len)
{
	const uint8_t *p = data;

	if (!len)
		putchar('-');
	while (len--)
		printf("%02x", *p++);
}

size_t parse_hex(const char *text, uint8_t *out, size_t max)
{
	size_t n = 0;
	unsigned int v;

	while (n < max && sscanf(text + 2 * n, "%2x", &v) == 1)
		out[n++] = v;
	return n;
}

struct sockaddr_storage parse_address(const char *host, const char *port)
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

/* Connections ------------------------------------------------------------- */

struct conn *find_conn(const char *word)
{
	int n = atoi(word);

	return n >= 0 && n < nconns && (conns[n].id || conns[n].qp) ? &conns[n] : NULL;
}

struct conn *add_conn(void)
{
	if (nconns == CONNS) {
		errno = ENOSPC;
		return NULL;
	}
	return &conns[nconns++];
}

int get_conn_number(const struct conn *c)
{
	return c - conns;
}

struct ibv_qp_init_attr make_qp_attr(void)
{
	return (struct ibv_qp_init_attr){
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 2,
			.max_recv_sge = 2,
		},
		.qp_type = IBV_QPT_RC,
	};
}

static int create_qp(struct conn *c)
{
	struct ibv_qp_init_attr attr = make_qp_attr();

	if (rdma_create_qp(c->id, pds[0], &attr))
		return -1;
	c->qp = c->id->qp;
	c->qpn = c->qp->qp_num;
	return 0;
}

static struct conn *create_conn_with_id(void)
{
	struct rdma_event_channel *chan = rdma_create_event_channel();
	struct conn *c = chan ? add_conn() : NULL;

	if (!c)
		return NULL;
	if (rdma_create_id(chan, &c->id, NULL, RDMA_PS_TCP))
		return NULL;
	c->chan = chan;
	return c;
}

/* listen ADDRESS PORT */
static void run_listen_command(char **w)
{
	struct sockaddr_storage a = parse_address(w[1], w[2]);
	struct conn *c = create_conn_with_id();

	if (!c || rdma_bind_addr(c->id, (struct sockaddr *)&a) ||
	    rdma_listen(c->id, 64))
		print_error("listen");
	else
		printf("ok %d\n", get_conn_number(c));
}

static int wait_cm_event(struct conn *c, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;
	int ok;

	if (rdma_get_cm_event(c->chan, &ev))
		return -1;
	ok = ev->event == want;
	rdma_ack_cm_event(ev);
	if (!ok)
		errno = EHOSTUNREACH;
	return ok ? 0 : -1;
}

/*
 * Bind to the source address FROM PORT, and set the type of service TOS. Without these arguments do
 * nothing: the kernel then chooses the source address.
 */
static int bind_source_and_set_tos(struct conn *c, char **w)
{
	struct sockaddr_storage from;
	uint8_t tos;

	if (!w[0] || !w[1] || !w[2])
		return 0;
	from = parse_address(w[0], w[1]);
	tos = atoi(w[2]);
	return rdma_set_option(c->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos,
			       sizeof(tos)) ||
	       rdma_bind_addr(c->id, (struct sockaddr *)&from);
}

/* open ADDRESS PORT [FROM PORT TOS]: resolve the address and create the QP, but do not connect */
static void run_open_command(char **w)
{
	struct sockaddr_storage a = parse_address(w[1], w[2]);
	struct conn *c = create_conn_with_id();

	if (!c || bind_source_and_set_tos(c, w + 3) ||
	    rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&a, PATIENCE) ||
	    wait_cm_event(c, RDMA_CM_EVENT_ADDR_RESOLVED) ||
	    rdma_resolve_route(c->id, PATIENCE) ||
	    wait_cm_event(c, RDMA_CM_EVENT_ROUTE_RESOLVED) || create_qp(c))
		print_error("open");
	else
		printf("ok %d\n", get_conn_number(c));
}

static struct rdma_conn_param parse_conn_param(char **w, uint8_t *pd)
{
	struct rdma_conn_param p = {
		.initiator_depth = atoi(w[2]),
		.responder_resources = atoi(w[3]),
		.private_data = pd,
		.private_data_len = parse_hex(w[4] ? w[4] : "", pd, PD_MAX),
		.retry_count = 7,
	};

	return p;
}

/* connect CONN ORD IRD [HEX] */
static void run_connect_command(char **w)
{
	struct conn *c = find_conn(w[1]);
	uint8_t pd[PD_MAX];
	struct rdma_conn_param p = parse_conn_param(w, pd);

	print_reply(rdma_connect(c->id, &p), "connect");
}

/* accept CONN ORD IRD [HEX] */
static void run_accept_command(char **w)
{
	struct conn *c = find_conn(w[1]);
	uint8_t pd[PD_MAX];
	struct rdma_conn_param p = parse_conn_param(w, pd);

	print_reply(rdma_accept(c->id, &p), "accept");
}

/* reject CONN [HEX] */
static void run_reject_command(char **w)
{
	struct conn *c = find_conn(w[1]);
	uint8_t pd[PD_MAX];
	size_t len = parse_hex(w[2] ? w[2] : "", pd, PD_MAX);

	print_reply(rdma_reject(c->id, pd, len), "reject");
}

static void run_disconnect_command(char **w)
{
	print_reply(rdma_disconnect(find_conn(w[1])->id), "disconnect");
}

static void run_destroy_command(char **w)
{
	struct conn *c = find_conn(w[1]);

	if (c->id && c->qp)
		rdma_destroy_qp(c->id);
	print_reply(c->id ? rdma_destroy_id(c->id) : ibv_destroy_qp(c->qp), "destroy");
	if (c->chan)
		rdma_destroy_event_channel(c->chan);
	*c = (struct conn){};
}

/* state CONN: print the state of the QP, its ORD and its IRD */
static void run_state_command(char **w)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(find_conn(w[1])->qp, &attr, IBV_QP_STATE, &init))
		print_error("query");
	else
		printf("ok %d %d %d\n", attr.qp_state, attr.max_rd_atomic,
		       attr.max_dest_rd_atomic);
}

/* peer CONN: print what the peer has sent at start-up: FLAGS LLP REVISION IRD ORD HEX */
static void run_peer_command(char **w)
{
	struct dv_conn conn = {};
	dv_query_conn_fn *query;

	*(void **)&query = find_direct_verb("rnic_sw_dv_query_conn");
	errno = query ? query(find_conn(w[1])->qp, &conn) : ENOSYS;
	if (errno) {
		print_error("peer");
		return;
	}
	printf("ok %u %u %u %u %u ", conn.flags, conn.llp, conn.revision, conn.ird, conn.ord);
	print_hex(conn.private_data, conn.private_data_len);
	putchar('\n');
}

/* rights CONN RIGHTS: set the access that the QP grants to the peer */
static void run_rights_command(char **w)
{
	struct ibv_qp_attr attr = { .qp_access_flags = parse_rights(w[2]) };

	print_reply(ibv_modify_qp(find_conn(w[1])->qp, &attr,
				  IBV_QP_ACCESS_FLAGS), "rights");
}

/* solicited 0|1: after the next event, request events for all completions, or for solicited ones */
static void run_solicited_command(char **w)
{
	solicited_only = atoi(w[1]);
	printf("ok\n");
}

/* sync: reply after all earlier events have been reported, see run_event_loop() */
static void run_sync_command(char **w)
{
	(void)w;
	printf("ok\n");
}

/* Events ------------------------------------------------------------------ */

static int find_conn_number_by_qpn(uint32_t qpn)
{
	int n = nconns;

	while (n--)
		if (conns[n].qp && conns[n].qpn == qpn)
			break;
	return n;
}

/* wc CONN WRID STATUS OPCODE LENGTH FLAGS IMMEDIATE VENDOR-ERROR */
static void report_completion(const struct ibv_wc *wc)
{
	bool good = wc->status == IBV_WC_SUCCESS;
	bool imm = good && wc->wc_flags & IBV_WC_WITH_IMM;

	printf("wc %d %d %d %d %u %x %x %x\n", find_conn_number_by_qpn(wc->qp_num),
	       (int)wc->wr_id, wc->status, good ? (int)wc->opcode : -1,
	       good ? wc->byte_len : 0, good ? wc->wc_flags : 0,
	       imm ? ntohl(wc->imm_data) : 0, good ? 0 : wc->vendor_err);
}

/*
 * Report all completions in the CQ, even if there is no completion event, because events may be
 * lost after removal of the device
 */
static void report_completions(void)
{
	struct ibv_wc wc;
	struct ibv_cq *which;
	void *context;

	if (ibv_get_cq_event(comp, &which, &context)) {
		comp_fd = -1;
	} else {
		ibv_ack_cq_events(cq, 1);
		ibv_req_notify_cq(cq, solicited_only);
	}
	while (ibv_poll_cq(cq, 1, &wc) == 1)
		report_completion(&wc);
}

static void report_async_event(void)
{
	struct ibv_async_event ev;
	int conn = -1;

	if (ibv_get_async_event(ctx, &ev)) {
		async_fd = -1;
		return;
	}
	if (ev.event_type <= IBV_EVENT_PATH_MIG_ERR)
		conn = find_conn_number_by_qpn(ev.element.qp->qp_num);
	printf("async %d %d %s\n", conn, ev.event_type,
	       ibv_event_type_str(ev.event_type));
	ibv_ack_async_event(&ev);
}

static struct conn *add_request(struct rdma_cm_event *ev)
{
	struct conn *c = add_conn();

	if (!c)
		return NULL;
	c->id = ev->id;
	if (create_qp(c))
		return NULL;
	return c;
}

static int find_conn_number_by_id(const struct rdma_cm_id *id)
{
	int n = nconns;

	while (n--)
		if (conns[n].id == id)
			break;
	return n;
}

/* cm CONN EVENT STATUS ORD IRD HEX [LISTENER] */
static void report_cm_event(struct rdma_event_channel *chan)
{
	struct rdma_cm_event *ev;
	struct conn *c;
	int n, listener = -1;

	if (rdma_get_cm_event(chan, &ev))
		return;
	n = find_conn_number_by_id(ev->id);
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		listener = find_conn_number_by_id(ev->listen_id);
		c = add_request(ev);
		n = c ? get_conn_number(c) : -1;
	}
	printf("cm %d %s %d %d %d ", n,
	       rdma_event_str(ev->event) + strlen("RDMA_CM_EVENT_"),
	       ev->status, ev->param.conn.initiator_depth,
	       ev->param.conn.responder_resources);
	print_hex(ev->param.conn.private_data,
		  ev->param.conn.private_data_len);
	printf(" %d\n", listener);
	rdma_ack_cm_event(ev);
}

/* The loop ---------------------------------------------------------------- */

static const struct command {
	const char	*name;
	int		words;
	int		conn;		/* index of the word that is a connection; 0: none */
	int		region;
	void		(*run)(char **w);
} commands[] = {
	{ "listen", 3, 0, 0, run_listen_command },
	{ "open", 3, 0, 0, run_open_command },
	{ "connect", 4, 1, 0, run_connect_command },
	{ "accept", 4, 1, 0, run_accept_command },
	{ "reject", 2, 1, 0, run_reject_command },
	{ "disconnect", 2, 1, 0, run_disconnect_command },
	{ "destroy", 2, 1, 0, run_destroy_command },
	{ "state", 2, 1, 0, run_state_command },
	{ "peer", 2, 1, 0, run_peer_command },
	{ "rights", 3, 1, 0, run_rights_command },
	{ "solicited", 2, 0, 0, run_solicited_command },
	{ "open-qp", 2, 0, 0, run_open_qp_command },
	{ "rtr", 7, 1, 0, run_rtr_command },
	{ "rts", 6, 1, 0, run_rts_command },
	{ "error", 2, 1, 0, run_error_command },
	{ "sync", 1, 0, 0, run_sync_command },
	{ "mr", 5, 0, 0, run_mr_command },
	{ "dereg", 2, 0, 1, run_dereg_command },
	{ "bind", 5, 1, 2, run_bind_command },
	{ "put", 4, 0, 1, run_put_command },
	{ "get", 4, 0, 1, run_get_command },
	{ "fill", 2, 0, 1, run_fill_command },
	{ "hash", 2, 0, 1, run_hash_command },
	{ "recv", 6, 1, 2, run_recv_command },
	{ "send", 6, 1, 2, run_post_command },
	{ "sendinv", 8, 1, 2, run_post_command },
	{ "write", 8, 1, 2, run_post_command },
	{ "read", 8, 1, 2, run_post_command },
	{ "writeimm", 10, 1, 2, run_post_command },
	{ "fetchadd", 10, 1, 2, run_post_command },
	{ "cmpswap", 11, 1, 2, run_post_command },
	{}
};

static bool is_valid_command(const struct command *cmd, char **w, int words)
{
	if (words < cmd->words)
		return false;
	if (cmd->conn && !find_conn(w[cmd->conn]))
		return false;
	return !cmd->region || find_region(w[cmd->region]);
}

static void run_command(char *line)
{
	const struct command *cmd = commands;
	char *w[WORDS + 1] = {};
	int n = 0;

	for (char *p = strtok(line, " \n"); p && n < WORDS;
	     p = strtok(NULL, " \n"))
		w[n++] = p;
	if (!n)
		return;
	while (cmd->name && strcmp(cmd->name, w[0]))
		cmd++;
	if (cmd->name && is_valid_command(cmd, w, n))
		cmd->run(w);
	else
		printf("err 0 no such command, connection or region\n");
}

/* Run all complete lines; an incomplete line stays in the buffer for the next call */
static bool read_and_run_commands(void)
{
	static char buf[LINE];
	static size_t have;
	char *end;
	ssize_t n;

	n = read(0, buf + have, sizeof(buf) - 1 - have);
	if (n <= 0)
		return false;
	have += n;
	buf[have] = 0;
	while ((end = memchr(buf, '\n', have))) {
		*end++ = 0;
		run_command(buf);
		have -= end - buf;
		memmove(buf, end, have + 1);
	}
	return true;
}

static int fill_pollfds(struct pollfd *fds)
{
	int n = 0;

	fds[n++] = (struct pollfd){ .fd = 0, .events = POLLIN };
	fds[n++] = (struct pollfd){ .fd = comp_fd, .events = POLLIN };
	fds[n++] = (struct pollfd){ .fd = async_fd, .events = POLLIN };
	for (int i = 0; i < nconns; i++)
		fds[n++] = (struct pollfd){
			.fd = conns[i].chan ? conns[i].chan->fd : -1,
			.events = POLLIN,
		};
	return n;
}

static void run_event_loop(void)
{
	struct pollfd fds[3 + CONNS];

	for (;;) {
		int n = fill_pollfds(fds);

		fflush(stdout);
		if (poll(fds, n, -1) < 0)
			return;
		if (fds[1].revents)
			report_completions();
		if (fds[2].revents)
			report_async_event();
		for (int i = 3; i < n; i++)
			if (fds[i].revents && conns[i - 3].chan)
				report_cm_event(conns[i - 3].chan);
		if (fds[0].revents && !read_and_run_commands())
			return;
	}
}

static int open_device(const char *name)
{
	struct ibv_context **all = rdma_get_devices(NULL);

	for (; all && *all && !ctx; all++)
		if (!strcmp(ibv_get_device_name((*all)->device), name))
			ctx = *all;
	if (!ctx)
		return -1;
	pds[0] = ibv_alloc_pd(ctx);
	pds[1] = ibv_alloc_pd(ctx);
	comp = ibv_create_comp_channel(ctx);
	cq = comp ? ibv_create_cq(ctx, 4096, NULL, comp, 0) : NULL;
	if (!pds[0] || !pds[1] || !cq)
		return -1;
	comp_fd = comp->fd;
	async_fd = ctx->async_fd;
	return ibv_req_notify_cq(cq, 0);
}

int main(int argc, char **argv)
{
	if (argc != 2 || open_device(argv[1])) {
		fprintf(stderr, "raw_server: cannot open device %s: %s\n",
			argc == 2 ? argv[1] : "named", strerror(errno));
		return 1;
	}
	printf("ok\n");
	run_event_loop();
	return 0;
}
