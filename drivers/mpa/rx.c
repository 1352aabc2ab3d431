// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive from TCP: the receive budget, and a window that lets an incomplete
 * FPDU be completed.
 */
#include <net/tcp.h>

#include "internal.h"

/*
 * Bytes to receive before the socket lock is released, since others wait for
 * it. The worker then continues. mpa_gather() counts a short FPDU as more bytes
 * than it has.
 */
#define RX_BUDGET	(256 * 1024)

/*
 * Limit in bytes: enough for an skb that is full of fragments, of the longest
 * segments in the largest pages
 */
#define RCVBUF_MOST	(4 * 1024 * 1024)

/*
 * Raise the receive buffer, so that the rest of an incomplete FPDU can arrive.
 *
 * The FPDU and the skb in which it begins stay in the queue. The whole skb
 * counts, consumed bytes included, and TCP appends data to it while it has
 * space for fragments. If the skb fills the buffer, TCP keeps the window
 * closed. So the buffer has space for the skb in addition to what an FPDU
 * needs. The window clamp is raised, too: TCP's tuning only raises it together
 * with the buffer.
 */
static void mpa_keep_window(struct sock *sk, const struct sk_buff *skb)
{
	int room = min_t(u32, MPA_RCVBUF_LEAST + skb->truesize, RCVBUF_MOST);
	struct tcp_sock *tp = tcp_sk(sk);

	if (sk->sk_rcvbuf >= room)
		return;
	WRITE_ONCE(sk->sk_rcvbuf, room);
	WRITE_ONCE(tp->window_clamp, max_t(u32, tp->window_clamp, tcp_full_space(sk)));
}

/**
 * mpa_rx - receive from TCP: FPDUs, or data to discard after a failure
 * @c: the connection
 * @sk: its socket
 *
 * Context: socket locked as in softirq, BH off.
 *
 * Return: true if the budget is used up and data is left, false otherwise.
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
	else if (used < avail)
		mpa_keep_window(sk, c->cur.skb);
	/* may send a window update */
	if (used)
		tcp_read_done(sk, used);
	return used < avail && budget <= 0;
}
