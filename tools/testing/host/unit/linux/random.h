/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_RANDOM_H
#define _HOST_UNIT_RANDOM_H

#include <linux/types.h>

/* Return a random number; defined by the test */
u32 host_get_random(void);
#define get_random_u32()	host_get_random()

#endif
