/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_RCUPDATE_H
#define _HOST_DOORS_RCUPDATE_H

#include <linux/atomic.h>
#include <linux/compiler.h>

/* Only so that structs compile */
struct rcu_head { int unused; };

/* One thread */
#define rcu_read_lock()		do { } while (0)
#define rcu_read_unlock()	do { } while (0)
#define rcu_dereference(p)	READ_ONCE(p)
#define unrcu_pointer(p)	(p)

#endif
