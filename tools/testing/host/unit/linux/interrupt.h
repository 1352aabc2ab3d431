/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_INTERRUPT_H
#define _HOST_UNIT_INTERRUPT_H

#include <linux/held.h>

#define in_hardirq()		0

/* Work item for softirq context, as in compat/compat.h; the test defines host_raise_softirq() */
struct compat_bh { void (*run)(struct compat_bh *bh); };
void host_raise_softirq(struct compat_bh *bh);
#define compat_bh_init(b, f)	((b)->run = (f))
#define compat_bh_raise(b)	host_raise_softirq(b)
#define compat_bh_end(b)	((void)(b))

#endif
