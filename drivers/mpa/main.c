// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Coming and going. */
#include <linux/init.h>
#include <linux/rcupdate.h>

#include "internal.h"

struct workqueue_struct *mpa_wq;

/**
 * mpa_init - before the first connection
 * @owner: the module that is held while a device uses MPA; NULL: the caller's
 *	own
 *
 * Return: 0 or a negative errno.
 */
int __init mpa_init(struct module *owner)
{
	int err = mpa_gather_init();

	if (err)
		return err;
	err = mpa_alloc_init();
	if (err)
		goto exit_gather;
	mpa_session_type.owner = owner;
	err = -ENOMEM;
	mpa_wq = alloc_workqueue("iw_mpa", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!mpa_wq)
		goto exit_alloc;
	mpa_due_init();
	err = ddp_type_register(&mpa_session_type);
	if (err)
		goto exit_queue;
	return 0;

exit_queue:
	destroy_workqueue(mpa_wq);
exit_alloc:
	mpa_alloc_exit();
exit_gather:
	mpa_gather_exit();
	return err;
}

/**
 * mpa_exit - nobody makes connections any more
 */
void mpa_exit(void)
{
	ddp_type_unregister(&mpa_session_type);
	/* what has ended may still have a run of its worker to come */
	mpa_conn_wait_all();
	mpa_due_exit();
	destroy_workqueue(mpa_wq);
	rcu_barrier();
	mpa_alloc_exit();
	mpa_frame_exit();
	mpa_gather_exit();
}
