// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving chunks from SCTP's receive queue.
 *
 * The worker reads a chunk while the chunk is in the queue, and removes the chunk
 * afterwards. No other context removes chunks, so the chunk cannot be freed while the
 * worker reads it. The worker removes chunks with SCTP's recvmsg, which also opens the
 * receive window.
 */
#include <linux/net.h>
#include <net/sctp/sctp.h>
#include <net/sctp/ulpevent.h>
#include <net/sock.h>

#include "internal.h"

#define BATCH		16	/* maximum number of chunks to collect in one walk of the queue */
/* maximum number of chunks that one call of sddp_recv_chunks() processes */
#define RX_BUDGET	512

/*
 * Collect the first chunks of the queue, up to BATCH, without removing them. Stop at a
 * chunk that the peer has sent after a restart, because the chunk could be mistaken for
 * a chunk of an earlier session. To detect the restart, use SCTP's association from the
 * chunk and not from the socket, which may no longer refer to one. Return: the number of
 * chunks collected.
 */
static int sddp_recv_peek_chunks(const struct sddp_assoc *a, struct sk_buff **batch)
{
	struct sock *sk = a->sock->sk;
	struct sk_buff *skb;
	int n = 0;

	lock_sock(sk);
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		if (n == BATCH || sddp_sock_has_peer_restarted(a, sctp_skb2event(skb)->asoc))
			break;
		batch[n++] = skb;
	}
	release_sock(sk);
	return n;
}

static void fill_chunk_desc(struct sk_buff *skb, struct sddp_chunk_desc *in)
{
	const struct sctp_ulpevent *ev = sctp_skb2event(skb);

	in->id = ev->stream;
	in->ppid = ntohl((__force __be32)ev->ppid);
	in->len = skb->len;
	/* RFC 5043 10: all chunks must be unordered */
	in->legal = ev->flags & SCTP_UNORDERED && ev->msg_flags & MSG_EOR;
}

/* Remove the first chunk from the queue, so that SCTP opens its receive window */
static void consume_chunk(struct sddp_assoc *a, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };

	iov_iter_discard(&msg.msg_iter, ITER_DEST, len);
	sock_recvmsg(a->sock, &msg, MSG_DONTWAIT);
}

/*
 * Process the first chunk of the queue. Return: true if the chunk has been processed and
 * removed; false if the chunk stays in SCTP's queue for a later call, because memory is
 * short or a page fault is pending.
 */
static bool receive_first_chunk(struct sddp_assoc *a, struct sk_buff *skb)
{
	struct sddp_chunk_desc in;
	bool taken;

	fill_chunk_desc(skb, &in);
	a->src = (struct sddp_src) { .arrived = skb, .len = in.len };
	taken = sddp_rx_process_chunk(a, &in);
	a->src.arrived = NULL;
	if (!taken)
		return false;
	consume_chunk(a, in.len);
	a->retry_delay = 0;
	return true;
}

/**
 * sddp_recv_chunks - receive chunks from SCTP
 * @a: the association
 *
 * Context: worker, with the association's mutex held.
 * Return: 1 if RX_BUDGET chunks have been processed and more may be queued; 0 if no
 * chunk of this association is queued; -ENOMEM if a chunk stays in the queue because
 * memory is short or a page fault is pending.
 */
int sddp_recv_chunks(struct sddp_assoc *a)
{
	struct sk_buff *batch[BATCH];
	int budget, n, i;

	for (budget = RX_BUDGET; budget > 0; budget -= n) {
		n = sddp_recv_peek_chunks(a, batch);
		for (i = 0; i < n; i++)
			if (!receive_first_chunk(a, batch[i]))
				return -ENOMEM;
		if (n < BATCH)
			return 0;
	}
	return 1;
}
