// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Page faults of MRs whose memory is not pinned: the queue of page-fault requests of each MR, and
 * the workers that serve them.
 *
 * If the receive or transmit path of a stream finds that memory is not present, it queues a
 * request, and a worker faults the memory in. The process that owns the memory can delay this for
 * an unlimited time (userfaultfd, FUSE), so no other context may wait for a worker. Therefore a
 * stream that ends cancels its request. Destroying an MR completes all its requests; the streams
 * then retry and find no MR. A worker holds references only to objects that may outlive the device.
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
 * Maximum number of workers of one process that run concurrently. A process can block its
 * workers for an unlimited time, and each of them occupies a kernel thread, which is charged to
 * no control group. Therefore only the first OWNERS_FULL processes of a user may have WORKERS_MAX
 * running workers. Each further process may have WORKERS_MIN, which is enough for progress.
 */
#define WORKERS_MAX		16
#define OWNERS_FULL	32
#define WORKERS_MIN	1

/* Maximum number of processes with unpinned MRs: their workqueues are charged to no cgroup */
#define OWNERS_MAX	4096

/* Maximum number of processes of one user with unpinned MRs; CAP_SYS_RESOURCE lifts this limit */
#define OWNERS_USER_MAX	1024

/* Maximum time that rnic_unpinned_wait_released() waits, in jiffies */
#define RELEASE_TIMEOUT	HZ

/*
 * Protects the queues of page-fault requests and the state of the workers. The only locks that
 * may be taken while it is held are those of ddp_fault_complete() and queue_work().
 */
static DEFINE_SPINLOCK(faults_lock);

/*
 * Owner: a process that has MRs whose memory is not pinned. Each owner has its own workqueues, so
 * a worker that blocks delays only page faults of the same process.
 */
struct rnic_fault_owner {
	struct mm_struct	*mm;	/* each struct rnic_unpinned holds a reference */
	kuid_t			charged_uid;	/* user whose quota is charged */
	bool			charged;	/* the quota has been charged */
	u32			users;	/* reference count; protected by xa_lock of owners */
	struct completion	setup_done;	/* set-up is over; it failed if @idle_wq is NULL */
	struct workqueue_struct	*wq;	/* for page-fault workers */
	struct workqueue_struct	*idle_wq;	/* for idle checks, which workers must not delay */
	bool			timed_out;	/* a wait for the release of memory has timed out */
	struct work_struct	free_work;	/* frees this struct, on owner_free_wq */
};

/* All owners (struct rnic_fault_owner), indexed by the address of the mm */
static DEFINE_XARRAY_FLAGS(owners, XA_FLAGS_ACCOUNT);
static struct workqueue_struct *owner_free_wq;
static atomic_t nr_owners = ATOMIC_INIT(0);

/* Number of owners of each user, as a value entry, indexed by the uid */
static DEFINE_XARRAY_FLAGS(owners_by_uid, XA_FLAGS_ACCOUNT);

/* Quotas ------------------------------------------------------------------- */

/*
 * Find the user to charge for the current process. In the initial user namespace this is the
 * current user. In another namespace, take its outermost ancestor below the initial namespace, and
 * charge the owner of that ancestor. If the owner is the initial root, as for a container, charge
 * the uid that the ancestor's root maps to, so that containers have separate quotas.
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

static bool may_charge_another_owner(unsigned long n)
{
	return n < OWNERS_USER_MAX || capable(CAP_SYS_RESOURCE);
}

/*
 * Add @more, which may be negative, to the number of processes charged to a user. Retries until
 * no concurrent call has changed the number meanwhile. Allocates memory only if the number was 0.
 *
 * Return: the new number; 0 also if the quota is used up or memory is short.
 */
static unsigned long adjust_uid_charge(kuid_t charged_uid, int more)
{
	void *entry = xa_load(&owners_by_uid, __kuid_val(charged_uid)), *was;
	unsigned long n;

	do {
		was = entry;
		n = entry_to_count(was);
		if (more > 0 && !may_charge_another_owner(n))
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

/* Charge one process. Return: the user's number of processes; 0 if a quota or memory is used up */
static unsigned long charge_owner(kuid_t charged_uid)
{
	unsigned long n;

	if (!atomic_add_unless(&nr_owners, 1, OWNERS_MAX))
		return 0;
	n = adjust_uid_charge(charged_uid, 1);
	if (!n)
		dec_nr_owners();
	return n;
}

static void uncharge_owner(kuid_t charged_uid)
{
	adjust_uid_charge(charged_uid, -1);
	dec_nr_owners();
}

/* Owners ------------------------------------------------------------------- */

static struct rnic_fault_owner *find_get_owner(const struct mm_struct *mm)
{
	struct rnic_fault_owner *own;

	xa_lock(&owners);
	own = xa_load(&owners, (unsigned long)mm);
	if (own)
		own->users++;
	xa_unlock(&owners);
	return own;
}

/*
 * Free an owner. Runs on owner_free_wq, because a page-fault worker or idle check may have dropped
 * the last reference, and a work item must not destroy the workqueue that it runs on.
 */
static void rnic_fault_owner_free_work(struct work_struct *work)
{
	struct rnic_fault_owner *own = container_of(work, struct rnic_fault_owner, free_work);

	if (own->wq)
		destroy_workqueue(own->wq);
	if (own->idle_wq)
		destroy_workqueue(own->idle_wq);
	if (own->charged)
		uncharge_owner(own->charged_uid);
	kfree(own);
}

static void put_owner(struct rnic_fault_owner *own)
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

static struct rnic_fault_owner *new_owner(struct mm_struct *mm)
{
	struct rnic_fault_owner *own = kzalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);

	if (!own)
		return NULL;
	own->mm = mm;
	own->users = 1;
	own->charged_uid = find_charged_uid();
	init_completion(&own->setup_done);
	INIT_WORK(&own->free_work, rnic_fault_owner_free_work);
	return own;
}

/*
 * Charge the quota for an owner and create its workqueues. Other threads of the process that find
 * the owner in the table wait for @setup_done.
 */
static void rnic_fault_setup_owner(struct rnic_fault_owner *own)
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
 * Find the owner of @mm, or create it. The creating thread inserts the owner into the table before
 * setting it up, and holds no lock during the set-up, so other processes do not wait.
 *
 * Return: the owner with a reference, perhaps still being set up; NULL if memory is short.
 */
static struct rnic_fault_owner *find_or_create_owner(struct mm_struct *mm)
{
	struct rnic_fault_owner *own = find_get_owner(mm), *new;
	int err;

	while (!own) {
		new = new_owner(mm);
		if (!new)
			return NULL;
		err = xa_insert(&owners, (unsigned long)mm, new, GFP_KERNEL_ACCOUNT);
		if (!err) {
			rnic_fault_setup_owner(new);
			return new;
		}
		kfree(new);
		if (err != -EBUSY)
			return NULL;
		/* another thread of the process has inserted an owner meanwhile */
		own = find_get_owner(mm);
	}
	return own;
}

/* Get the owner of @mm, referenced. Return: NULL if set-up failed or the task is being killed */
static struct rnic_fault_owner *get_or_create_ready_owner(struct mm_struct *mm)
{
	struct rnic_fault_owner *own = find_or_create_owner(mm);

	if (!own)
		return NULL;
	if (!wait_for_completion_killable(&own->setup_done) && own->idle_wq)
		return own;
	put_owner(own);
	return NULL;
}

/* Workers ------------------------------------------------------------------ */

static void rnic_unpinned_release(struct kref *ref)
{
	struct rnic_unpinned *b = container_of(ref, struct rnic_unpinned, ref);

	b->ops->release(b);
}

/**
 * rnic_unpinned_put - drop a reference to memory that is not pinned
 * @b: the memory
 *
 * May sleep.
 */
void rnic_unpinned_put(struct rnic_unpinned *b)
{
	kref_put(&b->ref, rnic_unpinned_release);
}

static void __rnic_unpinned_count_event(const struct rnic_unpinned *b, enum rnic_counter c)
{
	lockdep_assert_held(&faults_lock);
	if (!b->dead)
		rnic_inc_counter(b->dev, c);
}

/**
 * rnic_unpinned_count_event - count an event of memory, unless its MR has been destroyed
 * @b: the memory
 * @c: the counter
 */
void rnic_unpinned_count_event(struct rnic_unpinned *b, enum rnic_counter c)
{
	spin_lock_bh(&faults_lock);
	__rnic_unpinned_count_event(b, c);
	spin_unlock_bh(&faults_lock);
}

/**
 * rnic_unpinned_get_idle_wq - get the workqueue for idle checks
 * @b: the memory
 *
 * Return: a workqueue of the owner, which page-fault workers do not delay.
 */
struct workqueue_struct *rnic_unpinned_get_idle_wq(struct rnic_unpinned *b)
{
	return b->owner->idle_wq;
}

/**
 * rnic_unpinned_wait_released - wait until memory is released, at most RELEASE_TIMEOUT
 * @b: the memory of an MR that has been destroyed
 * @done: completion that is completed when the memory has been released
 *
 * If a call has timed out, later calls for the same process do not wait. Otherwise the timeouts
 * of all MRs of a process that exits would add up. May sleep.
 */
void rnic_unpinned_wait_released(struct rnic_unpinned *b, struct completion *done)
{
	struct rnic_fault_owner *own = b->owner;

	if (!READ_ONCE(own->timed_out) && !wait_for_completion_timeout(done, RELEASE_TIMEOUT))
		WRITE_ONCE(own->timed_out, true);
}

/* Dequeue the next request for a worker. Return: false if there is none; the worker is then idle */
static bool dequeue_fault_request(struct rnic_fault_worker *wk, struct rnic_fault_range *want)
{
	struct rnic_unpinned *b = wk->b;
	struct ddp_fault *w;

	spin_lock_bh(&faults_lock);
	w = list_first_entry_or_null(&b->pending, struct ddp_fault, entry);
	wk->fault = w;
	wk->busy = w;
	if (w) {
		list_del_init(&w->entry);
		w->priv = wk;
		*want = (struct rnic_fault_range) {
			.at = w->at, .end = w->at + w->len, .write = w->write,
		};
		__rnic_unpinned_count_event(b, b->ops->faults);
	}
	spin_unlock_bh(&faults_lock);
	return w;
}

/* Complete the request that a worker has served, unless it was cancelled or completed meanwhile */
static void complete_fault_request(struct rnic_fault_worker *wk, bool denied)
{
	struct ddp_fault *w;

	spin_lock_bh(&faults_lock);
	w = wk->fault;
	wk->fault = NULL;
	if (denied)
		__rnic_unpinned_count_event(wk->b, wk->b->ops->failed);
	if (w)
		ddp_fault_complete(w, denied);
	spin_unlock_bh(&faults_lock);
}

/* Fault in a range. Return: 0, or a negative errno if it cannot be faulted in */
static int serve_fault(struct rnic_unpinned *b, const struct rnic_fault_range *want)
{
	/* fail for an empty range: after a success the stream would raise the same fault again */
	if (want->end <= want->at)
		return -EFAULT;
	return b->ops->serve(b, want);
}

static void rnic_fault_work(struct work_struct *work)
{
	struct rnic_fault_worker *wk = container_of(work, struct rnic_fault_worker, work);
	/*
	 * Take a module reference, so that unloading fails immediately while a worker runs. If
	 * unloading has begun, no reference is taken, and rnic_fault_exit() waits for the worker.
	 */
	bool held = try_module_get(THIS_MODULE);
	struct rnic_unpinned *b = wk->b;
	struct rnic_fault_range want;
	int err;

	while (dequeue_fault_request(wk, &want)) {
		err = serve_fault(b, &want);
		complete_fault_request(wk, err);
		if (!err && b->ops->post_fault)
			b->ops->post_fault(b, &want);
	}
	rnic_unpinned_put(b);
	if (held)
		module_put(THIS_MODULE);
}

static void __start_fault_worker(struct rnic_unpinned *b)
{
	struct rnic_fault_worker *wk;

	for (wk = b->worker; wk < b->worker + b->ops->workers; wk++) {
		if (wk->busy)
			continue;
		wk->busy = true;
		/*
		 * Take a reference, which rnic_fault_work() drops. If that function is still
		 * running but has found no further request, queue_work() makes it run again.
		 */
		kref_get(&b->ref);
		queue_work(b->owner->wq, &wk->work);
		return;
	}
}

/* Called by DDP ------------------------------------------------------------ */

/**
 * rnic_fault_queue_request - queue a page-fault request (ddp_mem_ops.fault_in)
 * @mem: the memory (struct rnic_unpinned)
 * @w: the stream's request; owned by this file until ddp_fault_complete() or a cancel
 *
 * Starts a worker if one is idle. Context: BH off, in-flight reference to the MR held.
 */
void rnic_fault_queue_request(void *mem, struct ddp_fault *w)
{
	struct rnic_unpinned *b = mem;

	spin_lock_bh(&faults_lock);
	w->priv = NULL;
	list_add_tail(&w->entry, &b->pending);
	__start_fault_worker(b);
	spin_unlock_bh(&faults_lock);
}

/**
 * rnic_fault_cancel_request - cancel the page-fault request of a stream that ends
 * @w: the request; on return no worker accesses it
 *
 * Implements ddp_mem_ops.cancel. Neither sleeps nor waits for a worker that faults in the range.
 */
void rnic_fault_cancel_request(struct ddp_fault *w)
{
	struct rnic_fault_worker *wk;

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
 * rnic_unpinned_init - initialize the memory of an MR of the current process
 * @b: the memory, zeroed by the caller
 * @ops: operations of the kind of memory
 * @dev: the device
 * @start: first byte, an address or an offset in a buffer
 * @length: length in bytes
 *
 * May sleep.
 *
 * Return: 0, with one reference to @b; -ENOMEM if memory is short, the quota is used up, or the
 * task is being killed.
 */
int rnic_unpinned_init(struct rnic_unpinned *b, const struct rnic_unpinned_ops *ops,
		       struct rnic_dev *dev, u64 start, u64 length)
{
	unsigned int i;

	b->owner = get_or_create_ready_owner(current->mm);
	if (!b->owner)
		return -ENOMEM;
	kref_init(&b->ref);
	INIT_LIST_HEAD(&b->pending);
	for (i = 0; i < RNIC_FAULT_WORKERS; i++) {
		INIT_WORK(&b->worker[i].work, rnic_fault_work);
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
 * rnic_unpinned_teardown - drop the references that rnic_unpinned_init() has taken
 * @b: the memory; the caller frees it afterwards
 */
void rnic_unpinned_teardown(struct rnic_unpinned *b)
{
	put_owner(b->owner);
	mmdrop(b->mm);
}

/**
 * rnic_unpinned_set_region_mem - set the memory of an MR
 * @r: the MR, not yet in the STag table
 * @b: the memory, whose first byte is the first byte of the MR
 */
void rnic_unpinned_set_region_mem(struct ddp_region *r, struct rnic_unpinned *b)
{
	r->ops = &b->ops->mem;
	r->mem = b;
	r->mem_base = b->start;
}

/* Complete up to RING_IDX_STEPS queued requests. Return: true if more may be queued */
static bool __complete_some_pending_faults(struct rnic_unpinned *b)
{
	struct ddp_fault *w;
	int n;

	for (n = 0; n < RING_IDX_STEPS; n++) {
		w = list_first_entry_or_null(&b->pending, struct ddp_fault,
					     entry);
		if (!w)
			return false;
		list_del_init(&w->entry);
		ddp_fault_complete(w, false);
	}
	return true;
}

/* Complete the requests that workers are serving, without waiting for the workers */
static void __complete_active_faults(struct rnic_unpinned *b)
{
	struct rnic_fault_worker *wk;

	for (wk = b->worker; wk < b->worker + RNIC_FAULT_WORKERS; wk++) {
		if (wk->fault)
			ddp_fault_complete(wk->fault, false);
		wk->fault = NULL;
	}
}

/**
 * rnic_unpinned_shutdown - complete all page-fault requests of an MR that is destroyed
 * @b: the memory; drops the reference of the MR
 *
 * The MR must have been removed from the STag table, so that no request can be queued. Does not
 * wait for page-fault workers. May sleep.
 */
void rnic_unpinned_shutdown(struct rnic_unpinned *b)
{
	bool more;

	do {
		cond_resched();
		spin_lock_bh(&faults_lock);
		b->dead = true;
		more = __complete_some_pending_faults(b);
		if (!more)
			__complete_active_faults(b);
		spin_unlock_bh(&faults_lock);
	} while (more);
	if (b->ops->shutdown)
		b->ops->shutdown(b);
	rnic_unpinned_put(b);
}

/**
 * rnic_fault_init - create owner_free_wq, the workqueue on which owners are freed
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_fault_init(void)
{
	owner_free_wq = alloc_workqueue("rnic_sw_release", WQ_UNBOUND, 0);
	return owner_free_wq ? 0 : -ENOMEM;
}

/**
 * rnic_fault_exit - wait until all owners have been freed, then destroy owner_free_wq
 *
 * The caller must have destroyed all MRs. The wait includes all page-fault workers, because they
 * use memory that holds a reference to its owner.
 */
void rnic_fault_exit(void)
{
	wait_var_event(&nr_owners, !atomic_read(&nr_owners));
	destroy_workqueue(owner_free_wq);
}
