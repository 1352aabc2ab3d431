// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening sockets, and whom a peer's Initiate is for.
 *
 * An association outlives the listener that it was made through, and carries
 * sessions for those that come later: who is asked is looked up when the
 * Initiate comes, by the address and port that the peer called.  Several
 * devices may listen on one wildcard address and port, as over TCP.
 */
#include <linux/err.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include <ddp/addr.h>

#include "internal.h"

#define UNDECIDED_LEAST	64	/* programs ask for a backlog of 1 or 3 */
#define UNDECIDED_MOST	4096

/* A listening socket */
struct port {
	struct list_head	list;		/* of all ports */
	struct net		*net;
	struct sockaddr_storage	addr;
	bool			v6only;
	struct socket		*sock;
	struct list_head	listeners;	/* ports_lock */
	struct work_struct	work;
	void (*sk_state_change)(struct sock *sk);
};

struct sddp_listener {
	struct ddp_listener	dl;
	struct port		*port;
	struct list_head	list;		/* of the port, ports_lock */
	int			ifindex;
	int			bound;
	struct kref		ref;

	struct mutex		mutex;		/* the rest; request upcalls */
	bool			dead;
	int			undecided;	/* requests with the ULP */
};

static LIST_HEAD(ports);
static DEFINE_MUTEX(ports_lock);

static void free_listener(struct kref *ref)
{
	kfree(container_of(ref, struct sddp_listener, ref));
}

/* Could a socket bound to the port's address have been called at @called? */
static bool covers(const struct port *p, const struct sockaddr_storage *called)
{
	if (ddp_addr_same(&p->addr, called))
		return true;
	if (!ddp_addr_wildcard(&p->addr) ||
	    ddp_addr_port(&p->addr) != ddp_addr_port(called))
		return false;
	return p->addr.ss_family == called->ss_family ||
	       (p->addr.ss_family == AF_INET6 && !p->v6only);
}

static struct sddp_listener *__listener_at(struct port *p,
					   const struct sockaddr_storage *called)
{
	struct sddp_listener *l;

	list_for_each_entry(l, &p->listeners, list)
		if (!ddp_addr_wildcard(&p->addr) ||
		    ddp_addr_is_on(p->net, l->ifindex, called))
			return l;
	return NULL;
}

/* Whom the peer called, held; NULL: nobody */
static struct sddp_listener *listener_for(const struct sddp_assoc *a)
{
	struct sddp_listener *l = NULL;
	struct port *p;

	mutex_lock(&ports_lock);
	list_for_each_entry(p, &ports, list) {
		if (!net_eq(p->net, a->net) || !covers(p, &a->local))
			continue;
		l = __listener_at(p, &a->local);
		if (l)
			break;
	}
	if (l)
		kref_get(&l->ref);
	mutex_unlock(&ports_lock);
	return l;
}

static int __ask(struct sddp_listener *l, struct sddp_stream *st,
		 const struct ddp_offer *o)
{
	int err;

	/* RFC 5043 6.4: a finite limit */
	if (l->dead || l->undecided >= l->bound)
		return -EBUSY;
	st->ss.user = l->dl.user;
	st->listener = l;
	l->undecided++;
	/* the user's reference */
	ddp_session_get(&st->ss);
	err = l->dl.user->request(&l->dl, &st->ss, o);
	if (err) {
		ddp_session_put(&st->ss);
		l->undecided--;
		st->listener = NULL;
	}
	return err;
}

/**
 * sddp_listen_request - a peer's Initiate has come: hand it up
 * @st: the stream; worker
 * @o: what the peer says
 *
 * Return: 0, and the session is the user's to answer; else nobody could be
 * asked.
 */
int sddp_listen_request(struct sddp_stream *st, const struct ddp_offer *o)
{
	struct sddp_listener *l = listener_for(st->a);
	int err;

	if (!l)
		return -ECONNREFUSED;
	mutex_lock(&l->mutex);
	err = __ask(l, st, o);
	mutex_unlock(&l->mutex);
	if (err)
		kref_put(&l->ref, free_listener);
	return err;
}

/**
 * sddp_listen_decided - a request waits for the ULP no more
 * @st: the stream; the association's mutex is held
 */
void sddp_listen_decided(struct sddp_stream *st)
{
	struct sddp_listener *l = st->listener;

	if (!l)
		return;
	st->listener = NULL;
	mutex_lock(&l->mutex);
	l->undecided--;
	mutex_unlock(&l->mutex);
	kref_put(&l->ref, free_listener);
}

/**
 * sddp_listen_refused - a peer's session ends before it became a request
 * @a: the association; worker
 * @why: what was wrong
 */
void sddp_listen_refused(struct sddp_assoc *a, enum iw_reason why)
{
	struct sddp_listener *l = listener_for(a);

	if (!l)
		return;
	mutex_lock(&l->mutex);
	if (!l->dead)
		l->dl.user->refused(&l->dl, why);
	mutex_unlock(&l->mutex);
	kref_put(&l->ref, free_listener);
}

/* Also of a child, which may start with its listening socket's callback */
static void disown(struct port *p, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_state_change = p->sk_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void take_in(struct port *p, struct socket *sock)
{
	struct sddp_assoc *a = sddp_assoc_new(p->net, false);
	struct sock *sk = sock->sk;

	disown(p, sk);
	sddp_sock_adopt(sock, p->sock);
	/* in some kernels a child does not hold its namespace by itself */
	if (!sk->sk_net_refcnt)
		compat_sk_net_refcnt_upgrade(sk);
	if (a) {
		a->sock = sock;
		if (!sddp_assoc_accepted(a))
			return;
		sddp_assoc_put(a);
	}
	sock_no_linger(sk);
	sock_release(sock);
}

static void accept_all(struct work_struct *work)
{
	struct port *p = container_of(work, struct port, work);
	struct socket *sock;

	while (!kernel_accept(p->sock, &sock, O_NONBLOCK))
		take_in(p, sock);
}

/* SCTP tells of a new association like this, not by data_ready */
static void state_change(struct sock *sk)
{
	struct port *p;

	read_lock_bh(&sk->sk_callback_lock);
	p = sk->sk_user_data;
	/* a child not yet accepted may have inherited this callback */
	if (p && sk->sk_state == TCP_LISTEN)
		queue_work(sddp_wq, &p->work);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void set_callback(struct port *p)
{
	struct sock *sk = p->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = p;
	p->sk_state_change = sk->sk_state_change;
	sk->sk_state_change = state_change;
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
	int err;

	err = sddp_sock_make(a->net, addr.ss_family, &p->sock);
	if (err)
		return err;
	sddp_sock_prepare(p->sock, a->policy->streams ?: SDDP_STREAMS);
	if (p->v6only)
		ip6_sock_set_v6only(p->sock->sk);
	set_callback(p);
	err = kernel_bind(p->sock, compat_sockaddr(&addr), ddp_addr_len(&addr));
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
	p->v6only = a->local->ss_family == AF_INET6 && a->v6only;
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
	struct sddp_listener *l;
	struct port *p;

	lockdep_assert_held(&ports_lock);
	list_for_each_entry(p, &ports, list) {
		if (!net_eq(p->net, a->net) ||
		    !ddp_addr_same(&p->addr, a->local))
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

static struct sddp_listener *new_listener(const struct ddp_listen *a,
					  const struct ddp_session_user *user,
					  void *ctx)
{
	struct sddp_listener *l = kzalloc(sizeof(*l), GFP_KERNEL);

	if (!l)
		return NULL;
	l->dl.type = &sddp_session_type;
	l->dl.user = user;
	l->dl.ctx = ctx;
	l->ifindex = a->ifindex;
	l->bound = clamp(a->backlog, UNDECIDED_LEAST, UNDECIDED_MOST);
	kref_init(&l->ref);
	mutex_init(&l->mutex);
	return l;
}

/**
 * sddp_listen - take requests
 * @a: where, for which interface, how many
 * @user: upcalls
 * @ctx: the user's
 *
 * Return: the listener, or an error pointer.
 */
struct ddp_listener *sddp_listen(const struct ddp_listen *a,
				 const struct ddp_session_user *user,
				 void *ctx)
{
	struct sddp_listener *l = new_listener(a, user, ctx);
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

/**
 * sddp_unlisten - take no more requests
 * @dl: the listener, freed
 *
 * Sleeps.  No request upcall runs or starts afterwards.
 */
void sddp_unlisten(struct ddp_listener *dl)
{
	struct sddp_listener *l = container_of(dl, struct sddp_listener, dl);
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
	mutex_lock(&l->mutex);
	l->dead = true;
	mutex_unlock(&l->mutex);
	kref_put(&l->ref, free_listener);
}
