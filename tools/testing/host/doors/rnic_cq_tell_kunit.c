// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A kernel consumer is told on the CPU of its vector, by one at a time:
 * drivers/rnic_sw/cq_tell.c between who completes and CPUs of the test's.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <setjmp.h>

#include "../../../../drivers/rnic_sw/rnic.h"

#define VECTOR	1

static struct {
	struct rnic_cq		cq;
	unsigned int		cpu;		/* where we are */
	bool			moves;		/* ... until we have asked once */
	bool			offline;	/* the vector's */
	call_single_data_t	*called;	/* an interrupt on its way */
	struct compat_bh	*raised;
	int			preempt_off;
	u32			preemptible;	/* handlers that were */
	u32			told, told_there;
	u32			inside;		/* handlers that have begun */
	u32			nested;
	u32			again;		/* events that come while it runs */
	bool			ended;		/* somebody destroys meanwhile */
	bool			waited;		/* ... and waits */
	jmp_buf			waits;
	bool			busy;		/* others go on completing */
	u32			slept;
} world;

/* CPUs ------------------------------------------------------------------------ */

unsigned int host_cpu(void)
{
	unsigned int cpu = world.cpu;

	/* with a lock held, and interrupts off, nobody does */
	if (world.moves && !world.cq.lock.held)
		world.cpu = VECTOR;
	return cpu;
}

/* As the kernel's: on this CPU there is nobody to interrupt */
int smp_call_function_single_async(int cpu, call_single_data_t *csd)
{
	if (world.offline)
		return -ENXIO;
	if (cpu == world.cpu)
		csd->func(csd->info);
	else if (world.called)
		return -EBUSY;
	else
		world.called = csd;
	return 0;
}

/* The interrupt comes */
static void interrupt(void)
{
	call_single_data_t *csd = world.called;
	unsigned int was = world.cpu;

	if (!csd)
		return;
	world.called = NULL;
	world.cpu = VECTOR;
	csd->func(csd->info);
	world.cpu = was;
}

void host_preempt_off(int by)
{
	world.preempt_off += by;
}

void host_raise(struct compat_bh *bh)
{
	WARN_ON(world.raised);
	world.raised = bh;
}

/* Softirq, where it was raised */
static void softirq(void)
{
	struct compat_bh *bh = world.raised;

	world.raised = NULL;
	if (bh)
		bh->run(bh);
}

static void complete_on(unsigned int cpu)
{
	unsigned int was = world.cpu;

	world.cpu = cpu;
	rnic_cq_tell(&world.cq);
	world.cpu = was;
}

void host_sleep(void)
{
	if (world.inside)
		longjmp(world.waits, 1);
	WARN_ON(world.slept++ > 1000);
	if (world.busy && world.slept < 100)
		world.again = 100;
	interrupt();
	softirq();
}

static void destroy(void)
{
	world.waited = setjmp(world.waits);
	if (!world.waited)
		rnic_cq_told(&world.cq);
}

static void on_completion(struct ib_cq *cq, void *context)
{
	WARN_ON(context != &world || world.cq.lock.held);
	world.preemptible += !world.preempt_off;
	world.nested += world.inside++;
	if (world.again) {
		world.again--;
		/* it has armed: the other CPU completes, and who interrupts this one */
		complete_on(!VECTOR);
		complete_on(world.cpu);
		interrupt();
	}
	if (world.ended)
		destroy();
	world.inside--;
	world.told++;
	world.told_there += world.cpu == VECTOR;
}

/* Cases ----------------------------------------------------------------------- */

static int begin(struct kunit *test)
{
	memset(&world, 0, sizeof(world));
	world.cq.ib.comp_handler = on_completion;
	world.cq.ib.cq_context = &world;
	rnic_cq_tell_init(&world.cq, VECTOR);
	return 0;
}

static void leave(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, world.cq.telling);
	KUNIT_EXPECT_EQ(test, world.cq.asked, world.cq.told);
	KUNIT_EXPECT_EQ(test, 0u, world.nested);
	KUNIT_EXPECT_EQ(test, 0, world.preempt_off);
	KUNIT_EXPECT_EQ(test, 0u, world.cq.ib.uobject ? 0 : world.preemptible);
}

/* From another CPU by an interrupt, one for all that complete until it comes */
static void elsewhere(struct kunit *test)
{
	rnic_cq_tell(&world.cq);
	rnic_cq_tell(&world.cq);
	KUNIT_EXPECT_EQ(test, 0u, world.told);
	interrupt();
	KUNIT_EXPECT_EQ(test, 1u, world.told_there);
	rnic_cq_tell(&world.cq);
	interrupt();
	KUNIT_EXPECT_EQ(test, 2u, world.told_there);
}

/* On its own CPU at once, unless the interrupt is on its way */
static void here(struct kunit *test)
{
	world.cpu = VECTOR;
	rnic_cq_tell(&world.cq);
	KUNIT_EXPECT_EQ(test, 1u, world.told_there);
	complete_on(!VECTOR);
	complete_on(VECTOR);
	KUNIT_EXPECT_EQ(test, 1u, world.told);
	interrupt();
	KUNIT_EXPECT_EQ(test, 2u, world.told_there);
}

/* Who completes may be preempted, and go on on the vector's CPU */
static void moves_there(struct kunit *test)
{
	world.moves = true;
	rnic_cq_tell(&world.cq);
	interrupt();
	KUNIT_EXPECT_EQ(test, 1u, world.told);
}

/* No CPU, no interrupt */
static void offline(struct kunit *test)
{
	world.offline = true;
	rnic_cq_tell(&world.cq);
	KUNIT_EXPECT_EQ(test, 1u, world.told);
}

/* A program's handler is ib_core's, and may be called anywhere */
static void of_a_program(struct kunit *test)
{
	world.cq.ib.uobject = (void *)&world;
	rnic_cq_tell(&world.cq);
	KUNIT_EXPECT_EQ(test, 1u, world.told);
	KUNIT_EXPECT_NULL(test, world.called);
}

static void nobody_to_tell(struct kunit *test)
{
	world.cq.ib.comp_handler = NULL;
	rnic_cq_tell(&world.cq);
	KUNIT_EXPECT_NULL(test, world.called);
}

/*
 * What comes while a handler runs is told once it is over, by the same.  Called on
 * its CPU, by an interrupt, and where there is none, as with PREEMPT_RT
 */
static void one_handler_at_a_time(struct kunit *test)
{
	world.again = 1;
	complete_on(VECTOR);
	KUNIT_EXPECT_EQ(test, 2u, world.told_there);
	world.again = 1;
	complete_on(!VECTOR);
	interrupt();
	KUNIT_EXPECT_EQ(test, 4u, world.told_there);
	world.offline = true;
	world.again = 1;
	complete_on(!VECTOR);
	KUNIT_EXPECT_EQ(test, 6u, world.told);
}

/* Whom others keep at it leaves the rest to softirq, and nobody comes in between */
static void kept_at_it(struct kunit *test)
{
	u32 rounds;

	world.again = 100;
	complete_on(VECTOR);
	KUNIT_EXPECT_EQ(test, 16u, world.told);
	complete_on(VECTOR);
	complete_on(!VECTOR);
	KUNIT_EXPECT_NULL(test, world.called);
	KUNIT_EXPECT_EQ(test, 16u, world.told);
	world.cpu = VECTOR;
	for (rounds = 0; world.raised; rounds++)
		softirq();
	KUNIT_EXPECT_EQ(test, 101u, world.told_there);
	KUNIT_EXPECT_EQ(test, 6u, rounds);
}

/* Who destroys a queue pair waits for what is on its way */
static void told_before_the_end(struct kunit *test)
{
	rnic_cq_tell(&world.cq);
	rnic_cq_told(&world.cq);
	KUNIT_EXPECT_EQ(test, 1u, world.told_there);
}

/* ... for a handler that runs, wherever */
static void over_before_the_end(struct kunit *test)
{
	world.ended = true;
	complete_on(VECTOR);
	KUNIT_EXPECT_TRUE(test, world.waited);
	world.waited = false;
	rnic_cq_tell(&world.cq);
	interrupt();
	KUNIT_EXPECT_TRUE(test, world.waited);
	world.ended = false;
	rnic_cq_told(&world.cq);
	KUNIT_EXPECT_EQ(test, 0u, world.slept);
}

/* ... and for what softirq has yet to tell */
static void rest_before_the_end(struct kunit *test)
{
	world.again = 20;
	complete_on(VECTOR);
	rnic_cq_told(&world.cq);
	KUNIT_EXPECT_EQ(test, 21u, world.told);
}

/* ... not for what other queue pairs complete all the time */
static void not_for_others(struct kunit *test)
{
	world.busy = true;
	world.again = 100;
	complete_on(VECTOR);
	rnic_cq_told(&world.cq);
	KUNIT_EXPECT_LT(test, world.slept, 3u);
	world.again = 0;
	softirq();
}

static struct kunit_case rnic_cq_tell_cases[] = {
	KUNIT_CASE(elsewhere),
	KUNIT_CASE(here),
	KUNIT_CASE(moves_there),
	KUNIT_CASE(offline),
	KUNIT_CASE(of_a_program),
	KUNIT_CASE(nobody_to_tell),
	KUNIT_CASE(one_handler_at_a_time),
	KUNIT_CASE(kept_at_it),
	KUNIT_CASE(told_before_the_end),
	KUNIT_CASE(over_before_the_end),
	KUNIT_CASE(rest_before_the_end),
	KUNIT_CASE(not_for_others),
	{}
};

static struct kunit_suite rnic_cq_tell_suite = {
	.name = "rnic_cq_tell",
	.init = begin,
	.exit = leave,
	.test_cases = rnic_cq_tell_cases,
};

kunit_test_suite(rnic_cq_tell_suite);
