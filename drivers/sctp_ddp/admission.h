/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Limits on what a peer can make this host keep: memory, unaccepted
 * associations and addresses. A peer is unaccepted until a program has accepted
 * one of its sessions.
 */
#ifndef _SDDP_ADMISSION_H
#define _SDDP_ADMISSION_H

#include <ddp/pure.h>

/* Memory for out-of-order chunks of all associations together, bytes */
#define SDDP_EARLY_ALL		(64 * 1024 * 1024)
/* Memory for out-of-order chunks of one association, bytes */
#define SDDP_EARLY_ASSOC	(8 * 1024 * 1024)
/*
 * Memory that an association may use for out-of-order chunks, however much the
 * others use, bytes
 */
#define SDDP_EARLY_MIN	(64 * 1024)
/*
 * Memory for out-of-order chunks of one session, after which no more of its
 * chunks are kept until its Initiate is answered, bytes
 */
#define SDDP_EARLY_UNANSWERED	SDDP_EARLY_MIN

/*
 * Limits for chunks that are kept because local memory has to be faulted in, or
 * that follow such a chunk of their session: chunks of one session, bytes of
 * one association, bytes of all associations. Above these limits chunks stay in
 * SCTP's queue. The rest of the memory is left for chunks that the peer's
 * packets bring out of order.
 */
#define SDDP_DEFERRED_CHUNKS	1024
#define SDDP_DEFERRED_ASSOC	(1024 * 1024)
#define SDDP_DEFERRED_ALL	(8 * 1024 * 1024)

/*
 * Unaccepted associations: made by peers, without a session that a program has
 * accepted or could still accept
 */
#define SDDP_UNACCEPTED_PEER	64	/* per peer address, local address and port */
#define SDDP_UNACCEPTED_LADDR	256	/* per local address and port */
#define SDDP_UNACCEPTED_NET	1024	/* per network namespace */

/*
 * Chunks of no session, and chunks that end a session by a protocol violation,
 * after which an unaccepted association is ended
 */
#define SDDP_VIOLATIONS_MAX	32

/*
 * Addresses of a peer. SCTP keeps a state, timers and heartbeats for each of
 * them, whether the peer replies there or not.
 */
#define SDDP_ADDRESSES_MAX	16

/* Addresses of its interface that a wildcard listener listens on */
#define SDDP_LADDRS_MAX	1024

bool sddp_may_keep_early(u32 kept, u64 all, u32 cost);
bool sddp_may_keep_deferred(u32 chunks, u32 kept, u64 all);

/**
 * struct sddp_unaccepted - numbers of unaccepted associations
 * @peer: from the address of the new association, to its local address and port
 * @laddr: to its local address and port
 * @net: in its network namespace
 */
struct sddp_unaccepted {
	u32	peer;
	u32	laddr;
	u32	net;
};

/**
 * enum sddp_evict_group - group of unaccepted associations whose oldest is evicted
 * @SDDP_EVICT_NONE: none, no association is evicted
 * @SDDP_EVICT_PEER: those from the new association's peer address
 * @SDDP_EVICT_LADDR: those to its local address and port
 * @SDDP_EVICT_NET: those in its network namespace
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
