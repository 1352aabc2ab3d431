/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_REFCOUNT_H
#define _HOST_DOORS_REFCOUNT_H

#include_next <linux/refcount.h>
#include <linux/spinlock.h>

/* One thread */
#define refcount_set(r, n)	((void)((r)->refs = (n)))
#define refcount_inc(r)		((void)(r)->refs++)
#define refcount_dec_and_lock_irqsave(r, lock, flags) \
	((void)(lock), *(flags) = 0, !--(r)->refs)

#endif
