// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* TCP's receive queue: how much of it is taken at once. */
#include <net/tcp.h>

#include "internal.h"

/*
 * Octets that are taken under the socket's lock, or FPDUs for which mpa_gather() counts
 * as many; then the worker goes on.  Others wait for that lock.
 */
#define RX_BUDGET	(256 * 1024)

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
	}
	if (c->rx_stopped)
		used = avail;
	if (used)
		tcp_read_done(sk, used);
	return used < avail && budget <= 0;
}
