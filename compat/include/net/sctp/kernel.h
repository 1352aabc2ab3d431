/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a user in the kernel may ask of an association and do to it, beyond what
 * socket options offer.  Its socket is locked, if nothing else is said.
 */
#ifndef _NET_SCTP_KERNEL_H
#define _NET_SCTP_KERNEL_H

#include <net/sctp/sctp.h>
#include <net/sctp/structs.h>

/*
 * Of a one-to-one style socket; NULL if it has ended.  Without the lock it stays
 * for an RCU reader.
 */
static inline struct sctp_association *sctp_sk_asoc(const struct sock *sk)
{
	struct list_head *asocs = &sctp_sk(sk)->ep->asocs;

	return list_first_entry_or_null(asocs, struct sctp_association, asocs);
}

/*
 * A peer whose COOKIE ACK got lost sends its cookie again, and that comes to the
 * socket that was accepted: it has to know what the listener signed with.
 */
static inline void sctp_sk_share_cookie_key(struct sock *sk,
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

/* The receive buffer has grown; the next SACK announces that much more */
static inline void sctp_assoc_add_rwnd(struct sctp_association *asoc, u32 more)
{
	asoc->rwnd += more;
}

/*
 * It has shrunk.  What was under pressure is not announced by now; nor is less than
 * nothing, whatever is not read yet
 */
static inline void sctp_assoc_take_rwnd(struct sctp_association *asoc, u32 less)
{
	u32 press = min(less, asoc->rwnd_press);

	asoc->rwnd_press -= press;
	asoc->rwnd -= min(asoc->rwnd, less - press);
}

/* Chunks of many messages leave together.  A SACK that comes ends it, too */
static inline void sctp_assoc_cork(struct sctp_association *asoc)
{
	sctp_outq_cork(&asoc->outqueue);
}

/* What was held back leaves with the next message */
static inline void sctp_assoc_end_cork(struct sctp_association *asoc)
{
	asoc->outqueue.cork = 0;
}

/* The TSN that the last chunk handed over has, or will have */
static inline u32 sctp_assoc_last_tsn(const struct sctp_association *asoc)
{
	u32 tsn = asoc->next_tsn - 1;
	struct list_head *pos;

	list_for_each(pos, &asoc->outqueue.out_chunk_list)
		tsn++;
	return tsn;
}

/* It is over after so many timeouts in a row, as SCTP_ASSOCINFO says it, too */
static inline void sctp_assoc_allow_timeouts(struct sctp_association *asoc,
					     u32 most)
{
	if (asoc->max_retrans != most)
		asoc->max_retrans = most;
}

/* No more than @pmtu octets get through; SCTP acts on it when it sends again */
static inline void sctp_transport_report_pmtu(struct sctp_transport *t, u32 pmtu)
{
	atomic_set(&t->mtu_info, pmtu);
	t->asoc->pmtu_pending = 1;
	t->pmtu_pending = 1;
}

#endif
