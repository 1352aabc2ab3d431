/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Invalidation lock: reader/writer lock of memory whose pages or mapping can become invalid
 * (ODP, dma-buf). DDP holds the lock for reading while it copies from or to the memory, and an
 * invalidation holds the lock for writing, so no copy is in progress during an invalidation.
 */
#ifndef _RNIC_SW_INVAL_LOCK_H
#define _RNIC_SW_INVAL_LOCK_H

#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/processor.h>
#include <linux/spinlock.h>

/*
 * Number of attempts of rnic_inval_write_lock_when_free(), which together take as long as a few
 * copies
 */
#define INVAL_TRIES	1000

/**
 * struct rnic_inval_lock - lock of memory that can be invalidated
 * @lock: held for reading while one extent is copied, and for writing while the pages or the
 *	mapping are changed
 * @writers: number of writers that wait in rnic_inval_write_lock(); new readers do not take @lock
 *	while this is not 0
 */
struct rnic_inval_lock {
	rwlock_t	lock;
	atomic_t	writers;
};

static inline void rnic_inval_lock_init(struct rnic_inval_lock *g)
{
	rwlock_init(&g->lock);
	atomic_set(&g->writers, 0);
}

/*
 * Take the lock for reading, unless a writer waits in rnic_inval_write_lock(). Context: BH off.
 *
 * Return: true if the lock was taken; false if such a writer is waiting.
 */
static inline bool rnic_inval_read_trylock(struct rnic_inval_lock *g)
{
	if (atomic_read(&g->writers))
		return false;
	read_lock(&g->lock);
	return true;
}

static inline void rnic_inval_read_unlock(struct rnic_inval_lock *g)
{
	read_unlock(&g->lock);
}

/*
 * Disable BH and take the lock for writing. Increment @writers during the wait, so that no new
 * reader takes the lock; otherwise readers in softirqs could starve the writer. If @may_sleep is
 * false, do not wait on PREEMPT_RT, because waiting for the lock sleeps there.
 *
 * Return: true if the lock was taken; false, with BH enabled again, if the kernel is PREEMPT_RT,
 * @may_sleep is false and the lock was not free.
 */
static inline bool rnic_inval_write_lock(struct rnic_inval_lock *g, bool may_sleep)
{
	local_bh_disable();
	if (write_trylock(&g->lock))
		return true;
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !may_sleep) {
		local_bh_enable();
		return false;
	}
	atomic_inc(&g->writers);
	write_lock(&g->lock);
	atomic_dec(&g->writers);
	return true;
}

/*
 * Disable BH and take the lock for writing as soon as it is free, that is between two copies. In
 * contrast to rnic_inval_write_lock(), readers can still take the lock during the wait. If copies
 * on several CPUs always overlap, the lock is never free, so call rnic_inval_write_lock() after
 * INVAL_TRIES attempts. May sleep on PREEMPT_RT.
 */
static inline void rnic_inval_write_lock_when_free(struct rnic_inval_lock *g)
{
	int left;

	for (left = INVAL_TRIES; left; left--) {
		local_bh_disable();
		if (write_trylock(&g->lock))
			return;
		local_bh_enable();
		cpu_relax();
	}
	rnic_inval_write_lock(g, true);
}

static inline void rnic_inval_write_unlock(struct rnic_inval_lock *g)
{
	write_unlock(&g->lock);
	local_bh_enable();
}

#endif
