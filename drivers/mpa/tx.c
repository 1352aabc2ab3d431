// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmit routine, and the choice of the context that runs it.
 *
 * The transmit routine runs in passes, see tx_pass(). A pass sends a few
 * batches, with BH off from acquiring to releasing ownership. It waits for
 * nothing but another CPU that receives on the socket just then. So an owner
 * does not sleep, and is not preempted, PREEMPT_RT aside. A context that has to
 * wait, for a process that owns the socket or for memory, releases ownership
 * first.
 *
 * A pass runs in one of three contexts: the posting process (mpa_tx_push()),
 * the softirq of the CPU that made the work pending (mpa_tx_kick()), or the
 * worker. The worker runs it if there is much to send or a process owns the
 * socket.
 *
 * The fields that only the owner may access pass to the next owner with the
 * ownership.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "internal.h"

#define BATCHES		4	/* batches of a pass */
#define WORKER_PASSES	4	/* passes of one run of the worker */
#define BUDGET		NSEC_PER_MSEC	/* for the queue of a CPU, each time */

enum runner {
	POSTER,
	SOFTIRQ,
	WORKER,
};

enum verdict {
	TX_SENT,		/* TCP has accepted a batch */
	TX_LAST,		/* TCP has accepted the last batch */
	TX_IDLE,		/* no segment is pending */
	TX_NOT_OPEN,		/* not open; setting tx_open kicks */
	TX_FULL,		/* TCP has no space; mpa_write_space() kicks */
	TX_LIMIT,		/* the pass has reached its limit of batches */
	TX_BUSY,		/* a process owns the socket */
	TX_NOMEM,		/* memory is short; retried by timer */
	TX_LOST,		/* the connection is lost */
};

/* Ownership; litmus: owner-ask, owner-push, owner-pass, owner-stop -------- */

/*
 * State of mpa_conn.tx:
 *
 *   0              no work is pending
 *   PENDING        work is pending, and one runner is scheduled: the queue of a
 *                  CPU, the worker or the retry timer
 *   OWNED          a context runs a pass
 *   OWNED|PENDING  a pass was requested meanwhile: the owner checks for work
 *                  again before it leaves
 *   DEAD           with any other bit: no context becomes the owner any more
 *
 *    .---------------- mpa_tx_try_release(), true -----------------.
 *    |   .---------------- tx_request_or_own() -----------------.   |
 *    |   |                                               |   |
 *    v   |                                               v   |
 *   [  0  ]-- tx_request() -->[ PENDING ]-- mpa_tx_become_owner() -->[ OWNED ]
 *                        ^     ^                        |  |  ^
 *                        |     '------ tx_release_pending() -------'  |  |
 *                        |            tx_request(), tx_request_or_own()  |  | mpa_tx_try_release(),
 *                        |                                 v  | false
 *                        '------ tx_release_pending() -------[ OWNED|PENDING ]
 *
 * In PENDING and OWNED|PENDING another request changes nothing.
 *
 * mpa_tx_stop() adds DEAD to any state and waits until OWNED is clear. In that
 * case mpa_tx_try_release() and tx_release_pending() keep DEAD, and no function sets OWNED.
 */

/*
 * Request a pass. Return: true if the caller must schedule a runner, false
 * otherwise. Always a full barrier, even if the state does not change: the
 * context that clears PENDING sees the work that is pending.
 */
static bool tx_request(struct mpa_conn *c)
{
	return !atomic_fetch_or(MPA_TX_PENDING, &c->tx);
}

/*
 * Request a pass, or become the owner if the state is 0. Return: true if the
 * caller is the owner now.
 */
static bool tx_request_or_own(struct mpa_conn *c)
{
	int old = atomic_read(&c->tx), new;

	do {
		new = old ? old | MPA_TX_PENDING : MPA_TX_OWNED;
	} while (!atomic_try_cmpxchg(&c->tx, &old, new));
	return !old;
}

/*
 * Become the owner, in the runner that was scheduled. Return: false if the
 * state is DEAD.
 */
static bool mpa_tx_become_owner(struct mpa_conn *c)
{
	int txq = MPA_TX_PENDING;

	return atomic_try_cmpxchg_acquire(&c->tx, &txq, MPA_TX_OWNED);
}

/*
 * Release ownership. Return: true if released; false if a pass was requested
 * meanwhile: the caller is still the owner and must check for work again.
 */
static bool mpa_tx_try_release(struct mpa_conn *c)
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
 * Release ownership with work left. Return: true if the caller must schedule a
 * runner; no context becomes the owner before. False if the state is DEAD.
 */
static bool tx_release_pending(struct mpa_conn *c)
{
	int old = atomic_read(&c->tx), new;

	do {
		new = old & MPA_TX_DEAD ? MPA_TX_DEAD : MPA_TX_PENDING;
	} while (!atomic_try_cmpxchg_release(&c->tx, &old, new));
	return new == MPA_TX_PENDING;
}

/* One pass ----------------------------------------------------------------- */

/*
 * Check whether FPDUs may be sent: after start-up, and for a responder after
 * the peer's first valid FPDU
 */
static bool may_send(const struct mpa_conn *c)
{
	/* the stream is set before: pairs with open_tx(); litmus: publish */
	return smp_load_acquire(&c->tx_open);
}

/*
 * Check whether the transmit side will never open: it is a responder's, and the
 * stream has failed or the peer has closed, so no valid FPDU will arrive. The
 * last FPDU may just have opened it, so read tx_open after the other fields.
 * Pairs with open_tx().
 */
static bool cannot_open(const struct mpa_conn *c)
{
	if (!READ_ONCE(c->rx_stopped) && !READ_ONCE(c->peer_closed) &&
	    !ddp_tx_has_failed(READ_ONCE(c->tx_stream)))
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
		return TX_LOST;
	}
	mpa_frame_drop(c);
	ddp_tx_sent(c->tx_stream);
	c->retry_ms = 0;
	return c->out.last ? TX_LAST : TX_SENT;
}

/*
 * Build a batch. @closing: a responder that may not send yet builds one, too,
 * to find out whether the end has to wait for something.
 */
static enum verdict build_batch(struct mpa_conn *c, bool closing)
{
	/* set in Full Operation: pairs with enter_full(); litmus: publish */
	if (!smp_load_acquire(&c->tx_stream) || !(closing || may_send(c)))
		return TX_NOT_OPEN;
	if (!mpa_frame_build(c, mpa_sock_emss(c)))
		return TX_NOMEM;
	return c->out.len ? TX_SENT : TX_IDLE;
}

/*
 * Record that everything is sent. No batch is built from now on, since the
 * worker may send the FIN at any time.
 */
static void note_drained(struct mpa_conn *c)
{
	/* the FIN is sent after the last FPDU: pairs with mpa_conn_send_fin() */
	smp_store_release(&c->drained, true);	/* litmus: drained */
	mpa_conn_event(c, MPA_EV_STATE);
}

/*
 * Check whether everything is sent that a graceful end has to wait for. @v:
 * verdict on the last batch; @no_responses: the peer has closed, no response will come.
 *
 * An idle transmit side (TX_IDLE) is not yet the end of a connection:
 *
 *   closing  pending work  blocked on  peer
 *            (rests)       a response  closed  drained
 *                          (awaits)
 *   no       -             -           -       no: the ULP may send more
 *   yes      yes           -           -       no: pending work is sent first
 *   yes      no            yes         no      no: a response permits more work
 *   yes      no            yes         yes     yes: no response will come
 *   yes      no            no          -       yes
 *
 * A transmit side that is not open (TX_NOT_OPEN) is drained if it will never open.
 * The caller checks closing. The worker sends the FIN once drained is set, see
 * mpa_conn_send_fin().
 */
static bool is_all_sent(struct mpa_conn *c, enum verdict v, bool no_responses)
{
	const struct ddp_stream *s = c->tx_stream;

	/* segments that can never be sent do not delay the end */
	if (v != TX_IDLE)
		return v == TX_NOT_OPEN && cannot_open(c);
	/* deferred work is sent first, and work that a response permits */
	return !ddp_tx_pending(s) && (no_responses || !ddp_tx_blocked(s));
}

/* Send a batch: the one left over from the last pass, or else a new one */
static enum verdict send_one_batch(struct mpa_conn *c)
{
	/*
	 * Read before the pull that finds nothing: that pull has seen the work
	 * that was pending when the end was requested. If the end is requested
	 * later, or by the pull itself, PENDING is set and another pass
	 * follows.
	 */
	bool closing = smp_load_acquire(&c->closing);	/* litmus: drained */
	/* the pull has seen the responses received before the peer's FIN */
	bool no_responses = smp_load_acquire(&c->peer_closed);	/* litmus: drained */
	enum verdict v = TX_SENT;

	/* requests that arrive after the last FPDU get no response */
	if (c->drained)
		return TX_IDLE;
	/* stale if the batch is left over: work may have been added since */
	c->out.last = false;
	if (!c->out.len)
		v = build_batch(c, closing);
	if (v == TX_SENT)
		v = may_send(c) ? send_batch(c) : TX_NOT_OPEN;
	if (!closing)
		return v;
	if (is_all_sent(c, v, no_responses))
		note_drained(c);
	/* the end requires another pull, which finds that nothing is left */
	return v == TX_LAST ? TX_SENT : v;
}

/*
 * Check for a verdict after which the owner leaves. A context that changes the
 * cause requests a pass, which mpa_tx_try_release() checks for.
 */
static bool may_leave(enum verdict v)
{
	return v == TX_IDLE || v == TX_LAST || v == TX_NOT_OPEN || v == TX_FULL;
}

/*
 * Run a pass. The caller is the owner and has BH off. If the verdict is one of
 * may_leave(), ownership is released.
 */
static enum verdict tx_pass(struct mpa_conn *c)
{
	int left = BATCHES;
	enum verdict v;

	do {
		v = left-- ? send_one_batch(c) : TX_LIMIT;
		if (!may_leave(v))
			continue;
		if (mpa_tx_try_release(c))
			break;
		v = TX_SENT;
	} while (v == TX_SENT);
	return v;
}

/* Queue of a CPU: connections that transmit in softirq --------------------- */

/*
 * A connection is queued on the CPU that made the work pending, and transmits
 * right after the current softirq. A CPU drains its queue for 1 ms at most,
 * however many connections are queued. The workers, which any CPU may run,
 * transmit for the rest.
 */
struct txq {
	struct llist_head	conns;
	struct compat_bh	bh;
};

static DEFINE_PER_CPU(struct txq, txqs);

static void enqueue(struct mpa_conn *c)
{
	struct txq *d = this_cpu_ptr(&txqs);

	if (llist_add(&c->txq, &d->conns))
		compat_bh_raise(&d->bh);
}

/*
 * Queue a connection on this CPU, in any context. The connection is in no CPU's
 * queue. The caller holds a reference, is one of the socket's callbacks, or has
 * found the connection under RCU.
 */
static void mpa_txq_add(struct mpa_conn *c)
{
	if (!kref_get_unless_zero(&c->ss.ref))
		return;
	if (in_hardirq() || irqs_disabled()) {
		enqueue(c);
		return;
	}
	/* a softirq that is raised with BH on would be left to ksoftirqd */
	local_bh_disable();
	enqueue(c);
	local_bh_enable();
}

/* Choice of the next runner ------------------------------------------------ */

static void mpa_tx_retry(struct work_struct *work)
{
	struct mpa_conn *c = container_of(to_delayed_work(work),
					  struct mpa_conn, tx_retry);

	mpa_conn_event(c, MPA_EV_TX);
	ddp_session_put(&c->ss);
}

/*
 * Retry after a growing delay. The state stays PENDING, so passes requested
 * meanwhile wait for the timer, too: memory is short.
 */
static void retry_later(struct mpa_conn *c)
{
	c->retry_ms = mpa_backoff(c->retry_ms);
	if (kref_get_unless_zero(&c->ss.ref))
		queue_delayed_work(mpa_wq, &c->tx_retry,
				   msecs_to_jiffies(c->retry_ms));
}

/*
 * Release ownership with work left, and schedule the next runner. Return: true
 * if the caller, a worker, may run the next pass itself.
 *
 * Never run two passes in a row in softirq. A softirq raised in softirq may run
 * before this CPU receives what the first pass has sent to a local peer. Data
 * in flight, and the memory for it, would grow with the amount of pending work.
 */
static bool tx_reschedule(struct mpa_conn *c, enum verdict v, enum runner who)
{
	if (may_leave(v) || !tx_release_pending(c))
		return false;
	if (v == TX_LOST) {
		/* no next runner: the worker ends the connection */
		mpa_conn_event(c, MPA_EV_STATE);
		return false;
	}
	if (v == TX_NOMEM) {
		retry_later(c);
		return false;
	}
	if (who == POSTER)
		mpa_txq_add(c);
	else if (who == SOFTIRQ)
		mpa_conn_event(c, MPA_EV_TX);
	return who == WORKER;
}

/**
 * mpa_tx_kick - schedule the transmit routine
 * @c: the connection
 * @bulk: true if there is much to send: the worker runs the routine
 *
 * Any context. Runs nothing here, since the caller may hold any lock, even that
 * of the socket.
 */
void mpa_tx_kick(struct mpa_conn *c, bool bulk)
{
	if (!tx_request(c))
		return;
	if (bulk)
		mpa_conn_event(c, MPA_EV_TX);
	else
		mpa_txq_add(c);
}

/**
 * mpa_tx_push - run the transmit routine in the calling process
 * @c: the connection
 *
 * Context: process, no lock held.
 */
void mpa_tx_push(struct mpa_conn *c)
{
	local_bh_disable();
	if (tx_request_or_own(c)) {
		if (may_send(c))
			mpa_sock_record_flow(c);
		tx_reschedule(c, tx_pass(c), POSTER);
	}
	local_bh_enable();
}

/* Run a pass in softirq, as scheduled by mpa_txq_add() */
static void mpa_tx_softirq(struct mpa_conn *c)
{
	if (mpa_tx_become_owner(c))
		tx_reschedule(c, tx_pass(c), SOFTIRQ);
}

/* Each queued connection holds a reference and is in no other queue */
static void mpa_txq_serve(struct compat_bh *bh)
{
	struct txq *d = container_of(bh, struct txq, bh);
	u64 until = ktime_get_ns() + BUDGET;
	struct llist_node *first;
	struct mpa_conn *c, *next;

	/* the list is last-in first-out: restore the order of arrival */
	first = llist_reverse_order(llist_del_all(&d->conns));
	llist_for_each_entry_safe(c, next, first, txq) {
		if (ktime_get_ns() < until)
			mpa_tx_softirq(c);
		else
			mpa_conn_event(c, MPA_EV_TX);
		ddp_session_put(&c->ss);
	}
}

/* Run a pass in the worker. Return: true if it may run the next one. */
static bool tx_pass_in_worker(struct mpa_conn *c)
{
	enum verdict v = TX_LOST;
	bool go_on = false;

	local_bh_disable();
	if (mpa_tx_become_owner(c)) {
		v = tx_pass(c);
		go_on = tx_reschedule(c, v, WORKER);
	}
	local_bh_enable();
	/* not as the owner: a process that owns the socket may sleep */
	if (go_on && v == TX_BUSY)
		mpa_sock_wait_unowned(c);
	return go_on;
}

/**
 * mpa_tx_work - run the transmit routine in the worker
 * @c: the connection; this call was scheduled by MPA_EV_TX
 *
 * Sleeps while a process owns the socket.
 */
void mpa_tx_work(struct mpa_conn *c)
{
	int n;

	for (n = 0; n < WORKER_PASSES; n++)
		if (!tx_pass_in_worker(c))
			return;
	mpa_conn_event(c, MPA_EV_TX);
}

/**
 * mpa_tx_init - initialize the transmit side
 * @c: the new connection
 */
void mpa_tx_init(struct mpa_conn *c)
{
	INIT_DELAYED_WORK(&c->tx_retry, mpa_tx_retry);
}

/**
 * mpa_tx_stop - end transmitting, and wait for the owner
 * @c: the connection
 *
 * Sleeps until the current owner has left.
 */
void mpa_tx_stop(struct mpa_conn *c)
{
	/*
	 * Afterwards the owner's fields belong to the caller. Pairs with the
	 * releases in mpa_tx_try_release() and tx_release_pending(); litmus: owner-stop
	 */
	atomic_fetch_or(MPA_TX_DEAD, &c->tx);
	while (atomic_read_acquire(&c->tx) & MPA_TX_OWNED)
		usleep_range(10, 50);
	c->tx_stream = NULL;
}

/**
 * mpa_txq_init - initialize the queues of all CPUs
 */
void mpa_txq_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct txq *d = per_cpu_ptr(&txqs, cpu);

		init_llist_head(&d->conns);
		compat_bh_init(&d->bh, mpa_txq_serve);
	}
}

/**
 * mpa_txq_exit - wait for the last run of each CPU's queue
 *
 * No connection is left. Sleeps.
 */
void mpa_txq_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		compat_bh_end(&per_cpu_ptr(&txqs, cpu)->bh);
}
