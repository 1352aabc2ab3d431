// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>

#include "../qp_state.h"

/*
 * Expected transitions as a matrix: one row for each current state, one column for each
 * new state, in the order idle, rts, closing, terminate, error.  An x means permitted.
 */
static const char * const picture[QP_STATE_NR] = {
	[QP_IDLE]	= "-x--x",
	[QP_RTS]	= "--xxx",
	[QP_CLOSING]	= "---xx",
	[QP_TERMINATE]	= "----x",
	[QP_ERROR]	= "-----",
};

static void permitted_transitions_match_matrix(struct kunit *test)
{
	int from, to;

	for (from = 0; from < QP_STATE_NR; from++)
		for (to = 0; to < QP_STATE_NR; to++)
			KUNIT_EXPECT_EQ_MSG(test, picture[from][to],
					    qp_state_may_change(from, to) ? 'x' : '-',
					    "%s to %s", qp_state_name(from),
					    qp_state_name(to));
}

/* Every state except ERROR permits the transition to ERROR. */
static void every_state_may_become_error(struct kunit *test)
{
	int from;

	for (from = 0; from < QP_ERROR; from++)
		KUNIT_EXPECT_TRUE(test, qp_state_may_change(from, QP_ERROR));
}

static void every_state_has_a_name(struct kunit *test)
{
	int s;

	for (s = 0; s < QP_STATE_NR; s++)
		KUNIT_EXPECT_TRUE(test, *qp_state_name(s));
}

static struct kunit_case qp_state_cases[] = {
	KUNIT_CASE(permitted_transitions_match_matrix),
	KUNIT_CASE(every_state_may_become_error),
	KUNIT_CASE(every_state_has_a_name),
	{}
};

static struct kunit_suite qp_state_suite = {
	.name = "rnic_sw_qp_state",
	.test_cases = qp_state_cases,
};

kunit_test_suite(qp_state_suite);
