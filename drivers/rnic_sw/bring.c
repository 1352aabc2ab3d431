// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Page faults of MRs whose memory is not pinned: queue of requests and the workers that
 * serve them.
 *
 * The receive or transmit path that finds memory non-present queues a request here, and a
 * worker faults the memory in. The owner of the memory can delay that for as long as it
 * likes (userfaultfd, FUSE), so no other context waits for a worker. A stream that ends
 * withdraws its request. Destroying an MR completes all its requests; the streams retry
 * and find the MR gone. A worker holds references on all that it uses, none of which
 * belongs to the device.
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

#include "bring.h"

/*
 * Maximum number of active workers of one process. Each may block for as long as the
 * memory's owner likes, and occupies a thread that is charged to no control group. A
 * user's first AT_WORK_OF processes get AT_WORK workers each, the others AT_WORK_BEYOND,
 * enough to make progress.
 */
#define AT_WORK		16
#define AT_WORK_OF	32
#define AT_WORK_BEYOND	1

/* Maximum number of processes with unpinned MRs; no cgroup is charged for their queues */
#define OWNERS_MOST	4096

/* Maximum for one user, so that a single user cannot use up OWNERS_MOST */
#define OWNERS_USER	1024

/* How long destroying an MR waits for its memory to be released */
#define PATIENCE	HZ

/* Protects the request queues. Only the locks of ddp_wait_over() are taken inside it */
static DEFINE_SPINLOCK(waits_lock);

/*
 * Workqueues of one process. They are not shared with other processes, so memory that
 * blocks a worker delays only page faults of its own process.
 */
struct rnic_bring_owner {
	struct mm_struct	*mm;	/* each user holds its own mmgrab() reference */
	kuid_t			payer;	/* user whose quota is charged */
	bool			placed;	/* true if the quota is charged */
	u32			users;	/* references; under xa_lock of owners */
	struct completion	made;	/* set-up finished; it failed if @looks is NULL */
	struct workqueue_struct	*wq;
	struct workqueue_struct	*looks;	/* for idle checks, independent of @wq */
	bool			vain;	/* a release timed out: do not wait again */
	struct work_struct	end;
};

static DEFINE_XARRAY_FLAGS(owners, XA_FLAGS_ACCOUNT);	/* by address of the mm */
static struct workqueue_struct *ends_wq;
static atomic_t existing = ATOMIC_INIT(0);

/* Number of processes with unpinned MRs of each user, indexed by uid */
static DEFINE_XARRAY_FLAGS(places, XA_FLAGS_ACCOUNT);

/* Quotas ------------------------------------------------------------------- */

/*
 * Find the user to charge. In a user namespace this is the creator of the topmost
 * namespace below the initial one. If root has created that, as for a container, its own
 * root is charged.
 */
static kuid_t find_payer(void)
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

static unsigned long count_in(void *entry)
{
	return entry ? xa_to_value(entry) : 0;
}

static bool may_have_more(unsigned long n)
{
	return n < OWNERS_USER || capable(CAP_SYS_RESOURCE);
}

/*
 * Change the number of processes charged to a user, without a lock. Only the first charge
 * of a user allocates memory.
 *
 * Return: the new number; 0 also if the charge was refused.
 */
static unsigned long add_places(kuid_t payer, int more)
{
	void *entry = xa_load(&places, __kuid_val(payer)), *was;
	unsigned long n;

	do {
		was = entry;
		n = count_in(was);
		if (more > 0 && !may_have_more(n))
			return 0;
		n += more;
		entry = xa_cmpxchg(&places, __kuid_val(payer), was,
				   n ? xa_mk_value(n) : NULL, GFP_KERNEL_ACCOUNT);
		if (xa_is_err(entry))
			return 0;
	} while (entry != was);
	return n;
}

static void leave_existing(void)
{
	if (atomic_dec_and_test(&existing))
		wake_up_var(&existing);
}

/* Return: the payer's processes including this one, 0 if the quota is used up */
static unsigned long take_place(kuid_t payer)
{
	unsigned long n;

	if (!atomic_add_unless(&existing, 1, OWNERS_MOST))
		return 0;
	n = add_places(payer, 1);
	if (!n)
		leave_existing();
	return n;
}

static void give_place(kuid_t payer)
{
	add_places(payer, -1);
	leave_existing();
}

/* Owners ------------------------------------------------------------------- */

static struct rnic_bring_owner *find_owner(const struct mm_struct *mm)
{
	struct rnic_bring_owner *own;

	xa_lock(&owners);
	own = xa_load(&owners, (unsigned long)mm);
	if (own)
		own->users++;
	xa_unlock(&owners);
	return own;
}

/*
 * Runs on ends_wq: a workqueue cannot be destroyed by one of its own workers, which may
 * have dropped the last reference
 */
static void rnic_bring_owner_ends(struct work_struct *work)
{
	struct rnic_bring_owner *own = container_of(work, struct rnic_bring_owner, end);

	if (own->wq)
		destroy_workqueue(own->wq);
	if (own->looks)
		destroy_workqueue(own->looks);
	if (own->placed)
		give_place(own->payer);
	kfree(own);
}

static void put_owner(struct rnic_bring_owner *own)
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

static struct rnic_bring_owner *new_owner(struct mm_struct *mm)
{
	struct rnic_bring_owner *own = kzalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);

	if (!own)
		return NULL;
	own->mm = mm;
	own->users = 1;
	own->payer = find_payer();
	init_completion(&own->made);
	INIT_WORK(&own->end, rnic_bring_owner_ends);
	return own;
}

/*
 * Set up an owner that is in the table already. Other threads of the process may have
 * found it; they wait for @made.
 */
static void rnic_bring_make_owner(struct rnic_bring_owner *own)
{
	unsigned long n = take_place(own->payer);
	int at_work = n > AT_WORK_OF ? AT_WORK_BEYOND : AT_WORK;

	own->placed = n;
	if (own->placed)
		own->wq = alloc_workqueue("rnic_sw_bring", WQ_UNBOUND, at_work);
	if (own->wq)
		own->looks = alloc_workqueue("rnic_sw_look", WQ_UNBOUND, at_work);
	complete_all(&own->made);
}

/*
 * Threads of one process share an owner. The first thread inserts it into the table and
 * sets it up afterwards, so that no other process waits for that.
 *
 * Return: an owner that is complete or being set up by another thread, or NULL.
 */
static struct rnic_bring_owner *find_or_begin(struct mm_struct *mm)
{
	struct rnic_bring_owner *own = find_owner(mm), *new;
	int err;

	while (!own) {
		new = new_owner(mm);
		if (!new)
			return NULL;
		err = xa_insert(&owners, (unsigned long)mm, new, GFP_KERNEL_ACCOUNT);
		if (!err) {
			rnic_bring_make_owner(new);
			return new;
		}
		kfree(new);
		if (err != -EBUSY)
			return NULL;
		/* another thread has inserted one first */
		own = find_owner(mm);
	}
	return own;
}

static struct rnic_bring_owner *get_owner(struct mm_struct *mm)
{
	struct rnic_bring_owner *own = find_or_begin(mm);

	if (!own)
		return NULL;
	if (!wait_for_completion_killable(&own->made) && own->looks)
		return own;
	put_owner(own);
	return NULL;
}

/* Workers ------------------------------------------------------------------ */

static void rnic_bring_release(struct kref *ref)
{
	struct rnic_bring *b = container_of(ref, struct rnic_bring, ref);

	b->ops->release(b);
}

/**
 * rnic_bring_put - drop a reference to memory that is not pinned
 * @b: the memory
 *
 * May sleep.
 */
void rnic_bring_put(struct rnic_bring *b)
{
	kref_put(&b->ref, rnic_bring_release);
}

static void __count(const struct rnic_bring *b, enum rnic_counter c)
{
	lockdep_assert_held(&waits_lock);
	if (!b->dead)
		rnic_count(b->dev, c);
}

/**
 * rnic_bring_count - count an event of memory that is not pinned
 * @b: the memory; nothing is counted if its MR has been destroyed
 * @c: the counter
 */
void rnic_bring_count(struct rnic_bring *b, enum rnic_counter c)
{
	spin_lock_bh(&waits_lock);
	__count(b, c);
	spin_unlock_bh(&waits_lock);
}

/**
 * rnic_bring_looks - get the workqueue for work other than page faults
 * @b: the memory
 *
 * Return: a workqueue of the process, which blocked page faults do not delay.
 */
struct workqueue_struct *rnic_bring_looks(struct rnic_bring *b)
{
	return b->owner->looks;
}

/**
 * rnic_bring_await - wait for the release of memory, for PATIENCE at most
 * @b: the memory
 * @done: completed once the memory has been released
 *
 * After one timeout no further call of the process waits, so that many MRs do not add up.
 * May sleep.
 */
void rnic_bring_await(struct rnic_bring *b, struct completion *done)
{
	struct rnic_bring_owner *own = b->owner;

	if (!READ_ONCE(own->vain) && !wait_for_completion_timeout(done, PATIENCE))
		WRITE_ONCE(own->vain, true);
}

static bool take_wait(struct rnic_bringer *wk, struct rnic_wanted *want)
{
	struct rnic_bring *b = wk->b;
	struct ddp_wait *w;

	spin_lock_bh(&waits_lock);
	w = list_first_entry_or_null(&b->pending, struct ddp_wait, entry);
	wk->waits = w;
	wk->busy = w;
	if (w) {
		list_del_init(&w->entry);
		w->by = wk;
		*want = (struct rnic_wanted) {
			.at = w->at, .end = w->at + w->len, .write = w->write,
		};
		__count(b, b->ops->waits);
	}
	spin_unlock_bh(&waits_lock);
	return w;
}

static void end_wait(struct rnic_bringer *wk, bool denied)
{
	struct ddp_wait *w;

	spin_lock_bh(&waits_lock);
	w = wk->waits;
	wk->waits = NULL;
	if (denied)
		__count(wk->b, wk->b->ops->failed);
	if (w)
		ddp_wait_over(w, denied);
	spin_unlock_bh(&waits_lock);
}

/* Return: 0, or a negative errno if the range cannot be faulted in */
static int serve(struct rnic_bring *b, const struct rnic_wanted *want)
{
	/* serving an empty range brings nothing: the stream would retry for ever */
	if (want->end <= want->at)
		return -EFAULT;
	return b->ops->serve(b, want);
}

static void rnic_bring_work(struct work_struct *work)
{
	struct rnic_bringer *wk = container_of(work, struct rnic_bringer, work);
	/*
	 * With this reference unloading fails instead of waiting for a worker that may
	 * block. If unloading has already begun, rnic_bring_exit() waits for the worker.
	 */
	bool held = try_module_get(THIS_MODULE);
	struct rnic_bring *b = wk->b;
	struct rnic_wanted want;
	int err;

	while (take_wait(wk, &want)) {
		err = serve(b, &want);
		end_wait(wk, err);
		if (!err && b->ops->served)
			b->ops->served(b, &want);
	}
	rnic_bring_put(b);
	if (held)
		module_put(THIS_MODULE);
}

static void __start_worker(struct rnic_bring *b)
{
	struct rnic_bringer *wk;

	for (wk = b->worker; wk < b->worker + b->ops->workers; wk++) {
		if (wk->busy)
			continue;
		wk->busy = true;
		/*
		 * The worker's reference. A work item that has found no request and is
		 * about to return is queued again.
		 */
		kref_get(&b->ref);
		queue_work(b->owner->wq, &wk->work);
		return;
	}
}

/* Called by DDP ------------------------------------------------------------ */

/**
 * rnic_bring_ask - queue a page-fault request and start a worker
 * @mem: the memory (struct rnic_bring)
 * @w: the stream's request; owned by this file until ddp_wait_over() or
 *	rnic_bring_forget()
 *
 * Context: BH off, with an access to the MR in flight. Does not sleep.
 */
void rnic_bring_ask(void *mem, struct ddp_wait *w)
{
	struct rnic_bring *b = mem;

	spin_lock_bh(&waits_lock);
	w->by = NULL;
	list_add_tail(&w->entry, &b->pending);
	__start_worker(b);
	spin_unlock_bh(&waits_lock);
}

/**
 * rnic_bring_forget - withdraw the page-fault request of a stream that ends
 * @w: the request; on return no worker uses it
 *
 * Does not sleep.
 */
void rnic_bring_forget(struct ddp_wait *w)
{
	struct rnic_bringer *wk;

	spin_lock_bh(&waits_lock);
	wk = w->by;
	if (w->waits && wk)
		wk->waits = NULL;
	else if (w->waits)
		list_del_init(&w->entry);
	w->waits = false;
	spin_unlock_bh(&waits_lock);
}

/* Lifetime ----------------------------------------------------------------- */

/**
 * rnic_bring_new - initialize memory of the calling process that is not pinned
 * @b: the memory, zeroed by the caller
 * @ops: kind of memory
 * @dev: the device
 * @start: first byte
 * @length: length in bytes
 *
 * May sleep.
 *
 * Return: 0, with a reference for rnic_bring_put(); -ENOMEM if memory is short, the quota
 * is used up, or the caller is killed.
 */
int rnic_bring_new(struct rnic_bring *b, const struct rnic_bring_ops *ops,
		   struct rnic_dev *dev, u64 start, u64 length)
{
	unsigned int i;

	b->owner = get_owner(current->mm);
	if (!b->owner)
		return -ENOMEM;
	kref_init(&b->ref);
	INIT_LIST_HEAD(&b->pending);
	for (i = 0; i < BRING_WORKERS; i++) {
		INIT_WORK(&b->worker[i].work, rnic_bring_work);
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
 * rnic_bring_free - release what rnic_bring_new() has acquired
 * @b: the memory; the caller frees the struct
 */
void rnic_bring_free(struct rnic_bring *b)
{
	put_owner(b->owner);
	mmdrop(b->mm);
}

/**
 * rnic_bring_name - make an MR refer to all of the memory
 * @r: the MR, not yet published
 * @b: the memory
 */
void rnic_bring_name(struct ddp_region *r, struct rnic_bring *b)
{
	r->ops = &b->ops->mem;
	r->mem = b;
	r->from = b->start;
}

/* Complete some of the queued requests. Return: true if there are more */
static bool __send_on(struct rnic_bring *b)
{
	struct ddp_wait *w;
	int n;

	for (n = 0; n < RING_IDX_STEPS; n++) {
		w = list_first_entry_or_null(&b->pending, struct ddp_wait,
					     entry);
		if (!w)
			return false;
		list_del_init(&w->entry);
		ddp_wait_over(w, false);
	}
	return true;
}

static void __leave_workers(struct rnic_bring *b)
{
	struct rnic_bringer *wk;

	for (wk = b->worker; wk < b->worker + BRING_WORKERS; wk++) {
		if (wk->waits)
			ddp_wait_over(wk->waits, false);
		wk->waits = NULL;
	}
}

/**
 * rnic_bring_end - complete all page-fault requests of an MR that has been removed
 * @b: the memory, for which no new request can be raised; the caller's reference is
 *	dropped
 *
 * Waits for no page-fault worker. May sleep.
 */
void rnic_bring_end(struct rnic_bring *b)
{
	bool more;

	do {
		cond_resched();
		spin_lock_bh(&waits_lock);
		b->dead = true;
		more = __send_on(b);
		if (!more)
			__leave_workers(b);
		spin_unlock_bh(&waits_lock);
	} while (more);
	if (b->ops->end)
		b->ops->end(b);
	rnic_bring_put(b);
}

/**
 * rnic_bring_init - create the workqueue on which owners are freed
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_bring_init(void)
{
	ends_wq = alloc_workqueue("rnic_sw_ends", WQ_UNBOUND, 0);
	return ends_wq ? 0 : -ENOMEM;
}

/**
 * rnic_bring_exit - wait until all owners are gone
 *
 * All MRs must be gone. Waits for workers that started after unloading had begun.
 */
void rnic_bring_exit(void)
{
	wait_var_event(&existing, !atomic_read(&existing));
	destroy_workqueue(ends_wq);
}
