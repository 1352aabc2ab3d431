/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Functions that the verbs call for a queue pair that a program connects without rdma_cm; see
 * rdv.h.
 */
#ifndef _RNIC_SW_RDV_QP_H
#define _RNIC_SW_RDV_QP_H

#include "rnic.h"

/* Get the rendezvous of a queue pair; NULL if the queue pair has none.  See struct rnic_rdv. */
static inline struct rnic_rdv *rnic_qp_peek_rdv(const struct rnic_qp *qp)
{
	/* pairs with the xchg() in rdv_publish_and_listen_or_connect(); litmus: publish */
	return smp_load_acquire(&qp->rdv);
}

bool rnic_rdv_is_requested(const struct ib_qp_attr *attr, int mask);
int rnic_rdv_modify(struct rnic_qp *qp, const struct ib_qp_attr *attr, int mask);
void rnic_rdv_set_rnr_timer(struct rnic_rdv *rdv, u8 min_rnr_timer);
int rnic_rdv_set_rate(struct rnic_rdv *rdv, u64 rate);
enum ib_qp_state rnic_rdv_get_state(struct rnic_rdv *rdv);
void rnic_rdv_query(struct rnic_rdv *rdv, struct ib_qp_attr *attr);
bool rnic_rdv_try_defer_flush(struct rnic_qp *qp);
void rnic_rdv_stop(struct rnic_qp *qp);
void rnic_rdv_free(struct rnic_qp *qp);

/**
 * rnic_qp_has_lost_peer - check whether a program that does not use rdma_cm has lost its peer
 * @qp: the queue pair
 *
 * Context: any.
 *
 * Return: true if the queue pair has a rendezvous, and the peer has closed the stream, is
 * unreachable or has never answered; false otherwise.
 */
static inline bool rnic_qp_has_lost_peer(const struct rnic_qp *qp)
{
	if (!rnic_qp_peek_rdv(qp))
		return false;
	switch (READ_ONCE(qp->why)) {
	case IW_RETRY_EXCEEDED:
	case IW_PEER_CLOSED:
	case IW_PEER_RESET:
	case IW_MPA_LOST:
	case IW_UNREACHABLE:
	case IW_TIMEOUT:
		return true;
	default:
		return false;
	}
}

/**
 * rnic_qp_must_keep_recvs - check whether receives stay posted although the stream has ended
 * @qp: the queue pair
 *
 * In InfiniBand a queue pair does not notice that its peer has disappeared until it sends a
 * message. Programs rely on this: a program that has received all its messages may poll its
 * completion queue again, and does not expect flushed receives. So receives stay posted until a
 * request fails, or until the program moves the queue pair to the error state.
 *
 * Context: any.
 *
 * Return: true if the receives must not be flushed; false otherwise.
 */
static inline bool rnic_qp_must_keep_recvs(const struct rnic_qp *qp)
{
	return rnic_qp_has_lost_peer(qp) && !READ_ONCE(qp->error_requested) &&
	       !READ_ONCE(qp->sq.error_completed);
}

#endif
