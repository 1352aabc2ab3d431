/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Interface between RDMAP and the verbs: what RDMAP offers to the verbs and
 * what it requires of them. RDMAP uses no ib_ type, and the verbs use no
 * socket.
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
#define RDMAP_DEPTH_MAX		128	/* limit of IRD and ORD */
/*
 * Bytes of a received Terminate. More than RDMAP_TERM_BUILD_MAX: messages with
 * additional bytes are accepted (N-7).
 */
#define RDMAP_TERM_MAX		128

/* Operation of a work request; these are not the numbers of the ABI */
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
#define RDMAP_WR_INVALIDATE	0x4	/* Send: peer's STag; Read: sink STag */
#define RDMAP_WR_RTR		0x8	/* RTR Read, without a work request */
#define RDMAP_WR_IMMEDIATE	0x10	/* Immediate Data follows the Write */

/**
 * struct rdmap_wr - a checked work request, copied to kernel memory
 * @op: operation
 * @flags: RDMAP_WR_*
 * @slot: free-running index of the WQE in the send queue
 * @buf: local memory: source, or sink of a Read or an atomic
 * @raddr: remote TO; registration and bind: start address
 * @rkey: remote STag; registration and bind: new key
 * @inv: STag to invalidate; bind: lkey of the MR
 * @imm: immediate data in wire byte order
 * @compare_add: atomics: value to compare with or to add; registration and
 *	bind: length in bytes
 * @swap: atomics: value to store; registration and bind: access rights
 * @sge: array for the SGEs of @buf, large enough for any request of the queue
 */
struct rdmap_wr {
	enum rdmap_wr_op	op;
	u8			flags;
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

/* Check whether a request needs a response, and so counts as outstanding */
static inline bool rdmap_wr_has_response(const struct rdmap_wr *wr)
{
	return wr->op == RDMAP_WR_READ || wr->op == RDMAP_WR_FETCH_ADD ||
	       wr->op == RDMAP_WR_CMP_SWAP;
}

/* A message that consumed a receive */
struct rdmap_recv {
	u32	len;
	u32	inv;		/* local STag that the Send invalidated */
	__be32	imm;
	bool	invalidated;
	bool	solicited;
	bool	immediate;	/* by Immediate Data; @len is that of the Write */
};

/* Message being segmented, if commit_message() must account for it */
enum rdmap_out {
	RDMAP_OUT_NONE,
	RDMAP_OUT_RESP,
	RDMAP_OUT_WR,
};

/* RDMAP state of a stream, embedded in a queue pair */
struct rdmap {
	/*
	 * Set before the stream runs. Then @rtr belongs to the transmit path
	 * and @rtr_send_expected to the receive path.
	 */
	u8			rtr;	/* DDP_RTR_* message to send first, or 0 */
	/* an empty Send is an RTR message if it comes first */
	bool			rtr_send_expected;

	/* its last fields are for transmit only, like those that follow */
	struct ddp_stream	stream;

	/* transmit path only */
	/*
	 * Message being segmented. commit_message() accounts for it not when its last
	 * segment is pulled but at the next pull, or in rdmap_handle_sent().
	 */
	enum rdmap_out		out;
	struct rdmap_wr		wr;
	bool			have_wr;
	bool			wr_preferred;	/* after a response: try a WR */
	bool			imm_pending;	/* Immediate Data of @wr to send */
	/* responses segmented, but not yet accepted by the LLP */
	u16			responses;
	u16			spent;		/* budget used, see is_budget_spent() */
	/* segments and payload bytes of @stream already counted */
	u32			segments;
	u32			bytes;
	struct ddp_buf		out_buf;
	struct ddp_sge		out_sge;
	u8			out_raw[RDMAP_AREQ_LEN];

	/* receive path only, used at most once: the Terminate of the peer */
	struct ddp_buf		peer_term_buf;
	u8			peer_term_raw[RDMAP_TERM_MAX];
	u8			peer_layer;	/* layer in the Terminate */
	u8			peer_type;	/* error type in the Terminate */
	bool			bad_rreq;	/* the fault is in the Read in @req */

	/* receive path only */
	bool			in_recv;	/* a message uses a receive */
	/* opcode of the message in progress on each queue, or 0 */
	u8			opcode[DDP_QUEUES];
	struct ddp_buf		recv_buf;
	struct ddp_sge		*recv_sge;	/* fits the largest receive */
	u32			write_len;	/* bytes of the current Write */
	/* bytes of the Write just completed, for Immediate Data */
	u32			last_write_len;
	struct ddp_buf		req_buf;
	u8			req[RDMAP_AREQ_LEN];	/* Read or Atomic Request */
	u8			imm[RDMAP_IMM_LEN];
	struct ddp_buf		imm_buf;
	struct ddp_buf		aresp_buf;
	u8			aresp[RDMAP_ARESP_LEN];

	/*
	 * Leaf lock for the fields below. The receive and transmit paths take
	 * it without _bh because they run with BH off.
	 */
	spinlock_t		lock;
	u8			term[RDMAP_TERM_BUILD_MAX];
	u8			term_len;
	bool			term_pending;
	/* the stream has failed, and @term_pending is valid */
	bool			term_decided;
	/* the response to the oldest unserved request has begun */
	bool			answering;
	/* @irq may have unserved requests; read without the lock */
	bool			irq_pending;
	u16			ird;		/* maximum requests of the peer */
	struct rdmap_reqq	orq;		/* unanswered local requests */
	/* requests of the peer until the LLP has the responses */
	struct rdmap_reqq	irq;
};

static_assert(DDP_GAP(struct rdmap, out_raw, in_recv) >= DDP_CACHELINE);

static inline struct rdmap *to_rdmap(struct ddp_stream *s)
{
	return container_of(s, struct rdmap, stream);
}

/* rdmap_rx.c and rdmap_tx.c: functions in struct ddp_ulp_ops */
enum iw_reason rdmap_admit(struct ddp_stream *s, const struct ddp_hdr *h,
			   u32 payload, struct ddp_grant *g);
enum iw_reason rdmap_admit_more(struct ddp_stream *s, const struct ddp_hdr *h,
				u32 payload, u32 n);
void rdmap_deliver_writes(struct ddp_stream *s, u32 payload, u32 n);
bool rdmap_admit_early(struct ddp_stream *s, const struct ddp_hdr *h, u32 payload,
		       struct ddp_grant *g);
enum iw_reason rdmap_deliver(struct ddp_stream *s, const struct ddp_hdr *h,
			     u32 total);
bool rdmap_next_msg(struct ddp_stream *s, struct ddp_msg *m);
void rdmap_handle_sent(struct ddp_stream *s);

/* Implemented by RDMAP, called by the verbs ------------------------------- */

/* rdmap_ulp.c */
void rdmap_init(struct rdmap *r, struct ddp_stags *stags, void *pd);

/* rdmap.c */
/* Set the limits of outstanding requests before the stream runs. May sleep */
int rdmap_set_depths(struct rdmap *r, u16 ird, u16 ord);
void rdmap_get_depths(struct rdmap *r, u16 *ird, u16 *ord);
void rdmap_destroy(struct rdmap *r);
/* Reason for refusing an access that was allowed when the request arrived */
enum iw_reason rdmap_refusal_reason(const struct rdmap *r, u8 right);
/* Fail the stream; a Terminate is sent if there is one for @why */
void rdmap_fail(struct rdmap *r, enum iw_reason why);

/* Implemented by the verbs, called by RDMAP ------------------------------- */

/* sq.c: send queue */
/**
 * rdmap_sq_pull - fetch the next posted work request
 * @r: the stream
 * @wr: set to the request
 *
 * Reads the WQE once and checks it. An invalid request fails the stream, and
 * the flush completes it with its error. Transmit path only, BH off.
 *
 * Return: true if there is a request; false if there is none, or it is invalid.
 * The next post schedules transmit.
 */
bool rdmap_sq_pull(struct rdmap *r, struct rdmap_wr *wr);

/* Record that all segments of the WR at @slot have been pulled */
void rdmap_sq_cut(struct rdmap *r, u32 slot);
/* The LLP accepted all pulled segments: complete WRs that need no response */
void rdmap_sq_complete_sent(struct rdmap *r);
/* Complete the WR at @slot: its response has been placed */
void rdmap_sq_complete_response(struct rdmap *r, u32 slot, u32 len);
/* Record that the WR at @slot is in error; the caller then fails the stream */
void rdmap_sq_set_failed(struct rdmap *r, u32 slot);
/* Execute and complete RDMAP_WR_REG, _BIND or _LOCAL_INV. False: it failed */
bool rdmap_sq_do_local(struct rdmap *r, const struct rdmap_wr *wr);

/* rq.c: receive queue */
/*
 * Take the oldest receive; its buffer becomes r->recv_buf. Return: IW_OK;
 * IW_DDP_U_NO_BUFFER if none is posted; IW_LOCAL_PROT if the receive is invalid
 */
enum iw_reason rdmap_rq_take(struct rdmap *r);
/* Complete the receive that rdmap_rq_take() has taken */
void rdmap_rq_complete(struct rdmap *r, const struct rdmap_recv *rc);

/* counters.c */
/* Count @n messages delivered, or with @sent about to be sent. BH off */
void rdmap_count_messages(struct rdmap *r, u8 opcode, u32 n, bool sent);

/*
 * Count segments, and the bytes of their payload, received or with @sent
 * accepted by the LLP. BH off
 */
void rdmap_count_bytes(struct rdmap *r, u32 segments, u32 bytes, bool sent);

/* Count a segment that was placed out of order */
void rdmap_count_early(struct rdmap *r);

/* qp_error.c: state of the queue pair */
/* The stream has failed: change the QP state, notify the consumer, flush */
void rdmap_report_failure(struct rdmap *r, const struct iw_fault *f);
/* The LLP stream is gone: as rdmap_report_failure(), unless the stream had failed */
void rdmap_report_down(struct rdmap *r, enum iw_reason why);

#endif
