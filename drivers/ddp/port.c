// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening sockets and the listeners that share them, see ddp/port.h.
 *
 * The table of ports is changed under ports_lock and looked up under RCU.
 * Sockets are opened and closed outside the lock, so only callers that use the
 * same port wait for each other. User processes take ports_lock, so it is a
 * spinlock: a process that was preempted with a mutex held would block all
 * others. Under the lock at most one hash chain and the listeners of one port
 * are searched.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/hashtable.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <trace/events/sock.h>

#include <ddp/addr.h>
#include <ddp/sock.h>

#include "backlog.h"
#include "internal.h"

/*
 * Bounds of a listener's limit of pending requests. Many programs listen with a
 * backlog of 1 or 3, which is too small for requests that arrive together.
 */
#define BACKLOG_MIN	64
#define BACKLOG_MAX	4096

#define ACCEPT_BATCH	64	/* maximum number of accepts per run of the work item */
#define ACCEPT_RETRY	(HZ / 10)	/* retry delay in jiffies after a failed accept */

struct ddp_port {
	/* constant after creation */
	const struct ddp_port_ops *ops;
	struct net		*net;
	struct sockaddr_storage	addr;
	int			vrf;
	u8			tos;

	/* err and sock are constant after opened has been completed */
	struct completion	opened;
	int			err;
	struct socket		*sock;

	/* list and listeners are changed under ports_lock and read under RCU */
	struct hlist_node	list;		/* entry in ports */
	struct list_head	listeners;	/* struct ddp_port_listener */
	struct rcu_head		rcu;		/* for freeing the port */

	struct delayed_work	work;		/* accepts connections */

	struct ddp_sock_callbacks	orig_callbacks;	/* original callbacks of sock */
};

static DEFINE_HASHTABLE(ports, 10);
static DEFINE_SPINLOCK(ports_lock);

static u32 ddp_port_hash(const struct net *net,
			 const struct sockaddr_storage *addr)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return ddp_addr_hash(net, addr, seed);
}

/* The socket --------------------------------------------------------------- */

static void pass_accepted_sock(struct ddp_port *p, struct socket *sock)
{
	struct sock *sk = sock->sk;

	ddp_sock_set_lock_class(sk);
	/*
	 * An accepted SCTP socket does not inherit the type of service of the
	 * listening socket. An accepted TCP socket inherits it, but not the
	 * socket priority that ip_sock_set_tos() derives from it.
	 */
	ddp_sock_set_tos(sk, p->tos);
	if (!p->ops->accepted(p, sock))
		return;
	sock_no_linger(sk);
	ddp_sock_release(sock);
}

static int accept_one_connection(struct ddp_port *p)
{
	struct socket *sock;
	int err = ddp_sock_accept(p->sock, &p->orig_callbacks, &sock);

	if (!err)
		pass_accepted_sock(p, sock);
	return err;
}

/*
 * Accept all waiting connections, at most ACCEPT_BATCH per run. Continue if one of
 * them was aborted: the other connections would otherwise wait until another
 * connection arrives.
 */
static void ddp_port_accept_work(struct work_struct *work)
{
	struct ddp_port *p = container_of(to_delayed_work(work),
					  struct ddp_port, work);
	/* memory reclaim must not wait for storage that is reached through this device */
	unsigned int noio = memalloc_noio_save();
	int n, err = 0;

	for (n = 0; n < ACCEPT_BATCH; n++) {
		err = accept_one_connection(p);
		if (err && err != -ECONNABORTED)
			break;
	}
	memalloc_noio_restore(noio);
	/* stop if no connection is waiting, or the socket no longer listens */
	if (err == -EAGAIN || err == -EINVAL)
		return;
	p->ops->queue(&p->work, n < ACCEPT_BATCH ? ACCEPT_RETRY : 0);
}

static void ddp_port_state_change(struct sock *sk)
{
	struct ddp_port *p;

	read_lock_bh(&sk->sk_callback_lock);
	p = sk->sk_user_data;
	/* ignore sockets of connections not accepted yet, which inherit this callback */
	if (p && sk->sk_state == TCP_LISTEN)
		p->ops->queue(&p->work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void ddp_port_data_ready(struct sock *sk)
{
	trace_sk_data_ready(sk);
	ddp_port_state_change(sk);
}

/* TCP reports a new connection with data_ready, SCTP with state_change */
static const struct ddp_sock_callbacks calls = {
	.data_ready	= ddp_port_data_ready,
	.state_change	= ddp_port_state_change,
};

/*
 * Close the socket and free the port. Do not let the socket linger, so that SCTP aborts the
 * connections that were not accepted. Otherwise the listening socket would remain until SCTP has
 * completed the SHUTDOWN of these connections, which can take more than a minute.
 */
static void free_port(struct ddp_port *p)
{
	if (p->sock) {
		ddp_sock_restore_callbacks(p->sock->sk, &p->orig_callbacks);
		cancel_delayed_work_sync(&p->work);
		sock_no_linger(p->sock->sk);
		ddp_sock_release(p->sock);
	}
	kfree_rcu(p, rcu);
}

static struct ddp_port *new_port(const struct ddp_port_ops *ops,
				 const struct ddp_listen *a)
{
	struct ddp_port *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	p->ops = ops;
	p->net = a->net;
	p->addr = *a->local;
	p->vrf = a->vrf;
	p->tos = a->tos;
	init_completion(&p->opened);
	INIT_LIST_HEAD(&p->listeners);
	INIT_DELAYED_WORK(&p->work, ddp_port_accept_work);
	return p;
}

static int open_sock_and_listen(struct ddp_port *p, const struct ddp_listen *a, int limit)
{
	int err = p->ops->open(a, &p->sock);

	if (!p->sock)
		return err;
	ddp_sock_set_tos(p->sock->sk, a->tos);
	ddp_sock_set_callbacks(p->sock->sk, p, &calls, &p->orig_callbacks);
	return err ?: kernel_listen(p->sock, limit);
}

/*
 * Find the port on which the device can listen as @a specifies. Devices share a
 * port only on a wildcard or loopback address, where the local address of a connection
 * selects the device. Return: the port; NULL if none exists for this address
 * and port number; -EADDRINUSE if one exists, but the address is neither wildcard
 * nor loopback, or the interface already has a listener on the port.
 */
static struct ddp_port *__find_port(const struct ddp_port_ops *ops,
				    const struct ddp_listen *a)
{
	struct ddp_port_listener *l;
	struct ddp_port *p;

	lockdep_assert_held(&ports_lock);
	hash_for_each_possible(ports, p, list, ddp_port_hash(a->net, a->local)) {
		if (p->ops != ops || !net_eq(p->net, a->net) ||
		    p->vrf != a->vrf || !ddp_addr_equal(&p->addr, a->local))
			continue;
		if (!ddp_addr_is_wildcard_or_loopback(a->local))
			return ERR_PTR(-EADDRINUSE);
		list_for_each_entry(l, &p->listeners, list)
			if (l->ifindex == a->ifindex)
				return ERR_PTR(-EADDRINUSE);
		return p;
	}
	return NULL;
}

/* Listeners ---------------------------------------------------------------- */

static void ddp_listener_free(struct kref *ref)
{
	struct ddp_port_listener *l =
		container_of(ref, struct ddp_port_listener, ref);

	kfree_rcu(l, rcu);
}

/**
 * ddp_port_put_listener - drop a reference to a listener
 * @l: the listener
 */
void ddp_port_put_listener(struct ddp_port_listener *l)
{
	kref_put(&l->ref, ddp_listener_free);
}
EXPORT_SYMBOL_GPL(ddp_port_put_listener);

static struct ddp_port_listener *
ddp_new_listener(const struct ddp_port_ops *ops, const struct ddp_listen *a,
		 const struct ddp_session_user *user, void *ctx)
{
	struct ddp_port_listener *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);

	if (!l)
		return NULL;
	l->dl.type = ops->type;
	l->dl.user = user;
	l->dl.ctx = ctx;
	l->ops = ops;
	l->ifindex = a->ifindex;
	l->order = a->order;
	l->limit = clamp(a->backlog, BACKLOG_MIN, BACKLOG_MAX);
	kref_init(&l->ref);
	ddp_backlog_init(l);
	return l;
}

/* Insert @l into the list of its port, before the listeners that rdma_cm created later */
static void insert_listener(struct ddp_port_listener *l)
{
	struct list_head *at;

	lockdep_assert_held(&ports_lock);
	list_for_each(at, &l->port->listeners)
		if (list_entry(at, struct ddp_port_listener, list)->order > l->order)
			break;
	list_add_tail_rcu(&l->list, at);
}

/* Add @l to the port that exists for @a; if none exists, add the new port @fresh */
static int ddp_listener_add(struct ddp_port_listener *l,
			    const struct ddp_listen *a,
			    struct ddp_port *fresh)
{
	struct ddp_port *p;

	spin_lock(&ports_lock);
	p = __find_port(l->ops, a);
	if (!p) {
		p = fresh;
		hash_add_rcu(ports, &p->list, ddp_port_hash(p->net, &p->addr));
	}
	if (!IS_ERR(p)) {
		l->port = p;
		insert_listener(l);
	}
	spin_unlock(&ports_lock);
	return PTR_ERR_OR_ZERO(p);
}

/* Remove @l from its port, and free the port if @l was its last listener */
static void ddp_listener_remove(struct ddp_port_listener *l)
{
	struct ddp_port *p = l->port;

	spin_lock(&ports_lock);
	list_del_rcu(&l->list);
	if (list_empty(&p->listeners))
		hash_del_rcu(&p->list);
	else
		p = NULL;
	spin_unlock(&ports_lock);
	if (p)
		free_port(p);
	ddp_backlog_drain(l);
	ddp_port_put_listener(l);
}

/*
 * Open the socket of the port if @first is set, because the caller has created
 * the port. Otherwise wait until the creator has opened the socket. Return: 0,
 * or the negative errno for which the socket could not be opened.
 */
static int open_or_wait_for_port(struct ddp_port *p, const struct ddp_listen *a, int limit,
				 bool first)
{
	if (first) {
		p->err = open_sock_and_listen(p, a, limit);
		complete_all(&p->opened);
	} else {
		wait_for_completion(&p->opened);
	}
	return p->err;
}

/**
 * ddp_port_listen - listen on an address and port
 * @ops: operations of the LLP
 * @a: address, port, interface, backlog and further settings
 * @user: upcalls to the ULP
 * @ctx: private to the ULP
 *
 * Sleeps.
 *
 * Return: the listener, or an error pointer.
 */
struct ddp_listener *ddp_port_listen(const struct ddp_port_ops *ops,
				     const struct ddp_listen *a,
				     const struct ddp_session_user *user,
				     void *ctx)
{
	struct ddp_port_listener *l = ddp_new_listener(ops, a, user, ctx);
	struct ddp_port *fresh = new_port(ops, a);
	int err = -ENOMEM;

	if (l && fresh)
		err = ddp_listener_add(l, a, fresh);
	if (err) {
		kfree(fresh);
		kfree(l);
		return ERR_PTR(err);
	}
	err = open_or_wait_for_port(l->port, a, l->limit, l->port == fresh);
	if (l->port != fresh)
		kfree(fresh);
	if (!err)
		return &l->dl;
	ddp_listener_remove(l);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(ddp_port_listen);

/**
 * ddp_port_unlisten - stop listening
 * @dl: the listener; it is freed as soon as no request is attached to it
 *
 * Sleeps. On return no upcall on the listener runs or will start.
 */
void ddp_port_unlisten(struct ddp_listener *dl)
{
	ddp_listener_remove(container_of(dl, struct ddp_port_listener, dl));
}
EXPORT_SYMBOL_GPL(ddp_port_unlisten);

/* Lookup of the listener of an incoming connection ------------------------- */

/**
 * ddp_port_get_addr - get the address of a port
 * @p: the port
 *
 * Return: the local address and port number of the listening socket.
 */
const struct sockaddr_storage *ddp_port_get_addr(const struct ddp_port *p)
{
	return &p->addr;
}
EXPORT_SYMBOL_GPL(ddp_port_get_addr);

/**
 * ddp_port_get_vrf - get the VRF of a port
 * @p: the port
 *
 * Return: the ifindex of the VRF of the listening socket, or 0 for no VRF.
 */
int ddp_port_get_vrf(const struct ddp_port *p)
{
	return p->vrf;
}
EXPORT_SYMBOL_GPL(ddp_port_get_vrf);

/**
 * ddp_port_get_sock - get the socket of a port
 * @p: the port
 *
 * Return: the listening socket.
 */
const struct socket *ddp_port_get_sock(const struct ddp_port *p)
{
	return p->sock;
}
EXPORT_SYMBOL_GPL(ddp_port_get_sock);

/*
 * Get the listener whose device rdma_cm will choose for a request: a program could not accept a
 * request that any other listener reports. If several devices may serve the address, rdma_cm
 * chooses the device that was created first, even if another device is on the interface with the
 * address. rdma_cm creates the listeners in the order of their devices, and the list is in this
 * order, so take the first suitable one.
 *
 * Look up the interface of the address only once and not for each listener, because the host may
 * have many interfaces.
 */
static struct ddp_port_listener *
find_and_get_shared_listener(const struct ddp_port *p, const struct sockaddr_storage *called)
{
	const struct net_device *has = ddp_addr_find_dev(p->net, called);
	struct ddp_port_listener *l;

	if (!has)
		return NULL;
	list_for_each_entry_rcu(l, &p->listeners, list)
		if (ddp_are_ifaces_related(p->net, l->ifindex, has) &&
		    kref_get_unless_zero(&l->ref))
			return l;
	return NULL;
}

static struct ddp_port_listener *
find_and_get_listener(const struct ddp_port *p, const struct sockaddr_storage *called)
{
	struct ddp_port_listener *l;

	if (ddp_addr_is_wildcard_or_loopback(&p->addr))
		return find_and_get_shared_listener(p, called);
	list_for_each_entry_rcu(l, &p->listeners, list)
		if (kref_get_unless_zero(&l->ref))
			return l;
	return NULL;
}

/*
 * Check whether a listener accepts connections of a VRF. With tcp_l3mdev_accept a socket that is
 * not bound to a VRF receives connections of all VRFs. The same address can exist in several
 * VRFs, so the address alone does not identify the listener.
 */
static bool accepts_vrf(const struct ddp_port_listener *l, const struct ddp_port *p, int vrf)
{
	if (ddp_addr_is_wildcard_or_loopback(&p->addr))
		return ddp_ifindex_to_vrf(p->net, l->ifindex) == vrf;
	return p->vrf == vrf;
}

/**
 * ddp_port_get_listener - find the listener of an incoming connection
 * @p: port on which the connection arrived
 * @called: local address of the connection
 * @vrf: ifindex of the VRF in which the connection arrived, or 0
 *
 * Return: the listener for the local address in @vrf, with a reference that the
 * caller must drop; NULL if there is none.
 */
struct ddp_port_listener *
ddp_port_get_listener(struct ddp_port *p, const struct sockaddr_storage *called,
		      int vrf)
{
	struct ddp_port_listener *l;

	rcu_read_lock();
	l = find_and_get_listener(p, called);
	rcu_read_unlock();
	if (!l || accepts_vrf(l, p, vrf))
		return l;
	ddp_port_put_listener(l);
	return NULL;
}
EXPORT_SYMBOL_GPL(ddp_port_get_listener);

/**
 * ddp_port_get_listener_by_addr - find the listener of a connection by its local address
 * @ops: operations of the LLP
 * @net: network namespace
 * @called: local address and port number of the connection
 * @vrf: ifindex of the VRF of the port on which the connection arrived, or 0
 *
 * For callers whose port may have been freed. Searches only the ports whose
 * address equals @called, and no port on a wildcard address.
 *
 * Return: the listener, with a reference that the caller must drop; NULL if
 * there is none.
 */
struct ddp_port_listener *
ddp_port_get_listener_by_addr(const struct ddp_port_ops *ops, const struct net *net,
			      const struct sockaddr_storage *called, int vrf)
{
	struct ddp_port_listener *l = NULL;
	struct ddp_port *p;

	rcu_read_lock();
	hash_for_each_possible_rcu(ports, p, list, ddp_port_hash(net, called)) {
		if (p->ops != ops || !net_eq(p->net, net) ||
		    p->vrf != vrf || !ddp_addr_equal(&p->addr, called))
			continue;
		l = find_and_get_listener(p, called);
		if (l)
			break;
	}
	rcu_read_unlock();
	return l;
}
EXPORT_SYMBOL_GPL(ddp_port_get_listener_by_addr);
