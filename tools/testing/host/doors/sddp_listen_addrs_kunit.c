// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/listen_addrs.c: a listener on a wildcard address
 * follows the addresses of its interface, and no others.
 */
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
	u32			places;		/* number of sockets */
	int			wrong;		/* error for the next socket */
	bool			changes;	/* the addresses change while they are read */
	bool			moved;		/* address 2 has moved to interface 3 */
	bool			exclusive;	/* an address can have one listener */
	u32			taken;		/* addresses in use, one bit each */
	int			domain;		/* VRF of the interface */
	int			listens_in;	/* VRF of the last socket */
} world;

struct workqueue_struct *sddp_wq;
struct ddp_session_type sddp_session_type;
const struct ddp_port_ops sddp_port_ops;
unsigned long jiffies;
u32 host_rescheds;

static struct notifier_block *notifiers[2];

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

/* Nothing is queued while it is pending */
bool host_queue_delayed(struct delayed_work *d, unsigned long ms)
{
	struct run *free = NULL;
	int i;

	for (i = 0; i < LISTENERS; i++) {
		if (world.due[i].d == d)
			return false;
		if (!world.due[i].d)
			free = &world.due[i];
	}
	*free = (struct run){ d, ms };
	world.queued++;
	return true;
}

void host_cancel_delayed(struct delayed_work *d)
{
	int i;

	for (i = 0; i < LISTENERS; i++)
		if (world.due[i].d == d)
			world.due[i].d = NULL;
}

/* Notify of an address change on this interface */
static void tell(struct net_device *dev, bool v6)
{
	struct in_device in = { dev };
	struct inet6_dev in6 = { dev };
	struct in_ifaddr ifa = { &in };
	struct inet6_ifaddr ifa6 = { &in6 };

	notifiers[v6]->notifier_call(notifiers[v6], 0, v6 ? (void *)&ifa6 : &ifa);
}

/* Addresses, and their sockets -------------------------------------------------- */

bool ddp_addr_wildcard(const struct sockaddr_storage *a)
{
	return !((const struct sockaddr_in *)a)->sin_addr.s_addr;
}

bool ddp_addr_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

u32 ddp_addr_hash(const struct net *net, const struct sockaddr_storage *a, u32 seed)
{
	return 0;
}

static void give(struct sockaddr_storage *at, u32 address)
{
	at->ss_family = AF_INET;
	((struct sockaddr_in *)at)->sin_addr.s_addr = address;
}

int ddp_addr_list(struct net *net, int ifindex, sa_family_t family,
		  struct sockaddr_storage *at, int room)
{
	int i;

	if (ifindex == 3) {
		give(at, 2);
		return world.moved;
	}
	for (i = 0; i < world.addresses; i++)
		give(&at[i], i + 1);
	if (world.changes) {
		world.changes = false;
		world.addresses++;
		tell(&world.dev, false);
	}
	return i;
}

int ddp_sock_domain(struct net *net, int ifindex)
{
	return world.domain;
}

static struct ddp_listener sockets[32];

struct ddp_listener *ddp_port_listen(const struct ddp_port_ops *ops,
				     const struct ddp_listen *a,
				     const struct ddp_session_user *user, void *ctx)
{
	u32 n = ((const struct sockaddr_in *)a->local)->sin_addr.s_addr;

	world.listens_in = a->domain;
	if (world.exclusive && world.taken & BIT(n))
		return ERR_PTR(-EADDRINUSE);
	if (world.wrong)
		return ERR_PTR(world.wrong);
	world.taken |= BIT(n);
	world.places++;
	return &sockets[n];
}

void ddp_port_unlisten(struct ddp_listener *dl)
{
	world.taken &= ~BIT(dl - sockets);
	world.places--;
}

u32 sddp_share_delay(u32 before)
{
	return before ? 2 * before : 10;
}

int sddp_share_worse(int a, int b)
{
	return a ?: b;
}

/* Cases --------------------------------------------------------------------------- */

static struct ddp_listener *listens_on(struct net *net, int ifindex)
{
	static const struct sockaddr_storage anywhere = { .ss_family = AF_INET };
	static const struct ddp_policy policy;
	const struct ddp_listen a = {
		.net = net, .ifindex = ifindex, .local = &anywhere, .policy = &policy,
	};

	return sddp_listen(&a, NULL, NULL);
}

static struct ddp_listener *listens(struct net *net)
{
	return listens_on(net, 2);
}

/* Run the first pending work. Return: its delay, 0 for none. */
static unsigned long runs(void)
{
	struct run *r = world.due[0].d ? &world.due[0] : &world.due[1], now = *r;

	WARN_ON(!now.d);
	r->d = NULL;
	now.d->work.func(&now.d->work);
	return now.ms;
}

static bool waits(void)
{
	return world.due[0].d || world.due[1].d;
}

static struct ddp_listener *listener;

static int begin(struct kunit *test)
{
	memset(&world, 0, sizeof(world));
	world.dev.net = &world.net;
	world.dev.ifindex = 2;
	world.addresses = 2;
	KUNIT_EXPECT_EQ(test, 0, sddp_places_init());
	listener = listens(&world.net);
	/* addresses that were added meanwhile */
	KUNIT_EXPECT_EQ(test, 0u, runs());
	KUNIT_EXPECT_EQ(test, 2u, world.places);
	world.queued = 0;
	return 0;
}

static void leave(struct kunit *test)
{
	if (listener)
		sddp_unlisten(listener);
	KUNIT_EXPECT_FALSE(test, waits());
	KUNIT_EXPECT_EQ(test, 0u, world.places);
	KUNIT_EXPECT_EQ(test, 0, world.net.held + world.other.held);
	KUNIT_EXPECT_EQ(test, 0, host_pieces);
	sddp_places_exit();
}

/* Many changes cause one check, soon; a change during the check causes another one */
static void followed(struct kunit *test)
{
	int n;

	for (n = 0; n < 100; n++) {
		world.addresses = 3 + n % 2;
		tell(&world.dev, n % 2);
	}
	KUNIT_EXPECT_EQ(test, 1u, world.queued);
	world.changes = true;
	KUNIT_EXPECT_EQ(test, 50u, runs());
	KUNIT_EXPECT_EQ(test, 4u, world.places);
	KUNIT_EXPECT_EQ(test, 50u, runs());
	KUNIT_EXPECT_EQ(test, 5u, world.places);
	world.addresses = 1;
	tell(&world.dev, true);
	runs();
	KUNIT_EXPECT_EQ(test, 1u, world.places);
	KUNIT_EXPECT_FALSE(test, waits());
}

/* Changes of other interfaces and in other namespaces are ignored */
static void elsewhere(struct kunit *test)
{
	struct net_device lo = { .net = &world.net, .ifindex = 1 };
	struct net_device theirs = { .net = &world.other, .ifindex = 2 };
	int v6;

	for (v6 = 0; v6 < 2; v6++) {
		tell(&lo, v6);
		tell(&theirs, v6);
	}
	KUNIT_EXPECT_EQ(test, 0u, world.queued);
}

/* When a listener ends, other listeners of the namespace may use its addresses */
static void left_to_others(struct kunit *test)
{
	struct ddp_listener *there = listens(&world.other), *second;

	runs();
	second = listens(&world.net);
	runs();
	world.queued = 0;
	sddp_unlisten(second);
	KUNIT_EXPECT_EQ(test, 1u, world.queued);
	runs();
	sddp_unlisten(listener);
	listener = NULL;
	KUNIT_EXPECT_EQ(test, 1u, world.queued);
	sddp_unlisten(there);
}

/* A listener that has ended is not checked again */
static void gone(struct kunit *test)
{
	tell(&world.dev, false);
	sddp_unlisten(listener);
	listener = NULL;
	KUNIT_EXPECT_FALSE(test, waits());
	tell(&world.dev, false);
	KUNIT_EXPECT_EQ(test, 1u, world.queued);
}

/* A lack of memory is retried, because no further notification would come */
static void short_of_memory(struct kunit *test)
{
	world.addresses++;
	world.wrong = -ENOMEM;
	tell(&world.dev, false);
	runs();
	KUNIT_EXPECT_EQ(test, 10u, runs());
	world.wrong = 0;
	KUNIT_EXPECT_EQ(test, 20u, runs());
	KUNIT_EXPECT_EQ(test, 3u, world.places);
	KUNIT_EXPECT_FALSE(test, waits());
	world.addresses++;
	world.wrong = -EADDRINUSE;
	tell(&world.dev, false);
	runs();
	KUNIT_EXPECT_FALSE(test, waits());
}

static void runs_as(int i)
{
	struct delayed_work *d = world.due[i].d;

	world.due[i].d = NULL;
	d->work.func(&d->work);
}

/*
 * An address that moves to the interface of another listener is released before
 * it is used there
 */
static void moves(struct kunit *test)
{
	struct net_device there = { .net = &world.net, .ifindex = 3 };
	struct ddp_listener *second = listens_on(&world.net, 3);

	runs();
	world.exclusive = true;
	/* the second interface is notified and checked first */
	tell(&there, false);
	tell(&world.dev, false);
	world.addresses = 1;
	world.moved = true;
	runs_as(1);
	runs_as(0);
	while (waits())
		runs();
	KUNIT_EXPECT_EQ(test, 2u, world.places);
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2)), world.taken);
	sddp_unlisten(second);
	KUNIT_EXPECT_EQ(test, (u32)BIT(1), world.taken);
}

/* New addresses are used in the VRF that the interface has by then */
static void domain(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, world.listens_in);
	world.domain = 9;
	world.addresses = 3;
	tell(&world.dev, false);
	runs();
	KUNIT_EXPECT_EQ(test, 9, world.listens_in);
}

static struct kunit_case sddp_places_cases[] = {
	KUNIT_CASE(domain),
	KUNIT_CASE(followed),
	KUNIT_CASE(elsewhere),
	KUNIT_CASE(left_to_others),
	KUNIT_CASE(gone),
	KUNIT_CASE(short_of_memory),
	KUNIT_CASE(moves),
	{}
};

static struct kunit_suite sddp_places_suite = {
	.name = "sddp_places",
	.init = begin,
	.exit = leave,
	.test_cases = sddp_places_cases,
};

kunit_test_suite(sddp_places_suite);
