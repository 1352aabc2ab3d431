/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _FUZZ_RX_PATHS_RHASHTABLE_H
#define _FUZZ_RX_PATHS_RHASHTABLE_H

#include_next <linux/rhashtable.h>

/* Stubs for the table of STags: memory.c keeps the entries in an array */
int rhashtable_init(struct rhashtable *ht, const struct rhashtable_params *params);
void rhashtable_destroy(struct rhashtable *ht);
void *rhashtable_lookup(struct rhashtable *ht, const u32 *index,
			const struct rhashtable_params params);
int rhashtable_lookup_insert_fast(struct rhashtable *ht, struct rhash_head *node,
				  const struct rhashtable_params params);
void rhashtable_remove_fast(struct rhashtable *ht, struct rhash_head *node,
			    const struct rhashtable_params params);

#endif
