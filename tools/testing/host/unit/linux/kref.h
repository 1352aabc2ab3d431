/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_KREF_H
#define _HOST_UNIT_KREF_H

#include <linux/types.h>

/* Not atomic, because the tests that use krefs have one thread */
struct kref { int refs; };

static inline void kref_init(struct kref *k)
{
	k->refs = 1;
}

static inline bool kref_get_unless_zero(struct kref *k)
{
	return k->refs && ++k->refs;
}

static inline void kref_get(struct kref *k)
{
	k->refs++;
}

static inline bool kref_put(struct kref *k, void (*release)(struct kref *k))
{
	if (--k->refs)
		return false;
	release(k);
	return true;
}

#endif
