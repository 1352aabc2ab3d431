// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Segmentation of a message. Proved for one step, for any message, any number of bytes
 * already segmented and any MULPDU. A step makes progress and ensures the precondition of
 * the next one, so together the segments contain the whole message.
 *
 * Files: ddp/segment.c ddp/hdr.c ddp/untagged.c
 * Checks: conversion
 * Bound: 1, there is no loop
 * Mutation: ddp/segment.c s/mulpdu - ddp_hdr_len(c->first)/mulpdu - DDP_T_HDR_LEN/
 * Mutation: ddp/segment.c s/h->last = len == left/h->last = len < mulpdu/
 * Mutation: ddp/segment.c s/h->mo = c->done/h->mo += c->done + 1/
 */
#include "../../../drivers/ddp/hdr.h"
#include "../../../drivers/ddp/segment.h"
#include "../../../drivers/ddp/untagged.h"
#include "proof.h"

static void check_message_fields(const struct ddp_hdr *h, const struct ddp_hdr *first)
{
	MUST("DDP-29, DDP-38: each segment has the message's RsvdULP", h->ulp8 == first->ulp8 &&
	     (h->tagged || h->ulp32 == first->ulp32));
	MUST("DDP-33: each segment has the message's STag", !h->tagged || h->stag == first->stag);
	MUST("DDP-40, DDP-44: each segment has the message's QN and MSN", h->tagged ||
	     (h->qn == first->qn && h->msn == first->msn));
}

/* A receiver that has received all earlier segments accepts this segment */
static void check_receiver_accepts(const struct ddp_hdr *h, const struct ddp_segmentation *c,
                                   u32 len)
{
	struct ddp_untagged_queue uq[DDP_QUEUES];

	if (h->tagged || h->qn >= DDP_QUEUES)
		return;
	uq[h->qn].msn = c->first->msn;
	uq[h->qn].mo = c->done;
	MUST("DDP-51, DDP-60: the receiver expects this segment",
	     ddp_untagged_check_hdr(uq, h) == IW_OK);
	MUST("DDP-93: the segment fits into the receiver's buffer",
	     ddp_untagged_check_len(h, len, c->total) == IW_OK);
	ddp_untagged_advance(&uq[h->qn], h, len);
	MUST("DDP-20, DDP-41: the receiver then expects the next segment",
	     h->last ? uq[h->qn].msn == c->first->msn + 1 && !uq[h->qn].mo
		     : uq[h->qn].msn == c->first->msn &&
		       uq[h->qn].mo == c->done + len);
	REACHED("received");
}

void prove_next_segment(void)
{
	struct ddp_hdr first, h;
	struct ddp_segmentation c = {
		.first = &first, .total = ANY(u32), .done = ANY(u32),
	};
	u32 mulpdu = ANY(u32), len;

	first.tagged = any_bool();
	GIVEN(mulpdu >= DDP_MULPDU_MIN);
	GIVEN(c.done < c.total || (!c.done && !c.total));
	len = ddp_compute_segment(&c, mulpdu, &h);
	MUST("DDP-47: the segment does not exceed MULPDU", (u64)len + ddp_hdr_len(&h) <= mulpdu);
	MUST("DDP-49: the segment does not exceed the rest of the message",
	     len <= c.total - c.done);
	MUST("DDP-54: a segment is empty only if the message is", len || !c.total);
	MUST("DDP-17, DDP-18: exactly the last segment has L set",
	     h.last == (c.done + len == c.total));
	MUST("DDP-53: the TO grows by the bytes already segmented",
	     !h.tagged || h.to == (u64)(first.to + c.done));
	MUST("DDP-45, DDP-51: the MO is the number of bytes already segmented",
	     h.tagged || h.mo == c.done);
	check_message_fields(&h, &first);
	check_receiver_accepts(&h, &c, len);
	c.done += len;
	MUST("the precondition of the next step holds", h.last || c.done < c.total);
	if (!h.last)
		REACHED("more to come");
	if (!c.total)
		REACHED("empty message");
}
