/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SCTP_STRUCTS_H
#define _HOST_UNIT_SCTP_STRUCTS_H

#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/sctp.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <sys/epoll.h>

/* The parts of an association and its socket that sctp_ddp/{sock_buf,path,sock}.c use */
struct sctp_transport {
	struct list_head	transports;
	union { struct sockaddr sa; } ipaddr;
	int			state;
	u32			pathmtu;
	void			*dst;
	s64			last_time_heard;
};

struct sctp_association {
	struct {
		u32			rwnd;
		bool			zero_window_announced;
		struct list_head	transport_addr_list;
		struct sctp_transport	*primary_path;
		u32			adaptation_ind;
		u32			transport_count;
	} peer;
	struct { u16 outcnt, incnt; } stream;
	struct { u32 peer_vtag, peer_ttag; } c;
	int		state;
	u32		ctsn_ack_point, next_tsn;
	u32		max_retrans;
	struct { u32 outstanding_bytes, out_qlen; } outqueue;
	struct { u32 rtxchunks; } stats;
	u32		frag_point;
	atomic_t	rmem_alloc;
	u32		announced;	/* window added by the driver */
	bool		corked;
};

struct sctp_chunk { u8 octets[256]; };

struct sock;
struct socket;
struct sctp_association;

enum {
	SCTP_STATE_CLOSED, SCTP_STATE_COOKIE_WAIT, SCTP_STATE_ESTABLISHED = 3,
	SCTP_STATE_SHUTDOWN_PENDING, SCTP_STATE_SHUTDOWN_SENT, SCTP_STATE_SHUTDOWN_RECEIVED,
	SCTP_STATE_SHUTDOWN_ACK_SENT,
};

typedef struct { void *at; } sockptr_t;
struct proto_ops {
	int (*setsockopt)(struct socket *sock, int level, int name, sockptr_t value,
			  unsigned int len);
};

struct kvec { void *iov_base; size_t iov_len; };

struct sock {
	struct sctp_association	*asoc;
	void			*sk_user_data;
	struct { int unused; }	sk_callback_lock;
	u16			sk_family;
	int			sk_err;
	int			sk_userlocks;
	int			sk_rcvbuf, sk_sndbuf;
	int			sk_wmem_queued;
	struct { int n; }	sk_receive_queue;
	bool			aborts;	/* a release will abort SCTP's association */
};

#define skb_queue_empty(q)	(!(q)->n)

struct socket { struct sock *sk; const struct proto_ops *ops; };

#define SOCK_SNDBUF_LOCK	1
#define SOCK_RCVBUF_LOCK	2
#define SKB_TRUESIZE(len)	((len) + 576)
#define sctp_sk_asoc(sk)	((sk)->asoc)
#define sctp_assoc_add_rwnd(a, n)	((void)((a)->announced += (n)))
#define sctp_assoc_reduce_rwnd(a, n)	((void)((a)->announced -= (n)))
#define sctp_assoc_cork(a)	((void)((a)->corked = true))
#define sctp_assoc_end_cork(a)	((void)((a)->corked = false))
#define TSN_lt(a, b)		((s32)((a) - (b)) < 0)
#define sctp_transport_report_pmtu(t, size)	((void)((t)->pathmtu = (size)))
#define IPV6_MIN_MTU		1280
#define lock_sock(sk)		((void)(sk))
#define release_sock(sk)	((void)(sk))
#define read_lock_bh(l)		((void)(l))
#define read_unlock_bh(l)	((void)(l))
#define trace_sk_data_ready(sk)	((void)(sk))
#define sctp_sk_copy_cookie_key(sk, listener)	((void)(sk), (void)(listener))
#define sctp_assoc_set_max_retrans(a, most)	((a)->max_retrans = (most))
#define sctp_assoc_get_last_tsn(a)	((a)->next_tsn - 1)
#define SOL_SCTP		132
#define KERNEL_SOCKPTR(p)	((sockptr_t) { p })
#define sk_sleep(sk)		(sk)
#define add_wait_queue(q, w)	((void)(q), (void)(w))
#define remove_wait_queue(q, w)	((void)(q), (void)(w))
#define init_waitqueue_func_entry(w, f)	((w)->func = (f))
#define key_to_poll(key)	((unsigned long)(key))
#define sock_set_reuseaddr(sk)	((void)(sk))
#define sock_no_linger(sk)	((sk)->aborts = true)
#ifndef SHUT_RDWR
#define SHUT_RDWR		2
#endif
/* A test of sock_end.c defines this function */
int kernel_sock_shutdown(struct socket *s, int how);
#define init_net		(*(struct net *)NULL)
/* A test may define this function, which returns the socket that sock_create_kern() creates */
struct socket *host_create_socket(void) __attribute__((weak));
#define sock_create_kern(n, f, t, p, s)		\
	((void)(n), *(s) = host_create_socket ? host_create_socket() : NULL, *(s) ? 0 : \
	 -EPROTONOSUPPORT)

/* As in the kernel, where CMSG_DATA() is of type void * */
#undef CMSG_DATA
#define CMSG_DATA(c)		((void *)((c) + 1))

/* Return and clear the socket's error */
static inline int sock_error(struct sock *sk)
{
	int err = -sk->sk_err;

	sk->sk_err = 0;
	return err;
}

int kernel_sendmsg(struct socket *s, struct msghdr *m, struct kvec *v, size_t n,
		   size_t len);
void sock_release(struct socket *s);

#endif
