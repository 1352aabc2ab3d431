// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listeners of the ULP, and a socket for each address that they listen on.
 *
 * A wildcard listener has one socket for each address of its device's interface (RFC
 * 5043 7.2). When addresses are added or removed, the listener creates or closes
 * sockets. With a single wildcard socket, each association would have all addresses of
 * the host, and a peer could send to any interface.
 *
 * A wildcard listener also has a socket for each address of another interface for which rdma_cm
 * may choose the listener's device, see ddp_may_serve_iface(). If several listeners on the same
 * port qualify for an address, rdma_cm chooses the device of the listener that it created first,
 * so only that listener has a socket on the address. If the setting "listen" starts that listener
 * after the others, make_later_listeners_free_addrs() makes the others close their sockets.
 *
 * sddp_listen() creates the first sockets. A work item of the listener creates all later
 * sockets. No socket is created with a lock held.
 */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/hash.h>

#include <ddp/addr.h>
#include <ddp/port.h>
#include <ddp/sock.h>

#include "admission.h"
#include "internal.h"

#define UPDATE_DELAY	50	/* milliseconds from a change of addresses to the update */

/* A local address and port, and the listener on them */
struct laddr {
	struct hlist_node	list;	/* entry in the table laddrs of the sddp_listener */
	struct sockaddr_storage	addr;
	struct ddp_listener	*addr_listener;	/* listener on this address */
	bool			seen;	/* address still exists; for unlisten_removed_laddrs() */
};

/* Snapshot of the addresses that a listener must listen on, each with the listener's port */
struct addresses {
	int			n;	/* number of addresses */
	int			own;	/* number on the own interface; these come first */
	struct sockaddr_storage	at[];
};

/*
 * Listener that sddp_listen() returns. For each of its addresses there is another struct
 * ddp_listener with the same ctx. Upcalls pass the ULP the listener of the address, not
 * this listener.
 */
struct sddp_listener {
	struct ddp_listener	dl;

	/* constant after creation */
	struct ddp_listen	args;		/* arguments of sddp_listen(); net is referenced */
	netns_tracker		net_tracker;
	struct sockaddr_storage	local;
	struct ddp_policy	policy;

	/*
	 * owned by sddp_listen() until work_owns_table is set, then by the work item,
	 * and by destroy_listener() after the work item is cancelled
	 */
	DECLARE_HASHTABLE(laddrs, 6);	/* table of struct laddr */
	u32			delay;		/* last delay before a retry, milliseconds, or 0 */

	/* entry in wildcards; changed under laddrs_lock, read under RCU */
	struct hlist_node	list;
	/* the work item may use the table laddrs */
	bool			work_owns_table;
	/* being removed; set with laddrs_lock held */
	bool			ending;
	struct delayed_work	update;		/* work item that updates laddrs */
	refcount_t		ref;		/* references to the memory */
	struct rcu_head		rcu;
};

static DEFINE_HASHTABLE(wildcards, 6);	/* wildcard listeners, hashed by network namespace */
/* protects wildcards, ending, and the queueing of the work item update */
static DEFINE_SPINLOCK(laddrs_lock);

static u32 sddp_laddr_hash(const struct sddp_listener *l,
			   const struct sockaddr_storage *addr)
{
	return ddp_addr_hash(l->args.net, addr, 0);
}

static struct laddr *sddp_laddr_find(const struct sddp_listener *l,
				     const struct sockaddr_storage *addr)
{
	struct laddr *p;

	hash_for_each_possible(l->laddrs, p, list, sddp_laddr_hash(l, addr))
		if (ddp_addr_equal(&p->addr, addr))
			return p;
	return NULL;
}

static int listen_on_laddr(struct sddp_listener *l, const struct sockaddr_storage *addr, int vrf)
{
	struct laddr *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	struct ddp_listen args = l->args;
	int err;

	if (!p)
		return -ENOMEM;
	p->addr = *addr;
	args.local = &p->addr;
	args.vrf = vrf;
	p->addr_listener = ddp_port_listen(&sddp_port_ops, &args, l->dl.user, l->dl.ctx);
	if (IS_ERR(p->addr_listener)) {
		err = PTR_ERR(p->addr_listener);
		kfree(p);
		return err;
	}
	hash_add(l->laddrs, &p->list, sddp_laddr_hash(l, addr));
	return 0;
}

static void sddp_laddr_unlisten(struct laddr *p)
{
	hash_del(&p->list);
	ddp_port_unlisten(p->addr_listener);
	kfree(p);
}

static void list_family_addrs(const struct sddp_listener *l, int ifindex, sa_family_t family,
			      struct addresses *all)
{
	int n = ddp_list_iface_addrs(l->args.net, ifindex, family,
				     all->at + all->n, SDDP_LADDRS_MAX - all->n);

	while (n--)
		ddp_addr_set_port(&all->at[all->n++],
				  ddp_addr_get_port(&l->local));
}

static void list_interface_addrs(const struct sddp_listener *l, int ifindex,
				 struct addresses *all)
{
	if (l->local.ss_family == AF_INET6)
		list_family_addrs(l, ifindex, AF_INET6, all);
	if (l->local.ss_family == AF_INET || !l->args.v6only)
		list_family_addrs(l, ifindex, AF_INET, all);
}

/* Check whether @other listens on the same wildcard address and port for another device */
static bool listens_on_same_addr(const struct sddp_listener *l, const struct sddp_listener *other)
{
	return other != l && net_eq(other->args.net, l->args.net) &&
	       ddp_addr_equal(&other->local, &l->local);
}

/*
 * Check whether rdma_cm chooses the device of an earlier listener on the same address and port
 * for the addresses of @dev. VRFs are not compared: rdma_cm ignores them. Called under RCU.
 */
static bool has_earlier_listener(const struct sddp_listener *l, const struct net_device *dev)
{
	const struct sddp_listener *other;

	hash_for_each_possible_rcu(wildcards, other, list, net_hash_mix(l->args.net))
		if (other->args.order < l->args.order && listens_on_same_addr(l, other) &&
		    ddp_are_ifaces_related(l->args.net, other->args.ifindex, dev))
			return true;
	return false;
}

/* Add the addresses of @dev to @all if @l must listen on them. Called under RCU. */
static void list_dev_addrs(const struct sddp_listener *l, const struct net_device *dev,
			   struct addresses *all)
{
	if (ddp_may_serve_iface(l->args.net, l->args.ifindex, dev->ifindex) &&
	    !has_earlier_listener(l, dev))
		list_interface_addrs(l, dev->ifindex, all);
}

/*
 * List the addresses that a wildcard listener must listen on. Return: the list, which
 * the caller must free with kvfree(); NULL if memory is short.
 */
static struct addresses *list_listen_addrs(const struct sddp_listener *l)
{
	struct addresses *all = kvmalloc(struct_size(all, at, SDDP_LADDRS_MAX),
					 GFP_KERNEL_ACCOUNT);
	const struct net_device *own, *dev;

	if (!all)
		return NULL;
	all->n = 0;
	rcu_read_lock();
	own = dev_get_by_index_rcu(l->args.net, l->args.ifindex);
	if (own)
		list_dev_addrs(l, own, all);
	all->own = all->n;
	for_each_netdev_rcu(l->args.net, dev)
		if (dev != own)
			list_dev_addrs(l, dev, all);
	rcu_read_unlock();
	return all;
}

/*
 * Check whether an update may continue, and yield the CPU if necessary. Return: true if
 * the update may continue; false if the caller must stop, because destroy_listener() is
 * waiting for the work item.
 */
static bool yield_and_check_update(const struct sddp_listener *l)
{
	cond_resched();
	return !READ_ONCE(l->ending);
}

/*
 * Queue an update of the listener in @ms milliseconds. Do nothing if an update is already queued,
 * because that update finds all changes. Any context.
 */
static void queue_listener_update(struct sddp_listener *l, u32 ms)
{
	unsigned long flags;

	spin_lock_irqsave(&laddrs_lock, flags);
	if (!l->ending)
		queue_delayed_work(sddp_wq, &l->update, msecs_to_jiffies(ms));
	spin_unlock_irqrestore(&laddrs_lock, flags);
}

/*
 * Check whether a listener may listen on addresses of @dev, which may be about to be removed.
 * VRFs are not compared here, because the interface may have just joined or left one.
 */
static bool may_listen_on_addrs_of(const struct sddp_listener *l, const struct net_device *dev)
{
	return l->args.ifindex == dev->ifindex ||
	       ddp_are_ifaces_related(l->args.net, l->args.ifindex, dev);
}

/**
 * sddp_laddrs_queue_updates - queue updates of wildcard listeners after a change of addresses
 * @net: network namespace
 * @dev: interface whose addresses or VRF have changed: update only the listeners that may listen
 *	on its addresses; NULL to update all listeners
 * @by: listener not to update, or NULL
 *
 * Listeners in other network namespaces are not updated: the owner of a namespace may change
 * addresses at any rate, which must not cause work in other namespaces.
 *
 * Context: any.
 */
void sddp_laddrs_queue_updates(const struct net *net, const struct net_device *dev,
			       const struct sddp_listener *by)
{
	struct sddp_listener *l;

	rcu_read_lock();
	hash_for_each_possible_rcu(wildcards, l, list, net_hash_mix(net))
		if (l != by && net_eq(l->args.net, net) && (!dev || may_listen_on_addrs_of(l, dev)))
			queue_listener_update(l, UPDATE_DELAY);
	rcu_read_unlock();
}

/*
 * Stop listening on addresses that are not in @all. Return: true if a socket has been
 * closed, false otherwise.
 */
static bool unlisten_removed_laddrs(struct sddp_listener *l, const struct addresses *all)
{
	struct hlist_node *next;
	bool left = false;
	struct laddr *p;
	int i;

	for (i = 0; i < all->n; i++) {
		p = sddp_laddr_find(l, &all->at[i]);
		if (p)
			p->seen = true;
	}
	hash_for_each_safe(l->laddrs, i, next, p, list) {
		left |= !p->seen;
		if (!p->seen)
			sddp_laddr_unlisten(p);
		else
			p->seen = false;
		if (!yield_and_check_update(l))
			break;
	}
	return left;
}

/*
 * Listen on the addresses of @all that have no socket yet. On addresses of other interfaces ignore
 * all errors except -ENOMEM, because another program may use the port there. Return: 0, or the
 * error that sddp_choose_worse_error() chooses among the errors that are not ignored.
 */
static int listen_on_new_laddrs(struct sddp_listener *l, const struct addresses *all)
{
	int vrf = ddp_ifindex_to_vrf(l->args.net, l->args.ifindex), i, one, err = 0;

	for (i = 0; i < all->n && yield_and_check_update(l); i++) {
		if (sddp_laddr_find(l, &all->at[i]))
			continue;
		one = listen_on_laddr(l, &all->at[i], vrf);
		if (i < all->own || one == -ENOMEM)
			err = sddp_choose_worse_error(err, one);
	}
	return err;
}

/*
 * Update a listener: stop listening on removed addresses, then listen on new addresses.
 * Return: 0 or a negative errno.
 */
static int update_listener_addrs(struct sddp_listener *l)
{
	struct addresses *all = list_listen_addrs(l);
	int err;

	if (!all)
		return -ENOMEM;
	/*
	 * Update the other listeners, too: an address may have moved to the interface of
	 * another listener, which could not bind to the address until now.
	 */
	if (unlisten_removed_laddrs(l, all))
		sddp_laddrs_queue_updates(l->args.net, NULL, l);
	err = listen_on_new_laddrs(l, all);
	kvfree(all);
	return err;
}

/*
 * Queue the update again after -ENOMEM, with a growing delay: if the addresses do not
 * change again, no notification triggers the update.
 */
static void queue_update_retry(struct sddp_listener *l)
{
	l->delay = sddp_compute_retry_delay(l->delay);
	queue_listener_update(l, l->delay);
}

/*
 * Update a listener (work item). Ignore errors other than -ENOMEM: for example, if another program
 * uses the port on one address, the listener still listens on the others.
 */
static void sddp_laddrs_update_work(struct work_struct *work)
{
	struct sddp_listener *l = container_of(to_delayed_work(work),
					       struct sddp_listener, update);
	/*
	 * Allocate without I/O: memory reclaim could otherwise wait for storage that is
	 * reached through an association of this module.
	 */
	unsigned int noio = memalloc_noio_save();
	int err = 0;

	/*
	 * Read the flag before the table, because sddp_listen() fills the table until
	 * the flag is set. Pairs with the release in start_wildcard_listener(). litmus: publish
	 */
	if (smp_load_acquire(&l->work_owns_table) && !READ_ONCE(l->ending))
		err = update_listener_addrs(l);
	if (err == -ENOMEM)
		queue_update_retry(l);
	else
		l->delay = 0;
	memalloc_noio_restore(noio);
}

static bool has_path(const struct sddp_listener *l, int ifindex)
{
	int i;

	for (i = 0; i < DDP_PATHS_MAX; i++)
		if (l->policy.paths[i] == ifindex)
			return true;
	return false;
}

/*
 * Check whether @other is just starting, and may have sockets on addresses that @l must serve.
 * After the start, the work item of @other closes these sockets and queues an update of @l.
 */
static bool may_hold_addrs_of(const struct sddp_listener *other, const struct sddp_listener *l)
{
	return other->args.order > l->args.order && !READ_ONCE(other->work_owns_table);
}

/*
 * Check whether another device's listener on the same port may be bound to the addresses of @l, so
 * that -EADDRINUSE is no error for @l. There are two cases: the other listener was created later
 * and is still starting; or the setting "paths" of the other device names the interface of @l, so
 * that the other listener accepts connections for both devices.
 */
static bool may_other_listener_be_bound_to_addrs(const struct sddp_listener *l)
{
	const struct sddp_listener *other;
	bool yes = false;

	rcu_read_lock();
	hash_for_each_possible_rcu(wildcards, other, list, net_hash_mix(l->args.net))
		yes |= other != l && net_eq(other->args.net, l->args.net) &&
		       ddp_addr_get_port(&other->local) ==
		       ddp_addr_get_port(&l->local) &&
		       (has_path(other, l->args.ifindex) || may_hold_addrs_of(other, l));
	rcu_read_unlock();
	return yes;
}

static void put_listener(struct sddp_listener *l)
{
	if (!refcount_dec_and_test(&l->ref))
		return;
	put_net_track(l->args.net, &l->net_tracker);
	kfree_rcu(l, rcu);
}

/*
 * Store up to @room listeners on the same port that rdma_cm created after @l in @found, each with
 * a reference. Return: the number of such listeners, which may exceed @room.
 */
static int get_later_listeners(struct sddp_listener *l, struct sddp_listener **found, int room)
{
	struct sddp_listener *other;
	int n = 0;

	rcu_read_lock();
	hash_for_each_possible_rcu(wildcards, other, list, net_hash_mix(l->args.net)) {
		if (other->args.order <= l->args.order || !listens_on_same_addr(l, other))
			continue;
		if (n < room && !refcount_inc_not_zero(&other->ref))
			continue;
		if (n < room)
			found[n] = other;
		n++;
	}
	rcu_read_unlock();
	return n;
}

/*
 * Make later listeners on the same port close their sockets on the addresses that @l must serve.
 * Listeners that start meanwhile find @l in the hash table, so they do not bind to these addresses.
 * Return: 0 or -ENOMEM.
 */
static int make_later_listeners_free_addrs(struct sddp_listener *l)
{
	int room = get_later_listeners(l, NULL, 0), n;
	struct sddp_listener **later;

	if (!room)
		return 0;
	later = kvmalloc_array(room, sizeof(*later), GFP_KERNEL);
	if (!later)
		return -ENOMEM;
	n = min(get_later_listeners(l, later, room), room);
	while (n--) {
		queue_listener_update(later[n], 0);
		flush_delayed_work(&later[n]->update);
		put_listener(later[n]);
	}
	kvfree(later);
	return 0;
}

/*
 * Start a wildcard listener. Add the listener to the hash table before it binds to
 * addresses: if two listeners start concurrently and one of them gets -EADDRINUSE, it
 * must find the other listener in may_other_listener_be_bound_to_addrs(). Return: 0 or a negative
 * errno.
 */
static int start_wildcard_listener(struct sddp_listener *l)
{
	bool of_other;
	int err;

	spin_lock_irq(&laddrs_lock);
	hash_add_rcu(wildcards, &l->list, net_hash_mix(l->args.net));
	spin_unlock_irq(&laddrs_lock);
	/* check before and after the binds: another listener can start or end meanwhile */
	of_other = may_other_listener_be_bound_to_addrs(l);
	err = make_later_listeners_free_addrs(l) ?: update_listener_addrs(l);
	if (err == -EADDRINUSE && (of_other || may_other_listener_be_bound_to_addrs(l)))
		err = 0;
	if (err)
		return err;
	/*
	 * Write the table before the flag, so that the work item sees all entries. Pairs
	 * with the acquire in sddp_laddrs_update_work(). litmus: publish
	 */
	smp_store_release(&l->work_owns_table, true);
	/* addresses may have changed since update_listener_addrs() listed them */
	queue_listener_update(l, 0);
	return 0;
}

static void unlisten_all_laddrs(struct sddp_listener *l)
{
	struct hlist_node *next;
	struct laddr *p;
	int i;

	hash_for_each_safe(l->laddrs, i, next, p, list) {
		sddp_laddr_unlisten(p);
		cond_resched();
	}
}

static void destroy_listener(struct sddp_listener *l)
{
	spin_lock_irq(&laddrs_lock);
	hash_del_rcu(&l->list);
	/* from now on notifications queue no update, and a running work item stops early */
	WRITE_ONCE(l->ending, true);
	spin_unlock_irq(&laddrs_lock);
	cancel_delayed_work_sync(&l->update);
	unlisten_all_laddrs(l);
	/* update the other listeners, which can bind to the addresses now */
	if (ddp_addr_is_wildcard(&l->local))
		sddp_laddrs_queue_updates(l->args.net, NULL, l);
	put_listener(l);
}

static struct sddp_listener *
sddp_new_listener(const struct ddp_listen *a,
		  const struct ddp_session_user *user, void *ctx)
{
	struct sddp_listener *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);

	if (!l)
		return NULL;
	l->dl.type = &sddp_session_type;
	l->dl.user = user;
	l->dl.ctx = ctx;
	l->args = *a;
	l->local = *a->local;
	l->policy = *a->policy;
	l->args.net = get_net_track(a->net, &l->net_tracker, GFP_KERNEL);
	l->args.local = &l->local;
	l->args.policy = &l->policy;
	INIT_HLIST_NODE(&l->list);
	refcount_set(&l->ref, 1);
	hash_init(l->laddrs);
	INIT_DELAYED_WORK(&l->update, sddp_laddrs_update_work);
	return l;
}

/**
 * sddp_listen - start a listener
 * @a: address, interface and limits; copied
 * @user: the ULP's upcalls. They pass the listener of a single address, which has @ctx,
 *	and not the returned listener.
 * @ctx: the ULP's context
 *
 * Context: may sleep.
 * Return: the listener, which sddp_unlisten() ends and frees; an error pointer if the
 * listener cannot be started.
 */
struct ddp_listener *sddp_listen(const struct ddp_listen *a,
				 const struct ddp_session_user *user,
				 void *ctx)
{
	struct sddp_listener *l = sddp_new_listener(a, user, ctx);
	int err;

	if (!l)
		return ERR_PTR(-ENOMEM);
	if (ddp_addr_is_wildcard(&l->local))
		err = start_wildcard_listener(l);
	else
		err = listen_on_laddr(l, &l->local,
				      ddp_addr_get_vrf(a->net, a->ifindex, &l->local));
	if (!err)
		return &l->dl;
	destroy_listener(l);
	return ERR_PTR(err);
}

/**
 * sddp_unlisten - end and free a listener
 * @dl: the listener
 *
 * No request upcall runs or will start after this function returns.
 *
 * Context: sleeps.
 */
void sddp_unlisten(struct ddp_listener *dl)
{
	destroy_listener(container_of(dl, struct sddp_listener, dl));
}
