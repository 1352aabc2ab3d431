// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * SCTP's receive queue.
 *
 * Only the association's worker receives, so the chunks that it peeks at stay
 * in the queue. SCTP's own recvmsg removes them, because nothing else opens the
 * receive window again.
 */
#include <linux/net.h>
#include <net/sctp/sctp.h>
#include <net/sctp/ulpevent.h>
#include <net/sock.h>

#include "internal.h"

/* Chunks that are peeked at together, and chunks per run of the worker */
#define BATCH		16
#define RX_BUDGET	512

/*
 * Peek at the first chunks of the queue. Chunks of a peer that has restarted
 * are left alone: they could be taken for chunks of an earlier session. The
 * association is taken from the chunk, because the socket may have none any
 * more.
 */
static int sddp_recv_peek(const struct sddp_assoc *a, struct sk_buff **batch)
{
	struct sock *sk = a->sock->sk;
	struct sk_buff *skb;
	int n = 0;

	lock_sock(sk);
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		if (n == BATCH || sddp_sock_peer_restarted(a, sctp_skb2event(skb)->asoc))
			break;
		batch[n++] = skb;
	}
	release_sock(sk);
	return n;
}

static void describe(struct sk_buff *skb, struct sddp_chunk_desc *in)
{
	const struct sctp_ulpevent *ev = sctp_skb2event(skb);

	in->id = ev->stream;
	in->ppid = ntohl((__force __be32)ev->ppid);
	in->len = skb->len;
	/* RFC 5043 10: all chunks are unordered */
	in->legal = ev->flags & SCTP_UNORDERED && ev->msg_flags & MSG_EOR;
}

/* Remove the first chunk from the queue; SCTP opens its window accordingly */
static void consume(struct sddp_assoc *a, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };

	iov_iter_discard(&msg.msg_iter, ITER_DEST, len);
	sock_recvmsg(a->sock, &msg, MSG_DONTWAIT);
}

/*
 * Return: true if the chunk has been removed, false if it must stay queued in
 * SCTP and be received again.
 */
static bool receive_one(struct sddp_assoc *a, struct sk_buff *skb)
{
	struct sddp_chunk_desc in;
	bool taken;

	describe(skb, &in);
	a->src = (struct sddp_src) { .arrived = skb, .len = in.len };
	taken = sddp_rx_chunk(a, &in);
	a->src.arrived = NULL;
	if (!taken)
		return false;
	consume(a, in.len);
	a->delay = 0;
	return true;
}

/**
 * sddp_recv - receive chunks from SCTP
 * @a: the association; worker context
 *
 * Return: 1 if the budget was used up and more chunks may be queued; 0 if all
 * have been received; -ENOMEM if a chunk has to stay queued, because memory is
 * short or because a page fault has to be resolved first.
 */
int sddp_recv(struct sddp_assoc *a)
{
	struct sk_buff *batch[BATCH];
	int budget, n, i;

	for (budget = RX_BUDGET; budget > 0; budget -= n) {
		n = sddp_recv_peek(a, batch);
		for (i = 0; i < n; i++)
			if (!receive_one(a, batch[i]))
				return -ENOMEM;
		if (n < BATCH)
			return 0;
	}
	return 1;
}
