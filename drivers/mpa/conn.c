// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Life of a connection: TCP handshake, start-up, Full Operation, end.
 *
 * The worker alone moves it from phase to phase (turn.c says when).  References: the
 * session's user, the stream that is bound, each queued run of the worker, its place in
 * the line, and one for the socket's callbacks that goes when the connection ends.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

#define DEADLINE_CONNECT	30	/* seconds: TCP handshake */
#define DEADLINE_REQUEST	10	/* responder: the Request */
#define DEADLINE_REPLY		60	/* initiator: the Reply */

static enum iw_reason lost_reason(int err)
{
	return ddp_sock_reason(err, IW_MPA_LOST);
}

/*
 * What TCP has taken it delivers, even if the ULP ends abortively: it may have
 * been told that it is sent (DDP-3).  A stream that ends inside an FPDU, or
 * before there are any, is reset, and so is a peer that takes no more of it, or has all.
 */
static bool must_reset(const struct mpa_conn *c, enum iw_reason why)
{
	if (c->phase != MPA_FULL)
		return why != IW_PEER_REJECT && why != IW_LOCAL_CLOSE;
	return why == IW_TIMEOUT || c->out.sent;
}

static void set_phase(struct mpa_conn *c, enum mpa_phase phase)
{
	WRITE_ONCE(c->phase, phase);
	trace_mpa_conn_phase(c, phase);
}

/**
 * mpa_conn_finish - the end, whatever came before
 * @c: the connection; its worker
 * @why: the reason
 * @o: the peer's reject, or NULL
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
	set_phase(c, MPA_ENDED);
	trace_mpa_conn_end(c, why);
	/* counted by the time that the peer hears of it */
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
	/* the callbacks' reference */
	ddp_session_put(&c->ss);
}

static void enter_full(struct mpa_conn *c)
{
	struct mpa_startup *su = c->su;

	trace_mpa_startup_agreed(c, su);
	WRITE_ONCE(c->revision, su->revision);
	WRITE_ONCE(c->crc, su->crc);
	WRITE_ONCE(c->tx_markers, su->tx_markers);
	WRITE_ONCE(c->rx_markers, su->rx_markers);
	/* a wrong answer starts the stream all the same: see session.h */
	if (su->initiator)
		ddp_session_established(&c->ss, &su->peer);
	mpa_conn_deadline(c, 0);
	set_phase(c, MPA_FULL);
	c->stream = c->next_stream;
	/* before the stream: the Terminate of who refuses is never one that cannot go */
	if (su->initiator)
		WRITE_ONCE(c->tx_open, true);
	/* what the transmit side needs is set; litmus: publish */
	smp_store_release(&c->tx_stream, c->next_stream);
	c->su = NULL;
	kfree(su);
	mpa_sock_full(c);
	/* what came before that is still there */
	mpa_conn_event(c, MPA_EV_RX);
	mpa_tx_kick(c, false);
}

static int read_frame(struct mpa_conn *c)
{
	u8 buf[64];
	size_t need = min(mpa_startup_need(c->su), sizeof(buf));
	int n = mpa_sock_read(c, buf, need);

	if (n == -EAGAIN)
		return n;
	if (n > 0)
		mpa_startup_input(c->su, buf, n);
	else
		mpa_startup_eof(c->su);
	return 0;
}

/*
 * The user hears of it before the peer can: what that sends at once finds a
 * program that knows.
 */
static void tell_accepted(struct mpa_conn *c)
{
	if (c->up || c->su->initiator || c->su->state != MPA_SU_SEND)
		return;
	c->up = true;
	ddp_session_established(&c->ss, NULL);
}

/* What TCP has not taken yet of our frame */
static int write_rest(struct mpa_conn *c)
{
	struct page *page = alloc_page(GFP_KERNEL);
	size_t len;
	int n;

	if (!page)
		return -ENOMEM;
	len = mpa_startup_output(c->su, page_address(page), MPA_FRAME_MAX);
	tell_accepted(c);
	n = mpa_sock_write(c, page, c->written, len - c->written);
	put_page(page);
	if (n < 0)
		return n;
	c->written += n;
	return c->written < len ? -EAGAIN : 0;
}

/*
 * A fresh socket has room: if TCP takes no more then memory is short.  Nobody
 * will say when there is some: look again, later and later.
 */
static void write_later(struct mpa_conn *c)
{
	if (!c->timed)
		mpa_conn_deadline(c, MPA_DEADLINE_MEMORY);
	c->retry_ms = mpa_backoff(c->retry_ms);
	mpa_conn_wake(c, msecs_to_jiffies(c->retry_ms));
}

/* Return: whether all of our frame is with TCP */
static bool write_frame(struct mpa_conn *c)
{
	int err = write_rest(c);

	if (ddp_sock_later(err)) {
		write_later(c);
		return false;
	}
	if (err) {
		mpa_conn_finish(c, lost_reason(err), NULL);
		return false;
	}
	c->written = 0;
	c->retry_ms = 0;
	mpa_startup_sent(c->su);
	if (c->su->initiator)
		mpa_conn_deadline(c, DEADLINE_REPLY);
	return true;
}

static void tell_request(struct mpa_conn *c)
{
	mpa_conn_deadline(c, DDP_ANSWER_TIME);
	ddp_sock_names(c->sock, &c->ss.local, &c->ss.remote);
	c->told = !ddp_port_request(&c->caller, &c->ss, &c->su->peer);
	if (c->told)
		ddp_port_leave(&c->caller);
	else
		mpa_conn_finish(c, IW_LOCAL_ABORT, NULL);
}

/* Nothing may follow the Request before our Reply */
static bool speaks_too_soon(struct mpa_conn *c)
{
	u8 octet;

	return mpa_sock_read(c, &octet, 1) > 0 &&
	       mpa_startup_input(c->su, &octet, 1) < 0;
}

/*
 * A whole Request: ask, and wait for mpa_accept() or mpa_reject().  A caller may be
 * gone before anybody has heard of it: that has been told by now, and is not again.
 *
 * Return: false: it was not whole.
 */
static bool ask_user(struct mpa_conn *c)
{
	int err;
	/* before anything is read: TCP tells an error once */
	enum mpa_fate fate = mpa_sock_fate(c, &err);

	if (speaks_too_soon(c))
		return false;
	/* the Request came with the SYN (Fast Open); TCP tells when the peer is there */
	if (fate == MPA_SOCK_COMING)
		return true;
	if (fate != MPA_SOCK_OPEN)
		mpa_conn_finish(c, fate == MPA_SOCK_LOST ?
					lost_reason(err) : IW_PEER_CLOSED,
				NULL);
	else if (!c->told)
		tell_request(c);
	return true;
}

/* The peer does not speak revision 2: once more with revision 1 */
static void try_older(struct mpa_conn *c)
{
	struct sockaddr_storage local = c->ss.local;
	int err;

	if (c->policy.revision) {
		mpa_conn_finish(c, c->su->why, NULL);
		return;
	}
	mpa_sock_release(c, true);
	mpa_startup_fall_back(c->su);
	set_phase(c, MPA_CONNECTING);
	mpa_conn_deadline(c, DEADLINE_CONNECT);
	err = mpa_sock_connect(c, &local);
	if (err)
		mpa_conn_finish(c, err == -ENOMEM ? IW_NO_MEMORY : IW_UNREACHABLE,
				NULL);
}

static void starting(struct mpa_conn *c)
{
	struct mpa_startup *su = c->su;

	for (;;) {
		switch (mpa_startup_want(su)) {
		case MPA_WANT_READ:
			if (read_frame(c))
				return;
			break;
		case MPA_WANT_WRITE:
			if (!write_frame(c))
				return;
			break;
		case MPA_WANT_ASK_ULP:
			if (ask_user(c))
				return;
			break;
		case MPA_WANT_ENTER:
			enter_full(c);
			return;
		case MPA_WANT_RETRY:
			try_older(c);
			return;
		case MPA_WANT_CLOSE:
			mpa_conn_finish(c, su->why,
					su->why == IW_PEER_REJECT ? &su->peer
								  : NULL);
			return;
		}
	}
}

static void connecting(struct mpa_conn *c)
{
	int err;

	switch (mpa_sock_fate(c, &err)) {
	case MPA_SOCK_COMING:
		return;
	case MPA_SOCK_OPEN:
	case MPA_SOCK_PEER_DONE:
		ddp_sock_names(c->sock, &c->ss.local, &c->ss.remote);
		set_phase(c, MPA_STARTUP);
		starting(c);
		return;
	default:
		mpa_conn_finish(c, lost_reason(err), NULL);
	}
}

/* Return: as mpa_conn_step() */
static bool full(struct mpa_conn *c)
{
	bool more = mpa_sock_receive(c);

	mpa_end_send(c);
	/* what came before an end comes before it here, too */
	if (more)
		mpa_conn_event(c, MPA_EV_RX);
	else
		mpa_end_look(c);
	return more;
}

/**
 * mpa_conn_step - go on as far as it goes now
 * @c: the connection, begun and not ended; its worker
 * @events: that were left, bits of enum mpa_event
 *
 * Return: whether more has arrived than one turn takes.
 */
bool mpa_conn_step(struct mpa_conn *c, unsigned long events)
{
	if (test_bit(MPA_EV_ABORT, &events)) {
		mpa_conn_finish(c, READ_ONCE(c->why), NULL);
		return false;
	}
	/* who was told that it is accepted has things to send behind the Reply */
	if (test_bit(MPA_EV_CLOSE, &events) && c->phase != MPA_FULL && !c->up) {
		mpa_conn_finish(c, IW_LOCAL_CLOSE, NULL);
		return false;
	}
	switch (c->phase) {
	case MPA_CONNECTING:
		connecting(c);
		break;
	case MPA_STARTUP:
		starting(c);
		break;
	case MPA_FULL:
		return full(c);
	default:
		break;
	}
	return false;
}

/**
 * mpa_conn_begin - it is made: from here on it is the worker's
 * @c: the connection, with its socket; the mutex is held, up to mpa_conn_unlock()
 */
void mpa_conn_begin(struct mpa_conn *c)
{
	bool active = c->su->initiator;

	lockdep_assert_held(&c->mutex);
	set_phase(c, active ? MPA_CONNECTING : MPA_STARTUP);
	mpa_conn_deadline(c, active ? DEADLINE_CONNECT : DEADLINE_REQUEST);
}

/**
 * mpa_conn_bind - the stream to start once start-up is done
 * @c: the connection
 * @s: the stream; holds the connection until mpa_conn_quiesce()
 *
 * Return: 0, -EISCONN or -ENOTCONN.
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
 * mpa_conn_quiesce - forget the stream; the connection ends
 * @c: the connection
 *
 * Sleeps.  When it returns no upcall for the stream runs or will run.
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
 * mpa_conn_stop - the ULP ends it
 * @c: the connection
 * @why: IW_LOCAL_CLOSE: gracefully, once all posted before is sent
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
	/* behind all that is due by now; litmus: drained */
	smp_store_release(&c->closing, true);
	mpa_conn_event(c, MPA_EV_CLOSE);
	/* who finds nothing left to send says so */
	mpa_tx_kick(c, false);
}
