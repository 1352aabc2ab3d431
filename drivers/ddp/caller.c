// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connection requests that are attached to a listener, see ddp/port.h.
 *
 * The listener's lock is a spinlock, so a user process cannot be stopped while
 * it holds the lock. Workers of the LLP never wait here; only the removal of a
 * listener does, for upcalls in progress.
 */
#include <linux/export.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>

#include <ddp/addr.h>

#include "caller.h"
#include "share.h"

#define LOOKED_AT	16	/* requests compared when one is evicted */

/**
 * ddp_callers_init - initialize the list of requests of a new listener
 * @l: the listener
 */
void ddp_callers_init(struct ddp_port_listener *l)
{
	int i;

	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->callers);
	for (i = 0; i < DDP_SOURCES; i++)
		INIT_LIST_HEAD(&l->from[i]);
	l->seed = get_random_u32();
}

static u32 number_of(u32 source)
{
	return source % DDP_SOURCES;
}

static void __unlist(struct ddp_port_listener *l, struct ddp_caller *c)
{
	lockdep_assert_held(&l->lock);
	if (!c->listed)
		return;
	c->listed = false;
	list_del(&c->list);
	list_del(&c->alike);
	l->waiting--;
	l->waiting_from[number_of(c->source)]--;
}

static void __send_away(struct ddp_port_listener *l, struct ddp_caller *c)
{
	__unlist(l, c);
	c->away = true;
	l->ops->orphaned(c);
}

static struct ddp_caller *__loser_of(struct list_head *alike)
{
	struct ddp_caller *c, *at[LOOKED_AT];
	u32 source[LOOKED_AT], n = 0;

	list_for_each_entry(c, alike, alike) {
		at[n] = c;
		source[n++] = c->source;
		if (n == LOOKED_AT)
			break;
	}
	return at[ddp_share_victim(source, n)];
}

static void __send_one_away(struct ddp_port_listener *l)
{
	struct ddp_caller *c;
	u32 loser;

	c = list_first_entry(&l->callers, struct ddp_caller, list);
	loser = ddp_share_loser(l->waiting_from, DDP_SOURCES,
				number_of(c->source));
	__send_away(l, __loser_of(&l->from[loser]));
}

static bool __ddp_make_room(struct ddp_port_listener *l, u32 source)
{
	const struct ddp_crowd crowd = {
		.bound = l->bound, .waiting = l->waiting, .held = l->held,
		.own = l->waiting_from[number_of(source)],
	};

	lockdep_assert_held(&l->lock);
	if (l->dead)
		return false;
	if (!l->ops->orphaned)
		return ddp_share_fits(&crowd);
	if (!ddp_share_takes(&crowd))
		return false;
	if (l->waiting >= l->bound)
		__send_one_away(l);
	return true;
}

/**
 * ddp_port_wait - attach a connection request to a listener
 * @l: the listener
 * @c: the request, not attached; holds a reference to @l afterwards
 * @from: address that the request comes from
 *
 * If the listener is full and the LLP can evict requests, another one is
 * evicted. litmus: children
 *
 * Return: true if @c is attached and pending; false if the listener has too
 * many requests or is being removed.
 */
bool ddp_port_wait(struct ddp_port_listener *l, struct ddp_caller *c,
		   const struct sockaddr_storage *from)
{
	u32 source = ddp_addr_source(from, l->seed);
	bool ok;

	spin_lock(&l->lock);
	ok = __ddp_make_room(l, source);
	if (ok) {
		kref_get(&l->ref);
		c->at = l;
		c->source = source;
		c->listed = true;
		list_add_tail(&c->list, &l->callers);
		list_add_tail(&c->alike, &l->from[number_of(source)]);
		l->waiting++;
		l->waiting_from[number_of(source)]++;
		l->held++;
	}
	spin_unlock(&l->lock);
	return ok;
}
EXPORT_SYMBOL_GPL(ddp_port_wait);

/**
 * ddp_port_leave - detach a connection request from its listener
 * @c: the request; nothing happens if it is not attached
 */
void ddp_port_leave(struct ddp_caller *c)
{
	struct ddp_port_listener *l = c->at;

	if (!l)
		return;
	spin_lock(&l->lock);
	__unlist(l, c);
	l->held--;
	spin_unlock(&l->lock);
	c->at = NULL;
	c->away = false;
	ddp_port_put(l);
}
EXPORT_SYMBOL_GPL(ddp_port_leave);

/*
 * Start an upcall, of the request @c unless that is NULL. Return: true if the
 * caller may make the upcall and must call end_upcall() then; false if the
 * listener is being removed or @c has been evicted.
 */
static bool begin_upcall(struct ddp_port_listener *l, struct ddp_caller *c)
{
	bool ok;

	spin_lock(&l->lock);
	ok = !l->dead && !(c && c->away);
	l->upcalls += ok;
	/* passed to the ULP: no longer pending, so not evicted any more */
	if (ok && c && l->ops->orphaned)
		__unlist(l, c);
	spin_unlock(&l->lock);
	return ok;
}

/*
 * The listener cannot be freed before the unlock, because ddp_callers_end()
 * takes the lock to check the count; litmus: upcalls
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
 * ddp_port_policy - get the settings for the session of a new peer
 * @l: the listener
 * @policy: filled in
 *
 * Return: true if @policy is valid; false if the listener is being removed.
 */
bool ddp_port_policy(struct ddp_port_listener *l, struct ddp_policy *policy)
{
	if (!begin_upcall(l, NULL))
		return false;
	ddp_session_policy(&l->dl, policy);
	end_upcall(l);
	return true;
}
EXPORT_SYMBOL_GPL(ddp_port_policy);

/**
 * ddp_port_request - pass a peer's request to the user of sessions
 * @c: the request, attached to the listener
 * @ss: the session; its user must be that of the listener
 * @o: start-up data of the peer
 *
 * Return: 0 if the user has taken the request and will answer it; a negative
 * errno if the request was refused.
 */
int ddp_port_request(struct ddp_caller *c, struct ddp_session *ss,
		     const struct ddp_offer *o)
{
	struct ddp_port_listener *l = c->at;
	int err;

	if (!begin_upcall(l, c))
		return -ECONNREFUSED;
	/* reference for the user */
	ddp_session_get(ss);
	err = ddp_session_request(&l->dl, ss, o);
	if (err)
		ddp_session_put(ss);
	end_upcall(l);
	return err;
}
EXPORT_SYMBOL_GPL(ddp_port_request);

/**
 * ddp_port_refused - report a start-up that failed before its request
 * @l: the listener
 * @why: the reason
 */
void ddp_port_refused(struct ddp_port_listener *l, enum iw_reason why)
{
	if (!begin_upcall(l, NULL))
		return;
	ddp_session_refused(&l->dl, why);
	end_upcall(l);
}
EXPORT_SYMBOL_GPL(ddp_port_refused);

/* litmus: children, children-weak */
static bool send_first_away(struct ddp_port_listener *l)
{
	struct ddp_caller *c;

	spin_lock(&l->lock);
	l->dead = true;
	c = list_first_entry_or_null(&l->callers, struct ddp_caller, list);
	if (c && l->ops->orphaned)
		__send_away(l, c);
	else
		c = NULL;
	spin_unlock(&l->lock);
	return c;
}

/* litmus: upcalls */
static bool no_upcalls(struct ddp_port_listener *l)
{
	bool none;

	spin_lock(&l->lock);
	none = !l->upcalls;
	spin_unlock(&l->lock);
	return none;
}

/**
 * ddp_callers_end - evict all requests of a listener and wait for its upcalls
 * @l: the listener, removed from its port
 *
 * Sleeps. On return no upcall runs or will start.
 */
void ddp_callers_end(struct ddp_port_listener *l)
{
	while (send_first_away(l))
		cond_resched();
	wait_var_event(&l->upcalls, no_upcalls(l));
}
