// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Initialize and clean up MPA. */
#include <linux/init.h>
#include <linux/rcupdate.h>

#include "internal.h"

struct workqueue_struct *mpa_wq;

/**
 * mpa_init - initialize MPA and register it as a lower layer
 * @owner: module that must stay loaded while a device uses MPA; NULL if MPA is part
 *	of the device's module
 *
 * Return: 0 or a negative errno.
 */
int __init mpa_init(struct module *owner)
{
	int err = mpa_rx_init();

	if (err)
		return err;
	err = mpa_alloc_init();
	if (err)
		goto exit_rx;
	mpa_session_type.owner = owner;
	err = -ENOMEM;
	mpa_wq = alloc_workqueue("iw_mpa", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!mpa_wq)
		goto exit_alloc;
	mpa_txq_init();
	err = ddp_session_type_register(&mpa_session_type);
	if (err)
		goto exit_queue;
	return 0;

exit_queue:
	destroy_workqueue(mpa_wq);
exit_alloc:
	mpa_alloc_exit();
exit_rx:
	mpa_rx_exit();
	return err;
}

/**
 * mpa_exit - unregister MPA, wait for all connections and free all memory
 *
 * The caller must ensure that no device uses MPA.
 *
 * Context: process, may sleep.
 */
void mpa_exit(void)
{
	ddp_session_type_unregister(&mpa_session_type);
	/* a queued worker may still hold a reference on a connection that was torn down */
	mpa_conn_wait_all_released();
	mpa_txq_exit();
	destroy_workqueue(mpa_wq);
	rcu_barrier();
	mpa_alloc_exit();
	mpa_frame_exit();
	mpa_rx_exit();
}
