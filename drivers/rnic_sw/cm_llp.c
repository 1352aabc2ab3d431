// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The lower layers of a device: found when they are asked for, held until it goes. */
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
