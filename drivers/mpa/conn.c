// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State machine of a connection: Full Operation and the end of the connection.
 * conn_start.c has the TCP handshake and start-up.
 *
 * After mpa_conn_begin() only the worker changes the phase, with the mutex
 * held; conn_event.c schedules the worker. References are held by the session's
 * user, the bound stream, the queued worker, the entry in the start-up queue,
 * and the socket's callbacks. mpa_conn_finish() drops the reference of the
 * callbacks.
 */
#include <linux/bits.h>

#include "internal.h"
#include "trace.h"

/*
 * Maximum time without progress during a graceful end, in seconds: longer than
 * the 120 s that TCP may wait between two retransmissions
 */
#define DEADLINE_DRAIN	130ul
/*
 * Maximum time from the moment when TCP has accepted the last FPDU until the
 * peer has acknowledged all data, in seconds. The data fits into TCP's send
 * buffer.
 */
#define DEADLINE_ACKED	900

/* Progress of a graceful end: flags above the 32-bit TCP sequence number */
#define STEP_BEGUN	BIT_ULL(32)	/* a graceful end is requested */
#define STEP_DRAINED	BIT_ULL(33)	/* TCP has accepted all our FPDUs */
#define STEP_SHUT	BIT_ULL(34)	/* TCP has accepted our FIN */
#define STEP_ALL	BIT_ULL(35)	/* the peer has acknowledged all data before our FIN */

/*
 * Check whether the socket must be reset instead of closed.
 *
 * In Full Operation, close even if the ULP aborts. TCP then delivers the data
 * that TCP has accepted, which the ULP may have reported as sent (RFC 5041 3 (3),
 * DDP-3). Reset if TCP has accepted a part of a batch, so that the stream may
 * end inside an FPDU. Reset also if a time limit has expired, since the peer
 * then does not acknowledge or does not close.
 *
 * Before Full Operation no data has to be delivered. So reset, unless the peer
 * has rejected or the ULP has closed the connection.
 */
static bool must_reset(const struct mpa_conn *c, enum iw_reason why)
{
	if (c->phase != MPA_FULL)
		return why != IW_PEER_REJECT && why != IW_LOCAL_CLOSE;
	return why == IW_TIMEOUT || c->out.sent;
}

/**
 * mpa_conn_set_phase - change the phase of a connection
 * @c: the connection; its mutex is held
 * @phase: the new phase
 */
void mpa_conn_set_phase(struct mpa_conn *c, enum mpa_phase phase)
{
	WRITE_ONCE(c->phase, phase);
	trace_mpa_conn_phase(c, phase);
}

/**
 * mpa_conn_finish - end a connection
 * @c: the connection
 * @why: reason, reported to the stream and the user
 * @o: the peer's offer in a rejecting Reply, or NULL
 *
 * Context: worker, with the mutex held.
 */
void mpa_conn_finish(struct mpa_conn *c, enum iw_reason why,
		     const struct ddp_offer *o)
{
	struct ddp_stream *s = c->next_stream;
	bool reset;

	cancel_delayed_work_sync(&c->timer);
	mpa_tx_stop(c);
	reset = must_reset(c, why);
	mpa_frame_drop(c);
	mpa_conn_set_phase(c, MPA_ENDED);
	trace_mpa_conn_end(c, why);
	/* update the counter before the peer can detect the refusal */
	if (c->conn_req.listener && !c->reported)
		ddp_port_refused(c->conn_req.listener, why);
	mpa_sock_release(c, reset);
	c->stream = NULL;
	c->next_stream = NULL;
	ddp_port_detach(&c->conn_req);
	if (s)
		ddp_llp_down(s, why);
	if (c->reported)
		ddp_session_report_closed(&c->ss, why, o);
	/* drop the reference of the socket's callbacks */
	ddp_session_put(&c->ss);
}

/* Graceful end of Full Operation ------------------------------------------- */

/*
 * Our FIN is sent after the last FPDU. Data that TCP has accepted may already be
 * reported as sent, so TCP must deliver this data, which may be megabytes. So
 * the time limit is extended while the peer acknowledges data.
 */

/*
 * Get the progress of a graceful end: STEP_* flags and acknowledged position.
 * @drained: TCP has accepted all our FPDUs.
 */
static u64 get_progress(struct mpa_conn *c, bool drained)
{
	bool all;
	u64 step = STEP_BEGUN | mpa_sock_get_acked(c, &all);

	if (drained)
		step |= STEP_DRAINED | (all ? STEP_ALL : 0);
	return c->fin_sent ? step | STEP_SHUT : step;
}

/*
 * Extend the time limit if the graceful end has made progress. Until the peer
 * has acknowledged all data, the limit is never later than @c->last. @c->last is
 * fixed once TCP has accepted all FPDUs (@drained).
 */
static void extend_deadline(struct mpa_conn *c, bool drained)
{
	u64 step = get_progress(c, drained);
	long left;

	c->all_acked = step & STEP_ALL && c->fin_sent;
	if (step == c->step)
		return;
	if (!(c->step & STEP_DRAINED))
		c->last = jiffies + DEADLINE_ACKED * HZ;
	c->step = step;
	left = c->last - jiffies;
	if (step & STEP_ALL)
		mpa_conn_set_deadline(c, MPA_DEADLINE_CLOSE);
	else if (left > 0)
		mpa_conn_set_deadline(c, min(DIV_ROUND_UP((unsigned long)left, HZ),
					     DEADLINE_DRAIN));
	else
		c->deadline = c->last;
}

/*
 * Send our FIN if a graceful end is requested and all FPDUs are sent, and extend
 * the time limit
 */
static void mpa_conn_send_fin(struct mpa_conn *c)
{
	bool drained;

	if (!READ_ONCE(c->closing))
		return;
	/*
	 * Send the FIN after the last FPDU, not before. Pairs with note_drained(),
	 * which sets drained after the last FPDU is passed to TCP; litmus: drained
	 */
	drained = smp_load_acquire(&c->drained);
	if (drained && !c->fin_sent)
		c->fin_sent = mpa_sock_shutdown(c);
	extend_deadline(c, drained);
	/* memory for the FIN is short, and no callback reports free memory */
	if (drained && !c->fin_sent)
		mpa_conn_arm_timer(c, HZ / 10);
}

/*
 * Record that the peer has closed. Return: true for the first call, false
 * otherwise.
 */
static bool note_peer_closed(struct mpa_conn *c)
{
	if (c->peer_closed)
		return false;
	/*
	 * All data before the peer's FIN is processed. Pairs with
	 * send_one_batch(), which otherwise could miss work that a response has
	 * permitted, and would set drained too soon; litmus: drained
	 */
	smp_store_release(&c->peer_closed, true);
	c->peer_closed_first = !READ_ONCE(c->closing);
	return true;
}

static enum iw_reason close_reason(const struct mpa_conn *c)
{
	return c->peer_closed_first ? IW_PEER_CLOSED : IW_LOCAL_CLOSE;
}

/*
 * Finish the connection if TCP has ended. The caller must have received all data
 * that was in the socket.
 */
static void mpa_conn_check_closed(struct mpa_conn *c)
{
	bool news;
	int err;
	enum mpa_sock_state up_state = mpa_sock_get_state(c, &err);

	/*
	 * First receive the data that arrived before the end of the connection,
	 * even if a reset has arrived. A late segment may have made out-of-order
	 * data and the FIN available after the last receive, and has then set
	 * MPA_EV_RX again.
	 */
	if (test_bit(MPA_EV_RX, &c->events))
		return;
	if (up_state == MPA_SOCK_LOST) {
		mpa_conn_finish(c, ddp_sock_reason(err, IW_MPA_LOST), NULL);
		return;
	}
	/* wait until the deferred FPDU is read: mpa_llp_resume() sets an event */
	if (READ_ONCE(c->rx_deferred))
		return;
	if (up_state != MPA_SOCK_CLOSED && up_state != MPA_SOCK_PEER_DONE)
		return;
	/* RFC 5044 section 8: a stream that ends inside an FPDU has failed */
	if (mpa_sock_has_partial_fpdu(c)) {
		mpa_conn_finish(c, IW_MPA_LOST, NULL);
		return;
	}
	news = note_peer_closed(c);
	/* only report a successful end if the peer has acknowledged all our data */
	if (up_state == MPA_SOCK_CLOSED || c->all_acked) {
		mpa_conn_finish(c, close_reason(c), NULL);
	} else if (news) {
		ddp_session_report_peer_closed(&c->ss);
		/*
		 * Work that waits for the peer's first FPDU or for a response
		 * can no longer be sent. The transmit routine must check this,
		 * because a graceful end must not wait for such work.
		 */
		mpa_tx_kick(c, false);
	}
}

/* State machine ------------------------------------------------------------ */

/*
 * Advance a connection in Full Operation: receive, send our FIN if all FPDUs are
 * sent, and check whether TCP has ended. Return: true if the socket has more data
 * than one call receives, false otherwise.
 */
static bool serve_full(struct mpa_conn *c)
{
	bool more = mpa_sock_receive(c);

	mpa_conn_send_fin(c);
	/* look at the state of TCP only after all data has been received */
	if (more)
		mpa_conn_event(c, MPA_EV_RX);
	else
		mpa_conn_check_closed(c);
	return more;
}

/**
 * mpa_conn_step - advance the state machine as far as possible now
 * @c: the connection, not in phase MPA_NEW or MPA_ENDED
 * @events: bit mask of the events that were set, enum mpa_event
 *
 * Context: worker, with the mutex held.
 *
 * Return: true if the socket has more data than one call receives, false
 * otherwise.
 */
bool mpa_conn_step(struct mpa_conn *c, unsigned long events)
{
	if (test_bit(MPA_EV_ABORT, &events)) {
		mpa_conn_finish(c, READ_ONCE(c->why), NULL);
		return false;
	}
	/*
	 * If established() was called, the program may have posted work. So the
	 * graceful end then begins in Full Operation, after the Reply is sent.
	 */
	if (test_bit(MPA_EV_CLOSE, &events) && c->phase != MPA_FULL && !c->established) {
		mpa_conn_finish(c, IW_LOCAL_CLOSE, NULL);
		return false;
	}
	switch (c->phase) {
	case MPA_CONNECTING:
	case MPA_STARTUP:
		mpa_conn_advance_start(c);
		break;
	case MPA_FULL:
		return serve_full(c);
	default:
		break;
	}
	return false;
}

/**
 * mpa_conn_bind - bind the stream that starts after start-up
 * @c: the connection; its mutex is held
 * @s: the stream; holds a reference on the connection until mpa_conn_quiesce()
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
	c->next_stream = s;
	return 0;
}

/**
 * mpa_conn_quiesce - unbind the stream and end the connection
 * @c: the connection
 *
 * Sleeps. When this returns, no upcall for the stream runs or will run.
 */
void mpa_conn_quiesce(struct mpa_conn *c)
{
	mpa_conn_lock(c);
	mpa_tx_stop(c);
	if (c->sock)
		mpa_sock_stop_rx(c);
	c->next_stream = NULL;
	mpa_conn_stop(c, IW_LOCAL_ABORT);
	mpa_conn_unlock(c);
	ddp_session_put(&c->ss);
}

/**
 * mpa_conn_stop - request the end of a connection on behalf of the ULP
 * @c: the connection
 * @why: IW_LOCAL_CLOSE for a graceful end, after all posted work is sent; any
 *	other reason for an abortive end
 *
 * Any context.
 */
void mpa_conn_stop(struct mpa_conn *c, enum iw_reason why)
{
	if (why != IW_LOCAL_CLOSE) {
		WRITE_ONCE(c->why, why);
		mpa_conn_event(c, MPA_EV_ABORT);
		return;
	}
	/*
	 * All work is posted before closing is set. Pairs with send_one_batch(),
	 * which otherwise could set drained before this work is sent;
	 * litmus: drained
	 */
	smp_store_release(&c->closing, true);
	mpa_conn_event(c, MPA_EV_CLOSE);
	/* the transmit routine sets drained when all FPDUs are sent */
	mpa_tx_kick(c, false);
}
