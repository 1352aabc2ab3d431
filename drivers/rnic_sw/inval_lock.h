/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Reader/writer lock of memory that can be invalidated (ODP, dma-buf): a copy
 * holds it for reading, an invalidation for writing. While a writer holds the
 * lock, no copy is in progress.
 */
#ifndef _RNIC_SW_INVAL_LOCK_H
#define _RNIC_SW_INVAL_LOCK_H

#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/processor.h>
#include <linux/spinlock.h>

/* Attempts of rnic_inval_write_lock_gap(); they take as long as a few copies */
#define INVAL_TRIES	1000

/**
 * struct rnic_inval_lock - lock of memory that can be invalidated
 * @lock: held for reading during the copy of one extent, for writing to change
 *	which memory is present
 * @writers: number of writers that wait for @lock; a new reader backs off while
 *	@writers is not 0
 */
struct rnic_inval_lock {
	rwlock_t	lock;
	atomic_t	writers;
};

static inline void rnic_inval_init(struct rnic_inval_lock *g)
{
	rwlock_init(&g->lock);
	atomic_set(&g->writers, 0);
}

/*
 * Take the lock for reading, unless a writer is waiting for it. Context: BH
 * off. Return: true if the lock is held for reading, false if a writer is
 * waiting.
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
 * Take the lock for writing and disable BH. While waiting, raise @writers so
 * that new readers back off: readers in softirqs could otherwise starve the
 * writer. Waiting sleeps on PREEMPT_RT, so if @may_sleep is false, do not wait
 * there.
 *
 * Return: true if the lock is held; false (on PREEMPT_RT only) if the lock was
 * not free and @may_sleep is false, with BH enabled again.
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
 * Take the lock for writing between two copies and disable BH, without making
 * readers back off. If copies of many CPUs overlap, the lock may never be free,
 * so fall back to rnic_inval_write_lock() after INVAL_TRIES attempts. May sleep
 * on PREEMPT_RT.
 */
static inline void rnic_inval_write_lock_gap(struct rnic_inval_lock *g)
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
