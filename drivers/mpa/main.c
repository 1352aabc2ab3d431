// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "internal.h"

struct workqueue_struct *mpa_wq;

static int __init mpa_init(void)
{
	int err = mpa_gather_init();

	if (err)
		return err;
	err = -ENOMEM;
	mpa_wq = alloc_workqueue("iw_mpa", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!mpa_wq)
		goto exit_gather;
	mpa_due_init();
	err = ddp_type_register(&mpa_session_type);
	if (err)
		goto exit_queue;
	return 0;

exit_queue:
	destroy_workqueue(mpa_wq);
exit_gather:
	mpa_gather_exit();
	return err;
}

static void __exit mpa_exit(void)
{
	ddp_type_unregister(&mpa_session_type);
	/* what has ended may still have a run of its worker to come */
	mpa_conn_wait_all();
	mpa_due_exit();
	destroy_workqueue(mpa_wq);
	rcu_barrier();
	mpa_frame_exit();
	mpa_gather_exit();
}

module_init(mpa_init);
module_exit(mpa_exit);

MODULE_DESCRIPTION("MPA: DDP over TCP (RFC 5044, RFC 6581)");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS("iw-llp-mpa");
