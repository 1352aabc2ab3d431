// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listeners of iw_cm, each over one or more LLPs of its device.  Requests that
 * arrive at them are in cm.c.
 *
 * All listeners follow a change of the device's "listen" setting, or none.  A
 * change visits the listeners in rounds and locks one at a time.  A program
 * that starts or stops one listener never waits for another listener.
 */
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>

#include <ddp/addr.h>

#include "cm.h"

/* The LLPs that the listener uses: mask of 1 << enum rnic_sw_llp */
static u8 listens_over(const struct rnic_lep *lep)
{
	u8 over = 0;
	int llp;

	for (llp = 0; llp < RNIC_LLPS; llp++)
		if (lep->l[llp])
			over |= BIT(llp);
	return over;
}

/* Stop listening over all LLPs but those in @which */
static void stop_but(struct rnic_lep *lep, u8 which)
{
	int llp;

	for (llp = 0; llp < RNIC_LLPS; llp++) {
		if (!lep->l[llp] || which & BIT(llp))
			continue;
		lep->l[llp]->type->unlisten(lep->l[llp]);
		lep->l[llp] = NULL;
	}
}

static int listen_on(struct rnic_lep *lep, const struct ddp_listen *args,
		     int llp)
{
	const struct ddp_session_type *type = rnic_llp(lep->dev, llp);
	struct ddp_listener *l;

	if (!type)
		return -EPROTONOSUPPORT;
	l = type->listen(args, &rnic_session_user, lep);
	if (IS_ERR(l))
		return PTR_ERR(l);
	lep->l[llp] = l;
	return 0;
}

/*
 * Check whether a listener may go on without LLP @llp, which has failed with
 * @err.  SCTP may be missing or its port in use, as long as TCP is requested,
 * too.  -ENOMEM is always an error.
 *
 * A listener that exists already is changed by the task that sets the device.
 * That task may lack the right to bind the port, and must get the -EACCES.
 */
static bool does_without(const struct rnic_lep *lep, int llp, u8 which, int err)
{
	return llp == RNIC_SW_LLP_SCTP && which != BIT(llp) && err != -ENOMEM &&
	       !(err == -EACCES && listens_over(lep));
}

/*
 * Listen over each requested LLP not in use yet.  TCP comes last: a client may
 * wait until the TCP port is open, and then connect over any LLP.
 */
static int listen_on_all(struct rnic_lep *lep, const struct ddp_listen *args,
			 u8 which)
{
	int llp, err;

	for (llp = RNIC_LLPS - 1; llp >= 0; llp--) {
		if (!(which & BIT(llp)) || lep->l[llp])
			continue;
		err = listen_on(lep, args, llp);
		if (err && !does_without(lep, llp, which, err))
			return err;
	}
	return 0;
}

/**
 * rnic_serves - check whether an iw_cm id is of the device's network namespace
 * @net: network namespace of the device's sockets
 * @id: listener or connection of iw_cm
 *
 * rdma_cm adds a wildcard listener to every device of the machine.  It may also
 * confuse the device's interface with one that has the same ifindex in another
 * network namespace.
 *
 * Return: true if the id's namespace is known and is @net, false if not.
 */
bool rnic_serves(const struct net *net, const struct iw_cm_id *id)
{
	const struct net *theirs = compat_iw_cm_net(id);

	return theirs && net_eq(theirs, net);
}

/**
 * rnic_tos - get the type of service for a connection's packets
 * @id: listener or connection of iw_cm
 *
 * Return: the TOS or traffic class byte, 0 by default.
 */
u8 rnic_tos(const struct iw_cm_id *id)
{
	return id->tos_set ? id->tos : 0;
}

static int listen_in(struct rnic_lep *lep, struct ddp_listen *args, u8 which)
{
	struct ddp_policy policy;

	if (!rnic_serves(args->net, lep->id))
		return -EADDRNOTAVAIL;
	args->policy = &policy;
	rnic_fill_policy(lep->dev, &policy);
	return listen_on_all(lep, args, which);
}

/*
 * Check whether a wildcard listener may exist without listening on this device.
 * It may if the interface or its address is gone, because other devices still
 * serve it.
 *
 * Any error is ignored while the core adds its clients to a device.  If rdma_cm
 * got the error it would not use the device at all, only because a program has
 * the port.
 */
static bool may_be_deaf(const struct rnic_lep *lep, int err)
{
	if (!ddp_addr_wildcard(&lep->id->m_local_addr))
		return false;
	if (err == -ENODEV || err == -EADDRNOTAVAIL)
		return true;
	if (!rnic_enables(lep->dev))
		return false;
	ibdev_warn_ratelimited(&lep->dev->ib,
			       "a listener on all devices does not hear this one: error %d\n",
			       err);
	return true;
}

/*
 * Listen over further LLPs.  The listener's lock is held.
 *
 * Return: 0, also in the cases where an error is ignored; or a negative errno,
 * and the listener uses the same LLPs as before.  Ignored are a missing
 * interface or address if the listener is in use already, and what
 * may_be_deaf() permits.
 */
static int rnic_lep_listen(struct rnic_lep *lep, u8 which)
{
	struct ddp_listen args = {
		.net = rnic_net(lep->dev),
		.ifindex = rnic_ifindex(lep->dev),
		.backlog = lep->backlog,
		.v6only = lep->id->afonly,
		.tos = rnic_tos(lep->id),
		.local = &lep->id->m_local_addr,
	};
	u8 before = listens_over(lep);
	int err = -ENODEV;

	if (args.net) {
		err = listen_in(lep, &args, which);
		put_net(args.net);
	}
	if (!err)
		return 0;
	stop_but(lep, before);
	if (before && (err == -ENODEV || err == -EADDRNOTAVAIL))
		return 0;
	return may_be_deaf(lep, err) ? 0 : err;
}

/*
 * Stop listening over all LLPs but those in @which.  A listener that uses none
 * of them keeps those that it has: otherwise it would not listen at all.  The
 * listener's lock is held.  Return: 0.
 */
static int rnic_lep_leave(struct rnic_lep *lep, u8 which)
{
	if (listens_over(lep) & which)
		stop_but(lep, which);
	return 0;
}

static void rnic_lep_free(struct kref *ref)
{
	kfree(container_of(ref, struct rnic_lep, ref));
}

static void rnic_lep_put(struct rnic_lep *lep)
{
	kref_put(&lep->ref, rnic_lep_free);
}

static void leave_list(struct rnic_lep *lep)
{
	struct rnic_llps *llps = lep->dev->llps;

	spin_lock(&llps->lock);
	list_del(&lep->list);
	spin_unlock(&llps->lock);
}

/*
 * Add the listener to the list before reading the setting.  A concurrent
 * rnic_listen_over() then either has stored the new setting or will visit the
 * listener.
 */
static int rnic_lep_begin(struct rnic_lep *lep)
{
	struct rnic_llps *llps = lep->dev->llps;
	int err;

	mutex_lock(&lep->lock);
	spin_lock(&llps->lock);
	lep->round = llps->round;
	list_add_tail(&lep->list, &llps->leps);
	spin_unlock(&llps->lock);
	err = rnic_lep_listen(lep, READ_ONCE(lep->dev->policy.llp_listen));
	lep->gone = err;
	mutex_unlock(&lep->lock);
	if (err)
		leave_list(lep);
	return err;
}

/**
 * rnic_iw_listen - iw_cm: start a listener
 * @id: iw_cm's id of the listener, with the address
 * @backlog: maximum number of pending requests
 *
 * Return: 0 or a negative errno.
 */
int rnic_iw_listen(struct iw_cm_id *id, int backlog)
{
	struct rnic_lep *lep = kzalloc(sizeof(*lep), GFP_KERNEL_ACCOUNT);
	int err;

	if (!lep)
		return -ENOMEM;
	lep->dev = to_rnic_dev(id->device);
	lep->id = id;
	lep->backlog = backlog;
	kref_init(&lep->ref);
	mutex_init(&lep->lock);
	err = rnic_lep_begin(lep);
	if (err) {
		rnic_lep_put(lep);
		return err;
	}
	id->provider_data = lep;
	return 0;
}

/**
 * rnic_iw_unlisten - iw_cm: stop a listener
 * @id: iw_cm's id of the listener
 *
 * Waits for rnic_listen_over() while that works on this listener.
 *
 * Return: 0.
 */
int rnic_iw_unlisten(struct iw_cm_id *id)
{
	struct rnic_lep *lep = id->provider_data;

	leave_list(lep);
	mutex_lock(&lep->lock);
	lep->gone = true;
	stop_but(lep, 0);
	mutex_unlock(&lep->lock);
	rnic_lep_put(lep);
	id->provider_data = NULL;
	return 0;
}

/* The "listen" setting ------------------------------------------------------ */

static void begin_round(struct rnic_llps *llps)
{
	spin_lock(&llps->lock);
	llps->round++;
	spin_unlock(&llps->lock);
}

/*
 * The next listener that this round has not visited, with a reference; NULL at
 * the end.  Listeners added meanwhile are at the tail and not visited.
 */
static struct rnic_lep *next_lep(struct rnic_llps *llps)
{
	struct rnic_lep *lep;

	spin_lock(&llps->lock);
	lep = list_first_entry_or_null(&llps->leps, struct rnic_lep, list);
	if (lep && lep->round != llps->round) {
		lep->round = llps->round;
		list_move_tail(&lep->list, &llps->leps);
		kref_get(&lep->ref);
	} else {
		lep = NULL;
	}
	spin_unlock(&llps->lock);
	return lep;
}

/* Killable: a program may be stopped for long while it holds its listener's lock */
static int do_one(struct rnic_lep *lep, int (*what)(struct rnic_lep *lep, u8 which),
		  u8 which)
{
	int err = mutex_lock_killable(&lep->lock);

	if (err)
		return err;
	if (!lep->gone)
		err = what(lep, which);
	mutex_unlock(&lep->lock);
	return err;
}

/* Call @what for all listeners, until it fails */
static int do_all(struct rnic_llps *llps, int (*what)(struct rnic_lep *lep, u8 which),
		  u8 which)
{
	struct rnic_lep *lep;
	int err = 0;

	begin_round(llps);
	while (!err && (lep = next_lep(llps))) {
		err = do_one(lep, what, which);
		rnic_lep_put(lep);
	}
	return err;
}

/*
 * Call @what for listeners whose lock is free.  The others are just being
 * started, with the current setting, or stopped.
 */
static void do_idle(struct rnic_llps *llps, int (*what)(struct rnic_lep *lep, u8 which),
		    u8 which)
{
	struct rnic_lep *lep;

	begin_round(llps);
	while ((lep = next_lep(llps))) {
		if (mutex_trylock(&lep->lock)) {
			if (!lep->gone)
				what(lep, which);
			mutex_unlock(&lep->lock);
		}
		rnic_lep_put(lep);
	}
}

/*
 * Switch over to @which.  Only a listener started after the first round can
 * fail here
 */
static int rnic_lep_follow(struct rnic_lep *lep, u8 which)
{
	int err = rnic_lep_listen(lep, which);

	if (err)
		ibdev_warn_ratelimited(&lep->dev->ib,
				       "who has just begun to listen cannot follow the setting: %d\n",
				       err);
	return rnic_lep_leave(lep, which);
}

/*
 * Let all listeners listen over @which as well, store the setting, then let
 * them leave other LLPs.  Listeners started meanwhile are included in the last
 * step.  If the first step fails, it is undone.
 */
static int move_all(struct rnic_dev *dev, u8 which)
{
	int err = 0;

	if (which != dev->policy.llp_listen)
		err = do_all(dev->llps, rnic_lep_listen, which);
	if (err) {
		do_idle(dev->llps, rnic_lep_leave, dev->policy.llp_listen);
		return err;
	}
	WRITE_ONCE(dev->policy.llp_listen, which);
	err = do_all(dev->llps, rnic_lep_follow, which);
	if (err)
		do_idle(dev->llps, rnic_lep_follow, which);
	return err;
}

/**
 * rnic_listen_over - set the LLPs of a device's listeners
 * @dev: the device
 * @which: mask of 1 << enum rnic_sw_llp; rnic_need_llp() has succeeded for each
 *
 * Existing listeners follow, all of them or none.  Starting or stopping a
 * listener waits for this call only while the call works on that listener.
 * Sleeps.
 *
 * Return: 0; -EINTR if the task is being killed; or the error of a listener,
 * and nothing has changed.  After -EINTR the setting may have changed, and a
 * listener that its program had locked may not have followed.
 */
int rnic_listen_over(struct rnic_dev *dev, u8 which)
{
	/* reclaim may depend on storage that is reached through this device */
	unsigned int noio = memalloc_noio_save();
	int err = mutex_lock_killable(&dev->llps->setting);

	if (!err) {
		err = move_all(dev, which);
		mutex_unlock(&dev->llps->setting);
	}
	memalloc_noio_restore(noio);
	return err;
}
