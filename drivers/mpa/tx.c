// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transmit FPDUs, and choose the context that runs the transmit routine.
 *
 * The transmit routine runs in passes, see run_tx_pass(). A pass sends at most BATCHES batches.
 * The context that runs a pass is the owner of the transmit side, and has BH off while it is the
 * owner, except in deliver_to_local_peer(). The owner never sleeps, and is only preempted on
 * PREEMPT_RT. The owner may spin while another CPU receives and holds the spinlock of the socket.
 * To wait for memory, or for a process that owns the socket, a context must first release
 * ownership.
 *
 * A pass runs in one of three contexts: the posting process (mpa_tx_push()), the softirq of the
 * CPU that called mpa_tx_kick(), or the worker. The worker runs the pass if there is much to send,
 * if the worker itself has kicked, if a pass in softirq has left work, if the softirq has used up
 * its time, and after the retry timer has expired.
 *
 * Fields that only the owner may access need no lock: releasing and acquiring
 * ownership orders the accesses of successive owners.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/workqueue.h>

#include "fpdu.h"
#include "tx_owner.h"

#define BATCHES		4	/* maximum number of batches in a pass */
#define WORKER_PASSES	4	/* maximum number of passes in a call of mpa_tx_work() */
#define BUDGET		NSEC_PER_MSEC	/* time limit of mpa_txq_drain(), in ns */
#define SHORT_BATCH	4096	/* maximum length for deliver_to_local_peer(), in bytes */

/* Contexts that run a pass */
enum runner {
	POSTER,			/* the process that has posted work, in mpa_tx_push() */
	SOFTIRQ,
	WORKER,
};

/* Result of a pass, or of building or sending one batch */
enum tx_verdict {
	TX_SENT,		/* TCP has accepted a batch; DDP may have more to send */
	TX_LAST,		/* TCP has accepted a batch; DDP has no more to send now */
	TX_IDLE,		/* DDP has nothing to send now */
	TX_NOT_PERMITTED,	/* sending is not permitted yet; a kick follows when it is */
	TX_FULL,		/* TCP's send buffer is full; mpa_write_space() requests a pass */
	TX_LIMIT,		/* the pass has sent BATCHES batches */
	TX_BUSY,		/* a process owns the socket */
	TX_NOMEM,		/* an allocation failed; the retry timer schedules a pass */
	TX_LOST,		/* the connection is lost */
};

/* One pass ----------------------------------------------------------------- */

/*
 * Check whether FPDUs may be sent. An initiator may send as soon as it enters Full Operation,
 * a responder after it has received the peer's first valid FPDU. On an initiator the result
 * may be true although tx_stream is not set yet: build_batch() checks tx_stream.
 */
static bool may_send_fpdus(const struct mpa_conn *c)
{
	/*
	 * On a responder this pairs with permit_tx(), which sets tx_permitted after
	 * enter_full_operation() has set tx_stream. So a context that sees tx_permitted set
	 * also sees tx_stream; litmus: publish
	 */
	return smp_load_acquire(&c->tx_permitted);
}

/*
 * Check whether a responder will never be permitted to send FPDUs: no valid FPDU has arrived, and
 * none will be accepted, because receiving was stopped, the stream has failed or the peer has
 * closed. Read tx_permitted last, after rx_stopped, peer_closed and the state of the stream: an
 * FPDU that was accepted just before one of these changed may have set it, see permit_tx().
 */
static bool is_tx_never_permitted(const struct mpa_conn *c)
{
	if (!READ_ONCE(c->rx_stopped) && !READ_ONCE(c->peer_closed) &&
	    !ddp_tx_has_failed(READ_ONCE(c->tx_stream)))
		return false;
	smp_rmb();	/* litmus: shut */
	return !may_send_fpdus(c);
}

/*
 * After a short batch of a posting program, let the softirq that a loopback or veth interface has
 * raised deliver the batch now. Otherwise a peer on this machine would wait until this context has
 * completed the requests. The softirq may run any code that it may run between two passes: it
 * cannot become the owner, and nothing of the batch is in use by this context. Preemption stays
 * off, because no other context can transmit meanwhile. If the peer refuses the message in this
 * softirq, the stream may fail before the request completes, and the request is flushed.
 */
static void deliver_to_local_peer(const struct mpa_conn *c)
{
	/* on a single CPU no peer can run meanwhile, and an early wake-up only costs */
	if (c->out.len > SHORT_BATCH || num_online_cpus() == 1 || IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	preempt_disable();
	local_bh_enable();
	local_bh_disable();
	preempt_enable();
}

/* Pass the batch to TCP, and release the batch if TCP has accepted all its bytes */
static enum tx_verdict send_batch(struct mpa_conn *c, enum runner who)
{
	switch (mpa_sock_send_batch(c)) {
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
	if (who == POSTER)
		deliver_to_local_peer(c);
	mpa_frame_drop_batch(c);
	c->retry_ms = 0;
	return ddp_tx_report_sent(c->tx_stream, !c->out.last) && !c->out.last ? TX_SENT : TX_LAST;
}

/*
 * Get the maximum length of a batch. It is computed again only if the EMSS has changed, because
 * this costs two divisions. If only TCP's limit for an skb has changed, the batches still fit.
 */
static u32 get_batch_limit(struct mpa_conn *c, u32 emss)
{
	struct mpa_out *o = &c->out;

	if (o->emss != emss) {
		o->emss = emss;
		o->most = mpa_compute_batch_limit(emss, mpa_sock_get_tso_max(c));
	}
	return o->most;
}

/*
 * Build a batch. @closing: true if a graceful close is requested. A responder then builds a batch
 * even if it may not send FPDUs yet, because the result shows whether the graceful close has to
 * wait for pending segments. Return: TX_SENT if a batch is built; TX_IDLE if there are no segments;
 * TX_NOT_PERMITTED; or TX_NOMEM.
 */
static enum tx_verdict build_batch(struct mpa_conn *c, bool closing)
{
	u32 emss;

	/*
	 * Pairs with enter_full_operation(), which sets tx_stream after crc, tx_markers
	 * and the other fields that are read to build a batch; litmus: publish
	 */
	if (!smp_load_acquire(&c->tx_stream) || !(closing || may_send_fpdus(c)))
		return TX_NOT_PERMITTED;
	emss = mpa_sock_get_emss(c);
	if (!mpa_frame_build_batch(c, emss, get_batch_limit(c, emss)))
		return TX_NOMEM;
	return c->out.len ? TX_SENT : TX_IDLE;
}

/*
 * Record that TCP has accepted all segments that a graceful close has to wait for.
 * From then on no batch is built, since the FIN may be sent at any time.
 */
static void set_tx_drained(struct mpa_conn *c)
{
	/*
	 * drained is set after the last FPDU was passed to TCP. Pairs with
	 * __mpa_conn_advance_close(), which reads drained before it sends the FIN.
	 */
	smp_store_release(&c->drained, true);	/* litmus: drained */
	mpa_conn_set_event(c, MPA_EV_CLOSE);
}

/*
 * Check whether all segments are sent that a graceful close has to wait for. The caller must have
 * checked that a graceful close is requested (closing). @v: result of building and sending the last
 * batch; @no_responses: true if the peer has closed, so that no response will arrive.
 *
 * If @v is TX_IDLE, the result depends on DDP and on the peer:
 *
 *   ddp_tx_expects_kick()  ddp_tx_is_blocked()  @no_responses  result
 *   ---------------------  -------------------  -------------  ---------
 *   true                   -                    -              false (1)
 *   false                  true                 false          false (2)
 *   false                  true                 true           true (3)
 *   false                  false                -              true
 *
 *   (1) DDP will have more segments, which must be sent before the FIN
 *   (2) a response of the peer will unblock more work
 *   (3) no response will arrive, so the blocked work can never be sent
 *
 * If @v is TX_NOT_PERMITTED, the result is that of is_tx_never_permitted(). For any other @v
 * the graceful close has to wait. If this function returns true, the caller sets drained, and
 * the FIN can be sent, see __mpa_conn_advance_close().
 */
static bool is_tx_drained(struct mpa_conn *c, enum tx_verdict v, bool no_responses)
{
	const struct ddp_stream *s = c->tx_stream;

	/* TX_NOT_PERMITTED: do not wait for segments that can never be sent */
	if (v != TX_IDLE)
		return v == TX_NOT_PERMITTED && is_tx_never_permitted(c);
	return !ddp_tx_expects_kick(s) && (no_responses || !ddp_tx_is_blocked(s));
}

/* Send the rest of the last batch; if there is none, build and send a new batch */
static enum tx_verdict send_one_batch(struct mpa_conn *c, enum runner who)
{
	/*
	 * closing is read before segments are pulled. The acquire pairs with the release in
	 * mpa_conn_request_close(). So if closing is true, the pull sees all work that was
	 * posted before the graceful close was requested. If the close is requested after
	 * this read, mpa_conn_request_close() sets PENDING, so that another pass follows.
	 */
	bool closing = smp_load_acquire(&c->closing);	/* litmus: drained */
	/*
	 * Pairs with record_peer_closed(): if peer_closed is true, the pull sees
	 * the work that responses received before the peer's FIN have unblocked.
	 */
	bool no_responses = smp_load_acquire(&c->peer_closed);	/* litmus: drained */
	enum tx_verdict v = TX_SENT;

	/* send nothing more before the FIN, not even responses to the peer's requests */
	if (c->drained)
		return TX_IDLE;
	/* clear the flag of an earlier batch, because DDP may have more segments by now */
	c->out.last = false;
	if (!c->out.len)
		v = build_batch(c, closing);
	if (v == TX_SENT)
		v = may_send_fpdus(c) ? send_batch(c, who) : TX_NOT_PERMITTED;
	if (!closing)
		return v;
	if (is_tx_drained(c, v, no_responses))
		set_tx_drained(c);
	/* is_tx_drained() needs TX_IDLE, so make the pass pull once more after the last batch */
	return v == TX_LAST ? TX_SENT : v;
}

/*
 * Check whether the owner may release ownership without scheduling a pass: it may if another
 * context will request a pass as soon as there is something to do. If a pass was requested
 * before the release, mpa_tx_try_release_ownership() detects this.
 */
static bool may_release_ownership(enum tx_verdict v)
{
	return v == TX_IDLE || v == TX_LAST || v == TX_NOT_PERMITTED || v == TX_FULL;
}

/*
 * Run a pass. The caller must be the owner and have BH off. If may_release_ownership() is
 * true for the returned verdict, ownership is released; otherwise the caller keeps it.
 */
static enum tx_verdict run_tx_pass(struct mpa_conn *c, enum runner who)
{
	int left = BATCHES;
	enum tx_verdict v;

	do {
		v = left-- ? send_one_batch(c, who) : TX_LIMIT;
		if (!may_release_ownership(v))
			continue;
		if (mpa_tx_try_release_ownership(c))
			break;
		v = TX_SENT;
	} while (v == TX_SENT);
	return v;
}

/* Queue of a CPU: connections that transmit in softirq --------------------- */

/*
 * Transmit queue of a CPU. mpa_tx_kick() adds a connection to the queue of the CPU on which it
 * is called, and the connection transmits in the next softirq of this CPU. The softirq drains
 * the queue for at most 1 ms (BUDGET). Connections that are left then transmit in their
 * workers, which may run on any CPU.
 */
struct txq {
	struct llist_head	conns;
	struct compat_bh	bh;
};

static DEFINE_PER_CPU(struct txq, txqs);

static void enqueue_conn(struct mpa_conn *c)
{
	struct txq *d = this_cpu_ptr(&txqs);

	if (llist_add(&c->txq, &d->conns))
		compat_bh_raise(&d->bh);
}

/*
 * Add a connection to this CPU's queue, in any context. tx_request_pass() or
 * tx_release_with_work_pending() must have returned true to the caller, which ensures that no
 * CPU has the connection in its queue. The caller must hold a reference, be a callback of the
 * socket, or be an RCU reader that has looked up the connection.
 */
static void mpa_txq_add(struct mpa_conn *c)
{
	if (!kref_get_unless_zero(&c->ss.ref))
		return;
	if (in_hardirq() || irqs_disabled()) {
		enqueue_conn(c);
		return;
	}
	/* let local_bh_enable() run the softirq at once, instead of waking ksoftirqd */
	local_bh_disable();
	enqueue_conn(c);
	local_bh_enable();
}

/* Choice of the context for the next pass ---------------------------------- */

/* Handle the expiry of the retry timer: make the worker transmit */
static void mpa_tx_retry_work(struct work_struct *work)
{
	struct mpa_conn *c = container_of(to_delayed_work(work),
					  struct mpa_conn, tx_retry);

	mpa_conn_set_event(c, MPA_EV_TX);
	ddp_session_put(&c->ss);
}

/*
 * Arm the retry timer after a failed allocation, each time with a longer delay. The state stays
 * PENDING until the timer expires, so a pass that is requested meanwhile waits for it, too.
 */
static void schedule_tx_retry(struct mpa_conn *c)
{
	c->retry_ms = mpa_compute_retry_delay(c->retry_ms);
	if (kref_get_unless_zero(&c->ss.ref))
		queue_delayed_work(mpa_wq, &c->tx_retry,
				   msecs_to_jiffies(c->retry_ms));
}

/*
 * Release ownership, unless run_tx_pass() has done so. If work is left, schedule a context for the
 * next pass, or leave this to the caller if it is the worker. @v: result of run_tx_pass(); @who:
 * context of the caller. Return: true if the worker must run or schedule the next pass.
 *
 * Never run two successive passes in softirq. A softirq that is raised in softirq may run
 * before this CPU receives what the first pass has sent to a peer on this machine. The data
 * in flight, and the memory for this data, would then grow with the amount of pending work.
 */
static bool release_ownership_and_schedule_pass(struct mpa_conn *c, enum tx_verdict v,
						enum runner who)
{
	if (may_release_ownership(v) || !tx_release_with_work_pending(c))
		return false;
	if (v == TX_LOST) {
		/* schedule no pass, because the worker tears down the connection */
		mpa_conn_set_event(c, MPA_EV_STATE);
		return false;
	}
	if (v == TX_NOMEM) {
		schedule_tx_retry(c);
		return false;
	}
	if (who == POSTER)
		mpa_txq_add(c);
	else if (who == SOFTIRQ)
		mpa_conn_set_event(c, MPA_EV_TX);
	return who == WORKER;
}

/**
 * mpa_tx_kick - schedule the transmit routine
 * @c: the connection
 * @bulk: true to run the transmit routine in the worker, because there is much to
 *	send or because the caller is the worker; false to run it in softirq
 *
 * The caller may hold any lock, even the socket lock, so this function only schedules the
 * transmit routine. If BH is on, a softirq may run the routine before this function returns.
 *
 * Context: any.
 */
void mpa_tx_kick(struct mpa_conn *c, bool bulk)
{
	if (!tx_request_pass(c))
		return;
	if (bulk)
		mpa_conn_set_event(c, MPA_EV_TX);
	else
		mpa_txq_add(c);
}

/**
 * mpa_tx_push - run the transmit routine in the calling process
 * @c: the connection
 *
 * If another context is the owner, or is scheduled to run a pass, only request a pass.
 *
 * Context: process, no lock held.
 */
void mpa_tx_push(struct mpa_conn *c)
{
	local_bh_disable();
	if (tx_request_pass_or_become_owner(c)) {
		if (may_send_fpdus(c))
			mpa_sock_record_flow(c);
		release_ownership_and_schedule_pass(c, run_tx_pass(c, POSTER), POSTER);
	}
	local_bh_enable();
}

/* Run a pass in softirq, as scheduled by mpa_txq_add() */
static void run_tx_pass_in_softirq(struct mpa_conn *c)
{
	if (mpa_tx_try_become_owner(c))
		release_ownership_and_schedule_pass(c, run_tx_pass(c, SOFTIRQ), SOFTIRQ);
}

/*
 * Drain the queue of this CPU, in softirq, and drop the queue's reference to each connection.
 * No connection is in the queues of two CPUs at the same time.
 */
static void mpa_txq_drain(struct compat_bh *bh)
{
	struct txq *d = container_of(bh, struct txq, bh);
	u64 until = ktime_get_ns() + BUDGET;
	struct llist_node *first;
	struct mpa_conn *c, *next;

	/* an llist is last-in first-out: restore the order in which connections were added */
	first = llist_reverse_order(llist_del_all(&d->conns));
	llist_for_each_entry_safe(c, next, first, txq) {
		if (ktime_get_ns() < until)
			run_tx_pass_in_softirq(c);
		else
			mpa_conn_set_event(c, MPA_EV_TX);
		ddp_session_put(&c->ss);
	}
}

/*
 * Run a pass in the worker. Return: true if work is left, and the worker must run or schedule the
 * next pass; false otherwise.
 */
static bool run_tx_pass_in_worker(struct mpa_conn *c)
{
	enum tx_verdict v = TX_LOST;
	bool go_on = false;

	local_bh_disable();
	if (mpa_tx_try_become_owner(c)) {
		v = run_tx_pass(c, WORKER);
		go_on = release_ownership_and_schedule_pass(c, v, WORKER);
	}
	local_bh_enable();
	/* ownership is released, so this context may sleep until the socket is free */
	if (go_on && v == TX_BUSY)
		mpa_sock_wait_unowned(c);
	return go_on;
}

/**
 * mpa_tx_work - run the transmit routine in the worker
 * @c: the connection; its event MPA_EV_TX was set
 *
 * Context: worker; sleeps while a process owns the socket.
 */
void mpa_tx_work(struct mpa_conn *c)
{
	int n;

	for (n = 0; n < WORKER_PASSES; n++)
		if (!run_tx_pass_in_worker(c))
			return;
	mpa_conn_set_event(c, MPA_EV_TX);
}

/**
 * mpa_tx_init - initialize the transmit side
 * @c: the new connection
 */
void mpa_tx_init(struct mpa_conn *c)
{
	INIT_DELAYED_WORK(&c->tx_retry, mpa_tx_retry_work);
}

/**
 * mpa_tx_stop - stop transmission permanently
 * @c: the connection
 *
 * Context: process; sleeps until the current owner has released ownership.
 */
void mpa_tx_stop(struct mpa_conn *c)
{
	/*
	 * The caller may access the owner's fields after the loop. The acquire pairs with the
	 * release operations of mpa_tx_try_release_ownership() and
	 * tx_release_with_work_pending(). Without the acquire, the caller could read old
	 * values of these fields; litmus: owner-stop
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
		compat_bh_init(&d->bh, mpa_txq_drain);
	}
}

/**
 * mpa_txq_exit - wait until no CPU drains its queue
 *
 * All connections must be released.
 *
 * Context: process, may sleep.
 */
void mpa_txq_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		compat_bh_end(&per_cpu_ptr(&txqs, cpu)->bh);
}
