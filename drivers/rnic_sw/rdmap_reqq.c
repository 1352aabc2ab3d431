// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queue of outstanding requests, and checks of the responses to them. */
#include <ddp/pure.h>

#include "rdmap_reqq.h"

/* Get the entry of the @n-th request, where the oldest request has number 0 */
static struct rdmap_req *rdmap_reqq_get_entry(const struct rdmap_reqq *q, u32 n)
{
	u32 at = q->head + n;

	return &q->req[at < q->size ? at : at - q->size];
}

/**
 * rdmap_reqq_init - initialize an empty queue
 * @q: the queue
 * @req: array of @size entries, which the caller frees after the queue is no
 *	longer used; may be NULL if @size is 0
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
 * Return: the zeroed entry, which the caller fills in; NULL if the queue is full. If it
 * is full, a requester must wait for a response, and a responder must fail the stream
 * with error 1/2/02 (IW_DDP_U_NO_BUFFER).
 */
struct rdmap_req *rdmap_reqq_push(struct rdmap_reqq *q)
{
	struct rdmap_req *req;

	if (rdmap_reqq_is_full(q))
		return NULL;
	req = rdmap_reqq_get_entry(q, q->used++);
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
	return q->used ? rdmap_reqq_get_entry(q, 0) : NULL;
}

/**
 * rdmap_reqq_pop - remove the oldest request
 * @q: the queue
 *
 * The next rdmap_reqq_push() may reuse the entry of the request.
 */
void rdmap_reqq_pop(struct rdmap_reqq *q)
{
	rdmap_reqq_release(q, 1);
}

/**
 * rdmap_reqq_peek_unserved - get the oldest request that is not served
 * @q: the queue
 *
 * The responder must serve requests in the order in which they arrived (RFC
 * 5040 5.2.2, 5.5 (20)).
 *
 * Return: the entry of the request; NULL if all requests in the queue are
 * served.
 */
struct rdmap_req *rdmap_reqq_peek_unserved(const struct rdmap_reqq *q)
{
	return q->served < q->used ? rdmap_reqq_get_entry(q, q->served) : NULL;
}

/**
 * rdmap_reqq_mark_served - mark the oldest unserved request as served
 * @q: the queue
 *
 * The request remains in the queue until it is released.
 */
void rdmap_reqq_mark_served(struct rdmap_reqq *q)
{
	if (q->served < q->used)
		q->served++;
}

/**
 * rdmap_reqq_count_reads - count the Reads among the @n oldest requests
 * @q: the queue
 * @n: number of requests to examine; if it exceeds the number in the queue, all
 *	requests are examined
 *
 * Return: the number of Reads; neither atomics nor the peer's RTR message count.
 */
u16 rdmap_reqq_count_reads(const struct rdmap_reqq *q, u16 n)
{
	u16 i, reads = 0;

	for (i = 0; i < n && i < q->used; i++) {
		const struct rdmap_req *req = rdmap_reqq_get_entry(q, i);

		reads += !req->is_atomic && !req->is_rtr;
	}
	return reads;
}

/**
 * rdmap_reqq_release - remove the @n oldest requests
 * @q: the queue
 * @n: number of requests to remove; if it exceeds the number in the queue, all
 *	requests are removed
 */
void rdmap_reqq_release(struct rdmap_reqq *q, u16 n)
{
	n = min(n, q->used);
	q->used -= n;
	q->served -= min(n, q->served);
	if (n)
		q->head = rdmap_reqq_get_entry(q, n) - q->req;
}

/**
 * rdmap_resp_check - check a Read Response segment against the oldest request
 * @oldest: the oldest unanswered request, or NULL if there is none
 * @h: DDP header of the segment
 * @payload: length of the payload in bytes
 *
 * Ensures that the peer writes only to the sink of an outstanding Read. RFC 5040 5.2.2
 * allows a Data Sink to check STag, Tagged Offset and length against the request. The
 * caller must pass segments in order. Each segment must begin where the previous segment
 * ended, and the last segment must end where the request ends.
 *
 * A mismatch is reported as a DDP tagged buffer error, because RDMAP's protection errors
 * do not apply to responses (RFC 5040 figure 10). STag and TO of an empty segment are
 * ignored (RFC 5041 section 5.2).
 *
 * Return: IW_OK; IW_RDMAP_OPCODE if @oldest is NULL or not a Read; IW_DDP_T_STAG if the
 * STag is not the sink STag of the request; IW_DDP_T_BOUNDS if TO, length or L bit do not
 * match the request.
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

static bool is_in_read_sink(const struct rdmap_req *req, const struct ddp_hdr *h,
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
 * Compares the segment with the sink of each Read in @q, because an out-of-order segment
 * does not show to which request it belongs. The caller must call rdmap_resp_check() as
 * well when the segment is next in order.
 *
 * Return: true if the sink of a Read covers the segment, so that the segment may be
 * placed; false otherwise.
 */
bool rdmap_resp_is_expected(const struct rdmap_reqq *q, const struct ddp_hdr *h,
			    u32 payload)
{
	u16 i;

	for (i = 0; i < q->used; i++)
		if (is_in_read_sink(rdmap_reqq_get_entry(q, i), h, payload))
			return true;
	return false;
}

/**
 * rdmap_aresp_check - check whether an Atomic Operation Response may arrive now
 * @oldest: the oldest unanswered request, or NULL if there is none
 *
 * Each outstanding atomic counts as a buffer on queue 3 (RFC 7306 5.2.2 (5)).
 * The peer must send responses in the order of the requests (RFC 7306 5.2.2
 * (8)).
 *
 * Return: IW_OK if @oldest is an atomic; IW_DDP_U_NO_BUFFER if @oldest is NULL;
 * IW_RDMAP_OPCODE if @oldest is a Read, whose response must arrive first.
 */
enum iw_reason rdmap_aresp_check(const struct rdmap_req *oldest)
{
	if (!oldest)
		return IW_DDP_U_NO_BUFFER;
	return oldest->is_atomic ? IW_OK : IW_RDMAP_OPCODE;
}
