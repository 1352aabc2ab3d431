/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_REFCOUNT_H
#define _HOST_LINUX_REFCOUNT_H

/* Type for members of structs only: no pure file changes a refcount */
typedef struct { int refs; } refcount_t;

#endif
