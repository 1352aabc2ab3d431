// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of creating objects: the provider checks attributes and the kernel's
 * responses, and a failed creation leaks nothing.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "provider_test.h"

/* Functions for corrupt_response[], which make a response of the fake kernel invalid */
static void set_no_slots(struct played_ring *r) { r->slots = 0; }
static void set_odd_slots(struct played_ring *r) { r->slots = SLOTS - 1; }
static void set_too_many_slots(struct played_ring *r) { r->slots *= 2; }
static void set_no_stride(struct played_ring *r) { r->stride = 0; }
static void set_narrow_stride(struct played_ring *r) { r->stride = 8; }
static void set_misaligned_stride(struct played_ring *r) { r->stride -= 4; }
static void set_bytes_below_header(struct played_ring *r) { r->bytes = RNIC_SW_RING_HDR - 1; }
static void set_bytes_short_by_one(struct played_ring *r) { r->bytes -= 1; }
static void set_unmapped_key(struct played_ring *r) { r->key = 1; }

/* Set a stride that is 8 bytes too small for WQE header and granted SGEs */
static void set_too_small_sq_stride(struct played_ring *r)
{
	r->stride = sizeof(struct rnic_sw_sqe) + MAX_SGE * sizeof(struct rnic_sw_sge) - 8;
}

static void set_too_small_rq_stride(struct played_ring *r)
{
	r->stride = sizeof(struct rnic_sw_rqe) + MAX_SGE * sizeof(struct rnic_sw_sge) - 8;
}

/* Set the smallest stride with space for WQE header and granted SGEs */
static void set_smallest_sq_stride(struct played_ring *r)
{
	r->stride = sizeof(struct rnic_sw_sqe) + MAX_SGE * sizeof(struct rnic_sw_sge);
}

static void set_smallest_rq_stride(struct played_ring *r)
{
	r->stride = sizeof(struct rnic_sw_rqe) + MAX_SGE * sizeof(struct rnic_sw_sge);
}

static void (*const nonsense[])(struct played_ring *) = {
	set_odd_slots, set_too_many_slots, set_no_stride, set_narrow_stride,
	set_misaligned_stride, set_bytes_below_header, set_bytes_short_by_one, set_unmapped_key,
};

#define EACH(i, list) (i = 0; i < sizeof(list) / sizeof((list)[0]); i++)

static void *create_plain_cq(void)
{
	return rnic_sw_create_cq(&own.vctx.context, SLOTS, NULL, 0);
}

static void *create_plain_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr.max_wr = 3 };

	return rnic_sw_create_srq(&pd.ibpd, &attr);
}

static struct rnic_sw_cq *used;

static void *create_plain_qp(void)
{
	return make_qp(used, 2);
}

/*
 * Creation must fail with errno @want. If the kernel has created its object,
 * the provider must destroy that object.
 */
static void expect_create_fails(void *(*make)(void), int want)
{
	int refs = pd.refs;

	ended = 0;
	errno = 0;
	CHECK(!make() && errno == want);
	CHECK(ended == (refuse_create ? 0 : 1) && pd.refs == refs);
	corrupt_response[0] = corrupt_response[1] = NULL;
}

static void expect_bad_rings_refused(void *(*make)(void), unsigned int rings)
{
	unsigned int i, ring;

	for (ring = 0; ring < rings; ring++) {
		for EACH(i, nonsense) {
			/* a key cannot be invalid for the second ring, which has no key */
			if (ring && nonsense[i] == set_unmapped_key)
				continue;
			corrupt_response[ring] = nonsense[i];
			expect_create_fails(make, EINVAL);
		}
	}
	refuse_create = ENOSPC;
	expect_create_fails(make, ENOSPC);
	refuse_create = 0;
}

static void test_bad_rings_refused(void)
{
	used = make_cq();
	expect_bad_rings_refused(create_plain_cq, 1);
	corrupt_response[0] = set_no_slots;
	expect_create_fails(create_plain_cq, EINVAL);
	expect_bad_rings_refused(create_plain_srq, 1);
	corrupt_response[0] = set_too_small_rq_stride;
	expect_create_fails(create_plain_srq, EINVAL);
	expect_bad_rings_refused(create_plain_qp, 2);
	corrupt_response[0] = set_too_small_sq_stride;
	expect_create_fails(create_plain_qp, EINVAL);
	corrupt_response[1] = set_too_small_rq_stride;
	expect_create_fails(create_plain_qp, EINVAL);
	CHECK(!used->refs && !rnic_sw_destroy_cq(&used->vcq.cq));
}

/* Rings with the smallest valid strides are accepted. */
static void test_smallest_qp_rings(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp;

	corrupt_response[0] = set_smallest_sq_stride;
	corrupt_response[1] = set_smallest_rq_stride;
	rq_offset = RNIC_SW_RING_HDR + SLOTS * (64 + MAX_SGE * 16);
	rq_offset = (rq_offset + RNIC_SW_RING_HDR - 1) & -RNIC_SW_RING_HDR;
	qp = make_qp(cq, 2);
	rq_offset = RING;
	CHECK(qp && qp->sq.stride == 64 + MAX_SGE * 16 && qp->rq.stride == 16 + MAX_SGE * 16);
	CHECK(qp->max_send_sge == MAX_SGE && qp->max_recv_sge == MAX_SGE);
	corrupt_response[0] = corrupt_response[1] = NULL;
	destroy_qp_and_cq(qp, cq);
}

static void set_smallest_cq_stride(struct played_ring *r)
{
	r->stride = sizeof(struct rnic_sw_cqe);
}

static void test_smallest_cq_ring(void)
{
	struct rnic_sw_cq *cq;

	corrupt_response[0] = set_smallest_cq_stride;
	cq = make_cq();
	corrupt_response[0] = NULL;
	CHECK(cq && cq->q.stride == 32 && !rnic_sw_destroy_cq(&cq->vcq.cq));
}

static void test_smallest_srq_ring(void)
{
	struct rnic_sw_srq *srq;

	corrupt_response[0] = set_smallest_rq_stride;
	srq = make_srq();
	corrupt_response[0] = NULL;
	CHECK(srq && srq->max_sge == MAX_SGE && !rnic_sw_destroy_srq(&srq->ibsrq));
}

static bool is_mapped(void *at)
{
	const uintptr_t page = sysconf(_SC_PAGESIZE);

	return !msync((void *)((uintptr_t)at & -page), 1, MS_ASYNC);
}

/* Destroying an object unmaps its ring */
static void test_destroy_unmaps_ring(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_srq *srq = make_srq();
	struct rnic_sw_qp *qp = make_qp(cq, 2);
	void *rings[] = { cq->q.hdr, srq->q.hdr, qp->sq.hdr, qp->rq.hdr };
	size_t i;

	for EACH(i, rings)
		CHECK(is_mapped(rings[i]));
	CHECK(!rnic_sw_destroy_srq(&srq->ibsrq));
	destroy_qp_and_cq(qp, cq);
	for EACH(i, rings)
		CHECK(!is_mapped(rings[i]));
}

static void expect_qp_refused(struct ibv_qp_init_attr_ex attr, int want)
{
	errno = 0;
	CHECK(!rnic_sw_create_qp_ex(&own.vctx.context, &attr) && errno == want);
}

/*
 * Unsupported and invalid QP attributes are rejected without a command to the
 * kernel
 */
static void test_invalid_qp_attr_refused(void)
{
	struct rnic_sw_cq *cq = make_cq();
	const struct ibv_qp_init_attr_ex good = {
		.send_cq = &cq->vcq.cq, .recv_cq = &cq->vcq.cq,
		.cap.max_send_wr = 1, .qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = &pd.ibpd,
	};
	struct ibv_qp_init_attr_ex attr = good;
	struct ibv_qp *qp = rnic_sw_create_qp_ex(&own.vctx.context, &attr);

	CHECK(qp && !rnic_sw_destroy_qp(qp));
	/* members whose comp_mask bit is not set are ignored */
	attr = good;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.create_flags = attr.send_ops_flags = ~0;
	qp = rnic_sw_create_qp_ex(&own.vctx.context, &attr);
	CHECK(qp && !rnic_sw_destroy_qp(qp));
#define WITH(member, value, want) do {					\
	attr = good;							\
	attr.member = value;						\
	expect_qp_refused(attr, want);						\
} while (0)
	WITH(comp_mask, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD, EOPNOTSUPP);
	WITH(comp_mask, 0, EINVAL);
	WITH(pd, NULL, EINVAL);
	WITH(create_flags, IBV_QP_CREATE_SOURCE_QPN, EOPNOTSUPP);
	WITH(qp_type, IBV_QPT_UD, EOPNOTSUPP);
	WITH(send_cq, NULL, EINVAL);
	WITH(recv_cq, NULL, EINVAL);
	attr = good;
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO;
	expect_qp_refused(attr, EOPNOTSUPP);
	CHECK(!cq->refs && !rnic_sw_destroy_cq(&cq->vcq.cq));
}

static void expect_cq_refused(struct ibv_cq_init_attr_ex attr, int want)
{
	errno = 0;
	CHECK(!rnic_sw_create_cq_ex(&own.vctx.context, &attr) && errno == want);
}

static void test_invalid_cq_attr_refused(void)
{
	expect_cq_refused((struct ibv_cq_init_attr_ex){}, EINVAL);
	expect_cq_refused((struct ibv_cq_init_attr_ex){ .cqe = 0x80000000 },
			  EINVAL);
	expect_cq_refused((struct ibv_cq_init_attr_ex){ .cqe = 1,
		.wc_flags = IBV_WC_EX_WITH_CVLAN }, EOPNOTSUPP);
	expect_cq_refused((struct ibv_cq_init_attr_ex){ .cqe = 1,
		.comp_mask = 1 << 30 }, EOPNOTSUPP);
	expect_cq_refused((struct ibv_cq_init_attr_ex){ .cqe = 1,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN }, EOPNOTSUPP);
	/* a protection domain is not a parent domain */
	expect_cq_refused((struct ibv_cq_init_attr_ex){ .cqe = 1,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = &pd.ibpd }, EINVAL);
	expect_cq_refused((struct ibv_cq_init_attr_ex){ .cqe = 1,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD }, EINVAL);
}

/* An extended CQ has only the read functions that were requested. */
static void test_cq_ex_has_requested_functions(void)
{
	uint64_t flag;

	for (flag = 1; flag <= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK; flag <<= 1) {
		struct ibv_cq_init_attr_ex attr = { .cqe = 1, .wc_flags = flag };
		struct ibv_cq_ex *ex;

		if (!(flag & (IBV_WC_STANDARD_FLAGS |
			      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)))
			continue;
		ex = rnic_sw_create_cq_ex(&own.vctx.context, &attr);
		CHECK(ex && ex->read_opcode && ex->read_vendor_err && ex->read_wc_flags);
#define READS(fn, name)	CHECK(!ex->fn == !(flag & IBV_WC_EX_WITH_##name))
		READS(read_byte_len, BYTE_LEN);
		READS(read_imm_data, IMM);
		READS(read_qp_num, QP_NUM);
		READS(read_src_qp, SRC_QP);
		READS(read_slid, SLID);
		READS(read_sl, SL);
		READS(read_dlid_path_bits, DLID_PATH_BITS);
		READS(read_completion_ts, COMPLETION_TIMESTAMP);
		READS(read_completion_wallclock_ns, COMPLETION_TIMESTAMP_WALLCLOCK);
		CHECK(cq_flags == (flag & IBV_WC_STANDARD_FLAGS ?
				   0 : RNIC_SW_CREATE_CQ_TIMESTAMP));
		CHECK(!rnic_sw_destroy_cq(&to_cq_ex(ex)->vcq.cq));
	}
}

/*
 * The read functions return all fields of a completion. For a failed completion
 * they return the vendor error, and no flags.
 */
static void test_cq_ex_functions_return_fields(void)
{
	struct rnic_sw_cq *cq = make_cq_ex(IBV_WC_STANDARD_FLAGS);
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr poll = {};

	push_cqe(cq, &(struct rnic_sw_cqe){
		.wr_id = 9, .qp_num = 7, .byte_len = 3,
		.opcode = RNIC_SW_OP_RECV | RNIC_SW_OP_WRITE_IMM,
		.flags = RNIC_SW_WC_WITH_IMM, .imm_data = 0x12345678 });
	push_cqe(cq, &(struct rnic_sw_cqe){
		.status = RNIC_SW_REM_ACCESS_ERR, .vendor_err = 33,
		.flags = RNIC_SW_WC_WITH_IMM });
	poll.comp_mask = 1;
	CHECK(ibv_start_poll(ex, &poll) == EINVAL && is_lock_free(&cq->q.lock));
	poll.comp_mask = 0;
	CHECK(!ibv_start_poll(ex, &poll) && ex->wr_id == 9 && !ex->status);
	CHECK(ibv_wc_read_opcode(ex) == IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK(ibv_wc_read_qp_num(ex) == 7 && ibv_wc_read_byte_len(ex) == 3);
	CHECK(ibv_wc_read_imm_data(ex) == 0x12345678 && !ibv_wc_read_vendor_err(ex));
	CHECK(ibv_wc_read_wc_flags(ex) == IBV_WC_WITH_IMM);
	CHECK(!ibv_wc_read_src_qp(ex) && !ibv_wc_read_slid(ex) && !ibv_wc_read_sl(ex));
	CHECK(!ibv_wc_read_dlid_path_bits(ex));
	CHECK(!ibv_next_poll(ex) && ex->status == IBV_WC_REM_ACCESS_ERR);
	CHECK(ibv_wc_read_vendor_err(ex) == 33 && !ibv_wc_read_wc_flags(ex));
	ibv_end_poll(ex);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

/* If the kernel refuses to create an MW or MR, no reference to the PD is leaked. */
static void test_refused_create_drops_pd(void)
{
	int refs = pd.refs;

	refuse_create = EDQUOT;
	errno = 0;
	CHECK(!rnic_sw_alloc_mw(&pd.ibpd, IBV_MW_TYPE_2) && errno == EDQUOT);
	CHECK(!rnic_sw_reg_mr(&pd.ibpd, NULL, 1, 0, 0));
	CHECK(!rnic_sw_import_mr(&pd.ibpd, 5));
	CHECK(pd.refs == refs);
	refuse_create = 0;
}

static void test_query_device_ex(void)
{
	struct ibv_device_attr_ex attr = {};

	CHECK(!rnic_sw_query_device_ex(&own.vctx.context, NULL, &attr, sizeof(attr)));
	CHECK(!strcmp(attr.orig_attr.fw_ver, "1.2.3"));
	CHECK(attr.packet_pacing_caps.qp_rate_limit_max == RNIC_SW_RATE_MAX);
	memset(&attr, 0, sizeof(attr));
	/* an older library passes a shorter struct */
	CHECK(!rnic_sw_query_device_ex(&own.vctx.context, NULL, &attr,
		offsetof(struct ibv_device_attr_ex, packet_pacing_caps)));
	CHECK(!attr.packet_pacing_caps.qp_rate_limit_max);
}

static void test_rate_limit(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 1234 };

	CHECK(!rnic_sw_modify_qp_rate_limit(&qp->vqp.qp, &attr) && rate_asked == 1234);
	attr.max_burst_sz = 1;
	CHECK(rnic_sw_modify_qp_rate_limit(&qp->vqp.qp, &attr) == EOPNOTSUPP);
	attr.max_burst_sz = 0;
	attr.typical_pkt_sz = 1;
	CHECK(rnic_sw_modify_qp_rate_limit(&qp->vqp.qp, &attr) == EOPNOTSUPP);
	attr.typical_pkt_sz = 0;
	attr.comp_mask = 1;
	CHECK(rnic_sw_modify_qp_rate_limit(&qp->vqp.qp, &attr) == EINVAL);
	destroy_qp_and_cq(qp, cq);
}

/*
 * The LID of a peer is passed as driver data if the address vector has no GRH and the kernel
 * accepts such data.
 */
static void test_dlid_is_passed(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_qp_attr attr = { .rate_limit = 1234, .ah_attr.dlid = 0x1234 };
	const int rtr = IBV_QP_STATE | IBV_QP_AV;

	plain_modifies = 0;
	CHECK(!rnic_sw_modify_qp(&qp->vqp.qp, &attr, rtr) && plain_modifies == 1);
	own.takes_dlid = true;
	CHECK(!rnic_sw_modify_qp(&qp->vqp.qp, &attr, rtr) && dlid_passed == 0x1234);
	CHECK(!rnic_sw_modify_qp(&qp->vqp.qp, &attr, rtr | IBV_QP_RATE_LIMIT));
	CHECK(dlid_passed == 0x1234 && rate_asked == 1234);
	CHECK(!rnic_sw_modify_qp(&qp->vqp.qp, &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT));
	CHECK(!dlid_passed && rate_asked == 1234 && plain_modifies == 1);
	CHECK(!rnic_sw_modify_qp(&qp->vqp.qp, &attr, IBV_QP_STATE) && plain_modifies == 2);
	attr.ah_attr.is_global = 1;
	CHECK(!rnic_sw_modify_qp(&qp->vqp.qp, &attr, rtr) && plain_modifies == 3);
	attr.ah_attr = (struct ibv_ah_attr){};
	CHECK(!rnic_sw_modify_qp(&qp->vqp.qp, &attr, rtr) && plain_modifies == 4);
	own.takes_dlid = false;
	destroy_qp_and_cq(qp, cq);
}

void test_object_creation(void)
{
	test_bad_rings_refused();
	test_smallest_qp_rings();
	test_smallest_cq_ring();
	test_smallest_srq_ring();
	test_destroy_unmaps_ring();
	test_invalid_qp_attr_refused();
	test_invalid_cq_attr_refused();
	test_cq_ex_has_requested_functions();
	test_cq_ex_functions_return_fields();
	test_refused_create_drops_pd();
	test_query_device_ex();
	test_rate_limit();
	test_dlid_is_passed();
}
