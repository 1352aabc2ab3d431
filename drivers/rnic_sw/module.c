// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Entry points of the module, if rnic_sw is built as a separate module. */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "rnic.h"

static int __init rnic_module_init(void)
{
	return rnic_init();
}

static void __exit rnic_module_exit(void)
{
	rnic_exit();
}

module_init(rnic_module_init);
module_exit(rnic_module_exit);

MODULE_DESCRIPTION("Software iWARP RNIC: RDMA verbs over TCP or SCTP");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RDMA_LINK("rnic_sw");
