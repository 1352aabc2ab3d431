// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/sctp_ddp/assoc_table.c: which association a new session uses. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "../../../../drivers/sctp_ddp/internal.h"

static struct {
	struct net	net;
	int		vrf;		/* VRF of the interface */
	u32		assocs;
} stubs;

int ddp_sock_vrf(struct net *net, int ifindex)
{
	return stubs.vrf;
}

bool ddp_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return !memcmp(a, b, sizeof(struct sockaddr_in));
}

u32 ddp_addr_hash(const struct net *net, const struct sockaddr_storage *a, u32 seed)
{
	return 1;
}

struct sddp_assoc *sddp_assoc_new(struct net *net, bool active,
				  work_func_t work)
{
	struct sddp_assoc *a = kzalloc(sizeof(*a), GFP_KERNEL);

	a->net = net;
	a->active = active;
	INIT_LIST_HEAD(&a->list);
	INIT_HLIST_NODE(&a->dest_node);
	xa_init_flags(&a->streams, XA_FLAGS_ALLOC);
	kref_init(&a->ref);
	stubs.assocs++;
	return a;
}

static void gone(struct kref *ref)
{
	struct sddp_assoc *a = container_of(ref, struct sddp_assoc, ref);

	xa_destroy(&a->streams);
	kfree(a);
	stubs.assocs--;
}

void sddp_assoc_get(struct sddp_assoc *a)
{
	kref_get(&a->ref);
}

void sddp_assoc_put(struct sddp_assoc *a)
{
	kref_put(&a->ref, gone);
}

void sddp_assoc_kick(struct sddp_assoc *a) {}

static struct sddp_assoc *goes_on(struct kunit *test)
{
	static struct sockaddr_storage local = { .ss_family = AF_INET };
	struct ddp_policy policy = { .streams = 4 };
	struct ddp_connect args = {
		.net = &stubs.net, .ifindex = 3, .policy = &policy,
		.local = &local, .remote = &local,
	};
	struct sddp_assoc *a;
	u16 id;

	a = sddp_assoc_reserve(&args, NULL, &id);
	KUNIT_ASSERT_FALSE(test, IS_ERR(a));
	sddp_assoc_put(a);
	return a;
}

/* An association made before the interface joined its VRF is not used */
static void vrf(struct kunit *test)
{
	struct sddp_assoc *outside, *inside, *a;

	memset(&stubs, 0, sizeof(stubs));
	outside = goes_on(test);
	KUNIT_EXPECT_TRUE(test, goes_on(test) == outside);
	stubs.vrf = 9;
	inside = goes_on(test);
	KUNIT_EXPECT_TRUE(test, inside != outside);
	KUNIT_EXPECT_EQ(test, 9, inside->vrf);
	KUNIT_EXPECT_TRUE(test, goes_on(test) == inside);
	while ((a = sddp_table_pop())) {
		sddp_assoc_put(a);
		sddp_assoc_put(a);
	}
	KUNIT_EXPECT_EQ(test, 0u, stubs.assocs);
}

/*
 * After the peer's SHUTDOWN no session uses the association, but it stays in
 * the table
 */
static void left(struct kunit *test)
{
	struct sddp_assoc *old, *a;

	memset(&stubs, 0, sizeof(stubs));
	old = goes_on(test);
	sddp_table_unhash(old);
	KUNIT_EXPECT_TRUE(test, goes_on(test) != old);
	sddp_table_unhash(old);
	a = sddp_table_pop();
	KUNIT_EXPECT_PTR_EQ(test, old, a);
	while (a) {
		sddp_assoc_put(a);
		sddp_assoc_put(a);
		a = sddp_table_pop();
	}
	KUNIT_EXPECT_EQ(test, 0u, stubs.assocs);
}

static struct kunit_case sddp_reserve_cases[] = {
	KUNIT_CASE(vrf),
	KUNIT_CASE(left),
	{}
};

static struct kunit_suite sddp_reserve_suite = {
	.name = "sddp_assoc_table",
	.test_cases = sddp_reserve_cases,
};

kunit_test_suite(sddp_reserve_suite);
