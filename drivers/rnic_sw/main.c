// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Initialization and exit of the driver, called by the entry points of the module. */
#include <linux/init.h>

#include "mem_fault.h"
#include "counters.h"
#include "rnic.h"

struct workqueue_struct *rnic_wq;

/**
 * rnic_init - initialize the driver, then let "rdma link add" create devices
 *
 * Return: 0 or a negative errno.
 */
int __init rnic_init(void)
{
	int err;

	rnic_wq = alloc_workqueue("rnic_sw", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnic_wq)
		return -ENOMEM;
	rnic_init_counter_names();
	err = rnic_fault_init();
	if (err)
		goto destroy_wq;
	err = rnic_gid_events_init();
	if (err)
		goto exit_pf;
	err = rnic_netdev_init();
	if (err)
		goto exit_gid_events;
	return 0;

exit_gid_events:
	rnic_gid_events_exit();
exit_pf:
	rnic_fault_exit();
destroy_wq:
	destroy_workqueue(rnic_wq);
	return err;
}

/**
 * rnic_exit - remove all devices and release the driver's resources
 */
void rnic_exit(void)
{
	rnic_netdev_exit();
	rnic_gid_events_exit();
	rnic_cm_wait_upcalls();
	rnic_fault_exit();
	destroy_workqueue(rnic_wq);
	/* wait for pending RCU callbacks, because rnic_odp_free_chunk() is in this module */
	rcu_barrier();
}
