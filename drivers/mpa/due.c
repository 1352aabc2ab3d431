// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Per-CPU queue of connections with pending transmit work, drained in softirq.
 *
 * A connection is queued on the CPU that made the work pending, and transmits
 * right after the current softirq. A CPU drains its queue for 1 ms at most,
 * however many connections are queued. The workers, which any CPU may run,
 * transmit for the rest.
 */
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "internal.h"

#define BUDGET		NSEC_PER_MSEC

struct due {
	struct llist_head	conns;
	struct compat_bh	run;
};

static DEFINE_PER_CPU(struct due, dues);

/* Each queued connection holds a reference and is in no other queue */
static void mpa_due_serve(struct compat_bh *run)
{
	struct due *d = container_of(run, struct due, run);
	u64 until = ktime_get_ns() + BUDGET;
	struct llist_node *first;
	struct mpa_conn *c, *next;

	/* the list is last-in first-out: restore the order of arrival */
	first = llist_reverse_order(llist_del_all(&d->conns));
	llist_for_each_entry_safe(c, next, first, due) {
		if (ktime_get_ns() < until)
			mpa_tx_due(c);
		else
			mpa_conn_event(c, MPA_EV_TX);
		ddp_session_put(&c->ss);
	}
}

static void add(struct mpa_conn *c)
{
	struct due *d = this_cpu_ptr(&dues);

	if (llist_add(&c->due, &d->conns))
		compat_bh_raise(&d->run);
}

/**
 * mpa_due_add - schedule mpa_tx_due() in softirq on this CPU
 * @c: the connection, in no CPU's queue. The caller holds a reference, is one
 *	of the socket's callbacks, or has found the connection under RCU.
 *
 * Any context.
 */
void mpa_due_add(struct mpa_conn *c)
{
	if (!kref_get_unless_zero(&c->ss.ref))
		return;
	if (in_hardirq() || irqs_disabled()) {
		add(c);
		return;
	}
	/* a softirq that is raised with BH on would be left to ksoftirqd */
	local_bh_disable();
	add(c);
	local_bh_enable();
}

/**
 * mpa_due_init - initialize the queues of all CPUs
 */
void mpa_due_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct due *d = per_cpu_ptr(&dues, cpu);

		init_llist_head(&d->conns);
		compat_bh_init(&d->run, mpa_due_serve);
	}
}

/**
 * mpa_due_exit - wait for the last run of each CPU's queue
 *
 * No connection is left. Sleeps.
 */
void mpa_due_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		compat_bh_end(&per_cpu_ptr(&dues, cpu)->run);
}
