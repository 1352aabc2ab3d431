/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_SCTP_STRUCTS_H
#define _HOST_DOORS_SCTP_STRUCTS_H

#include <linux/atomic.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/types.h>

/* An association and its socket, as far as sctp_ddp/room.c sees them */
struct sctp_association {
	struct { u32 rwnd; } peer;
	struct { u32 outstanding_bytes, out_qlen; } outqueue;
	struct { u32 rtxchunks; } stats;
	u32		frag_point;
	atomic_t	rmem_alloc;
	u32		announced;	/* besides */
	bool		corked;
};

struct sctp_chunk { u8 octets[256]; };

struct sock {
	struct sctp_association	*asoc;
	int			sk_userlocks;
	int			sk_rcvbuf, sk_sndbuf;
	int			sk_wmem_queued;
};

struct socket { struct sock *sk; };

#define SOCK_SNDBUF_LOCK	1
#define SOCK_RCVBUF_LOCK	2
#define SKB_TRUESIZE(len)	((len) + 576)
#define sctp_sk_asoc(sk)	((sk)->asoc)
#define sctp_assoc_add_rwnd(a, n)	((void)((a)->announced += (n)))
#define sctp_assoc_cork(a)	((void)((a)->corked = true))
#define sctp_assoc_end_cork(a)	((void)((a)->corked = false))
#define lock_sock(sk)		((void)(sk))
#define release_sock(sk)	((void)(sk))

#endif
