// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>

#include "../qp_state.h"

/*
 * The whole matrix as a picture: rows from, columns to, in the order idle,
 * rts, closing, terminate, error.  x: forbidden, -: nothing to do, c: close,
 * f: flush, C: close and flush, A: abort and flush.
 */
static const char * const picture[QP_STATE_NR] = {
	[QP_IDLE]	= "--xxf",
	[QP_RTS]	= "x-c-A",
	[QP_CLOSING]	= "fx--A",
	[QP_TERMINATE]	= "xxx-C",
	[QP_ERROR]	= "-xxx-",
};

static char draw(const struct qp_edge *e)
{
	if (!e->legal)
		return 'x';
	switch (e->act) {
	case 0:
		return '-';
	case QP_DO_CLOSE:
		return 'c';
	case QP_DO_FLUSH:
		return 'f';
	case QP_DO_CLOSE | QP_DO_FLUSH:
		return 'C';
	case QP_DO_ABORT | QP_DO_FLUSH:
		return 'A';
	}
	return '?';
}

static void whole_matrix(struct kunit *test)
{
	int from, to;

	for (from = 0; from < QP_STATE_NR; from++)
		for (to = 0; to < QP_STATE_NR; to++)
			KUNIT_EXPECT_EQ_MSG(test, picture[from][to],
					    draw(qp_edge(from, to)),
					    "%s to %s", qp_state_name(from),
					    qp_state_name(to));
}

/* A forbidden way asks for nothing */
static void forbidden_does_nothing(struct kunit *test)
{
	const struct qp_edge *e;
	int i;

	for (i = 0; i < QP_STATE_NR * QP_STATE_NR; i++) {
		e = qp_edge(i / QP_STATE_NR, i % QP_STATE_NR);
		KUNIT_EXPECT_TRUE(test, e->legal || !e->act);
	}
}

/* RDMAP-151: whatever the state, an error has a way; only the first flushes */
static void error_from_everywhere(struct kunit *test)
{
	const struct qp_edge *e;
	int from;

	for (from = 0; from < QP_STATE_NR; from++) {
		e = qp_edge(from, QP_ERROR);
		KUNIT_EXPECT_TRUE(test, e->legal);
		KUNIT_EXPECT_EQ(test, from != QP_ERROR,
				!!(e->act & QP_DO_FLUSH));
	}
}

/* RDMAP-147: a Terminate on its way is never cut off by a reset */
static void terminate_is_graceful(struct kunit *test)
{
	int to;

	for (to = 0; to < QP_STATE_NR; to++)
		KUNIT_EXPECT_FALSE(test, qp_edge(QP_TERMINATE, to)->act &
					 QP_DO_ABORT);
}

/* Staying where one is, is legal and does nothing */
static void staying(struct kunit *test)
{
	int s;

	for (s = 0; s < QP_STATE_NR; s++) {
		KUNIT_EXPECT_TRUE(test, qp_edge(s, s)->legal);
		KUNIT_EXPECT_EQ(test, 0, (int)qp_edge(s, s)->act);
		KUNIT_EXPECT_TRUE(test, *qp_state_name(s));
	}
}

static struct kunit_case qp_state_cases[] = {
	KUNIT_CASE(whole_matrix),
	KUNIT_CASE(forbidden_does_nothing),
	KUNIT_CASE(error_from_everywhere),
	KUNIT_CASE(terminate_is_graceful),
	KUNIT_CASE(staying),
	{}
};

static struct kunit_suite qp_state_suite = {
	.name = "rnic_sw_qp_state",
	.test_cases = qp_state_cases,
};

kunit_test_suite(qp_state_suite);
