/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How much a peer can make us keep: what it is allowed before a program has
 * accepted a session of it, and who makes room when there are too many.
 */
#ifndef _SDDP_SHARE_H
#define _SDDP_SHARE_H

#include <ddp/pure.h>

/* Octets that early chunks may cost: of all associations together ... */
#define SDDP_EARLY_ALL		(64 * 1024 * 1024)
/* ... of one at most ... */
#define SDDP_EARLY_ASSOC	(8 * 1024 * 1024)
/* ... of one, whatever the others keep ... */
#define SDDP_EARLY_LEAST	(64 * 1024)
/* ... and from when on no more is kept for a session without an answer */
#define SDDP_EARLY_UNANSWERED	SDDP_EARLY_LEAST

/*
 * Chunks kept that wait for memory of ours, or behind one of their session that does;
 * beyond that they stay with SCTP, as all others do.  The rest of what may be kept is
 * for those that are early by the peer's packets.  Of a session, and octets that
 * chunks cost an association and all together:
 */
#define SDDP_WAITING_CHUNKS	1024
#define SDDP_WAITING_ASSOC	(1024 * 1024)
#define SDDP_WAITING_ALL	(8 * 1024 * 1024)

/*
 * Strangers: peers' associations without a session that a program has accepted,
 * or could still accept
 */
#define SDDP_STRANGERS_PEER	64	/* at one place, from one address */
#define SDDP_STRANGERS_PLACE	256	/* at one address and port of ours */
#define SDDP_STRANGERS_NET	1024	/* in a network namespace */

/* Chunks of no session, and that end one, before a stranger is sent away */
#define SDDP_STRAYS_MOST	32

/*
 * Addresses of a peer.  Each has a state, timers and heartbeats with SCTP, whether
 * anybody answers there or not
 */
#define SDDP_ADDRESSES_MOST	16

/* Addresses of its interface that a listener on none in particular is at */
#define SDDP_PLACES_MOST	1024

bool sddp_share_early(u32 kept, u64 all, u32 cost);
bool sddp_share_waiting(u32 chunks, u32 kept, u64 all);

/**
 * struct sddp_crowd - the strangers that are there
 * @peer: from the newcomer's address, at its place
 * @place: at its place
 * @net: in its network namespace
 */
struct sddp_crowd {
	u32	peer;
	u32	place;
	u32	net;
};

/**
 * enum sddp_leaver - the oldest of whom has to make room
 * @SDDP_LEAVE_NONE: there is room
 * @SDDP_LEAVE_PEER: those from the newcomer's own address
 * @SDDP_LEAVE_PLACE: all at its place
 * @SDDP_LEAVE_NET: all in its network namespace
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
