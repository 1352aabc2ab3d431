/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Operations on an SCTP association for kernel users, for which there are no
 * socket options. The caller must hold the socket lock unless stated otherwise.
 */
#ifndef _NET_SCTP_KERNEL_H
#define _NET_SCTP_KERNEL_H

#include <net/sctp/sctp.h>
#include <net/sctp/structs.h>

/*
 * Return the association of a one-to-one style socket, or NULL if the socket has
 * none any longer. A caller without the socket lock must be in an RCU read-side
 * section; the association stays valid until the end of that section.
 */
static inline struct sctp_association *sctp_sk_asoc(const struct sock *sk)
{
	struct list_head *asocs = &sctp_sk(sk)->ep->asocs;

	return list_first_entry_or_null(asocs, struct sctp_association, asocs);
}

/*
 * Copy the cookie key of a listening socket to an accepted socket. If a COOKIE
 * ACK is lost, the peer retransmits its COOKIE ECHO. The accepted socket
 * receives that chunk, and needs the listener's key to verify the cookie.
 */
static inline void sctp_sk_copy_cookie_key(struct sock *sk,
					   const struct sock *listener)
{
	struct sctp_endpoint *ep = sctp_sk(sk)->ep;
	const struct sctp_endpoint *from = sctp_sk(listener)->ep;

#ifdef HAVE_SCTP_COOKIE_AUTH_KEY
	ep->cookie_auth_key = from->cookie_auth_key;
#else
	memcpy(ep->secret_key, from->secret_key, sizeof(ep->secret_key));
#endif
}

/*
 * Increase the receive window by @more bytes; the next SACK announces the new
 * window
 */
static inline void sctp_assoc_add_rwnd(struct sctp_association *asoc, u32 more)
{
	asoc->rwnd += more;
}

/*
 * Reduce the receive window by @less bytes. Reduce rwnd_press first, whose bytes
 * SCTP does not announce to the peer, then rwnd. Reduce neither below 0.
 */
static inline void sctp_assoc_reduce_rwnd(struct sctp_association *asoc, u32 less)
{
	u32 press = min(less, asoc->rwnd_press);

	asoc->rwnd_press -= press;
	asoc->rwnd -= min(asoc->rwnd, less - press);
}

/*
 * Make SCTP hold back chunks until sctp_assoc_end_cork() is called or a SACK is
 * received, so that SCTP sends chunks of several messages in one packet
 */
static inline void sctp_assoc_cork(struct sctp_association *asoc)
{
	sctp_outq_cork(&asoc->outqueue);
}

/*
 * Make SCTP stop holding back chunks. SCTP sends the chunks that it has held
 * back together with the next message.
 */
static inline void sctp_assoc_end_cork(struct sctp_association *asoc)
{
	asoc->outqueue.cork = 0;
}

/*
 * Return the TSN that the last chunk in the transmit queue has, or will get: SCTP
 * assigns the TSN of a chunk when it sends the chunk
 */
static inline u32 sctp_assoc_get_last_tsn(const struct sctp_association *asoc)
{
	u32 tsn = asoc->next_tsn - 1;
	struct list_head *pos;

	list_for_each(pos, &asoc->outqueue.out_chunk_list)
		tsn++;
	return tsn;
}

/*
 * Set the number of consecutive timeouts after which the association ends, like
 * the socket option SCTP_ASSOCINFO
 */
static inline void sctp_assoc_set_max_retrans(struct sctp_association *asoc,
					      u32 most)
{
	if (asoc->max_retrans != most)
		asoc->max_retrans = most;
}

/* Make SCTP lower the path MTU to @pmtu bytes before its next transmission */
static inline void sctp_transport_report_pmtu(struct sctp_transport *t, u32 pmtu)
{
	atomic_set(&t->mtu_info, pmtu);
	t->asoc->pmtu_pending = 1;
	t->pmtu_pending = 1;
}

#endif
