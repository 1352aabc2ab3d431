/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_CAPABILITY_H
#define _HOST_UNIT_CAPABILITY_H

#include <linux/types.h>

#define CAP_SYS_RESOURCE	24

/* each test defines this function */
bool capable(int cap);

#endif
