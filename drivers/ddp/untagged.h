/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Order and length checks for untagged queues. */
#ifndef _DDP_UNTAGGED_H
#define _DDP_UNTAGGED_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include <ddp/ulp.h>

void ddp_uq_init(struct ddp_uq *q);
enum iw_reason ddp_uq_check(const struct ddp_uq *uq, const struct ddp_hdr *h);
enum iw_reason ddp_uq_check_len(const struct ddp_hdr *h, u32 payload, u32 buf_len);
void ddp_uq_advance(struct ddp_uq *q, const struct ddp_hdr *h, u32 payload);

#endif
