/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_LOCAL_LOCK_H
#define _HOST_UNIT_LOCAL_LOCK_H

#include <linux/held.h>

/* The tests have one thread and one CPU, so a local lock is an ordinary lock */
typedef struct { int held; } local_lock_t;
#define INIT_LOCAL_LOCK(name)		{ 0 }
#define local_lock_nested_bh(l)		host_mark_lock_taken(&(l)->held)
#define local_unlock_nested_bh(l)	host_mark_lock_released(&(l)->held)

#endif
