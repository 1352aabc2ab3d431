/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Limits on the memory, unaccepted associations and addresses that peers can
 * make this host keep. A peer is unaccepted until a program has accepted one of
 * the peer's sessions, and again some seconds after the last accepted session
 * has ended.
 */
#ifndef _SDDP_ADMISSION_H
#define _SDDP_ADMISSION_H

#include <ddp/pure.h>

/* Maximum memory for out-of-order chunks of all associations together, bytes */
#define SDDP_EARLY_ALL		(64 * 1024 * 1024)
/* Maximum memory for out-of-order chunks of one association, bytes */
#define SDDP_EARLY_ASSOC	(8 * 1024 * 1024)
/*
 * Memory for out-of-order chunks that each association may use even if other
 * associations have used up the total, bytes
 */
#define SDDP_EARLY_MIN	(64 * 1024)
/*
 * Memory for out-of-order chunks that one session may use before the peer has
 * replied to the session's Initiate, bytes
 */
#define SDDP_EARLY_UNANSWERED	SDDP_EARLY_MIN

/*
 * Limits for deferred chunks: chunks that wait for a page fault in local
 * memory, and later chunks of the same session. A chunk above these limits
 * stays in SCTP's queue. The limits are far below those for out-of-order
 * chunks, so that page faults cannot use up the memory for chunks that arrive
 * out of order.
 */
#define SDDP_DEFERRED_CHUNKS	1024			/* number of chunks of one session */
#define SDDP_DEFERRED_ASSOC	(1024 * 1024)		/* memory of one association, bytes */
#define SDDP_DEFERRED_ALL	(8 * 1024 * 1024)	/* memory of all associations, bytes */

/*
 * Maximum numbers of unaccepted associations. An association is unaccepted if a
 * peer has created it and it has no session that a program has accepted or
 * could still accept.
 */
#define SDDP_UNACCEPTED_PEER	64	/* maximum per peer address, local address and port */
#define SDDP_UNACCEPTED_LADDR	256	/* maximum per local address and port */
#define SDDP_UNACCEPTED_NET	1024	/* maximum per network namespace */

/*
 * Maximum number of protocol violations of an unaccepted peer; the next one
 * ends the association. A chunk is a violation if it belongs to no session of
 * a program, or if its error ends the session.
 */
#define SDDP_VIOLATIONS_MAX	32

/*
 * Maximum number of addresses of a peer. For each address SCTP keeps state and
 * timers and sends heartbeats, whether or not the peer replies from the
 * address.
 */
#define SDDP_ADDRESSES_MAX	16

/* Maximum number of addresses that a wildcard listener listens on */
#define SDDP_LADDRS_MAX	1024

bool sddp_may_keep_early(u32 kept, u64 all, u32 cost);
bool sddp_may_keep_deferred(u32 chunks, u32 kept, u64 all);

/**
 * struct sddp_unaccepted - numbers of unaccepted associations
 * @peer: number from the new association's peer address to its local address
 *	and port
 * @laddr: number to the new association's local address and port
 * @net: number in the new association's network namespace
 */
struct sddp_unaccepted {
	u32	peer;
	u32	laddr;
	u32	net;
};

/**
 * enum sddp_evict_group - group of unaccepted associations whose oldest is evicted
 * @SDDP_EVICT_NONE: no group: no association is evicted
 * @SDDP_EVICT_PEER: associations from the new association's peer address to its
 *	local address and port
 * @SDDP_EVICT_LADDR: associations to the new association's local address and
 *	port
 * @SDDP_EVICT_NET: associations in the new association's network namespace
 */
enum sddp_evict_group {
	SDDP_EVICT_NONE,
	SDDP_EVICT_PEER,
	SDDP_EVICT_LADDR,
	SDDP_EVICT_NET,
};

enum sddp_evict_group sddp_choose_evict_group(const struct sddp_unaccepted *c);
u32 sddp_retry_delay(u32 before);
int sddp_worse_error(int a, int b);

#endif
