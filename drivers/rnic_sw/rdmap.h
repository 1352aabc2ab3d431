/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RDMAP as the verbs see it, and what it asks of them.  No ib_ type below
 * this line, no socket above it.
 */
#ifndef _RNIC_SW_RDMAP_H
#define _RNIC_SW_RDMAP_H

#include <linux/spinlock.h>
#include <ddp/lines.h>
#include <ddp/offer.h>
#include <ddp/ulp.h>

#include "rdmap_atomic.h"
#include "rdmap_hdr.h"
#include "rdmap_op.h"
#include "rdmap_reqq.h"
#include "rdmap_term.h"

#define RDMAP_SGE_MAX		16
#define RDMAP_DEPTH_MAX		128	/* IRD and ORD */
#define RDMAP_TERM_MAX		128	/* longer ones are taken, too (N-7) */

/* What a work request does; not the ABI's numbers */
enum rdmap_wr_op {
	RDMAP_WR_WRITE,
	RDMAP_WR_SEND,
	RDMAP_WR_READ,
	RDMAP_WR_FETCH_ADD,
	RDMAP_WR_CMP_SWAP,
	RDMAP_WR_LOCAL_INV,
	RDMAP_WR_REG,		/* fast registration: the verbs do it */
	RDMAP_WR_BIND,		/* of a memory window: so is this */
};

#define RDMAP_WR_FENCE		0x1
#define RDMAP_WR_SOLICITED	0x2
#define RDMAP_WR_INVALIDATE	0x4	/* Send: peer's STag; Read: own sink */
#define RDMAP_WR_RTR		0x8	/* a Read that no work request asked for */
#define RDMAP_WR_IMMEDIATE	0x10	/* Immediate Data follows the Write */

/**
 * struct rdmap_wr - a work request, checked, in the kernel's own memory
 * @op: what to do
 * @flags: RDMAP_WR_*
 * @slot: free-running index of its place in the send queue
 * @buf: local memory: source, or sink of a Read or an atomic
 * @raddr: remote TO
 * @rkey: remote STag
 * @inv: STag to invalidate
 * @imm: immediate data as it goes on the wire
 * @compare_add: atomics: what to compare with, or to add
 * @swap: atomics: what to store
 * @sge: storage for @buf, as much as the send queue's requests may need
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

/* Does it wait for an answer, and count as outstanding? */
static inline bool rdmap_wr_waits(const struct rdmap_wr *wr)
{
	return wr->op == RDMAP_WR_READ || wr->op == RDMAP_WR_FETCH_ADD ||
	       wr->op == RDMAP_WR_CMP_SWAP;
}

/* What was delivered into a receive buffer, or with one */
struct rdmap_recv {
	u32	len;
	u32	inv;		/* STag invalidated for the peer */
	__be32	imm;
	bool	invalidated;
	bool	solicited;
	bool	immediate;	/* by Immediate Data; @len is the Write's */
};

/* The message that the tx runner is handing out: whose end somebody waits for */
enum rdmap_out {
	RDMAP_OUT_NONE,
	RDMAP_OUT_RESP,
	RDMAP_OUT_WR,
};

/* The RDMAP end of a stream, embedded in a queue pair */
struct rdmap {
	/* fixed once the stream runs */
	u8			rtr;	/* DDP_RTR_* to send first, or 0 */
	bool			swallow;	/* an empty Send is an RTR if it is first */

	/* which ends with what is the tx runner's */
	struct ddp_stream	stream;

	/* tx runner only */
	enum rdmap_out		out;
	struct rdmap_wr		wr;
	bool			have_wr;
	bool			wr_turn;	/* after a response */
	bool			imm_due;	/* of @wr, behind its Write */
	u16			responses;	/* cut, not yet taken */
	u16			spent;		/* of this turn: see enough() */
	u32			segments;	/* of the stream's, counted */
	u32			octets;
	struct ddp_buf		out_buf;
	struct ddp_sge		out_sge;
	u8			out_raw[RDMAP_AREQ_LEN];

	/* rx runner only, once at most */
	struct ddp_buf		peer_term_buf;
	u8			peer_term_raw[RDMAP_TERM_MAX];
	u8			peer_layer;	/* what it says, with */
	u8			peer_type;	/* IW_PEER_TERMINATE */
	bool			bad_rreq;	/* the fault is in the Read in @req */

	/* rx runner only */
	bool			in_recv;	/* a receive buffer is in use */
	u8			opcode[DDP_QUEUES];	/* of the message begun, or 0 */
	struct ddp_buf		recv_buf;
	struct ddp_sge		*recv_sge;	/* as many as a receive may have */
	u32			writing;	/* octets of the Write under way */
	u32			last_write;	/* of the one before */
	struct ddp_buf		req_buf;
	u8			req[RDMAP_AREQ_LEN];	/* Read or Atomic Request */
	u8			imm[RDMAP_IMM_LEN];
	struct ddp_buf		imm_buf;
	struct ddp_buf		aresp_buf;
	u8			aresp[RDMAP_ARESP_LEN];

	/* leaf: the rest; both protocol routines have BH off anyway */
	spinlock_t		lock;
	u8			term[RDMAP_TERM_BUILD_MAX];
	u8			term_len;
	bool			term_due;
	bool			decided;	/* ... or not: the stream has failed */
	bool			answering;	/* the oldest unserved one */
	bool			asked;	/* there may be one: read without the lock */
	u16			ird;		/* as many as it may have sent us */
	struct rdmap_reqq	orq;		/* our requests, unanswered */
	struct rdmap_reqq	irq;		/* the peer's, unserved */
};

static_assert(DDP_GAP(struct rdmap, out_raw, in_recv) >= DDP_LINE);

static inline struct rdmap *to_rdmap(struct ddp_stream *s)
{
	return container_of(s, struct rdmap, stream);
}

/* rdmap_rx.c and rdmap_tx.c: the doors' other side */
enum iw_reason rdmap_admit(struct ddp_stream *s, const struct ddp_hdr *h,
			   u32 payload, struct ddp_grant *g);
enum iw_reason rdmap_more(struct ddp_stream *s, const struct ddp_hdr *h,
			  u32 payload, u32 n);
void rdmap_wrote(struct ddp_stream *s, u32 payload, u32 n);
bool rdmap_early(struct ddp_stream *s, const struct ddp_hdr *h, u32 payload,
		 struct ddp_grant *g);
enum iw_reason rdmap_deliver(struct ddp_stream *s, const struct ddp_hdr *h,
			     u32 total);
bool rdmap_next(struct ddp_stream *s, struct ddp_msg *m);
void rdmap_sent(struct ddp_stream *s);

/* Offered to the verbs ---------------------------------------------------- */

void rdmap_init(struct rdmap *r, struct ddp_stags *stags, void *pd);
/* How many Reads may be outstanding; before the stream runs.  May sleep */
int rdmap_set_depths(struct rdmap *r, u16 ird, u16 ord);
void rdmap_depths(struct rdmap *r, u16 *ird, u16 *ord);
void rdmap_destroy(struct rdmap *r);
/* What the peer asked for was allowed when it came, and is not any more */
enum iw_reason rdmap_refused(const struct rdmap *r, u8 right);
/* Fail the stream; a Terminate goes out if @why has one */
void rdmap_fail(struct rdmap *r, enum iw_reason why);

/* Asked of the verbs ------------------------------------------------------ */

/**
 * rdmap_sq_pull - the next posted work request
 * @r: the stream
 * @wr: filled in
 *
 * Reads the slot once and checks it.  A request that is wrong is completed
 * with its error and fails the stream.  tx runner.
 *
 * Return: false if there is none; whoever posts next will kick.
 */
bool rdmap_sq_pull(struct rdmap *r, struct rdmap_wr *wr);

/* The message of the work request at @slot is cut to its end */
void rdmap_sq_cut(struct rdmap *r, u32 slot);
/* The LLP has all messages that are cut: complete what waits for no answer */
void rdmap_sq_sent(struct rdmap *r);
/* The answer to the Read at @slot is placed */
void rdmap_sq_answered(struct rdmap *r, u32 slot, u32 len);
/* The work request at @slot is wrong; the stream is about to fail */
void rdmap_sq_failed(struct rdmap *r, u32 slot);
/* RDMAP_WR_REG, _BIND and _LOCAL_INV: do and complete it; false: it failed */
bool rdmap_sq_local(struct rdmap *r, const struct rdmap_wr *wr);

/*
 * The oldest receive buffer, into r->recv_buf; IW_DDP_U_NO_BUFFER, or
 * IW_LOCAL_PROT if it makes no sense
 */
enum iw_reason rdmap_rq_take(struct rdmap *r);
void rdmap_rq_done(struct rdmap *r, const struct rdmap_recv *rc);

/* @n messages were delivered, or one begun to be sent; BH off */
void rdmap_count(struct rdmap *r, u8 opcode, u32 n, bool sent);

/* Segments have arrived, or the LLP has taken them; @octets: of payload; BH off */
void rdmap_count_octets(struct rdmap *r, u32 segments, u32 octets, bool sent);

/* A segment was placed before its turn */
void rdmap_count_early(struct rdmap *r);

/* The stream has failed: change state, tell the program, flush */
void rdmap_event(struct rdmap *r, const struct iw_fault *f);
/* The LLP stream is gone: the same, if it had not failed */
void rdmap_down(struct rdmap *r, enum iw_reason why);

#endif
