// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Path MTU and path failure of an association: the logic is in stall.c. */
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

static void __get_stall_view(struct sctp_association *asoc, struct sddp_stall_view *v)
{
	struct sctp_transport *t;

	v->acked = asoc->ctsn_ack_point;
	v->in_flight = TSN_lt(v->acked, asoc->next_tsn - 1);
	v->ack_expected = v->in_flight && !asoc->peer.zero_window_announced;
	list_for_each_entry(t, __paths(asoc), transports)
		v->last_heard = max(v->last_heard, ktime_to_ns(t->last_time_heard));
}

static void get_stall_view(struct sddp_assoc *a, struct sddp_stall_view *v)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;

	*v = (struct sddp_stall_view){ .now = ktime_get_ns() };
	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		__get_stall_view(asoc, v);
	release_sock(sk);
}

/* Send a heartbeat now instead of at SCTP's next interval */
static void sddp_path_probe(struct sddp_assoc *a)
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

/*
 * Report a smaller MTU as if an ICMP message had arrived, which SCTP acts on
 * when it sends next.
 */
static void __shrink_pmtu(struct sctp_transport *t)
{
	u32 least = t->ipaddr.sa.sa_family == AF_INET6 ? IPV6_MIN_MTU : 0;
	u32 size = sddp_stall_next_pmtu(t->pathmtu, least);

	if (size)
		sctp_transport_report_pmtu(t, size);
}

/*
 * Lower the path MTU of every transport. New chunks then fit. SCTP cannot
 * refragment the chunks that it retransmits, so IP has to fragment them: the
 * route's MTU is lowered as well, and expires after some minutes.
 */
static void shrink_pmtu(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	struct sctp_transport *t;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		list_for_each_entry(t, __paths(asoc), transports)
			__shrink_pmtu(t);
	release_sock(sk);
}

/**
 * __sddp_path_set_timeouts - set the number of timeouts after which SCTP gives up
 * @asoc: SCTP's association, established, its socket locked
 *
 * The number depends on the peer's addresses. An address counts only once the
 * peer has replied there: otherwise a peer could prolong its timeout by
 * announcing many. SCTP does not count the heartbeat timeouts of such an
 * address either.
 */
void __sddp_path_set_timeouts(struct sctp_association *asoc)
{
	struct sctp_transport *t;
	u32 paths = 0, most;

	list_for_each_entry(t, __paths(asoc), transports)
		paths += t->state != SCTP_UNCONFIRMED;
	most = sddp_stall_timeouts(paths);
	sctp_assoc_allow_timeouts(asoc, most);
}

/**
 * sddp_path_watch - start the periodic check for stalled data
 * @a: the association, which has sent something; worker context
 */
void sddp_path_watch(struct sddp_assoc *a)
{
	queue_delayed_work(sddp_wq, &a->look, SDDP_STALL_LOOK * HZ);
}

/**
 * sddp_path_check - check whether data that was sent is acknowledged
 * @a: the association; worker context
 *
 * Return: the state of what was sent, see enum sddp_path_state.
 */
enum sddp_path_state sddp_path_check(struct sddp_assoc *a)
{
	struct sddp_stall_view v;
	enum sddp_stall_do what;

	get_stall_view(a, &v);
	what = sddp_stall_check(&a->stall, &v);
	if (what != SDDP_STALL_NOTHING)
		trace_sddp_stall(a, what, v.acked);
	if (what == SDDP_STALL_ASK)
		sddp_path_probe(a);
	else if (what == SDDP_STALL_SHRINK)
		shrink_pmtu(a);
	/* a closed window opens without a notification, so keep checking */
	if (!v.in_flight)
		return SDDP_PATH_IDLE;
	sddp_path_watch(a);
	return what == SDDP_STALL_END ? SDDP_PATH_DEAD : SDDP_PATH_BUSY;
}
