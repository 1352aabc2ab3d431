// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * LLPs of a device: looked up when first needed, and held until the device is
 * removed.
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
 * rnic_llp - get an LLP of a device
 * @dev: the device
 * @llp: enum rnic_sw_llp; RNIC_SW_LLP_DEFAULT: the device's setting
 *
 * Return: the LLP; NULL if rnic_require_llp() has not succeeded for it.
 */
const struct ddp_session_type *rnic_llp(const struct rnic_dev *dev, u8 llp)
{
	if (llp == RNIC_SW_LLP_DEFAULT)
		llp = READ_ONCE(dev->policy.llp_connect);
	return READ_ONCE(dev->llps->type[llp]);
}

/* Store @type until the device is removed; if a concurrent call has, drop ours */
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
 * rnic_require_llp - look up an LLP, unless that has been done
 * @dev: the device
 * @llp: enum rnic_sw_llp
 *
 * Context: process context.  May load a module, so hold no lock that loading
 * one may take.
 *
 * Return: 0, and the LLP is held until the device is removed; -EPROTONOSUPPORT
 * if the kernel does not have it.
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
 * Like rnic_require_llp(), but does not load SCTP if the program could not get it
 * by socket(2), either.
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
 * Looks up TCP; SCTP follows when it is first needed.
 *
 * Return: 0, -EPROTONOSUPPORT or -ENOMEM.  rnic_llps_exit() must be called
 * unless dev->llps is still NULL.
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
 * @dev: the device, without listeners and connections
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
