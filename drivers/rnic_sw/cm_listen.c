// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The lower layers of a device, and listening on them. */
#include <linux/err.h>
#include <linux/in.h>
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
#include "policy.h"

static_assert(RNIC_PATHS == DDP_PATHS_MAX);

static const char *const names[RNIC_LLPS] = {
	[RNIC_SW_LLP_TCP]	= "mpa",
	[RNIC_SW_LLP_SCTP]	= "sctp",
};

/**
 * rnic_fill_policy - a device's wishes, as its lower layers want them
 * @dev: the device
 * @p: filled in
 */
void rnic_fill_policy(const struct rnic_dev *dev, struct ddp_policy *p)
{
	p->revision = READ_ONCE(dev->policy.mpa_revision);
	p->crc = READ_ONCE(dev->policy.mpa_crc);
	p->markers = READ_ONCE(dev->policy.mpa_markers);
	p->streams = READ_ONCE(dev->policy.streams);
	rnic_policy_paths(&dev->policy, p->paths);
}

/**
 * rnic_llp - over which lower layer?
 * @dev: the device
 * @llp: a queue pair's choice, enum rnic_sw_llp
 *
 * Return: what it has chosen, or else what the device is set to; NULL if nobody
 * has asked for it by rnic_need_llp().
 */
const struct ddp_session_type *rnic_llp(const struct rnic_dev *dev, u8 llp)
{
	if (llp == RNIC_SW_LLP_DEFAULT)
		llp = READ_ONCE(dev->policy.llp_connect);
	return READ_ONCE(dev->llps->type[llp]);
}

/* Listening ---------------------------------------------------------------- */

/* Over which lower layers it does: a bit for each */
static u8 listens_over(const struct rnic_lep *lep)
{
	u8 over = 0;
	int llp;

	for (llp = 0; llp < RNIC_LLPS; llp++)
		if (lep->l[llp])
			over |= BIT(llp);
	return over;
}

/* Over none but these any more */
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
 * SCTP may be missing, or have the port in use: not TCP's loss.  Whoever sets the
 * device may not be the one whose rights these are, and hears of it.
 */
static bool does_without(const struct rnic_lep *lep, int llp, u8 which, int err)
{
	return llp == RNIC_SW_LLP_SCTP && which != BIT(llp) && err != -ENOMEM &&
	       !(err == -EACCES && listens_over(lep));
}

/*
 * On each lower layer that is asked for and that it is not on yet.  TCP last:
 * who waits until its port is there may call over any.
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
 * rnic_serves - may who listens or connects use the device's namespace?
 * @net: where the device's sockets live
 * @id: iw_cm's end
 *
 * The connection manager hands a wildcard listener to every device of the
 * machine, and takes an interface for ours that has its number elsewhere.
 *
 * Return: whether the two are the same; false if it cannot be told.
 */
bool rnic_serves(const struct net *net, const struct iw_cm_id *id)
{
	const struct net *theirs = compat_iw_cm_net(id);

	return theirs && net_eq(theirs, net);
}

/**
 * rnic_tos - how a connection is to be marked
 * @id: iw_cm's end, or the listener's
 *
 * Return: the type of service octet, 0 by default.
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

/* Over these, too; after an error over those that it was on before */
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
	/* on its other devices a program listens all the same; or its address has gone */
	if ((err == -ENODEV || err == -EADDRNOTAVAIL) &&
	    (before || ddp_addr_wildcard(args.local)))
		return 0;
	return err;
}

static void rnic_lep_free(struct kref *ref)
{
	kfree(container_of(ref, struct rnic_lep, ref));
}

static void put_lep(struct rnic_lep *lep)
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

/* Known to who sets the device first, so it is as that was, or will be told */
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
 * rnic_iw_listen - iw_cm: take requests
 * @id: iw_cm's end, with the address
 * @backlog: how many may wait
 *
 * Return: 0 or an error.
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
		put_lep(lep);
		return err;
	}
	id->provider_data = lep;
	return 0;
}

/**
 * rnic_iw_unlisten - iw_cm: take no more requests
 * @id: iw_cm's end
 *
 * Waits for who sets the device, while that is at this very listener.
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
	put_lep(lep);
	id->provider_data = NULL;
	return 0;
}

/* Who listens follows the device ------------------------------------------- */

static void begin_round(struct rnic_llps *llps)
{
	spin_lock(&llps->lock);
	llps->round++;
	spin_unlock(&llps->lock);
}

/* The next that the round has not come to, held.  Who begins meanwhile is behind it. */
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

/* A program may be stopped while it holds its own: who sets the device can be killed */
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

/* With each, until there is an error */
static int do_all(struct rnic_llps *llps, int (*what)(struct rnic_lep *lep, u8 which),
		  u8 which)
{
	struct rnic_lep *lep;
	int err = 0;

	begin_round(llps);
	while (!err && (lep = next_lep(llps))) {
		err = do_one(lep, what, which);
		put_lep(lep);
	}
	return err;
}

/* With each that nobody is busy with: that one has just begun, as the device is set, or ends */
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
		put_lep(lep);
	}
}

/* Who is over none of these, for it could not, stays where it is: it would be deaf */
static int rnic_lep_leave(struct rnic_lep *lep, u8 which)
{
	if (listens_over(lep) & which)
		stop_but(lep, which);
	return 0;
}

/* All could; but who has begun meanwhile */
static int rnic_lep_follow(struct rnic_lep *lep, u8 which)
{
	int err = rnic_lep_listen(lep, which);

	if (err)
		ibdev_warn_ratelimited(&lep->dev->ib,
				       "who has just begun to listen cannot follow the setting: %d\n",
				       err);
	return rnic_lep_leave(lep, which);
}

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
 * rnic_listen_over - the device's setting: what its listeners take requests over
 * @dev: the device
 * @which: a bit for each of enum rnic_sw_llp, all of which are there
 *
 * Those that listen already follow: all of them, or none.  Who begins or ends to listen
 * waits for it only while it is at that very listener.  Sleeps.
 *
 * Return: 0, or why one of them cannot; -EINTR: who sets it is being killed.  Then it may
 * be set, and one whose program is in the middle of a call be where it was.
 */
int rnic_listen_over(struct rnic_dev *dev, u8 which)
{
	/* memory may be wanted back by what is stored through us */
	unsigned int noio = memalloc_noio_save();
	int err = mutex_lock_killable(&dev->llps->setting);

	if (!err) {
		err = move_all(dev, which);
		mutex_unlock(&dev->llps->setting);
	}
	memalloc_noio_restore(noio);
	return err;
}

/* The device -------------------------------------------------------------- */

/* It stays until the device goes; of several who ask at once one is thanked */
static int keep_llp(struct rnic_dev *dev, u8 llp,
		    const struct ddp_session_type *type)
{
	if (!type)
		return -EPROTONOSUPPORT;
	/* litmus: none, it stays */
	if (cmpxchg(&dev->llps->type[llp], NULL, type))
		ddp_type_put(type);
	return 0;
}

/**
 * rnic_need_llp - a lower layer is asked for: find it, unless that is done
 * @dev: the device
 * @llp: enum rnic_sw_llp
 *
 * May load its module: process context, and no lock that a module may want.
 *
 * Return: 0, and it is there until the device goes; -EPROTONOSUPPORT: the
 * kernel has none.
 */
int rnic_need_llp(struct rnic_dev *dev, u8 llp)
{
	if (llp >= RNIC_LLPS || !names[llp])
		return -EPROTONOSUPPORT;
	if (READ_ONCE(dev->llps->type[llp]))
		return 0;
	return keep_llp(dev, llp, ddp_type_get(names[llp]));
}

/**
 * rnic_program_needs_sctp - as rnic_need_llp(), for the program that runs
 * @dev: the device
 *
 * Return: as there; also if the program has no SCTP by socket(2), either.
 */
int rnic_program_needs_sctp(struct rnic_dev *dev)
{
	const u8 llp = RNIC_SW_LLP_SCTP;

	if (READ_ONCE(dev->llps->type[llp]))
		return 0;
	return keep_llp(dev, llp,
			ddp_type_get_by_program(names[llp], IPPROTO_SCTP));
}

/**
 * rnic_cm_init - a device is being made: over TCP, until it is set to SCTP
 * @dev: the device
 *
 * Return: 0, -EPROTONOSUPPORT or -ENOMEM; rnic_cm_exit() is due either way.
 */
int rnic_cm_init(struct rnic_dev *dev)
{
	struct rnic_llps *llps = kzalloc(sizeof(*llps), GFP_KERNEL);

	rnic_asked_init(dev);
	dev->llps = llps;
	if (!llps)
		return -ENOMEM;
	mutex_init(&llps->setting);
	spin_lock_init(&llps->lock);
	INIT_LIST_HEAD(&llps->leps);
	return rnic_need_llp(dev, RNIC_SW_LLP_TCP);
}

/**
 * rnic_cm_unload - the module goes, and there are no devices any more
 *
 * Their last connection may have ended a moment ago, in code of ours.
 */
void rnic_cm_unload(void)
{
	ddp_session_user_gone();
}

/**
 * rnic_cm_exit - a device goes
 * @dev: the device, no longer registered; waits for the last connection
 *
 * iw_cm has nothing of the device's any more: who has not been answered by now
 * never will be, and no peer is waited for to take a no.
 */
void rnic_cm_exit(struct rnic_dev *dev)
{
	int llp;

	if (!dev->llps)
		return;
	rnic_asked_stop(dev);
	rnic_wait_none(dev, RNIC_EPS);
	for (llp = 0; llp < RNIC_LLPS; llp++)
		if (dev->llps->type[llp])
			ddp_type_put(dev->llps->type[llp]);
	kfree(dev->llps);
	dev->llps = NULL;
}
