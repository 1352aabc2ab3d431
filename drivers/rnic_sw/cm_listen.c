// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listeners of iw_cm, each of which listens over one or more LLPs.  cm.c handles the
 * connection requests that a listener receives.
 *
 * A change of the device's "listen" setting applies to all listeners or to none.  The change
 * locks only one listener at a time, so a program that starts or stops a listener does not
 * wait while other listeners are changed.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>

#include <ddp/addr.h>

#include "cm.h"

/* number of listeners that iw_cm has created on all devices, see ddp_listen.order */
static atomic64_t rnic_listeners_created = ATOMIC64_INIT(0);

/* Get the LLPs that the listener uses, as a mask of 1 << enum rnic_sw_llp */
static u8 get_used_llps(const struct rnic_listener *listener)
{
	u8 over = 0;
	int llp;

	for (llp = 0; llp < RNIC_LLPS; llp++)
		if (listener->l[llp])
			over |= BIT(llp);
	return over;
}

/* Stop listening over all LLPs but those in @mask */
static void stop_llps_outside_mask(struct rnic_listener *listener, u8 mask)
{
	int llp;

	for (llp = 0; llp < RNIC_LLPS; llp++) {
		if (!listener->l[llp] || mask & BIT(llp))
			continue;
		listener->l[llp]->type->unlisten(listener->l[llp]);
		listener->l[llp] = NULL;
	}
}

static int listen_on_llp(struct rnic_listener *listener, const struct ddp_listen *args,
			 int llp)
{
	const struct ddp_session_type *type = rnic_get_llp(listener->dev, llp);
	struct ddp_listener *l;

	if (!type)
		return -EPROTONOSUPPORT;
	l = type->listen(args, &rnic_session_user, listener);
	if (IS_ERR(l))
		return PTR_ERR(l);
	listener->l[llp] = l;
	return 0;
}

/*
 * Check whether the listener can ignore that listening over @llp has failed with @err, and use only
 * the other LLPs in @mask.  If @mask contains TCP, all errors of SCTP are ignored, for example
 * that the kernel has no SCTP or that the port is in use, with two exceptions:
 *
 * * -ENOMEM is never ignored.
 * * -EACCES is not ignored if the listener uses an LLP already.  In this case the current task is
 *   changing the device's setting, but is not permitted to bind the port, and must get the error.
 */
static bool may_ignore_llp_error(const struct rnic_listener *listener, int llp, u8 mask, int err)
{
	return llp == RNIC_SW_LLP_SCTP && mask != BIT(llp) && err != -ENOMEM &&
	       !(err == -EACCES && get_used_llps(listener));
}

/*
 * Listen over each LLP in @mask that the listener does not use yet.  Open the SCTP port before
 * the TCP port, because a client may poll until the TCP port is open and then connect over
 * SCTP.
 */
static int listen_on_llps(struct rnic_listener *listener, const struct ddp_listen *args,
			  u8 mask)
{
	int llp, err;

	for (llp = RNIC_LLPS - 1; llp >= 0; llp--) {
		if (!(mask & BIT(llp)) || listener->l[llp])
			continue;
		err = listen_on_llp(listener, args, llp);
		if (err && !may_ignore_llp_error(listener, llp, mask, err))
			return err;
	}
	return 0;
}

/**
 * rnic_cm_id_is_in_netns - check whether an iw_cm ID belongs to the device's network namespace
 * @net: network namespace of the device's sockets
 * @id: ID of a listener or connection
 *
 * iw_cm may pass an ID of another network namespace, for two reasons.  rdma_cm adds a wildcard
 * listener to every device of the machine, whatever the network namespace of the device.  And
 * rdma_cm identifies interfaces by ifindex, so it may confuse the device's interface with one
 * of another network namespace that has the same ifindex.
 *
 * Return: true if the namespace of @id is known and is @net, false otherwise.
 */
bool rnic_cm_id_is_in_netns(const struct net *net, const struct iw_cm_id *id)
{
	const struct net *theirs = compat_iw_cm_get_net(id);

	return theirs && net_eq(theirs, net);
}

/**
 * rnic_get_tos - get the type of service for a connection's packets
 * @id: ID of a listener or connection
 *
 * Return: the IPv4 TOS or IPv6 traffic class that the program has set, or 0.
 */
u8 rnic_get_tos(const struct iw_cm_id *id)
{
	return id->tos_set ? id->tos : 0;
}

static int start_listening(struct rnic_listener *listener, struct ddp_listen *args, u8 mask)
{
	struct ddp_policy policy;

	if (!rnic_cm_id_is_in_netns(args->net, listener->id))
		return -EADDRNOTAVAIL;
	args->policy = &policy;
	rnic_fill_llp_policy(listener->dev, &policy);
	return listen_on_llps(listener, args, mask);
}

/*
 * Check whether to report success to iw_cm although listening failed with @err.  Errors are
 * ignored only for a wildcard or loopback address, because rdma_cm creates such a listener on
 * each device.  The listener then does not listen on this device:
 *
 * * The interface or its address does not exist, or the listener belongs to another network
 *   namespace: the program can still listen on other devices.
 * * Any error while the RDMA core adds its clients, such as rdma_cm, to the device: if a single
 *   listener failed, for example because its port is in use, rdma_cm would not use the device
 *   at all.
 */
static bool may_ignore_listen_error(const struct rnic_listener *listener, int err)
{
	if (!ddp_addr_is_wildcard_or_loopback(&listener->id->m_local_addr))
		return false;
	if (err == -ENODEV || err == -EADDRNOTAVAIL)
		return true;
	if (!rnic_current_is_adding_clients(listener->dev))
		return false;
	ibdev_warn_ratelimited(&listener->dev->ib,
			       "wildcard listener not started on this device: %d\n",
			       err);
	return true;
}

/*
 * Listen over the LLPs in @mask that the listener does not use yet.  If listening over an LLP
 * fails, stop the LLPs that this call has started.  The caller must hold the listener's lock.
 *
 * Return: 0 or a negative errno.  Two kinds of failure return 0 as well: those that
 * may_ignore_listen_error() ignores, and -ENODEV or -EADDRNOTAVAIL if the listener uses an LLP
 * already.
 */
static int rnic_listener_start_llps(struct rnic_listener *listener, u8 mask)
{
	struct ddp_listen args = {
		.net = rnic_get_net(listener->dev),
		.ifindex = rnic_get_ifindex(listener->dev),
		.backlog = listener->backlog,
		.v6only = listener->id->afonly,
		.tos = rnic_get_tos(listener->id),
		.order = listener->order,
		.owner = &listener->owner,
		.local = &listener->id->m_local_addr,
	};
	u8 before = get_used_llps(listener);
	int err = -ENODEV;

	if (args.net) {
		err = start_listening(listener, &args, mask);
		put_net(args.net);
	}
	if (!err)
		return 0;
	stop_llps_outside_mask(listener, before);
	if (before && (err == -ENODEV || err == -EADDRNOTAVAIL))
		return 0;
	return may_ignore_listen_error(listener, err) ? 0 : err;
}

/*
 * Stop listening over all LLPs but those in @mask.  Change nothing if the listener uses no LLP
 * in @mask, because it would then listen over no LLP at all.  The caller must hold the
 * listener's lock.
 *
 * Return: 0.
 */
static int rnic_listener_restrict_to_llps(struct rnic_listener *listener, u8 mask)
{
	if (get_used_llps(listener) & mask)
		stop_llps_outside_mask(listener, mask);
	return 0;
}

static void rnic_listener_free(struct kref *ref)
{
	struct rnic_listener *listener = container_of(ref, struct rnic_listener, ref);

	ddp_sock_owner_exit(&listener->owner);
	kfree(listener);
}

static void rnic_listener_put(struct rnic_listener *listener)
{
	kref_put(&listener->ref, rnic_listener_free);
}

static void unlink_listener(struct rnic_listener *listener)
{
	struct rnic_llps *llps = listener->dev->llps;

	spin_lock(&llps->lock);
	list_del(&listener->list);
	spin_unlock(&llps->lock);
}

/*
 * Add a listener to the device's list and start it.  The listener must be in the list before
 * this function reads the setting.  Then a concurrent rnic_set_listen_llps() either has stored
 * the new setting already, or finds the listener in the list and changes it.
 */
static int rnic_listener_add_and_start(struct rnic_listener *listener)
{
	struct rnic_llps *llps = listener->dev->llps;
	int err;

	mutex_lock(&listener->lock);
	spin_lock(&llps->lock);
	listener->pass = llps->pass;
	list_add_tail(&listener->list, &llps->listeners);
	spin_unlock(&llps->lock);
	err = rnic_listener_start_llps(listener, READ_ONCE(listener->dev->policy.llp_listen));
	listener->stopped = err;
	mutex_unlock(&listener->lock);
	if (err)
		unlink_listener(listener);
	return err;
}

/**
 * rnic_iw_listen - start a listener (iw_cm operation)
 * @id: ID of the listener, with the address to listen on
 * @backlog: maximum number of pending connection requests
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int rnic_iw_listen(struct iw_cm_id *id, int backlog)
{
	struct rnic_listener *listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	int err;

	if (!listener)
		return -ENOMEM;
	listener->dev = to_rnic_dev(id->device);
	listener->id = id;
	listener->backlog = backlog;
	listener->order = atomic64_inc_return(&rnic_listeners_created);
	ddp_sock_owner_init(&listener->owner, NULL);
	kref_init(&listener->ref);
	mutex_init(&listener->lock);
	err = rnic_listener_add_and_start(listener);
	if (err) {
		rnic_listener_put(listener);
		return err;
	}
	id->provider_data = listener;
	return 0;
}

/**
 * rnic_iw_unlisten - stop a listener (iw_cm operation)
 * @id: ID of the listener
 *
 * May sleep.  Waits for a concurrent rnic_set_listen_llps() only while that function holds the
 * lock of this listener.
 *
 * Return: 0.
 */
int rnic_iw_unlisten(struct iw_cm_id *id)
{
	struct rnic_listener *listener = id->provider_data;

	unlink_listener(listener);
	mutex_lock(&listener->lock);
	listener->stopped = true;
	stop_llps_outside_mask(listener, 0);
	mutex_unlock(&listener->lock);
	rnic_listener_put(listener);
	id->provider_data = NULL;
	return 0;
}

/* The "listen" setting ------------------------------------------------------ */

/* Begin a pass over all listeners.  get_next_listener() continues the pass. */
static void begin_pass_over_listeners(struct rnic_llps *llps)
{
	spin_lock(&llps->lock);
	llps->pass++;
	spin_unlock(&llps->lock);
}

/*
 * Get the next listener of the current pass.  The list begins with the listeners that the pass
 * has not visited.  This function sets a listener's @pass to the number of the pass and moves
 * the listener to the end of the list. rnic_listener_add_and_start() does the same with a new
 * listener, so the pass does not visit it.
 *
 * Return: the listener with a reference, or NULL if the pass has visited all listeners.
 */
static struct rnic_listener *get_next_listener(struct rnic_llps *llps)
{
	struct rnic_listener *listener;

	spin_lock(&llps->lock);
	listener = list_first_entry_or_null(&llps->listeners, struct rnic_listener, list);
	if (listener && listener->pass != llps->pass) {
		listener->pass = llps->pass;
		list_move_tail(&listener->list, &llps->listeners);
		kref_get(&listener->ref);
	} else {
		listener = NULL;
	}
	spin_unlock(&llps->lock);
	return listener;
}

/*
 * Call @fn for a listener under the listener's lock, unless the listener is stopped.  The wait
 * for the lock is killable: the lock may be held by a program that starts or stops the listener,
 * and processes of higher priority may delay that program for an unlimited time.
 *
 * Return: the value of @fn; 0 if the listener is stopped; -EINTR if the task is being killed.
 */
static int call_for_listener(struct rnic_listener *listener,
			     int (*fn)(struct rnic_listener *listener, u8 mask),
			     u8 mask)
{
	int err = mutex_lock_killable(&listener->lock);

	if (err)
		return err;
	if (!listener->stopped)
		err = fn(listener, mask);
	mutex_unlock(&listener->lock);
	return err;
}

/* Call @fn for each listener until a call fails.  Return: 0, or the error of that call. */
static int call_for_all_listeners(struct rnic_llps *llps,
				  int (*fn)(struct rnic_listener *listener, u8 mask),
				  u8 mask)
{
	struct rnic_listener *listener;
	int err = 0;

	begin_pass_over_listeners(llps);
	while (!err && (listener = get_next_listener(llps))) {
		err = call_for_listener(listener, fn, mask);
		rnic_listener_put(listener);
	}
	return err;
}

/*
 * Call @fn for each listener whose lock is free.  Skip a listener whose lock is held: another
 * task is stopping it, or is starting it with the setting that the task read after taking the
 * lock.  Does not wait.
 */
static void call_for_unlocked_listeners(struct rnic_llps *llps,
					int (*fn)(struct rnic_listener *listener, u8 mask),
					u8 mask)
{
	struct rnic_listener *listener;

	begin_pass_over_listeners(llps);
	while ((listener = get_next_listener(llps))) {
		if (mutex_trylock(&listener->lock)) {
			if (!listener->stopped)
				fn(listener, mask);
			mutex_unlock(&listener->lock);
		}
		rnic_listener_put(listener);
	}
}

/*
 * Make a listener use the LLPs in @mask only: start those of them that do not run yet, then stop
 * all other LLPs.  Step 1 of switch_listener_llps() has usually started them.  Otherwise starting
 * may fail here: the listener was added later, step 1 ignored an error of SCTP, or step 1 was
 * skipped because the setting stays the same.  As the setting is stored already, log the error and
 * return success.
 */
static int rnic_listener_set_llps(struct rnic_listener *listener, u8 mask)
{
	int err = rnic_listener_start_llps(listener, mask);

	if (err)
		ibdev_warn_ratelimited(&listener->dev->ib,
				       "cannot apply the listen setting to a listener: %d\n",
				       err);
	return rnic_listener_restrict_to_llps(listener, mask);
}

/*
 * Change the LLPs of all listeners to @mask, in three steps:
 *
 * 1. Start the missing LLPs of each listener, unless the setting stays the same.  If a listener
 *    fails, undo this step for those listeners whose lock is free, and return the error.
 * 2. Store the setting.
 * 3. Stop the other LLPs of each listener.  Also start the missing LLPs of listeners that were
 *    added between steps 1 and 2.  If a fatal signal interrupts this step, do it for those
 *    listeners whose lock is free.
 */
static int switch_listener_llps(struct rnic_dev *dev, u8 mask)
{
	int err = 0;

	if (mask != dev->policy.llp_listen)
		err = call_for_all_listeners(dev->llps, rnic_listener_start_llps, mask);
	if (err) {
		call_for_unlocked_listeners(dev->llps, rnic_listener_restrict_to_llps,
					    dev->policy.llp_listen);
		return err;
	}
	WRITE_ONCE(dev->policy.llp_listen, mask);
	err = call_for_all_listeners(dev->llps, rnic_listener_set_llps, mask);
	if (err)
		call_for_unlocked_listeners(dev->llps, rnic_listener_set_llps, mask);
	return err;
}

/**
 * rnic_set_listen_llps - set the LLPs of a device's listeners
 * @dev: the device
 * @mask: mask of 1 << enum rnic_sw_llp; the caller must have called rnic_ensure_llp_loaded()
 *	successfully for each LLP in it
 *
 * May sleep.  Unless the task is killed, the change applies to all existing listeners or to none.
 *
 * Return: 0; -EINTR if the task is being killed; or the error of a listener, in which case
 * nothing has changed.  After -EINTR the setting may have changed, and listeners whose lock
 * another task held may still use their previous LLPs.
 */
int rnic_set_listen_llps(struct rnic_dev *dev, u8 mask)
{
	/* allocate without I/O: reclaim could wait for storage that is attached over this device */
	unsigned int noio = memalloc_noio_save();
	int err = mutex_lock_killable(&dev->llps->setting_lock);

	if (!err) {
		err = switch_listener_llps(dev, mask);
		mutex_unlock(&dev->llps->setting_lock);
	}
	memalloc_noio_restore(noio);
	return err;
}
