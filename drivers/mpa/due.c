// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections that have something to send: a queue for each CPU, served in
 * softirq, right behind the one that made it due.
 *
 * However many are woken at once, a CPU serves them for a millisecond; what is
 * left is the workers', on whatever CPU is free.
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

/* A connection in the queue is held, and found by nobody else */
static void mpa_due_serve(struct compat_bh *run)
{
	struct due *d = container_of(run, struct due, run);
	u64 until = ktime_get_ns() + BUDGET;
	struct llist_node *first;
	struct mpa_conn *c, *next;

	/* who came first is last */
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
 * mpa_due_add - have mpa_tx_due() called in softirq
 * @c: the connection, in no such queue; the caller holds it, is one of its
 *	callbacks, or found it under RCU
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
	/* a softirq raised with BH on would be left to ksoftirqd */
	local_bh_disable();
	add(c);
	local_bh_enable();
}

/**
 * mpa_due_init - empty queues
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
 * mpa_due_exit - the last run is over
 *
 * There is no connection any more.
 */
void mpa_due_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		compat_bh_end(&per_cpu_ptr(&dues, cpu)->run);
}
