/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_ONCE_H
#define _HOST_UNIT_ONCE_H

#include <linux/string.h>

/* Fill @p with the same bytes in each call, and count the calls */
extern _Thread_local int host_seeds;
#define get_random_once(p, len)	(host_seeds++, memset(p, 7, len))

#endif
