// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A kernel consumer is told on the CPU of its vector: drivers/rnic_sw/cq_tell.c
 * between who completes and CPUs of the test's.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/smp.h>

#include "../../../../drivers/rnic_sw/rnic.h"

#define VECTOR	1

static struct {
	struct rnic_cq		cq;
	unsigned int		cpu;		/* where we are */
	bool			moves;		/* ... until we have asked once */
	bool			offline;	/* the vector's */
	call_single_data_t	*called;	/* an interrupt on its way */
	u32			told, told_there;
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

void host_sleep(void)
{
	interrupt();
}

static void on_completion(struct ib_cq *cq, void *context)
{
	WARN_ON(context != &world || world.cq.lock.held);
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
	KUNIT_EXPECT_EQ(test, 0u, world.cq.calls);
	KUNIT_EXPECT_FALSE(test, world.cq.called);
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
	world.cpu = 0;
	rnic_cq_tell(&world.cq);
	world.cpu = VECTOR;
	rnic_cq_tell(&world.cq);
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
	world.cq.user = true;
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

/* Who destroys the queue waits for what is on its way */
static void told_before_the_end(struct kunit *test)
{
	rnic_cq_tell(&world.cq);
	rnic_cq_told(&world.cq);
	KUNIT_EXPECT_EQ(test, 1u, world.told_there);
}

static struct kunit_case rnic_cq_tell_cases[] = {
	KUNIT_CASE(elsewhere),
	KUNIT_CASE(here),
	KUNIT_CASE(moves_there),
	KUNIT_CASE(offline),
	KUNIT_CASE(of_a_program),
	KUNIT_CASE(nobody_to_tell),
	KUNIT_CASE(told_before_the_end),
	{}
};

static struct kunit_suite rnic_cq_tell_suite = {
	.name = "rnic_cq_tell",
	.init = begin,
	.exit = leave,
	.test_cases = rnic_cq_tell_cases,
};

kunit_test_suite(rnic_cq_tell_suite);
