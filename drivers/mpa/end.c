// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How Full Operation ends if nobody breaks it off: our FIN behind the last FPDU, and the
 * peer's.  All of it is the worker's.
 */
#include "internal.h"

#define DEADLINE_DRAIN	60	/* seconds: some progress, before our FIN */

/* As long as the peer takes some of it there is time */
static void wait_drained(struct mpa_conn *c)
{
	u32 acked = mpa_sock_acked(c);

	if (c->timed && acked == c->acked)
		return;
	c->acked = acked;
	mpa_conn_deadline(c, DEADLINE_DRAIN);
}

/* No memory for a FIN, and nobody will say when there is some */
static void finish_later(struct mpa_conn *c)
{
	if (!c->timed)
		mpa_conn_deadline(c, MPA_DEADLINE_MEMORY);
	mod_delayed_work(mpa_wq, &c->timer, HZ / 10);
}

/**
 * mpa_end_send - send our FIN if it is due
 * @c: the connection
 */
void mpa_end_send(struct mpa_conn *c)
{
	if (!READ_ONCE(c->closing) || c->shut)
		return;
	/* the FIN behind the last FPDU; litmus: drained */
	if (!smp_load_acquire(&c->drained)) {
		wait_drained(c);
		return;
	}
	c->shut = mpa_sock_shutdown(c);
	if (c->shut)
		mpa_conn_deadline(c, MPA_DEADLINE_CLOSE);
	else
		finish_later(c);
}

static void tell_peer_closed(struct mpa_conn *c)
{
	if (c->peer_closed)
		return;
	/* behind all that the peer has answered; litmus: drained */
	smp_store_release(&c->peer_closed, true);
	c->peer_first = !READ_ONCE(c->closing);
	ddp_session_peer_closed(&c->ss);
	/* what a responder, or a fence, has held back waits for nothing any more */
	mpa_tx_kick(c, false);
}

static enum iw_reason close_reason(const struct mpa_conn *c)
{
	return c->peer_first ? IW_PEER_CLOSED : IW_LOCAL_CLOSE;
}

/**
 * mpa_end_look - is it over?
 * @c: the connection; what had arrived is received
 *
 * If so it is finished.
 */
void mpa_end_look(struct mpa_conn *c)
{
	int err;
	enum mpa_fate fate = mpa_sock_fate(c, &err);

	if (fate == MPA_SOCK_LOST) {
		mpa_conn_finish(c, ddp_sock_reason(err, IW_MPA_LOST), NULL);
		return;
	}
	/* what has filled a gap since we received may have brought the FIN along */
	if (test_bit(MPA_EV_RX, &c->events))
		return;
	/* nor has what is left unread been read; who resumes leaves an event */
	if (READ_ONCE(c->rx_waits))
		return;
	if (fate != MPA_SOCK_CLOSED && fate != MPA_SOCK_PEER_DONE)
		return;
	tell_peer_closed(c);
	if (fate == MPA_SOCK_CLOSED || c->shut)
		mpa_conn_finish(c, close_reason(c), NULL);
}
