/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_LOCAL_LOCK_H
#define _HOST_DOORS_LOCAL_LOCK_H

/* One thread */
typedef struct { int unused; } local_lock_t;
#define INIT_LOCAL_LOCK(name)		{ 0 }
#define local_lock_nested_bh(l)		((void)(l))
#define local_unlock_nested_bh(l)	((void)(l))

#endif
