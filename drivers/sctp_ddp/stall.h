/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Detection of data that the peer never acknowledges although the peer is
 * reachable.
 *
 * A path with a smaller MTU than expected and without ICMP drops long packets
 * for ever (a PMTU black hole). Heartbeats still pass, so SCTP does not give
 * up. While data is in flight, the worker therefore checks every
 * SDDP_STALL_LOOK seconds, and acts if nothing was acknowledged since the last
 * check:
 *
 *	first check without progress		ASK: send a heartbeat now
 *	next check, if the peer was heard of	SHRINK the packets, wait
 *	after one minute			END the association
 */
#ifndef _SDDP_STALL_H
#define _SDDP_STALL_H

#include <ddp/pure.h>

#define SDDP_STALL_LOOK	4	/* interval of the checks, seconds */

/* Consecutive timeouts after which SCTP takes a path for dead */
#define SDDP_PATH_TIMEOUTS	5
/* Consecutive timeouts after which SCTP takes a peer with one path for dead */
#define SDDP_PEER_TIMEOUTS	8

/**
 * enum sddp_stall_do - action after a check
 * @SDDP_STALL_NOTHING: none
 * @SDDP_STALL_ASK: send a heartbeat to find out whether the peer is reachable
 * @SDDP_STALL_SHRINK: use smaller packets, if there is a smaller size
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
 * @in_flight: data is in flight, so another check follows
 * @ack_expected: data is in flight and the peer's window is open; a peer whose window
 *	is closed may take any time
 * @acked: last TSN that is acknowledged cumulatively
 * @last_heard: time of the last packet from the peer on any path, nanoseconds
 * @now: current time, same clock as @last_heard
 */
struct sddp_stall_view {
	bool	in_flight;
	bool	ack_expected;
	u32	acked;
	s64	last_heard;
	s64	now;
};

/**
 * struct sddp_stall - state kept between checks; zero at first
 * @acked: last TSN that is acknowledged cumulatively
 * @checks: consecutive checks without progress
 * @step: those of @checks since packets were last made smaller
 * @since: time of the last heartbeat request, nanoseconds
 */
struct sddp_stall {
	u32	acked;
	u32	checks;
	u32	step;
	s64	since;
};

enum sddp_stall_do sddp_stall_check(struct sddp_stall *s,
				    const struct sddp_stall_view *v);
u32 sddp_stall_next_pmtu(u32 pmtu, u32 least);
u32 sddp_stall_timeouts(u32 paths);

#endif
