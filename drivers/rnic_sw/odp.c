// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * On-demand paging (ODP): create the memory of ODP MRs, fault their pages in,
 * and prefetch pages for ibv_advise_mr(). odp_pages.c has the tables of present
 * pages.
 *
 * Pages of an MR are faulted in on access, as if the owning process had
 * accessed them. A caller of rnic_odp_fault_in() must hold a reference from
 * mmget() to the owner's mm, so that the mappings are not torn down meanwhile.
 */
#include <linux/delay.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "odp.h"
#include "odp_range.h"

/* Operations that may access ODP MRs: all operations of the device */
#define CAPS	(IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | \
		 IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ | \
		 IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV)

/*
 * Maximum number of attempts to fault in pages while memory is short. The first
 * retry is after 1 ms; the delay doubles with each retry.
 */
#define TRIES	8

static void rnic_odp_release(struct rnic_unpinned *b)
{
	struct rnic_odp *o = container_of(b, struct rnic_odp, b);

	rnic_odp_drop_chunks(o);
	mem_cgroup_put(o->memcg);
	rnic_unpinned_teardown(b);
	kfree(o);
}

/*
 * Fault in a range. If memory is short, sleep and try again, TRIES times in
 * total.
 */
static int fault_in_range(struct rnic_odp *o, const struct rnic_fault_range *want)
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

static int rnic_odp_serve_fault(struct rnic_unpinned *b, const struct rnic_fault_range *want)
{
	struct rnic_odp *o = container_of(b, struct rnic_odp, b);
	int err;

	if (!mmget_not_zero(b->mm))
		return -EFAULT;
	err = fault_in_range(o, want);
	mmput(b->mm);
	return err;
}

/*
 * After a page fault for reading, enter up to ODP_AHEAD pages that follow the
 * range into the table of present pages. Programs often access these pages
 * next. Stop at the first page that is not mapped in the owner's page tables.
 * Do nothing after a page fault for writing: entering a page for writing would
 * make it dirty, and so undo an MADV_FREE of the page.
 */
static void rnic_odp_fault_ahead(struct rnic_unpinned *b, const struct rnic_fault_range *want)
{
	struct rnic_odp *o = container_of(b, struct rnic_odp, b);

	if (want->write || !mmget_not_zero(b->mm))
		return;
	rnic_odp_fault_in(o, want->end, odp_compute_lookahead_end(want->end, b->end, PAGE_SHIFT),
			  false, ODP_STOP_ABSENT);
	mmput(b->mm);
}

static const struct rnic_unpinned_ops rnic_odp_ops = {
	.name		= "on_demand",
	.workers	= RNIC_FAULT_WORKERS,
	.faults		= RNIC_ODP_FAULTS,
	.failed		= RNIC_ODP_FAULTS_FAILED,
	.mem		= {
		.extent		= rnic_odp_lock_extent,
		.fault_in	= rnic_fault_queue_request,
		.cancel		= rnic_fault_cancel_request,
	},
	.serve		= rnic_odp_serve_fault,
	.post_fault	= rnic_odp_fault_ahead,
	.release	= rnic_odp_release,
};

static u64 rnic_odp_untag_addr(u64 at)
{
	return untagged_addr((unsigned long)at);
}

/*
 * Check whether the MR is inside the user address space. Also accept the range
 * of an implicit ODP MR, which has the whole address space.
 */
static bool is_user_memory(const struct rnic_odp *o)
{
	return (!o->b.start && o->b.end == ULONG_MAX) ||
	       rnic_odp_is_user_range(o, o->b.start, o->b.end);
}

/**
 * rnic_odp_new - create the memory object of an ODP MR
 * @dev: the device
 * @start: address of the first byte in the calling process; may be tagged
 * @length: length in bytes
 *
 * The range may contain unmapped addresses, and mappings may change later. May
 * sleep.
 *
 * Return: the memory object, with a reference that the caller must drop with
 * rnic_unpinned_shutdown(); or an error pointer: -EINVAL if the range is outside the
 * user address space; -ENOMEM if memory is short, the quota is used up, or the caller
 * is killed.
 */
struct rnic_unpinned *rnic_odp_new(struct rnic_dev *dev, u64 start, u64 length)
{
	struct rnic_odp *o = kzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT);
	int err;

	if (!o)
		return ERR_PTR(-ENOMEM);
	o->addr_mask = odp_find_addr_mask(rnic_odp_untag_addr);
	err = rnic_unpinned_init(&o->b, &rnic_odp_ops, dev, start & o->addr_mask, length);
	if (err) {
		kfree(o);
		return ERR_PTR(err);
	}
	mutex_init(&o->lock);
	xa_init_flags(&o->chunks, XA_FLAGS_ACCOUNT);
	o->memcg = get_mem_cgroup_from_mm(o->b.mm);
	if (!is_user_memory(o)) {
		rnic_unpinned_put(&o->b);
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

/* Range of an ODP MR to be prefetched */
struct advised_range {
	struct rnic_odp	*o;	/* memory of the MR; reference held */
	u64		at;	/* address of the first byte */
	u64		end;	/* address of the first byte after the range */
};

/*
 * Check that @r is an ODP MR of @pd and contains the range of @sge. If @write
 * is set, also check that the MR may be written. Return: 0 or a negative errno.
 */
static int __check_advised_range(const struct ddp_region *r, const struct ib_pd *pd,
				 const struct ib_sge *sge, bool write)
{
	u64 off = sge->addr - r->base;

	/*
	 * Read @valid before the other fields. Pairs with
	 * ddp_region_validate(), which writes @valid last; litmus: publish
	 */
	if (!smp_load_acquire(&r->valid) || r->stag != sge->lkey || r->pd != pd ||
	    r->ops != &rnic_odp_ops.mem || r->kind != RNIC_REGION)
		return -ENOENT;
	if (write && !(r->rights & DDP_LOCAL_WRITE))
		return -EPERM;
	if (sge->addr < r->base || off > r->length ||
	    sge->length > r->length - off)
		return -EFAULT;
	return 0;
}

/*
 * Find the ODP memory of the range @sge, take a reference to that memory, and
 * fill in @a. Return: 0 or a negative errno
 */
static int get_advised_range(const struct ib_pd *pd, const struct ib_sge *sge, bool write,
			     struct advised_range *a)
{
	struct rnic_dev *dev = to_rnic_dev(pd->device);
	struct ddp_region *r;
	int err = -ENOENT;

	local_bh_disable();
	r = ddp_region_find_get(&dev->stags, sge->lkey);
	if (r) {
		err = __check_advised_range(r, pd, sge, write);
		if (!err) {
			a->o = container_of(r->mem, struct rnic_odp, b);
			a->at = r->mem_base + (sge->addr - r->base);
			a->end = a->at + sge->length;
			kref_get(&a->o->b.ref);
		}
		ddp_region_put(r);
	}
	local_bh_enable();
	return err;
}

static int rnic_odp_prefetch(const struct advised_range *a, bool write, enum odp_absent_action how)
{
	int err = -EFAULT;

	rnic_unpinned_count_event(&a->o->b, RNIC_ODP_PREFETCHES);
	if (mmget_not_zero(a->o->b.mm)) {
		err = rnic_odp_fault_in(a->o, a->at, a->end, write, how);
		mmput(a->o->b.mm);
	}
	return err;
}

static int prefetch_sge(const struct ib_pd *pd, const struct ib_sge *sge,
			bool write, enum odp_absent_action how, bool flush)
{
	struct advised_range a;
	int err = get_advised_range(pd, sge, write, &a);
	bool possible;

	if (err)
		return err;
	possible = rnic_odp_is_user_range(a.o, a.at, a.end);
	err = possible ? rnic_odp_prefetch(&a, write, how) : -EFAULT;
	rnic_unpinned_put(&a.o->b);
	/*
	 * Without the flag FLUSH the prefetch is only a hint, so do not report
	 * that memory could not be faulted in. Report only a range outside the
	 * user address space, or that the caller is being killed.
	 */
	return flush || !possible || err == -EINTR ? err : 0;
}

/**
 * rnic_advise_mr - prefetch ranges of ODP MRs (device operation)
 * @pd: protection domain of the MRs
 * @advice: kind of prefetch
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH or 0
 * @sge: ranges of MRs
 * @n: number of ranges
 * @attrs: unused
 *
 * Faults the memory in before returning, with or without the flag FLUSH; with
 * the advice PREFETCH_NO_FAULT, skips pages that are not present. The flag only
 * decides whether a failure to fault in memory is reported. May sleep.
 *
 * Return: 0; -EOPNOTSUPP if @advice is not a kind of prefetch; -ENOENT if no
 * valid ODP MR of the protection domain has the lkey; -EPERM if @advice is a
 * prefetch for writing and the MR is read-only; -EFAULT if the range is outside
 * the MR or the user address space or, with FLUSH, cannot be faulted in; with
 * FLUSH -ENOMEM if memory is short; -EINTR if the caller is killed.
 */
int rnic_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sge, u32 n,
		   struct uverbs_attr_bundle *attrs)
{
	bool write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	enum odp_absent_action how = ODP_FAULT;
	int err = 0;
	u32 i;

	if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		how = ODP_SKIP_ABSENT;
	else if (!write && advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH)
		return -EOPNOTSUPP;
	for (i = 0; i < n && !err; i++)
		err = prefetch_sge(pd, &sge[i], write, how,
				   flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
	return err;
}
