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

#define GATE_TRIES	1000	/* write_trylock attempts: the time of a few copies */

/**
 * struct rnic_gate - lock of memory that can be invalidated
 * @lock: held for reading during the copy of one contiguous extent, for writing
 *	to change what is present
 * @busy: number of writers that wait for @lock; new readers back off while it
 *	is not 0
 */
struct rnic_gate {
	rwlock_t	lock;
	atomic_t	busy;
};

static inline void rnic_gate_init(struct rnic_gate *g)
{
	rwlock_init(&g->lock);
	atomic_set(&g->busy, 0);
}

/*
 * Take the lock for reading, unless a writer is waiting. Context: BH off.
 * Return: true if @lock is now held for reading, false if a writer is waiting.
 */
static inline bool rnic_gate_enter(struct rnic_gate *g)
{
	if (atomic_read(&g->busy))
		return false;
	read_lock(&g->lock);
	return true;
}

static inline void rnic_gate_leave(struct rnic_gate *g)
{
	read_unlock(&g->lock);
}

/*
 * Take the lock for writing and disable BH. Raise @busy while waiting, so that
 * new readers back off: softirq readers would otherwise starve the writer. May
 * sleep on PREEMPT_RT; without @may_sleep only try there.
 *
 * Return: true if the lock is held, false (PREEMPT_RT only) if it would have to
 * sleep.
 */
static inline bool rnic_gate_shut(struct rnic_gate *g, bool may_sleep)
{
	local_bh_disable();
	if (write_trylock(&g->lock))
		return true;
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !may_sleep) {
		local_bh_enable();
		return false;
	}
	atomic_inc(&g->busy);
	write_lock(&g->lock);
	atomic_dec(&g->busy);
	return true;
}

/*
 * Take the lock for writing without making readers back off: try to get in
 * between two copies. With many CPUs there may never be a gap, so fall back to
 * rnic_gate_shut() after GATE_TRIES attempts. May sleep on PREEMPT_RT.
 */
static inline void rnic_gate_shut_between(struct rnic_gate *g)
{
	int left;

	for (left = GATE_TRIES; left; left--) {
		local_bh_disable();
		if (write_trylock(&g->lock))
			return;
		local_bh_enable();
		cpu_relax();
	}
	rnic_gate_shut(g, true);
}

static inline void rnic_gate_open(struct rnic_gate *g)
{
	write_unlock(&g->lock);
	local_bh_enable();
}

#endif
