/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_SLAB_H
#define _HOST_LINUX_SLAB_H

#include <linux/types.h>

#define GFP_KERNEL	0u

#endif
