// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The send queue: slots written by a program or a kernel consumer, pulled by
 * the tx runner, completed in order.
 *
 * Indices run freely: tail (oldest not completed) <= cut <= head (next to pull)
 * <= prod; sent lies behind cut until the lower layer has taken what is cut.  A
 * note keeps for each slot pulled what its completion will say, out of the
 * program's reach.
 *
 * Nothing here walks the ring with the lock held: what is sent is told by one
 * index, what is to be flushed by another, and completions are taken off the
 * queue a few at a time.
 */
#include <linux/delay.h>

#include "rnic.h"
#include "stats.h"

/* Completions in one go, before a worker goes on: a softirq may be the one */
#define TELL_MOST	256

/* The verbs' statuses are written as they are */
static_assert((int)IB_WC_SUCCESS == RNIC_SW_OK);
static_assert((int)IB_WC_LOC_LEN_ERR == RNIC_SW_LOC_LEN_ERR);
static_assert((int)IB_WC_LOC_QP_OP_ERR == RNIC_SW_LOC_QP_OP_ERR);
static_assert((int)IB_WC_LOC_PROT_ERR == RNIC_SW_LOC_PROT_ERR);
static_assert((int)IB_WC_WR_FLUSH_ERR == RNIC_SW_WR_FLUSH_ERR);
static_assert((int)IB_WC_MW_BIND_ERR == RNIC_SW_MW_BIND_ERR);
static_assert((int)IB_WC_REM_ACCESS_ERR == RNIC_SW_REM_ACCESS_ERR);
static_assert((int)IB_WC_REM_OP_ERR == RNIC_SW_REM_OP_ERR);

enum note_state {
	NOTE_PULLED,		/* its message is on the way, until it is sent */
	NOTE_WAITS,		/* sent or not: its answer decides */
	NOTE_DONE,		/* completes when those before it have */
};

/* Read the slot's fixed part, once */
static void read_slot(struct rnic_sq *sq, u32 idx, struct rnic_sw_sqe *e)
{
	memcpy(e, rnic_ring_slot(&sq->ring, idx), sizeof(*e));
	/* what follows looks at the copy */
	barrier();
}

static void fill_note(struct rnic_sq *sq, u32 idx, const struct rnic_sw_sqe *e)
{
	struct rnic_sq_note *n = rnic_sq_note(sq, idx);

	n->wr_id = e->wr_id;
	n->opcode = e->opcode;
	n->flags = e->flags;
	n->len = 0;
	n->status = IB_WC_SUCCESS;
	n->state = NOTE_PULLED;
}

/* How many slots are posted and not pulled, or RING_IDX_LIE */
static u32 __rnic_sq_posted(struct rnic_sq *sq)
{
	return rnic_ring_posted(&sq->ring, sq->head, sq->tail);
}

/* The index behind what is posted; nonsense is not */
static u32 __end_of_posted(struct rnic_sq *sq)
{
	u32 n = __rnic_sq_posted(sq);

	return n == RING_IDX_LIE ? sq->head : sq->head + n;
}

/*
 * Nothing posted: who posts next has to wake us; look again after saying so.  Posts
 * that are gathered a timer looks for.
 */
static u32 __look_or_sleep(struct rnic_sq *sq)
{
	u32 n = __rnic_sq_posted(sq);

	if (n) {
		if (READ_ONCE(sq->ring.hdr->flags))
			WRITE_ONCE(sq->ring.hdr->flags, 0);
		return n;
	}
	if (sq->gathering)
		return 0;
	WRITE_ONCE(sq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	/* between prod and flags, as with who posts; litmus: wakeup */
	smp_mb();
	n = __rnic_sq_posted(sq);
	if (n)
		WRITE_ONCE(sq->ring.hdr->flags, 0);
	return n;
}

/* Is there anything to pull, or RING_IDX_LIE?  All that was there is, before another look */
static u32 __posted_or_sleep(struct rnic_sq *sq)
{
	u32 n = sq->seen - sq->head;

	if (n)
		return n;
	n = __look_or_sleep(sq);
	if (n != RING_IDX_LIE)
		sq->seen = sq->head + n;
	return n;
}

/* Take the next slot off the ring: what it says, and how well it says it */
static enum ib_wc_status __pull(struct rnic_qp *qp, struct rdmap_wr *wr)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_sq_note *n;
	struct rnic_sw_sqe e;

	wr->slot = sq->head++;
	n = rnic_sq_note(sq, wr->slot);
	read_slot(sq, wr->slot, &e);
	fill_note(sq, wr->slot, &e);
	n->status = rnic_sq_parse(qp, &e, rnic_ring_slot(&sq->ring, wr->slot),
				  wr);
	if (!n->status) {
		n->len = wr->buf.len;
		n->state = rdmap_wr_waits(wr) ? NOTE_WAITS : NOTE_PULLED;
	}
	return n->status;
}

bool rdmap_sq_pull(struct rdmap *r, struct rdmap_wr *wr)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;
	bool wrong = false;
	u32 n;

	spin_lock_irqsave(&sq->lock, flags);
	n = sq->flushing ? 0 : __posted_or_sleep(sq);
	if (sq->closing && sq->head == sq->end)
		n = 0;
	/*
	 * What is posted behind the change to ERROR is flushed and told, if nobody asked for
	 * that, too: who drains waits for it.  Looked at behind what is posted.
	 */
	if (test_bit(0, &r->stream.failed))
		n = 0;
	if (n)
		wrong = n == RING_IDX_LIE || __pull(qp, wr);
	spin_unlock_irqrestore(&sq->lock, flags);
	if (wrong) {
		ddp_tx_let_go(&r->stream);
		rdmap_fail(r, IW_LOCAL_PROT);
	}
	return n && !wrong;
}

/**
 * rnic_sq_close - what is posted is the last that leaves (RFC 5041 6.2.1)
 * @qp: a queue pair that has begun to close
 *
 * Later posts wait for the flush, and so does nonsense.
 */
void rnic_sq_close(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	sq->closing = true;
	sq->end = __end_of_posted(sq);
	spin_unlock_irqrestore(&sq->lock, flags);
}

static void fill_cqe(const struct rnic_qp *qp, const struct rnic_sq_note *n,
		     struct rnic_sw_cqe *cqe)
{
	*cqe = (struct rnic_sw_cqe) {
		.wr_id = n->wr_id,
		.qp_num = qp->ib.qp_num,
		.byte_len = n->len,
		.status = n->status,
		.opcode = n->opcode,
		.vendor_err = n->status ? qp->why : 0,
	};
}

/* What the peer complained of may be known to be a certain request's fault */
static u8 flush_status(struct rnic_qp *qp, const struct rnic_sq_note *n)
{
	const struct rdmap *r = &qp->rdmap;

	if (n->status)
		return n->status;
	if (qp->why != IW_PEER_TERMINATE || qp->sq.blamed ||
	    n->state != NOTE_WAITS || r->peer_layer)
		return IB_WC_WR_FLUSH_ERR;
	qp->sq.blamed = true;
	return r->peer_type == 1 ? IB_WC_REM_ACCESS_ERR : IB_WC_REM_OP_ERR;
}

/* In a flush what is posted is pulled, too; it goes no further */
static bool __see_next(struct rnic_sq *sq)
{
	struct rnic_sw_sqe e;

	if (!sq->flushing || sq->head == sq->flush_end)
		return false;
	read_slot(sq, sq->head, &e);
	fill_note(sq, sq->head, &e);
	sq->head++;
	return true;
}

static bool __is_done(const struct rnic_sq *sq, const struct rnic_sq_note *n)
{
	return n->state == NOTE_DONE ||
	       (n->state == NOTE_PULLED && ring_idx_before(sq->tail, sq->sent));
}

/* Is the oldest request over?  In a flush it is, one way or another */
static bool __oldest_is_over(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_sq_note *n = rnic_sq_note(sq, sq->tail);

	if (sq->tail == sq->head && !__see_next(sq))
		return false;
	/* sent or not: behind a failure there is no success */
	if (!sq->broken && !n->status && __is_done(sq, n))
		return true;
	if (!sq->flushing)
		return false;
	sq->broken = true;
	n->status = flush_status(qp, n);
	return true;
}

/*
 * Take requests that are over off the queue, up to one that is to be told: then
 * @tell is set, and @cqe says what.  Return: how many
 */
static u32 __take_over(struct rnic_qp *qp, struct rnic_sw_cqe *cqe, bool *tell)
{
	struct rnic_sq *sq = &qp->sq;
	u32 n = 0;

	*tell = false;
	while (!*tell && n < RING_IDX_STEPS && __oldest_is_over(qp)) {
		const struct rnic_sq_note *note = rnic_sq_note(sq, sq->tail);

		*tell = note->status || sq->sig_all ||
			(note->flags & RNIC_SW_SEND_SIGNALED);
		if (*tell)
			fill_cqe(qp, note, cqe);
		sq->tail++;
		n++;
	}
	rnic_ring_consumed(&sq->ring, sq->tail);
	return n;
}

static void tell_later(struct rnic_qp *qp)
{
	kref_get(&qp->ref);
	if (!queue_work(rnic_wq, &qp->tell_work))
		rnic_qp_put(qp);
}

/*
 * Complete, in order, what is over.  Whoever comes while another does it
 * leaves it to them; the consumer is called without a lock.
 */
static void complete_and_unlock(struct rnic_qp *qp, unsigned long flags)
	__releases(&qp->sq.lock)
{
	struct rnic_sq *sq = &qp->sq;
	bool tell, more, ok = true;
	struct rnic_sw_cqe cqe;
	u32 taken, sum = 0;

	if (sq->completing) {
		spin_unlock_irqrestore(&sq->lock, flags);
		return;
	}
	sq->completing = true;
	do {
		taken = __take_over(qp, &cqe, &tell);
		/* or else those were all */
		more = tell || taken == RING_IDX_STEPS;
		if (!more)
			break;
		spin_unlock_irqrestore(&sq->lock, flags);
		if (tell)
			ok &= rnic_cq_push(qp->scq, &cqe, &qp->ib);
		spin_lock_irqsave(&sq->lock, flags);
		sum += taken;
	} while (sum < TELL_MOST);
	more = more && __oldest_is_over(qp);
	sq->completing = false;
	spin_unlock_irqrestore(&sq->lock, flags);
	if (!ok)
		rdmap_fail(&qp->rdmap, IW_LOCAL_CQ);
	if (more)
		tell_later(qp);
}

static void complete_ready(struct rnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.lock, flags);
	complete_and_unlock(qp, flags);
}

/**
 * rnic_sq_tell_more - a worker goes on with completions
 * @work: the queue pair's; it holds a reference
 */
void rnic_sq_tell_more(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(work, struct rnic_qp, tell_work);

	complete_ready(qp);
	rnic_qp_put(qp);
}

void rdmap_sq_cut(struct rdmap *r, u32 slot)
{
	rdmap_to_qp(r)->sq.cut = slot + 1;
}

void rdmap_sq_sent(struct rdmap *r)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&sq->lock, flags);
	any = !sq->flushing && sq->sent != sq->cut;
	if (any) {
		sq->sent = sq->cut;
		complete_and_unlock(qp, flags);
	} else {
		spin_unlock_irqrestore(&sq->lock, flags);
	}
}

static void set_done(struct rnic_qp *qp, u32 slot)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	if (!sq->flushing) {
		rnic_sq_note(sq, slot)->state = NOTE_DONE;
		/* a local one is not sent: nobody will say that it was */
		if (sq->sent == slot)
			sq->sent++;
	}
	complete_and_unlock(qp, flags);
}

void rdmap_sq_answered(struct rdmap *r, u32 slot, u32 len)
{
	set_done(rdmap_to_qp(r), slot);
}

void rdmap_sq_failed(struct rdmap *r, u32 slot)
{
	struct rnic_sq *sq = &rdmap_to_qp(r)->sq;
	struct rnic_sq_note *n = rnic_sq_note(sq, slot);
	unsigned long flags;

	/* the flush that follows completes it in its place */
	spin_lock_irqsave(&sq->lock, flags);
	n->status = n->opcode == RNIC_SW_OP_BIND_MW ? IB_WC_MW_BIND_ERR :
						      IB_WC_LOC_PROT_ERR;
	spin_unlock_irqrestore(&sq->lock, flags);
}

static bool do_local(struct rnic_qp *qp, const struct rdmap_wr *wr)
{
	const struct rnic_sq_note *n = rnic_sq_note(&qp->sq, wr->slot);
	struct ddp_stream *s = &qp->rdmap.stream;

	switch (wr->op) {
	case RDMAP_WR_REG:
		return !rnic_mr_fastreg(n->reg_mr, wr, s);
	case RDMAP_WR_BIND:
		return rnic_mw_bind(qp->dev, s, wr);
	default:
		return !ddp_mem_invalidate(s, wr->inv, false);
	}
}

bool rdmap_sq_local(struct rdmap *r, const struct rdmap_wr *wr)
{
	struct rnic_qp *qp = rdmap_to_qp(r);

	if (!do_local(qp, wr))
		return false;
	rdmap_sq_cut(r, wr->slot);
	set_done(qp, wr->slot);
	return true;
}

/**
 * rnic_sq_flush - complete all that is posted, with an error
 * @qp: a queue pair in error, its stream settled
 *
 * Process context.  Later posts have to wake us, to be flushed in turn.
 */
void rnic_sq_flush(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	WRITE_ONCE(sq->flushing, true);
	WRITE_ONCE(sq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	/* between prod and flags, as with who posts; litmus: wakeup */
	smp_mb();
	WRITE_ONCE(sq->flush_end, __end_of_posted(sq));
	spin_unlock_irqrestore(&sq->lock, flags);
	complete_ready(qp);
}

/* One that is off the queue may not have come to the completion queue yet */
static bool told_up_to(struct rnic_sq *sq, u32 end)
{
	unsigned long flags;
	bool told;

	spin_lock_irqsave(&sq->lock, flags);
	told = ring_idx_before(end, sq->tail) ||
	       (sq->tail == end && !sq->completing);
	spin_unlock_irqrestore(&sq->lock, flags);
	return told;
}

/**
 * rnic_sq_flushed - wait until all that a flush completes has been told
 * @qp: a queue pair after rnic_sq_flush()
 *
 * Whoever is at it meanwhile tells some, a worker of rnic_wq's the rest; what is
 * posted later is not waited for.  Sleeps.  Not from rnic_wq.
 */
void rnic_sq_flushed(struct rnic_qp *qp)
{
	u32 end = READ_ONCE(qp->sq.flush_end);

	while (!told_up_to(&qp->sq, end))
		usleep_range(5, 50);
}
