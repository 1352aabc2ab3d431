/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * On-demand paging (ODP): memory of MRs whose pages are not pinned, but faulted
 * in on access.
 */
#ifndef _RNIC_SW_ODP_H
#define _RNIC_SW_ODP_H

#include <linux/mutex.h>
#include <linux/xarray.h>

#include "mem_fault.h"

/**
 * struct rnic_odp - memory of an ODP MR
 * @b: part that ODP and dma-buf memory have in common; @b.start is an untagged
 *	user address
 * @addr_mask: mask of the address bits that are not part of a tag
 * @memcg: memory cgroup that is charged for pages and tables, or NULL
 * @chunks: struct odp_chunk by chunk number, counted from the chunk that
 *	contains @b.start; read under RCU
 * @lock: serializes insertion and removal of chunks; protects odp_chunk.users
 * @count: number of chunks; protected by @lock
 * @evict_next: index in @chunks at which the next search for a chunk to evict starts;
 *	protected by @lock
 */
struct rnic_odp {
	struct rnic_unpinned	b;
	u64			addr_mask;
	struct mem_cgroup	*memcg;
	struct xarray		chunks;
	struct mutex		lock;	/* protects @count, @evict_next, odp_chunk.users */
	u32			count;
	unsigned long		evict_next;
};

/*
 * How rnic_odp_fault_in() handles pages that are not mapped in the owner's page
 * tables
 */
enum odp_absent_action {
	ODP_FAULT,		/* fault these pages in; fail if that is impossible */
	ODP_SKIP_ABSENT,	/* skip these pages */
	ODP_STOP_ABSENT,	/* stop at the first of these pages */
};

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
/* odp.c */
void rnic_odp_fill_caps(struct ib_device_attr *attr);
struct rnic_unpinned *rnic_odp_new(struct rnic_dev *dev, u64 start, u64 length);
int rnic_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sge, u32 n,
		   struct uverbs_attr_bundle *attrs);
#else
static inline void rnic_odp_fill_caps(struct ib_device_attr *attr)
{
}

static inline struct rnic_unpinned *rnic_odp_new(struct rnic_dev *dev, u64 start,
						 u64 length)
{
	return ERR_PTR(-EOPNOTSUPP);
}

#define rnic_advise_mr	NULL
#endif

/* odp_pages.c */
bool rnic_odp_is_user_range(const struct rnic_odp *o, u64 at, u64 end);
bool rnic_odp_lock_extent(void *mem, u64 at, bool write, struct ddp_extent *extent);
int rnic_odp_fault_in(struct rnic_odp *o, u64 at, u64 end, bool write,
		      enum odp_absent_action how);
void rnic_odp_drop_chunks(struct rnic_odp *o);

#endif
