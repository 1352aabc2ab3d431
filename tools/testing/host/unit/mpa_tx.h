/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Test fixture: connections with batches to transmit, sockets, workers, softirq and clock */
#ifndef _HOST_UNIT_MPA_TX_H
#define _HOST_UNIT_MPA_TX_H

#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/preempt.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/mpa/tx_owner.h"

#define CROWD	300
#define BATCHES_PER_PASS	4	/* batches per transmit pass */

/* A connection and the number of batches that it has to transmit */
struct tx_conn {
	struct mpa_conn		c;
	struct ddp_stream	stream;
	u32			left;		/* batches to transmit */
	bool			one_by_one;	/* no batch is marked as the last one */
	u32			works;		/* number of times the worker was queued */
	u64			done;		/* time of the last batch, ns */
};

static struct {
	u64			now;		/* current time, ns */
	u64			batch_ns;	/* time to send a batch */
	u32			sent;		/* batches sent */
	int			err;		/* result of sending */
	u32			tries;		/* attempts to send */
	u32			works;		/* number of times a worker was queued */
	u32			waits;		/* number of waits for a socket */
	struct compat_bh	*raised;
	struct delayed_work	*timer;
	unsigned long		ms;		/* timeout of the delayed work */
	bool			irqs_off;
	u32			looks;		/* calls of sent() with @look */
	u32			builds;		/* attempts to build a batch */
	u32			batch_len;	/* length of a batch; 0: 1 */
	u32		emss;		/* 0: 1460 */
	u32		most;		/* last limit of a batch */
	bool			one_cpu;	/* the machine has only one CPU */
	bool			packets;	/* a softirq has packets to deliver */
	int			preempt_off;	/* preemption is disabled so many times */
	u32			delivered_by_owner;	/* deliveries while the transmit side is owned */
	u32			delivered_later;	/* other deliveries */
} stubs;

static struct tx_conn tx_conns[CROWD];

/* The kernel --------------------------------------------------------------- */

struct workqueue_struct *mpa_wq;

u64 host_get_time_ns(void)
{
	return stubs.now;
}

bool host_are_irqs_off(void)
{
	return stubs.irqs_off;
}

/* Raise the softirq. Fail if BH and interrupts are on, which would wake ksoftirqd. */
void host_raise_softirq(struct compat_bh *bh)
{
	WARN_ON(!host_bh_off && !stubs.irqs_off);
	stubs.raised = bh;
}

void host_change_preempt_count(int by)
{
	stubs.preempt_off += by;
	WARN_ON(stubs.preempt_off < 0);
}

unsigned int host_count_cpus(void)
{
	return stubs.one_cpu ? 1 : 2;
}

/* Deliver the packets. An owner may let this happen only if it cannot be preempted. */
void host_on_bh_enabled(void)
{
	if (!stubs.packets)
		return;
	stubs.packets = false;
	if (tx_conns[0].c.tx.v & MPA_TX_OWNED) {
		WARN_ON(!stubs.preempt_off);
		stubs.delivered_by_owner++;
	} else {
		stubs.delivered_later++;
	}
}

bool host_queue_delayed(struct delayed_work *d, unsigned long ms)
{
	if (stubs.timer)
		return false;
	stubs.timer = d;
	stubs.ms = ms;
	return true;
}

/* Run the softirq. Return: the time it took, ns. */
static u64 run_softirq(void)
{
	struct compat_bh *bh = stubs.raised;
	u64 began = stubs.now;

	stubs.raised = NULL;
	if (bh)
		bh->run(bh);
	return stubs.now - began;
}

static bool run_timer(void)
{
	struct delayed_work *d = stubs.timer;

	stubs.timer = NULL;
	if (d)
		d->work.func(&d->work);
	return d;
}

/* Other functions of iw_mpa ------------------------------------------------ */

static struct tx_conn *to_tx_conn(struct mpa_conn *c)
{
	return container_of(c, struct tx_conn, c);
}

void mpa_conn_set_event(struct mpa_conn *c, enum mpa_event ev)
{
	if (ev != MPA_EV_TX)
		return;
	to_tx_conn(c)->works++;
	stubs.works++;
}

bool mpa_frame_build_batch(struct mpa_conn *c, u32 emss, u32 most)
{
	u32 left = to_tx_conn(c)->left;

	stubs.builds++;
	stubs.most = most;
	c->out.len = left ? stubs.batch_len ?: 1 : 0;
	c->out.last = left <= !to_tx_conn(c)->one_by_one;
	return true;
}

void mpa_frame_drop_batch(struct mpa_conn *c)
{
	c->out.len = 0;
}

u32 mpa_sock_get_emss(const struct mpa_conn *c)
{
	return stubs.emss ?: 1460;
}

u32 mpa_sock_get_tso_max(const struct mpa_conn *c)
{
	return 65536;
}

void mpa_sock_record_flow(const struct mpa_conn *c)
{
}

int mpa_sock_send_batch(struct mpa_conn *c)
{
	stubs.now += stubs.batch_ns;
	stubs.tries++;
	if (stubs.err)
		return stubs.err;
	stubs.packets = true;
	to_tx_conn(c)->left--;
	to_tx_conn(c)->done = stubs.now;
	stubs.sent++;
	return 0;
}

void mpa_sock_wait_unowned(struct mpa_conn *c)
{
	stubs.waits++;
}

/* Connections -------------------------------------------------------------- */

static void fail_on_release(struct kref *ref)
{
	WARN_ON(true);
}

static const struct ddp_session_type type = { .release = fail_on_release };

static bool look_for_batch(struct ddp_stream *s, bool look)
{
	stubs.looks += look;
	return !look || container_of(s, struct tx_conn, stream)->left;
}

static const struct ddp_ulp_ops ulp = { .sent = look_for_batch };

/* Open @n connections with @batches batches to transmit each */
static struct mpa_conn *open_conns(u32 n, u32 batches)
{
	struct tx_conn *g;

	memset(&stubs, 0, sizeof(stubs));
	memset(tx_conns, 0, sizeof(tx_conns));
	mpa_txq_init();
	for (g = tx_conns; g < tx_conns + n; g++) {
		ddp_stream_init(&g->stream, &ulp, NULL, NULL);
		kref_init(&g->c.ss.ref);
		g->c.ss.type = &type;
		g->c.tx_stream = &g->stream;
		g->c.tx_permitted = true;
		g->left = batches;
		mpa_tx_init(&g->c);
	}
	return &tx_conns[0].c;
}

static void run_worker(struct tx_conn *g)
{
	if (!g->works)
		return;
	g->works = 0;
	mpa_tx_work(&g->c);
}

/* Expect that all batches are sent, and that no reference or pending work is left */
static void expect_all_batches_sent(struct kunit *test, u32 n)
{
	struct tx_conn *g;

	for (g = tx_conns; g < tx_conns + n; g++) {
		KUNIT_EXPECT_EQ(test, 0u, g->left);
		KUNIT_EXPECT_EQ(test, 0, g->c.tx.v);
		KUNIT_EXPECT_EQ(test, 1, g->c.ss.ref.refs);
	}
	KUNIT_EXPECT_TRUE(test, !stubs.raised && !stubs.timer);
}

#endif
