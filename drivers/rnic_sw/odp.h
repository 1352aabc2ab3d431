/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory that is not pinned: a program's pages come when they are wanted. */
#ifndef _RNIC_SW_ODP_H
#define _RNIC_SW_ODP_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <ddp/mem.h>

#include "rnic.h"

#define ODP_WORKERS	4	/* of one region */

/* Brings pages for one stream at a time */
struct odp_worker {
	struct work_struct	work;
	struct rnic_odp		*o;

	/* the lock of those who wait */
	bool			busy;
	struct ddp_wait		*waits;	/* by whom it was asked, and who still wants it */
};

/**
 * struct rnic_odp - memory of a program's that a region names and nobody pins
 * @ref: the region's, each worker's that is at work, who prefetches
 * @mm: whose it is; held, but not its memory
 * @owner: whose workers bring it
 * @memcg: who pays for what is kept of it, or NULL
 * @start: where it begins
 * @end: behind its last octet
 * @chunks: struct odp_chunk by number; read under RCU
 * @lock: chunks that come and go
 * @count: chunks there are
 * @next: where to look for one that can go
 * @dev: the device, unless @dead; from here on under the lock of those who wait
 * @dead: the region has gone
 * @pending: who waits, and no worker is at it
 * @worker: at most so many are at work
 */
struct rnic_odp {
	struct kref		ref;
	struct mm_struct	*mm;
	struct odp_owner	*owner;
	struct mem_cgroup	*memcg;
	u64			start;
	u64			end;
	struct xarray		chunks;
	struct mutex		lock;	/* chunks that come and go */
	u32			count;
	unsigned long		next;

	struct rnic_dev		*dev;
	bool			dead;
	struct list_head	pending;
	struct odp_worker	worker[ODP_WORKERS];
};

/* How much is done for pages that are not there */
enum odp_how {
	ODP_FAULT,	/* bring them, or say why not */
	ODP_PRESENT,	/* take those that are there */
	ODP_NEXT,	/* ... up to the first that is not */
};

#ifdef CONFIG_MMU_NOTIFIER
/* odp.c */
int rnic_odp_init(void);
void rnic_odp_exit(void);
void rnic_odp_caps(struct ib_device_attr *attr);
struct rnic_odp *rnic_odp_new(struct rnic_dev *dev, u64 start, u64 length);
void rnic_odp_name(struct ddp_region *r, struct rnic_odp *o);
void rnic_odp_end(struct rnic_odp *o);
void rnic_odp_put(struct rnic_odp *o);
void rnic_odp_invalidated(struct rnic_odp *o);
void rnic_odp_prefetched(struct rnic_odp *o);
extern const struct ddp_mem_ops rnic_odp_ops;

/* odp_advise.c */
int rnic_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sge, u32 n,
		   struct uverbs_attr_bundle *attrs);
#else
static inline int rnic_odp_init(void)
{
	return 0;
}

static inline void rnic_odp_exit(void)
{
}

static inline void rnic_odp_caps(struct ib_device_attr *attr)
{
}

static inline struct rnic_odp *rnic_odp_new(struct rnic_dev *dev, u64 start,
					    u64 length)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void rnic_odp_name(struct ddp_region *r, struct rnic_odp *o)
{
}

static inline void rnic_odp_end(struct rnic_odp *o)
{
}

#define rnic_advise_mr	NULL
#endif

/* odp_pages.c */
bool rnic_odp_run(void *mem, u64 at, bool write, struct ddp_run *run);
int rnic_odp_bring(struct rnic_odp *o, u64 at, u64 end, bool write,
		   enum odp_how how);
void rnic_odp_drop(struct rnic_odp *o);

#endif
