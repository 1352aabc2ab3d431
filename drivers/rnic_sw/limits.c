// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Maximum number of objects of each kind on a device; ibv_query_device() reports most of them.
 *
 * These limits bound what all programs together can create.  For a group of programs, the RDMA
 * control group limits the number of objects, and the memory control group limits their memory.
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
	[RNIC_COMP_CNTRS] = 16384,
	/* one endpoint for each queue pair, plus the same number for requests not yet accepted */
	[RNIC_EPS]	= 131072,
};

/**
 * rnic_get_limit - get the maximum number of objects of a kind
 * @kind: the kind
 *
 * Return: the limit for one device.
 */
int rnic_get_limit(enum rnic_kind kind)
{
	return limits[kind];
}

/**
 * rnic_charge_object - count a new object
 * @dev: the device
 * @kind: kind of the object
 *
 * Return: 0; -ENOMEM if the device has the maximum number of objects of the kind already.
 */
int rnic_charge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	return atomic_add_unless(&dev->nr_objects[kind], 1, limits[kind]) ? 0 :
								      -ENOMEM;
}

/**
 * rnic_uncharge_object - stop counting an object that is freed
 * @dev: the device
 * @kind: kind of the object
 *
 * Wakes up rnic_wait_objects_freed() if this was the last object of the kind.
 */
void rnic_uncharge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	if (atomic_dec_and_test(&dev->nr_objects[kind]))
		wake_up_var(&dev->nr_objects[kind]);
}

/**
 * rnic_wait_objects_freed - wait until a device has no object of a kind
 * @dev: the device
 * @kind: the kind
 *
 * Sleeps.
 */
void rnic_wait_objects_freed(struct rnic_dev *dev, enum rnic_kind kind)
{
	wait_var_event(&dev->nr_objects[kind], !atomic_read(&dev->nr_objects[kind]));
}
