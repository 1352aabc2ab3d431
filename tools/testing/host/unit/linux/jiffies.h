/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_JIFFIES_H
#define _HOST_UNIT_JIFFIES_H

/* Set by the test */
extern unsigned long jiffies;
#define HZ			1000
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_before(a, b)	((long)((a) - (b)) < 0)

#endif
