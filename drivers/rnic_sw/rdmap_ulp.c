// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMAP as the ULP of a DDP stream: the table of upcalls, and the upcalls for
 * failure and end of the stream. rdmap_rx.c and rdmap_tx.c have the upcalls for
 * received and transmitted messages.
 *
 * DDP calls rdmap_handle_failure() only for the first failure of a stream.
 */
#include "rdmap.h"

/*
 * Set the reason in @f, and the header to quote, after the transmit path could
 * not read local memory. If the message was a Read Response, quote the part of
 * the peer's request that is not answered (RFC 5040 7.2). If the message belonged
 * to a work request, set the request to an error status.
 */
static void set_tx_memory_failure(struct rdmap *r, struct iw_failure *f)
{
	struct rdmap_rreq left;
	struct rdmap_req *req;

	if (r->out_type == RDMAP_OUT_RESP) {
		f->why = rdmap_get_refusal_reason(r, DDP_REMOTE_READ);
		spin_lock_bh(&r->lock);
		req = rdmap_reqq_peek_unserved(&r->irq);
		if (req) {
			left = req->rreq;
			rdmap_rreq_advance(&left, r->stream.msg_pulled_before);
			rdmap_rreq_encode(f->rdma, &left);
			f->rdma_len = sizeof(f->rdma);
		}
		spin_unlock_bh(&r->lock);
	} else {
		f->why = IW_LOCAL_PROT;
		if (r->out_type == RDMAP_OUT_WR)
			rdmap_sq_set_wr_failed(r, r->wr.slot);
	}
	r->out_type = RDMAP_OUT_NONE;
}

static bool is_ddp_tagged_error(enum iw_reason why)
{
	const struct iw_reason_row *row = iw_reason_get_row(why);

	return row->layer == IW_LAYER_DDP && row->type == IW_DDP_TAGGED;
}

/*
 * Build the Terminate in r->term. A local protection error or a CQ overrun is
 * reported to the peer as a local catastrophic error (RFC 5040 7.1 (1)).
 *
 * Return: the length of the Terminate in bytes, or 0 if no Terminate must be
 * sent.
 */
static size_t build_terminate(struct rdmap *r, const struct iw_failure *f)
{
	const struct iw_failure ours = { .why = IW_RDMAP_CATASTROPHIC };
	bool only_we = f->why == IW_LOCAL_PROT || f->why == IW_LOCAL_CQ;

	return rdmap_term_build(r->term, only_we ? &ours : f);
}

static void rdmap_handle_failure(struct ddp_stream *s, const struct iw_failure *fault)
{
	struct rdmap *r = to_rdmap(s);
	struct iw_failure f = *fault;

	if (!f.seg_len && is_ddp_tagged_error(f.why))
		set_tx_memory_failure(r, &f);
	/*
	 * If f.seg_len is set, the failure is in a received segment. So this
	 * function then runs in the receive path, and may read that path's
	 * fields @bad_rreq and @req.
	 */
	if (f.seg_len && r->bad_rreq) {
		memcpy(f.rdma, r->req, sizeof(f.rdma));
		f.rdma_len = sizeof(f.rdma);
	}
	/*
	 * A received segment could not be placed for a local reason: the
	 * receive buffer or the sink of an atomic may not be written or cannot
	 * be faulted in, or the receive WQE or the producer index is invalid.
	 * The peer has not caused this, so report a local catastrophic error.
	 */
	if (f.why == IW_LOCAL_PROT && f.seg_len)
		f.why = IW_RDMAP_CATASTROPHIC;

	spin_lock_bh(&r->lock);
	r->term_len = build_terminate(r, &f);
	r->term_pending = r->term_len;
	r->term_decided = true;
	spin_unlock_bh(&r->lock);
	rdmap_report_failure(r, &f);
	/* the LLP sends a pending Terminate before it closes the stream */
	ddp_stream_close(s, IW_LOCAL_CLOSE);
}

static void rdmap_handle_down(struct ddp_stream *s, enum iw_reason why)
{
	rdmap_report_down(to_rdmap(s), why);
}

static const struct ddp_ulp_ops ulp_ops = {
	.admit		= rdmap_admit,
	.admit_more	= rdmap_admit_more,
	.writes_placed	= rdmap_deliver_writes,
	.may_place_early = rdmap_may_place_early,
	.deliver	= rdmap_deliver,
	.next		= rdmap_prepare_next_msg,
	.sent		= rdmap_handle_sent,
	.failed		= rdmap_handle_failure,
	.down		= rdmap_handle_down,
};

/**
 * rdmap_init - initialize the RDMAP state of a stream
 * @r: the state; the stream must not be connected yet
 * @stags: STag table of the device
 * @pd: protection domain of the queue pair
 */
void rdmap_init(struct rdmap *r, struct ddp_stags *stags, void *pd)
{
	memset(r, 0, sizeof(*r));
	ddp_stream_init(&r->stream, &ulp_ops, stags, pd);
	spin_lock_init(&r->lock);
}

/**
 * rdmap_reset - initialize the RDMAP state of a stream again
 * @r: the state; the stream must have failed, be unbound and have no request queues
 *
 * Keeps the SGE arrays, and whether the peer's operations are counted. Other contexts may hold
 * r->lock at the same time.
 */
void rdmap_reset(struct rdmap *r)
{
	struct ddp_sge *sge = r->wr.sge, *recv_sge = r->recv_sge;

	r->rtr = 0;
	r->rtr_expected = 0;
	memset((void *)r + offsetof(struct rdmap, wr), 0,
	       offsetof(struct rdmap, lock) - offsetof(struct rdmap, wr));
	r->wr.sge = sge;
	r->recv_sge = recv_sge;
	spin_lock_bh(&r->lock);
	memset((void *)r + offsetof(struct rdmap, term), 0,
	       sizeof(*r) - offsetof(struct rdmap, term));
	spin_unlock_bh(&r->lock);
	ddp_stream_reset(&r->stream);
}
