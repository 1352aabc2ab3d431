/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_FETCH_H
#define _HOST_UNIT_FETCH_H

#include <ddp/reason.h>

/* Stub of the memory that is sent, and the number of bytes read from it */
extern struct host_memory {
	enum iw_reason	result;		/* result of each read */
	u32		fetched;	/* bytes read */
	u32		page_off;	/* page offset of the next bytes to fetch */
} host_memory;

#endif
