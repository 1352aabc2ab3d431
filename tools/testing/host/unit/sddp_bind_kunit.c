// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/sctp_ddp/bind.c: the addresses that a socket is bound to. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/sctp.h>
#include <net/net_namespace.h>
#include <net/sctp/structs.h>

#include <ddp/addr.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"

#define IPV6_ADDR_LINKLOCAL	0x20
#define ipv6_addr_type(a)	(IN6_IS_ADDR_LINKLOCAL(a) ? IPV6_ADDR_LINKLOCAL : 0)
#undef compat_sockaddr
#define compat_sockaddr(a)	((struct sockaddr *)(a))
#undef sock_net
#define sock_net(sk)		((void)(sk), &stubs.net)
#undef sock_bind_add
#define sock_bind_add(sk, addr, len)	record_added_addr(sk, addr, len)

static struct {
	struct net	net;
	struct sock	sk;
	struct socket	sock;
	int		err;		/* result of binding the first address */
	int		bound;		/* number of binds to the first address */
	int		without;	/* interface without address */
	int		taken;		/* interface whose address is in use */
	int		near;		/* interface with a link-local address only */
	int		short_of;	/* interface for which memory is short */
	int		added[DDP_PATHS_MAX + 1], n;	/* further addresses, by interface */
} stubs;

static int record_added_addr(struct sock *sk, const struct sockaddr *addr, int len);

#include "../../../../drivers/sctp_ddp/bind.c"

int ddp_sock_bind(struct socket *sock, const struct sockaddr_storage *at)
{
	stubs.bound++;
	return stubs.err;
}

/* List one address, whose last byte is the ifindex of the interface */
int ddp_list_iface_addrs(struct net *net, int ifindex, sa_family_t family,
			 struct sockaddr_storage *list, int n)
{
	struct sockaddr_in6 *in6 = (void *)list;
	struct sockaddr_in *in = (void *)list;

	if (net != &stubs.net || n != 1 || ifindex == stubs.without)
		return 0;
	memset(list, 0, sizeof(*list));
	list->ss_family = family;
	if (family == AF_INET)
		in->sin_addr.s_addr = htonl(0x0a000000 | ifindex);
	else
		in6->sin6_addr.s6_addr[15] = ifindex;
	if (family == AF_INET6 && ifindex == stubs.near) {
		in6->sin6_addr.s6_addr[0] = 0xfe;
		in6->sin6_addr.s6_addr[1] = 0x80;
	}
	return 1;
}

static int record_added_addr(struct sock *sk, const struct sockaddr *addr, int len)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	int ifindex = addr->sa_family == AF_INET ? ntohl(in->sin_addr.s_addr) & 0xff
						 : in6->sin6_addr.s6_addr[15];

	if (sk != &stubs.sk || len != ddp_addr_len((const void *)addr))
		abort();
	if (ifindex == stubs.taken)
		return -EADDRINUSE;
	if (ifindex == stubs.short_of)
		return -ENOMEM;
	stubs.added[stubs.n++] = ifindex;
	return 0;
}

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.sock.sk = &stubs.sk;
	return 0;
}

static int bind_to_paths(sa_family_t family, const int *paths)
{
	const struct sockaddr_storage at = { .ss_family = family };

	return sddp_bind(&stubs.sock, &at, paths);
}

static void expect_bound_addrs(struct kunit *test, int n, const int *added)
{
	int i;

	KUNIT_EXPECT_EQ(test, 1, stubs.bound);
	KUNIT_EXPECT_EQ(test, n, stubs.n);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, added[i], stubs.added[i]);
}

/*
 * The list of interfaces ends at the first 0, or after DDP_PATHS_MAX entries. The addresses of all
 * interfaces in the list are added.
 */
static void bind_adds_all_addrs(struct kunit *test)
{
	const int four[DDP_PATHS_MAX + 1] = { 3, 4, 5, 6, 7 };
	const int two[DDP_PATHS_MAX] = { 3, 4, 0, 6 };

	KUNIT_EXPECT_EQ(test, 0, bind_to_paths(AF_INET, four));
	expect_bound_addrs(test, 4, four);
	test_init(test);
	KUNIT_EXPECT_EQ(test, 0, bind_to_paths(AF_INET6, two));
	expect_bound_addrs(test, 2, two);
}

/* Unusable addresses are left out, and the addresses after them are added */
static void bind_skips_unusable_addrs(struct kunit *test)
{
	const int paths[DDP_PATHS_MAX] = { 3, 4, 5, 6 };

	stubs.without = 3;
	stubs.taken = 4;
	stubs.near = 5;
	KUNIT_EXPECT_EQ(test, 0, bind_to_paths(AF_INET6, paths));
	expect_bound_addrs(test, 1, &paths[3]);
}

/* If there is no memory to add an address, the bind fails, because SCTP has released the port */
static void bind_without_memory_fails(struct kunit *test)
{
	const int paths[DDP_PATHS_MAX] = { 3, 4, 5 };

	stubs.short_of = 4;
	KUNIT_EXPECT_EQ(test, -ENOMEM, bind_to_paths(AF_INET, paths));
	expect_bound_addrs(test, 1, paths);
}

/* If binding to the first address fails, no other address is added */
static void first_bind_failure_adds_no_addr(struct kunit *test)
{
	const int paths[DDP_PATHS_MAX] = { 3 };

	stubs.err = -EADDRNOTAVAIL;
	KUNIT_EXPECT_EQ(test, -EADDRNOTAVAIL, bind_to_paths(AF_INET, paths));
	expect_bound_addrs(test, 0, NULL);
}

/*
 * A socket that is bound to a link-local address gets no other address, because a peer's
 * link-local address cannot be reached over another interface
 */
static void link_local_bind_adds_no_addr(struct kunit *test)
{
	const int paths[DDP_PATHS_MAX] = { 3 };
	struct sockaddr_storage at = { .ss_family = AF_INET6 };
	struct sockaddr_in6 *in6 = (void *)&at;

	in6->sin6_addr.s6_addr[0] = 0xfe;
	in6->sin6_addr.s6_addr[1] = 0x80;
	KUNIT_EXPECT_EQ(test, 0, sddp_bind(&stubs.sock, &at, paths));
	expect_bound_addrs(test, 0, NULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(bind_adds_all_addrs),
	KUNIT_CASE(bind_skips_unusable_addrs),
	KUNIT_CASE(bind_without_memory_fails),
	KUNIT_CASE(first_bind_failure_adds_no_addr),
	KUNIT_CASE(link_local_bind_adds_no_addr),
	{}
};

static struct kunit_suite suite = {
	.name = "sddp_bind",
	.init = test_init,
	.test_cases = cases,
};
kunit_test_suite(suite);
