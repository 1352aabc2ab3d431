/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Limits on the resources that peers can make this host use: memory, unaccepted
 * associations and addresses. A peer is unaccepted until a program has accepted one of the
 * peer's sessions. The peer becomes unaccepted again SDDP_IDLE_UNACCEPTED seconds after its
 * last accepted session has ended.
 */
#ifndef _SDDP_ADMISSION_H
#define _SDDP_ADMISSION_H

#include <ddp/pure.h>

/* Maximum memory for out-of-order chunks of all associations together, bytes */
#define SDDP_EARLY_ALL		(64 * 1024 * 1024)
/* Maximum memory for out-of-order chunks of one association, bytes */
#define SDDP_EARLY_ASSOC	(8 * 1024 * 1024)
/*
 * Memory for out-of-order chunks that each association may use even if all associations
 * together already use SDDP_EARLY_ALL, bytes
 */
#define SDDP_EARLY_MIN	(64 * 1024)
/*
 * Maximum memory for out-of-order chunks of a session that this side has begun, until the
 * peer has replied to the Initiate, bytes
 */
#define SDDP_EARLY_UNANSWERED	SDDP_EARLY_MIN

/*
 * Limits for deferred chunks: segments that wait for a page fault in local memory, and
 * later chunks of the same session. A chunk that exceeds a limit stays in SCTP's queue, and
 * so do all later chunks of the association. Kept out-of-order chunks count towards these
 * limits, too. The limits are far below those for out-of-order chunks, so that chunks
 * deferred by page faults cannot use up the memory for out-of-order chunks.
 */
#define SDDP_DEFERRED_CHUNKS	1024			/* chunks of one session */
#define SDDP_DEFERRED_ASSOC	(1024 * 1024)		/* bytes of one association */
#define SDDP_DEFERRED_ALL	(8 * 1024 * 1024)	/* bytes of all associations */

/*
 * Maximum numbers of unaccepted associations. An association is unaccepted if a peer has
 * established it, no program has accepted a session on it recently, and no Initiate
 * waits for a program's reply.
 */
#define SDDP_UNACCEPTED_PEER	64	/* from one peer address to one local address and port */
#define SDDP_UNACCEPTED_LADDR	256	/* to one local address and port */
#define SDDP_UNACCEPTED_NET	1024	/* in one network namespace */

/*
 * Maximum number of protocol violations of an unaccepted peer. One more violation ends
 * the association. A chunk is a violation if no program on this host uses the chunk's
 * session, or if an error in the chunk ends the session.
 */
#define SDDP_VIOLATIONS_MAX	32

/*
 * Maximum number of addresses of a peer. For each address SCTP keeps state and timers
 * and sends heartbeats, even if the peer never replies from the address.
 */
#define SDDP_ADDRESSES_MAX	16

/* Maximum number of addresses that a wildcard listener listens on */
#define SDDP_LADDRS_MAX	1024

bool sddp_may_keep_early_chunk(u32 kept, u64 all, u32 cost);
bool sddp_may_keep_deferred_chunk(u32 chunks, u32 kept, u64 all);

/**
 * struct sddp_unaccepted - numbers of unaccepted associations, without the new association
 * @peer: number from the new association's peer address to its local address and port
 * @laddr: number to the new association's local address and port
 * @net: number in the new association's network namespace
 */
struct sddp_unaccepted {
	u32	peer;
	u32	laddr;
	u32	net;
};

/**
 * enum sddp_evict_group - group of unaccepted associations whose oldest member is evicted
 * @SDDP_EVICT_NONE: no association is evicted
 * @SDDP_EVICT_PEER: associations from the new association's peer address to its local
 *	address and port
 * @SDDP_EVICT_LADDR: associations to the new association's local address and port
 * @SDDP_EVICT_NET: associations in the new association's network namespace
 */
enum sddp_evict_group {
	SDDP_EVICT_NONE,
	SDDP_EVICT_PEER,
	SDDP_EVICT_LADDR,
	SDDP_EVICT_NET,
};

enum sddp_evict_group sddp_choose_evict_group(const struct sddp_unaccepted *c);
u32 sddp_compute_retry_delay(u32 before);
int sddp_choose_worse_error(int a, int b);

#endif
