// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queries, protection domains, parent and thread domains, memory regions. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rnic_sw.h"

static const struct ibv_packet_pacing_caps pacing_caps = {
	.qp_rate_limit_min = RNIC_SW_RATE_MIN,
	.qp_rate_limit_max = RNIC_SW_RATE_MAX,
	.supported_qpts = 1 << IBV_QPT_RC,
};

int rnic_sw_query_device_ex(struct ibv_context *ctx,
			    const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t fw;
	int ret;

	ret = ibv_cmd_query_device_any(ctx, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;
	fw = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(fw >> 32),
		 (unsigned int)(fw >> 16 & 0xffff),
		 (unsigned int)(fw & 0xffff));
	/*
	 * the struct of a library that is older than the headers of this build is
	 * shorter: do not write past its end
	 */
	if (attr_size >= offsetof(struct ibv_device_attr_ex,
				  packet_pacing_caps) + sizeof(pacing_caps))
		attr->packet_pacing_caps = pacing_caps;
	return 0;
}

/*
 * Query the port. The library has zeroed @attr, whose struct may be shorter in
 * the library than in the headers of this build. So only the library's command
 * may write to @attr.
 */
int rnic_sw_query_port(struct ibv_context *ctx, uint8_t port,
		       struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ctx, port, attr, &cmd, sizeof(cmd));
}

/* Read the clock of the completions' timestamps: CLOCK_MONOTONIC, in nanoseconds */
int rnic_sw_query_rt_values(struct ibv_context *ctx,
			    struct ibv_values_ex *values)
{
	struct timespec now;

	if (!check_comp_mask(values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK))
		return EOPNOTSUPP;
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		if (clock_gettime(CLOCK_MONOTONIC, &now))
			return errno;
		/*
		 * Return the whole time in tv_nsec, because the timestamps of
		 * completions are in nanoseconds too. A long of 32 bits is too
		 * short for that.
		 */
		if (rnic_sw_to_ns(&now) > LONG_MAX)
			return EOVERFLOW;
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = rnic_sw_to_ns(&now);
	}
	return 0;
}

static struct rnic_sw_pd *new_pd(void)
{
	struct rnic_sw_pd *pd = calloc(1, sizeof(*pd));

	if (pd)
		pd->refs = 1;
	return pd;
}

/* Drop the references of a parent domain that is freed */
static void put_parent_domain_refs(struct rnic_sw_pd *pd)
{
	/* litmus: none, because no other data depends on this counter */
	atomic_fetch_sub(&pd->domain->parents, 1);
	rnic_sw_put_pd(&pd->domain->ibpd);
	if (pd->td)
		atomic_fetch_sub(&pd->td->refs, 1);
}

/**
 * rnic_sw_get_pd - take a reference to a protection domain
 * @ibpd: a protection domain or parent domain
 *
 * Return: @ibpd, to be released with rnic_sw_put_pd().
 */
struct ibv_pd *rnic_sw_get_pd(struct ibv_pd *ibpd)
{
	struct rnic_sw_pd *pd = to_pd(ibpd);

	atomic_fetch_add(&pd->refs, 1);
	return ibpd;
}

/**
 * rnic_sw_put_pd - drop a reference to a protection domain
 * @ibpd: a protection domain or parent domain; freed with its last reference
 */
void rnic_sw_put_pd(struct ibv_pd *ibpd)
{
	struct rnic_sw_pd *pd = to_pd(ibpd);

	if (atomic_fetch_sub(&pd->refs, 1) != 1)
		return;
	if (pd->domain)
		put_parent_domain_refs(pd);
	free(pd);
}

struct ibv_pd *rnic_sw_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_alloc_pd cmd;
	struct ib_uverbs_alloc_pd_resp resp;
	struct rnic_sw_pd *pd;

	pd = new_pd();
	if (!pd)
		return NULL;
	if (ibv_cmd_alloc_pd(ctx, &pd->ibpd, &cmd, sizeof(cmd), &resp,
			     sizeof(resp))) {
		free(pd);
		return NULL;
	}
	return &pd->ibpd;
}

/*
 * Import a protection domain. The kernel checks the handle only when it is
 * used.
 */
struct ibv_pd *rnic_sw_import_pd(struct ibv_context *ctx, uint32_t handle)
{
	struct rnic_sw_pd *pd = new_pd();

	if (!pd)
		return NULL;
	pd->ibpd.context = ctx;
	pd->ibpd.handle = handle;
	return &pd->ibpd;
}

void rnic_sw_unimport_pd(struct ibv_pd *ibpd)
{
	rnic_sw_put_pd(ibpd);
}

/* Parts of a parent domain that the provider accepts */
#if IBVERBS_PABI_VERSION >= 64
#define PARENT_DOMAIN_ATTRS	(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |	\
				 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |	\
				 IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC)
#else
#define PARENT_DOMAIN_ATTRS	(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |	\
				 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
#endif

/*
 * Check the attributes of a new parent domain. Return: 0 or a positive errno.
 */
static int check_parent_domain_attr(const struct ibv_parent_domain_init_attr *attr)
{
	if (!check_comp_mask(attr->comp_mask, PARENT_DOMAIN_ATTRS))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS &&
	    (!attr->alloc || !attr->free))
		return EINVAL;
	/* refuse a parent domain of a parent domain */
	if (to_pd(attr->pd)->domain)
		return EINVAL;
	return 0;
}

/* Store the program's functions, and their argument, in a parent domain */
static void set_allocators(struct rnic_sw_pd *pd,
			   const struct ibv_parent_domain_init_attr *attr)
{
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
}

/*
 * Create a parent domain, which adds a thread domain and allocation functions to
 * an existing protection domain. The flag ALLOW_CC_UNPROTECTED_ALLOC is accepted
 * and has no effect, because the device does no DMA, see rnic_sw_alloc_buf().
 */
struct ibv_pd *
rnic_sw_alloc_parent_domain(struct ibv_context *ctx,
			    struct ibv_parent_domain_init_attr *attr)
{
	struct rnic_sw_pd *pd;
	int ret;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	ret = check_parent_domain_attr(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	pd = new_pd();
	if (!pd)
		return NULL;
	pd->domain = to_pd(rnic_sw_get_pd(attr->pd));
	/* litmus: none, because no other data depends on this counter */
	atomic_fetch_add(&pd->domain->parents, 1);
	if (attr->td) {
		pd->td = to_td(attr->td);
		atomic_fetch_add(&pd->td->refs, 1);
	}
	set_allocators(pd, attr);
	ibv_initialize_parent_domain(&pd->ibpd, attr->pd);
	return &pd->ibpd;
}

/* Deallocate a protection domain in the kernel. Return: 0; EBUSY if it has parent domains */
static int dealloc_kernel_pd(struct rnic_sw_pd *pd)
{
	if (atomic_load(&pd->parents))
		return EBUSY;
	return ibv_cmd_dealloc_pd(&pd->ibpd);
}

/*
 * Deallocate a protection domain or a parent domain. Fail with EBUSY if objects
 * use it. For a parent domain, which the kernel does not know, check @refs. For a
 * protection domain the kernel checks, because @refs may be too high: another
 * process that shares the domain may have destroyed objects that @refs includes.
 */
int rnic_sw_dealloc_pd(struct ibv_pd *ibpd)
{
	struct rnic_sw_pd *pd = to_pd(ibpd);
	int ret = 0;

	if (!pd->domain)
		ret = dealloc_kernel_pd(pd);
	else if (atomic_load(&pd->refs) > 1)
		ret = EBUSY;
	if (!ret)
		rnic_sw_put_pd(ibpd);
	return ret;
}

struct ibv_td *rnic_sw_alloc_td(struct ibv_context *ctx,
				struct ibv_td_init_attr *attr)
{
	struct rnic_sw_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->ibtd.context = ctx;
	return &td->ibtd;
}

int rnic_sw_dealloc_td(struct ibv_td *ibtd)
{
	struct rnic_sw_td *td = to_td(ibtd);

	if (atomic_load(&td->refs))
		return EBUSY;
	free(td);
	return 0;
}

static struct ibv_mr *set_mr_pd(struct verbs_mr *vmr, struct ibv_pd *pd)
{
	vmr->ibv_mr.pd = rnic_sw_get_pd(pd);
	return &vmr->ibv_mr;
}

static void free_mr(struct verbs_mr *vmr)
{
	rnic_sw_put_pd(vmr->ibv_mr.pd);
	free(vmr);
}

struct ibv_mr *rnic_sw_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			      uint64_t iova, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	if (ibv_cmd_reg_mr(pd, addr, length, iova, access, vmr, &cmd,
			   sizeof(cmd), &resp, sizeof(resp))) {
		free(vmr);
		return NULL;
	}
	return set_mr_pd(vmr, pd);
}

/*
 * Register a dma-buf. The last parameter of the library's function exists only
 * in releases after rdma-core 44. Release 44 ignores the additional argument.
 */
struct ibv_mr *rnic_sw_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				     size_t length, uint64_t iova, int fd,
				     int access)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));

	if (!vmr)
		return NULL;
	if (ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				  NULL)) {
		free(vmr);
		return NULL;
	}
	return set_mr_pd(vmr, pd);
}

/*
 * Change an MR. The kernel may replace the MR; the library then updates lkey
 * and rkey from the response.
 */
int rnic_sw_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		     void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;
	int ret;

	ret = ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
			       access, pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (!ret && flags & IBV_REREG_MR_CHANGE_PD) {
		rnic_sw_get_pd(pd);
		rnic_sw_put_pd(vmr->ibv_mr.pd);
		vmr->ibv_mr.pd = pd;
	}
	return ret;
}

/* Let the kernel prefetch pages of ODP MRs */
int rnic_sw_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		      uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge)
{
	return ibv_cmd_advise_mr(pd, advice, flags, sg_list, num_sge);
}

int rnic_sw_dereg_mr(struct verbs_mr *vmr)
{
	int ret = ibv_cmd_dereg_mr(vmr);

	if (!ret)
		free_mr(vmr);
	return ret;
}

struct ibv_mr *rnic_sw_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));

	if (!vmr)
		return NULL;
	if (ibv_cmd_query_mr(pd, vmr, handle)) {
		free(vmr);
		return NULL;
	}
	return set_mr_pd(vmr, pd);
}

void rnic_sw_unimport_mr(struct ibv_mr *mr)
{
	free_mr(verbs_get_mr(mr));
}
