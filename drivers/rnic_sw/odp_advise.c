// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ibv_advise_mr(): prefetch of ODP memory that a program will need soon.
 *
 * The caller itself faults the memory in before the verb returns. The flag
 * FLUSH only decides whether a failure to fault it in is reported.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "odp.h"

/* Range of an ODP MR */
struct advised {
	struct rnic_odp	*o;	/* reference held */
	u64		at;
	u64		end;
};

static int __check(const struct ddp_region *r, const struct ib_pd *pd,
		   const struct ib_sge *sge, bool write)
{
	u64 off = sge->addr - r->base;

	/* the other fields are set before valid; litmus: publish */
	if (!smp_load_acquire(&r->valid) || r->stag != sge->lkey ||
	    r->ops != &rnic_odp_ops.mem || r->kind != RNIC_REGION)
		return -ENOENT;
	if (r->pd != pd || (write && !(r->rights & DDP_LOCAL_WRITE)))
		return -EPERM;
	if (sge->addr < r->base || off > r->length ||
	    sge->length > r->length - off)
		return -EFAULT;
	return 0;
}

static int find(const struct ib_pd *pd, const struct ib_sge *sge, bool write,
		struct advised *a)
{
	struct rnic_dev *dev = to_rnic_dev(pd->device);
	struct ddp_region *r;
	int err = -ENOENT;

	local_bh_disable();
	r = ddp_region_find(&dev->stags, sge->lkey);
	if (r) {
		err = __check(r, pd, sge, write);
		if (!err) {
			a->o = container_of(r->mem, struct rnic_odp, b);
			a->at = r->from + (sge->addr - r->base);
			a->end = a->at + sge->length;
			kref_get(&a->o->b.ref);
		}
		ddp_region_put(r);
	}
	local_bh_enable();
	return err;
}

static int rnic_odp_take(const struct advised *a, bool write, enum odp_how how)
{
	int err = -EFAULT;

	rnic_bring_count(&a->o->b, RNIC_ODP_PREFETCHES);
	if (mmget_not_zero(a->o->b.mm)) {
		err = rnic_odp_bring(a->o, a->at, a->end, write, how);
		mmput(a->o->b.mm);
	}
	return err;
}

static int advise_one(const struct ib_pd *pd, const struct ib_sge *sge,
		      bool write, enum odp_how how, bool flush)
{
	struct advised a;
	int err = find(pd, sge, write, &a);
	bool possible;

	if (err)
		return err;
	possible = rnic_odp_possible(a.o, a.at, a.end);
	err = possible ? rnic_odp_take(&a, write, how) : -EFAULT;
	rnic_bring_put(&a.o->b);
	/*
	 * without FLUSH report invalid arguments only, not memory that cannot
	 * be faulted in
	 */
	return flush || !possible || err == -EINTR ? err : 0;
}

/**
 * rnic_advise_mr - prefetch ranges of ODP MRs
 * @pd: protection domain of the MRs
 * @advice: kind of prefetch
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH or 0
 * @sge: ranges of MRs
 * @n: number of ranges
 * @attrs: unused
 *
 * May sleep.
 *
 * Return: 0; -EOPNOTSUPP for other advice; -ENOENT if there is no such MR or it
 * is not an ODP MR; -EPERM if it belongs to another protection domain or may
 * not be written; -EFAULT if the range is outside the MR or the user address
 * space or, with the flag, cannot be faulted in; -ENOMEM, with the flag; -EINTR
 * if the caller is killed.
 */
int rnic_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sge, u32 n,
		   struct uverbs_attr_bundle *attrs)
{
	bool write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	enum odp_how how = ODP_FAULT;
	int err = 0;
	u32 i;

	if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		how = ODP_PRESENT;
	else if (!write && advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH)
		return -EOPNOTSUPP;
	for (i = 0; i < n && !err; i++)
		err = advise_one(pd, &sge[i], write, how,
				 flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
	return err;
}
