/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Outstanding Read and Atomic Requests, oldest first: ours that wait for an
 * answer (bounded by ORD), or the peer's that wait for service (bounded by
 * IRD).  Both kinds share the depths (N-15) and are answered in one order.
 *
 * A ring in memory of the caller's, under a lock of the caller's.  Of its
 * entries, from the oldest on, first come those served (their response was
 * handed to DDP), then those still to be served.  A requester does not serve.
 */
#ifndef _RNIC_SW_RDMAP_REQQ_H
#define _RNIC_SW_RDMAP_REQQ_H

#include <ddp/reason.h>
#include <ddp/ulp.h>

#include "rdmap_atomic.h"
#include "rdmap_hdr.h"

/**
 * struct rdmap_req - one request
 * @rreq: a Read's header; of an atomic of ours only the sink counts
 * @atomic: the peer's atomic
 * @is_atomic: which it is
 * @slot: requester: free-running index of its place in the send queue
 * @done: octets of the response placed (requester) or sent (responder)
 * @inv: requester: STag to invalidate when it is answered
 * @flags: its owner's
 */
struct rdmap_req {
	union {
		struct rdmap_rreq	rreq;
		struct rdmap_atomic	atomic;
	};
	u32			slot;
	u32			done;
	u32			inv;
	u8			flags;
	bool			is_atomic;
};

/**
 * struct rdmap_reqq - a queue of them
 * @req: room for @size
 * @size: ORD or IRD; may be 0
 * @head: where the oldest is
 * @used: how many there are
 * @served: how many of those are served
 */
struct rdmap_reqq {
	struct rdmap_req	*req;
	u16			size;
	u16			head;
	u16			used;
	u16			served;
};

void rdmap_reqq_init(struct rdmap_reqq *q, struct rdmap_req *req, u16 size);
struct rdmap_req *rdmap_reqq_push(struct rdmap_reqq *q);
struct rdmap_req *rdmap_reqq_peek(const struct rdmap_reqq *q);
void rdmap_reqq_pop(struct rdmap_reqq *q);
struct rdmap_req *rdmap_reqq_serve(const struct rdmap_reqq *q);
void rdmap_reqq_served(struct rdmap_reqq *q);
void rdmap_reqq_release(struct rdmap_reqq *q, u16 n);

static inline bool rdmap_reqq_full(const struct rdmap_reqq *q)
{
	return q->used == q->size;
}

static inline bool rdmap_reqq_empty(const struct rdmap_reqq *q)
{
	return !q->used;
}

enum iw_reason rdmap_resp_check(const struct rdmap_req *oldest,
				const struct ddp_hdr *h, u32 payload);
bool rdmap_resp_expected(const struct rdmap_reqq *q, const struct ddp_hdr *h,
			 u32 payload);
enum iw_reason rdmap_aresp_admit(const struct rdmap_req *oldest);

#endif
