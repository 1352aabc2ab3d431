/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_REFCOUNT_H
#define _HOST_LINUX_REFCOUNT_H

/* Only so that structs compile: no pure file counts references */
typedef struct { int refs; } refcount_t;

#endif
