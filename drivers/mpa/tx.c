// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The transmit routine and who runs it.
 *
 * It never sleeps, so whoever is best placed runs it: the posting program
 * (push), a tasklet right behind the softirq that made something due (kick),
 * or the worker, when the socket is in use or there is much to do.
 */
#include <linux/delay.h>

#include "internal.h"

/* Batches that one run may send before it makes way for the worker */
#define BUDGET_BH	4
#define BUDGET_WORK	16

enum verdict {
	TX_SENT,		/* a batch is with TCP */
	TX_LAST,		/* ... and nothing was left when it was built */
	TX_IDLE,		/* nothing left */
	TX_FULL,		/* TCP takes no more; write_space will kick */
	TX_AGAIN,		/* the worker has to go on */
	TX_GONE,		/* the connection is no more */
};

/* Become the owner; PENDING is taken up with it */
static bool enter(struct mpa_conn *c)
{
	int old = atomic_read(&c->tx);

	do {
		if (old & (MPA_TX_OWNED | MPA_TX_DEAD))
			return false;
	} while (!atomic_try_cmpxchg(&c->tx, &old, MPA_TX_OWNED));
	return true;
}

/* Stop being the owner; false: something was asked for meanwhile */
static bool leave(struct mpa_conn *c)
{
	int old = atomic_read(&c->tx);

	do {
		if ((old & MPA_TX_PENDING) && !(old & MPA_TX_DEAD)) {
			atomic_andnot(MPA_TX_PENDING, &c->tx);
			return false;
		}
	} while (!atomic_try_cmpxchg(&c->tx, &old, old & MPA_TX_DEAD));
	return true;
}

/* Nothing is sent before start-up, a responder's first valid FPDU, a stream */
static bool may_send(const struct mpa_conn *c)
{
	/* once it is open the stream is there */
	return smp_load_acquire(&c->tx_open) && c->tx_stream;
}

static enum verdict send_batch(struct mpa_conn *c, bool may_sleep)
{
	int err = mpa_sock_send(c, may_sleep);

	if (err == -EBUSY)
		return TX_AGAIN;
	if (err == -EAGAIN)
		return TX_FULL;
	if (err)
		return TX_GONE;
	mpa_frame_drop(c);
	local_bh_disable();
	ddp_tx_taken(c->tx_stream);
	local_bh_enable();
	/* an end that is asked for wants it found that nothing is left */
	return c->out.last && !READ_ONCE(c->closing) ? TX_LAST : TX_SENT;
}

static enum verdict build_batch(struct mpa_conn *c)
{
	if (!may_send(c))
		return TX_IDLE;
	if (!mpa_frame_batch(c, mpa_sock_emss(c)))
		return TX_AGAIN;
	return c->out.len ? TX_SENT : TX_IDLE;
}

/*
 * Build a batch unless one is left over, and send it.  BH stays off in between
 * unless the socket may have to be waited for.
 */
static enum verdict one_batch(struct mpa_conn *c, bool may_sleep)
{
	enum verdict v = TX_SENT;

	local_bh_disable();
	/* who left one over did not ask what has become due since */
	c->out.last = false;
	if (!c->out.len)
		v = build_batch(c);
	if (v == TX_SENT && !may_sleep)
		v = send_batch(c, false);
	local_bh_enable();
	if (v == TX_SENT && may_sleep)
		v = send_batch(c, true);
	return v;
}

static void note_drained(struct mpa_conn *c)
{
	if (!READ_ONCE(c->closing) || c->drained)
		return;
	c->drained = true;
	mpa_conn_event(c, MPA_EV_TX);
}

/* Whoever makes something due says so: what leave() asks about */
static bool nothing_left(enum verdict v)
{
	return v == TX_IDLE || v == TX_LAST;
}

static enum verdict run(struct mpa_conn *c, bool may_sleep, int budget)
{
	enum verdict v;

	do {
		v = budget-- ? one_batch(c, may_sleep) : TX_AGAIN;
		if (v == TX_IDLE)
			note_drained(c);
	} while (v == TX_SENT || (nothing_left(v) && !leave(c)));
	return v;
}

static void transmit(struct mpa_conn *c, bool may_sleep, int budget)
{
	enum verdict v;

	if (!enter(c))
		return;
	v = run(c, may_sleep, budget);
	if (nothing_left(v))
		return;
	/* what was asked for meanwhile is the worker's, too */
	if (!leave(c)) {
		atomic_andnot(MPA_TX_OWNED, &c->tx);
		v = v == TX_FULL ? TX_AGAIN : v;
	}
	if (v == TX_AGAIN)
		mpa_conn_event(c, MPA_EV_TX);
	else if (v == TX_GONE)
		mpa_conn_event(c, MPA_EV_STATE);
}

/* The tasklet holds the connection: it may come late */
static void queue_bh(struct mpa_conn *c)
{
	if (test_and_set_bit(0, &c->bh_queued))
		return;
	if (!kref_get_unless_zero(&c->ss.ref))
		return;
	tasklet_schedule(&c->bh);
}

/**
 * mpa_tx_kick - there is something to send; any context
 * @c: the connection
 * @bulk: a lot: the worker's
 *
 * Runs nothing here: the caller may hold any lock, the socket's too.
 */
void mpa_tx_kick(struct mpa_conn *c, bool bulk)
{
	int old = atomic_fetch_or(MPA_TX_PENDING, &c->tx);

	if (old & (MPA_TX_PENDING | MPA_TX_OWNED | MPA_TX_DEAD))
		return;
	if (bulk) {
		mpa_conn_event(c, MPA_EV_TX);
		return;
	}
	if (in_hardirq() || irqs_disabled()) {
		queue_bh(c);
		return;
	}
	/* a softirq raised with BH on would be left to ksoftirqd */
	local_bh_disable();
	queue_bh(c);
	local_bh_enable();
}

/**
 * mpa_tx_push - there is something to send; process context, no lock held
 * @c: the connection
 */
void mpa_tx_push(struct mpa_conn *c)
{
	int old = atomic_fetch_or(MPA_TX_PENDING, &c->tx);

	if (!(old & (MPA_TX_OWNED | MPA_TX_DEAD)))
		transmit(c, false, BUDGET_WORK);
}

/**
 * mpa_tx_work - transmit from the worker
 * @c: the connection
 */
void mpa_tx_work(struct mpa_conn *c)
{
	atomic_or(MPA_TX_PENDING, &c->tx);
	transmit(c, true, BUDGET_WORK);
}

/**
 * mpa_tx_bh - transmit from the tasklet
 * @t: the connection's
 */
void mpa_tx_bh(struct tasklet_struct *t)
{
	struct mpa_conn *c = container_of(t, struct mpa_conn, bh);

	clear_bit(0, &c->bh_queued);
	transmit(c, false, BUDGET_BH);
	ddp_session_put(&c->ss);
}

/**
 * mpa_tx_stop - nobody transmits from here on
 * @c: the connection; sleeps until a runner has left
 */
void mpa_tx_stop(struct mpa_conn *c)
{
	atomic_or(MPA_TX_DEAD, &c->tx);
	while (atomic_read(&c->tx) & MPA_TX_OWNED)
		usleep_range(10, 50);
	c->tx_stream = NULL;
}
