// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory that is not pinned: who wants what is not there, and who brings it.
 *
 * A runner that finds nothing leaves its wait here, and a worker brings the memory:
 * that may take as long as its owner likes, so nobody waits for a worker.  A stream
 * that ends has itself forgotten, and a region that goes sends those that wait on, to
 * find that it is gone.  A worker in the middle of something keeps what it works on,
 * and none of it is the device's.
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
 * Workers of a process at work: each may wait for what that likes, and is a thread that
 * nobody's control group pays for.  A user's processes have so many each up to this one;
 * the others get on, too
 */
#define AT_WORK		16
#define AT_WORK_OF	32
#define AT_WORK_BEYOND	1

/* Processes with such regions: each has queues, which nobody's control group pays for */
#define OWNERS_MOST	4096

/* ... of one user: he leaves some to the others */
#define OWNERS_USER	1024

/* Who ends a region waits so long for its memory to be given back */
#define PATIENCE	HZ

/* Leaf but for what going on takes: who waits for which memory */
static DEFINE_SPINLOCK(waits_lock);

/*
 * A process's workers.  None of them can be kept by another one's memory; who gets
 * in their way are those who share it.
 */
struct rnic_bring_owner {
	struct mm_struct	*mm;	/* whoever uses it holds that */
	kuid_t			payer;	/* whose place it has */
	bool			placed;	/* ... if it has one */
	u32			users;	/* the table's lock */
	struct completion	made;	/* as far as that went: @looks is the last of it */
	struct workqueue_struct	*wq;
	struct workqueue_struct	*looks;	/* none of them waits for one of those */
	bool			vain;	/* ... and once, if that is in vain */
	struct work_struct	end;
};

static DEFINE_XARRAY_FLAGS(owners, XA_FLAGS_ACCOUNT);	/* by the address of the mm */
static struct workqueue_struct *ends_wq;
static atomic_t existing = ATOMIC_INIT(0);

/* How many of them are whose, by the number of the user */
static DEFINE_XARRAY_FLAGS(places, XA_FLAGS_ACCOUNT);

/* Places ---------------------------------------------------------------------- */

/*
 * Who has users of his own, in a namespace, pays for them.  Who makes namespaces for
 * others, as root does for containers, does not: they pay as their own root.
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
 * Nobody waits for another one's.  A payer's first one needs memory, no other does.
 * Return: how many there are now; 0 also if there are to be no more.
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

/* Return: how many the payer has with it; 0: there is none for him */
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

/* Owners ---------------------------------------------------------------------- */

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

/* Not by one of its own workers, though one of them may have been its last user */
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

/* Others can have found it: it is they who want it, too, and wait */
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
 * Threads of a process want the same one.  The first puts it into the table, and makes
 * the rest of it then: no other process ever waits for that.
 *
 * Return: one that is being made, or has been; or NULL
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
		/* another thread was quicker */
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

/* The workers' turn ---------------------------------------------------------- */

static void rnic_bring_release(struct kref *ref)
{
	struct rnic_bring *b = container_of(ref, struct rnic_bring, ref);

	b->ops->release(b);
}

/**
 * rnic_bring_put - a reference less; may sleep
 * @b: the memory
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
 * rnic_bring_count - something has happened to memory
 * @b: the memory; its device may have gone
 * @c: counts it
 */
void rnic_bring_count(struct rnic_bring *b, enum rnic_counter c)
{
	spin_lock_bh(&waits_lock);
	__count(b, c);
	spin_unlock_bh(&waits_lock);
}

/**
 * rnic_bring_looks - where a kind's own work is done, besides what is wanted
 * @b: the memory
 *
 * Return: a queue of the process's, which its workers do not keep from it.
 */
struct workqueue_struct *rnic_bring_looks(struct rnic_bring *b)
{
	return b->owner->looks;
}

/**
 * rnic_bring_await - memory is being given back: wait, but not for ever
 * @b: the memory
 * @done: it has been
 *
 * Nor as long for each of many: a process waits in vain once.
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

/* Return: 0, or why it cannot be had */
static int serve(struct rnic_bring *b, const struct rnic_wanted *want)
{
	/* a wait for nothing would have no end */
	if (want->end <= want->at)
		return -EFAULT;
	return b->ops->serve(b, want);
}

static void rnic_bring_work(struct work_struct *work)
{
	struct rnic_bringer *wk = container_of(work, struct rnic_bringer, work);
	/* it is not to be waited for by who unloads it; one that goes waits all the same */
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
		/* its; one that found nothing more and is just leaving runs again */
		kref_get(&b->ref);
		queue_work(b->owner->wq, &wk->work);
		return;
	}
}

/* What DDP asks -------------------------------------------------------------- */

/**
 * rnic_bring_ask - a stream wants memory that is not there
 * @mem: the memory
 * @w: how it waits
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
 * rnic_bring_forget - a stream that ends waits no more
 * @w: how it did
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

/* Life ------------------------------------------------------------------------ */

/**
 * rnic_bring_new - memory of the calling program's
 * @b: it, all zeros
 * @ops: which kind
 * @dev: the device
 * @start: where it begins
 * @length: octets
 *
 * Return: 0, and rnic_bring_put() is due, or -ENOMEM.
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
 * rnic_bring_free - the last of what rnic_bring_new() took
 * @b: the memory; freed by the caller
 */
void rnic_bring_free(struct rnic_bring *b)
{
	put_owner(b->owner);
	mmdrop(b->mm);
}

/**
 * rnic_bring_name - a region names all of it
 * @r: the region, which nobody has found yet
 * @b: the memory
 */
void rnic_bring_name(struct ddp_region *r, struct rnic_bring *b)
{
	r->ops = &b->ops->mem;
	r->mem = b;
	r->from = b->start;
}

/* A few of those that wait, on their way.  Return: whether there are more */
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
 * rnic_bring_end - its region is gone
 * @b: the memory; nobody can ask for any of it any more
 *
 * Waits for no worker.
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
 * rnic_bring_init - from here on there may be regions
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_bring_init(void)
{
	ends_wq = alloc_workqueue("rnic_sw_ends", WQ_UNBOUND, 0);
	return ends_wq ? 0 : -ENOMEM;
}

/**
 * rnic_bring_exit - all regions are gone
 *
 * Waits for workers that have begun since the module was on its way.
 */
void rnic_bring_exit(void)
{
	wait_var_event(&existing, !atomic_read(&existing));
	destroy_workqueue(ends_wq);
}
