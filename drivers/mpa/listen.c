// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening sockets and the connections that nobody above has heard of yet.
 *
 * Several devices may listen on one wildcard address and port: they share the
 * socket (struct port), and a connection goes to the listener whose interface
 * has the address that the peer called.  Pending connections are bounded per
 * listener; beyond the bound a peer is reset, not queued.
 */
#include <linux/err.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <trace/events/sock.h>

#include <ddp/addr.h>

#include "internal.h"

#define PENDING_LEAST	64	/* programs ask for a backlog of 1 or 3 */
#define PENDING_MOST	4096

/* A listening socket */
struct port {
	struct list_head	list;		/* of all ports */
	struct net		*net;
	struct sockaddr_storage	addr;
	struct socket		*sock;
	struct list_head	listeners;	/* ports_lock */
	struct work_struct	work;
	void (*sk_data_ready)(struct sock *sk);
};

struct mpa_listener {
	struct ddp_listener	dl;
	struct port		*port;
	struct list_head	list;		/* of the port, ports_lock */
	int			ifindex;
	int			bound;
	struct ddp_policy	policy;
	struct kref		ref;

	struct mutex		mutex;		/* the rest; request upcalls */
	bool			dead;
	int			npending;
	struct list_head	pending;
};

static LIST_HEAD(ports);
static DEFINE_MUTEX(ports_lock);

static void free_listener(struct kref *ref)
{
	kfree(container_of(ref, struct mpa_listener, ref));
}

static struct mpa_listener *__listener_for(struct port *p,
					   const struct sockaddr_storage *called)
{
	struct mpa_listener *l;

	lockdep_assert_held(&ports_lock);
	list_for_each_entry(l, &p->listeners, list)
		if (!ddp_addr_wildcard(&p->addr) ||
		    ddp_addr_is_on(p->net, l->ifindex, called))
			return l;
	return NULL;
}

/* One more pending connection, if the listener may have it */
static bool add_pending(struct mpa_listener *l, struct mpa_conn *c)
{
	bool ok;

	mutex_lock(&l->mutex);
	ok = !l->dead && l->npending < l->bound;
	if (ok) {
		kref_get(&l->ref);
		c->listener = l;
		list_add_tail(&c->pending, &l->pending);
		l->npending++;
	}
	mutex_unlock(&l->mutex);
	return ok;
}

/* Also of a child, which starts with its listening socket's callback */
static void disown(struct port *p, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = p->sk_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
}

/* A pending connection, its mutex held; NULL: refused */
static struct mpa_conn *new_child(struct port *p, struct mpa_listener *l)
{
	struct mpa_conn *c = mpa_conn_new(l->dl.user, NULL, &l->policy);

	if (!c)
		return NULL;
	/* who stops it as soon as it is pending waits until it has its socket */
	mutex_lock(&c->mutex);
	if (!mpa_conn_startup(c, false) && add_pending(l, c))
		return c;
	c->phase = MPA_ENDED;
	cancel_delayed_work_sync(&c->timer);
	mutex_unlock(&c->mutex);
	ddp_session_put(&c->ss);
	return NULL;
}

static void take_in(struct port *p, struct socket *sock)
{
	struct sockaddr_storage called = {};
	struct mpa_listener *l;
	struct mpa_conn *c = NULL;

	disown(p, sock->sk);
	sock->ops->getname(sock, (struct sockaddr *)&called, 0);
	mutex_lock(&ports_lock);
	l = __listener_for(p, &called);
	if (l)
		c = new_child(p, l);
	mutex_unlock(&ports_lock);
	if (!c) {
		sock_no_linger(sock->sk);
		sock_release(sock);
		return;
	}
	c->sock = sock;
	mpa_sock_attach(c);
	/* its Request may have come before the callbacks stood */
	mpa_conn_event(c, MPA_EV_RX);
	mutex_unlock(&c->mutex);
}

static void accept_all(struct work_struct *work)
{
	struct port *p = container_of(work, struct port, work);
	struct socket *sock;

	while (!kernel_accept(p->sock, &sock, O_NONBLOCK))
		take_in(p, sock);
}

static void data_ready(struct sock *sk)
{
	struct port *p;

	trace_sk_data_ready(sk);
	read_lock_bh(&sk->sk_callback_lock);
	p = sk->sk_user_data;
	/* a child not yet accepted has inherited this callback */
	if (p && sk->sk_state == TCP_LISTEN)
		queue_work(mpa_wq, &p->work);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void set_callback(struct port *p)
{
	struct sock *sk = p->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = p;
	p->sk_data_ready = sk->sk_data_ready;
	sk->sk_data_ready = data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void free_port(struct port *p)
{
	disown(p, p->sock->sk);
	cancel_work_sync(&p->work);
	sock_release(p->sock);
	kfree(p);
}

static int open_port(struct port *p, const struct ddp_listen *a, int bound)
{
	struct sockaddr_storage addr = *a->local;
	bool v6 = addr.ss_family == AF_INET6;
	int err;

	err = sock_create_kern(a->net, addr.ss_family, SOCK_STREAM, IPPROTO_TCP,
			       &p->sock);
	if (err)
		return err;
	compat_sk_net_refcnt_upgrade(p->sock->sk);
	mpa_sock_prepare(p->sock);
	if (v6 && a->v6only)
		ip6_sock_set_v6only(p->sock->sk);
	set_callback(p);
	err = kernel_bind(p->sock, compat_sockaddr(&addr),
			  ddp_addr_len(&addr));
	return err ? err : kernel_listen(p->sock, bound);
}

static struct port *__new_port(const struct ddp_listen *a, int bound)
{
	struct port *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	p->net = a->net;
	p->addr = *a->local;
	INIT_LIST_HEAD(&p->listeners);
	INIT_WORK(&p->work, accept_all);
	err = open_port(p, a, bound);
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
static struct port *__get_port(const struct ddp_listen *a, int bound)
{
	struct mpa_listener *l;
	struct port *p;

	lockdep_assert_held(&ports_lock);
	list_for_each_entry(p, &ports, list) {
		if (!net_eq(p->net, a->net) || !ddp_addr_same(&p->addr, a->local))
			continue;
		if (!ddp_addr_wildcard(a->local))
			return ERR_PTR(-EADDRINUSE);
		list_for_each_entry(l, &p->listeners, list)
			if (l->ifindex == a->ifindex)
				return ERR_PTR(-EADDRINUSE);
		return p;
	}
	return __new_port(a, bound);
}

static struct mpa_listener *new_listener(const struct ddp_listen *a,
					 const struct ddp_session_user *user,
					 void *ctx)
{
	struct mpa_listener *l = kzalloc(sizeof(*l), GFP_KERNEL);

	if (!l)
		return NULL;
	l->dl.type = &mpa_session_type;
	l->dl.user = user;
	l->dl.ctx = ctx;
	l->ifindex = a->ifindex;
	l->bound = clamp(a->backlog, PENDING_LEAST, PENDING_MOST);
	l->policy = *a->policy;
	kref_init(&l->ref);
	mutex_init(&l->mutex);
	INIT_LIST_HEAD(&l->pending);
	return l;
}

/**
 * mpa_listen - take requests
 * @a: where, for which interface, how many
 * @user: upcalls
 * @ctx: the user's
 *
 * Return: the listener, or an error pointer.
 */
struct ddp_listener *mpa_listen(const struct ddp_listen *a,
				const struct ddp_session_user *user, void *ctx)
{
	struct mpa_listener *l = new_listener(a, user, ctx);
	struct port *p;

	if (!l)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&ports_lock);
	p = __get_port(a, l->bound);
	if (!IS_ERR(p)) {
		l->port = p;
		list_add_tail(&l->list, &p->listeners);
	}
	mutex_unlock(&ports_lock);
	if (!IS_ERR(p))
		return &l->dl;
	kref_put(&l->ref, free_listener);
	return ERR_CAST(p);
}

static void stop_pending(struct mpa_listener *l)
{
	struct mpa_conn *c;

	mutex_lock(&l->mutex);
	l->dead = true;
	list_for_each_entry(c, &l->pending, pending)
		mpa_conn_stop(c, IW_LOCAL_ABORT);
	mutex_unlock(&l->mutex);
}

/**
 * mpa_unlisten - take no more requests
 * @dl: the listener, freed
 *
 * Sleeps.  No request upcall runs or starts afterwards; pending connections
 * that were not handed up end.
 */
void mpa_unlisten(struct ddp_listener *dl)
{
	struct mpa_listener *l = container_of(dl, struct mpa_listener, dl);
	struct port *p = l->port;

	mutex_lock(&ports_lock);
	list_del(&l->list);
	if (list_empty(&p->listeners))
		list_del(&p->list);
	else
		p = NULL;
	mutex_unlock(&ports_lock);
	if (p)
		free_port(p);
	stop_pending(l);
	kref_put(&l->ref, free_listener);
}

static void drop_pending(struct mpa_listener *l, struct mpa_conn *c)
{
	lockdep_assert_held(&l->mutex);
	list_del_init(&c->pending);
	l->npending--;
}

/**
 * mpa_listen_request - a pending connection's Request is complete: hand it up
 * @c: the connection; worker
 * @o: what the peer says
 *
 * Return: 0, and the connection is the user's to answer, pending no longer;
 * else it was refused.
 */
int mpa_listen_request(struct mpa_conn *c, const struct ddp_offer *o)
{
	struct mpa_listener *l = c->listener;
	int err = -ECONNREFUSED;

	mutex_lock(&l->mutex);
	if (!l->dead) {
		/* the user's reference */
		ddp_session_get(&c->ss);
		err = l->dl.user->request(&l->dl, &c->ss, o);
		if (err)
			ddp_session_put(&c->ss);
	}
	mutex_unlock(&l->mutex);
	if (!err)
		mpa_listen_forget(c);
	return err;
}

/**
 * mpa_listen_refused - a pending connection ends before it became a request
 * @c: the connection; worker
 * @why: what was wrong with its start-up
 */
void mpa_listen_refused(struct mpa_conn *c, enum iw_reason why)
{
	struct mpa_listener *l = c->listener;

	mutex_lock(&l->mutex);
	if (!l->dead)
		l->dl.user->refused(&l->dl, why);
	mutex_unlock(&l->mutex);
}

/**
 * mpa_listen_forget - a connection is pending no longer
 * @c: the connection; worker
 */
void mpa_listen_forget(struct mpa_conn *c)
{
	struct mpa_listener *l = c->listener;

	if (!l)
		return;
	mutex_lock(&l->mutex);
	drop_pending(l, c);
	mutex_unlock(&l->mutex);
	c->listener = NULL;
	kref_put(&l->ref, free_listener);
}
