// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What an opcode means when it arrives. */
#include "rdmap.h"

/* A Write takes its rights from both the STag and the queue pair */
static enum iw_reason admit_write(struct rdmap *r, u32 payload,
				  struct ddp_grant *g)
{
	g->rights = DDP_REMOTE_WRITE;
	/* no code of its own: N-3 */
	if (payload && !(r->access & DDP_REMOTE_WRITE))
		return IW_DDP_T_STAG;
	return IW_OK;
}

/* A Read Response may only go where the oldest request said */
static enum iw_reason admit_response(struct rdmap *r, const struct ddp_hdr *h,
				     u32 payload, struct ddp_grant *g)
{
	struct rdmap_req *req;
	enum iw_reason why;

	g->rights = DDP_LOCAL_WRITE;
	spin_lock_bh(&r->lock);
	req = rdmap_reqq_peek(&r->orq);
	why = rdmap_resp_check(req, h, payload);
	if (!why)
		req->done += payload;
	spin_unlock_bh(&r->lock);
	return why;
}

static enum iw_reason admit_read_request(struct rdmap *r,
					 struct ddp_grant *g)
{
	bool full;

	spin_lock_bh(&r->lock);
	/*
	 * Not those whose response the peer may have: it can be back with the
	 * next request while the call that sends the response still runs.
	 */
	full = r->irq.used - r->irq.served - r->answering >= r->ird;
	spin_unlock_bh(&r->lock);
	/* RDMAP-82: more requests than our IRD */
	if (full)
		return IW_DDP_U_NO_BUFFER;
	r->rreq_buf.flat = r->rreq;
	r->rreq_buf.len = sizeof(r->rreq);
	g->buf = &r->rreq_buf;
	return IW_OK;
}

static enum iw_reason admit_terminate(struct rdmap *r, struct ddp_grant *g)
{
	r->peer_term_buf.flat = r->peer_term_raw;
	r->peer_term_buf.len = sizeof(r->peer_term_raw);
	g->buf = &r->peer_term_buf;
	return IW_OK;
}

static enum iw_reason admit_send(struct rdmap *r, const struct ddp_hdr *h,
				 u32 payload, struct ddp_grant *g)
{
	g->buf = &r->recv_buf;
	if (r->in_recv)
		return IW_OK;
	/* N-21: the peer's ready-to-receive Send is not the program's */
	if (r->swallow && h->last && !payload) {
		r->recv_buf.flat = r->rreq;
		r->recv_buf.len = 0;
		return IW_OK;
	}
	r->swallow = false;
	if (!rdmap_rq_take(r))
		return IW_DDP_U_NO_BUFFER;
	r->in_recv = true;
	return IW_OK;
}

enum iw_reason rdmap_admit(struct ddp_stream *s, const struct ddp_hdr *h,
			   u32 payload, struct ddp_grant *g)
{
	struct rdmap *r = to_rdmap(s);
	const struct rdmap_op_row *row;
	enum iw_reason why = rdmap_op_check(h, &row);

	if (why)
		return why;
	switch (row->opcode) {
	case RDMAP_OP_WRITE:
		return admit_write(r, payload, g);
	case RDMAP_OP_READ_RESP:
		return admit_response(r, h, payload, g);
	case RDMAP_OP_READ_REQ:
		return admit_read_request(r, g);
	case RDMAP_OP_TERMINATE:
		return admit_terminate(r, g);
	default:
		return admit_send(r, h, payload, g);
	}
}

static enum iw_reason deliver_send(struct rdmap *r, const struct ddp_hdr *h,
				   const struct rdmap_op_row *row, u32 total)
{
	struct rdmap_recv rc = {
		.len = total,
		.solicited = row->solicited,
	};
	enum iw_reason why;

	if (!r->in_recv) {
		r->swallow = false;
		return IW_OK;
	}
	if (row->invalidates) {
		why = ddp_mem_invalidate(&r->stream, h->ulp32, true);
		if (why)
			return why;
		rc.invalidated = true;
		rc.inv = h->ulp32;
	}
	r->in_recv = false;
	rdmap_rq_done(r, &rc);
	return IW_OK;
}

/* RFC 5040 7.2: what DDP finds wrong with the source, in RDMAP's codes */
static enum iw_reason source_reason(enum iw_reason why)
{
	switch (why) {
	case IW_OK:
		return IW_OK;
	case IW_DDP_T_BOUNDS:
		return IW_RDMAP_P_BOUNDS;
	case IW_DDP_T_ASSOC:
		return IW_RDMAP_P_ASSOC;
	case IW_DDP_T_WRAP:
		return IW_RDMAP_P_WRAP;
	default:
		return IW_RDMAP_P_STAG;
	}
}

static enum iw_reason check_source(struct rdmap *r, const struct rdmap_rreq *q)
{
	struct ddp_stream *s = &r->stream;
	enum iw_reason why;

	/* RDMAP-78: of nothing, nothing is checked */
	if (!q->len)
		return IW_OK;
	why = source_reason(ddp_mem_check(s, q->src_stag, q->src_to, q->len,
					  0));
	if (why)
		return why;
	if (!(r->access & DDP_REMOTE_READ) ||
	    ddp_mem_check(s, q->src_stag, q->src_to, q->len, DDP_REMOTE_READ))
		return IW_RDMAP_P_ACCESS;
	return IW_OK;
}

static enum iw_reason deliver_read_request(struct rdmap *r, u32 total)
{
	struct rdmap_rreq rreq;
	struct rdmap_req *req;
	enum iw_reason why;

	if (total != RDMAP_RREQ_LEN)
		return IW_RDMAP_UNSPEC;
	rdmap_rreq_decode(&rreq, r->rreq);
	why = check_source(r, &rreq);
	if (why) {
		r->bad_rreq = true;
		return why;
	}
	spin_lock_bh(&r->lock);
	req = rdmap_reqq_push(&r->irq);
	if (req)
		req->rreq = rreq;
	spin_unlock_bh(&r->lock);
	if (!req)
		return IW_DDP_U_NO_BUFFER;
	ddp_kick(&r->stream);
	return IW_OK;
}

static enum iw_reason deliver_response(struct rdmap *r)
{
	struct rdmap_req req;

	spin_lock_bh(&r->lock);
	req = *rdmap_reqq_peek(&r->orq);
	rdmap_reqq_pop(&r->orq);
	spin_unlock_bh(&r->lock);

	if (req.flags & RDMAP_WR_INVALIDATE)
		ddp_mem_invalidate(&r->stream, req.inv, false);
	if (!(req.flags & RDMAP_WR_RTR))
		rdmap_sq_answered(r, req.slot, req.rreq.len);
	/* what waits for a free place or behind a fence */
	ddp_kick(&r->stream);
	return IW_OK;
}

static enum iw_reason deliver_terminate(struct rdmap *r, u32 total)
{
	enum iw_reason why;

	why = rdmap_term_parse(&r->peer_term, r->peer_term_raw, total);
	return why ? why : IW_PEER_TERMINATE;
}

enum iw_reason rdmap_deliver(struct ddp_stream *s, const struct ddp_hdr *h,
			     u32 total)
{
	struct rdmap *r = to_rdmap(s);
	const struct rdmap_op_row *row;
	enum iw_reason why = rdmap_op_check(h, &row);

	if (why)
		return why;
	rdmap_count(r, row->opcode, false);
	switch (row->opcode) {
	case RDMAP_OP_WRITE:
		return IW_OK;
	case RDMAP_OP_READ_RESP:
		return deliver_response(r);
	case RDMAP_OP_READ_REQ:
		return deliver_read_request(r, total);
	case RDMAP_OP_TERMINATE:
		return deliver_terminate(r, total);
	default:
		return deliver_send(r, h, row, total);
	}
}
