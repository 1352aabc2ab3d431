// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows: a part of a region, opened to peers and shut again by work
 * requests.  One of type 1 is open to all streams of its protection domain,
 * one of type 2 to the stream that bound it (RFC 5041 8.2).
 *
 * A window uses its region's blocks: a region with open windows stays.  Who
 * binds to whom is under the device's lock; windows and regions found in the
 * table stay for an RCU reader.
 */
#include <linux/slab.h>
#include <ddp/mem.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

/* Programs give local rights, too: those mean nothing here */
#define WINDOW_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE | \
			 IB_ZERO_BASED)
#define WINDOW_RIGHTS	(DDP_REMOTE_WRITE | DDP_REMOTE_READ | \
			 DDP_REMOTE_ATOMIC)

struct rnic_window {
	struct ddp_region	region;
	bool			type2;

	/* under the device's windows lock */
	bool			gone;
	struct rnic_mr		*mr;	/* whose list @entry is on, or NULL */
	struct list_head	entry;

	struct rcu_head		rcu;
};

/**
 * rnic_alloc_mw - verbs: a window, shut
 * @ib: allocated by the core
 * @udata: nothing in it
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
		err = rnic_take(dev, RNIC_MWS);
	if (err)
		return err;
	w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w) {
		rnic_give(dev, RNIC_MWS);
		return -ENOMEM;
	}
	w->type2 = ib->type == IB_MW_TYPE_2;
	w->region.pd = ib->pd;
	w->region.kind = RNIC_WINDOW;
	w->region.may_invalidate = w->type2;
	err = ddp_region_publish(&dev->stags, &w->region, 0);
	if (err) {
		kfree(w);
		rnic_give(dev, RNIC_MWS);
		return err;
	}
	mw->w = w;
	ib->rkey = w->region.stag;
	return 0;
}

static void __unlink(struct rnic_window *w)
{
	if (w->mr)
		list_del(&w->entry);
	w->mr = NULL;
}

/**
 * rnic_dealloc_mw - verbs: the end of a window
 * @ib: it
 *
 * On return no peer can use it any more.
 *
 * Return: 0.
 */
int rnic_dealloc_mw(struct ib_mw *ib)
{
	struct rnic_window *w = container_of(ib, struct rnic_mw, ib)->w;
	struct rnic_dev *dev = to_rnic_dev(ib->device);

	spin_lock_bh(&dev->windows);
	ddp_region_revoke(&w->region);
	__unlink(w);
	w->gone = true;
	spin_unlock_bh(&dev->windows);
	ddp_region_remove(&dev->stags, &w->region);
	kfree_rcu(w, rcu);
	rnic_give(dev, RNIC_MWS);
	return 0;
}

/*
 * Take some windows that are shut off the region's list: as many as it may have
 * collected, none is looked at twice.  Return: -EBUSY: one is open; 0: there
 * are none; 1: there may be more
 */
static int __forget_some(struct rnic_mr *mr)
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
		/* whoever shuts it may still wait for a copy through it */
		ddp_region_revoke(&w->region);
		__unlink(w);
	}
	return 1;
}

/* @goes: if none is open, none can be bound any more */
static int forget_windows(struct rnic_mr *mr, bool goes)
{
	struct rnic_dev *dev = mr->dev;
	int ret;

	do {
		cond_resched();
		spin_lock_bh(&dev->windows);
		ret = __forget_some(mr);
		if (!ret && goes)
			mr->gone = true;
		spin_unlock_bh(&dev->windows);
	} while (ret > 0);
	return ret;
}

/**
 * rnic_mr_keep_windows - a region is about to change
 * @mr: the region
 *
 * Return: -EBUSY if windows to it are open.
 */
int rnic_mr_keep_windows(struct rnic_mr *mr)
{
	return forget_windows(mr, false);
}

/**
 * rnic_mr_drop_windows - a region is about to go
 * @mr: the region
 *
 * Return: 0, and none can be bound to it any more; -EBUSY if one is open.
 */
int rnic_mr_drop_windows(struct rnic_mr *mr)
{
	return forget_windows(mr, true);
}

/**
 * rnic_mr_take_windows - a region stays after all
 * @mr: the region, after rnic_mr_drop_windows()
 */
void rnic_mr_take_windows(struct rnic_mr *mr)
{
	spin_lock_bh(&mr->dev->windows);
	mr->gone = false;
	spin_unlock_bh(&mr->dev->windows);
}

/* Found under RCU, and it stays for so long; it may have ended */
static struct ddp_region *rnic_mw_peek(struct rnic_dev *dev, u32 stag, u8 kind)
{
	struct ddp_region *r = ddp_region_find(&dev->stags, stag);

	if (!r)
		return NULL;
	ddp_region_put(r);
	return r->kind == kind ? r : NULL;
}

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
	if (rnic_ddp_rights(access) & mr->never)
		return false;
	return addr >= r->base && len <= r->length &&
	       addr - r->base <= r->length - len;
}

/* The window's fields; its own rights reach only peers */
static void __point(struct rnic_window *w, const struct rnic_mr *mr, u64 addr,
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

static bool __bind(struct rnic_window *w, struct rnic_mr *mr,
		   const struct ddp_stream *s, const struct rdmap_wr *wr)
{
	u64 addr = wr->raddr, len = wr->compare_add;

	if (w->gone || w->region.pd != s->pd ||
	    (w->region.stag ^ wr->rkey) & ~DDP_STAG_KEY_MASK)
		return false;
	/* one of type 2 is bound once, until it is invalidated */
	if (w->type2 && (READ_ONCE(w->region.valid) || !len))
		return false;
	if (len && (!mr || mr->gone || mr->region.pd != s->pd ||
		    !may_open(mr, wr->inv, addr, len, wr->swap)))
		return false;
	ddp_region_revoke(&w->region);
	__unlink(w);
	if (!len)
		return true;
	__point(w, mr, addr, len, wr->swap, s->id);
	w->mr = mr;
	list_add(&w->entry, &mr->windows);
	ddp_region_allow(&w->region, wr->rkey & DDP_STAG_KEY_MASK);
	return true;
}

/**
 * rnic_mw_bind - a bind work request takes effect
 * @dev: the device
 * @s: the stream that asks
 * @wr: @rkey: the window's STag from now on; @inv: lkey of the region; @raddr
 *	and @compare_add: where and how long, 0 to shut it; @swap: IB_ACCESS_*
 *
 * Atomic.  Of a window of type 1 nothing is open to its old STag on return.
 *
 * Return: false with nothing changed.
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
	window = rnic_mw_peek(dev, wr->rkey, RNIC_WINDOW);
	region = rnic_mw_peek(dev, wr->inv, RNIC_REGION);
	if (region)
		mr = container_of(region, struct rnic_mr, region);
	spin_lock_bh(&dev->windows);
	if (window)
		ok = __bind(container_of(window, struct rnic_window, region),
			    mr, s, wr);
	spin_unlock_bh(&dev->windows);
	rcu_read_unlock();
	return ok;
}
