/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_MEM_RESULTS_H
#define _HOST_UNIT_MEM_RESULTS_H

#include <ddp/reason.h>

/*
 * Results that the stubs of memory checks return, and the rights that were
 * checked
 */
extern struct mem_results {
	enum iw_reason	check, atomic;
	u8		checked;	/* rights that were checked */
} mem;

#endif
