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

static bool is_waiting(const struct ddp_wait *w)
{
	/* order before reading the result; litmus: publish */
	return smp_load_acquire(&w->waits);
}

static bool has_failed(const struct ddp_stream *s)
{
	return test_bit(0, &s->failed);
}

bool ddp_rx_waits(const struct ddp_stream *s)
{
	return is_waiting(&s->rx_wait) && !has_failed(s);
}
EXPORT_SYMBOL_GPL(ddp_rx_waits);

/**
 * __ddp_tx_waits - check whether a page fault blocks the transmit path
 * @s: the stream
 *
 * Return: true if a request is pending; false otherwise, and always after a
 * failure.
 */
bool __ddp_tx_waits(const struct ddp_stream *s)
{
	return is_waiting(&s->tx_wait) && !has_failed(s);
}
EXPORT_SYMBOL_GPL(__ddp_tx_waits);

static void ddp_rx_goes_on(struct ddp_wait *w)
{
	struct ddp_stream *s = container_of(w, struct ddp_stream, rx_wait);
	struct ddp_llp *llp;

	rcu_read_lock();
	llp = rcu_dereference(s->llp);
	if (llp)
		llp->ops->resume(llp);
	rcu_read_unlock();
}

static void ddp_tx_goes_on(struct ddp_wait *w)
{
	ddp_kick(container_of(w, struct ddp_stream, tx_wait));
}

/**
 * ddp_waits_init - initialize the page-fault requests of a stream
 * @s: the stream, zeroed
 */
void ddp_waits_init(struct ddp_stream *s)
{
	s->rx_wait.done = ddp_rx_goes_on;
	s->tx_wait.done = ddp_tx_goes_on;
}

static void wait_end(struct ddp_wait *w)
{
	if (w->ops)
		w->ops->forget(w);
}

/**
 * ddp_waits_end - cancel the page-fault requests of a stream
 * @s: the stream; neither path will run any more
 */
void ddp_waits_end(struct ddp_stream *s)
{
	wait_end(&s->rx_wait);
	wait_end(&s->tx_wait);
}

/* Check whether the last request for this page failed, and forget its result */
static bool was_denied(struct ddp_wait *w, void *mem, u64 at, bool write)
{
	bool denied = w->denied && w->mem == mem && w->write == write &&
		      at - w->at < w->len;

	w->denied = false;
	return denied;
}

/**
 * ddp_wait_had - note that pages are present after a failed request
 * @w: request of the calling path; @w->denied is set
 * @r: MR without blocks
 * @to: TO of the first byte that was accessed
 * @len: number of bytes
 * @write: the access was a write
 *
 * Forgets the failure if it was for these pages. If they become absent again,
 * they are requested again.
 */
void ddp_wait_had(struct ddp_wait *w, const struct ddp_region *r, u64 to,
		  u32 len, bool write)
{
	u64 at = r->from + (to - r->base);

	/* @w belongs to the memory's owner while the request is pending */
	if (is_waiting(w))
		return;
	if (w->mem == r->mem && w->write == write && w->at - at < len)
		w->denied = false;
}

/**
 * ddp_wait_for - request a page fault
 * @w: request of the calling path, which holds an in-flight reference to @r
 * @r: MR without blocks
 * @to: TO of the first missing byte
 * @len: number of bytes wanted from there on
 * @write: the access is a write
 *
 * Return: IW_NOT_NOW if a request is pending now, or @w->mute is set;
 * IW_DDP_T_STAG if the last request was for this page and failed. Such a page
 * is treated like a revoked MR.
 */
enum iw_reason ddp_wait_for(struct ddp_wait *w, const struct ddp_region *r,
			    u64 to, u32 len, bool write)
{
	u64 at = r->from + (to - r->base);

	/* one request at a time */
	if (w->mute || is_waiting(w))
		return IW_NOT_NOW;
	if (was_denied(w, r->mem, at, write))
		return IW_DDP_T_STAG;
	w->ops = r->ops;
	w->mem = r->mem;
	w->at = at;
	w->len = len;
	w->write = write;
	WRITE_ONCE(w->waits, true);
	r->ops->bring(r->mem, w);
	return IW_NOT_NOW;
}

/**
 * ddp_wait_over - end a page-fault request and resume the path that issued it
 * @w: the request; the memory's owner makes sure that it is not cancelled
 *	meanwhile
 * @denied: the pages could not be faulted in
 */
void ddp_wait_over(struct ddp_wait *w, bool denied)
{
	WRITE_ONCE(w->denied, denied);
	/* the request belongs to the path from here on; litmus: publish */
	smp_store_release(&w->waits, false);
	w->done(w);
}
EXPORT_SYMBOL_GPL(ddp_wait_over);
