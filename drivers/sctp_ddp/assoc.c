// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Life of an association: SCTP's handshake, sessions on its streams, end.
 *
 * All sessions between two endpoints share one, as long as it has free
 * streams.  The side that made it numbers the sessions.  One worker per
 * association does all: it makes the socket, receives, hands up, sends, and
 * moves sessions from state to state.  Programs, whose sessions may be many
 * and whose pace is their own, leave it word and never take its mutex.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "internal.h"
#include "share.h"
#include "trace.h"

#define IDLE_ACTIVE	5	/* seconds without a session: who made it ends it */
#define IDLE_PASSIVE	60	/* ... and if it does not */
#define IDLE_UNUSED	10	/* for the first Initiate to come */

static atomic_t existing = ATOMIC_INIT(0);	/* not yet released */

/**
 * sddp_assoc_get - hold an association
 * @a: the association
 */
void sddp_assoc_get(struct sddp_assoc *a)
{
	kref_get(&a->ref);
}

static void sddp_assoc_release(struct kref *ref)
{
	struct sddp_assoc *a = container_of(ref, struct sddp_assoc, ref);

	xa_destroy(&a->streams);
	kvfree(a->out);
	put_net_track(a->net, &a->net_tracker);
	kfree_rcu(a, rcu);
	if (atomic_dec_and_test(&existing))
		wake_up_var(&existing);
}

/**
 * sddp_assoc_put - let go of it
 * @a: the association
 *
 * Any context: its socket went before.
 */
void sddp_assoc_put(struct sddp_assoc *a)
{
	kref_put(&a->ref, sddp_assoc_release);
}

/**
 * sddp_assoc_kick - have the worker look
 * @a: the association; held, or the caller is one of its callbacks
 *
 * Any context.
 */
void sddp_assoc_kick(struct sddp_assoc *a)
{
	if (!kref_get_unless_zero(&a->ref))
		return;
	if (!queue_work(sddp_wq, &a->work))
		sddp_assoc_put(a);
}

static void sddp_assoc_set_phase(struct sddp_assoc *a, enum sddp_phase phase)
{
	WRITE_ONCE(a->phase, phase);
	trace_sddp_assoc_phase(a, phase);
}

static enum iw_reason sddp_assoc_lost_reason(int err)
{
	return ddp_sock_reason(err, IW_PEER_RESET);
}

static void end_stream(struct sddp_stream *st, enum iw_reason why)
{
	sddp_stream_end(st, why == IW_PEER_CLOSED ? sddp_stream_shut(st) : why,
			NULL);
	sddp_stream_drop(st);
}

/* @but_waiting: those stay that wait for memory */
static void end_streams(struct sddp_assoc *a, enum iw_reason why, bool but_waiting)
{
	struct sddp_stream *st;
	unsigned long id;
	void *at;

	xa_for_each(&a->streams, id, at) {
		st = at;
		if (!xa_is_value(at) && !(but_waiting && st->put_off))
			end_stream(st, why);
	}
}

/*
 * The end of all its sessions.  None of them says anything more: that would
 * only delay it (RFC 5043 11.3).
 */
static void sddp_assoc_finish(struct sddp_assoc *a, enum iw_reason why,
			      bool abort)
{
	sddp_crowd_leave(a);
	sddp_table_close(a);
	a->why = why;
	sddp_assoc_set_phase(a, SDDP_ENDED);
	trace_sddp_assoc_end(a, why);
	cancel_delayed_work_sync(&a->idle);
	cancel_delayed_work_sync(&a->look);
	cancel_delayed_work_sync(&a->retry);
	end_streams(a, why, false);
	sddp_sock_release(a, abort);
	/* who is not rid of its queue pair keeps the rest */
	kvfree(a->out);
	a->out = NULL;
	/* the callbacks' reference */
	sddp_assoc_put(a);
}

/* When its time is to be looked at: it is a stranger again long before it is over */
static unsigned long sddp_assoc_due(const struct sddp_assoc *a)
{
	return a->used ? a->until - (IDLE_PASSIVE - IDLE_UNUSED) * HZ : a->until;
}

static void sddp_assoc_arm(struct sddp_assoc *a)
{
	unsigned long due = sddp_assoc_due(a);

	mod_delayed_work(sddp_wq, &a->idle, time_after(due, jiffies) ?
			 due - jiffies : 0);
}

/* Worker: does it carry a session, or is its time to be watched? */
static void sddp_assoc_idle(struct sddp_assoc *a)
{
	if (a->guests || a->phase != SDDP_UP)
		return;
	if (!atomic_read(&a->live)) {
		sddp_tx_rest(a);
		if (!a->used && !a->active && !sddp_crowd_rejoin(a)) {
			a->unwanted = a->unwanted ?: IW_LOCAL_CLOSE;
			sddp_assoc_kick(a);
		}
	}
	sddp_assoc_arm(a);
}

/*
 * Seconds that a session of this kind is worth.  What nobody here wanted, or was even
 * asked about, is worth none: else a peer could keep an association for ever
 */
static unsigned int sddp_assoc_worth(const struct sddp_assoc *a,
				     const struct sddp_stream *st)
{
	if (st->up || st->s.active)
		return a->active ? IDLE_ACTIVE : IDLE_PASSIVE;
	return st->told && !a->active ? IDLE_UNUSED : 0;
}

/**
 * sddp_assoc_left - a session has ended, or goes on elsewhere: was it the last one?
 * @a: the association; worker
 * @st: the session's stream
 */
void sddp_assoc_left(struct sddp_assoc *a, const struct sddp_stream *st)
{
	unsigned long until = jiffies + sddp_assoc_worth(a, st) * HZ;

	if (time_after(until, a->until))
		a->until = until;
	a->guests -= st->up;
	atomic_dec(&a->live);
	sddp_assoc_idle(a);
}

/* From here on it is a stranger, and may have no more than these.  Return: whether it has */
static bool sddp_assoc_estrange(struct sddp_assoc *a)
{
	if (!sddp_sock_shrink(a))
		return false;
	a->used = false;
	a->strays = 0;
	sddp_assoc_idle(a);
	return true;
}

/* A look at its time.  Return: whether it is over, or has to be */
static bool sddp_assoc_expired(struct sddp_assoc *a)
{
	if (a->guests)
		return false;
	if (time_after(sddp_assoc_due(a), jiffies)) {
		sddp_assoc_arm(a);
		return false;
	}
	if (a->used)
		return !sddp_assoc_estrange(a);
	return sddp_table_close_idle(a);
}

static void sddp_assoc_idle_expired(struct work_struct *w)
{
	struct sddp_assoc *a = container_of(to_delayed_work(w),
					    struct sddp_assoc, idle);

	WRITE_ONCE(a->idle_due, true);
	sddp_assoc_kick(a);
}

static void sddp_assoc_look_expired(struct work_struct *w)
{
	struct sddp_assoc *a = container_of(to_delayed_work(w),
					    struct sddp_assoc, look);

	WRITE_ONCE(a->look_due, true);
	sddp_assoc_kick(a);
}

/* All those that wait for the association can begin, or have to move on */
static void begin_sessions(struct sddp_assoc *a)
{
	unsigned long id;
	void *at;

	xa_for_each(&a->streams, id, at)
		if (!xa_is_value(at))
			sddp_stream_event(at, SDDP_EV_TX);
}

static struct sddp_stream *sddp_assoc_take_first(struct sddp_assoc *a,
						 struct list_head *from)
{
	struct sddp_stream *st;

	spin_lock_irq(&a->lock);
	st = list_first_entry_or_null(from, struct sddp_stream, ready);
	if (st)
		list_del_init(&st->ready);
	spin_unlock_irq(&a->lock);
	return st;
}

/* @more: not all that has arrived has been looked at */
static void look_late(struct sddp_assoc *a, bool more)
{
	struct sddp_stream *st;

	while (!list_empty(&a->late)) {
		st = list_first_entry(&a->late, struct sddp_stream, late);
		list_del_init(&st->late);
		sddp_stream_late(st, more);
	}
}

/*
 * Each stream of which something is asked is looked at; who has something to
 * send gets in line.  @more: see look_late().  @lost: nothing is sent any more, for
 * whoever would get that may be somebody else.  Return: whether there is more to do at
 * once
 */
static bool sddp_assoc_serve(struct sddp_assoc *a, bool more, bool lost)
{
	bool up = a->phase == SDDP_UP && !lost, again = false;
	struct sddp_stream *st;
	LIST_HEAD(now);

	if (up)
		sddp_tx_acks(a);
	spin_lock_irq(&a->lock);
	list_splice_init(&a->ready, &now);
	spin_unlock_irq(&a->lock);
	while ((st = sddp_assoc_take_first(a, &now))) {
		sddp_stream_serve(st);
		/* the list's */
		ddp_session_put(&st->ss);
	}
	if (up)
		again = sddp_tx_run(a);
	look_late(a, more);
	return again || !list_empty_careful(&a->ready);
}

static enum iw_reason unmade_reason(int err)
{
	return ddp_sock_reason(err, err == -ENOMEM || err == -ENOBUFS ?
			       IW_NO_MEMORY : IW_UNREACHABLE);
}

static void make(struct sddp_assoc *a)
{
	int err;

	/* who wanted it may have thought better of it */
	if (sddp_table_close_idle(a)) {
		sddp_assoc_finish(a, IW_LOCAL_CLOSE, true);
		return;
	}
	err = sddp_sock_connect(a);
	if (err)
		sddp_assoc_finish(a, unmade_reason(err), true);
	else
		sddp_assoc_set_phase(a, SDDP_CONNECTING);
}

static void sddp_assoc_connected(struct sddp_assoc *a)
{
	enum iw_reason why = sddp_sock_up(a);

	if (why != IW_OK) {
		sddp_assoc_finish(a, why, true);
		return;
	}
	sddp_assoc_set_phase(a, SDDP_UP);
	begin_sessions(a);
	sddp_assoc_idle(a);
}

static void sddp_assoc_connecting(struct sddp_assoc *a)
{
	int err;

	switch (sddp_sock_fate(a, &err)) {
	case SDDP_SOCK_COMING:
		/* some may not want to wait */
		sddp_assoc_serve(a, false, false);
		return;
	case SDDP_SOCK_OPEN:
		sddp_assoc_connected(a);
		return;
	default:
		sddp_assoc_finish(a, sddp_assoc_lost_reason(err), true);
	}
}

/* Something is due, once or more often.  What it is about is looked at after */
static bool is_due(bool *due)
{
	/* litmus: none, a full barrier before what it tells of is looked at */
	return READ_ONCE(*due) && xchg(due, false);
}

/*
 * Is there something to do before its end counts?  @more: as sddp_recv() said.  Not what
 * is to be sent: SCTP takes none of it any more, and programs can keep that going.
 */
static bool comes_first(const struct sddp_assoc *a, enum sddp_fate fate,
			int more)
{
	/* what is put off has come before, and who resumes kicks */
	if (a->put_off)
		return fate != SDDP_SOCK_LOST || more > 0;
	return more;
}

/*
 * The peer is done, and one session's memory has to come before that counts.  Nobody comes
 * here any more, and the others do not wait for it, once all that it has said is @taken
 */
static void sddp_assoc_end_others(struct sddp_assoc *a, bool taken)
{
	sddp_table_leave_way(a);
	if (taken)
		end_streams(a, IW_PEER_CLOSED, true);
}

static void talk(struct sddp_assoc *a)
{
	enum sddp_fate fate;
	int err, more;
	bool again;

	/* first: what the peer said before its end is then there to be taken */
	fate = sddp_sock_fate(a, &err);
	more = sddp_recv(a);
	/* a session has come meanwhile, and looks at that when it ends */
	if (a->unwanted == IW_LOCAL_CLOSE && atomic_read(&a->live))
		a->unwanted = IW_OK;
	if (a->unwanted) {
		sddp_assoc_finish(a, a->unwanted, true);
		return;
	}
	again = sddp_assoc_serve(a, more, fate == SDDP_SOCK_LOST);
	if (is_due(&a->look_due) && !sddp_path_look(a)) {
		sddp_assoc_finish(a, IW_TIMEOUT, true);
		return;
	}
	/* whatever else it says: that need not have an end */
	if (is_due(&a->idle_due) && sddp_assoc_expired(a)) {
		sddp_assoc_finish(a, IW_LOCAL_CLOSE, !a->active);
		return;
	}
	if (more < 0)
		sddp_assoc_backoff(a);
	if (more > 0 || again)
		sddp_assoc_kick(a);
	if (comes_first(a, fate, more)) {
		if (fate == SDDP_SOCK_PEER_DONE)
			sddp_assoc_end_others(a, !more);
		return;
	}
	switch (fate) {
	case SDDP_SOCK_LOST:
		sddp_assoc_finish(a, sddp_assoc_lost_reason(err), true);
		return;
	case SDDP_SOCK_PEER_DONE:
		sddp_assoc_finish(a, IW_PEER_CLOSED, false);
		return;
	default:
		break;
	}
}

/* Storage above us may be what memory is waiting for */
static void sddp_assoc_work(struct work_struct *w)
{
	struct sddp_assoc *a = container_of(w, struct sddp_assoc, work);
	unsigned int flags = memalloc_noio_save();

	mutex_lock(&a->mutex);
	a->looked = jiffies;
	if (a->phase != SDDP_ENDED && READ_ONCE(a->stop))
		sddp_assoc_finish(a, IW_LOCAL_ABORT, true);
	if (is_due(&a->left))
		sddp_assoc_idle(a);
	if (a->phase == SDDP_NEW)
		make(a);
	if (a->phase == SDDP_CONNECTING)
		sddp_assoc_connecting(a);
	if (a->phase == SDDP_UP)
		talk(a);
	/* those who came too late */
	if (a->phase == SDDP_ENDED)
		sddp_assoc_serve(a, false, true);
	mutex_unlock(&a->mutex);
	memalloc_noio_restore(flags);
	sddp_assoc_put(a);
}

/**
 * sddp_assoc_new - an association without a socket
 * @net: network namespace
 * @active: this side makes it
 *
 * Return: the association with one reference, the callbacks'; NULL if memory
 * is short.
 */
struct sddp_assoc *sddp_assoc_new(struct net *net, bool active)
{
	struct sddp_assoc *a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);

	if (!a)
		return NULL;
	a->active = active;
	a->until = jiffies + (active ? IDLE_ACTIVE : IDLE_UNUSED) * HZ;
	a->net = get_net_track(net, &a->net_tracker, GFP_KERNEL);
	kref_init(&a->ref);
	mutex_init(&a->mutex);
	spin_lock_init(&a->lock);
	INIT_LIST_HEAD(&a->list);
	INIT_HLIST_NODE(&a->way);
	INIT_LIST_HEAD(&a->ready);
	INIT_LIST_HEAD(&a->saying);
	INIT_LIST_HEAD(&a->sending);
	INIT_LIST_HEAD(&a->doubts);
	INIT_LIST_HEAD(&a->late);
	INIT_LIST_HEAD(&a->crowd);
	xa_init_flags(&a->streams, XA_FLAGS_ALLOC);
	INIT_WORK(&a->work, sddp_assoc_work);
	INIT_DELAYED_WORK(&a->idle, sddp_assoc_idle_expired);
	INIT_DELAYED_WORK(&a->look, sddp_assoc_look_expired);
	INIT_DELAYED_WORK(&a->retry, sddp_assoc_retry_expired);
	atomic_inc(&existing);
	return a;
}

/* The passive side ----------------------------------------------------------- */

/**
 * sddp_assoc_evict - a stranger makes room, if it still is one
 * @a: the association, held
 *
 * Sleeps.  Here and now, not in its worker: they are not to come faster than
 * they go.
 */
void sddp_assoc_evict(struct sddp_assoc *a)
{
	mutex_lock(&a->mutex);
	if (a->phase == SDDP_UP && !sddp_crowd_spare(a))
		sddp_assoc_finish(a, IW_LOCAL_CLOSE, true);
	mutex_unlock(&a->mutex);
}

/**
 * sddp_assoc_accepted - a peer has made an association
 * @a: new, with its socket, which has no callbacks
 *
 * If there are too many strangers another one makes room.  The caller has no
 * reference any more: it may have ended by then.
 *
 * Return: 0; -EPROTO: the peer's indication is not DDP's (RFC 5043 7.1), or it has
 * too many addresses, which has been counted, or it is gone: the association is not
 * in use, its reference and the socket are the caller's to end.
 */
int sddp_assoc_accepted(struct sddp_assoc *a)
{
	struct sddp_assoc *other;
	enum iw_reason why;

	mutex_lock(&a->mutex);
	why = sddp_sock_up(a);
	if (why != IW_OK) {
		mutex_unlock(&a->mutex);
		/* who has gone has asked for nothing */
		if (why != IW_PEER_RESET)
			sddp_listen_refused(a, why);
		return -EPROTO;
	}
	/* its worker may end it before we are through with the mutex */
	sddp_assoc_get(a);
	sddp_table_add(a);
	other = sddp_crowd_join(a);
	sddp_sock_attach(a);
	sddp_assoc_set_phase(a, SDDP_UP);
	sddp_assoc_idle(a);
	/* what came before the callbacks stood */
	sddp_assoc_kick(a);
	mutex_unlock(&a->mutex);
	sddp_assoc_put(a);
	if (other) {
		sddp_assoc_evict(other);
		sddp_assoc_put(other);
	}
	return 0;
}

/**
 * sddp_assoc_stop_all - the module goes: all end
 *
 * Nobody can make new ones.
 */
void sddp_assoc_stop_all(void)
{
	struct sddp_assoc *a;

	while ((a = sddp_table_take())) {
		WRITE_ONCE(a->stop, true);
		sddp_assoc_kick(a);
		sddp_assoc_put(a);
	}
	wait_var_event(&existing, !atomic_read(&existing));
}
