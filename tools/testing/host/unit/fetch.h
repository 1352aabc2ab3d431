/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_FETCH_H
#define _HOST_DOORS_FETCH_H

#include <ddp/reason.h>

/* The memory that is sent: result of fetching, and bytes fetched */
extern struct host_memory {
	enum iw_reason	result;
	u32		fetched;
	u32		page_off;	/* page offset of the next bytes to fetch */
} host_memory;

#endif
