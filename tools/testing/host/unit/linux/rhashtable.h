/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_RHASHTABLE_H
#define _HOST_UNIT_RHASHTABLE_H

#include <linux/rhashtable-types.h>
#include <linux/types.h>

struct rhashtable_compare_arg {
	const void *key;
};

/* Parameters of a hash table; the test implements the table */
struct rhashtable_params {
	u16	key_len;
	u16	key_offset;
	u16	head_offset;
	bool	automatic_shrinking;
	u32	(*hashfn)(const void *key, u32 len, u32 seed);
	int	(*obj_cmpfn)(struct rhashtable_compare_arg *arg, const void *obj);
};

#endif
