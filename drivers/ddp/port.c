// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Listening sockets and their listeners: see ddp/port.h. */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <trace/events/sock.h>

#include <ddp/addr.h>
#include <ddp/port.h>
#include <ddp/sock.h>

#define CALLERS_LEAST	64	/* programs ask for a backlog of 1 or 3 */
#define CALLERS_MOST	4096

struct ddp_port {
	/* fixed after creation */
	const struct ddp_port_ops *ops;
	struct net		*net;
	struct sockaddr_storage	addr;
	struct socket		*sock;

	/* ports_lock */
	struct list_head	list;		/* of all ports */
	struct list_head	listeners;

	struct work_struct	work;

	struct ddp_sock_calls	before;	/* the socket's own, put back at the end */
};

static LIST_HEAD(ports);
static DEFINE_MUTEX(ports_lock);

/* The socket -------------------------------------------------------------- */

static void take_in(struct ddp_port *p, struct socket *sock)
{
	struct sock *sk = sock->sk;

	ddp_sock_adopt(sk);
	/* it may start with its listening socket's callbacks */
	ddp_sock_disown(sk, &p->before);
	/* in some kernels SCTP's do not hold their namespace by themselves */
	if (!sk->sk_net_refcnt)
		compat_sk_net_refcnt_upgrade(sk);
	if (!p->ops->accepted(p, sock))
		return;
	sock_no_linger(sk);
	sock_release(sock);
}

static void accept_all(struct work_struct *work)
{
	struct ddp_port *p = container_of(work, struct ddp_port, work);
	/* memory may be wanted back by what is stored through us */
	unsigned int noio = memalloc_noio_save();
	struct socket *sock;

	while (!kernel_accept(p->sock, &sock, O_NONBLOCK))
		take_in(p, sock);
	memalloc_noio_restore(noio);
}

static void state_change(struct sock *sk)
{
	struct ddp_port *p;

	read_lock_bh(&sk->sk_callback_lock);
	p = sk->sk_user_data;
	/* a child not yet accepted may have inherited this callback */
	if (p && sk->sk_state == TCP_LISTEN)
		p->ops->queue(&p->work);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void data_ready(struct sock *sk)
{
	trace_sk_data_ready(sk);
	state_change(sk);
}

/* TCP tells of a child by the one, SCTP by the other */
static const struct ddp_sock_calls calls = {
	.data_ready	= data_ready,
	.state_change	= state_change,
};

static void free_port(struct ddp_port *p)
{
	ddp_sock_disown(p->sock->sk, &p->before);
	cancel_work_sync(&p->work);
	sock_release(p->sock);
	kfree(p);
}

static struct ddp_port *alloc_port(const struct ddp_port_ops *ops,
				   const struct ddp_listen *a)
{
	struct ddp_port *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	p->ops = ops;
	p->net = a->net;
	p->addr = *a->local;
	INIT_LIST_HEAD(&p->listeners);
	INIT_WORK(&p->work, accept_all);
	return p;
}

static struct ddp_port *__new_port(const struct ddp_port_ops *ops,
				   const struct ddp_listen *a, int bound)
{
	struct ddp_port *p = alloc_port(ops, a);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	err = ops->open(a, &p->sock);
	if (p->sock)
		ddp_sock_own(p->sock->sk, p, &calls, &p->before);
	if (!err)
		err = kernel_listen(p->sock, bound);
	if (!err) {
		list_add(&p->list, &ports);
		return p;
	}
	if (p->sock)
		free_port(p);
	else
		kfree(p);
	return ERR_PTR(err);
}

/* Devices share a port only where an address can tell whose a peer is */
static struct ddp_port *__get_port(const struct ddp_port_ops *ops,
				   const struct ddp_listen *a, int bound)
{
	struct ddp_port_listener *l;
	struct ddp_port *p;

	lockdep_assert_held(&ports_lock);
	list_for_each_entry(p, &ports, list) {
		if (p->ops != ops || !net_eq(p->net, a->net) ||
		    !ddp_addr_same(&p->addr, a->local))
			continue;
		if (!ddp_addr_wildcard(a->local))
			return ERR_PTR(-EADDRINUSE);
		list_for_each_entry(l, &p->listeners, list)
			if (l->ifindex == a->ifindex)
				return ERR_PTR(-EADDRINUSE);
		return p;
	}
	return __new_port(ops, a, bound);
}

/* Listeners --------------------------------------------------------------- */

static void free_listener(struct kref *ref)
{
	kfree(container_of(ref, struct ddp_port_listener, ref));
}

/**
 * ddp_port_put - let go of a listener
 * @l: the listener
 */
void ddp_port_put(struct ddp_port_listener *l)
{
	kref_put(&l->ref, free_listener);
}
EXPORT_SYMBOL_GPL(ddp_port_put);

static struct ddp_port_listener *
new_listener(const struct ddp_port_ops *ops, const struct ddp_listen *a,
	     const struct ddp_session_user *user, void *ctx)
{
	struct ddp_port_listener *l = kzalloc(sizeof(*l), GFP_KERNEL);

	if (!l)
		return NULL;
	l->dl.type = ops->type;
	l->dl.user = user;
	l->dl.ctx = ctx;
	l->ops = ops;
	l->ifindex = a->ifindex;
	l->bound = clamp(a->backlog, CALLERS_LEAST, CALLERS_MOST);
	l->policy = *a->policy;
	kref_init(&l->ref);
	mutex_init(&l->mutex);
	INIT_LIST_HEAD(&l->callers);
	return l;
}

/**
 * ddp_port_listen - take requests
 * @ops: the LLP's
 * @a: where, for which interface, how many
 * @user: upcalls
 * @ctx: the user's
 *
 * Return: the listener, or an error pointer.
 */
struct ddp_listener *ddp_port_listen(const struct ddp_port_ops *ops,
				     const struct ddp_listen *a,
				     const struct ddp_session_user *user,
				     void *ctx)
{
	struct ddp_port_listener *l = new_listener(ops, a, user, ctx);
	struct ddp_port *p;

	if (!l)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&ports_lock);
	p = __get_port(ops, a, l->bound);
	if (!IS_ERR(p)) {
		l->port = p;
		list_add_tail(&l->list, &p->listeners);
	}
	mutex_unlock(&ports_lock);
	if (!IS_ERR(p))
		return &l->dl;
	ddp_port_put(l);
	return ERR_CAST(p);
}
EXPORT_SYMBOL_GPL(ddp_port_listen);

static void kill(struct ddp_port_listener *l)
{
	struct ddp_caller *c;

	mutex_lock(&l->mutex);
	l->dead = true;
	if (l->ops->orphaned)
		list_for_each_entry(c, &l->callers, list)
			l->ops->orphaned(c);
	mutex_unlock(&l->mutex);
}

/**
 * ddp_port_unlisten - take no more requests
 * @dl: the listener, freed
 *
 * Sleeps.  No request upcall runs or starts afterwards.
 */
void ddp_port_unlisten(struct ddp_listener *dl)
{
	struct ddp_port_listener *l =
		container_of(dl, struct ddp_port_listener, dl);
	struct ddp_port *p = l->port;

	mutex_lock(&ports_lock);
	list_del(&l->list);
	if (list_empty(&p->listeners))
		list_del(&p->list);
	else
		p = NULL;
	mutex_unlock(&ports_lock);
	if (p)
		free_port(p);
	kill(l);
	ddp_port_put(l);
}
EXPORT_SYMBOL_GPL(ddp_port_unlisten);

/* Whom a peer means ------------------------------------------------------- */

/**
 * ddp_port_addr - where a port is
 * @p: the port
 *
 * Return: the address and port number that it was made for.
 */
const struct sockaddr_storage *ddp_port_addr(const struct ddp_port *p)
{
	return &p->addr;
}
EXPORT_SYMBOL_GPL(ddp_port_addr);

/**
 * ddp_port_sock - a port's socket
 * @p: the port
 *
 * Return: the listening socket.
 */
const struct socket *ddp_port_sock(const struct ddp_port *p)
{
	return p->sock;
}
EXPORT_SYMBOL_GPL(ddp_port_sock);

static struct ddp_port_listener *
__called(struct ddp_port *p, const struct sockaddr_storage *called)
{
	struct ddp_port_listener *l;

	lockdep_assert_held(&ports_lock);
	list_for_each_entry(l, &p->listeners, list)
		if (!ddp_addr_wildcard(&p->addr) ||
		    ddp_addr_is_on(p->net, l->ifindex, called)) {
			kref_get(&l->ref);
			return l;
		}
	return NULL;
}

/**
 * ddp_port_called - whom a peer means
 * @p: the port it came through
 * @called: the address it called
 *
 * Return: the listener, held; NULL: nobody.
 */
struct ddp_port_listener *
ddp_port_called(struct ddp_port *p, const struct sockaddr_storage *called)
{
	struct ddp_port_listener *l;

	mutex_lock(&ports_lock);
	l = __called(p, called);
	mutex_unlock(&ports_lock);
	return l;
}
EXPORT_SYMBOL_GPL(ddp_port_called);

/**
 * ddp_port_find - whom a peer means whose port may be gone
 * @ops: the LLP's
 * @net: network namespace
 * @called: the address it called, with the port number
 *
 * Only ports of that very address are looked at: none on a wildcard address.
 *
 * Return: the listener, held; NULL: nobody.
 */
struct ddp_port_listener *
ddp_port_find(const struct ddp_port_ops *ops, const struct net *net,
	      const struct sockaddr_storage *called)
{
	struct ddp_port_listener *l = NULL;
	struct ddp_port *p;

	mutex_lock(&ports_lock);
	list_for_each_entry(p, &ports, list) {
		if (p->ops != ops || !net_eq(p->net, net) ||
		    !ddp_addr_same(&p->addr, called))
			continue;
		l = __called(p, called);
		if (l)
			break;
	}
	mutex_unlock(&ports_lock);
	return l;
}
EXPORT_SYMBOL_GPL(ddp_port_find);

/* Callers ----------------------------------------------------------------- */

/**
 * ddp_port_wait - one caller more
 * @l: the listener
 * @c: the caller, who waits nowhere; holds the listener
 *
 * Return: whether the listener takes it: it may have enough, or be going.
 * litmus: children
 */
bool ddp_port_wait(struct ddp_port_listener *l, struct ddp_caller *c)
{
	bool ok;

	mutex_lock(&l->mutex);
	ok = !l->dead && l->waiting < l->bound;
	if (ok) {
		kref_get(&l->ref);
		c->at = l;
		list_add_tail(&c->list, &l->callers);
		l->waiting++;
	}
	mutex_unlock(&l->mutex);
	return ok;
}
EXPORT_SYMBOL_GPL(ddp_port_wait);

/**
 * ddp_port_leave - a caller waits no longer
 * @c: the caller; it may not have waited
 */
void ddp_port_leave(struct ddp_caller *c)
{
	struct ddp_port_listener *l = c->at;

	if (!l)
		return;
	mutex_lock(&l->mutex);
	list_del(&c->list);
	l->waiting--;
	mutex_unlock(&l->mutex);
	c->at = NULL;
	ddp_port_put(l);
}
EXPORT_SYMBOL_GPL(ddp_port_leave);

/**
 * ddp_port_request - hand a peer's request up
 * @l: the listener
 * @ss: the session; its user is the listener's
 * @o: what the peer says
 *
 * Return: 0, and the session is the user's to answer; else it was refused.
 */
int ddp_port_request(struct ddp_port_listener *l, struct ddp_session *ss,
		     const struct ddp_offer *o)
{
	int err = -ECONNREFUSED;

	mutex_lock(&l->mutex);
	if (!l->dead) {
		/* the user's reference */
		ddp_session_get(ss);
		err = ddp_session_request(&l->dl, ss, o);
		if (err)
			ddp_session_put(ss);
	}
	mutex_unlock(&l->mutex);
	return err;
}
EXPORT_SYMBOL_GPL(ddp_port_request);

/**
 * ddp_port_refused - a peer's start-up ended before it became a request
 * @l: the listener
 * @why: what was wrong with it
 */
void ddp_port_refused(struct ddp_port_listener *l, enum iw_reason why)
{
	mutex_lock(&l->mutex);
	if (!l->dead)
		ddp_session_refused(&l->dl, why);
	mutex_unlock(&l->mutex);
}
EXPORT_SYMBOL_GPL(ddp_port_refused);
