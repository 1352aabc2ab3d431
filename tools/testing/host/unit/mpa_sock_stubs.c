// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Stubs of TCP, DDP and other parts of iw_mpa for the tests of drivers/mpa/sock.c and sock_end.c */
#include "mpa_sock.h"

struct mpa_sock_stubs stubs;

/* TCP ------------------------------------------------------------------------- */

static struct sk_buff *get_fake_skb(void)
{
	return (void *)&stubs;
}

void host_change_socket_lock(int by)
{
	stubs.locked += by;
	if (by < 0 && !stubs.locked && stubs.worker) {
		stubs.worker = false;
		stubs.sock_state = mpa_sock_get_state(&stubs.c, &stubs.err);
	}
}

u32 tcp_inq(struct sock *sk)
{
	return stubs.unread;
}

void tcp_read_done(struct sock *sk, size_t len)
{
	stubs.unread -= len;
}

struct sk_buff *tcp_write_queue_tail(const struct sock *sk)
{
	return stubs.queued ? get_fake_skb() : NULL;
}

bool tcp_rtx_and_write_queues_empty(const struct sock *sk)
{
	return !stubs.queued;
}

struct sk_buff *alloc_skb_fclone(u32 size, gfp_t gfp)
{
	return stubs.no_memory ? NULL : get_fake_skb();
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
	stubs.flags = msg->msg_flags;
	stubs.from = msg->msg_iter.off;
	/* TCP reports an error once */
	if (stubs.result < 0 && stubs.result != -EAGAIN)
		sk->sk_err = 0;
	return stubs.locked == 1 ? stubs.result : -EDEADLK;
}

/* Send a FIN. As in TCP, the state changes even if the FIN cannot be sent. */
static void send_fin(struct sock *sk, int how)
{
	sk->sk_state = TCP_FIN_WAIT1;
	if (stubs.fin_lost)
		return;
	stubs.fins++;
	stubs.tp.write_seq++;
}

int tcp_full_space(const struct sock *sk)
{
	return sk->sk_rcvbuf / 2;
}

static const struct proto proto = { .shutdown = send_fin };

void sock_no_linger(struct sock *sk)
{
	stubs.resets++;
}

/* Release the socket. As in TCP, this resets the connection if there is unread data. */
void ddp_sock_release(struct socket *s)
{
	stubs.released++;
	stubs.resets += !!stubs.unread;
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

/* Other functions of DDP and iw_mpa ------------------------------------------- */

int ddp_addr_get_vrf(struct net *net, int mine, const struct sockaddr_storage *local)
{
	return 10 * mine + ((const struct sockaddr_in *)local)->sin_addr.s_addr;
}

int ddp_sock_create(struct net *net, int vrf, int family, int protocol,
		    const struct ddp_sock_owner *owner, struct socket **sock)
{
	stubs.vrf = vrf;
	*sock = &stubs.sock;
	stubs.made++;
	stubs.tp.sk.sk_state = TCP_CLOSE;
	return 0;
}

void ddp_sock_set_tos(struct sock *sk, u8 tos) {}

int ddp_sock_bind(struct socket *sock, const struct sockaddr_storage *at)
{
	stubs.port = ntohs(ddp_addr_get_port(at));
	return stubs.port ? stubs.no_bind : 0;
}

int ddp_sock_connect(struct socket *sock, const struct sockaddr_storage *to)
{
	stubs.connects++;
	return stubs.port ? stubs.no_connect : stubs.no_any;
}

void ddp_sock_set_callbacks(struct sock *sk, void *owner, const struct ddp_sock_callbacks *calls,
			    struct ddp_sock_callbacks *orig_callbacks)
{
	/* callbacks take no lock, so the socket must be locked while they change */
	WARN_ON(stubs.locked != 1);
	sk->sk_user_data = owner;
	stubs.calls = calls;
}

void ddp_sock_restore_callbacks(struct sock *sk, const struct ddp_sock_callbacks *orig_callbacks)
{
	WARN_ON(stubs.locked != 1);
	sk->sk_user_data = NULL;
}

void mpa_conn_set_event(struct mpa_conn *c, enum mpa_event ev)
{
	stubs.events |= 1u << ev;
}

void mpa_tx_kick(struct mpa_conn *c, bool bulk) {}

bool mpa_rx_receive_or_discard(struct mpa_conn *c, struct sock *sk)
{
	WARN_ON(stubs.locked != 1);
	stubs.received++;
	return stubs.more;
}

int mpa_sock_test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.tp.sk.sk_prot = &proto;
	stubs.tp.sk.sk_state = TCP_ESTABLISHED;
	stubs.tp.sk.sk_socket = &stubs.sock;
	stubs.sock.sk = &stubs.tp.sk;
	stubs.c.sock = &stubs.sock;
	mpa_sock_install_callbacks(&stubs.c);
	return 0;
}
