// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/stream.c: the rate limit is set in the lower layer,
 * if that layer supports rate limits; and a reset makes a new stream.
 */
#include <kunit/test.h>
#include <ddp/llp.h>
#include <ddp/ulp.h>

static u64 paced;

static void llp_set_tx_rate(struct ddp_llp *llp, u64 rate)
{
	paced = rate;
}

static void llp_unbind(struct ddp_llp *llp)
{
}

static void pacing_is_passed_to_llp(struct kunit *test)
{
	static const struct ddp_llp_ops can = {
		.set_tx_rate = llp_set_tx_rate, .unbind = llp_unbind,
	};
	static const struct ddp_ulp_ops ulp;
	static struct ddp_stream s;
	struct ddp_llp llp = { .ops = &can };

	paced = 0;
	ddp_stream_init(&s, &ulp, NULL, NULL);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, ddp_stream_set_tx_rate(&s, 1000));
	ddp_stream_bind(&s, &llp);
	KUNIT_EXPECT_EQ(test, 0, ddp_stream_set_tx_rate(&s, 1000));
	KUNIT_EXPECT_EQ(test, 1000ull, paced);
	ddp_stream_unbind(&s);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, ddp_stream_set_tx_rate(&s, 2000));
	KUNIT_EXPECT_EQ(test, 1000ull, paced);
}

static void pacing_needs_llp_support(struct kunit *test)
{
	static const struct ddp_llp_ops cannot = { .unbind = llp_unbind };
	static const struct ddp_ulp_ops ulp;
	static struct ddp_stream s;
	struct ddp_llp llp = { .ops = &cannot };

	ddp_stream_init(&s, &ulp, NULL, NULL);
	ddp_stream_bind(&s, &llp);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, ddp_stream_set_tx_rate(&s, 1000));
	ddp_stream_unbind(&s);
}

static bool llp_busy_poll(struct ddp_llp *llp)
{
	return true;
}

static void busy_poll_is_passed_to_llp(struct kunit *test)
{
	static const struct ddp_llp_ops can = { .busy_poll = llp_busy_poll, .unbind = llp_unbind };
	static const struct ddp_llp_ops cannot = { .unbind = llp_unbind };
	static const struct ddp_ulp_ops ulp;
	static struct ddp_stream s[2];
	struct ddp_llp llps[] = { { .ops = &can }, { .ops = &cannot } };
	int i;

	for (i = 0; i < 2; i++) {
		ddp_stream_init(&s[i], &ulp, NULL, NULL);
		KUNIT_EXPECT_FALSE(test, ddp_stream_busy_poll(&s[i]));
		ddp_stream_bind(&s[i], &llps[i]);
		KUNIT_EXPECT_EQ(test, !i, ddp_stream_busy_poll(&s[i]));
		ddp_stream_unbind(&s[i]);
		KUNIT_EXPECT_FALSE(test, ddp_stream_busy_poll(&s[i]));
	}
}

static void count_failure(struct ddp_stream *s, const struct iw_failure *f)
{
	(*(int *)s->pd)++;
}

/* After a reset the stream can be bound and can fail again, and has another ID */
static void reset_makes_stream_like_new(struct kunit *test)
{
	static const struct ddp_llp_ops ops = { .unbind = llp_unbind };
	static const struct ddp_ulp_ops ulp = { .failed = count_failure };
	const struct iw_failure f = { .why = IW_LOCAL_ABORT };
	static struct ddp_stream s;
	struct ddp_llp llp = { .ops = &ops };
	int failures = 0;
	u64 id;

	ddp_stream_init(&s, &ulp, NULL, &failures);
	ddp_stream_set_rights(&s, 0);
	s.dma_ok = true;
	id = s.id;
	KUNIT_EXPECT_EQ(test, 0, ddp_stream_bind(&s, &llp));
	s.msn[0] = 7;
	s.segments = 9;
	ddp_stream_fail(&s, &f);
	ddp_stream_unbind(&s);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, ddp_stream_bind(&s, &llp));
	ddp_stream_reset(&s);
	KUNIT_EXPECT_NE(test, id, s.id);
	KUNIT_EXPECT_EQ(test, 1u, s.msn[0]);
	KUNIT_EXPECT_EQ(test, 0u, s.segments);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&failures, s.recv_pd);
	KUNIT_EXPECT_EQ(test, DDP_REMOTE, s.denied);
	KUNIT_EXPECT_TRUE(test, s.dma_ok && s.rx_fault.done && s.tx_fault.done);
	KUNIT_EXPECT_EQ(test, 0, ddp_stream_bind(&s, &llp));
	ddp_stream_fail(&s, &f);
	KUNIT_EXPECT_EQ(test, 2, failures);
	ddp_stream_unbind(&s);
}

static struct kunit_case stream_cases[] = {
	KUNIT_CASE(reset_makes_stream_like_new),
	KUNIT_CASE(pacing_is_passed_to_llp),
	KUNIT_CASE(pacing_needs_llp_support),
	KUNIT_CASE(busy_poll_is_passed_to_llp),
	{}
};

static struct kunit_suite stream_suite = {
	.name = "ddp_stream",
	.test_cases = stream_cases,
};

kunit_test_suite(stream_suite);
