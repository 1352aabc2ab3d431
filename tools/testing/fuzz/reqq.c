// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The queue of outstanding requests, which must behave like a simple array, and
 * the check of Read Responses against the requests.
 *
 * Input: the size of the queue, then steps: a byte selects the step, and its
 * operands follow. A response is 16 bits of length and then a DDP segment.
 */
#include "../../../drivers/ddp/hdr.h"
#include "../../../drivers/rnic_sw/rdmap_reqq.h"
#include "fuzz.h"

#define SIZE_MAX_	8

/* Contents of the queue, oldest first */
struct model {
	u32	slot[SIZE_MAX_];
	u32	used, served, next;
};

static void drop_from_model(struct model *m, u32 n)
{
	u32 i;

	n = min(n, m->used);
	m->used -= n;
	m->served -= min(n, m->served);
	for (i = 0; i < m->used; i++)
		m->slot[i] = m->slot[i + n];
}

static void push_and_check_request(struct rdmap_reqq *q, struct model *m, struct input *in)
{
	struct rdmap_req *req = rdmap_reqq_push(q);
	static const struct rdmap_req zero;

	MUST("reqq-full", !req == (m->used == q->size));
	if (!req)
		return;
	MUST("reqq-inside", req >= q->req && req < q->req + q->size);
	MUST("reqq-zeroed", !memcmp(req, &zero, sizeof(zero)));
	req->is_atomic = read_u8(in) & 1;
	req->slot = m->next;
	req->rreq.len = read_u16(in);
	req->rreq.sink_stag = read_u32(in);
	req->rreq.sink_to = read_u64(in);
	m->slot[m->used++] = m->next++;
}

static void compare_with_model(const struct rdmap_reqq *q, const struct model *m)
{
	struct rdmap_req *oldest = rdmap_reqq_peek(q);
	struct rdmap_req *due = rdmap_reqq_peek_unserved(q);

	MUST("reqq-used", q->used == m->used && q->served == m->served);
	MUST("reqq-served", q->served <= q->used && q->used <= q->size);
	MUST("reqq-head", !q->size || q->head < q->size);
	MUST("reqq-oldest", oldest ? m->used && oldest->slot == m->slot[0]
				   : !m->used);
	MUST("reqq-due", due ? m->served < m->used &&
			       due->slot == m->slot[m->served]
			     : m->served == m->used);
	MUST("reqq-empty", rdmap_reqq_is_empty(q) == !m->used);
	MUST("reqq-is-full", rdmap_reqq_is_full(q) == (m->used == q->size));
}

/*
 * Check whether a segment is the next part of the response to @req, and has L set exactly
 * if it completes the response (RFC 5040 5.2.2)
 */
static bool is_valid_response(const struct rdmap_req *req, const struct ddp_hdr *h, u32 len)
{
	const struct rdmap_rreq *r;

	if (!req || req->is_atomic)
		return false;
	r = &req->rreq;
	if (len && (h->stag != r->sink_stag || h->to != r->sink_to + req->done))
		return false;
	return len <= r->len - req->done &&
	       h->last == (req->done + len == r->len);
}

static void receive_and_check_response(struct rdmap_reqq *q, struct model *m, struct input *in)
{
	struct rdmap_req *req = rdmap_reqq_peek(q);
	size_t len = read_u16(in);
	struct ddp_hdr h;
	enum iw_reason why;
	u8 *p = read_bytes(in, &len);

	why = ddp_hdr_decode(&h, p, len);
	free(p);
	if (why || !h.tagged)
		return;
	len -= DDP_T_HDR_LEN;
	why = rdmap_resp_check(req, &h, len);
	MUST("response-fits", (why == IW_OK) == is_valid_response(req, &h, len));
	MUST("response-reason", why == IW_OK || why == IW_RDMAP_OPCODE ||
	     why == IW_DDP_T_STAG || why == IW_DDP_T_BOUNDS);
	if (why)
		return;
	req->done += len;
	MUST("response-done", req->done <= req->rreq.len);
	if (h.last) {
		rdmap_reqq_pop(q);
		drop_from_model(m, 1);
	}
}

/*
 * Check that a correct response to the oldest request is accepted, in segments
 * of any size
 */
static void receive_correct_response(struct rdmap_reqq *q, struct model *m, u32 piece)
{
	struct rdmap_req *req = rdmap_reqq_peek(q);
	struct ddp_hdr h = { .tagged = true };
	u32 len;

	if (!req || req->is_atomic)
		return;
	h.stag = req->rreq.sink_stag;
	do {
		len = min(req->rreq.len - req->done, piece + 1);
		h.to = req->rreq.sink_to + req->done;
		h.last = req->done + len == req->rreq.len;
		MUST("response-right",
		     rdmap_resp_check(req, &h, len) == IW_OK);
		req->done += len;
	} while (!h.last);
	rdmap_reqq_pop(q);
	drop_from_model(m, 1);
}

static void check_atomic_response(const struct rdmap_reqq *q)
{
	const struct rdmap_req *req = rdmap_reqq_peek(q);
	enum iw_reason why = rdmap_aresp_check(req);

	MUST("aresp-admit", why == (!req ? IW_DDP_U_NO_BUFFER :
				    req->is_atomic ? IW_OK : IW_RDMAP_OPCODE));
}

static void run_step(struct rdmap_reqq *q, struct model *m, struct input *in)
{
	u32 n;

	switch (read_u8(in) % 7) {
	case 0:
	case 1:
		push_and_check_request(q, m, in);
		break;
	case 2:
		rdmap_reqq_mark_served(q);
		m->served += m->served < m->used;
		break;
	case 3:
		n = read_u8(in);
		rdmap_reqq_release(q, n);
		drop_from_model(m, n);
		break;
	case 4:
		receive_and_check_response(q, m, in);
		break;
	case 5:
		receive_correct_response(q, m, read_u8(in));
		break;
	case 6:
		check_atomic_response(q);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u16 places = read_u8(&in) % (SIZE_MAX_ + 1);
	struct rdmap_req *room = places ? calloc(places, sizeof(*room)) : NULL;
	struct model m = {};
	struct rdmap_reqq q;

	rdmap_reqq_init(&q, room, places);
	while (in.left) {
		run_step(&q, &m, &in);
		compare_with_model(&q, &m);
	}
	free(room);
	return 0;
}
