/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A TCP socket with the parts that mpa/rx.c reads: the receive queue */
#ifndef _FUZZ_RX_PATHS_TCP_H
#define _FUZZ_RX_PATHS_TCP_H

#include <linux/skbuff.h>

struct sock {
	struct sk_buff_head	sk_receive_queue;
};

struct tcp_sock {
	struct sock	sk;
	u32		copied_seq;	/* sequence number of the next byte to receive */
	u32		rcv_nxt;	/* sequence number after the last byte in the queue */
};

struct socket;

#define tcp_sk(s)		container_of(s, struct tcp_sock, sk)
#define TCP_SKB_CB(skb)		(skb)

u32 tcp_inq(struct sock *sk);
struct sk_buff *tcp_recv_skb(struct sock *sk, u32 seq, u32 *off);
void tcp_read_done(struct sock *sk, size_t len);

#endif
