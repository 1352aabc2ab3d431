/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Detection of data that a reachable peer does not acknowledge.
 *
 * If the MTU of a path is smaller than SCTP expects, and the router returns no ICMP
 * errors, the path drops all long packets (a PMTU black hole). Heartbeats are short and
 * still pass, so SCTP does not end the association. Therefore the worker makes a check
 * every SDDP_STALL_INTERVAL seconds while data is in flight. As long as the peer
 * acknowledges nothing new, the checks lead to these actions:
 *
 *	first check without progress		PROBE: send a heartbeat now
 *	next check, if the peer has replied	SHRINK the packets, wait
 *	after one minute			END the association
 */
#ifndef _SDDP_STALL_H
#define _SDDP_STALL_H

#include <ddp/pure.h>

#define SDDP_STALL_INTERVAL	4	/* interval between two checks, seconds */

/*
 * Number of consecutive timeouts of data or heartbeats after which SCTP regards a path
 * as failed
 */
#define SDDP_PATH_TIMEOUTS	5
/*
 * Number of consecutive timeouts of data or heartbeats after which SCTP ends the
 * association with a peer that has one path
 */
#define SDDP_PEER_TIMEOUTS	8

/**
 * enum sddp_stall_do - action that the caller must take after a check
 * @SDDP_STALL_NOTHING: no action
 * @SDDP_STALL_PROBE: send a heartbeat to find out whether the peer is reachable
 * @SDDP_STALL_SHRINK: lower the path MTU to the size that sddp_stall_choose_pmtu()
 *	chooses, if there is one
 * @SDDP_STALL_END: end the association
 */
enum sddp_stall_do {
	SDDP_STALL_NOTHING,
	SDDP_STALL_PROBE,
	SDDP_STALL_SHRINK,
	SDDP_STALL_END,
};

/**
 * struct sddp_stall_view - state of the association at a check
 * @in_flight: true if data is in flight, so that another check must follow
 * @ack_expected: true if data is in flight and the peer's window is open. A peer whose
 *	window is closed may send no acknowledgment for any length of time.
 * @acked: last TSN that the peer has acknowledged cumulatively
 * @last_heard: time of the last packet from the peer on any path, nanoseconds
 * @now: current time, nanoseconds, from the same clock as @last_heard
 */
struct sddp_stall_view {
	bool	in_flight;
	bool	ack_expected;
	u32	acked;
	s64	last_heard;
	s64	now;
};

/**
 * struct sddp_stall - state that an association keeps from check to check; initially zero
 * @acked: last TSN that the peer had acknowledged cumulatively at the previous check
 * @checks: number of consecutive checks without progress
 * @step: number of checks in the present cycle; a cycle consists of a heartbeat, smaller
 *	packets, and a wait, see the constants in stall.c
 * @since: time of the last SDDP_STALL_PROBE, nanoseconds
 */
struct sddp_stall {
	u32	acked;
	u32	checks;
	u32	step;
	s64	since;
};

enum sddp_stall_do sddp_stall_choose_action(struct sddp_stall *s,
					    const struct sddp_stall_view *v);
u32 sddp_stall_choose_pmtu(u32 pmtu, u32 least);
u32 sddp_compute_max_timeouts(u32 paths);

#endif
