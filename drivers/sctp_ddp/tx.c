// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmission of chunks, by the association's worker.
 *
 * The worker gives transmit slots to the streams of the association. Streams with a
 * control chunk to send get their slots first, then streams with segments in FIFO order.
 * The worker pulls segments from DDP one by one, as SCTP accepts them, so at most one
 * segment of an association is pulled and not yet accepted by SCTP (the pending
 * segment).
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include <ddp/copy.h>
#include "internal.h"
#include "trace.h"

/* Maximum bytes per transmit slot of a stream; SLOT_BYTES_ALONE if no other stream has segments */
#define SLOT_BYTES		(16 * 1024)
#define SLOT_BYTES_ALONE	(64 * 1024)	/* as much as SCTP passes to IP at once (GSO) */
/* maximum number of slots per call of sddp_tx_send_chunks() */
#define MAX_SLOTS		8
#define DEADLINE_REPLY	60	/* maximum wait for the reply to our Initiate, seconds */

/* Add the stream to the list of streams whose last control chunk is not acknowledged */
static void add_to_unacked_list(struct sddp_stream *st)
{
	struct sddp_assoc *a = st->a;

	st->control_tsn = sddp_sock_get_last_tsn(a);
	list_move_tail(&st->await_ack, &a->unacked);
}

/**
 * sddp_tx_process_acks - process the acknowledgments of control chunks
 * @a: the association
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_tx_process_acks(struct sddp_assoc *a)
{
	struct sddp_stream *st, *next;

	if (list_empty(&a->unacked)) {
		WRITE_ONCE(a->watch_acks, false);
		return;
	}
	a->acked = sddp_sock_get_acked_tsn(a);
	list_for_each_entry_safe(st, next, &a->unacked, await_ack) {
		if ((s32)(a->acked - st->control_tsn) < 0)
			continue;
		list_del_init(&st->await_ack);
		trace_sddp_acked(st);
		sddp_session_record_control_acked(&st->s);
		sddp_stream_set_event(st, SDDP_EV_TX);
	}
}

/* Encode a control chunk and pass it to SCTP. Return: 0 or an error of sddp_sock_send_chunk(). */
static int send_control_chunk(struct sddp_stream *st, struct sddp_control *c)
{
	u8 buf[SDDP_CONTROL_MAX];
	size_t len;
	int err;

	c->ssn = st->tx_ssn;
	len = sddp_control_encode(buf, sizeof(buf), c);
	/* cannot happen: alloc_control_chunk() has rejected an offer that does not fit */
	if (WARN_ON_ONCE(!len))
		return -EINVAL;
	/* set the flag before the send, so that the acknowledgment schedules the worker */
	WRITE_ONCE(st->a->watch_acks, true);
	err = sddp_sock_send_chunk(st->a, st->id, SDDP_PPID_CONTROL, buf, len);
	if (err)
		return err;
	trace_sddp_control(st, c, true);
	st->tx_ssn++;
	sddp_session_record_chunk_sent(&st->s, c->kind, c->offer.enhanced);
	add_to_unacked_list(st);
	return 0;
}

/*
 * Send the pending Initiate, Accept or Reject, if there is one and the session's state
 * allows it. Return: 0 or a negative errno.
 */
static int send_pending_control_chunk(struct sddp_stream *st)
{
	struct sddp_control *c = st->pending_control;
	int err;

	if (!c || st->ended || !sddp_session_may_send(&st->s, c->kind))
		return 0;
	err = send_control_chunk(st, c);
	if (err)
		return err;
	st->pending_control = NULL;
	if (c->kind == SDDP_KIND_INITIATE)
		sddp_stream_set_deadline(st, DEADLINE_REPLY);
	else if (c->kind == SDDP_KIND_ACCEPT)
		sddp_stream_set_deadline(st, 0);
	else
		sddp_stream_end(st, IW_LOCAL_CLOSE, NULL);
	kfree(c);
	return 0;
}

/*
 * Send the session's Terminate if the session has ended for the ULP, or if a graceful
 * end is requested and all segments have been sent. Return: 0 or a negative errno.
 */
static int send_terminate_if_due(struct sddp_stream *st)
{
	struct sddp_control c = { .kind = SDDP_KIND_TERMINATE };

	/* RFC 5043 6.2: this must be our last chunk, so RDMAP's Terminate is sent first */
	if (!st->ended && !(READ_ONCE(st->closing) && st->drained))
		return 0;
	return sddp_session_may_send(&st->s, c.kind) ? send_control_chunk(st, &c) : 0;
}

static void uncork_if_corked(struct sddp_assoc *a)
{
	if (!a->corked)
		return;
	a->corked = 0;
	sddp_sock_uncork(a);
}

/*
 * Cork SCTP while more segments of the message follow, so that SCTP passes many chunks to
 * IP at once, at a lower cost per chunk. Uncork SCTP before the last segment of the message
 * or of the slot, so that SCTP sends this segment and the segments held back. @left: bytes
 * left in the slot after the pending segment.
 */
static void cork_or_uncork(struct sddp_assoc *a, u32 left)
{
	bool more = a->out_more && left;
	u32 len = a->out_len;

	if (!a->corked) {
		if (more && len <= left && sddp_sock_try_cork(a, SLOT_BYTES_ALONE))
			a->corked = len;
		return;
	}
	a->corked += len;
	if (!more || a->corked + len > SLOT_BYTES_ALONE)
		uncork_if_corked(a);
}

/* Pass the pending segment to SCTP. Return: 0 or an error of sddp_sock_send_chunk(). */
static int send_pending_segment(struct sddp_assoc *a)
{
	struct sddp_stream *st = a->out_stream;
	int err;

	err = sddp_sock_send_chunk(a, st->id, SDDP_PPID_SEGMENT, a->out + a->out_at,
				   a->out_len);
	if (err)
		return err;
	st->tx_ssn++;
	a->out_len = 0;
	a->out_stream = NULL;
	local_bh_disable();
	ddp_tx_report_sent(st->stream, false);
	local_bh_enable();
	return 0;
}

/* Grow the transmit buffer for chunks of @size bytes. Return: 0 or -ENOMEM. */
static int grow_out_buf(struct sddp_assoc *a, u32 size)
{
	u8 *out;

	/*
	 * Add space for the offset of a long segment, see choose_out_offset(). This may double
	 * the memory of the buffer, but only while the path allows long segments.
	 */
	if (size > DDP_COPY_LONG)
		size += PAGE_SIZE;
	if (size <= a->out_size)
		return 0;
	out = kvmalloc(size, GFP_KERNEL);
	if (!out)
		return -ENOMEM;
	kvfree(a->out);
	a->out = out;
	a->out_size = size;
	return 0;
}

/*
 * Compute the offset of a segment's chunk in the transmit buffer. The payload of a long
 * segment gets the same page offset as its source, so that ddp_copy() can copy whole
 * pages.
 */
static u32 choose_out_offset(struct sddp_stream *st, const struct ddp_txseg *seg)
{
	unsigned long payload = (unsigned long)st->a->out + SDDP_SEGMENT + seg->hdr_len;

	if (seg->len < DDP_COPY_LONG)
		return 0;
	return offset_in_page(ddp_tx_get_page_off(st->stream) - payload);
}

/*
 * Pull the next segment into the transmit buffer, with at most @mulpdu bytes. Return:
 * true if a segment is pending now, false if DDP has none to send.
 */
static bool build_next_segment(struct sddp_stream *st, u32 mulpdu)
{
	struct sddp_assoc *a = st->a;
	struct ddp_txseg seg;
	bool ok;
	u8 *p;

	local_bh_disable();
	ddp_tx_begin(st->stream);
	do {
		ok = ddp_tx_pull(st->stream, mulpdu, &seg);
		if (!ok)
			break;
		a->out_at = choose_out_offset(st, &seg);
		p = a->out + a->out_at;
		sddp_ssn_encode(p, st->tx_ssn);
		p += SDDP_SEGMENT;
		memcpy(p, seg.hdr, seg.hdr_len);
		a->out_len = SDDP_SEGMENT + seg.hdr_len + seg.len;
		a->out_more = seg.left;
		/*
		 * if the payload cannot be read, pull again: DDP may send RDMAP's
		 * Terminate instead
		 */
	} while (!ddp_tx_copy_payload(st->stream, p + seg.hdr_len, seg.len));
	ddp_tx_end(st->stream);
	local_bh_enable();
	if (ok)
		a->out_stream = st;
	else
		a->out_len = 0;
	return ok;
}

/*
 * Pull the next segment. If DDP has none, compute st->drained: true if SCTP has accepted
 * all segments that must precede the session's Terminate. If the pull makes the DDP
 * stream fail, RDMAP's Terminate is sent in a later slot. Return: true if there was no
 * segment, false if a segment is pending now.
 */
static bool pull_segment_or_set_drained(struct sddp_stream *st, u32 mulpdu)
{
	/*
	 * Read closing before the pull. Pairs with the release in sddp_stream_request_end():
	 * otherwise the pull could miss a request that was posted before the close, and
	 * the session's Terminate would be sent before that request. litmus: drained
	 */
	bool closing = smp_load_acquire(&st->closing);

	if (st->stream && build_next_segment(st, mulpdu))
		return false;
	/*
	 * not drained while requests are pending or wait for responses that the peer can
	 * still send
	 */
	st->drained = closing && !ddp_tx_expects_kick(st->stream) &&
		      (st->peer_closed || !ddp_tx_is_blocked(st->stream));
	return true;
}

/*
 * Send segments of a stream, up to @most bytes. Return: 1 if the stream may have more
 * segments; 0 if it has none; -EAGAIN if SCTP has UNSENT_MAX unsent bytes; or another
 * negative errno.
 */
static int send_segments(struct sddp_stream *st, u32 most)
{
	struct sddp_assoc *a = st->a;
	struct sddp_tx_budget budget;
	u32 sent = 0;
	int err;

	sddp_sock_prepare_tx_budget(a, &budget);
	if (!budget.bytes)
		return -EAGAIN;
	err = grow_out_buf(a, budget.fragment);
	if (err)
		return err;
	most = min(most, budget.bytes);
	while (sent < most) {
		if (pull_segment_or_set_drained(st, budget.fragment - SDDP_SEGMENT)) {
			/* do not hold back chunks while the next segment waits for a page fault */
			uncork_if_corked(a);
			return 0;
		}
		sent += a->out_len;
		cork_or_uncork(a, most - min(most, sent));
		err = send_pending_segment(a);
		/* end the slot; if the segment is still pending, the next slot sends it */
		if (err)
			return err == -EAGAIN ? 1 : err;
	}
	return 1;
}

/*
 * Send the pending segment that SCTP did not accept in an earlier slot, if there is one.
 * It may belong to another stream than the one that has this slot. Return: 0 or an error
 * of sddp_sock_send_chunk().
 */
static int send_earlier_segment(struct sddp_assoc *a)
{
	/*
	 * Uncork SCTP, which is still corked if the stream failed within a message or
	 * SCTP was short of memory. SCTP then sends the chunks held back together with
	 * the next chunk, which may be the session's Terminate.
	 */
	uncork_if_corked(a);
	return a->out_len ? send_pending_segment(a) : 0;
}

static bool may_send_segments(const struct sddp_stream *st)
{
	return !st->ended && sddp_session_may_send(&st->s, SDDP_KIND_SEGMENT);
}

/*
 * Send chunks of one stream in its slot: at most @most bytes of segments, or none if
 * @most is 0. Return: 1 if the stream may have more to send, 0 if not, or a negative
 * errno.
 */
static int send_stream_chunks(struct sddp_stream *st, u32 most)
{
	int err = send_earlier_segment(st->a);

	/*
	 * let this slot compute drained again: since the last slot DDP may have got more
	 * segments, such as RDMAP's Terminate
	 */
	st->drained = false;
	if (!err)
		err = send_pending_control_chunk(st);
	if (!err && most && may_send_segments(st))
		err = send_segments(st, most);
	/*
	 * The session's Terminate must follow the last segment: an error means that segments
	 * may be left. An ended session sends no more segments, so its Terminate need not wait.
	 */
	if (err)
		return err;
	return send_terminate_if_due(st);
}

/*
 * Check whether a stream has a control chunk that must be sent before all segments. The
 * Terminate of a graceful end does not count, because it follows the last segment.
 */
static bool has_control_chunk_to_send(const struct sddp_stream *st)
{
	if (st->pending_control && !st->ended &&
	    sddp_session_may_send(&st->s, st->pending_control->kind))
		return true;
	return st->ended && sddp_session_may_send(&st->s, SDDP_KIND_TERMINATE);
}

/**
 * sddp_tx_enqueue_stream - queue a stream for a transmit slot if it may have something to send
 * @st: the stream
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_tx_enqueue_stream(struct sddp_stream *st)
{
	struct sddp_assoc *a = st->a;

	if (has_control_chunk_to_send(st))
		list_move_tail(&st->queue_entry, &a->control_queue);
	else if (list_empty(&st->queue_entry) && may_send_segments(st))
		list_add_tail(&st->queue_entry, &a->segment_queue);
}

/* Find the stream that gets the next slot. Return: the stream, or NULL if there is none. */
static struct sddp_stream *pick_next_stream(struct sddp_assoc *a)
{
	struct list_head *from = &a->control_queue;

	if (list_empty(from) && !READ_ONCE(a->unsent_full))
		from = &a->segment_queue;
	return list_first_entry_or_null(from, struct sddp_stream, queue_entry);
}

/*
 * Let a stream send in a transmit slot, and queue it again if it may have more to send.
 * Return: 0 if the stream has sent all, 1 if it may have more to send, or a negative
 * errno.
 */
static int run_tx_slot(struct sddp_stream *st)
{
	struct sddp_assoc *a = st->a;
	bool has_control = has_control_chunk_to_send(st);
	u32 most = list_is_singular(&a->segment_queue) ? SLOT_BYTES_ALONE : SLOT_BYTES;
	int err;

	ddp_session_get(&st->ss);
	err = send_stream_chunks(st, has_control ? 0 : most);
	if (err >= 0) {
		list_del_init(&st->queue_entry);
		sddp_stream_advance_close(st);
		if (err || has_control)
			sddp_tx_enqueue_stream(st);
		sddp_stream_release_if_ended(st);
	} else if (!ddp_sock_is_transient_error(err)) {
		/* dequeue a stream whose send has failed, so that other streams can still send */
		list_del_init(&st->queue_entry);
	}
	ddp_session_put(&st->ss);
	return err;
}

/*
 * Send pending Terminates of orphaned sessions, then give slots to the streams. Return:
 * 0 if no stream can send more now; 1 if a stream can, and SCTP accepts more chunks;
 * -EAGAIN if SCTP accepts no more chunks; or another negative errno.
 */
static int run_tx_slots(struct sddp_assoc *a)
{
	struct sddp_stream *st;
	int n, err = sddp_orphan_send_all_terminates(a);

	for (n = 0; n < MAX_SLOTS && err >= 0; n++) {
		st = pick_next_stream(a);
		if (!st)
			return 0;
		/*
		 * The send buffer is full. Return -EAGAIN, so that the caller schedules
		 * a retry: SCTP does not always wake up the worker, see
		 * sddp_assoc_schedule_retry().
		 */
		if (READ_ONCE(a->sndbuf_full))
			return -EAGAIN;
		err = run_tx_slot(st);
	}
	if (err < 0)
		return err;
	return READ_ONCE(a->sndbuf_full) ? -EAGAIN : 1;
}

/**
 * sddp_tx_send_chunks - give transmit slots to the streams
 * @a: the association
 *
 * Context: worker, with the association's mutex held.
 * Return: 1 if there may be more to send and SCTP accepts more; 0 if there is nothing to
 * send, if the send buffer was already full before the call, or if only segments remain
 * and unsent_full was already set before the call; -EAGAIN if SCTP accepts no more chunks
 * now; another negative errno if memory is short, see ddp_sock_is_transient_error(), or if the
 * association has ended.
 */
int sddp_tx_send_chunks(struct sddp_assoc *a)
{
	return READ_ONCE(a->sndbuf_full) ? 0 : run_tx_slots(a);
}
