// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The life of a stream: bound to a lower layer, failed at most once, unbound.
 *
 * It lives inside a queue pair.  The lower layer's end of it is found under
 * RCU, so that a kick needs no lock and no reference.  A stream is bound once:
 * in the place of an end that was unbound stands one that does nothing.
 */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "internal.h"
#include "trace.h"
#include "untagged.h"

static atomic64_t last_id = ATOMIC64_INIT(0);

static void ddp_no_kick(struct ddp_llp *llp, bool bulk)
{
}

static void ddp_no_op(struct ddp_llp *llp)
{
}

static void ddp_no_close(struct ddp_llp *llp, enum iw_reason why)
{
}

static void ddp_no_query(struct ddp_llp *llp, struct ddp_query *q)
{
}

/* It hands no segment up: nothing is read of it */
static const struct ddp_llp_ops no_ops = {
	.kick		= ddp_no_kick,
	.push		= ddp_no_op,
	.close		= ddp_no_close,
	.quiesce	= ddp_no_op,
	.resume		= ddp_no_op,
	.query		= ddp_no_query,
};

static struct ddp_llp nobody = { .ops = &no_ops };

/**
 * ddp_stream_init - a stream not yet bound
 * @s: the stream
 * @ulp: upcalls
 * @stags: the device's STags
 * @pd: its protection domain
 */
void ddp_stream_init(struct ddp_stream *s, const struct ddp_ulp_ops *ulp,
		     struct ddp_stags *stags, void *pd)
{
	int qn;

	memset(s, 0, sizeof(*s));
	s->id = atomic64_inc_return(&last_id);
	s->ulp = ulp;
	s->stags = stags;
	s->pd = pd;
	s->recv_pd = pd;
	ddp_waits_init(s);
	for (qn = 0; qn < DDP_QUEUES; qn++) {
		ddp_uq_init(&s->uq[qn]);
		s->msn[qn] = 1;
	}
}
EXPORT_SYMBOL_GPL(ddp_stream_init);

/**
 * ddp_stream_bind - a lower layer enters full operation
 * @s: the stream
 * @llp: its end
 *
 * From here on the LLP may hand segments up and pull them down.
 *
 * Return: 0; -EISCONN: another one has; -ENOTCONN: the stream is going.
 */
int ddp_stream_bind(struct ddp_stream *s, struct ddp_llp *llp)
{
	struct ddp_llp *old;

	/* one of several binds, or the end; litmus: bind */
	old = cmpxchg((__force struct ddp_llp **)&s->llp, NULL, llp);
	if (!old)
		return 0;
	return old == &nobody ? -ENOTCONN : -EISCONN;
}
EXPORT_SYMBOL_GPL(ddp_stream_bind);

/**
 * ddp_stream_unbind - no upcall from here on
 * @s: the stream; bound or not, it never will be again
 *
 * May sleep.
 */
void ddp_stream_unbind(struct ddp_stream *s)
{
	struct ddp_llp *llp;

	/* not found any more; kicks under way are RCU readers; litmus: kick */
	llp = unrcu_pointer(xchg(&s->llp, (__force struct ddp_llp __rcu *)&nobody));
	if (llp)
		llp->ops->quiesce(llp);
	ddp_waits_end(s);
}
EXPORT_SYMBOL_GPL(ddp_stream_unbind);

/**
 * ddp_stream_allow - what the peer may do if its STags allow it, too
 * @s: the stream; until this is called everything
 * @rights: DDP_REMOTE_*, all of them
 *
 * Any context.  It is asked for with an STag's own rights, before each segment or batch
 * is copied and before an atomic, whenever what is under way was begun.  A copy that was
 * is not waited for.
 */
void ddp_stream_allow(struct ddp_stream *s, u8 rights)
{
	WRITE_ONCE(s->denied, DDP_REMOTE & ~rights);
}
EXPORT_SYMBOL_GPL(ddp_stream_allow);

/**
 * ddp_stream_fail - the one way a stream fails
 * @s: the stream
 * @f: why; only the first of several counts (RFC 5041 7.1)
 */
void ddp_stream_fail(struct ddp_stream *s, const struct iw_fault *f)
{
	/* litmus: settle */
	if (test_and_set_bit(0, &s->failed))
		return;
	trace_ddp_stream_failed(s, f);
	s->ulp->failed(s, f);
}
EXPORT_SYMBOL_GPL(ddp_stream_fail);

static bool is_busy(const bool *busy)
{
	/* what was done there is done; litmus: settle */
	return smp_load_acquire(busy);
}

/**
 * ddp_stream_settle - wait until nothing is placed or read any more
 * @s: a stream that has failed
 *
 * Either runner may still be in the middle of something, with BH off: of a run,
 * or of a batch.  Sleeps: with PREEMPT_RT it may be preempted, and by us.
 * litmus: settle
 */
void ddp_stream_settle(struct ddp_stream *s)
{
	WARN_ON_ONCE(!test_bit(0, &s->failed));
	/* pairs with the barriers in ddp_rx_begin(), ddp_rx_enter() and ddp_tx_begin() */
	smp_mb();
	while (is_busy(&s->rx_busy) || is_busy(&s->tx_busy))
		usleep_range(5, 50);
}
EXPORT_SYMBOL_GPL(ddp_stream_settle);

/**
 * ddp_llp_error - the lower layer found an error
 * @s: the stream
 * @why: IW_MPA_CRC and the like
 *
 * The receive runner only, BH off.
 */
void ddp_llp_error(struct ddp_stream *s, enum iw_reason why)
{
	const struct iw_fault f = { .why = why };

	ddp_hold_drop(&s->rx_held);
	ddp_stream_fail(s, &f);
}
EXPORT_SYMBOL_GPL(ddp_llp_error);

/**
 * ddp_llp_down - the lower layer is gone
 * @s: the stream
 * @why: IW_MPA_LOST and the like
 *
 * Worker.  The ULP hears of it even after a failure of its own: nothing more
 * will be sent.
 */
void ddp_llp_down(struct ddp_stream *s, enum iw_reason why)
{
	set_bit(0, &s->failed);
	s->ulp->down(s, why);
}
EXPORT_SYMBOL_GPL(ddp_llp_down);

/**
 * ddp_stream_close - the ULP ends the stream (RFC 5041 6.2)
 * @s: the stream
 * @why: IW_LOCAL_CLOSE for a graceful end
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
 * ddp_stream_check - close a stream that has failed before it was bound
 * @s: the stream, whose connect or accept has succeeded
 *
 * Who failed it may have found nothing to close.  litmus: failed
 */
void ddp_stream_check(struct ddp_stream *s)
{
	if (test_bit(0, &s->failed))
		ddp_stream_close(s, IW_LOCAL_ABORT);
}
EXPORT_SYMBOL_GPL(ddp_stream_check);

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
 * ddp_kick - there is something to send
 * @s: the stream
 *
 * Any context.
 */
void ddp_kick(struct ddp_stream *s)
{
	ddp_stream_kick(s, false);
}
EXPORT_SYMBOL_GPL(ddp_kick);

/**
 * ddp_kick_bulk - there is a lot to send
 * @s: the stream
 *
 * Any context.  A worker sends it, who may be preempted, and who finds
 * together what is asked for meanwhile.
 */
void ddp_kick_bulk(struct ddp_stream *s)
{
	ddp_stream_kick(s, true);
}
EXPORT_SYMBOL_GPL(ddp_kick_bulk);

/**
 * ddp_push - there is something to send, and the caller would do it now
 * @s: the stream
 *
 * Process context, no lock held.
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
 * ddp_stream_query - how it fares in the lower layer
 * @s: the stream; it may be ending
 * @q: filled in; no LLP named if there is none
 *
 * Process context.
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
 * ddp_stream_pace - send no faster than so
 * @s: the stream; it may be ending
 * @rate: octets a second, the LLP's headers included; 0: as fast as it goes
 *
 * Process context.
 *
 * Return: 0, -EOPNOTSUPP if the LLP cannot, -ENOTCONN if there is none.
 */
int ddp_stream_pace(struct ddp_stream *s, u64 rate)
{
	struct ddp_llp *llp;
	int err = 0;

	rcu_read_lock();
	llp = rcu_dereference(s->llp);
	if (!llp || llp == &nobody)
		err = -ENOTCONN;
	else if (!llp->ops->pace)
		err = -EOPNOTSUPP;
	else
		llp->ops->pace(llp, rate);
	rcu_read_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(ddp_stream_pace);
