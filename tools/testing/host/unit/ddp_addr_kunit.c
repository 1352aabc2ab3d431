// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/addr.c: addresses, and the addresses of an
 * interface.
 */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <net/netns/hash.h>

#define DEVICES		3
#define ADDRESSES	4
#define FIRST		5	/* ifindex of the first interface */

/* The part of an interface's address lists that addr.c uses */
struct address4 { __be32 ifa_local; bool there; };

struct address6 {
	struct list_head	if_list;
	struct in6_addr		addr;
	u32			flags;
};

struct device6 {
	rwlock_t		lock;
	struct list_head	addr_list;
};

static struct stubs {
	struct net		net;
	struct net_device	dev[DEVICES];
	struct address4		a4[DEVICES][ADDRESSES + 1];
	struct address6		a6[DEVICES][ADDRESSES];
	struct device6		in6[DEVICES];
	bool			no_ip;
} stubs;

static struct net_device *find_dev_by_ifindex(int ifindex)
{
	return ifindex >= FIRST && ifindex < FIRST + DEVICES ? &stubs.dev[ifindex - FIRST] : NULL;
}

static struct net_device *find_dev_with_ipv4(__be32 addr)
{
	int i, k;

	for (i = 0; i < DEVICES; i++)
		for (k = 0; k < ADDRESSES; k++)
			if (stubs.a4[i][k].there && stubs.a4[i][k].ifa_local == addr)
				return &stubs.dev[i];
	return NULL;
}

static bool dev_has_ipv6_addr(const struct in6_addr *addr, const struct net_device *dev)
{
	struct address6 *a;

	list_for_each_entry(a, &stubs.in6[dev->ifindex - FIRST].addr_list, if_list)
		if (!memcmp(&a->addr, addr, sizeof(*addr)))
			return true;
	return false;
}

#undef __in6_dev_get
#undef for_each_netdev_rcu
#undef IS_ENABLED
#define in_device		address4
#define in_ifaddr		address4
#define inet6_dev		device6
#define inet6_ifaddr		address6
#define IFA_F_DADFAILED		8
#define IPV6_ADDR_LINKLOCAL	0x20
#define CONFIG_IPV6		1
#define IS_ENABLED(what)	what
#define read_lock_bh(l)		(local_bh_disable(), read_lock(l))
#define read_unlock_bh(l)	(read_unlock(l), local_bh_enable())
#define ipv6_addr_any(a)	(!memcmp(a, &in6addr_any, sizeof(*(a))))
#define ipv6_addr_loopback(a)	(!memcmp(a, &in6addr_loopback, sizeof(*(a))))
#define ipv4_is_loopback(a)	(((a) & htonl(0xff000000)) == htonl(0x7f000000))
#define ipv6_addr_equal(a, b)	(!memcmp(a, b, sizeof(*(a))))
#define ipv6_addr_v4mapped(a)	IN6_IS_ADDR_V4MAPPED(a)
#define ipv6_addr_type(a)	(IN6_IS_ADDR_LINKLOCAL(a) ? IPV6_ADDR_LINKLOCAL : 0)
#define __ip_dev_find(net, addr, ref)	((void)WARN_ON(ref), find_dev_with_ipv4(addr))
#define ipv6_chk_addr(net, addr, dev, strict)	\
	((void)WARN_ON(!(strict)), dev_has_ipv6_addr(addr, dev))
#define for_each_netdev_rcu(net, d)	for (d = stubs.dev; d < stubs.dev + DEVICES; d++)
#define dev_get_by_index_rcu(net, i)	(WARN_ON(!host_reads), find_dev_by_ifindex(i))
#define __in_dev_get_rcu(d)	(stubs.no_ip ? NULL : stubs.a4[(d)->ifindex - FIRST])
#define __in6_dev_get(d)	(stubs.no_ip ? NULL : &stubs.in6[(d)->ifindex - FIRST])
/* like compat/ on new kernels, where rdma_cm does not compare MAC addresses of interfaces */
#define compat_also_related(mine, has, is_vlan)	(is_vlan)
#define in_dev_for_each_ifa_rcu(i, in)	for (i = in; i->there; i++)

/* Hash in which each bit of both arguments changes the result */
static inline u32 jhash_1word(u32 a, u32 seed)
{
	u32 n = (a ^ (seed << 7 | seed >> 25)) * 0x9e3779b1;

	return n ^ n >> 15;
}

static inline u32 jhash_2words(u32 a, u32 b, u32 seed)
{
	return jhash_1word(b, jhash_1word(a, seed));
}

static inline u32 jhash2(const u32 *k, u32 n, u32 seed)
{
	while (n--)
		seed = jhash_1word(*k++, seed);
	return seed;
}

/* leave out unit/linux/jhash.h, whose hash functions are replaced above */
#define _LINUX_JHASH_H

#include "../../../../drivers/ddp/addr.c"

/*
 * Addresses
 * ------------------------------------------------------------------------
 */

static struct sockaddr_storage make_ipv4(u32 addr, u16 port)
{
	struct sockaddr_storage s = { .ss_family = AF_INET };
	struct sockaddr_in *a = (void *)&s;

	a->sin_addr.s_addr = htonl(addr);
	a->sin_port = htons(port);
	return s;
}

static struct sockaddr_storage make_ipv6(u32 first, u32 second, u32 third, u32 last)
{
	struct sockaddr_storage s = { .ss_family = AF_INET6 };
	struct sockaddr_in6 *a = (void *)&s;

	a->sin6_addr.s6_addr32[0] = htonl(first);
	a->sin6_addr.s6_addr32[1] = htonl(second);
	a->sin6_addr.s6_addr32[2] = htonl(third);
	a->sin6_addr.s6_addr32[3] = htonl(last);
	a->sin6_port = htons(7);
	return s;
}

static void add_ipv4(int dev, u32 addr)
{
	struct address4 *a = stubs.a4[dev];

	while (a->there)
		a++;
	a->ifa_local = htonl(addr);
	a->there = true;
}

static void add_ipv6(int dev, int nth, struct sockaddr_storage s, u32 flags)
{
	struct address6 *a = &stubs.a6[dev][nth];

	a->addr = ((struct sockaddr_in6 *)&s)->sin6_addr;
	a->flags = flags;
	list_add_tail(&a->if_list, &stubs.in6[dev].addr_list);
}

static int test_init(struct kunit *test)
{
	int i;

	memset(&stubs, 0, sizeof(stubs));
	for (i = 0; i < DEVICES; i++) {
		stubs.dev[i].ifindex = FIRST + i;
		INIT_LIST_HEAD(&stubs.in6[i].addr_list);
	}
	return 0;
}

/*
 * Cases
 * ----------------------------------------------------------------------------
 */

static void zero_addr_is_wildcard(struct kunit *test)
{
	struct sockaddr_storage none4 = make_ipv4(0, 7), none6 = make_ipv6(0, 0, 0, 0);
	struct sockaddr_storage some4 = make_ipv4(1, 7), some6 = make_ipv6(0, 0, 0, 1);

	KUNIT_EXPECT_TRUE(test, ddp_addr_is_wildcard(&none4));
	KUNIT_EXPECT_TRUE(test, ddp_addr_is_wildcard(&none6));
	KUNIT_EXPECT_FALSE(test, ddp_addr_is_wildcard(&some4));
	KUNIT_EXPECT_FALSE(test, ddp_addr_is_wildcard(&some6));
}

/*
 * ddp_addr_equal() distinguishes all these addresses, their hashes differ, and
 * another seed gives other hashes
 */
static void equal_and_hash_distinguish_addrs(struct kunit *test)
{
	struct sockaddr_storage a[] = {
		make_ipv4(1, 7), make_ipv4(1, 8), make_ipv4(2, 7),
		make_ipv6(1, 1, 1, 1), make_ipv6(1, 1, 1, 2), make_ipv6(1, 1, 2, 1),
		make_ipv6(1, 1, 1, 1),
		make_ipv6(1, 1, 1, 1), make_ipv6(1, 2, 1, 1), make_ipv6(2, 1, 1, 1),
	};
	const int n = ARRAY_SIZE(a);
	int i, k;

	((struct sockaddr_in6 *)&a[6])->sin6_port = 0;
	((struct sockaddr_in6 *)&a[7])->sin6_scope_id = 1;
	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++) {
			KUNIT_EXPECT_EQ(test, i == k, ddp_addr_equal(&a[i], &a[k]));
			KUNIT_EXPECT_EQ(test, i == k, ddp_addr_hash(&stubs.net, &a[i], 9) ==
						      ddp_addr_hash(&stubs.net, &a[k], 9));
		}
	KUNIT_EXPECT_NE(test, ddp_addr_hash(&stubs.net, &a[0], 9),
			ddp_addr_hash(&stubs.net, &a[0], 10));
	KUNIT_EXPECT_NE(test, ddp_addr_hash(&stubs.net, &a[3], 9),
			ddp_addr_hash(&stubs.net, &a[3], 10));
}

/* Ports of one IPv4 host, and hosts of one IPv6 /64, are the same source */
static void source_hash_ignores_port_and_interface_id(struct kunit *test)
{
	struct sockaddr_storage a = make_ipv4(1, 7), port = make_ipv4(1, 8), host = make_ipv4(2, 7);
	struct sockaddr_storage b = make_ipv6(1, 1, 1, 1), near = make_ipv6(1, 1, 2, 2);
	struct sockaddr_storage c = make_ipv6(1, 2, 1, 1), d = make_ipv6(2, 1, 1, 1);

	KUNIT_EXPECT_EQ(test, ddp_addr_hash_source(&a, 9), ddp_addr_hash_source(&port, 9));
	KUNIT_EXPECT_NE(test, ddp_addr_hash_source(&a, 9), ddp_addr_hash_source(&host, 9));
	KUNIT_EXPECT_NE(test, ddp_addr_hash_source(&a, 9), ddp_addr_hash_source(&a, 10));
	KUNIT_EXPECT_EQ(test, ddp_addr_hash_source(&b, 9), ddp_addr_hash_source(&near, 9));
	KUNIT_EXPECT_NE(test, ddp_addr_hash_source(&b, 9), ddp_addr_hash_source(&c, 9));
	KUNIT_EXPECT_NE(test, ddp_addr_hash_source(&b, 9), ddp_addr_hash_source(&d, 9));
	KUNIT_EXPECT_NE(test, ddp_addr_hash_source(&b, 9), ddp_addr_hash_source(&b, 10));
}

/* Wildcard and loopback addresses are for all devices, as in rdma_cm's cma_any_addr() */
static void wildcard_and_loopback_addrs_are_recognised(struct kunit *test)
{
	struct sockaddr_storage any4 = make_ipv4(0, 7), lo4 = make_ipv4(0x7f000001, 7);
	struct sockaddr_storage one4 = make_ipv4(1, 7);
	struct sockaddr_storage lo4_too = make_ipv4(0x7f010203, 7);
	struct sockaddr_storage any6 = make_ipv6(0, 0, 0, 0), lo6 = make_ipv6(0, 0, 0, 1);
	struct sockaddr_storage one6 = make_ipv6(1, 0, 0, 1);

	KUNIT_EXPECT_TRUE(test, ddp_addr_is_wildcard_or_loopback(&any4));
	KUNIT_EXPECT_TRUE(test, ddp_addr_is_wildcard_or_loopback(&lo4));
	KUNIT_EXPECT_TRUE(test, ddp_addr_is_wildcard_or_loopback(&lo4_too));
	KUNIT_EXPECT_FALSE(test, ddp_addr_is_wildcard_or_loopback(&one4));
	KUNIT_EXPECT_TRUE(test, ddp_addr_is_wildcard_or_loopback(&any6));
	KUNIT_EXPECT_TRUE(test, ddp_addr_is_wildcard_or_loopback(&lo6));
	KUNIT_EXPECT_FALSE(test, ddp_addr_is_wildcard_or_loopback(&one6));
}

static void v4_mapped_addr_becomes_v4(struct kunit *test)
{
	struct sockaddr_storage a = make_ipv6(0, 0, 0xffff, 0x0a000001);
	struct sockaddr_storage want = make_ipv4(0x0a000001, 7);
	struct sockaddr_storage b = make_ipv6(0, 1, 0xffff, 0x0a000001), same = b, four = want;

	ddp_addr_unmap_v4(&a);
	KUNIT_EXPECT_TRUE(test, !memcmp(&want, &a, sizeof(a)));
	ddp_addr_unmap_v4(&b);
	KUNIT_EXPECT_TRUE(test, !memcmp(&same, &b, sizeof(b)));
	ddp_addr_unmap_v4(&four);
	KUNIT_EXPECT_TRUE(test, !memcmp(&want, &four, sizeof(four)));
}

static int find_ifindex(const struct sockaddr_storage *a)
{
	const struct net_device *dev = ddp_addr_find_dev(&stubs.net, a);

	return dev ? dev->ifindex : 0;
}

/* An address on two interfaces belongs to the first one, as in the RDMA core */
static void addr_belongs_to_first_interface(struct kunit *test)
{
	struct sockaddr_storage a4 = make_ipv4(1, 7), b4 = make_ipv4(2, 7), none4 = make_ipv4(3, 7);
	struct sockaddr_storage a6 = make_ipv6(1, 1, 1, 1), none6 = make_ipv6(1, 1, 1, 3);
	const int first = FIRST, second = FIRST + 1;

	add_ipv4(0, 1);
	add_ipv4(1, 2);
	add_ipv6(1, 0, a6, 0);
	add_ipv6(2, 0, a6, 0);
	rcu_read_lock();
	KUNIT_EXPECT_EQ(test, first, find_ifindex(&a4));
	KUNIT_EXPECT_EQ(test, second, find_ifindex(&b4));
	KUNIT_EXPECT_EQ(test, 0, find_ifindex(&none4));
	KUNIT_EXPECT_EQ(test, second, find_ifindex(&a6));
	KUNIT_EXPECT_EQ(test, 0, find_ifindex(&none6));
	rcu_read_unlock();
}

static bool are_stub_ifaces_related(int mine, int has)
{
	return ddp_are_ifaces_related(&stubs.net, FIRST + mine, &stubs.dev[has]);
}

static bool may_dev_serve_iface(int mine, int has)
{
	return ddp_may_serve_iface(&stubs.net, FIRST + mine, FIRST + has);
}

/*
 * For rdma_cm the device on a VLAN, and the device on the interface below it, may each serve the
 * addresses of both interfaces
 */
static void vlan_is_related_to_lower_iface(struct kunit *test)
{
	stubs.dev[1].vlan_on = &stubs.dev[0];
	stubs.dev[2].vlan_on = &stubs.dev[0];
	KUNIT_EXPECT_TRUE(test, are_stub_ifaces_related(0, 0) && may_dev_serve_iface(0, 0));
	KUNIT_EXPECT_TRUE(test, are_stub_ifaces_related(0, 1) && may_dev_serve_iface(0, 1));
	KUNIT_EXPECT_TRUE(test, are_stub_ifaces_related(1, 0) && may_dev_serve_iface(1, 0));
	/* a device does not serve the addresses of another VLAN */
	KUNIT_EXPECT_FALSE(test, are_stub_ifaces_related(1, 2) || may_dev_serve_iface(1, 2));
	stubs.dev[2].vlan_on = NULL;
	KUNIT_EXPECT_FALSE(test, are_stub_ifaces_related(0, 2) || may_dev_serve_iface(0, 2));
	KUNIT_EXPECT_FALSE(test, are_stub_ifaces_related(2, 0) || may_dev_serve_iface(2, 0));
	/* one of the interfaces has been removed */
	KUNIT_EXPECT_FALSE(test, are_stub_ifaces_related(DEVICES, 0) ||
				 may_dev_serve_iface(DEVICES, 0) ||
				 may_dev_serve_iface(0, DEVICES));
}

/* A wildcard listener serves only addresses of interfaces in the VRF of its device */
static void device_serves_only_its_vrf(struct kunit *test)
{
	stubs.dev[1].vlan_on = &stubs.dev[0];
	stubs.dev[1].vrf = 9;
	KUNIT_EXPECT_TRUE(test, are_stub_ifaces_related(0, 1) && are_stub_ifaces_related(1, 0));
	KUNIT_EXPECT_FALSE(test, may_dev_serve_iface(0, 1) || may_dev_serve_iface(1, 0));
	stubs.dev[0].vrf = 9;
	KUNIT_EXPECT_TRUE(test, may_dev_serve_iface(0, 1) && may_dev_serve_iface(1, 0));
	stubs.dev[1].vrf = 0;
	KUNIT_EXPECT_FALSE(test, may_dev_serve_iface(0, 1) || may_dev_serve_iface(1, 0));
}

/*
 * If rdma_cm may choose the device for an address, ddp_addr_get_vrf() returns the VRF of the
 * interface that has the address. Otherwise it returns the VRF of the device's own interface.
 */
static void addr_is_in_vrf_of_its_iface(struct kunit *test)
{
	struct sockaddr_storage any = make_ipv4(0, 7), own = make_ipv4(1, 7);
	struct sockaddr_storage upper = make_ipv4(2, 7);
	struct sockaddr_storage alien = make_ipv4(3, 7), near = make_ipv6(0xfe800000, 0, 1, 1);

	stubs.dev[0].vrf = 8;
	stubs.dev[1].vlan_on = &stubs.dev[0];
	stubs.dev[1].vrf = 9;
	stubs.dev[2].vrf = 10;
	add_ipv4(0, 1);
	add_ipv4(1, 2);
	add_ipv4(2, 3);
	KUNIT_EXPECT_EQ(test, 8, ddp_addr_get_vrf(&stubs.net, FIRST, &any));
	KUNIT_EXPECT_EQ(test, 8, ddp_addr_get_vrf(&stubs.net, FIRST, &own));
	KUNIT_EXPECT_EQ(test, 9, ddp_addr_get_vrf(&stubs.net, FIRST, &upper));
	KUNIT_EXPECT_EQ(test, 8, ddp_addr_get_vrf(&stubs.net, FIRST, &alien));
	KUNIT_EXPECT_EQ(test, 0, ddp_addr_get_vrf(&stubs.net, FIRST + DEVICES, &own));
	/* two interfaces have the link-local address: the scope ID selects one */
	add_ipv6(0, 0, near, 0);
	add_ipv6(1, 0, near, 0);
	((struct sockaddr_in6 *)&near)->sin6_scope_id = FIRST + 1;
	KUNIT_EXPECT_EQ(test, 9, ddp_addr_get_vrf(&stubs.net, FIRST, &near));
	KUNIT_EXPECT_EQ(test, 10, ddp_addr_get_vrf(&stubs.net, FIRST + 2, &near));
}

static void expect_addr_list(struct kunit *test, sa_family_t family, int room,
			     const struct sockaddr_storage *want, int n)
{
	struct sockaddr_storage at[ADDRESSES + 1], before = make_ipv4(99, 99);
	int i;

	for (i = 0; i <= ADDRESSES; i++)
		at[i] = before;
	KUNIT_EXPECT_EQ(test, n, ddp_list_iface_addrs(&stubs.net, FIRST + 1, family, at, room));
	for (i = 0; i <= ADDRESSES; i++)
		KUNIT_EXPECT_TRUE(test, !memcmp(i < n ? &want[i] : &before, &at[i], sizeof(*at)));
}

static void list_returns_ipv4_addrs(struct kunit *test)
{
	const struct sockaddr_storage want[] = {
		make_ipv4(1, 0), make_ipv4(2, 0), make_ipv4(3, 0),
	};

	expect_addr_list(test, AF_INET, ADDRESSES, want, 0);
	add_ipv4(1, 1);
	add_ipv4(1, 2);
	add_ipv4(1, 3);
	add_ipv4(2, 4);
	expect_addr_list(test, AF_INET, ADDRESSES, want, 3);
	expect_addr_list(test, AF_INET, 3, want, 3);
	expect_addr_list(test, AF_INET, 2, want, 2);
	expect_addr_list(test, AF_INET6, ADDRESSES, want, 0);
}

/*
 * Addresses that failed DAD are not listed; link-local addresses have the scope
 * ID of the interface
 */
static void list_returns_usable_ipv6_addrs(struct kunit *test)
{
	struct sockaddr_storage want[] = { make_ipv6(1, 1, 1, 1), make_ipv6(0xfe800000, 0, 1, 1) };
	struct sockaddr_in6 *near = (void *)&want[1];

	expect_addr_list(test, AF_INET6, ADDRESSES, want, 0);
	add_ipv6(1, 0, make_ipv6(1, 1, 1, 2), IFA_F_DADFAILED);
	add_ipv6(1, 1, want[0], 1);
	add_ipv6(1, 2, want[1], 0);
	((struct sockaddr_in6 *)&want[0])->sin6_port = 0;
	near->sin6_port = 0;
	near->sin6_scope_id = FIRST + 1;
	expect_addr_list(test, AF_INET6, ADDRESSES, want, 2);
	expect_addr_list(test, AF_INET6, 1, want, 1);
	expect_addr_list(test, AF_INET, ADDRESSES, want, 0);
}

/* The list of addresses is empty if the interface is removed or has no addresses */
static void list_is_empty_without_addrs(struct kunit *test)
{
	struct sockaddr_storage at;

	KUNIT_EXPECT_EQ(test, 0,
			ddp_list_iface_addrs(&stubs.net, FIRST + DEVICES, AF_INET, &at, 1));
	KUNIT_EXPECT_EQ(test, 0,
			ddp_list_iface_addrs(&stubs.net, FIRST + DEVICES, AF_INET6, &at, 1));
	add_ipv4(1, 1);
	add_ipv6(1, 0, make_ipv6(1, 1, 1, 1), 0);
	stubs.no_ip = true;
	expect_addr_list(test, AF_INET, ADDRESSES, NULL, 0);
	expect_addr_list(test, AF_INET6, ADDRESSES, NULL, 0);
}

static struct kunit_case ddp_addr_cases[] = {
	KUNIT_CASE(zero_addr_is_wildcard),
	KUNIT_CASE(equal_and_hash_distinguish_addrs),
	KUNIT_CASE(source_hash_ignores_port_and_interface_id),
	KUNIT_CASE(wildcard_and_loopback_addrs_are_recognised),
	KUNIT_CASE(v4_mapped_addr_becomes_v4),
	KUNIT_CASE(addr_belongs_to_first_interface),
	KUNIT_CASE(vlan_is_related_to_lower_iface),
	KUNIT_CASE(device_serves_only_its_vrf),
	KUNIT_CASE(addr_is_in_vrf_of_its_iface),
	KUNIT_CASE(list_returns_ipv4_addrs),
	KUNIT_CASE(list_returns_usable_ipv6_addrs),
	KUNIT_CASE(list_is_empty_without_addrs),
	{}
};

static struct kunit_suite ddp_addr_suite = {
	.name = "ddp_addr",
	.init = test_init,
	.test_cases = ddp_addr_cases,
};

kunit_test_suite(ddp_addr_suite);
