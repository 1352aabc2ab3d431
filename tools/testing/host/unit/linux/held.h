/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_HELD_H
#define _HOST_DOORS_HELD_H

#include <linux/types.h>
#include <linux/bug.h>

/*
 * Number of locks, RCU readers and BH-off sections of this thread; zero at the
 * end of a case
 */
extern _Thread_local int host_held, host_reads, host_bh_off;

/* A test may define this to turn interrupts off */
bool host_irqs_off(void) __attribute__((weak));
#define irqs_disabled()		(host_irqs_off && host_irqs_off())

static inline void host_lock_taken(int *held)
{
	WARN_ON(*held);
	*held = 1;
	host_held++;
}

static inline void host_lock_released(int *held)
{
	WARN_ON(!*held);
	*held = 0;
	host_held--;
}

static inline void local_bh_disable(void)
{
	host_bh_off++;
}

static inline void local_bh_enable(void)
{
	WARN_ON(irqs_disabled() || host_bh_off-- <= 0);
}

#endif
