// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Per-CPU counters: their names, and their sums on read. */
#include <linux/init.h>

#include "counter.h"
#include "stats.h"

#define REASON_NAME_MAX	40

/* The reason IW_OK ends nothing, so its counter is not shown */
#define SHOWN(why)	(RNIC_COUNTERS + (why) - 1)

static char reason_names[IW_REASON_NR][REASON_NAME_MAX];

/* The last entries, one for each reason, are named by rnic_stats_init() */
static struct rdma_stat_desc descs[SHOWN(IW_REASON_NR)] = {
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
	[RNIC_RX_OCTETS].name		= "rx_octets",
	[RNIC_TX_WRITES].name		= "tx_writes",
	[RNIC_TX_SENDS].name		= "tx_sends",
	[RNIC_TX_READ_REQUESTS].name	= "tx_read_requests",
	[RNIC_TX_READ_RESPONSES].name	= "tx_read_responses",
	[RNIC_TX_TERMINATES].name	= "tx_terminates",
	[RNIC_TX_IMMEDIATES].name	= "tx_immediates",
	[RNIC_TX_ATOMIC_REQUESTS].name	= "tx_atomic_requests",
	[RNIC_TX_ATOMIC_RESPONSES].name	= "tx_atomic_responses",
	[RNIC_TX_SEGMENTS].name		= "tx_segments",
	[RNIC_TX_OCTETS].name		= "tx_octets",
	[RNIC_TX_RETRANSMITS].name	= "tx_retransmits",
	[RNIC_TX_GATHERS].name		= "tx_gathers",
	[RNIC_CONNECTS].name		= "connects",
	[RNIC_CONNECTS_SCTP].name	= "connects_sctp",
	[RNIC_ACCEPTS].name		= "accepts",
	[RNIC_REJECTS].name		= "rejects",
	[RNIC_ODP_FAULTS].name		= "odp_faults",
	[RNIC_ODP_FAULTS_FAILED].name	= "odp_faults_failed",
	[RNIC_ODP_INVALIDATIONS].name	= "odp_invalidations",
	[RNIC_ODP_PREFETCHES].name	= "odp_prefetches",
	[RNIC_DMABUF_WAITS].name	= "dmabuf_waits",
	[RNIC_DMABUF_WAITS_FAILED].name	= "dmabuf_waits_failed",
	[RNIC_DMABUF_MOVES].name	= "dmabuf_moves",
};

/**
 * rnic_stats_init - name the counters of the reasons, "end_" and the reason
 */
void __init rnic_stats_init(void)
{
	int why;

	for (why = IW_OK + 1; why < IW_REASON_NR; why++) {
		char *name = reason_names[why];

		snprintf(name, REASON_NAME_MAX, "end_%s", iw_reason_name(why));
		strreplace(name, '-', '_');
		descs[SHOWN(why)].name = name;
	}
}

static struct rdma_hw_stats *alloc_stats(void)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * rnic_alloc_hw_port_stats - verbs: allocate the statistics of the port
 * @ib: the device
 * @port: ignored; a device has one port
 *
 * Return: the statistics, owned by the core; or NULL without memory.
 */
struct rdma_hw_stats *rnic_alloc_hw_port_stats(struct ib_device *ib, u32 port)
{
	return alloc_stats();
}

/**
 * rnic_alloc_counter_stats - verbs: allocate the statistics of an rdma_counter
 * @counter: ignored
 *
 * They have the same entries as the port's, because the core adds them up by
 * index.
 *
 * Return: the statistics, owned by the core; or NULL without memory.
 */
struct rdma_hw_stats *rnic_alloc_counter_stats(struct rdma_counter *counter)
{
	return alloc_stats();
}

static u64 sum_up(const u64 __percpu *value, int c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(value, cpu)[c]);
	return sum;
}

/**
 * rnic_stats_fill - sum up the counters of a set
 * @value: the set
 * @stats: filled in
 */
void rnic_stats_fill(const u64 __percpu *value, struct rdma_hw_stats *stats)
{
	int c;

	for (c = 0; c < RNIC_COUNTERS; c++)
		stats->value[c] = sum_up(value, c);
	for (c = IW_OK + 1; c < IW_REASON_NR; c++)
		stats->value[SHOWN(c)] = sum_up(value, RNIC_COUNTERS + c);
}

/**
 * rnic_get_hw_stats - verbs: read the counters of the port
 * @ib: the device
 * @stats: filled in, without what is counted in sets of rdma_counters
 * @port: ignored; a device has one port
 * @index: ignored; all counters are filled in
 *
 * Return: the number of counters.
 */
int rnic_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats,
		      u32 port, int index)
{
	rnic_counters_fill(to_rnic_dev(ib), stats);
	return ARRAY_SIZE(descs);
}
