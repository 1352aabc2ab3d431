/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_WAIT_BIT_H
#define _HOST_UNIT_WAIT_BIT_H

#include <linux/bug.h>

/* The tests have one thread, in which a wait would never end: warn instead */
#define wait_var_event(var, cond)	WARN_ON(!(cond))
#define wake_up_var(var)		((void)(var))
#define wait_on_bit(p, nr, how)		WARN_ON(*(p) >> (nr) & 1)
#define clear_and_wake_up_bit(nr, p)	((void)(*(p) &= ~(1ul << (nr))))
#undef cond_resched
#define cond_resched()			do { } while (0)

#endif
