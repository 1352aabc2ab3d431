// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How much a connected socket may hold, both ways.
 *
 * Strangers get little: what they send is taken at once, and what they are
 * told is short.  What SCTP holds for them beyond that, pieces of messages that
 * are never completed for example, is bounded by the same number.
 */
#include <linux/net.h>
#include <linux/sctp.h>
#include <net/sctp/kernel.h>
#include <net/sctp/sctp.h>
#include <net/sctp/sm.h>
#include <net/sctp/structs.h>
#include <net/sock.h>

#include "internal.h"

#define RCVBUF		(8 * 1024 * 1024)	/* half of it is announced */
#define RCVBUF_STRANGER	(128 * 1024)
#define SNDBUF		(2 * 1024 * 1024)
#define SNDBUF_LEAST	(128 * 1024)
#define SNDBUF_STRANGER	(32 * 1024)

/*
 * What SCTP has not sent yet goes out before all that it gets later, whatever
 * the stream.  Deeper than that, and who comes with one message waits for long.
 */
#define UNSENT_MOST	(128 * 1024)

/* A SACK with a few gaps shares the packet (RFC 5043 9) */
#define ROOM_FOR_SACK	32

/* What is charged for a chunk keeps them below RFC 5043 10's bound */
static_assert(SNDBUF / (SKB_TRUESIZE(1) + sizeof(struct sctp_chunk)) <
	      SDDP_IN_FLIGHT_MAX);

/*
 * As SO_RCVBUFFORCE and SO_SNDBUFFORCE do, which double what they are told: what
 * is said of these sizes elsewhere is said of the whole.
 */
static void __set(struct sock *sk, int rcvbuf, int sndbuf)
{
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, rcvbuf);
	WRITE_ONCE(sk->sk_sndbuf, sndbuf);
}

/**
 * sddp_sock_narrow - how much it holds at first
 * @sock: the socket, not yet connected
 * @stranger: the other end is anybody, and may stay so
 */
void sddp_sock_narrow(struct socket *sock, bool stranger)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	if (stranger)
		__set(sk, RCVBUF_STRANGER, SNDBUF_STRANGER);
	else
		__set(sk, RCVBUF, SNDBUF_LEAST);
	release_sock(sk);
}

/**
 * __sddp_sock_learn - what the peer has announced may be more than before
 * @a: the association
 * @sk: its socket, locked
 *
 * As little is in flight as it has announced for certain, half of it: what
 * overruns its buffer is lost.  Nothing is where it has begun anew.
 */
void __sddp_sock_learn(struct sddp_assoc *a, struct sock *sk)
{
	const struct sctp_association *asoc = sctp_sk_asoc(sk);
	u32 most;

	if (!asoc || (!a->used && !a->active) || sddp_sock_anew(a, asoc))
		return;
	most = asoc->peer.rwnd + asoc->outqueue.outstanding_bytes;
	most = clamp_t(u32, most / 2, SNDBUF_LEAST, SNDBUF);
	if (most > sk->sk_sndbuf)
		WRITE_ONCE(sk->sk_sndbuf, most);
}

/**
 * sddp_sock_widen - a program has accepted a session of the peer's
 * @a: the association; worker
 *
 * SCTP announces as much more with its next SACK.  By itself it looks at the size
 * of the buffer once, when the association begins.
 */
void sddp_sock_widen(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc && sk->sk_rcvbuf < RCVBUF) {
		sctp_assoc_add_rwnd(asoc, (RCVBUF - sk->sk_rcvbuf) / 2);
		WRITE_ONCE(sk->sk_rcvbuf, RCVBUF);
	}
	__sddp_sock_learn(a, sk);
	release_sock(sk);
}

/**
 * sddp_sock_shrink - no program has accepted a session of the peer's for a while
 * @a: the association; worker
 *
 * The next SACK announces as much less.
 *
 * Return: false: SCTP holds more of it than of a stranger, and nobody takes that.
 */
bool sddp_sock_shrink(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	bool fits = true;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		fits = atomic_read(&asoc->rmem_alloc) <= RCVBUF_STRANGER;
	if (asoc && fits) {
		sctp_assoc_take_rwnd(asoc, (sk->sk_rcvbuf - RCVBUF_STRANGER) / 2);
		__set(sk, RCVBUF_STRANGER, SNDBUF_STRANGER);
	}
	release_sock(sk);
	return fits;
}

/* The longest chunk, where SCTP would cut at @len */
static u32 longest(u32 len)
{
	len -= min_t(u32, len, ROOM_FOR_SACK);
	return clamp_t(u32, len, SDDP_CHUNK_LEAST, SDDP_OUT_SIZE);
}

/**
 * sddp_sock_room - what may be sent now
 * @a: the association; its worker
 * @room: set
 *
 * The longest chunk follows the path (RFC 5043 9), with room for a SACK beside
 * it.  If there is no room now a kick will come when some of what is under way
 * has been acknowledged.
 */
void sddp_sock_room(struct sddp_assoc *a, struct sddp_room *room)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	u32 len = 0, unsent = 0;

	/* before we look: what is acknowledged from then on kicks */
	WRITE_ONCE(a->deep, true);
	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc) {
		len = asoc->frag_point;
		unsent = asoc->outqueue.out_qlen;
	}
	release_sock(sk);
	room->fragment = longest(len);
	room->octets = UNSENT_MOST - min_t(u32, unsent, UNSENT_MOST);
	if (room->octets)
		WRITE_ONCE(a->deep, false);
}

/* What SCTP charges the sender for that much, in the smallest of chunks */
static int sddp_room_cost(u32 len)
{
	u32 chunks = DIV_ROUND_UP(len, SDDP_CHUNK_LEAST);

	return len + chunks * (SKB_TRUESIZE(1) + sizeof(struct sctp_chunk));
}

/**
 * sddp_sock_cork - hold back what is sent from now on
 * @a: the association; its worker
 * @len: octets that are to be held back
 *
 * So that SCTP hands the chunks of many packets down in one go (GSO).  It may
 * let go earlier by itself: when a SACK comes.  It must not run out of room
 * meanwhile, for what is held back makes none.
 *
 * Return: whether it has that much room, and holds back.
 */
bool sddp_sock_cork(struct sddp_assoc *a, u32 len)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	bool fits = false;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc && sk->sk_sndbuf - sk->sk_wmem_queued > sddp_room_cost(len)) {
		sctp_assoc_cork(asoc);
		fits = true;
	}
	release_sock(sk);
	return fits;
}

/**
 * sddp_sock_uncork - do not hold back what is sent from now on
 * @a: the association; its worker
 *
 * What was held back leaves with the next chunk.
 */
void sddp_sock_uncork(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		sctp_assoc_end_cork(asoc);
	release_sock(sk);
}

/**
 * sddp_sock_query - how the association's socket fares
 * @a: the association; it may be ending
 * @q: its numbers are filled in
 *
 * Under RCU.
 */
void sddp_sock_query(struct sddp_assoc *a, struct ddp_query *q)
{
	struct sctp_association *asoc = NULL;
	unsigned long flags;

	spin_lock_irqsave(&a->lock, flags);
	/* SCTP may be at work, and may end it: it stays for an RCU reader */
	if (a->sock)
		asoc = sctp_sk_asoc(a->sock->sk);
	spin_unlock_irqrestore(&a->lock, flags);
	if (!asoc)
		return;
	q->mulpdu = longest(READ_ONCE(asoc->frag_point)) - SDDP_SEGMENT;
	q->unacked = READ_ONCE(asoc->outqueue.outstanding_bytes);
	q->unsent = READ_ONCE(asoc->outqueue.out_qlen);
	q->unread = atomic_read(&asoc->rmem_alloc);
	q->retransmits = READ_ONCE(asoc->stats.rtxchunks);
}
