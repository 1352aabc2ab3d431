// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * On-demand paging (ODP): tables of the pages that are known to be present.
 *
 * The address space of the owning process is divided into chunks. A chunk that
 * has been accessed has a table of page addresses and an MMU interval notifier.
 * The table holds no references to the pages. Before the mm unmaps or replaces
 * a page of the process, it calls the notifier, which removes the page from the
 * table while holding the invalidation lock for writing. A copy holds that lock
 * for reading. So when the notifier returns, no copy to or from the page is in
 * progress, and none can start.
 *
 * Pages are faulted in with get_user_pages_remote(), as if the process had
 * accessed them. This sleeps and may wait for a program (userfaultfd, FUSE).
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

/*
 * Maximum number of chunks of one MR. When an MR has this many, a new chunk
 * replaces a chunk that no page fault or prefetch is using.
 */
#define CHUNKS_MAX	16384
/* Maximum number of chunks that are examined to find a chunk to replace */
#define EVICT_TRIES		64
/*
 * Maximum number of attempts to fault in a span, if pages are invalidated
 * before they can be entered into the table
 */
#define TRIES		8

#define CHUNK_SHIFT	(PAGE_SHIFT + ilog2(ODP_CHUNK_PAGES))

/*
 * Flags in the low bits of a table entry: the page may be read; the page may
 * also be written
 */
#define ENTRY_PRESENT		1ul
#define ENTRY_WRITABLE	2ul

/* Part of the owner's address space with a table of its present pages */
struct odp_chunk {
	struct mmu_interval_notifier notifier;
	struct rnic_odp		*o;
	unsigned long		number;	/* address of the chunk >> CHUNK_SHIFT */
	u32			users;	/* page faults, prefetches using it; under rnic_odp.lock */
	struct rnic_inval_lock	inval_lock;	/* protects the entries of @page */
	unsigned long		*page;	/* ODP_CHUNK_PAGES entries: kernel address and flags */
	struct rcu_head		rcu;
};

/* Lookup ------------------------------------------------------------------- */

/*
 * Compute the index of a chunk in the xarray. The index counts from the MR's
 * first chunk, which keeps the xarray flat.
 */
static unsigned long compute_chunk_index(const struct rnic_odp *o, unsigned long number)
{
	return number - (o->b.start >> CHUNK_SHIFT);
}

/* Check whether a table entry permits reading or, if @write is set, writing */
static bool is_entry_accessible(unsigned long page, bool write)
{
	return page & (write ? ENTRY_WRITABLE : ENTRY_PRESENT);
}

/*
 * Compute the length in bytes of the extent that begins in page @i of the chunk
 * and is contiguous in kernel addresses, at most @want. @len is the number of
 * bytes of the extent in page @i.
 */
static u32 count_contiguous_bytes(const struct odp_chunk *c, u32 i, u32 len, u32 want)
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
 * rnic_odp_lock_extent - find contiguous present memory and take its lock
 * @mem: memory of the MR (struct rnic_unpinned)
 * @at: address of the first byte
 * @write: true if the memory is going to be written
 * @extent: filled in; on entry @extent->len is the number of bytes needed, on
 *	return the number of contiguous bytes that are present
 *
 * Context: BH off.
 *
 * Return: true, with @extent->lock held for reading, if the page of the first byte
 * is present. False if that page is not present; if @write is set, but the page is
 * not writable; or if another context waits to take the lock for writing.
 */
bool rnic_odp_lock_extent(void *mem, u64 at, bool write, struct ddp_extent *extent)
{
	u32 i = (at >> PAGE_SHIFT) % ODP_CHUNK_PAGES;
	struct rnic_odp *o = container_of(mem, struct rnic_odp, b);
	struct odp_chunk *c;

	at &= o->addr_mask;
	/*
	 * the chunk cannot be freed here, because it is freed after an RCU
	 * grace period and BH are off
	 */
	c = xa_load(&o->chunks, compute_chunk_index(o, at >> CHUNK_SHIFT));
	if (!c || !rnic_inval_read_trylock(&c->inval_lock))
		return false;
	if (!is_entry_accessible(c->page[i], write)) {
		rnic_inval_read_unlock(&c->inval_lock);
		return false;
	}
	extent->at = (void *)(c->page[i] & PAGE_MASK) + offset_in_page(at);
	extent->len = count_contiguous_bytes(c, i, PAGE_SIZE - offset_in_page(at), extent->len);
	extent->lock = &c->inval_lock.lock;
	return true;
}

/* Invalidation ------------------------------------------------------------- */

/*
 * Remove the pages of span @s from the table. Return: true if any of them was
 * present, false if none was
 */
static bool __clear_page_entries(struct odp_chunk *c, const struct odp_span *s)
{
	bool any = false;
	u32 i;

	/* copies hold the lock for reading, so none is in progress */
	lockdep_assert_held_write(&c->inval_lock.lock);
	for (i = s->first; i < s->first + s->pages; i++) {
		any |= c->page[i];
		c->page[i] = 0;
	}
	return any;
}

/*
 * Remove the pages of a range from the table. The mm calls this notifier before
 * it changes these pages.
 *
 * Return: true; false if taking the lock would sleep, which happens only on
 * PREEMPT_RT, but @range does not permit sleeping.
 */
static bool rnic_odp_invalidate(struct mmu_interval_notifier *notifier,
				const struct mmu_notifier_range *range,
				unsigned long seq)
{
	struct odp_chunk *c = container_of(notifier, struct odp_chunk, notifier);
	struct odp_span s = odp_compute_span_in_chunk(c->number, range->start, range->end,
						      PAGE_SHIFT);
	bool may_sleep = mmu_notifier_range_blockable(range), any;

	if (!rnic_inval_write_lock(&c->inval_lock, may_sleep))
		return false;
	mmu_interval_set_seq(notifier, seq);
	any = __clear_page_entries(c, &s);
	rnic_inval_write_unlock(&c->inval_lock);
	if (any && may_sleep)
		rnic_unpinned_count_event(&c->o->b, RNIC_ODP_INVALIDATIONS);
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
	rnic_inval_lock_init(&c->inval_lock);
	return c;
}

/*
 * Remove a chunk from the xarray, then clear its table of pages, and free it after
 * an RCU grace period. A reader that has looked the chunk up before the removal
 * then finds no pages in it. The caller must hold o->lock.
 */
static void __drop_chunk(struct rnic_odp *o, struct odp_chunk *c)
{
	const struct odp_span all = { .pages = ODP_CHUNK_PAGES };

	xa_erase(&o->chunks, compute_chunk_index(o, c->number));
	o->count--;
	rnic_inval_write_lock(&c->inval_lock, true);
	__clear_page_entries(c, &all);
	rnic_inval_write_unlock(&c->inval_lock);
	mmu_interval_notifier_remove(&c->notifier);
	call_rcu(&c->rcu, rnic_odp_free_chunk);
}

/*
 * Evict a chunk that no page fault or prefetch is using. Return: true if a
 * chunk was evicted, false if none was found
 */
static bool __try_evict_chunk(struct rnic_odp *o)
{
	struct odp_chunk *c;
	int n;

	for (n = 0; n < EVICT_TRIES; n++) {
		c = xa_find(&o->chunks, &o->evict_next, ULONG_MAX, XA_PRESENT);
		o->evict_next = c ? compute_chunk_index(o, c->number) + 1 : 0;
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
	err = xa_err(xa_store(&o->chunks, compute_chunk_index(o, c->number), c,
			      GFP_KERNEL_ACCOUNT));
	if (err)
		mmu_interval_notifier_remove(&c->notifier);
	return err;
}

/*
 * Create a chunk and insert it into the xarray. The caller must hold o->lock.
 * Return: the chunk; NULL if memory is short, or if no chunk could be evicted
 */
static struct odp_chunk *__new_chunk(struct rnic_odp *o, unsigned long number)
{
	struct odp_chunk *c;

	if (o->count >= CHUNKS_MAX && !__try_evict_chunk(o))
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

/*
 * Find a chunk and increment its number of users, so that it is not evicted. If
 * the chunk does not exist and @make is set, create it. Return: the chunk, or
 * NULL.
 */
static struct odp_chunk *get_chunk(struct rnic_odp *o, unsigned long number,
				   bool make)
{
	struct mem_cgroup *old = set_active_memcg(o->memcg);
	struct odp_chunk *c;

	mutex_lock(&o->lock);
	c = xa_load(&o->chunks, compute_chunk_index(o, number));
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
 * @o: the memory
 *
 * The caller must ensure that no copy, page fault or prefetch is in progress
 * and that none can start. May sleep.
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

/*
 * Enter @page into a table entry, as writable if @write is set. If the entry
 * already contains the same page as writable, it stays writable.
 */
static void __set_page_entry(unsigned long *entry, struct page *page, bool write)
{
	unsigned long now = (unsigned long)page_address(page) | ENTRY_PRESENT;

	if (write || (*entry & ~ENTRY_WRITABLE) == now)
		now |= write ? ENTRY_WRITABLE : *entry & ENTRY_WRITABLE;
	*entry = now;
}

/*
 * Enter @n pages into the table. Return: true if the pages were entered; false,
 * with no page entered, if a page may have been invalidated since @seq was
 * read.
 */
static bool try_set_page_entries(struct odp_chunk *c, unsigned long seq, u32 first,
				 struct page **page, long n, bool write)
{
	bool ok;
	long i;

	/*
	 * take the lock without making readers back off, because a reader that
	 * backs off raises a needless page fault
	 */
	rnic_inval_write_lock_when_free(&c->inval_lock);
	ok = !mmu_interval_read_retry(&c->notifier, seq);
	for (i = 0; ok && i < n; i++)
		__set_page_entry(&c->page[first + i], page[i], write);
	rnic_inval_write_unlock(&c->inval_lock);
	return ok;
}

/*
 * Count the pages from @at to the end of the VMA that contains @at, up to
 * @pages. get_user_pages_remote() must not get a range that begins or continues
 * outside a VMA, because it logs a warning for an address just below a stack.
 */
static unsigned long __count_pages_in_vma(struct mm_struct *mm, unsigned long at,
					  u32 pages)
{
	const struct vm_area_struct *vma = vma_lookup(mm, at);

	if (!vma)
		return 0;
	return min_t(unsigned long, pages, (vma->vm_end - at) >> PAGE_SHIFT);
}

/*
 * Take references to the pages of a span. If @how is ODP_FAULT, fault in the
 * pages that are absent; otherwise stop at the first of them.
 *
 * Return: the number of pages, which may be less than the span has; -EINTR if
 * the current task is killed; -EFAULT if @s begins outside a mapping; or another
 * negative errno.
 */
static long get_pages(struct rnic_odp *o, const struct odp_span *s, bool write,
		      enum odp_absent_action how, struct page **page)
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
	 * charge page cache and page tables to the owner's memory cgroup,
	 * because the current task may be a kernel worker, for which no cgroup
	 * is charged
	 */
	old = set_active_memcg(o->memcg);
	n = __count_pages_in_vma(o->b.mm, at, s->pages);
	if (n)
		n = get_user_pages_remote(o->b.mm, at, n, flags, page, &locked);
	set_active_memcg(old);
	if (locked)
		mmap_read_unlock(o->b.mm);
	return n ?: -EFAULT;
}

/*
 * Fault in pages of a span and enter them into the table.
 *
 * Return: the number of pages entered; -EAGAIN if a page may have been
 * invalidated meanwhile; or another negative errno.
 */
static long fault_in_pages(struct rnic_odp *o, struct odp_chunk *c,
			   const struct odp_span *s, bool write, enum odp_absent_action how)
{
	struct page *page[ODP_BATCH];
	unsigned long seq;
	long n, i;

	seq = mmu_interval_read_begin(&c->notifier);
	n = get_pages(o, s, write, how, page);
	if (n <= 0)
		return n;
	if (!try_set_page_entries(c, seq, s->first, page, n, write))
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
 * @at: address of the first byte
 * @end: address of the first byte after the range
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

/*
 * Fault in pages of a span, as @how requires.
 *
 * Return: the number of pages after which the caller must continue; or a
 * negative errno.
 */
static long fault_in_span(struct rnic_odp *o, const struct odp_span *s, bool write,
			  enum odp_absent_action how)
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
		n = fault_in_pages(o, c, s, write, how);
		cond_resched();
	}
	put_chunk(o, c);
	/*
	 * Report success if every attempt met an invalidation. A stream that
	 * then still finds the pages absent raises another page fault.
	 */
	if (n == -EAGAIN)
		return s->pages;
	if (n < 0 && how == ODP_SKIP_ABSENT && n != -EINTR)
		return 1;
	return n;
}

/**
 * rnic_odp_fault_in - fault in the pages of a range
 * @o: the memory; the caller must hold a reference from mmget() to its mm
 * @at: address of the first byte
 * @end: address of the first byte after the range
 * @write: true if the pages are going to be written
 * @how: handling of pages that are not present
 *
 * Pages may be invalidated again before this function returns. May sleep.
 *
 * Return: 0; -EFAULT if the range is outside the user address space, if a page
 * cannot be faulted in or, with ODP_STOP_ABSENT, is not present; -ENOMEM if
 * memory is short, if no chunk could be evicted or, with ODP_STOP_ABSENT, if a
 * chunk does not exist; -EINTR if the current task is killed.
 */
int rnic_odp_fault_in(struct rnic_odp *o, u64 at, u64 end, bool write,
		      enum odp_absent_action how)
{
	struct odp_span s;
	long n;

	end -= at;
	at &= o->addr_mask;
	end += at;
	while ((s = odp_compute_next_span(at, end, PAGE_SHIFT)).pages) {
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
