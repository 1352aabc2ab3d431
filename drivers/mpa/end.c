// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Graceful end of Full Operation: our FIN after the last FPDU, and the peer's
 * FIN. All functions run in the worker, with the mutex held.
 *
 * Data that TCP has accepted may be reported as sent, and may be megabytes. So
 * the time limit is extended while the peer acknowledges data.
 */
#include <linux/bits.h>

#include "internal.h"

/* Seconds without progress: TCP may wait 120 s between two retransmissions */
#define DEADLINE_DRAIN	130ul
/*
 * Seconds for the peer to acknowledge all data, once TCP has accepted the last
 * FPDU. It is no more than TCP's send buffer holds.
 */
#define DEADLINE_TAKEN	900

/* Progress of a graceful end: flags above TCP's 32-bit sequence number */
#define STEP_BEGUN	BIT_ULL(32)
#define STEP_DRAINED	BIT_ULL(33)	/* TCP has accepted all our FPDUs */
#define STEP_SHUT	BIT_ULL(34)	/* TCP has accepted our FIN */
#define STEP_ALL	BIT_ULL(35)	/* the peer has all data before it */

static u64 look_how_far(struct mpa_conn *c, bool drained)
{
	bool all;
	u64 step = STEP_BEGUN | mpa_sock_acked(c, &all);

	if (drained)
		step |= STEP_DRAINED | (all ? STEP_ALL : 0);
	return c->shut ? step | STEP_SHUT : step;
}

/*
 * Extend the time limit as long as the peer makes progress, but not past
 * @c->last, which is fixed once TCP has accepted all FPDUs
 */
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
 * mpa_end_send - send our FIN after the last FPDU, and set the time limit
 * @c: the connection
 *
 * Does nothing unless a graceful end is requested.
 */
void mpa_end_send(struct mpa_conn *c)
{
	bool drained;

	if (!READ_ONCE(c->closing))
		return;
	/* FIN after last FPDU; pairs with note_drained(); litmus: drained */
	drained = smp_load_acquire(&c->drained);
	if (drained && !c->shut)
		c->shut = mpa_sock_shutdown(c);
	wait_taken(c, drained);
	/* no memory for the FIN, and no callback reports free memory: retry */
	if (drained && !c->shut)
		mpa_conn_wake(c, HZ / 10);
}

/*
 * Record that the peer has closed. Return: true if that was not known yet,
 * false otherwise.
 */
static bool note_peer_closed(struct mpa_conn *c)
{
	if (c->peer_closed)
		return false;
	/* after all received data; pairs with one_batch(); litmus: drained */
	smp_store_release(&c->peer_closed, true);
	c->peer_first = !READ_ONCE(c->closing);
	return true;
}

static enum iw_reason close_reason(const struct mpa_conn *c)
{
	return c->peer_first ? IW_PEER_CLOSED : IW_LOCAL_CLOSE;
}

/**
 * mpa_end_look - finish the connection if it has ended
 * @c: the connection; all data that had arrived is received
 */
void mpa_end_look(struct mpa_conn *c)
{
	bool news;
	int err;
	enum mpa_fate fate = mpa_sock_fate(c, &err);

	/*
	 * Data that arrived before the end of the connection is received first,
	 * even before a reset. A segment that filled a gap since the last
	 * receive may have brought the FIN along, and set the event again.
	 */
	if (test_bit(MPA_EV_RX, &c->events))
		return;
	if (fate == MPA_SOCK_LOST) {
		mpa_conn_finish(c, ddp_sock_reason(err, IW_MPA_LOST), NULL);
		return;
	}
	/* a deferred FPDU is not read yet; mpa_llp_resume() sets an event */
	if (READ_ONCE(c->rx_waits))
		return;
	if (fate != MPA_SOCK_CLOSED && fate != MPA_SOCK_PEER_DONE)
		return;
	/* a stream that ends inside an FPDU has failed: RFC 5044 section 8 */
	if (mpa_sock_cut(c)) {
		mpa_conn_finish(c, IW_MPA_LOST, NULL);
		return;
	}
	news = note_peer_closed(c);
	/* report a successful end only when the peer has all our data */
	if (fate == MPA_SOCK_CLOSED || c->heard) {
		mpa_conn_finish(c, close_reason(c), NULL);
	} else if (news) {
		ddp_session_peer_closed(&c->ss);
		/*
		 * Work that waits for the peer's first FPDU or for a response
		 * can no longer be sent: the transmit routine finds that out.
		 */
		mpa_tx_kick(c, false);
	}
}
