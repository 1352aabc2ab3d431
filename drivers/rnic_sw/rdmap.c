// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Life of an RDMAP stream: set-up, failure and end. */
#include <linux/slab.h>

#include "rdmap.h"

/**
 * rdmap_refused - get the reason for refusing an access that was allowed before
 * @r: the stream
 * @right: DDP_REMOTE_* right that the access needs
 *
 * The access was allowed when the request arrived and is not allowed any more.
 *
 * Return: IW_RDMAP_P_ACCESS if the queue pair no longer grants the right, as
 * for a request that arrives now; IW_RDMAP_P_STAG if the STag does not.
 */
enum iw_reason rdmap_refused(const struct rdmap *r, u8 right)
{
	return READ_ONCE(r->stream.denied) & right ? IW_RDMAP_P_ACCESS
						   : IW_RDMAP_P_STAG;
}

/*
 * Set reason and quoted header after a failure to read local memory for a
 * message being segmented: memory of a work request, or memory that the peer
 * requested to read (RFC 5040 7.2).
 */
static void blame_source(struct rdmap *r, struct iw_fault *f)
{
	struct rdmap_rreq left;
	struct rdmap_req *req;

	if (r->out == RDMAP_OUT_RESP) {
		f->why = rdmap_refused(r, DDP_REMOTE_READ);
		spin_lock_bh(&r->lock);
		req = rdmap_reqq_serve(&r->irq);
		if (req) {
			left = req->rreq;
			rdmap_rreq_advance(&left, r->stream.gone);
			rdmap_rreq_encode(f->rdma, &left);
			f->rdma_len = sizeof(f->rdma);
		}
		spin_unlock_bh(&r->lock);
	} else {
		f->why = IW_LOCAL_PROT;
		if (r->out == RDMAP_OUT_WR)
			rdmap_sq_failed(r, r->wr.slot);
	}
	r->out = RDMAP_OUT_NONE;
}

static bool tagged_reason(enum iw_reason why)
{
	const struct iw_reason_row *row = iw_reason_row(why);

	return row->layer == IW_LAYER_DDP && row->type == IW_DDP_TAGGED;
}

/* RFC 5040 7.1 (1): report purely local errors to the peer, too */
static size_t build_terminate(struct rdmap *r, const struct iw_fault *f)
{
	const struct iw_fault ours = { .why = IW_RDMAP_CATASTROPHIC };
	bool only_we = f->why == IW_LOCAL_PROT || f->why == IW_LOCAL_CQ;

	return rdmap_term_build(r->term, only_we ? &ours : f);
}

static void rdmap_failed(struct ddp_stream *s, const struct iw_fault *fault)
{
	struct rdmap *r = to_rdmap(s);
	struct iw_fault f = *fault;

	if (!f.seg_len && tagged_reason(f.why))
		blame_source(r, &f);
	/* in a received segment: the receive path is here, and owns these */
	if (f.seg_len && r->bad_rreq) {
		memcpy(f.rdma, r->req, sizeof(f.rdma));
		f.rdma_len = sizeof(f.rdma);
	}
	/* a receive buffer without write access is no fault of the peer */
	if (f.why == IW_LOCAL_PROT && f.seg_len)
		f.why = IW_RDMAP_CATASTROPHIC;

	spin_lock_bh(&r->lock);
	r->term_len = build_terminate(r, &f);
	r->term_due = r->term_len;
	r->decided = true;
	spin_unlock_bh(&r->lock);
	rdmap_event(r, &f);
	/* a Terminate, if there is one, is sent before the close */
	ddp_stream_close(s, IW_LOCAL_CLOSE);
}

static void rdmap_llp_down(struct ddp_stream *s, enum iw_reason why)
{
	rdmap_down(to_rdmap(s), why);
}

static const struct ddp_ulp_ops ulp_ops = {
	.admit		= rdmap_admit,
	.more		= rdmap_more,
	.wrote		= rdmap_wrote,
	.early		= rdmap_early,
	.deliver	= rdmap_deliver,
	.next		= rdmap_next,
	.sent		= rdmap_sent,
	.failed		= rdmap_failed,
	.down		= rdmap_llp_down,
};

/**
 * rdmap_init - initialize a stream that is not connected yet
 * @r: RDMAP state of the stream
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
 * rdmap_set_depths - set the maximum number of outstanding requests
 * @r: the stream, before it runs
 * @ird: maximum number of requests from the peer
 * @ord: maximum number of local requests
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rdmap_set_depths(struct rdmap *r, u16 ird, u16 ord)
{
	struct rdmap_req *in, *out;

	/*
	 * ird unanswered requests, ird answered but not yet released, and one
	 * in transition
	 */
	in = kcalloc(2 * ird + 1, sizeof(*in), GFP_KERNEL_ACCOUNT);
	out = kcalloc(max_t(u16, ord, 1), sizeof(*out), GFP_KERNEL_ACCOUNT);
	if (!in || !out) {
		kfree(in);
		kfree(out);
		return -ENOMEM;
	}
	rdmap_destroy(r);
	/* rdmap_depths() may run at the same time */
	spin_lock_bh(&r->lock);
	rdmap_reqq_init(&r->irq, in, 2 * ird + 1);
	r->ird = ird;
	rdmap_reqq_init(&r->orq, out, ord);
	spin_unlock_bh(&r->lock);
	return 0;
}

/**
 * rdmap_depths - get the maximum number of outstanding requests
 * @r: the stream
 * @ird: set to the value given to rdmap_set_depths(), or 0 before
 * @ord: set likewise
 */
void rdmap_depths(struct rdmap *r, u16 *ird, u16 *ord)
{
	spin_lock_bh(&r->lock);
	*ird = r->ird;
	*ord = r->orq.size;
	spin_unlock_bh(&r->lock);
}

/**
 * rdmap_destroy - free the queues of outstanding requests
 * @r: the stream, not running
 */
void rdmap_destroy(struct rdmap *r)
{
	kfree(r->irq.req);
	kfree(r->orq.req);
	rdmap_reqq_init(&r->irq, NULL, 0);
	rdmap_reqq_init(&r->orq, NULL, 0);
}

/**
 * rdmap_fail - fail the stream because of an error that the verbs found
 * @r: the stream
 * @why: the reason
 */
void rdmap_fail(struct rdmap *r, enum iw_reason why)
{
	const struct iw_fault f = { .why = why };

	ddp_stream_fail(&r->stream, &f);
}
