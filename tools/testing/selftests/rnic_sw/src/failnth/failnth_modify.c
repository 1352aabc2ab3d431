// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Scene of failnth in which two QPs of one device are connected by ibv_modify_qp(), without
 * rdma_cm.  The driver sets up the stream in the background, and retries if that fails.  So the
 * scene fails only if a call fails, or if the stream ends after it has started.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "failnth.h"

#define PATIENCE	45000	/* ms; a completion that takes longer is considered missing */
#define SMALL		700
#define LARGE		40000
#define OCTETS		(2 * LARGE)
#define PSN		0x123456
#define TIMEOUT		15	/* with RETRIES: posted requests wait for 4 s */
#define RETRIES		7

struct half {
	struct ibv_cq	*cq;
	struct ibv_qp	*qp;
	struct ibv_mr	*mr;
	char		*mem;
};

struct both {
	struct ibv_context	*ctx;
	struct ibv_pd		*pd;
	struct half		half[2];
};

static int create_half(struct both *b, struct half *h)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8,
			 .max_send_sge = 2, .max_recv_sge = 2 },
	};
	int err = MADE(h->cq = ibv_create_cq(b->ctx, 16, NULL, NULL, 0));

	if (err)
		return err;
	attr.send_cq = h->cq;
	attr.recv_cq = h->cq;
	err = MADE(h->qp = ibv_create_qp(b->pd, &attr));
	if (err)
		return err;
	h->mem = mmap(NULL, OCTETS, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (h->mem == MAP_FAILED) {
		h->mem = NULL;
		return ENOMEM;
	}
	return MADE(h->mr = ibv_reg_mr(b->pd, h->mem, OCTETS, IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
}

static int open_device_and_create_halves(struct both *b)
{
	int err = MADE(b->ctx = open_device());

	if (!err)
		err = MADE(b->pd = ibv_alloc_pd(b->ctx));
	if (!err)
		err = create_half(b, &b->half[0]);
	return err ? err : create_half(b, &b->half[1]);
}

static int enter_init(struct half *h)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};

	return TRY(ibv_modify_qp(h->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				 IBV_QP_ACCESS_FLAGS));
}

static int enter_rtr(struct both *b, struct half *h, const struct half *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .rq_psn = PSN,
		.dest_qp_num = peer->qp->qp_num, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } },
	};
	int err = TRY(ibv_query_gid(b->ctx, 1, 0, &attr.ah_attr.grh.dgid));

	if (err)
		return err;
	return TRY(ibv_modify_qp(h->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				 IBV_QP_MIN_RNR_TIMER));
}

static int enter_rts(struct half *h)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = PSN, .timeout = TIMEOUT, .retry_cnt = RETRIES,
		.rnr_retry = 7, .max_rd_atomic = 4,
	};

	return TRY(ibv_modify_qp(h->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				 IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

static int post_receive(struct half *h)
{
	struct ibv_sge sge = { (uintptr_t)h->mem + LARGE, SMALL, h->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	return ibv_post_recv(h->qp, &wr, &bad);
}

static int post_request(struct half *h, enum ibv_wr_opcode op, uint32_t len, const struct half *peer)
{
	struct ibv_sge sge = { (uintptr_t)h->mem, len, h->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op,
		.wr.rdma = { (uintptr_t)peer->mem + LARGE, peer->mr->rkey },
	};

	return ibv_post_send(h->qp, &wr, &bad);
}

/* Return: 0 after @left good completions, or EIO at the first bad one */
static int wait_completions(struct half *h, int left)
{
	long until = now_ms() + PATIENCE;
	struct ibv_wc wc;
	int n;

	while (left) {
		n = ibv_poll_cq(h->cq, 1, &wc);
		if (n < 0 || (n && wc.status))
			return EIO;
		left -= n;
		if (n)
			continue;
		if (now_ms() > until)
			return report_wrong_result("%d completions missing without rdma_cm", left);
		usleep(500);
	}
	return 0;
}

static int connect_both_qps(struct both *b)
{
	struct half *one = &b->half[0], *other = &b->half[1];
	int err = enter_init(one);

	if (!err)
		err = enter_init(other);
	if (!err)
		err = enter_rtr(b, one, other);
	if (!err)
		err = enter_rts(one);
	if (!err)
		err = enter_rtr(b, other, one);
	return err ? err : enter_rts(other);
}

/* The peer answers the Read after it has received the Send: a good Read shows that both worked */
static int transfer_messages(struct half *h, struct half *peer)
{
	int err = post_receive(peer);

	memset(h->mem, 's', SMALL);
	if (!err)
		err = post_request(h, IBV_WR_SEND, SMALL, peer);
	if (!err)
		err = wait_completions(h, 1);
	if (!err)
		err = post_request(h, IBV_WR_RDMA_READ, LARGE, peer);
	if (!err)
		err = wait_completions(h, 1);
	if (!err)
		err = wait_completions(peer, 1);
	if (err)
		return err;
	return memcmp(h->mem, peer->mem + LARGE, LARGE) ? report_wrong_result("wrong data") : 0;
}

static int destroy_half(struct half *h)
{
	int bad = 0;

	if (h->qp)
		bad |= ibv_destroy_qp(h->qp);
	if (h->mr)
		bad |= ibv_dereg_mr(h->mr);
	if (h->cq)
		bad |= ibv_destroy_cq(h->cq);
	if (h->mem)
		munmap(h->mem, OCTETS);
	return bad;
}

static int destroy_halves_and_close_device(struct both *b, int err)
{
	int bad = destroy_half(&b->half[0]) | destroy_half(&b->half[1]);

	if (b->pd)
		bad |= ibv_dealloc_pd(b->pd);
	if (b->ctx)
		bad |= ibv_close_device(b->ctx);
	return bad ? report_wrong_result("an object cannot be destroyed") : err;
}

int run_modify_scene(void)
{
	struct both b = {};
	int err = open_device_and_create_halves(&b);

	if (!err)
		err = connect_both_qps(&b);
	if (!err)
		err = transfer_messages(&b.half[0], &b.half[1]);
	if (!err)
		err = transfer_messages(&b.half[1], &b.half[0]);
	return destroy_halves_and_close_device(&b, err);
}
