// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test the checks of accesses to registered memory. */
#include <kunit/test.h>
#include "../bounds.h"

#define STAG	0x12345607u
#define RIGHTS	(DDP_LOCAL_READ | DDP_REMOTE_WRITE)

static int pd, other_pd;	/* never read: only their addresses identify PDs */

struct bounds_ctx {
	struct ddp_stream	s;
	struct ddp_stream	other;
	struct ddp_region	r;
};

/* Set up an MR of 0x100 bytes at TO 0x1000 that any stream of the PD may use */
static int bounds_init(struct kunit *test)
{
	struct bounds_ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	c->s.pd = &pd;
	c->other.pd = &pd;
	c->r.base = 0x1000;
	c->r.length = 0x100;
	c->r.stag = STAG;
	c->r.rights = RIGHTS;
	c->r.valid = true;
	c->r.pd = &pd;
	test->priv = c;
	return 0;
}

static enum iw_reason check_range(struct bounds_ctx *c, u64 to, u32 len)
{
	return ddp_bounds_check_access(&c->r, &c->s, STAG, to, len, DDP_REMOTE_WRITE);
}

/* Check a further range of the MR with ddp_bounds_recheck_access() */
static enum iw_reason recheck_range(struct bounds_ctx *c, u64 to, u32 len)
{
	return ddp_bounds_recheck_access(&c->r, &c->s, DDP_REMOTE_WRITE, to, len);
}

/*
 * RFC 5041 7.1 T1, 8.3 (2) (DDP-96, DDP-117): an STag is refused if the STag is
 * not valid or the key is stale.
 */
static void bounds_refuse_stale_or_invalid_stag(struct kunit *test)
{
	struct bounds_ctx *c = test->priv;
	int bit;

	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 0x100), IW_OK);
	for (bit = 0; bit < 32; bit++) {
		c->r.stag = STAG ^ (1u << bit);
		KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 1), IW_DDP_T_STAG);
	}
	c->r.stag = STAG;
	c->r.valid = false;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 1), IW_DDP_T_STAG);
}

/*
 * RFC 5041 7.1 T2, 8.3.1 (5) (DDP-97, DDP-127): an access is allowed only
 * if the MR has all requested rights.
 */
static void bounds_require_all_rights(struct kunit *test)
{
	struct bounds_ctx *c = test->priv;
	u32 have, want;

	for (have = 0; have < 32; have++) {
		for (want = 0; want < 32; want++) {
			c->r.rights = have;
			KUNIT_EXPECT_EQ(test,
					ddp_bounds_check_access(&c->r, &c->s, STAG,
								0x1000, 1, want),
					(have & want) == want ?
					IW_OK : IW_DDP_T_STAG);
		}
	}
}

/*
 * RFC 5040 8.1.1 (5) (RDMAP-176): ddp_bounds_check_access() and
 * ddp_bounds_recheck_access() refuse an access if the stream denies one of the
 * requested rights.
 */
static void bounds_refuse_denied_rights(struct kunit *test)
{
	struct bounds_ctx *c = test->priv;
	u32 denied, want;

	c->r.rights = 31;
	for (denied = 0; denied < 32; denied++) {
		for (want = 0; want < 32; want++) {
			enum iw_reason why = denied & want ? IW_DDP_T_STAG : IW_OK;

			c->s.denied = denied;
			KUNIT_EXPECT_EQ(test, why,
					ddp_bounds_check_access(&c->r, &c->s, STAG,
								0x1000, 1, want));
			KUNIT_EXPECT_EQ(test, why,
					ddp_bounds_recheck_access(&c->r, &c->s, want,
								  0x1000, 1));
		}
	}
}

/*
 * RFC 5042 2.2.4 (SEC-2): a receive buffer must be in recv_pd, and all other
 * memory in the PD of the stream.
 */
static void bounds_recv_buf_must_be_in_recv_pd(struct kunit *test)
{
	struct bounds_ctx *c = test->priv;
	int theirs;

	c->s.recv_pd = &theirs;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 1), IW_OK);
	KUNIT_EXPECT_EQ(test, ddp_bounds_check_access(&c->r, &c->s, STAG, 0x1000, 1,
						      RIGHTS | DDP_RECV_BUF),
			IW_DDP_T_ASSOC);
	c->r.pd = &theirs;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 1), IW_DDP_T_ASSOC);
	KUNIT_EXPECT_EQ(test, ddp_bounds_check_access(&c->r, &c->s, STAG, 0x1000, 1,
						      RIGHTS | DDP_RECV_BUF), IW_OK);
	c->r.rights = DDP_RECV_BUF;
	KUNIT_EXPECT_EQ(test, ddp_bounds_check_access(&c->r, &c->s, STAG, 0x1000, 1,
						      DDP_LOCAL_WRITE | DDP_RECV_BUF),
			IW_DDP_T_STAG);
}

/*
 * RFC 5041 7.2, 8.2, 8.3.1 (1) and (2), RFC 5042 2.2.5 (DDP-109, DDP-111,
 * DDP-112, DDP-114, DDP-123, DDP-124, SEC-3): an STag of another stream or of
 * another PD is refused.
 */
static void bounds_refuse_other_stream_or_pd(struct kunit *test)
{
	struct bounds_ctx *c = test->priv;

	c->s.id = 5;
	c->r.stream = 5;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 1), IW_OK);
	c->r.stream = 6;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 1), IW_DDP_T_ASSOC);
	c->r.stream = 0;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 1), IW_OK);
	c->r.pd = &other_pd;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 1), IW_DDP_T_ASSOC);
	c->r.stream = 5;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 1), IW_DDP_T_ASSOC);
}

/*
 * If several checks fail, ddp_bounds_check_access() reports the first one in the order
 * STag, association, rights, range. The test begins with an access that fails
 * all four, and corrects one after the other.
 */
static void bounds_report_first_failed_check(struct kunit *test)
{
	struct bounds_ctx *c = test->priv;

	c->r.valid = false;
	c->r.pd = &other_pd;
	c->r.rights = DDP_REMOTE_READ;
	KUNIT_EXPECT_EQ(test, check_range(c, U64_MAX, 2), IW_DDP_T_STAG);
	c->r.valid = true;
	KUNIT_EXPECT_EQ(test, check_range(c, U64_MAX, 2), IW_DDP_T_ASSOC);
	c->r.pd = &pd;
	KUNIT_EXPECT_EQ(test, check_range(c, U64_MAX, 2), IW_DDP_T_STAG);
	c->r.rights = RIGHTS;
	KUNIT_EXPECT_EQ(test, check_range(c, U64_MAX, 2), IW_DDP_T_WRAP);
	KUNIT_EXPECT_EQ(test, check_range(c, U64_MAX - 2, 2), IW_DDP_T_BOUNDS);
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 2), IW_OK);
}

/*
 * RFC 5041 5.2 (DDP-56): for an access of 0 bytes the STag is checked, but the
 * TO is not.
 */
static void bounds_empty_access_ignores_to(struct kunit *test)
{
	static const u64 tos[] = { 0, 0xfff, 0x1000, 0x1100, 0x1101, U64_MAX };
	struct bounds_ctx *c = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(tos); i++)
		KUNIT_EXPECT_EQ(test, check_range(c, tos[i], 0), IW_OK);
	c->r.valid = false;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, 0), IW_DDP_T_STAG);
}

/* MR to test */
struct place {
	const char	*name;
	u64		base;
	u64		length;
};

static const struct place places[] = {
	{ "in the middle", 0x1000, 8 },
	{ "from 0", 0, 8 },
	{ "one byte", 0x7fffffffffffffff, 1 },
	{ "empty", 0x1000, 0 },
	{ "across 2^32", 0xfffffffc, 8 },
	{ "across 2^63", 0x7ffffffffffffffc, 8 },
	{ "just below the top", U64_MAX - 8, 8 },
	{ "all but the last byte", 0, U64_MAX },
};

static void describe_mr(const struct place *p, char *desc)
{
	strscpy(desc, p->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(place, places, describe_mr);

/*
 * Compute the expected result of ddp_bounds_check_access() for a range, byte by byte.
 * The MR of @p must not wrap at 2^64.
 */
static enum iw_reason get_expected_range_result(const struct place *p, u64 to, u32 len)
{
	enum iw_reason why = IW_OK;

	while (len--) {
		if (to < p->base || to >= p->base + p->length)
			why = IW_DDP_T_BOUNDS;
		if (!++to)
			return IW_DDP_T_WRAP;
	}
	return why;
}

/*
 * RFC 5041 7.1 T3 to T5, 8.3 (1), 8.3.1 (3) (DDP-98, DDP-99, DDP-100, DDP-116,
 * DDP-125): for ranges of 1 to 20 bytes around both ends of an MR, and around
 * 2^64, ddp_bounds_check_access() and ddp_bounds_recheck_access() return the result of
 * get_expected_range_result().
 */
static void bounds_match_bytewise_check(struct kunit *test)
{
	const struct place *p = test->param_value;
	u64 starts[] = { p->base, p->base + p->length, 0 };
	struct bounds_ctx *c = test->priv;
	int i, off;
	u32 len;
	u64 to;

	c->r.base = p->base;
	c->r.length = p->length;
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		for (off = -12; off <= 12; off++) {
			to = starts[i] + (s64)off;
			KUNIT_EXPECT_EQ(test, check_range(c, to, 0), IW_OK);
			for (len = 1; len <= 20; len++) {
				enum iw_reason why = get_expected_range_result(p, to, len);

				KUNIT_EXPECT_EQ(test, check_range(c, to, len), why);
				KUNIT_EXPECT_EQ(test, why,
						recheck_range(c, to, len));
			}
		}
	}
}

/*
 * RFC 5041 7.1 T5 (DDP-100): the checks do not overflow for a range of 2^32 - 1
 * bytes, the longest possible range.
 */
static void bounds_longest_range_does_not_overflow(struct kunit *test)
{
	struct bounds_ctx *c = test->priv;

	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, U32_MAX), IW_DDP_T_BOUNDS);
	c->r.length = U32_MAX;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1000, U32_MAX), IW_OK);
	KUNIT_EXPECT_EQ(test, check_range(c, 0x1001, U32_MAX), IW_DDP_T_BOUNDS);
	KUNIT_EXPECT_EQ(test, check_range(c, U64_MAX - U32_MAX, U32_MAX),
			IW_DDP_T_BOUNDS);
	KUNIT_EXPECT_EQ(test, check_range(c, U64_MAX - U32_MAX + 1, U32_MAX),
			IW_DDP_T_WRAP);
	/* no byte below the base is accessible, even if the MR itself wraps */
	c->r.length = U64_MAX;
	KUNIT_EXPECT_EQ(test, check_range(c, 0x800, 1), IW_DDP_T_BOUNDS);
}

/* RFC 5041 8.3 (2) (DDP-117): ddp_bounds_recheck_access() refuses a revoked MR. */
static void bounds_recheck_refuses_revoked_mr(struct kunit *test)
{
	struct bounds_ctx *c = test->priv;

	KUNIT_EXPECT_EQ(test, recheck_range(c, 0x1000, 0x100), IW_OK);
	c->r.valid = false;
	KUNIT_EXPECT_EQ(test, recheck_range(c, 0x1000, 1), IW_DDP_T_STAG);
}

static struct kunit_case bounds_cases[] = {
	KUNIT_CASE(bounds_refuse_stale_or_invalid_stag),
	KUNIT_CASE(bounds_require_all_rights),
	KUNIT_CASE(bounds_refuse_denied_rights),
	KUNIT_CASE(bounds_recv_buf_must_be_in_recv_pd),
	KUNIT_CASE(bounds_refuse_other_stream_or_pd),
	KUNIT_CASE(bounds_report_first_failed_check),
	KUNIT_CASE(bounds_empty_access_ignores_to),
	KUNIT_CASE_PARAM(bounds_match_bytewise_check, place_gen_params),
	KUNIT_CASE(bounds_longest_range_does_not_overflow),
	KUNIT_CASE(bounds_recheck_refuses_revoked_mr),
	{}
};

static struct kunit_suite bounds_suite = {
	.name = "ddp_bounds",
	.init = bounds_init,
	.test_cases = bounds_cases,
};

kunit_test_suite(bounds_suite);

MODULE_DESCRIPTION("DDP access checks: tests");
MODULE_LICENSE("Dual BSD/GPL");
