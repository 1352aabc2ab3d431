// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Session types (struct ddp_session_type) of the LLPs that a device uses.  The device looks up
 * an LLP before its first use, and keeps a reference to it until the device is removed.
 */
#include <linux/in.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "cm.h"
#include "policy.h"

static_assert(RNIC_PATHS == DDP_PATHS_MAX);

/* Names under which the LLPs are registered, see ddp_session_type_get() */
static const char *const names[RNIC_LLPS] = {
	[RNIC_SW_LLP_TCP]	= "mpa",
	[RNIC_SW_LLP_SCTP]	= "sctp",
};

/**
 * rnic_fill_llp_policy - copy those settings of a device that its LLPs use
 * @dev: the device
 * @p: filled in with the settings
 */
void rnic_fill_llp_policy(const struct rnic_dev *dev, struct ddp_policy *p)
{
	p->revision = READ_ONCE(dev->policy.mpa_revision);
	p->crc = READ_ONCE(dev->policy.mpa_crc);
	p->markers = READ_ONCE(dev->policy.mpa_markers);
	p->streams = READ_ONCE(dev->policy.streams);
	rnic_policy_get_paths(&dev->policy, p->paths);
}

/**
 * rnic_get_llp - get the session type of an LLP
 * @dev: the device
 * @llp: enum rnic_sw_llp; RNIC_SW_LLP_DEFAULT selects the device's "connect" setting
 *
 * Return: the session type; NULL if the device has no reference to the LLP, because
 * rnic_ensure_llp_loaded() or rnic_ensure_sctp_loaded_for_user() has not succeeded for it.
 */
const struct ddp_session_type *rnic_get_llp(const struct rnic_dev *dev, u8 llp)
{
	if (llp == RNIC_SW_LLP_DEFAULT)
		llp = READ_ONCE(dev->policy.llp_connect);
	return READ_ONCE(dev->llps->type[llp]);
}

/*
 * Store @type and the caller's reference to it in @dev, until the device is removed.  If a
 * concurrent call has stored the type already, drop the reference instead.
 *
 * Return: 0, or -EPROTONOSUPPORT if @type is NULL.
 */
static int store_llp(struct rnic_dev *dev, u8 llp,
		     const struct ddp_session_type *type)
{
	if (!type)
		return -EPROTONOSUPPORT;
	/*
	 * a stored pointer does not change before the device is removed, so readers
	 * need no ordering; litmus: none
	 */
	if (cmpxchg(&dev->llps->type[llp], NULL, type))
		ddp_session_type_put(type);
	return 0;
}

/**
 * rnic_ensure_llp_loaded - take a reference to an LLP for a device, if it has none yet
 * @dev: the device
 * @llp: enum rnic_sw_llp
 *
 * Context: process context.  May load the LLP's module, so the caller must not hold a lock that
 * is taken while a module is loaded.
 *
 * Return: 0 if the device has the reference, which rnic_llps_exit() drops; -EPROTONOSUPPORT if no
 * module provides the LLP.
 */
int rnic_ensure_llp_loaded(struct rnic_dev *dev, u8 llp)
{
	if (llp >= RNIC_LLPS || !names[llp])
		return -EPROTONOSUPPORT;
	if (READ_ONCE(dev->llps->type[llp]))
		return 0;
	return store_llp(dev, llp, ddp_session_type_get(names[llp]));
}

/**
 * rnic_ensure_sctp_loaded_for_user - take a reference to SCTP for a device, on behalf of a program
 * @dev: the device
 *
 * Like rnic_ensure_llp_loaded(), but loads modules only if the current task may create an SCTP
 * socket. Otherwise programs could load SCTP although the administrator has blacklisted it.
 *
 * Return: 0 or -EPROTONOSUPPORT, as rnic_ensure_llp_loaded().
 */
int rnic_ensure_sctp_loaded_for_user(struct rnic_dev *dev)
{
	const u8 llp = RNIC_SW_LLP_SCTP;

	if (READ_ONCE(dev->llps->type[llp]))
		return 0;
	return store_llp(dev, llp,
			 ddp_session_type_get_for_current(names[llp], IPPROTO_SCTP));
}

/**
 * rnic_llps_init - set up the LLPs and the list of listeners of a new device
 * @dev: the device
 *
 * Looks up only MPA, the LLP over TCP. SCTP is looked up when it is needed, by
 * rnic_ensure_llp_loaded() or rnic_ensure_sctp_loaded_for_user().
 *
 * Return: 0; -EPROTONOSUPPORT if no module provides MPA; or -ENOMEM.  Unless dev->llps is
 * NULL, the caller must call rnic_llps_exit() later, also after an error.
 */
int rnic_llps_init(struct rnic_dev *dev)
{
	struct rnic_llps *llps = kzalloc(sizeof(*llps), GFP_KERNEL);

	dev->llps = llps;
	if (!llps)
		return -ENOMEM;
	mutex_init(&llps->setting_lock);
	spin_lock_init(&llps->lock);
	INIT_LIST_HEAD(&llps->listeners);
	rnic_connect_watch_init(llps);
	return rnic_ensure_llp_loaded(dev, RNIC_SW_LLP_TCP);
}

/**
 * rnic_llps_exit - drop a device's references to LLPs
 * @dev: the device; it must have no listeners and no connections
 */
void rnic_llps_exit(struct rnic_dev *dev)
{
	int llp;

	rnic_connect_watch_exit(dev->llps);
	for (llp = 0; llp < RNIC_LLPS; llp++)
		if (dev->llps->type[llp])
			ddp_session_type_put(dev->llps->type[llp]);
	kfree(dev->llps);
	dev->llps = NULL;
}
