/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Reader/writer lock of memory that can be invalidated: copies take it for
 * reading, an invalidation takes it for writing. While it is held for writing
 * no copy is in progress.
 */
#ifndef _RNIC_SW_GATE_H
#define _RNIC_SW_GATE_H

#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/processor.h>
#include <linux/spinlock.h>

#define INVAL_TRIES	1000	/* write_trylock attempts: the time of a few copies */

/**
 * struct rnic_inval_lock - lock of memory that can be invalidated
 * @lock: held for reading during the copy of one contiguous extent, for writing
 *	to change what is present
 * @writers: number of writers that wait for @lock; new readers back off while it
 *	is not 0
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
 * Take the lock for reading, unless a writer is waiting. Context: BH off.
 * Return: true if @lock is now held for reading, false if a writer is waiting.
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
 * Take the lock for writing and disable BH. Raise @writers while waiting, so that
 * new readers back off: softirq readers would otherwise starve the writer. May
 * sleep on PREEMPT_RT; without @may_sleep only try there.
 *
 * Return: true if the lock is held, false (PREEMPT_RT only) if it would have to
 * sleep.
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
 * Take the lock for writing without making readers back off: try to get in
 * between two copies. With many CPUs there may never be a gap, so fall back to
 * rnic_inval_write_lock() after INVAL_TRIES attempts. May sleep on PREEMPT_RT.
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
