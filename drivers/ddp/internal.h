/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the rooms of iw_ddp know of each other. */
#ifndef _DDP_INTERNAL_H
#define _DDP_INTERNAL_H

#include <ddp/llp.h>
#include <ddp/mem.h>
#include <ddp/ulp.h>

/* place.c: how a copy meets registered memory */
enum iw_reason ddp_place_tagged(struct ddp_stream *s, struct ddp_llp *llp,
				const struct ddp_hdr *h, u32 len, u8 rights);
enum iw_reason ddp_place_untagged(struct ddp_stream *s, struct ddp_llp *llp,
				  struct ddp_cursor *to, u32 len);
enum iw_reason ddp_fetch(struct ddp_stream *s, struct ddp_cursor *from,
			 void *dst, u32 len);

static inline void ddp_cursor_init(struct ddp_cursor *c,
				   const struct ddp_buf *buf)
{
	c->buf = buf;
	c->sge = 0;
	c->off = 0;
}

/* stag.c: may @s use [to, to + len) of @stag with @rights?  Takes a use. */
enum iw_reason ddp_region_use(struct ddp_stream *s, const struct ddp_sge *m,
			      u8 rights, struct ddp_region **r);
/* The same, by a use that stays for the next segment: *@held is the region or NULL */
enum iw_reason ddp_hold_use(struct ddp_stream *s, struct ddp_region **held,
			    const struct ddp_sge *m, u8 rights);
void ddp_hold_used(struct ddp_region **held);
void ddp_hold_drop(struct ddp_region **held);

#endif
