// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMAP state of a stream, below the receive and transmit paths: depths of its
 * queues of requests, reasons, and failure on behalf of the verbs.  The
 * consequences of a failure are in rdmap_ulp.c.
 *
 * The queues are replaced only while the stream does not run.
 */
#include <linux/slab.h>

#include "rdmap.h"

/**
 * rdmap_refusal_reason - get the reason for refusing an access that was allowed before
 * @r: the stream
 * @right: DDP_REMOTE_* right that the access needs
 *
 * The access was allowed when the request arrived and is not allowed any more.
 *
 * Return: IW_RDMAP_P_ACCESS if the queue pair no longer grants the right, as
 * for a request that arrives now; IW_RDMAP_P_STAG if the STag does not.
 */
enum iw_reason rdmap_refusal_reason(const struct rdmap *r, u8 right)
{
	return READ_ONCE(r->stream.denied) & right ? IW_RDMAP_P_ACCESS
						   : IW_RDMAP_P_STAG;
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
	/* rdmap_get_depths() may run at the same time */
	spin_lock_bh(&r->lock);
	rdmap_reqq_init(&r->irq, in, 2 * ird + 1);
	r->ird = ird;
	rdmap_reqq_init(&r->orq, out, ord);
	spin_unlock_bh(&r->lock);
	return 0;
}

/**
 * rdmap_get_depths - get the maximum number of outstanding requests
 * @r: the stream
 * @ird: set to the value given to rdmap_set_depths(), or 0 before
 * @ord: set likewise
 */
void rdmap_get_depths(struct rdmap *r, u16 *ird, u16 *ord)
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
