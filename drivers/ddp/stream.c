// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Lifetime of a stream: bind it to an LLP, fail it at most once, and unbind it.
 *
 * A stream is embedded in a queue pair. A kick reads the pointer to the LLP
 * under RCU, so it needs neither a lock nor a reference. A stream can be bound
 * only once: unbinding replaces the LLP with unbound_llp, whose operations do
 * nothing. ddp_stream_reset() then initializes the memory for another stream.
 */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "internal.h"
#include "trace.h"
#include "untagged.h"

static atomic64_t last_id = ATOMIC64_INIT(0);

static void ddp_ignore_kick(struct ddp_llp *llp, bool bulk)
{
}

static void ddp_no_op(struct ddp_llp *llp)
{
}

static void ddp_ignore_close(struct ddp_llp *llp, enum iw_reason why)
{
}

static void ddp_ignore_query(struct ddp_llp *llp, struct ddp_query *q)
{
}

/* .read is not set: DDP calls it only while an LLP passes a segment, and unbound_llp passes none */
static const struct ddp_llp_ops no_ops = {
	.kick		= ddp_ignore_kick,
	.push		= ddp_no_op,
	.close		= ddp_ignore_close,
	.unbind		= ddp_no_op,
	.resume		= ddp_no_op,
	.query		= ddp_ignore_query,
};

static struct ddp_llp unbound_llp = { .ops = &no_ops };

/* Initialize the fields that are new for each stream of a queue pair; the caller has zeroed them */
static void init_stream_state(struct ddp_stream *s)
{
	int qn;

	s->id = atomic64_inc_return(&last_id);
	ddp_faults_init(s);
	for (qn = 0; qn < DDP_QUEUES; qn++) {
		ddp_untagged_init(&s->uq[qn]);
		s->msn[qn] = 1;
	}
}

/**
 * ddp_stream_init - initialize a stream, which is not bound yet
 * @s: the stream
 * @ulp: upcalls to RDMAP
 * @stags: STags of the device
 * @pd: protection domain of the stream
 */
void ddp_stream_init(struct ddp_stream *s, const struct ddp_ulp_ops *ulp,
		     struct ddp_stags *stags, void *pd)
{
	memset(s, 0, sizeof(*s));
	s->ulp = ulp;
	s->stags = stags;
	s->pd = pd;
	s->recv_pd = pd;
	init_stream_state(s);
}
EXPORT_SYMBOL_GPL(ddp_stream_init);

/**
 * ddp_stream_reset - replace a stream that has ended with a new one, which is not bound yet
 * @s: the stream; it must have failed and be unbound
 *
 * The new stream has another id, so the peer cannot use STags that were bound to the old one. The
 * access rights of the peer do not change.
 *
 * Contexts that only read the LLP, such as a kick, may run at the same time, and so may
 * ddp_stream_fail(): it fails the old stream, which changes nothing, or the new one.
 */
void ddp_stream_reset(struct ddp_stream *s)
{
	WARN_ON_ONCE(!test_bit(0, &s->failed) || rcu_access_pointer(s->llp) != &unbound_llp);
	memset((void *)s + offsetof(struct ddp_stream, rx_fault), 0,
	       sizeof(*s) - offsetof(struct ddp_stream, rx_fault));
	init_stream_state(s);
	/* write the fields before other contexts can fail or bind the stream; litmus: none */
	smp_mb__before_atomic();
	clear_bit(0, &s->failed);
	RCU_INIT_POINTER(s->llp, NULL);
}
EXPORT_SYMBOL_GPL(ddp_stream_reset);

/**
 * ddp_stream_bind - bind a stream to an LLP
 * @s: the stream
 * @llp: the LLP's side of the stream
 *
 * On success the LLP may pass received segments to the stream, and pull
 * segments from it.
 *
 * Return: 0 on success; -EISCONN if the stream is bound already; -ENOTCONN if
 * the stream has been unbound.
 */
int ddp_stream_bind(struct ddp_stream *s, struct ddp_llp *llp)
{
	struct ddp_llp *old;

	/*
	 * Only one of several concurrent calls finds NULL and binds, and no
	 * call does so after an unbind; litmus: bind
	 */
	old = cmpxchg((__force struct ddp_llp **)&s->llp, NULL, llp);
	if (!old)
		return 0;
	return old == &unbound_llp ? -ENOTCONN : -EISCONN;
}
EXPORT_SYMBOL_GPL(ddp_stream_bind);

/**
 * ddp_stream_unbind - detach a stream from its LLP permanently
 * @s: the stream; it may never have been bound, and cannot be bound before ddp_stream_reset()
 *
 * May sleep. On return no upcall from the LLP runs or will run.
 */
void ddp_stream_unbind(struct ddp_stream *s)
{
	struct ddp_llp *llp;

	/*
	 * From now on RCU readers find unbound_llp. A kick that has found the
	 * old LLP may still run, but the old LLP is not freed before an RCU
	 * grace period. litmus: kick
	 */
	llp = unrcu_pointer(xchg(&s->llp, (__force struct ddp_llp __rcu *)&unbound_llp));
	if (llp)
		llp->ops->unbind(llp);
	ddp_faults_cancel(s);
}
EXPORT_SYMBOL_GPL(ddp_stream_unbind);

/**
 * ddp_stream_set_rights - limit the rights that the peer may use through STags
 * @s: the stream; all rights are allowed before the first call
 * @rights: DDP_REMOTE_* rights that are allowed
 *
 * A peer may access memory only if both these rights and those of the STag
 * permit it. Both are checked before each copy of a segment or batch, and
 * before each atomic operation. So the call also affects messages that have
 * begun, but does not wait for a copy in progress.
 *
 * Context: any.
 */
void ddp_stream_set_rights(struct ddp_stream *s, u8 rights)
{
	WRITE_ONCE(s->denied, DDP_REMOTE & ~rights);
}
EXPORT_SYMBOL_GPL(ddp_stream_set_rights);

/**
 * ddp_stream_fail - fail a stream
 * @s: the stream
 * @f: the failure; ignored if the stream has failed before, because only the
 *	first failure is reported (RFC 5041 7.1)
 *
 * Context: any. The caller must hold no in-flight reference, because the ULP
 * may revoke an MR, and revocation would wait for the reference.
 */
void ddp_stream_fail(struct ddp_stream *s, const struct iw_failure *f)
{
	/*
	 * Set failed before ddp_stream_quiesce() reads the busy flags;
	 * litmus: settle
	 */
	if (test_and_set_bit(0, &s->failed))
		return;
	trace_ddp_stream_failed(s, f);
	s->ulp->failed(s, f);
}
EXPORT_SYMBOL_GPL(ddp_stream_fail);

static bool is_busy(const bool *busy)
{
	/*
	 * Read the flag before all later accesses of the caller; pairs with the
	 * release in rx_clear_busy() or ddp_tx_end(). So if the flag is clear,
	 * all copies that the path has made are complete. litmus: settle
	 */
	return smp_load_acquire(busy);
}

/**
 * ddp_stream_quiesce - wait until the receive and transmit paths of a failed stream have stopped
 * @s: the stream; it must have failed
 *
 * On return neither path accesses registered memory or executes a work request,
 * and neither will do so later. Sleeps and does not spin: on PREEMPT_RT the
 * caller may have preempted the path, which could then never stop.
 * litmus: settle
 */
void ddp_stream_quiesce(struct ddp_stream *s)
{
	WARN_ON_ONCE(!test_bit(0, &s->failed));
	/*
	 * Set failed before reading the busy flags; pairs with rx_set_busy()
	 * and ddp_tx_begin(). So a path whose flag is found clear below finds
	 * failed set when it starts.
	 */
	smp_mb();
	while (is_busy(&s->rx_busy) || is_busy(&s->tx_busy))
		usleep_range(5, 50);
}
EXPORT_SYMBOL_GPL(ddp_stream_quiesce);

/**
 * ddp_llp_report_error - fail a stream for an error that the LLP has detected
 * @s: the stream
 * @why: the reason, such as IW_MPA_CRC
 *
 * Context: receive path, BH off.
 */
void ddp_llp_report_error(struct ddp_stream *s, enum iw_reason why)
{
	const struct iw_failure f = { .why = why };

	ddp_mr_cache_drop(&s->rx_mr);
	ddp_stream_fail(s, &f);
}
EXPORT_SYMBOL_GPL(ddp_llp_report_error);

/**
 * ddp_llp_report_down - report that the LLP's connection has ended
 * @s: the stream
 * @why: the reason, such as IW_MPA_LOST
 *
 * Notifies the ULP even if the stream has failed before, because from now on
 * nothing can be sent, not even a Terminate.
 *
 * Context: worker of the LLP.
 */
void ddp_llp_report_down(struct ddp_stream *s, enum iw_reason why)
{
	set_bit(0, &s->failed);
	s->ulp->down(s, why);
}
EXPORT_SYMBOL_GPL(ddp_llp_report_down);

/**
 * ddp_stream_close - end a stream on request of the ULP (RFC 5041 6.2)
 * @s: the stream
 * @why: IW_LOCAL_CLOSE for a graceful end, any other reason for an abortive end
 *
 * Context: any.
 */
void ddp_stream_close(struct ddp_stream *s, enum iw_reason why)
{
	struct ddp_llp *llp;

	rcu_read_lock();
	llp = rcu_dereference(s->llp);
	if (llp)
		llp->ops->close(llp, why);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(ddp_stream_close);

/**
 * ddp_stream_close_if_failed - close a stream that had failed before it was bound
 * @s: the stream; the caller must have bound it, in connect or accept
 *
 * When the stream failed, the ULP may have found no LLP to close, because the
 * stream was not bound yet. This function then closes the new LLP.
 * litmus: failed
 */
void ddp_stream_close_if_failed(struct ddp_stream *s)
{
	if (test_bit(0, &s->failed))
		ddp_stream_close(s, IW_LOCAL_ABORT);
}
EXPORT_SYMBOL_GPL(ddp_stream_close_if_failed);

static void ddp_stream_kick(struct ddp_stream *s, bool bulk)
{
	struct ddp_llp *llp;

	rcu_read_lock();
	llp = rcu_dereference(s->llp);
	if (llp)
		llp->ops->kick(llp, bulk);
	rcu_read_unlock();
}

/**
 * ddp_kick - schedule the transmit path
 * @s: the stream
 *
 * Context: any.
 */
void ddp_kick(struct ddp_stream *s)
{
	ddp_stream_kick(s, false);
}
EXPORT_SYMBOL_GPL(ddp_kick);

/**
 * ddp_kick_for_bulk - schedule the transmit path for much data
 * @s: the stream
 *
 * The LLP transmits in a worker, which can be preempted while it copies. Work
 * requests that are posted before the worker runs are sent in the same batch.
 *
 * Context: any.
 */
void ddp_kick_for_bulk(struct ddp_stream *s)
{
	ddp_stream_kick(s, true);
}
EXPORT_SYMBOL_GPL(ddp_kick_for_bulk);

/**
 * ddp_push - transmit before returning if possible, else schedule transmission
 * @s: the stream
 *
 * Context: process, no lock held.
 */
void ddp_push(struct ddp_stream *s)
{
	struct ddp_llp *llp;

	rcu_read_lock();
	llp = rcu_dereference(s->llp);
	if (llp)
		llp->ops->push(llp);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(ddp_push);

/**
 * ddp_stream_query - query the state of a stream in its LLP
 * @s: the stream; it may be ending
 * @q: filled in; @q->llp is NULL if the stream is not bound
 *
 * Context: process.
 */
void ddp_stream_query(struct ddp_stream *s, struct ddp_query *q)
{
	struct ddp_llp *llp;

	memset(q, 0, sizeof(*q));
	q->stream = DDP_QUERY_NO_STREAM;
	rcu_read_lock();
	llp = rcu_dereference(s->llp);
	if (llp)
		llp->ops->query(llp, q);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(ddp_stream_query);

/**
 * ddp_stream_set_tx_rate - limit the transmit rate of a stream
 * @s: the stream; it may be ending
 * @rate: bytes per second, LLP headers included; 0 for no limit
 *
 * Context: process.
 *
 * Return: 0 on success; -EOPNOTSUPP if the LLP cannot limit the rate; -ENOTCONN
 * if the stream is not bound.
 */
int ddp_stream_set_tx_rate(struct ddp_stream *s, u64 rate)
{
	struct ddp_llp *llp;
	int err = 0;

	rcu_read_lock();
	llp = rcu_dereference(s->llp);
	if (!llp || llp == &unbound_llp)
		err = -ENOTCONN;
	else if (!llp->ops->set_tx_rate)
		err = -EOPNOTSUPP;
	else
		llp->ops->set_tx_rate(llp, rate);
	rcu_read_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(ddp_stream_set_tx_rate);

/**
 * ddp_stream_busy_poll - receive the packets that the network device of the connection has now
 * @s: the stream; it may be ending
 *
 * The packets may belong to any connection.
 *
 * Context: process.
 *
 * Return: true if the network device was polled; false if it cannot be polled, or if the stream is
 * not bound.
 */
bool ddp_stream_busy_poll(struct ddp_stream *s)
{
	struct ddp_llp *llp;
	bool polled = false;

	rcu_read_lock();
	llp = rcu_dereference(s->llp);
	if (llp && llp->ops->busy_poll)
		polled = llp->ops->busy_poll(llp);
	rcu_read_unlock();
	return polled;
}
EXPORT_SYMBOL_GPL(ddp_stream_busy_poll);
