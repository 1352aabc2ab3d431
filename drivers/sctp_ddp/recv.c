// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What has arrived: SCTP's receive queue.
 *
 * Only the association's worker receives, so a chunk at the head of the queue
 * stays there while it is looked at; SCTP's own recvmsg then takes it away, for
 * nothing else opens the receive window again.
 */
#include <linux/net.h>
#include <net/sctp/sctp.h>
#include <net/sctp/ulpevent.h>
#include <net/sock.h>

#include "internal.h"

/* Chunks looked at together, and in one run of the worker */
#define BATCH		16
#define RX_BUDGET	512

/*
 * Look at the first chunks of the queue; they stay in it.  Of a peer that has
 * begun anew nobody wants any: they could be taken for a session's before.  The
 * socket may know of no association any more; its chunks do.
 */
static int sddp_recv_peek(const struct sddp_assoc *a, struct sk_buff **batch)
{
	struct sock *sk = a->sock->sk;
	struct sk_buff *skb;
	int n = 0;

	lock_sock(sk);
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		if (n == BATCH || sddp_sock_anew(a, sctp_skb2event(skb)->asoc))
			break;
		batch[n++] = skb;
	}
	release_sock(sk);
	return n;
}

static void describe(struct sk_buff *skb, struct sddp_in *in)
{
	const struct sctp_ulpevent *ev = sctp_skb2event(skb);

	in->id = ev->stream;
	in->ppid = ntohl((__force __be32)ev->ppid);
	in->len = skb->len;
	/* RFC 5043 10: unordered, all of them */
	in->legal = ev->flags & SCTP_UNORDERED && ev->msg_flags & MSG_EOR;
}

/* Away with the first chunk: SCTP counts it as read */
static void consume(struct sddp_assoc *a, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };

	iov_iter_discard(&msg.msg_iter, ITER_DEST, len);
	sock_recvmsg(a->sock, &msg, MSG_DONTWAIT);
}

/* Return: false if memory for a new stream is short */
static bool receive_one(struct sddp_assoc *a, struct sk_buff *skb)
{
	struct sddp_in in;
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
 * sddp_recv - take what has arrived
 * @a: the association; its worker
 *
 * Return: 1: there is more; 0: there is not; -ENOMEM: there is, but memory is
 * short.
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

/**
 * sddp_recv_read - octets of a chunk that has arrived
 * @skb: the chunk
 * @off: where in it
 * @dst: where to
 * @len: how many
 *
 * Return: false if not all of them can be read: past its end, or in a device's
 * memory.
 */
bool sddp_recv_read(const struct sk_buff *skb, u32 off, void *dst, u32 len)
{
	/* asks skb_frags_readable() of each part */
	return !skb_copy_bits(skb, off, dst, len);
}
