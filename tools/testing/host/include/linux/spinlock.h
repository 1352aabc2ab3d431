/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_SPINLOCK_H
#define _HOST_LINUX_SPINLOCK_H

#include <linux/compiler.h>

/* Types for members of structs only: no pure file takes a lock */
typedef struct { int held; } spinlock_t;
typedef struct { int readers; } rwlock_t;

#endif
