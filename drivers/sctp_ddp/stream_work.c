// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How the worker handles the events of a stream, and releases the stream's number after
 * the end of the session.
 *
 * The association's worker calls these functions with the association's mutex held.
 * stream.c sets events and ends sessions, and must not call rx.c or tx.c.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "internal.h"
#include "trace.h"

/* Unbind the DDP stream and wake up sddp_stream_unbind() */
static void finish_unbind(struct sddp_stream *st)
{
	sddp_tx_drop_pending_segment(st);
	st->stream = NULL;
	clear_and_wake_up_bit(0, &st->unbind);
}

/*
 * Notify the ULP that the session is established, before the Accept is passed to SCTP.
 * So the program is ready when the peer's first data arrives. The notification must not
 * depend on the peer, because a program that waits for it cannot be killed.
 */
static void sddp_report_established(struct sddp_stream *st)
{
	st->accepted = true;
	sddp_assoc_record_accepted_session(st->a);
	ddp_session_report_established(&st->ss, NULL);
}

/*
 * Set a deadline for SCTP to accept the ULP's reply, and notify the ULP if the reply is
 * an Accept
 */
static void sddp_stream_start_reply(struct sddp_stream *st)
{
	sddp_stream_set_deadline(st, SDDP_DEADLINE_SEND);
	if (st->pending_control->kind == SDDP_KIND_ACCEPT)
		sddp_report_established(st);
}

/*
 * Process the ULP's reply and its request to unbind the DDP stream. Read both in one
 * critical section: the ULP may request the unbind right after its reply, and the worker
 * must not see the unbind without the reply.
 */
static void sddp_stream_process_ulp_requests(struct sddp_stream *st)
{
	bool has_replied, must_unbind, has_new_reply;

	spin_lock(&st->lock);
	has_new_reply = st->reply;
	if (has_new_reply)
		__sddp_stream_set_pending_reply(st);
	has_replied = st->has_replied;
	must_unbind = test_bit(0, &st->unbind);
	spin_unlock(&st->lock);
	if (has_new_reply)
		sddp_stream_start_reply(st);
	if (has_replied)
		ddp_port_detach_request(&st->conn_req);
	if (must_unbind)
		finish_unbind(st);
}

/*
 * Set the association and number of a stream. Return: true if the stream was on the old
 * association's list of streams with events, so that the caller must drop the list's
 * reference; false otherwise.
 */
static bool move_to_assoc(struct sddp_stream *st, struct sddp_assoc *to, u16 id)
{
	struct sddp_assoc *from = st->a;
	bool listed;

	spin_lock_irq(&from->lock);
	listed = !list_empty(&st->ready);
	list_del_init(&st->ready);
	WRITE_ONCE(st->id, id);
	/*
	 * Store st->a after list_del_init(). If sddp_stream_set_event() reads the new st->a,
	 * it takes only the lock of @to for its list_add_tail() of st->ready. Without the
	 * order, list_del_init() could overwrite the links that list_add_tail() sets. Pairs
	 * with sddp_stream_set_event(), which takes the lock of @to after it has read st->a;
	 * litmus: home
	 */
	smp_store_release(&st->a, to);
	spin_unlock_irq(&from->lock);
	return listed;
}

/*
 * Move a session to another association, because the peer does not allow the session's
 * stream number on this association. No chunk of the session has been sent. Return: true
 * if the session has been moved; false if no other stream was available, so that the
 * session has ended.
 */
static bool sddp_stream_try_move_to_other_assoc(struct sddp_stream *st)
{
	struct sddp_assoc *from = st->a, *to;
	u16 id;

	to = sddp_reserve_other_stream_pair(from, &st->ss, &id);
	if (IS_ERR(to)) {
		sddp_stream_end(st, ddp_sock_err_to_reason(PTR_ERR(to), IW_NO_MEMORY),
				NULL);
		return false;
	}
	trace_sddp_session_move(st, to, id);
	xa_erase(&from->streams, st->id);
	list_del_init(&st->queue_entry);
	list_del_init(&st->late);
	/*
	 * update the counts before move_to_assoc(), because the worker of @to may change
	 * st->accepted afterwards
	 */
	sddp_assoc_account_session_end(from, st);
	if (move_to_assoc(st, to, id))
		ddp_session_put(&st->ss);
	/* cannot fail: the reservation has allocated the entry */
	xa_store(&to->streams, id, st, GFP_KERNEL);
	/* let the worker of @to handle pending events and check the deadline */
	sddp_stream_set_event(st, SDDP_EV_TIMEOUT);
	/* drop the stream's reference to its former association; the worker holds another one */
	sddp_assoc_put(from);
	return true;
}

static bool is_stream_number_beyond_limit(const struct sddp_stream *st)
{
	return st->a->phase == SDDP_UP && st->id >= st->a->limit && !st->ended;
}

/* Check whether the next session may use the stream's number now */
static bool is_stream_number_free(const struct sddp_stream *st)
{
	return st->s.state == SDDP_IDLE || sddp_session_is_reusable(&st->s);
}

/*
 * Check whether an ended session may be orphaned, so that only a count of its chunks is
 * kept. The peer must have begun the session and established the association. Then only
 * the peer can begin the next session on this number, and it must not do so before it
 * has received all of our chunks. In addition, this side must have no chunk left to send
 * except a Terminate.
 */
static bool may_orphan_session(const struct sddp_stream *st)
{
	return !st->s.active && !st->a->active &&
	       (st->s.own_done || !st->reported);
}

/* Replace the ended session in the table with the next session, whose Initiate has been kept */
static void sddp_stream_start_next_session(struct sddp_stream *st)
{
	struct sddp_stream *next = st->next;

	st->next = NULL;
	/* cannot fail: replaces an existing entry */
	xa_store(&st->a->streams, st->id, next, GFP_KERNEL);
	sddp_stream_discard(st);
	sddp_rx_begin_session(next);
}

/**
 * sddp_stream_release_if_ended - release the stream and its number if the session has ended
 * @st: the stream, which may be removed from the table and freed
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_stream_release_if_ended(struct sddp_stream *st)
{
	if (!st->ended)
		return;
	sddp_rx_start_counting_if_ended(st);
	if (is_stream_number_free(st) && st->next) {
		sddp_stream_start_next_session(st);
	} else if (is_stream_number_free(st)) {
		sddp_stream_remove(st);
	} else if (may_orphan_session(st)) {
		sddp_stream_make_orphan(st, sddp_session_may_send(&st->s,
								  SDDP_KIND_TERMINATE));
		sddp_stream_discard(st);
	}
}

/**
 * sddp_stream_handle_events - handle the events of a stream
 * @st: the stream
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_stream_handle_events(struct sddp_stream *st)
{
	unsigned long events;

	sddp_stream_process_ulp_requests(st);
	/* leave the events of a stream that is no longer, or not yet, in the table */
	if (xa_load(&st->a->streams, st->id) != st)
		return;
	/* litmus: none, queue_work() makes all events visible that were set before it */
	events = xchg(&st->events, 0);
	if (st->a->phase == SDDP_ENDED) {
		sddp_stream_end(st, st->a->why, NULL);
		sddp_stream_remove(st);
		return;
	}
	if (test_bit(SDDP_EV_ABORT, &events))
		sddp_stream_end(st, READ_ONCE(st->why), NULL);
	if (is_stream_number_beyond_limit(st) && sddp_stream_try_move_to_other_assoc(st))
		return;
	sddp_rx_resume(st);
	sddp_stream_advance_close(st);
	if (st->a->phase == SDDP_UP)
		sddp_tx_enqueue_stream(st);
	/*
	 * the worker checks the deadline in end_late_streams(), after it has processed all
	 * received data
	 */
	if (test_bit(SDDP_EV_TIMEOUT, &events))
		list_move_tail(&st->late, &st->a->late);
	sddp_stream_release_if_ended(st);
}
