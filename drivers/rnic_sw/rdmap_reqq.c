// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queue of outstanding requests, and the checks of their responses. */
#include <ddp/pure.h>

#include "rdmap_reqq.h"

/* Entry number @n, counted from the oldest */
static struct rdmap_req *rdmap_reqq_entry(const struct rdmap_reqq *q, u32 n)
{
	u32 at = q->head + n;

	return &q->req[at < q->size ? at : at - q->size];
}

/**
 * rdmap_reqq_init - initialize an empty queue
 * @q: the queue
 * @req: array of @size entries, owned by the caller; may be NULL if @size is 0
 * @size: maximum number of requests in the queue (RFC 5040 section 6.1)
 */
void rdmap_reqq_init(struct rdmap_reqq *q, struct rdmap_req *req, u16 size)
{
	*q = (struct rdmap_reqq){ .req = req, .size = size };
}

/**
 * rdmap_reqq_push - append a request
 * @q: the queue
 *
 * Return: the zeroed entry, which the caller fills in; NULL if the queue is
 * full. A requester then waits, a responder reports error 1/2/02.
 */
struct rdmap_req *rdmap_reqq_push(struct rdmap_reqq *q)
{
	struct rdmap_req *req;

	if (rdmap_reqq_is_full(q))
		return NULL;
	req = rdmap_reqq_entry(q, q->used++);
	memset(req, 0, sizeof(*req));
	return req;
}

/**
 * rdmap_reqq_peek - get the oldest request
 * @q: the queue
 *
 * Return: the entry of the request, or NULL if the queue is empty.
 */
struct rdmap_req *rdmap_reqq_peek(const struct rdmap_reqq *q)
{
	return q->used ? rdmap_reqq_entry(q, 0) : NULL;
}

/**
 * rdmap_reqq_pop - remove the oldest request
 * @q: the queue, not empty
 *
 * The entry may be reused for another request.
 */
void rdmap_reqq_pop(struct rdmap_reqq *q)
{
	rdmap_reqq_release(q, 1);
}

/**
 * rdmap_reqq_peek_unserved - get the oldest request that is not served
 * @q: the queue
 *
 * Responses are sent in the order in which the requests arrived (RFC 5040
 * 5.2.2, 5.5 (20)).
 *
 * Return: the entry of the request, or NULL if all are served.
 */
struct rdmap_req *rdmap_reqq_peek_unserved(const struct rdmap_reqq *q)
{
	return q->served < q->used ? rdmap_reqq_entry(q, q->served) : NULL;
}

/**
 * rdmap_reqq_mark_served - mark the request from rdmap_reqq_peek_unserved() as served
 * @q: the queue
 *
 * The request stays outstanding until it is released.
 */
void rdmap_reqq_mark_served(struct rdmap_reqq *q)
{
	if (q->served < q->used)
		q->served++;
}

/**
 * rdmap_reqq_release - remove the @n oldest requests
 * @q: the queue
 * @n: number of requests; limited to those in the queue
 */
void rdmap_reqq_release(struct rdmap_reqq *q, u16 n)
{
	n = min(n, q->used);
	q->used -= n;
	q->served -= min(n, q->served);
	if (n)
		q->head = rdmap_reqq_entry(q, n) - q->req;
}

/**
 * rdmap_resp_check - check a Read Response segment against the oldest request
 * @oldest: the oldest unanswered request, or NULL if there is none
 * @h: DDP header of the segment
 * @payload: length of the payload in bytes
 *
 * RFC 5040 5.2.2 lets a Data Sink check STag, Tagged Offset and length against
 * the request. They are checked, so that the peer writes only where a Read was
 * requested. Segments arrive in order: each one begins where the previous one
 * ended, and the last one ends the request exactly. A mismatch is an error of
 * the tagged buffer model, because RDMAP's own protection errors do not apply
 * to responses (figure 10). STag and TO of an empty segment are ignored (RFC
 * 5041 section 5.2).
 *
 * Return: IW_OK; IW_RDMAP_OPCODE if the oldest request is not a Read, or there
 * is none; IW_DDP_T_STAG if the STag is wrong; IW_DDP_T_BOUNDS if the segment
 * is outside the request, leaves a gap or ends the message too early.
 */
enum iw_reason rdmap_resp_check(const struct rdmap_req *oldest,
				const struct ddp_hdr *h, u32 payload)
{
	const struct rdmap_rreq *r;
	u32 left;
	bool ends;

	if (!oldest || oldest->is_atomic)
		return IW_RDMAP_OPCODE;
	r = &oldest->rreq;
	left = r->len - oldest->done;
	if (payload && h->stag != r->sink_stag)
		return IW_DDP_T_STAG;
	if (payload && h->to != r->sink_to + oldest->done)
		return IW_DDP_T_BOUNDS;
	if (payload > left)
		return IW_DDP_T_BOUNDS;
	ends = payload == left;
	return h->last == ends ? IW_OK : IW_DDP_T_BOUNDS;
}

static bool is_requested(const struct rdmap_req *req, const struct ddp_hdr *h,
			 u32 payload)
{
	const struct rdmap_rreq *r = &req->rreq;
	u64 off = h->to - r->sink_to;

	return !req->is_atomic && h->stag == r->sink_stag && off <= r->len &&
	       payload <= r->len - off;
}

/**
 * rdmap_resp_is_expected - check whether any outstanding Read covers a segment
 * @q: outstanding requests of the local side
 * @h: DDP header of a Read Response segment that arrived out of order
 * @payload: length of the payload in bytes
 *
 * The segment is compared with the sink of each request, because the request it
 * answers is not known yet. rdmap_resp_check() makes the full check when the
 * segment is next in order.
 *
 * Return: true if the segment may be placed, false otherwise.
 */
bool rdmap_resp_is_expected(const struct rdmap_reqq *q, const struct ddp_hdr *h,
			    u32 payload)
{
	u16 i;

	for (i = 0; i < q->used; i++)
		if (is_requested(rdmap_reqq_entry(q, i), h, payload))
			return true;
	return false;
}

/**
 * rdmap_aresp_check - check whether an Atomic Operation Response may arrive now
 * @oldest: the oldest unanswered request, or NULL if there is none
 *
 * Each outstanding atomic is a buffer on queue 3 (RFC 7306 5.2.2 (5)), and
 * responses arrive in the order of the requests (8).
 *
 * Return: IW_OK; IW_DDP_U_NO_BUFFER if no request is outstanding;
 * IW_RDMAP_OPCODE if a Read Response must come first.
 */
enum iw_reason rdmap_aresp_check(const struct rdmap_req *oldest)
{
	if (!oldest)
		return IW_DDP_U_NO_BUFFER;
	return oldest->is_atomic ? IW_OK : IW_RDMAP_OPCODE;
}
