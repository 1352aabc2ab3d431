/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_SAYS_H
#define _HOST_DOORS_SAYS_H

#include <ddp/reason.h>

/* What the memory of requests says */
extern struct memory_says {
	enum iw_reason	check, atomic;
	u8		checked;	/* for which rights */
} mem;

#endif
