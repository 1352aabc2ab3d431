// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/assoc.c: the owner of a socket whose sessions are accepted by tasks
 * that do not listen.
 */
#include <kunit/test.h>

#include "sddp_assoc.h"

/*
 * The socket belongs to the owner of the sessions that were accepted on it, or to the task that
 * listens if they have several owners
 */
static void socket_belongs_to_sole_owner(struct kunit *test)
{
	const struct ddp_sock_owner one = { .cred = (void *)1 }, two = { .cred = (void *)2 };
	struct sddp_assoc a = { .sock = (void *)&stubs };

	memset(&stubs, 0, sizeof(stubs));
	mutex_init(&a.mutex);
	stubs.sock_owner.cred = (void *)3;
	sddp_assoc_set_owner(&a, &one);
	KUNIT_EXPECT_PTR_EQ(test, (void *)1, (void *)stubs.sock_owner.cred);
	sddp_assoc_set_owner(&a, &one);
	KUNIT_EXPECT_PTR_EQ(test, (void *)1, (void *)stubs.sock_owner.cred);
	sddp_assoc_set_owner(&a, &two);
	KUNIT_EXPECT_PTR_EQ(test, (void *)3, (void *)stubs.sock_owner.cred);
	sddp_assoc_set_owner(&a, &one);
	KUNIT_EXPECT_PTR_EQ(test, (void *)3, (void *)stubs.sock_owner.cred);
	/* the socket may be released already */
	a.sock = NULL;
	sddp_assoc_set_owner(&a, &two);
	KUNIT_EXPECT_PTR_EQ(test, (void *)3, (void *)stubs.sock_owner.cred);
}

static struct kunit_case sddp_owner_cases[] = {
	KUNIT_CASE(socket_belongs_to_sole_owner),
	{}
};

static struct kunit_suite sddp_owner_suite = {
	.name = "sddp_owner",
	.test_cases = sddp_owner_cases,
};

kunit_test_suite(sddp_owner_suite);
