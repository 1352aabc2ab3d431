// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State machine of a connection in Full Operation, and tear-down in any phase.
 * conn_start.c handles the TCP handshake and start-up.
 *
 * After mpa_conn_enter_first_phase() only the worker changes the phase, with the mutex
 * held; conn_event.c schedules the worker.
 *
 * Each of these has a reference on the connection: the ULP, the bound stream, the queued
 * worker, the entry in the start-up queue, the entry in a CPU's transmit queue, the queued
 * retry timer, and the socket's callbacks. mpa_conn_tear_down() drops the reference of the
 * callbacks.
 */
#include <linux/bits.h>
#include <linux/preempt.h>

#include "internal.h"
#include "trace.h"

/*
 * Graceful close: maximum time without progress while the peer has not acknowledged
 * all data, in seconds. TCP may wait 120 s between two retransmissions, so the limit
 * must be longer.
 */
#define DEADLINE_DRAIN	130ul
/*
 * Graceful close: maximum time from when TCP has accepted the last FPDU until the
 * peer has acknowledged all data, in seconds. This is long enough, because the
 * unacknowledged data is at most one send buffer of TCP.
 */
#define DEADLINE_ACKED	900

/*
 * Progress of a graceful close: these flags, combined with the TCP sequence number
 * (the low 32 bits) up to which the peer has acknowledged our data
 */
#define STEP_BEGUN	BIT_ULL(32)	/* a graceful close is requested */
#define STEP_DRAINED	BIT_ULL(33)	/* TCP has accepted all our FPDUs */
#define STEP_SHUT	BIT_ULL(34)	/* TCP has accepted our FIN */
#define STEP_ALL	BIT_ULL(35)	/* the peer has acknowledged all data up to our FIN */

/*
 * Check whether tear-down must reset the TCP connection instead of sending a FIN.
 *
 * In Full Operation, send a FIN even if the ULP aborts. A reset would discard data
 * that TCP has accepted but not delivered, and the ULP may already have reported
 * this data as sent (RFC 5041 3 (3), DDP-3). There are two exceptions. Reset if TCP
 * has accepted only a part of a batch, because a FIN could then end the stream inside
 * an FPDU. Reset if a time limit has expired, because the peer has then failed to
 * acknowledge our data, or to close.
 *
 * Before Full Operation our rejecting Reply is the only data that must be delivered.
 * So reset, unless the peer has rejected our Request (IW_PEER_REJECT), or this side
 * has sent a rejecting Reply or the ULP has closed (both are IW_LOCAL_CLOSE).
 */
static bool must_reset(const struct mpa_conn *c, enum iw_reason why)
{
	if (c->phase != MPA_FULL)
		return why != IW_PEER_REJECT && why != IW_LOCAL_CLOSE;
	return why == IW_TIMEOUT || c->out.sent;
}

/**
 * mpa_conn_set_phase - change the phase of a connection
 * @c: the connection; the caller must hold its mutex
 * @phase: the new phase
 */
void mpa_conn_set_phase(struct mpa_conn *c, enum mpa_phase phase)
{
	WRITE_ONCE(c->phase, phase);
	trace_mpa_conn_phase(c, phase);
}

/**
 * mpa_conn_tear_down - tear down a connection: release its socket and notify the ULP
 * @c: the connection
 * @why: reason to report to the stream and the ULP
 * @o: contents of the peer's rejecting Reply; NULL if the peer has not rejected
 *
 * Context: worker, with the mutex held.
 */
void mpa_conn_tear_down(struct mpa_conn *c, enum iw_reason why,
			const struct ddp_offer *o)
{
	struct ddp_stream *s = c->bound_stream;
	bool reset;

	cancel_delayed_work_sync(&c->timer);
	mpa_tx_stop(c);
	reset = must_reset(c, why);
	mpa_frame_drop_batch(c);
	mpa_conn_set_phase(c, MPA_ENDED);
	trace_mpa_conn_end(c, why);
	/* update the counter before the peer can detect the refusal */
	if (c->conn_req.listener && !c->reported)
		ddp_port_report_refused(c->conn_req.listener, why);
	mpa_sock_release(c, reset);
	c->stream = NULL;
	c->bound_stream = NULL;
	ddp_port_detach_request(&c->conn_req);
	if (s)
		ddp_llp_report_down(s, why);
	if (c->reported)
		ddp_session_report_closed(&c->ss, why, o);
	/* drop the reference of the socket's callbacks, which are removed now */
	ddp_session_put(&c->ss);
}

/* Graceful close in Full Operation ----------------------------------------- */

/*
 * A graceful close sends our FIN after the last FPDU. TCP must deliver all data
 * before the FIN, because the ULP may already have reported this data as sent. The
 * peer may need a long time to receive megabytes, so the time limit is extended
 * whenever the peer acknowledges data.
 */

/*
 * Get the progress of a graceful close: STEP_* flags, and the TCP sequence number up
 * to which the peer has acknowledged. @drained: true if TCP has accepted all FPDUs. The
 * caller must hold the spinlock of the socket.
 */
static u64 __mpa_get_close_progress(struct mpa_conn *c, bool drained)
{
	bool all;
	u64 step = STEP_BEGUN | __mpa_sock_get_acked_seq(c, &all);

	if (drained)
		step |= STEP_DRAINED | (all ? STEP_ALL : 0);
	return c->fin_sent ? step | STEP_SHUT : step;
}

/*
 * Extend the time limit if the graceful close has made progress since the last call.
 * Until the peer has acknowledged all data, the limit is never later than @c->close_limit.
 * @c->close_limit itself is extended only until TCP has accepted all FPDUs (@drained), so
 * that a peer that acknowledges slowly cannot delay the close without limit.
 */
static void __extend_deadline_on_progress(struct mpa_conn *c, bool drained)
{
	u64 step = __mpa_get_close_progress(c, drained);
	long left;

	c->all_acked = step & STEP_ALL && c->fin_sent;
	if (step == c->close_step)
		return;
	if (!(c->close_step & STEP_DRAINED))
		c->close_limit = jiffies + DEADLINE_ACKED * HZ;
	c->close_step = step;
	left = c->close_limit - jiffies;
	if (step & STEP_ALL)
		mpa_conn_set_deadline(c, MPA_DEADLINE_CLOSE);
	else if (left > 0)
		mpa_conn_set_deadline(c, min(DIV_ROUND_UP((unsigned long)left, HZ),
					     DEADLINE_DRAIN));
	else
		c->deadline = c->close_limit;
}

/*
 * Advance a graceful close that was requested: send our FIN once TCP has accepted all
 * FPDUs, and extend the time limit. The caller must hold the spinlock of the socket.
 */
static void __mpa_conn_advance_close(struct mpa_conn *c)
{
	/*
	 * Pairs with set_tx_drained(), which sets drained after the last FPDU was
	 * passed to TCP. Without the acquire, our FIN could be sent before the last
	 * FPDU; litmus: drained
	 */
	bool drained = smp_load_acquire(&c->drained);

	if (drained && !c->fin_sent)
		c->fin_sent = __mpa_sock_try_send_fin(c);
	__extend_deadline_on_progress(c, drained);
	/* if TCP has no memory for the FIN, retry after 100 ms: no callback reports free memory */
	if (drained && !c->fin_sent)
		mpa_conn_arm_timer_if_earlier(c, HZ / 10);
}

/* Advance a graceful close, if requested */
static void mpa_conn_advance_close(struct mpa_conn *c)
{
	if (!READ_ONCE(c->closing))
		return;
	mpa_sock_lock(c);
	__mpa_conn_advance_close(c);
	mpa_sock_unlock(c);
}

/* Record that the peer has closed. Return: true for the first call, false otherwise. */
static bool record_peer_closed(struct mpa_conn *c)
{
	if (c->peer_closed)
		return false;
	/*
	 * peer_closed is set after all data before the peer's FIN was processed.
	 * Pairs with send_one_batch(). Without the release, send_one_batch() could
	 * see peer_closed, but miss work that the peer's last response has unblocked,
	 * and set drained before this work is sent; litmus: drained
	 */
	smp_store_release(&c->peer_closed, true);
	c->peer_closed_first = !READ_ONCE(c->closing);
	return true;
}

static enum iw_reason get_close_reason(const struct mpa_conn *c)
{
	return c->peer_closed_first ? IW_PEER_CLOSED : IW_LOCAL_CLOSE;
}

/*
 * Tear down the connection if TCP has closed or lost it, or report to the ULP that
 * the peer has closed. The caller must have received all data that was in the socket.
 */
static void mpa_conn_end_or_report_close(struct mpa_conn *c)
{
	bool news;
	int err;
	enum mpa_sock_state state = mpa_sock_get_state(c, &err);

	/*
	 * Data that arrived before a FIN or reset must be received first. After the caller
	 * received data, and before mpa_sock_get_state() read the state, a TCP segment may
	 * have filled a gap, so that out-of-order data and the FIN became available. In this
	 * case mpa_data_ready() has set MPA_EV_RX again.
	 */
	if (test_bit(MPA_EV_RX, &c->events))
		return;
	if (state == MPA_SOCK_LOST) {
		mpa_conn_tear_down(c, ddp_sock_err_to_reason(err, IW_MPA_LOST), NULL);
		return;
	}
	/* a deferred FPDU is still in the receive queue: mpa_llp_resume() will set MPA_EV_RX */
	if (READ_ONCE(c->rx_deferred))
		return;
	if (state != MPA_SOCK_CLOSED && state != MPA_SOCK_PEER_DONE)
		return;
	/* RFC 5044 section 8: a stream that ends inside an FPDU has failed */
	if (mpa_sock_has_partial_fpdu(c)) {
		mpa_conn_tear_down(c, IW_MPA_LOST, NULL);
		return;
	}
	news = record_peer_closed(c);
	/* only report a successful end if the peer has acknowledged all our data */
	if (state == MPA_SOCK_CLOSED || c->all_acked) {
		mpa_conn_tear_down(c, get_close_reason(c), NULL);
	} else if (news) {
		ddp_session_report_peer_closed(&c->ss);
		/*
		 * Work that waits for the peer's first FPDU or for a response
		 * can no longer be sent. Run the transmit routine, which detects
		 * this, so that a graceful close does not wait for such work.
		 */
		mpa_tx_kick(c, true);
	}
}

/* State machine ------------------------------------------------------------ */

/*
 * Advance a connection in Full Operation: receive, advance a graceful close, and
 * check whether TCP has closed or lost the connection. Return: true if the socket
 * has more data than one call receives, false otherwise.
 */
static bool advance_full_operation(struct mpa_conn *c)
{
	bool more = mpa_sock_receive_fpdus(c);

	mpa_conn_advance_close(c);
	/* process all received data first, and then the FIN or reset that followed the data */
	if (more)
		mpa_conn_set_event(c, MPA_EV_RX);
	else
		mpa_conn_end_or_report_close(c);
	return more;
}

/**
 * mpa_conn_handle_events - advance the state machine until it has to wait
 * @c: the connection, not in phase MPA_NEW or MPA_ENDED
 * @events: bit mask of the events to handle, enum mpa_event
 *
 * Context: worker, with the mutex held.
 *
 * Return: true if the socket has more data than one call receives, false
 * otherwise.
 */
bool mpa_conn_handle_events(struct mpa_conn *c, unsigned long events)
{
	if (test_bit(MPA_EV_ABORT, &events)) {
		mpa_conn_tear_down(c, READ_ONCE(c->abort_reason), NULL);
		return false;
	}
	/*
	 * Before Full Operation, close at once, with one exception: after the established
	 * upcall of a responder, the program may have posted work that must be sent. The
	 * graceful close then waits for Full Operation, which begins when the Reply is sent.
	 */
	if (test_bit(MPA_EV_CLOSE, &events) && c->phase != MPA_FULL && !c->established) {
		mpa_conn_tear_down(c, IW_LOCAL_CLOSE, NULL);
		return false;
	}
	switch (c->phase) {
	case MPA_CONNECTING:
	case MPA_STARTUP:
		mpa_conn_advance_startup(c);
		break;
	case MPA_FULL:
		return advance_full_operation(c);
	default:
		break;
	}
	return false;
}

/**
 * mpa_conn_bind - bind the stream that starts when start-up is complete
 * @c: the connection; the caller must hold its mutex
 * @s: the stream; gets a reference on the connection until mpa_conn_unbind()
 *
 * Return: 0 if @s is bound now; -EISCONN if @s was bound already; -ENOTCONN if
 * @s has been unbound.
 */
int mpa_conn_bind(struct mpa_conn *c, struct ddp_stream *s)
{
	int err = ddp_stream_bind(s, &c->llp);

	if (err)
		return err;
	ddp_session_get(&c->ss);
	c->bound_stream = s;
	return 0;
}

/**
 * mpa_conn_unbind - unbind the stream and abort the connection
 * @c: the connection
 *
 * On return no upcall for the stream runs or will run. Drops the reference that
 * mpa_conn_bind() has taken for the stream.
 *
 * Context: process, may sleep.
 */
void mpa_conn_unbind(struct mpa_conn *c)
{
	mpa_conn_lock(c);
	mpa_tx_stop(c);
	if (c->sock)
		mpa_sock_stop_rx(c);
	c->bound_stream = NULL;
	mpa_conn_request_close(c, IW_LOCAL_ABORT);
	mpa_conn_unlock(c);
	ddp_session_put(&c->ss);
}

/*
 * Send the remaining FPDUs, as far as TCP accepts them, and our FIN after the last one. The
 * caller must hold the mutex. Return: false if a process owns the socket, true otherwise.
 */
static bool send_fpdus_and_fin(struct mpa_conn *c)
{
	/* usually runs the transmit routine before it returns, because BH is on */
	mpa_tx_kick(c, false);
	if (!mpa_sock_trylock(c))
		return false;
	__mpa_conn_advance_close(c);
	mpa_sock_unlock(c);
	/*
	 * The FIN is sent, so the worker need not run for this event. But if the peer has
	 * closed before us, only the worker can tear down the connection.
	 */
	if (c->fin_sent && !c->peer_closed)
		clear_bit(MPA_EV_CLOSE, &c->events);
	return true;
}

/*
 * Try to begin a graceful close in the calling context, because waking the worker costs more.
 * DDP holds the RCU read lock, so this function must not sleep. It does nothing if the stream
 * has failed: an abort may follow, which must not come after a FIN. Return: true if the
 * graceful close has begun; false if the caller must wake the worker.
 */
static bool try_close_without_worker(struct mpa_conn *c)
{
	bool begun;

	if (in_interrupt() || irqs_disabled() || !mpa_conn_trylock(c))
		return false;
	begun = c->phase == MPA_FULL && !ddp_tx_has_failed(c->bound_stream) &&
		send_fpdus_and_fin(c);
	mpa_conn_unlock(c);
	return begun;
}

/**
 * mpa_conn_request_close - close a connection, or request that the worker close it
 * @c: the connection
 * @why: IW_LOCAL_CLOSE for a graceful close, after all posted work is sent; any
 *	other reason for an abortive close
 *
 * Context: any.
 */
void mpa_conn_request_close(struct mpa_conn *c, enum iw_reason why)
{
	if (why != IW_LOCAL_CLOSE) {
		WRITE_ONCE(c->abort_reason, why);
		mpa_conn_set_event(c, MPA_EV_ABORT);
		return;
	}
	/*
	 * closing is set after the ULP has posted all its work. Pairs with
	 * send_one_batch(). Without the release, send_one_batch() could see closing,
	 * but miss the work, and set drained before the work is sent; litmus: drained
	 */
	smp_store_release(&c->closing, true);
	if (try_close_without_worker(c))
		return;
	mpa_conn_set_event(c, MPA_EV_CLOSE);
	/* the transmit routine sets drained when all FPDUs are sent */
	mpa_tx_kick(c, false);
}
