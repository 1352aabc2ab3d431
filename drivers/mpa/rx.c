// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* TCP's receive queue: how much of it is taken at once, and that more can come. */
#include <net/tcp.h>

#include "internal.h"

/*
 * Octets that are taken under the socket's lock, or FPDUs for which mpa_gather() counts
 * as many; then the worker goes on.  Others wait for that lock.
 */
#define RX_BUDGET	(256 * 1024)

/* Also beside all that one skb may have, of the longest segments in the largest pages */
#define RCVBUF_MOST	(4 * 1024 * 1024)

/* The rest of an FPDU; and TCP announces no less than what a segment has had */
#define WINDOW_LEAST	(128 * 1024)

/*
 * An FPDU stays where it is until all of it is there, and so does the skb that it begins
 * in: what has been taken out of that may fill the buffer, and TCP would not let the rest
 * come.
 */
static void mpa_keep_window(struct sock *sk)
{
	while (tcp_space(sk) < WINDOW_LEAST && sk->sk_rcvbuf < RCVBUF_MOST)
		WRITE_ONCE(sk->sk_rcvbuf, sk->sk_rcvbuf + MPA_RCVBUF_LEAST);
}

/**
 * mpa_rx - take what has arrived: FPDUs while the stream is well, anything after that
 * @c: the connection
 * @sk: its socket, locked as softirqs do, BH off
 *
 * Return: whether the budget ended it.
 */
bool mpa_rx(struct mpa_conn *c, struct sock *sk)
{
	u32 avail = tcp_inq(sk), used = 0, off;
	struct sk_buff *skb = NULL;
	int budget = RX_BUDGET;

	if (avail)
		skb = tcp_recv_skb(sk, tcp_sk(sk)->copied_seq, &off);
	if (!skb)
		return false;
	if (c->rx_waits) {
		if (!c->rx_stopped && ddp_rx_waits(c->stream))
			return false;
		WRITE_ONCE(c->rx_waits, false);
	}
	if (!c->rx_stopped) {
		mpa_cursor_set(&c->cur, &sk->sk_receive_queue, skb, off, avail);
		used = mpa_gather(c, &budget);
		if (used < avail && budget > 0 && !c->rx_waits)
			mpa_keep_window(sk);
	}
	if (c->rx_stopped)
		used = avail;
	if (used)
		tcp_read_done(sk, used);
	return used < avail && budget <= 0;
}
