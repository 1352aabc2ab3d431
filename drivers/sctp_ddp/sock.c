// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connected sockets: set-up, state, and sending. sock_end.c releases them.
 *
 * The sockets are one-to-one style, so each socket has one association. Only the
 * association's worker sends on the socket and receives from it (recv.c).
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
 * If the peer has restarted, set the send buffer size to zero while SCTP still holds the
 * socket lock. SCTP then accepts no more data, so a restarted peer cannot receive data
 * of the previous association. The worker may see failed sends until it ends the
 * association.
 */
static void __block_send_if_restarted(const struct sddp_assoc *a, struct sock *sk)
{
	const struct sctp_association *asoc = sctp_sk_asoc(sk);

	if (a->peer_tag && asoc && sddp_sock_has_peer_restarted(a, asoc))
		WRITE_ONCE(sk->sk_sndbuf, 0);
}

static void sddp_state_change(struct sock *sk)
{
	struct sddp_assoc *a;

	read_lock_bh(&sk->sk_callback_lock);
	a = sk->sk_user_data;
	if (a) {
		__block_send_if_restarted(a, sk);
		sddp_assoc_kick(a);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static const struct ddp_sock_callbacks calls = {
	.data_ready	= sddp_data_ready,
	.state_change	= sddp_state_change,
};

/*
 * Schedule the worker for acknowledgments, and for ICMP errors that report an
 * unreachable peer. For these events SCTP calls no socket callback and only wakes up the
 * socket's wait queue, so this function is a wait queue callback.
 */
static int sddp_sock_wakeup(struct wait_queue_entry *wait, unsigned int mode,
			    int flags, void *key)
{
	struct sddp_assoc *a = container_of(wait, struct sddp_assoc, wait_entry);

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
 * sddp_sock_set_opt - set an SCTP option of a socket
 * @sock: the socket
 * @name: the option
 * @value: the option's value
 * @len: length of the value, bytes
 *
 * Return: 0 or a negative errno.
 */
int sddp_sock_set_opt(struct socket *sock, int name, void *value, int len)
{
	return sock->ops->setsockopt(sock, SOL_SCTP, name,
				     KERNEL_SOCKPTR(value), len);
}

/**
 * sddp_sock_check_support - check whether the kernel supports SCTP
 *
 * Return: 0 if SCTP is available; -EPROTONOSUPPORT or another negative errno if not.
 */
int sddp_sock_check_support(void)
{
	struct socket *sock;
	int err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
				   IPPROTO_SCTP, &sock);

	if (!err)
		sock_release(sock);
	return err;
}

/*
 * Set an SCTP option if the kernel supports it. Return: 0 if the option is set or not
 * supported; -ENOMEM if memory is short.
 */
static int set_opt_if_supported(struct socket *sock, int name, void *value, int len)
{
	return sddp_sock_set_opt(sock, name, value, len) == -ENOMEM ? -ENOMEM : 0;
}

static int set_sctp_timers(struct socket *sock)
{
	/* the minimum RTO is above 200 ms, within which a peer should send a SACK (RFC 9260 6.2) */
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
	/* after the first timeout use another path, if the peer has several addresses */
	struct sctp_paddrthlds thresholds = { .spt_pathpfthld = 0 };

	path.spp_address.ss_family = sock->sk->sk_family;
	thresholds.spt_address.ss_family = sock->sk->sk_family;
	return set_opt_if_supported(sock, SCTP_RTOINFO, &rto, sizeof(rto)) ?:
	       set_opt_if_supported(sock, SCTP_ASSOCINFO, &params, sizeof(params)) ?:
	       set_opt_if_supported(sock, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path)) ?:
	       set_opt_if_supported(sock, SCTP_PEER_ADDR_THLDS, &thresholds, sizeof(thresholds));
}

/**
 * sddp_sock_set_options - set the options of a socket before it connects or listens
 * @sock: the new socket; sockets accepted from it inherit the options
 * @streams: number of streams to request, equal in both directions (RFC 5043 8)
 * @listens: true for a listening socket, whose accepted sockets get the buffer limits of
 *	unaccepted peers
 *
 * Return: 0, or -ENOMEM if SCTP has no memory to copy an option.
 */
int sddp_sock_set_options(struct socket *sock, u16 streams, bool listens)
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

	/* a connecting socket must not share its port yet, see bind_connecting_sock() */
	if (listens)
		sock_set_reuseaddr(sock->sk);
	sddp_sock_init_buffers(sock, listens);
	err = set_opt_if_supported(sock, SCTP_ADAPTATION_LAYER, &adaptation, sizeof(adaptation)) ?:
	      set_opt_if_supported(sock, SCTP_INITMSG, &init, sizeof(init)) ?:
	      set_opt_if_supported(sock, SCTP_NODELAY, &on, sizeof(on));
	if (err)
		return err;
	/*
	 * disable ASCONF: the number of the peer's addresses is checked only once, so
	 * the peer must not add addresses later
	 */
	return set_opt_if_supported(sock, SCTP_ASCONF_SUPPORTED, &none, sizeof(none)) ?:
	       set_sctp_timers(sock);
}

/**
 * sddp_sock_copy_cookie_key - copy the listener's cookie key to an accepted socket
 * @child: the accepted socket
 * @listener: the listening socket
 *
 * A peer that has not received the COOKIE ACK retransmits its COOKIE ECHO. SCTP verifies
 * the retransmission with the key of the accepted socket, but has created the cookie
 * with the listener's key. Without the copy, SCTP would drop every retransmission.
 */
void sddp_sock_copy_cookie_key(struct socket *child, const struct socket *listener)
{
	struct sock *sk = child->sk;

	lock_sock(sk);
	sctp_sk_copy_cookie_key(sk, listener->sk);
	release_sock(sk);
}

/**
 * sddp_sock_install_callbacks - set the callbacks of the association's socket
 * @a: the association; sddp_sock_release() restores the original callbacks
 *
 * The callbacks are not called for events that happened before this call, so the caller
 * must check the socket's state afterwards.
 */
void sddp_sock_install_callbacks(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;

	ddp_sock_set_callbacks(sk, a, &calls, &a->orig_callbacks);
	init_waitqueue_func_entry(&a->wait_entry, sddp_sock_wakeup);
	add_wait_queue(sk_sleep(sk), &a->wait_entry);
}

/*
 * Enable or disable the reporting of ICMP errors by the socket. As with TCP, ICMP errors
 * end an association only during the handshake.
 */
static void set_icmp_error_reports(struct socket *sock, int on)
{
	bool v4 = sock->sk->sk_family == AF_INET;

	sock->ops->setsockopt(sock, v4 ? SOL_IP : SOL_IPV6,
			      v4 ? IP_RECVERR : IPV6_RECVERR,
			      KERNEL_SOCKPTR(&on), sizeof(on));
}

/* Bind to the port that the ULP has chosen; if another socket uses it, bind to any free port */
static int bind_requested_or_any_port(struct sddp_assoc *a)
{
	struct sockaddr_storage addr = a->from;
	int err = sddp_bind_as_owner(&a->owner, a->sock, &addr, a->paths);

	if (err != -EADDRINUSE)
		return err;
	ddp_addr_set_port(&addr, 0);
	return sddp_bind_as_owner(&a->owner, a->sock, &addr, a->paths);
}

/*
 * Bind a connecting socket so that no other connecting socket gets its port, but a later
 * listener may use the port.
 *
 * If two associations had the same addresses and ports, SCTP would find only the newer
 * association, and the peer would regard the newer one as a restart of the older one. A
 * listener must be able to use the port, because the association may outlive the program
 * that chose the port. SCTP allows the listener to share the port if both sockets have
 * SO_REUSEADDR, so this function sets SO_REUSEADDR after the bind.
 */
static int bind_connecting_sock(struct sddp_assoc *a)
{
	int err = bind_requested_or_any_port(a);

	if (!err)
		sock_set_reuseaddr(a->sock->sk);
	return err;
}

/* Check whether SCTP has found a route to the peer: the connect succeeds even without a route */
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
 * sddp_sock_create - create the socket of an association of the active side
 * @a: the association; its owner is set
 *
 * Context: process, may sleep. The current task's control group is charged.
 *
 * Return: 0, or a negative errno.
 */
int sddp_sock_create(struct sddp_assoc *a)
{
	return ddp_sock_create(a->net, a->vrf, a->to.ss_family, IPPROTO_SCTP,
			       &a->owner, &a->sock);
}

/**
 * sddp_sock_connect - start the SCTP handshake
 * @a: the association, with a socket that is not used yet
 *
 * Return: 0 if the handshake has started; the caller must then check the state, because
 * the association may be established already. A negative errno on failure; the caller
 * must then call sddp_sock_release().
 */
int sddp_sock_connect(struct sddp_assoc *a)
{
	int err = sddp_sock_set_options(a->sock, a->streams_requested, false);

	if (err)
		return err;
	set_icmp_error_reports(a->sock, true);
	ddp_sock_set_tos(a->sock->sk, a->tos);
	err = bind_connecting_sock(a);
	if (!err)
		err = ddp_sock_connect(a->sock, &a->to);
	if (!err && !has_route(a->sock))
		err = -ENETUNREACH;
	if (!err)
		sddp_sock_install_callbacks(a);
	return err;
}

/**
 * sddp_sock_has_peer_restarted - check whether the peer has restarted the association
 * @a: the association, established
 * @asoc: SCTP's association, which may have ended
 *
 * A restarted peer has lost all sessions, so the chunks that it sends belong to no
 * session.
 *
 * Context: socket lock held.
 * Return: true if the peer has restarted, false otherwise.
 */
bool sddp_sock_has_peer_restarted(const struct sddp_assoc *a,
				  const struct sctp_association *asoc)
{
	return asoc->c.peer_vtag != a->peer_tag;
}

/*
 * Check whether a socket error shows that the association has ended. SCTP also reports
 * errors that it recovers from, such as a lack of memory. -ECONNABORTED shows that SCTP
 * has ended the association.
 */
static bool is_fatal_error(int err)
{
	return err == -ECONNABORTED || ddp_sock_err_to_reason(err, IW_OK) != IW_OK;
}

static enum sddp_sock_state __get_sock_state(struct sddp_assoc *a, struct sock *sk, int err)
{
	struct sctp_association *asoc = sctp_sk_asoc(sk);

	/*
	 * SCTP's association has ended: SCTP may have completed the peer's SHUTDOWN
	 * before the worker runs.
	 */
	if (!asoc || asoc->state == SCTP_STATE_CLOSED)
		return a->phase == SDDP_UP && !is_fatal_error(err) ?
		       SDDP_SOCK_PEER_DONE : SDDP_SOCK_LOST;
	if (asoc->state < SCTP_STATE_ESTABLISHED)
		return is_fatal_error(err) ? SDDP_SOCK_LOST : SDDP_SOCK_CONNECTING;
	if (a->phase == SDDP_UP && sddp_sock_has_peer_restarted(a, asoc))
		return SDDP_SOCK_LOST;
	return asoc->state == SCTP_STATE_ESTABLISHED ? SDDP_SOCK_OPEN
						     : SDDP_SOCK_PEER_DONE;
}

/**
 * sddp_sock_get_state_and_adjust_limits - get the state of the association's socket
 * @a: the association
 * @err: set to the negative errno of the socket, or 0; gives the reason of the end if
 *	the state is SDDP_SOCK_LOST
 *
 * If the socket is open, also adjust its send buffer and the number of timeouts.
 *
 * Return: the state, see enum sddp_sock_state.
 */
enum sddp_sock_state sddp_sock_get_state_and_adjust_limits(struct sddp_assoc *a, int *err)
{
	struct sock *sk = a->sock->sk;
	enum sddp_sock_state state;

	lock_sock(sk);
	*err = a->send_err ?: -READ_ONCE(sk->sk_err);
	state = __get_sock_state(a, sk, *err);
	if (state == SDDP_SOCK_OPEN) {
		__sddp_sock_grow_sndbuf(a, sk);
		__sddp_path_limit_timeouts(sctp_sk_asoc(sk));
	}
	release_sock(sk);
	return state;
}

/*
 * Set the association's addresses; the local address is the first address that the
 * socket is bound to
 */
static void set_assoc_addrs(struct sddp_assoc *a)
{
	__be16 port;

	ddp_sock_get_addrs(a->sock, &a->local, &a->remote);
	if (a->from.ss_family != a->local.ss_family)
		return;
	port = ddp_addr_get_port(&a->local);
	a->local = a->from;
	ddp_addr_set_port(&a->local, port);
}

/*
 * Check whether an association can carry sessions: the peer must have sent DDP's
 * Adaptation Indication (RFC 5043 11.1). Return: IW_OK, or the reason why not.
 */
static enum iw_reason __check_peer(const struct sctp_association *asoc,
				   const struct sock *sk)
{
	if (!asoc)
		return IW_PEER_RESET;
	/*
	 * if the peer restarted before the socket was accepted, the queued chunks belong
	 * to the previous association
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
 * sddp_sock_check_and_read_assoc - read the properties of an established association
 * @a: the association; limit, peer_tag, acked, local and remote are set
 *
 * Return: IW_OK, or the reason why the association cannot carry sessions.
 */
enum iw_reason sddp_sock_check_and_read_assoc(struct sddp_assoc *a)
{
	struct socket *sock = a->sock;
	struct sctp_association *asoc;
	enum iw_reason why;

	/* ICMP errors must not end an established association */
	set_icmp_error_reports(sock, false);
	lock_sock(sock->sk);
	asoc = sctp_sk_asoc(sock->sk);
	why = __check_peer(asoc, sock->sk);
	if (asoc) {
		/* RFC 5043 8: use only stream numbers that exist in both directions */
		WRITE_ONCE(a->limit, min(asoc->stream.outcnt,
					 asoc->stream.incnt));
		a->peer_tag = asoc->c.peer_vtag;
		a->acked = asoc->ctsn_ack_point;
		/* clear sk_err, which may contain an ICMP error from the handshake */
		sock_error(sock->sk);
	}
	release_sock(sock->sk);
	set_assoc_addrs(a);
	return why;
}

/**
 * sddp_sock_send_chunk - pass one chunk to SCTP
 * @a: the association
 * @id: number of the stream
 * @ppid: Payload Protocol Identifier
 * @buf: user data
 * @len: length of the user data, bytes
 *
 * Context: worker, with the association's mutex held.
 * Return: 0 if SCTP has accepted the chunk; -EAGAIN if the send buffer is full, after
 * which sddp_sock_wakeup() schedules the worker when there is space; -ENOMEM or -ENOBUFS
 * if memory is short; another negative errno if the association has ended.
 */
int sddp_sock_send_chunk(struct sddp_assoc *a, u16 id, u32 ppid, const void *buf,
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
	/* the session may have to wait for the acknowledgment of a control chunk */
	if (ppid == SDDP_PPID_CONTROL)
		info->snd_flags |= SCTP_SACK_IMMEDIATELY;

	/*
	 * set the flag before the call, so that sddp_sock_wakeup() schedules the worker
	 * for space that SCTP frees after the call
	 */
	WRITE_ONCE(a->sndbuf_full, true);
	n = kernel_sendmsg(a->sock, &msg, &vec, 1, len);
	if (n != -EAGAIN)
		WRITE_ONCE(a->sndbuf_full, false);
	/* record the first error, which is the cause: SCTP returns -EPIPE to all later sends */
	if (n != -EPIPE && is_fatal_error(n))
		a->send_err = n;
	if (n < 0)
		return n;
	a->retry_delay = 0;
	sddp_path_schedule_check(a);
	return 0;
}

/**
 * sddp_sock_get_last_tsn - get the TSN of the last chunk passed to SCTP
 * @a: the association
 *
 * SCTP assigns TSNs in the order in which it accepts chunks. So the TSN of a chunk is
 * known even before SCTP sends the chunk.
 *
 * Context: worker, with the association's mutex held.
 * Return: the TSN that the last chunk has or will have; if SCTP's association has ended,
 * a TSN that will never be acknowledged.
 */
u32 sddp_sock_get_last_tsn(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	u32 tsn = a->acked + 1;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		tsn = sctp_assoc_get_last_tsn(asoc);
	release_sock(sk);
	return tsn;
}

/**
 * sddp_sock_get_acked_tsn - get the last TSN that the peer has acknowledged cumulatively
 * @a: the association
 *
 * Context: worker, with the association's mutex held.
 * Return: the TSN; @a->acked if SCTP's association has ended or the peer has restarted.
 */
u32 sddp_sock_get_acked_tsn(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	u32 acked = a->acked;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc && !sddp_sock_has_peer_restarted(a, asoc))
		acked = asoc->ctsn_ack_point;
	release_sock(sk);
	return acked;
}
