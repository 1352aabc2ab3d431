// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/cq_tell.c: completion handlers of kernel
 * consumers run on the CPU of their vector, one at a time. CPUs are stubs.
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
	unsigned int		cpu;		/* current CPU */
	bool			moves;		/* the task migrates after reading it */
	bool			offline;	/* the vector's CPU is offline */
	call_single_data_t	*called;	/* pending interrupt of another CPU */
	struct compat_bh	*raised;
	int			preempt_off;
	u32			preemptible;	/* handlers that could be preempted */
	u32			told, told_there;
	u32			inside;		/* handlers in progress */
	u32			nested;
	u32			again;		/* events that occur while the handler runs */
	bool			ended;		/* destroy the QP while the handler runs */
	bool			waited;		/* destroying the QP waits */
	jmp_buf			waits;
	bool			busy;		/* other QPs keep completing */
	u32			slept;
} world;

/* CPUs ------------------------------------------------------------------------ */

unsigned int host_cpu(void)
{
	unsigned int cpu = world.cpu;

	/* with a lock held and interrupts off there is no migration */
	if (world.moves && !world.cq.lock.held)
		world.cpu = VECTOR;
	return cpu;
}

/* As in the kernel: on the same CPU the function is called directly */
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

/* Deliver the interrupt */
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

/* Run the softirq on the CPU that raised it */
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
		/*
		 * the handler has armed the CQ: the other CPU completes, and so
		 * does an interrupt here
		 */
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

/* From another CPU, one interrupt covers all completions until it is delivered */
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

/* On the vector's CPU the handler is called directly, unless an interrupt is pending */
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

/* The completing task may be preempted and migrate to the vector's CPU */
static void moves_there(struct kunit *test)
{
	world.moves = true;
	rnic_cq_tell(&world.cq);
	interrupt();
	KUNIT_EXPECT_EQ(test, 1u, world.told);
}

/* Without the vector's CPU the handler is called directly */
static void offline(struct kunit *test)
{
	world.offline = true;
	rnic_cq_tell(&world.cq);
	KUNIT_EXPECT_EQ(test, 1u, world.told);
}

/* The handler of a user-space CQ belongs to ib_core, and may run on any CPU */
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
 * Events that occur while a handler runs are handled after it, by the same
 * context: called directly, by an interrupt, and where no interrupt is
 * possible, as on PREEMPT_RT
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

/*
 * A handler with ever new events leaves them to softirq after a while; no other
 * context runs it in between
 */
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

/* Destroying a QP waits for a pending notification */
static void told_before_the_end(struct kunit *test)
{
	rnic_cq_tell(&world.cq);
	rnic_cq_told(&world.cq);
	KUNIT_EXPECT_EQ(test, 1u, world.told_there);
}

/* Destroying a QP waits for a running handler, on any CPU */
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

/* Destroying a QP waits for notifications that softirq has still to deliver */
static void rest_before_the_end(struct kunit *test)
{
	world.again = 20;
	complete_on(VECTOR);
	rnic_cq_told(&world.cq);
	KUNIT_EXPECT_EQ(test, 21u, world.told);
}

/* Destroying a QP does not wait for completions that other QPs keep adding */
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
