/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SRCU_H
#define _HOST_UNIT_SRCU_H

#include <linux/compiler.h>

/*
 * SRCU is a count of readers, which works with several threads.
 * synchronize_srcu() calls host_on_srcu_wait() while there are readers; the test
 * defines host_on_srcu_wait().
 */
void host_on_srcu_wait(void);
#define DEFINE_STATIC_SRCU(name)	static int name
#define srcu_read_lock(s)		\
	((void)__atomic_fetch_add(s, 1, __ATOMIC_SEQ_CST), 0)
#define srcu_read_unlock(s, reader)	\
	((void)(reader), (void)__atomic_fetch_sub(s, 1, __ATOMIC_SEQ_CST))
#define synchronize_srcu(s) do {					\
	while (__atomic_load_n(s, __ATOMIC_SEQ_CST))			\
		host_on_srcu_wait();					\
} while (0)

#endif
