// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/unaccepted.c: unaccepted associations, and which of
 * them are evicted.
 */
#include <kunit/test.h>
#include <ddp/addr.h>

#include "../../../../drivers/sctp_ddp/internal.h"
#include "../../../../drivers/sctp_ddp/admission.h"

#define CROWD	(SDDP_UNACCEPTED_LADDR + 2)

static struct sddp_assoc assocs[CROWD];
static u32 held;		/* number of references taken */
static u32 widened;		/* number of sockets that got full buffers */

bool ddp_addr_equal(const struct sockaddr_storage *a,
		    const struct sockaddr_storage *b)
{
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

void sddp_assoc_get(struct sddp_assoc *a)
{
	held++;
}

void sddp_sock_grow_buffers(struct sddp_assoc *a)
{
	widened++;
}

static int test_init(struct kunit *test)
{
	int i;

	memset(assocs, 0, sizeof(assocs));
	held = 0;
	widened = 0;
	for (i = 0; i < CROWD; i++)
		INIT_LIST_HEAD(&assocs[i].unaccepted);
	return 0;
}

static void remove_all_assocs(struct kunit *test)
{
	int i;

	for (i = 0; i < CROWD; i++)
		sddp_unaccepted_remove(&assocs[i]);
}

/* Add an association from this address. Return: the association to evict for it, or NULL. */
static struct sddp_assoc *add_assoc(int i, u32 from)
{
	((struct sockaddr_in *)&assocs[i].remote)->sin_addr.s_addr = from;
	return sddp_unaccepted_add_assoc(&assocs[i]);
}

/*
 * Add as many associations as one peer address may have, and one more. Return: the
 * association to evict.
 */
static struct sddp_assoc *add_one_assoc_too_many(void)
{
	int i;

	for (i = 0; i < SDDP_UNACCEPTED_PEER; i++)
		add_assoc(i, 1);
	return add_assoc(i, 1);
}

/*
 * If a peer address has too many associations, the oldest one of that address is
 * evicted, even if associations of other addresses are older
 */
static void oldest_assoc_of_same_peer_is_evicted(struct kunit *test)
{
	int i;

	KUNIT_EXPECT_NULL(test, add_assoc(CROWD - 1, 2));
	for (i = 0; i < SDDP_UNACCEPTED_PEER; i++)
		KUNIT_EXPECT_NULL(test, add_assoc(i, 1));
	KUNIT_EXPECT_PTR_EQ(test, &assocs[0], add_assoc(i, 1));
	KUNIT_EXPECT_EQ(test, 1u, held);
	KUNIT_EXPECT_TRUE(test, assocs[0].evicted);
	/* an association is evicted only once: it does not become a candidate again */
	KUNIT_EXPECT_TRUE(test, sddp_unaccepted_try_add_again(&assocs[0]));
	KUNIT_EXPECT_TRUE(test, list_empty(&assocs[0].unaccepted));
}

/*
 * If all associations come from different addresses, the oldest one at the same
 * local address is evicted
 */
static void oldest_assoc_of_local_addr_is_evicted(struct kunit *test)
{
	int i;

	for (i = 0; i < SDDP_UNACCEPTED_LADDR; i++)
		KUNIT_EXPECT_NULL(test, add_assoc(i, i + 1));
	KUNIT_EXPECT_PTR_EQ(test, &assocs[0], add_assoc(i, i + 1));
}

/* The limits apply separately to each local address and each network namespace */
static void limits_are_per_addr_and_netns(struct kunit *test)
{
	struct sddp_assoc *there = &assocs[CROWD - 1];

	KUNIT_EXPECT_PTR_EQ(test, &assocs[0], add_one_assoc_too_many());
	((struct sockaddr_in *)&there->local)->sin_addr.s_addr = 5;
	KUNIT_EXPECT_NULL(test, add_assoc(CROWD - 1, 1));
	there = &assocs[CROWD - 2];
	there->net = (struct net *)there;
	KUNIT_EXPECT_NULL(test, add_assoc(CROWD - 2, 1));
}

/* If an association gains a session after it was chosen for eviction, the eviction is cancelled */
static void session_cancels_eviction(struct kunit *test)
{
	struct sddp_assoc *a = add_one_assoc_too_many();

	KUNIT_EXPECT_FALSE(test, sddp_unaccepted_try_cancel_evict(a));
	KUNIT_EXPECT_TRUE(test, a->evicted);
	a->live.v = 1;
	KUNIT_EXPECT_TRUE(test, sddp_unaccepted_try_cancel_evict(a));
	KUNIT_EXPECT_FALSE(test, a->evicted);
	a->live.v = 0;
	a->evicted = true;
	a->peer_accepted = true;
	KUNIT_EXPECT_TRUE(test, sddp_unaccepted_try_cancel_evict(a));
	KUNIT_EXPECT_FALSE(test, a->evicted);
}

/*
 * After its request was rejected an association is unaccepted again, and is the
 * first to be evicted
 */
static void rejected_assoc_is_evicted_first(struct kunit *test)
{
	struct sddp_assoc *a = &assocs[1];

	add_assoc(0, 1);
	add_assoc(1, 1);
	sddp_unaccepted_remove(a);
	KUNIT_EXPECT_TRUE(test, list_empty(&a->unaccepted));
	KUNIT_EXPECT_TRUE(test, sddp_unaccepted_try_add_again(a));
	KUNIT_EXPECT_FALSE(test, list_empty(&a->unaccepted));
	/* the association is on the list already */
	KUNIT_EXPECT_TRUE(test, sddp_unaccepted_try_add_again(a));
	sddp_unaccepted_remove(&assocs[0]);
	sddp_unaccepted_remove(a);
	KUNIT_EXPECT_PTR_EQ(test, &assocs[0], add_one_assoc_too_many());
	a = &assocs[2];
	sddp_unaccepted_remove(a);
	add_assoc(CROWD - 1, 1);
	KUNIT_EXPECT_FALSE(test, sddp_unaccepted_try_add_again(a));
	sddp_unaccepted_remove(&assocs[3]);
	KUNIT_EXPECT_TRUE(test, sddp_unaccepted_try_add_again(a));
	KUNIT_EXPECT_PTR_EQ(test, a, add_assoc(CROWD - 2, 1));
}

static void accepted_assoc_leaves_list(struct kunit *test)
{
	struct sddp_assoc *a = &assocs[0];

	add_assoc(0, 1);
	sddp_assoc_record_accepted_session(a);
	sddp_assoc_record_accepted_session(a);
	KUNIT_EXPECT_TRUE(test, a->peer_accepted && list_empty(&a->unaccepted));
	KUNIT_EXPECT_EQ(test, 1u, widened);
	KUNIT_EXPECT_EQ(test, 2u, a->accepted_sessions);
}

/*
 * An accepted session of an association that this side initiated is counted, with
 * no other effect
 */
static void session_of_active_assoc_is_just_counted(struct kunit *test)
{
	struct sddp_assoc *a = &assocs[0];

	a->active = true;
	sddp_assoc_record_accepted_session(a);
	KUNIT_EXPECT_EQ(test, 1u, a->accepted_sessions);
	KUNIT_EXPECT_FALSE(test, a->peer_accepted);
	KUNIT_EXPECT_EQ(test, 0u, widened);
}

static struct kunit_case sddp_unaccepted_cases[] = {
	KUNIT_CASE(oldest_assoc_of_same_peer_is_evicted),
	KUNIT_CASE(oldest_assoc_of_local_addr_is_evicted),
	KUNIT_CASE(limits_are_per_addr_and_netns),
	KUNIT_CASE(session_cancels_eviction),
	KUNIT_CASE(rejected_assoc_is_evicted_first),
	KUNIT_CASE(accepted_assoc_leaves_list),
	KUNIT_CASE(session_of_active_assoc_is_just_counted),
	{}
};

static struct kunit_suite sddp_unaccepted_suite = {
	.name = "sddp_unaccepted",
	.init = test_init,
	.exit = remove_all_assocs,
	.test_cases = sddp_unaccepted_cases,
};

kunit_test_suite(sddp_unaccepted_suite);
