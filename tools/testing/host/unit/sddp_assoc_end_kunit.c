// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/assoc{,_work}.c: how long an association keeps its socket after it
 * has sent a SHUTDOWN. The socket is a stub.
 */
#include <kunit/test.h>

#include "sddp_assoc.h"

/* Let the idle timeout end the fixture's association; the peer does not reply to the SHUTDOWN */
static void begin_unanswered_shutdown(struct kunit *test)
{
	stubs.unanswered = true;
	advance_ms(5000);
	KUNIT_EXPECT_EQ(test, (int)SDDP_ENDED, (int)stubs.a->phase);
	KUNIT_EXPECT_EQ(test, 1u, stubs.shutdowns);
	run_worker();
	KUNIT_EXPECT_EQ(test, 0u, stubs.released);
}

/* After a SHUTDOWN the association keeps its socket until SCTP's association has ended */
static void shutdown_keeps_socket(struct kunit *test)
{
	begin_unanswered_shutdown(test);
	stubs.unanswered = false;
	run_worker();
	expect_assoc_ended(test, IW_LOCAL_CLOSE, false);
	KUNIT_EXPECT_FALSE(test, stubs.armed);
	run_worker();
	expect_assoc_ended(test, IW_LOCAL_CLOSE, false);
}

/*
 * If SCTP's association does not end after a SHUTDOWN, because the peer is unreachable or SCTP had
 * no memory for the SHUTDOWN, the socket is released after 10 s
 */
static void unanswered_shutdown_releases_socket(struct kunit *test)
{
	begin_unanswered_shutdown(test);
	advance_ms(9999);
	KUNIT_EXPECT_EQ(test, 0u, stubs.released);
	advance_ms(1);
	expect_assoc_ended(test, IW_LOCAL_CLOSE, false);
}

/* At module unload the socket is released without waiting for the reply to the SHUTDOWN */
static void stop_releases_socket_at_once(struct kunit *test)
{
	begin_unanswered_shutdown(test);
	WRITE_ONCE(stubs.a->stop, true);
	run_worker();
	expect_assoc_ended(test, IW_LOCAL_CLOSE, false);
}

static struct kunit_case sddp_assoc_end_cases[] = {
	KUNIT_CASE(shutdown_keeps_socket),
	KUNIT_CASE(unanswered_shutdown_releases_socket),
	KUNIT_CASE(stop_releases_socket_at_once),
	{}
};

static struct kunit_suite sddp_assoc_end_suite = {
	.name = "sddp_assoc_end",
	.init = test_init,
	.exit = test_exit,
	.test_cases = sddp_assoc_end_cases,
};

kunit_test_suite(sddp_assoc_end_suite);
