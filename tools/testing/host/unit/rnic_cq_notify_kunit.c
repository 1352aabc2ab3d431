// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/cq_notify.c: completion handlers of kernel
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
	bool			moves;		/* the task migrates after reading @cpu */
	bool			offline;	/* the vector's CPU is offline */
	call_single_data_t	*called;	/* pending interrupt of another CPU */
	struct compat_bh	*raised;
	int			preempt_off;
	u32			preemptible;	/* handler calls with preemption enabled */
	u32			handler_calls, calls_on_vector;
	u32			in_handler;		/* handler calls in progress */
	u32			nested;
	u32			again;		/* handler calls during which events occur */
	bool			ended;		/* destroy the QP while the handler runs */
	bool			waited;		/* destroying the QP had to wait */
	jmp_buf			waits;
	bool			busy;		/* other QPs keep completing */
	u32			slept;
} stubs;

/* CPUs ------------------------------------------------------------------------ */

unsigned int host_get_cpu(void)
{
	unsigned int cpu = stubs.cpu;

	/* a task that holds the CQ's lock, with interrupts off, cannot migrate */
	if (stubs.moves && !stubs.cq.lock.held)
		stubs.cpu = VECTOR;
	return cpu;
}

/* Call a function on another CPU or, as in the kernel, directly if @cpu is this CPU */
int smp_call_function_single_async(int cpu, call_single_data_t *csd)
{
	if (stubs.offline)
		return -ENXIO;
	if (cpu == stubs.cpu)
		csd->func(csd->info);
	else if (stubs.called)
		return -EBUSY;
	else
		stubs.called = csd;
	return 0;
}

/* Deliver the pending interrupt to the vector's CPU */
static void deliver_interrupt(void)
{
	call_single_data_t *csd = stubs.called;
	unsigned int was = stubs.cpu;

	if (!csd)
		return;
	stubs.called = NULL;
	stubs.cpu = VECTOR;
	csd->func(csd->info);
	stubs.cpu = was;
}

void host_change_preempt_count(int by)
{
	stubs.preempt_off += by;
}

void host_raise_softirq(struct compat_bh *bh)
{
	WARN_ON(stubs.raised);
	stubs.raised = bh;
}

/* Run the softirq on the CPU that raised it */
static void run_softirq(void)
{
	struct compat_bh *bh = stubs.raised;

	stubs.raised = NULL;
	if (bh)
		bh->run(bh);
}

static void notify_cq_on_cpu(unsigned int cpu)
{
	unsigned int was = stubs.cpu;

	stubs.cpu = cpu;
	rnic_cq_notify(&stubs.cq);
	stubs.cpu = was;
}

void host_on_sleep(void)
{
	if (stubs.in_handler)
		longjmp(stubs.waits, 1);
	WARN_ON(stubs.slept++ > 1000);
	if (stubs.busy && stubs.slept < 100)
		stubs.again = 100;
	deliver_interrupt();
	run_softirq();
}

static void run_notify_wait_and_record_blocking(void)
{
	stubs.waited = setjmp(stubs.waits);
	if (!stubs.waited)
		rnic_cq_notify_wait(&stubs.cq);
}

static void on_completion(struct ib_cq *cq, void *context)
{
	WARN_ON(context != &stubs || stubs.cq.lock.held);
	stubs.preemptible += !stubs.preempt_off;
	stubs.nested += stubs.in_handler++;
	if (stubs.again) {
		stubs.again--;
		/*
		 * the handler has armed the CQ: add completions on another CPU
		 * and, in an interrupt, on this CPU
		 */
		notify_cq_on_cpu(!VECTOR);
		notify_cq_on_cpu(stubs.cpu);
		deliver_interrupt();
	}
	if (stubs.ended)
		run_notify_wait_and_record_blocking();
	stubs.in_handler--;
	stubs.handler_calls++;
	stubs.calls_on_vector += stubs.cpu == VECTOR;
}

/* Cases ----------------------------------------------------------------------- */

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.cq.ib.comp_handler = on_completion;
	stubs.cq.ib.cq_context = &stubs;
	rnic_cq_notify_init(&stubs.cq, VECTOR);
	return 0;
}

static void test_exit(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, stubs.cq.notifying);
	KUNIT_EXPECT_EQ(test, stubs.cq.ev_requested, stubs.cq.ev_done);
	KUNIT_EXPECT_EQ(test, 0u, stubs.nested);
	KUNIT_EXPECT_EQ(test, 0, stubs.preempt_off);
	KUNIT_EXPECT_EQ(test, 0u, stubs.cq.ib.uobject ? 0 : stubs.preemptible);
}

/*
 * For completions on another CPU one interrupt is pending at a time, however many
 * completions there are
 */
static void one_interrupt_is_pending_at_a_time(struct kunit *test)
{
	rnic_cq_notify(&stubs.cq);
	rnic_cq_notify(&stubs.cq);
	KUNIT_EXPECT_EQ(test, 0u, stubs.handler_calls);
	deliver_interrupt();
	KUNIT_EXPECT_EQ(test, 1u, stubs.calls_on_vector);
	rnic_cq_notify(&stubs.cq);
	deliver_interrupt();
	KUNIT_EXPECT_EQ(test, 2u, stubs.calls_on_vector);
}

/*
 * For a completion on the vector's CPU the handler is called directly, unless an
 * interrupt is pending
 */
static void local_completion_calls_handler(struct kunit *test)
{
	stubs.cpu = VECTOR;
	rnic_cq_notify(&stubs.cq);
	KUNIT_EXPECT_EQ(test, 1u, stubs.calls_on_vector);
	notify_cq_on_cpu(!VECTOR);
	notify_cq_on_cpu(VECTOR);
	KUNIT_EXPECT_EQ(test, 1u, stubs.handler_calls);
	deliver_interrupt();
	KUNIT_EXPECT_EQ(test, 2u, stubs.calls_on_vector);
}

/*
 * If the completing task migrates to the vector's CPU after it has read its CPU number, the handler
 * is called once
 */
static void migrated_task_calls_handler_once(struct kunit *test)
{
	stubs.moves = true;
	rnic_cq_notify(&stubs.cq);
	deliver_interrupt();
	KUNIT_EXPECT_EQ(test, 1u, stubs.handler_calls);
}

/* If the vector's CPU is offline, the handler is called directly on this CPU */
static void offline_vector_calls_handler_on_this_cpu(struct kunit *test)
{
	stubs.offline = true;
	rnic_cq_notify(&stubs.cq);
	KUNIT_EXPECT_EQ(test, 1u, stubs.handler_calls);
}

/* The handler of a user-space CQ belongs to ib_core, and may run on any CPU */
static void user_cq_handler_runs_anywhere(struct kunit *test)
{
	stubs.cq.ib.uobject = (void *)&stubs;
	rnic_cq_notify(&stubs.cq);
	KUNIT_EXPECT_EQ(test, 1u, stubs.handler_calls);
	KUNIT_EXPECT_NULL(test, stubs.called);
}

static void cq_without_handler_sends_no_interrupt(struct kunit *test)
{
	stubs.cq.ib.comp_handler = NULL;
	rnic_cq_notify(&stubs.cq);
	KUNIT_EXPECT_NULL(test, stubs.called);
}

/*
 * If events occur while a handler runs, the same context calls the handler again
 * afterwards. This holds if the handler was called directly, by an interrupt, or
 * where no interrupt is possible, as on PREEMPT_RT.
 */
static void handlers_run_one_at_a_time(struct kunit *test)
{
	stubs.again = 1;
	notify_cq_on_cpu(VECTOR);
	KUNIT_EXPECT_EQ(test, 2u, stubs.calls_on_vector);
	stubs.again = 1;
	notify_cq_on_cpu(!VECTOR);
	deliver_interrupt();
	KUNIT_EXPECT_EQ(test, 4u, stubs.calls_on_vector);
	stubs.offline = true;
	stubs.again = 1;
	notify_cq_on_cpu(!VECTOR);
	KUNIT_EXPECT_EQ(test, 6u, stubs.handler_calls);
}

/*
 * If each call of the handler finds new events, softirq continues after 16 calls.
 * No other context calls the handler until then.
 */
static void softirq_continues_busy_handler(struct kunit *test)
{
	u32 rounds;

	stubs.again = 100;
	notify_cq_on_cpu(VECTOR);
	KUNIT_EXPECT_EQ(test, 16u, stubs.handler_calls);
	notify_cq_on_cpu(VECTOR);
	notify_cq_on_cpu(!VECTOR);
	KUNIT_EXPECT_NULL(test, stubs.called);
	KUNIT_EXPECT_EQ(test, 16u, stubs.handler_calls);
	stubs.cpu = VECTOR;
	for (rounds = 0; stubs.raised; rounds++)
		run_softirq();
	KUNIT_EXPECT_EQ(test, 101u, stubs.calls_on_vector);
	KUNIT_EXPECT_EQ(test, 6u, rounds);
}

/* Destroying a QP waits for a pending notification */
static void destroy_waits_for_notification(struct kunit *test)
{
	rnic_cq_notify(&stubs.cq);
	rnic_cq_notify_wait(&stubs.cq);
	KUNIT_EXPECT_EQ(test, 1u, stubs.calls_on_vector);
}

/* Destroying a QP waits for a running handler, on any CPU */
static void destroy_waits_for_handler(struct kunit *test)
{
	stubs.ended = true;
	notify_cq_on_cpu(VECTOR);
	KUNIT_EXPECT_TRUE(test, stubs.waited);
	stubs.waited = false;
	rnic_cq_notify(&stubs.cq);
	deliver_interrupt();
	KUNIT_EXPECT_TRUE(test, stubs.waited);
	stubs.ended = false;
	rnic_cq_notify_wait(&stubs.cq);
	KUNIT_EXPECT_EQ(test, 0u, stubs.slept);
}

/* Destroying a QP waits for notifications that softirq has still to deliver */
static void destroy_waits_for_softirq(struct kunit *test)
{
	stubs.again = 20;
	notify_cq_on_cpu(VECTOR);
	rnic_cq_notify_wait(&stubs.cq);
	KUNIT_EXPECT_EQ(test, 21u, stubs.handler_calls);
}

/* Destroying a QP does not wait for completions that other QPs keep adding */
static void destroy_does_not_wait_for_other_qps(struct kunit *test)
{
	stubs.busy = true;
	stubs.again = 100;
	notify_cq_on_cpu(VECTOR);
	rnic_cq_notify_wait(&stubs.cq);
	KUNIT_EXPECT_LT(test, stubs.slept, 3u);
	stubs.again = 0;
	run_softirq();
}

static struct kunit_case rnic_cq_notify_cases[] = {
	KUNIT_CASE(one_interrupt_is_pending_at_a_time),
	KUNIT_CASE(local_completion_calls_handler),
	KUNIT_CASE(migrated_task_calls_handler_once),
	KUNIT_CASE(offline_vector_calls_handler_on_this_cpu),
	KUNIT_CASE(user_cq_handler_runs_anywhere),
	KUNIT_CASE(cq_without_handler_sends_no_interrupt),
	KUNIT_CASE(handlers_run_one_at_a_time),
	KUNIT_CASE(softirq_continues_busy_handler),
	KUNIT_CASE(destroy_waits_for_notification),
	KUNIT_CASE(destroy_waits_for_handler),
	KUNIT_CASE(destroy_waits_for_softirq),
	KUNIT_CASE(destroy_does_not_wait_for_other_qps),
	{}
};

static struct kunit_suite rnic_cq_notify_suite = {
	.name = "rnic_cq_notify",
	.init = test_init,
	.exit = test_exit,
	.test_cases = rnic_cq_notify_cases,
};

kunit_test_suite(rnic_cq_notify_suite);
