// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The queue of outstanding requests, and the check of their answers. */
#include <ddp/pure.h>

#include "rdmap_reqq.h"

/* The entry @n behind the oldest */
static struct rdmap_req *rdmap_reqq_entry(const struct rdmap_reqq *q, u32 n)
{
	u32 at = q->head + n;

	return &q->req[at < q->size ? at : at - q->size];
}

/**
 * rdmap_reqq_init - an empty queue
 * @q: the queue
 * @req: room for @size requests; may be NULL if @size is 0
 * @size: the most that may be outstanding (RFC 5040 section 6.1)
 */
void rdmap_reqq_init(struct rdmap_reqq *q, struct rdmap_req *req, u16 size)
{
	*q = (struct rdmap_reqq){ .req = req, .size = size };
}

/**
 * rdmap_reqq_push - one more request, the newest
 * @q: the queue
 *
 * Return: its entry, zeroed, to be filled in; NULL if as many as may be are
 * outstanding: a requester then waits, to a responder it is 1/2/02.
 */
struct rdmap_req *rdmap_reqq_push(struct rdmap_reqq *q)
{
	struct rdmap_req *req;

	if (rdmap_reqq_full(q))
		return NULL;
	req = rdmap_reqq_entry(q, q->used++);
	memset(req, 0, sizeof(*req));
	return req;
}

/**
 * rdmap_reqq_peek - the oldest request
 * @q: the queue
 *
 * Return: its entry, or NULL if there is none.
 */
struct rdmap_req *rdmap_reqq_peek(const struct rdmap_reqq *q)
{
	return q->used ? rdmap_reqq_entry(q, 0) : NULL;
}

/**
 * rdmap_reqq_pop - the oldest request is done with
 * @q: the queue, not empty
 *
 * Its entry may be handed out again.
 */
void rdmap_reqq_pop(struct rdmap_reqq *q)
{
	rdmap_reqq_release(q, 1);
}

/**
 * rdmap_reqq_serve - the oldest request not served
 * @q: the queue
 *
 * Responses leave in the order the requests came (RFC 5040 5.2.2, 5.5 (20)).
 *
 * Return: its entry, or NULL if there is none.
 */
struct rdmap_req *rdmap_reqq_serve(const struct rdmap_reqq *q)
{
	return q->served < q->used ? rdmap_reqq_entry(q, q->served) : NULL;
}

/**
 * rdmap_reqq_served - the request that rdmap_reqq_serve() gave is served
 * @q: the queue
 *
 * It stays outstanding until released.
 */
void rdmap_reqq_served(struct rdmap_reqq *q)
{
	if (q->served < q->used)
		q->served++;
}

/**
 * rdmap_reqq_release - the @n oldest requests are done with
 * @q: the queue
 * @n: how many, at most all
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
 * rdmap_resp_check - does a Read Response segment answer our oldest request?
 * @oldest: the oldest unanswered request, or NULL if there is none
 * @h: the segment's header
 * @payload: its octets of payload
 *
 * RFC 5040 5.2.2 lets a Data Sink check STag, Tagged Offset and length against
 * the request; we do, so that nobody writes where we did not ask for it.
 * Segments arrive in order, so each begins where the one before it ended, and
 * the last one ends the request exactly.  What does not fit is an error of the
 * tagged buffer model: RDMAP's own protection errors are not for responses
 * (figure 10).  STag and TO of an empty segment are not looked at (RFC 5041
 * section 5.2).
 *
 * Return: IW_OK; IW_RDMAP_OPCODE: nobody asked; IW_DDP_T_STAG: another STag;
 * IW_DDP_T_BOUNDS: outside the request, a gap, or too short.
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

static bool asked_for(const struct rdmap_req *req, const struct ddp_hdr *h,
		      u32 payload)
{
	const struct rdmap_rreq *r = &req->rreq;
	u64 off = h->to - r->sink_to;

	return !req->is_atomic && h->stag == r->sink_stag && off <= r->len &&
	       payload <= r->len - off;
}

/**
 * rdmap_resp_expected - did any of our requests ask for these octets?
 * @q: our requests
 * @h: header of a Read Response segment that is here before its turn
 * @payload: its octets of payload
 *
 * Told by the sink, for nothing says yet which request it answers.  Whether it
 * comes rightly rdmap_resp_check() says when its turn comes.
 *
 * Return: whether it may be placed.
 */
bool rdmap_resp_expected(const struct rdmap_reqq *q, const struct ddp_hdr *h,
			 u32 payload)
{
	u16 i;

	for (i = 0; i < q->used; i++)
		if (asked_for(rdmap_reqq_entry(q, i), h, payload))
			return true;
	return false;
}

/**
 * rdmap_aresp_admit - may an Atomic Operation Response come now?
 * @oldest: the oldest unanswered request, or NULL if there is none
 *
 * Each atomic outstanding is a buffer on queue 3 (RFC 7306 5.2.2 (5)), and
 * responses come in the order of the requests (8).
 *
 * Return: IW_OK; IW_DDP_U_NO_BUFFER: nothing is outstanding; IW_RDMAP_OPCODE:
 * the answer to a Read is due first.
 */
enum iw_reason rdmap_aresp_admit(const struct rdmap_req *oldest)
{
	if (!oldest)
		return IW_DDP_U_NO_BUFFER;
	return oldest->is_atomic ? IW_OK : IW_RDMAP_OPCODE;
}
