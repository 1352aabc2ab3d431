// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Per-CPU counters: their names, the counter sets, and summation on read.  This file counts
 * messages and segments; other files call rnic_inc_counter() or rnic_qp_add_to_counter() for other
 * events.
 *
 * Each queue pair counts in one set: the device's own set, or the set of the rdma_counter that
 * the queue pair is bound to ("rdma statistic qp").  For the port the core shows the sum of all
 * sets, plus the last values of rdma_counters that have been freed.
 *
 * TCP counts its retransmits itself.  This file reads TCP's count and adds the increase to the
 * set whenever the counters are read, and before a queue pair moves to another set.
 *
 * Programs of all users take count_lock when they create or destroy queue pairs or read
 * counters.  count_lock is a spinlock, because the holder of a mutex can be preempted for a long
 * time and would then delay all other programs.  Readers release count_lock after every few queue
 * pairs, so that they do not hold it for long.
 */
#include <linux/init.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "counters.h"
#include "trace.h"

#define REASON_NAME_MAX	40

/* Index of the counter of a reason in @descs, which has no entry for IW_OK */
#define REASON_STAT(why)	(RNIC_COUNTERS + (why) - 1)

static char reason_names[IW_REASON_NR][REASON_NAME_MAX];

/* Names of all counters.  rnic_init_counter_names() fills in the last ones, for the reasons. */
static struct rdma_stat_desc descs[REASON_STAT(IW_REASON_NR)] = {
	[RNIC_RX_WRITES].name		= "rx_writes",
	[RNIC_RX_SENDS].name		= "rx_sends",
	[RNIC_RX_READ_REQUESTS].name	= "rx_read_requests",
	[RNIC_RX_READ_RESPONSES].name	= "rx_read_responses",
	[RNIC_RX_TERMINATES].name	= "rx_terminates",
	[RNIC_RX_IMMEDIATES].name	= "rx_immediates",
	[RNIC_RX_ATOMIC_REQUESTS].name	= "rx_atomic_requests",
	[RNIC_RX_ATOMIC_RESPONSES].name	= "rx_atomic_responses",
	[RNIC_RX_EARLY].name		= "rx_placed_early",
	[RNIC_RX_SEGMENTS].name		= "rx_segments",
	[RNIC_RX_BYTES].name		= "rx_bytes",
	[RNIC_TX_WRITES].name		= "tx_writes",
	[RNIC_TX_SENDS].name		= "tx_sends",
	[RNIC_TX_READ_REQUESTS].name	= "tx_read_requests",
	[RNIC_TX_READ_RESPONSES].name	= "tx_read_responses",
	[RNIC_TX_TERMINATES].name	= "tx_terminates",
	[RNIC_TX_IMMEDIATES].name	= "tx_immediates",
	[RNIC_TX_ATOMIC_REQUESTS].name	= "tx_atomic_requests",
	[RNIC_TX_ATOMIC_RESPONSES].name	= "tx_atomic_responses",
	[RNIC_TX_SEGMENTS].name		= "tx_segments",
	[RNIC_TX_BYTES].name		= "tx_bytes",
	[RNIC_TX_RETRANSMITS].name	= "tx_retransmits",
	[RNIC_TX_COALESCED].name		= "tx_coalesced",
	[RNIC_CONNECTS].name		= "connects",
	[RNIC_CONNECTS_SCTP].name	= "connects_sctp",
	[RNIC_CONNECTS_PLAIN].name	= "connects_plain",
	[RNIC_ACCEPTS].name		= "accepts",
	[RNIC_REJECTS].name		= "rejects",
	[RNIC_RDV_REFUSED].name		= "peers_refused",
	[RNIC_ODP_FAULTS].name		= "odp_faults",
	[RNIC_ODP_FAULTS_FAILED].name	= "odp_faults_failed",
	[RNIC_ODP_INVALIDATIONS].name	= "odp_invalidations",
	[RNIC_ODP_PREFETCHES].name	= "odp_prefetches",
	[RNIC_DMABUF_WAITS].name	= "dmabuf_waits",
	[RNIC_DMABUF_WAITS_FAILED].name	= "dmabuf_waits_failed",
	[RNIC_DMABUF_MOVES].name	= "dmabuf_moves",
};

/**
 * rnic_init_counter_names - fill in the names of the counters of reasons
 *
 * The name of such a counter is "end_", followed by the reason's name.
 */
void __init rnic_init_counter_names(void)
{
	int why;

	for (why = IW_OK + 1; why < IW_REASON_NR; why++) {
		char *name = reason_names[why];

		snprintf(name, REASON_NAME_MAX, "end_%s", iw_reason_get_name(why));
		strreplace(name, '-', '_');
		descs[REASON_STAT(why)].name = name;
	}
}

static struct rdma_hw_stats *alloc_stats(void)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * rnic_alloc_hw_port_stats - allocate the statistics of the port (device operation)
 * @ib: the device
 * @port: ignored; a device has one port
 *
 * Return: the statistics, which the core frees; NULL if memory is short.
 */
struct rdma_hw_stats *rnic_alloc_hw_port_stats(struct ib_device *ib, u32 port)
{
	return alloc_stats();
}

/**
 * rnic_alloc_counter_stats - allocate the statistics of an rdma_counter (device operation)
 * @counter: ignored
 *
 * The statistics must have the same entries as those of the port, because the core adds the
 * values of both by index.
 *
 * Return: the statistics, which the core frees; NULL if memory is short.
 */
struct rdma_hw_stats *rnic_alloc_counter_stats(struct rdma_counter *counter)
{
	return alloc_stats();
}

static u64 sum_counter_over_cpus(const u64 __percpu *value, int c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(value, cpu)[c]);
	return sum;
}

static void rnic_fill_stats(const u64 __percpu *value,
			    struct rdma_hw_stats *stats)
{
	int c;

	for (c = 0; c < RNIC_COUNTERS; c++)
		stats->value[c] = sum_counter_over_cpus(value, c);
	for (c = IW_OK + 1; c < IW_REASON_NR; c++)
		stats->value[REASON_STAT(c)] = sum_counter_over_cpus(value, RNIC_COUNTERS + c);
}

/* Counter sets -------------------------------------------------------------------- */

static u64 __percpu *alloc_counter_values(gfp_t gfp)
{
	return __alloc_percpu_gfp(RNIC_COUNTERS_ALL * sizeof(u64), sizeof(u64),
				  gfp);
}

/**
 * rnic_counters_init - allocate the device's own counter set
 * @dev: the device, new
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_counters_init(struct rnic_dev *dev)
{
	spin_lock_init(&dev->count_lock);
	xa_init_flags(&dev->sets, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&dev->default_set.qps);
	dev->default_set.value = alloc_counter_values(GFP_KERNEL);
	return dev->default_set.value ? 0 : -ENOMEM;
}

/**
 * rnic_counters_exit - free the device's own counter set
 * @dev: the device; it must have no queue pairs
 */
void rnic_counters_exit(struct rnic_dev *dev)
{
	WARN_ON_ONCE(!xa_empty(&dev->sets));
	xa_destroy(&dev->sets);
	free_percpu(dev->default_set.value);
}

/*
 * Count the retransmits that TCP has made for @qp since the last call.  Retransmits of SCTP
 * are not counted, because SCTP counts them for an association, which many queue pairs share.
 */
static void __count_new_retransmits(struct rnic_qp *qp)
{
	struct ddp_query q;
	u32 more;

	lockdep_assert_held(&qp->dev->count_lock);
	ddp_stream_query(&qp->rdmap.stream, &q);
	if (!q.llp || q.stream != DDP_QUERY_NO_STREAM)
		return;
	more = q.retransmits - qp->retransmits;
	qp->retransmits = q.retransmits;
	if (more)
		rnic_qp_add_to_counter(qp, RNIC_TX_RETRANSMITS, more);
}

/*
 * Update the retransmits of up to RING_IDX_STEPS queue pairs of @left, and move these queue
 * pairs to @done.
 *
 * Return: true if @left is not empty yet, false if it is.
 */
static bool __count_new_retransmits_of_some_qps(struct list_head *left, struct list_head *done)
{
	struct rnic_qp *qp;
	int n;

	for (n = 0; n < RING_IDX_STEPS && !list_empty(left); n++) {
		qp = list_first_entry(left, struct rnic_qp, set_entry);
		__count_new_retransmits(qp);
		list_move_tail(&qp->set_entry, done);
	}
	return !list_empty(left);
}

/*
 * Update the retransmits of all queue pairs of a set.  Must not run concurrently for the same
 * set; the core ensures this, because it serializes the readers of a counter.
 */
static void count_new_retransmits_of_set(struct rnic_dev *dev, struct rnic_counter_set *set)
{
	LIST_HEAD(left);

	spin_lock(&dev->count_lock);
	list_splice_init(&set->qps, &left);
	while (__count_new_retransmits_of_some_qps(&left, &set->qps)) {
		spin_unlock(&dev->count_lock);
		/*
		 * Other contexts may take the lock here.  If they destroy a queue pair or bind
		 * it to another set, they remove it from @left.
		 */
		cond_resched();
		spin_lock(&dev->count_lock);
	}
	spin_unlock(&dev->count_lock);
}

static void __move_qp_to_counter_set(struct rnic_qp *qp, struct rnic_counter_set *set)
{
	__count_new_retransmits(qp);
	list_move_tail(&qp->set_entry, &set->qps);
	/*
	 * Order the zeroing of a new set's values before the publication of the set.  Otherwise
	 * a context could add to values that are not zeroed yet.  Pairs with the address
	 * dependency in rnic_qp_add_to_counter().  litmus: publish
	 */
	smp_store_release(&qp->counts, set->value);
}

/**
 * rnic_qp_counters_attach - add a new queue pair to the device's own counter set
 * @qp: the queue pair; its creator has set qp->counts already
 */
void rnic_qp_counters_attach(struct rnic_qp *qp)
{
	spin_lock(&qp->dev->count_lock);
	list_add_tail(&qp->set_entry, &qp->dev->default_set.qps);
	spin_unlock(&qp->dev->count_lock);
}

/**
 * rnic_qp_counters_detach - remove a queue pair from its counter set
 * @qp: the queue pair, being destroyed; its stream must still be bound to the LLP
 *
 * Counts the last retransmits in the queue pair's set.  Events that the queue pair still counts
 * afterwards go to the device's own set.  From now on the queue pair cannot be bound to an
 * rdma_counter.
 */
void rnic_qp_counters_detach(struct rnic_qp *qp)
{
	spin_lock(&qp->dev->count_lock);
	__move_qp_to_counter_set(qp, &qp->dev->default_set);
	list_del_init(&qp->set_entry);
	spin_unlock(&qp->dev->count_lock);
}

/**
 * rnic_qp_count_new_retransmits - count the retransmits of a stream that is about to be unbound
 * @qp: the queue pair
 */
void rnic_qp_count_new_retransmits(struct rnic_qp *qp)
{
	spin_lock(&qp->dev->count_lock);
	__count_new_retransmits(qp);
	spin_unlock(&qp->dev->count_lock);
}

/**
 * rnic_qp_reset_retransmits - reset the number of TCP retransmits counted for a queue pair
 * @qp: the queue pair, whose stream is unbound; its next stream counts from 0
 */
void rnic_qp_reset_retransmits(struct rnic_qp *qp)
{
	spin_lock(&qp->dev->count_lock);
	qp->retransmits = 0;
	spin_unlock(&qp->dev->count_lock);
}

static void free_counter_set(struct rnic_counter_set *set)
{
	free_percpu(set->value);
	kfree(set);
}

static struct rnic_counter_set *new_counter_set(struct rnic_dev *dev, u32 *id)
{
	struct rnic_counter_set *set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);

	if (!set)
		return NULL;
	INIT_LIST_HEAD(&set->qps);
	set->value = alloc_counter_values(GFP_KERNEL_ACCOUNT);
	if (set->value && !xa_alloc(&dev->sets, id, set, xa_limit_31b,
				    GFP_KERNEL_ACCOUNT))
		return set;
	free_counter_set(set);
	return NULL;
}

static int bind_qp_to_counter_set(struct rnic_counter_set *set, struct rdma_counter *counter,
				  struct rnic_qp *qp)
{
	/* returned if the queue pair is being destroyed, or a concurrent caller has bound it */
	int err = -EINVAL;

	spin_lock(&qp->dev->count_lock);
	if (!list_empty(&qp->set_entry) && !qp->ib.counter) {
		__move_qp_to_counter_set(qp, set);
		qp->ib.counter = counter;
		err = 0;
	}
	spin_unlock(&qp->dev->count_lock);
	return err;
}

/* Allocate the set of an rdma_counter and bind the first queue pair to the counter */
static int alloc_counter_set_and_bind_qp(struct rnic_dev *dev, struct rdma_counter *counter,
					 struct rnic_qp *qp)
{
	struct rnic_counter_set *set = new_counter_set(dev, &counter->id);
	int err;

	if (!set)
		return -ENOMEM;
	err = bind_qp_to_counter_set(set, counter, qp);
	if (!err)
		return 0;
	xa_erase(&dev->sets, counter->id);
	counter->id = 0;
	free_counter_set(set);
	return err;
}

/**
 * rnic_counter_init - initialize an rdma_counter (device operation)
 * @counter: the rdma_counter
 *
 * Does nothing; alloc_counter_set_and_bind_qp() allocates the set.
 */
void rnic_counter_init(struct rdma_counter *counter)
{
}

/**
 * rnic_counter_bind - bind a queue pair to an rdma_counter (device operation)
 * @counter: the rdma_counter; allocates its set if this is the first queue pair
 * @ib: the queue pair, which counts in the set from now on
 * @port: ignored; a device has one port
 *
 * May sleep.
 *
 * Return: 0; -ENOMEM; -EINVAL if the queue pair is being destroyed or is bound already.
 */
int rnic_counter_bind(struct rdma_counter *counter, struct ib_qp *ib, u32 port)
{
	struct rnic_dev *dev = to_rnic_dev(ib->device);
	struct rnic_counter_set *set;

	if (!counter->id)
		return alloc_counter_set_and_bind_qp(dev, counter, to_rnic_qp(ib));
	set = xa_load(&dev->sets, counter->id);
	return set ? bind_qp_to_counter_set(set, counter, to_rnic_qp(ib)) : -EINVAL;
}

/**
 * rnic_counter_unbind - unbind a queue pair from its rdma_counter (device operation)
 * @ib: the queue pair, which counts in the device's own set from now on
 * @port: ignored; a device has one port
 *
 * Return: 0 if the queue pair was bound; the core then drops a reference to the rdma_counter.
 * -EINVAL if the queue pair was not bound, for example because a concurrent caller has unbound
 * it already.
 */
int rnic_counter_unbind(struct ib_qp *ib, u32 port)
{
	struct rnic_dev *dev = to_rnic_dev(ib->device);
	bool bound;

	spin_lock(&dev->count_lock);
	bound = ib->counter;
	if (bound && !list_empty(&to_rnic_qp(ib)->set_entry))
		__move_qp_to_counter_set(to_rnic_qp(ib), &dev->default_set);
	ib->counter = NULL;
	spin_unlock(&dev->count_lock);
	return bound ? 0 : -EINVAL;
}

/**
 * rnic_counter_dealloc - free the set of an rdma_counter (device operation)
 * @counter: the rdma_counter; no queue pair may be bound to it
 *
 * Sleeps.
 *
 * Return: 0.
 */
int rnic_counter_dealloc(struct rdma_counter *counter)
{
	struct rnic_dev *dev = to_rnic_dev(counter->device);
	struct rnic_counter_set *set = xa_erase(&dev->sets, counter->id);

	if (!set)
		return 0;
	/* wait for contexts that have read qp->counts under RCU and may still count in this set */
	synchronize_rcu();
	free_counter_set(set);
	return 0;
}

/**
 * rnic_counter_update - read the values of an rdma_counter (device operation)
 * @counter: the rdma_counter; counter->stats is filled in
 *
 * Return: 0.
 */
int rnic_counter_update(struct rdma_counter *counter)
{
	struct rnic_dev *dev = to_rnic_dev(counter->device);
	struct rnic_counter_set *set = xa_load(&dev->sets, counter->id);

	if (!set)
		return 0;
	count_new_retransmits_of_set(dev, set);
	rnic_fill_stats(set->value, counter->stats);
	return 0;
}

/* Read the values of the device's own set */
static void rnic_fill_dev_stats(struct rnic_dev *dev,
				struct rdma_hw_stats *stats)
{
	count_new_retransmits_of_set(dev, &dev->default_set);
	rnic_fill_stats(dev->default_set.value, stats);
}

/**
 * rnic_get_hw_stats - read the counters of the port (device operation)
 * @ib: the device
 * @stats: filled in with the values of the device's own set; the core adds those of rdma_counters
 * @port: ignored; a device has one port
 * @index: ignored; all counters are filled in
 *
 * Return: the number of counters.
 */
int rnic_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats,
		      u32 port, int index)
{
	rnic_fill_dev_stats(to_rnic_dev(ib), stats);
	return ARRAY_SIZE(descs);
}

/* Called by RDMAP to count messages and segments ---------------------------- */

void rdmap_count_messages(struct rdmap *r, u8 opcode, u32 n, bool sent)
{
	static const u8 counters[][2] = {
		[RDMAP_OP_WRITE]	= { RNIC_RX_WRITES, RNIC_TX_WRITES },
		[RDMAP_OP_READ_REQ]	= { RNIC_RX_READ_REQUESTS,
					    RNIC_TX_READ_REQUESTS },
		[RDMAP_OP_READ_RESP]	= { RNIC_RX_READ_RESPONSES,
					    RNIC_TX_READ_RESPONSES },
		[RDMAP_OP_SEND]		= { RNIC_RX_SENDS, RNIC_TX_SENDS },
		[RDMAP_OP_SEND_INV]	= { RNIC_RX_SENDS, RNIC_TX_SENDS },
		[RDMAP_OP_SEND_SE]	= { RNIC_RX_SENDS, RNIC_TX_SENDS },
		[RDMAP_OP_SEND_SE_INV]	= { RNIC_RX_SENDS, RNIC_TX_SENDS },
		[RDMAP_OP_TERMINATE]	= { RNIC_RX_TERMINATES,
					    RNIC_TX_TERMINATES },
		[RDMAP_OP_IMM]		= { RNIC_RX_IMMEDIATES,
					    RNIC_TX_IMMEDIATES },
		[RDMAP_OP_IMM_SE]	= { RNIC_RX_IMMEDIATES,
					    RNIC_TX_IMMEDIATES },
		[RDMAP_OP_ATOMIC_REQ]	= { RNIC_RX_ATOMIC_REQUESTS,
					    RNIC_TX_ATOMIC_REQUESTS },
		[RDMAP_OP_ATOMIC_RESP]	= { RNIC_RX_ATOMIC_RESPONSES,
					    RNIC_TX_ATOMIC_RESPONSES },
	};

	rnic_qp_add_to_counter_bh(rdmap_to_qp(r), counters[opcode][sent], n);
	if (trace_rnic_message_enabled())
		for (; n; n--)
			trace_rnic_message(rdmap_to_qp(r), opcode, sent);
}

void rdmap_count_early_segment(struct rdmap *r)
{
	rnic_qp_add_to_counter(rdmap_to_qp(r), RNIC_RX_EARLY, 1);
}

void rdmap_count_segments(struct rdmap *r, u32 segments, u32 bytes, bool sent)
{
	struct rnic_qp *qp = rdmap_to_qp(r);

	rnic_qp_add_to_counter_bh(qp, sent ? RNIC_TX_SEGMENTS : RNIC_RX_SEGMENTS, segments);
	rnic_qp_add_to_counter_bh(qp, sent ? RNIC_TX_BYTES : RNIC_RX_BYTES, bytes);
}
