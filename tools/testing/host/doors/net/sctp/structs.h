/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_SCTP_STRUCTS_H
#define _HOST_DOORS_SCTP_STRUCTS_H

#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/sctp.h>
#include <linux/socket.h>
#include <linux/types.h>

/* An association and its socket, as far as sctp_ddp/{room,path}.c see them */
struct sctp_transport {
	struct list_head	transports;
	union { struct sockaddr sa; } ipaddr;
	int			state;
	u32			pathmtu;
	s64			last_time_heard;
};

struct sctp_association {
	struct {
		u32			rwnd;
		bool			zero_window_announced;
		struct list_head	transport_addr_list;
		struct sctp_transport	*primary_path;
	} peer;
	u32		ctsn_ack_point, next_tsn;
	u32		max_retrans;
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
#define TSN_lt(a, b)		((s32)((a) - (b)) < 0)
#define sctp_transport_report_pmtu(t, size)	((void)((t)->pathmtu = (size)))
#define IPV6_MIN_MTU		1280
#define lock_sock(sk)		((void)(sk))
#define release_sock(sk)	((void)(sk))

#endif
