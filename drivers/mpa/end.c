// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How Full Operation ends if nobody breaks it off: our FIN behind the last FPDU, and the
 * peer's.  All of it is the worker's.
 *
 * What TCP has taken may have been told as sent, and TCP may have much of it: there is
 * time as long as the peer takes some, up to our FIN.
 */
#include <linux/bits.h>

#include "internal.h"

#define DEADLINE_DRAIN	130ul	/* seconds: some progress; TCP may try every 120 */
#define DEADLINE_TAKEN	900	/* all of it, when TCP has it all: no more than its memory */

/* What there is to be seen of an end; in front of TCP's sequence number */
#define STEP_BEGUN	BIT_ULL(32)
#define STEP_DRAINED	BIT_ULL(33)	/* TCP has all of our FPDUs */
#define STEP_SHUT	BIT_ULL(34)	/* and our FIN */
#define STEP_ALL	BIT_ULL(35)	/* the peer has all that is in front of it */

static u64 look_how_far(struct mpa_conn *c, bool drained)
{
	bool all;
	u64 step = STEP_BEGUN | mpa_sock_acked(c, &all);

	if (drained)
		step |= STEP_DRAINED | (all ? STEP_ALL : 0);
	return c->shut ? step | STEP_SHUT : step;
}

/* As long as it gets on, so does its time, up to the last of it */
static void wait_taken(struct mpa_conn *c, bool drained)
{
	u64 step = look_how_far(c, drained);
	long left;

	c->heard = step & STEP_ALL && c->shut;
	if (step == c->step)
		return;
	if (!(c->step & STEP_DRAINED))
		c->last = jiffies + DEADLINE_TAKEN * HZ;
	c->step = step;
	left = c->last - jiffies;
	if (step & STEP_ALL)
		mpa_conn_deadline(c, MPA_DEADLINE_CLOSE);
	else if (left > 0)
		mpa_conn_deadline(c, min(DIV_ROUND_UP((unsigned long)left, HZ),
					 DEADLINE_DRAIN));
	else
		c->deadline = c->last;
}

/**
 * mpa_end_send - send our FIN if it is due, and see to it that the wait has an end
 * @c: the connection
 */
void mpa_end_send(struct mpa_conn *c)
{
	bool drained;

	if (!READ_ONCE(c->closing))
		return;
	/* the FIN behind the last FPDU; litmus: drained */
	drained = smp_load_acquire(&c->drained);
	if (drained && !c->shut)
		c->shut = mpa_sock_shutdown(c);
	wait_taken(c, drained);
	/* no memory for it, and nobody will say when there is some */
	if (drained && !c->shut)
		mpa_conn_wake(c, HZ / 10);
}

/* Return: whether nobody knew it yet */
static bool note_peer_closed(struct mpa_conn *c)
{
	if (c->peer_closed)
		return false;
	/* behind all that the peer has answered; litmus: drained */
	smp_store_release(&c->peer_closed, true);
	c->peer_first = !READ_ONCE(c->closing);
	return true;
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
	bool news;
	int err;
	enum mpa_fate fate = mpa_sock_fate(c, &err);

	/*
	 * What came before an end is received before it, a reset, too; and what has
	 * filled a gap since we received may have brought the FIN along
	 */
	if (test_bit(MPA_EV_RX, &c->events))
		return;
	if (fate == MPA_SOCK_LOST) {
		mpa_conn_finish(c, ddp_sock_reason(err, IW_MPA_LOST), NULL);
		return;
	}
	/* nor has what is left unread been read; who resumes leaves an event */
	if (READ_ONCE(c->rx_waits))
		return;
	if (fate != MPA_SOCK_CLOSED && fate != MPA_SOCK_PEER_DONE)
		return;
	/* a stream that ends inside an FPDU has not ended well: RFC 5044 section 8 */
	if (mpa_sock_cut(c)) {
		mpa_conn_finish(c, IW_MPA_LOST, NULL);
		return;
	}
	news = note_peer_closed(c);
	/* what is told to have ended well has arrived */
	if (fate == MPA_SOCK_CLOSED || c->heard) {
		mpa_conn_finish(c, close_reason(c), NULL);
	} else if (news) {
		ddp_session_peer_closed(&c->ss);
		/* what a responder, or a fence, has held back waits for nothing any more */
		mpa_tx_kick(c, false);
	}
}
