// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Path MTU and path failure of an association: reads the state of SCTP's association,
 * and takes the actions that stall.c chooses.
 */
#include <net/ipv6.h>
#include <net/sctp/kernel.h>
#include <net/sctp/sctp.h>
#include <net/sctp/sm.h>
#include <net/sctp/structs.h>
#include <net/sock.h>

#include "internal.h"
#include "trace.h"

static struct list_head *__get_transports(struct sctp_association *asoc)
{
	return &asoc->peer.transport_addr_list;
}

static void __get_stall_view(struct sctp_association *asoc, struct sddp_stall_view *v)
{
	struct sctp_transport *t;

	v->acked = asoc->ctsn_ack_point;
	v->in_flight = TSN_lt(v->acked, asoc->next_tsn - 1);
	v->ack_expected = v->in_flight && !asoc->peer.zero_window_announced;
	list_for_each_entry(t, __get_transports(asoc), transports)
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

/* Send a heartbeat to the peer's primary address without waiting for SCTP's timer */
static void sddp_path_send_heartbeat(struct sddp_assoc *a)
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
		sddp_sock_set_opt(a->sock, SCTP_PEER_ADDR_PARAMS, &path,
				  sizeof(path));
}

/*
 * Lower the path MTU of @t to the next smaller size, as SCTP itself does after an ICMP
 * error. SCTP applies the new MTU when it sends next. Do nothing if there is no smaller
 * size.
 */
static void __shrink_transport_pmtu(struct sctp_transport *t)
{
	u32 least = t->ipaddr.sa.sa_family == AF_INET6 ? IPV6_MIN_MTU : 0;
	u32 size = sddp_stall_choose_pmtu(t->pathmtu, least);

	if (size)
		sctp_transport_report_pmtu(t, size);
}

/*
 * Lower the path MTU of every transport, so that new chunks fit the path. SCTP cannot make
 * chunks that it retransmits smaller, so IP must fragment the packets with these chunks.
 * Therefore SCTP also lowers the MTU of the route, which returns to its former value after
 * some minutes.
 */
static void shrink_all_pmtus(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	struct sctp_transport *t;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	if (asoc)
		list_for_each_entry(t, __get_transports(asoc), transports)
			__shrink_transport_pmtu(t);
	release_sock(sk);
}

/**
 * __sddp_path_limit_timeouts - set the number of timeouts after which SCTP gives up the peer
 * @asoc: SCTP's association, established
 *
 * The number grows with the number of the peer's addresses. Count an address only if the
 * peer has replied from it: otherwise a peer could prolong its timeout by announcing
 * many addresses. SCTP does not count heartbeat timeouts of addresses without a reply
 * either.
 *
 * Context: socket lock held.
 */
void __sddp_path_limit_timeouts(struct sctp_association *asoc)
{
	struct sctp_transport *t;
	u32 paths = 0, most;

	list_for_each_entry(t, __get_transports(asoc), transports)
		paths += t->state != SCTP_UNCONFIRMED;
	most = sddp_compute_max_timeouts(paths);
	sctp_assoc_set_max_retrans(asoc, most);
}

/**
 * sddp_path_schedule_check - schedule the next check for unacknowledged data
 * @a: the association, which has just sent data
 *
 * Do nothing if a check is already scheduled.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_path_schedule_check(struct sddp_assoc *a)
{
	queue_delayed_work(sddp_wq, &a->stall_timer, SDDP_STALL_INTERVAL * HZ);
}

/**
 * sddp_path_act_on_stall - act if the peer does not acknowledge the data in flight
 * @a: the association
 *
 * If acknowledgments are missing, send a heartbeat or lower the path MTU. While data is
 * in flight, schedule the next check.
 *
 * Context: worker, with the association's mutex held.
 * Return: SDDP_PATH_IDLE if no data is in flight; SDDP_PATH_DEAD if the caller must end
 * the association, because the peer has acknowledged nothing for too long;
 * SDDP_PATH_BUSY otherwise.
 */
enum sddp_path_state sddp_path_act_on_stall(struct sddp_assoc *a)
{
	struct sddp_stall_view v;
	enum sddp_stall_do what;

	get_stall_view(a, &v);
	what = sddp_stall_choose_action(&a->stall, &v);
	if (what != SDDP_STALL_NOTHING)
		trace_sddp_stall(a, what, v.acked);
	if (what == SDDP_STALL_PROBE)
		sddp_path_send_heartbeat(a);
	else if (what == SDDP_STALL_SHRINK)
		shrink_all_pmtus(a);
	/*
	 * Continue the checks while the peer's window is closed, because SCTP does not
	 * notify this module when the window opens.
	 */
	if (!v.in_flight)
		return SDDP_PATH_IDLE;
	sddp_path_schedule_check(a);
	return what == SDDP_STALL_END ? SDDP_PATH_DEAD : SDDP_PATH_BUSY;
}
