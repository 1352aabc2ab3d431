/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Interface between RDMAP and the verbs: functions that RDMAP implements for
 * the verbs, and functions that the verbs implement for RDMAP. RDMAP uses no
 * ib_ type, and the verbs use no socket.
 */
#ifndef _RNIC_SW_RDMAP_H
#define _RNIC_SW_RDMAP_H

#include <linux/spinlock.h>
#include <ddp/lines.h>
#include <ddp/offer.h>
#include <ddp/ulp.h>

#include "rdmap_hdr.h"
#include "rdmap_op.h"
#include "rdmap_reqq.h"
#include "rdmap_term.h"

#define RDMAP_SGE_MAX		16
#define RDMAP_DEPTH_MAX		128	/* maximum IRD and maximum ORD */
/*
 * Maximum length of a received Terminate, in bytes. It exceeds
 * RDMAP_TERM_BUILD_MAX, because a peer may send more bytes after the headers
 * that it quotes, such as zeros for those that it omits (RFC 5040 7.1 (1)).
 */
#define RDMAP_TERM_MAX		128

/*
 * Operation of a work request; these values differ from the opcodes of the ABI
 */
enum rdmap_wr_op {
	RDMAP_WR_WRITE,
	RDMAP_WR_SEND,
	RDMAP_WR_READ,
	RDMAP_WR_FETCH_ADD,
	RDMAP_WR_CMP_SWAP,
	RDMAP_WR_LOCAL_INV,
	RDMAP_WR_REG,		/* fast registration, executed by the verbs */
	RDMAP_WR_BIND,		/* bind of a memory window, executed by the verbs */
};

#define RDMAP_WR_FENCE		0x1
#define RDMAP_WR_SOLICITED	0x2
/*
 * Send: the peer invalidates its STag rdmap_wr.inv after the message. Read: the
 * local sink STag is invalidated after the response.
 */
#define RDMAP_WR_INVALIDATE	0x4
#define RDMAP_WR_RTR		0x8	/* Read that is the RTR message; has no work request */
#define RDMAP_WR_IMMEDIATE	0x10	/* Immediate Data follows the Write */

/**
 * struct rdmap_wr - a checked work request, copied to kernel memory
 * @op: operation
 * @flags: RDMAP_WR_*
 * @more: a later work request was posted when this one was pulled
 * @slot: free-running index of the WQE in the send queue
 * @buf: local memory: the source, or the sink of a Read or an atomic
 * @raddr: remote TO; registration and bind: start address
 * @rkey: remote STag; registration and bind: new key
 * @inv: STag to invalidate; bind: lkey of the MR
 * @imm: immediate data in wire byte order
 * @compare_add: atomics: value to compare with, or to add; registration and
 *	bind: length in bytes
 * @swap: atomics: value to store; registration and bind: access rights
 * @sge: array for the SGEs of @buf, large enough for any request of the send queue
 */
struct rdmap_wr {
	enum rdmap_wr_op	op;
	u8			flags;
	bool			more;
	u32			slot;
	struct ddp_buf		buf;
	u64			raddr;
	u32			rkey;
	u32			inv;
	__be32			imm;
	u64			compare_add;
	u64			swap;
	struct ddp_sge		*sge;
};

/*
 * Check whether @wr requests a response from the peer. The ORD limits the
 * number of such requests.
 */
static inline bool rdmap_wr_needs_response(const struct rdmap_wr *wr)
{
	return wr->op == RDMAP_WR_READ || wr->op == RDMAP_WR_FETCH_ADD ||
	       wr->op == RDMAP_WR_CMP_SWAP;
}

/* Received message that has consumed a receive: a Send or Immediate Data */
struct rdmap_recv {
	u32	len;		/* bytes of the Send, or of the preceding Write */
	u32	inv;		/* local STag that the Send invalidated */
	__be32	imm;		/* immediate data in wire byte order */
	bool	invalidated;	/* true if the Send has invalidated @inv */
	bool	solicited;	/* true if the message requests a solicited event */
	bool	immediate;	/* true for Immediate Data, false for a Send */
};

/* Type of the message being segmented, for account_finished_message() */
enum rdmap_out_type {
	RDMAP_OUT_NONE,
	RDMAP_OUT_RESP,
	RDMAP_OUT_WR,
};

/* RDMAP state of a stream, embedded in a queue pair */
struct rdmap {
	/*
	 * The next two fields are set before the stream runs. Afterwards only
	 * the transmit path uses @rtr, and only the receive path uses
	 * @rtr_expected.
	 */
	u8			rtr;	/* DDP_RTR_* message to send first, or 0 */
	/*
	 * DDP_RTR_* types of an empty first message that is the peer's RTR
	 * message; 0 after the first message has been delivered
	 */
	u8			rtr_expected;
	/* the verbs count Writes and Reads of the peer; set once, read without lock */
	bool			peer_ops_counted;

	/*
	 * The layout avoids false sharing: the transmit path writes the last
	 * fields of @stream, and the fields from @wr to @out_sge. The
	 * fields that the receive path writes for each Write and Send begin at
	 * @in_recv, in other cache lines.
	 */
	struct ddp_stream	stream;

	/* transmit path only */
	struct rdmap_wr		wr;		/* WR that was pulled last from the send queue */
	bool			have_wr;	/* @wr is pulled, but not started yet */
	bool			wr_preferred;	/* send a WR, if any, before the next response */
	bool			imm_pending;	/* Immediate Data of @wr must still be sent */
	bool			term_pulled;	/* the Terminate is pulled, but not counted yet */
	/* number of responses that are segmented, but not accepted by the LLP yet */
	u16			responses_segmented;
	u16			budget_used;	/* part of PASS_BUDGET used in this pass */
	/* number of segments and payload bytes that count_sent_segments() has already counted */
	u32			segments;
	u32			bytes;
	/*
	 * Type of the message being segmented. account_finished_message() accounts for
	 * this message after its last segment, either at the next pull or in
	 * rdmap_handle_sent().
	 */
	enum rdmap_out_type	out_type;
	u8			out_raw[RDMAP_AREQ_LEN];
	struct ddp_buf		out_buf;
	struct ddp_sge		out_sge;

	/*
	 * Receive path only. These fields are not written for Writes and Sends.
	 * So they separate the fields that the transmit path writes often from
	 * those that the receive path writes often.
	 */
	struct ddp_buf		peer_term_buf;	/* buffer of the peer's Terminate */
	u8			peer_term_raw[RDMAP_TERM_MAX];
	u8			peer_layer;	/* layer in the peer's Terminate */
	u8			peer_type;	/* error type in the peer's Terminate */
	u8			peer_code;	/* error code in the peer's Terminate */
	bool			bad_rreq;	/* the last Read Request, in @req, was refused */

	/* receive path only */
	bool			in_recv;	/* the current message has consumed a receive */
	/* opcode of the message in progress on each queue, or 0 */
	u8			opcode[DDP_QUEUES];
	u32			write_len;	/* admitted bytes of the current Write */
	struct ddp_buf		recv_buf;	/* buffer of the receive in use */
	struct ddp_sge		*recv_sge;	/* SGEs of @recv_buf */
	/* bytes of the last complete Write, reported with Immediate Data */
	u32			last_write_len;
	u8			req[RDMAP_AREQ_LEN];	/* Read or Atomic Request received */
	struct ddp_buf		req_buf;
	u8			imm[RDMAP_IMM_LEN];
	struct ddp_buf		imm_buf;
	struct ddp_buf		aresp_buf;
	u8			aresp[RDMAP_ARESP_LEN];

	/*
	 * Leaf lock that protects the fields below. The receive and transmit
	 * paths run with BH off, so they take the lock without _bh.
	 */
	spinlock_t		lock;
	u8			term[RDMAP_TERM_BUILD_MAX];	/* Terminate to send */
	u8			term_len;	/* length of @term in bytes; 0: not built */
	bool			term_pending;	/* @term must be sent */
	/* rdmap_handle_failure() has decided whether to send a Terminate */
	bool			term_decided;
	/* the transmit path has started the response to the oldest unserved request */
	bool			response_started;
	/* @irq may have unserved requests; also read without the lock */
	bool			irq_pending;
	u16			ird;		/* limit of the peer's unanswered requests */
	struct rdmap_reqq	orq;		/* unanswered local requests */
	/* the peer's requests, until the LLP has accepted their responses */
	struct rdmap_reqq	irq;
};

static_assert(DDP_GAP(struct rdmap, out_sge, in_recv) >= DDP_CACHELINE);

static inline struct rdmap *to_rdmap(struct ddp_stream *s)
{
	return container_of(s, struct rdmap, stream);
}

/* rdmap_rx.c and rdmap_tx.c: upcalls, see struct ddp_ulp_ops */
enum iw_reason rdmap_admit(struct ddp_stream *s, const struct ddp_hdr *h,
			   u32 payload, struct ddp_grant *g);
enum iw_reason rdmap_admit_more(struct ddp_stream *s, const struct ddp_hdr *h,
				u32 payload, u32 n);
void rdmap_deliver_writes(struct ddp_stream *s, u32 payload, u32 n);
bool rdmap_may_place_early(struct ddp_stream *s, const struct ddp_hdr *h, u32 payload,
			   struct ddp_grant *g);
enum iw_reason rdmap_deliver(struct ddp_stream *s, const struct ddp_hdr *h,
			     u32 total);
bool rdmap_prepare_next_msg(struct ddp_stream *s, struct ddp_msg *m);
bool rdmap_handle_sent(struct ddp_stream *s, bool look);

/* Implemented by RDMAP, called by the verbs ------------------------------- */

/* rdmap_ulp.c */
void rdmap_init(struct rdmap *r, struct ddp_stags *stags, void *pd);
void rdmap_reset(struct rdmap *r);

/* rdmap.c */
/* Set IRD and ORD. The stream must not run yet. May sleep. */
int rdmap_set_depths(struct rdmap *r, u16 ird, u16 ord);
void rdmap_get_depths(struct rdmap *r, u16 *ird, u16 *ord);
void rdmap_free_queues(struct rdmap *r);
/*
 * Get the reason why an access by the peer has failed, although an earlier check had
 * allowed it. Called by RDMAP itself only.
 */
enum iw_reason rdmap_get_refusal_reason(const struct rdmap *r, u8 right);
/* Fail the stream. For most reasons a Terminate is sent, see build_terminate(). */
void rdmap_fail(struct rdmap *r, enum iw_reason why);

/* Implemented by the verbs, called by RDMAP ------------------------------- */

/* sq.c: send queue */
/**
 * rdmap_sq_pull_wr - fetch the next posted work request
 * @r: the stream
 * @wr: set to the request
 *
 * Reads the WQE once and checks it. If the WQE is invalid, fails the stream;
 * the flush then completes the request with an error.
 *
 * Context: transmit path, BH off.
 *
 * Return: true if @wr is set. False if the WQE is invalid, if the stream has
 * failed, or if no request is posted that may be sent; the next post then
 * schedules transmit.
 */
bool rdmap_sq_pull_wr(struct rdmap *r, struct rdmap_wr *wr);

/* Record that all segments of the WR at @slot have been pulled */
void rdmap_sq_mark_segmented(struct rdmap *r, u32 slot);
/*
 * Complete the WRs that need no response. The LLP must have accepted all pulled
 * segments. If @look, also look for a WR to pull. Return: false if @look and
 * there is none, so that the next post schedules transmit; true otherwise.
 */
bool rdmap_sq_complete_sent_wrs(struct rdmap *r, bool look);
/* Complete the WR at @slot after its response has been placed */
void rdmap_sq_complete_answered_wr(struct rdmap *r, u32 slot);
/*
 * Set the WR at @slot to an error status. If the stream has not failed yet, the
 * caller must fail it next, so that the flush completes the WR with this status.
 */
void rdmap_sq_set_wr_failed(struct rdmap *r, u32 slot);
/*
 * Execute and complete the local request @wr: RDMAP_WR_REG, RDMAP_WR_BIND or
 * RDMAP_WR_LOCAL_INV. Return: true if the request succeeded and is completed,
 * false if it failed and is not completed
 */
bool rdmap_sq_execute_local_wr(struct rdmap *r, const struct rdmap_wr *wr);

/* rq.c: receive queue */
/*
 * Dequeue the oldest receive and set r->recv_buf to its buffer. Return: IW_OK;
 * IW_DDP_U_NO_BUFFER if no receive is posted; IW_LOCAL_PROT if the WQE or the
 * producer index is invalid
 */
enum iw_reason rdmap_rq_dequeue(struct rdmap *r);
/*
 * Like rdmap_rq_dequeue(), but if no receive is posted and the queue pair permits it, let the
 * message wait for one. Return: IW_AGAIN if the message waits; else as rdmap_rq_dequeue()
 */
enum iw_reason rdmap_rq_dequeue_or_wait(struct rdmap *r);
/* Complete the receive that rdmap_rq_dequeue() has dequeued */
void rdmap_rq_complete(struct rdmap *r, const struct rdmap_recv *rc);

/* counters.c */
/*
 * Count @n messages that are delivered or, if @sent is true, will be sent next.
 * The transmit path calls this for a Terminate only after the LLP has accepted
 * it. Context: BH off.
 */
void rdmap_count_messages(struct rdmap *r, u8 opcode, u32 n, bool sent);

/*
 * Count @segments segments with @bytes bytes of payload in total. The segments
 * have been received or, if @sent is true, accepted by the LLP. Context: BH
 * off.
 */
void rdmap_count_segments(struct rdmap *r, u32 segments, u32 bytes, bool sent);

/* Count a segment that is admitted for placement out of order */
void rdmap_count_early_segment(struct rdmap *r);

/* comp_cntr.c: completion counters */
/*
 * Count @n operations of the peer: Writes that are placed (RDMAP_OP_WRITE), or Reads whose
 * responses the LLP has accepted (RDMAP_OP_READ_REQ). RTR messages are not counted. Called only
 * if r->peer_ops_counted is set. Context: BH off.
 */
void rdmap_count_peer_ops(struct rdmap *r, u8 opcode, u32 n);

/* qp_error.c: failure of the queue pair */
/*
 * Change the QP state after the stream has failed, and schedule the notification
 * of the consumer and the flush
 */
void rdmap_report_failure(struct rdmap *r, const struct iw_failure *f);
/*
 * Move the QP to ERROR after the LLP stream has ended. Unless the stream has
 * failed before, also schedule the notification of the consumer and the flush.
 */
void rdmap_report_down(struct rdmap *r, enum iw_reason why);

#endif
