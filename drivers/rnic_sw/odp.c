// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * On-demand paging: MRs whose pages are faulted in as if their owner had
 * touched them, and ibv_advise_mr(), which prefetches pages that a program will
 * need soon.  Which pages are present is in odp_pages.c.
 *
 * A page is touched only while a reference to the owner's mm is held.
 */
#include <linux/delay.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "odp.h"
#include "odp_range.h"

/* Operations supported on ODP MRs: all that the device has */
#define CAPS	(IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | \
		 IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ | \
		 IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV)

/*
 * Attempts while memory is short; the first retry is after 1 ms, the delay
 * doubles each time
 */
#define TRIES	8

static void rnic_odp_release(struct rnic_pf *b)
{
	struct rnic_odp *o = container_of(b, struct rnic_odp, b);

	rnic_odp_drop_chunks(o);
	mem_cgroup_put(o->memcg);
	rnic_pf_teardown(b);
	kfree(o);
}

static int fault_in(struct rnic_odp *o, const struct rnic_pf_range *want)
{
	int err = -ENOMEM, n;

	for (n = 0; err == -ENOMEM && n < TRIES; n++) {
		if (n)
			msleep(1 << (n - 1));
		err = rnic_odp_fault_in(o, want->at, want->end, want->write,
					ODP_FAULT);
	}
	return err;
}

static int rnic_odp_fault(struct rnic_pf *b, const struct rnic_pf_range *want)
{
	struct rnic_odp *o = container_of(b, struct rnic_odp, b);
	int err;

	if (!mmget_not_zero(b->mm))
		return -EFAULT;
	err = fault_in(o, want);
	mmput(b->mm);
	return err;
}

/*
 * Look ahead: the next pages are often needed next, and are present already.
 * Reads only: a page taken for writing counts as dirty, and one given up by
 * MADV_FREE would be kept.
 */
static void rnic_odp_fault_around(struct rnic_pf *b, const struct rnic_pf_range *want)
{
	struct rnic_odp *o = container_of(b, struct rnic_odp, b);

	if (want->write || !mmget_not_zero(b->mm))
		return;
	rnic_odp_fault_in(o, want->end, odp_ahead_end(want->end, b->end, PAGE_SHIFT),
			  false, ODP_STOP_ABSENT);
	mmput(b->mm);
}

static const struct rnic_pf_ops rnic_odp_ops = {
	.name		= "on_demand",
	.workers	= RNIC_PF_WORKERS,
	.faults		= RNIC_ODP_FAULTS,
	.failed		= RNIC_ODP_FAULTS_FAILED,
	.mem		= {
		.extent	= rnic_odp_get_extent,
		.fault_in	= rnic_pf_request,
		.cancel	= rnic_pf_cancel,
	},
	.serve		= rnic_odp_fault,
	.post_fault		= rnic_odp_fault_around,
	.release	= rnic_odp_release,
};

static u64 rnic_odp_untag(u64 at)
{
	return untagged_addr((unsigned long)at);
}

/*
 * Check whether user memory can ever be mapped there, or the MR is an implicit
 * one
 */
static bool is_user_memory(const struct rnic_odp *o)
{
	return (!o->b.start && o->b.end == ULONG_MAX) ||
	       rnic_odp_is_user_range(o, o->b.start, o->b.end);
}

/**
 * rnic_odp_new - get memory of the calling process for an ODP MR
 * @dev: the device
 * @start: address of the first byte; may be tagged
 * @length: length in bytes; nothing need be mapped there, and mappings may
 *	change
 *
 * May sleep.
 *
 * Return: the memory, with a reference for rnic_pf_put(), or an error
 * pointer: -EINVAL if nothing can ever be mapped there; -ENOMEM.
 */
struct rnic_pf *rnic_odp_new(struct rnic_dev *dev, u64 start, u64 length)
{
	struct rnic_odp *o = kzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT);
	int err;

	if (!o)
		return ERR_PTR(-ENOMEM);
	o->addr_mask = odp_addr_mask(rnic_odp_untag);
	err = rnic_pf_setup(&o->b, &rnic_odp_ops, dev, start & o->addr_mask, length);
	if (err) {
		kfree(o);
		return ERR_PTR(err);
	}
	mutex_init(&o->lock);
	xa_init_flags(&o->chunks, XA_FLAGS_ACCOUNT);
	o->memcg = get_mem_cgroup_from_mm(o->b.mm);
	if (!is_user_memory(o)) {
		rnic_pf_put(&o->b);
		return ERR_PTR(-EINVAL);
	}
	return &o->b;
}

/**
 * rnic_odp_fill_caps - fill in the device's ODP capabilities
 * @attr: the device's attributes
 */
void rnic_odp_fill_caps(struct ib_device_attr *attr)
{
	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	attr->odp_caps.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	attr->odp_caps.per_transport_caps.rc_odp_caps = CAPS;
}

/* Prefetch ------------------------------------------------------------------ */

/* Range of an ODP MR */
struct advised {
	struct rnic_odp	*o;	/* reference held */
	u64		at;
	u64		end;
};

static int __check_advised(const struct ddp_region *r, const struct ib_pd *pd,
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

static int find_advised(const struct ib_pd *pd, const struct ib_sge *sge, bool write,
			struct advised *a)
{
	struct rnic_dev *dev = to_rnic_dev(pd->device);
	struct ddp_region *r;
	int err = -ENOENT;

	local_bh_disable();
	r = ddp_region_find(&dev->stags, sge->lkey);
	if (r) {
		err = __check_advised(r, pd, sge, write);
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

static int rnic_odp_prefetch(const struct advised *a, bool write, enum odp_how how)
{
	int err = -EFAULT;

	rnic_pf_count_event(&a->o->b, RNIC_ODP_PREFETCHES);
	if (mmget_not_zero(a->o->b.mm)) {
		err = rnic_odp_fault_in(a->o, a->at, a->end, write, how);
		mmput(a->o->b.mm);
	}
	return err;
}

static int advise_one(const struct ib_pd *pd, const struct ib_sge *sge,
		      bool write, enum odp_how how, bool flush)
{
	struct advised a;
	int err = find_advised(pd, sge, write, &a);
	bool possible;

	if (err)
		return err;
	possible = rnic_odp_is_user_range(a.o, a.at, a.end);
	err = possible ? rnic_odp_prefetch(&a, write, how) : -EFAULT;
	rnic_pf_put(&a.o->b);
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
 * The caller itself faults the memory in before the verb returns. The flag
 * FLUSH only decides whether a failure to fault it in is reported. May sleep.
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
		how = ODP_SKIP_ABSENT;
	else if (!write && advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH)
		return -EOPNOTSUPP;
	for (i = 0; i < n && !err; i++)
		err = advise_one(pd, &sge[i], write, how,
				 flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
	return err;
}
