/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Detection of data that a reachable peer does not acknowledge.
 *
 * A path whose MTU is smaller than expected, and that returns no ICMP errors, drops
 * all long packets (a PMTU black hole). Heartbeats still pass, so SCTP does not end
 * the association. So the worker checks every SDDP_STALL_LOOK seconds while data is
 * in flight. If no data was acknowledged since the previous check, it takes these
 * actions:
 *
 *	first check without progress		ASK: send a heartbeat now
 *	next check, if the peer has replied	SHRINK the packets, wait
 *	after one minute			END the association
 */
#ifndef _SDDP_STALL_H
#define _SDDP_STALL_H

#include <ddp/pure.h>

#define SDDP_STALL_LOOK	4	/* interval between two checks, in seconds */

/* Number of consecutive timeouts after which SCTP regards a path as failed */
#define SDDP_PATH_TIMEOUTS	5
/* Number of consecutive timeouts after which SCTP regards a peer with one path as failed */
#define SDDP_PEER_TIMEOUTS	8

/**
 * enum sddp_stall_do - action after a check
 * @SDDP_STALL_NOTHING: do nothing
 * @SDDP_STALL_ASK: send a heartbeat to find out whether the peer is reachable
 * @SDDP_STALL_SHRINK: lower the path MTU if sddp_stall_lower_pmtu() has a smaller size
 * @SDDP_STALL_END: end the association
 */
enum sddp_stall_do {
	SDDP_STALL_NOTHING,
	SDDP_STALL_ASK,
	SDDP_STALL_SHRINK,
	SDDP_STALL_END,
};

/**
 * struct sddp_stall_view - state of the association at a check
 * @in_flight: true if data is in flight, so that another check is needed
 * @ack_expected: true if data is in flight and the peer's window is open; a peer whose
 *	window is closed may delay its acknowledgment without limit
 * @acked: last TSN that the peer has acknowledged cumulatively
 * @last_heard: time of the last packet from the peer on any path, in nanoseconds
 * @now: current time, in nanoseconds, of the same clock as @last_heard
 */
struct sddp_stall_view {
	bool	in_flight;
	bool	ack_expected;
	u32	acked;
	s64	last_heard;
	s64	now;
};

/**
 * struct sddp_stall - state between the checks of an association; initially zero
 * @acked: TSN that the peer had acknowledged cumulatively at the previous check
 * @checks: number of consecutive checks without progress
 * @step: number of checks since the present cycle of heartbeat, smaller packets and
 *	waiting began; see the thresholds in stall.c
 * @since: time of the last SDDP_STALL_ASK, in nanoseconds
 */
struct sddp_stall {
	u32	acked;
	u32	checks;
	u32	step;
	s64	since;
};

enum sddp_stall_do sddp_stall_check(struct sddp_stall *s,
				    const struct sddp_stall_view *v);
u32 sddp_stall_lower_pmtu(u32 pmtu, u32 least);
u32 sddp_stall_timeouts(u32 paths);

#endif
