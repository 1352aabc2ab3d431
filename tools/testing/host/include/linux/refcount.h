/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_REFCOUNT_H
#define _HOST_LINUX_REFCOUNT_H

/* Makes structs compile that contain a reference count: no pure file changes one */
typedef struct { int refs; } refcount_t;

#endif
