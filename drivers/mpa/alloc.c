// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Allocate, abandon and free connections. */
#include <linux/init.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>

#include "internal.h"

static atomic_t conn_count = ATOMIC_INIT(0);	/* number of connections not yet released */
static struct kmem_cache *mpa_conn_cache;	/* kmalloc() would round the size up to 2 KiB */

/**
 * mpa_conn_new - allocate a connection without a socket
 * @user: upcalls to the ULP
 * @ctx: opaque pointer for these upcalls
 * @policy: settings of the device; copied
 * @listener: listener that accepts the connection; NULL if the calling process
 *	connects
 *
 * Context: process, may sleep.
 *
 * Return: the connection, or NULL if an allocation failed. The connection has one
 * reference, for the socket's callbacks; mpa_conn_tear_down() drops this reference.
 */
struct mpa_conn *mpa_conn_new(const struct ddp_session_user *user, void *ctx,
			      const struct ddp_policy *policy,
			      const void *listener)
{
	struct mpa_conn *c = kmem_cache_zalloc(mpa_conn_cache, GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	c->connq = mpa_connq_get(listener, mpa_connq_work);
	if (!c->connq) {
		kmem_cache_free(mpa_conn_cache, c);
		return NULL;
	}
	c->llp.ops = &mpa_llp_ops;
	c->ss.type = &mpa_session_type;
	c->ss.user = user;
	c->ss.ctx = ctx;
	c->policy = *policy;
	kref_init(&c->ss.ref);
	INIT_LIST_HEAD(&c->connq_entry);
	mpa_conn_init(c);
	atomic_inc(&conn_count);
	return c;
}

/**
 * mpa_conn_alloc_startup - allocate the start-up state machine of a connection
 * @c: the connection, which no other context uses yet
 * @initiator: true if this side sends the Request
 *
 * Return: 0 or -ENOMEM.
 */
int mpa_conn_alloc_startup(struct mpa_conn *c, bool initiator)
{
	c->su = kmalloc(sizeof(*c->su), GFP_KERNEL_ACCOUNT);
	if (!c->su)
		return -ENOMEM;
	mpa_startup_init(c->su, initiator, c->policy.revision == 1 ? 1 : 2,
			 c->policy.crc, c->policy.markers);
	return 0;
}

/**
 * mpa_conn_abandon - release the socket of a connection that could not be set up
 * @c: the connection, in phase MPA_NEW. The caller must afterwards drop the
 *	reference that mpa_conn_new() has taken for the socket's callbacks.
 *
 * The worker may be queued already, but it does not use the socket in the phases MPA_NEW
 * and MPA_ENDED.
 */
void mpa_conn_abandon(struct mpa_conn *c)
{
	mpa_conn_lock(c);
	WRITE_ONCE(c->phase, MPA_ENDED);
	mpa_conn_unlock(c);
	mpa_sock_release(c, true);
}

static void mpa_conn_free(struct rcu_head *rcu)
{
	kmem_cache_free(mpa_conn_cache, container_of(rcu, struct mpa_conn, rcu));
}

/**
 * mpa_conn_release - free a connection after its last reference was dropped
 * @ref: reference count, embedded in the session of the connection
 *
 * The socket must already be released, and the timer stopped. Memory is freed after
 * an RCU grace period.
 *
 * Context: any.
 */
void mpa_conn_release(struct kref *ref)
{
	struct ddp_session *ss = container_of(ref, struct ddp_session, ref);
	struct mpa_conn *c = ss_to_conn(ss);

	kfree(c->su);
	mpa_connq_put(c->connq);
	if (c->net)
		put_net_track(c->net, &c->net_tracker);
	call_rcu(&c->rcu, mpa_conn_free);
	if (atomic_dec_and_test(&conn_count))
		wake_up_var(&conn_count);
}

/**
 * mpa_conn_wait_all_released - wait until all connections are released
 *
 * The caller must ensure that no new connections are created.
 *
 * Context: process, may sleep.
 */
void mpa_conn_wait_all_released(void)
{
	wait_var_event(&conn_count, !atomic_read(&conn_count));
}

/**
 * mpa_alloc_init - create the slab cache of connections
 *
 * Return: 0 or -ENOMEM.
 */
int __init mpa_alloc_init(void)
{
	mpa_conn_cache = KMEM_CACHE(mpa_conn, SLAB_ACCOUNT);
	return mpa_conn_cache ? 0 : -ENOMEM;
}

/**
 * mpa_alloc_exit - destroy the slab cache of connections
 *
 * The caller must have called rcu_barrier() after the last connection was released,
 * because an RCU callback, mpa_conn_free(), frees each connection.
 */
void mpa_alloc_exit(void)
{
	kmem_cache_destroy(mpa_conn_cache);
}
