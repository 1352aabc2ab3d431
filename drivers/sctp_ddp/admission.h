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
#define SDDP_EARLY_LEAST	(64 * 1024)
/*
 * Memory for out-of-order chunks of one session, after which no more of its
 * chunks are kept until its Initiate is answered, bytes
 */
#define SDDP_EARLY_UNANSWERED	SDDP_EARLY_LEAST

/*
 * Limits for chunks that are kept because local memory has to be faulted in, or
 * that follow such a chunk of their session: chunks of one session, bytes of
 * one association, bytes of all associations. Above these limits chunks stay in
 * SCTP's queue. The rest of the memory is left for chunks that the peer's
 * packets bring out of order.
 */
#define SDDP_WAITING_CHUNKS	1024
#define SDDP_WAITING_ASSOC	(1024 * 1024)
#define SDDP_WAITING_ALL	(8 * 1024 * 1024)

/*
 * Unaccepted associations: made by peers, without a session that a program has
 * accepted or could still accept
 */
#define SDDP_STRANGERS_PEER	64	/* per peer address, local address and port */
#define SDDP_STRANGERS_PLACE	256	/* per local address and port */
#define SDDP_STRANGERS_NET	1024	/* per network namespace */

/*
 * Chunks of no session, and chunks that end a session by a protocol violation,
 * after which an unaccepted association is ended
 */
#define SDDP_STRAYS_MOST	32

/*
 * Addresses of a peer. SCTP keeps a state, timers and heartbeats for each of
 * them, whether the peer replies there or not.
 */
#define SDDP_ADDRESSES_MOST	16

/* Addresses of its interface that a wildcard listener listens on */
#define SDDP_PLACES_MOST	1024

bool sddp_share_early(u32 kept, u64 all, u32 cost);
bool sddp_share_waiting(u32 chunks, u32 kept, u64 all);

/**
 * struct sddp_crowd - numbers of unaccepted associations
 * @peer: from the address of the new association, to its local address and port
 * @place: to its local address and port
 * @net: in its network namespace
 */
struct sddp_crowd {
	u32	peer;
	u32	place;
	u32	net;
};

/**
 * enum sddp_leaver - group of unaccepted associations whose oldest is evicted
 * @SDDP_LEAVE_NONE: none, no association is evicted
 * @SDDP_LEAVE_PEER: those from the new association's peer address
 * @SDDP_LEAVE_PLACE: those to its local address and port
 * @SDDP_LEAVE_NET: those in its network namespace
 */
enum sddp_leaver {
	SDDP_LEAVE_NONE,
	SDDP_LEAVE_PEER,
	SDDP_LEAVE_PLACE,
	SDDP_LEAVE_NET,
};

enum sddp_leaver sddp_share_leaver(const struct sddp_crowd *c);
u32 sddp_share_delay(u32 before);
int sddp_share_worse(int a, int b);

#endif
