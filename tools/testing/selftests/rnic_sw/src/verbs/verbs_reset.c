// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Threads that modify the same QPs to RESET, INIT, RTR, RTS and ERR at the same time. */
#include "verbs.h"

#define QPS	2

static struct ibv_qp *qps[QPS];
static volatile bool stop;

static int enter_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

static int enter_rtr(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = dest,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } },
	};

	CHECK(!ibv_query_gid(qp->context, 1, 0, &attr.ah_attr.grh.dgid), "%m");
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
}

static int enter_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int enter_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static void post_recv_and_send_unchecked(struct ibv_qp *qp)
{
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;

	/* ignore errors: a queue may be full */
	ibv_post_recv(qp, &recv, &bad_recv);
	ibv_post_send(qp, &send, &bad_send);
}

/* The result of each call depends on what the other threads have done, so do not check it */
static void *keep_connecting(void *arg)
{
	unsigned int i;

	(void)arg;
	while (!stop)
		for (i = 0; i < QPS; i++) {
			enter_init(qps[i]);
			enter_rtr(qps[i], qps[!i]->qp_num);
			enter_rts(qps[i]);
		}
	return NULL;
}

static void *keep_entering_error(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; !stop; i++) {
		enter_state(qps[i % QPS], IBV_QPS_ERR);
		enter_state(qps[i % QPS], IBV_QPS_SQD);
	}
	return NULL;
}

static void *keep_posting(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; !stop; i++)
		post_recv_and_send_unchecked(qps[i % QPS]);
	return NULL;
}

/* After the race, a reset must make the QPs usable again */
static void reset_connect_and_send(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < QPS; i++)
		CHECK(!enter_state(qps[i], IBV_QPS_RESET), "RESET: %m");
	CHECK(!ibv_poll_cq(cq, 1, &wc), "a reset must discard earlier completions");
	for (i = 0; i < QPS; i++)
		CHECK(!enter_init(qps[i]) && !enter_rtr(qps[i], qps[!i]->qp_num), "RTR: %m");
	for (i = 0; i < QPS; i++)
		CHECK(!enter_rts(qps[i]), "RTS: %m");
	for (i = 0; i < QPS; i++)
		post_recv_and_send_unchecked(qps[i]);
	for (i = 0; i < 2 * QPS; i++) {
		wc = wait_next_wc(cq);
		CHECK(!wc.status, "%s", ibv_wc_status_str(wc.status));
	}
}

static void test_reset_race(void)
{
	static void *(*const keep[])(void *) = {
		keep_connecting, keep_entering_error, keep_posting,
	};
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = 8,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	pthread_t thread[ARRAY_SIZE(keep)];
	struct pair p = {};
	struct ibv_cq *cq;
	uint32_t i;

	pair_prepare(&p, &(struct opts){});
	cq = ibv_create_cq(p.c.id->verbs, 4096, NULL, NULL, 0);
	CHECK(cq, "%m");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	for (i = 0; i < QPS; i++) {
		qps[i] = ibv_create_qp(p.c.id->pd, &attr);
		CHECK(qps[i], "%m");
	}
	for (i = 0; i < ARRAY_SIZE(keep); i++)
		CHECK(!pthread_create(&thread[i], NULL, keep[i], NULL), "thread");
	for (i = 0; i < scale_rounds(600); i++)
		CHECK(!enter_state(qps[i % QPS], IBV_QPS_RESET), "RESET: %m");
	stop = true;
	for (i = 0; i < ARRAY_SIZE(keep); i++)
		pthread_join(thread[i], NULL);
	reset_connect_and_send(cq);
	for (i = 0; i < QPS; i++)
		CHECK(!ibv_destroy_qp(qps[i]), "%m");
	CHECK(!ibv_destroy_cq(cq), "%m");
	pair_free(&p);
}

const struct test reset_tests[] = {
	CASE("reset_race", test_reset_race, 60, NULL),
	{}
};
