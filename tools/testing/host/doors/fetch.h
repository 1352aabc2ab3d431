/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_FETCH_H
#define _HOST_DOORS_FETCH_H

#include <ddp/reason.h>

/* The memory that is sent: what it says, and how many octets it was asked for */
extern struct host_memory {
	enum iw_reason	says;
	u32		fetched;
	u32		page_off;	/* where in its page what is fetched next lies */
} host_memory;

#endif
