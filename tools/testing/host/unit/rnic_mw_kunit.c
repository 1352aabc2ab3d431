// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/rnic_sw/mw.c: binding memory windows. */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../../../../drivers/rnic_sw/rnic.h"

#define BASE	0x1000
#define LENGTH	0x4000
#define LKEY	0x10000
#define RKEY	0x20000
#define STREAM	3

static struct {
	struct rnic_dev		dev;
	struct ib_pd		pd;
	struct rnic_mr		mr;
	struct rnic_mw		mw;
	struct ddp_region	*window;
	u32			waits;		/* number of waits for accesses in flight */
	u32			waits_before;	/* value of @waits before the window was freed */
} stubs;

/* Stubs of STags and limits --------------------------------------------------------- */

int rnic_charge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	return 0;
}

void rnic_uncharge_object(struct rnic_dev *dev, enum rnic_kind kind) {}

int ddp_region_insert(struct ddp_stags *t, struct ddp_region *r, u8 key)
{
	r->stag = RKEY | key;
	stubs.window = r;
	return 0;
}

void host_on_region_wait(struct ddp_region *r);

/* All programs share windows_lock, so its holder must not wait for accesses of one program */
void host_on_region_wait(struct ddp_region *r)
{
	WARN_ON(stubs.dev.windows_lock.held);
	stubs.waits++;
}

void ddp_region_remove(struct ddp_stags *t, struct ddp_region *r)
{
	/* the STag must be removed before the module waits for accesses in flight */
	WARN_ON(r == stubs.window && stubs.waits != stubs.waits_before);
	ddp_region_revoke(r);
}

struct ddp_region *ddp_region_peek(struct ddp_stags *t, u32 stag)
{
	switch (stag & ~DDP_STAG_KEY_MASK) {
	case LKEY:
		return &stubs.mr.region;
	case RKEY:
		return stubs.window;
	default:
		return NULL;
	}
}

u8 rnic_to_ddp_rights(int access)
{
	return (access & IB_ACCESS_REMOTE_WRITE ? DDP_REMOTE_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_READ ? DDP_REMOTE_READ : 0) |
	       (access & IB_ACCESS_REMOTE_ATOMIC ? DDP_REMOTE_ATOMIC : 0);
}

/* Cases -------------------------------------------------------------------------- */

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.mr.region = (struct ddp_region) {
		.stag = LKEY, .base = BASE, .length = LENGTH, .valid = true,
		.pd = &stubs.pd, .kind = RNIC_REGION,
	};
	stubs.mr.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND;
	INIT_LIST_HEAD(&stubs.mr.windows);
	stubs.mw.ib = (struct ib_mw) {
		.device = &stubs.dev.ib, .pd = &stubs.pd, .type = IB_MW_TYPE_2,
	};
	return rnic_alloc_mw(&stubs.mw.ib, NULL);
}

static void test_exit(struct kunit *test)
{
	stubs.waits_before = stubs.waits;
	KUNIT_EXPECT_EQ(test, 0, rnic_dealloc_mw(&stubs.mw.ib));
	KUNIT_EXPECT_TRUE(test, list_empty(&stubs.mr.windows));
}

static bool bind_window_with_pd_and_rkey(void *pd, u32 rkey, u64 addr, u64 len, int access)
{
	const struct ddp_stream s = { .pd = pd, .id = STREAM };
	const struct rdmap_wr wr = {
		.rkey = rkey, .inv = LKEY, .raddr = addr, .compare_add = len,
		.swap = access,
	};

	return rnic_mw_bind(&stubs.dev, &s, &wr);
}

static bool bind_window(u64 addr, u64 len, int access)
{
	return bind_window_with_pd_and_rkey(&stubs.pd, RKEY | 1, addr, len, access);
}

static void expect_window_unlinked(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, stubs.window->valid);
	KUNIT_EXPECT_TRUE(test, list_empty(&stubs.mr.windows));
}

/*
 * DDP-114, DDP-125: a type 2 window permits exactly the bound range and rights,
 * to one stream
 */
static void type2_window_serves_one_stream(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, bind_window(BASE + 5, LENGTH - 5, IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_TRUE(test, stubs.window->valid);
	KUNIT_EXPECT_EQ(test, RKEY | 1u, stubs.window->stag);
	KUNIT_EXPECT_EQ(test, BASE + 5ull, stubs.window->base);
	KUNIT_EXPECT_EQ(test, LENGTH - 5ull, stubs.window->length);
	KUNIT_EXPECT_EQ(test, (u64)STREAM, stubs.window->stream);
	KUNIT_EXPECT_EQ(test, DDP_REMOTE_WRITE, (int)stubs.window->rights);
}

/*
 * DDP-114: a type 1 window permits access to all streams of its PD, whichever
 * stream has bound it
 */
static void type1_window_serves_pd(struct kunit *test)
{
	stubs.waits_before = stubs.waits;
	KUNIT_ASSERT_EQ(test, 0, rnic_dealloc_mw(&stubs.mw.ib));
	stubs.mw.ib.type = IB_MW_TYPE_1;
	KUNIT_ASSERT_EQ(test, 0, rnic_alloc_mw(&stubs.mw.ib, NULL));
	KUNIT_EXPECT_TRUE(test, bind_window(BASE, LENGTH, IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_TRUE(test, stubs.window->valid);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&stubs.pd, stubs.window->pd);
	KUNIT_EXPECT_EQ(test, 0ull, stubs.window->stream);
}

static void bind_outside_mr_fails(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, bind_window(BASE - 1, 10, IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_FALSE(test, bind_window(BASE + 5, LENGTH - 4, IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_FALSE(test, bind_window(BASE + LENGTH + 1, 1, IB_ACCESS_REMOTE_READ));
	expect_window_unlinked(test);
}

/* A bind fails if the stream has another PD, or if the STag belongs to no window */
static void bind_needs_window_of_own_pd(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, bind_window_with_pd_and_rkey(&stubs.mr, RKEY | 1, BASE, LENGTH,
							      IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_FALSE(test, bind_window_with_pd_and_rkey(&stubs.pd, RKEY + 0x100, BASE, LENGTH,
							      IB_ACCESS_REMOTE_READ));
	expect_window_unlinked(test);
}

/* DDP-127: a bind fails for rights that the MR does not have */
static void bind_needs_rights_of_mr(struct kunit *test)
{
	stubs.mr.access = IB_ACCESS_MW_BIND;
	KUNIT_EXPECT_FALSE(test, bind_window(BASE, 8, IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_FALSE(test, bind_window(BASE, 8, IB_ACCESS_REMOTE_ATOMIC));
	stubs.mr.access = IB_ACCESS_LOCAL_WRITE;
	KUNIT_EXPECT_FALSE(test, bind_window(BASE, 8, IB_ACCESS_REMOTE_READ));
	expect_window_unlinked(test);
}

/* A window cannot give rights that the memory never permits */
static void window_adds_no_atomic_right(struct kunit *test)
{
	stubs.mr.denied_rights = DDP_REMOTE_ATOMIC;
	KUNIT_EXPECT_FALSE(test, bind_window(BASE, 8, IB_ACCESS_REMOTE_ATOMIC |
					       IB_ACCESS_REMOTE_READ));
	expect_window_unlinked(test);
	KUNIT_EXPECT_TRUE(test, bind_window(BASE, 8, IB_ACCESS_REMOTE_WRITE));
}

/*
 * An MR with a valid window is not deregistered. An invalidated window is unlinked
 * from the MR after accesses through it have ended.
 */
static void mr_with_valid_window_is_not_deregistered(struct kunit *test)
{
	u32 waits;

	stubs.mr.dev = &stubs.dev;
	KUNIT_ASSERT_TRUE(test, bind_window(BASE, 8, IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -EBUSY, rnic_mr_forbid_bind(&stubs.mr));
	KUNIT_EXPECT_FALSE(test, stubs.mr.bind_forbidden);
	stubs.window->valid = false;
	waits = stubs.waits;
	KUNIT_EXPECT_EQ(test, 0, rnic_mr_forbid_bind(&stubs.mr));
	KUNIT_EXPECT_EQ(test, waits + 1, stubs.waits);
	expect_window_unlinked(test);
	KUNIT_EXPECT_FALSE(test, bind_window(BASE, 8, IB_ACCESS_REMOTE_READ));
	rnic_mr_permit_bind(&stubs.mr);
	KUNIT_EXPECT_TRUE(test, bind_window(BASE, 8, IB_ACCESS_REMOTE_READ));
}

static struct kunit_case rnic_mw_cases[] = {
	KUNIT_CASE(type2_window_serves_one_stream),
	KUNIT_CASE(type1_window_serves_pd),
	KUNIT_CASE(bind_outside_mr_fails),
	KUNIT_CASE(bind_needs_window_of_own_pd),
	KUNIT_CASE(bind_needs_rights_of_mr),
	KUNIT_CASE(window_adds_no_atomic_right),
	KUNIT_CASE(mr_with_valid_window_is_not_deregistered),
	{}
};

static struct kunit_suite rnic_mw_suite = {
	.name = "rnic_mw",
	.init = test_init,
	.exit = test_exit,
	.test_cases = rnic_mw_cases,
};

kunit_test_suite(rnic_mw_suite);
