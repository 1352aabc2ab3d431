// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Statistics and pacing of a connection's socket, at any time: the socket may
 * be going away. The socket lock is not taken.
 */
#include <linux/net.h>
#include <net/tcp.h>

#include "internal.h"

/* TCP may change the numbers meanwhile: each was valid at some moment */
static void mpa_sock_look(const struct sock *sk, struct ddp_query *q)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 una = READ_ONCE(tp->snd_una), nxt = READ_ONCE(tp->snd_nxt);

	if (READ_ONCE(sk->sk_state) == TCP_SYN_SENT)
		return;
	q->mulpdu = READ_ONCE(tp->mss_cache);
	q->unacked = nxt - una;
	q->unsent = READ_ONCE(tp->write_seq) - nxt;
	q->unread = READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);
	q->retransmits += READ_ONCE(tp->total_retrans);
}

/**
 * mpa_sock_query - read the statistics of the connection's socket
 * @c: the connection; it may be ending
 * @q: filled in; @q->mulpdu is set to the EMSS
 */
void mpa_sock_query(struct mpa_conn *c, struct ddp_query *q)
{
	spin_lock_bh(&c->look_lock);
	q->retransmits = c->retransmits;
	if (c->sock)
		mpa_sock_look(c->sock->sk, q);
	spin_unlock_bh(&c->look_lock);
}

/*
 * Do what SO_MAX_PACING_RATE does, which the kernel has no function for: TCP
 * paces itself, unless a queueing discipline does.
 */
static void pace(struct sock *sk, unsigned long rate)
{
	/* fq may set its own status now; litmus: none, TCP reads it alone */
	if (rate != ~0UL)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
			SK_PACING_NEEDED);
	WRITE_ONCE(sk->sk_max_pacing_rate, rate);
	if (rate < READ_ONCE(sk->sk_pacing_rate))
		WRITE_ONCE(sk->sk_pacing_rate, rate);
}

/**
 * mpa_sock_pace - limit the rate at which TCP sends
 * @c: the connection; it may be ending
 * @rate: bytes per second; 0 for no limit
 */
void mpa_sock_pace(struct mpa_conn *c, u64 rate)
{
	spin_lock_bh(&c->look_lock);
	if (c->sock)
		pace(c->sock->sk, rate ?: ~0UL);
	spin_unlock_bh(&c->look_lock);
}
