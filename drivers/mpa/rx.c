// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* TCP's receive queue: how much of it is taken at once, and that the rest can come. */
#include <net/tcp.h>

#include "internal.h"

/*
 * Octets that are taken under the socket's lock, or FPDUs for which mpa_gather() counts
 * as many; then the worker goes on.  Others wait for that lock.
 */
#define RX_BUDGET	(256 * 1024)

/* With all that one skb may have, of the longest segments in the largest pages */
#define RCVBUF_MOST	(4 * 1024 * 1024)

/*
 * An FPDU stays where it is until all of it is there, and so does the skb that it begins
 * in.  What has been taken out of that still counts, TCP puts more into it as long as there
 * is room for fragments, and once it filled the buffer TCP would not let the rest come.  So
 * it has room beside what an FPDU needs; the clamp goes along, as in TCP's own tuning,
 * which would wait for one that stayed behind.
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
	else if (used < avail)
		mpa_keep_window(sk, c->cur.skb);
	/* which may announce a window */
	if (used)
		tcp_read_done(sk, used);
	return used < avail && budget <= 0;
}
