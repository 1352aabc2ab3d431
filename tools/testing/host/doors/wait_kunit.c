// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/{wait,stream}.c: page faults of a stream. Lower
 * layer and memory are stubs.
 */
#include <kunit/test.h>
#include <ddp/llp.h>

#include "../../../../drivers/ddp/internal.h"

static struct {
	u32	kicked, resumed;	/* number of calls */
	u32	wanted, forgotten;
} world;

static void llp_kick(struct ddp_llp *llp, bool bulk)
{
	world.kicked++;
}

static void llp_resume(struct ddp_llp *llp)
{
	world.resumed++;
}

static void llp_quiesce(struct ddp_llp *llp)
{
}

static const struct ddp_llp_ops llp_ops = {
	.kick = llp_kick, .resume = llp_resume, .quiesce = llp_quiesce,
};

static struct ddp_llp llp = { .ops = &llp_ops };

static void failed(struct ddp_stream *s, const struct iw_fault *f)
{
}

static const struct ddp_ulp_ops ulp_ops = { .failed = failed };

static struct ddp_stream *open_stream(void)
{
	static struct ddp_stream s;

	memset(&world, 0, sizeof(world));
	ddp_stream_init(&s, &ulp_ops, NULL, NULL);
	ddp_stream_bind(&s, &llp);
	return &s;
}

static void fake_bring(void *mem, struct ddp_wait *w)
{
	world.wanted++;
}

static void fake_forget(struct ddp_wait *w)
{
	world.forgotten++;
}

static const struct ddp_mem_ops fake_ops = {
	.bring = fake_bring, .forget = fake_forget,
};

/* A page is requested once, and again each time it is found non-present */
static void waits_for_memory(struct kunit *test)
{
	const struct ddp_region r = {
		.base = 1000, .from = 5000, .mem = &world, .ops = &fake_ops,
	};
	struct ddp_stream *s = open_stream();
	struct ddp_wait *w = &s->rx_wait;
	const struct iw_fault fault = { .why = IW_MPA_CRC };

	w->mute = true;
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, ddp_wait_for(w, &r, 1100, 8, true));
	KUNIT_EXPECT_FALSE(test, ddp_rx_waits(s));
	w->mute = false;
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, ddp_wait_for(w, &r, 1100, 8, true));
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, ddp_wait_for(w, &r, 1200, 8, true));
	KUNIT_EXPECT_EQ(test, 1u, world.wanted);
	KUNIT_EXPECT_EQ(test, 5100ull, w->at);
	KUNIT_EXPECT_TRUE(test, ddp_rx_waits(s) && !ddp_tx_waits(s));
	ddp_wait_over(w, false);
	KUNIT_EXPECT_FALSE(test, ddp_rx_waits(s));
	KUNIT_EXPECT_EQ(test, 1u, world.resumed);
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, ddp_wait_for(w, &r, 1100, 8, true));
	KUNIT_EXPECT_EQ(test, 2u, world.wanted);
	ddp_stream_fail(s, &fault);
	KUNIT_EXPECT_FALSE(test, ddp_rx_waits(s));
	KUNIT_EXPECT_TRUE(test, w->waits);
	ddp_stream_unbind(s);
	KUNIT_EXPECT_EQ(test, 1u, world.forgotten);
}

/* A failed page fault is reported to an access of that page only */
static void memory_denied(struct kunit *test)
{
	const struct ddp_region r = { .mem = &world, .ops = &fake_ops };
	struct ddp_stream *s = open_stream();
	struct ddp_wait *w = &s->tx_wait;

	ddp_wait_for(w, &r, 100, 8, true);
	ddp_wait_over(w, true);
	KUNIT_EXPECT_EQ(test, 1u, world.kicked);
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, ddp_wait_for(w, &r, 108, 8, true));
	ddp_wait_over(w, true);
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, ddp_wait_for(w, &r, 108, 8, false));
	ddp_wait_over(w, true);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
			ddp_wait_for(w, &r, 115, 1, false));
	/* once */
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, ddp_wait_for(w, &r, 115, 1, false));
}

/* A page whose fault has failed, but that was accessed later, is requested again */
static void memory_had(struct kunit *test)
{
	const struct ddp_region r = { .mem = &world, .ops = &fake_ops };
	const struct ddp_region other = { .mem = &llp, .ops = &fake_ops };
	struct ddp_stream *s = open_stream();
	struct ddp_wait *w = &s->rx_wait;

	ddp_wait_for(w, &r, 100, 8, true);
	ddp_wait_over(w, true);
	ddp_wait_had(w, &r, 92, 8, true);
	ddp_wait_had(w, &r, 101, 8, true);
	ddp_wait_had(w, &r, 100, 8, false);
	ddp_wait_had(w, &other, 100, 8, true);
	KUNIT_EXPECT_TRUE(test, w->denied);
	/* another page fault is in progress */
	w->waits = true;
	ddp_wait_had(w, &r, 93, 8, true);
	KUNIT_EXPECT_TRUE(test, w->denied);
	w->waits = false;
	ddp_wait_had(w, &r, 93, 8, true);
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, ddp_wait_for(w, &r, 100, 8, true));
	KUNIT_EXPECT_EQ(test, 2u, world.wanted);
}

static bool fake_run(void *mem, u64 at, bool write, struct ddp_run *run)
{
	static u64 words[4];

	if (world.wanted % 2)
		return false;
	run->at = (u8 *)words + at;
	run->lock = NULL;
	return true;
}

static const struct ddp_mem_ops comes_and_goes = {
	.run = fake_run, .bring = fake_bring, .forget = fake_forget,
};

static void nothing(void *arg, u64 *word)
{
}

/* A copy or atomic that finds the page present clears the failure */
static void copy_had(struct kunit *test)
{
	const struct ddp_region r = { .mem = &world, .ops = &comes_and_goes };
	struct ddp_stream *s = open_stream();
	struct ddp_wait *w = &s->tx_wait;
	u8 flat[16];

	world.wanted = 1;
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, ddp_paged_to_flat(&r, 8, 16, flat, w));
	ddp_wait_over(w, true);
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_paged_to_flat(&r, 8, 16, flat, w));
	KUNIT_EXPECT_FALSE(test, w->denied);
	world.wanted = 1;
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, ddp_paged_atomic(&r, 8, nothing, NULL, w));
	ddp_wait_over(w, true);
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_paged_atomic(&r, 8, nothing, NULL, w));
	KUNIT_EXPECT_FALSE(test, w->denied);
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE(waits_for_memory),
	KUNIT_CASE(memory_denied),
	KUNIT_CASE(memory_had),
	KUNIT_CASE(copy_had),
	{}
};

static struct kunit_suite wait_suite = {
	.name = "wait",
	.test_cases = wait_cases,
};

kunit_test_suite(wait_suite);
