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
	int			refs;		/* references to the device, without the core's */
	bool			goes;		/* the interface is removed during creation */
	struct net		*moves_to;	/* the interface moves to this namespace */
	bool			notified;	/* the notifier has removed the device */
	u32			unregistered;
} world;

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

struct workqueue_struct *host_new_queue(void)
{
	return (struct workqueue_struct *)&world;
}

bool host_queue(struct work_struct *w)
{
	return true;
}

/* The core ----------------------------------------------------------------------- */

struct ib_device *host_alloc_device(void)
{
	world.dev = kzalloc(sizeof(*world.dev), GFP_KERNEL);
	return &world.dev->ib;
}

void ib_dealloc_device(struct ib_device *ib)
{
	kfree(to_rnic_dev(ib));
	world.dev = NULL;
}

int ib_device_set_netdev(struct ib_device *ib, struct net_device *netdev, u32 port)
{
	return 0;
}

struct net_device *ib_device_get_netdev(struct ib_device *ib, u32 port)
{
	return &world.netdev;
}

struct ib_device *ib_device_get_by_netdev(struct net_device *netdev,
					  enum rdma_driver_id driver)
{
	if (!world.registered)
		return NULL;
	world.refs++;
	return &world.dev->ib;
}

bool ib_device_try_get(struct ib_device *ib)
{
	return ++world.refs;
}

void ib_device_put(struct ib_device *ib)
{
	world.refs--;
}

static void unregister(struct ib_device *ib)
{
	WARN_ON(!world.registered || ib != &world.dev->ib);
	world.registered = false;
	world.unregistered++;
}

void ib_unregister_device_and_put(struct ib_device *ib)
{
	unregister(ib);
	ib_device_put(ib);
	ib_dealloc_device(ib);
}

void ib_unregister_device_queued(struct ib_device *ib)
{
	unregister(ib);
}

/* The interface may be removed before the device can be found, or just after */
int ib_register_device(struct ib_device *ib, const char *name, void *dma)
{
	static struct task_struct adder, other;

	world.registered = true;
	/*
	 * only the registering task is inside enable_driver(): no other task,
	 * and no later task in the same task_struct
	 */
	adder.start_time = 5;
	current = &adder;
	WARN_ON(rnic_enable_driver(ib) || !rnic_enables(to_rnic_dev(ib)));
	current = &other;
	WARN_ON(rnic_enables(to_rnic_dev(ib)));
	adder.start_time++;
	current = &adder;
	WARN_ON(rnic_enables(to_rnic_dev(ib)));
	if (world.goes)
		world.netdev.reg_state++;
	if (world.moves_to)
		world.netdev.net = world.moves_to;
	if (world.notified) {
		unregister(ib);
		ib_dealloc_device(ib);
	}
	return 0;
}

void ib_dispatch_event(struct ib_event *event) {}

/* The rest of rnic_sw ------------------------------------------------------------ */

int rnic_device_init(struct rnic_dev *dev)
{
	return 0;
}

int rnic_cm_init(struct rnic_dev *dev)
{
	return 0;
}

void rnic_qps_error(struct rnic_dev *dev, enum iw_reason why) {}
void rnic_qps_flush(struct rnic_dev *dev, enum iw_reason why) {}
void rnic_pending_stop(struct rnic_dev *dev) {}

/* Cases -------------------------------------------------------------------------- */

static int begin(struct kunit *test)
{
	memset(&world, 0, sizeof(world));
	world.netdev.reg_state = NETREG_REGISTERED;
	world.netdev.has_ip = true;
	world.netdev.net = &world.net;
	return rnic_netdev_init();
}

static void leave(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, world.refs);
	KUNIT_EXPECT_EQ(test, 0, world.net.held);
	if (world.dev)
		ib_dealloc_device(&world.dev->ib);
	rnic_netdev_exit();
	KUNIT_EXPECT_EQ(test, 0, host_pieces);
}

static int makes(void)
{
	return link->newlink("iw0", &world.netdev);
}

/* An interface can have one device */
static void made(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, makes());
	KUNIT_EXPECT_TRUE(test, world.registered);
	KUNIT_EXPECT_EQ(test, -EEXIST, makes());
	KUNIT_EXPECT_TRUE(test, world.registered);
}

static void not_suitable(struct kunit *test)
{
	world.netdev.has_ip = false;
	KUNIT_EXPECT_EQ(test, -EINVAL, makes());
	KUNIT_EXPECT_NULL(test, world.dev);
}

/*
 * If the interface is removed before the notifier can find the device, the
 * creating task removes the device
 */
static void goes_meanwhile(struct kunit *test)
{
	world.goes = true;
	KUNIT_EXPECT_EQ(test, -ENODEV, makes());
	KUNIT_EXPECT_FALSE(test, world.registered);
	KUNIT_EXPECT_EQ(test, 1u, world.unregistered);
}

/*
 * If the interface moves to another network namespace, the creating task
 * removes the device
 */
static void moves_meanwhile(struct kunit *test)
{
	struct net elsewhere = {};

	world.moves_to = &elsewhere;
	KUNIT_EXPECT_EQ(test, -ENODEV, makes());
	KUNIT_EXPECT_FALSE(test, world.registered);
	KUNIT_EXPECT_EQ(test, 1u, world.unregistered);
}

/* A device that the notifier has removed is not removed again */
static void told_meanwhile(struct kunit *test)
{
	world.goes = true;
	world.notified = true;
	KUNIT_EXPECT_EQ(test, -ENODEV, makes());
	KUNIT_EXPECT_EQ(test, 1u, world.unregistered);
}

static struct kunit_case rnic_netdev_cases[] = {
	KUNIT_CASE(made),
	KUNIT_CASE(not_suitable),
	KUNIT_CASE(goes_meanwhile),
	KUNIT_CASE(moves_meanwhile),
	KUNIT_CASE(told_meanwhile),
	{}
};

static struct kunit_suite rnic_netdev_suite = {
	.name = "rnic_netdev",
	.init = begin,
	.exit = leave,
	.test_cases = rnic_netdev_cases,
};

kunit_test_suite(rnic_netdev_suite);
