// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State machine of a connection: TCP handshake, start-up, Full Operation, end.
 * The first two are in conn_start.c.
 *
 * After mpa_conn_begin() only the worker changes the phase, with the mutex
 * held; turn.c schedules the worker. References are held by the session's user,
 * the bound stream, each queued run of the worker, the entry in the line, and
 * the socket's callbacks. The end of the connection drops that of the
 * callbacks.
 */
#include "internal.h"
#include "trace.h"

/*
 * Check whether the socket must be reset instead of closed.
 *
 * TCP delivers what it has accepted, even if the ULP aborts: the ULP may have
 * reported that data as sent (DDP-3). A stream that ends inside an FPDU is
 * reset. So is a peer that has let a time limit expire: it acknowledges no more
 * data, or has all and does not close. Before Full Operation there is no data,
 * so reset unless the peer has rejected or the ULP has closed.
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
 * @o: the peer's rejecting Reply, or NULL
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
	/* count the refusal before the peer can notice it */
	if (c->caller.at && !c->told)
		ddp_port_refused(c->caller.at, why);
	mpa_sock_release(c, reset);
	c->stream = NULL;
	c->next_stream = NULL;
	ddp_port_leave(&c->caller);
	if (s)
		ddp_llp_down(s, why);
	if (c->told)
		ddp_session_closed(&c->ss, why, o);
	/* drop the reference of the socket's callbacks */
	ddp_session_put(&c->ss);
}

/*
 * Full Operation: receive, send our FIN if everything is sent, and check for
 * the end of the connection. Return: as mpa_conn_step().
 */
static bool full(struct mpa_conn *c)
{
	bool more = mpa_sock_receive(c);

	mpa_end_send(c);
	/* handle the end only after all data that arrived before it */
	if (more)
		mpa_conn_event(c, MPA_EV_RX);
	else
		mpa_end_look(c);
	return more;
}

/**
 * mpa_conn_step - advance the state machine as far as possible now
 * @c: the connection, begun and not ended
 * @events: bits of enum mpa_event that were set
 *
 * Context: worker, with the mutex held.
 *
 * Return: true if more data is queued than one call receives, false otherwise.
 */
bool mpa_conn_step(struct mpa_conn *c, unsigned long events)
{
	if (test_bit(MPA_EV_ABORT, &events)) {
		mpa_conn_finish(c, READ_ONCE(c->why), NULL);
		return false;
	}
	/*
	 * Once established() was called, the program may have posted work: the
	 * graceful end then starts in Full Operation, after the Reply.
	 */
	if (test_bit(MPA_EV_CLOSE, &events) && c->phase != MPA_FULL && !c->up) {
		mpa_conn_finish(c, IW_LOCAL_CLOSE, NULL);
		return false;
	}
	switch (c->phase) {
	case MPA_CONNECTING:
	case MPA_STARTUP:
		mpa_conn_advance_start(c);
		break;
	case MPA_FULL:
		return full(c);
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
 * Return: 0; -EISCONN if @s is bound already; -ENOTCONN if @s has been unbound.
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
		mpa_sock_forget(c);
	c->next_stream = NULL;
	mpa_conn_stop(c, IW_LOCAL_ABORT);
	mpa_conn_unlock(c);
	ddp_session_put(&c->ss);
}

/**
 * mpa_conn_stop - request the end of a connection on behalf of the ULP
 * @c: the connection
 * @why: IW_LOCAL_CLOSE for a graceful end, after everything posted before is
 *	sent; any other reason for an abortive end
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
	/* after all pending work; pairs with one_batch(); litmus: drained */
	smp_store_release(&c->closing, true);
	mpa_conn_event(c, MPA_EV_CLOSE);
	/* the transmit routine sets drained when nothing is left to send */
	mpa_tx_kick(c, false);
}
