/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue of outstanding Read and Atomic Requests, oldest first.
 *
 * A requester keeps each of its requests in a queue until the response is placed;
 * the ORD limits their number. A responder keeps each of the peer's requests in a
 * queue until the LLP has accepted the response; the IRD limits the number of
 * unanswered requests, see admit_request(). Reads and atomics share ORD and IRD
 * (RFC 7306 5.2, 5.2.2 (4)), and are answered in the order of the requests.
 *
 * The queue is a ring in an array of the caller, protected by a lock of the
 * caller. A responder marks a request as served when the whole response has
 * been passed to DDP. Served requests precede unserved requests in the queue. A
 * requester does not mark requests as served.
 */
#ifndef _RNIC_SW_RDMAP_REQQ_H
#define _RNIC_SW_RDMAP_REQQ_H

#include <ddp/reason.h>
#include <ddp/ulp.h>

#include "rdmap_hdr.h"

/**
 * struct rdmap_req - an outstanding Read or Atomic Request
 * @rreq: Read Request header; for an atomic, the requester uses only the sink
 *	STag and the sink TO
 * @atomic: responder: the peer's Atomic Request
 * @is_atomic: true for an atomic, false for a Read
 * @slot: requester: free-running index of the WQE in the send queue
 * @done: requester: bytes of the response admitted so far
 * @inv: requester: STag to invalidate when the response is complete, if @flags
 *	has RDMAP_WR_INVALIDATE
 * @flags: requester: RDMAP_WR_*
 * @is_rtr: responder: the request is the peer's RTR message
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
	bool			is_rtr;
};

/**
 * struct rdmap_reqq - a queue of outstanding requests
 * @req: array of @size entries
 * @size: number of entries; may be 0
 * @head: array index of the oldest request
 * @used: number of requests in the queue
 * @served: number of requests in the queue whose response has been passed to
 *	DDP completely
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
struct rdmap_req *rdmap_reqq_peek_unserved(const struct rdmap_reqq *q);
void rdmap_reqq_mark_served(struct rdmap_reqq *q);
u16 rdmap_reqq_count_reads(const struct rdmap_reqq *q, u16 n);
void rdmap_reqq_release(struct rdmap_reqq *q, u16 n);

static inline bool rdmap_reqq_is_full(const struct rdmap_reqq *q)
{
	return q->used == q->size;
}

static inline bool rdmap_reqq_is_empty(const struct rdmap_reqq *q)
{
	return !q->used;
}

enum iw_reason rdmap_resp_check(const struct rdmap_req *oldest,
				const struct ddp_hdr *h, u32 payload);
bool rdmap_resp_is_expected(const struct rdmap_reqq *q, const struct ddp_hdr *h,
			    u32 payload);
enum iw_reason rdmap_aresp_check(const struct rdmap_req *oldest);

#endif
