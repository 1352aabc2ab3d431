/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Access checks for registered memory. */
#ifndef _DDP_BOUNDS_H
#define _DDP_BOUNDS_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include <ddp/ulp.h>

enum iw_reason ddp_bounds_check_access(const struct ddp_region *r,
				       const struct ddp_stream *s, u32 stag, u64 to,
				       u32 len, u8 rights);
enum iw_reason ddp_bounds_recheck_access(const struct ddp_region *r,
					 const struct ddp_stream *s, u8 rights, u64 to,
					 u32 len);

#endif
