/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Order and length checks for untagged queues. */
#ifndef _DDP_UNTAGGED_H
#define _DDP_UNTAGGED_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include <ddp/ulp.h>

void ddp_untagged_init(struct ddp_untagged_queue *q);
enum iw_reason ddp_untagged_check_hdr(const struct ddp_untagged_queue *uq, const struct ddp_hdr *h);
enum iw_reason ddp_untagged_check_len(const struct ddp_hdr *h, u32 payload, u32 buf_len);
void ddp_untagged_advance(struct ddp_untagged_queue *q, const struct ddp_hdr *h, u32 payload);

#endif
