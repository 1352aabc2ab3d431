// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of protection, parent and thread domains: deallocating a domain fails
 * with EBUSY while the domain contains an object.
 */
#include <errno.h>

#include "provider_test.h"

static struct ibv_td *td;
static struct ibv_pd *parent;		/* parent domain on pd, with td */

static struct ibv_pd *make_parent(struct ibv_pd *domain)
{
	struct ibv_parent_domain_init_attr attr = { .pd = domain, .td = td };

	return rnic_sw_alloc_parent_domain(&own.vctx.context, &attr);
}

static void expect_domains_in_use(void)
{
	CHECK(rnic_sw_dealloc_pd(parent) == EBUSY);
	CHECK(rnic_sw_dealloc_td(td) == EBUSY);
	CHECK(rnic_sw_dealloc_pd(&pd.ibpd) == EBUSY);
}

static void test_mrs_and_mws_hold_domain(void)
{
	struct ibv_mr *mr = rnic_sw_reg_mr(parent, NULL, 1, 0, 0);
	struct ibv_mw *mw;

	expect_domains_in_use();
	CHECK(!rnic_sw_dereg_mr(verbs_get_mr(mr)));
	mr = rnic_sw_reg_dmabuf_mr(parent, 0, 1, 0, 8, 0);
	expect_domains_in_use();
	CHECK(!rnic_sw_dereg_mr(verbs_get_mr(mr)));
	mr = rnic_sw_import_mr(parent, 1);
	expect_domains_in_use();
	rnic_sw_unimport_mr(mr);
	mw = rnic_sw_alloc_mw(parent, IBV_MW_TYPE_2);
	expect_domains_in_use();
	CHECK(!rnic_sw_dealloc_mw(mw));
}

static void test_queues_hold_domain(void)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 1,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};
	struct ibv_srq_init_attr srq_attr = { .attr.max_wr = 3 };
	struct ibv_srq *srq = rnic_sw_create_srq(parent, &srq_attr);
	struct ibv_qp_init_attr attr = {
		.cap.max_send_wr = 3,
		.qp_type = IBV_QPT_RC,
	};
	struct rnic_sw_cq *cq;
	struct ibv_qp *qp;

	expect_domains_in_use();
	CHECK(!rnic_sw_destroy_srq(srq));
	cq = to_cq_ex(rnic_sw_create_cq_ex(&own.vctx.context, &cq_attr));
	expect_domains_in_use();
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
	cq = make_cq();
	attr.send_cq = attr.recv_cq = &cq->vcq.cq;
	qp = rnic_sw_create_qp(parent, &attr);
	expect_domains_in_use();
	CHECK(!rnic_sw_destroy_qp(qp));
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

static void test_rereg_mr_moves_pd_reference(void)
{
	struct ibv_mr *mr = rnic_sw_reg_mr(&pd.ibpd, NULL, 1, 0, 0);

	CHECK(!rnic_sw_rereg_mr(verbs_get_mr(mr), IBV_REREG_MR_CHANGE_PD, parent,
				NULL, 0, 0));
	CHECK(mr->pd == parent);
	expect_domains_in_use();
	CHECK(!rnic_sw_rereg_mr(verbs_get_mr(mr), IBV_REREG_MR_CHANGE_ACCESS,
				NULL, NULL, 0, 0));
	expect_domains_in_use();
	CHECK(!rnic_sw_rereg_mr(verbs_get_mr(mr), IBV_REREG_MR_CHANGE_PD,
				&pd.ibpd, NULL, 0, 0));
	CHECK(!rnic_sw_dealloc_pd(parent));
	CHECK(!rnic_sw_dereg_mr(verbs_get_mr(mr)));
	CHECK(pd.refs == 1);
}

static void test_parent_domain_holds_pd(void)
{
	struct ibv_pd *domain = rnic_sw_alloc_pd(&own.vctx.context);

	parent = make_parent(domain);
	CHECK(rnic_sw_dealloc_pd(domain) == EBUSY);
	CHECK(!rnic_sw_dealloc_pd(parent));
	CHECK(!rnic_sw_dealloc_pd(domain));
}

/*
 * Unimporting a PD with objects on it succeeds; its memory is freed with the
 * last object
 */
static void test_unimport_with_objects(void)
{
	struct ibv_pd *domain = rnic_sw_import_pd(&own.vctx.context, 1);
	struct ibv_mr *mr = rnic_sw_reg_mr(domain, NULL, 1, 0, 0);

	parent = make_parent(domain);
	rnic_sw_unimport_pd(domain);
	CHECK(mr->pd->context == &own.vctx.context);
	CHECK(!rnic_sw_dereg_mr(verbs_get_mr(mr)));
	CHECK(parent->context == &own.vctx.context);
	CHECK(!rnic_sw_dealloc_pd(parent));
}

/*
 * A PD can be deallocated even if the provider still counts an imported MR on it:
 * only the kernel knows whether another process has already deregistered the MR
 */
static void test_dealloc_with_imported_mr(void)
{
	struct ibv_pd *domain = rnic_sw_alloc_pd(&own.vctx.context);
	struct ibv_mr *mr = rnic_sw_import_mr(domain, 1);

	CHECK(!rnic_sw_dealloc_pd(domain));
	rnic_sw_unimport_mr(mr);
}

void test_domains(void)
{
	struct ibv_td_init_attr attr = {};

	td = rnic_sw_alloc_td(&own.vctx.context, &attr);
	CHECK(td && td->context == &own.vctx.context);
	parent = make_parent(&pd.ibpd);
	test_mrs_and_mws_hold_domain();
	test_queues_hold_domain();
	test_rereg_mr_moves_pd_reference();
	test_parent_domain_holds_pd();
	test_unimport_with_objects();
	test_dealloc_with_imported_mr();
	CHECK(!rnic_sw_dealloc_td(td));
}
