// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Size of the receive buffer of a connection's socket.
 *
 * Before Full Operation the peer is unknown and sends only its start-up frame, so the
 * buffer is small: otherwise many peers could make TCP hold much data that arrives out of
 * order. In Full Operation the buffer must be able to hold a complete FPDU.
 */
#include <net/sock.h>
#include <net/tcp.h>

#include "internal.h"

/*
 * Receive buffer before Full Operation, in bytes. It suffices for a start-up frame, which
 * has at most MPA_FRAME_MAX bytes: TCP accepts the first skb whatever its size.
 */
#define RCVBUF_STARTUP	(16 * 1024)

/*
 * Receive buffer in Full Operation, in bytes. It suffices for a complete FPDU, even if the
 * FPDU arrives in many short TCP segments, for each of which TCP also charges overhead.
 */
#define RCVBUF_FULL	(512 * 1024)

/*
 * Maximum to which mpa_sock_grow_rcvbuf() grows the buffer, in bytes. It suffices for an skb
 * with the maximum number of fragments, even if TCP charges a page of the largest page size
 * for each fragment.
 */
#define RCVBUF_MAX	(4 * 1024 * 1024)

/**
 * mpa_sock_limit_rcvbuf - make the receive buffer small until Full Operation
 * @c: the connection, with a connected socket that is not locked
 *
 * Do not call this before the TCP handshake, in which TCP chooses the window scale: if the
 * size of the buffer were locked by then, TCP would choose a scale for the small buffer.
 */
void mpa_sock_limit_rcvbuf(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;

	lock_sock(sk);
	/* lock the size: otherwise TCP grows the buffer if a peer sends many short segments */
	sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, RCVBUF_STARTUP);
	release_sock(sk);
}

/**
 * __mpa_sock_set_full_rcvbuf - set the size of the receive buffer in Full Operation
 * @sk: the socket, locked by lock_as_softirq()
 *
 * Unlock the size, so that TCP tunes the buffer. The socket option SO_RCVBUF cannot be used:
 * it disables the tuning, and its value is limited by rmem_max. Raise the window clamp as
 * well, because TCP raises it only when TCP itself raises the buffer.
 */
void __mpa_sock_set_full_rcvbuf(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	int usual = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_rmem[1]);

	sk->sk_userlocks &= ~SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, max(usual, RCVBUF_FULL));
	/* TCP may have lowered the clamp while the buffer was small */
	WRITE_ONCE(tp->window_clamp, max_t(u32, tp->window_clamp, tcp_full_space(sk)));
}

/**
 * mpa_sock_grow_rcvbuf - grow the receive buffer for an incomplete FPDU
 * @sk: the socket, locked as for mpa_rx_receive_or_discard()
 * @skb: skb of the receive queue in which the incomplete FPDU begins
 *
 * The incomplete FPDU stays in the queue, and so does @skb. TCP charges the whole skb
 * to the buffer, consumed bytes included, and appends data while the skb has space for
 * fragments. If the skb fills the buffer, TCP keeps the window closed, and the FPDU
 * never becomes complete. So make the buffer RCVBUF_FULL bytes larger than the skb. Raise the
 * window clamp as well, because TCP raises it only when TCP itself raises the buffer.
 */
void mpa_sock_grow_rcvbuf(struct sock *sk, const struct sk_buff *skb)
{
	int room = min_t(u32, RCVBUF_FULL + skb->truesize, RCVBUF_MAX);
	struct tcp_sock *tp = tcp_sk(sk);

	if (sk->sk_rcvbuf >= room)
		return;
	WRITE_ONCE(sk->sk_rcvbuf, room);
	WRITE_ONCE(tp->window_clamp, max_t(u32, tp->window_clamp, tcp_full_space(sk)));
}
