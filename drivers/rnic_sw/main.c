// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The module. */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "rnic.h"
#include "stats.h"

struct workqueue_struct *rnic_wq;

static int __init rnic_init(void)
{
	int err;

	rnic_wq = alloc_workqueue("rnic_sw", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnic_wq)
		return -ENOMEM;
	rnic_stats_init();
	err = rnic_netdev_init();
	if (err)
		destroy_workqueue(rnic_wq);
	return err;
}

static void __exit rnic_exit(void)
{
	rnic_netdev_exit();
	rnic_cm_unload();
	destroy_workqueue(rnic_wq);
	/* regions freed after a grace period */
	rcu_barrier();
}

module_init(rnic_init);
module_exit(rnic_exit);

MODULE_DESCRIPTION("Software iWARP RNIC: RDMA verbs over TCP or SCTP");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RDMA_LINK("rnic_sw");
