// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Handling of a stream's events, and release of its number after the end.
 *
 * Part of the association's worker: the association's mutex is held. What
 * requests events, and what ends a session, is in stream.c, which knows neither
 * rx.c nor tx.c.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "internal.h"
#include "trace.h"

/* Forget the DDP stream and wake up sddp_stream_quiesce() */
static void finish_unbind(struct sddp_stream *st)
{
	sddp_tx_drop_pending(st);
	st->stream = NULL;
	clear_and_wake_up_bit(0, &st->unbind);
}

/*
 * Notify the user before SCTP accepts the Accept: data from the peer then finds
 * a program that is ready for it, and the peer cannot delay the notification. A
 * program that waits for that cannot be killed.
 */
static void sddp_notify_accepted(struct sddp_stream *st)
{
	st->up = true;
	sddp_assoc_accepted_session(st->a);
	ddp_session_established(&st->ss, NULL);
}

/* From here on a deadline limits how long SCTP may refuse the reply */
static void sddp_stream_start_reply(struct sddp_stream *st)
{
	sddp_stream_set_deadline(st, SDDP_DEADLINE_SAY);
	if (st->pending_control->what == SDDP_SAY_ACCEPT)
		sddp_notify_accepted(st);
}

/* Take the ULP's reply and the unbind request that may follow it together */
static void sddp_stream_take_requests(struct sddp_stream *st)
{
	bool answered, leaves, fresh;

	spin_lock(&st->lock);
	fresh = st->reply;
	if (fresh)
		__sddp_stream_take_answer(st);
	answered = st->answered;
	leaves = test_bit(0, &st->unbind);
	spin_unlock(&st->lock);
	if (fresh)
		sddp_stream_start_reply(st);
	if (answered)
		ddp_port_detach(&st->conn_req);
	if (leaves)
		finish_unbind(st);
}

/* Return: true if the stream was on the list of those with events */
static bool change_assoc(struct sddp_stream *st, struct sddp_assoc *to, u16 id)
{
	struct sddp_assoc *from = st->a;
	bool listed;

	spin_lock_irq(&from->lock);
	listed = !list_empty(&st->ready);
	list_del_init(&st->ready);
	WRITE_ONCE(st->id, id);
	/* a reader of the new a takes its lock, not ours; litmus: home */
	smp_store_release(&st->a, to);
	spin_unlock_irq(&from->lock);
	return listed;
}

/*
 * Move a session to another association: its number is beyond those that the
 * peer allows, and nothing of it has been sent. Return: true if it has been
 * moved, false if it has ended.
 */
static bool sddp_stream_move(struct sddp_stream *st)
{
	struct sddp_assoc *from = st->a, *to;
	u16 id;

	to = sddp_assoc_reserve_again(from, &st->ss, &id);
	if (IS_ERR(to)) {
		sddp_stream_end(st, ddp_sock_reason(PTR_ERR(to), IW_NO_MEMORY),
				NULL);
		return false;
	}
	trace_sddp_session_move(st, to, id);
	xa_erase(&from->streams, st->id);
	list_del_init(&st->queue_entry);
	list_del_init(&st->late);
	/* before the other worker finds the stream and may set st->up */
	sddp_assoc_session_end(from, st);
	if (change_assoc(st, to, id))
		ddp_session_put(&st->ss);
	/* reserved before, so no memory is needed */
	xa_store(&to->streams, id, st, GFP_KERNEL);
	/* the other worker handles earlier events, and checks the deadline */
	sddp_stream_event(st, SDDP_EV_TIMEOUT);
	/* the stream's reference; the worker has another one */
	sddp_assoc_put(from);
	return true;
}

static bool is_beyond_limit(const struct sddp_stream *st)
{
	return st->a->phase == SDDP_UP && st->id >= st->a->limit && !st->ended;
}

/* Return: true if the next session may use the number, false otherwise */
static bool is_free(const struct sddp_stream *st)
{
	return st->s.state == SDDP_IDLE || sddp_session_is_reusable(&st->s);
}

/*
 * Check whether a tally is enough for a session of the peer's on an association
 * that the peer made: only the peer begins the next one, and it knows what it
 * has received.
 */
static bool may_orphan(const struct sddp_stream *st)
{
	return !st->s.active && !st->a->active &&
	       (st->s.we_done || !st->reported);
}

/* Give the number to the next session, which has waited for it */
static void sddp_stream_start_next(struct sddp_stream *st)
{
	struct sddp_stream *next = st->next;

	st->next = NULL;
	/* replaces an entry, so no memory is needed */
	xa_store(&st->a->streams, st->id, next, GFP_KERNEL);
	sddp_stream_discard(st);
	sddp_rx_begin(next);
}

/**
 * sddp_stream_cleanup - release what an ended session no longer needs
 * @st: the stream, which may leave the table; worker context
 */
void sddp_stream_cleanup(struct sddp_stream *st)
{
	if (!st->ended)
		return;
	sddp_rx_stop_keeping(st);
	if (is_free(st) && st->next) {
		sddp_stream_start_next(st);
	} else if (is_free(st)) {
		sddp_stream_drop(st);
	} else if (may_orphan(st)) {
		sddp_orphan_session(st, sddp_session_may_send(&st->s,
							      SDDP_SAY_TERMINATE));
		sddp_stream_discard(st);
	}
}

/**
 * sddp_stream_handle_events - handle the events of a stream
 * @st: the stream; worker context
 */
void sddp_stream_handle_events(struct sddp_stream *st)
{
	unsigned long events;

	sddp_stream_take_requests(st);
	/* the stream has left the table after its end, or is not in it yet */
	if (xa_load(&st->a->streams, st->id) != st)
		return;
	/* litmus: none, see queue_work() */
	events = xchg(&st->events, 0);
	if (st->a->phase == SDDP_ENDED) {
		sddp_stream_end(st, st->a->why, NULL);
		sddp_stream_drop(st);
		return;
	}
	if (test_bit(SDDP_EV_ABORT, &events))
		sddp_stream_end(st, READ_ONCE(st->why), NULL);
	if (is_beyond_limit(st) && sddp_stream_move(st))
		return;
	sddp_rx_resume(st);
	sddp_stream_advance_close(st);
	if (st->a->phase == SDDP_UP)
		sddp_tx_queue(st);
	/* deadlines are checked after all received data has been processed */
	if (test_bit(SDDP_EV_TIMEOUT, &events))
		list_move_tail(&st->late, &st->a->late);
	sddp_stream_cleanup(st);
}
