// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmit path: split messages into segments when the LLP pulls them, one
 * message after the other.
 */
#include <linux/export.h>

#include "hdr.h"
#include "internal.h"
#include "segment.h"
#include "trace.h"

/*
 * Check whether the rest of the current message must not be sent, because the
 * stream has failed and the message is not the Terminate (RFC 5041 7.1)
 */
static bool is_msg_abandoned(const struct ddp_stream *s)
{
	return test_bit(0, &s->failed) && !s->msg.send_if_failed;
}

void ddp_tx_begin(struct ddp_stream *s)
{
	WRITE_ONCE(s->tx_busy, true);
	/*
	 * Set tx_busy before reading failed; pairs with ddp_stream_quiesce(),
	 * which reads tx_busy after failed is set. Otherwise
	 * ddp_stream_quiesce() could return while this path reads memory of the
	 * ULP. litmus: settle
	 */
	smp_mb();
}
EXPORT_SYMBOL_GPL(ddp_tx_begin);

void ddp_tx_end(struct ddp_stream *s)
{
	ddp_mr_cache_drop(&s->tx_mr);
	/*
	 * Complete all reads of memory and all work requests before clearing
	 * tx_busy; pairs with is_busy() of ddp_stream_quiesce(); litmus: settle
	 */
	smp_store_release(&s->tx_busy, false);
}
EXPORT_SYMBOL_GPL(ddp_tx_end);

/**
 * ddp_tx_set_expects_kick - report that there is nothing to send until the ULP kicks
 * @s: the stream
 *
 * Called from next(), which must then return false. The ULP must kick when it
 * has more to send. Until then the LLP delays a graceful end of the stream.
 */
void ddp_tx_set_expects_kick(struct ddp_stream *s)
{
	s->tx_expects_kick = true;
}
EXPORT_SYMBOL_GPL(ddp_tx_set_expects_kick);

/**
 * ddp_tx_resched - let other streams transmit, and schedule the transmit path again
 * @s: the stream
 *
 * Called from next() although there is more to send; next() must then return
 * false.
 */
void ddp_tx_resched(struct ddp_stream *s)
{
	ddp_tx_set_expects_kick(s);
	ddp_kick(s);
}
EXPORT_SYMBOL_GPL(ddp_tx_resched);

bool ddp_tx_expects_kick(const struct ddp_stream *s)
{
	return s && s->tx_expects_kick;
}
EXPORT_SYMBOL_GPL(ddp_tx_expects_kick);

/**
 * ddp_tx_put_mr - drop the cached MR reference of the transmit path
 * @s: the stream
 *
 * Called from next() before it invalidates memory, fails the stream, or takes a
 * lock under which another context revokes an MR. Otherwise the revocation would
 * wait forever for this reference.
 */
void ddp_tx_put_mr(struct ddp_stream *s)
{
	ddp_mr_cache_drop(&s->tx_mr);
}
EXPORT_SYMBOL_GPL(ddp_tx_put_mr);

/**
 * ddp_tx_set_blocked - report that a message must wait for a response from the peer
 * @s: the stream
 *
 * Called from next(), which may still return another message. The receive path
 * kicks when a response arrives.
 */
void ddp_tx_set_blocked(struct ddp_stream *s)
{
	s->tx_blocked = true;
}
EXPORT_SYMBOL_GPL(ddp_tx_set_blocked);

bool ddp_tx_is_blocked(const struct ddp_stream *s)
{
	return s && s->tx_blocked;
}
EXPORT_SYMBOL_GPL(ddp_tx_is_blocked);

bool ddp_tx_has_failed(const struct ddp_stream *s)
{
	return s && test_bit(0, &s->failed);
}
EXPORT_SYMBOL_GPL(ddp_tx_has_failed);

/*
 * Get the next message from the ULP. Return: true if @s->msg is set; false if
 * there is nothing to send now.
 */
static bool try_begin_next_message(struct ddp_stream *s)
{
	s->tx_expects_kick = false;
	s->tx_blocked = false;
	/*
	 * Set in_msg before next() takes a message under the ULP's lock. The
	 * receive path reads in_msg under the same lock, so it finds in_msg set
	 * if the message was taken. litmus: answered
	 */
	WRITE_ONCE(s->in_msg, true);
	if (!s->ulp->next(s, &s->msg)) {
		WRITE_ONCE(s->in_msg, false);
		return false;
	}
	/* this message reads no MR: drop the cached reference, which delays revocation */
	if (s->msg.buf->flat || !s->msg.buf->len)
		ddp_mr_cache_drop(&s->tx_mr);
	if (!s->msg.hdr.tagged)
		s->msg.hdr.msn = s->msn[s->msg.hdr.qn]++;
	ddp_cursor_init(&s->src, s->msg.buf);
	s->msg_pulled = 0;
	return true;
}

/* Compute the header of the next segment. Return: the payload length in bytes. */
static u32 compute_next_header(const struct ddp_stream *s, u32 mulpdu, struct ddp_hdr *h)
{
	const struct ddp_segmentation state = {
		.first = &s->msg.hdr,
		.total = s->msg.buf->len,
		.done = s->msg_pulled,
	};

	return ddp_compute_segment(&state, mulpdu, h);
}

static void account_pulled_segments(struct ddp_stream *s, u32 segments, u32 bytes)
{
	s->msg_pulled += bytes;
	/* doorbells read it without being the owner, see rnic_sq_transmit_or_coalesce() */
	WRITE_ONCE(s->bytes, s->bytes + bytes);
	s->segments += segments;
}

bool ddp_tx_pull(struct ddp_stream *s, u32 mulpdu, struct ddp_txseg *seg)
{
	struct ddp_hdr h;

	if (unlikely(ddp_tx_has_pending_fault(s))) {
		/*
		 * Nothing can be pulled now, so the LLP calls ddp_tx_expects_kick()
		 * next. That function must return true even if the page fault has
		 * been resolved by then.
		 */
		s->tx_expects_kick = true;
		return false;
	}
	if (s->in_msg && is_msg_abandoned(s))
		WRITE_ONCE(s->in_msg, false);
	if (!s->in_msg && !try_begin_next_message(s))
		return false;

	seg->len = compute_next_header(s, mulpdu, &h);
	seg->hdr_len = ddp_hdr_encode(seg->hdr, &h);
	s->msg_pulled_before = s->msg_pulled;
	account_pulled_segments(s, 1, seg->len);
	seg->left = s->msg.buf->len - s->msg_pulled;
	seg->more = !h.last || s->msg.more;
	WRITE_ONCE(s->in_msg, !h.last);
	trace_ddp_segment_pulled(s, &h, seg->len);
	return true;
}
EXPORT_SYMBOL_GPL(ddp_tx_pull);

/*
 * Write the headers of the next @n segments, which have @len bytes of payload
 * each. The last segment of the message must not be one of them, because all
 * headers are copied from the first one, which has no L bit.
 */
static void write_headers(struct ddp_stream *s, const struct ddp_txbatch *batch, u32 n,
			  u32 len)
{
	u8 like[IW_DDP_HDR_MAX];
	struct ddp_hdr h;
	u32 i;

	compute_next_header(s, batch->len, &h);
	ddp_hdr_encode(like, &h);
	for (i = 0; i < n; i++) {
		ddp_hdr_encode_like(batch->at + i * batch->stride, like, &h);
		trace_ddp_segment_pulled(s, &h, len);
		h.to += h.tagged ? len : 0;
		h.mo += h.tagged ? 0 : len;
	}
	account_pulled_segments(s, n, n * len);
}

u32 ddp_tx_pull_batch(struct ddp_stream *s, const struct ddp_txbatch *batch)
{
	u32 hdr_len = ddp_hdr_len(&s->msg.hdr), len = batch->len - hdr_len, n;

	if (!s->in_msg || is_msg_abandoned(s) || ddp_tx_has_pending_fault(s))
		return 0;
	/* exclude the last segment, which has the L bit and may be shorter */
	n = min(batch->max_segments, (s->msg.buf->len - s->msg_pulled - 1) / len);
	n = ddp_fetch_payload_batch(s, &s->src, batch->at + hdr_len, batch->stride, len, n);
	if (n)
		write_headers(s, batch, n, len);
	return n;
}
EXPORT_SYMBOL_GPL(ddp_tx_pull_batch);

/* noinline keeps this rare path out of ddp_tx_copy_payload() */
noinline void ddp_tx_undo_pull(struct ddp_stream *s)
{
	ddp_mr_cache_drop(&s->tx_mr);
	s->segments--;
	WRITE_ONCE(s->bytes, s->bytes - (s->msg_pulled - s->msg_pulled_before));
	s->msg_pulled = s->msg_pulled_before;
	ddp_cursor_seek(&s->src, s->msg.buf, s->msg_pulled);
	WRITE_ONCE(s->in_msg, true);
}
EXPORT_SYMBOL_GPL(ddp_tx_undo_pull);

bool ddp_tx_copy_payload(struct ddp_stream *s, void *dst, u32 len)
{
	struct iw_failure f = {};

	if (!is_msg_abandoned(s)) {
		f.why = ddp_fetch_payload(s, &s->src, dst, len);
		if (!f.why)
			return true;
		if (f.why == IW_AGAIN) {
			ddp_tx_undo_pull(s);
			return false;
		}
		ddp_mr_cache_drop(&s->tx_mr);
		ddp_stream_fail(s, &f);
	}
	/*
	 * The message is incomplete, even if this was its last segment: sent() must not complete
	 * it. The next pull abandons the message.
	 */
	WRITE_ONCE(s->in_msg, true);
	return false;
}
EXPORT_SYMBOL_GPL(ddp_tx_copy_payload);

u32 ddp_tx_get_page_off(struct ddp_stream *s)
{
	return ddp_cursor_get_page_off(&s->src);
}
EXPORT_SYMBOL_GPL(ddp_tx_get_page_off);

bool ddp_tx_report_sent(struct ddp_stream *s, bool look)
{
	return s->ulp->sent(s, look);
}
EXPORT_SYMBOL_GPL(ddp_tx_report_sent);
