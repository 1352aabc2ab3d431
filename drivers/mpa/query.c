// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What anybody may ask of a connection's socket, and tell it, at any time: it may be
 * going.  Nobody who does has the socket's own lock.
 */
#include <linux/net.h>
#include <net/tcp.h>

#include "internal.h"

/* TCP may be at work: each number is what it was at some moment */
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
 * mpa_sock_query - how the connection's socket fares
 * @c: the connection; it may be ending
 * @q: its numbers are filled in; @mulpdu: the EMSS
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
 * As SO_MAX_PACING_RATE does, which the kernel has no call for: TCP sees to it,
 * unless a queueing discipline will.
 */
static void pace(struct sock *sk, unsigned long rate)
{
	/* fq may say at this moment that it does; litmus: none, TCP reads it alone */
	if (rate != ~0UL)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
			SK_PACING_NEEDED);
	WRITE_ONCE(sk->sk_max_pacing_rate, rate);
	if (rate < READ_ONCE(sk->sk_pacing_rate))
		WRITE_ONCE(sk->sk_pacing_rate, rate);
}

/**
 * mpa_sock_pace - let TCP send no faster than so
 * @c: the connection; it may be ending
 * @rate: octets a second; 0: as fast as it goes
 */
void mpa_sock_pace(struct mpa_conn *c, u64 rate)
{
	spin_lock_bh(&c->look_lock);
	if (c->sock)
		pace(c->sock->sk, rate ?: ~0UL);
	spin_unlock_bh(&c->look_lock);
}
