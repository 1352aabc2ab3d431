// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How many objects of each kind a device has at most, as query_device says.
 *
 * A program pays for its objects' memory, where control groups count that; who
 * may have how many of them is the RDMA control group's business.  These are
 * the device's own limits: what a machine bears if all of them are made.
 */
#include <linux/wait_bit.h>

#include "rnic.h"

static const int limits[RNIC_KINDS] = {
	[RNIC_PDS]	= 16384,
	[RNIC_CQS]	= 65536,
	[RNIC_QPS]	= 65536,
	[RNIC_SRQS]	= 16384,
	[RNIC_MRS]	= 262144,
	[RNIC_MWS]	= 262144,
	/* one for each queue pair, and as many that wait to be accepted */
	[RNIC_EPS]	= 131072,
};

/**
 * rnic_limit - how many there may be
 * @kind: of what
 *
 * Return: how many.
 */
int rnic_limit(enum rnic_kind kind)
{
	return limits[kind];
}

/**
 * rnic_take - one more is being made
 * @dev: the device
 * @kind: of what
 *
 * Return: 0; -ENOMEM if there are as many as there may be.
 */
int rnic_take(struct rnic_dev *dev, enum rnic_kind kind)
{
	return atomic_add_unless(&dev->used[kind], 1, limits[kind]) ? 0 :
								      -ENOMEM;
}

/**
 * rnic_give - one is gone
 * @dev: the device
 * @kind: of what
 */
void rnic_give(struct rnic_dev *dev, enum rnic_kind kind)
{
	if (atomic_dec_and_test(&dev->used[kind]))
		wake_up_var(&dev->used[kind]);
}

/**
 * rnic_wait_none - wait until there is none any more
 * @dev: the device
 * @kind: of what
 */
void rnic_wait_none(struct rnic_dev *dev, enum rnic_kind kind)
{
	wait_var_event(&dev->used[kind], !atomic_read(&dev->used[kind]));
}
