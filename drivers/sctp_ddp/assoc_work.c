// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The worker of an association: connects the socket, receives and sends chunks, and
 * advances the state of the sessions. References and timers of the association are in
 * assoc.c.
 *
 * A program only stores its requests in its stream, and never takes the association's
 * mutex. Several programs share the association, so a program that is stopped while it
 * holds the mutex would delay the others.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "admission.h"
#include "internal.h"
#include "trace.h"

static void sddp_assoc_set_phase(struct sddp_assoc *a, enum sddp_phase phase)
{
	WRITE_ONCE(a->phase, phase);
	trace_sddp_assoc_phase(a, phase);
}

static enum iw_reason sddp_err_to_reason(int err)
{
	return ddp_sock_err_to_reason(err, IW_PEER_RESET);
}

static void end_and_remove_stream(struct sddp_stream *st, enum iw_reason why)
{
	sddp_stream_end(st, why == IW_PEER_CLOSED ? sddp_stream_get_shutdown_reason(st) : why,
			NULL);
	sddp_stream_remove(st);
}

/*
 * End the sessions of the association. If @keep_deferred is true, do not end the sessions
 * that have a deferred segment.
 */
static void end_assoc_streams(struct sddp_assoc *a, enum iw_reason why, bool keep_deferred)
{
	struct sddp_stream *st;
	unsigned long id;
	void *at;

	xa_for_each(&a->streams, id, at) {
		st = at;
		if (!xa_is_value(at) && !(keep_deferred && st->deferred))
			end_and_remove_stream(st, why);
	}
}

/* Release the socket of an association whose sessions have ended */
static void release_sock_of_ended_assoc(struct sddp_assoc *a)
{
	a->closing = false;
	cancel_delayed_work_sync(&a->idle);
	sddp_assoc_table_del(a);
	sddp_sock_release(a);
	/* drop the reference of the socket callbacks */
	sddp_assoc_put(a);
}

/*
 * Send a SHUTDOWN. The worker releases the socket when SCTP's association has ended, or when the
 * idle timer expires.
 */
static void begin_close(struct sddp_assoc *a)
{
	a->closing = true;
	WRITE_ONCE(a->idle_due, false);
	sddp_sock_shutdown(a);
	mod_delayed_work(sddp_wq, &a->idle, SDDP_DEADLINE_SHUTDOWN * HZ);
}

/* Check whether the worker may release the socket of a closing association */
static bool may_release_sock(struct sddp_assoc *a)
{
	return READ_ONCE(a->stop) || READ_ONCE(a->idle_due) || sddp_sock_has_assoc_ended(a);
}

/*
 * End the association and all its sessions. Send no Terminates, because they would only
 * delay the end (RFC 5043 11.3). @abort: true to send an ABORT, false to send a SHUTDOWN. The
 * caller must hold the mutex.
 */
static void sddp_assoc_tear_down(struct sddp_assoc *a, enum iw_reason why,
				 bool abort)
{
	sddp_unaccepted_remove(a);
	sddp_assoc_table_unhash(a);
	a->why = why;
	sddp_assoc_set_phase(a, SDDP_ENDED);
	trace_sddp_assoc_end(a, why);
	cancel_delayed_work_sync(&a->idle);
	cancel_delayed_work_sync(&a->stall_timer);
	cancel_delayed_work_sync(&a->retry);
	end_assoc_streams(a, why, false);
	/*
	 * Free the buffer now: a QP that is not destroyed yet holds a reference to the
	 * association, possibly for a long time.
	 */
	kvfree(a->out);
	a->out = NULL;
	if (abort)
		release_sock_of_ended_assoc(a);
	else
		begin_close(a);
}

/*
 * Set an event on all sessions, because the SCTP handshake is complete. Each session
 * then sends its Initiate, or moves to another association if the peer does not allow
 * its stream number.
 */
static void kick_all_sessions(struct sddp_assoc *a)
{
	unsigned long id;
	void *at;

	xa_for_each(&a->streams, id, at)
		if (!xa_is_value(at))
			sddp_stream_set_event(at, SDDP_EV_TX);
}

static struct sddp_stream *sddp_assoc_pop_stream(struct sddp_assoc *a,
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

/*
 * Check the deadlines of the streams whose timer has expired. @more: true if SCTP's
 * queue may have more chunks.
 */
static void end_late_streams(struct sddp_assoc *a, bool more)
{
	struct sddp_stream *st;

	while (!list_empty(&a->late)) {
		st = list_first_entry(&a->late, struct sddp_stream, late);
		list_del_init(&st->late);
		sddp_stream_end_if_late(st, more);
	}
}

/*
 * Start the retry timer, or make it expire earlier. Retries to send and retries to
 * receive share the timer. The timer is never postponed, so a sequence of failures
 * cannot delay a retry for ever. Return: true if the timer now expires in @delay
 * jiffies; false if it was already going to expire by then.
 */
static bool arm_retry_timer_if_earlier(struct sddp_assoc *a, unsigned long delay)
{
	unsigned long at = jiffies + delay;

	/*
	 * queue_delayed_work() is a full barrier, even if the timer is already pending.
	 * So if this worker has set sndbuf_full or unsent_full, sddp_assoc_retry_work()
	 * sees and clears the flag. A flag that remained set would suppress the retry.
	 */
	if (!queue_delayed_work(sddp_wq, &a->retry, delay)) {
		if (!time_before(at, a->retry_at))
			return false;
		mod_delayed_work(sddp_wq, &a->retry, delay);
	}
	a->retry_at = at;
	return true;
}

/*
 * Schedule a retry because SCTP accepts no more data. Normally an acknowledgment wakes
 * up the worker, see sddp_sock_wakeup(). But if socket memory is short, there may be no
 * data in flight, and so no acknowledgment will arrive.
 */
static void sddp_assoc_schedule_retry(struct sddp_assoc *a)
{
	arm_retry_timer_if_earlier(a, HZ / 2);
}

/*
 * Schedule a retry because memory was short. The delay grows with each consecutive
 * failure, see sddp_compute_retry_delay().
 */
static void sddp_assoc_schedule_backoff_retry(struct sddp_assoc *a)
{
	u32 delay = sddp_compute_retry_delay(a->retry_delay);

	if (arm_retry_timer_if_earlier(a, msecs_to_jiffies(delay)))
		a->retry_delay = delay;
}

/*
 * Send chunks of the streams. Schedule a retry if SCTP accepts no more data or memory is
 * short. Ignore other errors: they show that the association has ended, which the worker
 * also detects from the socket state. Return: true if more chunks can be sent now, false
 * otherwise.
 */
static bool sddp_assoc_transmit(struct sddp_assoc *a)
{
	int err = sddp_tx_send_chunks(a);

	if (err == -EAGAIN)
		sddp_assoc_schedule_retry(a);
	else if (ddp_sock_is_transient_error(err))
		sddp_assoc_schedule_backoff_retry(a);
	return err > 0;
}

/*
 * Handle the events of all streams on a->ready, then transmit. @more: true if SCTP's
 * queue may have more chunks. @lost: true to transmit nothing, because the peer may have
 * restarted and would receive data of the earlier association. Return: true if the
 * caller must schedule the worker again, because there is more to do now; false
 * otherwise.
 */
static bool sddp_assoc_handle_events_and_transmit(struct sddp_assoc *a, bool more, bool lost)
{
	bool up = a->phase == SDDP_UP && !lost, again = false;
	struct sddp_stream *st;
	LIST_HEAD(now);

	if (up)
		sddp_tx_process_acks(a);
	spin_lock_irq(&a->lock);
	list_splice_init(&a->ready, &now);
	spin_unlock_irq(&a->lock);
	while ((st = sddp_assoc_pop_stream(a, &now))) {
		sddp_stream_handle_events(st);
		/* drop the reference of the list */
		ddp_session_put(&st->ss);
	}
	if (up)
		again = sddp_assoc_transmit(a);
	end_late_streams(a, more);
	return again || !list_empty_careful(&a->ready);
}

static enum iw_reason err_to_connect_reason(int err)
{
	return ddp_sock_err_to_reason(err, err == -ENOMEM || err == -ENOBUFS ?
				      IW_NO_MEMORY : IW_UNREACHABLE);
}

static void connect_new_assoc(struct sddp_assoc *a)
{
	int err;

	/* do not connect if all sessions that needed the association have ended */
	if (sddp_assoc_table_unhash_if_idle(a)) {
		sddp_assoc_tear_down(a, IW_LOCAL_CLOSE, true);
		return;
	}
	err = sddp_sock_connect(a);
	if (err)
		sddp_assoc_tear_down(a, err_to_connect_reason(err), true);
	else
		sddp_assoc_set_phase(a, SDDP_CONNECTING);
}

static void sddp_assoc_enter_up_phase(struct sddp_assoc *a)
{
	enum iw_reason why = sddp_sock_check_and_read_assoc(a);

	if (why != IW_OK) {
		sddp_assoc_tear_down(a, why, true);
		return;
	}
	sddp_assoc_set_phase(a, SDDP_UP);
	kick_all_sessions(a);
	sddp_assoc_start_idle_timer_if_unused(a);
}

static void sddp_assoc_advance_handshake(struct sddp_assoc *a)
{
	int err;

	switch (sddp_sock_get_state_and_adjust_limits(a, &err)) {
	case SDDP_SOCK_CONNECTING:
		/* end the sessions that the ULP aborts or that time out during the handshake */
		sddp_assoc_handle_events_and_transmit(a, false, false);
		return;
	case SDDP_SOCK_OPEN:
		sddp_assoc_enter_up_phase(a);
		return;
	default:
		sddp_assoc_tear_down(a, sddp_err_to_reason(err), true);
	}
}

/*
 * Test and clear a flag that requests a check, which the caller makes afterwards.
 * Return: true if the flag was set, false otherwise.
 */
static bool test_and_clear_flag(bool *due)
{
	/*
	 * litmus: none, xchg() is a full barrier: the check sees what happened before the flag
	 * was set, and a flag that is set during the check makes the next run check again
	 */
	return READ_ONCE(*due) && xchg(due, false);
}

/*
 * Check whether received data must be processed before the association ends. @more:
 * result of sddp_recv_chunks(). Pending transmissions never delay the end, because SCTP accepts
 * no more data, and because programs could post work requests for ever. Return: true if
 * received data must be processed first, false otherwise.
 */
static bool must_receive_first(const struct sddp_assoc *a, enum sddp_sock_state state,
			       int more)
{
	/*
	 * Deferred segments arrived before the peer's SHUTDOWN, so they are processed
	 * first. If the association is lost, they are discarded.
	 */
	if (a->deferred)
		return state != SDDP_SOCK_LOST || more > 0;
	return more;
}

/*
 * Prevent new local sessions on an association whose peer has sent SHUTDOWN, and whose end
 * deferred segments or queued chunks delay. @taken: true if the worker has taken all chunks
 * from SCTP's queue; then also end all sessions without a deferred segment.
 */
static void sddp_assoc_unhash_and_end_undeferred(struct sddp_assoc *a, bool taken)
{
	sddp_assoc_table_unhash(a);
	if (taken)
		end_assoc_streams(a, IW_PEER_CLOSED, true);
}

/*
 * Check whether the peer acknowledges data, and free the transmit buffer if no data is
 * in flight. Return: false if the association must end, because no data reaches the
 * peer; true otherwise.
 */
static bool sddp_assoc_try_recover_from_stall(struct sddp_assoc *a)
{
	enum sddp_path_state state = sddp_path_act_on_stall(a);

	if (state == SDDP_PATH_IDLE)
		sddp_tx_free_buf(a);
	return state != SDDP_PATH_DEAD;
}

static void run_established_assoc(struct sddp_assoc *a)
{
	enum sddp_sock_state state;
	int err, more;
	bool again;

	/*
	 * Read the socket state before receiving: if the state shows a SHUTDOWN or
	 * ABORT, all data that the peer sent before it is already in the queue.
	 */
	state = sddp_sock_get_state_and_adjust_limits(a, &err);
	more = sddp_recv_chunks(a);
	/*
	 * keep the association if a session has begun after sddp_assoc_start_idle_timer_if_unused()
	 * set end_reason
	 */
	if (a->end_reason == IW_LOCAL_CLOSE && atomic_read(&a->live))
		a->end_reason = IW_OK;
	if (a->end_reason) {
		sddp_assoc_tear_down(a, a->end_reason, true);
		return;
	}
	again = sddp_assoc_handle_events_and_transmit(a, more, state == SDDP_SOCK_LOST);
	if (test_and_clear_flag(&a->stall_due) && !sddp_assoc_try_recover_from_stall(a)) {
		sddp_assoc_tear_down(a, IW_TIMEOUT, true);
		return;
	}
	/*
	 * handle the idle timer even if chunks are queued, because a peer may never stop
	 * sending
	 */
	if (test_and_clear_flag(&a->idle_due) && sddp_assoc_handle_idle_timer(a)) {
		sddp_assoc_tear_down(a, IW_LOCAL_CLOSE, !a->active);
		return;
	}
	if (more < 0)
		sddp_assoc_schedule_backoff_retry(a);
	if (more > 0 || again)
		sddp_assoc_kick(a);
	if (must_receive_first(a, state, more)) {
		if (state == SDDP_SOCK_PEER_DONE)
			sddp_assoc_unhash_and_end_undeferred(a, !more);
		return;
	}
	switch (state) {
	case SDDP_SOCK_LOST:
		sddp_assoc_tear_down(a, sddp_err_to_reason(err), true);
		return;
	case SDDP_SOCK_PEER_DONE:
		sddp_assoc_tear_down(a, IW_PEER_CLOSED, false);
		return;
	default:
		break;
	}
}

/**
 * sddp_assoc_work - run the worker of an association
 * @w: the association's work item
 *
 * Afterwards drop the reference that sddp_assoc_kick() has taken.
 */
void sddp_assoc_work(struct work_struct *w)
{
	struct sddp_assoc *a = container_of(w, struct sddp_assoc, work);
	/*
	 * Allocate without I/O: memory reclaim could otherwise wait for storage that is
	 * reached through this very association.
	 */
	unsigned int flags = memalloc_noio_save();

	mutex_lock(&a->mutex);
	a->polled_at = jiffies;
	if (a->phase != SDDP_ENDED && READ_ONCE(a->stop))
		sddp_assoc_tear_down(a, IW_LOCAL_ABORT, true);
	if (test_and_clear_flag(&a->unreserved))
		sddp_assoc_start_idle_timer_if_unused(a);
	if (a->phase == SDDP_NEW)
		connect_new_assoc(a);
	if (a->phase == SDDP_CONNECTING)
		sddp_assoc_advance_handshake(a);
	if (a->phase == SDDP_UP)
		run_established_assoc(a);
	/* end streams that were added after the end of the association */
	if (a->phase == SDDP_ENDED)
		sddp_assoc_handle_events_and_transmit(a, false, true);
	if (a->closing && may_release_sock(a))
		release_sock_of_ended_assoc(a);
	mutex_unlock(&a->mutex);
	memalloc_noio_restore(flags);
	sddp_assoc_put(a);
}

/* The passive side ----------------------------------------------------------- */

/*
 * End an association, chosen by sddp_unaccepted_add_assoc(), if it is still unaccepted. The
 * caller must hold a reference.
 *
 * The work item of the listening socket, which adds the new association, calls this
 * function instead of scheduling the worker of @a. So peers cannot create associations
 * faster than this function ends them.
 */
static void sddp_assoc_evict_if_unaccepted(struct sddp_assoc *a)
{
	mutex_lock(&a->mutex);
	if (a->phase == SDDP_UP && !sddp_unaccepted_try_cancel_evict(a))
		sddp_assoc_tear_down(a, IW_LOCAL_CLOSE, true);
	mutex_unlock(&a->mutex);
}

/**
 * sddp_assoc_set_up_passive - set up an association that a peer has created
 * @a: the new association, with a socket that has no callbacks yet
 *
 * May evict another unaccepted association. After success the reference belongs to the
 * socket callbacks, and the caller must not use @a, because the association may have
 * ended already. After an error the caller must drop the reference and release the
 * socket.
 *
 * Context: sleeps.
 * Return: 0; -EPROTO if the peer's Adaptation Indication is not that of DDP (RFC 5043
 * 7.1), the peer has too many addresses, or the peer has reset the association. The
 * listener's ULP is notified of each of these errors except the reset.
 */
int sddp_assoc_set_up_passive(struct sddp_assoc *a)
{
	struct sddp_assoc *other;
	enum iw_reason why;

	mutex_lock(&a->mutex);
	why = sddp_sock_check_and_read_assoc(a);
	if (why != IW_OK) {
		mutex_unlock(&a->mutex);
		/* do not count a reset by the peer as a refusal by this side */
		if (why != IW_PEER_RESET)
			sddp_listen_report_refused(a, why);
		return -EPROTO;
	}
	/*
	 * Take a reference for the rest of this function: the worker may end the
	 * association as soon as the mutex is released.
	 */
	sddp_assoc_get(a);
	sddp_assoc_table_add_unshared(a);
	other = sddp_unaccepted_add_assoc(a);
	sddp_sock_install_callbacks(a);
	sddp_assoc_set_phase(a, SDDP_UP);
	sddp_assoc_start_idle_timer_if_unused(a);
	/* schedule the worker for chunks that arrived before sddp_sock_install_callbacks() */
	sddp_assoc_kick(a);
	mutex_unlock(&a->mutex);
	sddp_assoc_put(a);
	if (other) {
		sddp_assoc_evict_if_unaccepted(other);
		sddp_assoc_put(other);
	}
	return 0;
}

/**
 * sddp_assoc_stop_all - end all associations at module unload
 * The caller must ensure that no new association can be created.
 *
 * Context: sleeps until all associations are freed.
 */
void sddp_assoc_stop_all(void)
{
	struct sddp_assoc *a;

	while ((a = sddp_assoc_table_pop())) {
		WRITE_ONCE(a->stop, true);
		sddp_assoc_kick(a);
		sddp_assoc_put(a);
	}
	sddp_assoc_wait_all_freed();
}
