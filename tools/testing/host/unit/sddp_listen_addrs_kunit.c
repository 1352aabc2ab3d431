// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/listen_addrs.c and addr_event.c: a listener on a wildcard
 * address has a socket on each address that its device serves, and on no other address.
 */
#include "sddp_listen_addrs.h"

/* Cases --------------------------------------------------------------------------- */

static struct ddp_listener *listen_on_wildcard_with_order(struct net *net, int ifindex, u64 order)
{
	static const struct sockaddr_storage anywhere = { .ss_family = AF_INET };
	static const struct ddp_policy policy;
	const struct ddp_listen a = {
		.net = net, .ifindex = ifindex, .order = order,
		.local = &anywhere, .policy = &policy,
	};

	return sddp_listen(&a, NULL, NULL);
}

/* Listen on interface @ifindex after all listeners so far */
static struct ddp_listener *listen_on_wildcard_of_iface(struct net *net, int ifindex)
{
	return listen_on_wildcard_with_order(net, ifindex, ++stubs.order);
}

static struct ddp_listener *listen_on_wildcard(struct net *net)
{
	return listen_on_wildcard_of_iface(net, 2);
}

/* Run the first pending work. Return: the delay with which the work was queued. */
static unsigned long run_next_work(void)
{
	struct run *r = stubs.due[0].d ? &stubs.due[0] : &stubs.due[1], now = *r;

	WARN_ON(!now.d);
	r->d = NULL;
	now.d->work.func(&now.d->work);
	return now.ms;
}

static bool is_work_pending(void)
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
	KUNIT_EXPECT_EQ(test, 0, sddp_addr_events_init());
	listener = listen_on_wildcard(&stubs.net);
	/* the listener checks for addresses that were added before it was on the list */
	KUNIT_EXPECT_EQ(test, 0u, run_next_work());
	KUNIT_EXPECT_EQ(test, 2u, stubs.laddrs);
	stubs.queued = 0;
	return 0;
}

static void test_exit(struct kunit *test)
{
	if (listener)
		sddp_unlisten(listener);
	KUNIT_EXPECT_FALSE(test, is_work_pending());
	KUNIT_EXPECT_EQ(test, 0u, stubs.laddrs);
	KUNIT_EXPECT_EQ(test, 0, stubs.net.held + stubs.other.held);
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
	sddp_addr_events_exit();
}

/*
 * Many address changes cause one check, 50 ms after the first of them; a change during
 * the check causes another check
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
	KUNIT_EXPECT_EQ(test, 50u, run_next_work());
	KUNIT_EXPECT_EQ(test, 4u, stubs.laddrs);
	KUNIT_EXPECT_EQ(test, 50u, run_next_work());
	KUNIT_EXPECT_EQ(test, 5u, stubs.laddrs);
	stubs.addresses = 1;
	notify_addr_change(&stubs.dev, true);
	run_next_work();
	KUNIT_EXPECT_EQ(test, 1u, stubs.laddrs);
	KUNIT_EXPECT_FALSE(test, is_work_pending());
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
static void listener_end_rechecks_other_listeners(struct kunit *test)
{
	struct ddp_listener *there = listen_on_wildcard(&stubs.other), *second;

	run_next_work();
	second = listen_on_wildcard(&stubs.net);
	run_next_work();
	stubs.queued = 0;
	sddp_unlisten(second);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	run_next_work();
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
	KUNIT_EXPECT_FALSE(test, is_work_pending());
	notify_addr_change(&stubs.dev, false);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
}

/*
 * After a lack of memory the check is repeated, because no further notification
 * would cause a check
 */
static void only_enomem_repeats_check(struct kunit *test)
{
	stubs.addresses++;
	stubs.wrong = -ENOMEM;
	notify_addr_change(&stubs.dev, false);
	run_next_work();
	KUNIT_EXPECT_EQ(test, 10u, run_next_work());
	stubs.wrong = 0;
	KUNIT_EXPECT_EQ(test, 20u, run_next_work());
	KUNIT_EXPECT_EQ(test, 3u, stubs.laddrs);
	KUNIT_EXPECT_FALSE(test, is_work_pending());
	stubs.addresses++;
	stubs.wrong = -EADDRINUSE;
	notify_addr_change(&stubs.dev, false);
	run_next_work();
	KUNIT_EXPECT_FALSE(test, is_work_pending());
}

static void run_nth_work(int i)
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
	struct ddp_listener *second = listen_on_wildcard_of_iface(&stubs.net, 3);

	run_next_work();
	stubs.exclusive = true;
	/* the second listener's work item is queued first, as number 1, and runs first */
	notify_addr_change(&there, false);
	notify_addr_change(&stubs.dev, false);
	stubs.addresses = 1;
	stubs.moved = true;
	run_nth_work(1);
	run_nth_work(0);
	while (is_work_pending())
		run_next_work();
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
	run_next_work();
	KUNIT_EXPECT_EQ(test, 9, stubs.listens_in);
}

/* A VLAN on the interface, without a device */
static void add_vlan_and_notify(void)
{
	stubs.vlan.net = &stubs.net;
	stubs.vlan.ifindex = 4;
	stubs.exclusive = true;
	notify_addr_change(&stubs.vlan, false);
}

static void run_all_work(void)
{
	while (is_work_pending())
		run_next_work();
}

/* A listener also listens on the VLAN's address, but not if the VLAN is in another VRF */
static void related_addrs_are_served(struct kunit *test)
{
	add_vlan_and_notify();
	run_all_work();
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2) | BIT(20)), stubs.taken);
	stubs.no_serve = true;
	netdev_notifier->notifier_call(netdev_notifier, NETDEV_UP, &stubs.vlan);
	KUNIT_EXPECT_FALSE(test, is_work_pending());
	netdev_notifier->notifier_call(netdev_notifier, NETDEV_CHANGEUPPER, &stubs.vlan);
	run_all_work();
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2)), stubs.taken);
}

/* A lack of memory for the socket on the VLAN's address causes another check */
static void enomem_for_related_addr_repeats_check(struct kunit *test)
{
	stubs.no_memory = BIT(20);
	add_vlan_and_notify();
	KUNIT_EXPECT_EQ(test, 50u, run_next_work());
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2)), stubs.taken);
	stubs.no_memory = 0;
	KUNIT_EXPECT_EQ(test, 10u, run_next_work());
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2) | BIT(20)), stubs.taken);
}

/* A listener starts without error even if another program uses the port on the VLAN's address */
static void related_addr_in_use_is_ignored(struct kunit *test)
{
	sddp_unlisten(listener);
	add_vlan_and_notify();
	stubs.in_use = BIT(20);
	listener = listen_on_wildcard(&stubs.net);
	KUNIT_ASSERT_FALSE(test, IS_ERR(listener));
	run_all_work();
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2)), stubs.taken);
	sddp_unlisten(listener);
	stubs.in_use = BIT(2);
	listener = listen_on_wildcard(&stubs.net);
	KUNIT_EXPECT_EQ(test, (long)-EADDRINUSE, PTR_ERR(listener));
	listener = NULL;
}

/*
 * The listener that rdma_cm created first accepts on all addresses that its device may serve, even
 * on the address of a VLAN that has a device, too. When this listener ends, the second one accepts
 * on these addresses.
 */
static void first_listener_serves_all_addrs(struct kunit *test)
{
	struct ddp_listener *second;

	add_vlan_and_notify();
	run_all_work();
	second = listen_on_wildcard_of_iface(&stubs.net, 4);
	KUNIT_ASSERT_FALSE(test, IS_ERR(second));
	run_all_work();
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2) | BIT(20)), stubs.taken);
	KUNIT_EXPECT_EQ(test, 2, stubs.listener_of[20]);
	KUNIT_EXPECT_EQ(test, 2, stubs.listener_of[1]);
	sddp_unlisten(listener);
	listener = NULL;
	run_all_work();
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2) | BIT(20)), stubs.taken);
	KUNIT_EXPECT_EQ(test, 4, stubs.listener_of[20]);
	KUNIT_EXPECT_EQ(test, 4, stubs.listener_of[1]);
	sddp_unlisten(second);
}

/*
 * If the VLAN is in another VRF, rdma_cm still chooses the first device, so no device serves the
 * VLAN's address
 */
static void no_listener_serves_addr_in_other_vrf(struct kunit *test)
{
	struct ddp_listener *second;

	add_vlan_and_notify();
	stubs.no_serve = true;
	second = listen_on_wildcard_of_iface(&stubs.net, 4);
	KUNIT_ASSERT_FALSE(test, IS_ERR(second));
	run_all_work();
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2)), stubs.taken);
	sddp_unlisten(second);
	run_all_work();
}

/*
 * If the setting "listen" stops a listener and starts it again after another listener, the call
 * returns only when the restarted listener has its addresses again
 */
static void restarted_listener_gets_addrs_back(struct kunit *test)
{
	struct ddp_listener *second;

	add_vlan_and_notify();
	second = listen_on_wildcard_of_iface(&stubs.net, 4);
	run_all_work();
	sddp_unlisten(listener);
	run_all_work();
	KUNIT_EXPECT_EQ(test, 4, stubs.listener_of[1]);
	listener = listen_on_wildcard_with_order(&stubs.net, 2, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(listener));
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2) | BIT(20)), stubs.taken);
	KUNIT_EXPECT_EQ(test, 2, stubs.listener_of[1]);
	run_all_work();
	KUNIT_EXPECT_EQ(test, 2, stubs.listener_of[20]);
	sddp_unlisten(second);
	run_all_work();
}

static struct ddp_listener *first_listener;

static void start_first_listener(void)
{
	first_listener = listen_on_wildcard_with_order(&stubs.net, 4, 0);
}

/*
 * If the first listener is started again while the second one is starting and already has the
 * address, the first one starts without error, and gets the address later
 */
static void concurrent_start_gives_addr_to_first_listener(struct kunit *test)
{
	sddp_unlisten(listener);
	add_vlan_and_notify();
	stubs.starting = 3;
	listener = listen_on_wildcard(&stubs.net);
	KUNIT_ASSERT_FALSE(test, IS_ERR(first_listener));
	KUNIT_EXPECT_EQ(test, 2, stubs.listener_of[20]);
	run_all_work();
	KUNIT_EXPECT_EQ(test, (u32)(BIT(1) | BIT(2) | BIT(20)), stubs.taken);
	KUNIT_EXPECT_EQ(test, 4, stubs.listener_of[20]);
	KUNIT_EXPECT_EQ(test, 4, stubs.listener_of[1]);
	sddp_unlisten(first_listener);
	run_all_work();
	/*
	 * if another program uses the port on the VLAN's address, waiting for the address is
	 * useless, so the listener fails
	 */
	stubs.in_use = BIT(20);
	sddp_unlisten(listener);
	listener = listen_on_wildcard(&stubs.net);
	run_all_work();
	KUNIT_EXPECT_EQ(test, (long)-EADDRINUSE,
			PTR_ERR(listen_on_wildcard_with_order(&stubs.net, 4, 0)));
	run_all_work();
}

static struct kunit_case sddp_laddrs_cases[] = {
	KUNIT_CASE(related_addrs_are_served),
	KUNIT_CASE(enomem_for_related_addr_repeats_check),
	KUNIT_CASE(related_addr_in_use_is_ignored),
	KUNIT_CASE(first_listener_serves_all_addrs),
	KUNIT_CASE(no_listener_serves_addr_in_other_vrf),
	KUNIT_CASE(restarted_listener_gets_addrs_back),
	KUNIT_CASE(concurrent_start_gives_addr_to_first_listener),
	KUNIT_CASE(socket_is_created_in_current_vrf),
	KUNIT_CASE(addr_changes_cause_one_check),
	KUNIT_CASE(other_interfaces_are_ignored),
	KUNIT_CASE(listener_end_rechecks_other_listeners),
	KUNIT_CASE(ended_listener_is_not_checked),
	KUNIT_CASE(only_enomem_repeats_check),
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
