// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The transmit routine and who runs it.
 *
 * It is run a stretch at a time: a few batches, BH off from taking the owner
 * word to giving it back, and no waiting in between but for another CPU that
 * receives on the socket just now.  So an owner is never preempted, and who wants
 * to wait (for a process that has the socket, for memory) owns nothing.
 *
 * Whoever is best placed runs a stretch: the posting program (push), the CPU's
 * softirq right behind the one that made something due (kick), or the worker,
 * when there is much to do or the socket is in use.
 *
 * What the owner alone may touch passes from one to the next with the word.
 */
#include <linux/delay.h>

#include "internal.h"

#define BATCHES		4	/* of a stretch */
#define WORK_STRETCHES	4	/* of one run of the worker */

enum runner {
	POSTER,
	SOFTIRQ,
	WORKER,
};

enum verdict {
	TX_SENT,		/* a batch is with TCP */
	TX_LAST,		/* ... and nothing was left when it was built */
	TX_IDLE,		/* nothing left */
	TX_SHUT,		/* a responder's turn has not come; who opens kicks */
	TX_FULL,		/* TCP takes no more; write_space will kick */
	TX_MORE,		/* there is more, but it was enough for now */
	TX_BUSY,		/* a process has the socket */
	TX_NOMEM,		/* memory is short, and nobody will tell us */
	TX_GONE,		/* the connection is no more */
};

/* Owner word; litmus: owner-ask, owner-push, owner-pass, owner-stop -------- */

/*
 * Something is due.  Return: whether the caller has to see to a runner.
 * Always a full barrier, also where the word stays as it is: whoever takes
 * PENDING up finds what is due.
 */
static bool ask(struct mpa_conn *c)
{
	return !atomic_fetch_or(MPA_TX_PENDING, &c->tx);
}

/* The same; return: whether the caller is the owner now */
static bool ask_or_own(struct mpa_conn *c)
{
	int old = atomic_read(&c->tx), new;

	do {
		new = old ? old | MPA_TX_PENDING : MPA_TX_OWNED;
	} while (!atomic_try_cmpxchg(&c->tx, &old, new));
	return !old;
}

/* The runner that was seen to becomes the owner */
static bool mpa_tx_enter(struct mpa_conn *c)
{
	int due = MPA_TX_PENDING;

	return atomic_try_cmpxchg_acquire(&c->tx, &due, MPA_TX_OWNED);
}

/* Stop being the owner; false: something was asked for meanwhile */
static bool mpa_tx_leave(struct mpa_conn *c)
{
	int old = MPA_TX_OWNED;

	if (atomic_try_cmpxchg_release(&c->tx, &old, 0))
		return true;
	if (old & MPA_TX_DEAD) {
		atomic_fetch_andnot_release(MPA_TX_OWNED, &c->tx);
		return true;
	}
	atomic_fetch_andnot_acquire(MPA_TX_PENDING, &c->tx);
	return false;
}

/*
 * Stop being the owner, something being left to do.  Return: whether the
 * caller has to see to a runner; until it has, nobody else owns the word.
 */
static bool hand_on(struct mpa_conn *c)
{
	int old = atomic_read(&c->tx), new;

	do {
		new = old & MPA_TX_DEAD ? MPA_TX_DEAD : MPA_TX_PENDING;
	} while (!atomic_try_cmpxchg_release(&c->tx, &old, new));
	return new == MPA_TX_PENDING;
}

/* A stretch ---------------------------------------------------------------- */

/* Not before start-up, a responder not before the peer's first valid FPDU */
static bool may_send(const struct mpa_conn *c)
{
	/* once a responder's is open the stream is there; litmus: publish */
	return smp_load_acquire(&c->tx_open);
}

/* ... and that one will never come.  It may just have, and be the last */
static bool stays_shut(const struct mpa_conn *c)
{
	if (!READ_ONCE(c->rx_stopped) && !READ_ONCE(c->peer_closed) &&
	    !ddp_tx_failed(READ_ONCE(c->tx_stream)))
		return false;
	smp_rmb();	/* litmus: shut */
	return !may_send(c);
}

static enum verdict send_batch(struct mpa_conn *c)
{
	switch (mpa_sock_send(c)) {
	case 0:
		break;
	case -EBUSY:
		return TX_BUSY;
	case -EAGAIN:
		return TX_FULL;
	case -ENOMEM:
		return TX_NOMEM;
	default:
		return TX_GONE;
	}
	mpa_frame_drop(c);
	ddp_tx_taken(c->tx_stream);
	c->retry_ms = 0;
	return c->out.last ? TX_LAST : TX_SENT;
}

/*
 * Before its turn a responder builds one only to know whether there is anything
 * that an end which is asked for has to wait for.
 */
static enum verdict build_batch(struct mpa_conn *c, bool closing)
{
	/* Full Operation; litmus: publish */
	if (!smp_load_acquire(&c->tx_stream) || !(closing || may_send(c)))
		return TX_SHUT;
	if (!mpa_frame_batch(c, mpa_sock_emss(c)))
		return TX_NOMEM;
	return c->out.len ? TX_SENT : TX_IDLE;
}

/* Nothing is built from here on: the FIN may go at any moment */
static void note_drained(struct mpa_conn *c)
{
	/* who finds it drained sends the FIN behind the last FPDU */
	smp_store_release(&c->drained, true);	/* litmus: drained */
	mpa_conn_event(c, MPA_EV_STATE);
}

/* Is there nothing that an end has to wait for?  @deaf: nor will the peer answer */
static bool all_sent(struct mpa_conn *c, enum verdict v, bool deaf)
{
	const struct ddp_stream *s = c->tx_stream;

	/* what can never go is not waited for */
	if (v != TX_IDLE)
		return v == TX_SHUT && stays_shut(c);
	/* what RDMAP has put off goes out, and what it may send behind an answer */
	return !ddp_tx_rests(s) && (deaf || !ddp_tx_awaits(s));
}

/* Build a batch unless one is left over, and send it */
static enum verdict one_batch(struct mpa_conn *c)
{
	/*
	 * Before the pull that finds nothing: what was due when the end was
	 * asked for that pull has seen.  An end asked for since, or by the pull
	 * itself, has left PENDING.
	 */
	bool closing = smp_load_acquire(&c->closing);	/* litmus: drained */
	/* the answers that came before the peer's end that pull has seen, too */
	bool deaf = smp_load_acquire(&c->peer_closed);	/* litmus: drained */
	enum verdict v = TX_SENT;

	/* what a peer asks for behind the last FPDU is not answered */
	if (c->drained)
		return TX_IDLE;
	/* who left one over did not ask what has become due since */
	c->out.last = false;
	if (!c->out.len)
		v = build_batch(c, closing);
	if (v == TX_SENT)
		v = may_send(c) ? send_batch(c) : TX_SHUT;
	if (!closing)
		return v;
	if (all_sent(c, v, deaf))
		note_drained(c);
	/* an end that was asked for wants it found that nothing is left */
	return v == TX_LAST ? TX_SENT : v;
}

/* Whoever changes that says so: what mpa_tx_leave() asks about */
static bool nothing_to_do(enum verdict v)
{
	return v == TX_IDLE || v == TX_LAST || v == TX_SHUT || v == TX_FULL;
}

/* By the owner, BH off.  Where nothing is to do it is the owner no longer */
static enum verdict stretch(struct mpa_conn *c)
{
	int left = BATCHES;
	enum verdict v;

	do {
		v = left-- ? one_batch(c) : TX_MORE;
		if (!nothing_to_do(v))
			continue;
		if (mpa_tx_leave(c))
			break;
		v = TX_SENT;
	} while (v == TX_SENT);
	return v;
}

/* Who goes on -------------------------------------------------------------- */

static void mpa_tx_retry(struct work_struct *work)
{
	struct mpa_conn *c = container_of(to_delayed_work(work),
					  struct mpa_conn, tx_retry);

	mpa_conn_event(c, MPA_EV_TX);
	ddp_session_put(&c->ss);
}

/* Whoever asks meanwhile leaves it to the timer, too: there is no memory */
static void retry_later(struct mpa_conn *c)
{
	c->retry_ms = mpa_backoff(c->retry_ms);
	if (kref_get_unless_zero(&c->ss.ref))
		queue_delayed_work(mpa_wq, &c->tx_retry,
				   msecs_to_jiffies(c->retry_ms));
}

/*
 * The owner cannot go on: it gives the word back and sees to who can.  Return:
 * whether the caller may go on itself.
 *
 * A stretch in softirq does not follow another: what is raised there may run again
 * before what was sent is received, on this CPU, and more would be under way, in
 * ever fresh memory, the more there is to send.
 */
static bool pass_on(struct mpa_conn *c, enum verdict v, enum runner who)
{
	if (nothing_to_do(v) || !hand_on(c))
		return false;
	if (v == TX_GONE) {
		/* nobody: the worker finds out, and ends it */
		mpa_conn_event(c, MPA_EV_STATE);
		return false;
	}
	if (v == TX_NOMEM) {
		retry_later(c);
		return false;
	}
	if (who == POSTER)
		mpa_due_add(c);
	else if (who == SOFTIRQ)
		mpa_conn_event(c, MPA_EV_TX);
	return who == WORKER;
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
	if (!ask(c))
		return;
	if (bulk)
		mpa_conn_event(c, MPA_EV_TX);
	else
		mpa_due_add(c);
}

/**
 * mpa_tx_push - there is something to send; process context, no lock held
 * @c: the connection
 */
void mpa_tx_push(struct mpa_conn *c)
{
	local_bh_disable();
	if (ask_or_own(c)) {
		if (may_send(c))
			mpa_sock_note_cpu(c);
		pass_on(c, stretch(c), POSTER);
	}
	local_bh_enable();
}

/**
 * mpa_tx_due - transmit in softirq
 * @c: the connection; it was seen to that this is called
 */
void mpa_tx_due(struct mpa_conn *c)
{
	if (mpa_tx_enter(c))
		pass_on(c, stretch(c), SOFTIRQ);
}

/* Whether it is left to the worker to go on */
static bool work_stretch(struct mpa_conn *c)
{
	enum verdict v = TX_GONE;
	bool go_on = false;

	local_bh_disable();
	if (mpa_tx_enter(c)) {
		v = stretch(c);
		go_on = pass_on(c, v, WORKER);
	}
	local_bh_enable();
	/* not as the owner: who has the socket may sleep */
	if (go_on && v == TX_BUSY)
		mpa_sock_wait(c);
	return go_on;
}

/**
 * mpa_tx_work - transmit from the worker
 * @c: the connection; it was seen to that this is called
 */
void mpa_tx_work(struct mpa_conn *c)
{
	int n;

	for (n = 0; n < WORK_STRETCHES; n++)
		if (!work_stretch(c))
			return;
	mpa_conn_event(c, MPA_EV_TX);
}

/**
 * mpa_tx_init - nothing is due yet
 * @c: the connection, new
 */
void mpa_tx_init(struct mpa_conn *c)
{
	INIT_DELAYED_WORK(&c->tx_retry, mpa_tx_retry);
}

/**
 * mpa_tx_stop - nobody transmits from here on
 * @c: the connection; sleeps until a runner has left
 */
void mpa_tx_stop(struct mpa_conn *c)
{
	/* what the owner alone had is ours then; litmus: owner-stop */
	atomic_fetch_or(MPA_TX_DEAD, &c->tx);
	while (atomic_read_acquire(&c->tx) & MPA_TX_OWNED)
		usleep_range(10, 50);
	c->tx_stream = NULL;
}
