/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Data that the peer does not acknowledge although it is there.
 *
 * A path that carries less than it should and says nothing swallows long
 * packets for ever, while heartbeats pass and keep SCTP content.  So every
 * SDDP_STALL_LOOK seconds, as long as anything is under way, somebody looks:
 *
 *	nothing acknowledged since the look before	ASK: a heartbeat now
 *	... and the peer was heard of meanwhile		SHRINK the packets, wait
 *	... for a minute				END
 */
#ifndef _SDDP_STALL_H
#define _SDDP_STALL_H

#include <ddp/pure.h>

#define SDDP_STALL_LOOK	4	/* seconds from look to look */

/* Timeouts in a row after which a path is taken for dead ... */
#define SDDP_PATH_TIMEOUTS	5
/* ... and the peer, if there is one path */
#define SDDP_PEER_TIMEOUTS	8

/**
 * enum sddp_stall_do - what is to be done
 * @SDDP_STALL_NOTHING: nothing
 * @SDDP_STALL_ASK: ask the peer whether it is there
 * @SDDP_STALL_SHRINK: send smaller packets, if there are any
 * @SDDP_STALL_END: give the association up
 */
enum sddp_stall_do {
	SDDP_STALL_NOTHING,
	SDDP_STALL_ASK,
	SDDP_STALL_SHRINK,
	SDDP_STALL_END,
};

/**
 * struct sddp_stall_view - what there is to see
 * @under_way: something is not acknowledged: there will be another look
 * @waits: ... although the peer has room for it; else it may take what time it likes
 * @acked: the last TSN acknowledged, with all before it
 * @heard: when the peer was last heard of, by whatever path
 * @now: the same clock
 */
struct sddp_stall_view {
	bool	under_way;
	bool	waits;
	u32	acked;
	s64	heard;
	s64	now;
};

/**
 * struct sddp_stall - what is known from the looks before; zeroes at first
 * @acked: the last TSN acknowledged
 * @looks: in a row that found nothing more acknowledged
 * @step: of these, since the packets were made smaller
 * @since: when the peer was asked
 */
struct sddp_stall {
	u32	acked;
	u32	looks;
	u32	step;
	s64	since;
};

enum sddp_stall_do sddp_stall_look(struct sddp_stall *s,
				   const struct sddp_stall_view *v);
u32 sddp_stall_smaller(u32 pmtu, u32 least);
u32 sddp_stall_timeouts(u32 paths);

#endif
