// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connection requests that are attached to a listener, see ddp/port.h.
 *
 * User processes take the listener's lock, so it is a spinlock: a process that
 * was preempted with a mutex held would block the workers of the LLP. Only the
 * removal of a listener sleeps: ddp_backlog_drain() waits for upcalls in
 * progress.
 */
#include <linux/export.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>

#include <ddp/addr.h>

#include "backlog.h"
#include "admission.h"

#define EVICT_CANDIDATES	16	/* choose among this many oldest requests of a bucket */

/**
 * ddp_backlog_init - initialize the lock, lists and seed of a new listener
 * @l: the listener, zeroed
 */
void ddp_backlog_init(struct ddp_port_listener *l)
{
	int i;

	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->requests);
	for (i = 0; i < DDP_SOURCES; i++)
		INIT_LIST_HEAD(&l->from[i]);
	l->seed = get_random_u32();
}

static u32 source_to_bucket(u32 source)
{
	return source % DDP_SOURCES;
}

static void __remove_pending(struct ddp_port_listener *l, struct ddp_conn_req *c)
{
	lockdep_assert_held(&l->lock);
	if (!c->pending)
		return;
	c->pending = false;
	list_del(&c->list);
	list_del(&c->bucket_entry);
	l->npending--;
	l->pending_from[source_to_bucket(c->source)]--;
}

static void __evict_request(struct ddp_port_listener *l, struct ddp_conn_req *c)
{
	__remove_pending(l, c);
	c->evicted = true;
	l->ops->evict(c);
}

static struct ddp_conn_req *__choose_request_to_evict(struct list_head *bucket_entry)
{
	struct ddp_conn_req *c, *at[EVICT_CANDIDATES];
	u32 source[EVICT_CANDIDATES], n = 0;

	list_for_each_entry(c, bucket_entry, bucket_entry) {
		at[n] = c;
		source[n++] = c->source;
		if (n == EVICT_CANDIDATES)
			break;
	}
	return at[ddp_choose_evict_request(source, n)];
}

static void __choose_and_evict_request(struct ddp_port_listener *l)
{
	struct ddp_conn_req *c;
	u32 loser;

	c = list_first_entry(&l->requests, struct ddp_conn_req, list);
	loser = ddp_choose_evict_bucket(l->pending_from, DDP_SOURCES,
					source_to_bucket(c->source));
	__evict_request(l, __choose_request_to_evict(&l->from[loser]));
}

static bool __ddp_backlog_try_admit(struct ddp_port_listener *l, u32 source)
{
	const struct ddp_admit_state backlog = {
		.limit = l->limit, .npending = l->npending, .nattached = l->nattached,
		.same_source = l->pending_from[source_to_bucket(source)],
	};

	lockdep_assert_held(&l->lock);
	if (l->dead)
		return false;
	if (!l->ops->evict)
		return ddp_may_admit(&backlog);
	if (!ddp_may_admit_with_eviction(&backlog))
		return false;
	if (l->npending >= l->limit)
		__choose_and_evict_request(l);
	return true;
}

/**
 * ddp_port_try_attach_request - attach a connection request to a listener
 * @l: the listener
 * @c: the request, which must not be attached; on success it holds a reference
 *	to @l
 * @from: the peer's address
 *
 * Evicts another request if the listener is at its limit and the LLP can evict
 * requests. Calls of this function and of ddp_port_detach_request() for the same
 * request must not overlap. If the LLP can evict requests, no pending
 * request stays on a listener that is being removed: mark_dead_and_evict_first() sets
 * l->dead under the lock and then evicts the pending requests, and later calls of
 * this function fail.
 * litmus: children
 *
 * Return: true if @c is attached and pending; false if the listener has too
 * many requests or is being removed.
 */
bool ddp_port_try_attach_request(struct ddp_port_listener *l, struct ddp_conn_req *c,
				 const struct sockaddr_storage *from)
{
	u32 source = ddp_addr_hash_source(from, l->seed);
	bool ok;

	spin_lock(&l->lock);
	ok = __ddp_backlog_try_admit(l, source);
	if (ok) {
		kref_get(&l->ref);
		c->listener = l;
		c->source = source;
		c->pending = true;
		list_add_tail(&c->list, &l->requests);
		list_add_tail(&c->bucket_entry, &l->from[source_to_bucket(source)]);
		l->npending++;
		l->pending_from[source_to_bucket(source)]++;
		l->nattached++;
	}
	spin_unlock(&l->lock);
	return ok;
}
EXPORT_SYMBOL_GPL(ddp_port_try_attach_request);

/**
 * ddp_port_detach_request - detach a connection request from its listener
 * @c: the request; the call has no effect if @c is not attached
 */
void ddp_port_detach_request(struct ddp_conn_req *c)
{
	struct ddp_port_listener *l = c->listener;

	if (!l)
		return;
	spin_lock(&l->lock);
	__remove_pending(l, c);
	l->nattached--;
	spin_unlock(&l->lock);
	c->listener = NULL;
	c->evicted = false;
	ddp_port_put_listener(l);
}
EXPORT_SYMBOL_GPL(ddp_port_detach_request);

/*
 * Begin an upcall on @l, for the request @c, which may be NULL. Return: true if
 * the caller may make the upcall, and must then call end_upcall(); false if the
 * listener is being removed or @c has been evicted.
 */
static bool try_begin_upcall(struct ddp_port_listener *l, struct ddp_conn_req *c)
{
	bool ok;

	spin_lock(&l->lock);
	ok = !l->dead && !(c && c->evicted);
	l->upcalls += ok;
	/*
	 * The ULP is notified of @c now, so @c is no longer pending and must not be
	 * evicted. If the LLP cannot evict, @c stays pending until it is detached.
	 */
	if (ok && c && l->ops->evict)
		__remove_pending(l, c);
	spin_unlock(&l->lock);
	return ok;
}

/*
 * End an upcall, and wake ddp_backlog_drain() after the last one.
 * has_no_upcalls() takes the lock, so ddp_backlog_drain() cannot return, and
 * the listener cannot be freed, before the lock is released here.
 * litmus: upcalls
 */
static void end_upcall(struct ddp_port_listener *l)
{
	spin_lock(&l->lock);
	l->upcalls--;
	if (l->dead && !l->upcalls)
		wake_up_var(&l->upcalls);
	spin_unlock(&l->lock);
}

/**
 * ddp_port_get_policy - get the settings for the session of a new peer
 * @l: the listener
 * @policy: filled in
 *
 * Return: true if @policy is valid; false if the listener is being removed.
 */
bool ddp_port_get_policy(struct ddp_port_listener *l, struct ddp_policy *policy)
{
	if (!try_begin_upcall(l, NULL))
		return false;
	ddp_listener_get_policy(&l->dl, policy);
	end_upcall(l);
	return true;
}
EXPORT_SYMBOL_GPL(ddp_port_get_policy);

/**
 * ddp_port_report_request - pass a peer's request to the ULP
 * @c: the request, attached to the listener
 * @ss: the session; its ULP (@user) must be that of the listener
 * @o: IRD, ORD, RTR types and Private Data from the peer
 *
 * Return: 0 if the ULP has taken over the session, and will accept, reject or
 * stop it; -ECONNREFUSED if the listener is being removed or @c has been evicted; or
 * the negative errno with which the ULP has refused the request.
 */
int ddp_port_report_request(struct ddp_conn_req *c, struct ddp_session *ss,
			    const struct ddp_offer *o)
{
	struct ddp_port_listener *l = c->listener;
	int err;

	if (!try_begin_upcall(l, c))
		return -ECONNREFUSED;
	/* the ULP takes over this reference if the upcall returns 0 */
	ddp_session_get(ss);
	err = ddp_session_report_request(&l->dl, ss, o);
	if (err)
		ddp_session_put(ss);
	end_upcall(l);
	return err;
}
EXPORT_SYMBOL_GPL(ddp_port_report_request);

/**
 * ddp_port_report_refused - report a failed connection setup, of which the ULP has no session
 * @l: the listener
 * @why: reason of the failure
 */
void ddp_port_report_refused(struct ddp_port_listener *l, enum iw_reason why)
{
	if (!try_begin_upcall(l, NULL))
		return;
	ddp_session_report_refused(&l->dl, why);
	end_upcall(l);
}
EXPORT_SYMBOL_GPL(ddp_port_report_refused);

/*
 * Mark the listener as dead, and evict its oldest pending request. Return: true
 * if a request was evicted; false if none is pending, or the LLP cannot evict
 * requests. litmus: children, children-weak
 */
static bool mark_dead_and_evict_first(struct ddp_port_listener *l)
{
	struct ddp_conn_req *c;

	spin_lock(&l->lock);
	l->dead = true;
	c = list_first_entry_or_null(&l->requests, struct ddp_conn_req, list);
	if (c && l->ops->evict)
		__evict_request(l, c);
	else
		c = NULL;
	spin_unlock(&l->lock);
	return c;
}

/*
 * Check whether no upcall is in progress. Takes the lock, so end_upcall() has
 * released the lock before the caller frees the listener. litmus: upcalls
 */
static bool has_no_upcalls(struct ddp_port_listener *l)
{
	bool none;

	spin_lock(&l->lock);
	none = !l->upcalls;
	spin_unlock(&l->lock);
	return none;
}

/**
 * ddp_backlog_drain - evict the pending requests of a listener and wait for its upcalls
 * @l: the listener; the caller must have removed @l from its port
 *
 * Evicts no request if the LLP cannot. Sleeps. On return no upcall on @l runs or
 * will start.
 */
void ddp_backlog_drain(struct ddp_port_listener *l)
{
	while (mark_dead_and_evict_first(l))
		cond_resched();
	wait_var_event(&l->upcalls, has_no_upcalls(l));
}
