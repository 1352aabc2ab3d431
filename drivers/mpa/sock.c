// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Operations on the socket of a connection. rx.c receives FPDUs from the socket. */
#include <linux/net.h>
#include <net/rps.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <trace/events/sock.h>

#include <ddp/addr.h>

#include "internal.h"
#include "trace.h"

/*
 * Get the connection of a socket, in a callback of TCP. When TCP calls a callback, it has
 * locked the socket: a softirq holds the spinlock of the socket, or a process owns the socket.
 * mpa_sock_release() clears sk_user_data only while it holds the spinlock and no process owns
 * the socket. So it waits for the callback, and the connection is valid until the callback
 * returns. Return: the connection; NULL after mpa_sock_release().
 */
static struct mpa_conn *get_conn(const struct sock *sk)
{
	sock_owned_by_me(sk);
	return sk->sk_user_data;
}

/*
 * Receive FPDUs directly if rx_in_callback is set, and let the worker receive what is left. A
 * process that releases the socket may find packets in its backlog, and TCP then calls this
 * function with BH on. The receive path needs BH off, so the worker receives these packets.
 */
static void mpa_data_ready(struct sock *sk)
{
	struct mpa_conn *c = get_conn(sk);
	bool more = true;

	trace_sk_data_ready(sk);
	if (!c)
		return;
	if (c->rx_in_callback && in_softirq())
		more = mpa_rx_receive_or_discard(c, sk);
	if (more)
		mpa_conn_set_event(c, MPA_EV_RX);
}

static void mpa_state_change(struct sock *sk)
{
	struct mpa_conn *c = get_conn(sk);

	if (c)
		mpa_conn_set_event(c, MPA_EV_STATE);
}

static void mpa_write_space(struct sock *sk)
{
	struct mpa_conn *c = get_conn(sk);

	if (!c || !sk_stream_is_writeable(sk))
		return;
	/* do what the replaced callback, sk_stream_write_space(), would do */
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	mpa_tx_kick(c, false);
}

static const struct ddp_sock_callbacks calls = {
	.data_ready	= mpa_data_ready,
	.state_change	= mpa_state_change,
	.write_space	= mpa_write_space,
};

/**
 * mpa_sock_set_options - configure a socket before it connects or listens
 * @sock: the new socket; accepted sockets inherit the settings
 */
void mpa_sock_set_options(struct socket *sock)
{
	struct sock *sk = sock->sk;

	sock_set_reuseaddr(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_nodelay(sk);
	tcp_sock_set_keepidle(sk, 30);
	tcp_sock_set_keepintvl(sk, 10);
	tcp_sock_set_keepcnt(sk, 6);
	lock_sock(sk);
	/* TCP must not sleep for memory, because callers of mpa_sock_send_batch() have BH off */
	sk->sk_allocation = GFP_ATOMIC;
	compat_sk_avoid_task_frag(sk);
	/* without this flag, a peer's urgent pointer would remove a byte from the stream */
	sock_set_flag(sk, SOCK_URGINLINE);
	release_sock(sk);
}

/**
 * mpa_sock_install_callbacks - install our callbacks on the connection's socket
 * @c: the connection; mpa_conn_new() has taken a reference for the callbacks
 *
 * TCP does not call the callbacks for data or changes of state that came before this call.
 * If TCP is connected, the caller must call mpa_sock_is_established_and_empty() to detect
 * these.
 */
void mpa_sock_install_callbacks(struct mpa_conn *c)
{
	mpa_sock_lock(c);
	ddp_sock_set_callbacks(c->sock->sk, c, &calls, &c->orig_callbacks);
	mpa_sock_unlock(c);
}

static void unlock_as_softirq(struct sock *sk)
{
	bh_unlock_sock(sk);
	local_bh_enable();
}

/*
 * Lock the socket as a softirq does: take only its spinlock, with BH off.
 *
 * If the worker owned the socket through lock_sock(), arriving data would go to the
 * socket's backlog. The worker would process the backlog and charge the data to the
 * program's control group. At the limit of the group, the kernel must reclaim memory. But
 * the worker may not start I/O (memalloc_noio_save()), so it cannot swap pages out, and
 * the OOM killer would kill a process of the group. In softirq the data is charged without
 * reclaim, and without the OOM killer.
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
 * Take the spinlock of the socket, unless a process owns the socket. The caller must have
 * BH off. Spin while another CPU receives and holds the spinlock, so that a program can respond to
 * received data without delay. Do not wait for a process that owns the socket,
 * because it may sleep. Return: true if locked, false if a process owns the socket.
 */
static bool trylock_without_waiting(struct sock *sk)
{
	bh_lock_sock(sk);
	if (!sock_owned_by_user(sk))
		return true;
	bh_unlock_sock(sk);
	return false;
}

static int create_conn_socket(struct mpa_conn *c, int vrf, const struct ddp_sock_owner *owner)
{
	struct socket *sock;
	int err = ddp_sock_create(c->net, vrf, c->ss.remote.ss_family, IPPROTO_TCP, owner, &sock);

	if (err)
		return err;
	mpa_sock_set_options(sock);
	ddp_sock_set_tos(sock->sk, c->tos);
	spin_lock_bh(&c->query_lock);
	c->sock = sock;
	spin_unlock_bh(&c->query_lock);
	mpa_sock_install_callbacks(c);
	return 0;
}

static int mpa_connect_from(struct mpa_conn *c, const struct sockaddr_storage *local,
			    const struct ddp_sock_owner *owner)
{
	int err = create_conn_socket(c, ddp_addr_get_vrf(c->net, c->ifindex, local), owner);

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
 * mpa_sock_connect - start to connect to the session's remote address
 * @c: the connection, without a socket
 * @local: local address, with the port that the ULP has chosen
 * @owner: task that connects
 *
 * If the port is in use, retry and let TCP choose another port. bind() fails if
 * another socket uses the port, and connect() fails if TCP has not ended an earlier
 * connection from this port to the same destination yet. If the port was not the cause
 * of the error, the retry returns the same error.
 *
 * Return: 0 if MPA_EV_STATE will report the result, or a negative errno.
 */
int mpa_sock_connect(struct mpa_conn *c, const struct sockaddr_storage *local,
		     const struct ddp_sock_owner *owner)
{
	struct sockaddr_storage any = *local;
	int err = mpa_connect_from(c, local, owner);

	if (err != -EADDRINUSE && err != -EADDRNOTAVAIL)
		return err;
	ddp_addr_set_port(&any, 0);
	return mpa_connect_from(c, &any, owner);
}

/**
 * mpa_sock_get_state - get the state of the socket
 * @c: the connection
 * @err: set to the negative errno of the socket, or to 0 if there is no error
 *
 * Return: the state, see enum mpa_sock_state.
 */
enum mpa_sock_state mpa_sock_get_state(struct mpa_conn *c, int *err)
{
	struct sock *sk = c->sock->sk;
	enum mpa_sock_state state = MPA_SOCK_OPEN;

	lock_as_softirq(sk);
	*err = -READ_ONCE(sk->sk_err) ?: c->send_err;
	if (sk->sk_state == TCP_SYN_SENT || sk->sk_state == TCP_SYN_RECV)
		state = MPA_SOCK_CONNECTING;
	else if (*err || (sk->sk_state == TCP_CLOSE &&
			  !(sk->sk_shutdown & RCV_SHUTDOWN)))
		state = MPA_SOCK_LOST;
	else if (sk->sk_state == TCP_CLOSE)
		state = MPA_SOCK_CLOSED;
	else if (sk->sk_shutdown & RCV_SHUTDOWN)
		state = MPA_SOCK_PEER_DONE;
	unlock_as_softirq(sk);
	return state;
}

/**
 * mpa_sock_is_established_and_empty - check that nothing arrived before the callbacks
 * @c: the connection, on whose socket our callbacks are installed
 *
 * Return: true if TCP is established and no data is queued. False if data, a FIN or
 * a reset may have arrived before the callbacks were installed; the caller must then
 * set an event for the worker.
 */
bool mpa_sock_is_established_and_empty(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;
	bool quiet;

	lock_as_softirq(sk);
	quiet = sk->sk_state == TCP_ESTABLISHED && !tcp_inq(sk);
	unlock_as_softirq(sk);
	return quiet;
}

/**
 * mpa_sock_has_partial_fpdu - check whether the peer's data ends inside an FPDU
 * @c: the connection, in Full Operation; TCP has received the peer's FIN, and
 *	all complete FPDUs before the FIN are processed
 *
 * Return: true if unread bytes are left, which must be an incomplete FPDU; false if
 * no bytes are left, or all received data is discarded.
 */
bool mpa_sock_has_partial_fpdu(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;
	bool partial;

	lock_as_softirq(sk);
	partial = !c->rx_stopped && tcp_inq(sk);
	unlock_as_softirq(sk);
	return partial;
}

/**
 * mpa_sock_read - read without waiting, before Full Operation
 * @c: the connection
 * @buf: destination
 * @len: maximum number of bytes
 *
 * Return: number of bytes read; 0 if the peer has closed; -EAGAIN if no bytes
 * have arrived yet; or another negative errno.
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
 * @page: page with a start-up frame; TCP keeps a reference until the peer has
 *	acknowledged the frame
 * @from: offset of the first byte that TCP has not accepted yet
 * @len: number of bytes that TCP has not accepted yet; the send buffer of a new
 *	socket has space for them
 *
 * With COMPAT_SPLICE_PAGES, TCP uses @page and does not copy the frame. For a copy
 * TCP would allocate 32 KiB and keep this memory as long as the socket exists.
 *
 * Return: number of bytes accepted by TCP; -EAGAIN if no memory is available; or
 * another negative errno.
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
 * mpa_sock_lock - take the spinlock of the socket
 * @c: the connection, which has a socket
 *
 * Context: process, with BH on; sleeps while a process owns the socket.
 */
void mpa_sock_lock(struct mpa_conn *c)
{
	lock_as_softirq(c->sock->sk);
}

/**
 * mpa_sock_trylock - take the spinlock of the socket, unless a process owns the socket
 * @c: the connection, which has a socket
 *
 * Context: BH on; does not sleep.
 *
 * Return: true if taken, false if a process owns the socket.
 */
bool mpa_sock_trylock(struct mpa_conn *c)
{
	local_bh_disable();
	if (trylock_without_waiting(c->sock->sk))
		return true;
	local_bh_enable();
	return false;
}

/**
 * mpa_sock_unlock - release the spinlock of the socket
 * @c: the connection; the caller must hold the spinlock of its socket
 */
void mpa_sock_unlock(struct mpa_conn *c)
{
	unlock_as_softirq(c->sock->sk);
}

/**
 * mpa_sock_enable_rx - enlarge the receive buffer, and let the callback receive FPDUs
 * @c: the connection, in Full Operation; its stream is set
 */
void mpa_sock_enable_rx(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;

	lock_as_softirq(sk);
	__mpa_sock_set_full_rcvbuf(sk);
	c->rx_in_callback = true;
	unlock_as_softirq(sk);
}

/**
 * mpa_sock_stop_rx - stop passing received data to the stream
 * @c: the connection
 */
void mpa_sock_stop_rx(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;

	lock_as_softirq(sk);
	WRITE_ONCE(c->rx_stopped, true);
	c->stream = NULL;
	unlock_as_softirq(sk);
}

/**
 * mpa_sock_receive_fpdus - receive FPDUs in the worker
 * @c: the connection
 *
 * Return: true if the socket has more data than one call receives, false otherwise.
 */
bool mpa_sock_receive_fpdus(struct mpa_conn *c)
{
	struct sock *sk = c->sock->sk;
	bool more;

	lock_as_softirq(sk);
	more = mpa_rx_receive_or_discard(c, sk);
	unlock_as_softirq(sk);
	return more;
}

/**
 * mpa_sock_get_emss - get TCP's effective maximum segment size
 * @c: the connection
 *
 * Return: EMSS in bytes, the length of the longest FPDU that fits into a TCP
 * segment.
 */
u32 mpa_sock_get_emss(const struct mpa_conn *c)
{
	return READ_ONCE(tcp_sk(c->sock->sk)->mss_cache);
}

/**
 * mpa_sock_get_tso_max - get the maximum length of an skb that TCP sends
 * @c: the connection
 *
 * Return: the length in bytes. TCP sends whole segments, so its skbs are shorter, unless the
 * length is a multiple of the EMSS; but an skb of one segment may be longer.
 */
u32 mpa_sock_get_tso_max(const struct mpa_conn *c)
{
	return READ_ONCE(c->sock->sk->sk_gso_max_size);
}

/**
 * mpa_sock_record_flow - steer received packets to this CPU
 * @c: the connection; the caller must own its transmit side
 *
 * If Receive Flow Steering is enabled, packets of the connection are then
 * received on the CPU of the posting program, as after a sendmsg() on this CPU.
 */
void mpa_sock_record_flow(const struct mpa_conn *c)
{
	sock_rps_record_flow(c->sock->sk);
}

/*
 * Pass @len bytes to TCP, and store a fatal error for mpa_sock_get_state(). TCP's
 * send function would return sk_err and clear it, so check sk_err before, without
 * clearing it. If sk_err is 0, -EPIPE only means that our FIN is already sent.
 */
static int send_and_record_error(struct mpa_conn *c, struct msghdr *msg, u32 len)
{
	struct sock *sk = c->sock->sk;
	int n = -READ_ONCE(sk->sk_err);

	if (n)
		return n;
	n = tcp_sendmsg_locked(sk, msg, len);
	/* send_err is written and read with the spinlock of the socket held */
	if (n < 0 && n != -EAGAIN && n != -ENOMEM && n != -EPIPE)
		c->send_err = n;
	return n;
}

/*
 * Check whether TCP has refused data (-EAGAIN) for lack of memory: its send queues are empty, so
 * the send buffer is not full. No ACK will free space, so TCP will not call mpa_write_space().
 */
static bool is_short_of_memory(const struct sock *sk, int n)
{
	return n == -EAGAIN && tcp_rtx_and_write_queues_empty(sk);
}

/**
 * mpa_sock_send_batch - pass the batch to TCP
 * @c: the connection; the caller must own its transmit side and have BH off
 *
 * The end of a batch is the end of a TCP segment (MSG_EOR), so that FPDUs stay
 * aligned with segments (RFC 5044 5.1).
 *
 * Return: 0 if TCP has accepted the whole batch; -EAGAIN if the send buffer is full,
 * and TCP will call mpa_write_space(); -ENOMEM if no memory is available, and TCP
 * will not call mpa_write_space(); -EBUSY if a process owns the socket; another
 * negative errno if the connection is lost.
 */
int mpa_sock_send_batch(struct mpa_conn *c)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR |
			     COMPAT_SPLICE_PAGES,
	};
	struct sock *sk = c->sock->sk;
	struct mpa_out *o = &c->out;
	int n;

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, o->vec, o->n, o->len);
	if (o->sent)
		iov_iter_advance(&msg.msg_iter, o->sent);
	if (!trylock_without_waiting(sk))
		return -EBUSY;
	n = send_and_record_error(c, &msg, o->len - o->sent);
	if (is_short_of_memory(sk, n))
		n = -ENOMEM;
	bh_unlock_sock(sk);

	trace_mpa_batch_sent(c, n);
	if (n < 0)
		return n;
	o->sent += n;
	return o->sent == o->len ? 0 : -EAGAIN;
}

/**
 * mpa_sock_wait_unowned - wait until no process owns the socket
 * @c: the connection
 *
 * Context: process, may sleep. On return a process may own the socket again.
 */
void mpa_sock_wait_unowned(struct mpa_conn *c)
{
	lock_sock(c->sock->sk);
	release_sock(c->sock->sk);
}
