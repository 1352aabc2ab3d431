// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The worker of an association.
 *
 * It makes the socket, receives, sends, and moves sessions from state to state.
 * Lifetime and timers of the association are in assoc.c. Programs leave
 * requests with their streams and never take the mutex: many programs share an
 * association, and each may be stopped for long.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "admission.h"
#include "internal.h"
#include "trace.h"

static void sddp_assoc_set_phase(struct sddp_assoc *a, enum sddp_phase phase)
{
	WRITE_ONCE(a->phase, phase);
	trace_sddp_assoc_phase(a, phase);
}

static enum iw_reason sddp_assoc_lost_reason(int err)
{
	return ddp_sock_reason(err, IW_PEER_RESET);
}

static void end_stream(struct sddp_stream *st, enum iw_reason why)
{
	sddp_stream_end(st, why == IW_PEER_CLOSED ? sddp_stream_shutdown_reason(st) : why,
			NULL);
	sddp_stream_drop(st);
}

/* @but_waiting: spare the sessions that have a deferred segment */
static void end_streams(struct sddp_assoc *a, enum iw_reason why, bool but_waiting)
{
	struct sddp_stream *st;
	unsigned long id;
	void *at;

	xa_for_each(&a->streams, id, at) {
		st = at;
		if (!xa_is_value(at) && !(but_waiting && st->deferred))
			end_stream(st, why);
	}
}

/*
 * End the association and all its sessions. No Terminate is sent: that would
 * only delay the end (RFC 5043 11.3).
 */
static void sddp_assoc_finish(struct sddp_assoc *a, enum iw_reason why,
			      bool abort)
{
	sddp_unaccepted_leave(a);
	sddp_table_del(a);
	a->why = why;
	sddp_assoc_set_phase(a, SDDP_ENDED);
	trace_sddp_assoc_end(a, why);
	cancel_delayed_work_sync(&a->idle);
	cancel_delayed_work_sync(&a->look);
	cancel_delayed_work_sync(&a->retry);
	end_streams(a, why, false);
	sddp_sock_release(a, abort);
	/*
	 * a QP that is not destroyed yet keeps the structure, but not the
	 * buffer
	 */
	kvfree(a->out);
	a->out = NULL;
	/* the callbacks' reference */
	sddp_assoc_put(a);
}

/*
 * Sessions waiting for the handshake begin, or move to another association if
 * the peer allows fewer streams.
 */
static void begin_sessions(struct sddp_assoc *a)
{
	unsigned long id;
	void *at;

	xa_for_each(&a->streams, id, at)
		if (!xa_is_value(at))
			sddp_stream_event(at, SDDP_EV_TX);
}

static struct sddp_stream *sddp_assoc_take_first(struct sddp_assoc *a,
						 struct list_head *from)
{
	struct sddp_stream *st;

	spin_lock_irq(&a->lock);
	st = list_first_entry_or_null(from, struct sddp_stream, ready);
	if (st)
		list_del_init(&st->ready);
	spin_unlock_irq(&a->lock);
	return st;
}

/* @more: SCTP's queue may have more chunks */
static void check_late(struct sddp_assoc *a, bool more)
{
	struct sddp_stream *st;

	while (!list_empty(&a->late)) {
		st = list_first_entry(&a->late, struct sddp_stream, late);
		list_del_init(&st->late);
		sddp_stream_check_deadline(st, more);
	}
}

/*
 * Start the retry timer, or let it expire earlier. Both directions share the
 * timer, and it is never postponed: events that arrive meanwhile do not mean
 * that a retry would succeed. Return: true if the timer expires after @delay,
 * false if it expires before.
 */
static bool arm_retry(struct sddp_assoc *a, unsigned long delay)
{
	unsigned long at = jiffies + delay;

	/* a full barrier: a timer that is queued already sees the present state */
	if (!queue_delayed_work(sddp_wq, &a->retry, delay)) {
		if (!time_before(at, a->retry_at))
			return false;
		mod_delayed_work(sddp_wq, &a->retry, delay);
	}
	a->retry_at = at;
	return true;
}

/*
 * Schedule a retry because SCTP accepts no more data. Normally an
 * acknowledgement schedules the worker, see sddp_sock_wakeup(). But if SCTP is
 * short of socket memory, nothing may be in flight.
 */
static void sddp_assoc_retry(struct sddp_assoc *a)
{
	arm_retry(a, HZ / 2);
}

/*
 * Schedule a retry because memory was short. The delay grows with each failure
 * in a row, see sddp_retry_delay().
 */
static void sddp_assoc_backoff(struct sddp_assoc *a)
{
	u32 delay = sddp_retry_delay(a->delay);

	if (arm_retry(a, msecs_to_jiffies(delay)))
		a->delay = delay;
}

/*
 * Give transmit slots to the streams. Retry later if SCTP accepts no more or
 * memory is short. Other errors mean that the association has ended, which the
 * next run finds out. Return: true if there is more that SCTP would accept now,
 * false otherwise.
 */
static bool sddp_assoc_transmit(struct sddp_assoc *a)
{
	int err = sddp_tx_serve(a);

	if (err == -EAGAIN)
		sddp_assoc_retry(a);
	else if (ddp_sock_is_transient(err))
		sddp_assoc_backoff(a);
	return err > 0;
}

/*
 * Handle the events of all streams on a->ready, then transmit. @more: as in
 * check_late(). @lost: do not transmit: the peer may have restarted and would
 * receive data of an earlier association. Return: true if there is more to do
 * now, false otherwise.
 */
static bool sddp_assoc_handle_events(struct sddp_assoc *a, bool more, bool lost)
{
	bool up = a->phase == SDDP_UP && !lost, again = false;
	struct sddp_stream *st;
	LIST_HEAD(now);

	if (up)
		sddp_tx_process_acks(a);
	spin_lock_irq(&a->lock);
	list_splice_init(&a->ready, &now);
	spin_unlock_irq(&a->lock);
	while ((st = sddp_assoc_take_first(a, &now))) {
		sddp_stream_handle_events(st);
		/* the list's reference */
		ddp_session_put(&st->ss);
	}
	if (up)
		again = sddp_assoc_transmit(a);
	check_late(a, more);
	return again || !list_empty_careful(&a->ready);
}

static enum iw_reason connect_reason(int err)
{
	return ddp_sock_reason(err, err == -ENOMEM || err == -ENOBUFS ?
			       IW_NO_MEMORY : IW_UNREACHABLE);
}

static void make_assoc(struct sddp_assoc *a)
{
	int err;

	/* the sessions that need this association may have ended meanwhile */
	if (sddp_table_del_if_idle(a)) {
		sddp_assoc_finish(a, IW_LOCAL_CLOSE, true);
		return;
	}
	err = sddp_sock_connect(a);
	if (err)
		sddp_assoc_finish(a, connect_reason(err), true);
	else
		sddp_assoc_set_phase(a, SDDP_CONNECTING);
}

static void sddp_assoc_connected(struct sddp_assoc *a)
{
	enum iw_reason why = sddp_sock_established(a);

	if (why != IW_OK) {
		sddp_assoc_finish(a, why, true);
		return;
	}
	sddp_assoc_set_phase(a, SDDP_UP);
	begin_sessions(a);
	sddp_assoc_check_idle(a);
}

static void sddp_assoc_check_connected(struct sddp_assoc *a)
{
	int err;

	switch (sddp_sock_get_state(a, &err)) {
	case SDDP_SOCK_CONNECTING:
		/* a session may end during the handshake */
		sddp_assoc_handle_events(a, false, false);
		return;
	case SDDP_SOCK_OPEN:
		sddp_assoc_connected(a);
		return;
	default:
		sddp_assoc_finish(a, sddp_assoc_lost_reason(err), true);
	}
}

/* Test and clear a flag. The caller then checks what the flag stands for. */
static bool test_and_clear_due(bool *due)
{
	/* litmus: none, xchg() is a full barrier before that check */
	return READ_ONCE(*due) && xchg(due, false);
}

/*
 * Check whether received data has to be processed before the association ends.
 * @more: result of sddp_recv(). Data to be sent does not count: SCTP accepts
 * none any more, and programs could go on posting for ever.
 */
static bool must_receive_first(const struct sddp_assoc *a, enum sddp_sock_state up_state,
			       int more)
{
	/* deferred segments arrived before the end, and are resumed later */
	if (a->deferred)
		return up_state != SDDP_SOCK_LOST || more > 0;
	return more;
}

/*
 * The peer has shut down, but a session waits for a page fault before it can
 * end. Accept no new sessions. Once all received chunks are @taken, end the
 * other sessions.
 */
static void sddp_assoc_end_others(struct sddp_assoc *a, bool taken)
{
	sddp_table_unhash(a);
	if (taken)
		end_streams(a, IW_PEER_CLOSED, true);
}

/* Return: true if data gets through or none is in flight, false otherwise */
static bool sddp_assoc_look(struct sddp_assoc *a)
{
	enum sddp_path_state state = sddp_path_check(a);

	if (state == SDDP_PATH_IDLE)
		sddp_tx_free_buf(a);
	return state != SDDP_PATH_DEAD;
}

static void serve_up(struct sddp_assoc *a)
{
	enum sddp_sock_state up_state;
	int err, more;
	bool again;

	/*
	 * Read the socket state before receiving: data that was sent before a
	 * SHUTDOWN or ABORT is then in the queue.
	 */
	up_state = sddp_sock_get_state(a, &err);
	more = sddp_recv(a);
	/* a session has begun meanwhile; its end checks again */
	if (a->end_reason == IW_LOCAL_CLOSE && atomic_read(&a->live))
		a->end_reason = IW_OK;
	if (a->end_reason) {
		sddp_assoc_finish(a, a->end_reason, true);
		return;
	}
	again = sddp_assoc_handle_events(a, more, up_state == SDDP_SOCK_LOST);
	if (test_and_clear_due(&a->stall_due) && !sddp_assoc_look(a)) {
		sddp_assoc_finish(a, IW_TIMEOUT, true);
		return;
	}
	/* even if there is more to do: a peer may never stop sending */
	if (test_and_clear_due(&a->idle_due) && sddp_assoc_handle_idle(a)) {
		sddp_assoc_finish(a, IW_LOCAL_CLOSE, !a->active);
		return;
	}
	if (more < 0)
		sddp_assoc_backoff(a);
	if (more > 0 || again)
		sddp_assoc_kick(a);
	if (must_receive_first(a, up_state, more)) {
		if (up_state == SDDP_SOCK_PEER_DONE)
			sddp_assoc_end_others(a, !more);
		return;
	}
	switch (up_state) {
	case SDDP_SOCK_LOST:
		sddp_assoc_finish(a, sddp_assoc_lost_reason(err), true);
		return;
	case SDDP_SOCK_PEER_DONE:
		sddp_assoc_finish(a, IW_PEER_CLOSED, false);
		return;
	default:
		break;
	}
}

/**
 * sddp_assoc_work - run the worker of an association
 * @w: the association's work item
 */
void sddp_assoc_work(struct work_struct *w)
{
	struct sddp_assoc *a = container_of(w, struct sddp_assoc, work);
	/* reclaim may depend on storage that is reached through this device */
	unsigned int flags = memalloc_noio_save();

	mutex_lock(&a->mutex);
	a->polled_at = jiffies;
	if (a->phase != SDDP_ENDED && READ_ONCE(a->stop))
		sddp_assoc_finish(a, IW_LOCAL_ABORT, true);
	if (test_and_clear_due(&a->unreserved))
		sddp_assoc_check_idle(a);
	if (a->phase == SDDP_NEW)
		make_assoc(a);
	if (a->phase == SDDP_CONNECTING)
		sddp_assoc_check_connected(a);
	if (a->phase == SDDP_UP)
		serve_up(a);
	/* streams that were added after the end */
	if (a->phase == SDDP_ENDED)
		sddp_assoc_handle_events(a, false, true);
	mutex_unlock(&a->mutex);
	memalloc_noio_restore(flags);
	sddp_assoc_put(a);
}

/* The passive side ----------------------------------------------------------- */

/**
 * sddp_assoc_evict - end an association if it is still unaccepted
 * @a: the association, referenced, chosen by sddp_unaccepted_join()
 *
 * Sleeps. Called from the worker that adds a new association, not queued to
 * @a's, so that associations cannot arrive faster than they are evicted.
 */
void sddp_assoc_evict(struct sddp_assoc *a)
{
	mutex_lock(&a->mutex);
	if (a->phase == SDDP_UP && !sddp_unaccepted_cancel_evict(a))
		sddp_assoc_finish(a, IW_LOCAL_CLOSE, true);
	mutex_unlock(&a->mutex);
}

/**
 * sddp_assoc_accepted - set up an association that a peer has made
 * @a: new, with its socket, which has no callbacks yet
 *
 * May evict another unaccepted association. Sleeps. After success the caller
 * has no reference any more: the association may have ended already.
 *
 * Return: 0; -EPROTO if the peer's indication is not DDP's (RFC 5043 7.1) or it
 * has too many addresses, both of which the listener's user counts; or if it
 * has reset the association. After an error the caller releases the reference
 * and the socket.
 */
int sddp_assoc_accepted(struct sddp_assoc *a)
{
	struct sddp_assoc *other;
	enum iw_reason why;

	mutex_lock(&a->mutex);
	why = sddp_sock_established(a);
	if (why != IW_OK) {
		mutex_unlock(&a->mutex);
		/*
		 * a peer that has reset the association is not counted as
		 * refused
		 */
		if (why != IW_PEER_RESET)
			sddp_listen_refused(a, why);
		return -EPROTO;
	}
	/* the worker may end the association before the mutex is released */
	sddp_assoc_get(a);
	sddp_table_add(a);
	other = sddp_unaccepted_join(a);
	sddp_sock_attach(a);
	sddp_assoc_set_phase(a, SDDP_UP);
	sddp_assoc_check_idle(a);
	/* chunks may have arrived before the callbacks were set */
	sddp_assoc_kick(a);
	mutex_unlock(&a->mutex);
	sddp_assoc_put(a);
	if (other) {
		sddp_assoc_evict(other);
		sddp_assoc_put(other);
	}
	return 0;
}

/**
 * sddp_assoc_stop_all - end all associations at module unload
 *
 * No new associations can be made any more. Sleeps until all are freed.
 */
void sddp_assoc_stop_all(void)
{
	struct sddp_assoc *a;

	while ((a = sddp_table_pop())) {
		WRITE_ONCE(a->stop, true);
		sddp_assoc_kick(a);
		sddp_assoc_put(a);
	}
	sddp_assoc_wait_freed();
}
