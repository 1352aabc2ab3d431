// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows. A work request binds a window to a range of an MR; until the
 * window is invalidated, peers can access the range. The peers of all streams
 * of the protection domain can use a window of type 1. Only the peer of the
 * stream that has bound it can use a window of type 2 (RFC 5041 8.2).
 *
 * A window uses the block list of its MR, so an MR with valid windows cannot be
 * deregistered. The device's windows_lock protects the binding of windows to
 * MRs. A window or MR found in the STag table stays allocated until the end of
 * the RCU read-side section.
 */
#include <linux/slab.h>
#include <ddp/mem.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

/*
 * Access flags that a bind accepts. Programs pass local write as well, which is
 * ignored
 */
#define WINDOW_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE | \
			 IB_ZERO_BASED)
#define WINDOW_RIGHTS	(DDP_REMOTE_WRITE | DDP_REMOTE_READ | \
			 DDP_REMOTE_ATOMIC)

struct rnic_window {
	struct ddp_region	region;
	bool			type2;

	/* protected by rnic_dev.windows_lock */
	bool			removed;	/* the window is being deallocated */
	struct rnic_mr		*mr;	/* MR to which the window is bound, or NULL */
	struct list_head	entry;	/* entry in rnic_mr.windows of @mr */

	struct rcu_head		rcu;
};

/**
 * rnic_alloc_mw - allocate an unbound window (verb)
 * @ib: the window, allocated by the core
 * @udata: driver data; must be empty
 *
 * Return: 0 or a negative errno.
 */
int rnic_alloc_mw(struct ib_mw *ib, struct ib_udata *udata)
{
	struct rnic_mw *mw = container_of(ib, struct rnic_mw, ib);
	struct rnic_window *w;
	struct rnic_dev *dev = to_rnic_dev(ib->device);
	int err = ib_no_udata_io(udata);

	if (!err)
		err = rnic_charge(dev, RNIC_MWS);
	if (err)
		return err;
	w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w) {
		rnic_uncharge(dev, RNIC_MWS);
		return -ENOMEM;
	}
	w->type2 = ib->type == IB_MW_TYPE_2;
	w->region.pd = ib->pd;
	w->region.kind = RNIC_WINDOW;
	w->region.may_invalidate = w->type2;
	err = ddp_region_insert(&dev->stags, &w->region, 0);
	if (err) {
		kfree(w);
		rnic_uncharge(dev, RNIC_MWS);
		return err;
	}
	mw->w = w;
	ib->rkey = w->region.stag;
	return 0;
}

static void __unlink_window(struct rnic_window *w)
{
	if (w->mr)
		list_del(&w->entry);
	w->mr = NULL;
}

/**
 * rnic_dealloc_mw - free a window (verb)
 * @ib: the window
 *
 * On return no peer can access memory through the window.
 *
 * Return: 0.
 */
int rnic_dealloc_mw(struct ib_mw *ib)
{
	struct rnic_window *w = container_of(ib, struct rnic_mw, ib)->w;
	struct rnic_dev *dev = to_rnic_dev(ib->device);

	spin_lock_bh(&dev->windows_lock);
	ddp_region_revoke(&w->region);
	__unlink_window(w);
	w->removed = true;
	spin_unlock_bh(&dev->windows_lock);
	ddp_region_remove(&dev->stags, &w->region);
	kfree_rcu(w, rcu);
	rnic_uncharge(dev, RNIC_MWS);
	return 0;
}

/*
 * Unlink up to RING_IDX_STEPS invalidated windows from an MR. A window that has
 * been unlinked is not found again, so the caller's loop ends.
 *
 * Return: -EBUSY if a window is valid; 0 if no window is linked to the MR; 1 if
 * the caller must call again because more windows may be linked.
 */
static int __drop_closed(struct rnic_mr *mr)
{
	struct rnic_window *w;
	u32 n;

	for (n = 0; n < RING_IDX_STEPS; n++) {
		w = list_first_entry_or_null(&mr->windows, struct rnic_window,
					     entry);
		if (!w)
			return 0;
		if (READ_ONCE(w->region.valid))
			return -EBUSY;
		/* wait for copies in flight: invalidation may be unfinished */
		ddp_region_revoke(&w->region);
		__unlink_window(w);
	}
	return 1;
}

/*
 * Unlink all invalidated windows from an MR. If no valid window is bound and
 * @forbid_bind is set, forbid further binds. Return: 0, or -EBUSY if a valid
 * window is bound.
 */
static int drop_closed_windows(struct rnic_mr *mr, bool forbid_bind)
{
	struct rnic_dev *dev = mr->dev;
	int ret;

	do {
		cond_resched();
		spin_lock_bh(&dev->windows_lock);
		ret = __drop_closed(mr);
		if (!ret && forbid_bind)
			mr->bind_forbidden = true;
		spin_unlock_bh(&dev->windows_lock);
	} while (ret > 0);
	return ret;
}

/**
 * rnic_mr_check_unbound - check that no valid window is bound to an MR
 * @mr: the MR
 *
 * May sleep.
 *
 * Return: 0, or -EBUSY if a valid window is bound.
 */
int rnic_mr_check_unbound(struct rnic_mr *mr)
{
	return drop_closed_windows(mr, false);
}

/**
 * rnic_mr_forbid_bind - forbid the binding of windows to an MR
 * @mr: the MR, about to be destroyed
 *
 * May sleep.
 *
 * Return: 0 if no window is bound and none can be bound from now on; -EBUSY,
 * with nothing forbidden, if a valid window is bound.
 */
int rnic_mr_forbid_bind(struct rnic_mr *mr)
{
	return drop_closed_windows(mr, true);
}

/**
 * rnic_mr_permit_bind - undo rnic_mr_forbid_bind() for an MR that is not
 * destroyed
 * @mr: the MR
 */
void rnic_mr_permit_bind(struct rnic_mr *mr)
{
	spin_lock_bh(&mr->dev->windows_lock);
	mr->bind_forbidden = false;
	spin_unlock_bh(&mr->dev->windows_lock);
}

/*
 * Find an MR or a window by its STag, without a reference. The caller must be
 * in an RCU read-side section. Until that ends the object stays allocated, but
 * may have been removed from the table. Return: the MR or window, or NULL.
 */
static struct ddp_region *rnic_mw_find_region(struct rnic_dev *dev, u32 stag, u8 kind)
{
	struct ddp_region *r = ddp_region_find(&dev->stags, stag);

	if (!r)
		return NULL;
	ddp_region_put(r);
	return r->kind == kind ? r : NULL;
}

/*
 * Check whether a window with this range and these access flags may be bound to
 * an MR
 */
static bool may_open(const struct rnic_mr *mr, u32 lkey, u64 addr, u64 len,
		     int access)
{
	const struct ddp_region *r = &mr->region;

	if (!(mr->access & IB_ACCESS_MW_BIND) || !READ_ONCE(r->valid) ||
	    r->stag != lkey)
		return false;
	if (access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(mr->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	if (rnic_ddp_rights(access) & mr->denied_rights)
		return false;
	return addr >= r->base && len <= r->length &&
	       addr - r->base <= r->length - len;
}

/*
 * Set the fields of a window to a range of an MR. A window grants remote rights
 * only
 */
static void __set_window(struct rnic_window *w, const struct rnic_mr *mr, u64 addr,
			 u64 len, int access, u64 stream)
{
	u64 off = addr - mr->region.base + mr->region.skip;

	w->region.ops = mr->region.ops;
	w->region.mem = mr->region.mem;
	w->region.from = mr->region.from + (addr - mr->region.base);
	w->region.base = access & IB_ZERO_BASED ? 0 : addr;
	w->region.length = len;
	w->region.rights = rnic_ddp_rights(access) & WINDOW_RIGHTS;
	w->region.block = NULL;
	if (mr->region.block)
		w->region.block = mr->region.block + (off >> mr->region.shift);
	w->region.shift = mr->region.shift;
	w->region.skip = off & (BIT_ULL(mr->region.shift) - 1);
	w->region.stream = w->type2 ? stream : 0;
	w->region.scope = w->region.stream;
}

/*
 * Bind a window, or unbind it if the length is 0. Return: true on success;
 * false, with nothing changed, if the request is invalid.
 */
static bool __bind(struct rnic_window *w, struct rnic_mr *mr,
		   const struct ddp_stream *s, const struct rdmap_wr *wr)
{
	u64 addr = wr->raddr, len = wr->compare_add;

	if (w->removed || w->region.pd != s->pd ||
	    (w->region.stag ^ wr->rkey) & ~DDP_STAG_KEY_MASK)
		return false;
	/*
	 * reject a type 2 window that is still valid, and length 0, which only
	 * type 1 permits
	 */
	if (w->type2 && (READ_ONCE(w->region.valid) || !len))
		return false;
	if (len && (!mr || mr->bind_forbidden || mr->region.pd != s->pd ||
		    !may_open(mr, wr->inv, addr, len, wr->swap)))
		return false;
	ddp_region_revoke(&w->region);
	__unlink_window(w);
	if (!len)
		return true;
	__set_window(w, mr, addr, len, wr->swap, s->id);
	w->mr = mr;
	list_add(&w->entry, &mr->windows);
	ddp_region_validate(&w->region, wr->rkey & DDP_STAG_KEY_MASK);
	return true;
}

/**
 * rnic_mw_bind - execute a bind work request
 * @dev: the device
 * @s: the stream of the QP
 * @wr: the work request; rkey: new STag of the window; inv: lkey of the MR;
 *	raddr and compare_add: TO of the first byte and length in bytes, where
 *	length 0 unbinds the window; swap: IB_ACCESS_*
 *
 * Does not sleep. On return no peer can use the previous STag of a type 1
 * window.
 *
 * Return: true if the window was bound or unbound; false, with nothing changed,
 * if the request is invalid.
 */
bool rnic_mw_bind(struct rnic_dev *dev, const struct ddp_stream *s,
		  const struct rdmap_wr *wr)
{
	struct ddp_region *window, *region;
	struct rnic_mr *mr = NULL;
	bool ok = false;

	if (wr->swap & ~(u64)WINDOW_ACCESS)
		return false;
	rcu_read_lock();
	window = rnic_mw_find_region(dev, wr->rkey, RNIC_WINDOW);
	region = rnic_mw_find_region(dev, wr->inv, RNIC_REGION);
	if (region)
		mr = container_of(region, struct rnic_mr, region);
	spin_lock_bh(&dev->windows_lock);
	if (window)
		ok = __bind(container_of(window, struct rnic_window, region),
			    mr, s, wr);
	spin_unlock_bh(&dev->windows_lock);
	rcu_read_unlock();
	return ok;
}
