// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connections are made, given up, and freed. */
#include <linux/init.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>

#include "internal.h"

static atomic_t conns = ATOMIC_INIT(0);	/* not yet released */
static struct kmem_cache *mpa_conns;	/* kmalloc() has 2 KiB for each */

/**
 * mpa_conn_new - a connection without a socket
 * @user: upcalls
 * @ctx: the user's
 * @policy: the device's wishes
 * @listener: to which it has come; NULL: the calling process makes it
 *
 * Return: the connection with one reference, the callbacks'; NULL if memory
 * is short.
 */
struct mpa_conn *mpa_conn_new(const struct ddp_session_user *user, void *ctx,
			      const struct ddp_policy *policy,
			      const void *listener)
{
	struct mpa_conn *c = kmem_cache_zalloc(mpa_conns, GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	c->line = mpa_line_get(listener);
	if (!c->line) {
		kmem_cache_free(mpa_conns, c);
		return NULL;
	}
	c->llp.ops = &mpa_llp_ops;
	c->ss.type = &mpa_session_type;
	c->ss.user = user;
	c->ss.ctx = ctx;
	c->policy = *policy;
	kref_init(&c->ss.ref);
	INIT_LIST_HEAD(&c->turn);
	mpa_conn_init(c);
	atomic_inc(&conns);
	return c;
}

/**
 * mpa_conn_startup - give it a start-up machine
 * @c: the connection, before anybody else knows it
 * @initiator: it will send the Request
 *
 * Return: 0 or -ENOMEM.
 */
int mpa_conn_startup(struct mpa_conn *c, bool initiator)
{
	c->su = kmalloc(sizeof(*c->su), GFP_KERNEL_ACCOUNT);
	if (!c->su)
		return -ENOMEM;
	mpa_startup_init(c->su, initiator, c->policy.revision == 1 ? 1 : 2,
			 c->policy.crc, c->policy.markers);
	return 0;
}

/**
 * mpa_conn_give_up - it never got anywhere
 * @c: the connection, new; the callbacks' reference is the caller's
 *
 * Its worker may have been woken, and finds it ended, or new: the socket is ours.
 */
void mpa_conn_give_up(struct mpa_conn *c)
{
	mpa_conn_lock(c);
	WRITE_ONCE(c->phase, MPA_ENDED);
	mpa_conn_unlock(c);
	mpa_sock_release(c, true);
}

static void mpa_conn_free(struct rcu_head *rcu)
{
	kmem_cache_free(mpa_conns, container_of(rcu, struct mpa_conn, rcu));
}

/**
 * mpa_conn_release - the last reference is gone
 * @ref: the session's
 *
 * Any context: socket and timer ended before.
 */
void mpa_conn_release(struct kref *ref)
{
	struct ddp_session *ss = container_of(ref, struct ddp_session, ref);
	struct mpa_conn *c = ss_to_conn(ss);

	kfree(c->su);
	mpa_line_put(c->line);
	if (c->net)
		put_net_track(c->net, &c->net_tracker);
	call_rcu(&c->rcu, mpa_conn_free);
	if (atomic_dec_and_test(&conns))
		wake_up_var(&conns);
}

/**
 * mpa_conn_wait_all - wait until no connection is left
 *
 * At unload: nobody can make new ones.
 */
void mpa_conn_wait_all(void)
{
	wait_var_event(&conns, !atomic_read(&conns));
}

/**
 * mpa_alloc_init - before the first connection
 *
 * Return: 0 or -ENOMEM.
 */
int __init mpa_alloc_init(void)
{
	mpa_conns = KMEM_CACHE(mpa_conn, SLAB_ACCOUNT);
	return mpa_conns ? 0 : -ENOMEM;
}

/**
 * mpa_alloc_exit - the last one's grace period is over
 */
void mpa_alloc_exit(void)
{
	kmem_cache_destroy(mpa_conns);
}
