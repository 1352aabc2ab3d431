/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory that comes and goes: who copies it enters for a moment, who takes it away shuts
 * the gate.  When it is shut nobody copies.
 */
#ifndef _RNIC_SW_GATE_H
#define _RNIC_SW_GATE_H

#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/processor.h>
#include <linux/spinlock.h>

#define GATE_TRIES	1000	/* some copies' time */

/**
 * struct rnic_gate - in front of what is there
 * @lock: held for reading for one run's copy
 * @busy: who copies lets who takes away pass
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

/* BH off.  Return: whether; then @lock is held for reading */
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
 * Whoever copies is through soon; whoever comes meanwhile does not begin: readers with
 * BH off would not wait for a writer.  With PREEMPT_RT it sleeps.
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
 * The same where whoever copies need not make way: between them, if they leave a gap before
 * long.  With many CPUs there may be none for ever.  May sleep, with PREEMPT_RT.
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
