// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/unaccepted.c: unaccepted associations, and which of
 * them are evicted.
 */
#include <kunit/test.h>
#include <ddp/addr.h>

#include "../../../../drivers/sctp_ddp/internal.h"
#include "../../../../drivers/sctp_ddp/admission.h"

#define CROWD	(SDDP_STRANGERS_PLACE + 2)

static struct sddp_assoc strangers[CROWD];
static u32 held;		/* references taken */
static u32 widened;		/* sockets given full buffers */

bool ddp_addr_same(const struct sockaddr_storage *a,
		   const struct sockaddr_storage *b)
{
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

void sddp_assoc_get(struct sddp_assoc *a)
{
	held++;
}

void sddp_sock_widen(struct sddp_assoc *a)
{
	widened++;
}

static int begin(struct kunit *test)
{
	int i;

	memset(strangers, 0, sizeof(strangers));
	held = 0;
	widened = 0;
	for (i = 0; i < CROWD; i++)
		INIT_LIST_HEAD(&strangers[i].crowd);
	return 0;
}

static void end(struct kunit *test)
{
	int i;

	for (i = 0; i < CROWD; i++)
		sddp_crowd_leave(&strangers[i]);
}

/* Another association, from this address. Return: the association to evict for it. */
static struct sddp_assoc *comes(int i, u32 from)
{
	((struct sockaddr_in *)&strangers[i].remote)->sin_addr.s_addr = from;
	return sddp_crowd_join(&strangers[i]);
}

/* As many as one peer address may have, and one more */
static struct sddp_assoc *too_many(void)
{
	int i;

	for (i = 0; i < SDDP_STRANGERS_PEER; i++)
		comes(i, 1);
	return comes(i, 1);
}

/*
 * The oldest association of an address that has too many is evicted, even if
 * others are older
 */
static void own_first(struct kunit *test)
{
	int i;

	KUNIT_EXPECT_NULL(test, comes(CROWD - 1, 2));
	for (i = 0; i < SDDP_STRANGERS_PEER; i++)
		KUNIT_EXPECT_NULL(test, comes(i, 1));
	KUNIT_EXPECT_PTR_EQ(test, &strangers[0], comes(i, 1));
	KUNIT_EXPECT_EQ(test, 1u, held);
	KUNIT_EXPECT_TRUE(test, strangers[0].evicted);
	/* an association is evicted once */
	KUNIT_EXPECT_TRUE(test, sddp_crowd_rejoin(&strangers[0]));
	KUNIT_EXPECT_TRUE(test, list_empty(&strangers[0].crowd));
}

/*
 * If all come from different addresses, the oldest at the same local address is
 * evicted
 */
static void oldest_here(struct kunit *test)
{
	int i;

	for (i = 0; i < SDDP_STRANGERS_PLACE; i++)
		KUNIT_EXPECT_NULL(test, comes(i, i + 1));
	KUNIT_EXPECT_PTR_EQ(test, &strangers[0], comes(i, i + 1));
}

/* Limits apply to a local address and a network namespace */
static void elsewhere(struct kunit *test)
{
	struct sddp_assoc *there = &strangers[CROWD - 1];

	KUNIT_EXPECT_PTR_EQ(test, &strangers[0], too_many());
	((struct sockaddr_in *)&there->local)->sin_addr.s_addr = 5;
	KUNIT_EXPECT_NULL(test, comes(CROWD - 1, 1));
	there = &strangers[CROWD - 2];
	there->net = (struct net *)there;
	KUNIT_EXPECT_NULL(test, comes(CROWD - 2, 1));
}

/* An association that has gained a session meanwhile is not evicted */
static void spared(struct kunit *test)
{
	struct sddp_assoc *a = too_many();

	KUNIT_EXPECT_FALSE(test, sddp_crowd_spare(a));
	KUNIT_EXPECT_TRUE(test, a->evicted);
	a->live.v = 1;
	KUNIT_EXPECT_TRUE(test, sddp_crowd_spare(a));
	KUNIT_EXPECT_FALSE(test, a->evicted);
	a->live.v = 0;
	a->evicted = true;
	a->used = true;
	KUNIT_EXPECT_TRUE(test, sddp_crowd_spare(a));
	KUNIT_EXPECT_FALSE(test, a->evicted);
}

/*
 * After its request was rejected an association is unaccepted again, and is the
 * first to be evicted
 */
static void rejoins(struct kunit *test)
{
	struct sddp_assoc *a = &strangers[1];

	comes(0, 1);
	comes(1, 1);
	sddp_crowd_leave(a);
	KUNIT_EXPECT_TRUE(test, list_empty(&a->crowd));
	KUNIT_EXPECT_TRUE(test, sddp_crowd_rejoin(a));
	KUNIT_EXPECT_FALSE(test, list_empty(&a->crowd));
	/* the association is on the list already */
	KUNIT_EXPECT_TRUE(test, sddp_crowd_rejoin(a));
	sddp_crowd_leave(&strangers[0]);
	sddp_crowd_leave(a);
	KUNIT_EXPECT_PTR_EQ(test, &strangers[0], too_many());
	a = &strangers[2];
	sddp_crowd_leave(a);
	comes(CROWD - 1, 1);
	KUNIT_EXPECT_FALSE(test, sddp_crowd_rejoin(a));
	sddp_crowd_leave(&strangers[3]);
	KUNIT_EXPECT_TRUE(test, sddp_crowd_rejoin(a));
	KUNIT_EXPECT_PTR_EQ(test, a, comes(CROWD - 2, 1));
}

static void accepted(struct kunit *test)
{
	struct sddp_assoc *a = &strangers[0];

	comes(0, 1);
	sddp_crowd_guest(a);
	sddp_crowd_guest(a);
	KUNIT_EXPECT_TRUE(test, a->used && list_empty(&a->crowd));
	KUNIT_EXPECT_EQ(test, 1u, widened);
	KUNIT_EXPECT_EQ(test, 2u, a->guests);
}

/* A local association with an accepted session is only counted */
static void accepted_by_the_peer(struct kunit *test)
{
	struct sddp_assoc *a = &strangers[0];

	a->active = true;
	sddp_crowd_guest(a);
	KUNIT_EXPECT_EQ(test, 1u, a->guests);
	KUNIT_EXPECT_FALSE(test, a->used);
	KUNIT_EXPECT_EQ(test, 0u, widened);
}

static struct kunit_case sddp_crowd_cases[] = {
	KUNIT_CASE(own_first),
	KUNIT_CASE(oldest_here),
	KUNIT_CASE(elsewhere),
	KUNIT_CASE(spared),
	KUNIT_CASE(rejoins),
	KUNIT_CASE(accepted),
	KUNIT_CASE(accepted_by_the_peer),
	{}
};

static struct kunit_suite sddp_crowd_suite = {
	.name = "sddp_crowd",
	.init = begin,
	.exit = end,
	.test_cases = sddp_crowd_cases,
};

kunit_test_suite(sddp_crowd_suite);
