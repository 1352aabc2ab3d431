// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Untagged queues (RFC 5041 sections 4.3 and 7.1).
 *
 * The LLP passes segments in order, so at any time a queue accepts exactly one
 * MSN and MO. DDP checks that a segment has this MSN (7.1 U5) and MO (U3). The
 * ULP decides whether the message has a buffer (U2).
 */
#include "untagged.h"
#include "wire.h"

/**
 * ddp_untagged_init - initialize the receive state of an untagged queue
 * @q: the queue
 */
void ddp_untagged_init(struct ddp_untagged_queue *q)
{
	q->msn = DDP_MSN_FIRST;
	q->mo = 0;
}

/**
 * ddp_untagged_check_hdr - check that a segment is the next expected one of its queue
 * @uq: all DDP_QUEUES queues of the stream
 * @h: header of the segment
 *
 * Called before the ULP chooses a buffer, even for a segment without payload.
 * The MSN is only compared for equality, so its wrap needs no special case.
 *
 * Return: IW_OK if the segment is the next expected one;
 * IW_DDP_U_QN if the queue number is invalid (RFC 5041 7.1 U1);
 * IW_DDP_U_MSN_RANGE if the MSN is not the next expected one (U5);
 * IW_DDP_U_MO if bytes of the message are missing or repeated (U3).
 */
enum iw_reason ddp_untagged_check_hdr(const struct ddp_untagged_queue *uq, const struct ddp_hdr *h)
{
	if (h->qn >= DDP_QUEUES)
		return IW_DDP_U_QN;
	if (h->msn != uq[h->qn].msn)
		return IW_DDP_U_MSN_RANGE;
	if (h->mo != uq[h->qn].mo)
		return IW_DDP_U_MO;
	return IW_OK;
}

/**
 * ddp_untagged_check_len - check that a segment ends within the buffer of its message
 * @h: header, accepted by ddp_untagged_check_hdr()
 * @payload: length of the payload in bytes
 * @buf_len: length of the buffer in bytes
 *
 * Return: IW_OK if the segment ends within the buffer; IW_DDP_U_TOO_LONG if not
 * (RFC 5041 7.1 U4).
 */
enum iw_reason ddp_untagged_check_len(const struct ddp_hdr *h, u32 payload, u32 buf_len)
{
	return (u64)h->mo + payload <= buf_len ? IW_OK : IW_DDP_U_TOO_LONG;
}

/**
 * ddp_untagged_advance - set the next expected MSN and MO of a queue after a segment
 * @q: the queue
 * @h: header, accepted by ddp_untagged_check_hdr() and ddp_untagged_check_len()
 * @payload: length of the payload in bytes
 */
void ddp_untagged_advance(struct ddp_untagged_queue *q, const struct ddp_hdr *h, u32 payload)
{
	if (h->last) {
		q->msn++;
		q->mo = 0;
	} else {
		q->mo += payload;
	}
}
