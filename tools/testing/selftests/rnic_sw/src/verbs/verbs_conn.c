// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connections: private data, IRD and ORD, attributes, and graceful ends. */
#include <arpa/inet.h>

#include "verbs.h"

static uint8_t words[256], answer[256];

static void fill_private_data(void)
{
	size_t i;

	for (i = 0; i < sizeof(words); i++) {
		words[i] = compute_pattern_byte(1, i);
		answer[i] = compute_pattern_byte(2, i);
	}
}

static void check_private_data(const struct pair *p, const uint8_t *what, size_t len)
{
	CHECK(p->ev.param.conn.private_data_len >= len, "%u bytes of %zu",
	      p->ev.param.conn.private_data_len, len);
	CHECK(!memcmp(p->said, what, len), "the bytes must be those that were sent");
}

static void test_private_data(void)
{
	static const uint8_t lens[] = { 0, 1, 4, 56, 57, 196, 251, 255 };
	struct pair p;
	size_t i;

	fill_private_data();
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		uint8_t back = lens[ARRAY_SIZE(lens) - 1 - i];

		memset(&p, 0, sizeof(p));
		pair_prepare(&p, &(struct opts){
			.hello = words, .hello_len = lens[i],
			.welcome = answer, .welcome_len = back });
		pair_request(&p);
		check_private_data(&p, words, lens[i]);
		CHECK(p.ev.param.conn.private_data_len == lens[i], "%u of %u",
		      p.ev.param.conn.private_data_len, lens[i]);
		pair_create_qp(&p, &p.s);
		pair_accept(&p);
		check_private_data(&p, answer, back);
		pair_close(&p);
	}
}

static void test_reject(void)
{
	static const uint8_t lens[] = { 0, 1, 3, 4, 5, 148, 255 };
	struct pair p;
	size_t i;

	fill_private_data();
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		memset(&p, 0, sizeof(p));
		pair_prepare(&p, &(struct opts){
			.hello = words, .hello_len = 20 });
		pair_request(&p);
		check_private_data(&p, words, 20);
		CHECK(!rdma_reject(p.s.id, answer, lens[i]), "%m");
		pair_expect_event(&p, p.c.ch, RDMA_CM_EVENT_REJECTED);
		CHECK(p.ev.status == -ECONNREFUSED, "%d", p.ev.status);
		check_private_data(&p, answer, lens[i]);
		pair_free(&p);
	}
}

static void test_nobody_listens(void)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){});
	CHECK(!rdma_destroy_id(p.listen), "%m");
	p.listen = NULL;
	pair_connect_async(&p);
	pair_expect_event(&p, p.c.ch, RDMA_CM_EVENT_REJECTED);
	CHECK(p.ev.status == -ECONNRESET, "%s", strerror(-p.ev.status));
	rdma_destroy_qp(p.c.id);
	CHECK(!rdma_destroy_id(p.c.id), "%m");
}

/* All messages that are posted before the disconnect must be sent */
static void disconnect_and_check_all_sent(uint32_t n, uint32_t len)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = n + 1, .rq = n + 1 }, n * len);
	buf_fill(&d.c, 0, n * len, len);
	for (i = 0; i < n; i++)
		post_recv(&d.p.s, i, &d.s, i * len, len);
	post_recv(&d.p.s, n, &d.s, 0, 1);
	for (i = 0; i < n; i++)
		post_send(&d.p.c, i, &d.c, i * len, len);
	CHECK(!rdma_disconnect(d.p.c.id), "%m");
	/*
	 * this request is posted after the disconnect, and must fail although earlier requests may
	 * not be sent yet
	 */
	post_send(&d.p.c, n, &d.c, 0, 1);
	for (i = 0; i < n; i++)
		expect_recv(d.p.s.rcq, i, len);
	for (i = 0; i < n; i++)
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
	expect_status(d.p.c.scq, n, IBV_WC_WR_FLUSH_ERR);
	expect_status(d.p.s.rcq, n, IBV_WC_WR_FLUSH_ERR);
	buf_expect_only_pattern(&d.s, 0, n * len, len);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	/* a request that is posted after the end of the connection must be flushed */
	post_send(&d.p.c, 500, &d.c, 0, 1);
	expect_status(d.p.c.scq, 500, IBV_WC_WR_FLUSH_ERR);
	fixture_free(&d);
}

/* Disconnect while messages of one, several and many segments are in the send queue */
static void test_disconnect_sends_all_posted(void)
{
	disconnect_and_check_all_sent(100, 7);
	disconnect_and_check_all_sent(100, 4001);
	disconnect_and_check_all_sent(60, 100001);
}

static void test_server_disconnect_sends_all_posted(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = 100, .rq = 100 }, 100000);
	for (i = 0; i < 100; i++)
		post_recv(&d.p.c, i, &d.c, i * 1000, 1000);
	buf_fill(&d.s, 0, 100000, 9);
	for (i = 0; i < 100; i++)
		post_send(&d.p.s, i, &d.s, i * 1000, 1000);
	CHECK(!rdma_disconnect(d.p.s.id), "%m");
	for (i = 0; i < 100; i++)
		expect_recv(d.p.c.rcq, i, 1000);
	buf_expect_only_pattern(&d.c, 0, 100000, 9);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	fixture_free(&d);
}

static void test_both_ends_disconnect_at_once(void)
{
	struct fixture d;
	int i;

	for (i = 0; i < 10; i++) {
		fixture_open(&d, &(struct opts){}, 100);
		post_recv(&d.p.c, 1, &d.c, 0, 100);
		post_recv(&d.p.s, 1, &d.s, 0, 100);
		post_send(&d.p.c, 2, &d.c, 0, 100);
		post_send(&d.p.s, 2, &d.s, 0, 100);
		CHECK(!rdma_disconnect(d.p.s.id), "%m");
		/* may fail, because this end may already have got the other end's disconnect */
		rdma_disconnect(d.p.c.id);
		pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
		pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
		CHECK(wait_next_wc(d.p.c.rcq).wr_id == 1, "receive");
		CHECK(wait_next_wc(d.p.s.rcq).wr_id == 1, "receive");
		expect_no_completion(d.p.c.rcq);
		fixture_free(&d);
	}
}

/* If the QP is destroyed without a disconnect, the peer must get the event of a disconnect */
static void test_destroyed_without_disconnect(void)
{
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 100);
	post_recv(&d.p.s, 4, &d.s, 0, 100);
	rdma_destroy_qp(d.p.c.id);
	d.p.c.qp = NULL;
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_status(d.p.s.rcq, 4, IBV_WC_WR_FLUSH_ERR);
	fixture_free(&d);
}

static void test_ipv6(void)
{
	struct fixture d;

	if (!setting.addr6)
		skip("no IPv6 address was given (-6)");
	fixture_open(&d, &(struct opts){ .addr = setting.addr6 }, 70000);
	buf_fill(&d.c, 0, 60001, 6);
	post_recv(&d.p.s, 1, &d.s, 3, 65000);
	post_send(&d.p.c, 2, &d.c, 0, 60001);
	expect_success(d.p.c.scq, 2, IBV_WC_SEND);
	expect_recv(d.p.s.rcq, 1, 60001);
	buf_expect_only_pattern(&d.s, 3, 60001, 6);
	CHECK(rdma_get_peer_addr(d.p.c.id)->sa_family == AF_INET6, "family");
	fixture_close(&d);
}

/* Check that @sa is an IPv4 address, and that it equals @addr if @addr is not NULL */
static void check_ipv4(const struct sockaddr *sa, const char *addr)
{
	char text[INET_ADDRSTRLEN] = "";

	CHECK(sa->sa_family == AF_INET, "family %d", sa->sa_family);
	inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, text,
		  sizeof(text));
	CHECK(!addr || !strcmp(text, addr), "%s, not %s", text, addr);
}

/*
 * A wildcard IPv6 listener accepts IPv4 connections and reports IPv4 addresses.  Over SCTP the
 * client's port is that of its association, which another connection may have set up, so the ports
 * may differ.
 */
static void test_any_address(void)
{
	struct pair p;

	pair_open(&p, &(struct opts){ .at = "::" });
	check_ipv4(rdma_get_local_addr(p.s.id), setting.addr);
	check_ipv4(rdma_get_peer_addr(p.s.id), NULL);
	check_ipv4(rdma_get_peer_addr(p.c.id), setting.addr);
	CHECK(is_over_sctp() || rdma_get_dst_port(p.s.id) == rdma_get_src_port(p.c.id), "port");
	pair_close(&p);
}

/* An IPv6-only wildcard listener accepts no IPv4 connections */
static void test_any_v6_address(void)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){ .at = "::", .v6only = true });
	pair_connect_async(&p);
	pair_expect_event(&p, p.c.ch, RDMA_CM_EVENT_REJECTED);
	CHECK(p.ev.status == -ECONNRESET, "status %d", p.ev.status);
	pair_free(&p);
}

static unsigned int query_ord(const struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK(!ibv_query_qp(e->qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC, &init),
	      "%m");
	return attr.max_rd_atomic;
}

static void check_depths_offered_to_server(const struct pair *p, uint8_t to_it, uint8_t from_it)
{
	const struct rdma_conn_param *conn = &p->ev.param.conn;

	CHECK(conn->responder_resources == to_it &&
	      conn->initiator_depth == from_it,
	      "the server is offered %u Reads to it, %u from it",
	      conn->responder_resources, conn->initiator_depth);
}

/* Neither end may send more Reads than the other can process */
static void test_depths(void)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){
		.ird = 9, .ord = 5, .s_ird = 3, .s_ord = 7 });
	pair_request(&p);
	check_depths_offered_to_server(&p, 5, 9);
	pair_create_qp(&p, &p.s);
	pair_accept(&p);
	CHECK(query_ord(&p.c) <= 3 && query_ord(&p.c) >= 1, "client: %u",
	      query_ord(&p.c));
	CHECK(query_ord(&p.s) <= 7 && query_ord(&p.s) >= 1, "server: %u",
	      query_ord(&p.s));
	pair_close(&p);
}

/* Both ends post 20 Reads at the same time; each has an IRD of 2, and requests an ORD of 20 */
static void test_reads_exceeding_peer_ird(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){
		     .ird = 2, .ord = 20, .s_ird = 2, .s_ord = 20 }, 20000);
	buf_fill(&d.s, 0, 10000, 1);
	for (i = 0; i < 20; i++) {
		struct job j = {
			.id = i, .op = IBV_WR_RDMA_READ, .flags = SIG,
			.len = 500, .off = 10000 + i * 500, .b = &d.c,
			.rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)d.s.at + i * 500 };

		post_job(&d.p.c, &j);
		j.b = &d.s;
		j.rkey = d.c.mr->rkey;
		j.raddr = (uintptr_t)d.c.at + i * 500;
		post_job(&d.p.s, &j);
	}
	for (i = 0; i < 20; i++) {
		expect_success(d.p.c.scq, i, IBV_WC_RDMA_READ);
		expect_success(d.p.s.scq, i, IBV_WC_RDMA_READ);
	}
	buf_expect_only_pattern(&d.c, 10000, 10000, 1);
	CHECK(query_ord(&d.p.c) <= 2 && query_ord(&d.p.s) <= 2, "%u, %u",
	      query_ord(&d.p.c), query_ord(&d.p.s));
	fixture_close(&d);
}

static void modify_and_expect_errno(const struct end *e, struct ibv_qp_attr attr, int mask,
				    int err)
{
	int got = ibv_modify_qp(e->qp, &attr, mask);

	CHECK(got == err, "%s for mask 0x%x", strerror(got), mask);
}

/* Unsupported attributes are refused, other attributes are set */
static void test_modify_attrs(void)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){ .ird = 9, .ord = 5 });
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .cap.max_send_wr = 1 }, IBV_QP_CAP,
				EOPNOTSUPP);
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .en_sqd_async_notify = 1 },
				IBV_QP_EN_SQD_ASYNC_NOTIFY, EOPNOTSUPP);
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .cur_qp_state = IBV_QPS_RTS },
				IBV_QP_CUR_STATE, EINVAL);
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .cur_qp_state = IBV_QPS_RESET },
				IBV_QP_CUR_STATE, 0);
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .max_rd_atomic = 129 },
				IBV_QP_MAX_QP_RD_ATOMIC, EINVAL);
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .max_rd_atomic = 3,
				.max_dest_rd_atomic = 2 }, IBV_QP_MAX_QP_RD_ATOMIC |
				IBV_QP_MAX_DEST_RD_ATOMIC, 0);
	/* connection managers that also serve InfiniBand set this attribute */
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .timeout = 10 }, IBV_QP_TIMEOUT, 0);
	pair_free(&p);
}

#define DEPTHS	(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC)

static unsigned int query_rights(const struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK(!ibv_query_qp(e->qp, &attr, IBV_QP_ACCESS_FLAGS, &init), "%m");
	return attr.qp_access_flags;
}

/* A refused call must change no attribute */
static void test_refused_modify_changes_nothing(void)
{
	unsigned int may;
	struct pair p = {};

	pair_prepare(&p, &(struct opts){ .ird = 9, .ord = 5 });
	may = query_rights(&p.c);
	CHECK(may, "some rights must be set");
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .max_rd_atomic = 3,
				.max_dest_rd_atomic = 2, .rate_limit = 1000000 },
				DEPTHS | IBV_QP_RATE_LIMIT, EINVAL);
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .max_rd_atomic = 3,
				.max_dest_rd_atomic = 129 }, DEPTHS, EINVAL);
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .max_rd_atomic = 3,
				.max_dest_rd_atomic = 2, .qp_state = IBV_QPS_RTS },
				DEPTHS | IBV_QP_STATE, EINVAL);
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .qp_state = IBV_QPS_SQD,
				.qp_access_flags = IBV_ACCESS_LOCAL_WRITE },
				IBV_QP_ACCESS_FLAGS | IBV_QP_STATE, EINVAL);
	pair_request(&p);
	check_depths_offered_to_server(&p, 5, 9);
	CHECK(query_rights(&p.c) == may, "rights 0x%x, had 0x%x", query_rights(&p.c), may);
	pair_free(&p);
}

/* IRD and ORD that ibv_modify_qp() has set must limit the negotiation */
static void test_modify_limits_depths(void)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){ .ird = 9, .ord = 5 });
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .max_rd_atomic = 3,
				.max_dest_rd_atomic = 2 }, IBV_QP_MAX_QP_RD_ATOMIC |
				IBV_QP_MAX_DEST_RD_ATOMIC, 0);
	CHECK(query_ord(&p.c) == 3, "not connected: %u", query_ord(&p.c));
	pair_request(&p);
	check_depths_offered_to_server(&p, 3, 2);
	pair_create_qp(&p, &p.s);
	pair_accept(&p);
	CHECK(query_ord(&p.c) <= 3, "client: %u", query_ord(&p.c));
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .max_rd_atomic = 100 },
				IBV_QP_MAX_QP_RD_ATOMIC, EINVAL);
	modify_and_expect_errno(&p.c, (struct ibv_qp_attr){ .max_rd_atomic = query_ord(&p.c) },
				IBV_QP_MAX_QP_RD_ATOMIC, 0);
	pair_close(&p);
}

#define T(fn, rows)	CASE("conn_" #fn, test_##fn, 0, rows)

const struct test conn_tests[] = {
	T(private_data, ""),
	T(modify_attrs, ""),
	CASE("conn_modify_whole", test_refused_modify_changes_nothing, 0, ""),
	CASE("conn_bounded", test_modify_limits_depths, 0, ""),
	T(reject, "MPA-116"),
	T(nobody_listens, "MPA-132"),
	T(depths, "MPA2-29 MPA2-32"),
	CASE("conn_depths_unlike", test_reads_exceeding_peer_ird, 0,
	     "MPA2-27 MPA2-29 MPA2-32 RDMAP-82"),
	CASE("conn_goodbye", test_disconnect_sends_all_posted, 0, "DDP-72 DDP-73"),
	CASE("conn_server_goodbye", test_server_disconnect_sends_all_posted, 0, "DDP-72"),
	CASE("conn_both_goodbye", test_both_ends_disconnect_at_once, 0, ""),
	T(destroyed_without_disconnect, "DDP-78 MPA-132"),
	T(ipv6, "IPv6"),
	T(any_address, "IPv6"),
	T(any_v6_address, "IPv6"),
	{}
};
