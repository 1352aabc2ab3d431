// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * At which addresses a listener is.
 *
 * On a wildcard address one socket would do.  But each association through it
 * would have all addresses of the host, of whatever interface, and its peer
 * could send to any.  So there is a socket for each address of the device's own
 * interface, and they come and go with these (RFC 5043 7.2).
 *
 * A listener's sockets are made by who begins to listen, later by a worker of
 * its own, and none of them under a lock.
 */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/inetdevice.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>
#include <net/netns/hash.h>

#include <ddp/addr.h>
#include <ddp/port.h>
#include <ddp/sock.h>

#include "internal.h"
#include "share.h"

#define SOON	50	/* milliseconds: a listener looks no more often, whatever changes */

/* An address, with the port number, and who listens there */
struct place {
	struct hlist_node	list;
	struct sockaddr_storage	addr;
	struct ddp_listener	*at;
	bool			seen;	/* among the interface's */
};

/* The addresses of an interface, with a port number, as they were */
struct addresses {
	int			n;
	struct sockaddr_storage	at[];
};

/* To its user it has one address; those below pass the user's context on */
struct sddp_listener {
	struct ddp_listener	dl;

	/* fixed after creation */
	struct ddp_listen	args;		/* with a hold on its namespace */
	netns_tracker		net_tracker;
	struct sockaddr_storage	local;
	struct ddp_policy	policy;

	/* its maker, then the worker, then who ends it */
	DECLARE_HASHTABLE(places, 6);
	u32			delay;		/* memory was short, milliseconds */

	struct hlist_node	list;		/* places_lock; read under RCU */
	bool			settled;	/* the worker may */
	bool			gone;		/* places_lock: ... no more, nor is it queued */
	struct delayed_work	follow;
	struct rcu_head		rcu;
};

static DEFINE_HASHTABLE(wild, 6);	/* on a wildcard address, by namespace */
static DEFINE_SPINLOCK(places_lock);	/* they are changed, or queued */

static u32 sddp_place_of(const struct sddp_listener *l,
			 const struct sockaddr_storage *addr)
{
	return ddp_addr_hash(l->args.net, addr, 0);
}

static struct place *sddp_places_find(const struct sddp_listener *l,
				      const struct sockaddr_storage *addr)
{
	struct place *p;

	hash_for_each_possible(l->places, p, list, sddp_place_of(l, addr))
		if (ddp_addr_same(&p->addr, addr))
			return p;
	return NULL;
}

static int settle(struct sddp_listener *l, const struct sockaddr_storage *addr)
{
	struct place *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	struct ddp_listen args = l->args;
	int err;

	if (!p)
		return -ENOMEM;
	p->addr = *addr;
	args.local = &p->addr;
	args.domain = ddp_sock_domain(args.net, args.ifindex);
	p->at = ddp_port_listen(&sddp_port_ops, &args, l->dl.user, l->dl.ctx);
	if (IS_ERR(p->at)) {
		err = PTR_ERR(p->at);
		kfree(p);
		return err;
	}
	hash_add(l->places, &p->list, sddp_place_of(l, addr));
	return 0;
}

static void sddp_places_leave(struct place *p)
{
	hash_del(&p->list);
	ddp_port_unlisten(p->at);
	kfree(p);
}

static void list_family(const struct sddp_listener *l, sa_family_t family,
			struct addresses *all)
{
	int n = ddp_addr_list(l->args.net, l->args.ifindex, family,
			      all->at + all->n, SDDP_PLACES_MOST - all->n);

	while (n--)
		ddp_addr_set_port(&all->at[all->n++],
				  ddp_addr_port(&l->local));
}

/* Those that it is to be at; NULL: memory is short */
static struct addresses *list_all(const struct sddp_listener *l)
{
	struct addresses *all = kvmalloc(struct_size(all, at, SDDP_PLACES_MOST),
					 GFP_KERNEL_ACCOUNT);

	if (!all)
		return NULL;
	all->n = 0;
	if (l->local.ss_family == AF_INET6)
		list_family(l, AF_INET6, all);
	if (l->local.ss_family == AF_INET || !l->args.v6only)
		list_family(l, AF_INET, all);
	return all;
}

/* Nobody waits for long for it to end */
static bool may_go_on(const struct sddp_listener *l)
{
	cond_resched();
	return !READ_ONCE(l->gone);
}

/* Any context.  One run is enough for all that is told until it begins */
static void look_after(struct sddp_listener *l, u32 ms)
{
	unsigned long flags;

	spin_lock_irqsave(&places_lock, flags);
	if (!l->gone)
		queue_delayed_work(sddp_wq, &l->follow, msecs_to_jiffies(ms));
	spin_unlock_irqrestore(&places_lock, flags);
}

/*
 * Those whose places may have changed, but for @by, who knows.  @ifindex: the interface,
 * or 0: any.  Of other network namespaces nobody does anything: whose they are may
 * change them at will
 */
static void sddp_places_changed(const struct net *net, int ifindex,
				const struct sddp_listener *by)
{
	struct sddp_listener *l;

	rcu_read_lock();
	hash_for_each_possible_rcu(wild, l, list, net_hash_mix(net))
		if (l != by && net_eq(l->args.net, net) &&
		    (!ifindex || l->args.ifindex == ifindex))
			look_after(l, SOON);
	rcu_read_unlock();
}

/* Return: whether it has left any */
static bool leave_unseen(struct sddp_listener *l, const struct addresses *all)
{
	struct hlist_node *next;
	bool left = false;
	struct place *p;
	int i;

	for (i = 0; i < all->n; i++) {
		p = sddp_places_find(l, &all->at[i]);
		if (p)
			p->seen = true;
	}
	hash_for_each_safe(l->places, i, next, p, list) {
		left |= !p->seen;
		if (!p->seen)
			sddp_places_leave(p);
		else
			p->seen = false;
		if (!may_go_on(l))
			break;
	}
	return left;
}

/* Return: what went wrong at one of them, the worst, or 0 */
static int settle_all(struct sddp_listener *l, const struct addresses *all)
{
	int i, err = 0;

	for (i = 0; i < all->n && may_go_on(l); i++)
		if (!sddp_places_find(l, &all->at[i]))
			err = sddp_share_worse(err, settle(l, &all->at[i]));
	return err;
}

/* Those that are gone, then those that have come */
static int follow(struct sddp_listener *l)
{
	struct addresses *all = list_all(l);
	int err;

	if (!all)
		return -ENOMEM;
	/* who has been there in vain, because the address has moved, looks again */
	if (leave_unseen(l, all))
		sddp_places_changed(l->args.net, 0, l);
	err = settle_all(l, all);
	kvfree(all);
	return err;
}

/* Once there is memory, nobody else says that an address has come */
static void again(struct sddp_listener *l)
{
	l->delay = sddp_share_delay(l->delay);
	look_after(l, l->delay);
}

/* A place that another program has is left to it */
static void sddp_places_follow_one(struct work_struct *work)
{
	struct sddp_listener *l = container_of(to_delayed_work(work),
					       struct sddp_listener, follow);
	/* memory may be wanted back by what is stored through us */
	unsigned int noio = memalloc_noio_save();
	int err = 0;

	/* then the table is whole; litmus: publish */
	if (smp_load_acquire(&l->settled) && !READ_ONCE(l->gone))
		err = follow(l);
	if (err == -ENOMEM)
		again(l);
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
 * Is our interface a path of another device's listener?  Its peers' calls are
 * taken there then.
 */
static bool is_path(const struct sddp_listener *l)
{
	const struct sddp_listener *other;
	bool yes = false;

	rcu_read_lock();
	hash_for_each_possible_rcu(wild, other, list, net_hash_mix(l->args.net))
		yes |= other != l && net_eq(other->args.net, l->args.net) &&
		       ddp_addr_port(&other->local) ==
		       ddp_addr_port(&l->local) &&
		       has_path(other, l->args.ifindex);
	rcu_read_unlock();
	return yes;
}

/* Known to others first: they may be on each other's path */
static int settle_wild(struct sddp_listener *l)
{
	int err;

	spin_lock_irq(&places_lock);
	hash_add_rcu(wild, &l->list, net_hash_mix(l->args.net));
	spin_unlock_irq(&places_lock);
	err = follow(l);
	if (err == -EADDRINUSE && is_path(l))
		err = 0;
	if (err)
		return err;
	/* from here on the table is the worker's; litmus: publish */
	smp_store_release(&l->settled, true);
	/* what has come meanwhile */
	look_after(l, 0);
	return 0;
}

static void leave_all(struct sddp_listener *l)
{
	struct hlist_node *next;
	struct place *p;
	int i;

	hash_for_each_safe(l->places, i, next, p, list) {
		sddp_places_leave(p);
		cond_resched();
	}
}

static void free_listener(struct sddp_listener *l)
{
	spin_lock_irq(&places_lock);
	hash_del_rcu(&l->list);
	/* who finds it all the same does nothing, nor does a run under way for long */
	WRITE_ONCE(l->gone, true);
	spin_unlock_irq(&places_lock);
	cancel_delayed_work_sync(&l->follow);
	leave_all(l);
	/* its places may be another's now */
	if (ddp_addr_wildcard(&l->local))
		sddp_places_changed(l->args.net, 0, l);
	put_net_track(l->args.net, &l->net_tracker);
	kfree_rcu(l, rcu);
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
	hash_init(l->places);
	INIT_DELAYED_WORK(&l->follow, sddp_places_follow_one);
	return l;
}

/**
 * sddp_listen - take requests
 * @a: where, for which interface, how many
 * @user: upcalls; the listener that they name has the context and no more
 * @ctx: the user's
 *
 * Return: the listener, or an error pointer.
 */
struct ddp_listener *sddp_listen(const struct ddp_listen *a,
				 const struct ddp_session_user *user,
				 void *ctx)
{
	struct sddp_listener *l = sddp_new_listener(a, user, ctx);
	int err;

	if (!l)
		return ERR_PTR(-ENOMEM);
	if (ddp_addr_wildcard(&l->local))
		err = settle_wild(l);
	else
		err = settle(l, &l->local);
	if (!err)
		return &l->dl;
	free_listener(l);
	return ERR_PTR(err);
}

/**
 * sddp_unlisten - take no more requests
 * @dl: the listener, freed
 *
 * Sleeps.  No request upcall runs or starts afterwards.
 */
void sddp_unlisten(struct ddp_listener *dl)
{
	free_listener(container_of(dl, struct sddp_listener, dl));
}

/* Addresses that come and go ------------------------------------------------ */

static int sddp_notice(const struct net_device *dev)
{
	sddp_places_changed(dev_net(dev), dev->ifindex, NULL);
	return NOTIFY_DONE;
}

static int sddp_notice4(struct notifier_block *nb, unsigned long event,
			void *info)
{
	const struct in_ifaddr *ifa = info;

	return sddp_notice(ifa->ifa_dev->dev);
}

/* In atomic context */
static int sddp_notice6(struct notifier_block *nb, unsigned long event,
			void *info)
{
	const struct inet6_ifaddr *ifa = info;

	return sddp_notice(ifa->idev->dev);
}

static struct notifier_block notifier4 = { .notifier_call = sddp_notice4 };
static struct notifier_block notifier6 = { .notifier_call = sddp_notice6 };

/**
 * sddp_places_init - from here on addresses are followed
 *
 * Return: 0 or a negative errno.
 */
int sddp_places_init(void)
{
	int err = register_inetaddr_notifier(&notifier4);

	if (err || !IS_ENABLED(CONFIG_IPV6))
		return err;
	err = register_inet6addr_notifier(&notifier6);
	if (err)
		unregister_inetaddr_notifier(&notifier4);
	return err;
}

/**
 * sddp_places_exit - nobody listens any more
 */
void sddp_places_exit(void)
{
	if (IS_ENABLED(CONFIG_IPV6))
		unregister_inet6addr_notifier(&notifier6);
	unregister_inetaddr_notifier(&notifier4);
}
