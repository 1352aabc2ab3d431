// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Processing of received chunks, in whatever order they arrive.
 *
 * A chunk that is next in order is passed to the session or to DDP without delay. DDP places the
 * payload of an out-of-order tagged segment without delay, and the stream keeps only the header;
 * any other out-of-order chunk is kept as a whole. The DDP-SSN is checked against the window (RFC
 * 5043 10) before memory is allocated. Chunks of a session that has ended are only counted. While
 * a segment is deferred because of a page fault, later chunks are treated as out of order.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

/* End a session because of an error in a chunk; the worker sends a Terminate if one may be sent */
static void abort_session(struct sddp_stream *st, enum iw_reason why)
{
	sddp_session_abort(&st->s);
	sddp_assoc_count_violation(st->a);
	st->rx_stopped = true;
	sddp_stream_end(st, why, NULL);
}

static bool may_accept_segments(const struct sddp_stream *st)
{
	return st->stream && !st->rx_stopped && st->s.state == SDDP_OPEN;
}

/* Read the first bytes of a segment of @len bytes, for ddp_rx_segment() */
static bool read_segment_head(struct sddp_assoc *a, u8 *head, u32 len)
{
	a->src.off = SDDP_SEGMENT;
	return sddp_src_read_next(a, head, min_t(u32, len, IW_DDP_T_HDR_LEN));
}

/* Pass the segment in the association's src to DDP. Context: worker, BH off. */
static enum iw_reason sddp_rx_pass_segment(struct sddp_stream *st, u32 len)
{
	u8 head[IW_DDP_T_HDR_LEN];

	if (read_segment_head(st->a, head, len))
		return ddp_rx_segment(st->stream, &st->llp, head, len);
	ddp_llp_report_error(st->stream, IW_UNREADABLE);
	return IW_UNREADABLE;
}

/*
 * Deliver a segment that is next in order. @p: record of ddp_rx_try_place_early_segment() if DDP
 * has placed the payload already, else NULL. Return: true if the segment has been delivered or
 * discarded, false if the caller must defer it.
 */
static bool deliver_segment(struct sddp_stream *st, u32 len, const struct ddp_placed *p)
{
	enum iw_reason why;

	if (!may_accept_segments(st))
		return true;
	local_bh_disable();
	if (p)
		why = ddp_rx_deliver_placed_segment(st->stream, p);
	else
		why = sddp_rx_pass_segment(st, len - SDDP_SEGMENT);
	local_bh_enable();
	if (why == IW_AGAIN)
		return false;
	if (why)
		st->rx_stopped = true;
	return true;
}

/* Enter Full Operation after the peer's Accept; end the session if the ULP binds no DDP stream */
static void sddp_rx_enter_full_operation(struct sddp_stream *st, const struct ddp_offer *o)
{
	if (st->ended)
		return;
	sddp_stream_set_deadline(st, 0);
	st->accepted = true;
	sddp_assoc_record_accepted_session(st->a);
	/* ignore the result: if the ULP refuses the reply, the DDP stream sends only a Terminate */
	ddp_session_report_established(&st->ss, o);
	if (!st->stream)
		sddp_stream_end(st, IW_LOCAL_ABORT, NULL);
}

/* Report the peer's Initiate to the listener's ULP, and set a deadline for the ULP's reply */
static void sddp_rx_report_initiate(struct sddp_stream *st, const struct ddp_offer *o)
{
	sddp_stream_set_deadline(st, DDP_ANSWER_TIMEOUT);
	st->reported = !sddp_listen_pass_initiate(st, o);
	if (st->reported)
		sddp_unaccepted_remove(st->a);
	/* RFC 5043 6.4: send a Reject only if the ULP rejects; otherwise refuse with a Terminate */
	if (!st->reported)
		sddp_stream_end(st, IW_LOCAL_ABORT, NULL);
}

static void perform_session_action(struct sddp_stream *st, enum sddp_do what,
				   const struct sddp_control *c)
{
	switch (what) {
	case SDDP_DO_REQUEST:
		sddp_rx_report_initiate(st, &c->offer);
		break;
	case SDDP_DO_ENTER:
		sddp_rx_enter_full_operation(st, &c->offer);
		break;
	case SDDP_DO_REJECTED:
		sddp_stream_end(st, IW_PEER_REJECT, &c->offer);
		break;
	case SDDP_DO_REFUSED:
		sddp_stream_end(st, IW_PEER_REFUSED, NULL);
		break;
	case SDDP_DO_PEER_DONE:
		sddp_stream_report_peer_done(st);
		break;
	case SDDP_DO_END:
		abort_session(st, IW_SCTP_SEQUENCE);
		break;
	default:
		break;
	}
	sddp_stream_set_event(st, SDDP_EV_TX);
}

/*
 * Process the peer's Terminate. Allocate no memory: if an allocation failed, the Terminate would
 * be lost, and the streams would remain in use.
 */
static void process_terminate(struct sddp_stream *st)
{
	struct sddp_control c = { .kind = SDDP_KIND_TERMINATE, .ssn = st->rx_next };

	trace_sddp_control(st, &c, false);
	perform_session_action(st, sddp_session_receive_chunk(&st->s, c.kind, false), &c);
}

static bool is_terminate(struct sddp_assoc *a, u32 len)
{
	u8 head[SDDP_CONTROL_LEN];

	len = min_t(u32, len, sizeof(head));
	return sddp_src_read(a, 0, head, len) &&
	       sddp_control_read_function_code(head, len) == SDDP_TERMINATE;
}

/* Process a Session Control chunk that is next in order */
static void process_control_chunk(struct sddp_stream *st, u32 len)
{
	struct sddp_control *c;
	enum iw_reason why = IW_SCTP_CONTROL;
	u8 *raw;

	/* RFC 5043 5.2.3: extra bytes in a Terminate are ignored */
	if (is_terminate(st->a, len)) {
		process_terminate(st);
		return;
	}
	len = min_t(u32, len, SDDP_CONTROL_MAX + 1);
	raw = kmalloc(len, GFP_KERNEL);
	c = kmalloc(sizeof(*c), GFP_KERNEL);
	if (!raw || !c)
		why = IW_NO_MEMORY;
	else if (!sddp_src_read(st->a, 0, raw, len))
		why = IW_UNREADABLE;
	else
		why = sddp_control_decode(c, raw, len);
	if (why) {
		abort_session(st, why);
	} else {
		trace_sddp_control(st, c, false);
		perform_session_action(st, sddp_session_receive_chunk(&st->s, c->kind,
								      c->offer.enhanced), c);
	}
	kfree(raw);
	kfree(c);
}

/* Process a segment that is next in order. Return: false if the segment must be deferred. */
static bool process_segment(struct sddp_stream *st, u32 len,
			    const struct ddp_placed *p)
{
	enum sddp_do what;

	what = sddp_session_receive_chunk(&st->s, SDDP_KIND_SEGMENT, false);
	if (what == SDDP_DO_DELIVER)
		return deliver_segment(st, len, p);
	perform_session_action(st, what, NULL);
	return true;
}

/* Process a kept chunk that is next in order. Return: false if the chunk must be deferred. */
static bool process_kept_chunk(struct sddp_stream *st, struct sddp_kept *k)
{
	st->a->src = (struct sddp_src) { .flat = k->data, .len = k->len };
	if (!k->control)
		return process_segment(st, k->len, k->placed ? &k->p : NULL);
	process_control_chunk(st, k->len);
	return true;
}

/* Process kept chunks in order, until the next chunk is missing or must be deferred */
static void process_kept_chunks(struct sddp_stream *st)
{
	struct sddp_kept *k;

	while ((k = sddp_kept_chunk_pop_next(st))) {
		if (!process_kept_chunk(st, k)) {
			sddp_kept_chunk_add(st, k);
			sddp_stream_set_deferred(st, true);
			return;
		}
		st->rx_next++;
		sddp_kept_chunk_free(st, k);
		/* this loop may process up to SDDP_IN_FLIGHT_MAX chunks */
		cond_resched();
	}
	if (st->deferred)
		sddp_stream_set_deferred(st, false);
}

/**
 * sddp_rx_resume - process a deferred segment if its page fault is no longer pending
 * @st: the stream
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_rx_resume(struct sddp_stream *st)
{
	if (st->deferred && !(st->stream && ddp_rx_has_pending_fault(st->stream)))
		process_kept_chunks(st);
}

/*
 * Let DDP place the payload of an out-of-order segment. Return: true if DDP has placed the payload
 * and @p is set, false if the whole segment must be kept.
 */
static bool try_place_early_segment(struct sddp_stream *st, u32 len, struct ddp_placed *p)
{
	u8 head[IW_DDP_T_HDR_LEN];
	bool placed;

	len -= SDDP_SEGMENT;
	if (!may_accept_segments(st) || !read_segment_head(st->a, head, len))
		return false;
	local_bh_disable();
	placed = ddp_rx_try_place_early_segment(st->stream, &st->llp, head, len, p);
	local_bh_enable();
	return placed;
}

/*
 * Keep an out-of-order chunk, without its data if DDP has placed the payload or if the session
 * discards segments. Return: true if the chunk is kept, false if a limit is reached, memory is
 * short, or the chunk cannot be read.
 */
static bool try_keep_early_chunk(struct sddp_stream *st, const struct sddp_chunk_desc *in, u16 ssn)
{
	bool control = in->ppid == SDDP_PPID_CONTROL;
	bool unwanted = !control && (st->rx_stopped || st->ended);
	struct ddp_placed p = {};
	bool placed = !control && try_place_early_segment(st, in->len, &p);
	u32 len = placed || unwanted ? 0 : in->len;
	struct sddp_kept *k;

	/* with one byte above the maximum sddp_control_decode() detects a chunk that is too long */
	if (control)
		len = min_t(u32, len, SDDP_CONTROL_MAX + 1);
	k = sddp_kept_chunk_new(st, ssn, len);
	if (!k)
		return false;
	k->control = control;
	k->placed = placed;
	k->p = p;
	if (!sddp_src_read(st->a, 0, k->data, len)) {
		sddp_kept_chunk_free(st, k);
		return false;
	}
	sddp_kept_chunk_add(st, k);
	trace_sddp_early(st, ssn, placed);
	return true;
}

/* Check whether a chunk may be out of order: until our reply the peer may send only its Initiate */
static bool may_be_out_of_order(const struct sddp_stream *st)
{
	return st->s.state != SDDP_IDLE && st->s.state != SDDP_REQUESTED;
}

/* Keep a segment that waits for a page fault. Return: false if it stays in SCTP's queue. */
static bool try_keep_deferred_segment(struct sddp_stream *st, u32 len)
{
	struct sddp_kept *k = NULL;

	sddp_stream_set_deferred(st, true);
	if (sddp_stream_may_keep_deferred_chunk(st))
		k = sddp_kept_chunk_new(st, st->rx_next, len);
	if (!k)
		return false;
	k->control = false;
	k->placed = false;
	if (!sddp_src_read(st->a, 0, k->data, len)) {
		sddp_kept_chunk_free(st, k);
		return false;
	}
	sddp_kept_chunk_add(st, k);
	return true;
}

/* Process the next chunk in order. Return: false if the chunk stays in SCTP's queue. */
static bool process_next_chunk(struct sddp_stream *st, const struct sddp_chunk_desc *in)
{
	if (in->ppid == SDDP_PPID_CONTROL)
		process_control_chunk(st, in->len);
	else if (!process_segment(st, in->len, NULL))
		return try_keep_deferred_segment(st, in->len);
	st->rx_next++;
	process_kept_chunks(st);
	return true;
}

/* Pass the peer's Terminate to the state machine once all chunks before it have been received */
static void process_terminate_if_complete(struct sddp_stream *st)
{
	if (!sddp_tally_is_complete(&st->tally))
		return;
	sddp_session_receive_chunk(&st->s, SDDP_KIND_TERMINATE, false);
	sddp_stream_set_event(st, SDDP_EV_TX);
}

/* Count a chunk of a session that has ended */
static void count_chunk(struct sddp_stream *st, const struct sddp_chunk_desc *in,
			const struct sddp_head *h)
{
	/* a segment shows the state machine that the peer has received our Accept */
	if (in->ppid == SDDP_PPID_SEGMENT && st->s.state == SDDP_OPEN)
		sddp_session_receive_chunk(&st->s, SDDP_KIND_SEGMENT, false);
	sddp_tally_count_chunk(&st->tally, h);
	process_terminate_if_complete(st);
}

/**
 * sddp_rx_start_counting_if_ended - start to count received chunks if the session has ended
 * @st: the stream
 *
 * From then on, received chunks are counted and not processed. Also free the session's kept
 * chunks. Do nothing while our Initiate has no reply.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_rx_start_counting_if_ended(struct sddp_stream *st)
{
	/*
	 * do not start before the peer has replied to our Initiate: the reply must be processed,
	 * because an Accept must be answered with a Terminate, but a Reject must not
	 */
	if (!st->ended || st->counting || st->s.state == SDDP_IDLE ||
	    st->s.state == SDDP_INITIATED)
		return;
	st->counting = true;
	st->tally = sddp_count_received_chunks(st);
	sddp_kept_chunks_free(st);
	process_terminate_if_complete(st);
}

/* End the session because of a chunk that is not legal or cannot be kept, and count that chunk */
static void abort_session_and_count_chunk(struct sddp_stream *st, const struct sddp_chunk_desc *in,
					  const struct sddp_head *h, enum iw_reason why)
{
	abort_session(st, st->a->src.bad ? IW_UNREADABLE : why);
	sddp_rx_start_counting_if_ended(st);
	count_chunk(st, in, h);
}

/* Process an out-of-order chunk. Return: false if the chunk stays in SCTP's queue. */
static bool process_early_chunk(struct sddp_stream *st, const struct sddp_chunk_desc *in,
				const struct sddp_head *h)
{
	if (!may_be_out_of_order(st)) {
		abort_session_and_count_chunk(st, in, h, IW_SCTP_SEQUENCE);
		return true;
	}
	if (sddp_kept_chunks_have_ssn(st, h->ssn)) {
		/* a duplicate DDP-SSN: only the kept chunk is counted */
		abort_session(st, IW_SCTP_SSN);
		return true;
	}
	if ((!st->deferred || sddp_stream_may_keep_deferred_chunk(st)) &&
	    try_keep_early_chunk(st, in, h->ssn))
		return true;
	/* retry later if deferred chunks use up the memory, which is not an error of the peer */
	if (st->a->deferred)
		return false;
	abort_session_and_count_chunk(st, in, h, IW_NO_MEMORY);
	return true;
}

/* Process a chunk by its DDP-SSN. Return: false if the chunk stays in SCTP's queue. */
static bool process_chunk_by_ssn(struct sddp_stream *st, const struct sddp_chunk_desc *in,
				 const struct sddp_head *h)
{
	enum sddp_ssn_order order = sddp_ssn_compare(st->rx_next, h->ssn);

	if (!h->well_formed) {
		abort_session_and_count_chunk(st, in, h, IW_SCTP_SEQUENCE);
		return true;
	}
	/* the chunk is a duplicate if a deferred chunk with this DDP-SSN is already kept */
	if (order == SDDP_SSN_NEXT && !sddp_kept_chunks_have_ssn(st, h->ssn))
		return process_next_chunk(st, in);
	if (order == SDDP_SSN_EARLY)
		return process_early_chunk(st, in, h);
	abort_session(st, IW_SCTP_SSN);
	return true;
}

/* Allocate a stream for a session that the peer begins */
static struct sddp_stream *alloc_passive_stream(struct sddp_assoc *a, u16 id)
{
	struct sddp_stream *st = sddp_stream_new(NULL, NULL, false);

	if (!st)
		return NULL;
	sddp_assoc_get(a);
	st->a = a;
	st->id = id;
	st->ss.local = a->local;
	st->ss.remote = a->remote;
	return st;
}

/*
 * Add a stream to the table for a session that the peer begins. Return: the stream;
 * ERR_PTR(-EBUSY) if its number is reserved; ERR_PTR(-ENOMEM) if memory is short.
 */
static struct sddp_stream *add_passive_stream(struct sddp_assoc *a, u16 id)
{
	struct sddp_stream *st = alloc_passive_stream(a, id);
	int err;

	if (!st)
		return ERR_PTR(-ENOMEM);
	err = xa_insert(&a->streams, id, st, GFP_KERNEL);
	if (err) {
		ddp_session_put(&st->ss);
		return ERR_PTR(err);
	}
	atomic_inc(&a->live);
	return st;
}

/* Process or count a chunk. Return: false if the chunk stays in SCTP's queue. */
static bool process_or_count_chunk(struct sddp_stream *st, const struct sddp_chunk_desc *in,
				   const struct sddp_head *h)
{
	bool taken = true;

	/* hold a reference, because the calls below may remove the stream from the table */
	ddp_session_get(&st->ss);
	if (st->counting)
		count_chunk(st, in, h);
	else
		taken = process_chunk_by_ssn(st, in, h);
	sddp_rx_start_counting_if_ended(st);
	ddp_session_put(&st->ss);
	return taken;
}

static bool is_initiate(const struct sddp_head *h)
{
	return !h->ssn && (h->function == SDDP_INITIATE ||
			   h->function == SDDP_INITIATE_ENHANCED);
}

/*
 * Process a chunk on a pair of streams without a session. The chunk must be an Initiate (RFC 5043
 * 6); any other chunk is a violation and is not kept. Return: 0 if the chunk has been processed;
 * -ENOMEM if memory is short; another negative errno if the chunk must be discarded.
 */
static int sddp_rx_process_first_chunk(struct sddp_assoc *a, const struct sddp_chunk_desc *in,
				       const struct sddp_head *h)
{
	struct sddp_stream *st;

	if (!is_initiate(h))
		return sddp_orphan_process_first_chunk(a, in, h);
	st = add_passive_stream(a, in->id);
	if (IS_ERR(st))
		return PTR_ERR(st);
	/* ignore the result: it is true for an Initiate, because only segments are deferred */
	process_or_count_chunk(st, in, h);
	return 0;
}

/*
 * Check whether a session is over, so that a received chunk belongs to the next session. On an
 * association that the peer has created, only the peer begins sessions, and only after it has
 * received our last chunk. So there the received chunk also acknowledges our last chunk. On an
 * association that this side has created, the session must also have ended for the ULP.
 */
static bool is_session_over(const struct sddp_stream *st)
{
	return sddp_session_is_over(&st->s) && (st->ended || !st->a->active);
}

/* Remove the stream of a session that is over, so that the next session can begin */
static void remove_finished_stream(struct sddp_stream *st)
{
	sddp_session_record_control_acked(&st->s);
	sddp_stream_advance_close(st);
	sddp_stream_remove(st);
}

/*
 * Check whether a chunk is the Initiate of the next session on this stream (RFC 5043 6.6), which
 * can arrive while chunks of this session are deferred. The peer may send it only after the last
 * chunk of each side, so all chunks of this session are received and our last chunk is sent.
 */
static bool is_next_initiate(const struct sddp_stream *st, const struct sddp_head *h)
{
	struct sddp_tally t;

	if (st->next || st->counting || st->a->active || !st->s.own_done ||
	    !is_initiate(h))
		return false;
	t = sddp_count_received_chunks(st);
	return sddp_tally_is_complete(&t);
}

/*
 * Keep the next session's Initiate until this session's stream is released. Return: true if the
 * Initiate is kept, false if the caller must leave it in SCTP's queue and receive it again.
 */
static bool try_keep_next_initiate(struct sddp_stream *st, const struct sddp_chunk_desc *in)
{
	struct sddp_stream *next = alloc_passive_stream(st->a, in->id);

	if (!next)
		return false;
	if (!try_keep_early_chunk(next, in, 0)) {
		ddp_session_put(&next->ss);
		return false;
	}
	atomic_inc(&st->a->live);
	st->next = next;
	sddp_session_record_control_acked(&st->s);
	return true;
}

/**
 * sddp_rx_begin_session - begin a session whose Initiate was kept during the previous session
 * @st: the session's stream, which has replaced the previous stream in the table
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_rx_begin_session(struct sddp_stream *st)
{
	process_kept_chunks(st);
	sddp_stream_set_event(st, SDDP_EV_TX);
}

/**
 * sddp_rx_process_chunk - process a DATA chunk
 * @a: the association, with the chunk in @a->src
 * @in: description of the chunk
 *
 * Context: worker, with the association's mutex held.
 * Return: true if the chunk has been processed, kept or discarded; false if the caller must leave
 * the chunk in SCTP's queue and receive it again, because memory is short or a page fault is
 * pending.
 */
bool sddp_rx_process_chunk(struct sddp_assoc *a, const struct sddp_chunk_desc *in)
{
	struct sddp_stream *st;
	struct sddp_head h;
	void *at;

	/* discard a chunk on a stream that does not exist in both directions */
	if (in->id >= a->limit)
		return true;
	sddp_src_decode_head(a, in, &h);
	at = xa_load(&a->streams, in->id);
	if (xa_is_value(at)) {
		sddp_orphan_process_next_chunk(a, in->id, xa_to_value(at), &h);
		return true;
	}
	if (at && is_session_over(at)) {
		remove_finished_stream(at);
		at = NULL;
	}
	if (!at)
		return sddp_rx_process_first_chunk(a, in, &h) != -ENOMEM;
	st = at;
	if (is_next_initiate(st, &h))
		return try_keep_next_initiate(st, in);
	return process_or_count_chunk(st->next ?: st, in, &h);
}
