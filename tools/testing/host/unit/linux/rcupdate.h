/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_RCUPDATE_H
#define _HOST_UNIT_RCUPDATE_H

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/held.h>

/* Type for members of structs only: the files under test never use it */
struct rcu_head { int unused; };

/*
 * The tests have one thread, so read-side sections are only counted, and
 * call_rcu() calls its function immediately
 */
#define rcu_read_lock()		((void)host_reads++)
#define rcu_read_unlock()	((void)WARN_ON(host_reads-- <= 0))
#define rcu_dereference(p)	READ_ONCE(p)
#define rcu_access_pointer(p)	READ_ONCE(p)
#define rcu_read_lock_bh_held()	true
#define RCU_LOCKDEP_WARN(cond, what)	WARN_ON(cond)
#define unrcu_pointer(p)	(p)
#define RCU_INIT_POINTER(p, v)	WRITE_ONCE(p, v)
#define call_rcu(head, func)	func(head)

#endif
