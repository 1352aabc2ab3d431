// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * QPs that a hostile program connects by ibv_modify_qp(), without rdma_cm: to one another, to
 * themselves, to guessed QPs and addresses, with wrong PSNs, in any order, and destroyed at any
 * moment.
 */
#include <string.h>

#include "hostile.h"

#define QPS	6
#define GIDS	4	/* GID table entries to use */

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qps[QPS];
static union ibv_gid gids[GIDS];

bool init_qp_modification(struct ibv_pd *use, struct ibv_mr *memory)
{
	int i;

	ctx = use->context;
	pd = use;
	mr = memory;
	cq = ibv_create_cq(ctx, 256, NULL, NULL, 0);
	for (i = 0; i < GIDS; i++)
		if (ibv_query_gid(ctx, 1, i, &gids[i]))
			gids[i] = gids[0];
	return cq;
}

static struct ibv_qp *create_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(pd, &attr);
}

static void enter_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = get_random_below(16) };

	ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static void enter_rtr(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = dest,
		.rq_psn = get_random_below(20) ? 1 : get_random_value(),
		.max_dest_rd_atomic = get_random_below(8), .min_rnr_timer = get_random_below(32),
		.ah_attr = {
			.is_global = get_random_below(50) != 0, .port_num = 1,
			.grh = { .sgid_index = get_random_below(20) ? 0 : get_random_below(GIDS) },
		},
	};
	union ibv_gid *to = &attr.ah_attr.grh.dgid;

	*to = gids[get_random_below(20) ? 0 : get_random_below(GIDS)];
	if (!get_random_below(20))
		to->raw[get_random_below(sizeof(to->raw))] ^= get_random_value();
	ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static void enter_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = get_random_below(20) ? 1 : get_random_value(),
		.timeout = get_random_below(16), .retry_cnt = get_random_below(8),
		.rnr_retry = get_random_below(8),
		.max_rd_atomic = get_random_below(8),
	};

	ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void post_recv_and_send(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, get_random_below(4096), mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.opcode = get_random_below(4) ? IBV_WR_SEND : IBV_WR_RDMA_READ, .sg_list = &sge,
		.num_sge = 1, .wr.rdma = { (uintptr_t)mr->addr, mr->rkey },
	}, *bad_send;

	ibv_post_recv(qp, &recv, &bad_recv);
	ibv_post_send(qp, &send, &bad_send);
}

/* Return the number of another QP, rarely that of the QP itself or a guessed one */
static uint32_t choose_dest(unsigned int own)
{
	const struct ibv_qp *peer = qps[own ^ 1];

	if (!get_random_below(20))
		return get_random_below(2) ? qps[own]->qp_num : get_random_value();
	if (!get_random_below(20))
		peer = qps[get_random_below(QPS)];
	return peer ? peer->qp_num : 0;
}

/* Do the next step of connecting and using a QP, or rarely a random step */
static void advance_qp(unsigned int i)
{
	static unsigned int at[QPS];
	struct ibv_qp_attr attr = { .qp_state = get_random_below(8) };
	unsigned int next = get_random_below(10) ? at[i]++ : get_random_below(6);

	switch (next) {
	case 0:
		enter_init(qps[i]);
		break;
	case 1:
		enter_rtr(qps[i], choose_dest(i));
		break;
	case 2:
		enter_rts(qps[i]);
		break;
	case 3:
	case 4:
		post_recv_and_send(qps[i]);
		break;
	case 5:
		ibv_modify_qp(qps[i], &attr, IBV_QP_STATE);
		break;
	default:
		if (get_random_below(8))
			break;
		ibv_destroy_qp(qps[i]);
		qps[i] = NULL;
		at[i] = 0;
	}
}

unsigned int advance_random_qp_and_poll(void)
{
	unsigned int i = get_random_below(QPS), good = 0;
	struct ibv_wc wc[8];
	int n;

	if (!qps[i])
		qps[i] = create_qp();
	if (qps[i])
		advance_qp(i);
	/* a pair needs some time to connect */
	usleep(get_random_below(1000));
	for (n = ibv_poll_cq(cq, 8, wc); n > 0; n--)
		good += wc[n - 1].status == IBV_WC_SUCCESS;
	return good;
}
