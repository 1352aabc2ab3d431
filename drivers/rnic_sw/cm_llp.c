// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * LLPs of a device.  Each LLP is looked up on its first use, and referenced until the
 * device is removed.
 */
#include <linux/in.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "cm.h"
#include "policy.h"

static_assert(RNIC_PATHS == DDP_PATHS_MAX);

static const char *const names[RNIC_LLPS] = {
	[RNIC_SW_LLP_TCP]	= "mpa",
	[RNIC_SW_LLP_SCTP]	= "sctp",
};

/**
 * rnic_fill_policy - convert a device's settings for its LLPs
 * @dev: the device
 * @p: the settings in the form that LLPs use; filled in
 */
void rnic_fill_policy(const struct rnic_dev *dev, struct ddp_policy *p)
{
	p->revision = READ_ONCE(dev->policy.mpa_revision);
	p->crc = READ_ONCE(dev->policy.mpa_crc);
	p->markers = READ_ONCE(dev->policy.mpa_markers);
	p->streams = READ_ONCE(dev->policy.streams);
	rnic_policy_get_paths(&dev->policy, p->paths);
}

/**
 * rnic_llp - get an LLP of a device
 * @dev: the device
 * @llp: enum rnic_sw_llp; RNIC_SW_LLP_DEFAULT selects the device's "connect" setting
 *
 * Return: the LLP, or NULL if rnic_require_llp() has not succeeded for it before.
 */
const struct ddp_session_type *rnic_llp(const struct rnic_dev *dev, u8 llp)
{
	if (llp == RNIC_SW_LLP_DEFAULT)
		llp = READ_ONCE(dev->policy.llp_connect);
	return READ_ONCE(dev->llps->type[llp]);
}

/*
 * Store @type, with its reference, until the device is removed.  If a concurrent call
 * has stored the type already, drop the reference.
 *
 * Return: 0, or -EPROTONOSUPPORT if @type is NULL.
 */
static int store_llp(struct rnic_dev *dev, u8 llp,
		     const struct ddp_session_type *type)
{
	if (!type)
		return -EPROTONOSUPPORT;
	/* litmus: none, the type is never replaced */
	if (cmpxchg(&dev->llps->type[llp], NULL, type))
		ddp_type_put(type);
	return 0;
}

/**
 * rnic_require_llp - look up an LLP, unless the device has a reference to it already
 * @dev: the device
 * @llp: enum rnic_sw_llp
 *
 * Context: process context.  May load a module, so the caller must not hold a lock
 * that loading a module may take.
 *
 * Return: 0 if the LLP is referenced until the device is removed; -EPROTONOSUPPORT if
 * the kernel does not have the LLP.
 */
int rnic_require_llp(struct rnic_dev *dev, u8 llp)
{
	if (llp >= RNIC_LLPS || !names[llp])
		return -EPROTONOSUPPORT;
	if (READ_ONCE(dev->llps->type[llp]))
		return 0;
	return store_llp(dev, llp, ddp_type_get(names[llp]));
}

/**
 * rnic_require_sctp_user - look up SCTP on behalf of the current program
 * @dev: the device
 *
 * Like rnic_require_llp(), but loads SCTP only if the program could also load it by
 * calling socket(2).
 *
 * Return: 0 or -EPROTONOSUPPORT, as rnic_require_llp().
 */
int rnic_require_sctp_user(struct rnic_dev *dev)
{
	const u8 llp = RNIC_SW_LLP_SCTP;

	if (READ_ONCE(dev->llps->type[llp]))
		return 0;
	return store_llp(dev, llp,
			 ddp_type_get_by_program(names[llp], IPPROTO_SCTP));
}

/**
 * rnic_llps_init - set up the LLPs and the list of listeners of a new device
 * @dev: the device
 *
 * Looks up TCP only; SCTP is looked up on its first use.
 *
 * Return: 0, -EPROTONOSUPPORT or -ENOMEM.  The caller must call rnic_llps_exit() later
 * unless dev->llps is NULL.
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
	return rnic_require_llp(dev, RNIC_SW_LLP_TCP);
}

/**
 * rnic_llps_exit - release the LLPs of a device
 * @dev: the device; it must have no listeners and no connections
 */
void rnic_llps_exit(struct rnic_dev *dev)
{
	int llp;

	for (llp = 0; llp < RNIC_LLPS; llp++)
		if (dev->llps->type[llp])
			ddp_type_put(dev->llps->type[llp]);
	kfree(dev->llps);
	dev->llps = NULL;
}
