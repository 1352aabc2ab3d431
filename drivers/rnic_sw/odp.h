/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory that is not pinned: a program's pages come when they are wanted. */
#ifndef _RNIC_SW_ODP_H
#define _RNIC_SW_ODP_H

#include <linux/mutex.h>
#include <linux/xarray.h>

#include "bring.h"

/**
 * struct rnic_odp - memory of a program's
 * @b: what is alike about memory that is not pinned; @b.start: an address
 * @bits: of an address, that say where it is
 * @memcg: who pays for what is kept of it, or NULL
 * @chunks: struct odp_chunk, counted from @b.start's on; read under RCU
 * @lock: chunks that come and go
 * @count: chunks there are
 * @next: where to look for one that can go
 */
struct rnic_odp {
	struct rnic_bring	b;
	u64			bits;
	struct mem_cgroup	*memcg;
	struct xarray		chunks;
	struct mutex		lock;	/* chunks that come and go */
	u32			count;
	unsigned long		next;
};

/* How much is done for pages that are not there */
enum odp_how {
	ODP_FAULT,	/* bring them, or say why not */
	ODP_PRESENT,	/* take those that are there */
	ODP_NEXT,	/* ... up to the first that is not */
};

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
/* odp.c */
void rnic_odp_caps(struct ib_device_attr *attr);
struct rnic_bring *rnic_odp_new(struct rnic_dev *dev, u64 start, u64 length);
extern const struct rnic_bring_ops rnic_odp_ops;

/* odp_advise.c */
int rnic_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sge, u32 n,
		   struct uverbs_attr_bundle *attrs);
#else
static inline void rnic_odp_caps(struct ib_device_attr *attr)
{
}

static inline struct rnic_bring *rnic_odp_new(struct rnic_dev *dev, u64 start,
					      u64 length)
{
	return ERR_PTR(-EOPNOTSUPP);
}

#define rnic_advise_mr	NULL
#endif

/* odp_pages.c */
bool rnic_odp_possible(const struct rnic_odp *o, u64 at, u64 end);
bool rnic_odp_run(void *mem, u64 at, bool write, struct ddp_run *run);
int rnic_odp_bring(struct rnic_odp *o, u64 at, u64 end, bool write,
		   enum odp_how how);
void rnic_odp_drop(struct rnic_odp *o);

#endif
