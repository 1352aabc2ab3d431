// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/addr_event.c: which notifications update the listeners, and that
 * no notifier stays registered after a failed registration. The kernel's notifiers are stubs.
 */
#include <kunit/test.h>
#include <linux/netdevice.h>

#include "../../../../drivers/sctp_ddp/internal.h"

enum { NETDEV, IPV4, IPV6, NOTIFIERS };

static struct notifier_block *notifiers[NOTIFIERS];
static int failing;	/* notifier whose registration fails, or NOTIFIERS */
static const struct net_device *updated;	/* interface of the last update, or NULL */

void sddp_laddrs_queue_updates(const struct net *net, const struct net_device *dev,
			       const struct sddp_listener *by)
{
	WARN_ON(net != dev->net || by);
	updated = dev;
}

static int register_notifier(int i, struct notifier_block *nb)
{
	WARN_ON(notifiers[i]);
	if (i == failing)
		return -ENOMEM;
	notifiers[i] = nb;
	return 0;
}

static void unregister_notifier(int i, struct notifier_block *nb)
{
	WARN_ON(notifiers[i] != nb);
	notifiers[i] = NULL;
}

int register_netdevice_notifier(struct notifier_block *nb)
{
	return register_notifier(NETDEV, nb);
}

int register_inetaddr_notifier(struct notifier_block *nb)
{
	return register_notifier(IPV4, nb);
}

int register_inet6addr_notifier(struct notifier_block *nb)
{
	return register_notifier(IPV6, nb);
}

void unregister_netdevice_notifier(struct notifier_block *nb)
{
	unregister_notifier(NETDEV, nb);
}

void unregister_inetaddr_notifier(struct notifier_block *nb)
{
	unregister_notifier(IPV4, nb);
}

void unregister_inet6addr_notifier(struct notifier_block *nb)
{
	unregister_notifier(IPV6, nb);
}

static void expect_no_notifier_registered(struct kunit *test)
{
	int i;

	for (i = 0; i < NOTIFIERS; i++)
		KUNIT_EXPECT_NULL(test, notifiers[i]);
}

/* Cases -------------------------------------------------------------------------- */

/* Call notifier @i. Return: the interface whose listeners it has updated, or NULL. */
static const struct net_device *call_notifier(int i, unsigned long event, void *info)
{
	updated = NULL;
	notifiers[i]->notifier_call(notifiers[i], event, info);
	return updated;
}

/*
 * Each change of an address updates the listeners. A change of an interface does so only if the
 * interface joins or leaves a VRF.
 */
static void addr_and_vrf_events_update_listeners(struct kunit *test)
{
	struct net net = {};
	struct net_device dev = { .net = &net };
	struct in_device in = { &dev };
	struct inet6_dev in6 = { &dev };
	struct in_ifaddr ifa = { &in };
	struct inet6_ifaddr ifa6 = { &in6 };

	failing = NOTIFIERS;
	KUNIT_ASSERT_EQ(test, 0, sddp_addr_events_init());
	KUNIT_EXPECT_PTR_EQ(test, &dev, call_notifier(IPV4, NETDEV_UP, &ifa));
	KUNIT_EXPECT_PTR_EQ(test, &dev, call_notifier(IPV6, NETDEV_DOWN, &ifa6));
	KUNIT_EXPECT_PTR_EQ(test, &dev, call_notifier(NETDEV, NETDEV_CHANGEUPPER, &dev));
	KUNIT_EXPECT_NULL(test, call_notifier(NETDEV, NETDEV_UP, &dev));
	KUNIT_EXPECT_NULL(test, call_notifier(NETDEV, NETDEV_UNREGISTER, &dev));
	sddp_addr_events_exit();
	expect_no_notifier_registered(test);
}

static void failed_registration_is_undone(struct kunit *test)
{
	for (failing = 0; failing < NOTIFIERS; failing++) {
		KUNIT_EXPECT_EQ(test, -ENOMEM, sddp_addr_events_init());
		expect_no_notifier_registered(test);
	}
}

static struct kunit_case sddp_addr_event_cases[] = {
	KUNIT_CASE(addr_and_vrf_events_update_listeners),
	KUNIT_CASE(failed_registration_is_undone),
	{}
};

static struct kunit_suite sddp_addr_event_suite = {
	.name = "sddp_addr_event",
	.test_cases = sddp_addr_event_cases,
};

kunit_test_suite(sddp_addr_event_suite);
