// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Post work requests and check their completions. */
#include <sched.h>
#include <time.h>

#include "verbs.h"

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

void sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

int try_post_job(const struct end *e, const struct job *j)
{
	struct ibv_sge sge = { .length = j->len };
	struct ibv_send_wr *bad, wr = {
		.wr_id = j->id,
		.opcode = j->op,
		.send_flags = j->flags,
		.sg_list = &sge,
		.num_sge = j->b ? 1 : 0,
		.wr.rdma = { .remote_addr = j->raddr, .rkey = j->rkey },
	};

	if (j->b) {
		sge.addr = (uintptr_t)(j->b->at + j->off);
		sge.lkey = j->b->mr ? j->b->mr->lkey : 0;
	}
	return ibv_post_send(e->qp, &wr, &bad);
}

void post_job(const struct end *e, const struct job *j)
{
	int err = try_post_job(e, j);

	CHECK(!err, "post %llu: %s", (unsigned long long)j->id, strerror(err));
}

void post_send(const struct end *e, uint64_t id, const struct buf *b, size_t off,
	       uint32_t len)
{
	post_job(e, &(struct job){
		.id = id, .op = IBV_WR_SEND, .flags = SIG,
		.b = b, .off = off, .len = len });
}

int try_post_recv(const struct end *e, uint64_t id, const struct buf *b, size_t off,
		  uint32_t len)
{
	struct ibv_sge sge = { .length = len };
	struct ibv_recv_wr *bad, wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = b ? 1 : 0,
	};

	if (b) {
		sge.addr = (uintptr_t)(b->at + off);
		sge.lkey = b->mr ? b->mr->lkey : 0;
	}
	return ibv_post_recv(e->qp, &wr, &bad);
}

void post_recv(const struct end *e, uint64_t id, const struct buf *b, size_t off,
	       uint32_t len)
{
	int err = try_post_recv(e, id, b, off, len);

	CHECK(!err, "post %llu: %s", (unsigned long long)id, strerror(err));
}

struct ibv_wc wait_next_wc(struct ibv_cq *cq)
{
	uint32_t most = scale_timeout(WC_MS);
	uint64_t until = now_ms() + most;
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
		CHECK(n >= 0, "poll_cq: %d", n);
		if (!n)
			sched_yield();
	} while (!n && now_ms() < until);
	CHECK(n, "no completion within %u ms", most);
	return wc;
}

static void check_wr_id(const struct ibv_wc *wc, uint64_t id)
{
	CHECK(wc->wr_id == id, "completion of %llu (%s), want that of %llu",
	      (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status),
	      (unsigned long long)id);
}

void expect_success(struct ibv_cq *cq, uint64_t id, enum ibv_wc_opcode op)
{
	struct ibv_wc wc = wait_next_wc(cq);

	check_wr_id(&wc, id);
	CHECK(wc.status == IBV_WC_SUCCESS, "%llu: %s, vendor error %u",
	      (unsigned long long)id, ibv_wc_status_str(wc.status),
	      wc.vendor_err);
	CHECK(wc.opcode == op, "%llu: opcode %d", (unsigned long long)id,
	      wc.opcode);
}

void expect_recv(struct ibv_cq *cq, uint64_t id, uint32_t len)
{
	struct ibv_wc wc = wait_next_wc(cq);

	check_wr_id(&wc, id);
	CHECK(wc.status == IBV_WC_SUCCESS, "%llu: %s, vendor error %u",
	      (unsigned long long)id, ibv_wc_status_str(wc.status),
	      wc.vendor_err);
	CHECK(wc.opcode == IBV_WC_RECV, "opcode %d", wc.opcode);
	CHECK(wc.byte_len == len, "%u bytes received, %u sent", wc.byte_len,
	      len);
}

void expect_status(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc = wait_next_wc(cq);

	check_wr_id(&wc, id);
	CHECK(wc.status == status, "%llu: %s (vendor error %u), want %s",
	      (unsigned long long)id, ibv_wc_status_str(wc.status),
	      wc.vendor_err, ibv_wc_status_str(status));
}

void expect_no_completion_now(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	CHECK(!ibv_poll_cq(cq, 1, &wc), "unexpected completion of %llu: %s",
	      (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
}

void expect_no_completion(struct ibv_cq *cq)
{
	wait_until_idle();
	expect_no_completion_now(cq);
}
