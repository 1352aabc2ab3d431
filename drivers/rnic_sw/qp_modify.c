// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Modify and query queue pairs. */
#include <linux/sched/mm.h>
#include <rdma/uverbs_ioctl.h>

#include "rdv_qp.h"
#include "rnic.h"

/*
 * Attributes that rnic_modify_qp() applies, or only checks (current state, P_Key index).
 * The driver does not use the port number, because a device has only one.
 */
#define APPLIED (IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS |	\
		 IB_QP_PORT | IB_QP_PKEY_INDEX |			\
		 IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC |	\
		 IB_QP_RATE_LIMIT)

/*
 * Attributes that rnic_modify_qp() ignores.  They belong to InfiniBand's transport and
 * paths, and have no meaning for iWARP.  But programs and connection managers that
 * support both InfiniBand and iWARP set them.  rdv.c uses most of them if a program
 * connects the queue pair without rdma_cm.
 */
#define IGNORED (IB_QP_AV | IB_QP_PATH_MTU | IB_QP_TIMEOUT |		\
		 IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MIN_RNR_TIMER | \
		 IB_QP_RQ_PSN | IB_QP_SQ_PSN | IB_QP_DEST_QPN | IB_QP_QKEY)

static enum ib_qp_state to_ib_state(enum qp_state s)
{
	static const enum ib_qp_state map[QP_STATE_NR] = {
		[QP_IDLE]	= IB_QPS_INIT,
		[QP_RTS]	= IB_QPS_RTS,
		[QP_CLOSING]	= IB_QPS_SQD,
		[QP_TERMINATE]	= IB_QPS_ERR,
		[QP_ERROR]	= IB_QPS_ERR,
	};

	return map[s];
}

/*
 * Get the state to report.  If the program connects the QP without rdma_cm, report the state that
 * the program has requested, RTR or RTS, before the stream starts, while it runs, and after its end
 * as long as receives stay posted.
 */
static enum ib_qp_state get_ib_state(const struct rnic_qp *qp)
{
	enum qp_state now = READ_ONCE(qp->state);
	enum ib_qp_state state = to_ib_state(now);
	struct rnic_rdv *rdv;

	rcu_read_lock();
	rdv = rnic_qp_peek_rdv(qp);
	if (rdv && (now == QP_IDLE || now == QP_RTS || rnic_qp_must_keep_recvs(qp)))
		state = rnic_rdv_get_state(rdv);
	rcu_read_unlock();
	return state;
}

/*
 * Check whether a modify to state @to is valid: @to must be the current state, a state that a
 * modify can enter, or INIT or RTR before the QP is connected.  rnic_qp_reset() checks whether the
 * QP can be reset.  SQD is accepted even after the stream has ended, because iw_cm moves the QP to
 * SQD when it disconnects; the modify then changes nothing.
 */
static int check_state_transition(const struct rnic_qp *qp, enum ib_qp_state to)
{
	enum qp_state now = READ_ONCE(qp->state);

	switch (to) {
	case IB_QPS_ERR:
	case IB_QPS_RESET:
		return 0;
	case IB_QPS_SQD:
		return now == QP_IDLE ? -EINVAL : 0;
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		/*
		 * accept these states, but stay in QP_IDLE, which represents both; RTR
		 * also authorizes the calling thread to connect the QP of a kernel
		 * consumer, see qp_owner.c
		 */
		return now == QP_IDLE && !rnic_qp_peek_rdv(qp) ? 0 : -EINVAL;
	case IB_QPS_RTS:
		/*
		 * if rdma_cm connects the QP, only establishing the connection enters RTS, so a
		 * modify must not change the state
		 */
		return now == QP_RTS || (now == QP_IDLE && rnic_qp_peek_rdv(qp)) ||
		       rnic_qp_must_keep_recvs(qp) ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

/* Move to the error state, and flush receives that stayed posted after the end of the stream */
static void fail_qp_and_flush_recvs(struct rnic_qp *qp)
{
	bool kept = rnic_qp_must_keep_recvs(qp);

	WRITE_ONCE(qp->error_requested, true);
	rnic_qp_fail(qp, IW_LOCAL_ABORT);
	if (kept)
		rnic_qp_schedule_flush(qp);
}

static void apply_qp_state(struct rnic_qp *qp, enum ib_qp_state to)
{
	rnic_qp_grant_or_revoke_authorization(qp, to);
	if (to == IB_QPS_ERR)
		fail_qp_and_flush_recvs(qp);
	else if (to == IB_QPS_SQD)
		rnic_qp_close(qp);
}

/*
 * Check the requested IRD or ORD @want.  If @free is set, the QP is not connected yet,
 * and @want becomes the limit for the negotiation.  After the connection is established,
 * @want must equal the negotiated value @now.
 */
static bool is_valid_depth(bool free, u8 want, u16 now)
{
	if (free)
		return want <= RDMAP_DEPTH_MAX;
	return want == min_t(u16, now, U8_MAX);
}

/*
 * Get the negotiated IRD and ORD, or in IDLE the limits for their negotiation.  If the program
 * connects the QP without rdma_cm, always get the limits, which the program has set.
 */
static void get_depths_or_limits(struct rnic_qp *qp, u16 *ird, u16 *ord)
{
	if (READ_ONCE(qp->state) != QP_IDLE && !rnic_qp_peek_rdv(qp)) {
		rdmap_get_depths(&qp->rdmap, ird, ord);
		return;
	}
	*ird = READ_ONCE(qp->ird_max);
	*ord = READ_ONCE(qp->ord_max);
}

static int check_depths(struct rnic_qp *qp, const struct ib_qp_attr *attr,
			int mask)
{
	/* without rdma_cm the stream may start before the program enters RTS and sets its ORD */
	bool free = READ_ONCE(qp->state) == QP_IDLE || rnic_qp_peek_rdv(qp);
	u16 ird, ord;

	get_depths_or_limits(qp, &ird, &ord);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC &&
	    !is_valid_depth(free, attr->max_rd_atomic, ord))
		return -EINVAL;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	    !is_valid_depth(free, attr->max_dest_rd_atomic, ird))
		return -EINVAL;
	return 0;
}

/*
 * Set the limits for the negotiation of IRD and ORD; no effect once the QP is connected
 */
static void set_depth_limits(struct rnic_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		WRITE_ONCE(qp->ord_max, attr->max_rd_atomic);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		WRITE_ONCE(qp->ird_max, attr->max_dest_rd_atomic);
}

/* Check whether a modify enters RTS without rdma_cm, or changes attributes in RTS */
static bool is_rendezvous_modify_to_rts(const struct rnic_qp *qp, const struct ib_qp_attr *attr,
					int mask)
{
	return mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTS && rnic_qp_peek_rdv(qp);
}

/*
 * Check the rate limit in kbit/s, where 0 means no limit.  The QP must be in RTS, or enter RTS
 * without rdma_cm.
 */
static int check_rate_limit(const struct rnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	u32 rate = attr->rate_limit;

	if (rate && rate < RNIC_SW_RATE_MIN)
		return -EINVAL;
	return get_ib_state(qp) == IB_QPS_RTS ||
	       is_rendezvous_modify_to_rts(qp, attr, mask) ? 0 : -EINVAL;
}

static int set_rate_limit(struct rnic_qp *qp, u32 rate)
{
	u64 bytes = (u64)rate * 1000 / 8;
	struct rnic_rdv *rdv;
	int err;

	rcu_read_lock();
	rdv = rnic_qp_peek_rdv(qp);
	err = rdv ? rnic_rdv_set_rate(rdv, bytes)
		  : ddp_stream_set_tx_rate(&qp->rdmap.stream, bytes);
	rcu_read_unlock();
	return err;
}

/* Set the minimum RNR NAK timer, which has a meaning only if the QP is connected without rdma_cm */
static void set_rnr_timer(struct rnic_qp *qp, u8 min_rnr_timer)
{
	struct rnic_rdv *rdv;

	rcu_read_lock();
	rdv = rnic_qp_peek_rdv(qp);
	if (rdv)
		rnic_rdv_set_rnr_timer(rdv, min_rnr_timer);
	rcu_read_unlock();
}

/* Check whether @as is the current state.  INIT also matches RESET and RTR: all are QP_IDLE. */
static bool is_current_state(const struct rnic_qp *qp, enum ib_qp_state as)
{
	enum ib_qp_state now = get_ib_state(qp);

	if (now == IB_QPS_INIT && (as == IB_QPS_RESET || as == IB_QPS_RTR))
		return true;
	return as == now;
}

/* Check whether the device can apply or ignore all attributes of a modify */
static int check_modify_attrs(struct rnic_qp *qp, const struct ib_qp_attr *attr,
			      int mask)
{
	int err;

	/* attributes that are in neither list are not supported */
	if (mask & ~(APPLIED | IGNORED))
		return -EOPNOTSUPP;
	if (mask & IB_QP_CUR_STATE && !is_current_state(qp, attr->cur_qp_state))
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index)
		return -EINVAL;
	err = check_depths(qp, attr, mask);
	if (!err && mask & IB_QP_RATE_LIMIT)
		err = check_rate_limit(qp, attr, mask);
	if (!err && mask & IB_QP_STATE)
		err = check_state_transition(qp, attr->qp_state);
	return err;
}

/*
 * Set the peer's rights.  A modify that also changes the state only removes rights, because
 * connection managers name rights that the program has not chosen.  Remember the rights that a
 * modify to INIT names: __modify_qp_by_rendezvous() sets them if the QP is connected without
 * rdma_cm.
 */
static void set_rights(struct rnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_INIT)
		qp->init_access = attr->qp_access_flags & U8_MAX;
	rnic_qp_set_rights(qp, attr->qp_access_flags, mask & IB_QP_STATE);
}

/* Check whether a modify enters RTR or RTS without rdma_cm */
static bool is_rendezvous_modify(const struct rnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	return rnic_rdv_is_requested(attr, mask) || is_rendezvous_modify_to_rts(qp, attr, mask);
}

/*
 * Enter RTR or RTS without rdma_cm, or change attributes in RTS.  The peer gets exactly the rights
 * that the program has specified, as in InfiniBand.  Set the depths and rights first, because
 * rnic_rdv_modify() may start the stream.  If that function fails, restore the previous values.
 */
static int __modify_qp_by_rendezvous(struct rnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	u8 ird = qp->ird_max, ord = qp->ord_max;
	int access = qp->access, err;

	lockdep_assert_held(&qp->dev->rdv_lock);
	set_depth_limits(qp, attr, mask);
	if (mask & IB_QP_ACCESS_FLAGS)
		rnic_qp_set_rights(qp, attr->qp_access_flags, false);
	else if (attr->qp_state == IB_QPS_RTR)
		rnic_qp_set_rights(qp, qp->init_access, false);
	err = rnic_rdv_modify(qp, attr, mask);
	if (!err && mask & IB_QP_RATE_LIMIT)
		/* cannot fail: rnic_rdv_modify() has checked that the LLP can limit the rate */
		set_rate_limit(qp, attr->rate_limit);
	if (!err)
		return 0;
	WRITE_ONCE(qp->ird_max, ird);
	WRITE_ONCE(qp->ord_max, ord);
	rnic_qp_set_rights(qp, access, false);
	return err;
}

/* Enter RTR or RTS without rdma_cm; rdv_lock serializes this, so that a failure can be undone */
static int modify_qp_by_rendezvous(struct rnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	unsigned int noio = memalloc_noio_save();
	int err;

	mutex_lock(&qp->dev->rdv_lock);
	err = __modify_qp_by_rendezvous(qp, attr, mask);
	mutex_unlock(&qp->dev->rdv_lock);
	memalloc_noio_restore(noio);
	return err;
}

/*
 * Read a program's driver data.  Store the peer's LID in the address vector, where the core stores
 * it for InfiniBand.  Return: 0 or a negative errno.
 */
static int read_modify_qp_request(struct ib_udata *udata, struct ib_qp_attr *attr, int mask)
{
	struct rnic_sw_modify_qp req;
	int err;

	if (!udata || !udata->inlen)
		return ib_no_udata_io(udata);
	err = ib_copy_validate_udata_in_cm(udata, req, comp_mask, 0);
	if (!err && req.reserved)
		err = -EOPNOTSUPP;
	if (!err && mask & IB_QP_AV && req.dlid) {
		attr->ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
		rdma_ah_set_dlid(&attr->ah_attr, req.dlid);
	}
	return err ?: ib_respond_empty_udata(udata);
}

static int __modify_qp(struct rnic_qp *qp, struct ib_qp_attr *attr, int mask)
{
	int err = check_modify_attrs(qp, attr, mask);

	if (err)
		return err;
	if (is_rendezvous_modify(qp, attr, mask))
		return modify_qp_by_rendezvous(qp, attr, mask);
	/* set the rate and reset first, because the other steps cannot fail */
	if (mask & IB_QP_RATE_LIMIT)
		err = set_rate_limit(qp, attr->rate_limit);
	if (!err && mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)
		err = rnic_qp_reset(qp);
	if (err)
		return err;
	set_depth_limits(qp, attr, mask);
	if (mask & IB_QP_ACCESS_FLAGS)
		set_rights(qp, attr, mask);
	if (mask & IB_QP_MIN_RNR_TIMER)
		set_rnr_timer(qp, attr->min_rnr_timer);
	if (mask & IB_QP_STATE)
		apply_qp_state(qp, attr->qp_state);
	return 0;
}

/**
 * rnic_modify_qp - change state, access rights, depths or rate of a queue pair (device operation)
 * @ib: the queue pair
 * @attr: new values
 * @mask: IB_QP_*: which values of @attr are valid
 * @udata: empty, or struct rnic_sw_modify_qp
 *
 * Changes nothing if it fails.  Calls for the same queue pair wait for each other, so that a reset
 * can replace the stream.
 *
 * Context: process; may sleep.  A handler of events or completions must not call this function
 * while a consumer resets the queue pair, because the reset waits for the handler.
 *
 * Return: 0; -EOPNOTSUPP for an attribute that the device does not support, or for a rate
 * if the LLP cannot limit it; -EINVAL for a value that is invalid in the current state;
 * -ENOTCONN if the connection ended before its rate was set; or an error of rnic_rdv_modify() or
 * rnic_qp_reset().
 */
int rnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct rnic_qp *qp = to_rnic_qp(ib);
	int err = read_modify_qp_request(udata, attr, mask);

	if (err)
		return err;
	rnic_qp_lock_modify(qp);
	err = __modify_qp(qp, attr, mask);
	rnic_qp_unlock_modify(qp);
	return err;
}

/**
 * rnic_query_qp - query a queue pair (device operation)
 * @ib: the queue pair
 * @attr: attributes, filled in
 * @mask: ignored; all values are filled in
 * @init: creation attributes, filled in
 *
 * Return: 0.
 */
int rnic_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct rnic_qp *qp = to_rnic_qp(ib);
	struct rnic_rdv *rdv;
	u16 ird, ord;

	memset(attr, 0, sizeof(*attr));
	get_depths_or_limits(qp, &ird, &ord);
	attr->qp_state = get_ib_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mtu = IB_MTU_4096;
	attr->qp_access_flags = READ_ONCE(qp->access);
	attr->cap = qp->cap;
	attr->port_num = 1;
	attr->max_rd_atomic = min_t(u16, ord, U8_MAX);
	attr->max_dest_rd_atomic = min_t(u16, ird, U8_MAX);
	rcu_read_lock();
	rdv = rnic_qp_peek_rdv(qp);
	if (rdv)
		rnic_rdv_query(rdv, attr);
	rcu_read_unlock();
	*init = (struct ib_qp_init_attr) {
		.qp_context = ib->qp_context,
		.qp_type = ib->qp_type,
		.send_cq = ib->send_cq,
		.recv_cq = ib->recv_cq,
		.srq = ib->srq,
		.sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.cap = qp->cap,
	};
	return 0;
}
