/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Listening sockets, alike over all lower layers.
 *
 * Several devices may listen on one wildcard address and port: they share the
 * socket (the port), and whose a peer is tells the address that it called.
 * Peers that wait at a listener are callers; their number is bounded, and who
 * comes to a full listener takes the place of another.
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

#define DDP_SOURCES	64	/* numbers that sources of callers may have */

/**
 * struct ddp_port_listener - who listens on a port, for one interface
 * @dl: as the user of sessions knows it
 * @ops: the LLP's
 * @port: the socket
 * @list: of the port's listeners; found under RCU
 * @ifindex: the interface
 * @bound: how many callers may wait
 * @seed: of the sources' numbers
 * @ref: holders; each caller is one
 * @rcu: to be freed
 * @lock: the rest; a leaf but for what orphaned() does
 * @dead: it takes no more
 * @upcalls: how many are under way
 * @held: how many callers hold it
 * @waiting: how many callers wait
 * @callers: which, the oldest first
 * @waiting_from: how many of them, from sources of each number
 * @from: which, the oldest first
 */
struct ddp_port_listener {
	struct ddp_listener		dl;
	const struct ddp_port_ops	*ops;
	struct ddp_port			*port;
	struct list_head		list;
	int				ifindex;
	u32				bound;
	u32				seed;
	struct kref			ref;
	struct rcu_head			rcu;

	spinlock_t			lock;	/* the rest */
	bool				dead;
	int				upcalls;
	u32				held;
	u32				waiting;
	struct list_head		callers;
	u32				waiting_from[DDP_SOURCES];
	struct list_head		from[DDP_SOURCES];
};

/**
 * struct ddp_caller - embedded in what waits at a listener
 * @at: where, held; NULL: nowhere
 * @list: of its callers
 * @alike: of those whose sources have the same number
 * @source: where it comes from
 * @listed: it is on the lists
 * @away: it was sent away and is to go
 *
 * The LLP sees to it that one at a time comes or goes.
 */
struct ddp_caller {
	struct ddp_port_listener	*at;
	struct list_head		list;
	struct list_head		alike;
	u32				source;
	bool				listed;
	bool				away;
};

/**
 * struct ddp_port_ops - what an LLP supplies
 * @type: the LLP.  Whoever listens holds its module, as long as there is a
 *	port of it
 * @open: make a socket and bind it to where @a says, but do not listen.  If
 *	that fails what is in @sock is released.
 * @queue: have a worker of the LLP run @work, after @delay jiffies.  From a
 *	socket's callback, too
 * @accepted: a peer has connected; @sock has its own callbacks.  Not 0: the
 *	LLP does not want it, and it is reset
 * @orphaned: the listener goes while @c waits at it, or somebody else takes
 *	its place; or NULL: the LLP sends nobody away.  Must not sleep.
 *
 * open and accepted may sleep.
 */
struct ddp_port_ops {
	const struct ddp_session_type *type;
	int (*open)(const struct ddp_listen *a, struct socket **sock);
	void (*queue)(struct delayed_work *work, unsigned long delay);
	int (*accepted)(struct ddp_port *p, struct socket *sock);
	void (*orphaned)(struct ddp_caller *c);
};

struct ddp_listener *ddp_port_listen(const struct ddp_port_ops *ops,
				     const struct ddp_listen *a,
				     const struct ddp_session_user *user,
				     void *ctx);
void ddp_port_unlisten(struct ddp_listener *dl);
bool ddp_port_policy(struct ddp_port_listener *l, struct ddp_policy *policy);

const struct sockaddr_storage *ddp_port_addr(const struct ddp_port *p);
int ddp_port_domain(const struct ddp_port *p);
const struct socket *ddp_port_sock(const struct ddp_port *p);

/* Who is meant; held */
struct ddp_port_listener *
ddp_port_called(struct ddp_port *p, const struct sockaddr_storage *called,
		int domain);
struct ddp_port_listener *
ddp_port_find(const struct ddp_port_ops *ops, const struct net *net,
	      const struct sockaddr_storage *called, int domain);
void ddp_port_put(struct ddp_port_listener *l);

/* Callers come and go */
bool ddp_port_wait(struct ddp_port_listener *l, struct ddp_caller *c,
		   const struct sockaddr_storage *from);
void ddp_port_leave(struct ddp_caller *c);
int ddp_port_request(struct ddp_caller *c, struct ddp_session *ss,
		     const struct ddp_offer *o);
void ddp_port_refused(struct ddp_port_listener *l, enum iw_reason why);

#endif
