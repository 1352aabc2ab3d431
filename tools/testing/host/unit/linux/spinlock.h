/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SPINLOCK_H
#define _HOST_UNIT_SPINLOCK_H

#include_next <linux/spinlock.h>
#include <linux/atomic.h>
#include <linux/held.h>

/* The tests have one thread, in which a wait for a lock would never end: warn instead */
static inline void host_lock(spinlock_t *l)
{
	host_mark_lock_taken(&l->held);
}

static inline void host_unlock(spinlock_t *l)
{
	host_mark_lock_released(&l->held);
}

#define DEFINE_SPINLOCK(name)	spinlock_t name
#define spin_lock_init(l)	((void)((l)->held = 0))
#define spin_lock(l)		host_lock(l)
#define spin_unlock(l)		host_unlock(l)
#define spin_lock_bh(l)		(local_bh_disable(), host_lock(l))
#define spin_unlock_bh(l)	(host_unlock(l), local_bh_enable())
#define spin_lock_irq(l)	host_lock(l)
#define spin_unlock_irq(l)	host_unlock(l)
#define spin_lock_irqsave(l, flags)	(host_lock(l), (flags) = 0)
#define spin_unlock_irqrestore(l, flags) (host_unlock(l), (void)(flags))
#define read_lock(l)		((void)(l)->readers++, (void)host_held++)
#define read_unlock(l)		((void)(l)->readers--, (void)host_held--)
#define lockdep_assert_held(l)	((void)WARN_ON(!(l)->held))
#define lockdep_assert_held_read(l)	((void)(l))

#endif
