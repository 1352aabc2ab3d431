// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Page faults of a stream.
 *
 * Neither path sleeps. A path that finds a page missing issues a page-fault
 * request and leaves its state unchanged. It retries when the request is over,
 * whether that succeeded or failed. If the page is gone again by then, the path
 * issues another request.
 */
#include <linux/export.h>
#include <linux/rcupdate.h>

#include "internal.h"

static bool is_pending(const struct ddp_fault *w)
{
	/* order before reading the result; litmus: publish */
	return smp_load_acquire(&w->pending);
}

static bool has_failed(const struct ddp_stream *s)
{
	return test_bit(0, &s->failed);
}

bool ddp_rx_fault_pending(const struct ddp_stream *s)
{
	return is_pending(&s->rx_fault) && !has_failed(s);
}
EXPORT_SYMBOL_GPL(ddp_rx_fault_pending);

/**
 * __ddp_tx_fault_pending - check whether a page fault blocks the transmit path
 * @s: the stream
 *
 * Return: true if a request is pending; false otherwise, and always after a
 * failure.
 */
bool __ddp_tx_fault_pending(const struct ddp_stream *s)
{
	return is_pending(&s->tx_fault) && !has_failed(s);
}
EXPORT_SYMBOL_GPL(__ddp_tx_fault_pending);

static void ddp_rx_resume(struct ddp_fault *w)
{
	struct ddp_stream *s = container_of(w, struct ddp_stream, rx_fault);
	struct ddp_llp *llp;

	rcu_read_lock();
	llp = rcu_dereference(s->llp);
	if (llp)
		llp->ops->resume(llp);
	rcu_read_unlock();
}

static void ddp_tx_resume(struct ddp_fault *w)
{
	ddp_kick(container_of(w, struct ddp_stream, tx_fault));
}

/**
 * ddp_faults_init - initialize the page-fault requests of a stream
 * @s: the stream, zeroed
 */
void ddp_faults_init(struct ddp_stream *s)
{
	s->rx_fault.done = ddp_rx_resume;
	s->tx_fault.done = ddp_tx_resume;
}

static void fault_cancel(struct ddp_fault *w)
{
	if (w->ops)
		w->ops->cancel(w);
}

/**
 * ddp_faults_cancel - cancel the page-fault requests of a stream
 * @s: the stream; neither path will run any more
 */
void ddp_faults_cancel(struct ddp_stream *s)
{
	fault_cancel(&s->rx_fault);
	fault_cancel(&s->tx_fault);
}

/* Check whether the last request for this page failed, and forget its result */
static bool test_and_clear_failed(struct ddp_fault *w, void *mem, u64 at, bool write)
{
	bool fault_failed = w->fault_failed && w->mem == mem && w->write == write &&
		      at - w->at < w->len;

	w->fault_failed = false;
	return fault_failed;
}

/**
 * ddp_fault_resolved - note that pages are present after a failed request
 * @w: request of the calling path; @w->fault_failed is set
 * @r: MR without blocks
 * @to: TO of the first byte that was accessed
 * @len: number of bytes
 * @write: the access was a write
 *
 * Forgets the failure if it was for these pages. If they become absent again,
 * they are requested again.
 */
void ddp_fault_resolved(struct ddp_fault *w, const struct ddp_region *r, u64 to,
			u32 len, bool write)
{
	u64 at = r->from + (to - r->base);

	/* @w belongs to the memory's owner while the request is pending */
	if (is_pending(w))
		return;
	if (w->mem == r->mem && w->write == write && w->at - at < len)
		w->fault_failed = false;
}

/**
 * ddp_fault_request - request a page fault
 * @w: request of the calling path, which holds an in-flight reference to @r
 * @r: MR without blocks
 * @to: TO of the first missing byte
 * @len: number of bytes wanted from there on
 * @write: the access is a write
 *
 * Return: IW_AGAIN if a request is pending now, or @w->suppressed is set;
 * IW_DDP_T_STAG if the last request was for this page and failed. Such a page
 * is treated like a revoked MR.
 */
enum iw_reason ddp_fault_request(struct ddp_fault *w, const struct ddp_region *r,
				 u64 to, u32 len, bool write)
{
	u64 at = r->from + (to - r->base);

	/* one request at a time */
	if (w->suppressed || is_pending(w))
		return IW_AGAIN;
	if (test_and_clear_failed(w, r->mem, at, write))
		return IW_DDP_T_STAG;
	w->ops = r->ops;
	w->mem = r->mem;
	w->at = at;
	w->len = len;
	w->write = write;
	WRITE_ONCE(w->pending, true);
	r->ops->fault_in(r->mem, w);
	return IW_AGAIN;
}

/**
 * ddp_fault_done - end a page-fault request and resume the path that issued it
 * @w: the request; the memory's owner makes sure that it is not cancelled
 *	meanwhile
 * @fault_failed: the pages could not be faulted in
 */
void ddp_fault_done(struct ddp_fault *w, bool fault_failed)
{
	WRITE_ONCE(w->fault_failed, fault_failed);
	/* the request belongs to the path from here on; litmus: publish */
	smp_store_release(&w->pending, false);
	w->done(w);
}
EXPORT_SYMBOL_GPL(ddp_fault_done);
