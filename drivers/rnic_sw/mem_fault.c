// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Page faults of MRs whose memory is not pinned: queue of requests and the workers that
 * serve them.
 *
 * If the receive or transmit path finds that memory is not present, it queues a request,
 * and a worker faults the memory in. The process that owns the memory can delay this for
 * as long as it likes (userfaultfd, FUSE), so no other context waits for a worker.
 * A stream that ends cancels its request. Destroying an MR completes all requests for the
 * MR; the waiting streams then retry and find that the MR no longer exists. A worker holds
 * references to the objects that it uses; these do not delay the removal of the device.
 */
#include <linux/capability.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/wait_bit.h>

#include "mem_fault.h"

/*
 * Maximum number of active workers of one process. Each worker may block for as long as
 * the process likes, and occupies a thread that is charged to no control group. Therefore
 * only the first OWNERS_FULL processes of a user get WORKERS_MAX workers each. Further
 * processes get WORKERS_MIN, which is enough to make progress.
 */
#define WORKERS_MAX		16
#define OWNERS_FULL	32
#define WORKERS_MIN	1

/* Maximum number of processes with unpinned MRs: no cgroup is charged for their workqueues */
#define OWNERS_MAX	4096

/* Maximum number of these processes of one user without CAP_SYS_RESOURCE */
#define OWNERS_USER_MAX	1024

/* Maximum wait for the release of memory when its MR is destroyed, in jiffies */
#define RELEASE_TIMEOUT	HZ

/*
 * Protects the queues of page-fault requests and the workers' state. While it is held, only
 * the locks of ddp_fault_done() and queue_work() are taken.
 */
static DEFINE_SPINLOCK(faults_lock);

/*
 * Process that has unpinned MRs. Each such process has workqueues of its own, so memory
 * that blocks a worker delays only page faults of the same process.
 */
struct rnic_pf_owner {
	struct mm_struct	*mm;	/* each struct rnic_pf has an mmgrab() reference */
	kuid_t			charged_uid;	/* user whose quota is charged */
	bool			charged;	/* true if the quota has been charged */
	u32			users;	/* reference count; protected by xa_lock of owners */
	struct completion	setup_done;	/* set-up ended; failed if @idle_wq is NULL */
	struct workqueue_struct	*wq;
	struct workqueue_struct	*idle_wq;	/* for idle checks; not delayed by work on @wq */
	bool			timed_out;	/* a wait for a release timed out */
	struct work_struct	free_work;
};

/* struct rnic_pf_owner, indexed by the address of the mm */
static DEFINE_XARRAY_FLAGS(owners, XA_FLAGS_ACCOUNT);
static struct workqueue_struct *owner_free_wq;
static atomic_t nr_owners = ATOMIC_INIT(0);

/* Number of processes with unpinned MRs of each user, indexed by uid */
static DEFINE_XARRAY_FLAGS(owners_by_uid, XA_FLAGS_ACCOUNT);

/* Quotas ------------------------------------------------------------------- */

/*
 * Find the user to charge. For a caller in a user namespace, this is the owner of the
 * ancestor namespace directly below the initial one. If the initial root owns that
 * namespace, as for a container, the namespace's own root is charged.
 */
static kuid_t find_charged_uid(void)
{
	kuid_t uid = current_uid(), inner;
	struct user_namespace *ns;

	for (ns = current_user_ns(); ns->parent; ns = ns->parent) {
		inner = make_kuid(ns, 0);
		uid = ns->owner;
		if (uid_eq(uid, GLOBAL_ROOT_UID) && uid_valid(inner))
			uid = inner;
	}
	return uid;
}

static unsigned long entry_to_count(void *entry)
{
	return entry ? xa_to_value(entry) : 0;
}

static bool may_charge(unsigned long n)
{
	return n < OWNERS_USER_MAX || capable(CAP_SYS_RESOURCE);
}

/*
 * Add @more to the number of processes charged to a user, without a lock. Only the first
 * charge of a user allocates memory.
 *
 * Return: the new number; 0 also if the quota is used up or memory is short.
 */
static unsigned long change_charge(kuid_t charged_uid, int more)
{
	void *entry = xa_load(&owners_by_uid, __kuid_val(charged_uid)), *was;
	unsigned long n;

	do {
		was = entry;
		n = entry_to_count(was);
		if (more > 0 && !may_charge(n))
			return 0;
		n += more;
		entry = xa_cmpxchg(&owners_by_uid, __kuid_val(charged_uid), was,
				   n ? xa_mk_value(n) : NULL, GFP_KERNEL_ACCOUNT);
		if (xa_is_err(entry))
			return 0;
	} while (entry != was);
	return n;
}

static void dec_nr_owners(void)
{
	if (atomic_dec_and_test(&nr_owners))
		wake_up_var(&nr_owners);
}

/* Return: number of processes charged to the user, with this one; 0 if it cannot be charged */
static unsigned long charge_owner(kuid_t charged_uid)
{
	unsigned long n;

	if (!atomic_add_unless(&nr_owners, 1, OWNERS_MAX))
		return 0;
	n = change_charge(charged_uid, 1);
	if (!n)
		dec_nr_owners();
	return n;
}

static void uncharge_owner(kuid_t charged_uid)
{
	change_charge(charged_uid, -1);
	dec_nr_owners();
}

/* Owners ------------------------------------------------------------------- */

static struct rnic_pf_owner *find_get_owner(const struct mm_struct *mm)
{
	struct rnic_pf_owner *own;

	xa_lock(&owners);
	own = xa_load(&owners, (unsigned long)mm);
	if (own)
		own->users++;
	xa_unlock(&owners);
	return own;
}

/*
 * Free an owner. Runs on owner_free_wq because a workqueue cannot be destroyed by one of its
 * own workers, and such a worker may have dropped the last reference.
 */
static void rnic_pf_owner_free_work(struct work_struct *work)
{
	struct rnic_pf_owner *own = container_of(work, struct rnic_pf_owner, free_work);

	if (own->wq)
		destroy_workqueue(own->wq);
	if (own->idle_wq)
		destroy_workqueue(own->idle_wq);
	if (own->charged)
		uncharge_owner(own->charged_uid);
	kfree(own);
}

static void put_owner(struct rnic_pf_owner *own)
{
	bool last;

	xa_lock(&owners);
	last = !--own->users;
	if (last)
		__xa_erase(&owners, (unsigned long)own->mm);
	xa_unlock(&owners);
	if (last)
		queue_work(owner_free_wq, &own->free_work);
}

static struct rnic_pf_owner *new_owner(struct mm_struct *mm)
{
	struct rnic_pf_owner *own = kzalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);

	if (!own)
		return NULL;
	own->mm = mm;
	own->users = 1;
	own->charged_uid = find_charged_uid();
	init_completion(&own->setup_done);
	INIT_WORK(&own->free_work, rnic_pf_owner_free_work);
	return own;
}

/*
 * Set up an owner that is already in the table. Other threads of the process that find the
 * owner wait for @setup_done.
 */
static void rnic_pf_setup_owner(struct rnic_pf_owner *own)
{
	unsigned long n = charge_owner(own->charged_uid);
	int max_active = n > OWNERS_FULL ? WORKERS_MIN : WORKERS_MAX;

	own->charged = n;
	if (own->charged)
		own->wq = alloc_workqueue("rnic_sw_fault", WQ_UNBOUND, max_active);
	if (own->wq)
		own->idle_wq = alloc_workqueue("rnic_sw_idle", WQ_UNBOUND, max_active);
	complete_all(&own->setup_done);
}

/*
 * Find the process's owner, or create it. The thread that creates the owner sets it up after
 * inserting it into the table, so that other processes do not wait for the set-up.
 *
 * Return: the owner, which another thread may still be setting up; NULL if memory is short.
 */
static struct rnic_pf_owner *find_or_create_owner(struct mm_struct *mm)
{
	struct rnic_pf_owner *own = find_get_owner(mm), *new;
	int err;

	while (!own) {
		new = new_owner(mm);
		if (!new)
			return NULL;
		err = xa_insert(&owners, (unsigned long)mm, new, GFP_KERNEL_ACCOUNT);
		if (!err) {
			rnic_pf_setup_owner(new);
			return new;
		}
		kfree(new);
		if (err != -EBUSY)
			return NULL;
		/* another thread has inserted an owner first */
		own = find_get_owner(mm);
	}
	return own;
}

static struct rnic_pf_owner *get_owner(struct mm_struct *mm)
{
	struct rnic_pf_owner *own = find_or_create_owner(mm);

	if (!own)
		return NULL;
	if (!wait_for_completion_killable(&own->setup_done) && own->idle_wq)
		return own;
	put_owner(own);
	return NULL;
}

/* Workers ------------------------------------------------------------------ */

static void rnic_pf_release(struct kref *ref)
{
	struct rnic_pf *b = container_of(ref, struct rnic_pf, ref);

	b->ops->release(b);
}

/**
 * rnic_pf_put - drop a reference to memory that is not pinned
 * @b: the memory
 *
 * May sleep.
 */
void rnic_pf_put(struct rnic_pf *b)
{
	kref_put(&b->ref, rnic_pf_release);
}

static void __count_event(const struct rnic_pf *b, enum rnic_counter c)
{
	lockdep_assert_held(&faults_lock);
	if (!b->dead)
		rnic_count(b->dev, c);
}

/**
 * rnic_pf_count_event - count an event of memory that is not pinned
 * @b: the memory; nothing is counted if its MR has been destroyed
 * @c: the counter
 */
void rnic_pf_count_event(struct rnic_pf *b, enum rnic_counter c)
{
	spin_lock_bh(&faults_lock);
	__count_event(b, c);
	spin_unlock_bh(&faults_lock);
}

/**
 * rnic_pf_idle_wq - get the workqueue for work other than page faults
 * @b: the memory
 *
 * Return: a workqueue of the process; blocked page faults do not delay its work items.
 */
struct workqueue_struct *rnic_pf_idle_wq(struct rnic_pf *b)
{
	return b->owner->idle_wq;
}

/**
 * rnic_pf_wait_released - wait for the release of memory, at most RELEASE_TIMEOUT
 * @b: the memory
 * @done: completed once the memory has been released
 *
 * After one timeout, no later call for the same process waits, so that the timeouts of many
 * MRs do not add up. May sleep.
 */
void rnic_pf_wait_released(struct rnic_pf *b, struct completion *done)
{
	struct rnic_pf_owner *own = b->owner;

	if (!READ_ONCE(own->timed_out) && !wait_for_completion_timeout(done, RELEASE_TIMEOUT))
		WRITE_ONCE(own->timed_out, true);
}

static bool take_fault(struct rnic_pf_worker *wk, struct rnic_pf_range *want)
{
	struct rnic_pf *b = wk->b;
	struct ddp_fault *w;

	spin_lock_bh(&faults_lock);
	w = list_first_entry_or_null(&b->pending, struct ddp_fault, entry);
	wk->fault = w;
	wk->busy = w;
	if (w) {
		list_del_init(&w->entry);
		w->priv = wk;
		*want = (struct rnic_pf_range) {
			.at = w->at, .end = w->at + w->len, .write = w->write,
		};
		__count_event(b, b->ops->faults);
	}
	spin_unlock_bh(&faults_lock);
	return w;
}

static void end_fault(struct rnic_pf_worker *wk, bool denied)
{
	struct ddp_fault *w;

	spin_lock_bh(&faults_lock);
	w = wk->fault;
	wk->fault = NULL;
	if (denied)
		__count_event(wk->b, wk->b->ops->failed);
	if (w)
		ddp_fault_done(w, denied);
	spin_unlock_bh(&faults_lock);
}

/* Fault in a range. Return: 0, or a negative errno if it cannot be faulted in */
static int serve(struct rnic_pf *b, const struct rnic_pf_range *want)
{
	/* success for an empty range would make the stream retry for ever */
	if (want->end <= want->at)
		return -EFAULT;
	return b->ops->serve(b, want);
}

static void rnic_pf_work(struct work_struct *work)
{
	struct rnic_pf_worker *wk = container_of(work, struct rnic_pf_worker, work);
	/*
	 * Hold a module reference: unloading then fails instead of waiting for a worker
	 * that may block. If unloading has already begun, rnic_pf_exit() waits for the
	 * worker.
	 */
	bool held = try_module_get(THIS_MODULE);
	struct rnic_pf *b = wk->b;
	struct rnic_pf_range want;
	int err;

	while (take_fault(wk, &want)) {
		err = serve(b, &want);
		end_fault(wk, err);
		if (!err && b->ops->post_fault)
			b->ops->post_fault(b, &want);
	}
	rnic_pf_put(b);
	if (held)
		module_put(THIS_MODULE);
}

static void __start_worker(struct rnic_pf *b)
{
	struct rnic_pf_worker *wk;

	for (wk = b->worker; wk < b->worker + b->ops->workers; wk++) {
		if (wk->busy)
			continue;
		wk->busy = true;
		/*
		 * Take a reference for the worker. If the work item has found no request
		 * and is about to return, queue_work() makes it run again.
		 */
		kref_get(&b->ref);
		queue_work(b->owner->wq, &wk->work);
		return;
	}
}

/* Called by DDP ------------------------------------------------------------ */

/**
 * rnic_pf_request - queue a page-fault request and start a worker
 * @mem: the memory (struct rnic_pf)
 * @w: the stream's request; owned by this file until ddp_fault_done() or
 *	rnic_pf_cancel()
 *
 * The caller must hold an in-flight reference to the MR. Context: BH off. Does not sleep.
 */
void rnic_pf_request(void *mem, struct ddp_fault *w)
{
	struct rnic_pf *b = mem;

	spin_lock_bh(&faults_lock);
	w->priv = NULL;
	list_add_tail(&w->entry, &b->pending);
	__start_worker(b);
	spin_unlock_bh(&faults_lock);
}

/**
 * rnic_pf_cancel - cancel the page-fault request of a stream that ends
 * @w: the request; on return no worker uses it
 *
 * Does not sleep.
 */
void rnic_pf_cancel(struct ddp_fault *w)
{
	struct rnic_pf_worker *wk;

	spin_lock_bh(&faults_lock);
	wk = w->priv;
	if (w->pending && wk)
		wk->fault = NULL;
	else if (w->pending)
		list_del_init(&w->entry);
	w->pending = false;
	spin_unlock_bh(&faults_lock);
}

/* Lifetime ----------------------------------------------------------------- */

/**
 * rnic_pf_setup - initialize memory of the calling process that is not pinned
 * @b: the memory, zeroed by the caller
 * @ops: kind of memory
 * @dev: the device
 * @start: first byte, an address or an offset in a buffer
 * @length: length in bytes
 *
 * May sleep.
 *
 * Return: 0, with a reference for rnic_pf_put(); -ENOMEM if memory is short, the quota
 * is used up, or the caller is killed.
 */
int rnic_pf_setup(struct rnic_pf *b, const struct rnic_pf_ops *ops,
		  struct rnic_dev *dev, u64 start, u64 length)
{
	unsigned int i;

	b->owner = get_owner(current->mm);
	if (!b->owner)
		return -ENOMEM;
	kref_init(&b->ref);
	INIT_LIST_HEAD(&b->pending);
	for (i = 0; i < RNIC_PF_WORKERS; i++) {
		INIT_WORK(&b->worker[i].work, rnic_pf_work);
		b->worker[i].b = b;
	}
	b->ops = ops;
	b->dev = dev;
	b->start = start;
	b->end = start + length;
	mmgrab(current->mm);
	b->mm = current->mm;
	return 0;
}

/**
 * rnic_pf_teardown - release what rnic_pf_setup() has acquired
 * @b: the memory; the caller frees the struct
 */
void rnic_pf_teardown(struct rnic_pf *b)
{
	put_owner(b->owner);
	mmdrop(b->mm);
}

/**
 * rnic_pf_set_region - make an MR refer to all of the memory
 * @r: the MR, not yet published
 * @b: the memory
 */
void rnic_pf_set_region(struct ddp_region *r, struct rnic_pf *b)
{
	r->ops = &b->ops->mem;
	r->mem = b;
	r->from = b->start;
}

/* Complete up to RING_IDX_STEPS queued requests. Return: true if there may be more */
static bool __complete_some(struct rnic_pf *b)
{
	struct ddp_fault *w;
	int n;

	for (n = 0; n < RING_IDX_STEPS; n++) {
		w = list_first_entry_or_null(&b->pending, struct ddp_fault,
					     entry);
		if (!w)
			return false;
		list_del_init(&w->entry);
		ddp_fault_done(w, false);
	}
	return true;
}

/* Complete the requests that workers are serving */
static void __complete_active(struct rnic_pf *b)
{
	struct rnic_pf_worker *wk;

	for (wk = b->worker; wk < b->worker + RNIC_PF_WORKERS; wk++) {
		if (wk->fault)
			ddp_fault_done(wk->fault, false);
		wk->fault = NULL;
	}
}

/**
 * rnic_pf_end - complete all page-fault requests of an MR that has been removed
 * @b: the memory; the caller's reference is dropped
 *
 * The caller must ensure that no new request can be queued. Does not wait for page-fault
 * workers. May sleep.
 */
void rnic_pf_end(struct rnic_pf *b)
{
	bool more;

	do {
		cond_resched();
		spin_lock_bh(&faults_lock);
		b->dead = true;
		more = __complete_some(b);
		if (!more)
			__complete_active(b);
		spin_unlock_bh(&faults_lock);
	} while (more);
	if (b->ops->end)
		b->ops->end(b);
	rnic_pf_put(b);
}

/**
 * rnic_pf_init - create the workqueue on which owners are freed
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_pf_init(void)
{
	owner_free_wq = alloc_workqueue("rnic_sw_release", WQ_UNBOUND, 0);
	return owner_free_wq ? 0 : -ENOMEM;
}

/**
 * rnic_pf_exit - wait until all owners have been freed
 *
 * The caller must have destroyed all MRs. Waits also for workers that started after
 * unloading had begun.
 */
void rnic_pf_exit(void)
{
	wait_var_event(&nr_owners, !atomic_read(&nr_owners));
	destroy_workqueue(owner_free_wq);
}
