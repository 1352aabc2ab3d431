// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of the provider with a fake kernel. Its commands create rings in a
 * memory file, and the tests read and write the rings as the kernel would.
 * scripts/build-provider --test builds and runs this program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "provider_test.h"
#include "../rnic_sw_dv.h"

static struct verbs_device device = { .ops = &rnic_sw_dev_ops };
struct rnic_sw_context own = {
	.vctx.context.device = &device.device,
};
struct rnic_sw_pd pd = {
	.ibpd = { .context = &own.vctx.context },
	.refs = 1,
};

void push_cqe(struct rnic_sw_cq *cq, const struct rnic_sw_cqe *cqe)
{
	struct rnic_sw_cqe *to = ring_slot(&cq->q, cq->q.hdr->prod);

	*to = *cqe;
	cq->q.hdr->prod++;
}

struct rnic_sw_cq *make_cq(void)
{
	return to_cq(rnic_sw_create_cq(&own.vctx.context, SLOTS, NULL, 0));
}

struct rnic_sw_cq *make_cq_ex(uint64_t wc_flags)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .wc_flags = wc_flags };

	return to_cq_ex(rnic_sw_create_cq_ex(&own.vctx.context, &attr));
}

struct rnic_sw_srq *make_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr.max_wr = 3 };

	return to_srq(rnic_sw_create_srq(&pd.ibpd, &attr));
}

struct rnic_sw_qp *make_qp(struct rnic_sw_cq *cq, uint32_t recv_wr)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = &cq->vcq.cq,
		.recv_cq = &cq->vcq.cq,
		.cap = { .max_send_wr = 3, .max_recv_wr = recv_wr },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = &pd.ibpd,
		.send_ops_flags = rnic_sw_send_ops,
	};
	struct ibv_qp *qp = rnic_sw_create_qp_ex(&own.vctx.context, &attr);

	if (!qp)
		return NULL;
	CHECK(attr.cap.max_send_wr == SLOTS);
	CHECK(attr.cap.max_inline_data == MAX_INLINE);
	return to_qp(qp);
}

/* Destroy a QP; also used as a thread function */
void *destroy_qp(void *qp)
{
	CHECK(!rnic_sw_destroy_qp(&((struct rnic_sw_qp *)qp)->vqp.qp));
	return NULL;
}

void destroy_qp_and_cq(struct rnic_sw_qp *qp, struct rnic_sw_cq *cq)
{
	destroy_qp(qp);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

bool is_lock_free(pthread_spinlock_t *lock)
{
	if (pthread_spin_trylock(lock))
		return false;
	pthread_spin_unlock(lock);
	return true;
}

/*
 * The receive queue's ring must follow the send queue's ring in the same
 * mapping
 */
static void test_rq_ring_follows_sq_ring(void)
{
	const uint32_t nowhere[] = {
		0, RING - RNIC_SW_RING_HDR, RING + 8, RING + RNIC_SW_RING_HDR,
		2 * RING, 2 * RING + RNIC_SW_RING_HDR, -RNIC_SW_RING_HDR,
	};
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 2);
	unsigned int i, gone;

	CHECK((uint8_t *)qp->rq.hdr == (uint8_t *)qp->sq.hdr + RING);
	destroy_qp(qp);
	for (i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
		rq_offset = nowhere[i];
		gone = destroyed;
		errno = 0;
		CHECK(!make_qp(cq, 2) && errno == EINVAL);
		CHECK(destroyed == gone + 1);
		/* without a receive queue, rq_offset is ignored */
		destroy_qp(make_qp(cq, 0));
	}
	rq_offset = RING;
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

/*
 * In a full ring the requests that fit are posted, and bad_wr is the first that
 * does not
 */
static void test_post_to_full_ring(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_send_wr wr[SLOTS + 1] = {}, *bad = NULL;
	unsigned int i;

	for (i = 0; i <= SLOTS; i++) {
		wr[i].opcode = IBV_WR_SEND;
		wr[i].wr_id = i;
		wr[i].next = i < SLOTS ? &wr[i + 1] : NULL;
	}
	kicks = 0;
	CHECK(rnic_sw_post_send(&qp->vqp.qp, wr, &bad) == ENOMEM);
	CHECK(bad == &wr[SLOTS] && qp->sq.hdr->prod == SLOTS && !kicks);

	qp->sq.hdr->cons = 1;
	qp->sq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	CHECK(!rnic_sw_post_send(&qp->vqp.qp, bad, &bad));
	CHECK(qp->sq.hdr->prod == SLOTS + 1 && kicks == 1);
	CHECK(((struct rnic_sw_sqe *)qp->sq.slot0)->wr_id == SLOTS);
	destroy_qp_and_cq(qp, cq);
}

/* Receives can be posted while the indices wrap at 2^32. */
static void test_index_wrap(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 1);
	struct ibv_recv_wr wr = {}, *bad;
	unsigned int i;

	qp->rq.prod = qp->rq.cons = qp->rq.hdr->cons = UINT32_MAX - 1;
	for (i = 0; i < SLOTS; i++)
		CHECK(!rnic_sw_post_recv(&qp->vqp.qp, &wr, &bad));
	CHECK(qp->rq.hdr->prod == SLOTS - 2);
	CHECK(rnic_sw_post_recv(&qp->vqp.qp, &wr, &bad) == ENOMEM);
	CHECK(bad == &wr);
	qp->rq.hdr->cons++;
	CHECK(!rnic_sw_post_recv(&qp->vqp.qp, &wr, &bad));
	destroy_qp_and_cq(qp, cq);
}

static void test_wr_api(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	struct rnic_sw_sqe *sqe = ring_slot(&qp->sq, 0);
	char data[MAX_INLINE + 1] = "xyz";
	unsigned int i;

	CHECK(ibv_qp_to_qp_ex(&qp->vqp.qp) == ex);
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(ex, 3, 0x10);
	ibv_wr_set_sge(ex, 4, 0x20, 8);
	ibv_wr_send_inv(ex, 5);
	ibv_wr_set_inline_data(ex, data, 3);
	CHECK(qp->sq.hdr->prod == 0);
	CHECK(!ibv_wr_complete(ex) && qp->sq.hdr->prod == 2);
	CHECK(sqe->opcode == RNIC_SW_OP_READ && sqe->num_sge == 1);
	sqe = ring_slot(&qp->sq, 1);
	CHECK(sqe->inv_stag == 5 && sqe->inline_len == 3);

	/* after any error, no request of the batch is posted */
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data, sizeof(data));
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 4, 0x20, 8);
	CHECK(ibv_wr_complete(ex) == EINVAL && qp->sq.hdr->prod == 2);

	ibv_wr_start(ex);
	for (i = 0; i < SLOTS; i++)
		ibv_wr_send(ex);
	CHECK(ibv_wr_complete(ex) == ENOMEM && qp->sq.prod == 2);

	ibv_wr_start(ex);
	ibv_wr_set_sge(ex, 4, 0x20, 8);		/* no request is under construction */
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	CHECK(qp->sq.hdr->prod == 2 && qp->sq.prod == 2);
	destroy_qp_and_cq(qp, cq);
}

static void test_poll_cq(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct ibv_wc wc[SLOTS];

	CHECK(rnic_sw_poll_cq(&cq->vcq.cq, SLOTS, wc) == 0);
	push_cqe(cq, &(struct rnic_sw_cqe){
		.wr_id = 1, .qp_num = 7, .byte_len = 10,
		.opcode = RNIC_SW_OP_RECV | RNIC_SW_OP_SEND_INV,
		.flags = RNIC_SW_WC_WITH_INV, .inv_stag = 0x99 });
	push_cqe(cq, &(struct rnic_sw_cqe){
		.wr_id = 2, .status = IBV_WC_WR_FLUSH_ERR, .vendor_err = 33 });
	push_cqe(cq, &(struct rnic_sw_cqe){
		.opcode = RNIC_SW_OP_RECV | RNIC_SW_OP_WRITE_IMM,
		.flags = RNIC_SW_WC_WITH_IMM });
	memset(wc, 0xff, sizeof(wc));
	CHECK(rnic_sw_poll_cq(&cq->vcq.cq, 2, wc) == 2);
	CHECK(cq->q.hdr->cons == 2);
	/* fields that do not exist in iWARP are zero */
	CHECK(!wc[0].src_qp && !wc[0].pkey_index && !wc[0].slid && !wc[0].sl);
	CHECK(!wc[0].dlid_path_bits && !wc[0].vendor_err && !wc[1].wc_flags);
	CHECK(wc[0].opcode == IBV_WC_RECV && wc[0].byte_len == 10);
	CHECK(wc[0].wc_flags == IBV_WC_WITH_INV);
	CHECK(wc[0].invalidated_rkey == 0x99 && wc[0].qp_num == 7);
	CHECK(wc[1].status == IBV_WC_WR_FLUSH_ERR && wc[1].vendor_err == 33);
	CHECK(rnic_sw_poll_cq(&cq->vcq.cq, SLOTS, wc) == 1);
	CHECK(wc[0].opcode == IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK(wc[0].wc_flags == IBV_WC_WITH_IMM && !wc[0].vendor_err);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	CHECK(!clock_gettime(clock, &now));
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void test_poll_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	const uint64_t minute = 60000000000ull;
	uint64_t early = now_ns(CLOCK_REALTIME) - minute;
	struct ibv_poll_cq_attr poll = {};
	struct ibv_cq_ex *ex = rnic_sw_create_cq_ex(&own.vctx.context, &attr);
	struct rnic_sw_cq *cq = to_cq_ex(ex);

	CHECK(ibv_start_poll(ex, &poll) == ENOENT);
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 1, .byte_len = 4,
					    .opcode = RNIC_SW_OP_READ,
					    .timestamp = 12345 });
	push_cqe(cq, &(struct rnic_sw_cqe){
		.wr_id = 2, .timestamp = now_ns(CLOCK_MONOTONIC) });
	CHECK(!ibv_start_poll(ex, &poll) && ex->wr_id == 1);
	CHECK(ibv_wc_read_opcode(ex) == IBV_WC_RDMA_READ);
	CHECK(ibv_wc_read_byte_len(ex) == 4);
	CHECK(ibv_wc_read_completion_ts(ex) == 12345);
	CHECK(!ibv_next_poll(ex) && ex->wr_id == 2);
	CHECK(ibv_wc_read_completion_wallclock_ns(ex) - early < 2 * minute);
	CHECK(ibv_next_poll(ex) == ENOENT);
	ibv_end_poll(ex);
	CHECK(cq->q.hdr->cons == 2);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

/* start_poll and next_poll free the slot of the completion that they return */
static void test_poll_ex_frees_slots(void)
{
	struct rnic_sw_cq *cq = make_cq_ex(IBV_WC_EX_WITH_BYTE_LEN);
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr poll = {};
	uint32_t i;

	for (i = 0; i < SLOTS; i++)
		push_cqe(cq, &(struct rnic_sw_cqe){ .byte_len = i });
	CHECK(!ibv_start_poll(ex, &poll));
	for (; i < 4 * SLOTS; i++) {
		CHECK(cq->q.hdr->prod - cq->q.hdr->cons < SLOTS);
		push_cqe(cq, &(struct rnic_sw_cqe){ .byte_len = i });
		/*
		 * the current completion is a copy: the kernel may overwrite
		 * its slot
		 */
		CHECK(ibv_wc_read_byte_len(ex) == i - SLOTS);
		CHECK(!ibv_next_poll(ex));
	}
	ibv_end_poll(ex);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

static void test_doorbell_with_changed_credentials(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 2);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = {}, *bad_recv;

	qp->sq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	qp->rq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	other_creds = true;
	CHECK(!rnic_sw_post_send(&qp->vqp.qp, &send, &bad_send));
	CHECK(!rnic_sw_post_recv(&qp->vqp.qp, &recv, &bad_recv));
	CHECK(ioctls == 2);
	other_creds = false;
	CHECK(!rnic_sw_post_send(&qp->vqp.qp, &send, &bad_send));
	CHECK(ioctls == 2);
	destroy_qp_and_cq(qp, cq);
}

/*
 * A post must succeed even if its doorbell fails. The next post must first ring the
 * doorbell again. If that fails too, this next post must be rejected.
 */
static void test_failed_doorbell(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 2);
	struct ibv_send_wr *bad, send = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr *bad_recv, recv = {};
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	qp->sq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	qp->rq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	doorbells_fail = true;
	CHECK(!rnic_sw_post_send(&qp->vqp.qp, &send, &bad));
	CHECK(qp->sq.hdr->prod == 1);
	bad = NULL;
	CHECK(rnic_sw_post_send(&qp->vqp.qp, &send, &bad) == EIO);
	CHECK(bad == &send && qp->sq.hdr->prod == 1);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	CHECK(ibv_wr_complete(ex) == EIO && qp->sq.hdr->prod == 1);
	CHECK(!rnic_sw_post_recv(&qp->vqp.qp, &recv, &bad_recv));
	bad_recv = NULL;
	CHECK(rnic_sw_post_recv(&qp->vqp.qp, &recv, &bad_recv) == EIO);
	CHECK(bad_recv == &recv && qp->rq.hdr->prod == 1);
	doorbells_fail = false;
	kicks = 0;
	CHECK(!rnic_sw_post_send(&qp->vqp.qp, &send, &bad));
	CHECK(qp->sq.hdr->prod == 2 && kicks == 2);
	CHECK(!rnic_sw_post_recv(&qp->vqp.qp, &recv, &bad_recv));
	CHECK(qp->rq.hdr->prod == 2);
	destroy_qp_and_cq(qp, cq);
}

/*
 * If a doorbell fails because memory is short, the post must ring it once
 * more before it returns
 */
static void test_doorbell_without_memory(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_send_wr *bad, send = { .opcode = IBV_WR_SEND };

	qp->sq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	kicks = 0;
	short_of_memory = 1;
	CHECK(!rnic_sw_post_send(&qp->vqp.qp, &send, &bad));
	CHECK(kicks == 2 && !qp->sq.doorbell_err);
	short_of_memory = 2;
	CHECK(!rnic_sw_post_send(&qp->vqp.qp, &send, &bad));
	CHECK(kicks == 4 && qp->sq.doorbell_err == ENOMEM);
	destroy_qp_and_cq(qp, cq);
}

/* An ODP MR may cover the whole address space; advice is passed to the kernel unchanged. */
static void test_odp_mr_and_advice(void)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;
	struct ibv_sge sge[2] = { { 0x1000, 0x2000, 5 }, { 0x9000, 1, 6 } };
	struct ibv_mr *mr = rnic_sw_reg_mr(&pd.ibpd, NULL, SIZE_MAX, 0, access);

	CHECK(mr && !region.at && region.len == SIZE_MAX && !region.iova);
	CHECK(region.access == access);
	CHECK(!rnic_sw_advise_mr(&pd.ibpd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
				 IBV_ADVISE_MR_FLAG_FLUSH, sge, 2));
	CHECK(region.advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT);
	CHECK(region.flags == IBV_ADVISE_MR_FLAG_FLUSH);
	CHECK(region.sg == sge && region.num_sge == 2);
	bad_advice = EFAULT;
	CHECK(rnic_sw_advise_mr(&pd.ibpd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, sge,
				1) == EFAULT);
	bad_advice = 0;
	CHECK(!rnic_sw_dereg_mr(verbs_get_mr(mr)));
}

/* A dma-buf registration is passed to the kernel unchanged. */
static void test_reg_dmabuf_mr(void)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_mr *mr;

	mr = rnic_sw_reg_dmabuf_mr(&pd.ibpd, 0x3000, 0x500, 0x7000, 8, access);
	CHECK(mr && region.at == (void *)0x3000 && region.len == 0x500);
	CHECK(region.iova == 0x7000 && region.fd == 8);
	CHECK(region.access == access);
	CHECK(!rnic_sw_dereg_mr(verbs_get_mr(mr)));
	refuse_buffer = true;
	CHECK(!rnic_sw_reg_dmabuf_mr(&pd.ibpd, 0, 1, 0, 8, 0));
	refuse_buffer = false;
}

static void test_raw_clock(void)
{
	struct ibv_values_ex v = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	const struct timespec year = { .tv_sec = 31536000, .tv_nsec = 7 };

	CHECK(rnic_sw_to_ns(&year) == 31536000000000007ull);
	CHECK(!rnic_sw_query_rt_values(&own.vctx.context, &v));
	CHECK(!v.raw_clock.tv_sec && v.raw_clock.tv_nsec > 1000000);
	memset(&v, 0, sizeof(v));
	CHECK(!rnic_sw_query_rt_values(&own.vctx.context, &v) && !v.raw_clock.tv_nsec);
	v.comp_mask = IBV_VALUES_MASK_RESERVED;
	CHECK(rnic_sw_query_rt_values(&own.vctx.context, &v) == EOPNOTSUPP);
}

static void test_query_port_with_old_library(void)
{
	struct ibv_port_attr attr = { .active_speed_ex = 77 };

	CHECK(!rnic_sw_query_port(&own.vctx.context, 1, &attr));
	CHECK(attr.active_speed_ex == 77);
}

static void test_choose_llp(void)
{
	static const struct {
		const char *word;
		uint32_t llp;
	} known[] = {
		{ "", RNIC_SW_LLP_DEFAULT },
		{ "tcp", RNIC_SW_LLP_TCP },
		{ "sctp", RNIC_SW_LLP_SCTP },
	};
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		setenv("RNIC_SW_LLP", known[i].word, 1);
		rnic_sw_init_context(&own);
		/* the environment is read once, when the context is created */
		setenv("RNIC_SW_LLP", "udp", 1);
		qp = make_qp(cq, 0);
		CHECK(qp && llp_asked == known[i].llp);
		CHECK(!rnic_sw_destroy_qp(&qp->vqp.qp));
	}
	rnic_sw_init_context(&own);
	errno = 0;
	CHECK(!make_qp(cq, 0) && errno == EINVAL);
	/* rnic_sw_dv_set_llp() takes precedence over the environment */
	CHECK(rnic_sw_dv_is_supported(&device.device));
	CHECK(!rnic_sw_dv_set_llp(&own.vctx.context, RNIC_SW_DV_LLP_SCTP));
	qp = make_qp(cq, 0);
	CHECK(qp && llp_asked == RNIC_SW_LLP_SCTP);
	CHECK(!rnic_sw_destroy_qp(&qp->vqp.qp));
	CHECK(rnic_sw_dv_set_llp(&own.vctx.context, 3) == EINVAL);
	CHECK(!rnic_sw_dv_set_llp(&own.vctx.context, RNIC_SW_DV_LLP_DEFAULT));
	device.ops = NULL;
	CHECK(!rnic_sw_dv_is_supported(&device.device));
	CHECK(rnic_sw_dv_set_llp(&own.vctx.context, RNIC_SW_DV_LLP_TCP) == EOPNOTSUPP);
	device.ops = &rnic_sw_dev_ops;
	unsetenv("RNIC_SW_LLP");
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

/* Check that the query fills in all members, and no byte past them. @len: of the Private Data */
static void query_and_check_conn(struct ibv_qp *qp, uint16_t len)
{
	struct {
		struct rnic_sw_dv_conn	conn;
		uint8_t			guard;
	} got;

	memset(&got, 0xee, sizeof(got));
	got.conn.comp_mask = 0;
	conn.resp.private_data_len = len;
	CHECK(!rnic_sw_dv_query_conn(qp, &got.conn));
	CHECK(conn.handle == qp->handle);
	CHECK(got.conn.flags == 0x1f);
	CHECK(got.conn.llp == RNIC_SW_DV_LLP_SCTP && got.conn.revision == 2);
	CHECK(got.conn.ird == RNIC_SW_DV_NOT_NEGOTIATED && got.conn.ord == 0x1234);
	CHECK(got.conn.private_data_len == len);
	CHECK(!memcmp(got.conn.private_data, conn.pd, len));
	CHECK(len == RNIC_SW_DV_PRIVATE_DATA_MAX || !got.conn.private_data[len]);
	CHECK(!got.conn.private_data[RNIC_SW_DV_PRIVATE_DATA_MAX - 1] == (len < 512));
	CHECK(got.guard == 0xee);
}

static void test_query_conn(void)
{
	static const struct { int kernel, program; } errors[] = {
		{ ENOTCONN, ENOTCONN },
		{ EIO, EIO },
		{ EPROTONOSUPPORT, EOPNOTSUPP },	/* the kernel lacks the method */
	};
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct rnic_sw_dv_conn got = {};
	unsigned int i;

	qp->vqp.qp.context = &own.vctx.context;
	qp->vqp.qp.handle = 77;
	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		method_errno = errors[i].kernel;
		CHECK(rnic_sw_dv_query_conn(&qp->vqp.qp, &got) == errors[i].program);
	}
	method_errno = 0;
	/* bits of flags that this version does not know are not reported */
	conn.resp = (struct rnic_sw_query_conn_resp) {
		.flags = ~0u, .ird = 0x3fff, .ord = 0x1234, .llp = RNIC_SW_LLP_SCTP,
		.revision = 2,
	};
	memset(conn.pd, 0x77, sizeof(conn.pd));
	for (i = 0; i <= RNIC_SW_DV_PRIVATE_DATA_MAX; i++)
		query_and_check_conn(&qp->vqp.qp, i);
	got.comp_mask = 1;
	CHECK(rnic_sw_dv_query_conn(&qp->vqp.qp, &got) == EINVAL);
	got.comp_mask = 0;
	device.ops = NULL;
	CHECK(rnic_sw_dv_query_conn(&qp->vqp.qp, &got) == EOPNOTSUPP);
	device.ops = &rnic_sw_dev_ops;
	destroy_qp_and_cq(qp, cq);
}

int main(void)
{
	own.vctx.context.cmd_fd = memfd_create("rings", MFD_CLOEXEC);
	if (own.vctx.context.cmd_fd < 0 ||
	    ftruncate(own.vctx.context.cmd_fd, 1024 * AREA)) {
		perror("memfd");
		return 1;
	}
	rnic_sw_init_context(&own);
	alarm(60);		/* kill this program after 60 s if a test deadlocks */
	test_request_contents();
	test_object_creation();
	test_ring_packing();
	test_rq_ring_follows_sq_ring();
	test_post_to_full_ring();
	test_index_wrap();
	test_wr_api();
	test_poll_cq();
	test_poll_cq_ex();
	test_poll_ex_frees_slots();
	test_object_destruction();
	test_failed_doorbell();
	test_doorbell_without_memory();
	test_cancelled_threads();
	test_domains();
	test_memory();
	test_refusals();
	test_cq_resize();
	test_doorbell_with_changed_credentials();
	test_doorbells();
	test_query_port_with_old_library();
	test_odp_mr_and_advice();
	test_reg_dmabuf_mr();
	test_raw_clock();
	test_query_conn();
	test_choose_llp();
	printf("provider: %s\n", failures ? "FAILED" : "ok");
	return failures != 0;
}
