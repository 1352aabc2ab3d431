/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_SPINLOCK_H
#define _HOST_LINUX_SPINLOCK_H

#include <linux/compiler.h>

/* Makes structs compile that contain a lock: no pure file takes one */
typedef struct { int held; } spinlock_t;
typedef struct { int readers; } rwlock_t;

#endif
