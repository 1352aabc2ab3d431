/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_MUTEX_H
#define _HOST_DOORS_MUTEX_H

/* Only so that structs compile */
struct mutex { int unused; };

#endif
