// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Lifetime of a stream: a pair of SCTP streams and the session on it.
 *
 * A session ends for the ULP when sddp_stream_end() sets st->ended and notifies the ULP.
 * The stream's number stays in use until no chunk of the session can arrive (RFC 5043
 * 6.6). Until then the association's table keeps the stream, to send a Terminate and to
 * discard chunks. References are held by the ULP, by the bound DDP stream, by the
 * association's table, and by the association's list of streams with events.
 * stream_work.c handles the events.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "internal.h"
#include "trace.h"

/* Maximum time without progress during a graceful end, seconds */
#define DEADLINE_DRAIN	130
/* Maximum wait for the peer's Terminate after the peer has acknowledged ours, seconds */
#define DEADLINE_CLOSE	10

/**
 * sddp_stream_set_event - set an event of a stream and schedule the worker
 * @st: the stream; the caller must hold a reference or the RCU read lock
 * @ev: the event
 *
 * Do not schedule the worker if the last reference to the stream has been dropped. If the
 * stream moves to another association while this function runs, schedule the worker of that
 * association.
 *
 * Context: any.
 */
void sddp_stream_set_event(struct sddp_stream *st, enum sddp_event ev)
{
	struct sddp_assoc *a;
	unsigned long flags;
	bool moved, first;

	set_bit(ev, &st->events);
	if (!kref_get_unless_zero(&st->ss.ref))
		return;
	rcu_read_lock();
	do {
		a = READ_ONCE(st->a);
		spin_lock_irqsave(&a->lock, flags);
		moved = a != st->a;
		first = !moved && list_empty(&st->ready);
		if (first)
			list_add_tail(&st->ready, &a->ready);
		spin_unlock_irqrestore(&a->lock, flags);
	} while (moved);
	sddp_assoc_kick(a);
	rcu_read_unlock();
	if (!first)
		ddp_session_put(&st->ss);
}

/* Handle the expiry of a stream's timer */
static void sddp_stream_timer_work(struct work_struct *work)
{
	struct sddp_stream *st = container_of(to_delayed_work(work),
					      struct sddp_stream, timer);

	sddp_stream_set_event(st, SDDP_EV_TIMEOUT);
}

/**
 * sddp_stream_set_deadline - set or cancel the deadline of a session's set-up or end
 * @st: the stream
 * @seconds: time from now; 0 to cancel the deadline
 *
 * The timer only schedules the worker, which then compares the deadline with the time.
 *
 * Context: worker, with the association's mutex held, or before the worker can find the
 * stream.
 */
void sddp_stream_set_deadline(struct sddp_stream *st, unsigned int seconds)
{
	st->deadline_seconds = seconds;
	st->deadline = jiffies + seconds * HZ;
	if (seconds)
		mod_delayed_work(sddp_wq, &st->timer, seconds * HZ);
	else
		cancel_delayed_work(&st->timer);
}

/* Check whether @when is at least @grace seconds after the deadline */
static bool sddp_has_deadline_passed(const struct sddp_stream *st, unsigned long when,
				     unsigned int grace)
{
	return st->deadline_seconds && time_after_eq(when, st->deadline + grace * HZ);
}

/**
 * sddp_stream_end_if_late - end a session if its deadline has passed
 * @st: the stream
 * @more: true if SCTP's queue may have more chunks; extends the deadline by
 *	DEADLINE_CLOSE seconds
 *
 * Context: worker, with the association's mutex held, after the worker has processed all
 * events and received chunks.
 */
void sddp_stream_end_if_late(struct sddp_stream *st, bool more)
{
	/*
	 * A chunk that arrived before the deadline may still be in SCTP's queue after
	 * the deadline. So end the session only if the present run of the worker, which
	 * has processed the queue, began after the deadline.
	 */
	if (sddp_has_deadline_passed(st, st->a->polled_at, more ? DEADLINE_CLOSE : 0))
		sddp_stream_end(st, IW_TIMEOUT, NULL);
	else if (sddp_has_deadline_passed(st, jiffies, 0))
		mod_delayed_work(sddp_wq, &st->timer, HZ / 10);
}

/**
 * sddp_stream_new - allocate a stream without an association
 * @user: the ULP's upcalls; NULL if the ULP is not known yet
 * @ctx: the ULP's context
 * @active: true if this side sends the Initiate
 *
 * Return: the stream with one reference, for the association's table; NULL if memory is
 * short.
 */
struct sddp_stream *sddp_stream_new(const struct ddp_session_user *user,
				    void *ctx, bool active)
{
	struct sddp_stream *st = kzalloc(sizeof(*st), GFP_KERNEL_ACCOUNT);

	if (!st)
		return NULL;
	st->llp.ops = &sddp_llp_ops;
	st->ss.type = &sddp_session_type;
	st->ss.user = user;
	st->ss.ctx = ctx;
	kref_init(&st->ss.ref);
	sddp_session_init(&st->s, active);
	spin_lock_init(&st->lock);
	st->early = RB_ROOT;
	INIT_LIST_HEAD(&st->queue_entry);
	INIT_LIST_HEAD(&st->await_ack);
	INIT_LIST_HEAD(&st->late);
	INIT_LIST_HEAD(&st->ready);
	INIT_DELAYED_WORK(&st->timer, sddp_stream_timer_work);
	return st;
}

/**
 * sddp_stream_release - free a stream
 * @ref: its reference count, which has dropped to zero
 *
 * The stream's timer must not be pending; sddp_stream_end() cancels it.
 *
 * Context: any.
 */
void sddp_stream_release(struct kref *ref)
{
	struct ddp_session *ss = container_of(ref, struct ddp_session, ref);
	struct sddp_stream *st = ss_to_stream(ss);

	kfree(st->reply);
	kfree(st->pending_control);
	if (st->a)
		sddp_assoc_put(st->a);
	kfree_rcu(st, rcu);
}

/* Requests of the ULP -------------------------------------------------------- */

/**
 * sddp_stream_bind - bind the DDP stream of a session that this side initiates
 * @st: the stream
 * @s: the DDP stream to start; holds a reference on @st until sddp_stream_unbind()
 *
 * Context: before the worker can find @st, or in the worker's established upcall.
 *
 * Return: 0; -EISCONN if @s is bound already; -ENOTCONN if @s has been unbound.
 */
int sddp_stream_bind(struct sddp_stream *st, struct ddp_stream *s)
{
	int err;

	/* take the DDP stream's reference */
	ddp_session_get(&st->ss);
	st->stream = s;
	err = ddp_stream_bind(s, &st->llp);
	if (!err)
		return 0;
	st->stream = NULL;
	ddp_session_put(&st->ss);
	return err;
}

/**
 * sddp_stream_begin - begin a session on reserved streams
 * @st: the stream; no other context may use it yet
 * @s: the DDP stream to start after the peer has accepted the session; holds a reference
 *	on @st until sddp_stream_unbind(). NULL if sddp_stream_bind() follows.
 *
 * This function does not check whether the association has failed or has too few
 * streams: the worker does.
 *
 * Return: 0 on success, after which the caller must set an event to schedule the worker;
 * -EISCONN if @s is bound already; -ENOTCONN if @s has been unbound.
 */
int sddp_stream_begin(struct sddp_stream *st, struct ddp_stream *s)
{
	int err = s ? sddp_stream_bind(st, s) : 0;

	if (err)
		return err;
	sddp_stream_set_deadline(st, SDDP_DEADLINE_SEND);
	/* cannot fail: the reservation has allocated the entry */
	xa_store(&st->a->streams, st->id, st, GFP_KERNEL);
	return 0;
}

/**
 * sddp_stream_set_reply - set the ULP's reply to an Initiate, for the worker to send
 * @st: the stream of the Initiate, of which the ULP was notified
 * @c: the reply; owned by the stream if this function succeeds
 * @s: the DDP stream to start, which holds a reference on @st until
 *	sddp_stream_unbind(); NULL for a Reject
 *
 * Return: 0 on success, after which the caller must set an event to schedule the worker;
 * -ECONNRESET if the session has ended or has a reply already; -EISCONN if @s is bound
 * already; -ENOTCONN if @s has been unbound.
 */
int sddp_stream_set_reply(struct sddp_stream *st, struct sddp_control *c,
			  struct ddp_stream *s)
{
	int err = 0;

	/*
	 * take the reference that @s holds to the session before the bind: the ULP may unbind
	 * @s, and so drop the reference, right after the bind
	 */
	if (s)
		ddp_session_get(&st->ss);
	spin_lock(&st->lock);
	if (st->ended || st->has_replied)
		err = -ECONNRESET;
	else if (s)
		err = ddp_stream_bind(s, &st->llp);
	if (!err) {
		st->ss.accepted = s;
		st->reply = c;
		st->reply_stream = s;
		st->has_replied = true;
	}
	spin_unlock(&st->lock);
	if (err && s)
		ddp_session_put(&st->ss);
	return err;
}

/**
 * __sddp_stream_set_pending_reply - make the ULP's reply, if any, the pending control chunk
 * @st: the stream
 *
 * Context: worker, with the association's mutex and the stream's lock held.
 */
void __sddp_stream_set_pending_reply(struct sddp_stream *st)
{
	lockdep_assert_held(&st->lock);
	if (!st->reply)
		return;
	st->pending_control = st->reply;
	st->pending_control->offer.enhanced = st->s.enhanced;
	st->stream = st->reply_stream;
	st->reply = NULL;
}

/**
 * sddp_stream_unbind - unbind the DDP stream and abort the session
 * @st: the stream
 *
 * Wait until the worker has unbound the DDP stream. After that no upcall for the DDP
 * stream runs or will start. Then drop the DDP stream's reference.
 *
 * Context: sleeps.
 */
void sddp_stream_unbind(struct sddp_stream *st)
{
	set_bit(0, &st->unbind);
	sddp_stream_set_event(st, SDDP_EV_TX);
	wait_on_bit(&st->unbind, 0, TASK_UNINTERRUPTIBLE);
	sddp_stream_request_end(st, IW_LOCAL_ABORT);
	ddp_session_put(&st->ss);
}

/**
 * sddp_stream_request_end - request the end of a session
 * @st: the stream
 * @why: IW_LOCAL_CLOSE for a graceful end, after all posted requests have been sent; any
 *	other reason for an abortive end
 *
 * Context: any.
 */
void sddp_stream_request_end(struct sddp_stream *st, enum iw_reason why)
{
	if (why != IW_LOCAL_CLOSE) {
		WRITE_ONCE(st->why, why);
		/*
		 * Store why before set_bit() in sddp_stream_set_event() sets the event,
		 * because set_bit() orders nothing. Pairs with xchg() in
		 * sddp_stream_handle_events(): otherwise the worker could see the event
		 * but a stale reason. litmus: why
		 */
		smp_wmb();
		sddp_stream_set_event(st, SDDP_EV_ABORT);
		return;
	}
	/*
	 * Store closing after all posted requests. Pairs with the acquire in
	 * pull_segment_or_set_drained(): otherwise the worker could send our Terminate before the
	 * requests. litmus: drained
	 */
	smp_store_release(&st->closing, true);
	sddp_stream_set_event(st, SDDP_EV_CLOSE);
}

/**
 * sddp_stream_end - mark a session as ended, and notify the ULP
 * @st: the stream
 * @why: the reason
 * @o: offer in the peer's Reject, with the Private Data; NULL if there is no Reject
 *
 * Only the first call for a stream has an effect. The worker sends a Terminate
 * afterwards if sddp_session_may_send() allows it.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_stream_end(struct sddp_stream *st, enum iw_reason why,
		     const struct ddp_offer *o)
{
	struct ddp_stream *s;

	if (st->ended)
		return;
	/* once ended is set, sddp_stream_set_reply() fails */
	spin_lock(&st->lock);
	__sddp_stream_set_pending_reply(st);
	WRITE_ONCE(st->ended, true);
	spin_unlock(&st->lock);
	s = st->stream;
	trace_sddp_session_end(st, why);
	st->deadline_seconds = 0;
	cancel_delayed_work_sync(&st->timer);
	sddp_tx_drop_pending_segment(st);
	ddp_port_detach_request(&st->conn_req);
	st->stream = NULL;
	if (s)
		ddp_llp_report_down(s, why);
	if (st->reported)
		ddp_session_report_closed(&st->ss, why, o);
	else
		sddp_listen_report_refused(st->a, why);
	sddp_assoc_account_session_end(st->a, st);
	sddp_stream_set_event(st, SDDP_EV_TX);
}

/* End the session that waits for the number of stream @st, because the association has ended */
static void end_next_session(struct sddp_stream *st)
{
	struct sddp_stream *next = st->next;

	if (!next)
		return;
	st->next = NULL;
	sddp_stream_end(next, st->a->why, NULL);
	sddp_stream_discard(next);
}

/**
 * sddp_stream_discard - release a stream that has been removed from the table
 * @st: the stream; its session has ended
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_stream_discard(struct sddp_stream *st)
{
	end_next_session(st);
	sddp_kept_chunks_free(st);
	list_del_init(&st->await_ack);
	list_del_init(&st->queue_entry);
	list_del_init(&st->late);
	/* drop the table's reference */
	ddp_session_put(&st->ss);
}

/**
 * sddp_stream_remove - remove a stream from the table and release it
 * @st: the stream; its session has ended
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_stream_remove(struct sddp_stream *st)
{
	xa_erase(&st->a->streams, st->id);
	sddp_stream_discard(st);
}

/**
 * sddp_stream_report_peer_done - process the peer's Terminate of an accepted session
 * @st: the stream
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_stream_report_peer_done(struct sddp_stream *st)
{
	if (st->peer_closed || st->ended)
		return;
	st->peer_closed = true;
	st->peer_closed_first = !READ_ONCE(st->closing);
	ddp_session_report_peer_closed(&st->ss);
	/*
	 * Let the worker send our Terminate if one is pending. The Terminate no longer
	 * waits for requests that need responses from the peer, because no response can
	 * arrive.
	 */
	sddp_stream_set_event(st, SDDP_EV_TX);
}

/* Get the reason to report for a graceful end */
static enum iw_reason sddp_stream_get_close_reason(const struct sddp_stream *st)
{
	return st->peer_closed_first ? IW_PEER_CLOSED : IW_LOCAL_CLOSE;
}

/**
 * sddp_stream_get_shutdown_reason - get the reason to report for a session that a SHUTDOWN ends
 * @st: the stream
 *
 * RFC 5043 6.2: the peer's SHUTDOWN ends the session gracefully if either side has sent
 * its Terminate.
 *
 * Context: worker, with the association's mutex held.
 * Return: IW_PEER_CLOSED or IW_LOCAL_CLOSE after a graceful end, IW_PEER_RESET if
 * neither side has sent its Terminate.
 */
enum iw_reason sddp_stream_get_shutdown_reason(const struct sddp_stream *st)
{
	if (!st->s.own_done && !st->s.peer_done)
		return IW_PEER_RESET;
	return sddp_stream_get_close_reason(st);
}

/*
 * Compute a value that changes when a graceful end makes progress: with each chunk that
 * SCTP accepts, and after our Terminate has been sent, with each TSN that the peer
 * acknowledges.
 */
static u64 get_close_progress(const struct sddp_stream *st)
{
	if (sddp_session_last_chunk_is_acked(&st->s))
		return 3ull << 32;
	if (st->s.own_done)
		return 2ull << 32 | st->a->acked;
	return 1ull << 32 | st->tx_ssn;
}

/* Extend the deadline if the graceful end has made progress since the last call */
static void sddp_extend_deadline_on_progress(struct sddp_stream *st)
{
	u64 step = get_close_progress(st);

	if (step == st->close_progress)
		return;
	st->close_progress = step;
	sddp_stream_set_deadline(st, sddp_session_last_chunk_is_acked(&st->s) ? DEADLINE_CLOSE
				 : DEADLINE_DRAIN);
}

/**
 * sddp_stream_advance_close - advance a graceful end if the ULP has requested one
 * @st: the stream
 *
 * The transmit path sends all posted requests and then our Terminate. After that the
 * session waits for the peer's Terminate.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_stream_advance_close(struct sddp_stream *st)
{
	if (st->ended || !READ_ONCE(st->closing))
		return;
	/* end the session only after the peer has received our last chunk */
	if (sddp_session_is_reusable(&st->s))
		sddp_stream_end(st, sddp_stream_get_close_reason(st), NULL);
	else if (st->s.state == SDDP_OPEN)
		sddp_extend_deadline_on_progress(st);
	/*
	 * No Accept has been sent or received, so normally there is nothing to send. But
	 * if st->accepted is set, the Accept is still pending, and the ULP may have posted
	 * data to be sent after it.
	 */
	else if (!st->accepted)
		sddp_stream_end(st, IW_LOCAL_CLOSE, NULL);
}
