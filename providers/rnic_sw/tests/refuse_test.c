// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of failed destruction: if the kernel refuses to destroy an object, the
 * object remains usable and can be destroyed later.
 */
#include <errno.h>
#include <pthread.h>

#include "provider_test.h"

static struct ibv_td *td;
static struct ibv_pd *parent;		/* parent domain of pd and td; has at most one object */

static void expect_domains_busy(void)
{
	destroy_commands = 0;
	CHECK(rnic_sw_dealloc_pd(parent) == EBUSY);
	CHECK(rnic_sw_dealloc_td(td) == EBUSY);
	CHECK(rnic_sw_dealloc_pd(&pd.ibpd) == EBUSY);
	CHECK(!destroy_commands);
}

static void expect_thread_cancellable(void)
{
	int old;

	CHECK(!pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
	CHECK(old == PTHREAD_CANCEL_ENABLE);
}

/*
 * If destroying a QP fails, its completions remain and it is removed from
 * ctx->destroying.
 */
static void test_refused_qp_destroy(void)
{
	struct rnic_sw_cq *scq = make_cq(), *rcq = make_cq();
	struct ibv_qp_init_attr attr = {
		.send_cq = &scq->vcq.cq,
		.recv_cq = &rcq->vcq.cq,
		.cap = { .max_send_wr = 3, .max_recv_wr = 3 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = rnic_sw_create_qp(parent, &attr);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr *bad_recv, recv = {};
	struct ibv_wc wc;

	push_cqe(scq, &(struct rnic_sw_cqe){ .wr_id = 1, .qp_num = 7 });
	push_cqe(rcq, &(struct rnic_sw_cqe){ .wr_id = 2, .qp_num = 7 });
	refusal = EIO;
	CHECK(rnic_sw_destroy_qp(qp) == EIO);
	CHECK(rnic_sw_destroy_cq(&scq->vcq.cq) == EBUSY);
	CHECK(rnic_sw_destroy_cq(&rcq->vcq.cq) == EBUSY);
	refusal = 0;
	expect_domains_busy();
	expect_thread_cancellable();
	CHECK(list_empty(&own.destroying));
	CHECK(rnic_sw_poll_cq(&scq->vcq.cq, 1, &wc) == 1 && wc.wr_id == 1);
	CHECK(rnic_sw_poll_cq(&rcq->vcq.cq, 1, &wc) == 1 && wc.wr_id == 2);
	CHECK(!rnic_sw_post_send(qp, &wr, &bad));
	CHECK(!rnic_sw_post_recv(qp, &recv, &bad_recv));
	CHECK(!rnic_sw_destroy_qp(qp));
	CHECK(!rnic_sw_destroy_cq(&scq->vcq.cq));
	CHECK(!rnic_sw_destroy_cq(&rcq->vcq.cq));
}

static void test_refused_cq_destroy(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};
	struct rnic_sw_cq *cq =
		to_cq_ex(rnic_sw_create_cq_ex(&own.vctx.context, &attr));
	struct ibv_wc wc;

	refusal = EIO;
	CHECK(rnic_sw_destroy_cq(&cq->vcq.cq) == EIO);
	refusal = 0;
	expect_domains_busy();
	expect_thread_cancellable();
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 3 });
	CHECK(rnic_sw_poll_cq(&cq->vcq.cq, 1, &wc) == 1 && wc.wr_id == 3);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

static void test_refused_srq_destroy(void)
{
	struct ibv_srq_init_attr attr = { .attr.max_wr = 3 };
	struct ibv_srq *srq = rnic_sw_create_srq(parent, &attr);
	struct ibv_recv_wr *bad, wr = {};

	refusal = EIO;
	CHECK(rnic_sw_destroy_srq(srq) == EIO);
	refusal = 0;
	expect_domains_busy();
	expect_thread_cancellable();
	CHECK(!rnic_sw_post_srq_recv(srq, &wr, &bad));
	CHECK(!rnic_sw_destroy_srq(srq));
}

/* A reregistration that the kernel refuses leaves the MR on its PD. */
static void test_refused_mr_change(void)
{
	struct ibv_mr *mr = rnic_sw_reg_mr(parent, NULL, 1, 0, 0);

	refusal = EIO;
	CHECK(rnic_sw_rereg_mr(verbs_get_mr(mr), IBV_REREG_MR_CHANGE_PD,
			       &pd.ibpd, NULL, 0, 0) == EIO);
	CHECK(mr->pd == parent);
	expect_domains_busy();
	CHECK(rnic_sw_dereg_mr(verbs_get_mr(mr)) == EIO);
	refusal = 0;
	expect_domains_busy();
	CHECK(mr->pd == parent && !rnic_sw_dereg_mr(verbs_get_mr(mr)));
}

static void test_refused_mw_dealloc(void)
{
	struct ibv_mw *mw = rnic_sw_alloc_mw(parent, IBV_MW_TYPE_2);

	refusal = EIO;
	CHECK(rnic_sw_dealloc_mw(mw) == EIO);
	refusal = 0;
	expect_domains_busy();
	CHECK(mw->pd == parent && !rnic_sw_dealloc_mw(mw));
}

static void test_refused_pd_dealloc(void)
{
	struct ibv_pd *domain = rnic_sw_alloc_pd(&own.vctx.context);
	struct ibv_parent_domain_init_attr attr = { .pd = domain };
	struct ibv_pd *child;

	refusal = EIO;
	CHECK(rnic_sw_dealloc_pd(domain) == EIO);
	refusal = 0;
	/* a parent domain can still be created on the PD, and keeps the PD in use */
	child = rnic_sw_alloc_parent_domain(&own.vctx.context, &attr);
	CHECK(child && rnic_sw_dealloc_pd(domain) == EBUSY);
	CHECK(!rnic_sw_dealloc_pd(child) && !rnic_sw_dealloc_pd(domain));
}

/*
 * Parent and thread domains exist only in the provider, so they can be
 * deallocated while the kernel refuses all destroy commands
 */
static void test_parent_and_td_dealloc_without_kernel(void)
{
	refusal = EIO;
	CHECK(!rnic_sw_dealloc_pd(parent));
	CHECK(!rnic_sw_dealloc_td(td));
	refusal = 0;
	CHECK(pd.refs == 1 && !pd.parents);
}

void test_refusals(void)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_parent_domain_init_attr attr = { .pd = &pd.ibpd };

	td = rnic_sw_alloc_td(&own.vctx.context, &td_attr);
	attr.td = td;
	parent = rnic_sw_alloc_parent_domain(&own.vctx.context, &attr);
	test_refused_qp_destroy();
	test_refused_cq_destroy();
	test_refused_srq_destroy();
	test_refused_mr_change();
	test_refused_mw_dealloc();
	test_refused_pd_dealloc();
	test_parent_and_td_dealloc_without_kernel();
}
