// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/netdev.c and interface.c: creating a device while
 * its interface is removed. Interfaces and the RDMA core are stubs.
 */
#include <kunit/test.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../../../../drivers/rnic_sw/rnic.h"

static struct {
	struct net		net;
	struct net_device	netdev;
	struct rnic_dev		*dev;		/* the created device */
	bool			registered;
	int			refs;		/* references to the device, except the core's */
	bool			removed;		/* remove the interface during creation */
	struct net		*new_net;	/* move the interface to this namespace */
	bool			notified;	/* let the notifier remove the device */
	u32			unregistered;
	bool			filled, followed;	/* GIDs filled; later check requested */
} stubs;

static struct rdma_link_ops *link;
static struct notifier_block *notifier;
struct workqueue_struct *rnic_wq;

void rdma_link_register(struct rdma_link_ops *ops)
{
	link = ops;
}

int register_netdevice_notifier(struct notifier_block *nb)
{
	notifier = nb;
	return 0;
}

void unregister_netdevice_notifier(struct notifier_block *nb) {}

struct workqueue_struct *host_alloc_workqueue(void)
{
	return (struct workqueue_struct *)&stubs;
}

bool host_queue_work(struct work_struct *w)
{
	return true;
}

/* The core ----------------------------------------------------------------------- */

struct ib_device *host_alloc_device(void)
{
	stubs.dev = kzalloc(sizeof(*stubs.dev), GFP_KERNEL);
	return &stubs.dev->ib;
}

void ib_dealloc_device(struct ib_device *ib)
{
	kfree(to_rnic_dev(ib));
	stubs.dev = NULL;
}

int ib_device_set_netdev(struct ib_device *ib, struct net_device *netdev, u32 port)
{
	return 0;
}

struct net_device *ib_device_get_netdev(struct ib_device *ib, u32 port)
{
	return &stubs.netdev;
}

struct ib_device *ib_device_get_by_netdev(struct net_device *netdev,
					  enum rdma_driver_id driver)
{
	if (!stubs.registered)
		return NULL;
	stubs.refs++;
	return &stubs.dev->ib;
}

bool ib_device_try_get(struct ib_device *ib)
{
	return ++stubs.refs;
}

void ib_device_put(struct ib_device *ib)
{
	stubs.refs--;
}

static void unregister_device(struct ib_device *ib)
{
	WARN_ON(!stubs.registered || ib != &stubs.dev->ib);
	stubs.registered = false;
	stubs.unregistered++;
}

void ib_unregister_device_and_put(struct ib_device *ib)
{
	unregister_device(ib);
	ib_device_put(ib);
	ib_dealloc_device(ib);
}

void ib_unregister_device_queued(struct ib_device *ib)
{
	unregister_device(ib);
}

/* Register a device, and remove or move its interface meanwhile, if the test requests it */
int ib_register_device(struct ib_device *ib, const char *name, void *dma)
{
	static struct task_struct adder, other;

	stubs.registered = true;
	/*
	 * rnic_current_is_adding_clients() must be true for the registering task only, not
	 * for another task or for a later task in the same task_struct
	 */
	adder.start_time = 5;
	current = &adder;
	WARN_ON(rnic_enable_driver(ib) || !rnic_current_is_adding_clients(to_rnic_dev(ib)));
	current = &other;
	WARN_ON(rnic_current_is_adding_clients(to_rnic_dev(ib)));
	adder.start_time++;
	current = &adder;
	WARN_ON(rnic_current_is_adding_clients(to_rnic_dev(ib)));
	if (stubs.removed)
		stubs.netdev.reg_state++;
	if (stubs.new_net)
		stubs.netdev.net = stubs.new_net;
	if (stubs.notified) {
		unregister_device(ib);
		ib_dealloc_device(ib);
	}
	return 0;
}

/* Other functions of rnic_sw ----------------------------------------------------- */

int rnic_device_init(struct rnic_dev *dev)
{
	return 0;
}

int rnic_cm_init(struct rnic_dev *dev)
{
	return 0;
}

void rnic_gids_fill(struct rnic_dev *dev, const struct net_device *netdev)
{
	/* the core reads the table when the device is registered */
	WARN_ON(stubs.registered || netdev != &stubs.netdev);
	stubs.filled = true;
}

void rnic_gids_request_check(struct rnic_dev *dev) {}

void rnic_gids_request_netdev_check(struct net_device *netdev)
{
	WARN_ON(!stubs.filled || netdev != &stubs.netdev);
	stubs.followed = true;
}

void rnic_qps_fail(struct rnic_dev *dev, enum iw_reason why) {}
void rnic_qps_fail_and_flush(struct rnic_dev *dev, bool user, enum iw_reason why) {}
void rnic_pending_reqs_abort(struct rnic_dev *dev) {}

/* Cases -------------------------------------------------------------------------- */

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.netdev.reg_state = NETREG_REGISTERED;
	stubs.netdev.has_ip = true;
	stubs.netdev.net = &stubs.net;
	return rnic_netdev_init();
}

static void test_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, stubs.refs);
	KUNIT_EXPECT_EQ(test, 0, stubs.net.held);
	if (stubs.dev)
		ib_dealloc_device(&stubs.dev->ib);
	rnic_netdev_exit();
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
}

static int create_device(void)
{
	return link->newlink("iw0", &stubs.netdev);
}

/* An interface can have one device */
static void interface_has_one_device(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, create_device());
	KUNIT_EXPECT_TRUE(test, stubs.registered);
	KUNIT_EXPECT_TRUE(test, stubs.followed);
	KUNIT_EXPECT_EQ(test, -EEXIST, create_device());
	KUNIT_EXPECT_TRUE(test, stubs.registered);
}

static void interface_without_ip_is_refused(struct kunit *test)
{
	stubs.netdev.has_ip = false;
	KUNIT_EXPECT_EQ(test, -EINVAL, create_device());
	KUNIT_EXPECT_NULL(test, stubs.dev);
}

/*
 * If the interface is removed before the notifier can find the device, the
 * creating task removes the device
 */
static void create_fails_if_interface_is_removed(struct kunit *test)
{
	stubs.removed = true;
	KUNIT_EXPECT_EQ(test, -ENODEV, create_device());
	KUNIT_EXPECT_FALSE(test, stubs.registered);
	KUNIT_EXPECT_EQ(test, 1u, stubs.unregistered);
}

/*
 * If the interface moves to another network namespace, the creating task
 * removes the device
 */
static void create_fails_if_interface_moves(struct kunit *test)
{
	struct net elsewhere = {};

	stubs.new_net = &elsewhere;
	KUNIT_EXPECT_EQ(test, -ENODEV, create_device());
	KUNIT_EXPECT_FALSE(test, stubs.registered);
	KUNIT_EXPECT_EQ(test, 1u, stubs.unregistered);
}

/* A device that the notifier has removed is not removed again */
static void notifier_removes_device_once(struct kunit *test)
{
	stubs.removed = true;
	stubs.notified = true;
	KUNIT_EXPECT_EQ(test, -ENODEV, create_device());
	KUNIT_EXPECT_EQ(test, 1u, stubs.unregistered);
}

/* A VLAN has the MAC address of the interface below it, but gets another GUID */
static void vlan_gets_other_guid(struct kunit *test)
{
	static const u8 mac[ETH_ALEN] = { 2, 3, 4, 5, 6, 7 }, other[ETH_ALEN] = { 2, 9 };
	struct net_device lower = { .addr_len = ETH_ALEN, .dev_addr = mac };
	const u8 *guid;

	strcpy(stubs.netdev.name, "eth0.7");
	stubs.netdev.addr_len = ETH_ALEN;
	stubs.netdev.dev_addr = mac;
	stubs.netdev.lower = &lower;
	KUNIT_ASSERT_EQ(test, 0, create_device());
	guid = (const u8 *)&stubs.dev->ib.node_guid;
	KUNIT_EXPECT_TRUE(test, guid[3] != 0xff || guid[4] != 0xfe);
	KUNIT_EXPECT_TRUE(test, !memcmp(guid, mac, 3) && !memcmp(guid + 5, mac + 3, 3));
	ib_dealloc_device(&stubs.dev->ib);
	stubs.registered = false;
	/* a macvlan has its own address */
	lower.dev_addr = other;
	KUNIT_ASSERT_EQ(test, 0, create_device());
	guid = (const u8 *)&stubs.dev->ib.node_guid;
	KUNIT_EXPECT_TRUE(test, guid[3] == 0xff && guid[4] == 0xfe);
}

/* Create and delete the device; check whether its GUID is derived from the MAC address only */
static bool create_delete_and_check_plain_guid(struct kunit *test)
{
	const u8 *guid;
	bool plain;

	KUNIT_EXPECT_EQ(test, 0, create_device());
	guid = (const u8 *)&stubs.dev->ib.node_guid;
	plain = guid[3] == 0xff && guid[4] == 0xfe;
	ib_dealloc_device(&stubs.dev->ib);
	stubs.registered = false;
	return plain;
}

/* The ports of a bond have the same MAC address, but get different GUIDs */
static void bond_ports_get_different_guids(struct kunit *test)
{
	static const u8 mac[ETH_ALEN] = { 2, 3, 4, 5, 6, 7 }, other[ETH_ALEN] = { 2, 9 };
	struct net_device port = { .addr_len = ETH_ALEN, .dev_addr = mac };
	struct net_device bond = { .addr_len = ETH_ALEN, .dev_addr = mac,
				   .lower = &port, .is_lag_master = true };

	strcpy(stubs.netdev.name, "eth1");
	stubs.netdev.addr_len = ETH_ALEN;
	stubs.netdev.dev_addr = mac;
	stubs.netdev.master = &bond;
	port.next_lower = &stubs.netdev;
	KUNIT_EXPECT_FALSE(test, create_delete_and_check_plain_guid(test));
	port.dev_addr = other;
	KUNIT_EXPECT_TRUE(test, create_delete_and_check_plain_guid(test));
	/*
	 * a VLAN and the interface below it can both be ports of a VRF; only the VLAN's GUID is
	 * made unique
	 */
	port.dev_addr = mac;
	bond.is_lag_master = false;
	KUNIT_EXPECT_TRUE(test, create_delete_and_check_plain_guid(test));
	/* the only port */
	bond.is_lag_master = true;
	bond.lower = &stubs.netdev;
	KUNIT_EXPECT_TRUE(test, create_delete_and_check_plain_guid(test));
}

static struct kunit_case rnic_netdev_cases[] = {
	KUNIT_CASE(interface_has_one_device),
	KUNIT_CASE(interface_without_ip_is_refused),
	KUNIT_CASE(create_fails_if_interface_is_removed),
	KUNIT_CASE(create_fails_if_interface_moves),
	KUNIT_CASE(notifier_removes_device_once),
	KUNIT_CASE(vlan_gets_other_guid),
	KUNIT_CASE(bond_ports_get_different_guids),
	{}
};

static struct kunit_suite rnic_netdev_suite = {
	.name = "rnic_netdev",
	.init = test_init,
	.exit = test_exit,
	.test_cases = rnic_netdev_cases,
};

kunit_test_suite(rnic_netdev_suite);
