// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/{fault,stream}.c: page faults of a stream. Lower
 * layer and memory are stubs.
 */
#include <kunit/test.h>
#include <ddp/llp.h>

#include "../../../../drivers/ddp/internal.h"

static struct {
	u32	kicked, resumed;	/* number of calls */
	u32	wanted, forgotten;
} stubs;

static void llp_kick(struct ddp_llp *llp, bool bulk)
{
	stubs.kicked++;
}

static void llp_resume(struct ddp_llp *llp)
{
	stubs.resumed++;
}

static void llp_unbind(struct ddp_llp *llp)
{
}

static const struct ddp_llp_ops llp_ops = {
	.kick = llp_kick, .resume = llp_resume, .unbind = llp_unbind,
};

static struct ddp_llp llp = { .ops = &llp_ops };

static void ignore_failure(struct ddp_stream *s, const struct iw_failure *f)
{
}

static const struct ddp_ulp_ops ulp_ops = { .failed = ignore_failure };

static struct ddp_stream *open_stream(void)
{
	static struct ddp_stream s;

	memset(&stubs, 0, sizeof(stubs));
	ddp_stream_init(&s, &ulp_ops, NULL, NULL);
	ddp_stream_bind(&s, &llp);
	return &s;
}

static void count_fault_in(void *mem, struct ddp_fault *w)
{
	stubs.wanted++;
}

static void count_cancel(struct ddp_fault *w)
{
	stubs.forgotten++;
}

static const struct ddp_mem_ops fake_ops = {
	.fault_in = count_fault_in, .cancel = count_cancel,
};

/*
 * While a page fault is pending, no second one is requested. After the page fault, a page that has
 * become non-present again is requested again.
 */
static void pending_fault_prevents_another_request(struct kunit *test)
{
	const struct ddp_region r = {
		.base = 1000, .mem_base = 5000, .mem = &stubs, .ops = &fake_ops,
	};
	struct ddp_stream *s = open_stream();
	struct ddp_fault *w = &s->rx_fault;
	const struct iw_failure fault = { .why = IW_MPA_CRC };

	w->suppressed = true;
	KUNIT_EXPECT_EQ(test, IW_AGAIN, ddp_fault_request_pages(w, &r, 1100, 8, true));
	KUNIT_EXPECT_FALSE(test, ddp_rx_has_pending_fault(s));
	w->suppressed = false;
	KUNIT_EXPECT_EQ(test, IW_AGAIN, ddp_fault_request_pages(w, &r, 1100, 8, true));
	KUNIT_EXPECT_EQ(test, IW_AGAIN, ddp_fault_request_pages(w, &r, 1200, 8, true));
	KUNIT_EXPECT_EQ(test, 1u, stubs.wanted);
	KUNIT_EXPECT_EQ(test, 5100ull, w->at);
	KUNIT_EXPECT_TRUE(test, ddp_rx_has_pending_fault(s) && !ddp_tx_has_pending_fault(s));
	ddp_fault_complete(w, false);
	KUNIT_EXPECT_FALSE(test, ddp_rx_has_pending_fault(s));
	KUNIT_EXPECT_EQ(test, 1u, stubs.resumed);
	KUNIT_EXPECT_EQ(test, IW_AGAIN, ddp_fault_request_pages(w, &r, 1100, 8, true));
	KUNIT_EXPECT_EQ(test, 2u, stubs.wanted);
	ddp_stream_fail(s, &fault);
	KUNIT_EXPECT_FALSE(test, ddp_rx_has_pending_fault(s));
	KUNIT_EXPECT_TRUE(test, w->pending);
	ddp_stream_unbind(s);
	KUNIT_EXPECT_EQ(test, 1u, stubs.forgotten);
}

/* A failed page fault fails the next access to the page, and no access to another page */
static void failed_fault_fails_next_access(struct kunit *test)
{
	const struct ddp_region r = { .mem = &stubs, .ops = &fake_ops };
	struct ddp_stream *s = open_stream();
	struct ddp_fault *w = &s->tx_fault;

	ddp_fault_request_pages(w, &r, 100, 8, true);
	ddp_fault_complete(w, true);
	KUNIT_EXPECT_EQ(test, 1u, stubs.kicked);
	KUNIT_EXPECT_EQ(test, IW_AGAIN, ddp_fault_request_pages(w, &r, 108, 8, true));
	ddp_fault_complete(w, true);
	KUNIT_EXPECT_EQ(test, IW_AGAIN, ddp_fault_request_pages(w, &r, 108, 8, false));
	ddp_fault_complete(w, true);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
			ddp_fault_request_pages(w, &r, 115, 1, false));
	/* the failure is reported only once */
	KUNIT_EXPECT_EQ(test, IW_AGAIN, ddp_fault_request_pages(w, &r, 115, 1, false));
}

/* After a page fault has failed, a successful access to the page clears the failure */
static void access_clears_failed_fault(struct kunit *test)
{
	const struct ddp_region r = { .mem = &stubs, .ops = &fake_ops };
	const struct ddp_region other = { .mem = &llp, .ops = &fake_ops };
	struct ddp_stream *s = open_stream();
	struct ddp_fault *w = &s->rx_fault;

	ddp_fault_request_pages(w, &r, 100, 8, true);
	ddp_fault_complete(w, true);
	ddp_fault_clear_failure(w, &r, 92, 8, true);
	ddp_fault_clear_failure(w, &r, 101, 8, true);
	ddp_fault_clear_failure(w, &r, 100, 8, false);
	ddp_fault_clear_failure(w, &other, 100, 8, true);
	KUNIT_EXPECT_TRUE(test, w->fault_failed);
	/* another page fault is in progress */
	w->pending = true;
	ddp_fault_clear_failure(w, &r, 93, 8, true);
	KUNIT_EXPECT_TRUE(test, w->fault_failed);
	w->pending = false;
	ddp_fault_clear_failure(w, &r, 93, 8, true);
	KUNIT_EXPECT_EQ(test, IW_AGAIN, ddp_fault_request_pages(w, &r, 100, 8, true));
	KUNIT_EXPECT_EQ(test, 2u, stubs.wanted);
}

static bool find_extent(void *mem, u64 at, bool write, struct ddp_extent *extent)
{
	static u64 words[4];

	if (stubs.wanted % 2)
		return false;
	extent->at = (u8 *)words + at;
	extent->lock = NULL;
	return true;
}

static const struct ddp_mem_ops comes_and_goes = {
	.extent = find_extent, .fault_in = count_fault_in, .cancel = count_cancel,
};

static void leave_word_unchanged(void *arg, u64 *word)
{
}

/* A copy or an atomic that finds the page present clears the recorded failure */
static void copy_or_atomic_clears_failed_fault(struct kunit *test)
{
	const struct ddp_region r = { .mem = &stubs, .ops = &comes_and_goes };
	struct ddp_stream *s = open_stream();
	struct ddp_fault *w = &s->tx_fault;
	u8 flat[16];

	stubs.wanted = 1;
	KUNIT_EXPECT_EQ(test, IW_AGAIN, ddp_paged_copy_to_flat(&r, 8, 16, flat, w));
	ddp_fault_complete(w, true);
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_paged_copy_to_flat(&r, 8, 16, flat, w));
	KUNIT_EXPECT_FALSE(test, w->fault_failed);
	stubs.wanted = 1;
	KUNIT_EXPECT_EQ(test, IW_AGAIN, ddp_paged_apply_atomic(&r, 8, leave_word_unchanged, NULL,
							       w));
	ddp_fault_complete(w, true);
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_paged_apply_atomic(&r, 8, leave_word_unchanged, NULL, w));
	KUNIT_EXPECT_FALSE(test, w->fault_failed);
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE(pending_fault_prevents_another_request),
	KUNIT_CASE(failed_fault_fails_next_access),
	KUNIT_CASE(access_clears_failed_fault),
	KUNIT_CASE(copy_or_atomic_clears_failed_fault),
	{}
};

static struct kunit_suite ddp_fault_suite = {
	.name = "ddp_fault",
	.test_cases = wait_cases,
};

kunit_test_suite(ddp_fault_suite);
