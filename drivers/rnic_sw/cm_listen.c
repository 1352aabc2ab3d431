// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Listeners of iw_cm's, each over some of its device's lower layers. */
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>

#include <ddp/addr.h>

#include "cm.h"

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

/*
 * Of a program that listens on all devices.  On the others it does all the same where
 * this one has gone, or its address.  Nor does rdma_cm forgive a new device that such a
 * listener cannot be on it: nobody would be served there, because of a port that some
 * program has.
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

/**
 * rnic_lep_listen - over these, too
 * @lep: the listener, locked
 * @which: a bit for each of enum rnic_sw_llp
 *
 * Return: 0, also if the device has nothing to listen on now, or is new, and the listener
 * on all devices; or why it cannot, and then it is over those that it was over before.
 */
int rnic_lep_listen(struct rnic_lep *lep, u8 which)
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

/**
 * rnic_lep_leave - over no others any more
 * @lep: the listener, locked
 * @which: as in rnic_lep_listen().  Who is over none of these, for it could not, stays
 *	where it is: it would be deaf.
 *
 * Return: 0.
 */
int rnic_lep_leave(struct rnic_lep *lep, u8 which)
{
	if (listens_over(lep) & which)
		stop_but(lep, which);
	return 0;
}

static void rnic_lep_free(struct kref *ref)
{
	kfree(container_of(ref, struct rnic_lep, ref));
}

/**
 * rnic_lep_put - a reference less
 * @lep: the listener, freed with the last
 */
void rnic_lep_put(struct rnic_lep *lep)
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
		rnic_lep_put(lep);
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
	rnic_lep_put(lep);
	id->provider_data = NULL;
	return 0;
}
