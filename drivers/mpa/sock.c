// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The only talk with a connected socket, but for what it has received (rx.c). */
#include <linux/net.h>
#include <net/rps.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <trace/events/sock.h>

#include <ddp/addr.h>

#include "internal.h"
#include "trace.h"

static void mpa_data_ready(struct sock *sk)
{
	struct mpa_conn *c;
	bool more = true;

	trace_sk_data_ready(sk);
	read_lock_bh(&sk->sk_callback_lock);
	c = sk->sk_user_data;
	if (c) {
		if (c->rx_full)
			more = mpa_rx(c, sk);
		if (more)
			mpa_conn_event(c, MPA_EV_RX);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void mpa_state_change(struct sock *sk)
{
	struct mpa_conn *c;

	read_lock_bh(&sk->sk_callback_lock);
	c = sk->sk_user_data;
	if (c)
		mpa_conn_event(c, MPA_EV_STATE);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void mpa_write_space(struct sock *sk)
{
	struct mpa_conn *c;

	read_lock_bh(&sk->sk_callback_lock);
	c = sk->sk_user_data;
	if (c && sk_stream_is_writeable(sk)) {
		/* as sk_stream_write_space(), in whose place this is */
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		mpa_tx_kick(c, false);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static const struct ddp_sock_calls calls = {
	.data_ready	= mpa_data_ready,
	.state_change	= mpa_state_change,
	.write_space	= mpa_write_space,
};

/**
 * mpa_sock_prepare - set a socket up before it connects or listens
 * @sock: new; what it is set to its children inherit
 */
void mpa_sock_prepare(struct socket *sock)
{
	struct sock *sk = sock->sk;

	sock_set_reuseaddr(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_nodelay(sk);
	tcp_sock_set_keepidle(sk, 30);
	tcp_sock_set_keepintvl(sk, 10);
	tcp_sock_set_keepcnt(sk, 6);
	lock_sock(sk);
	/* no setsockopt() has these; it is sent with BH off, whoever does */
	sk->sk_allocation = GFP_ATOMIC;
	sk->sk_use_task_frag = false;
	/* a peer's urgent pointer must not hide octets */
	sock_set_flag(sk, SOCK_URGINLINE);
	/* SO_RCVBUF would end TCP's own tuning of it, and stops at rmem_max */
	if (sk->sk_rcvbuf < MPA_RCVBUF_LEAST)
		WRITE_ONCE(sk->sk_rcvbuf, MPA_RCVBUF_LEAST);
	release_sock(sk);
}

/**
 * mpa_sock_attach - hear of what happens to the connection's socket
 * @c: the connection; the callbacks hold it until mpa_sock_release()
 *
 * What happened before is not told again.
 */
void mpa_sock_attach(struct mpa_conn *c)
{
	ddp_sock_own(c->sock->sk, c, &calls, &c->before);
}

/*
 * TCP looks for memory once, and without any goes on as if the FIN were sent: no
 * peer would ever hear of the end.  What is there now it finds, BH being off.
 */
static bool has_room_for_fin(struct sock *sk)
{
	struct sk_buff *skb;

	/* it goes with the last of these */
	if (tcp_write_queue_tail(sk))
		return true;
	skb = alloc_skb_fclone(MAX_TCP_HEADER, GFP_ATOMIC | __GFP_NOWARN);
	kfree_skb(skb);
	return skb;
}

/* Return: false: no memory for it, and nothing has been done */
static bool send_fin(struct sock *sk)
{
	bool ok;

	if (sk->sk_state != TCP_ESTABLISHED && sk->sk_state != TCP_CLOSE_WAIT)
		return true;
	local_bh_disable();
	ok = has_room_for_fin(sk);
	/* as kernel_sock_shutdown(), which would lock it, and turn BH on */
	if (ok) {
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
		sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	}
	local_bh_enable();
	return ok;
}

/*
 * The last that anybody asks of the socket.  The memory that was there a moment ago
 * may be gone: TCP has a state without a FIN then, in which it can still reset.
 */
static bool ends_in_vain(struct sock *sk)
{
	const bool open = sk->sk_state == TCP_ESTABLISHED;
	const u32 seq = tcp_sk(sk)->write_seq;

	/* what has come just now makes a reset of it anyhow */
	if (tcp_inq(sk))
		return false;
	if (!send_fin(sk))
		return true;
	return open && tcp_sk(sk)->write_seq == seq &&
	       (sk->sk_state == TCP_FIN_WAIT1 || sk->sk_state == TCP_FIN_WAIT2);
}

static void unlock_as_softirq(struct sock *sk)
{
	bh_unlock_sock(sk);
	local_bh_enable();
}

/*
 * Nothing that arrives meanwhile waits in the socket's backlog for the one who has the
 * socket.  What waits there its worker would receive, and account to the program's
 * control group: as a process that must not write pages out, for which the group, once
 * it is full of what could be swapped, has a program killed.  A softirq just accounts.
 */
static void lock_as_softirq(struct sock *sk)
{
	for (;;) {
		local_bh_disable();
		bh_lock_sock(sk);
		if (!sock_owned_by_user(sk))
			return;
		unlock_as_softirq(sk);
		lock_sock(sk);
		release_sock(sk);
	}
}

/*
 * What nobody will read makes TCP reset the peer, and throw away what is on its way to
 * that.  Where nothing is the reset is right: the peer is not to think that all it has
 * sent was received.
 */
static void drop_unread(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;
	u32 n;

	lock_as_softirq(sk);
	n = tcp_inq(sk);
	if (n && !READ_ONCE(c->rx_waits) && !tcp_rtx_and_write_queues_empty(sk))
		tcp_read_done(sk, n);
	unlock_as_softirq(sk);
}

/**
 * mpa_sock_release - the end of the connection's socket
 * @c: the connection, nobody transmitting any more
 * @abort: reset it
 */
void mpa_sock_release(struct mpa_conn *c, bool abort)
{
	struct socket *sock = c->sock;

	if (!sock)
		return;
	ddp_sock_disown(sock->sk, &c->before);
	if (!abort)
		drop_unread(c);
	/* a peer that is not reset would wait for a minute and a half */
	lock_sock(sock->sk);
	abort = abort || ends_in_vain(sock->sk);
	release_sock(sock->sk);
	if (abort)
		sock_no_linger(sock->sk);
	spin_lock_bh(&c->look_lock);
	c->retransmits += tcp_sk(sock->sk)->total_retrans;
	c->sock = NULL;
	spin_unlock_bh(&c->look_lock);
	sock_release(sock);
}

static int new_socket(struct mpa_conn *c)
{
	struct socket *sock;
	int err = ddp_sock_make(c->net, ddp_sock_domain(c->net, c->ifindex),
				c->ss.remote.ss_family, IPPROTO_TCP, &sock);

	if (err)
		return err;
	mpa_sock_prepare(sock);
	ddp_sock_set_tos(sock->sk, c->tos);
	spin_lock_bh(&c->look_lock);
	c->sock = sock;
	spin_unlock_bh(&c->look_lock);
	mpa_sock_attach(c);
	return 0;
}

static int mpa_connect_from(struct mpa_conn *c, const struct sockaddr_storage *local)
{
	int err = new_socket(c);

	if (err)
		return err;
	err = ddp_sock_bind(c->sock, local);
	if (!err)
		err = ddp_sock_connect(c->sock, &c->ss.remote);
	if (err)
		mpa_sock_release(c, true);
	return err;
}

/**
 * mpa_sock_connect - begin to connect to the session's remote address
 * @c: the connection, without a socket
 * @local: where from: the port that the ULP chose, or any if TCP has it in use
 *
 * A connection to the same place that is over for the program and not for TCP has it
 * in use, too, which connect() finds.  If it is not the port this is said once more.
 *
 * Return: 0, then an MPA_EV_STATE tells how it went; or an error.
 */
int mpa_sock_connect(struct mpa_conn *c, const struct sockaddr_storage *local)
{
	struct sockaddr_storage any = *local;
	int err = mpa_connect_from(c, local);

	if (err != -EADDRINUSE && err != -EADDRNOTAVAIL)
		return err;
	ddp_addr_set_port(&any, 0);
	return mpa_connect_from(c, &any);
}

/**
 * mpa_sock_fate - how the socket fares
 * @c: the connection
 * @err: negative errno if MPA_SOCK_LOST
 *
 * Return: see enum mpa_fate.
 */
enum mpa_fate mpa_sock_fate(struct mpa_conn *c, int *err)
{
	struct sock *sk = c->sock->sk;
	enum mpa_fate fate = MPA_SOCK_OPEN;

	lock_as_softirq(sk);
	*err = -READ_ONCE(sk->sk_err) ?: c->lost;
	if (sk->sk_state == TCP_SYN_SENT || sk->sk_state == TCP_SYN_RECV)
		fate = MPA_SOCK_COMING;
	else if (*err || (sk->sk_state == TCP_CLOSE &&
			  !(sk->sk_shutdown & RCV_SHUTDOWN)))
		fate = MPA_SOCK_LOST;
	else if (sk->sk_state == TCP_CLOSE)
		fate = MPA_SOCK_CLOSED;
	else if (sk->sk_shutdown & RCV_SHUTDOWN)
		fate = MPA_SOCK_PEER_DONE;
	unlock_as_softirq(sk);
	return fate;
}

/**
 * mpa_sock_quiet - has nothing happened to the socket but that it was connected?
 * @c: the connection
 *
 * Return: whether its callbacks, which stand, will hear of all that does.
 */
bool mpa_sock_quiet(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;
	bool quiet;

	lock_as_softirq(sk);
	quiet = sk->sk_state == TCP_ESTABLISHED && !tcp_inq(sk);
	unlock_as_softirq(sk);
	return quiet;
}

/**
 * mpa_sock_cut - is there an FPDU of which the end never comes?
 * @c: the connection, in Full Operation; its peer has sent a FIN, and all before that
 *	has been looked at
 *
 * Return: whether octets are left that make no FPDU.
 */
bool mpa_sock_cut(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;
	bool cut;

	lock_as_softirq(sk);
	cut = !c->rx_stopped && tcp_inq(sk);
	unlock_as_softirq(sk);
	return cut;
}

/**
 * mpa_sock_read - read without waiting, before Full Operation
 * @c: the connection
 * @buf: where to
 * @len: at most
 *
 * Return: octets, 0 at the end, -EAGAIN or another error.
 */
int mpa_sock_read(struct mpa_conn *c, void *buf, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	struct kvec vec = { .iov_base = buf, .iov_len = len };

	return kernel_recvmsg(c->sock, &msg, &vec, 1, len, MSG_DONTWAIT);
}

/**
 * mpa_sock_write - write without waiting, before Full Operation
 * @c: the connection
 * @page: it holds a start-up frame, and is TCP's until the peer has the frame
 * @from: what is left of the frame begins here; a fresh socket has room for it
 * @len: its length
 *
 * Not copied where TCP takes pages: it would get 32 KiB for that, and keep them as
 * long as the socket.
 *
 * Return: octets that TCP has taken, or an error: -EAGAIN if memory is short.
 */
int mpa_sock_write(struct mpa_conn *c, struct page *page, u32 from, u32 len)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | COMPAT_SPLICE_PAGES,
	};
	struct bio_vec vec;

	bvec_set_page(&vec, page, len, from);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	return sock_sendmsg(c->sock, &msg);
}

/**
 * mpa_sock_shutdown - send our FIN
 * @c: the connection
 *
 * Return: false: there is no memory for it now, and nothing has been done.
 */
bool mpa_sock_shutdown(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;
	bool ok;

	lock_as_softirq(sk);
	ok = send_fin(sk);
	unlock_as_softirq(sk);
	return ok;
}

/**
 * mpa_sock_acked - how far the peer has taken what TCP has of us
 * @c: the connection
 * @all: whether that is all but our FIN: TCP goes on with that alone, whoever has gone.
 *	It tells as a change of state when the FIN is acknowledged, and no one says so of
 *	what is in front of it
 *
 * Return: TCP's sequence number of the octet that is next.
 */
u32 mpa_sock_acked(struct mpa_conn *c, bool *all)
{
	struct sock *sk = c->sock->sk;
	u32 acked;

	lock_as_softirq(sk);
	acked = tcp_sk(sk)->snd_una;
	*all = tcp_sk(sk)->write_seq - acked <= !!(sk->sk_shutdown & SEND_SHUTDOWN);
	unlock_as_softirq(sk);
	return acked;
}

/**
 * mpa_sock_full - Full Operation: from here on the callback hands FPDUs up
 * @c: the connection, its stream set
 */
void mpa_sock_full(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;

	lock_as_softirq(sk);
	c->rx_full = true;
	unlock_as_softirq(sk);
}

/**
 * mpa_sock_forget - nothing is handed up from here on
 * @c: the connection
 */
void mpa_sock_forget(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;

	lock_as_softirq(sk);
	WRITE_ONCE(c->rx_stopped, true);
	c->stream = NULL;
	unlock_as_softirq(sk);
}

/**
 * mpa_sock_receive - receive from the worker
 * @c: the connection
 *
 * Return: whether there is more.
 */
bool mpa_sock_receive(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;
	bool more;

	lock_as_softirq(sk);
	more = mpa_rx(c, sk);
	unlock_as_softirq(sk);
	return more;
}

/**
 * mpa_sock_emss - the longest FPDU that makes one TCP segment now
 * @c: the connection
 *
 * Return: octets.
 */
u32 mpa_sock_emss(const struct mpa_conn *c)
{
	return READ_ONCE(tcp_sk(c->sock->sk)->mss_cache);
}

/**
 * mpa_sock_note_cpu - the consumer runs here
 * @c: the connection; the caller owns its transmit side
 *
 * As sendmsg() does: with Receive Flow Steering, what comes for the connection is
 * received on this CPU from now on.
 */
void mpa_sock_note_cpu(const struct mpa_conn *c)
{
	sock_rps_record_flow(c->sock->sk);
}

/*
 * Another CPU may have it for as long as it takes to receive, and is waited for: a
 * program may answer what has just arrived before that CPU has let go.  Who has it as
 * a process may sleep.
 */
static bool lock_for_send(struct sock *sk)
{
	bh_lock_sock(sk);
	if (!sock_owned_by_user(sk))
		return true;
	bh_unlock_sock(sk);
	return false;
}

/*
 * TCP hands an error out once, and whoever looks how the socket fares wants it, too:
 * it stays there.  Without one -EPIPE only says that our FIN is sent.
 */
static int send_or_lost(struct mpa_conn *c, struct msghdr *msg, u32 len)
{
	struct sock *sk = c->sock->sk;
	int n = -READ_ONCE(sk->sk_err);

	if (n)
		return n;
	n = tcp_sendmsg_locked(sk, msg, len);
	/* under the socket's lock, as it is looked at */
	if (n < 0 && n != -EAGAIN && n != -ENOMEM && n != -EPIPE)
		c->lost = n;
	return n;
}

/* Without anything in TCP's queues no ACK will make room */
static bool out_of_memory(const struct sock *sk, int n)
{
	return n == -EAGAIN && tcp_rtx_and_write_queues_empty(sk);
}

/**
 * mpa_sock_send - hand the batch to TCP
 * @c: the connection; the caller owns its transmit side, BH off
 *
 * One call for all FPDUs of the batch, and the end of a batch is the end of a
 * TCP segment, so that FPDUs stay aligned with segments (RFC 5044 5.1).
 *
 * Return: 0 when all is taken; -EAGAIN when TCP has no more room, its
 * write_space will come; -ENOMEM when it will not, for memory is short; -EBUSY
 * when a process has the socket; another error when the connection is gone.
 */
int mpa_sock_send(struct mpa_conn *c)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR |
			     COMPAT_SPLICE_PAGES,
	};
	struct sock *sk = c->sock->sk;
	struct mpa_out *o = &c->out;
	int n;

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, o->vec, o->n, o->len);
	iov_iter_advance(&msg.msg_iter, o->sent);

	if (!lock_for_send(sk))
		return -EBUSY;
	n = send_or_lost(c, &msg, o->len - o->sent);
	if (out_of_memory(sk, n))
		n = -ENOMEM;
	bh_unlock_sock(sk);

	trace_mpa_batch_sent(c, n);
	if (n < 0)
		return n;
	o->sent += n;
	return o->sent == o->len ? 0 : -EAGAIN;
}

/**
 * mpa_sock_wait - wait until no process has the socket
 * @c: the connection
 *
 * One may have it again when this returns.
 */
void mpa_sock_wait(struct mpa_conn *c)
{
	lock_sock(c->sock->sk);
	release_sock(c->sock->sk);
}
