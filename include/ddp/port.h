/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Listening sockets, for all lower layers.
 *
 * A port is a listening socket. Several devices may listen on the same wildcard or
 * loopback address and port number: they then share one port, and each has its own
 * listener on this port. The local address of an incoming connection selects the
 * listener.
 *
 * A connection request is pending until the ULP is notified of it (TCP), or
 * until the ULP has accepted or rejected it (SCTP). Each listener has a limit
 * of pending requests. Over TCP, a new request to a listener at its limit
 * evicts a pending request.
 */
#ifndef _DDP_PORT_H
#define _DDP_PORT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <ddp/session.h>

struct ddp_port;
struct delayed_work;
struct socket;

#define DDP_SOURCES	64	/* number of hash buckets for the source addresses of requests */

/**
 * struct ddp_port_listener - listener of one interface on a port
 * @dl: part of the listener that struct ddp_session_user upcalls receive
 * @ops: operations of the LLP
 * @port: the port
 * @list: entry in the port's list of listeners, which is sorted by @order; read under RCU
 * @ifindex: the interface
 * @order: see ddp_listen.order
 * @limit: maximum number of pending requests
 * @seed: random seed of the hash of source addresses
 * @ref: reference count; each attached request holds a reference
 * @rcu: RCU head for freeing the listener
 * @lock: protects the fields below. While it is held, no other lock may be taken
 *	except those that ddp_port_ops.evict() takes.
 * @dead: true if the listener is being removed, so it accepts no more requests
 * @upcalls: number of upcalls in progress
 * @nattached: number of attached requests, pending or not
 * @npending: number of pending requests
 * @requests: pending requests, oldest first
 * @pending_from: number of pending requests in each hash bucket of source
 *	addresses
 * @from: pending requests in each hash bucket of source addresses, oldest first
 */
struct ddp_port_listener {
	struct ddp_listener		dl;
	const struct ddp_port_ops	*ops;
	struct ddp_port			*port;
	struct list_head		list;
	int				ifindex;
	u64				order;
	u32				limit;
	u32				seed;
	struct kref			ref;
	struct rcu_head			rcu;

	spinlock_t			lock;	/* protects all fields below */
	bool				dead;
	int				upcalls;
	u32				nattached;
	u32				npending;
	struct list_head		requests;
	u32				pending_from[DDP_SOURCES];
	struct list_head		from[DDP_SOURCES];
};

/**
 * struct ddp_conn_req - connection request attached to a listener
 * @listener: the listener (reference held), or NULL
 * @list: entry in the listener's list of pending requests
 * @bucket_entry: entry in the list of the hash bucket of @source
 * @source: hash of the peer's address, see ddp_addr_hash_source()
 * @pending: true if the request is pending, and therefore on both lists
 * @evicted: true if the request was evicted, so the LLP is ending it
 *
 * Embedded in the LLP's connection. The LLP must not call ddp_port_try_attach_request() and
 * ddp_port_detach_request() concurrently for the same request.
 */
struct ddp_conn_req {
	struct ddp_port_listener	*listener;
	struct list_head		list;
	struct list_head		bucket_entry;
	u32				source;
	bool				pending;
	bool				evicted;
};

/**
 * struct ddp_port_ops - operations of an LLP for listening sockets
 * @type: session type of the LLP. The ULP of a listener holds a reference to
 *	the LLP's module, so the module cannot be unloaded while a port exists.
 * @open: create a socket and bind it as @a specifies; the caller then calls
 *	listen(). If an error is returned, but *@sock is set, the caller
 *	releases the socket. May sleep.
 * @queue: queue @work on a workqueue of the LLP, with a delay of @delay
 *	jiffies. Any context, because socket callbacks call it.
 * @accepted: take over @sock, the socket of a new connection, whose callbacks
 *	are the original ones. If an error is returned, the caller resets the
 *	connection. May sleep.
 * @evict: end the request @c, because its listener is at its limit or is being
 *	removed. Called with the listener's lock held, so it must not sleep.
 *	NULL if the LLP cannot end pending requests.
 */
struct ddp_port_ops {
	const struct ddp_session_type *type;
	int (*open)(const struct ddp_listen *a, struct socket **sock);
	void (*queue)(struct delayed_work *work, unsigned long delay);
	int (*accepted)(struct ddp_port *p, struct socket *sock);
	void (*evict)(struct ddp_conn_req *c);
};

struct ddp_listener *ddp_port_listen(const struct ddp_port_ops *ops,
				     const struct ddp_listen *a,
				     const struct ddp_session_user *user,
				     void *ctx);
void ddp_port_unlisten(struct ddp_listener *dl);
bool ddp_port_get_policy(struct ddp_port_listener *l, struct ddp_policy *policy);

const struct sockaddr_storage *ddp_port_get_addr(const struct ddp_port *p);
int ddp_port_get_vrf(const struct ddp_port *p);
const struct socket *ddp_port_get_sock(const struct ddp_port *p);

/* Find the listener that a peer has connected to, and take a reference to it */
struct ddp_port_listener *
ddp_port_get_listener(struct ddp_port *p, const struct sockaddr_storage *called,
		      int vrf);
struct ddp_port_listener *
ddp_port_get_listener_by_addr(const struct ddp_port_ops *ops, const struct net *net,
			      const struct sockaddr_storage *called, int vrf);
void ddp_port_put_listener(struct ddp_port_listener *l);

/* Connection requests: attach to a listener, detach, report to the ULP, report a refused one */
bool ddp_port_try_attach_request(struct ddp_port_listener *l, struct ddp_conn_req *c,
				 const struct sockaddr_storage *from);
void ddp_port_detach_request(struct ddp_conn_req *c);
int ddp_port_report_request(struct ddp_conn_req *c, struct ddp_session *ss,
			    const struct ddp_offer *o);
void ddp_port_report_refused(struct ddp_port_listener *l, enum iw_reason why);

#endif
