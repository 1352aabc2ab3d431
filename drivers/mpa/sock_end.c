// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Close the socket of a connection: send our FIN, check which data the peer has acknowledged,
 * and release or reset the socket. conn.c decides when to do each of these.
 */
#include <linux/net.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "internal.h"

/*
 * Check whether TCP can allocate its FIN: try to allocate an skb, and free it. If TCP cannot
 * allocate the FIN, TCP proceeds as if the FIN were sent, and the peer never gets a FIN. The
 * caller must keep BH off until TCP has allocated the FIN from the memory freed here.
 */
static bool can_alloc_fin(struct sock *sk)
{
	struct sk_buff *skb;

	/* TCP sets the FIN flag in the last queued segment, and so needs no memory */
	if (tcp_write_queue_tail(sk))
		return true;
	skb = alloc_skb_fclone(MAX_TCP_HEADER, GFP_ATOMIC | __GFP_NOWARN);
	kfree_skb(skb);
	return skb;
}

/*
 * Send our FIN, if the state of TCP permits a FIN. Return: false if nothing was done
 * because the FIN cannot be allocated, true otherwise.
 */
static bool try_send_fin(struct sock *sk)
{
	bool ok;

	if (sk->sk_state != TCP_ESTABLISHED && sk->sk_state != TCP_CLOSE_WAIT)
		return true;
	local_bh_disable();
	ok = can_alloc_fin(sk);
	/* do not use kernel_sock_shutdown(), which locks the socket and enables BH */
	if (ok) {
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
		sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	}
	local_bh_enable();
	return ok;
}

/*
 * Try to send our FIN before the socket is released. If TCP has no memory for the
 * FIN, TCP may change its state without sending a FIN, but can still send a reset.
 *
 * Return: false if the FIN is missing and the caller must reset the connection, true
 * if the FIN was sent or is not needed.
 */
static bool try_send_fin_on_close(struct sock *sk)
{
	const bool open = sk->sk_state == TCP_ESTABLISHED;
	const u32 seq = tcp_sk(sk)->write_seq;

	/* TCP resets on close if unread data is queued, so no FIN is needed */
	if (tcp_inq(sk))
		return true;
	if (!try_send_fin(sk))
		return false;
	return !open || tcp_sk(sk)->write_seq != seq ||
	       (sk->sk_state != TCP_FIN_WAIT1 && sk->sk_state != TCP_FIN_WAIT2);
}

/**
 * __mpa_sock_try_send_fin - send our FIN
 * @c: the connection; the caller must hold the spinlock of its socket
 *
 * Return: false if nothing was done because the FIN cannot be allocated, true otherwise.
 */
bool __mpa_sock_try_send_fin(struct mpa_conn *c)
{
	return try_send_fin(c->sock->sk);
}

/**
 * __mpa_sock_get_acked_seq - get the position up to which the peer has acknowledged
 * @c: the connection; the caller must hold the spinlock of its socket
 * @all: set to true if the peer has acknowledged all our data, and to false
 *	otherwise. Our FIN does not count, because TCP delivers the FIN even
 *	after the socket is released.
 *
 * TCP calls no callback for each acknowledgment, so a caller that waits for one has to poll.
 *
 * Return: TCP's sequence number of the next byte to be acknowledged.
 */
u32 __mpa_sock_get_acked_seq(struct mpa_conn *c, bool *all)
{
	struct sock *sk = c->sock->sk;
	u32 acked = tcp_sk(sk)->snd_una;

	*all = tcp_sk(sk)->write_seq - acked <= !!(sk->sk_shutdown & SEND_SHUTDOWN);
	return acked;
}

/*
 * Consume unread data if the peer has not acknowledged all our data and no FPDU is
 * deferred. If unread data is queued on close, TCP resets the connection and discards
 * our unacknowledged data. If all our data is acknowledged, keep the unread data, so that
 * TCP resets: after a FIN the peer would assume that we have received all its data.
 */
static void drop_unread_data_if_unacked(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;
	u32 n;

	mpa_sock_lock(c);
	n = tcp_inq(sk);
	if (n && !READ_ONCE(c->rx_deferred) && !tcp_rtx_and_write_queues_empty(sk))
		tcp_read_done(sk, n);
	mpa_sock_unlock(c);
}

/**
 * mpa_sock_release - close or reset the connection's socket and release it
 * @c: the connection, before Full Operation or with its transmit side stopped
 * @abort: true to reset the connection, false to send a FIN
 *
 * Context: process, may sleep. On return our callbacks neither run nor will run.
 */
void mpa_sock_release(struct mpa_conn *c, bool abort)
{
	struct socket *sock = c->sock;

	if (!sock)
		return;
	mpa_sock_lock(c);
	ddp_sock_restore_callbacks(sock->sk, &c->orig_callbacks);
	mpa_sock_unlock(c);
	if (!abort)
		drop_unread_data_if_unacked(c);
	/* without FIN or reset, the peer would detect the close only through keepalive (90 s) */
	lock_sock(sock->sk);
	abort = abort || !try_send_fin_on_close(sock->sk);
	release_sock(sock->sk);
	if (abort)
		sock_no_linger(sock->sk);
	spin_lock_bh(&c->query_lock);
	c->retransmits += tcp_sk(sock->sk)->total_retrans;
	c->sock = NULL;
	spin_unlock_bh(&c->query_lock);
	ddp_sock_release(sock);
}
