// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of a parent domain's allocation functions, of buffers for programs, and
 * of completion counters.
 */
#include <errno.h>
#include <stdlib.h>

#include "provider_test.h"

#define RES_TYPE(type)	((uint64_t)RNIC_SW_DRIVER_ID << 32 | (type))

static struct {
	bool		use_default;	/* the function leaves the allocation to the provider */
	bool		fails;		/* the function returns NULL */
	unsigned int	allocated, freed;
	uint64_t	type;		/* resource type of the last call */
	struct ibv_pd	*pd;		/* parent domain of the last call */
} own_memory;

static void *alloc_memory(struct ibv_pd *ibpd, void *pd_context, size_t size, size_t alignment,
			  uint64_t resource_type)
{
	void *mem;

	CHECK(pd_context == &own_memory && size && alignment >= 16);
	own_memory.pd = ibpd;
	own_memory.type = resource_type;
	if (own_memory.use_default)
		return IBV_ALLOCATOR_USE_DEFAULT;
	if (own_memory.fails || posix_memalign(&mem, alignment, size))
		return NULL;
	own_memory.allocated++;
	/* the provider must not depend on zeroed memory */
	return memset(mem, 0xee, size);
}

/* Check that the parent domain still exists when the provider frees memory with its function */
static void free_memory(struct ibv_pd *ibpd, void *pd_context, void *ptr, uint64_t resource_type)
{
	CHECK(pd_context == &own_memory && ibpd == own_memory.pd);
	CHECK(to_pd(ibpd)->domain == &pd);
	own_memory.type = resource_type;
	own_memory.freed++;
	free(ptr);
}

static struct ibv_pd *make_parent(void)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = &pd.ibpd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = alloc_memory,
		.free = free_memory,
		.pd_context = &own_memory,
	};

	return rnic_sw_alloc_parent_domain(&own.vctx.context, &attr);
}

static struct ibv_srq *make_srq_on(struct ibv_pd *parent)
{
	struct ibv_srq_init_attr attr = { .attr.max_wr = 3 };

	return rnic_sw_create_srq(parent, &attr);
}

static struct ibv_cq_ex *make_cq_on(struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};

	return rnic_sw_create_cq_ex(&own.vctx.context, &attr);
}

static struct ibv_qp *make_qp_on(struct ibv_pd *parent, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .cap.max_send_wr = 3, .qp_type = IBV_QPT_RC,
	};

	return rnic_sw_create_qp(parent, &attr);
}

/* Create and destroy a queue of each kind. @allocated: whether the program's function allocates */
static void create_and_check_queues(struct ibv_pd *parent, bool allocated)
{
	unsigned int before = own_memory.freed;
	struct ibv_srq *srq = make_srq_on(parent);
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;

	CHECK(srq && own_memory.type == RES_TYPE(RNIC_SW_DV_RES_TYPE_SRQ));
	CHECK(!rnic_sw_destroy_srq(srq));
	cq = make_cq_on(parent);
	CHECK(cq && own_memory.type == RES_TYPE(RNIC_SW_DV_RES_TYPE_CQ));
	qp = make_qp_on(parent, ibv_cq_ex_to_cq(cq));
	CHECK(qp && own_memory.type == RES_TYPE(RNIC_SW_DV_RES_TYPE_QP));
	CHECK(!rnic_sw_destroy_qp(qp));
	CHECK(!rnic_sw_destroy_cq(ibv_cq_ex_to_cq(cq)));
	CHECK(own_memory.freed - before == (allocated ? 3 : 0));
	CHECK(own_memory.freed == own_memory.allocated);
}

static void test_allocators_of_parent_domain(void)
{
	struct ibv_pd *parent = make_parent();

	CHECK(parent);
	create_and_check_queues(parent, true);
	own_memory.use_default = true;
	create_and_check_queues(parent, false);
	own_memory.use_default = false;
	own_memory.fails = true;
	errno = 0;
	CHECK(!make_srq_on(parent) && errno == ENOMEM);
	CHECK(!make_cq_on(parent) && errno == ENOMEM);
	CHECK(own_memory.freed == own_memory.allocated);
	own_memory.fails = false;
	/* the memory is freed if the kernel refuses the queue */
	refuse_create = EBUSY;
	CHECK(!make_srq_on(parent) && errno == EBUSY);
	CHECK(!make_cq_on(parent) && errno == EBUSY);
	refuse_create = 0;
	CHECK(own_memory.freed == own_memory.allocated);
	CHECK(!rnic_sw_dealloc_pd(parent));
}

static void test_incomplete_allocators_refused(void)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = &pd.ibpd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
		.alloc = alloc_memory,
	};

	errno = 0;
	CHECK(!rnic_sw_alloc_parent_domain(&own.vctx.context, &attr) && errno == EINVAL);
	attr.comp_mask = 1u << 31;
	CHECK(!rnic_sw_alloc_parent_domain(&own.vctx.context, &attr) && errno == EOPNOTSUPP);
}

#if IBVERBS_PABI_VERSION >= 64
static void test_alloc_buf(void)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = &pd.ibpd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC,
	};
	struct ibv_pd *parent = rnic_sw_alloc_parent_domain(&own.vctx.context, &attr);
	struct ibv_buf *buf = NULL;
	uint8_t *mem;

	errno = 0;
	CHECK(!rnic_sw_alloc_buf(parent, 0, &buf) && errno == EINVAL);
	CHECK(!rnic_sw_alloc_buf(parent, SIZE_MAX, &buf) && errno == ENOMEM);
	mem = rnic_sw_alloc_buf(parent, 5000, &buf);
	CHECK(mem && buf->addr == mem && buf->size == 5000 && buf->pd == parent);
	CHECK(buf->dmabuf_fd < 0 && !((uintptr_t)mem % 4096) && !mem[0] && !mem[4999]);
	CHECK(rnic_sw_dealloc_pd(parent) == EBUSY);
	rnic_sw_free_buf(buf);
	CHECK(!rnic_sw_dealloc_pd(parent));
}
#endif

#if IBVERBS_PABI_VERSION >= 65
static void test_comp_cntrs(void)
{
	struct ibv_comp_cntr_init_attr bad[] = {
		{ .comp_mask = 1 }, { .type = IBV_COMP_CNTR_TYPE_BYTES }, { .flags = 1 },
	};
	struct ibv_qp_attach_comp_cntr_attr attach = { .comp_mask = 1, .op_mask = 1 };
	struct ibv_qp qp = { .context = &own.vctx.context };
	struct ibv_comp_cntr_init_attr attr = {};
	struct ibv_comp_cntr *cntr;
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		errno = 0;
		CHECK(!rnic_sw_create_comp_cntr(&own.vctx.context, &bad[i]) && errno == EOPNOTSUPP);
	}
	refuse_create = ENOMEM;
	CHECK(!rnic_sw_create_comp_cntr(&own.vctx.context, &attr) && errno == ENOMEM);
	refuse_create = 0;
	cntr = rnic_sw_create_comp_cntr(&own.vctx.context, &attr);
	CHECK(cntr && cntr->context == &own.vctx.context);
	CHECK(rnic_sw_qp_attach_comp_cntr(&qp, cntr, &attach) == EOPNOTSUPP);
	attach.comp_mask = 0;
	attach.op_mask = 1u << 6;
	CHECK(rnic_sw_qp_attach_comp_cntr(&qp, cntr, &attach) == EOPNOTSUPP);
	attach.op_mask = 0x3f;
	CHECK(!rnic_sw_qp_attach_comp_cntr(&qp, cntr, &attach));
	CHECK(attached_ops == 0x3f);
	refusal = EBUSY;
	CHECK(rnic_sw_destroy_comp_cntr(cntr) == EBUSY);
	refusal = 0;
	CHECK(!rnic_sw_destroy_comp_cntr(cntr));
}
#endif

void test_memory(void)
{
	test_allocators_of_parent_domain();
	test_incomplete_allocators_refused();
#if IBVERBS_PABI_VERSION >= 64
	test_alloc_buf();
#endif
#if IBVERBS_PABI_VERSION >= 65
	test_comp_cntrs();
#endif
}
