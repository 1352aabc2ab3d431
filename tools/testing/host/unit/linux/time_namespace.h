/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_TIME_NAMESPACE_H
#define _HOST_UNIT_TIME_NAMESPACE_H

#include <linux/types.h>

/* all tasks are in one time namespace, so no offset is added */
struct timespec64 { s64 ns; };
#define timens_add_monotonic(t)	((void)(t))
#define timespec64_to_ns(t)	((t)->ns)

#endif
