/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_HELD_H
#define _HOST_UNIT_HELD_H

#include <linux/types.h>
#include <linux/bug.h>

/*
 * Number of locks, RCU read-side sections and BH-off sections that this thread
 * is in. The runner fails a case that ends with other values than zero.
 */
extern _Thread_local int host_held, host_reads, host_bh_off;

/*
 * A test may define this function, which returns true if interrupts count as
 * disabled
 */
bool host_are_irqs_off(void) __attribute__((weak));
#define irqs_disabled()		(host_are_irqs_off && host_are_irqs_off())

/* In the kernel, a section with BH off counts as an interrupt, too */
#define in_interrupt()		(host_bh_off > 0)
#define in_softirq()		(host_bh_off > 0)

static inline void host_mark_lock_taken(int *held)
{
	WARN_ON(*held);
	*held = 1;
	host_held++;
}

static inline void host_mark_lock_released(int *held)
{
	WARN_ON(!*held);
	*held = 0;
	host_held--;
}

static inline void local_bh_disable(void)
{
	host_bh_off++;
}

/* A test may define this function, which is called when BH is on again */
void host_on_bh_enabled(void) __attribute__((weak));

static inline void local_bh_enable(void)
{
	WARN_ON(irqs_disabled() || host_bh_off-- <= 0);
	if (host_on_bh_enabled && !host_bh_off)
		host_on_bh_enabled();
}

#endif
