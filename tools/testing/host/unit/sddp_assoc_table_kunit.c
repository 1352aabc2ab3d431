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
	u32		sockets;	/* number of sockets created */
	u32		released;	/* number of sockets released */
	int		err;		/* result of creating a socket */
	struct ddp_sock_owner	owner;	/* task that connects */
} stubs;

bool ddp_sock_owner_equal(const struct ddp_sock_owner *a, const struct ddp_sock_owner *b)
{
	return a->cred == b->cred && a->privileged == b->privileged;
}

u32 ddp_sock_owner_hash(const struct ddp_sock_owner *o)
{
	return 0;
}

int sddp_sock_create(struct sddp_assoc *a)
{
	stubs.sockets += !stubs.err;
	return stubs.err;
}

void sddp_sock_release(struct sddp_assoc *a)
{
	stubs.released++;
}

int ddp_addr_get_vrf(struct net *net, int mine, const struct sockaddr_storage *local)
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

struct sddp_assoc *sddp_assoc_new(struct net *net, const struct ddp_sock_owner *owner,
				  work_func_t work)
{
	struct sddp_assoc *a = kzalloc(sizeof(*a), GFP_KERNEL);

	a->net = net;
	a->active = owner;
	if (owner)
		a->owner = *owner;
	INIT_LIST_HEAD(&a->list);
	INIT_HLIST_NODE(&a->dest_node);
	xa_init_flags(&a->streams, XA_FLAGS_ALLOC);
	kref_init(&a->ref);
	stubs.assocs++;
	return a;
}

static void release_assoc(struct kref *ref)
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
	kref_put(&a->ref, release_assoc);
}

void sddp_assoc_kick(struct sddp_assoc *a) {}

static struct sddp_assoc *reserve_assoc(void)
{
	static struct sockaddr_storage local = { .ss_family = AF_INET };
	struct ddp_policy policy = { .streams = 4 };
	struct ddp_connect args = {
		.net = &stubs.net, .ifindex = 3, .policy = &policy, .owner = &stubs.owner,
		.local = &local, .remote = &local,
	};
	u16 id;

	return sddp_reserve_stream_pair(&args, NULL, &id);
}

static struct sddp_assoc *reserve_and_expect_assoc(struct kunit *test)
{
	struct sddp_assoc *a = reserve_assoc();

	KUNIT_ASSERT_FALSE(test, IS_ERR(a));
	sddp_assoc_put(a);
	return a;
}

static void pop_all_assocs_and_expect_freed(struct kunit *test)
{
	struct sddp_assoc *a;

	while ((a = sddp_assoc_table_pop())) {
		sddp_assoc_put(a);
		sddp_assoc_put(a);
	}
	KUNIT_EXPECT_EQ(test, 0u, stubs.assocs);
}

/*
 * Tasks that a firewall can tell apart do not share an association, nor do a task
 * that may use ports below 1024 and one that may not. The task that connects creates
 * the socket.
 */
static void owners_do_not_share_assoc(struct kunit *test)
{
	struct sddp_assoc *mine, *other, *privileged;
	static int user, other_user;

	memset(&stubs, 0, sizeof(stubs));
	stubs.owner.cred = (void *)&user;
	mine = reserve_and_expect_assoc(test);
	KUNIT_EXPECT_EQ(test, 1u, stubs.sockets);
	KUNIT_EXPECT_TRUE(test, reserve_and_expect_assoc(test) == mine);
	KUNIT_EXPECT_EQ(test, 1u, stubs.sockets);
	stubs.owner.cred = (void *)&other_user;
	other = reserve_and_expect_assoc(test);
	KUNIT_EXPECT_TRUE(test, other != mine);
	KUNIT_EXPECT_EQ(test, 2u, stubs.sockets);
	stubs.owner.privileged = true;
	privileged = reserve_and_expect_assoc(test);
	KUNIT_EXPECT_TRUE(test, privileged != mine && privileged != other);
	stubs.owner.privileged = false;
	KUNIT_EXPECT_TRUE(test, reserve_and_expect_assoc(test) == other);
	KUNIT_EXPECT_EQ(test, 0u, stubs.released);
	pop_all_assocs_and_expect_freed(test);
}

/* A task that cannot create a socket gets the error at once */
static void reserve_returns_socket_error(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.err = -EPROTONOSUPPORT;
	KUNIT_EXPECT_EQ(test, (long)-EPROTONOSUPPORT, PTR_ERR(reserve_assoc()));
	KUNIT_EXPECT_EQ(test, 0u, stubs.assocs);
	KUNIT_EXPECT_TRUE(test, !sddp_assoc_table_pop());
}

/* An association set up before the interface joined its VRF must not be used */
static void assoc_of_other_vrf_is_not_reused(struct kunit *test)
{
	struct sddp_assoc *outside, *inside;

	memset(&stubs, 0, sizeof(stubs));
	outside = reserve_and_expect_assoc(test);
	KUNIT_EXPECT_TRUE(test, reserve_and_expect_assoc(test) == outside);
	stubs.vrf = 9;
	inside = reserve_and_expect_assoc(test);
	KUNIT_EXPECT_TRUE(test, inside != outside);
	KUNIT_EXPECT_EQ(test, 9, inside->vrf);
	KUNIT_EXPECT_TRUE(test, reserve_and_expect_assoc(test) == inside);
	pop_all_assocs_and_expect_freed(test);
}

/*
 * After sddp_assoc_table_unhash(), as after the peer's SHUTDOWN, no new session uses the
 * association, but the association stays in the table
 */
static void unhashed_assoc_gets_no_session(struct kunit *test)
{
	struct sddp_assoc *old, *a;

	memset(&stubs, 0, sizeof(stubs));
	old = reserve_and_expect_assoc(test);
	sddp_assoc_table_unhash(old);
	KUNIT_EXPECT_TRUE(test, reserve_and_expect_assoc(test) != old);
	sddp_assoc_table_unhash(old);
	a = sddp_assoc_table_pop();
	KUNIT_EXPECT_PTR_EQ(test, old, a);
	while (a) {
		sddp_assoc_put(a);
		sddp_assoc_put(a);
		a = sddp_assoc_table_pop();
	}
	KUNIT_EXPECT_EQ(test, 0u, stubs.assocs);
}

static struct kunit_case sddp_reserve_cases[] = {
	KUNIT_CASE(owners_do_not_share_assoc),
	KUNIT_CASE(reserve_returns_socket_error),
	KUNIT_CASE(assoc_of_other_vrf_is_not_reused),
	KUNIT_CASE(unhashed_assoc_gets_no_session),
	{}
};

static struct kunit_suite sddp_assoc_table_suite = {
	.name = "sddp_assoc_table",
	.test_cases = sddp_reserve_cases,
};

kunit_test_suite(sddp_assoc_table_suite);
