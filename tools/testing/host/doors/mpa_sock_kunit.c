// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/mpa/sock.c with a fake TCP that can run out of memory */
#include <kunit/test.h>
#include <net/tcp.h>

#include <ddp/addr.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/mpa/internal.h"

static struct {
	struct mpa_conn	c;
	struct tcp_sock	tp;
	struct socket	sock;
	int		locked;
	bool		no_memory;	/* no memory for a FIN */
	bool		fin_lost;	/* allocating the FIN succeeds, but TCP cannot send it */
	bool		queued;		/* bytes not yet sent or acknowledged */
	int		result;		/* result of sending */
	int		flags;		/* flags of the last send */
	u32		unread;
	u32		received;	/* calls of mpa_rx() */
	bool		more;		/* mpa_rx() does not take all */
	u32		fins, resets, released;
	bool		worker;		/* the worker runs as soon as the socket is unlocked */
	enum mpa_fate	fate;		/* what the worker finds */
	int		err;
	int		no_bind, no_connect;	/* results with the port that the ULP chose */
	int		no_any;		/* result with another port */
	u16		port;		/* port that the socket is bound to */
	u32		made, connects;
	int		domain;		/* VRF of the socket */
} world;

/* TCP ------------------------------------------------------------------------- */

static struct sk_buff *some(void)
{
	return (void *)&world;
}

void host_socket_lock(int by)
{
	world.locked += by;
	if (by < 0 && !world.locked && world.worker) {
		world.worker = false;
		world.fate = mpa_sock_fate(&world.c, &world.err);
	}
}

u32 tcp_inq(struct sock *sk)
{
	return world.unread;
}

void tcp_read_done(struct sock *sk, size_t len)
{
	world.unread -= len;
}

struct sk_buff *tcp_write_queue_tail(const struct sock *sk)
{
	return world.queued ? some() : NULL;
}

bool tcp_rtx_and_write_queues_empty(const struct sock *sk)
{
	return !world.queued;
}

struct sk_buff *alloc_skb_fclone(u32 size, gfp_t gfp)
{
	return world.no_memory ? NULL : some();
}

void kfree_skb(struct sk_buff *skb)
{
}

bool sk_stream_is_writeable(const struct sock *sk)
{
	return true;
}

int tcp_sendmsg_locked(struct sock *sk, struct msghdr *msg, size_t len)
{
	world.flags = msg->msg_flags;
	/* TCP reports an error once */
	if (world.result < 0 && world.result != -EAGAIN)
		sk->sk_err = 0;
	return world.locked == 1 ? world.result : -EDEADLK;
}

/* The state changes even if the FIN cannot be sent */
static void shut(struct sock *sk, int how)
{
	sk->sk_state = TCP_FIN_WAIT1;
	if (world.fin_lost)
		return;
	world.fins++;
	world.tp.write_seq++;
}

static const struct proto proto = { .shutdown = shut };

void sock_no_linger(struct sock *sk)
{
	world.resets++;
}

/* As TCP: close resets the connection if there is unread data */
void sock_release(struct socket *s)
{
	world.released++;
	world.resets += !!world.unread;
}

int kernel_recvmsg(struct socket *s, struct msghdr *m, struct kvec *v, size_t n,
		   size_t len, int flags)
{
	return -EAGAIN;
}

int sock_sendmsg(struct socket *s, struct msghdr *m)
{
	return -EAGAIN;
}

/* The rest -------------------------------------------------------------------- */

int ddp_sock_domain(struct net *net, int ifindex)
{
	return 10 * ifindex;
}

int ddp_sock_make(struct net *net, int domain, int family, int protocol,
		  struct socket **sock)
{
	world.domain = domain;
	*sock = &world.sock;
	world.made++;
	world.tp.sk.sk_state = TCP_CLOSE;
	return 0;
}

void ddp_sock_set_tos(struct sock *sk, u8 tos) {}

int ddp_sock_bind(struct socket *sock, const struct sockaddr_storage *at)
{
	world.port = ntohs(ddp_addr_port(at));
	return world.port ? world.no_bind : 0;
}

int ddp_sock_connect(struct socket *sock, const struct sockaddr_storage *to)
{
	world.connects++;
	return world.port ? world.no_connect : world.no_any;
}

void ddp_sock_own(struct sock *sk, void *owner, const struct ddp_sock_calls *calls,
		  struct ddp_sock_calls *before)
{
	sk->sk_user_data = owner;
}

void ddp_sock_disown(struct sock *sk, const struct ddp_sock_calls *before)
{
	sk->sk_user_data = NULL;
}

void mpa_conn_event(struct mpa_conn *c, enum mpa_event ev) {}
void mpa_tx_kick(struct mpa_conn *c, bool bulk) {}

bool mpa_rx(struct mpa_conn *c, struct sock *sk)
{
	WARN_ON(world.locked != 1);
	world.received++;
	return world.more;
}

/* Cases ----------------------------------------------------------------------- */

static int begin(struct kunit *test)
{
	memset(&world, 0, sizeof(world));
	world.tp.sk.sk_prot = &proto;
	world.tp.sk.sk_state = TCP_ESTABLISHED;
	world.tp.sk.sk_socket = &world.sock;
	world.sock.sk = &world.tp.sk;
	world.c.sock = &world.sock;
	mpa_sock_attach(&world.c);
	return 0;
}

/*
 * Data is sent with BH off in any task's context: no task fragment. MPA-64:
 * Nagle's algorithm is off.
 */
static void prepared(struct kunit *test)
{
	struct sock *sk = &world.tp.sk;

	sk->sk_use_task_frag = true;
	sk->sk_rcvbuf = 131072;
	mpa_sock_prepare(&world.sock);
	/* a lost peer is detected after a minute and a half */
	KUNIT_EXPECT_EQ(test, 90, world.tp.keepalive_time +
				  world.tp.keepalive_intvl * world.tp.keepalive_probes);
	KUNIT_EXPECT_FALSE(test, sk->sk_use_task_frag);
	KUNIT_EXPECT_TRUE(test, sk->flags & 1 << SOCK_URGINLINE);
	KUNIT_EXPECT_TRUE(test, sk->nodelay);
	KUNIT_EXPECT_EQ(test, 512 * 1024, sk->sk_rcvbuf);
	sk->sk_rcvbuf = 1 << 20;
	mpa_sock_prepare(&world.sock);
	KUNIT_EXPECT_EQ(test, 1 << 20, sk->sk_rcvbuf);
}

static void connects(struct kunit *test, int err, u32 made, u32 connects, u16 port)
{
	struct sockaddr_storage local = { .ss_family = AF_INET };

	ddp_addr_set_port(&local, htons(7));
	world.c.sock = NULL;
	world.made = 0;
	world.connects = 0;
	world.released = 0;
	KUNIT_EXPECT_EQ(test, err, mpa_sock_connect(&world.c, &local));
	KUNIT_EXPECT_EQ(test, made, world.made);
	KUNIT_EXPECT_EQ(test, connects, world.connects);
	KUNIT_EXPECT_EQ(test, port, world.port);
	/* all but the one in use */
	KUNIT_EXPECT_EQ(test, made - !err, world.released);
	KUNIT_EXPECT_EQ(test, !err, world.c.sock == &world.sock);
}

/* Connect from the port that the ULP chose, or from another if TCP still uses it */
static void connected(struct kunit *test)
{
	connects(test, 0, 1, 1, 7);
	world.no_connect = -ENETUNREACH;
	connects(test, -ENETUNREACH, 1, 1, 7);
	/* TCP still has an old connection between these ports */
	world.no_connect = -EADDRNOTAVAIL;
	connects(test, 0, 2, 2, 0);
	/* no port is left, or the address was removed */
	world.no_any = -EADDRNOTAVAIL;
	connects(test, -EADDRNOTAVAIL, 2, 2, 0);
	world.no_any = 0;
	/* a listener has this port */
	world.no_bind = -EADDRINUSE;
	connects(test, 0, 2, 1, 0);
	world.no_bind = -EACCES;
	connects(test, -EACCES, 1, 0, 7);
}

static void sends(struct kunit *test, int result, bool queued, int err, int lost)
{
	begin(test);
	world.c.out.len = 100;
	world.result = result;
	world.queued = queued;
	KUNIT_EXPECT_EQ(test, err, mpa_sock_send(&world.c));
	KUNIT_EXPECT_EQ(test, lost, world.c.lost);
	KUNIT_EXPECT_EQ(test, 0, world.locked);
	KUNIT_EXPECT_EQ(test, result > 0 ? (u32)result : 0u, world.c.out.sent);
	KUNIT_EXPECT_TRUE(test, world.flags & MSG_EOR);
	KUNIT_EXPECT_FALSE(test, world.flags & MSG_MORE);
}

/*
 * The result says whether and when to retry. MPA-64: a batch ends a TCP
 * segment, and does not wait for the next batch.
 */
static void sent(struct kunit *test)
{
	sends(test, 100, true, 0, 0);
	sends(test, 60, true, -EAGAIN, 0);
	sends(test, -EAGAIN, true, -EAGAIN, 0);
	/* nothing is queued that could free space later: memory is short */
	sends(test, -EAGAIN, false, -ENOMEM, 0);
	/* the connection is over, with data queued or without */
	sends(test, -EPIPE, false, -EPIPE, 0);
	sends(test, -ECONNRESET, false, -ECONNRESET, -ECONNRESET);
	sends(test, -ETIMEDOUT, true, -ETIMEDOUT, -ETIMEDOUT);
}

/* As TCP leaves the socket; the worker runs as soon as the sender unlocks it */
static void resets_as(struct kunit *test, int err)
{
	begin(test);
	world.c.out.len = 100;
	world.tp.sk.sk_err = err;
	world.tp.sk.sk_state = TCP_CLOSE;
	world.tp.sk.sk_shutdown = RCV_SHUTDOWN | SEND_SHUTDOWN;
	world.result = -err;
	world.worker = true;
	KUNIT_EXPECT_EQ(test, -err, mpa_sock_send(&world.c));
	KUNIT_EXPECT_EQ(test, MPA_SOCK_LOST, world.fate);
	KUNIT_EXPECT_EQ(test, -err, world.err);
	KUNIT_EXPECT_EQ(test, MPA_SOCK_LOST, mpa_sock_fate(&world.c, &world.err));
	KUNIT_EXPECT_EQ(test, -err, world.err);
}

/* A reset is not an orderly close, whichever context sees the error first */
static void reset_seen(struct kunit *test)
{
	resets_as(test, ECONNRESET);
	/* a reset after the peer's FIN */
	resets_as(test, EPIPE);
}

/* An error in sending after both FINs is no loss of the connection */
static void closed_seen(struct kunit *test)
{
	begin(test);
	world.c.out.len = 100;
	world.tp.sk.sk_state = TCP_CLOSE;
	world.tp.sk.sk_shutdown = RCV_SHUTDOWN | SEND_SHUTDOWN;
	world.result = -EPIPE;
	KUNIT_EXPECT_EQ(test, -EPIPE, mpa_sock_send(&world.c));
	KUNIT_EXPECT_EQ(test, MPA_SOCK_CLOSED, mpa_sock_fate(&world.c, &world.err));
}

/* Unread data after a FIN is an incomplete FPDU, unless reception has stopped */
static void unread_seen(struct kunit *test)
{
	begin(test);
	world.tp.sk.sk_state = TCP_ESTABLISHED;
	KUNIT_EXPECT_FALSE(test, mpa_sock_cut(&world.c));
	KUNIT_EXPECT_TRUE(test, mpa_sock_quiet(&world.c));
	world.unread = 5;
	KUNIT_EXPECT_TRUE(test, mpa_sock_cut(&world.c));
	KUNIT_EXPECT_FALSE(test, mpa_sock_quiet(&world.c));
	world.c.rx_stopped = true;
	KUNIT_EXPECT_FALSE(test, mpa_sock_cut(&world.c));
	world.c.rx_stopped = false;
	world.unread = 0;
	world.tp.sk.sk_state = TCP_SYN_RECV;
	KUNIT_EXPECT_FALSE(test, mpa_sock_quiet(&world.c));
}

static void sent_later(struct kunit *test)
{
	world.c.out.len = 100;
	world.result = 100;
	world.tp.sk.owned = true;
	KUNIT_EXPECT_EQ(test, -EBUSY, mpa_sock_send(&world.c));
	KUNIT_EXPECT_EQ(test, 0u, world.c.out.sent);
	KUNIT_EXPECT_EQ(test, 0, world.locked);
	mpa_sock_wait(&world.c);
	KUNIT_EXPECT_EQ(test, 0, mpa_sock_send(&world.c));
}

/* A FIN is sent once, if there is memory for it */
static void shuts(struct kunit *test, int state, bool ok, u32 fins)
{
	world.tp.sk.sk_state = state;
	world.fins = 0;
	KUNIT_EXPECT_EQ(test, ok, mpa_sock_shutdown(&world.c));
	KUNIT_EXPECT_EQ(test, fins, world.fins);
}

static void shutdown_once(struct kunit *test)
{
	shuts(test, TCP_ESTABLISHED, true, 1);
	shuts(test, TCP_FIN_WAIT1, true, 0);
	shuts(test, TCP_CLOSE, true, 0);
	shuts(test, TCP_CLOSE_WAIT, true, 1);
	world.no_memory = true;
	shuts(test, TCP_ESTABLISHED, false, 0);
	shuts(test, TCP_FIN_WAIT1, true, 0);
	/* with data queued, the FIN needs no memory of its own */
	world.queued = true;
	shuts(test, TCP_ESTABLISHED, true, 1);
}

static void acked(struct kunit *test, u32 una, u32 written, bool all)
{
	bool got = !all;

	world.tp.snd_una = una;
	world.tp.write_seq = written;
	KUNIT_EXPECT_EQ(test, una, mpa_sock_acked(&world.c, &got));
	KUNIT_EXPECT_EQ(test, all, got);
	KUNIT_EXPECT_EQ(test, 0, world.locked);
}

/* The acknowledgment of the FIN is not waited for: that is up to TCP */
static void acknowledged(struct kunit *test)
{
	acked(test, 100, 200, false);
	acked(test, -1, 0, false);
	acked(test, 200, 200, true);
	mpa_sock_shutdown(&world.c);
	acked(test, 199, world.tp.write_seq, false);
	acked(test, 200, world.tp.write_seq, true);
	acked(test, 201, world.tp.write_seq, true);
}

static void releases(struct kunit *test, bool abort, u32 resets)
{
	world.resets = 0;
	world.released = 0;
	world.c.sock = &world.sock;
	mpa_sock_release(&world.c, abort);
	KUNIT_EXPECT_EQ(test, resets, world.resets);
	KUNIT_EXPECT_EQ(test, 1u, world.released);
	KUNIT_EXPECT_NULL(test, world.c.sock);
	KUNIT_EXPECT_NULL(test, world.tp.sk.sk_user_data);
}

/* An orderly release sends a FIN if none was sent; an abort resets */
static void released(struct kunit *test)
{
	releases(test, false, 0);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
	/* the FIN was sent before */
	releases(test, false, 0);
	world.tp.sk.sk_state = TCP_CLOSE;
	releases(test, false, 0);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
	releases(test, true, 1);
	mpa_sock_release(&world.c, true);
	KUNIT_EXPECT_EQ(test, 1u, world.released);
}

/* DDP-3: unread data is discarded: TCP's reset would lose data reported as sent */
static void released_unread(struct kunit *test)
{
	world.queued = true;
	world.unread = 5;
	releases(test, false, 0);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
	KUNIT_EXPECT_EQ(test, 0, world.locked);
}

/* Unread data resets the connection if no sent data can be lost by that */
static void released_unheard(struct kunit *test)
{
	world.unread = 5;
	releases(test, false, 1);
	KUNIT_EXPECT_EQ(test, 5u, world.unread);
	/* an FPDU that is deferred for memory was not received either */
	world.queued = true;
	world.c.rx_waits = true;
	releases(test, false, 1);
	KUNIT_EXPECT_EQ(test, 5u, world.unread);
}

/* Without memory for the FIN the connection is reset, so that the peer notices */
static void released_in_vain(struct kunit *test)
{
	world.no_memory = true;
	releases(test, false, 1);
	world.no_memory = false;
	world.fin_lost = true;
	releases(test, false, 1);
	KUNIT_EXPECT_EQ(test, 0u, world.fins);
}

/* Retransmissions of earlier sockets remain counted */
static void looked_at(struct kunit *test)
{
	world.tp.total_retrans = 3;
	mpa_sock_release(&world.c, true);
	KUNIT_EXPECT_EQ(test, 3u, world.c.retransmits);
	/* those of the next socket are added */
	world.c.sock = &world.sock;
	world.tp.total_retrans = 2;
	mpa_sock_release(&world.c, true);
	KUNIT_EXPECT_EQ(test, 5u, world.c.retransmits);
}

static void received(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, mpa_sock_receive(&world.c));
	world.more = true;
	KUNIT_EXPECT_TRUE(test, mpa_sock_receive(&world.c));
	KUNIT_EXPECT_EQ(test, 2u, world.received);
	/* the receive path discards what arrives, and uses the stream no more */
	world.c.stream = (void *)&world;
	mpa_sock_forget(&world.c);
	KUNIT_EXPECT_TRUE(test, world.c.rx_stopped);
	KUNIT_EXPECT_NULL(test, world.c.stream);
}

/* Addresses and routes are those of the interface's VRF */
static void domain(struct kunit *test)
{
	world.c.ifindex = 3;
	connects(test, 0, 1, 1, 7);
	KUNIT_EXPECT_EQ(test, 30, world.domain);
}

static struct kunit_case mpa_sock_cases[] = {
	KUNIT_CASE(domain),
	KUNIT_CASE(prepared),
	KUNIT_CASE(connected),
	KUNIT_CASE(sent),
	KUNIT_CASE(reset_seen),
	KUNIT_CASE(closed_seen),
	KUNIT_CASE(unread_seen),
	KUNIT_CASE(sent_later),
	KUNIT_CASE(shutdown_once),
	KUNIT_CASE(acknowledged),
	KUNIT_CASE(released),
	KUNIT_CASE(released_unread),
	KUNIT_CASE(released_unheard),
	KUNIT_CASE(released_in_vain),
	KUNIT_CASE(looked_at),
	KUNIT_CASE(received),
	{}
};

static struct kunit_suite mpa_sock_suite = {
	.name = "mpa_sock",
	.init = begin,
	.test_cases = mpa_sock_cases,
};

kunit_test_suite(mpa_sock_suite);
