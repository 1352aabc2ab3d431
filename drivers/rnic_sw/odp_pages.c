// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * On-demand paging: tables of the pages that are known to be present.
 *
 * The owner's address space is divided into chunks. Each chunk that was ever
 * needed has a table of page addresses and an MMU interval notifier. No page
 * reference is held. Before the mm takes a page from its owner or changes it,
 * the notifier removes the page from the table, under the lock that is held for
 * reading during a copy. So when the notifier returns no copy to or from the
 * page is in progress, and none can start.
 *
 * Pages are faulted in by get_user_pages_remote(), as if their owner had
 * touched them. That sleeps, and may wait for a program (userfaultfd, FUSE).
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "inval_lock.h"
#include "odp.h"
#include "odp_range.h"

/* Chunks of one MR; beyond that an unused one is evicted for each new one */
#define CHUNKS_MAX	16384
/* Chunks examined to find an unused one */
#define EVICT_TRIES		64
/* Attempts to fault in a page that is invalidated meanwhile */
#define TRIES		8

#define CHUNK_SHIFT	(PAGE_SHIFT + ilog2(ODP_CHUNK_PAGES))

/* Flags in the low bits of an entry of the table: present, writable */
#define ENTRY_PRESENT		1ul
#define ENTRY_WRITABLE	2ul

struct odp_chunk {
	struct mmu_interval_notifier notifier;
	struct rnic_odp		*o;
	unsigned long		number;
	u32			users;	/* page faults and prefetches; under rnic_odp.lock */
	struct rnic_inval_lock	inval_lock;
	unsigned long		*page;	/* ODP_CHUNK_PAGES entries */
	struct rcu_head		rcu;
};

/* Lookup ------------------------------------------------------------------- */

/*
 * Index of a chunk in the xarray; counted from the MR's first chunk to keep the
 * xarray flat
 */
static unsigned long chunk_index(const struct rnic_odp *o, unsigned long number)
{
	return number - (o->b.start >> CHUNK_SHIFT);
}

static bool is_accessible(unsigned long page, bool write)
{
	return page & (write ? ENTRY_WRITABLE : ENTRY_PRESENT);
}

/*
 * Length of the contiguous extent in bytes, at most @want; @len of it are in
 * page @i
 */
static u32 contiguous_len(const struct odp_chunk *c, u32 i, u32 len, u32 want)
{
	unsigned long page = c->page[i];

	while (len < want && ++i < ODP_CHUNK_PAGES) {
		page += PAGE_SIZE;
		if (c->page[i] != page)
			break;
		len += PAGE_SIZE;
	}
	return min(len, want);
}

/**
 * rnic_odp_get_extent - find present memory
 * @mem: memory of the MR (struct rnic_pf)
 * @at: address of the first byte
 * @write: true if the memory is going to be written
 * @extent: @extent->len in: number of bytes needed, out: number of contiguous bytes
 *	present
 *
 * Context: BH off.
 *
 * Return: true if the first byte is present; @extent->lock is then held for
 * reading. False if it is not present, or a writer waits for the table's lock.
 */
bool rnic_odp_get_extent(void *mem, u64 at, bool write, struct ddp_extent *extent)
{
	u32 i = (at >> PAGE_SHIFT) % ODP_CHUNK_PAGES;
	struct rnic_odp *o = container_of(mem, struct rnic_odp, b);
	struct odp_chunk *c;

	at &= o->addr_mask;
	/* a chunk is freed after an RCU grace period, which BH off delays */
	c = xa_load(&o->chunks, chunk_index(o, at >> CHUNK_SHIFT));
	if (!c || !rnic_inval_read_trylock(&c->inval_lock))
		return false;
	if (!is_accessible(c->page[i], write)) {
		rnic_inval_read_unlock(&c->inval_lock);
		return false;
	}
	extent->at = (void *)(c->page[i] & PAGE_MASK) + offset_in_page(at);
	extent->len = contiguous_len(c, i, PAGE_SIZE - offset_in_page(at), extent->len);
	extent->lock = &c->inval_lock.lock;
	return true;
}

/* Invalidation ------------------------------------------------------------- */

/* Return: true if any of the pages was present */
static bool __clear_pages(struct odp_chunk *c, const struct odp_span *s)
{
	bool any = false;
	u32 i;

	/* no copy is in progress */
	lockdep_assert_held_write(&c->inval_lock.lock);
	for (i = s->first; i < s->first + s->pages; i++) {
		any |= c->page[i];
		c->page[i] = 0;
	}
	return any;
}

static bool rnic_odp_invalidate(struct mmu_interval_notifier *notifier,
				const struct mmu_notifier_range *range,
				unsigned long seq)
{
	struct odp_chunk *c = container_of(notifier, struct odp_chunk, notifier);
	struct odp_span s = odp_span_in_chunk(c->number, range->start, range->end,
					      PAGE_SHIFT);
	bool may_sleep = mmu_notifier_range_blockable(range), any;

	if (!rnic_inval_write_lock(&c->inval_lock, may_sleep))
		return false;
	mmu_interval_set_seq(notifier, seq);
	any = __clear_pages(c, &s);
	rnic_inval_write_unlock(&c->inval_lock);
	if (any && may_sleep)
		rnic_pf_count_event(&c->o->b, RNIC_ODP_INVALIDATIONS);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate	= rnic_odp_invalidate,
};

/* Chunks ------------------------------------------------------------------- */

static void rnic_odp_free_chunk(struct rcu_head *rcu)
{
	struct odp_chunk *c = container_of(rcu, struct odp_chunk, rcu);

	kfree(c->page);
	kfree(c);
}

static struct odp_chunk *alloc_chunk(struct rnic_odp *o, unsigned long number)
{
	struct odp_chunk *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	c->page = kcalloc(ODP_CHUNK_PAGES, sizeof(*c->page), GFP_KERNEL_ACCOUNT);
	if (!c->page) {
		kfree(c);
		return NULL;
	}
	c->o = o;
	c->number = number;
	rnic_inval_init(&c->inval_lock);
	return c;
}

/*
 * Remove a chunk from the xarray, then clear its pages: a reader may have found
 * the chunk before
 */
static void __drop_chunk(struct rnic_odp *o, struct odp_chunk *c)
{
	const struct odp_span all = { .pages = ODP_CHUNK_PAGES };

	xa_erase(&o->chunks, chunk_index(o, c->number));
	o->count--;
	rnic_inval_write_lock(&c->inval_lock, true);
	__clear_pages(c, &all);
	rnic_inval_write_unlock(&c->inval_lock);
	mmu_interval_notifier_remove(&c->notifier);
	call_rcu(&c->rcu, rnic_odp_free_chunk);
}

/* Evict a chunk that no worker is using. Return: true if one was evicted */
static bool __evict_chunk(struct rnic_odp *o)
{
	struct odp_chunk *c;
	int n;

	for (n = 0; n < EVICT_TRIES; n++) {
		c = xa_find(&o->chunks, &o->next, ULONG_MAX, XA_PRESENT);
		o->next = c ? chunk_index(o, c->number) + 1 : 0;
		if (c && !c->users) {
			__drop_chunk(o, c);
			return true;
		}
	}
	return false;
}

static int __insert_chunk(struct rnic_odp *o, struct odp_chunk *c)
{
	int err;

	err = mmu_interval_notifier_insert(&c->notifier, o->b.mm,
					   c->number << CHUNK_SHIFT,
					   1ul << CHUNK_SHIFT, &notifier_ops);
	if (err)
		return err;
	err = xa_err(xa_store(&o->chunks, chunk_index(o, c->number), c,
			      GFP_KERNEL_ACCOUNT));
	if (err)
		mmu_interval_notifier_remove(&c->notifier);
	return err;
}

/* Return: a new chunk, or NULL if memory is short */
static struct odp_chunk *__new_chunk(struct rnic_odp *o, unsigned long number)
{
	struct odp_chunk *c;

	if (o->count >= CHUNKS_MAX && !__evict_chunk(o))
		return NULL;
	c = alloc_chunk(o, number);
	if (!c)
		return NULL;
	if (__insert_chunk(o, c)) {
		rnic_odp_free_chunk(&c->rcu);
		return NULL;
	}
	o->count++;
	return c;
}

/* Get a chunk; create it if it does not exist and @make is set */
static struct odp_chunk *get_chunk(struct rnic_odp *o, unsigned long number,
				   bool make)
{
	struct mem_cgroup *old = set_active_memcg(o->memcg);
	struct odp_chunk *c;

	mutex_lock(&o->lock);
	c = xa_load(&o->chunks, chunk_index(o, number));
	if (!c && make)
		c = __new_chunk(o, number);
	if (c)
		c->users++;
	mutex_unlock(&o->lock);
	set_active_memcg(old);
	return c;
}

static void put_chunk(struct rnic_odp *o, struct odp_chunk *c)
{
	mutex_lock(&o->lock);
	c->users--;
	mutex_unlock(&o->lock);
}

/**
 * rnic_odp_drop_chunks - free all chunks
 * @o: the memory; no copy, page fault or look-ahead is in progress, and none
 *	can start
 */
void rnic_odp_drop_chunks(struct rnic_odp *o)
{
	struct odp_chunk *c;
	unsigned long i;

	mutex_lock(&o->lock);
	xa_for_each(&o->chunks, i, c) {
		__drop_chunk(o, c);
		cond_resched();
	}
	mutex_unlock(&o->lock);
	xa_destroy(&o->chunks);
}

/* Faulting in -------------------------------------------------------------- */

/* An entry that is writable stays so if the same page is entered for reading */
static void __set_entry(unsigned long *entry, struct page *page, bool write)
{
	unsigned long now = (unsigned long)page_address(page) | ENTRY_PRESENT;

	if (write || (*entry & ~ENTRY_WRITABLE) == now)
		now |= write ? ENTRY_WRITABLE : *entry & ENTRY_WRITABLE;
	*entry = now;
}

/*
 * Enter pages into the table. Return: true if they were entered; false, with
 * none entered, if one of them may have been invalidated meanwhile
 */
static bool set_entries(struct odp_chunk *c, unsigned long seq, u32 first,
			struct page **page, long n, bool write)
{
	bool ok;
	long i;

	/*
	 * a reader that backs off for this writer would raise a needless page
	 * fault
	 */
	rnic_inval_write_lock_gap(&c->inval_lock);
	ok = !mmu_interval_read_retry(&c->notifier, seq);
	for (i = 0; ok && i < n; i++)
		__set_entry(&c->page[first + i], page[i], write);
	rnic_inval_write_unlock(&c->inval_lock);
	return ok;
}

/*
 * Number of pages from @at inside one VMA, at most @pages: the kernel warns
 * when get_user_pages() is called for a hole below a stack
 */
static unsigned long __mapped_pages(struct mm_struct *mm, unsigned long at,
				    u32 pages)
{
	const struct vm_area_struct *vma = vma_lookup(mm, at);

	if (!vma)
		return 0;
	return min_t(unsigned long, pages, (vma->vm_end - at) >> PAGE_SHIFT);
}

static long get_pages(struct rnic_odp *o, const struct odp_span *s, bool write,
		      enum odp_how how, struct page **page)
{
	unsigned long at = (s->chunk * ODP_CHUNK_PAGES + s->first) << PAGE_SHIFT;
	unsigned int flags = (write ? FOLL_WRITE : 0) |
			     (how == ODP_FAULT ? 0 : FOLL_NOFAULT);
	struct mem_cgroup *old;
	int locked = 1;
	long n;

	if (mmap_read_lock_killable(o->b.mm))
		return -EINTR;
	/*
	 * page cache and page tables would otherwise be charged to no memory
	 * cgroup
	 */
	old = set_active_memcg(o->memcg);
	n = __mapped_pages(o->b.mm, at, s->pages);
	if (n)
		n = get_user_pages_remote(o->b.mm, at, n, flags, page, &locked);
	set_active_memcg(old);
	if (locked)
		mmap_read_unlock(o->b.mm);
	return n ?: -EFAULT;
}

/*
 * Return: number of pages entered into the table; -EAGAIN if they were
 * invalidated meanwhile; or another negative errno
 */
static long fault_in_some(struct rnic_odp *o, struct odp_chunk *c,
			  const struct odp_span *s, bool write, enum odp_how how)
{
	struct page *page[ODP_BATCH];
	unsigned long seq;
	long n, i;

	seq = mmu_interval_read_begin(&c->notifier);
	n = get_pages(o, s, write, how, page);
	if (n <= 0)
		return n;
	if (!set_entries(c, seq, s->first, page, n, write))
		i = -EAGAIN;
	else
		i = n;
	while (n)
		put_page(page[--n]);
	return i;
}

/**
 * rnic_odp_is_user_range - check whether a range can be user memory
 * @o: the memory
 * @at: first byte
 * @end: first byte after the range
 *
 * Return: true if the range is inside the user address space, false if not.
 */
bool rnic_odp_is_user_range(const struct rnic_odp *o, u64 at, u64 end)
{
	u64 most = o->b.mm->task_size;

	end -= at;
	at &= o->addr_mask;
	return at <= most && end <= most - at;
}

/* Return: number of pages to advance by, or a negative errno */
static long fault_in_span(struct rnic_odp *o, const struct odp_span *s, bool write,
			  enum odp_how how)
{
	u64 at = (s->chunk * ODP_CHUNK_PAGES + s->first) << PAGE_SHIFT;
	struct odp_chunk *c;
	long n = -EAGAIN;
	int tries;

	if (!rnic_odp_is_user_range(o, at, at + ((u64)s->pages << PAGE_SHIFT)))
		return -EFAULT;
	c = get_chunk(o, s->chunk, how != ODP_STOP_ABSENT);
	if (!c)
		return -ENOMEM;
	for (tries = 0; n == -EAGAIN && tries < TRIES; tries++) {
		n = fault_in_some(o, c, s, write, how);
		cond_resched();
	}
	put_chunk(o, c);
	/*
	 * after too many invalidations the stream simply raises another page
	 * fault
	 */
	if (n == -EAGAIN)
		return s->pages;
	if (n < 0 && how == ODP_SKIP_ABSENT && n != -EINTR)
		return 1;
	return n;
}

/**
 * rnic_odp_fault_in - fault in the pages of a range
 * @o: the memory; the caller holds a reference to its mm's users (mmget())
 * @at: first byte
 * @end: first byte after the range
 * @write: true if the pages are going to be written
 * @how: what to do about pages that are not present
 *
 * A page may be invalidated again before this returns. Sleeps.
 *
 * Return: 0; -EFAULT if a page cannot be faulted in; -ENOMEM; -EINTR if the
 * caller is killed.
 */
int rnic_odp_fault_in(struct rnic_odp *o, u64 at, u64 end, bool write,
		      enum odp_how how)
{
	struct odp_span s;
	long n;

	end -= at;
	at &= o->addr_mask;
	end += at;
	while ((s = odp_span(at, end, PAGE_SHIFT)).pages) {
		n = fault_in_span(o, &s, write, how);
		if (n < 0)
			return n;
		at = (s.chunk * ODP_CHUNK_PAGES + s.first + n) << PAGE_SHIFT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}
