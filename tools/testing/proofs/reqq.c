// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The queue of outstanding requests, and the checks of responses. Proved for a ring of up
 * to 16383 entries (the maximum of a 14-bit depth) in any state that satisfies the
 * invariant is_sound(). Each step keeps the invariant. Proofs that write an entry use rings
 * of up to 4 entries, because a longer ring only has more entries that do not change.
 *
 * Files: rnic_sw/rdmap_reqq.c
 * Checks: conversion
 * Bound: 1, there is no loop
 * prove_expected_response: Bound 2; Slow; as many requests as the ring in the proof
 *	has; each is checked by itself, so more of them would not add a case
 * Mutation: rnic_sw/rdmap_reqq.c s/at < q->size ? at : at - q->size/at <= q->size ? at : at - q->size/
 * Mutation: rnic_sw/rdmap_reqq.c s/q->served -= min(n, q->served)/q->served = 0/
 * Mutation: rnic_sw/rdmap_reqq.c s/h->to != r->sink_to + oldest->done/h->to < r->sink_to/
 * Mutation: rnic_sw/rdmap_reqq.c s/payload <= r->len - off/payload <= r->len/
 * Mutation: rnic_sw/rdmap_reqq.c s/if (rdmap_reqq_is_full(q))/if (0)/
 */
#include "../../../drivers/rnic_sw/rdmap_reqq.h"
#include "proof.h"

static bool is_sound(const struct rdmap_reqq *q)
{
	return q->size <= 0x3fff && q->used <= q->size &&
	       q->served <= q->used && (q->head < q->size || !q->head);
}

/* Get the index of the @n-th entry after the oldest */
static u32 get_entry_index(const struct rdmap_reqq *q, u32 n)
{
	u32 at = q->head + n;

	return at >= q->size ? at - q->size : at;
}

static struct rdmap_reqq any_queue(void)
{
	struct rdmap_reqq q;

	GIVEN(is_sound(&q));
	q.req = malloc(q.size * sizeof(*q.req));
	GIVEN(q.req);
	return q;
}

static bool is_same_queue(const struct rdmap_reqq *a, const struct rdmap_reqq *b)
{
	return a->req == b->req && a->size == b->size && a->head == b->head &&
	       a->used == b->used && a->served == b->served;
}

void prove_init(void)
{
	struct rdmap_req one;
	struct rdmap_reqq q;
	u16 size = ANY(u16);

	GIVEN(size <= 0x3fff);
	rdmap_reqq_init(&q, size ? &one : NULL, size);
	MUST("the invariant holds, and the queue is empty", is_sound(&q) && q.size == size &&
	     rdmap_reqq_is_empty(&q) && !rdmap_reqq_peek(&q) &&
	     !rdmap_reqq_peek_unserved(&q));
	MUST("RDMAP-142: an empty queue is full exactly if its depth is 0",
	     rdmap_reqq_is_full(&q) == !size);
	REACHED("end");
}

void prove_reqq_push(void)
{
	struct rdmap_req ring[4];
	struct rdmap_reqq q, was;
	u32 other = ANY(u32), old = 0;
	struct rdmap_req *req;

	GIVEN(is_sound(&q) && q.size <= 4);
	q.req = ring;
	was = q;
	if (other < q.used)
		old = q.req[get_entry_index(&q, other)].slot;
	req = rdmap_reqq_push(&q);
	MUST("RDMAP-142: exactly a full queue refuses an entry",
	     !req == (was.used == was.size));
	MUST("the invariant holds again", is_sound(&q));
	if (!req) {
		MUST("a full queue is not changed", is_same_queue(&q, &was));
		REACHED("refused");
		return;
	}
	MUST("the new entry is the newest one", q.used == was.used + 1 &&
	     q.served == was.served && q.head == was.head &&
	     req == &q.req[get_entry_index(&q, was.used)]);
	MUST("the new entry is zeroed", !req->slot && !req->done && !req->is_atomic &&
	     !req->flags && !req->rreq.len && !req->atomic.cmp_mask);
	if (other < was.used)
		MUST("no other entry is changed",
		     q.req[get_entry_index(&q, other)].slot == old);
	REACHED("pushed");
}

void prove_reqq_peek(void)
{
	struct rdmap_reqq q = any_queue(), was = q;
	const struct rdmap_req *oldest = rdmap_reqq_peek(&q);
	const struct rdmap_req *due = rdmap_reqq_peek_unserved(&q);

	MUST("RDMAP-86: the oldest entry is found", oldest ==
	     (q.used ? &q.req[get_entry_index(&q, 0)] : NULL));
	MUST("RDMAP-86, RDMAP-131, EXT-67: the oldest entry that is not served is found", due ==
	     (q.served < q.used ? &q.req[get_entry_index(&q, q.served)] : NULL));
	MUST("looking up entries changes nothing", is_same_queue(&q, &was));
	rdmap_reqq_mark_served(&q);
	MUST("RDMAP-72: entries are served one by one", is_sound(&q) && q.used == was.used &&
	     q.served == was.served + (was.served < was.used));
	if (due && due != oldest)
		REACHED("an entry after served ones");
}

void prove_reqq_release(void)
{
	struct rdmap_reqq q = any_queue(), was = q;
	u16 n = ANY(u16), gone = min(n, q.used);
	u32 left = ANY(u32);

	rdmap_reqq_release(&q, n);
	MUST("the invariant holds again", is_sound(&q));
	MUST("at most all entries are released", q.used == was.used - gone &&
	     q.served == (was.served > gone ? was.served - gone : 0));
	if (left >= q.used)
		return;
	MUST("RDMAP-86: the other entries stay where they are, in order",
	     get_entry_index(&q, left) == get_entry_index(&was, left + gone));
	if (gone && q.head < was.head)
		REACHED("the head wraps");
}

/*
 * Check whether a segment continues the response to a request (RFC 5040 5.2.2): it must be
 * for the requested buffer, in order, and the last one must complete the request
 */
static bool is_next_response(const struct rdmap_req *r, const struct ddp_hdr *h, u32 len)
{
	u64 done = (u64)r->done + len;

	if (len && (h->stag != r->rreq.sink_stag ||
		    h->to != r->rreq.sink_to + r->done))
		return false;
	return done <= r->rreq.len && h->last == (done == r->rreq.len);
}

void prove_response_check(void)
{
	struct rdmap_req req;
	struct ddp_hdr h;
	u32 payload = ANY(u32);
	enum iw_reason why;

	req.is_atomic = any_bool();
	h.last = any_bool();
	GIVEN(req.done <= req.rreq.len);
	MUST("RDMAP-158: a response without a request is an error",
	     rdmap_resp_check(NULL, &h, payload) == IW_RDMAP_OPCODE);
	why = rdmap_resp_check(&req, &h, payload);
	if (req.is_atomic) {
		MUST("EXT-81: a Read Response to an atomic is an error", why == IW_RDMAP_OPCODE);
		REACHED("atomic");
		return;
	}
	MUST("SEC-15: exactly a response to the requested range is accepted",
	     (why == IW_OK) == is_next_response(&req, &h, payload));
	MUST("RDMAP-54: other responses are errors of the tagged model",
	     !why || why == IW_DDP_T_BOUNDS ||
	     (why == IW_DDP_T_STAG && h.stag != req.rreq.sink_stag));
	if (why)
		return;
	req.done += payload;
	MUST("the precondition of the next response holds", req.done <= req.rreq.len);
	if (h.last)
		REACHED("last segment");
	else
		REACHED("more to come");
}

/* Check whether a Read Request covers all bytes of a segment */
static bool is_range_requested(const struct rdmap_req *r, const struct ddp_hdr *h, u32 len)
{
	/* offset in the request; DDP rejects a sink that wraps at 64 bits */
	u64 from = h->to - r->rreq.sink_to;

	return !r->is_atomic && h->stag == r->rreq.sink_stag &&
	       from <= U32_MAX && from + len <= r->rreq.len;
}

void prove_expected_response(void)
{
	struct rdmap_req req[2];
	struct rdmap_reqq q;
	struct ddp_hdr h;
	u32 payload = ANY(u32), i;
	bool any = false;

	GIVEN(q.size && q.size <= 2 && is_sound(&q));
	q.req = req;
	for (i = 0; i < 2; i++)
		req[i].is_atomic = any_bool();
	for (i = 0; i < q.used; i++)
		any |= is_range_requested(&req[get_entry_index(&q, i)], &h, payload);
	MUST("SEC-15: only requested ranges are placed early",
	     rdmap_resp_is_expected(&q, &h, payload) == any);
	if (any && q.used == 2)
		REACHED("a requested range");
}

void prove_atomic_response(void)
{
	struct rdmap_req req;

	req.is_atomic = any_bool();
	MUST("EXT-54: an atomic response without a request is an error", rdmap_aresp_check(NULL) ==
	     IW_DDP_U_NO_BUFFER);
	MUST("EXT-57, EXT-81: an atomic response to a Read is an error",
	     rdmap_aresp_check(&req) ==
	     (req.is_atomic ? IW_OK : IW_RDMAP_OPCODE));
	REACHED("end");
}
