// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Paths that swallow what is sent on them, and those that are lost: see stall.h. */
#include <net/ipv6.h>
#include <net/sctp/kernel.h>
#include <net/sctp/sctp.h>
#include <net/sctp/sm.h>
#include <net/sctp/structs.h>
#include <net/sock.h>

#include "internal.h"
#include "trace.h"

static struct list_head *__paths(struct sctp_association *asoc)
{
	return &asoc->peer.transport_addr_list;
}

static void __view(struct sctp_association *asoc, struct sddp_stall_view *v)
{
	struct sctp_transport *t;

	v->acked = asoc->ctsn_ack_point;
	v->under_way = TSN_lt(v->acked, asoc->next_tsn - 1);
	v->waits = v->under_way && !asoc->peer.zero_window_announced;
	list_for_each_entry(t, __paths(asoc), transports)
		v->heard = max(v->heard, ktime_to_ns(t->last_time_heard));
}

static void view(struct sddp_assoc *a, struct sddp_stall_view *v)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;

	*v = (struct sddp_stall_view){ .now = ktime_get_ns() };
	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		__view(asoc, v);
	release_sock(sk);
}

/* A heartbeat now, not when SCTP would send one */
static void sddp_path_ask(struct sddp_assoc *a)
{
	struct sctp_paddrparams path = { .spp_flags = SPP_HB_DEMAND };
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		memcpy(&path.spp_address, &asoc->peer.primary_path->ipaddr,
		       sizeof(asoc->peer.primary_path->ipaddr));
	release_sock(sk);
	if (asoc)
		sddp_sock_set(a->sock, SCTP_PEER_ADDR_PARAMS, &path,
			      sizeof(path));
}

/* As if a router had said so, and SCTP had not got round to it */
static void __shrink(struct sctp_transport *t)
{
	u32 least = t->ipaddr.sa.sa_family == AF_INET6 ? IPV6_MIN_MTU : 0;
	u32 size = sddp_stall_smaller(t->pathmtu, least);

	if (size)
		sctp_transport_report_pmtu(t, size);
}

/*
 * New chunks fit then.  What SCTP sends again it cannot cut any more, so IP does:
 * the route has to know, too, and forgets it after some minutes.
 */
static void shrink(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	struct sctp_transport *t;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		list_for_each_entry(t, __paths(asoc), transports)
			__shrink(t);
	release_sock(sk);
}

/**
 * __sddp_path_allow - how many timeouts in a row end it follows from its paths
 * @asoc: SCTP's association, up, its socket locked
 *
 * Addresses are the peer's word until somebody has answered there.  Before that
 * they count for nothing: SCTP does not count the timeouts of their heartbeats
 * either.
 */
void __sddp_path_allow(struct sctp_association *asoc)
{
	struct sctp_transport *t;
	u32 paths = 0, most;

	list_for_each_entry(t, __paths(asoc), transports)
		paths += t->state != SCTP_UNCONFIRMED;
	most = sddp_stall_timeouts(paths);
	sctp_assoc_allow_timeouts(asoc, most);
}

/**
 * sddp_path_watch - something has been sent
 * @a: the association; worker
 */
void sddp_path_watch(struct sddp_assoc *a)
{
	queue_delayed_work(sddp_wq, &a->look, SDDP_STALL_LOOK * HZ);
}

/**
 * sddp_path_look - does what was sent arrive?
 * @a: the association; worker
 *
 * Return: false if nothing gets through: it is to end.
 */
bool sddp_path_look(struct sddp_assoc *a)
{
	struct sddp_stall_view v;
	enum sddp_stall_do what;

	view(a, &v);
	what = sddp_stall_look(&a->stall, &v);
	if (what != SDDP_STALL_NOTHING)
		trace_sddp_stall(a, what, v.acked);
	if (what == SDDP_STALL_ASK)
		sddp_path_ask(a);
	else if (what == SDDP_STALL_SHRINK)
		shrink(a);
	/* a window that is shut opens without a word to us */
	if (v.under_way)
		sddp_path_watch(a);
	else
		sddp_tx_rest(a);
	return what != SDDP_STALL_END;
}
