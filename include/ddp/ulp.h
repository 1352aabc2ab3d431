/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Interface between DDP and its upper layer (ULP), RDMAP. */
#ifndef _DDP_ULP_H
#define _DDP_ULP_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <ddp/lines.h>
#include <ddp/mem.h>
#include <ddp/query.h>
#include <ddp/reason.h>

struct ddp_llp;
struct ddp_stream;

#define DDP_QUEUES	4	/* Send, Read Req., Terminate, Atomic Resp. */

/**
 * struct ddp_hdr - decoded DDP header (RFC 5041 section 4)
 * @tagged: T bit
 * @last: L bit
 * @ulp8: first byte of RsvdULP
 * @ulp32: remaining four bytes of RsvdULP; untagged only
 * @stag: STag; tagged only
 * @to: tagged offset; tagged only
 * @qn: queue number; untagged only
 * @msn: message sequence number; untagged only
 * @mo: message offset; untagged only
 */
struct ddp_hdr {
	bool	tagged;
	bool	last;
	u8	ulp8;
	u32	ulp32;
	u32	stag;
	u64	to;
	u32	qn;
	u32	msn;
	u32	mo;
};

/* Piece of registered memory, named by its STag */
struct ddp_sge {
	u64	addr;
	u32	len;
	u32	stag;
};

/**
 * struct ddp_buf - source or destination of a message
 * @flat: kernel memory; used if not NULL
 * @sge: pieces of registered memory; used if @flat is NULL
 * @nsge: number of pieces
 * @len: total length in bytes
 *
 * Owned by the ULP, which must not change it while DDP uses it.
 */
struct ddp_buf {
	void			*flat;
	const struct ddp_sge	*sge;
	u16			nsge;
	u32			len;
};

/**
 * struct ddp_grant - the ULP's answer to ddp_ulp_ops.admit
 * @rights: tagged segment: DDP_* rights that the STag must have
 * @buf: untagged segment: buffer of the message
 */
struct ddp_grant {
	u8			rights;
	const struct ddp_buf	*buf;
};

/**
 * struct ddp_msg - message to send
 * @hdr: header of the first segment; DDP sets MSN, MO and the L bit
 * @buf: payload
 * @rights: right that registered memory in @buf must have: DDP_LOCAL_READ for
 *	the ULP's own messages, DDP_REMOTE_READ for what the peer reads
 * @send_if_failed: the message is sent although the stream has failed (Terminate);
 *	its payload is the ULP's own memory
 */
struct ddp_msg {
	struct ddp_hdr		hdr;
	const struct ddp_buf	*buf;
	u8			rights;
	bool			send_if_failed;
};

/**
 * struct ddp_ulp_ops - operations that RDMAP provides to DDP
 * @admit: admit a segment before any of it is placed; called once per segment,
 *	except for those passed to @more or @wrote. For a tagged segment, set
 *	the rights that its STag needs. For an untagged one, set the buffer of
 *	the message, or return IW_DDP_U_NO_BUFFER if there is none for this MSN.
 * @more: admit a segment that continues the previous one: its header is the
 *	same but for the TO or the MO. The rights or the buffer of the previous
 *	segment stay in use. For @n > 1 tagged segments at once, @payload is the
 *	sum of their lengths and @h the header of the first. If @n > 1 segments
 *	are refused nothing may have changed; DDP then calls @more for each of
 *	them.
 * @wrote: account for @n RDMA Writes of one segment each, with @payload bytes
 *	each, that have been placed. Their headers equal that of the segment
 *	that ended the previous Write, but for the TO. Replaces @admit and
 *	@deliver for these messages; called before the next @admit or @deliver,
 *	in ddp_rx_end() at the latest.
 * @may_place_early: decide whether a tagged segment that arrived out of order may be
 *	placed, and set the rights that its STag needs. Must change nothing
 *	else: @admit follows when the segment is next in order (RFC 5041 5.3).
 *	Returns true if it may be placed.
 * @deliver: deliver a message after its last segment is placed; called in
 *	order, once per message, except for those passed to @wrote. @total is
 *	the length of an untagged message, but of a tagged message only the
 *	payload of its last segment. For an untagged message it may return
 *	IW_AGAIN, having changed nothing, and is called again later. For a
 *	message that needed DDP_REMOTE_WRITE it must not revoke an MR, or take a
 *	lock that is held while one is revoked: DDP may hold a cached MR
 *	reference.
 * @next: get the next message to send; returns false if there is none. To yield
 *	after enough messages, call ddp_tx_resched() and return false. Must return
 *	false while ddp_tx_fault_pending(). DDP may hold a reference to the MR of the
 *	last message. So call ddp_tx_put_mr() before invalidating memory, before
 *	failing the stream, and before taking a lock that is held while an MR is
 *	revoked.
 * @sent: note that the LLP has accepted every message whose last segment was
 *	pulled.
 * @failed: handle a failure of the stream; @f->why may be a local reason.
 *	Nothing is placed afterwards. @next is still called, for a Terminate.
 * @down: handle the end of the LLP stream; the last upcall, called once.
 *
 * Context: @admit, @more, @wrote, @may_place_early and @deliver run in the receive path,
 * @next and @sent in the transmit path, all with BH off and atomic. @failed is
 * called once, from either path or by the context that fails the stream. @down
 * is called by the LLP's worker.
 */
struct ddp_ulp_ops {
	enum iw_reason (*admit)(struct ddp_stream *s, const struct ddp_hdr *h,
				u32 payload, struct ddp_grant *g);
	enum iw_reason (*more)(struct ddp_stream *s, const struct ddp_hdr *h,
			       u32 payload, u32 n);
	void (*wrote)(struct ddp_stream *s, u32 payload, u32 n);
	bool (*may_place_early)(struct ddp_stream *s, const struct ddp_hdr *h,
				u32 payload, struct ddp_grant *g);
	enum iw_reason (*deliver)(struct ddp_stream *s, const struct ddp_hdr *h,
				  u32 total);
	bool (*next)(struct ddp_stream *s, struct ddp_msg *m);
	void (*sent)(struct ddp_stream *s);
	void (*failed)(struct ddp_stream *s, const struct iw_fault *f);
	void (*down)(struct ddp_stream *s, enum iw_reason why);
};

/* Position of a copy in a ddp_buf */
struct ddp_cursor {
	const struct ddp_buf	*buf;
	u32			sge;
	u32			off;
};

/* Receive state of one untagged queue */
struct ddp_uq {
	u32	msn;		/* MSN of the next expected segment */
	u32	mo;		/* MO of the next expected segment */
};

/* Last received segment: quoted by a Terminate, compared by the fast path */
struct ddp_rx_seg {
	struct ddp_hdr	h;
	u32		len;		/* in bytes, header included */
	u32		payload;
	u8		raw[IW_DDP_HDR_MAX];	/* header as received */
	u8		raw_len;
	u8		rights;		/* tagged: rights that the STag needs */
	bool		placed;		/* placed out of order, before */
};

/* Segment that was admitted and then deferred by a page fault */
struct ddp_deferred {
	bool			valid;
	u8			raw_len;
	u8			raw[IW_DDP_HDR_MAX];	/* header as received */
	u32			len;
	struct ddp_grant	grant;
};

/* One DDP stream, embedded in a queue pair */
struct ddp_stream {
	/* constant after ddp_stream_init() */
	const struct ddp_ulp_ops *ulp;
	struct ddp_stags	*stags;
	void			*pd;
	void			*recv_pd;	/* PD of receives (SRQ) */
	u64			id;	/* unique, never reused */
	bool			dma_ok;	/* may use DDP_STAG_DMA (kernel) */

	/* set by ddp_stream_set_rights(), read for each copy */
	u8			denied;	/* DDP_REMOTE_* that the QP forbids */

	/* set by bind() once, by unbind() for good; read under RCU */
	struct ddp_llp __rcu	*llp;

	unsigned long		failed;	/* bit 0, set by test_and_set_bit() */

	/* owned by the receive path, except while a request is pending */
	struct ddp_fault		rx_fault;

	/* receive path only */
	bool			rx_busy;	/* running; read by settle() */
	bool			rx_begun;	/* between rx_begin() and rx_end() */
	/*
	 * cached reference to the last segment's MR, or NULL; kept within a run
	 * only, and dropped before any upcall that may invalidate
	 */
	struct ddp_region	*rx_mr;
	struct ddp_rx_seg	rx_seg;
	u32			rx_wrote;	/* Writes not yet passed to wrote() */
	struct ddp_uq		uq[DDP_QUEUES];
	struct ddp_cursor	sink[DDP_QUEUES];
	struct ddp_deferred	deferred;

	/* owned by the transmit path, except while a request is pending */
	struct ddp_fault		tx_fault;

	/* transmit path only */
	bool			tx_busy;	/* running; read by settle() */
	bool			tx_pending;		/* more to send after a kick */
	bool			tx_blocked;		/* blocked by fence or ORD */
	/* msg is not all cut; set before next(), read by the receive path */
	bool			in_msg;
	struct ddp_msg		msg;
	u32			cut;	/* bytes of msg in pulled segments */
	u32			cut_before;	/* cut without the last segment */
	struct ddp_cursor	src;
	/* cached reference to the last MR read, or NULL; within a run only */
	struct ddp_region	*tx_mr;
	u32			msn[DDP_QUEUES];
	u32			segments;	/* segments pulled; wraps */
	u32			bytes;		/* bytes of their payload; wraps */
};

/*
 * Both paths read the first group, and each writes one of the others: no shared
 * cache line
 */
static_assert(DDP_GAP(struct ddp_stream, failed, rx_busy) >= DDP_CACHELINE);
static_assert(DDP_GAP(struct ddp_stream, sink, tx_busy) >= DDP_CACHELINE);

void ddp_stream_init(struct ddp_stream *s, const struct ddp_ulp_ops *ulp,
		     struct ddp_stags *stags, void *pd);
void ddp_stream_unbind(struct ddp_stream *s);
void ddp_stream_fail(struct ddp_stream *s, const struct iw_fault *f);
/* Set the rights that the peer may use through its STags; any context */
void ddp_stream_set_rights(struct ddp_stream *s, u8 rights);
void ddp_stream_close(struct ddp_stream *s, enum iw_reason why);
void ddp_stream_close_if_failed(struct ddp_stream *s);

/*
 * After a failure, wait until nothing is placed or read any more, and no work
 * request takes effect. Sleeps.
 */
void ddp_stream_settle(struct ddp_stream *s);

/* From next() only: more will be pending, and a kick will announce it */
void ddp_tx_set_pending(struct ddp_stream *s);
/* From next() only: more is pending, but let other streams transmit first */
void ddp_tx_resched(struct ddp_stream *s);
/* From next() only: drop the cached MR reference (see ddp_ulp_ops.next) */
void ddp_tx_put_mr(struct ddp_stream *s);
/* From next() only: the next message must wait for a response of the peer */
void ddp_tx_set_blocked(struct ddp_stream *s);
/* Check whether a page fault must be resolved before anything more is sent */
bool __ddp_tx_fault_pending(const struct ddp_stream *s);
static inline bool ddp_tx_fault_pending(const struct ddp_stream *s)
{
	return READ_ONCE(s->tx_fault.pending) && __ddp_tx_fault_pending(s);
}

/*
 * Transmit what next() has: schedule it, in any context; or push, which
 * transmits inline, in process context
 */
void ddp_kick(struct ddp_stream *s);
void ddp_kick_bulk(struct ddp_stream *s);
void ddp_push(struct ddp_stream *s);

/* Query or pace the LLP stream; process context */
void ddp_stream_query(struct ddp_stream *s, struct ddp_query *q);
int ddp_stream_pace(struct ddp_stream *s, u64 rate);

/*
 * Check whether @s may access [@to, @to + @len) of @stag with @rights now. For
 * a Read or Atomic Request that is delivered, and for the sink of one that is
 * to be sent.
 */
enum iw_reason ddp_mem_check(struct ddp_stream *s, u32 stag, u64 to, u32 len,
			     u8 rights);

/*
 * Atomically replace the aligned u64 at @to of @stag by what @result makes of
 * it, and set @old to the previous value. The peer needs DDP_REMOTE_ATOMIC. If
 * @result is NULL, only check the access. BH off. Returns IW_AGAIN to the
 * transmit path if a page fault must be resolved first.
 */
enum iw_reason ddp_mem_atomic(struct ddp_stream *s, u32 stag, u64 to,
			      u64 (*result)(const void *how, u64 old),
			      const void *how, u64 *old);

/*
 * Copy @src into memory of the local ULP. BH off. Returns IW_AGAIN to the
 * receive path if a page fault must be resolved first.
 */
enum iw_reason ddp_mem_store(struct ddp_stream *s, const struct ddp_sge *m,
			     const void *src);

/* Invalidate @stag, on request of the peer (@remote) or of the local ULP */
enum iw_reason ddp_mem_invalidate(struct ddp_stream *s, u32 stag, bool remote);

/*
 * Find the MR of @stag in the device's table and take an in-flight reference,
 * to be dropped with ddp_region_put(). BH off until then, at most for the time
 * of a copy.
 */
struct ddp_region *ddp_region_find(struct ddp_stags *t, u32 stag);
void ddp_region_put(struct ddp_region *r);

#endif
