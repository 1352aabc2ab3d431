// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What is sent next: a Terminate before all else, the ready-to-receive
 * message, then responses and work requests in turn.
 */
#include "rdmap.h"

/*
 * A turn: so many messages, or so many local requests, or something between.
 * What has no octets fills no batch of the lower layer's, whose turn ends by
 * that; a program that posts such things without end has BH off meanwhile.
 */
#define TURN		256
#define LOCALS		64

/* Where nothing comes from */
static const struct ddp_buf empty;

static void set_op(struct ddp_msg *m, u8 opcode, bool tagged, u32 qn)
{
	memset(&m->hdr, 0, sizeof(m->hdr));
	m->hdr.ulp8 = rdmap_ulp8(opcode);
	m->hdr.tagged = tagged;
	m->hdr.qn = qn;
	m->rights = DDP_LOCAL_READ;
	m->last_words = false;
}

/* A message that is nothing but @len octets built in out_raw */
static void set_raw(struct rdmap *r, struct ddp_msg *m, u8 opcode, u32 qn,
		    u32 len)
{
	set_op(m, opcode, false, qn);
	r->out_buf.flat = r->out_raw;
	r->out_buf.len = len;
	m->buf = &r->out_buf;
}

/* One Read Request; @q says what */
static void set_read_request(struct rdmap *r, struct ddp_msg *m,
			     const struct rdmap_rreq *q)
{
	rdmap_rreq_encode(r->out_raw, q);
	set_raw(r, m, RDMAP_OP_READ_REQ, RDMAP_QN_READ_REQ, RDMAP_RREQ_LEN);
}

static bool next_terminate(struct rdmap *r, struct ddp_msg *m)
{
	bool due, decided;

	spin_lock(&r->lock);
	decided = r->decided;
	due = r->term_due;
	r->term_due = false;
	spin_unlock(&r->lock);
	/* who has failed it is about to, and kicks then */
	if (!decided)
		ddp_tx_expect(&r->stream);
	if (!due)
		return false;
	set_op(m, RDMAP_OP_TERMINATE, false, 2);
	m->last_words = true;
	r->out_buf.flat = r->term;
	r->out_buf.len = r->term_len;
	m->buf = &r->out_buf;
	return true;
}

/* A Read of nothing; its answer takes a place like any other's */
static void set_rtr_read(struct rdmap *r, struct ddp_msg *m)
{
	const struct rdmap_rreq nothing = {};
	struct rdmap_req *req;

	spin_lock(&r->lock);
	req = rdmap_reqq_push(&r->orq);
	if (req)
		req->flags = RDMAP_WR_RTR;
	spin_unlock(&r->lock);
	set_read_request(r, m, &nothing);
}

/* RFC 6581 section 9.2: nothing of the program's before this */
static bool next_rtr(struct rdmap *r, struct ddp_msg *m)
{
	if (r->rtr & DDP_RTR_WRITE) {
		set_op(m, RDMAP_OP_WRITE, true, 0);
		m->buf = &empty;
	} else if (r->rtr & DDP_RTR_READ) {
		set_rtr_read(r, m);
	} else if (r->rtr & DDP_RTR_SEND) {
		set_op(m, RDMAP_OP_SEND, false, 0);
		m->buf = &empty;
	} else {
		return false;
	}
	r->rtr = 0;
	return true;
}

static void set_read_response(struct rdmap *r, struct ddp_msg *m,
			      const struct rdmap_rreq *q)
{
	set_op(m, RDMAP_OP_READ_RESP, true, 0);
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

/* Who hears of it may invalidate memory */
static void fail_sending(struct rdmap *r, enum iw_reason why)
{
	ddp_tx_let_go(&r->stream);
	rdmap_fail(r, why);
}

static u64 rdmap_tx_atomic_result(const void *how, u64 old)
{
	return rdmap_atomic_result(how, old);
}

/* It is answered when its memory has come: nobody has it yet */
static void answer_later(struct rdmap *r)
{
	spin_lock(&r->lock);
	r->answering = false;
	spin_unlock(&r->lock);
}

/*
 * The atomic is done here, behind the answers before it; false: it may not, or its
 * memory has to come first
 */
static bool set_atomic_response(struct rdmap *r, struct ddp_msg *m,
				const struct rdmap_atomic *a)
{
	enum iw_reason why;
	u64 old;

	why = ddp_mem_atomic(&r->stream, a->stag, a->to, rdmap_tx_atomic_result,
			     a, &old);
	if (why == IW_NOT_NOW) {
		answer_later(r);
		return false;
	}
	if (why) {
		fail_sending(r, rdmap_refused(r, DDP_REMOTE_ATOMIC));
		return false;
	}
	rdmap_aresp_encode(r->out_raw, a->id, old);
	set_raw(r, m, RDMAP_OP_ATOMIC_RESP, RDMAP_QN_ATOMIC_RESP,
		RDMAP_ARESP_LEN);
	return true;
}

static bool next_response(struct rdmap *r, struct ddp_msg *m)
{
	struct rdmap_req *oldest, req;

	/* who brings one kicks behind it: what is not seen now the next turn is for */
	if (!READ_ONCE(r->asked))
		return false;
	spin_lock(&r->lock);
	oldest = rdmap_reqq_serve(&r->irq);
	if (oldest)
		req = *oldest;
	else
		WRITE_ONCE(r->asked, false);
	r->answering = oldest;
	spin_unlock(&r->lock);
	if (!oldest)
		return false;

	if (!req.is_atomic)
		set_read_response(r, m, &req.rreq);
	else if (!set_atomic_response(r, m, &req.atomic))
		return false;
	r->out = RDMAP_OUT_RESP;
	return true;
}

/* May the work request go, as far as outstanding Reads are concerned? */
static bool may_go(struct rdmap *r, const struct rdmap_wr *wr)
{
	bool ok = true, due;

	if (!(wr->flags & RDMAP_WR_FENCE) && !rdmap_wr_waits(wr))
		return true;
	spin_lock(&r->lock);
	due = !rdmap_reqq_empty(&r->orq);
	if ((wr->flags & RDMAP_WR_FENCE) && due)
		ok = false;
	if (rdmap_wr_waits(wr) && rdmap_reqq_full(&r->orq))
		ok = false;
	spin_unlock(&r->lock);
	/* where none may be outstanding it waits for nothing that could come */
	if (!ok && due)
		ddp_tx_await(&r->stream);
	return ok;
}

static void set_write(struct rdmap *r, const struct rdmap_wr *wr,
		      struct ddp_msg *m)
{
	set_op(m, RDMAP_OP_WRITE, true, 0);
	m->hdr.stag = wr->rkey;
	m->hdr.to = wr->raddr;
	m->buf = &wr->buf;
	r->imm_due = wr->flags & RDMAP_WR_IMMEDIATE;
}

/* The second message of the work request whose Write was the last one */
static bool next_immediate(struct rdmap *r, struct ddp_msg *m)
{
	bool se = r->wr.flags & RDMAP_WR_SOLICITED;

	if (!r->imm_due)
		return false;
	r->imm_due = false;
	memset(r->out_raw, 0, RDMAP_IMM_LEN);
	memcpy(r->out_raw, &r->wr.imm, sizeof(r->wr.imm));
	set_raw(r, m, se ? RDMAP_OP_IMM_SE : RDMAP_OP_IMM, RDMAP_QN_SEND,
		RDMAP_IMM_LEN);
	r->out = RDMAP_OUT_WR;
	return true;
}

static void set_send(const struct rdmap_wr *wr, struct ddp_msg *m)
{
	bool se = wr->flags & RDMAP_WR_SOLICITED;

	if (wr->flags & RDMAP_WR_INVALIDATE) {
		set_op(m, se ? RDMAP_OP_SEND_SE_INV : RDMAP_OP_SEND_INV, false,
		       0);
		m->hdr.ulp32 = wr->inv;
	} else {
		set_op(m, se ? RDMAP_OP_SEND_SE : RDMAP_OP_SEND, false, 0);
	}
	m->buf = &wr->buf;
}

/* The request is noted before it leaves: its answer may be quick */
static struct rdmap_rreq note_request(struct rdmap *r,
				      const struct rdmap_wr *wr)
{
	struct rdmap_req *req;
	struct rdmap_rreq q = {
		.len = wr->buf.len,
		.src_stag = wr->rkey,
		.src_to = wr->raddr,
	};

	if (wr->buf.nsge) {
		q.sink_stag = wr->sge[0].stag;
		q.sink_to = wr->sge[0].addr;
	}
	spin_lock(&r->lock);
	req = rdmap_reqq_push(&r->orq);
	*req = (struct rdmap_req) {
		.rreq = q, .slot = wr->slot, .flags = wr->flags, .inv = wr->inv,
		.is_atomic = wr->op != RDMAP_WR_READ,
	};
	spin_unlock(&r->lock);
	return q;
}

static void set_read(struct rdmap *r, const struct rdmap_wr *wr,
		     struct ddp_msg *m)
{
	const struct rdmap_rreq q = note_request(r, wr);

	set_read_request(r, m, &q);
}

/* RFC 7306 5.2.1: what an operation does not use is zero, masks all ones */
static void set_atomic(struct rdmap *r, const struct rdmap_wr *wr,
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

	note_request(r, wr);
	rdmap_atomic_encode(r->out_raw, &a);
	set_raw(r, m, RDMAP_OP_ATOMIC_REQ, RDMAP_QN_READ_REQ, RDMAP_AREQ_LEN);
}

/* A sink that may not be written is known before the peer is asked */
static bool sink_is_good(struct rdmap *r, const struct rdmap_wr *wr)
{
	const struct ddp_sge *sink = wr->sge;

	if (!wr->buf.len)
		return true;
	/* an atomic's: that of a Read would go on the wire */
	if (sink->stag == DDP_STAG_DMA)
		return r->stream.dma_ok;
	return !ddp_mem_check(&r->stream, sink->stag, sink->addr, sink->len,
			      DDP_LOCAL_WRITE);
}

/* False: it was local and is done, or has failed */
static bool start_wr(struct rdmap *r, struct ddp_msg *m)
{
	const struct rdmap_wr *wr = &r->wr;

	switch (wr->op) {
	case RDMAP_WR_WRITE:
		set_write(r, wr, m);
		return true;
	case RDMAP_WR_SEND:
		set_send(wr, m);
		return true;
	case RDMAP_WR_READ:
		if (!sink_is_good(r, wr))
			break;
		set_read(r, wr, m);
		return true;
	case RDMAP_WR_FETCH_ADD:
	case RDMAP_WR_CMP_SWAP:
		if (!sink_is_good(r, wr))
			break;
		set_atomic(r, wr, m);
		return true;
	default:
		ddp_tx_let_go(&r->stream);
		if (rdmap_sq_local(r, wr))
			return false;
		break;
	}
	rdmap_sq_failed(r, wr->slot);
	fail_sending(r, IW_LOCAL_PROT);
	return false;
}

static bool enough(const struct rdmap *r)
{
	return r->spent >= TURN;
}

static bool next_wr(struct rdmap *r, struct ddp_msg *m)
{
	while (!test_bit(0, &r->stream.failed) && !enough(r)) {
		if (!r->have_wr)
			r->have_wr = rdmap_sq_pull(r, &r->wr);
		if (!r->have_wr || !may_go(r, &r->wr))
			break;
		r->have_wr = false;
		if (start_wr(r, m)) {
			r->out = RDMAP_OUT_WR;
			return true;
		}
		/* it was a local one */
		r->spent += TURN / LOCALS;
	}
	return false;
}

/* The message last handed out is cut to its end */
static void commit(struct rdmap *r)
{
	switch (r->out) {
	case RDMAP_OUT_RESP:
		spin_lock(&r->lock);
		rdmap_reqq_served(&r->irq);
		r->answering = false;
		spin_unlock(&r->lock);
		r->responses++;
		break;
	case RDMAP_OUT_WR:
		if (!r->imm_due)
			rdmap_sq_cut(r, r->wr.slot);
		break;
	case RDMAP_OUT_NONE:
		break;
	}
	r->out = RDMAP_OUT_NONE;
}

static bool pick(struct rdmap *r, struct ddp_msg *m)
{
	if (next_rtr(r, m) || next_immediate(r, m))
		return true;
	if (r->wr_turn && next_wr(r, m)) {
		r->wr_turn = false;
		return true;
	}
	if (next_response(r, m)) {
		r->wr_turn = true;
		return true;
	}
	return !ddp_tx_waits(&r->stream) && next_wr(r, m);
}

static void end_turn(struct rdmap *r)
{
	if (enough(r))
		ddp_tx_rest(&r->stream);
	r->spent = 0;
}

static bool next_of_well(struct rdmap *r, struct ddp_msg *m)
{
	commit(r);
	if (enough(r) || !pick(r, m)) {
		end_turn(r);
		return false;
	}
	r->spent++;
	return true;
}

bool rdmap_next(struct ddp_stream *s, struct ddp_msg *m)
{
	struct rdmap *r = to_rdmap(s);
	bool any = !test_bit(0, &s->failed) && next_of_well(r, m);

	/* also if that has failed it: to an end that was asked for nothing is all */
	if (!any && test_bit(0, &s->failed)) {
		/* what was under way will not be finished: it is flushed */
		r->out = RDMAP_OUT_NONE;
		any = next_terminate(r, m);
	}
	if (any)
		rdmap_count(r, m->hdr.ulp8 & RDMAP_OPCODE_MASK, 1, true);
	return any;
}

/* All that has been cut since the last time */
static void count_sent(struct rdmap *r)
{
	const struct ddp_stream *s = &r->stream;

	rdmap_count_octets(r, s->segments - r->segments, s->octets - r->octets,
			   true);
	r->segments = s->segments;
	r->octets = s->octets;
}

void rdmap_sent(struct ddp_stream *s)
{
	struct rdmap *r = to_rdmap(s);

	count_sent(r);
	if (!s->in_msg)
		commit(r);
	r->spent = 0;
	if (r->responses) {
		spin_lock(&r->lock);
		rdmap_reqq_release(&r->irq, r->responses);
		spin_unlock(&r->lock);
		r->responses = 0;
	}
	rdmap_sq_sent(r);
}
