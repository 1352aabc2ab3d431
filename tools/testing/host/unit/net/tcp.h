/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_TCP_H
#define _HOST_UNIT_TCP_H

#include <linux/bvec.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* The parts of a connected socket that mpa/sock.c and mpa/sock_end.c use; the test defines TCP's functions */
struct sk_buff;
struct sk_buff_head { int unused; };

enum {
	TCP_ESTABLISHED = 1, TCP_SYN_SENT, TCP_SYN_RECV, TCP_FIN_WAIT1, TCP_FIN_WAIT2,
	TCP_CLOSE = 7, TCP_CLOSE_WAIT,
};

#define RCV_SHUTDOWN		1
#define SEND_SHUTDOWN		2
#define SOCK_NOSPACE		2
#define SOCK_URGINLINE		5
#define SOCK_RCVBUF_LOCK	2
#define SK_PACING_NONE		0
#define SK_PACING_NEEDED	1
#define MAX_TCP_HEADER		320
#define COMPAT_SPLICE_PAGES	0x8000000
#define ITER_SOURCE		1

struct sock;
struct socket;
struct proto_ops {
	int (*getname)(struct socket *sock, struct sockaddr *addr, int peer);
};

struct socket {
	struct sock		*sk;
	const struct proto_ops	*ops;
	unsigned long		flags;
};

struct proto { void (*shutdown)(struct sock *sk, int how); };

struct sock {
	struct socket		*sk_socket;
	void			*sk_user_data;
	struct { int unused; }	sk_callback_lock;
	struct { spinlock_t slock; } sk_lock;
	struct sk_buff_head	sk_receive_queue;
	const struct proto	*sk_prot;
	gfp_t			sk_allocation;
	bool			sk_use_task_frag;
	u16			sk_family;
	void (*sk_data_ready)(struct sock *sk);
	void (*sk_state_change)(struct sock *sk);
	void (*sk_write_space)(struct sock *sk);
	int			sk_rcvbuf;
	unsigned int		sk_gso_max_size;
	u8			sk_userlocks;
	int			sk_bound_dev_if;
	int			sk_state;
	int			sk_shutdown;
	int			sk_err;
	u32			sk_pacing_status;
	unsigned long		sk_max_pacing_rate;
	unsigned long		sk_pacing_rate;
	unsigned int		sk_napi_id;
	unsigned long		flags;
	bool			owned;		/* a process has locked the socket */
	bool			nodelay;
};

#define compat_sk_avoid_task_frag(sk)	((sk)->sk_use_task_frag = false)

#define rcu_assign_sk_user_data(sk, p)	((sk)->sk_user_data = (p))

struct tcp_sock {
	struct sock	sk;
	u32		copied_seq, rcv_nxt, write_seq, snd_una, snd_nxt;
	u32		mss_cache, total_retrans, window_clamp;
	int		keepalive_time, keepalive_intvl, keepalive_probes;
};

#define tcp_sk(s)	container_of(s, struct tcp_sock, sk)

/* use a name other than the C library's struct msghdr, whose fields differ */
#define msghdr		host_msghdr
struct iov_iter { const struct bio_vec *vec; u32 n, len, off; };
struct msghdr { int msg_flags; struct iov_iter msg_iter; };
struct kvec { void *iov_base; size_t iov_len; };

static inline void iov_iter_bvec(struct iov_iter *i, int dir,
				 const struct bio_vec *v, u32 n, u32 len)
{
	*i = (struct iov_iter) { .vec = v, .n = n, .len = len };
}

static inline void iov_iter_advance(struct iov_iter *i, u32 n)
{
	i->off += n;
	i->len -= n;
}

#define read_lock_bh(l)			((void)(l))
#define read_unlock_bh(l)		((void)(l))
#define write_lock_bh(l)		((void)(l))
#define write_unlock_bh(l)		((void)(l))
#define bh_lock_sock(sk)		((void)(sk), host_change_socket_lock(1))
#define bh_unlock_sock(sk)		((void)(sk), host_change_socket_lock(-1))
#define sock_owned_by_user(sk)		((sk)->owned)
#define sock_owned_by_me(sk)		((void)(sk))
#define lock_sock(sk)			((void)(sk))
#define release_sock(sk)		((void)((sk)->owned = false))
#define sock_set_flag(sk, f)		((void)((sk)->flags |= 1ul << (f)))
#define trace_sk_data_ready(sk)		((void)(sk))
#define sock_rps_record_flow(sk)	((void)(sk))
#define sock_set_reuseaddr(sk)		((void)(sk))
#define sock_set_keepalive(sk)		((void)(sk))
#define tcp_sock_set_nodelay(sk)	((void)((sk)->nodelay = true))
#define tcp_sock_set_keepidle(sk, s)	((void)(tcp_sk(sk)->keepalive_time = (s)))
#define tcp_sock_set_keepintvl(sk, s)	((void)(tcp_sk(sk)->keepalive_intvl = (s)))
#define tcp_sock_set_keepcnt(sk, n)	((void)(tcp_sk(sk)->keepalive_probes = (n)))

/* The namespace's sysctl tcp_rmem, with the default of most systems */
#define sock_net(sk)	((void)(sk), &(struct { struct { int sysctl_tcp_rmem[3]; } ipv4; }) { \
	.ipv4.sysctl_tcp_rmem = { 4096, 131072, 6291456 } })

void host_change_socket_lock(int by);
u32 tcp_inq(struct sock *sk);
struct sk_buff *tcp_recv_skb(struct sock *sk, u32 seq, u32 *off);
int tcp_full_space(const struct sock *sk);
void tcp_read_done(struct sock *sk, size_t len);
struct sk_buff *tcp_write_queue_tail(const struct sock *sk);
bool tcp_rtx_and_write_queues_empty(const struct sock *sk);
struct sk_buff *alloc_skb_fclone(u32 size, gfp_t gfp);
void kfree_skb(struct sk_buff *skb);
bool sk_stream_is_writeable(const struct sock *sk);
int tcp_sendmsg_locked(struct sock *sk, struct msghdr *msg, size_t len);
int kernel_recvmsg(struct socket *s, struct msghdr *m, struct kvec *v, size_t n,
		   size_t len, int flags);
int sock_sendmsg(struct socket *s, struct msghdr *m);
void sock_no_linger(struct sock *sk);
void sock_release(struct socket *s);

#endif
