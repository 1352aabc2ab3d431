// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/listen_addrs.c: a listener on a wildcard address
 * has a socket on each address of its interface, and on no other address.
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
	u32			laddrs;		/* number of sockets */
	int			wrong;		/* error of creating sockets; 0: none */
	bool			changes;	/* change the addresses while they are read */
	bool			moved;		/* address 2 has moved to interface 3 */
	bool			exclusive;	/* an address can have only one socket */
	u32			taken;		/* addresses with a socket, one bit each */
	int			vrf;		/* VRF of the interface */
	int			listens_in;	/* VRF of the last socket */
} stubs;

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

int ddp_addr_list_interface(struct net *net, int ifindex, sa_family_t family,
			    struct sockaddr_storage *at, int room)
{
	int i;

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

int ddp_sock_get_vrf(struct net *net, int ifindex)
{
	return stubs.vrf;
}

static struct ddp_listener sockets[32];

struct ddp_listener *ddp_port_listen(const struct ddp_port_ops *ops,
				     const struct ddp_listen *a,
				     const struct ddp_session_user *user, void *ctx)
{
	u32 n = ((const struct sockaddr_in *)a->local)->sin_addr.s_addr;

	stubs.listens_in = a->vrf;
	if (stubs.exclusive && stubs.taken & BIT(n))
		return ERR_PTR(-EADDRINUSE);
	if (stubs.wrong)
		return ERR_PTR(stubs.wrong);
	stubs.taken |= BIT(n);
	stubs.laddrs++;
	return &sockets[n];
}

void ddp_port_unlisten(struct ddp_listener *dl)
{
	stubs.taken &= ~BIT(dl - sockets);
	stubs.laddrs--;
}

u32 sddp_next_retry_delay(u32 before)
{
	return before ? 2 * before : 10;
}

int sddp_choose_worse_error(int a, int b)
{
	return a ?: b;
}

/* Cases --------------------------------------------------------------------------- */

static struct ddp_listener *listen_any_on(struct net *net, int ifindex)
{
	static const struct sockaddr_storage anywhere = { .ss_family = AF_INET };
	static const struct ddp_policy policy;
	const struct ddp_listen a = {
		.net = net, .ifindex = ifindex, .local = &anywhere, .policy = &policy,
	};

	return sddp_listen(&a, NULL, NULL);
}

static struct ddp_listener *listen_any(struct net *net)
{
	return listen_any_on(net, 2);
}

/* Run the first pending work. Return: the delay with which the work was queued. */
static unsigned long run_next(void)
{
	struct run *r = stubs.due[0].d ? &stubs.due[0] : &stubs.due[1], now = *r;

	WARN_ON(!now.d);
	r->d = NULL;
	now.d->work.func(&now.d->work);
	return now.ms;
}

static bool is_pending(void)
{
	return stubs.due[0].d || stubs.due[1].d;
}

static struct ddp_listener *listener;

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.dev.net = &stubs.net;
	stubs.dev.ifindex = 2;
	stubs.addresses = 2;
	KUNIT_EXPECT_EQ(test, 0, sddp_laddrs_init());
	listener = listen_any(&stubs.net);
	/* the listener checks for addresses that were added before it was on the list */
	KUNIT_EXPECT_EQ(test, 0u, run_next());
	KUNIT_EXPECT_EQ(test, 2u, stubs.laddrs);
	stubs.queued = 0;
	return 0;
}

static void test_exit(struct kunit *test)
{
	if (listener)
		sddp_unlisten(listener);
	KUNIT_EXPECT_FALSE(test, is_pending());
	KUNIT_EXPECT_EQ(test, 0u, stubs.laddrs);
	KUNIT_EXPECT_EQ(test, 0, stubs.net.held + stubs.other.held);
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
	sddp_laddrs_exit();
}

/*
 * Many address changes cause one check, without delay; a change during the check
 * causes another check
 */
static void addr_changes_cause_one_check(struct kunit *test)
{
	int n;

	for (n = 0; n < 100; n++) {
		stubs.addresses = 3 + n % 2;
		notify_addr_change(&stubs.dev, n % 2);
	}
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	stubs.changes = true;
	KUNIT_EXPECT_EQ(test, 50u, run_next());
	KUNIT_EXPECT_EQ(test, 4u, stubs.laddrs);
	KUNIT_EXPECT_EQ(test, 50u, run_next());
	KUNIT_EXPECT_EQ(test, 5u, stubs.laddrs);
	stubs.addresses = 1;
	notify_addr_change(&stubs.dev, true);
	run_next();
	KUNIT_EXPECT_EQ(test, 1u, stubs.laddrs);
	KUNIT_EXPECT_FALSE(test, is_pending());
}

/* Changes of other interfaces and in other namespaces are ignored */
static void other_interfaces_are_ignored(struct kunit *test)
{
	struct net_device lo = { .net = &stubs.net, .ifindex = 1 };
	struct net_device theirs = { .net = &stubs.other, .ifindex = 2 };
	int v6;

	for (v6 = 0; v6 < 2; v6++) {
		notify_addr_change(&lo, v6);
		notify_addr_change(&theirs, v6);
	}
	KUNIT_EXPECT_EQ(test, 0u, stubs.queued);
}

/*
 * When a listener ends, the other listeners of its namespace are checked, as they
 * may use its addresses
 */
static void listener_end_checks_others(struct kunit *test)
{
	struct ddp_listener *there = listen_any(&stubs.other), *second;

	run_next();
	second = listen_any(&stubs.net);
	run_next();
	stubs.queued = 0;
	sddp_unlisten(second);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	run_next();
	sddp_unlisten(listener);
	listener = NULL;
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	sddp_unlisten(there);
}

/* A listener that has ended is not checked again */
static void ended_listener_is_not_checked(struct kunit *test)
{
	notify_addr_change(&stubs.dev, false);
	sddp_unlisten(listener);
	listener = NULL;
	KUNIT_EXPECT_FALSE(test, is_pending());
	notify_addr_change(&stubs.dev, false);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
}

/*
 * After a lack of memory the check is repeated, because no further notification
 * would cause a check
 */
static void no_memory_repeats_check(struct kunit *test)
{
	stubs.addresses++;
	stubs.wrong = -ENOMEM;
	notify_addr_change(&stubs.dev, false);
	run_next();
	KUNIT_EXPECT_EQ(test, 10u, run_next());
	stubs.wrong = 0;
	KUNIT_EXPECT_EQ(test, 20u, run_next());
	KUNIT_EXPECT_EQ(test, 3u, stubs.laddrs);
	KUNIT_EXPECT_FALSE(test, is_pending());
	stubs.addresses++;
	stubs.wrong = -EADDRINUSE;
	notify_addr_change(&stubs.dev, false);
	run_next();
	KUNIT_EXPECT_FALSE(test, is_pending());
}

static void run_nth(int i)
{
	struct delayed_work *d = stubs.due[i].d;

	stubs.due[i].d = NULL;
	d->work.func(&d->work);
}

/*
 * If an address moves from one listener's interface to another's, the second
 * listener gets the address after the first one has released it
 */
static void moved_addr_is_handed_over(struct kunit *test)
{
	struct net_device there = { .net = &stubs.net, .ifindex = 3 };
	struct ddp_listener *second = listen_any_on(&stubs.net, 3);

	run_next();
	stubs.exclusive = true;
	/* the second interface is notified and checked first */
	notify_addr_change(&there, false);
	notify_addr_change(&stubs.dev, false);
	stubs.addresses = 1;
	stubs.moved = true;
	run_nth(1);
	run_nth(0);
	while (is_pending())
		run_next();
	KUNIT_EXPECT_EQ(test, 2u, stubs.laddrs);
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2)), stubs.taken);
	sddp_unlisten(second);
	KUNIT_EXPECT_EQ(test, (u32)BIT(1), stubs.taken);
}

/* A socket on a new address is created in the VRF that the interface is in at that time */
static void socket_is_created_in_current_vrf(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, stubs.listens_in);
	stubs.vrf = 9;
	stubs.addresses = 3;
	notify_addr_change(&stubs.dev, false);
	run_next();
	KUNIT_EXPECT_EQ(test, 9, stubs.listens_in);
}

static struct kunit_case sddp_laddrs_cases[] = {
	KUNIT_CASE(socket_is_created_in_current_vrf),
	KUNIT_CASE(addr_changes_cause_one_check),
	KUNIT_CASE(other_interfaces_are_ignored),
	KUNIT_CASE(listener_end_checks_others),
	KUNIT_CASE(ended_listener_is_not_checked),
	KUNIT_CASE(no_memory_repeats_check),
	KUNIT_CASE(moved_addr_is_handed_over),
	{}
};

static struct kunit_suite sddp_laddrs_suite = {
	.name = "sddp_listen_addrs",
	.init = test_init,
	.exit = test_exit,
	.test_cases = sddp_laddrs_cases,
};

kunit_test_suite(sddp_laddrs_suite);
