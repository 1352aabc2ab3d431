/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_REFCOUNT_H
#define _HOST_UNIT_REFCOUNT_H

#include_next <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* Not atomic, because the tests that use refcounts have one thread */
static inline void refcount_set(refcount_t *r, int n)
{
	r->refs = n;
}

static inline int refcount_read(const refcount_t *r)
{
	return r->refs;
}

static inline void refcount_inc(refcount_t *r)
{
	r->refs++;
}

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	return r->refs && ++r->refs;
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	return !--r->refs;
}

#define refcount_dec_and_lock_irqsave(r, lock, flags) \
	(!--(r)->refs && (spin_lock_irqsave(lock, *(flags)), true))

#endif
