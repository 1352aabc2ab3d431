/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_HELD_H
#define _HOST_DOORS_HELD_H

#include <linux/types.h>
#include <linux/bug.h>

/* Locks, and readers of RCU's, of this thread; at the end of a case there are none */
extern _Thread_local int host_held, host_reads;

static inline void host_take(int *held)
{
	WARN_ON(*held);
	*held = 1;
	host_held++;
}

static inline void host_let_go(int *held)
{
	WARN_ON(!*held);
	*held = 0;
	host_held--;
}

#endif
