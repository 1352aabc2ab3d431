/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_WAIT_H
#define _HOST_DOORS_WAIT_H

/* Only so that structs compile */
struct wait_queue_entry { int unused; };

#endif
