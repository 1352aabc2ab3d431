// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The lower layers of a device, and listening on them. */
#include <linux/err.h>
#include <linux/in.h>
#include <linux/slab.h>
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

static void stop_listening(struct rnic_lep *lep)
{
	int llp;

	for (llp = 0; llp < RNIC_LLPS; llp++) {
		if (lep->l[llp])
			lep->l[llp]->type->unlisten(lep->l[llp]);
		lep->l[llp] = NULL;
	}
}

/* SCTP may be missing, or have the port in use: not TCP's loss */
static bool does_without(int llp, u8 which, int err)
{
	return llp == RNIC_SW_LLP_SCTP && which != BIT(llp) && err != -ENOMEM;
}

/*
 * On each lower layer that is asked for.  @which: a bit for each.  TCP last:
 * who waits until its port is there may call over any.
 */
static int listen_on(struct rnic_lep *lep, const struct ddp_listen *args,
		     u8 which)
{
	const struct ddp_session_type *type;
	struct ddp_listener *l;
	int llp;

	for (llp = RNIC_LLPS - 1; llp >= 0; llp--) {
		if (!(which & BIT(llp)))
			continue;
		l = ERR_PTR(-EPROTONOSUPPORT);
		type = rnic_llp(lep->dev, llp);
		if (type)
			l = type->listen(args, &rnic_session_user, lep);
		if (!IS_ERR(l))
			lep->l[llp] = l;
		else if (!does_without(llp, which, PTR_ERR(l)))
			return PTR_ERR(l);
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

static int listen_in(struct rnic_lep *lep, struct ddp_listen *args)
{
	struct ddp_policy policy;

	if (!rnic_serves(args->net, lep->id))
		return -EADDRNOTAVAIL;
	args->policy = &policy;
	rnic_fill_policy(lep->dev, &policy);
	return listen_on(lep, args, READ_ONCE(lep->dev->policy.llp_listen));
}

static int start_listening(struct rnic_lep *lep, int backlog)
{
	struct ddp_listen args = {
		.net = rnic_net(lep->dev),
		.ifindex = rnic_ifindex(lep->dev),
		.backlog = backlog,
		.v6only = lep->id->afonly,
		.tos = rnic_tos(lep->id),
		.local = &lep->id->m_local_addr,
	};
	int err = -ENODEV;

	if (args.net) {
		err = listen_in(lep, &args);
		put_net(args.net);
	}
	if (!err)
		return 0;
	stop_listening(lep);
	/* on its other devices a program listens all the same */
	if ((err == -ENODEV || err == -EADDRNOTAVAIL) &&
	    ddp_addr_wildcard(args.local))
		return 0;
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
	err = start_listening(lep, backlog);
	if (err) {
		kfree(lep);
		return err;
	}
	id->provider_data = lep;
	return 0;
}

/**
 * rnic_iw_unlisten - iw_cm: take no more requests
 * @id: iw_cm's end
 *
 * Return: 0.
 */
int rnic_iw_unlisten(struct iw_cm_id *id)
{
	struct rnic_lep *lep = id->provider_data;

	stop_listening(lep);
	kfree(lep);
	id->provider_data = NULL;
	return 0;
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

/* What listens over SCTP only, or connects over it, does not over TCP instead */
static bool does_with_tcp(const struct rnic_policy *p)
{
	return p->llp_connect == RNIC_SW_LLP_TCP &&
	       p->llp_listen & BIT(RNIC_SW_LLP_TCP);
}

/* SCTP, if new devices are set to it; nobody writes to the policy yet */
static int need_sctp(struct rnic_dev *dev, struct rnic_policy *p)
{
	int err;

	if (p->llp_connect != RNIC_SW_LLP_SCTP &&
	    !(p->llp_listen & BIT(RNIC_SW_LLP_SCTP)))
		return 0;
	err = rnic_need_llp(dev, RNIC_SW_LLP_SCTP);
	if (!err || !does_with_tcp(p))
		return err;
	pr_warn("rnic_sw: there is no SCTP, a new device listens over TCP only\n");
	p->llp_listen = BIT(RNIC_SW_LLP_TCP);
	return 0;
}

/**
 * rnic_cm_init - a device is being made: over TCP, and SCTP if it is set to it
 * @dev: the device
 *
 * Return: 0, -EPROTONOSUPPORT or -ENOMEM; rnic_cm_exit() is due either way.
 */
int rnic_cm_init(struct rnic_dev *dev)
{
	struct rnic_llps *llps = kzalloc(sizeof(*llps), GFP_KERNEL);
	int err;

	rnic_asked_init(dev);
	dev->llps = llps;
	if (!llps)
		return -ENOMEM;
	err = rnic_need_llp(dev, RNIC_SW_LLP_TCP);
	return err ? err : need_sctp(dev, &dev->policy);
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
