// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connected socket: its lifetime, its state and sending.
 *
 * One-to-one style: each socket is one association. Only the association's
 * worker sends, and receives (recv.c).
 */
#include <linux/net.h>
#include <linux/sctp.h>
#include <net/sctp/kernel.h>
#include <net/sctp/sctp.h>
#include <net/sctp/sm.h>
#include <net/sctp/structs.h>
#include <net/sock.h>
#include <trace/events/sock.h>

#include <ddp/addr.h>

#include "admission.h"
#include "internal.h"

static void sddp_data_ready(struct sock *sk)
{
	struct sddp_assoc *a;

	trace_sk_data_ready(sk);
	read_lock_bh(&sk->sk_callback_lock);
	a = sk->sk_user_data;
	if (a)
		sddp_assoc_kick(a);
	read_unlock_bh(&sk->sk_callback_lock);
}

/*
 * A peer that has restarted must not get data of the earlier association. Take
 * away the send buffer while the socket is still locked, so that SCTP accepts
 * nothing more. The worker then ends the association: the error that a send
 * gets meanwhile does not matter.
 */
static void __block_send(const struct sddp_assoc *a, struct sock *sk)
{
	const struct sctp_association *asoc = sctp_sk_asoc(sk);

	if (a->peer_tag && asoc && sddp_sock_peer_restarted(a, asoc))
		WRITE_ONCE(sk->sk_sndbuf, 0);
}

static void sddp_state_change(struct sock *sk)
{
	struct sddp_assoc *a;

	read_lock_bh(&sk->sk_callback_lock);
	a = sk->sk_user_data;
	if (a) {
		__block_send(a, sk);
		sddp_assoc_kick(a);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static const struct ddp_sock_calls calls = {
	.data_ready	= sddp_data_ready,
	.state_change	= sddp_state_change,
};

/*
 * Wait queue callback, for acknowledgements and for ICMP errors that report an
 * unreachable peer. SCTP calls no socket callback for these: it only wakes up
 * the tasks on the socket's wait queue.
 */
static int sddp_sock_wakeup(struct wait_queue_entry *wait, unsigned int mode,
			    int flags, void *key)
{
	struct sddp_assoc *a = container_of(wait, struct sddp_assoc, space);

	if (key_to_poll(key) & EPOLLERR)
		sddp_assoc_kick(a);
	if (!(key_to_poll(key) & EPOLLOUT))
		return 0;
	if (READ_ONCE(a->sndbuf_full) || READ_ONCE(a->unsent_full) || READ_ONCE(a->watch_acks)) {
		WRITE_ONCE(a->sndbuf_full, false);
		WRITE_ONCE(a->unsent_full, false);
		sddp_assoc_kick(a);
	}
	return 0;
}

/**
 * sddp_sock_set - set an SCTP option of a socket
 * @sock: the socket
 * @name: the option
 * @value: its value
 * @len: length of the value, bytes
 *
 * Return: 0 or a negative errno.
 */
int sddp_sock_set(struct socket *sock, int name, void *value, int len)
{
	return sock->ops->setsockopt(sock, SOL_SCTP, name,
				     KERNEL_SOCKPTR(value), len);
}

/**
 * sddp_sock_probe - check that the kernel supports SCTP
 *
 * Return: 0; -EPROTONOSUPPORT or another negative errno if SCTP is not
 * available.
 */
int sddp_sock_probe(void)
{
	struct socket *sock;
	int err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
				   IPPROTO_SCTP, &sock);

	if (!err)
		sock_release(sock);
	return err;
}

/*
 * Set an option, if this SCTP has it. Return: 0, or -ENOMEM, which must not be
 * mistaken for an option that SCTP lacks.
 */
static int set_optional(struct socket *sock, int name, void *value, int len)
{
	return sddp_sock_set(sock, name, value, len) == -ENOMEM ? -ENOMEM : 0;
}

static int set_timers(struct socket *sock)
{
	/* a peer may delay its SACK by 200 ms */
	struct sctp_rtoinfo rto = {
		.srto_initial = 1000, .srto_min = 300, .srto_max = 8000,
	};
	struct sctp_assocparams params = {
		.sasoc_asocmaxrxt = SDDP_PEER_TIMEOUTS,
	};
	struct sctp_paddrparams path = {
		.spp_hbinterval = 5000,
		.spp_pathmaxrxt = SDDP_PATH_TIMEOUTS,
		.spp_sackdelay = 20,
		.spp_flags = SPP_HB_ENABLE | SPP_SACKDELAY_ENABLE,
	};
	/* use another path, if there is one, after the first timeout */
	struct sctp_paddrthlds thresholds = { .spt_pathpfthld = 0 };

	path.spp_address.ss_family = sock->sk->sk_family;
	thresholds.spt_address.ss_family = sock->sk->sk_family;
	return set_optional(sock, SCTP_RTOINFO, &rto, sizeof(rto)) ?:
	       set_optional(sock, SCTP_ASSOCINFO, &params, sizeof(params)) ?:
	       set_optional(sock, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path)) ?:
	       set_optional(sock, SCTP_PEER_ADDR_THLDS, &thresholds, sizeof(thresholds));
}

/**
 * sddp_sock_prepare - set the options of a socket before it connects or listens
 * @sock: new; accepted sockets inherit its options
 * @streams: number of streams to request, equal in both directions (RFC 5043 8)
 * @listens: true for a listening socket, whose peers are unaccepted
 *
 * Return: 0, or -ENOMEM, because SCTP allocates a copy of each option.
 */
int sddp_sock_prepare(struct socket *sock, u16 streams, bool listens)
{
	struct sctp_setadaptation adaptation = { SDDP_ADAPTATION };
	struct sctp_assoc_value none = {};
	struct sctp_initmsg init = {
		.sinit_num_ostreams = streams,
		.sinit_max_instreams = streams,
		.sinit_max_attempts = 6,
		.sinit_max_init_timeo = 8000,
	};
	int on = 1, err;

	/* a socket that connects needs its port alone: see sddp_bind_local() */
	if (listens)
		sock_set_reuseaddr(sock->sk);
	sddp_sock_init_buffers(sock, listens);
	err = set_optional(sock, SCTP_ADAPTATION_LAYER, &adaptation, sizeof(adaptation)) ?:
	      set_optional(sock, SCTP_INITMSG, &init, sizeof(init)) ?:
	      set_optional(sock, SCTP_NODELAY, &on, sizeof(on));
	if (err)
		return err;
	/* the peer's addresses are checked once, so none may be added later */
	return set_optional(sock, SCTP_ASCONF_SUPPORTED, &none, sizeof(none)) ?:
	       set_timers(sock);
}

/**
 * sddp_sock_share_cookie - let an accepted socket verify its listener's cookies
 * @child: the accepted socket
 * @listener: the listening socket
 *
 * A peer that has not received the COOKIE ACK sends its COOKIE ECHO again. SCTP
 * verifies that with the accepted socket's own key, and would drop it each
 * time.
 */
void sddp_sock_share_cookie(struct socket *child, const struct socket *listener)
{
	struct sock *sk = child->sk;

	lock_sock(sk);
	sctp_sk_share_cookie_key(sk, listener->sk);
	release_sock(sk);
}

/**
 * sddp_sock_attach - set the callbacks of the association's socket
 * @a: the association; sddp_sock_release() removes them
 *
 * Earlier events are not notified: the caller has to check for them.
 */
void sddp_sock_attach(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;

	ddp_sock_set_calls(sk, a, &calls, &a->orig_calls);
	init_waitqueue_func_entry(&a->space, sddp_sock_wakeup);
	add_wait_queue(sk_sleep(sk), &a->space);
}

static void detach(struct sddp_assoc *a, struct sock *sk)
{
	if (sk->sk_user_data != a)
		return;
	remove_wait_queue(sk_sleep(sk), &a->space);
	ddp_sock_restore_calls(sk, &a->orig_calls);
}

/* a->lock protects a->sock for sddp_sock_query() */
static void set_sock(struct sddp_assoc *a, struct socket *sock)
{
	spin_lock_irq(&a->lock);
	a->sock = sock;
	spin_unlock_irq(&a->lock);
}

/**
 * sddp_sock_release - release the association's socket
 * @a: the association
 * @abort: true for an ABORT, false for a SHUTDOWN, which SCTP completes by
 *	itself
 */
void sddp_sock_release(struct sddp_assoc *a, bool abort)
{
	struct socket *sock = a->sock;

	if (!sock)
		return;
	detach(a, sock->sk);
	if (abort)
		sock_no_linger(sock->sk);
	set_sock(a, NULL);
	sock_release(sock);
}

/*
 * Set whether ICMP errors may end the association. They may during the
 * handshake, as in TCP.
 */
static void set_icmp_errors(struct socket *sock, int may)
{
	bool v4 = sock->sk->sk_family == AF_INET;

	sock->ops->setsockopt(sock, v4 ? SOL_IP : SOL_IPV6,
			      v4 ? IP_RECVERR : IPV6_RECVERR,
			      KERNEL_SOCKPTR(&may), sizeof(may));
}

/* Bind to the port that the ULP chose, or to any if SCTP has it in use */
static int bind_some_port(struct sddp_assoc *a)
{
	struct sockaddr_storage addr = a->from;
	int err = sddp_bind(a->sock, &addr, a->paths);

	if (err != -EADDRINUSE)
		return err;
	ddp_addr_set_port(&addr, 0);
	return sddp_bind(a->sock, &addr, a->paths);
}

/*
 * Of two associations with the same addresses and ports, SCTP finds only the
 * newer one. The peer takes that for a restart of the older. An
 * association's port stays in use after the program that chose it is gone. So
 * another connect must not get this port, but a later listener may. SCTP allows
 * the latter if both sockets have SO_REUSEADDR: this one sets it once it is
 * bound.
 */
static int sddp_bind_local(struct sddp_assoc *a)
{
	int err = bind_some_port(a);

	if (!err)
		sock_set_reuseaddr(a->sock->sk);
	return err;
}

/* Without a route SCTP goes on trying, and reports no error */
static bool has_route(struct socket *sock)
{
	struct sctp_association *asoc;
	bool has;

	lock_sock(sock->sk);
	asoc = sctp_sk_asoc(sock->sk);
	has = !asoc || asoc->peer.primary_path->dst;
	release_sock(sock->sk);
	return has;
}

/**
 * sddp_sock_connect - start making an association
 * @a: the association, without a socket
 *
 * Return: 0, after which the caller has to check the state, because the
 * association may be established already; or a negative errno, after which
 * sddp_sock_release() releases the socket, if there is one.
 */
int sddp_sock_connect(struct sddp_assoc *a)
{
	struct socket *sock;
	int err;

	err = ddp_sock_create(a->net, a->vrf, a->to.ss_family, IPPROTO_SCTP,
			      &sock);
	if (err)
		return err;
	set_sock(a, sock);
	err = sddp_sock_prepare(a->sock, a->streams_requested, false);
	if (err)
		return err;
	set_icmp_errors(a->sock, true);
	ddp_sock_set_tos(a->sock->sk, a->tos);
	err = sddp_bind_local(a);
	if (!err)
		err = ddp_sock_connect(a->sock, &a->to);
	if (!err && !has_route(a->sock))
		err = -ENETUNREACH;
	if (!err)
		sddp_sock_attach(a);
	return err;
}

/**
 * sddp_sock_peer_restarted - check whether the peer has restarted
 * @a: the association, established
 * @asoc: SCTP's association, which may have ended; its socket is locked
 *
 * After a restart the peer knows none of the sessions, and what it sends
 * belongs to none.
 *
 * Return: true if the peer has restarted, false otherwise.
 */
bool sddp_sock_peer_restarted(const struct sddp_assoc *a,
			      const struct sctp_association *asoc)
{
	return asoc->c.peer_vtag != a->peer_tag;
}

/*
 * SCTP recovers from errors such as a lack of memory, but leaves them in
 * sk_err. With -ECONNABORTED it has ended the association itself.
 */
static bool is_fatal(int err)
{
	return err == -ECONNABORTED || ddp_sock_reason(err, IW_OK) != IW_OK;
}

static enum sddp_sock_state __get_state(struct sddp_assoc *a, struct sock *sk, int err)
{
	struct sctp_association *asoc = sctp_sk_asoc(sk);

	/* a complete SHUTDOWN may be over before the worker runs */
	if (!asoc || asoc->state == SCTP_STATE_CLOSED)
		return a->phase == SDDP_UP && !is_fatal(err) ?
		       SDDP_SOCK_PEER_DONE : SDDP_SOCK_LOST;
	if (asoc->state < SCTP_STATE_ESTABLISHED)
		return is_fatal(err) ? SDDP_SOCK_LOST : SDDP_SOCK_CONNECTING;
	if (a->phase == SDDP_UP && sddp_sock_peer_restarted(a, asoc))
		return SDDP_SOCK_LOST;
	return asoc->state == SCTP_STATE_ESTABLISHED ? SDDP_SOCK_OPEN
						     : SDDP_SOCK_PEER_DONE;
}

/**
 * sddp_sock_get_state - get the state of the association's socket
 * @a: the association
 * @err: set to the negative errno if the state is SDDP_SOCK_LOST; may be 0
 *
 * Return: the state, see enum sddp_sock_state.
 */
enum sddp_sock_state sddp_sock_get_state(struct sddp_assoc *a, int *err)
{
	struct sock *sk = a->sock->sk;
	enum sddp_sock_state up_state;

	lock_sock(sk);
	*err = a->send_err ?: -READ_ONCE(sk->sk_err);
	up_state = __get_state(a, sk, *err);
	if (up_state == SDDP_SOCK_OPEN) {
		__sddp_sock_grow_sndbuf(a, sk);
		__sddp_path_set_timeouts(sctp_sk_asoc(sk));
	}
	release_sock(sk);
	return up_state;
}

/* An association with several local addresses is known by the first */
static void set_addrs(struct sddp_assoc *a)
{
	__be16 port;

	ddp_sock_get_addrs(a->sock, &a->local, &a->remote);
	if (a->from.ss_family != a->local.ss_family)
		return;
	port = ddp_addr_port(&a->local);
	a->local = a->from;
	ddp_addr_set_port(&a->local, port);
}

/* RFC 5043 11.1: DDP's procedures need its Adaptation Indication */
static enum iw_reason __check_peer(const struct sctp_association *asoc,
				   const struct sock *sk)
{
	if (!asoc)
		return IW_PEER_RESET;
	/*
	 * the peer may have restarted before the socket was accepted: queued
	 * chunks then are of the earlier association
	 */
	if (asoc->c.peer_ttag && !skb_queue_empty(&sk->sk_receive_queue))
		return IW_PEER_RESET;
	if (asoc->peer.adaptation_ind != SDDP_ADAPTATION)
		return IW_SCTP_ADAPTATION;
	if (asoc->peer.transport_count > SDDP_ADDRESSES_MAX)
		return IW_SCTP_ADDRESSES;
	return IW_OK;
}

/**
 * sddp_sock_established - read the properties of an established association
 * @a: the association; its limit and addresses are set
 *
 * Return: IW_OK, or the reason why it cannot carry sessions.
 */
enum iw_reason sddp_sock_established(struct sddp_assoc *a)
{
	struct socket *sock = a->sock;
	struct sctp_association *asoc;
	enum iw_reason why;

	/* ICMP errors no longer matter: SCTP must report no more of them */
	set_icmp_errors(sock, false);
	lock_sock(sock->sk);
	asoc = sctp_sk_asoc(sock->sk);
	why = __check_peer(asoc, sock->sk);
	if (asoc) {
		/* RFC 5043 8: only numbers that exist in both directions */
		WRITE_ONCE(a->limit, min(asoc->stream.outcnt,
					 asoc->stream.incnt));
		a->peer_tag = asoc->c.peer_vtag;
		a->acked = asoc->ctsn_ack_point;
		/* drop an ICMP error that has been reported */
		sock_error(sock->sk);
	}
	release_sock(sock->sk);
	set_addrs(a);
	return why;
}

/**
 * sddp_sock_send - send one chunk
 * @a: the association; worker context
 * @id: number of the stream
 * @ppid: Payload Protocol Identifier
 * @buf: user data
 * @len: length of the user data, bytes
 *
 * Return: 0 if SCTP has accepted the chunk; -EAGAIN if SCTP accepts no more,
 * and sddp_sock_wakeup() schedules the worker later; -ENOMEM or -ENOBUFS if
 * memory is short; another negative errno if the association has ended.
 */
int sddp_sock_send(struct sddp_assoc *a, u16 id, u32 ppid, const void *buf,
		   u32 len)
{
	u8 space[CMSG_SPACE(sizeof(struct sctp_sndinfo))]
		__aligned(__alignof__(struct cmsghdr)) = {};
	struct cmsghdr *c = (struct cmsghdr *)space;
	struct sctp_sndinfo *info = CMSG_DATA(c);
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	int n;

	c->cmsg_level = IPPROTO_SCTP;
	c->cmsg_type = SCTP_SNDINFO;
	c->cmsg_len = CMSG_LEN(sizeof(*info));
	info->snd_sid = id;
	info->snd_ppid = (__force u32)htonl(ppid);
	info->snd_flags = SCTP_UNORDERED;
	/* the next step of the session may wait for the acknowledgement */
	if (ppid == SDDP_PPID_CONTROL)
		info->snd_flags |= SCTP_SACK_IMMEDIATELY;

	/* set first: space that is freed after the call schedules the worker */
	WRITE_ONCE(a->sndbuf_full, true);
	n = kernel_sendmsg(a->sock, &msg, &vec, 1, len);
	if (n != -EAGAIN)
		WRITE_ONCE(a->sndbuf_full, false);
	/* SCTP reports its error to one send, and -EPIPE to later ones */
	if (n != -EPIPE && is_fatal(n))
		a->send_err = n;
	if (n < 0)
		return n;
	a->delay = 0;
	sddp_path_watch(a);
	return 0;
}

/**
 * sddp_sock_last_tsn - get the TSN of the last chunk sent
 * @a: the association; worker context
 *
 * SCTP assigns TSNs in the order in which it has accepted chunks, including
 * those that it has not sent yet.
 *
 * Return: the TSN that the last chunk has or will have; a TSN that is never
 * acknowledged if the association has ended.
 */
u32 sddp_sock_last_tsn(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	u32 tsn = a->acked + 1;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		tsn = sctp_assoc_last_tsn(asoc);
	release_sock(sk);
	return tsn;
}

/**
 * sddp_sock_acked - get the TSN up to which the peer has acknowledged all
 * @a: the association; worker context
 *
 * Return: the TSN; the last known one if the association has ended or the peer
 * has restarted.
 */
u32 sddp_sock_acked(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	u32 acked = a->acked;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc && !sddp_sock_peer_restarted(a, asoc))
		acked = asoc->ctsn_ack_point;
	release_sock(sk);
	return acked;
}
