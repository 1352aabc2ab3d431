/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_COMPLETION_H
#define _HOST_DOORS_COMPLETION_H

/* Only so that structs compile */
struct completion { int unused; };

#endif
