// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Checks of segments to the untagged queues. Proved for one segment in any state of the
 * queues, so this holds for any sequence of segments.
 *
 * Files: ddp/untagged.c
 * Checks: conversion
 * Bound: 1, there is no loop
 * Mutation: ddp/untagged.c s/h->qn >= DDP_QUEUES/h->qn > DDP_QUEUES/
 * Mutation: ddp/untagged.c s/(u64)h->mo + payload/h->mo + payload/
 * Mutation: ddp/untagged.c s/q->mo += payload/q->mo = payload/
 */
#include "../../../drivers/ddp/untagged.h"
#include "proof.h"

void prove_init(void)
{
	struct ddp_untagged_queue q;

	ddp_untagged_init(&q);
	MUST("DDP-42, DDP-45: a queue begins with MSN 1 and MO 0", q.msn == 1 && !q.mo);
	REACHED("end");
}

/* Get the result of checks of QN, MSN and MO in this order (RFC 5041 7.1 U1, U5, U3) */
static enum iw_reason compute_expected_result(const struct ddp_untagged_queue *uq,
                                              const struct ddp_hdr *h)
{
	if (h->qn > 3)
		return IW_DDP_U_QN;
	if (h->msn != uq[h->qn].msn)
		return IW_DDP_U_MSN_RANGE;
	return h->mo == uq[h->qn].mo ? IW_OK : IW_DDP_U_MO;
}

void prove_expected_segment(void)
{
	struct ddp_untagged_queue uq[DDP_QUEUES];
	struct ddp_hdr h;
	enum iw_reason why = ddp_untagged_check_hdr(uq, &h);

	MUST("DDP-86, DDP-92, DDP-94: only the expected segment is accepted",
	     why == compute_expected_result(uq, &h));
	if (why == IW_DDP_U_QN)
		REACHED("wrong QN");
	if (why == IW_DDP_U_MSN_RANGE)
		REACHED("wrong MSN");
	if (why == IW_DDP_U_MO)
		REACHED("wrong MO");
	if (why == IW_OK && h.msn == 0)
		REACHED("the MSN has wrapped");
}

/* A segment that passes all checks is within the buffer and advances its queue */
void prove_segment_advances_queue(void)
{
	struct ddp_untagged_queue uq[DDP_QUEUES], before;
	u32 payload = ANY(u32), buf_len = ANY(u32);
	struct ddp_hdr h;
	u64 end;
	enum iw_reason why;

	h.last = any_bool();
	if (ddp_untagged_check_hdr(uq, &h))
		return;
	before = uq[h.qn];
	end = (u64)h.mo + payload;
	why = ddp_untagged_check_len(&h, payload, buf_len);
	MUST("DDP-93: exactly a segment within the buffer is accepted",
	     (why == IW_OK) == (end <= buf_len));
	MUST("DDP-108: a refused segment is reported as too long",
	     !why || why == IW_DDP_U_TOO_LONG);
	if (why) {
		REACHED("too long");
		return;
	}
	ddp_untagged_advance(&uq[h.qn], &h, payload);
	if (h.last) {
		MUST("DDP-41, DDP-43, DDP-95: the next message is expected",
		     uq[h.qn].msn == before.msn + 1 &&
		     !uq[h.qn].mo);
		REACHED("last");
	} else {
		MUST("DDP-44, DDP-51: the next segment is expected",
		     uq[h.qn].msn == before.msn && uq[h.qn].mo == end);
		MUST("DDP-92: the MO stays within the buffer", uq[h.qn].mo <= buf_len);
		REACHED("more");
	}
}
