// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rendezvous of a queue pair: the modify to RTR and RTS, queries, and the work item that connects
 * or accepts.
 *
 * The modify to RTR chooses the role.  The passive side listens on the rendezvous port before the
 * modify returns; the active side connects in the background, and tries again until the peer is in
 * RTR, too.  In RTS a program may post requests immediately; they are sent when the stream starts.
 * If they wait for longer than the queue pair's timeout and retry count permit, the queue pair
 * fails.  The same limit applies to requests that are not completed when the peer disappears.
 */
#include <linux/err.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include <ddp/addr.h>

#include "cm.h"
#include "rdv.h"
#include "rdv_time.h"
#include "rnr.h"

#define TICK_MS		100	/* interval at which the work item checks the limit */

/* The work item ---------------------------------------------------------------------------- */

/**
 * __rdv_queue_work - queue the work item, so that it runs after @ms milliseconds at the latest
 * @rdv: the rendezvous; the caller must hold its lock
 * @ms: delay; ignored if the work item is queued for an earlier time already
 *
 * Does nothing if the rendezvous has ended.
 */
void __rdv_queue_work(struct rnic_rdv *rdv, u32 ms)
{
	unsigned long delay = msecs_to_jiffies(ms);

	lockdep_assert_held(&rdv->lock);
	if (rdv->state == RDV_ENDED)
		return;
	if (!delayed_work_pending(&rdv->work) ||
	    time_before(jiffies + delay, rdv->work.timer.expires))
		mod_delayed_work(rnic_wq, &rdv->work, delay);
}

/* Check whether a program has posted requests that the transmit path has not completed */
static bool has_unfinished_requests(const struct rnic_qp *qp)
{
	return rnic_ring_read_prod(&qp->sq.ring) != READ_ONCE(qp->sq.tail);
}

/* Check whether requests have waited too long for the stream, or for a peer that has disappeared */
static bool __record_wait_and_check_limit(struct rnic_rdv *rdv)
{
	u32 limit = rdv_compute_wait_limit_ms(rdv->timeout, rdv->retry_cnt);

	lockdep_assert_held(&rdv->lock);
	if (!rdv->msg.has_sq_psn || limit == RDV_FOREVER || !has_unfinished_requests(rdv->qp)) {
		rdv->posted = false;
		return false;
	}
	if (!rdv->posted) {
		rdv->posted = true;
		rdv->posted_at = jiffies;
	}
	return time_after_eq(jiffies, rdv->posted_at + msecs_to_jiffies(limit));
}

enum rdv_step { RDV_DO_NOTHING, RDV_DO_CONNECT, RDV_DO_ACCEPT, RDV_DO_FAIL, RDV_DO_FLUSH };

/* Choose what the work item does now, and change the state if it connects */
static enum rdv_step __begin_next_step(struct rnic_rdv *rdv)
{
	if (rdv->state == RDV_CONNECTED || rdv->state == RDV_ENDED)
		return RDV_DO_NOTHING;
	if (__record_wait_and_check_limit(rdv)) {
		rdv->limit_over = true;
		return rdv->state == RDV_LOST ? RDV_DO_FLUSH : RDV_DO_FAIL;
	}
	if (rdv->state == RDV_REQUESTED && !rdv->accepted)
		return RDV_DO_ACCEPT;
	if (rdv->state != RDV_WAITING || !rdv->active || time_before(jiffies, rdv->next_try))
		return RDV_DO_NOTHING;
	rdv->state = RDV_CONNECTING;
	return RDV_DO_CONNECT;
}

/* Queue the work item for the next attempt, and for the next check of the limit */
static void __queue_next_work_run(struct rnic_rdv *rdv)
{
	if (rdv->state == RDV_CONNECTED || rdv->state == RDV_ENDED)
		return;
	/* a post queues the work item again, see rnic_rdv_try_defer_flush() */
	if (rdv->state == RDV_LOST && (rdv->limit_over || !has_unfinished_requests(rdv->qp)))
		return;
	if (rdv->state == RDV_WAITING && rdv->active)
		__rdv_queue_work(rdv, jiffies_to_msecs(max_t(long, rdv->next_try - jiffies, 0)));
	if (rdv->msg.has_sq_psn &&
	    rdv_compute_wait_limit_ms(rdv->timeout, rdv->retry_cnt) != RDV_FOREVER)
		__rdv_queue_work(rdv, TICK_MS);
}

static void connect_or_retry_later(struct rnic_rdv *rdv)
{
	int err = rdv_connect(rdv);

	if (!err)
		return;
	/* try again later, because the cause may be temporary, such as a lack of memory */
	spin_lock_bh(&rdv->lock);
	if (rdv->state == RDV_CONNECTING)
		rdv->state = RDV_WAITING;
	rdv->pause_ms = rdv_compute_pause_ms(rdv->pause_ms);
	rdv->next_try = jiffies + msecs_to_jiffies(rdv->pause_ms);
	spin_unlock_bh(&rdv->lock);
}

static void execute_rdv_step(struct rnic_rdv *rdv, enum rdv_step step)
{
	switch (step) {
	case RDV_DO_CONNECT:
		connect_or_retry_later(rdv);
		return;
	case RDV_DO_ACCEPT:
		/* after a failure, keep the listener for the next Request */
		if (!rdv_accept(rdv))
			rdv_port_put(rdv);
		return;
	case RDV_DO_FAIL:
		rnic_qp_fail(rdv->qp, IW_RETRY_EXCEEDED);
		return;
	case RDV_DO_FLUSH:
		rnic_qp_schedule_flush(rdv->qp);
		return;
	default:
		return;
	}
}

static void rnic_rdv_work(struct work_struct *work)
{
	struct rnic_rdv *rdv = container_of(to_delayed_work(work), struct rnic_rdv, work);
	/*
	 * charge the program for sockets and messages, and never wait for storage that is reached
	 * over this device
	 */
	struct mem_cgroup *old = set_active_memcg(rdv->qp->owner.memcg);
	unsigned int noio = memalloc_noio_save();
	enum rdv_step step;

	spin_lock_bh(&rdv->lock);
	step = __begin_next_step(rdv);
	spin_unlock_bh(&rdv->lock);
	execute_rdv_step(rdv, step);
	spin_lock_bh(&rdv->lock);
	__queue_next_work_run(rdv);
	spin_unlock_bh(&rdv->lock);
	memalloc_noio_restore(noio);
	set_active_memcg(old);
}

/* Verbs ---------------------------------------------------------------------------------------- */

/**
 * rnic_rdv_is_requested - check whether a modify connects a queue pair without rdma_cm
 * @attr: new values
 * @mask: IB_QP_*: which values of @attr are valid
 *
 * Return: true if the modify enters RTR and specifies the peer's address and QP number, which
 * rdma_cm never does for iWARP; false otherwise.
 */
bool rnic_rdv_is_requested(const struct ib_qp_attr *attr, int mask)
{
	const int peer = IB_QP_AV | IB_QP_DEST_QPN;

	return mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTR && (mask & peer) == peer;
}

static struct rnic_rdv *new_rdv(struct rnic_qp *qp, const struct ib_qp_attr *attr)
{
	struct rnic_rdv *rdv = kzalloc(sizeof(*rdv), GFP_KERNEL_ACCOUNT);

	if (!rdv)
		return NULL;
	rdv->qp = qp;
	rdv->ah = attr->ah_attr;
	rdv->ah.grh.sgid_attr = NULL;
	rdv->path_mtu = attr->path_mtu;
	rdv->min_rnr_timer = attr->min_rnr_timer;
	rdv->msg = (struct rdv_msg){
		.qpn = qp->ib.qp_num,
		.dest_qpn = attr->dest_qp_num & 0xffffff,
		.rq_psn = attr->rq_psn & 0xffffff,
	};
	spin_lock_init(&rdv->lock);
	kref_init(&rdv->ref);
	INIT_DELAYED_WORK(&rdv->work, rnic_rdv_work);
	ddp_sock_owner_init(&rdv->owner, NULL);
	return rdv;
}

/* Choose the role.  Without a GRH, compare the IPv4-mapped GIDs of the two addresses. */
static enum rdv_role choose_role(const struct rnic_rdv *rdv, const struct rdma_ah_attr *ah)
{
	const struct sockaddr_in *own = (const void *)&rdv->local;
	const struct sockaddr_in *peer = (const void *)&rdv->remote;
	struct in6_addr gid, dgid;

	if (rdma_ah_get_ah_flags(ah) & IB_AH_GRH)
		return rdv_choose_role(rdv->msg.qpn, ah->grh.sgid_attr->gid.raw,
				       rdv->msg.dest_qpn, ah->grh.dgid.raw);
	ipv6_addr_set_v4mapped(own->sin_addr.s_addr, &gid);
	ipv6_addr_set_v4mapped(peer->sin_addr.s_addr, &dgid);
	return rdv_choose_role(rdv->msg.qpn, gid.s6_addr, rdv->msg.dest_qpn, dgid.s6_addr);
}

/* Choose the LLP, the addresses and the role.  Return: 0 or a negative errno. */
static int resolve_peer_and_role(struct rnic_rdv *rdv, const struct ib_qp_attr *attr)
{
	struct rnic_dev *dev = rdv->qp->dev;
	u16 port = READ_ONCE(dev->policy.rendezvous);
	enum rdv_role role;
	int err;

	rdv->type = rnic_get_llp(dev, rdv->qp->llp);
	if (!rdv->type || !port)
		return -EOPNOTSUPP;
	err = rdv_resolve_addrs(dev, &attr->ah_attr, &rdv->local, &rdv->remote);
	if (err)
		return err;
	ddp_addr_set_port(&rdv->remote, htons(port));
	role = choose_role(rdv, &attr->ah_attr);
	rdv->active = role == RDV_ACTIVE;
	return role == RDV_SELF ? -EOPNOTSUPP : 0;
}

/*
 * Listen before the peer's Request can arrive.  If that fails, the device has no listener on the
 * address, so no Request has claimed the queue pair, and the rendezvous can be unpublished.
 *
 * Return: 0 or a negative errno.
 */
static int listen_or_unpublish(struct rnic_rdv *rdv)
{
	struct rnic_qp *qp = rdv->qp;
	int err = rdv_port_get(rdv);

	if (!err)
		return 0;
	WRITE_ONCE(qp->rdv, NULL);
	return err;
}

/*
 * Make the rendezvous visible to upcalls, and begin to listen or to connect.  The caller keeps its
 * reference if that fails.  Return: 0 or a negative errno
 */
static int rdv_publish_and_listen_or_connect(struct rnic_rdv *rdv)
{
	struct rnic_qp *qp = rdv->qp;
	int err;

	rdv->next_try = jiffies;
	rdv->port = rdv->active ? NULL : RDV_PORT_OPENING;
	/*
	 * Publish before listening, because the peer's Request may arrive immediately.
	 *
	 * Publish before reading the state: either this function sees that the queue pair has
	 * failed, or err_work, which is queued after the failure, sees the rendezvous and stops it.
	 * The xchg() also pairs with the acquire in rnic_qp_peek_rdv(), so that a context that
	 * sees the pointer also sees the fields. litmus: failed, publish
	 */
	xchg(&qp->rdv, rdv);
	err = rdv->active ? 0 : listen_or_unpublish(rdv);
	if (err)
		return err;
	if (READ_ONCE(qp->state) == QP_ERROR)
		rnic_qp_schedule_flush(qp);
	spin_lock_bh(&rdv->lock);
	if (rdv->active)
		__rdv_queue_work(rdv, 0);
	spin_unlock_bh(&rdv->lock);
	return 0;
}

static int enter_rtr(struct rnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct rnic_rdv *rdv;
	int err;

	/* rdma_cm may have bound the stream already */
	if (rnic_qp_peek_rdv(qp) || READ_ONCE(qp->state) != QP_IDLE ||
	    rcu_access_pointer(qp->rdmap.stream.llp) ||
	    !ib_modify_qp_is_ok(IB_QPS_INIT, IB_QPS_RTR, IB_QPT_RC, mask))
		return -EINVAL;
	rdv = new_rdv(qp, attr);
	if (!rdv)
		return -ENOMEM;
	err = resolve_peer_and_role(rdv, attr);
	if (!err)
		err = rnic_rnr_enable(qp, RDV_FOREVER);
	if (!err)
		err = rdv_publish_and_listen_or_connect(rdv);
	if (err)
		rdv_put(rdv);
	return err;
}

/**
 * __rdv_update_rnr_limit - recompute how long the peer's messages may wait for a receive
 * @rdv: the rendezvous; the caller must hold its lock
 *
 * A peer that was not in RTS when it sent its rendezvous message has sent no RNR retry count, so
 * there is no limit.
 */
void __rdv_update_rnr_limit(struct rnic_rdv *rdv)
{
	u32 limit = rdv->peer_in_rts ? rdv_compute_rnr_limit_ms(rdv->min_rnr_timer,
								rdv->peer_rnr_retry) :
				       RDV_FOREVER;

	lockdep_assert_held(&rdv->lock);
	rnic_rnr_set_limit(rdv->qp, limit);
}

/**
 * rnic_rdv_set_rnr_timer - set the minimum RNR NAK timer of a queue pair
 * @rdv: the rendezvous
 * @min_rnr_timer: attribute of the queue pair, in InfiniBand's encoding
 *
 * An InfiniBand peer would repeat a message after this time.  Here the time determines how long a
 * message may wait for a receive.  Applies to messages that begin to wait from now on.
 */
void rnic_rdv_set_rnr_timer(struct rnic_rdv *rdv, u8 min_rnr_timer)
{
	spin_lock_bh(&rdv->lock);
	rdv->min_rnr_timer = min_rnr_timer;
	if (rdv->has_peer)
		__rdv_update_rnr_limit(rdv);
	spin_unlock_bh(&rdv->lock);
}

/* Check whether the LLP can limit the rate */
static bool can_limit_rate(const struct rnic_rdv *rdv)
{
	return rdv->type != rnic_get_llp(rdv->qp->dev, RNIC_SW_LLP_SCTP);
}

/*
 * Enter RTS. If a stream exists already, the peer has sent the PSN that it expects. An InfiniBand
 * peer would drop every packet with another PSN, so report a mismatch at once.
 */
static int enter_rts(struct rnic_rdv *rdv, const struct ib_qp_attr *attr, int mask)
{
	u32 psn = attr->sq_psn & 0xffffff;
	int err = 0;

	if (!ib_modify_qp_is_ok(IB_QPS_RTR, IB_QPS_RTS, IB_QPT_RC, mask & ~IB_QP_RATE_LIMIT))
		return -EINVAL;
	if (mask & IB_QP_RATE_LIMIT && !can_limit_rate(rdv))
		return -EOPNOTSUPP;
	spin_lock_bh(&rdv->lock);
	if (rdv->has_peer && rdv->peer_rq_psn != psn) {
		err = -EINVAL;
	} else {
		rdv->msg.sq_psn = psn;
		rdv->msg.has_sq_psn = true;
		rdv->timeout = attr->timeout;
		rdv->retry_cnt = attr->retry_cnt;
		rdv->msg.rnr_retry = attr->rnr_retry & 7;
		__queue_next_work_run(rdv);
	}
	spin_unlock_bh(&rdv->lock);
	if (!err && mask & IB_QP_MIN_RNR_TIMER)
		rnic_rdv_set_rnr_timer(rdv, attr->min_rnr_timer);
	return err;
}

/* Change attributes in RTS: only those that InfiniBand lets a program change there */
static int modify_in_rts(struct rnic_rdv *rdv, const struct ib_qp_attr *attr, int mask)
{
	if (!ib_modify_qp_is_ok(IB_QPS_RTS, IB_QPS_RTS, IB_QPT_RC, mask & ~IB_QP_RATE_LIMIT))
		return -EINVAL;
	if (mask & IB_QP_RATE_LIMIT && !can_limit_rate(rdv))
		return -EOPNOTSUPP;
	if (mask & IB_QP_MIN_RNR_TIMER)
		rnic_rdv_set_rnr_timer(rdv, attr->min_rnr_timer);
	return 0;
}

/**
 * rnic_rdv_modify - enter RTR or RTS without rdma_cm, or change attributes in RTS
 * @qp: the queue pair
 * @attr: new values; the state is RTR and rnic_rdv_is_requested() is true, or the state is RTS and
 *	the queue pair has entered RTR through this function
 * @mask: IB_QP_*: which values of @attr are valid
 *
 * The caller must hold rnic_dev.rdv_lock, in a memalloc_noio scope: workers wait for the lock, and
 * memory reclaim may wait for the workers.
 *
 * May sleep, but does not wait for the peer.  Changes nothing if it fails.
 *
 * Return: 0; -EOPNOTSUPP if the device's setting forbids a rendezvous, the peer is the queue pair
 * itself, or the LLP cannot limit the rate; an error of rdv_resolve_addrs(); -EADDRINUSE if another
 * program uses the rendezvous port; -EINVAL for a value that is missing, or invalid in the current
 * state; or another negative errno.
 */
int rnic_rdv_modify(struct rnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct rnic_rdv *rdv = rnic_qp_peek_rdv(qp);

	lockdep_assert_held(&qp->dev->rdv_lock);
	if (attr->qp_state == IB_QPS_RTR)
		return enter_rtr(qp, attr, mask);
	if (!rdv)
		return -EINVAL;
	return rnic_rdv_get_state(rdv) == IB_QPS_RTS ? modify_in_rts(rdv, attr, mask) :
						   enter_rts(rdv, attr, mask);
}

/**
 * rnic_rdv_set_rate - limit the transmit rate, now or when the stream starts
 * @rdv: the rendezvous
 * @rate: bytes per second; 0 for no limit
 *
 * Return: 0; -EOPNOTSUPP if the LLP cannot limit the rate.
 */
int rnic_rdv_set_rate(struct rnic_rdv *rdv, u64 rate)
{
	int err;

	if (!can_limit_rate(rdv))
		return -EOPNOTSUPP;
	/* start_stream() reads the rate after the stream was bound */
	spin_lock_bh(&rdv->lock);
	rdv->rate = rate;
	spin_unlock_bh(&rdv->lock);
	err = ddp_stream_set_tx_rate(&rdv->qp->rdmap.stream, rate);
	return err == -ENOTCONN ? 0 : err;
}

/**
 * rnic_rdv_get_state - get the state that the program has requested
 * @rdv: the rendezvous
 *
 * Return: RTR or RTS, even if the queue pair has failed since then.
 */
enum ib_qp_state rnic_rdv_get_state(struct rnic_rdv *rdv)
{
	bool rts;

	spin_lock_bh(&rdv->lock);
	rts = rdv->msg.has_sq_psn;
	spin_unlock_bh(&rdv->lock);
	return rts ? IB_QPS_RTS : IB_QPS_RTR;
}

/**
 * rnic_rdv_query - fill in the attributes that the program has set in the modifies to RTR and RTS
 * @rdv: the rendezvous
 * @attr: filled in, except the state
 */
void rnic_rdv_query(struct rnic_rdv *rdv, struct ib_qp_attr *attr)
{
	spin_lock_bh(&rdv->lock);
	attr->ah_attr = rdv->ah;
	attr->path_mtu = rdv->path_mtu;
	attr->dest_qp_num = rdv->msg.dest_qpn;
	attr->rq_psn = rdv->msg.rq_psn;
	attr->sq_psn = rdv->msg.sq_psn;
	attr->min_rnr_timer = rdv->min_rnr_timer;
	attr->timeout = rdv->timeout;
	attr->retry_cnt = rdv->retry_cnt;
	attr->rnr_retry = rdv->msg.rnr_retry;
	spin_unlock_bh(&rdv->lock);
}

/*
 * Check whether requests that the peer has not answered may stay posted, see
 * rnic_rdv_try_defer_flush()
 */
static bool __may_defer_flush(const struct rnic_rdv *rdv)
{
	const struct rnic_qp *qp = rdv->qp;

	lockdep_assert_held(&rdv->lock);
	return (rdv->state == RDV_CONNECTED || rdv->state == RDV_LOST) && !rdv->limit_over &&
	       !READ_ONCE(qp->discarding) && rnic_qp_must_keep_recvs(qp) &&
	       (!rdv->msg.has_sq_psn ||
		rdv_compute_wait_limit_ms(rdv->timeout, rdv->retry_cnt) != RDV_FOREVER);
}

/**
 * rnic_rdv_try_defer_flush - keep requests posted after the peer has disappeared
 * @qp: queue pair in error state, whose stream ddp_stream_quiesce() has settled
 *
 * An InfiniBand adapter retries for as long as timeout and retry count permit before it reports an
 * error. A program that exits in this time never sees the error, and so succeeds. So the requests
 * fail only after this time, which begins when this function or the work item first finds requests.
 * If there is no limit (timeout 0), they fail immediately, because no retry can succeed.
 *
 * The caller must have called rnic_rdv_stop().  A post to a queue pair whose flush is deferred
 * schedules qp->err_work, which calls this function again.
 *
 * Context: qp->err_work.
 *
 * Return: true if the queues must not be flushed yet; false if they must be flushed, or if the
 * queue pair has no rendezvous.
 */
bool rnic_rdv_try_defer_flush(struct rnic_qp *qp)
{
	struct rnic_rdv *rdv = rdv_get(qp);
	bool posted, defer;

	if (!rdv)
		return false;
	posted = rnic_sq_mark_ended(qp);
	spin_lock_bh(&rdv->lock);
	/*
	 * rnic_destroy_qp() sets qp->discarding before rnic_rdv_stop() takes the lock, so the work
	 * item is not queued after rnic_rdv_stop() has canceled it
	 */
	defer = __may_defer_flush(rdv);
	/* begin to measure the wait again: the time before the stream started does not count */
	if (defer && rdv->state == RDV_CONNECTED)
		rdv->posted = false;
	if (defer)
		rdv->state = RDV_LOST;
	else if (rdv->state == RDV_LOST)
		rdv->state = RDV_ENDED;
	if (defer && posted)
		__rdv_queue_work(rdv, 0);
	spin_unlock_bh(&rdv->lock);
	rdv_put(rdv);
	return defer;
}

/**
 * rnic_rdv_stop - end the rendezvous of a queue pair that has failed
 * @qp: the queue pair; the function does nothing if it has no rendezvous
 *
 * Stops connecting or listening.  Does not end a session whose stream has started, because the
 * stream may still have to send a Terminate; a reset or destruction unbinds it.  On return the
 * work item neither runs nor will run, and the LLP soon makes the closed upcall of a session in
 * progress.
 *
 * Context: process, not in an upcall; may sleep, but does not wait for the peer.
 */
void rnic_rdv_stop(struct rnic_qp *qp)
{
	struct rnic_rdv *rdv = rdv_get(qp);
	bool connected;

	if (!rdv)
		return;
	spin_lock_bh(&rdv->lock);
	connected = rdv->state == RDV_CONNECTED || rdv->state == RDV_LOST;
	if (!connected || READ_ONCE(qp->discarding))
		rdv->state = RDV_ENDED;
	spin_unlock_bh(&rdv->lock);
	cancel_delayed_work_sync(&rdv->work);
	/* read rdv->ss without the lock, because no other context changes it any more */
	if (!connected && rdv->ss)
		rdv->type->stop(rdv->ss, true);
	rdv_port_put(rdv);
	rdv_put(rdv);
}

/**
 * rnic_rdv_free - free the rendezvous of a queue pair that is being reset or destroyed
 * @qp: the queue pair, which has no session any more; rnic_rdv_stop() must have been called after
 *	rnic_qp.discarding was set.  For a reset the caller must hold rnic_dev.rdv_lock.
 */
void rnic_rdv_free(struct rnic_qp *qp)
{
	struct rnic_rdv *rdv = qp->rdv;

	if (!rdv)
		return;
	WRITE_ONCE(qp->rdv, NULL);
	rdv_put(rdv);
}
