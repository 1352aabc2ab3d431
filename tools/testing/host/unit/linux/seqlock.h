/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SEQLOCK_H
#define _HOST_UNIT_SEQLOCK_H

/* Type for members of structs only: the files under test never use it */
typedef struct { int unused; } seqlock_t;

#endif
