/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Prediction of the next segment's header. */
#ifndef _DDP_INTERNAL_EXPECT_H
#define _DDP_INTERNAL_EXPECT_H

#include <ddp/expected.h>
#include <ddp/pure.h>
#include <ddp/ulp.h>

u64 ddp_expect_pack_start(const u8 *hdr, u32 len);
bool ddp_expect_next(struct ddp_expected *e, const struct ddp_rx_seg *g);
void ddp_expect_write_raw(struct ddp_rx_seg *g);

#endif
