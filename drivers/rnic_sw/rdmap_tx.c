// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmit path of RDMAP: choose the next message. The ready-to-receive (RTR)
 * message is sent first; then responses and work requests alternate. After the
 * stream has failed, only a Terminate is sent.
 */
#include "rdmap.h"

/*
 * Budget of one transmit pass: PASS_BUDGET messages, or PASS_LOCALS local
 * requests (work requests that send no message), or a mix of both. A pass also
 * ends when a batch of the LLP is full, but messages without payload and local
 * requests may never fill a batch. Without the budget a program that posts such
 * requests continuously could keep BH off.
 */
#define PASS_BUDGET		256
#define PASS_LOCALS		64

/* Buffer of messages without payload */
static const struct ddp_buf empty;

static void init_msg(struct ddp_msg *m, u8 opcode, bool tagged, u32 qn)
{
	memset(&m->hdr, 0, sizeof(m->hdr));
	m->hdr.ulp8 = rdmap_make_ulp8(opcode);
	m->hdr.tagged = tagged;
	m->hdr.qn = qn;
	m->rights = DDP_LOCAL_READ;
	m->send_if_failed = false;
	m->more = true;
}

/* Set up an untagged message with the first @len bytes of out_raw as payload */
static void set_out_raw_msg(struct rdmap *r, struct ddp_msg *m, u8 opcode, u32 qn,
			    u32 len)
{
	init_msg(m, opcode, false, qn);
	r->out_buf.flat = r->out_raw;
	r->out_buf.len = len;
	m->buf = &r->out_buf;
}

/* Set up a Read Request message with the header @q */
static void set_read_request_msg(struct rdmap *r, struct ddp_msg *m,
				 const struct rdmap_rreq *q)
{
	rdmap_rreq_encode(r->out_raw, q);
	set_out_raw_msg(r, m, RDMAP_OP_READ_REQ, RDMAP_QN_READ_REQ, RDMAP_RREQ_LEN);
}

static bool try_prepare_terminate(struct rdmap *r, struct ddp_msg *m)
{
	bool due, term_decided;

	spin_lock(&r->lock);
	term_decided = r->term_decided;
	due = r->term_pending;
	r->term_pending = false;
	spin_unlock(&r->lock);
	/*
	 * The stream has failed, but rdmap_handle_failure() has not decided yet whether
	 * to send a Terminate. Mark the stream as pending until rdmap_handle_failure()
	 * schedules transmit. Otherwise a close in progress could end the
	 * stream before the Terminate is sent.
	 */
	if (!term_decided)
		ddp_tx_set_expects_kick(&r->stream);
	if (!due)
		return false;
	init_msg(m, RDMAP_OP_TERMINATE, false, 2);
	m->send_if_failed = true;
	r->out_buf.flat = r->term;
	r->out_buf.len = r->term_len;
	m->buf = &r->out_buf;
	return true;
}

/*
 * Set up an empty Read as RTR message, and add it to the outstanding requests
 */
static void record_rtr_read_and_set_msg(struct rdmap *r, struct ddp_msg *m)
{
	const struct rdmap_rreq nothing = {
		.sink_stag = DDP_STAG_NONE, .src_stag = DDP_STAG_NONE,
	};
	struct rdmap_req *req;

	spin_lock(&r->lock);
	req = rdmap_reqq_push(&r->orq);
	if (req) {
		req->rreq = nothing;
		req->flags = RDMAP_WR_RTR;
	}
	spin_unlock(&r->lock);
	set_read_request_msg(r, m, &nothing);
}

/*
 * Set up the RTR message, which must be the first message (RFC 6581 9.2).
 * Return: false if there is no RTR message to send
 */
static bool try_prepare_rtr(struct rdmap *r, struct ddp_msg *m)
{
	if (r->rtr & DDP_RTR_WRITE) {
		init_msg(m, RDMAP_OP_WRITE, true, 0);
		m->hdr.stag = DDP_STAG_NONE;
		m->buf = &empty;
	} else if (r->rtr & DDP_RTR_READ) {
		record_rtr_read_and_set_msg(r, m);
	} else if (r->rtr & DDP_RTR_SEND) {
		init_msg(m, RDMAP_OP_SEND, false, 0);
		m->buf = &empty;
	} else {
		return false;
	}
	r->rtr = 0;
	return true;
}

static void set_read_response_msg(struct rdmap *r, struct ddp_msg *m,
				  const struct rdmap_rreq *q)
{
	init_msg(m, RDMAP_OP_READ_RESP, true, 0);
	m->hdr.stag = q->sink_stag;
	m->hdr.to = q->sink_to;
	m->rights = DDP_REMOTE_READ;
	r->out_sge = (struct ddp_sge) {
		.addr = q->src_to, .len = q->len, .stag = q->src_stag,
	};
	r->out_buf = (struct ddp_buf) {
		.sge = &r->out_sge, .nsge = 1, .len = q->len,
	};
	m->buf = &r->out_buf;
}

/*
 * Drop the cached MR reference, then fail the stream. The failure notifies the
 * consumer, which may invalidate the MR, and the invalidation waits for the
 * cached reference.
 */
static void put_mr_and_fail_stream(struct rdmap *r, enum iw_reason why)
{
	ddp_tx_put_mr(&r->stream);
	rdmap_fail(r, why);
}

static u64 rdmap_tx_compute_atomic_result(const void *how, u64 old)
{
	return rdmap_compute_atomic_result(how, old);
}

/*
 * Defer the response to an atomic until its memory has been faulted in. No byte
 * of the response has been sent, so the request must count as unanswered.
 */
static void defer_response(struct rdmap *r)
{
	spin_lock(&r->lock);
	r->response_started = false;
	spin_unlock(&r->lock);
}

/*
 * Execute an atomic and set up its response. An atomic is executed only when
 * its response is the next message to send, so it takes effect after the peer's
 * earlier requests.
 *
 * Return: true if the response is set up. False if the access was refused and
 * the stream has failed, or if the response is deferred until its memory has
 * been faulted in.
 */
static bool execute_atomic_request(struct rdmap *r, struct ddp_msg *m,
				   const struct rdmap_atomic *a)
{
	enum iw_reason why;
	u64 old;

	why = ddp_mem_apply_atomic(&r->stream, a->stag, a->to, rdmap_tx_compute_atomic_result,
				   a, &old);
	if (why == IW_AGAIN) {
		defer_response(r);
		return false;
	}
	if (why) {
		put_mr_and_fail_stream(r, rdmap_get_refusal_reason(r, DDP_REMOTE_ATOMIC));
		return false;
	}
	rdmap_aresp_encode(r->out_raw, a->id, old);
	set_out_raw_msg(r, m, RDMAP_OP_ATOMIC_RESP, RDMAP_QN_ATOMIC_RESP,
			RDMAP_ARESP_LEN);
	return true;
}

static bool try_prepare_response(struct rdmap *r, struct ddp_msg *m)
{
	struct rdmap_req *oldest, req;

	/*
	 * The receive path sets irq_pending before it schedules transmit. So if
	 * this pass does not see irq_pending, the scheduled pass does.
	 */
	if (!READ_ONCE(r->irq_pending))
		return false;
	spin_lock(&r->lock);
	oldest = rdmap_reqq_peek_unserved(&r->irq);
	if (oldest)
		req = *oldest;
	else
		WRITE_ONCE(r->irq_pending, false);
	r->response_started = oldest;
	spin_unlock(&r->lock);
	if (!oldest)
		return false;

	if (!req.is_atomic)
		set_read_response_msg(r, m, &req.rreq);
	else if (!execute_atomic_request(r, m, &req.atomic))
		return false;
	r->out_type = RDMAP_OUT_RESP;
	return true;
}

/*
 * Check whether a work request may be sent now. If the request must wait for a
 * response from the peer, mark the stream as blocked.
 *
 * Return: false if the request has a fence and local requests are unanswered,
 * or if the request needs a response and the ORD is reached; true otherwise.
 */
static bool may_send_wr_or_set_blocked(struct rdmap *r, const struct rdmap_wr *wr)
{
	bool ok = true, due;

	if (!(wr->flags & RDMAP_WR_FENCE) && !rdmap_wr_needs_response(wr))
		return true;
	spin_lock(&r->lock);
	due = !rdmap_reqq_is_empty(&r->orq);
	if ((wr->flags & RDMAP_WR_FENCE) && due)
		ok = false;
	if (rdmap_wr_needs_response(wr) && rdmap_reqq_is_full(&r->orq))
		ok = false;
	spin_unlock(&r->lock);
	/*
	 * with an ORD of 0 no request is outstanding, so no response would
	 * unblock the stream
	 */
	if (!ok && due)
		ddp_tx_set_blocked(&r->stream);
	return ok;
}

/*
 * Get the STag to send in a message of @len bytes. Return: DDP_STAG_NONE if
 * @stag is 0 and the message is empty, because some peers refuse STag 0; @stag
 * otherwise
 */
static u32 pick_wire_stag(u32 stag, u32 len)
{
	return stag || len ? stag : DDP_STAG_NONE;
}

static void set_write_msg(struct rdmap *r, const struct rdmap_wr *wr,
			  struct ddp_msg *m)
{
	init_msg(m, RDMAP_OP_WRITE, true, 0);
	m->hdr.stag = pick_wire_stag(wr->rkey, wr->buf.len);
	m->hdr.to = wr->raddr;
	m->buf = &wr->buf;
	r->imm_pending = wr->flags & RDMAP_WR_IMMEDIATE;
}

/* Set up the Immediate Data that follows the Write of a work request */
static bool try_prepare_immediate(struct rdmap *r, struct ddp_msg *m)
{
	bool se = r->wr.flags & RDMAP_WR_SOLICITED;

	if (!r->imm_pending)
		return false;
	r->imm_pending = false;
	memset(r->out_raw, 0, RDMAP_IMM_LEN);
	memcpy(r->out_raw, &r->wr.imm, sizeof(r->wr.imm));
	set_out_raw_msg(r, m, se ? RDMAP_OP_IMM_SE : RDMAP_OP_IMM, RDMAP_QN_SEND,
			RDMAP_IMM_LEN);
	r->out_type = RDMAP_OUT_WR;
	return true;
}

static void set_send_msg(const struct rdmap_wr *wr, struct ddp_msg *m)
{
	bool se = wr->flags & RDMAP_WR_SOLICITED;

	if (wr->flags & RDMAP_WR_INVALIDATE) {
		init_msg(m, se ? RDMAP_OP_SEND_SE_INV : RDMAP_OP_SEND_INV, false,
			 0);
		m->hdr.ulp32 = wr->inv;
	} else {
		init_msg(m, se ? RDMAP_OP_SEND_SE : RDMAP_OP_SEND, false, 0);
	}
	m->buf = &wr->buf;
}

/*
 * Add a Read or an atomic to the outstanding requests. This must be done before the request is
 * sent, because the response may arrive before the sending function returns. Return: the Read
 * Request header of a Read; the caller does not use it for an atomic.
 */
static struct rdmap_rreq record_request_and_build_hdr(struct rdmap *r,
						      const struct rdmap_wr *wr)
{
	struct rdmap_req *req;
	struct rdmap_rreq q = {
		.len = wr->buf.len,
		.src_stag = pick_wire_stag(wr->rkey, wr->buf.len),
		.src_to = wr->raddr,
	};

	if (wr->buf.nsge) {
		q.sink_stag = wr->sge[0].stag;
		q.sink_to = wr->sge[0].addr;
	}
	q.sink_stag = pick_wire_stag(q.sink_stag, q.len);
	spin_lock(&r->lock);
	req = rdmap_reqq_push(&r->orq);
	*req = (struct rdmap_req) {
		.rreq = q, .slot = wr->slot, .flags = wr->flags, .inv = wr->inv,
		.is_atomic = wr->op != RDMAP_WR_READ,
	};
	spin_unlock(&r->lock);
	return q;
}

static void record_read_and_set_msg(struct rdmap *r, const struct rdmap_wr *wr,
				    struct ddp_msg *m)
{
	const struct rdmap_rreq q = record_request_and_build_hdr(r, wr);

	set_read_request_msg(r, m, &q);
}

/*
 * Set up an Atomic Request. Values that the operation does not use are sent as
 * zero, unused masks as all ones (RFC 7306 5.2.1).
 */
static void record_atomic_and_set_msg(struct rdmap *r, const struct rdmap_wr *wr,
				      struct ddp_msg *m)
{
	bool swap = wr->op == RDMAP_WR_CMP_SWAP;
	const struct rdmap_atomic a = {
		.code = swap ? RDMAP_ATOMIC_CMP_SWAP : RDMAP_ATOMIC_FETCH_ADD,
		.id = wr->slot,
		.stag = wr->rkey,
		.to = wr->raddr,
		.data = swap ? wr->swap : wr->compare_add,
		.mask = swap ? U64_MAX : 0,
		.cmp = swap ? wr->compare_add : 0,
		.cmp_mask = U64_MAX,
	};

	record_request_and_build_hdr(r, wr);
	rdmap_atomic_encode(r->out_raw, &a);
	set_out_raw_msg(r, m, RDMAP_OP_ATOMIC_REQ, RDMAP_QN_READ_REQ, RDMAP_AREQ_LEN);
}

/* Check whether the sink of a Read or an atomic is valid and may be written */
static bool is_sink_valid(struct rdmap *r, const struct rdmap_wr *wr)
{
	const struct ddp_sge *sink = wr->sge;

	if (!wr->buf.len)
		return true;
	/*
	 * DDP_STAG_DMA is valid only as the sink of an atomic: for a Read,
	 * check_read_and_set_inv() has refused it, because a Read sends the sink
	 * STag to the peer
	 */
	if (sink->stag == DDP_STAG_DMA)
		return r->stream.dma_ok;
	return !ddp_mem_check_access(&r->stream, sink->stag, sink->addr, sink->len,
				     DDP_LOCAL_WRITE);
}

/*
 * Start the work request r->wr: execute a local request, or set up the message
 * of any other request.
 *
 * Return: true if @m is set up. False if a local request was executed, or if
 * the request was invalid and the stream has failed.
 */
static bool start_wr(struct rdmap *r, struct ddp_msg *m)
{
	const struct rdmap_wr *wr = &r->wr;

	switch (wr->op) {
	case RDMAP_WR_WRITE:
		set_write_msg(r, wr, m);
		return true;
	case RDMAP_WR_SEND:
		set_send_msg(wr, m);
		return true;
	case RDMAP_WR_READ:
		if (!is_sink_valid(r, wr))
			break;
		record_read_and_set_msg(r, wr, m);
		return true;
	case RDMAP_WR_FETCH_ADD:
	case RDMAP_WR_CMP_SWAP:
		if (!is_sink_valid(r, wr))
			break;
		record_atomic_and_set_msg(r, wr, m);
		return true;
	default:
		ddp_tx_put_mr(&r->stream);
		if (rdmap_sq_execute_local_wr(r, wr))
			return false;
		break;
	}
	rdmap_sq_set_wr_failed(r, wr->slot);
	put_mr_and_fail_stream(r, IW_LOCAL_PROT);
	return false;
}

static bool is_budget_spent(const struct rdmap *r)
{
	return r->budget_used >= PASS_BUDGET;
}

/* Check whether a message is left to send, apart from work requests that are not pulled yet */
static bool has_message_left(const struct rdmap *r)
{
	return r->imm_pending || r->have_wr || READ_ONCE(r->irq_pending);
}

static bool try_start_next_wr(struct rdmap *r, struct ddp_msg *m)
{
	while (!test_bit(0, &r->stream.failed) && !is_budget_spent(r)) {
		if (!r->have_wr)
			r->have_wr = rdmap_sq_pull_wr(r, &r->wr);
		if (!r->have_wr || !may_send_wr_or_set_blocked(r, &r->wr))
			break;
		r->have_wr = false;
		if (start_wr(r, m)) {
			r->out_type = RDMAP_OUT_WR;
			m->more = r->wr.more || has_message_left(r);
			return true;
		}
		/*
		 * a local request sends no message, so charge it to the budget
		 * here
		 */
		r->budget_used += PASS_BUDGET / PASS_LOCALS;
	}
	return false;
}

/*
 * Account for the previous message, whose last segment has been pulled. After a
 * response, mark the peer's request as served; after the last message of a work
 * request, advance sq.segmented_end past the request.
 */
static void account_finished_message(struct rdmap *r)
{
	switch (r->out_type) {
	case RDMAP_OUT_RESP:
		spin_lock(&r->lock);
		rdmap_reqq_mark_served(&r->irq);
		r->response_started = false;
		spin_unlock(&r->lock);
		r->responses_segmented++;
		break;
	case RDMAP_OUT_WR:
		if (!r->imm_pending)
			rdmap_sq_mark_segmented(r, r->wr.slot);
		break;
	case RDMAP_OUT_NONE:
		break;
	}
	r->out_type = RDMAP_OUT_NONE;
}

static bool try_prepare_next_message(struct rdmap *r, struct ddp_msg *m)
{
	if (try_prepare_rtr(r, m) || try_prepare_immediate(r, m))
		return true;
	if (r->wr_preferred && try_start_next_wr(r, m)) {
		r->wr_preferred = false;
		return true;
	}
	if (try_prepare_response(r, m)) {
		r->wr_preferred = true;
		return true;
	}
	return !ddp_tx_has_pending_fault(&r->stream) && try_start_next_wr(r, m);
}

static void finish_tx_pass(struct rdmap *r)
{
	if (is_budget_spent(r))
		ddp_tx_resched(&r->stream);
	r->budget_used = 0;
}

static bool try_prepare_regular_message(struct rdmap *r, struct ddp_msg *m)
{
	account_finished_message(r);
	if (is_budget_spent(r) || !try_prepare_next_message(r, m)) {
		finish_tx_pass(r);
		return false;
	}
	r->budget_used++;
	return true;
}

bool rdmap_prepare_next_msg(struct ddp_stream *s, struct ddp_msg *m)
{
	struct rdmap *r = to_rdmap(s);
	bool any = !test_bit(0, &s->failed) && try_prepare_regular_message(r, m);

	/*
	 * Test again, because try_prepare_regular_message() may have failed the stream.
	 * Without this test the function would return false, and a close in
	 * progress would end the stream before the Terminate is sent.
	 */
	if (!any && test_bit(0, &s->failed)) {
		/*
		 * forget the previous message: the flush completes its work
		 * request
		 */
		r->out_type = RDMAP_OUT_NONE;
		any = try_prepare_terminate(r, m);
		r->term_pulled |= any;
		return any;
	}
	if (any)
		rdmap_count_messages(r, m->hdr.ulp8 & RDMAP_OPCODE_MASK, 1, true);
	return any;
}

/* Count the segments and payload bytes that the LLP has accepted since the last call */
static void count_sent_segments(struct rdmap *r)
{
	const struct ddp_stream *s = &r->stream;

	rdmap_count_segments(r, s->segments - r->segments, s->bytes - r->bytes,
			     true);
	r->segments = s->segments;
	r->bytes = s->bytes;
}

/* Release the requests of the peer whose responses the LLP has accepted */
static void release_answered_requests(struct rdmap *r)
{
	u16 reads = 0;

	spin_lock(&r->lock);
	if (unlikely(READ_ONCE(r->peer_ops_counted)))
		reads = rdmap_reqq_count_reads(&r->irq, r->responses_segmented);
	rdmap_reqq_release(&r->irq, r->responses_segmented);
	spin_unlock(&r->lock);
	r->responses_segmented = 0;
	if (unlikely(reads))
		rdmap_count_peer_ops(r, RDMAP_OP_READ_REQ, reads);
}

/*
 * Check whether rdmap_prepare_next_msg() must be called, whether or not work requests are posted.
 * Work requests that wait for a page fault, and the Terminate, are left to that function, too.
 */
static bool must_prepare_next_msg(const struct rdmap *r)
{
	const struct ddp_stream *s = &r->stream;

	return s->in_msg || r->rtr || has_message_left(r) || test_bit(0, &s->failed) ||
	       ddp_tx_has_pending_fault(s);
}

bool rdmap_handle_sent(struct ddp_stream *s, bool look)
{
	struct rdmap *r = to_rdmap(s);

	count_sent_segments(r);
	/*
	 * Count a Terminate only now, and not when it is pulled: an MPA responder
	 * may never be permitted to send it, if no valid FPDU arrives
	 */
	if (r->term_pulled && !s->in_msg) {
		rdmap_count_messages(r, RDMAP_OP_TERMINATE, 1, true);
		r->term_pulled = false;
	}
	if (!s->in_msg)
		account_finished_message(r);
	r->budget_used = 0;
	if (r->responses_segmented)
		release_answered_requests(r);
	return rdmap_sq_complete_sent_wrs(r, look && !must_prepare_next_msg(r));
}
