// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Loading and unloading of iw_sctp_ddp. */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "internal.h"

struct workqueue_struct *sddp_wq;

static int __init sddp_init(void)
{
	int err = sddp_sock_check_support();

	if (err)
		return err;
	sddp_wq = alloc_workqueue("iw_sctp_ddp", WQ_UNBOUND | WQ_MEM_RECLAIM,
				  0);
	if (!sddp_wq)
		return -ENOMEM;
	err = sddp_addr_events_init();
	if (err)
		goto no_addr_events;
	err = ddp_session_type_register(&sddp_session_type);
	if (err)
		goto no_type;
	return 0;

no_type:
	sddp_addr_events_exit();
no_addr_events:
	destroy_workqueue(sddp_wq);
	return err;
}

static void __exit sddp_exit(void)
{
	ddp_session_type_unregister(&sddp_session_type);
	/*
	 * End the remaining associations, which are idle, and wait until all
	 * associations are freed.
	 */
	sddp_assoc_stop_all();
	sddp_addr_events_exit();
	destroy_workqueue(sddp_wq);
	rcu_barrier();
}

module_init(sddp_init);
module_exit(sddp_exit);

MODULE_DESCRIPTION("DDP over SCTP (RFC 5043, RFC 6581)");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS("iw-llp-sctp");
