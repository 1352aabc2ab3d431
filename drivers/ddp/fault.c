// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Page faults of a stream.
 *
 * The receive path and the transmit path never sleep. A path that finds a page
 * missing issues a page-fault request, and stops before the segment or operation
 * that needs the page. The path retries when the request has succeeded or
 * failed. If the page is missing again by then, the path issues another request.
 */
#include <linux/export.h>
#include <linux/rcupdate.h>

#include "internal.h"

static bool is_fault_pending(const struct ddp_fault *w)
{
	/*
	 * Read pending before fault_failed, because ddp_fault_complete() writes
	 * fault_failed before it clears pending; litmus: publish
	 */
	return smp_load_acquire(&w->pending);
}

static bool has_failed(const struct ddp_stream *s)
{
	return test_bit(0, &s->failed);
}

bool ddp_rx_has_pending_fault(const struct ddp_stream *s)
{
	return is_fault_pending(&s->rx_fault) && !has_failed(s);
}
EXPORT_SYMBOL_GPL(ddp_rx_has_pending_fault);

/**
 * __ddp_tx_has_pending_fault - check whether a page fault blocks the transmit path
 * @s: the stream
 *
 * Return: true if a page-fault request is pending; false if none is, or if the
 * stream has failed.
 */
bool __ddp_tx_has_pending_fault(const struct ddp_stream *s)
{
	return is_fault_pending(&s->tx_fault) && !has_failed(s);
}
EXPORT_SYMBOL_GPL(__ddp_tx_has_pending_fault);

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

static void cancel_fault(struct ddp_fault *w)
{
	if (w->ops)
		w->ops->cancel(w);
}

/**
 * ddp_faults_cancel - cancel the page-fault requests of a stream
 * @s: the stream; the caller must ensure that neither its receive path nor its
 *	transmit path will run again
 */
void ddp_faults_cancel(struct ddp_stream *s)
{
	cancel_fault(&s->rx_fault);
	cancel_fault(&s->tx_fault);
}

/*
 * Check whether the last request was for the page at the address @at of @mem
 * and has failed. Clears the failure in any case, so that the next access to a
 * missing page issues a new request.
 */
static bool test_and_clear_failure(struct ddp_fault *w, void *mem, u64 at, bool write)
{
	bool fault_failed = w->fault_failed && w->mem == mem && w->write == write &&
		      at - w->at < w->len;

	w->fault_failed = false;
	return fault_failed;
}

/**
 * ddp_fault_clear_failure - clear the failure of the last request after a successful access
 * @w: request of the calling path; @w->fault_failed is set
 * @r: MR of the access: ODP memory or a dma-buf
 * @to: TO of the first byte that the path has accessed
 * @len: number of bytes
 * @write: true if the access was a write
 *
 * Called when the path has accessed the pages, so they are present. If they
 * become absent later, the next access issues a new request and does not return
 * the old failure.
 */
void ddp_fault_clear_failure(struct ddp_fault *w, const struct ddp_region *r, u64 to,
			     u32 len, bool write)
{
	u64 at = r->mem_base + (to - r->base);

	/* while a request is pending, only the code that implements @w->ops may access @w */
	if (is_fault_pending(w))
		return;
	if (w->mem == r->mem && w->write == write && w->at - at < len)
		w->fault_failed = false;
}

/**
 * ddp_fault_request_pages - request that the missing pages of an MR are faulted in
 * @w: request of the calling path, which must hold an in-flight reference to @r
 * @r: MR of the access: ODP memory or a dma-buf
 * @to: TO of the first missing byte
 * @len: number of bytes wanted from @to on
 * @write: true if the access is a write
 *
 * Return: IW_AGAIN if a request has been issued or was already pending, or if
 * @w->suppressed is set and no request was issued; IW_DDP_T_STAG, as for a
 * revoked MR, if the last request was for this page and has failed.
 */
enum iw_reason ddp_fault_request_pages(struct ddp_fault *w, const struct ddp_region *r,
				       u64 to, u32 len, bool write)
{
	u64 at = r->mem_base + (to - r->base);

	/* a path has only one request, so do not issue another one while it is pending */
	if (w->suppressed || is_fault_pending(w))
		return IW_AGAIN;
	if (test_and_clear_failure(w, r->mem, at, write))
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
 * ddp_rx_begin_wait - make the receive path wait for the ULP, as for a page fault
 * @s: the stream
 * @ops: operations of the ULP, of which only cancel is called
 * @owner: private to the ULP; the cancel operation finds it in ddp_fault.mem
 *
 * The ULP calls this function in the admit upcall, and then either returns IW_AGAIN from the upcall
 * and calls ddp_fault_complete() later, or calls ddp_rx_cancel_wait() in the upcall.
 *
 * Context: the admit upcall.
 */
void ddp_rx_begin_wait(struct ddp_stream *s, const struct ddp_mem_ops *ops, void *owner)
{
	struct ddp_fault *w = &s->rx_fault;

	w->ops = ops;
	w->mem = owner;
	w->len = 0;
	w->fault_failed = false;
	WRITE_ONCE(w->pending, true);
}
EXPORT_SYMBOL_GPL(ddp_rx_begin_wait);

/**
 * ddp_rx_cancel_wait - undo ddp_rx_begin_wait() in the same upcall
 * @s: the stream
 */
void ddp_rx_cancel_wait(struct ddp_stream *s)
{
	WRITE_ONCE(s->rx_fault.pending, false);
}
EXPORT_SYMBOL_GPL(ddp_rx_cancel_wait);

/**
 * ddp_fault_complete - complete a page-fault request, and resume the waiting path
 * @w: the request; the caller must ensure that ddp_mem_ops.cancel() for @w does
 *	not return before this function does
 * @fault_failed: true if the pages cannot be faulted in
 *
 * Context: any.
 */
void ddp_fault_complete(struct ddp_fault *w, bool fault_failed)
{
	WRITE_ONCE(w->fault_failed, fault_failed);
	/*
	 * Write fault_failed before pending; pairs with is_fault_pending(). From now
	 * on the path owns the request. litmus: publish
	 */
	smp_store_release(&w->pending, false);
	w->done(w);
}
EXPORT_SYMBOL_GPL(ddp_fault_complete);
