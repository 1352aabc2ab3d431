/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory of the fuzz target rx_paths: pages and MRs */
#ifndef _FUZZ_RX_PATHS_MEMORY_H
#define _FUZZ_RX_PATHS_MEMORY_H

#include "rx_paths.h"

extern struct ddp_stags memory_stags;

/* Fill the memory as at the beginning of each run */
void memory_reset(void);
/* Register all MRs; some of them are for @s only */
void memory_register_mrs(const struct ddp_stream *s);
void memory_revoke_mr(u32 mr);
void memory_validate_mr(u32 mr);
void memory_drop_odp_pages(void);
/* Complete a page-fault request */
void memory_resolve_fault(struct ddp_fault *w);
/* Remove all MRs, which must be unused, and copy the memory to @result */
void memory_remove_mrs_and_copy_pages(struct result *result);

#endif
