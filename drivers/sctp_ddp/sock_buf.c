// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Buffer limits of a connected socket, in both directions.
 *
 * An unaccepted peer gets small buffers. They suffice, because the worker processes the
 * peer's chunks without waiting for a program, and sends only short chunks to the peer.
 * The limits also bound other memory that SCTP keeps for the peer, such as fragments of
 * incomplete messages.
 */
#include <linux/net.h>
#include <linux/sctp.h>
#include <net/sctp/kernel.h>
#include <net/sctp/sctp.h>
#include <net/sctp/sm.h>
#include <net/sctp/structs.h>
#include <net/sock.h>

#include "internal.h"

#define RCVBUF		(8 * 1024 * 1024)	/* bytes; SCTP announces half of this as window */
#define RCVBUF_UNACCEPTED	(128 * 1024)
#define SNDBUF		(2 * 1024 * 1024)
#define SNDBUF_MIN	(128 * 1024)
#define SNDBUF_UNACCEPTED	(32 * 1024)

/*
 * Limit of unsent bytes in SCTP's queue: while the queue holds this many bytes or more, no
 * segment is passed to SCTP. SCTP sends the chunks of all streams in the order in which they
 * were queued, so a longer queue would delay the messages of other sessions.
 */
#define UNSENT_MAX	(128 * 1024)

/* Bytes reserved in a packet for a SACK with a few Gap Ack Blocks (RFC 5043 9) */
#define SACK_RESERVE	32

/*
 * SCTP charges the overhead SKB_TRUESIZE(1) + sizeof(struct sctp_chunk) to the send
 * buffer for each chunk. So the size of the send buffer limits the number of chunks in
 * flight, as RFC 5043 10 requires.
 */
static_assert(SNDBUF / (SKB_TRUESIZE(1) + sizeof(struct sctp_chunk)) <
	      SDDP_IN_FLIGHT_MAX);

/*
 * Set both buffer limits, in bytes, as SO_RCVBUFFORCE and SO_SNDBUFFORCE do, but without
 * doubling the values
 */
static void __set_buffer_limits(struct sock *sk, int rcvbuf, int sndbuf)
{
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, rcvbuf);
	WRITE_ONCE(sk->sk_sndbuf, sndbuf);
}

/**
 * sddp_sock_init_buffers - set the initial buffer limits of a socket
 * @sock: the socket, not connected yet
 * @unaccepted: true to set the limits for an unaccepted peer
 */
void sddp_sock_init_buffers(struct socket *sock, bool unaccepted)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	if (unaccepted)
		__set_buffer_limits(sk, RCVBUF_UNACCEPTED, SNDBUF_UNACCEPTED);
	else
		__set_buffer_limits(sk, RCVBUF, SNDBUF_MIN);
	release_sock(sk);
}

/**
 * __sddp_sock_grow_sndbuf - raise the send buffer limit to fit the peer's window
 * @a: the association
 * @sk: the association's socket
 *
 * The new limit is half of the peer's window, so that chunks do not overrun the peer's
 * buffer and get lost, but at least SNDBUF_MIN and at most SNDBUF. This function never
 * lowers the limit. Do nothing if the peer is unaccepted or has restarted.
 *
 * Context: worker, with the association's mutex and the socket lock held.
 */
void __sddp_sock_grow_sndbuf(struct sddp_assoc *a, struct sock *sk)
{
	const struct sctp_association *asoc = sctp_sk_asoc(sk);
	u32 most;

	if (!asoc || (!a->peer_accepted && !a->active) || sddp_sock_has_peer_restarted(a, asoc))
		return;
	most = asoc->peer.rwnd + asoc->outqueue.outstanding_bytes;
	most = clamp_t(u32, most / 2, SNDBUF_MIN, SNDBUF);
	if (most > sk->sk_sndbuf)
		WRITE_ONCE(sk->sk_sndbuf, most);
}

/**
 * sddp_sock_grow_buffers - raise the buffer limits after the first accepted session
 * @a: the association
 *
 * SCTP computes its receive window from the buffer limit only when the association
 * begins. So this function also raises the window, which SCTP announces with the next
 * SACK.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_sock_grow_buffers(struct sddp_assoc *a)
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
 * sddp_sock_try_shrink_buffers - restore the buffer limits of an unaccepted peer
 * @a: the association
 *
 * SCTP announces the smaller window with its next SACK.
 *
 * Context: worker, with the association's mutex held.
 * Return: true if the limits are restored or SCTP's association has ended; false if the
 * caller must end the association, because SCTP holds more received data than the limit
 * allows.
 */
bool sddp_sock_try_shrink_buffers(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	bool fits = true;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		fits = atomic_read(&asoc->rmem_alloc) <= RCVBUF_UNACCEPTED;
	if (asoc && fits) {
		sctp_assoc_reduce_rwnd(asoc, (sk->sk_rcvbuf - RCVBUF_UNACCEPTED) / 2);
		__set_buffer_limits(sk, RCVBUF_UNACCEPTED, SNDBUF_UNACCEPTED);
	}
	release_sock(sk);
	return fits;
}

/* Compute the maximum length, in bytes, of a chunk's user data if SCTP fragments at @len bytes */
static u32 compute_max_chunk_len(u32 len)
{
	len -= min_t(u32, len, SACK_RESERVE);
	return clamp_t(u32, len, SDDP_CHUNK_MIN, SDDP_OUT_SIZE);
}

/**
 * sddp_sock_prepare_tx_budget - compute the limits for the next segments
 * @a: the association
 * @budget: set to the limits
 *
 * The longest chunk depends on the path MTU (RFC 5043 9) and leaves space for a SACK in
 * the packet. If SCTP has UNSENT_MAX unsent bytes, set unsent_full, so that the next
 * acknowledgment schedules the worker.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_sock_prepare_tx_budget(struct sddp_assoc *a, struct sddp_tx_budget *budget)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	u32 len = 0, unsent = 0;

	/* set the flag first, so that an acknowledgment after the check schedules the worker */
	WRITE_ONCE(a->unsent_full, true);
	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc) {
		len = asoc->frag_point;
		unsent = asoc->outqueue.out_qlen;
	}
	release_sock(sk);
	budget->fragment = compute_max_chunk_len(len);
	budget->bytes = UNSENT_MAX - min_t(u32, unsent, UNSENT_MAX);
	if (budget->bytes)
		WRITE_ONCE(a->unsent_full, false);
}

/*
 * Compute the maximum number of bytes that SCTP charges to the send buffer for @len
 * bytes of user data. The number is highest if all chunks have the smallest size.
 */
static int compute_sndbuf_cost(u32 len)
{
	u32 chunks = DIV_ROUND_UP(len, SDDP_CHUNK_MIN);

	return len + chunks * (SKB_TRUESIZE(1) + sizeof(struct sctp_chunk));
}

/**
 * sddp_sock_try_cork - make SCTP hold back the next chunks
 * @a: the association
 * @len: maximum number of bytes that the caller passes to SCTP until it calls
 *	sddp_sock_uncork()
 *
 * SCTP can then pass the packets of many chunks to IP at once (GSO). SCTP sends the chunks
 * earlier if a SACK arrives. The send buffer must have space for @len bytes, because it
 * does not drain while SCTP holds back chunks.
 *
 * Context: worker, with the association's mutex held.
 * Return: true if SCTP holds back chunks now; false if the send buffer does not have
 * enough space or SCTP's association has ended.
 */
bool sddp_sock_try_cork(struct sddp_assoc *a, u32 len)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	bool fits = false;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc && sk->sk_sndbuf - sk->sk_wmem_queued > compute_sndbuf_cost(len)) {
		sctp_assoc_cork(asoc);
		fits = true;
	}
	release_sock(sk);
	return fits;
}

/**
 * sddp_sock_uncork - make SCTP stop holding back chunks
 * @a: the association
 *
 * SCTP sends the held-back chunks together with the next chunk.
 *
 * Context: worker, with the association's mutex held.
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
 * @q: filled in if the association has a socket, otherwise unchanged
 *
 * Context: RCU read lock held.
 */
void sddp_sock_query(struct sddp_assoc *a, struct ddp_query *q)
{
	struct sctp_association *asoc = NULL;
	unsigned long flags;

	spin_lock_irqsave(&a->lock, flags);
	/*
	 * The caller holds the RCU read lock: SCTP may change or end its association at any
	 * time, but frees the memory only after a grace period.
	 */
	if (a->sock)
		asoc = sctp_sk_asoc(a->sock->sk);
	spin_unlock_irqrestore(&a->lock, flags);
	if (!asoc)
		return;
	q->mulpdu = compute_max_chunk_len(READ_ONCE(asoc->frag_point)) - SDDP_SEGMENT;
	q->unacked = READ_ONCE(asoc->outqueue.outstanding_bytes);
	q->unsent = READ_ONCE(asoc->outqueue.out_qlen);
	q->unread = atomic_read(&asoc->rmem_alloc);
	q->retransmits = READ_ONCE(asoc->stats.rtxchunks);
}
