// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Detection of data that a reachable peer does not acknowledge: see stall.h. */
#include "admission.h"
#include "stall.h"

/*
 * Numbers of checks without progress after which each step is taken. PROBE_AT,
 * SHRINK_AT and WAIT_UNTIL count from the start of the present cycle, END_AT from the
 * last progress. After SHRINK_AT two checks take no action, because SCTP needs that
 * long to retransmit the data in smaller packets. Then the next cycle begins.
 */
#define PROBE_AT		1
#define SHRINK_AT	2
#define WAIT_UNTIL	4
#define END_AT		15

/**
 * sddp_stall_choose_action - choose the action for a check
 * @s: state kept between checks; updated
 * @v: present state of the association
 *
 * The caller must call this function every SDDP_STALL_INTERVAL seconds while data is in
 * flight.
 *
 * Return: the action that the caller must take, see enum sddp_stall_do.
 */
enum sddp_stall_do sddp_stall_choose_action(struct sddp_stall *s,
					    const struct sddp_stall_view *v)
{
	if (!v->ack_expected || v->acked != s->acked) {
		*s = (struct sddp_stall){ .acked = v->acked };
		return SDDP_STALL_NOTHING;
	}
	if (++s->checks >= END_AT)
		return SDDP_STALL_END;
	s->step++;
	if (s->step == PROBE_AT) {
		s->since = v->now;
		return SDDP_STALL_PROBE;
	}
	/*
	 * Do not shrink packets while the peer has not replied to the heartbeat: SCTP
	 * itself detects an unreachable peer.
	 */
	if (s->step == SHRINK_AT) {
		if (v->last_heard > s->since)
			return SDDP_STALL_SHRINK;
		s->step = PROBE_AT;
	}
	if (s->step == WAIT_UNTIL)
		s->step = 0;
	return SDDP_STALL_NOTHING;
}

/**
 * sddp_stall_choose_pmtu - choose the next smaller path MTU
 * @pmtu: present path MTU, bytes
 * @least: minimum MTU of the address family, bytes; 0 if there is none
 *
 * The sizes are the MTU of Ethernet, the minimum MTU of IPv6, and the packet size that
 * every IPv4 host accepts. Each is large enough for the 516 bytes of user data that RFC
 * 5043 section 9 requires.
 *
 * Return: the new path MTU in bytes, or 0 if there is no smaller one.
 */
u32 sddp_stall_choose_pmtu(u32 pmtu, u32 least)
{
	static const u32 sizes[] = { 1500, 1280, 576 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (pmtu > sizes[i] && sizes[i] >= least)
			return sizes[i];
	return 0;
}

/**
 * sddp_compute_max_timeouts - compute the number of timeouts after which SCTP gives up the peer
 * @paths: number of peer addresses that have replied at least once
 *
 * Some paths may be down for a long time while another path works. The number grows with
 * @paths, so that timeouts of the failed paths alone do not end the association.
 *
 * Return: the number of consecutive timeouts, summed over all paths, after which SCTP
 * ends the association.
 */
u32 sddp_compute_max_timeouts(u32 paths)
{
	if (paths < 2)
		return SDDP_PEER_TIMEOUTS;
	return min_t(u32, paths, SDDP_ADDRESSES_MAX) * SDDP_PATH_TIMEOUTS;
}
