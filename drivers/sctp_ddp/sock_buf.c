// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Buffer limits of a connected socket, in both directions.
 *
 * An unaccepted peer gets small buffers: the worker consumes its chunks at
 * once, and what it is sent is short. The same limits bound what SCTP holds for
 * it otherwise, such as fragments of messages that are never completed.
 */
#include <linux/net.h>
#include <linux/sctp.h>
#include <net/sctp/kernel.h>
#include <net/sctp/sctp.h>
#include <net/sctp/sm.h>
#include <net/sctp/structs.h>
#include <net/sock.h>

#include "internal.h"

#define RCVBUF		(8 * 1024 * 1024)	/* SCTP announces half of it */
#define RCVBUF_UNACCEPTED	(128 * 1024)
#define SNDBUF		(2 * 1024 * 1024)
#define SNDBUF_MIN	(128 * 1024)
#define SNDBUF_UNACCEPTED	(32 * 1024)

/*
 * Unsent bytes in SCTP's queue after which no more segments are passed to it.
 * SCTP sends its queue in order, whatever the stream: a longer queue delays the
 * single message of another session.
 */
#define UNSENT_MAX	(128 * 1024)

/* Bytes left in a packet for a SACK with a few gaps (RFC 5043 9) */
#define SACK_RESERVE	32

/*
 * SCTP's charge per chunk keeps the number of chunks in flight within the bound
 * of RFC 5043 10
 */
static_assert(SNDBUF / (SKB_TRUESIZE(1) + sizeof(struct sctp_chunk)) <
	      SDDP_IN_FLIGHT_MAX);

/*
 * Like SO_RCVBUFFORCE and SO_SNDBUFFORCE, but without doubling the values:
 * sizes in this file and in the documentation are the whole buffer.
 */
static void __set_buffers(struct sock *sk, int rcvbuf, int sndbuf)
{
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, rcvbuf);
	WRITE_ONCE(sk->sk_sndbuf, sndbuf);
}

/**
 * sddp_sock_init_buffers - set the first buffer limits of a socket
 * @sock: the socket, not connected yet
 * @unaccepted: true if the peer is unaccepted, and may remain so
 */
void sddp_sock_init_buffers(struct socket *sock, bool unaccepted)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	if (unaccepted)
		__set_buffers(sk, RCVBUF_UNACCEPTED, SNDBUF_UNACCEPTED);
	else
		__set_buffers(sk, RCVBUF, SNDBUF_MIN);
	release_sock(sk);
}

/**
 * __sddp_sock_grow_sndbuf - raise the send buffer as the peer's window grows
 * @a: the association
 * @sk: its socket, locked
 *
 * The send buffer is at most half of the window that the peer has announced:
 * chunks that overrun the peer's buffer are lost. Does nothing if the peer is
 * unaccepted or has restarted.
 */
void __sddp_sock_grow_sndbuf(struct sddp_assoc *a, struct sock *sk)
{
	const struct sctp_association *asoc = sctp_sk_asoc(sk);
	u32 most;

	if (!asoc || (!a->peer_accepted && !a->active) || sddp_sock_peer_restarted(a, asoc))
		return;
	most = asoc->peer.rwnd + asoc->outqueue.outstanding_bytes;
	most = clamp_t(u32, most / 2, SNDBUF_MIN, SNDBUF);
	if (most > sk->sk_sndbuf)
		WRITE_ONCE(sk->sk_sndbuf, most);
}

/**
 * sddp_sock_grow_rcvbuf - raise the receive buffer after the first accepted session
 * @a: the association; worker context
 *
 * SCTP computes its window from the size of the buffer only once, when the
 * association begins. So the window is raised as well, and announced with the
 * next SACK.
 */
void sddp_sock_grow_rcvbuf(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc && sk->sk_rcvbuf < RCVBUF) {
		sctp_assoc_add_rwnd(asoc, (RCVBUF - sk->sk_rcvbuf) / 2);
		WRITE_ONCE(sk->sk_rcvbuf, RCVBUF);
	}
	__sddp_sock_grow_sndbuf(a, sk);
	release_sock(sk);
}

/**
 * sddp_sock_shrink_buffers - set the buffer limits of an unaccepted peer again
 * @a: the association; worker context
 *
 * The next SACK announces the smaller window.
 *
 * Return: true if done; false if SCTP holds more received data than the limit,
 * so that the association has to end.
 */
bool sddp_sock_shrink_buffers(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	bool fits = true;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		fits = atomic_read(&asoc->rmem_alloc) <= RCVBUF_UNACCEPTED;
	if (asoc && fits) {
		sctp_assoc_take_rwnd(asoc, (sk->sk_rcvbuf - RCVBUF_UNACCEPTED) / 2);
		__set_buffers(sk, RCVBUF_UNACCEPTED, SNDBUF_UNACCEPTED);
	}
	release_sock(sk);
	return fits;
}

/* Return: length of the longest chunk if SCTP fragments at @len, bytes */
static u32 longest_chunk(u32 len)
{
	len -= min_t(u32, len, SACK_RESERVE);
	return clamp_t(u32, len, SDDP_CHUNK_MIN, SDDP_OUT_SIZE);
}

/**
 * sddp_sock_tx_budget - get the limits for what is sent next
 * @a: the association; worker context
 * @budget: set
 *
 * The longest chunk follows the path MTU (RFC 5043 9), with room for a SACK in
 * the packet. If SCTP has enough unsent data, the next acknowledgement
 * schedules the worker.
 */
void sddp_sock_tx_budget(struct sddp_assoc *a, struct sddp_tx_budget *budget)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	u32 len = 0, unsent = 0;

	/* set first: an acknowledgement after the check schedules the worker */
	WRITE_ONCE(a->unsent_full, true);
	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc) {
		len = asoc->frag_point;
		unsent = asoc->outqueue.out_qlen;
	}
	release_sock(sk);
	budget->fragment = longest_chunk(len);
	budget->bytes = UNSENT_MAX - min_t(u32, unsent, UNSENT_MAX);
	if (budget->bytes)
		WRITE_ONCE(a->unsent_full, false);
}

/*
 * Return: what SCTP charges to the send buffer for @len bytes in chunks of the
 * smallest size, bytes.
 */
static int sddp_sndbuf_cost(u32 len)
{
	u32 chunks = DIV_ROUND_UP(len, SDDP_CHUNK_MIN);

	return len + chunks * (SKB_TRUESIZE(1) + sizeof(struct sctp_chunk));
}

/**
 * sddp_sock_cork - let SCTP hold back the chunks that follow
 * @a: the association; worker context
 * @len: number of bytes to be held back
 *
 * SCTP then passes the packets of many chunks to IP at once (GSO). The arrival
 * of a SACK ends it early. The send buffer must have room for all of @len,
 * because chunks that are held back free none.
 *
 * Return: true if SCTP holds back chunks now, false if the send buffer has not
 * enough room.
 */
bool sddp_sock_cork(struct sddp_assoc *a, u32 len)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	bool fits = false;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc && sk->sk_sndbuf - sk->sk_wmem_queued > sddp_sndbuf_cost(len)) {
		sctp_assoc_cork(asoc);
		fits = true;
	}
	release_sock(sk);
	return fits;
}

/**
 * sddp_sock_uncork - stop holding back chunks
 * @a: the association; worker context
 *
 * The chunks that were held back leave with the next one.
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
 * sddp_sock_query - fill in the statistics of the association's socket
 * @a: the association, which may be ending
 * @q: filled in
 *
 * Called under RCU.
 */
void sddp_sock_query(struct sddp_assoc *a, struct ddp_query *q)
{
	struct sctp_association *asoc = NULL;
	unsigned long flags;

	spin_lock_irqsave(&a->lock, flags);
	/*
	 * SCTP may be using the association or ending it: the memory stays
	 * valid for an RCU reader
	 */
	if (a->sock)
		asoc = sctp_sk_asoc(a->sock->sk);
	spin_unlock_irqrestore(&a->lock, flags);
	if (!asoc)
		return;
	q->mulpdu = longest_chunk(READ_ONCE(asoc->frag_point)) - SDDP_SEGMENT;
	q->unacked = READ_ONCE(asoc->outqueue.outstanding_bytes);
	q->unsent = READ_ONCE(asoc->outqueue.out_qlen);
	q->unread = atomic_read(&asoc->rmem_alloc);
	q->retransmits = READ_ONCE(asoc->stats.rtxchunks);
}
