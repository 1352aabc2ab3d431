// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Implement the interfaces ddp/llp.h (to DDP) and ddp/session.h (to the ULP).
 *
 * Most functions only call functions of other files, which send, receive and change the
 * state of a connection. Each function may run while the worker tears down the connection.
 */
#include <linux/err.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/busy_poll.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "fpdu.h"
#include "internal.h"

static void mpa_llp_kick(struct ddp_llp *llp, bool bulk)
{
	mpa_tx_kick(llp_to_conn(llp), bulk);
}

static void mpa_llp_push(struct ddp_llp *llp)
{
	mpa_tx_push(llp_to_conn(llp));
}

static bool mpa_llp_read(struct ddp_llp *llp, void *dst, u32 len)
{
	return mpa_rx_read(llp_to_conn(llp), dst, len);
}

static void mpa_llp_close(struct ddp_llp *llp, enum iw_reason why)
{
	mpa_conn_request_close(llp_to_conn(llp), why);
}

static void mpa_llp_unbind(struct ddp_llp *llp)
{
	mpa_conn_unbind(llp_to_conn(llp));
}

static void mpa_llp_resume(struct ddp_llp *llp)
{
	mpa_conn_set_event(llp_to_conn(llp), MPA_EV_RX);
}

static const char *get_phase_name(enum mpa_phase phase)
{
	static const char *const names[] = {
		[MPA_NEW]		= "new",
		[MPA_CONNECTING]	= "connecting",
		[MPA_STARTUP]		= "startup",
		[MPA_FULL]		= "full",
		[MPA_ENDED]		= "ended",
	};

	return names[phase];
}

/*
 * Read the statistics of a socket. The caller must hold the connection's
 * query_lock, so that the socket is not released. The socket lock is not taken, so
 * the values may not be consistent with each other.
 */
static void mpa_sock_read_stats(const struct sock *sk, struct ddp_query *q)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 una = READ_ONCE(tp->snd_una), nxt = READ_ONCE(tp->snd_nxt);

	if (READ_ONCE(sk->sk_state) == TCP_SYN_SENT)
		return;
	q->mulpdu = READ_ONCE(tp->mss_cache);
	q->unacked = nxt - una;
	q->unsent = READ_ONCE(tp->write_seq) - nxt;
	q->unread = READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);
	q->retransmits += READ_ONCE(tp->total_retrans);
}

/* Read the statistics of a connection's socket; the EMSS is returned in @q->mulpdu */
static void mpa_sock_query(struct mpa_conn *c, struct ddp_query *q)
{
	spin_lock_bh(&c->query_lock);
	q->retransmits = c->retransmits;
	if (c->sock)
		mpa_sock_read_stats(c->sock->sk, q);
	spin_unlock_bh(&c->query_lock);
}

static void mpa_llp_query(struct ddp_llp *llp, struct ddp_query *q)
{
	struct mpa_conn *c = llp_to_conn(llp);

	q->llp = "tcp";
	q->phase = get_phase_name(READ_ONCE(c->phase));
	q->revision = READ_ONCE(c->revision);
	q->crc = READ_ONCE(c->crc);
	q->tx_markers = READ_ONCE(c->tx_markers);
	q->rx_markers = READ_ONCE(c->rx_markers);
	mpa_sock_query(c, q);
	if (q->mulpdu)
		q->mulpdu = mpa_compute_mulpdu(q->mulpdu, q->tx_markers);
}

/*
 * Limit the rate of a socket as setsockopt(SO_MAX_PACING_RATE) does, for which the
 * kernel exports no function. TCP does the pacing itself, unless a queueing
 * discipline does it. @rate: bytes per second, ~0UL for no limit.
 */
static void set_pacing_rate(struct sock *sk, unsigned long rate)
{
	/*
	 * Use cmpxchg(), because the fq queueing discipline may set sk_pacing_status
	 * to SK_PACING_FQ concurrently. litmus: none, no other data depends on the field
	 */
	if (rate != ~0UL)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
			SK_PACING_NEEDED);
	WRITE_ONCE(sk->sk_max_pacing_rate, rate);
	if (rate < READ_ONCE(sk->sk_pacing_rate))
		WRITE_ONCE(sk->sk_pacing_rate, rate);
}

/* Limit the rate at which TCP sends to @rate bytes per second; 0 for no limit */
static void mpa_sock_set_tx_rate(struct mpa_conn *c, u64 rate)
{
	spin_lock_bh(&c->query_lock);
	if (c->sock)
		set_pacing_rate(c->sock->sk, rate ?: ~0UL);
	spin_unlock_bh(&c->query_lock);
}

static void mpa_llp_set_tx_rate(struct ddp_llp *llp, u64 rate)
{
	mpa_sock_set_tx_rate(llp_to_conn(llp), rate);
}

#ifdef CONFIG_NET_RX_BUSY_POLL

/*
 * Get the NAPI instance that has received the last packet of the connection. Return: its ID; a
 * value below MIN_NAPI_ID if none has, as with the loopback interface.
 */
static unsigned int mpa_sock_get_napi_id(struct mpa_conn *c)
{
	unsigned int id = 0;

	spin_lock_bh(&c->query_lock);
	if (c->sock)
		id = READ_ONCE(c->sock->sk->sk_napi_id);
	spin_unlock_bh(&c->query_lock);
	return id;
}

static bool mpa_llp_busy_poll(struct ddp_llp *llp)
{
	unsigned int id = mpa_sock_get_napi_id(llp_to_conn(llp));

	if (id < MIN_NAPI_ID)
		return false;
	/* without a function that ends the loop, the NAPI instance is polled once */
	napi_busy_loop(id, NULL, NULL, true, BUSY_POLL_BUDGET);
	return true;
}

#else

static bool mpa_llp_busy_poll(struct ddp_llp *llp)
{
	return false;
}

#endif

const struct ddp_llp_ops mpa_llp_ops = {
	.kick		= mpa_llp_kick,
	.push		= mpa_llp_push,
	.read		= mpa_llp_read,
	.close		= mpa_llp_close,
	.unbind		= mpa_llp_unbind,
	.resume		= mpa_llp_resume,
	.query		= mpa_llp_query,
	.set_tx_rate	= mpa_llp_set_tx_rate,
	.busy_poll	= mpa_llp_busy_poll,
};

/*
 * Create the socket, start the TCP handshake and bind the stream, if any. The mutex is not
 * held while the socket is created and connects, because that may take long, and
 * other contexts that need the mutex would have to wait.
 */
static int begin_connect(struct mpa_conn *c, const struct ddp_connect *args)
{
	int err;

	err = mpa_conn_alloc_startup(c, true);
	if (!err)
		err = mpa_startup_set_offer(c->su, args->offer);
	if (!err)
		err = mpa_sock_connect(c, args->local, args->owner);
	if (err)
		return err;
	mpa_conn_lock(c);
	err = args->stream ? mpa_conn_bind(c, args->stream) : 0;
	if (!err)
		mpa_conn_enter_first_phase(c);
	/* mpa_conn_unlock() queues the worker if a socket callback has already set an event */
	mpa_conn_unlock(c);
	return err;
}

static struct ddp_session *mpa_connect(const struct ddp_connect *args,
				       const struct ddp_session_user *user,
				       void *ctx)
{
	struct mpa_conn *c = mpa_conn_new(user, ctx, args->policy, NULL);
	int err;

	if (!c)
		return ERR_PTR(-ENOMEM);
	c->net = get_net_track(args->net, &c->net_tracker, GFP_KERNEL);
	c->ifindex = args->ifindex;
	c->tos = args->tos;
	c->ss.remote = *args->remote;
	c->ss.local = *args->local;
	c->reported = true;
	/*
	 * Take a reference for the ULP, and one for this function, because the worker
	 * may tear down @c before this function returns
	 */
	ddp_session_get(&c->ss);
	ddp_session_get(&c->ss);
	err = begin_connect(c, args);
	if (err) {
		mpa_conn_abandon(c);
		/* drop the references of the ULP and of the socket's callbacks */
		ddp_session_put(&c->ss);
		ddp_session_put(&c->ss);
	}
	ddp_session_put(&c->ss);
	return err ? ERR_PTR(err) : &c->ss;
}

/*
 * Reply to a Request that was reported to the ULP. @s: stream to start; NULL to
 * reject the Request. Return: 0 if the worker will send the Reply; -ECONNRESET if
 * start-up is over, mostly because the connection was torn down; or another negative
 * errno.
 */
static int queue_reply(struct mpa_conn *c, struct ddp_stream *s,
		       const struct ddp_offer *o)
{
	int err = -ECONNRESET;

	mpa_conn_lock(c);
	if (c->phase == MPA_STARTUP)
		err = s ? mpa_conn_bind(c, s) : mpa_startup_reject(c->su, o);
	if (!err && s)
		err = mpa_startup_set_offer(c->su, o);
	/* never clear it: the upcall after a first accept follows even if a second one fails */
	if (!err && s)
		c->ss.accepted = true;
	if (!err)
		mpa_conn_set_deadline(c, 0);
	mpa_conn_set_event(c, MPA_EV_STATE);
	mpa_conn_unlock(c);
	return err;
}

static int mpa_accept(struct ddp_session *ss, struct ddp_stream *s,
		      const struct ddp_offer *o)
{
	return queue_reply(ss_to_conn(ss), s, o);
}

static int mpa_reject(struct ddp_session *ss, const struct ddp_offer *o)
{
	return queue_reply(ss_to_conn(ss), NULL, o);
}

/* Bind the stream in the established upcall, which the worker makes with the mutex held */
static int mpa_bind(struct ddp_session *ss, struct ddp_stream *s)
{
	struct mpa_conn *c = ss_to_conn(ss);

	lockdep_assert_held(&c->mutex);
	return mpa_conn_bind(c, s);
}

static void mpa_set_owner(struct ddp_session *ss, const struct ddp_sock_owner *o)
{
	struct mpa_conn *c = ss_to_conn(ss);

	mpa_conn_lock(c);
	if (c->sock)
		ddp_sock_set_owner(c->sock, o);
	mpa_conn_unlock(c);
}

static void mpa_stop(struct ddp_session *ss, bool abort)
{
	mpa_conn_request_close(ss_to_conn(ss), abort ? IW_LOCAL_ABORT : IW_LOCAL_CLOSE);
}

struct ddp_session_type mpa_session_type = {
	.name		= "mpa",
	.connect	= mpa_connect,
	.listen		= mpa_listen,
	.unlisten	= ddp_port_unlisten,
	.accept		= mpa_accept,
	.reject		= mpa_reject,
	.bind		= mpa_bind,
	.set_owner	= mpa_set_owner,
	.stop		= mpa_stop,
	.release	= mpa_conn_release,
};
