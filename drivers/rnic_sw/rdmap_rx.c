// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive path of RDMAP: admit and deliver received messages, depending on
 * their opcode.
 */
#include "rdmap.h"

/*
 * Minimum length in bytes of a Read Response that only a worker may send, because a worker
 * can be preempted during the copy. Shorter responses may be sent in softirq.
 */
#define BULK_MIN	(16 * 1024)

static enum iw_reason admit_write(struct rdmap *r, u32 payload)
{
	/*
	 * The Write has become longer than 2^32 - 1 bytes, the maximum of RFC
	 * 5041 5.2. The RFCs define no error code for this.
	 */
	if (r->write_len + payload < payload)
		return IW_RDMAP_UNSPEC;
	r->write_len += payload;
	return IW_OK;
}

/*
 * Check a Read Response segment, and add its payload to the progress of the
 * oldest local request
 */
static enum iw_reason admit_read_response(struct rdmap *r, const struct ddp_hdr *h,
					  u32 payload)
{
	struct rdmap_req *req;
	enum iw_reason why;

	spin_lock(&r->lock);
	req = rdmap_reqq_peek(&r->orq);
	why = rdmap_resp_check(req, h, payload);
	if (!why)
		req->done += payload;
	spin_unlock(&r->lock);
	return why;
}

/*
 * Check whether the peer may already have received the whole response that is
 * being sent. That is possible once the response is completely segmented, even
 * if the transmit path has not marked the request as served yet.
 */
static bool __may_peer_have_response(const struct rdmap *r)
{
	/*
	 * The transmit path first sets in_msg in try_begin_next_message(), and later
	 * sets response_started under r->lock in try_prepare_response(). So a reader
	 * that holds the lock and finds response_started set cannot read a value
	 * of in_msg from an earlier message. Such a value could be false, and a response
	 * that is not sent yet would count as received. litmus: answered
	 */
	lockdep_assert_held(&r->lock);
	return r->response_started && !READ_ONCE(r->stream.in_msg);
}

/* Admit a Read or Atomic Request. Both kinds share the queue and the IRD. */
static enum iw_reason admit_request(struct rdmap *r,
				    const struct rdmap_op_row *row,
				    struct ddp_grant *g)
{
	bool full;

	spin_lock(&r->lock);
	/* do not count the request whose response the peer may already have */
	full = r->irq.used - r->irq.served - __may_peer_have_response(r) >= r->ird;
	spin_unlock(&r->lock);
	/*
	 * RFC 5040 5.2.2 (RDMAP-82): the peer sent more requests than IRD
	 * allows
	 */
	if (full)
		return IW_DDP_U_NO_BUFFER;
	r->req_buf.flat = r->req;
	r->req_buf.len = row->hdr_len;
	g->buf = &r->req_buf;
	return IW_OK;
}

static enum iw_reason admit_atomic_response(struct rdmap *r,
					    struct ddp_grant *g)
{
	enum iw_reason why;

	spin_lock(&r->lock);
	why = rdmap_aresp_check(rdmap_reqq_peek(&r->orq));
	spin_unlock(&r->lock);
	r->aresp_buf.flat = r->aresp;
	r->aresp_buf.len = sizeof(r->aresp);
	g->buf = &r->aresp_buf;
	return why;
}

static enum iw_reason admit_terminate(struct rdmap *r, struct ddp_grant *g)
{
	r->peer_term_buf.flat = r->peer_term_raw;
	r->peer_term_buf.len = sizeof(r->peer_term_raw);
	g->buf = &r->peer_term_buf;
	return IW_OK;
}

static enum iw_reason dequeue_recv_or_wait(struct rdmap *r)
{
	enum iw_reason why = rdmap_rq_dequeue(r);

	if (unlikely(why == IW_DDP_U_NO_BUFFER))
		why = rdmap_rq_dequeue_or_wait(r);
	r->in_recv = !why;
	return why;
}

/*
 * Check whether the segment is the peer's RTR Send: an empty Send that is the
 * first message. It must not consume a receive (RFC 6581 1.1, 9.2).
 */
static bool is_rtr_send(const struct rdmap *r, const struct ddp_hdr *h, u32 payload)
{
	return r->rtr_expected & DDP_RTR_SEND && h->last && !payload &&
	       (h->ulp8 & RDMAP_OPCODE_MASK) == RDMAP_OP_SEND;
}

static enum iw_reason admit_send(struct rdmap *r, const struct ddp_hdr *h,
				 u32 payload, struct ddp_grant *g)
{
	g->buf = &r->recv_buf;
	if (r->in_recv)
		return IW_OK;
	if (is_rtr_send(r, h, payload)) {
		r->recv_buf.flat = r->req;
		r->recv_buf.len = 0;
		return IW_OK;
	}
	return dequeue_recv_or_wait(r);
}

/*
 * Admit Immediate Data. It consumes a receive, but is placed in r->imm and not
 * in the buffer of the receive (RFC 7306 6.3).
 */
static enum iw_reason admit_immediate(struct rdmap *r, struct ddp_grant *g)
{
	r->imm_buf.flat = r->imm;
	r->imm_buf.len = sizeof(r->imm);
	g->buf = &r->imm_buf;
	if (r->in_recv)
		return IW_OK;
	return dequeue_recv_or_wait(r);
}

/*
 * Check whether an untagged segment has the same opcode as the first segment of
 * its message. The opcode of the first segment has selected the buffer, so it
 * must not change.
 *
 * Return: true if the segment is tagged, if it is the first one, or if @opcode is
 * the opcode of the first segment; false otherwise.
 */
static bool has_expected_opcode(const struct rdmap *r, const struct ddp_hdr *h, u8 opcode)
{
	return h->tagged || !r->opcode[h->qn] || r->opcode[h->qn] == opcode;
}

/* Record the opcode of an untagged message until its last segment */
static void record_opcode(struct rdmap *r, const struct ddp_hdr *h, u8 opcode)
{
	if (!h->tagged)
		r->opcode[h->qn] = h->last ? 0 : opcode;
}

static enum iw_reason admit_by_opcode(struct rdmap *r, const struct ddp_hdr *h, u32 payload,
				      const struct rdmap_op_row *row, struct ddp_grant *g)
{
	switch (row->opcode) {
	case RDMAP_OP_WRITE:
		g->rights = DDP_REMOTE_WRITE;
		return admit_write(r, payload);
	case RDMAP_OP_READ_RESP:
		g->rights = DDP_LOCAL_WRITE;
		return admit_read_response(r, h, payload);
	case RDMAP_OP_READ_REQ:
	case RDMAP_OP_ATOMIC_REQ:
		return admit_request(r, row, g);
	case RDMAP_OP_ATOMIC_RESP:
		return admit_atomic_response(r, g);
	case RDMAP_OP_TERMINATE:
		return admit_terminate(r, g);
	case RDMAP_OP_IMM:
	case RDMAP_OP_IMM_SE:
		return admit_immediate(r, g);
	default:
		return admit_send(r, h, payload, g);
	}
}

enum iw_reason rdmap_admit(struct ddp_stream *s, const struct ddp_hdr *h,
			   u32 payload, struct ddp_grant *g)
{
	struct rdmap *r = to_rdmap(s);
	const struct rdmap_op_row *row;
	enum iw_reason why = rdmap_op_check(h, &row);

	if (!why && !has_expected_opcode(r, h, row->opcode))
		why = IW_RDMAP_OPCODE;
	if (why)
		return why;
	why = admit_by_opcode(r, h, payload, row, g);
	/*
	 * the message waits for a receive: DDP calls this function again for the
	 * segment, so record and count nothing now
	 */
	if (unlikely(why == IW_AGAIN))
		return why;
	record_opcode(r, h, row->opcode);
	rdmap_count_segments(r, 1, payload, false);
	return why;
}

enum iw_reason rdmap_admit_more(struct ddp_stream *s, const struct ddp_hdr *h,
				u32 payload, u32 n)
{
	struct rdmap *r = to_rdmap(s);
	enum iw_reason why;

	/*
	 * There is nothing to check for untagged segments: the first segment of the
	 * message has already selected the buffer.
	 */
	if (!h->tagged)
		why = IW_OK;
	else if ((h->ulp8 & RDMAP_OPCODE_MASK) == RDMAP_OP_WRITE)
		why = admit_write(r, payload);
	else
		why = admit_read_response(r, h, payload);
	/*
	 * Do not count a refused batch: DDP calls this function again for each
	 * segment of the batch.
	 */
	if (!why || n == 1)
		rdmap_count_segments(r, n, payload, false);
	return why;
}

void rdmap_deliver_writes(struct ddp_stream *s, u32 payload, u32 n)
{
	struct rdmap *r = to_rdmap(s);

	r->last_write_len = payload;
	rdmap_count_segments(r, n, n * payload, false);
	rdmap_count_messages(r, RDMAP_OP_WRITE, n, false);
	if (unlikely(READ_ONCE(r->peer_ops_counted)))
		rdmap_count_peer_ops(r, RDMAP_OP_WRITE, n);
}

/*
 * Check whether a segment that arrived out of order may be placed. It must be
 * an RDMA Write, or a Read Response in the sink of an outstanding Read (RFC
 * 5040 5.2.2). DDP calls rdmap_admit() for the full check when the segment is
 * next in order.
 *
 * Return: true if the segment may be placed, false otherwise.
 */
bool rdmap_may_place_early(struct ddp_stream *s, const struct ddp_hdr *h, u32 payload,
			   struct ddp_grant *g)
{
	struct rdmap *r = to_rdmap(s);
	const struct rdmap_op_row *row;
	bool ok = false;

	if (rdmap_op_check(h, &row))
		return false;
	if (row->opcode == RDMAP_OP_WRITE) {
		g->rights = DDP_REMOTE_WRITE;
		ok = true;
	} else if (row->opcode == RDMAP_OP_READ_RESP) {
		g->rights = DDP_LOCAL_WRITE;
		spin_lock(&r->lock);
		ok = rdmap_resp_is_expected(&r->orq, h, payload);
		spin_unlock(&r->lock);
	}
	if (ok)
		rdmap_count_early_segment(r);
	return ok;
}

static enum iw_reason deliver_write(struct rdmap *r)
{
	if (unlikely(READ_ONCE(r->peer_ops_counted)) &&
	    (r->write_len || !(r->rtr_expected & DDP_RTR_WRITE)))
		rdmap_count_peer_ops(r, RDMAP_OP_WRITE, 1);
	r->last_write_len = r->write_len;
	r->write_len = 0;
	return IW_OK;
}

static enum iw_reason deliver_immediate(struct rdmap *r,
					const struct rdmap_op_row *row,
					u32 total)
{
	struct rdmap_recv rc = {
		.len = r->last_write_len,
		.solicited = row->solicited,
		.immediate = true,
	};

	/*
	 * RFC 7306 6.3 (EXT-77): the message must have exactly 8 bytes. This
	 * check refuses shorter messages. DDP refuses longer messages, because
	 * they exceed the buffer.
	 */
	if (total != RDMAP_IMM_LEN)
		return IW_RDMAP_UNSPEC;
	memcpy(&rc.imm, r->imm, sizeof(rc.imm));
	r->last_write_len = 0;
	r->in_recv = false;
	rdmap_rq_complete(r, &rc);
	return IW_OK;
}

static enum iw_reason deliver_send(struct rdmap *r, const struct ddp_hdr *h,
				   const struct rdmap_op_row *row, u32 total)
{
	struct rdmap_recv rc = {
		.len = total,
		.solicited = row->solicited,
	};
	enum iw_reason why;

	/* the RTR Send consumes no receive, so there is nothing to complete */
	if (!r->in_recv)
		return IW_OK;
	if (row->invalidates) {
		why = ddp_mem_invalidate(&r->stream, h->ulp32, true);
		if (why)
			return why;
		rc.invalidated = true;
		rc.inv = h->ulp32;
	}
	r->last_write_len = 0;
	r->in_recv = false;
	rdmap_rq_complete(r, &rc);
	return IW_OK;
}

/*
 * Convert the reason that ddp_mem_check_access() has returned to the reason of RDMAP
 * (RFC 5040 7.2)
 */
static enum iw_reason ddp_to_rdmap_reason(enum iw_reason why)
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

/*
 * Check whether the peer may access [@to, @to + @len) of @stag with the right
 * @right (DDP_REMOTE_*).
 *
 * Return: IW_OK; IW_RDMAP_P_ACCESS if only the right is missing; another
 * IW_RDMAP_P_* reason if the STag or the range is invalid.
 */
static enum iw_reason check_peer_access(struct rdmap *r, u32 stag, u64 to, u32 len,
					u8 right)
{
	struct ddp_stream *s = &r->stream;
	enum iw_reason why;

	why = ddp_to_rdmap_reason(ddp_mem_check_access(s, stag, to, len, 0));
	if (why)
		return why;
	if (ddp_mem_check_access(s, stag, to, len, right))
		return IW_RDMAP_P_ACCESS;
	return IW_OK;
}

/*
 * Append a copy of @req to the peer's unserved requests, and schedule transmit.
 * Return: IW_OK, or IW_DDP_U_NO_BUFFER if the queue is full
 */
static enum iw_reason queue_peer_request_and_kick(struct rdmap *r,
						  const struct rdmap_req *req)
{
	struct rdmap_req *entry;

	spin_lock(&r->lock);
	entry = rdmap_reqq_push(&r->irq);
	if (entry) {
		*entry = *req;
		WRITE_ONCE(r->irq_pending, true);
	}
	spin_unlock(&r->lock);
	if (!entry)
		return IW_DDP_U_NO_BUFFER;
	if (!req->is_atomic && req->rreq.len >= BULK_MIN)
		ddp_kick_for_bulk(&r->stream);
	else
		ddp_kick(&r->stream);
	return IW_OK;
}

static enum iw_reason deliver_read_request(struct rdmap *r, u32 total)
{
	struct rdmap_req req = {};
	const struct rdmap_rreq *q = &req.rreq;
	enum iw_reason why = IW_OK;

	if (total != RDMAP_RREQ_LEN)
		return IW_RDMAP_UNSPEC;
	rdmap_rreq_decode(&req.rreq, r->req);
	/*
	 * RFC 5040 5.2.1 (RDMAP-78): STag and TO of an empty Read are not
	 * checked
	 */
	if (q->len)
		why = check_peer_access(r, q->src_stag, q->src_to, q->len,
					DDP_REMOTE_READ);
	r->bad_rreq = why;
	req.is_rtr = !q->len && r->rtr_expected & DDP_RTR_READ;
	return why ?: queue_peer_request_and_kick(r, &req);
}

static enum iw_reason check_atomic_target(struct rdmap *r, const struct rdmap_atomic *a)
{
	enum iw_reason why = check_peer_access(r, a->stag, a->to, RDMAP_ATOMIC_OPERAND,
					       DDP_REMOTE_ATOMIC);

	if (why)
		return why;
	why = ddp_mem_apply_atomic(&r->stream, a->stag, a->to, NULL, NULL, NULL);
	if (!why || why == IW_RDMAP_STREAM)
		return why;
	/* the STag or the queue pair lost the right after check_peer_access() */
	return rdmap_get_refusal_reason(r, DDP_REMOTE_ATOMIC);
}

/* Check and queue an Atomic Request; the transmit path executes the atomic later */
static enum iw_reason deliver_atomic_request(struct rdmap *r, u32 total)
{
	struct rdmap_req req = { .is_atomic = true };
	struct rdmap_atomic *a = &req.atomic;
	enum iw_reason why;

	if (total != RDMAP_AREQ_LEN)
		return IW_RDMAP_UNSPEC;
	why = rdmap_atomic_decode(a, r->req);
	if (!why)
		why = check_atomic_target(r, a);
	return why ?: queue_peer_request_and_kick(r, &req);
}

/* Remove and return the oldest local request, whose response is complete */
static struct rdmap_req pop_answered_request(struct rdmap *r)
{
	struct rdmap_req req;

	spin_lock(&r->lock);
	req = *rdmap_reqq_peek(&r->orq);
	rdmap_reqq_pop(&r->orq);
	spin_unlock(&r->lock);
	return req;
}

/* Store the value of an Atomic Response in the sink of the oldest request */
static enum iw_reason store_atomic_response(struct rdmap *r, u32 total)
{
	struct rdmap_req req;
	struct ddp_sge sink;
	enum iw_reason why;
	u64 old;
	u32 id;

	if (total != RDMAP_ARESP_LEN)
		return IW_RDMAP_UNSPEC;
	rdmap_aresp_decode(r->aresp, &id, &old);
	spin_lock(&r->lock);
	req = *rdmap_reqq_peek(&r->orq);
	spin_unlock(&r->lock);
	if (id != req.slot)
		return IW_RDMAP_UNSPEC;
	sink = (struct ddp_sge) {
		.addr = req.rreq.sink_to,
		.len = sizeof(old),
		.stag = req.rreq.sink_stag,
	};
	why = ddp_mem_store(&r->stream, &sink, &old);
	if (!why || why == IW_AGAIN)
		return why;
	/*
	 * the sink was valid when the request was sent, but is not now, so fail
	 * the request
	 */
	rdmap_sq_set_wr_failed(r, req.slot);
	return IW_LOCAL_PROT;
}

static enum iw_reason deliver_atomic_response(struct rdmap *r, u32 total)
{
	enum iw_reason why = store_atomic_response(r, total);
	struct rdmap_req req;

	/* DDP delivers a deferred response again, so do not count it yet */
	if (why == IW_AGAIN)
		return why;
	rdmap_count_messages(r, RDMAP_OP_ATOMIC_RESP, 1, false);
	if (why)
		return why;
	req = pop_answered_request(r);
	rdmap_sq_complete_answered_wr(r, req.slot);
	ddp_kick(&r->stream);
	return IW_OK;
}

static enum iw_reason deliver_read_response(struct rdmap *r)
{
	struct rdmap_req req = pop_answered_request(r);

	if (req.flags & RDMAP_WR_INVALIDATE)
		ddp_mem_invalidate(&r->stream, req.inv, false);
	if (!(req.flags & RDMAP_WR_RTR))
		rdmap_sq_complete_answered_wr(r, req.slot);
	/*
	 * schedule transmit: a work request may wait for a free entry in
	 * r->orq, or have a fence
	 */
	ddp_kick(&r->stream);
	return IW_OK;
}

static enum iw_reason deliver_terminate(struct rdmap *r, u32 total)
{
	struct rdmap_term t = {};
	enum iw_reason why;

	why = rdmap_term_parse(&t, r->peer_term_raw, total);
	r->peer_layer = t.layer;
	r->peer_type = t.type;
	r->peer_code = t.code;
	return why ? why : IW_PEER_TERMINATE;
}

static enum iw_reason deliver_by_opcode(struct rdmap *r, const struct ddp_hdr *h,
					const struct rdmap_op_row *row, u32 total)
{
	/* do not count an Atomic Response here: deliver_atomic_response() may defer it */
	if (row->opcode == RDMAP_OP_ATOMIC_RESP)
		return deliver_atomic_response(r, total);
	rdmap_count_messages(r, row->opcode, 1, false);
	switch (row->opcode) {
	case RDMAP_OP_WRITE:
		return deliver_write(r);
	case RDMAP_OP_READ_RESP:
		return deliver_read_response(r);
	case RDMAP_OP_READ_REQ:
		return deliver_read_request(r, total);
	case RDMAP_OP_ATOMIC_REQ:
		return deliver_atomic_request(r, total);
	case RDMAP_OP_IMM:
	case RDMAP_OP_IMM_SE:
		return deliver_immediate(r, row, total);
	case RDMAP_OP_TERMINATE:
		return deliver_terminate(r, total);
	default:
		return deliver_send(r, h, row, total);
	}
}

enum iw_reason rdmap_deliver(struct ddp_stream *s, const struct ddp_hdr *h,
			     u32 total)
{
	struct rdmap *r = to_rdmap(s);
	const struct rdmap_op_row *row;
	enum iw_reason why = rdmap_op_check(h, &row);

	if (why)
		return why;
	why = deliver_by_opcode(r, h, row, total);
	/* only the first message can be the RTR message */
	if (unlikely(r->rtr_expected))
		r->rtr_expected = 0;
	return why;
}
