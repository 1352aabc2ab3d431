// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows. A work request binds a window to a range of an MR. Until the window is
 * invalidated, peers can access the range through the window. The peers of all streams of the
 * protection domain can use a window of type 1. Only the peer of the stream on which it was bound
 * can use a window of type 2 (RFC 5041 8.2).
 *
 * A window uses the block list of its MR, so an MR with valid windows cannot be
 * deregistered. The lock of a window serializes changes of the window, which may wait
 * for accesses in flight. The device's windows_lock protects the links between windows
 * and MRs; nothing waits while it is held, because all programs take it. A window or
 * MR found in the STag table stays allocated until the end of the RCU read-side
 * section.
 */
#include <linux/slab.h>
#include <ddp/mem.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

/* Access flags that a bind accepts. IB_ACCESS_LOCAL_WRITE is ignored; some programs pass it */
#define WINDOW_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE | \
			 IB_ZERO_BASED)
#define WINDOW_RIGHTS	(DDP_REMOTE_WRITE | DDP_REMOTE_READ | \
			 DDP_REMOTE_ATOMIC)

/*
 * Memory window. It is not part of struct rnic_mw, because the core frees that struct without an
 * RCU grace period, and readers of the STag table may still access the window.
 */
struct rnic_window {
	struct ddp_region	region;
	bool			type2;

	spinlock_t		lock;	/* held while the window is validated or unlinked */
	bool			removed;	/* is being deallocated; protected by @lock */

	/* to write the next two, hold @lock and rnic_dev.windows_lock; to read them, hold either */
	struct rnic_mr		*mr;	/* MR to which the window is bound, or NULL */
	struct list_head	entry;	/* entry in rnic_mr.windows of @mr */

	struct rcu_head		rcu;
};

/**
 * rnic_alloc_mw - initialize a window that is not bound (device operation)
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
		err = rnic_charge_object(dev, RNIC_MWS);
	if (err)
		return err;
	w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w) {
		rnic_uncharge_object(dev, RNIC_MWS);
		return -ENOMEM;
	}
	spin_lock_init(&w->lock);
	w->type2 = ib->type == IB_MW_TYPE_2;
	w->region.pd = ib->pd;
	w->region.kind = RNIC_WINDOW;
	w->region.may_be_invalidated = w->type2;
	err = ddp_region_insert(&dev->stags, &w->region, 0);
	if (err) {
		kfree(w);
		rnic_uncharge_object(dev, RNIC_MWS);
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

/*
 * Invalidate a window, which may be invalid already, wait for accesses through it, then unlink it
 * from its MR, if any. The caller must hold the window's lock.
 */
static void __revoke_and_unlink_window(struct rnic_dev *dev, struct rnic_window *w)
{
	lockdep_assert_held(&w->lock);
	ddp_region_revoke(&w->region);
	spin_lock(&dev->windows_lock);
	__unlink_window(w);
	spin_unlock(&dev->windows_lock);
}

/**
 * rnic_dealloc_mw - deallocate a window (device operation)
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

	/* a concurrent bind may have found the window already, and must not validate it now */
	spin_lock_bh(&w->lock);
	w->removed = true;
	spin_unlock_bh(&w->lock);
	/* remove the STag before waiting, so that peers cannot find the window again */
	ddp_region_remove(&dev->stags, &w->region);
	spin_lock_bh(&w->lock);
	__revoke_and_unlink_window(dev, w);
	spin_unlock_bh(&w->lock);
	kfree_rcu(w, rcu);
	rnic_uncharge_object(dev, RNIC_MWS);
	return 0;
}

/*
 * Get the first window that is linked to an MR. The caller must be in an RCU read-side
 * section, in which the window stays allocated. Return: the window, or NULL.
 */
static struct rnic_window *get_first_window(struct rnic_mr *mr)
{
	struct rnic_window *w;

	spin_lock_bh(&mr->dev->windows_lock);
	w = list_first_entry_or_null(&mr->windows, struct rnic_window, entry);
	spin_unlock_bh(&mr->dev->windows_lock);
	return w;
}

/*
 * Unlink a window from an MR if the window is invalid. Return: -EBUSY if it is valid
 * and linked to the MR, 0 otherwise.
 */
static int unlink_window_if_invalid(struct rnic_window *w, struct rnic_mr *mr)
{
	int err = 0;

	spin_lock_bh(&w->lock);
	/* the window may have been bound to another MR meanwhile */
	if (w->mr == mr && READ_ONCE(w->region.valid))
		err = -EBUSY;
	else if (w->mr == mr)
		__revoke_and_unlink_window(mr->dev, w);
	spin_unlock_bh(&w->lock);
	return err;
}

static void set_bind_forbidden(struct rnic_mr *mr, bool forbidden)
{
	spin_lock_bh(&mr->dev->windows_lock);
	mr->bind_forbidden = forbidden;
	spin_unlock_bh(&mr->dev->windows_lock);
}

/**
 * rnic_mr_forbid_bind - forbid binds of windows to an MR that is to be changed or destroyed
 * @mr: the MR
 *
 * First forbids binds, so that the number of windows cannot grow. Then unlinks the windows
 * that have been invalidated. May sleep.
 *
 * Return: 0 if no window is bound to the MR, and binds fail from now on; -EBUSY if a valid window
 * is bound, in which case binds are still permitted.
 */
int rnic_mr_forbid_bind(struct rnic_mr *mr)
{
	struct rnic_window *w;
	int err = 0;

	set_bind_forbidden(mr, true);
	do {
		cond_resched();
		rcu_read_lock();
		w = get_first_window(mr);
		if (w)
			err = unlink_window_if_invalid(w, mr);
		rcu_read_unlock();
	} while (w && !err);
	if (err)
		set_bind_forbidden(mr, false);
	return err;
}

/**
 * rnic_mr_permit_bind - undo rnic_mr_forbid_bind()
 * @mr: the MR, which is not destroyed
 */
void rnic_mr_permit_bind(struct rnic_mr *mr)
{
	set_bind_forbidden(mr, false);
}

/*
 * Find an MR or a window by the index of an STag, and take no reference: see ddp_region_peek().
 * Return: the MR or window; NULL if none has the index, or if it is not of the kind @kind.
 */
static struct ddp_region *peek_region_of_kind(struct rnic_dev *dev, u32 stag, u8 kind)
{
	struct ddp_region *r = ddp_region_peek(&dev->stags, stag);

	return r && r->kind == kind ? r : NULL;
}

/*
 * Check whether a window may be bound to @len bytes of an MR from TO @addr on, with the access
 * flags @access. @lkey is the STag that the program has specified for the MR.
 */
static bool may_bind_window(const struct rnic_mr *mr, u32 lkey, u64 addr, u64 len,
			    int access)
{
	const struct ddp_region *r = &mr->region;

	if (!(mr->access & IB_ACCESS_MW_BIND) || !READ_ONCE(r->valid) ||
	    r->stag != lkey)
		return false;
	if (access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(mr->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	if (rnic_to_ddp_rights(access) & mr->denied_rights)
		return false;
	return addr >= r->base && len <= r->length &&
	       addr - r->base <= r->length - len;
}

/*
 * Make a window refer to @len bytes of an MR from TO @addr on. A window grants remote rights only,
 * so ignore local rights in @access.
 */
static void __set_window_range(struct rnic_window *w, const struct rnic_mr *mr, u64 addr,
			       u64 len, int access, u64 stream)
{
	u64 off = addr - mr->region.base + mr->region.skip;

	w->region.ops = mr->region.ops;
	w->region.mem = mr->region.mem;
	w->region.mem_base = mr->region.mem_base + (addr - mr->region.base);
	w->region.base = access & IB_ZERO_BASED ? 0 : addr;
	w->region.length = len;
	w->region.rights = rnic_to_ddp_rights(access) & WINDOW_RIGHTS;
	w->region.block = NULL;
	if (mr->region.block)
		w->region.block = mr->region.block + (off >> mr->region.shift);
	w->region.shift = mr->region.shift;
	w->region.skip = off & (BIT_ULL(mr->region.shift) - 1);
	w->region.stream = w->type2 ? stream : 0;
	w->region.invalidate_stream = w->region.stream;
}

/* Check whether a bind work request specifies a window that may be bound or unbound now */
static bool __may_rebind_window(const struct rnic_window *w, const struct ddp_stream *s,
				const struct rdmap_wr *wr)
{
	lockdep_assert_held(&w->lock);
	if (w->removed || w->region.pd != s->pd ||
	    (w->region.stag ^ wr->rkey) & ~DDP_STAG_KEY_MASK)
		return false;
	/*
	 * reject a type 2 window that is still valid, and length 0, which only
	 * type 1 permits
	 */
	return !w->type2 || (!READ_ONCE(w->region.valid) && wr->compare_add);
}

/* Check whether an MR permits the bind; the caller must hold windows_lock */
static bool __may_bind_to_mr(const struct rnic_mr *mr, const struct ddp_stream *s,
			     const struct rdmap_wr *wr)
{
	return mr && !mr->bind_forbidden && mr->region.pd == s->pd &&
	       may_bind_window(mr, wr->inv, wr->raddr, wr->compare_add, wr->swap);
}

/* Call __may_bind_to_mr() under windows_lock. The MR may change after the return */
static bool may_bind_to_mr(struct rnic_dev *dev, const struct rnic_mr *mr,
			   const struct ddp_stream *s, const struct rdmap_wr *wr)
{
	bool may;

	spin_lock(&dev->windows_lock);
	may = __may_bind_to_mr(mr, s, wr);
	spin_unlock(&dev->windows_lock);
	return may;
}

/*
 * Link an invalid, unlinked window to an MR, and validate it. Return: true on success; false if
 * the MR does not permit the bind any more.
 */
static bool __link_and_validate_window(struct rnic_dev *dev, struct rnic_window *w,
				       struct rnic_mr *mr, const struct ddp_stream *s,
				       const struct rdmap_wr *wr)
{
	bool ok;

	spin_lock(&dev->windows_lock);
	/* check again: the MR may have changed during __revoke_and_unlink_window(), which waits */
	ok = __may_bind_to_mr(mr, s, wr);
	if (ok) {
		__set_window_range(w, mr, wr->raddr, wr->compare_add, wr->swap, s->id);
		w->mr = mr;
		list_add(&w->entry, &mr->windows);
		ddp_region_validate(&w->region, wr->rkey & DDP_STAG_KEY_MASK);
	}
	spin_unlock(&dev->windows_lock);
	return ok;
}

/*
 * Bind a window, or unbind it if the length is 0. The caller must hold the window's
 * lock. Return: see rnic_mw_bind().
 */
static bool __bind_or_unbind_window(struct rnic_dev *dev, struct rnic_window *w, struct rnic_mr *mr,
				    const struct ddp_stream *s, const struct rdmap_wr *wr)
{
	u64 len = wr->compare_add;

	if (!__may_rebind_window(w, s, wr) || (len && !may_bind_to_mr(dev, mr, s, wr)))
		return false;
	__revoke_and_unlink_window(dev, w);
	return !len || __link_and_validate_window(dev, w, mr, s, wr);
}

/**
 * rnic_mw_bind - execute a bind work request
 * @dev: the device
 * @s: the stream of the QP
 * @wr: the work request, with these members: @rkey is the new STag of the window; @inv is the
 *	lkey of the MR; @raddr and @compare_add are the TO of the first byte and the length in
 *	bytes, where length 0 unbinds a window of type 1; @swap is a mask of IB_ACCESS_*
 *
 * After success no peer can access memory through the previous binding of the window. Does not
 * sleep.
 *
 * Return: true if the window was bound or unbound; false, with nothing changed, if the
 * request is invalid. False also while another task tries to change or deregister the MR, even
 * if that attempt fails because a window is bound. In this case this call may have unbound a
 * type 1 window.
 */
bool rnic_mw_bind(struct rnic_dev *dev, const struct ddp_stream *s,
		  const struct rdmap_wr *wr)
{
	struct ddp_region *window, *region;
	struct rnic_window *w;
	struct rnic_mr *mr = NULL;
	bool ok = false;

	if (wr->swap & ~(u64)WINDOW_ACCESS)
		return false;
	rcu_read_lock();
	window = peek_region_of_kind(dev, wr->rkey, RNIC_WINDOW);
	region = peek_region_of_kind(dev, wr->inv, RNIC_REGION);
	if (region)
		mr = container_of(region, struct rnic_mr, region);
	if (window) {
		w = container_of(window, struct rnic_window, region);
		spin_lock_bh(&w->lock);
		ok = __bind_or_unbind_window(dev, w, mr, s, wr);
		spin_unlock_bh(&w->lock);
	}
	rcu_read_unlock();
	return ok;
}
