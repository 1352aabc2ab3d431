/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Stubs for the unit tests of drivers/sctp_ddp/listen_addrs.c and addr_event.c: interfaces, their
 * addresses and sockets, and work items. Included by one file only.
 */
#ifndef _HOST_UNIT_SDDP_LISTEN_ADDRS_H
#define _HOST_UNIT_SDDP_LISTEN_ADDRS_H

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/netdevice.h>
#include <linux/slab.h>

#include <ddp/addr.h>
#include <ddp/port.h>

#include "../../../../drivers/sctp_ddp/internal.h"
#include "../../../../drivers/sctp_ddp/admission.h"

#define LISTENERS	2

struct run { struct delayed_work *d; unsigned long ms; };

static struct {
	struct net		net, other;
	struct net_device	dev;
	struct run		due[LISTENERS];
	u32			queued;		/* number of times work was queued */
	int			addresses;	/* number of addresses of the interface */
	u32			laddrs;		/* number of sockets */
	int			wrong;		/* error of creating sockets; 0: none */
	bool			changes;	/* change the addresses while they are read */
	bool			moved;		/* address 2 has moved to interface 3 */
	bool			exclusive;	/* an address can have only one socket */
	u32			taken;		/* addresses with a socket, one bit each */
	int			vrf;		/* VRF of the interface */
	int			listens_in;	/* VRF of the last socket */
	struct net_device	vlan;		/* interface 4, a VLAN with address 20 */
	bool			no_serve;	/* the VLAN is in another VRF */
	u32			in_use;		/* addresses that other programs use, one bit each */
	u32			no_memory;	/* addresses whose socket gets no memory, one bit each */
	int			listener_of[32];	/* interface of the listener on each address */
	u64			order;		/* creation order of the last listener */
	int			starting;	/* sockets before start_first_listener() */
} stubs;

static void start_first_listener(void);

struct workqueue_struct *sddp_wq;
struct ddp_session_type sddp_session_type;
const struct ddp_port_ops sddp_port_ops;
unsigned long jiffies;
u32 host_rescheds;

static struct notifier_block *notifiers[2], *netdev_notifier;

int register_netdevice_notifier(struct notifier_block *nb)
{
	netdev_notifier = nb;
	return 0;
}

int register_inetaddr_notifier(struct notifier_block *nb)
{
	notifiers[0] = nb;
	return 0;
}

int register_inet6addr_notifier(struct notifier_block *nb)
{
	notifiers[1] = nb;
	return 0;
}

void unregister_netdevice_notifier(struct notifier_block *nb) {}
void unregister_inetaddr_notifier(struct notifier_block *nb) {}
void unregister_inet6addr_notifier(struct notifier_block *nb) {}

/* Queue delayed work, unless it is pending already */
bool host_queue_delayed(struct delayed_work *d, unsigned long ms)
{
	struct run *free = NULL;
	int i;

	for (i = 0; i < LISTENERS; i++) {
		if (stubs.due[i].d == d)
			return false;
		if (!stubs.due[i].d)
			free = &stubs.due[i];
	}
	*free = (struct run){ d, ms };
	stubs.queued++;
	return true;
}

void host_cancel_delayed(struct delayed_work *d)
{
	int i;

	for (i = 0; i < LISTENERS; i++)
		if (stubs.due[i].d == d)
			stubs.due[i].d = NULL;
}

/* Run pending work now */
void host_flush_delayed(struct delayed_work *d)
{
	int i;

	for (i = 0; i < LISTENERS; i++)
		if (stubs.due[i].d == d) {
			stubs.due[i].d = NULL;
			d->work.func(&d->work);
			return;
		}
}

/* Call the notifier for an address change on this interface */
static void notify_addr_change(struct net_device *dev, bool v6)
{
	struct in_device in = { dev };
	struct inet6_dev in6 = { dev };
	struct in_ifaddr ifa = { &in };
	struct inet6_ifaddr ifa6 = { &in6 };

	notifiers[v6]->notifier_call(notifiers[v6], 0, v6 ? (void *)&ifa6 : &ifa);
}

/* Addresses, and their sockets -------------------------------------------------- */

bool ddp_addr_is_wildcard(const struct sockaddr_storage *a)
{
	return !((const struct sockaddr_in *)a)->sin_addr.s_addr;
}

bool ddp_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

u32 ddp_addr_hash(const struct net *net, const struct sockaddr_storage *a, u32 seed)
{
	return 0;
}

static void set_addr(struct sockaddr_storage *at, u32 address)
{
	at->ss_family = AF_INET;
	((struct sockaddr_in *)at)->sin_addr.s_addr = address;
}

int ddp_list_iface_addrs(struct net *net, int ifindex, sa_family_t family,
			 struct sockaddr_storage *at, int room)
{
	int i;

	if (ifindex == 4) {
		set_addr(at, 20);
		return 1;
	}
	if (ifindex == 3) {
		set_addr(at, 2);
		return stubs.moved;
	}
	for (i = 0; i < stubs.addresses; i++)
		set_addr(&at[i], i + 1);
	if (stubs.changes) {
		stubs.changes = false;
		stubs.addresses++;
		notify_addr_change(&stubs.dev, false);
	}
	return i;
}

int ddp_ifindex_to_vrf(struct net *net, int ifindex)
{
	return stubs.vrf;
}

int ddp_addr_get_vrf(struct net *net, int mine, const struct sockaddr_storage *local)
{
	return 0;
}

/* If the VLAN exists, the devices of interfaces 2 and 4 may serve each other's addresses */
static bool is_related_pair(int a, int b)
{
	return stubs.vlan.ifindex && ((a == 2 && b == 4) || (a == 4 && b == 2));
}

bool ddp_are_ifaces_related(struct net *net, int mine, const struct net_device *has)
{
	return mine == has->ifindex || is_related_pair(mine, has->ifindex);
}

bool ddp_may_serve_iface(struct net *net, int mine, int has)
{
	return mine == has || (is_related_pair(mine, has) && !stubs.no_serve);
}

struct net_device *dev_get_by_index_rcu(struct net *net, int ifindex)
{
	static struct net_device third = { .ifindex = 3 };

	WARN_ON(!host_reads);
	if (ifindex == third.ifindex)
		return &third;
	return ifindex == stubs.dev.ifindex ? &stubs.dev : &stubs.vlan;
}

struct net_device *host_get_next_netdev(const struct net_device *dev)
{
	WARN_ON(!host_reads);
	if (!dev)
		return &stubs.dev;
	return dev == &stubs.dev && stubs.vlan.ifindex ? &stubs.vlan : NULL;
}

static struct ddp_listener sockets[32];

struct ddp_listener *ddp_port_listen(const struct ddp_port_ops *ops,
				     const struct ddp_listen *a,
				     const struct ddp_session_user *user, void *ctx)
{
	u32 n = ((const struct sockaddr_in *)a->local)->sin_addr.s_addr;

	stubs.listens_in = a->vrf;
	if (stubs.exclusive && (stubs.taken | stubs.in_use) & BIT(n))
		return ERR_PTR(-EADDRINUSE);
	if (stubs.no_memory & BIT(n))
		return ERR_PTR(-ENOMEM);
	if (stubs.wrong)
		return ERR_PTR(stubs.wrong);
	stubs.taken |= BIT(n);
	stubs.laddrs++;
	stubs.listener_of[n] = a->ifindex;
	if (stubs.starting && !--stubs.starting)
		start_first_listener();
	return &sockets[n];
}

void ddp_port_unlisten(struct ddp_listener *dl)
{
	stubs.taken &= ~BIT(dl - sockets);
	stubs.laddrs--;
}

u32 sddp_compute_retry_delay(u32 before)
{
	return before ? 2 * before : 10;
}

int sddp_choose_worse_error(int a, int b)
{
	return a ?: b;
}

#endif
