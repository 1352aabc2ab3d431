// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit tests of sddp_stall_choose_action() with sequences of checks, and of the sizes and
 * limits in stall.c
 */
#include <kunit/test.h>

#include "../stall.h"

/* State of the association at a check, and the action that must be chosen */
struct stall_check {
	bool			ack_expected;
	u32			acked;
	bool			packet_arrived;	/* since the previous check */
	enum sddp_stall_do	want;
};

#define IDLE(a)		{ .acked = (a) }
#define PROGRESS(a)	{ .ack_expected = true, .acked = (a), .packet_arrived = true }
#define STUCK(a, h, w) \
	{ .ack_expected = true, .acked = (a), .packet_arrived = h, .want = SDDP_STALL_ ## w }

static void expect_actions(struct kunit *test, const struct stall_check *l, u32 n)
{
	struct sddp_stall_view v = { .now = 1000 };
	struct sddp_stall s = {};
	u32 i;

	for (i = 0; i < n; i++, v.now += 100) {
		v.ack_expected = l[i].ack_expected;
		v.acked = l[i].acked;
		if (l[i].packet_arrived)
			v.last_heard = v.now - 1;
		KUNIT_EXPECT_EQ_MSG(test, l[i].want, sddp_stall_choose_action(&s, &v),
				    "check %u", i);
	}
}

#define CHECK_ACTIONS(test, ...) do {					\
		static const struct stall_check checks[] = { __VA_ARGS__ };	\
		expect_actions(test, checks, ARRAY_SIZE(checks));		\
	} while (0)

/* Show that no action is taken while data is acknowledged or no data is in flight */
static void no_action_while_acked(struct kunit *test)
{
	CHECK_ACTIONS(test, IDLE(7), IDLE(7), PROGRESS(8), PROGRESS(9), IDLE(12), IDLE(12),
		      PROGRESS(0xffffffff), PROGRESS(0), PROGRESS(1));
}

/* Show that a single check without progress causes only a heartbeat */
static void one_stall_sends_heartbeat(struct kunit *test)
{
	CHECK_ACTIONS(test, PROGRESS(5), STUCK(5, true, PROBE), PROGRESS(6),
		      STUCK(6, true, PROBE), IDLE(6), STUCK(6, true, PROBE));
}

/* Show that packets do not shrink while the peer does not reply to the heartbeat */
static void packets_do_not_shrink_for_silent_peer(struct kunit *test)
{
	CHECK_ACTIONS(test, PROGRESS(5), STUCK(5, true, PROBE), STUCK(5, false, NOTHING),
		      STUCK(5, false, NOTHING), STUCK(5, true, SHRINK));
}

/* Show that after packets have shrunk, two checks pass before the next heartbeat */
static void two_checks_pass_after_shrinking(struct kunit *test)
{
	CHECK_ACTIONS(test, PROGRESS(5), STUCK(5, true, PROBE), STUCK(5, true, SHRINK),
		      STUCK(5, true, NOTHING), STUCK(5, true, NOTHING),
		      STUCK(5, true, PROBE), STUCK(5, true, SHRINK), PROGRESS(6));
}

/* Show that the association ends after 60 seconds without progress, and not before */
static void assoc_ends_after_a_minute(struct kunit *test)
{
	struct sddp_stall_view v = { .ack_expected = true, .acked = 9 };
	struct sddp_stall s = {};
	u32 n;

	sddp_stall_choose_action(&s, &v);
	for (n = 1; n < 60 / SDDP_STALL_INTERVAL; n++) {
		v.now = n;
		v.last_heard = n;
		KUNIT_EXPECT_NE(test, SDDP_STALL_END, sddp_stall_choose_action(&s, &v));
	}
	KUNIT_EXPECT_EQ(test, SDDP_STALL_END, sddp_stall_choose_action(&s, &v));
}

/* Show that packets never become too small for 516 bytes of user data: RFC 5043 9 (SCTPDDP-60) */
static void pmtu_stays_large_enough(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 1500, sddp_stall_choose_pmtu(65535, 0));
	KUNIT_EXPECT_EQ(test, 1500, sddp_stall_choose_pmtu(1501, 0));
	KUNIT_EXPECT_EQ(test, 1280, sddp_stall_choose_pmtu(1500, 1280));
	KUNIT_EXPECT_EQ(test, 576, sddp_stall_choose_pmtu(1280, 0));
	KUNIT_EXPECT_EQ(test, 0, sddp_stall_choose_pmtu(1280, 1280));
	KUNIT_EXPECT_EQ(test, 0, sddp_stall_choose_pmtu(576, 0));
}

/* Show that the number of timeouts is at most 80, however many addresses the peer announces */
static void timeouts_are_limited(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 8, sddp_compute_max_timeouts(0));
	KUNIT_EXPECT_EQ(test, 8, sddp_compute_max_timeouts(1));
	KUNIT_EXPECT_EQ(test, 10, sddp_compute_max_timeouts(2));
	KUNIT_EXPECT_EQ(test, 80, sddp_compute_max_timeouts(16));
	KUNIT_EXPECT_EQ(test, 80, sddp_compute_max_timeouts(17));
	KUNIT_EXPECT_EQ(test, 80, sddp_compute_max_timeouts(0xffffffff));
}

static struct kunit_case stall_cases[] = {
	KUNIT_CASE(no_action_while_acked),
	KUNIT_CASE(one_stall_sends_heartbeat),
	KUNIT_CASE(packets_do_not_shrink_for_silent_peer),
	KUNIT_CASE(two_checks_pass_after_shrinking),
	KUNIT_CASE(assoc_ends_after_a_minute),
	KUNIT_CASE(pmtu_stays_large_enough),
	KUNIT_CASE(timeouts_are_limited),
	{}
};

static struct kunit_suite stall_suite = {
	.name = "sctp_ddp_stall",
	.test_cases = stall_cases,
};

kunit_test_suite(stall_suite);
