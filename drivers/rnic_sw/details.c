// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Driver-specific entries of "rdma -dd resource show".
 *
 * The core calls the rnic_show_*() functions in process context, possibly while the object is
 * about to be destroyed.  Therefore these functions use only objects that exist at least as long
 * as the shown object, and read a ring only under the lock under which the ring is freed.  Any
 * user may read the entries, so the entries must not contain keys or addresses.
 */
#include <linux/string.h>
#include <linux/string_helpers.h>
#include <net/netlink.h>
#include <rdma/restrack.h>
#include <rdma/rdma_netlink.h>

#include "mem_fault.h"
#include "details.h"
#include "rnic.h"

#define RIGHTS_MAX	64	/* size of a buffer for the names of all rights, in bytes */

static int put_bool_attr(struct sk_buff *msg, const char *name, bool value)
{
	return rdma_nl_put_driver_string(msg, name, str_on_off(value));
}

/* Add a nested attribute for driver entries and let @put fill it in.  Return: 0 or -EMSGSIZE. */
static int put_driver_table(struct sk_buff *msg, const void *what,
			    int (*put)(struct sk_buff *msg, const void *what))
{
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);

	if (!table)
		return -EMSGSIZE;
	if (put(msg, what)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

/* Queue pairs --------------------------------------------------------------- */

struct qp_details {
	struct ddp_query	query;
	enum qp_state		state;
	enum iw_reason		why;
	u32			sq_posted;	/* send WRs that are posted but not dequeued */
	u32			sq_busy;	/* send WRs that are dequeued but not completed */
	u32			rq_posted;	/* receives that no message uses yet */
	u16			ird;
	u16			ord;
	u16			reads_out;	/* Reads and atomics without a response yet */
	/* the peer's Reads and atomics whose response the LLP has not accepted yet */
	u16			reads_in;
};

static u32 count_posted_or_zero(const struct rnic_ring *ring, u32 head, u32 tail)
{
	u32 n = ring->hdr ? rnic_ring_count_posted(ring, head, tail) : 0;

	return n == RING_IDX_INVALID ? 0 : n;
}

static void fill_queue_details(struct rnic_qp *qp, struct qp_details *d)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_rq *rq = &qp->rq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	d->sq_posted = count_posted_or_zero(&sq->ring, sq->head, sq->tail);
	d->sq_busy = sq->head - sq->tail;
	spin_unlock_irqrestore(&sq->lock, flags);
	spin_lock_irqsave(&rq->lock, flags);
	d->rq_posted = count_posted_or_zero(&rq->ring, READ_ONCE(rq->head), READ_ONCE(rq->head));
	spin_unlock_irqrestore(&rq->lock, flags);
}

static void fill_read_details(struct rdmap *r, struct qp_details *d)
{
	spin_lock_bh(&r->lock);
	d->ird = r->ird;
	d->ord = r->orq.size;
	d->reads_out = r->orq.used;
	d->reads_in = r->irq.used;
	spin_unlock_bh(&r->lock);
}

static void fill_qp_details(struct rnic_qp *qp, struct qp_details *d)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	d->state = qp->state;
	d->why = qp->why;
	spin_unlock_irqrestore(&qp->lock, flags);
	fill_queue_details(qp, d);
	fill_read_details(&qp->rdmap, d);
	ddp_stream_query(&qp->rdmap.stream, &d->query);
}

static int put_mpa_attrs(struct sk_buff *msg, const struct ddp_query *q)
{
	return rdma_nl_put_driver_u32(msg, "mpa_revision", q->revision) ||
	       put_bool_attr(msg, "crc", q->crc) ||
	       put_bool_attr(msg, "tx_markers", q->tx_markers) ||
	       put_bool_attr(msg, "rx_markers", q->rx_markers);
}

static int put_llp_attrs(struct sk_buff *msg, const struct ddp_query *q)
{
	if (!q->llp)
		return 0;
	if (rdma_nl_put_driver_string(msg, "llp", q->llp) ||
	    rdma_nl_put_driver_string(msg, "phase", q->phase))
		return -EMSGSIZE;
	if (q->revision && put_mpa_attrs(msg, q))
		return -EMSGSIZE;
	if (q->stream != DDP_QUERY_NO_STREAM &&
	    rdma_nl_put_driver_u32(msg, "stream", q->stream))
		return -EMSGSIZE;
	return rdma_nl_put_driver_u32(msg, "mulpdu", q->mulpdu) ||
	       rdma_nl_put_driver_u32(msg, "unacked", q->unacked) ||
	       rdma_nl_put_driver_u32(msg, "unsent", q->unsent) ||
	       rdma_nl_put_driver_u32(msg, "unread", q->unread) ||
	       rdma_nl_put_driver_u32(msg, "retransmits", q->retransmits);
}

static int put_queue_attrs(struct sk_buff *msg, const struct qp_details *d)
{
	return rdma_nl_put_driver_u32(msg, "sq_posted", d->sq_posted) ||
	       rdma_nl_put_driver_u32(msg, "sq_busy", d->sq_busy) ||
	       rdma_nl_put_driver_u32(msg, "rq_posted", d->rq_posted) ||
	       rdma_nl_put_driver_u32(msg, "ird", d->ird) ||
	       rdma_nl_put_driver_u32(msg, "ord", d->ord) ||
	       rdma_nl_put_driver_u32(msg, "reads_out", d->reads_out) ||
	       rdma_nl_put_driver_u32(msg, "reads_in", d->reads_in);
}

static int rnic_details_put_qp(struct sk_buff *msg, const void *what)
{
	const struct qp_details *d = what;

	if (rdma_nl_put_driver_string(msg, "stage", qp_state_name(d->state)) ||
	    put_llp_attrs(msg, &d->query) || put_queue_attrs(msg, d))
		return -EMSGSIZE;
	return d->why ? rdma_nl_put_driver_string(msg, "end",
						  iw_reason_get_name(d->why)) : 0;
}

/**
 * rnic_show_qp - add the driver's entries of a queue pair to a message (device operation)
 * @msg: netlink message to add to
 * @ib: the queue pair
 *
 * Return: 0 or -EMSGSIZE.
 */
int rnic_show_qp(struct sk_buff *msg, struct ib_qp *ib)
{
	struct qp_details d = {};

	fill_qp_details(to_rnic_qp(ib), &d);
	return put_driver_table(msg, &d, rnic_details_put_qp);
}

/* Memory regions ------------------------------------------------------------ */

static const char *mr_kind_name(const struct rnic_mr *mr)
{
	if (mr->max_blocks)
		return "fast";
	if (mr->unpinned)
		return mr->unpinned->ops->name;
	return mr->umem ? "user" : "dma";
}

static void format_rights(u8 rights, char *s, size_t size)
{
	scnprintf(s, size, "%s%s%s%s%s",
		  rights & DDP_LOCAL_READ ? ",local_read" : "",
		  rights & DDP_LOCAL_WRITE ? ",local_write" : "",
		  rights & DDP_REMOTE_READ ? ",remote_read" : "",
		  rights & DDP_REMOTE_WRITE ? ",remote_write" : "",
		  rights & DDP_REMOTE_ATOMIC ? ",remote_atomic" : "");
}

static int rnic_details_put_mr(struct sk_buff *msg, const void *what)
{
	const struct rnic_mr *mr = what;
	char rights[RIGHTS_MAX] = "";

	format_rights(READ_ONCE(mr->region.rights), rights, sizeof(rights));
	return rdma_nl_put_driver_string(msg, "kind", mr_kind_name(mr)) ||
	       rdma_nl_put_driver_string(msg, "valid",
					 str_yes_no(READ_ONCE(mr->region.valid))) ||
	       rdma_nl_put_driver_string(msg, "rights",
					 rights[0] ? rights + 1 : "none") ||
	       rdma_nl_put_driver_string(msg, "windows",
					 list_empty(&mr->windows) ?
					 "no" : "yes");
}

/**
 * rnic_show_mr - add the driver's entries of an MR to a message (device operation)
 * @msg: netlink message to add to
 * @ib: the MR
 *
 * Return: 0 or -EMSGSIZE.
 */
int rnic_show_mr(struct sk_buff *msg, struct ib_mr *ib)
{
	return put_driver_table(msg, to_rnic_mr(ib), rnic_details_put_mr);
}

/* Completion queues and shared receive queues ------------------------------- */

struct ring_details {
	u32	slots;		/* number of slots of the ring */
	u32	used;		/* CQ: number of unpolled CQEs; SRQ: number of posted receives */
	u32	limit;		/* SRQ only: number of receives below which SRQ_LIMIT is raised */
	u32	armed;		/* CQ only: completions that raise an event, RNIC_SW_ARM_* */
	bool	broken;		/* CQ: has overrun; SRQ: the program wrote an invalid index */
};

static const char *arm_flags_to_name(u32 flags)
{
	if (flags & RNIC_SW_ARM_ANY)
		return "any";
	return flags & RNIC_SW_ARM_SOLICITED ? "solicited" : "no";
}

static int rnic_details_put_cq(struct sk_buff *msg, const void *what)
{
	const struct ring_details *d = what;

	return rdma_nl_put_driver_u32(msg, "unpolled", d->used) ||
	       rdma_nl_put_driver_u32(msg, "free", d->slots - d->used) ||
	       rdma_nl_put_driver_string(msg, "armed", arm_flags_to_name(d->armed)) ||
	       rdma_nl_put_driver_string(msg, "overrun",
					 str_yes_no(d->broken));
}

/**
 * rnic_show_cq - add the driver's entries of a CQ to a message (device operation)
 * @msg: netlink message to add to
 * @ib: the CQ
 *
 * Return: 0 or -EMSGSIZE.
 */
int rnic_show_cq(struct sk_buff *msg, struct ib_cq *ib)
{
	struct rnic_cq *cq = to_rnic_cq(ib);
	struct ring_details d = {};
	struct rnic_sw_ring *hdr;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	hdr = cq->ring.hdr;
	if (hdr) {
		d.slots = cq->ring.slots;
		/* limit the number, because a program can write any value to cons */
		d.used = min(cq->prod - READ_ONCE(hdr->cons), d.slots);
		d.armed = READ_ONCE(hdr->flags);
	}
	d.broken = cq->overrun;
	spin_unlock_irqrestore(&cq->lock, flags);
	return put_driver_table(msg, &d, rnic_details_put_cq);
}

static int rnic_details_put_srq(struct sk_buff *msg, const void *what)
{
	const struct ring_details *d = what;

	return rdma_nl_put_driver_u32(msg, "posted", d->used) ||
	       rdma_nl_put_driver_u32(msg, "free", d->slots - d->used) ||
	       rdma_nl_put_driver_u32(msg, "limit", d->limit) ||
	       rdma_nl_put_driver_string(msg, "broken",
					 str_yes_no(d->broken));
}

/**
 * rnic_show_srq - add the driver's entries of an SRQ to a message (device operation)
 * @msg: netlink message to add to
 * @ib: the SRQ
 *
 * Return: 0 or -EMSGSIZE.
 */
int rnic_show_srq(struct sk_buff *msg, struct ib_srq *ib)
{
	struct rnic_srq *srq = to_rnic_srq(ib);
	struct ring_details d = {};
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	if (srq->ring.hdr)
		d.slots = srq->ring.slots;
	d.used = count_posted_or_zero(&srq->ring, srq->head, srq->head);
	d.limit = srq->limit;
	d.broken = srq->prod_invalid;
	spin_unlock_irqrestore(&srq->lock, flags);
	return put_driver_table(msg, &d, rnic_details_put_srq);
}
