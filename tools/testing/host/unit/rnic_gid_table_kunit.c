// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/gid_table.c: the table follows the addresses of the interface,
 * and the core reads the table only if an entry has changed.
 */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#define ADDRESSES	20

/* The part of an interface's address lists that gid_table.c uses */
struct list4 { struct net_device *dev; };
struct address4 { struct list4 *ifa_dev; __be32 ifa_local; bool used; __be32 ifa_mask; };

struct list6 {
	struct net_device	*dev;
	rwlock_t		lock;
	struct list_head	addr_list;
};

struct address6 {
	struct list_head	if_list;
	struct list6		*idev;
	struct in6_addr		addr;
	u32			flags;
};

#undef __in6_dev_get
#define in_device		list4
#define in_ifaddr		address4
#define inet6_dev		list6
#define inet6_ifaddr		address6
#define IFA_F_OPTIMISTIC	4
#define IFA_F_DADFAILED		8
#define IFA_F_TENTATIVE		0x40
#define read_lock_bh(l)		(local_bh_disable(), read_lock(l))
#define read_unlock_bh(l)	(read_unlock(l), local_bh_enable())

static struct list4 *host_get_in_dev(void);
static struct list6 *host_get_inet6_dev(void);
static const struct address4 *host_get_first_ifa(void);
static void host_map_v4_to_v6(__be32 v4, struct in6_addr *v6);
#define __in_dev_get_rcu(d)	((void)(d), host_get_in_dev())
#define __in6_dev_get(d)	((void)(d), host_get_inet6_dev())
#define in_dev_for_each_ifa_rcu(i, in)	for (i = ((void)(in), host_get_first_ifa()); i->used; i++)
#define ipv6_addr_set_v4mapped(v4, v6)	host_map_v4_to_v6(v4, v6)

#include "../../../../drivers/rnic_sw/gid_table.c"

static struct {
	struct rnic_dev		dev;
	struct net_device	netdev;
	struct list4		in;
	struct list6		in6;
	struct address4		a4[ADDRESSES + 1];
	struct address6		a6[ADDRESSES];
	u32			nr6;
	bool			no_ip;
	union ib_gid		core[GIDS_MAX];	/* the core's copy of the table */
	bool			no_event;	/* the core has no memory for an event */
	u32			events, lid_events;
	bool			registered, has_netdev;
	int			refs;		/* references to the device */
	bool			queued;		/* the work item is queued */
	unsigned long		delay;		/* delay of the work item, ms */
	u32			queueings;
	bool			cancelled;
} stubs;

struct workqueue_struct *rnic_wq;
static struct notifier_block *notifiers[2];
static int register_error[2];

static struct list4 *host_get_in_dev(void)
{
	WARN_ON(!host_reads);
	return stubs.no_ip ? NULL : &stubs.in;
}

static struct list6 *host_get_inet6_dev(void)
{
	WARN_ON(!host_reads);
	return stubs.no_ip ? NULL : &stubs.in6;
}

static const struct address4 *host_get_first_ifa(void)
{
	return stubs.a4;
}

static void host_map_v4_to_v6(__be32 v4, struct in6_addr *v6)
{
	memset(v6, 0, sizeof(*v6));
	memset((u8 *)v6 + 10, 0xff, 2);
	memcpy((u8 *)v6 + 12, &v4, sizeof(v4));
}

void unregister_inetaddr_notifier(struct notifier_block *nb) {}
void unregister_inet6addr_notifier(struct notifier_block *nb) {}

int register_inetaddr_notifier(struct notifier_block *nb)
{
	notifiers[0] = nb;
	return register_error[0];
}

int register_inet6addr_notifier(struct notifier_block *nb)
{
	notifiers[1] = nb;
	return register_error[1];
}

/* The work item ------------------------------------------------------------------- */

bool host_queue_delayed(struct delayed_work *d, unsigned long ms)
{
	WARN_ON(d != &stubs.dev.gids.work || stubs.cancelled);
	if (stubs.queued)
		return false;
	stubs.queued = true;
	stubs.delay = ms;
	stubs.queueings++;
	return true;
}

bool host_mod_delayed(struct delayed_work *d, unsigned long ms)
{
	stubs.queued = false;
	return host_queue_delayed(d, ms);
}

void host_cancel_delayed(struct delayed_work *d)
{
	stubs.queued = false;
	stubs.cancelled = true;
}

/* Run the work item.  Return: the delay with which it was queued. */
static unsigned long run_work(void)
{
	unsigned long delay = stubs.delay;

	WARN_ON(!stubs.queued);
	stubs.queued = false;
	stubs.dev.gids.work.work.func(&stubs.dev.gids.work.work);
	return delay;
}

/* The core ------------------------------------------------------------------------ */

bool ib_device_try_get(struct ib_device *ib)
{
	if (stubs.registered)
		stubs.refs++;
	return stubs.registered;
}

void ib_device_put(struct ib_device *ib)
{
	stubs.refs--;
}

struct ib_device *ib_device_get_by_netdev(struct net_device *netdev,
					  enum rdma_driver_id driver)
{
	if (netdev != &stubs.netdev || !ib_device_try_get(&stubs.dev.ib))
		return NULL;
	return &stubs.dev.ib;
}

struct net_device *ib_device_get_netdev(struct ib_device *ib, u32 port)
{
	return stubs.has_netdev ? &stubs.netdev : NULL;
}

static void read_gid_table(void)
{
	u32 i;

	for (i = 0; i < GIDS_MAX; i++)
		rnic_gids_get_entry(&stubs.dev, i, &stubs.core[i]);
}

int rdma_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid)
{
	static const union ib_gid none;

	if (!memcmp(&stubs.core[index], &none, sizeof(none)))
		return -EINVAL;
	*gid = stubs.core[index];
	return 0;
}

void ib_dispatch_event(struct ib_event *event)
{
	WARN_ON(!stubs.refs);
	if (event->event == IB_EVENT_LID_CHANGE) {
		stubs.lid_events++;
		return;
	}
	WARN_ON(event->event != IB_EVENT_GID_CHANGE);
	stubs.events++;
	if (!stubs.no_event)
		read_gid_table();
}

/* Cases --------------------------------------------------------------------------- */

static void notify_addr_change(struct net_device *netdev, bool v6)
{
	struct list4 in = { netdev };
	struct list6 in6 = { .dev = netdev };
	struct address4 ifa = { .ifa_dev = &in };
	struct address6 ifa6 = { .idev = &in6 };

	notifiers[v6]->notifier_call(notifiers[v6], 0, v6 ? (void *)&ifa6 : &ifa);
}

static void set_ipv4_addrs(u32 nr)
{
	u32 i;

	memset(stubs.a4, 0, sizeof(stubs.a4));
	for (i = 0; i < nr; i++)
		stubs.a4[i] = (struct address4){ &stubs.in, 10 + i, true };
}

static struct address6 *add_ipv6_addr(u8 last, u32 flags)
{
	struct address6 *a = &stubs.a6[stubs.nr6++];

	a->flags = flags;
	((u8 *)&a->addr)[0] = 0xfd;
	((u8 *)&a->addr)[15] = last;
	list_add_tail(&a->if_list, &stubs.in6.addr_list);
	return a;
}

/* Check whether entry @index of the core's copy is the IPv4 address 10 + @n */
static bool core_has_ipv4_at(u32 index, u32 n)
{
	struct in6_addr want;

	host_map_v4_to_v6(10 + n, &want);
	return !memcmp(&stubs.core[index], &want, sizeof(want));
}

static bool core_has_ipv6_at(u32 index, u8 last)
{
	const u8 *gid = stubs.core[index].raw;

	return gid[0] == 0xfd && gid[15] == last;
}

static bool is_core_entry_empty(u32 index)
{
	union ib_gid gid;

	return rdma_query_gid(&stubs.dev.ib, 1, index, &gid);
}

/* Register the device, which has one address */
static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	INIT_LIST_HEAD(&stubs.in6.addr_list);
	stubs.has_netdev = true;
	register_error[0] = register_error[1] = 0;
	KUNIT_ASSERT_EQ(test, 0, rnic_gid_events_init());
	rnic_gids_init(&stubs.dev, 1);
	memset(&stubs.dev.gids.gid[0], 7, sizeof(struct gid));
	set_ipv4_addrs(1);
	rnic_gids_fill(&stubs.dev, &stubs.netdev);
	read_gid_table();
	stubs.registered = true;
	rnic_gids_request_netdev_check(&stubs.netdev);
	KUNIT_EXPECT_EQ(test, GIDS_DELAY_MIN, run_work());
	KUNIT_EXPECT_EQ(test, 0u, stubs.events);
	KUNIT_EXPECT_FALSE(test, stubs.queued);
	return 0;
}

static void test_exit(struct kunit *test)
{
	union ib_gid gid0;

	memset(&gid0, 7, sizeof(gid0));
	KUNIT_EXPECT_TRUE(test, !memcmp(&gid0, &stubs.core[0], sizeof(gid0)));
	rnic_gids_exit(&stubs.dev);
	rnic_gid_events_exit();
	KUNIT_EXPECT_FALSE(test, stubs.queued);
	KUNIT_EXPECT_EQ(test, 0, stubs.refs);
}

static void table_is_filled_before_registration(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, core_has_ipv4_at(1, 0));
	KUNIT_EXPECT_TRUE(test, is_core_entry_empty(2));
}

/* An address that was added while the device was being registered is found */
static void change_during_registration_is_found(struct kunit *test)
{
	set_ipv4_addrs(2);
	rnic_gids_request_netdev_check(&stubs.netdev);
	run_work();
	KUNIT_EXPECT_EQ(test, 1u, stubs.events);
	KUNIT_EXPECT_TRUE(test, core_has_ipv4_at(2, 1));
}

/* The LID stands for the first IPv4 address, and each change of the LID is reported once */
static void lid_follows_first_ipv4_address(struct kunit *test)
{
	set_ipv4_addrs(0);
	stubs.a4[0] = (struct address4){ &stubs.in, htonl(0x0a000102), true, htonl(0xffffff00) };
	KUNIT_EXPECT_EQ(test, 0u, (u32)rnic_gids_get_lid(&stubs.dev));
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_EQ(test, 0x0102u, (u32)rnic_gids_get_lid(&stubs.dev));
	KUNIT_EXPECT_EQ(test, 1u, stubs.lid_events);
	/* another address is added */
	stubs.a4[1] = (struct address4){ &stubs.in, htonl(0x0a000103), true, htonl(0xffffff00) };
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_EQ(test, 1u, stubs.lid_events);
	set_ipv4_addrs(0);
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_EQ(test, 0u, (u32)rnic_gids_get_lid(&stubs.dev));
	KUNIT_EXPECT_EQ(test, 2u, stubs.lid_events);
	stubs.no_ip = true;
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_EQ(test, 2u, stubs.lid_events);
}

/* Many changes cause one check, and later changes do not postpone the check */
static void many_addr_changes_cause_one_check(struct kunit *test)
{
	u32 n;

	stubs.queueings = 0;
	for (n = 0; n < 100; n++) {
		set_ipv4_addrs(1 + n % 3);
		notify_addr_change(&stubs.netdev, n % 2);
	}
	KUNIT_EXPECT_EQ(test, 1u, stubs.queueings);
	set_ipv4_addrs(3);
	KUNIT_EXPECT_EQ(test, GIDS_DELAY_MIN, run_work());
	KUNIT_EXPECT_EQ(test, 1u, stubs.events);
	KUNIT_EXPECT_TRUE(test, core_has_ipv4_at(3, 2));
}

/* The core does not read the table if no entry has changed */
static void reverted_change_causes_no_event(struct kunit *test)
{
	set_ipv4_addrs(2);
	notify_addr_change(&stubs.netdev, false);
	set_ipv4_addrs(1);
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_EQ(test, 0u, stubs.events);
	KUNIT_EXPECT_FALSE(test, stubs.queued);
}

static void removed_address_leaves_an_empty_entry(struct kunit *test)
{
	struct address6 *a = add_ipv6_addr(1, 0);

	add_ipv6_addr(2, 0);
	notify_addr_change(&stubs.netdev, true);
	run_work();
	KUNIT_EXPECT_TRUE(test, core_has_ipv6_at(2, 1) && core_has_ipv6_at(3, 2));
	list_del_init(&a->if_list);
	notify_addr_change(&stubs.netdev, true);
	run_work();
	KUNIT_EXPECT_TRUE(test, is_core_entry_empty(2) && core_has_ipv6_at(3, 2));
	set_ipv4_addrs(2);
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_TRUE(test, core_has_ipv4_at(2, 1) && core_has_ipv6_at(3, 2));
	KUNIT_EXPECT_EQ(test, 3u, stubs.events);
}

/*
 * After an event one more check shows whether the core has read the table. If the core has not read
 * it, the event is repeated.
 */
static void lost_event_is_repeated(struct kunit *test)
{
	stubs.no_event = true;
	set_ipv4_addrs(2);
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_EQ(test, 2 * GIDS_DELAY_MIN, run_work());
	stubs.no_event = false;
	KUNIT_EXPECT_EQ(test, 4 * GIDS_DELAY_MIN, run_work());
	KUNIT_EXPECT_EQ(test, 3u, stubs.events);
	run_work();
	KUNIT_EXPECT_FALSE(test, stubs.queued);
	KUNIT_EXPECT_EQ(test, 3u, stubs.events);
}

/* If the core could not read GID 0, it reads the GID again after the next change */
static void missing_gid_0_is_restored(struct kunit *test)
{
	memset(&stubs.core[0], 0, sizeof(stubs.core[0]));
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_EQ(test, 1u, stubs.events);
}

/*
 * A tentative address has no GID. The kernel does not report the end of duplicate address
 * detection, so the driver checks the address again.
 */
static void tentative_address_is_checked_again(struct kunit *test)
{
	struct address6 *a = add_ipv6_addr(1, IFA_F_TENTATIVE);

	notify_addr_change(&stubs.netdev, true);
	KUNIT_EXPECT_EQ(test, GIDS_DELAY_MIN, run_work());
	KUNIT_EXPECT_TRUE(test, is_core_entry_empty(2));
	KUNIT_EXPECT_EQ(test, 2 * GIDS_DELAY_MIN, run_work());
	KUNIT_EXPECT_EQ(test, 0u, stubs.events);
	a->flags = 0;
	KUNIT_EXPECT_EQ(test, 4 * GIDS_DELAY_MIN, run_work());
	KUNIT_EXPECT_TRUE(test, core_has_ipv6_at(2, 1));
	run_work();
	KUNIT_EXPECT_FALSE(test, stubs.queued);
}

/*
 * Without a notification the checks become rarer and end. After a notification the next check
 * follows soon, even if it was due much later.
 */
static void checks_of_a_tentative_address_end(struct kunit *test)
{
	u32 checks;

	add_ipv6_addr(1, IFA_F_TENTATIVE);
	notify_addr_change(&stubs.netdev, true);
	for (checks = 0; stubs.queued && checks < 100; checks++)
		run_work();
	KUNIT_EXPECT_EQ(test, 10u, checks);
	notify_addr_change(&stubs.netdev, true);
	run_work();
	run_work();
	run_work();
	KUNIT_EXPECT_EQ(test, 8 * GIDS_DELAY_MIN, stubs.delay);
	notify_addr_change(&stubs.netdev, true);
	KUNIT_EXPECT_EQ(test, GIDS_DELAY_MIN, run_work());
	KUNIT_EXPECT_EQ(test, 2 * GIDS_DELAY_MIN, stubs.delay);
}

static void optimistic_address_has_a_gid(struct kunit *test)
{
	struct address6 *a = add_ipv6_addr(1, IFA_F_TENTATIVE | IFA_F_OPTIMISTIC);

	notify_addr_change(&stubs.netdev, true);
	run_work();
	KUNIT_EXPECT_TRUE(test, core_has_ipv6_at(2, 1));
	a->flags = IFA_F_TENTATIVE | IFA_F_DADFAILED;
	run_work();
	KUNIT_EXPECT_TRUE(test, is_core_entry_empty(2));
	run_work();
	KUNIT_EXPECT_FALSE(test, stubs.queued);
}

static void duplicate_address_has_no_gid(struct kunit *test)
{
	add_ipv6_addr(1, IFA_F_TENTATIVE | IFA_F_DADFAILED);
	notify_addr_change(&stubs.netdev, true);
	run_work();
	KUNIT_EXPECT_TRUE(test, is_core_entry_empty(2));
	KUNIT_EXPECT_FALSE(test, stubs.queued);
}

static void excess_addresses_get_no_gid(struct kunit *test)
{
	set_ipv4_addrs(ADDRESSES);
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_TRUE(test, core_has_ipv4_at(GIDS_MAX - 1, GIDS_MAX - 2));
	stubs.a4[0].ifa_local = 200;
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_TRUE(test, core_has_ipv4_at(1, 190));
	KUNIT_EXPECT_TRUE(test, core_has_ipv4_at(2, 1));
}

/* An interface on which IP has been disabled has no addresses */
static void interface_without_ip_has_no_gids(struct kunit *test)
{
	stubs.no_ip = true;
	notify_addr_change(&stubs.netdev, false);
	run_work();
	KUNIT_EXPECT_TRUE(test, is_core_entry_empty(1));
}

static void other_interfaces_are_ignored(struct kunit *test)
{
	struct net_device other = {};

	notify_addr_change(&other, false);
	notify_addr_change(&other, true);
	KUNIT_EXPECT_FALSE(test, stubs.queued);
}

/* The work item does nothing if the device is being unregistered, or its interface removed */
static void removal_of_device_or_netdev_ends_checks(struct kunit *test)
{
	set_ipv4_addrs(2);
	notify_addr_change(&stubs.netdev, false);
	stubs.dev.removing = true;
	run_work();
	stubs.dev.removing = false;
	notify_addr_change(&stubs.netdev, false);
	stubs.has_netdev = false;
	run_work();
	stubs.has_netdev = true;
	notify_addr_change(&stubs.netdev, false);
	stubs.registered = false;
	run_work();
	notify_addr_change(&stubs.netdev, false);
	KUNIT_EXPECT_FALSE(test, stubs.queued);
	KUNIT_EXPECT_EQ(test, 0u, stubs.events);
}

static void failed_notifier_registration_is_undone(struct kunit *test)
{
	register_error[0] = -ENOMEM;
	KUNIT_EXPECT_EQ(test, -ENOMEM, rnic_gid_events_init());
	register_error[0] = 0;
	register_error[1] = -EEXIST;
	KUNIT_EXPECT_EQ(test, -EEXIST, rnic_gid_events_init());
}

static struct kunit_case rnic_gid_table_cases[] = {
	KUNIT_CASE(table_is_filled_before_registration),
	KUNIT_CASE(change_during_registration_is_found),
	KUNIT_CASE(lid_follows_first_ipv4_address),
	KUNIT_CASE(many_addr_changes_cause_one_check),
	KUNIT_CASE(reverted_change_causes_no_event),
	KUNIT_CASE(removed_address_leaves_an_empty_entry),
	KUNIT_CASE(lost_event_is_repeated),
	KUNIT_CASE(missing_gid_0_is_restored),
	KUNIT_CASE(tentative_address_is_checked_again),
	KUNIT_CASE(checks_of_a_tentative_address_end),
	KUNIT_CASE(optimistic_address_has_a_gid),
	KUNIT_CASE(duplicate_address_has_no_gid),
	KUNIT_CASE(excess_addresses_get_no_gid),
	KUNIT_CASE(interface_without_ip_has_no_gids),
	KUNIT_CASE(other_interfaces_are_ignored),
	KUNIT_CASE(removal_of_device_or_netdev_ends_checks),
	KUNIT_CASE(failed_notifier_registration_is_undone),
	{}
};

static struct kunit_suite rnic_gid_table_suite = {
	.name = "rnic_gid_table",
	.init = test_init,
	.exit = test_exit,
	.test_cases = rnic_gid_table_cases,
};

kunit_test_suite(rnic_gid_table_suite);
