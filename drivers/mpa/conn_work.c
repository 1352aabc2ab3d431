// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Workers of connections: handle events, check the deadline, transmit.
 *
 * conn_event.c sets the events and queues the workers. The workers advance the
 * state machine in conn.c. Before Full Operation the worker of the start-up queue
 * handles the events of a connection, from then on the connection's own worker. A
 * queued worker has a reference on the connection. The connection's mutex ensures
 * that only one worker at a time handles its events.
 */
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "internal.h"

#define MAX_POLLS	4	/* maximum calls of mpa_conn_poll_once() per mpa_conn_poll() */
#define BATCH	16	/* maximum number of connections in a call of mpa_connq_work() */

static void mpa_conn_timer_work(struct work_struct *work)
{
	struct mpa_conn *c = container_of(to_delayed_work(work),
					  struct mpa_conn, timer);

	mpa_conn_set_event(c, MPA_EV_TIMEOUT);
}

/* Check whether the deadline passed at least @grace seconds ago */
static bool has_deadline_passed(const struct mpa_conn *c, unsigned int grace)
{
	return c->has_deadline && time_after_eq(jiffies, c->deadline + grace * HZ);
}

/*
 * Tear down the connection if its deadline has passed; otherwise arm the timer for the deadline.
 * @more: true if the socket has received data that is not processed yet. The worker then runs
 * again soon, and may find the FIN that the deadline waits for, so allow MPA_DEADLINE_CLOSE
 * seconds more.
 */
static void enforce_deadline(struct mpa_conn *c, bool more)
{
	if (has_deadline_passed(c, more ? MPA_DEADLINE_CLOSE : 0))
		mpa_conn_tear_down(c, IW_TIMEOUT, NULL);
	else if (c->has_deadline && !more)
		mpa_conn_arm_timer_if_earlier(c, max_t(long, c->deadline - jiffies, 0));
}

/*
 * Handle the events that are set. Receive data before checking the deadline: otherwise a
 * worker that was delayed would tear down a connection although the peer's Reply has
 * arrived in time. Return: true if the worker should let other work run now; false if it
 * may check for events again.
 */
static bool mpa_conn_poll_once(struct mpa_conn *c)
{
	unsigned long events = xchg(&c->events, 0);	/* litmus: seen-to-what */
	bool enough = false;

	if (test_bit(MPA_EV_TIMEOUT, &events))
		c->timer_armed = false;
	if (c->phase != MPA_ENDED)
		enough = mpa_conn_handle_events(c, events);
	if (c->phase != MPA_ENDED)
		enforce_deadline(c, enough);
	/* handle this event in any phase: no other context is scheduled to transmit, see tx.c */
	if (test_bit(MPA_EV_TX, &events)) {
		mpa_tx_work(c);
		enough = true;
	}
	return enough;
}

/*
 * Handle events until no event is set or mpa_conn_poll_once() returns true, but at
 * most MAX_POLLS times. Handling an event often causes new events soon, and polling
 * for them costs less than queueing the worker again. @in_connq: true in the worker of
 * a start-up queue, which must stop early if another connection is waiting in the queue.
 */
static void mpa_conn_poll(struct mpa_conn *c, bool in_connq)
{
	int left = MAX_POLLS;

	while (left-- && !mpa_conn_poll_once(c) && mpa_conn_has_events(c) &&
	       !(in_connq && mpa_connq_has_pending_conn(c->connq)))
		;
}

/*
 * Handle the events of a connection. @in_connq: true in the worker of the start-up
 * queue, false in the connection's own worker. The caller must hold a reference.
 * If another context holds the mutex, do nothing: mpa_conn_unlock() in that context
 * queues the worker again.
 */
static void mpa_conn_trylock_and_poll(struct mpa_conn *c, bool in_connq)
{
	unsigned int noio;

	if (!mpa_conn_trylock(c))
		return;
	/* forbid I/O in memory reclaim: it could wait for storage reached through this device */
	noio = memalloc_noio_save();
	if (c->phase != MPA_NEW)
		mpa_conn_poll(c, in_connq);
	memalloc_noio_restore(noio);
	mpa_conn_unlock(c);
}

static void mpa_conn_work(struct work_struct *w)
{
	struct mpa_conn *c = container_of(w, struct mpa_conn, work);

	mpa_conn_trylock_and_poll(c, false);
	ddp_session_put(&c->ss);
}

/**
 * mpa_connq_work - handle the events of connections in start-up, in FIFO order
 * @work: work item of a start-up queue
 *
 * Never waits for a peer, a program or another start-up queue.
 */
void mpa_connq_work(struct work_struct *work)
{
	struct mpa_connq *connq = container_of(work, struct mpa_connq, work);
	struct mpa_conn *c;
	int n = 0;

	while (n++ < BATCH && (c = mpa_connq_pop(connq))) {
		mpa_conn_trylock_and_poll(c, true);
		ddp_session_put(&c->ss);
		cond_resched();
	}
	if (n > BATCH)
		mpa_connq_queue_work(connq);
	mpa_connq_put(connq);
}

/**
 * mpa_conn_init - initialize mutex, events, worker and timer
 * @c: the new connection
 */
void mpa_conn_init(struct mpa_conn *c)
{
	mutex_init(&c->mutex);
	/* events must not queue the worker until the creator calls mpa_conn_unlock() */
	c->holder_polls = true;
	spin_lock_init(&c->query_lock);
	INIT_WORK(&c->work, mpa_conn_work);
	INIT_DELAYED_WORK(&c->timer, mpa_conn_timer_work);
	mpa_tx_init(c);
}
