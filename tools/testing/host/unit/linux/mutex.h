/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_MUTEX_H
#define _HOST_UNIT_MUTEX_H

#include <linux/held.h>

/*
 * The tests have one thread, so a mutex never waits. A test may define
 * host_on_mutex_unlock(), which each unlock calls.
 */
struct mutex { int held; };
void host_on_mutex_unlock(struct mutex *m) __attribute__((weak));

static inline void mutex_unlock(struct mutex *m)
{
	host_mark_lock_released(&m->held);
	if (host_on_mutex_unlock)
		host_on_mutex_unlock(m);
}

#define DEFINE_MUTEX(name)	struct mutex name
#define mutex_init(m)		((void)((m)->held = 0))
#define mutex_destroy(m)	((void)(m))
#define mutex_lock(m)		host_mark_lock_taken(&(m)->held)
#define mutex_trylock(m)	(!(m)->held && (host_mark_lock_taken(&(m)->held), true))

#endif
