// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Untagged queues (RFC 5041 sections 4.3 and 7.1).
 *
 * The LLP hands segments up in order, so exactly one (MSN, MO) is legal at any
 * time: the window of 7.1 U5 starts at the message that is due, and whether it
 * has a buffer at all is the ULP's to say (U2).
 */
#include "untagged.h"
#include "wire.h"

/**
 * ddp_uq_init - a queue of a new stream
 * @q: the queue
 */
void ddp_uq_init(struct ddp_uq *q)
{
	q->msn = DDP_MSN_FIRST;
	q->mo = 0;
}

/**
 * ddp_uq_due - is this the segment its queue waits for?
 * @uq: the stream's queues, all DDP_QUEUES of them
 * @h: header of the segment
 *
 * All there is to check before the ULP is asked for the buffer, of segments
 * without payload too.  Equality needs no care where MSN wraps.
 *
 * Return: IW_OK, IW_DDP_U_QN (RFC 5041 7.1 U1), IW_DDP_U_MSN_RANGE (U5), or
 * IW_DDP_U_MO if octets of the message are missing or come twice (U3).
 */
enum iw_reason ddp_uq_due(const struct ddp_uq *uq, const struct ddp_hdr *h)
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
 * ddp_uq_fits - does the segment end within its message's buffer?
 * @h: its header, for which ddp_uq_due() said IW_OK
 * @payload: its octets
 * @buf_len: length of the buffer
 *
 * Return: IW_OK or IW_DDP_U_TOO_LONG (RFC 5041 7.1 U4).
 */
enum iw_reason ddp_uq_fits(const struct ddp_hdr *h, u32 payload, u32 buf_len)
{
	return (u64)h->mo + payload <= buf_len ? IW_OK : IW_DDP_U_TOO_LONG;
}

/**
 * ddp_uq_advance - the segment has been taken
 * @q: its queue
 * @h: its header, for which ddp_uq_due() and ddp_uq_fits() said IW_OK
 * @payload: its octets
 */
void ddp_uq_advance(struct ddp_uq *q, const struct ddp_hdr *h, u32 payload)
{
	if (h->last) {
		q->msn++;
		q->mo = 0;
	} else {
		q->mo += payload;
	}
}
