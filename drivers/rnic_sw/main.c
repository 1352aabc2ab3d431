// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Coming and going. */
#include <linux/init.h>

#include "bring.h"
#include "rnic.h"
#include "stats.h"

struct workqueue_struct *rnic_wq;

/**
 * rnic_init - from here on devices are made
 *
 * Return: 0 or -ENOMEM.
 */
int __init rnic_init(void)
{
	int err;

	rnic_wq = alloc_workqueue("rnic_sw", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnic_wq)
		return -ENOMEM;
	rnic_stats_init();
	err = rnic_bring_init();
	if (!err) {
		err = rnic_netdev_init();
		if (err)
			rnic_bring_exit();
	}
	if (err)
		destroy_workqueue(rnic_wq);
	return err;
}

/**
 * rnic_exit - all devices go
 */
void rnic_exit(void)
{
	rnic_netdev_exit();
	rnic_cm_unload();
	rnic_bring_exit();
	destroy_workqueue(rnic_wq);
	/* regions, and what is kept of them, freed after a grace period */
	rcu_barrier();
}
