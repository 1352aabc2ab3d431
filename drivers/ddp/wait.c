// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A stream that waits for memory which is not there.
 *
 * Neither runner sleeps: it asks for the memory, leaves what it is about as it
 * was, and goes on with it when it is told that the memory has come, or cannot
 * be had.  By then it may be gone again: then it asks once more.
 */
#include <linux/export.h>
#include <linux/rcupdate.h>

#include "internal.h"

static bool is_waiting(const struct ddp_wait *w)
{
	/* what it was told is there; litmus: publish */
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
 * __ddp_tx_waits - has memory to come before anything more is sent?
 * @s: the stream
 *
 * Return: whether it has; after a failure it need not.
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
 * ddp_waits_init - neither runner waits
 * @s: the stream, all zeros
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
 * ddp_waits_end - neither runner will run
 * @s: the stream
 */
void ddp_waits_end(struct ddp_stream *s)
{
	wait_end(&s->rx_wait);
	wait_end(&s->tx_wait);
}

/* Is it this that could not be had? */
static bool was_denied(struct ddp_wait *w, void *mem, u64 at, bool write)
{
	bool denied = w->denied && w->mem == mem && w->write == write &&
		      at - w->at < w->len;

	w->denied = false;
	return denied;
}

/**
 * ddp_wait_had - octets have been there after all
 * @w: the runner's, who has been told that some of them cannot be had
 * @r: a region without blocks
 * @to: the first of them
 * @len: how many
 * @write: what for
 *
 * When they are gone again they are asked for again.
 */
void ddp_wait_had(struct ddp_wait *w, const struct ddp_region *r, u64 to,
		  u32 len, bool write)
{
	u64 at = r->from + (to - r->base);

	/* as long as somebody waits it is the memory's owner's */
	if (is_waiting(w))
		return;
	if (w->mem == r->mem && w->write == write && w->at - at < len)
		w->denied = false;
}

/**
 * ddp_wait_for - octets are not there: ask for them
 * @w: the runner's, who has found so within a use of @r
 * @r: a region without blocks
 * @to: the first that is missing
 * @len: up to where they are wanted
 * @write: what for
 *
 * Return: IW_NOT_NOW, also if @w is mute; IW_DDP_T_STAG: they have been asked for, and
 * cannot be had: to who wants them it is as if the region had been revoked.
 */
enum iw_reason ddp_wait_for(struct ddp_wait *w, const struct ddp_region *r,
			    u64 to, u32 len, bool write)
{
	u64 at = r->from + (to - r->base);

	/* for something else: one thing after the other */
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
 * ddp_wait_over - whoever waits goes on
 * @w: by this; its memory's owner sees to it that it is not forgotten meanwhile
 * @denied: the memory cannot be had
 */
void ddp_wait_over(struct ddp_wait *w, bool denied)
{
	WRITE_ONCE(w->denied, denied);
	/* all else in there is the runner's from here on; litmus: publish */
	smp_store_release(&w->waits, false);
	w->done(w);
}
EXPORT_SYMBOL_GPL(ddp_wait_over);
