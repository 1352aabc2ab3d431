// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory that is not pinned: who wants pages that are not there, and who brings
 * them.
 *
 * A runner that finds nothing leaves its wait here, and a worker brings the pages:
 * that may take as long as the owner of the memory likes, so nobody waits for a
 * worker.  A stream that ends has itself forgotten, and a region that goes sends
 * those that wait on, to find that it is gone.  A worker in the middle of something
 * keeps what it works on, and none of it is the device's.
 */
#include <linux/delay.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "odp.h"
#include "odp_range.h"
#include "stats.h"

/* What RDMA does without pinned memory: all that it does */
#define CAPS	(IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | \
		 IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ | \
		 IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV)

/* How often memory for a page is asked for: 1 ms later, then twice as long each time */
#define TRIES	8

/* Workers of a process at work: each may wait for what that likes */
#define AT_WORK	16

/* Leaf but for what going on takes: who waits for which memory */
static DEFINE_SPINLOCK(waits_lock);

/*
 * A process's workers.  None of them can be kept by another one's memory; who gets
 * in their way are those who share it.
 */
struct odp_owner {
	struct mm_struct	*mm;	/* whoever uses it holds that */
	u32			users;	/* the table's lock */
	struct workqueue_struct	*wq;
	struct work_struct	end;
};

static DEFINE_XARRAY_FLAGS(owners, XA_FLAGS_ACCOUNT);	/* by the address of the mm */
static struct workqueue_struct *ends_wq;
static atomic_t existing = ATOMIC_INIT(0);

/* Owners ---------------------------------------------------------------------- */

static struct odp_owner *find_owner(const struct mm_struct *mm)
{
	struct odp_owner *own;

	xa_lock(&owners);
	own = xa_load(&owners, (unsigned long)mm);
	if (own)
		own->users++;
	xa_unlock(&owners);
	return own;
}

static void free_owner(struct odp_owner *own)
{
	destroy_workqueue(own->wq);
	kfree(own);
	if (atomic_dec_and_test(&existing))
		wake_up_var(&existing);
}

/* Not by one of its own workers, though one of them may have been its last user */
static void owner_ends(struct work_struct *work)
{
	free_owner(container_of(work, struct odp_owner, end));
}

static struct odp_owner *new_owner(struct mm_struct *mm)
{
	struct odp_owner *own = kzalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);

	if (!own)
		return NULL;
	own->wq = alloc_workqueue("rnic_sw_odp", WQ_UNBOUND, AT_WORK);
	if (!own->wq) {
		kfree(own);
		return NULL;
	}
	atomic_inc(&existing);
	INIT_WORK(&own->end, owner_ends);
	own->mm = mm;
	own->users = 1;
	return own;
}

static struct odp_owner *get_owner(struct mm_struct *mm)
{
	struct odp_owner *own, *fresh;
	int err;

	do {
		own = find_owner(mm);
		if (own)
			return own;
		fresh = new_owner(mm);
		if (!fresh)
			return NULL;
		err = xa_insert(&owners, (unsigned long)mm, fresh,
				GFP_KERNEL_ACCOUNT);
		if (!err)
			return fresh;
		free_owner(fresh);
		/* another thread of it was quicker */
	} while (err == -EBUSY);
	return NULL;
}

static void put_owner(struct odp_owner *own)
{
	bool last;

	xa_lock(&owners);
	last = !--own->users;
	if (last)
		__xa_erase(&owners, (unsigned long)own->mm);
	xa_unlock(&owners);
	if (last)
		queue_work(ends_wq, &own->end);
}

/* The workers' turn ---------------------------------------------------------- */

static void release(struct kref *ref)
{
	struct rnic_odp *o = container_of(ref, struct rnic_odp, ref);

	rnic_odp_drop(o);
	put_owner(o->owner);
	mem_cgroup_put(o->memcg);
	mmdrop(o->mm);
	kfree(o);
}

/**
 * rnic_odp_put - a reference less; sleeps
 * @o: the memory
 */
void rnic_odp_put(struct rnic_odp *o)
{
	kref_put(&o->ref, release);
}

static void __count(const struct rnic_odp *o, enum rnic_counter c)
{
	lockdep_assert_held(&waits_lock);
	if (!o->dead)
		rnic_count(o->dev, c);
}

/* What a worker is to bring */
struct wanted {
	u64	at;
	u64	end;
	bool	write;
};

static bool take_wait(struct odp_worker *wk, struct wanted *want)
{
	struct rnic_odp *o = wk->o;
	struct ddp_wait *w;

	spin_lock_bh(&waits_lock);
	w = list_first_entry_or_null(&o->pending, struct ddp_wait, entry);
	wk->waits = w;
	wk->busy = w;
	if (w) {
		list_del_init(&w->entry);
		w->by = wk;
		*want = (struct wanted) {
			.at = w->at, .end = w->at + w->len, .write = w->write,
		};
		__count(o, RNIC_ODP_FAULTS);
	}
	spin_unlock_bh(&waits_lock);
	return w;
}

static void end_wait(struct odp_worker *wk, bool denied)
{
	struct ddp_wait *w;

	spin_lock_bh(&waits_lock);
	w = wk->waits;
	wk->waits = NULL;
	if (denied)
		__count(wk->o, RNIC_ODP_FAULTS_FAILED);
	if (w)
		ddp_wait_over(w, denied);
	spin_unlock_bh(&waits_lock);
}

static int bring(struct rnic_odp *o, const struct wanted *want)
{
	int err = -ENOMEM, n;

	for (n = 0; err == -ENOMEM && n < TRIES; n++) {
		if (n)
			msleep(1 << (n - 1));
		err = rnic_odp_bring(o, want->at, want->end, want->write,
				     ODP_FAULT);
	}
	return err;
}

/* Return: 0, or why it cannot be had */
static int serve(struct rnic_odp *o, const struct wanted *want)
{
	int err;

	/* a wait for nothing would have no end */
	if (want->end <= want->at || !mmget_not_zero(o->mm))
		return -EFAULT;
	err = bring(o, want);
	mmput(o->mm);
	return err;
}

/*
 * What comes next is often wanted next, and there already.  Not to be written: who has
 * said that he does not need a page any more would have it back.
 */
static void look_ahead(struct rnic_odp *o, const struct wanted *want)
{
	if (want->write || !mmget_not_zero(o->mm))
		return;
	rnic_odp_bring(o, want->end, odp_ahead(want->end, o->end, PAGE_SHIFT),
		       false, ODP_NEXT);
	mmput(o->mm);
}

static void odp_work(struct work_struct *work)
{
	struct odp_worker *wk = container_of(work, struct odp_worker, work);
	/* it is not to be waited for by who unloads it; one that goes waits all the same */
	bool held = try_module_get(THIS_MODULE);
	struct wanted want;
	int err;

	while (take_wait(wk, &want)) {
		err = serve(wk->o, &want);
		end_wait(wk, err);
		if (!err)
			look_ahead(wk->o, &want);
	}
	rnic_odp_put(wk->o);
	if (held)
		module_put(THIS_MODULE);
}

static void __start_worker(struct rnic_odp *o)
{
	struct odp_worker *wk;

	for (wk = o->worker; wk < o->worker + ODP_WORKERS; wk++) {
		if (wk->busy)
			continue;
		wk->busy = true;
		/* its; one that found nothing more and is just leaving runs again */
		kref_get(&o->ref);
		queue_work(o->owner->wq, &wk->work);
		return;
	}
}

/* What DDP asks -------------------------------------------------------------- */

static void odp_bring(void *mem, struct ddp_wait *w)
{
	struct rnic_odp *o = mem;

	spin_lock_bh(&waits_lock);
	w->by = NULL;
	list_add_tail(&w->entry, &o->pending);
	__start_worker(o);
	spin_unlock_bh(&waits_lock);
}

static void odp_forget(struct ddp_wait *w)
{
	struct odp_worker *wk;

	spin_lock_bh(&waits_lock);
	wk = w->by;
	if (w->waits && wk)
		wk->waits = NULL;
	else if (w->waits)
		list_del_init(&w->entry);
	w->waits = false;
	spin_unlock_bh(&waits_lock);
}

const struct ddp_mem_ops rnic_odp_ops = {
	.run	= rnic_odp_run,
	.bring	= odp_bring,
	.forget	= odp_forget,
};

/**
 * rnic_odp_invalidated - pages have been taken away
 * @o: the memory
 */
void rnic_odp_invalidated(struct rnic_odp *o)
{
	spin_lock_bh(&waits_lock);
	__count(o, RNIC_ODP_INVALIDATIONS);
	spin_unlock_bh(&waits_lock);
}

/**
 * rnic_odp_prefetched - a program has asked for pages beforehand
 * @o: the memory
 */
void rnic_odp_prefetched(struct rnic_odp *o)
{
	spin_lock_bh(&waits_lock);
	__count(o, RNIC_ODP_PREFETCHES);
	spin_unlock_bh(&waits_lock);
}

/* Life ------------------------------------------------------------------------ */

/**
 * rnic_odp_new - memory of the calling program
 * @dev: the device
 * @start: where it begins
 * @length: octets; what is mapped there may change, and need not be there at all
 *
 * Return: it, or an error pointer.
 */
struct rnic_odp *rnic_odp_new(struct rnic_dev *dev, u64 start, u64 length)
{
	struct rnic_odp *o = kzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT);
	int i;

	if (!o)
		return ERR_PTR(-ENOMEM);
	o->owner = get_owner(current->mm);
	if (!o->owner) {
		kfree(o);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&o->ref);
	mutex_init(&o->lock);
	xa_init_flags(&o->chunks, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&o->pending);
	for (i = 0; i < ODP_WORKERS; i++) {
		INIT_WORK(&o->worker[i].work, odp_work);
		o->worker[i].o = o;
	}
	o->dev = dev;
	o->start = start;
	o->end = start + length;
	mmgrab(current->mm);
	o->mm = current->mm;
	o->memcg = get_mem_cgroup_from_mm(current->mm);
	return o;
}

/**
 * rnic_odp_name - a region names all of it
 * @r: the region, which nobody has found yet
 * @o: the memory
 */
void rnic_odp_name(struct ddp_region *r, struct rnic_odp *o)
{
	r->ops = &rnic_odp_ops;
	r->mem = o;
	r->from = o->start;
}

/* A few of those that wait, on their way.  Return: whether there are more */
static bool __send_on(struct rnic_odp *o)
{
	struct ddp_wait *w;
	int n;

	for (n = 0; n < RING_IDX_STEPS; n++) {
		w = list_first_entry_or_null(&o->pending, struct ddp_wait,
					     entry);
		if (!w)
			return false;
		list_del_init(&w->entry);
		ddp_wait_over(w, false);
	}
	return true;
}

static void __leave_workers(struct rnic_odp *o)
{
	struct odp_worker *wk;

	for (wk = o->worker; wk < o->worker + ODP_WORKERS; wk++) {
		if (wk->waits)
			ddp_wait_over(wk->waits, false);
		wk->waits = NULL;
	}
}

/**
 * rnic_odp_end - its region is gone
 * @o: the memory; nobody can ask for any of it any more
 *
 * Waits for no worker.
 */
void rnic_odp_end(struct rnic_odp *o)
{
	bool more;

	do {
		cond_resched();
		spin_lock_bh(&waits_lock);
		o->dead = true;
		more = __send_on(o);
		if (!more)
			__leave_workers(o);
		spin_unlock_bh(&waits_lock);
	} while (more);
	rnic_odp_put(o);
}

/**
 * rnic_odp_caps - what a program is told that can be done without pinning
 * @attr: the device's
 */
void rnic_odp_caps(struct ib_device_attr *attr)
{
	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	attr->odp_caps.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	attr->odp_caps.per_transport_caps.rc_odp_caps = CAPS;
}

/**
 * rnic_odp_init - from here on there may be regions
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_odp_init(void)
{
	ends_wq = alloc_workqueue("rnic_sw_ends", WQ_UNBOUND, 0);
	return ends_wq ? 0 : -ENOMEM;
}

/**
 * rnic_odp_exit - all regions are gone
 *
 * Waits for workers that have begun since the module was on its way.
 */
void rnic_odp_exit(void)
{
	wait_var_event(&existing, !atomic_read(&existing));
	destroy_workqueue(ends_wq);
}
