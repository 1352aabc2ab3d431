/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_KTIME_H
#define _HOST_UNIT_KTIME_H

#include <linux/types.h>

#define NSEC_PER_MSEC	1000000L

/* Current time in nanoseconds; defined by the test */
u64 host_get_time_ns(void);
#define ktime_get_ns()	host_get_time_ns()
#define ktime_to_ns(t)	(t)

#endif
