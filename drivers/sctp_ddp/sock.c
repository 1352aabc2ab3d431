// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connected socket: its life, and what it sends.
 *
 * One-to-one style: a socket is an association.  Only the association's worker
 * sends and receives (recv.c).
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

#include "internal.h"
#include "share.h"

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
 * Who has begun anew gets nothing of ours any more, whoever is about to send it: SCTP is
 * told at once, its socket still locked, that there is no room.  The worker looks next,
 * so what SCTP says to who tries is no matter
 */
static void __hold_back(const struct sddp_assoc *a, struct sock *sk)
{
	const struct sctp_association *asoc = sctp_sk_asoc(sk);

	if (a->peer_tag && asoc && sddp_sock_anew(a, asoc))
		WRITE_ONCE(sk->sk_sndbuf, 0);
}

static void sddp_state_change(struct sock *sk)
{
	struct sddp_assoc *a;

	read_lock_bh(&sk->sk_callback_lock);
	a = sk->sk_user_data;
	if (a) {
		__hold_back(a, sk);
		sddp_assoc_kick(a);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static const struct ddp_sock_calls calls = {
	.data_ready	= sddp_data_ready,
	.state_change	= sddp_state_change,
};

/*
 * A chunk of ours has been acknowledged, or a router says that the peer cannot be
 * reached: SCTP tells those who sleep, and calls neither sk_write_space nor what
 * would be for errors.
 */
static int sddp_sock_space(struct wait_queue_entry *wait, unsigned int mode,
			   int flags, void *key)
{
	struct sddp_assoc *a = container_of(wait, struct sddp_assoc, space);

	if (key_to_poll(key) & EPOLLERR)
		sddp_assoc_kick(a);
	if (!(key_to_poll(key) & EPOLLOUT))
		return 0;
	if (READ_ONCE(a->full) || READ_ONCE(a->deep) || READ_ONCE(a->watch)) {
		WRITE_ONCE(a->full, false);
		WRITE_ONCE(a->deep, false);
		sddp_assoc_kick(a);
	}
	return 0;
}

/**
 * sddp_sock_set - set an option of SCTP's
 * @sock: the socket
 * @name: the option
 * @value: its value
 * @len: octets of it
 *
 * Return: 0 or an error.
 */
int sddp_sock_set(struct socket *sock, int name, void *value, int len)
{
	return sock->ops->setsockopt(sock, SOL_SCTP, name,
				     KERNEL_SOCKPTR(value), len);
}

/**
 * sddp_sock_probe - has this kernel SCTP, and may we have it?
 *
 * Return: 0, or -EPROTONOSUPPORT or the like.
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

/* What SCTP has not got is done without, but not what there is no memory for */
static int want_option(struct socket *sock, int name, void *value, int len)
{
	return sddp_sock_set(sock, name, value, len) == -ENOMEM ? -ENOMEM : 0;
}

static int set_timers(struct socket *sock)
{
	/* a peer may take 200 ms to send a SACK */
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
	/* the first timeout is enough to go on by another path, if there is one */
	struct sctp_paddrthlds thresholds = { .spt_pathpfthld = 0 };

	path.spp_address.ss_family = sock->sk->sk_family;
	thresholds.spt_address.ss_family = sock->sk->sk_family;
	return want_option(sock, SCTP_RTOINFO, &rto, sizeof(rto)) ?:
	       want_option(sock, SCTP_ASSOCINFO, &params, sizeof(params)) ?:
	       want_option(sock, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path)) ?:
	       want_option(sock, SCTP_PEER_ADDR_THLDS, &thresholds, sizeof(thresholds));
}

/**
 * sddp_sock_prepare - set a socket up before it connects or listens
 * @sock: new; what it is set to its children inherit
 * @streams: how many to ask for, each way alike (RFC 5043 8)
 * @listens: strangers will be at the other end
 *
 * Return: 0, or -ENOMEM: SCTP copies each option first.
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

	/* one that connects is to have its port alone: see sddp_bind_local() */
	if (listens)
		sock_set_reuseaddr(sock->sk);
	sddp_sock_narrow(sock, listens);
	err = want_option(sock, SCTP_ADAPTATION_LAYER, &adaptation, sizeof(adaptation)) ?:
	      want_option(sock, SCTP_INITMSG, &init, sizeof(init)) ?:
	      want_option(sock, SCTP_NODELAY, &on, sizeof(on));
	if (err)
		return err;
	/* what addresses it has is looked at once, so none may be added */
	return want_option(sock, SCTP_ASCONF_SUPPORTED, &none, sizeof(none)) ?:
	       set_timers(sock);
}

/**
 * sddp_sock_adopt - have a child know its listener's cookies
 * @child: an accepted socket
 * @listener: the listening socket it comes from
 *
 * A peer that has not got the COOKIE ACK sends its COOKIE ECHO again.  SCTP then
 * checks that with the child's own key, and would drop it each time.
 */
void sddp_sock_adopt(struct socket *child, const struct socket *listener)
{
	struct sock *sk = child->sk;

	lock_sock(sk);
	sctp_sk_share_cookie_key(sk, listener->sk);
	release_sock(sk);
}

/**
 * sddp_sock_attach - hear of what happens to the association's socket
 * @a: the association; the callbacks hold it until sddp_sock_release()
 *
 * What happened before is not told again: the caller kicks.
 */
void sddp_sock_attach(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;

	ddp_sock_own(sk, a, &calls, &a->before);
	init_waitqueue_func_entry(&a->space, sddp_sock_space);
	add_wait_queue(sk_sleep(sk), &a->space);
}

static void detach(struct sddp_assoc *a, struct sock *sk)
{
	if (sk->sk_user_data != a)
		return;
	remove_wait_queue(sk_sleep(sk), &a->space);
	ddp_sock_disown(sk, &a->before);
}

/* Who looks at it has the lock */
static void set_sock(struct sddp_assoc *a, struct socket *sock)
{
	spin_lock_irq(&a->lock);
	a->sock = sock;
	spin_unlock_irq(&a->lock);
}

/**
 * sddp_sock_release - the end of the association's socket
 * @a: the association
 * @abort: ABORT it; otherwise SHUTDOWN, which goes on by itself
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
 * Whether routers and hosts on the way may end it: of one that is not up yet
 * they are believed, as TCP does.
 */
static void believe(struct socket *sock, int may)
{
	bool v4 = sock->sk->sk_family == AF_INET;

	sock->ops->setsockopt(sock, v4 ? SOL_IP : SOL_IPV6,
			      v4 ? IP_RECVERR : IPV6_RECVERR,
			      KERNEL_SOCKPTR(&may), sizeof(may));
}

/* The port the ULP chose, or any if SCTP has it in use */
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
 * Of two associations with the same ports and addresses SCTP knows the younger
 * alone, and its peer takes that for a restart of the other.  The port that an
 * association was made with stays in use when its program has gone, so it has to be
 * refused to the next; but who listens there later is to have it.  SCTP refuses
 * it unless both sockets say that it may be used again: this one says so once it
 * has its own.
 */
static int sddp_bind_local(struct sddp_assoc *a)
{
	int err = bind_some_port(a);

	if (!err)
		sock_set_reuseaddr(a->sock->sk);
	return err;
}

/* Without one SCTP keeps trying, and is silent about it */
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
 * sddp_sock_connect - begin to make an association
 * @a: the association, without a socket
 *
 * Return: 0, and the caller kicks: it may stand already; or an error, and a
 * socket may be left for sddp_sock_release().
 */
int sddp_sock_connect(struct sddp_assoc *a)
{
	struct socket *sock;
	int err;

	err = ddp_sock_make(a->net, a->domain, a->to.ss_family, IPPROTO_SCTP,
			    &sock);
	if (err)
		return err;
	set_sock(a, sock);
	err = sddp_sock_prepare(a->sock, a->asked, false);
	if (err)
		return err;
	believe(a->sock, true);
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
 * sddp_sock_anew - has the peer begun anew?
 * @a: the association, up
 * @asoc: SCTP's, its socket locked; it may have ended
 *
 * No session of ours is known there any more, and what arrives is of none.
 *
 * Return: whether it has.
 */
bool sddp_sock_anew(const struct sddp_assoc *a,
		    const struct sctp_association *asoc)
{
	return asoc->c.peer_vtag != a->peer_tag;
}

/*
 * Short memory and the like SCTP gets over by itself, and leaves its word of it there;
 * -ECONNABORTED is an end that it makes itself
 */
static bool is_hopeless(int err)
{
	return err == -ECONNABORTED || ddp_sock_reason(err, IW_OK) != IW_OK;
}

static enum sddp_fate __fate(struct sddp_assoc *a, struct sock *sk, int err)
{
	struct sctp_association *asoc = sctp_sk_asoc(sk);

	/* a whole SHUTDOWN may be over before anybody looks */
	if (!asoc || asoc->state == SCTP_STATE_CLOSED)
		return a->phase == SDDP_UP && !is_hopeless(err) ?
		       SDDP_SOCK_PEER_DONE : SDDP_SOCK_LOST;
	if (asoc->state < SCTP_STATE_ESTABLISHED)
		return is_hopeless(err) ? SDDP_SOCK_LOST : SDDP_SOCK_COMING;
	if (a->phase == SDDP_UP && sddp_sock_anew(a, asoc))
		return SDDP_SOCK_LOST;
	return asoc->state == SCTP_STATE_ESTABLISHED ? SDDP_SOCK_OPEN
						     : SDDP_SOCK_PEER_DONE;
}

/**
 * sddp_sock_fate - how the socket fares
 * @a: the association
 * @err: negative errno if SDDP_SOCK_LOST, or 0
 *
 * Return: see enum sddp_fate.
 */
enum sddp_fate sddp_sock_fate(struct sddp_assoc *a, int *err)
{
	struct sock *sk = a->sock->sk;
	enum sddp_fate fate;

	lock_sock(sk);
	*err = a->lost ?: -READ_ONCE(sk->sk_err);
	fate = __fate(a, sk, *err);
	if (fate == SDDP_SOCK_OPEN) {
		__sddp_sock_learn(a, sk);
		__sddp_path_allow(sctp_sk_asoc(sk));
	}
	release_sock(sk);
	return fate;
}

/* Of several addresses of ours it is known by the first */
static void learn_names(struct sddp_assoc *a)
{
	__be16 port;

	ddp_sock_names(a->sock, &a->local, &a->remote);
	if (a->from.ss_family != a->local.ss_family)
		return;
	port = ddp_addr_port(&a->local);
	a->local = a->from;
	ddp_addr_set_port(&a->local, port);
}

/* RFC 5043 11.1: without DDP's indication none of its procedures */
static enum iw_reason __judge(const struct sctp_association *asoc,
			      const struct sock *sk)
{
	if (!asoc)
		return IW_PEER_RESET;
	/*
	 * It may have begun anew before anybody took it: then what waits there is of the
	 * one before
	 */
	if (asoc->c.peer_ttag && !skb_queue_empty(&sk->sk_receive_queue))
		return IW_PEER_RESET;
	if (asoc->peer.adaptation_ind != SDDP_ADAPTATION)
		return IW_SCTP_ADAPTATION;
	if (asoc->peer.transport_count > SDDP_ADDRESSES_MOST)
		return IW_SCTP_ADDRESSES;
	return IW_OK;
}

/**
 * sddp_sock_up - the association stands: what is it like?
 * @a: the association; its limit and addresses are set
 *
 * Return: IW_OK, or why no session can be on it.
 */
enum iw_reason sddp_sock_up(struct sddp_assoc *a)
{
	struct socket *sock = a->sock;
	struct sctp_association *asoc;
	enum iw_reason why;

	/* what was said of the way is of no matter any more: nothing is added ... */
	believe(sock, false);
	lock_sock(sock->sk);
	asoc = sctp_sk_asoc(sock->sk);
	why = __judge(asoc, sock->sk);
	if (asoc) {
		/* pairs: as many as there are both ways (RFC 5043 8) */
		WRITE_ONCE(a->limit, min(asoc->stream.outcnt,
					 asoc->stream.incnt));
		a->peer_tag = asoc->c.peer_vtag;
		a->acked = asoc->ctsn_ack_point;
		/* ... and it is forgotten */
		sock_error(sock->sk);
	}
	release_sock(sock->sk);
	learn_names(a);
	return why;
}

/**
 * sddp_sock_send - one chunk
 * @a: the association; its worker
 * @id: the stream
 * @ppid: Payload Protocol Identifier
 * @buf: user data
 * @len: its length
 *
 * Return: 0: SCTP has it; -EAGAIN: it takes no more, a kick will come; another
 * error: the association is gone.
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
	/* the next step of a session may wait for it */
	if (ppid == SDDP_PPID_CONTROL)
		info->snd_flags |= SCTP_SACK_IMMEDIATELY;

	/* before SCTP looks: what it frees from then on kicks */
	WRITE_ONCE(a->full, true);
	n = kernel_sendmsg(a->sock, &msg, &vec, 1, len);
	if (n != -EAGAIN)
		WRITE_ONCE(a->full, false);
	/* SCTP tells once, and with -EPIPE it has nothing to tell */
	if (n != -EPIPE && is_hopeless(n))
		a->lost = n;
	if (n < 0)
		return n;
	a->delay = 0;
	sddp_path_watch(a);
	return 0;
}

/**
 * sddp_sock_mark - remember where sending stands
 * @a: the association; its worker
 *
 * Chunks get their TSNs in the order they were handed over, those that wait
 * for one included.
 *
 * Return: the TSN that the last chunk handed over has or will have; if the association
 * is gone, one that is never acknowledged.
 */
u32 sddp_sock_mark(struct sddp_assoc *a)
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
 * sddp_sock_acked - how much has the peer got for certain?
 * @a: the association; its worker
 *
 * Return: the TSN up to which it has acknowledged all; if the association is
 * gone, the last that was known.
 */
u32 sddp_sock_acked(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	u32 acked = a->acked;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc && !sddp_sock_anew(a, asoc))
		acked = asoc->ctsn_ack_point;
	release_sock(sk);
	return acked;
}
