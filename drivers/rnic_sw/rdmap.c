// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Set the depths (IRD and ORD) of a stream's request queues, fail a stream, and choose the
 * reason of a failure if an access fails that an earlier check had allowed. rdmap_ulp.c
 * handles the failure of a stream.
 *
 * The arrays of the request queues are replaced only before the stream runs.
 */
#include <linux/slab.h>

#include "rdmap.h"

/**
 * rdmap_get_refusal_reason - get the reason why an access failed that a check had allowed
 * @r: the stream
 * @right: DDP_REMOTE_* right that the access needs
 *
 * The caller must have checked the peer's request, and found that it may access the memory.
 * If a later check or the access itself fails, then either the queue pair or the STag has
 * lost the right since that check.
 *
 * Return: IW_RDMAP_P_ACCESS if the queue pair no longer grants @right; IW_RDMAP_P_STAG if
 * it does, so that the STag must be the cause.
 */
enum iw_reason rdmap_get_refusal_reason(const struct rdmap *r, u8 right)
{
	return READ_ONCE(r->stream.denied) & right ? IW_RDMAP_P_ACCESS
						   : IW_RDMAP_P_STAG;
}

/**
 * rdmap_set_depths - set the maximum number of outstanding requests
 * @r: RDMAP state of the stream
 * @ird: maximum number of unanswered requests from the peer
 * @ord: maximum number of unanswered local requests
 *
 * The caller must ensure that the stream does not run yet. May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rdmap_set_depths(struct rdmap *r, u16 ird, u16 ord)
{
	struct rdmap_req *in, *out;

	/*
	 * The queue must have space for ird unanswered requests, ird answered requests
	 * that are not released yet, and one request whose response is being sent.
	 * rdmap_reqq_push() clears each entry before use.
	 */
	in = kmalloc_array(2 * ird + 1, sizeof(*in), GFP_KERNEL_ACCOUNT);
	out = kmalloc_array(max_t(u16, ord, 1), sizeof(*out), GFP_KERNEL_ACCOUNT);
	if (!in || !out) {
		kfree(in);
		kfree(out);
		return -ENOMEM;
	}
	rdmap_free_queues(r);
	/* rdmap_get_depths() may run concurrently */
	spin_lock_bh(&r->lock);
	rdmap_reqq_init(&r->irq, in, 2 * ird + 1);
	r->ird = ird;
	rdmap_reqq_init(&r->orq, out, ord);
	spin_unlock_bh(&r->lock);
	return 0;
}

/**
 * rdmap_get_depths - get the maximum number of outstanding requests
 * @r: RDMAP state of the stream
 * @ird: set to the IRD, or to 0 if rdmap_set_depths() has not been called
 * @ord: set to the ORD, or to 0 if rdmap_set_depths() has not been called
 */
void rdmap_get_depths(struct rdmap *r, u16 *ird, u16 *ord)
{
	spin_lock_bh(&r->lock);
	*ird = r->ird;
	*ord = r->orq.size;
	spin_unlock_bh(&r->lock);
}

/**
 * rdmap_free_queues - free the queues of outstanding requests
 * @r: RDMAP state of the stream; the caller must ensure that the stream does not run
 */
void rdmap_free_queues(struct rdmap *r)
{
	kfree(r->irq.req);
	kfree(r->orq.req);
	rdmap_reqq_init(&r->irq, NULL, 0);
	rdmap_reqq_init(&r->orq, NULL, 0);
}

/**
 * rdmap_fail - fail the stream for a reason that is not an error in a received segment
 * @r: RDMAP state of the stream
 * @why: reason of the failure; ignored if the stream has failed before
 *
 * Context: any. The caller must hold no in-flight reference to an MR.
 */
void rdmap_fail(struct rdmap *r, enum iw_reason why)
{
	const struct iw_failure f = { .why = why };

	ddp_stream_fail(&r->stream, &f);
}
