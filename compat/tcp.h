/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Replacements that let iw_mpa read TCP's receive queue as on the newest kernel.
 * Included before those files of drivers/mpa that read the queue.
 */
#ifndef _COMPAT_TCP_H
#define _COMPAT_TCP_H

#ifndef HAVE_TCP_READ_DONE
#include <net/tcp.h>

/*
 * Find the skb that has the byte @seq, and free the skbs before it. Return: the skb
 * and the position of the byte in @off, or NULL. The caller has locked @sk.
 */
static inline struct sk_buff *compat_tcp_recv_skb(struct sock *sk, u32 seq, u32 *off)
{
	struct sk_buff *skb;

	while ((skb = skb_peek(&sk->sk_receive_queue))) {
		const struct tcp_skb_cb *cb = TCP_SKB_CB(skb);

		*off = seq - cb->seq - !!(cb->tcp_flags & TCPHDR_SYN);
		if (*off < skb->len || (cb->tcp_flags & TCPHDR_FIN))
			return skb;
		sk_eat_skb(sk, skb);
	}
	return NULL;
}

/* Consume up to desc->count bytes */
static inline int compat_tcp_skip(read_descriptor_t *desc, struct sk_buff *skb,
				  unsigned int off, size_t len)
{
	size_t n = min(len, desc->count);

	desc->count -= n;
	return n;
}

/*
 * Consume @len bytes by tcp_read_sock(), because the functions that consume bytes are
 * not exported. tcp_read_sock() stops at urgent data. iw_mpa has no urgent data:
 * forget the urgent pointer, or these bytes would be received again.
 */
static inline void compat_tcp_read_done(struct sock *sk, size_t len)
{
	read_descriptor_t desc = { .count = len };

	tcp_sk(sk)->urg_data = 0;
	tcp_read_sock(sk, &desc, compat_tcp_skip);
}

#define tcp_recv_skb	compat_tcp_recv_skb
#define tcp_read_done	compat_tcp_read_done
#endif

#endif
