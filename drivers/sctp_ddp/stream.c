// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Life of a DDP stream over SCTP: a pair of streams with one number and the
 * session on it.
 *
 * What the user sees ends (ended) when it has been told so; the number is held
 * until no chunk of the session can arrive any more (RFC 5043 6.6): until then
 * the association keeps the stream to answer and to discard.  References: the
 * session's user, the DDP stream that is bound, the association's table, and
 * one while it is on the list of those with something to do.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "internal.h"
#include "trace.h"

#define DEADLINE_SAY	30	/* seconds: until SCTP has the Initiate, or our answer */
#define DEADLINE_DRAIN	130	/* seconds: some progress, until the peer has all */
#define DEADLINE_CLOSE	10	/* its Terminate after that */

/**
 * sddp_stream_event - have the worker look at something
 * @st: the stream; the caller holds it, or found it under RCU: then it may be
 *	ending
 * @ev: what
 *
 * Any context.
 */
void sddp_stream_event(struct sddp_stream *st, enum sddp_event ev)
{
	struct sddp_assoc *a;
	unsigned long flags;
	bool moved, first;

	set_bit(ev, &st->events);
	if (!kref_get_unless_zero(&st->ss.ref))
		return;
	rcu_read_lock();
	do {
		a = READ_ONCE(st->a);
		spin_lock_irqsave(&a->lock, flags);
		moved = a != st->a;
		first = !moved && list_empty(&st->ready);
		if (first)
			list_add_tail(&st->ready, &a->ready);
		spin_unlock_irqrestore(&a->lock, flags);
	} while (moved);
	sddp_assoc_kick(a);
	rcu_read_unlock();
	if (!first)
		ddp_session_put(&st->ss);
}

static void sddp_stream_timed_out(struct work_struct *work)
{
	struct sddp_stream *st = container_of(to_delayed_work(work),
					      struct sddp_stream, timer);

	sddp_stream_event(st, SDDP_EV_TIMEOUT);
}

/**
 * sddp_stream_deadline - something has to happen in time
 * @st: the stream; worker, or before it can run
 * @seconds: from now; 0: no longer
 *
 * The timer only has the worker look at the clock.
 */
void sddp_stream_deadline(struct sddp_stream *st, unsigned int seconds)
{
	st->timed = seconds;
	st->deadline = jiffies + seconds * HZ;
	if (seconds)
		mod_delayed_work(sddp_wq, &st->timer, seconds * HZ);
	else
		cancel_delayed_work(&st->timer);
}

/* @grace: and that many seconds */
static bool sddp_is_late(const struct sddp_stream *st, unsigned long when,
			 unsigned int grace)
{
	return st->timed && time_after_eq(when, st->deadline + grace * HZ);
}

/**
 * sddp_stream_late - its time is up, unless what has arrived says otherwise
 * @st: the stream; worker, when all else has been seen to
 * @more: but for what is still in the socket
 */
void sddp_stream_late(struct sddp_stream *st, bool more)
{
	/* by the time at which the socket was looked at: what has come since counts */
	if (sddp_is_late(st, st->a->looked, more ? DEADLINE_CLOSE : 0))
		sddp_stream_end(st, IW_TIMEOUT, NULL);
	else if (sddp_is_late(st, jiffies, 0))
		mod_delayed_work(sddp_wq, &st->timer, HZ / 10);
}

/**
 * sddp_stream_new - a stream without an association
 * @user: upcalls
 * @ctx: the user's
 * @active: this side is to send the Initiate
 *
 * Return: the stream with one reference, the table's; NULL if memory is short.
 */
struct sddp_stream *sddp_stream_new(const struct ddp_session_user *user,
				    void *ctx, bool active)
{
	struct sddp_stream *st = kzalloc(sizeof(*st), GFP_KERNEL_ACCOUNT);

	if (!st)
		return NULL;
	st->llp.ops = &sddp_llp_ops;
	st->ss.type = &sddp_session_type;
	st->ss.user = user;
	st->ss.ctx = ctx;
	kref_init(&st->ss.ref);
	sddp_session_init(&st->s, active);
	spin_lock_init(&st->lock);
	st->early = RB_ROOT;
	INIT_LIST_HEAD(&st->turn);
	INIT_LIST_HEAD(&st->doubt);
	INIT_LIST_HEAD(&st->late);
	INIT_LIST_HEAD(&st->ready);
	INIT_DELAYED_WORK(&st->timer, sddp_stream_timed_out);
	return st;
}

/**
 * sddp_stream_release - the last reference is gone
 * @ref: the session's
 *
 * Any context: the timer ended before.
 */
void sddp_stream_release(struct kref *ref)
{
	struct ddp_session *ss = container_of(ref, struct ddp_session, ref);
	struct sddp_stream *st = ss_to_stream(ss);

	kfree(st->answer);
	kfree(st->say);
	if (st->a)
		sddp_assoc_put(st->a);
	kfree_rcu(st, rcu);
}

/* What a program has done ---------------------------------------------------- */

/**
 * sddp_stream_begin - a session of ours, on streams reserved for it
 * @st: the stream; nobody else knows of it yet
 * @s: the DDP stream to start once the session is accepted; holds @st until
 *	sddp_stream_quiesce()
 *
 * That the association has failed meanwhile, or allows fewer streams, its worker
 * finds out.
 *
 * Return: 0, and the worker has it, once it is kicked; -EISCONN or -ENOTCONN.
 */
int sddp_stream_begin(struct sddp_stream *st, struct ddp_stream *s)
{
	int err;

	/* the DDP stream's reference */
	ddp_session_get(&st->ss);
	st->stream = s;
	err = ddp_stream_bind(s, &st->llp);
	if (err) {
		st->stream = NULL;
		ddp_session_put(&st->ss);
		return err;
	}
	sddp_stream_deadline(st, DEADLINE_SAY);
	/* reserved before, so it needs no memory */
	xa_store(&st->a->streams, st->id, st, GFP_KERNEL);
	return 0;
}

/**
 * sddp_stream_answer - what the ULP says to the peer's Initiate
 * @st: the stream, handed up
 * @c: what is to be said; the stream's, unless that fails
 * @s: if it is a yes, the DDP stream to start; holds @st until
 *	sddp_stream_quiesce()
 *
 * Return: 0, and the worker has it, once it is kicked; -ECONNRESET: nobody
 * waits for it any more; -EISCONN or -ENOTCONN.
 */
int sddp_stream_answer(struct sddp_stream *st, struct sddp_control *c,
		       struct ddp_stream *s)
{
	int err = 0;

	/* the DDP stream's, which may leave as soon as it is bound */
	if (s)
		ddp_session_get(&st->ss);
	spin_lock(&st->lock);
	if (st->ended || st->answered)
		err = -ECONNRESET;
	else if (s)
		err = ddp_stream_bind(s, &st->llp);
	if (!err) {
		st->ss.accepted = s;
		st->answer = c;
		st->answer_for = s;
		st->answered = true;
	}
	spin_unlock(&st->lock);
	if (err && s)
		ddp_session_put(&st->ss);
	return err;
}

static void __take_answer(struct sddp_stream *st)
{
	lockdep_assert_held(&st->lock);
	if (!st->answer)
		return;
	st->say = st->answer;
	st->say->offer.enhanced = st->s.enhanced;
	st->stream = st->answer_for;
	st->answer = NULL;
}

/* Nothing more is asked of the DDP stream, which waits for that */
static void take_leave(struct sddp_stream *st)
{
	sddp_tx_forget(st);
	st->stream = NULL;
	clear_and_wake_up_bit(0, &st->unbind);
}

/*
 * The user hears of it before the peer can: what that sends at once finds a
 * program that knows.  And as soon as it has said yes, not when SCTP takes the
 * Accept: that is the peer's to delay, and who waits for this cannot be killed.
 */
static void sddp_tell_accepted(struct sddp_stream *st)
{
	st->up = true;
	sddp_crowd_guest(st->a);
	ddp_session_established(&st->ss, NULL);
}

/* The worker has the answer; that SCTP gets it has a time of its own */
static void sddp_stream_answered(struct sddp_stream *st)
{
	sddp_stream_deadline(st, DEADLINE_SAY);
	if (st->say->what == SDDP_SAY_ACCEPT)
		sddp_tell_accepted(st);
}

/* Who leaves has answered before: an answer that it follows is taken with it */
static void sddp_stream_take_word(struct sddp_stream *st)
{
	bool answered, leaves, fresh;

	spin_lock(&st->lock);
	fresh = st->answer;
	__take_answer(st);
	answered = st->answered;
	leaves = test_bit(0, &st->unbind);
	spin_unlock(&st->lock);
	if (fresh)
		sddp_stream_answered(st);
	if (answered)
		ddp_port_leave(&st->caller);
	if (leaves)
		take_leave(st);
}

/**
 * sddp_stream_quiesce - forget the DDP stream; the session ends
 * @st: the stream
 *
 * Sleeps, until the worker has seen to it.  When it returns no upcall for the
 * DDP stream runs or will run.
 */
void sddp_stream_quiesce(struct sddp_stream *st)
{
	set_bit(0, &st->unbind);
	sddp_stream_event(st, SDDP_EV_TX);
	wait_on_bit(&st->unbind, 0, TASK_UNINTERRUPTIBLE);
	sddp_stream_stop(st, IW_LOCAL_ABORT);
	ddp_session_put(&st->ss);
}

/**
 * sddp_stream_stop - the ULP ends it
 * @st: the stream
 * @why: IW_LOCAL_CLOSE: gracefully, once all posted before is sent
 *
 * Any context.
 */
void sddp_stream_stop(struct sddp_stream *st, enum iw_reason why)
{
	if (why != IW_LOCAL_CLOSE) {
		WRITE_ONCE(st->why, why);
		/* before the bit, which orders nothing; litmus: why */
		smp_wmb();
		sddp_stream_event(st, SDDP_EV_ABORT);
		return;
	}
	/* behind all that is due by now; litmus: drained */
	smp_store_release(&st->closing, true);
	sddp_stream_event(st, SDDP_EV_CLOSE);
}

/**
 * sddp_stream_end - the end, as far as the ULP is concerned
 * @st: the stream; worker
 * @why: the reason
 * @o: the peer's reject, or NULL
 *
 * Once.  A Terminate still goes out if one is due.
 */
void sddp_stream_end(struct sddp_stream *st, enum iw_reason why,
		     const struct ddp_offer *o)
{
	struct ddp_stream *s;

	if (st->ended)
		return;
	/* whatever is answered from here on comes too late */
	spin_lock(&st->lock);
	__take_answer(st);
	WRITE_ONCE(st->ended, true);
	spin_unlock(&st->lock);
	s = st->stream;
	trace_sddp_session_end(st, why);
	st->timed = 0;
	cancel_delayed_work_sync(&st->timer);
	sddp_tx_forget(st);
	ddp_port_leave(&st->caller);
	st->stream = NULL;
	if (s)
		ddp_llp_down(s, why);
	if (st->told)
		ddp_session_closed(&st->ss, why, o);
	else
		sddp_listen_refused(st->a, why);
	sddp_assoc_left(st->a, st);
	sddp_stream_event(st, SDDP_EV_TX);
}

/* Nor does the next session begin: the association has ended */
static void forget_next(struct sddp_stream *st)
{
	struct sddp_stream *next = st->next;

	if (!next)
		return;
	st->next = NULL;
	sddp_stream_end(next, st->a->why, NULL);
	sddp_stream_forget(next);
}

/**
 * sddp_stream_forget - it has left the table
 * @st: the stream, ended; worker
 */
void sddp_stream_forget(struct sddp_stream *st)
{
	forget_next(st);
	sddp_rx_forget(st);
	list_del_init(&st->doubt);
	list_del_init(&st->turn);
	list_del_init(&st->late);
	/* the table's reference */
	ddp_session_put(&st->ss);
}

/**
 * sddp_stream_drop - its number is free
 * @st: the stream, ended; worker
 */
void sddp_stream_drop(struct sddp_stream *st)
{
	xa_erase(&st->a->streams, st->id);
	sddp_stream_forget(st);
}

/**
 * sddp_stream_peer_done - the peer's Terminate has come
 * @st: the stream, its session accepted; worker
 */
void sddp_stream_peer_done(struct sddp_stream *st)
{
	if (st->peer_closed || st->ended)
		return;
	st->peer_closed = true;
	st->peer_first = !READ_ONCE(st->closing);
	ddp_session_peer_closed(&st->ss);
	/* what a fence has held back waits for nothing any more */
	sddp_stream_event(st, SDDP_EV_TX);
}

static enum iw_reason sddp_stream_close_reason(const struct sddp_stream *st)
{
	return st->peer_first ? IW_PEER_CLOSED : IW_LOCAL_CLOSE;
}

/**
 * sddp_stream_shut - the peer has shut the association down
 * @st: a stream of it
 *
 * Return: why its session ends: one Terminate, whose ever, makes a graceful end
 * (RFC 5043 6.2).
 */
enum iw_reason sddp_stream_shut(const struct sddp_stream *st)
{
	if (!st->s.we_done && !st->s.peer_done)
		return IW_PEER_RESET;
	return sddp_stream_close_reason(st);
}

/*
 * How far a graceful end has got: with what goes to SCTP, then with what the
 * peer acknowledges in front of our Terminate, and with that.
 */
static u64 progress(const struct sddp_stream *st)
{
	if (sddp_session_heard(&st->s))
		return 3ull << 32;
	if (st->s.we_done)
		return 2ull << 32 | st->a->acked;
	return 1ull << 32 | st->tx_ssn;
}

/* As long as it gets on, so does its time */
static void wait_closed(struct sddp_stream *st)
{
	u64 step = progress(st);

	if (step == st->step)
		return;
	st->step = step;
	sddp_stream_deadline(st, sddp_session_heard(&st->s) ? DEADLINE_CLOSE
							    : DEADLINE_DRAIN);
}

/**
 * sddp_stream_close - the next step of a graceful end, if it is asked for
 * @st: the stream; worker
 *
 * What is posted goes out first, then Terminate, then the peer's.
 */
void sddp_stream_close(struct sddp_stream *st)
{
	if (st->ended || !READ_ONCE(st->closing))
		return;
	/* what is told to have ended well has arrived */
	if (sddp_session_reusable(&st->s))
		sddp_stream_end(st, sddp_stream_close_reason(st), NULL);
	else if (st->s.state == SDDP_OPEN)
		wait_closed(st);
	/* who was told that it is accepted has things to send behind the Accept */
	else if (!st->up)
		sddp_stream_end(st, IW_LOCAL_CLOSE, NULL);
}

/* Return: whether it was on the list of those with something to do */
static bool change_home(struct sddp_stream *st, struct sddp_assoc *to, u16 id)
{
	struct sddp_assoc *from = st->a;
	bool listed;

	spin_lock_irq(&from->lock);
	listed = !list_empty(&st->ready);
	list_del_init(&st->ready);
	WRITE_ONCE(st->id, id);
	/* who finds the new one takes its lock, and never ours; litmus: home */
	smp_store_release(&st->a, to);
	spin_unlock_irq(&from->lock);
	return listed;
}

/*
 * Nothing of its session has been said, and the peer allows fewer streams than
 * its number asks for: on to another association.  Return: whether it is gone.
 */
static bool sddp_stream_move_on(struct sddp_stream *st)
{
	struct sddp_assoc *from = st->a, *to;
	u16 id;

	to = sddp_assoc_another(from, &st->ss, &id);
	if (IS_ERR(to)) {
		sddp_stream_end(st, ddp_sock_reason(PTR_ERR(to), IW_NO_MEMORY),
				NULL);
		return false;
	}
	trace_sddp_session_move(st, to, id);
	xa_erase(&from->streams, st->id);
	list_del_init(&st->turn);
	list_del_init(&st->late);
	/* while it is ours: it may be up there as soon as that worker finds it */
	sddp_assoc_left(from, st);
	if (change_home(st, to, id))
		ddp_session_put(&st->ss);
	/* reserved before, so it needs no memory */
	xa_store(&to->streams, id, st, GFP_KERNEL);
	/* and what it was asked for meanwhile, its time included */
	sddp_stream_event(st, SDDP_EV_TIMEOUT);
	/* its own; the worker has another one */
	sddp_assoc_put(from);
	return true;
}

static bool is_beyond(const struct sddp_stream *st)
{
	return st->a->phase == SDDP_UP && st->id >= st->a->limit && !st->ended;
}

/* May its number be had by the next one? */
static bool is_free(const struct sddp_stream *st)
{
	return st->s.state == SDDP_IDLE || sddp_session_reusable(&st->s);
}

/*
 * Of a session of the peer's on its own association: it alone begins the next
 * one there, and knows what it has got of this one.
 */
static bool is_spent(const struct sddp_stream *st)
{
	return !st->s.active && !st->a->active &&
	       (st->s.we_done || !st->told);
}

/* Its number is the next session's, which has waited for that */
static void sddp_stream_pass_on(struct sddp_stream *st)
{
	struct sddp_stream *next = st->next;

	st->next = NULL;
	/* in its place, so it needs no memory */
	xa_store(&st->a->streams, st->id, next, GFP_KERNEL);
	sddp_stream_forget(st);
	sddp_rx_begin(next);
}

/**
 * sddp_stream_leave - see whether anything of it is still wanted
 * @st: the stream; worker.  It may be dropped
 */
void sddp_stream_leave(struct sddp_stream *st)
{
	if (!st->ended)
		return;
	sddp_rx_settle(st);
	if (is_free(st) && st->next)
		sddp_stream_pass_on(st);
	else if (is_free(st))
		sddp_stream_drop(st);
	else if (is_spent(st))
		sddp_stray_leave(st, sddp_session_may(&st->s,
						      SDDP_SAY_TERMINATE));
}

/**
 * sddp_stream_serve - the worker's look at one stream
 * @st: the stream
 */
void sddp_stream_serve(struct sddp_stream *st)
{
	unsigned long events;

	sddp_stream_take_word(st);
	/* it has left the table, and ended before, or is not in it yet */
	if (xa_load(&st->a->streams, st->id) != st)
		return;
	/* litmus: none, see queue_work() */
	events = xchg(&st->events, 0);
	if (st->a->phase == SDDP_ENDED) {
		sddp_stream_end(st, st->a->why, NULL);
		sddp_stream_drop(st);
		return;
	}
	if (test_bit(SDDP_EV_ABORT, &events))
		sddp_stream_end(st, READ_ONCE(st->why), NULL);
	if (is_beyond(st) && sddp_stream_move_on(st))
		return;
	sddp_rx_resume(st);
	sddp_stream_close(st);
	if (st->a->phase == SDDP_UP)
		sddp_tx_queue(st);
	/* what has arrived counts before the clock does, and what comes of it */
	if (test_bit(SDDP_EV_TIMEOUT, &events))
		list_move_tail(&st->late, &st->a->late);
	sddp_stream_leave(st);
}
