/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_SEQLOCK_H
#define _HOST_DOORS_SEQLOCK_H

/* Only so that structs compile */
typedef struct { int unused; } seqlock_t;

#endif
