// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Writes with Immediate Data (RFC 7306). */
#include <arpa/inet.h>

#include "verbs.h"

#define SIZE	70000u

/* A Write with Immediate of bytes [@off, @off + @len) of the client's buffer to the server's */
struct imm {
	uint64_t	id;
	unsigned int	flags;
	uint32_t	off, len;
	uint32_t	imm;
};

static void post_imm_by_wr_api(const struct fixture *d, struct ibv_qp_ex *ex,
			       const struct imm *m)
{
	ibv_wr_start(ex);
	ex->wr_id = m->id;
	ex->wr_flags = m->flags;
	ibv_wr_rdma_write_imm(ex, d->s.mr->rkey,
			      (uintptr_t)d->s.at + m->off, htonl(m->imm));
	if (m->flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(ex, d->c.at + m->off, m->len);
	else
		ibv_wr_set_sge(ex, d->c.mr->lkey,
			       (uintptr_t)d->c.at + m->off, m->len);
	CHECK(!ibv_wr_complete(ex), "wr_complete");
}

/* Post with ibv_post_send().  If the length is 0, there is no SGE. */
static void post_imm_by_post_send(const struct fixture *d, const struct imm *m)
{
	struct ibv_sge sge = {
		(uintptr_t)d->c.at + m->off, m->len, d->c.mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = m->id, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = m->flags, .sg_list = &sge, .num_sge = !!m->len,
		.imm_data = htonl(m->imm),
		.wr.rdma = {
			.remote_addr = (uintptr_t)d->s.at + m->off,
			.rkey = d->s.mr->rkey,
		},
	};

	CHECK(!ibv_post_send(d->p.c.qp, &wr, &bad), "post");
}

/* Post with ibv_wr_*() if the QP was created for it */
static void post_imm(const struct fixture *d, const struct imm *m)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(d->p.c.qp);

	if (ex)
		post_imm_by_wr_api(d, ex, m);
	else
		post_imm_by_post_send(d, m);
}

/* Post a receive without an SGE, which is sufficient for immediate data */
static void post_recv_without_sge(struct fixture *d, uint64_t id)
{
	post_recv(&d->p.s, id, NULL, 0, 0);
}

static void expect_imm(struct fixture *d, uint64_t id, const struct imm *m)
{
	struct ibv_wc wc = wait_next_wc(d->p.s.rcq);

	CHECK(wc.wr_id == id && !wc.status, "%llu: %s, vendor error %u",
	      (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
	      wc.vendor_err);
	CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM, "opcode %d", wc.opcode);
	CHECK(wc.wc_flags & IBV_WC_WITH_IMM, "flags %x", wc.wc_flags);
	CHECK(!(wc.wc_flags & IBV_WC_WITH_INV), "flags %x", wc.wc_flags);
	CHECK(ntohl(wc.imm_data) == m->imm, "%x, not %x", ntohl(wc.imm_data),
	      m->imm);
	CHECK(wc.byte_len == m->len, "%u bytes, not %u", wc.byte_len, m->len);
}

static void write_and_check_imm(struct fixture *d, const struct imm *m)
{
	buf_clear(&d->s);
	buf_fill(&d->c, m->off, m->len, m->imm);
	post_recv_without_sge(d, m->id + 100);
	post_imm(d, m);
	expect_imm(d, m->id + 100, m);
	buf_expect_only_pattern(&d->s, m->off, m->len, m->imm);
	expect_success(d->p.c.scq, m->id, IBV_WC_RDMA_WRITE);
}

static void write_and_check_imm_lengths(uint64_t send_ops)
{
	static const uint32_t lens[] = { 1, 0, 4, 60, 1000, 5000, 66000, 0 };
	struct fixture d;
	size_t i;

	fixture_open(&d, &(struct opts){ .inl = 64, .send_ops = send_ops }, SIZE);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct imm m = {
			.id = i, .flags = SIG, .off = i * 7, .len = lens[i],
			.imm = 0xd00dfee0 + i,
		};

		write_and_check_imm(&d, &m);
		m.flags |= IBV_SEND_INLINE;
		if (m.len <= 60)
			write_and_check_imm(&d, &m);
	}
	expect_no_completion(d.p.s.rcq);
	expect_no_completion(d.p.c.scq);
	fixture_close(&d);
}

static void test_imm_write(void)
{
	write_and_check_imm_lengths(0);
}

static void test_imm_wr_api(void)
{
	write_and_check_imm_lengths(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM);
}

static void test_imm_cq_ex(void)
{
	const struct imm m = { .id = 3, .flags = SIG, .len = 9, .imm = 0xabcd1234 };
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *cq;
	struct fixture d;
	int tries;

	fixture_open(&d, &(struct opts){ .cq_ex = true }, SIZE);
	cq = (struct ibv_cq_ex *)d.p.s.rcq;
	post_recv_without_sge(&d, 5);
	post_imm(&d, &m);
	for (tries = 0; ibv_start_poll(cq, &attr); tries++) {
		CHECK(tries < 5000, "no completion");
		sleep_ms(1);
	}
	CHECK(cq->wr_id == 5 && !cq->status, "%s",
	      ibv_wc_status_str(cq->status));
	CHECK(ibv_wc_read_opcode(cq) == IBV_WC_RECV_RDMA_WITH_IMM, "opcode");
	CHECK(ibv_wc_read_wc_flags(cq) == IBV_WC_WITH_IMM, "flags");
	CHECK(ntohl(ibv_wc_read_imm_data(cq)) == m.imm, "immediate");
	CHECK(ibv_wc_read_byte_len(cq) == 9, "length");
	ibv_end_poll(cq);
	fixture_close(&d);
}

/* If only solicited completions are requested, only a solicited message generates an event */
static void test_imm_solicited(void)
{
	struct imm m = { .len = 50 };
	struct fixture d;
	int i;

	fixture_open(&d, &(struct opts){ .events = true }, SIZE);
	for (i = 0; i < 20; i++) {
		post_recv_without_sge(&d, 1);
		post_recv_without_sge(&d, 2);
		CHECK(!ibv_req_notify_cq(d.p.s.rcq, 1), "arm");
		m.flags = SIG;
		post_imm(&d, &m);
		expect_success(d.p.c.scq, 0, IBV_WC_RDMA_WRITE);
		wait_all_placed_by_read(&d);
		CHECK(!has_event_within(&d.p.s, 0), "no event without the flag");
		m.flags |= IBV_SEND_SOLICITED;
		post_imm(&d, &m);
		expect_success(d.p.c.scq, 0, IBV_WC_RDMA_WRITE);
		CHECK(has_event_within(&d.p.s, scale_timeout(WC_MS)), "an event must arrive");
		expect_imm(&d, 1, &m);
		expect_imm(&d, 2, &m);
	}
	fixture_close(&d);
}

/* When the immediate data completes, all data of the Write must be placed */
static void test_imm_stream(void)
{
	enum { AT_ONCE = 8, AREA = SIZE / AT_ONCE };
	const uint32_t n = scale_rounds(400);
	struct imm m[AT_ONCE];
	uint32_t i, k;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, SIZE);
	for (i = 0; i < n; i += AT_ONCE) {
		for (k = 0; k < AT_ONCE; k++) {
			m[k] = (struct imm){
				.id = k, .flags = SIG, .off = k * AREA,
				.len = get_random_below(AREA), .imm = i + k,
			};
			buf_fill(&d.c, m[k].off, m[k].len, i + k);
			post_recv_without_sge(&d, k);
		}
		for (k = 0; k < AT_ONCE; k++)
			post_imm(&d, &m[k]);
		for (k = 0; k < AT_ONCE; k++) {
			expect_imm(&d, k, &m[k]);
			buf_expect_pattern(&d.s, m[k].off, m[k].len, i + k);
		}
		for (k = 0; k < AT_ONCE; k++)
			expect_success(d.p.c.scq, k, IBV_WC_RDMA_WRITE);
	}
	fixture_close(&d);
}

/* If Writes with Immediate and Sends are mixed, receives complete in the order of posting */
static void test_imm_order(void)
{
	struct imm m = { .flags = SIG };
	uint32_t i;
	struct fixture d;

	fixture_open(&d, &(struct opts){ .sig_all = true }, SIZE);
	for (i = 0; i < 60; i++)
		post_recv(&d.p.s, i, &d.s, 0, 100);
	for (i = 0; i < 60; i++) {
		m.id = m.imm = i;
		m.len = i % 2 ? 3000 : 0;
		if (i % 3)
			post_imm(&d, &m);
		else
			post_send(&d.p.c, i, &d.c, 0, 33);
	}
	for (i = 0; i < 60; i++) {
		m.imm = i;
		m.len = i % 2 ? 3000 : 0;
		if (i % 3)
			expect_imm(&d, i, &m);
		else
			expect_recv(d.p.s.rcq, i, 33);
		expect_success(d.p.c.scq, i, i % 3 ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
	}
	fixture_close(&d);
}

/*
 * A Write with Immediate has one completion for both of its messages if it is signaled, none
 * otherwise
 */
static void test_imm_unsignalled(void)
{
	struct imm m = { .len = 100 };
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = 8, .rq = 64 }, SIZE);
	for (i = 1; i <= 64; i++) {
		m.id = m.imm = i;
		m.flags = i % 4 ? 0 : SIG;
		post_recv_without_sge(&d, i);
		post_imm(&d, &m);
		if (i % 4 == 0)
			expect_success(d.p.c.scq, i, IBV_WC_RDMA_WRITE);
		expect_imm(&d, i, &m);
	}
	expect_no_completion(d.p.c.scq);
	fixture_close(&d);
}

static void expect_both_ends_disconnected(struct fixture *d, enum ibv_event_type at_s)
{
	struct ibv_wc wc = wait_next_wc(d->p.c.scq);

	CHECK(!wc.status || wc.status == IBV_WC_WR_FLUSH_ERR, "%s",
	      ibv_wc_status_str(wc.status));
	expect_async_event(d->p.s.id->verbs, at_s, d->p.s.qp);
	expect_async_event(d->p.c.id->verbs, IBV_EVENT_QP_REQ_ERR, d->p.c.qp);
	pair_expect_event(&d->p, d->p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d->p, d->p.lch, RDMA_CM_EVENT_DISCONNECTED);
}

/*
 * Without a posted receive, the Write must be placed, because it needs no receive. The message with
 * the immediate data must then end the stream.
 */
static void test_imm_no_receive(void)
{
	const struct imm m = { .id = 1, .flags = SIG, .len = 5000 };
	uint64_t was;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, SIZE);
	was = read_counter(&d.p.s, "end_ddp_untagged_no_buffer");
	buf_fill(&d.c, 0, 5000, 4);
	post_imm(&d, &m);
	expect_both_ends_disconnected(&d, IBV_EVENT_QP_FATAL);
	expect_counter_increase(&d.p.s, "end_ddp_untagged_no_buffer", was, 1);
	expect_no_completion(d.p.s.rcq);
	buf_expect_only_pattern(&d.s, 0, 5000, 4);
	fixture_free(&d);
}

/* The immediate data of a refused Write must not be delivered */
static void test_imm_no_right(void)
{
	const struct imm m = { .id = 1, .flags = SIG, .len = 50 };
	struct fixture d;

	fixture_open(&d, &(struct opts){}, SIZE);
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	buf_reg(&d.s, d.p.s.pd, IBV_ACCESS_REMOTE_READ);
	post_recv_without_sge(&d, 2);
	post_imm(&d, &m);
	expect_both_ends_disconnected(&d, IBV_EVENT_QP_ACCESS_ERR);
	expect_status(d.p.s.rcq, 2, IBV_WC_WR_FLUSH_ERR);
	buf_expect_clear(&d.s, 0, SIZE);
	fixture_free(&d);
}

const struct test imm_tests[] = {
	CASE("imm_write", test_imm_write, 0, "EXT-68 EXT-72 EXT-78 EXT-80"),
	CASE("imm_wr_api", test_imm_wr_api, 0, "the ABI: ibv_wr_rdma_write_imm"),
	CASE("imm_cq_ex", test_imm_cq_ex, 0, "the ABI: ibv_wc_read_imm_data"),
	CASE("imm_solicited", test_imm_solicited, 0, "EXT-68"),
	CASE("imm_stream", test_imm_stream, 60, "EXT-78 EXT-80"),
	CASE("imm_order", test_imm_order, 0, "EXT-73 EXT-76 EXT-78"),
	CASE("imm_unsignalled", test_imm_unsignalled, 0, "EXT-68"),
	CASE("imm_no_receive", test_imm_no_receive, 0, "EXT-69 EXT-72"),
	CASE("imm_no_right", test_imm_no_right, 0, "EXT-78 EXT-80"),
	{}
};
