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

#define DDP_QUEUES	4	/* Sends, Read Requests, Terminate, Atomic Responses */

/**
 * struct ddp_hdr - decoded DDP header (RFC 5041 section 4)
 * @tagged: T bit
 * @last: L bit
 * @ulp8: first byte of RsvdULP
 * @ulp32: last four bytes of RsvdULP; untagged only
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

/* Scatter/gather element: a range of registered memory */
struct ddp_sge {
	u64	addr;
	u32	len;
	u32	stag;
};

/**
 * struct ddp_buf - source or destination of a message
 * @flat: contiguous kernel memory; NULL if @sge is used
 * @sge: SGEs of the buffer; used if @flat is NULL
 * @nsge: number of SGEs
 * @len: total length in bytes
 *
 * The ULP owns the buffer and must not change it while DDP uses it.
 */
struct ddp_buf {
	void			*flat;
	const struct ddp_sge	*sge;
	u16			nsge;
	u32			len;
};

/**
 * struct ddp_grant - result of ddp_ulp_ops.admit
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
 * @rights: right that registered memory in @buf must have: DDP_REMOTE_READ for
 *	a Read Response, DDP_LOCAL_READ for all other messages
 * @send_if_failed: true if the message is sent even after the stream has failed
 *	(Terminate); its payload must be in @buf->flat
 */
struct ddp_msg {
	struct ddp_hdr		hdr;
	const struct ddp_buf	*buf;
	u8			rights;
	bool			send_if_failed;
};

/**
 * struct ddp_ulp_ops - operations that RDMAP provides to DDP
 * @admit: admit a segment before any of it is placed. Called once for each
 *	segment, except for segments passed to @more or @wrote. For a tagged
 *	segment, set the rights that its STag needs. For an untagged segment,
 *	set the buffer of the message, or return IW_DDP_U_NO_BUFFER if this MSN
 *	has no buffer.
 * @more: admit @n segments that continue the previous segment: their headers
 *	equal that of the previous segment but for the TO or the MO. DDP keeps
 *	using the rights or the buffer that @admit has set. @h is the header of
 *	the first segment, and @payload the sum of the payload lengths. @n is 1
 *	for an untagged segment. On an error with @n > 1 the state must be
 *	unchanged; DDP then calls @more for each segment.
 * @wrote: account for @n RDMA Writes of one segment each, with @payload bytes
 *	each, that have been placed. Their headers equal that of the segment
 *	that ended the previous Write, but for the TO. Replaces @admit and
 *	@deliver for these messages. Called before the next @admit or @deliver,
 *	in ddp_rx_end() at the latest.
 * @may_place_early: decide whether a tagged segment that arrived out of order
 *	may be placed, and set the rights that its STag needs. Must not change
 *	the state, because @admit follows when the segment is next in order (RFC
 *	5041 5.3). Returns true if the segment may be placed.
 * @deliver: deliver a message after its last segment is placed. Called in
 *	order, once for each message, except for messages passed to @wrote.
 *	@total is the length of an untagged message, or the payload length of
 *	the last segment of a tagged message. For an untagged message it may
 *	return IW_AGAIN with its state unchanged, and is then called again after
 *	the page fault. For a message that needed DDP_REMOTE_WRITE, DDP may hold
 *	a cached MR reference. So this upcall must not revoke an MR, nor take a
 *	lock that is held while an MR is revoked.
 * @next: get the next message to send; returns false if there is none. To yield
 *	after enough messages, call ddp_tx_resched() and return false. Must
 *	return false while ddp_tx_fault_pending() is true. DDP may hold a cached
 *	MR reference. So the ULP must call ddp_tx_put_mr() before it invalidates
 *	memory, fails the stream, or takes a lock that is held while an MR is
 *	revoked.
 * @sent: account for the messages that the LLP has accepted: all messages whose
 *	last segment was pulled.
 * @failed: handle a failure of the stream; @f->why may be a local reason. DDP
 *	places nothing after this upcall returns, but still calls @next, for a
 *	Terminate. Called at most once.
 * @down: handle the end of the LLP stream. Called once, as the last upcall.
 *
 * Context: @admit, @more, @wrote, @may_place_early and @deliver run in the
 * receive path, @next and @sent in the transmit path, all with BH off and
 * atomic. @failed runs in either path or in the context that fails the stream.
 * @down runs in the LLP's worker.
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

/* Last received segment, for quoting in a Terminate and for the fast paths */
struct ddp_rx_seg {
	struct ddp_hdr	h;
	u32		len;		/* segment length in bytes, header included */
	u32		payload;	/* payload length in bytes */
	u8		raw[IW_DDP_HDR_MAX];	/* header as received */
	u8		raw_len;	/* number of valid bytes in raw */
	u8		rights;		/* rights that the STag needs; tagged only */
	bool		placed;		/* true if placed earlier, out of order */
};

/* Segment that was admitted and is deferred until a page fault is resolved */
struct ddp_deferred {
	bool			valid;		/* a segment is deferred */
	u8			raw_len;	/* number of valid bytes in raw */
	u8			raw[IW_DDP_HDR_MAX];	/* header as received */
	u32			len;		/* segment length in bytes */
	struct ddp_grant	grant;		/* result of admit() */
};

/* One DDP stream, embedded in a queue pair */
struct ddp_stream {
	/* constant once the ULP has initialized the stream */
	const struct ddp_ulp_ops *ulp;
	struct ddp_stags	*stags;
	void			*pd;
	void			*recv_pd;	/* PD of receive buffers; the SRQ's, if any */
	u64			id;	/* unique id, never reused */
	bool			dma_ok;	/* stream of a kernel ULP, may use DDP_STAG_DMA */

	/* set by ddp_stream_set_rights(), read for each copy */
	u8			denied;	/* DDP_REMOTE_* rights that the QP forbids */

	/* set once by ddp_stream_bind() and once by ddp_stream_unbind(); read under RCU */
	struct ddp_llp __rcu	*llp;

	unsigned long		failed;	/* bit 0: the stream has failed; never cleared */

	/* owned by the receive path, except while a request is pending */
	struct ddp_fault		rx_fault;

	/* written by the receive path only */
	bool			rx_busy;	/* path is running; read by ddp_stream_settle() */
	bool			rx_begun;	/* between ddp_rx_begin() and ddp_rx_end() */
	/*
	 * cached reference to the last segment's MR, or NULL; dropped in
	 * ddp_rx_end(), and before any upcall that may invalidate an MR
	 */
	struct ddp_region	*rx_mr;
	struct ddp_rx_seg	rx_seg;		/* last received segment */
	u32			rx_wrote;	/* number of Writes not yet passed to wrote() */
	struct ddp_uq		uq[DDP_QUEUES];	/* receive state of the untagged queues */
	struct ddp_cursor	sink[DDP_QUEUES];	/* next byte to place, per queue */
	struct ddp_deferred	deferred;	/* deferred segment, if any */

	/* owned by the transmit path, except while a request is pending */
	struct ddp_fault		tx_fault;

	/* written by the transmit path only */
	bool			tx_busy;	/* path is running; read by ddp_stream_settle() */
	bool			tx_pending;		/* a kick will announce more to send */
	bool			tx_blocked;		/* next message blocked by fence or ORD */
	/*
	 * true while msg is not completely segmented; set before next(), and
	 * also read by the receive path
	 */
	bool			in_msg;
	struct ddp_msg		msg;	/* message that is being sent */
	u32			cut;	/* number of bytes of msg in pulled segments */
	u32			cut_before;	/* cut before the last segment was pulled */
	struct ddp_cursor	src;	/* next byte of msg to copy */
	/* cached reference to the last MR read, or NULL; dropped in ddp_tx_end() */
	struct ddp_region	*tx_mr;
	u32			msn[DDP_QUEUES];	/* MSN of the next message, per queue */
	u32			segments;	/* number of segments pulled; wraps */
	u32			bytes;		/* payload bytes of these segments; wraps */
};

/*
 * Both paths read the fields up to failed, the receive path writes those from
 * rx_busy to deferred, and the transmit path those from tx_busy on. The
 * page-fault requests keep these groups in different cache lines.
 */
static_assert(DDP_GAP(struct ddp_stream, failed, rx_busy) >= DDP_CACHELINE);
static_assert(DDP_GAP(struct ddp_stream, sink, tx_busy) >= DDP_CACHELINE);

void ddp_stream_init(struct ddp_stream *s, const struct ddp_ulp_ops *ulp,
		     struct ddp_stags *stags, void *pd);
void ddp_stream_unbind(struct ddp_stream *s);
void ddp_stream_fail(struct ddp_stream *s, const struct iw_fault *f);
/* Limit the rights that the peer may use through STags; any context */
void ddp_stream_set_rights(struct ddp_stream *s, u8 rights);
void ddp_stream_close(struct ddp_stream *s, enum iw_reason why);
void ddp_stream_close_if_failed(struct ddp_stream *s);

/*
 * Wait until neither path of a failed stream accesses registered memory or
 * executes a work request any more. Sleeps.
 */
void ddp_stream_settle(struct ddp_stream *s);

/*
 * Functions for next() only. Report that there is nothing to send before a
 * kick, which the ULP will make:
 */
void ddp_tx_set_pending(struct ddp_stream *s);
/* Let other streams transmit first, although there is more to send */
void ddp_tx_resched(struct ddp_stream *s);
/* Drop the cached MR reference, see ddp_ulp_ops.next */
void ddp_tx_put_mr(struct ddp_stream *s);
/* Report that the next message must wait for a response of the peer */
void ddp_tx_set_blocked(struct ddp_stream *s);
/* Check whether a page fault must be resolved before the next segment is sent */
bool __ddp_tx_fault_pending(const struct ddp_stream *s);
static inline bool ddp_tx_fault_pending(const struct ddp_stream *s)
{
	return READ_ONCE(s->tx_fault.pending) && __ddp_tx_fault_pending(s);
}

/*
 * Start transmission, because next() has a message: ddp_kick() and
 * ddp_kick_bulk() schedule the transmit path, from any context; ddp_push() may
 * transmit before it returns, in process context
 */
void ddp_kick(struct ddp_stream *s);
void ddp_kick_bulk(struct ddp_stream *s);
void ddp_push(struct ddp_stream *s);

/* Query the state of the LLP stream, or limit its rate; process context */
void ddp_stream_query(struct ddp_stream *s, struct ddp_query *q);
int ddp_stream_pace(struct ddp_stream *s, u64 rate);

/*
 * Check whether @s may access [@to, @to + @len) of @stag with @rights now. Used
 * for a delivered Read or Atomic Request, and for the sink of a request that
 * will be sent.
 */
enum iw_reason ddp_mem_check(struct ddp_stream *s, u32 stag, u64 to, u32 len,
			     u8 rights);

/*
 * Atomically replace the aligned u64 at @to of @stag by the value that @result
 * computes, and set @old to the previous value. The peer needs
 * DDP_REMOTE_ATOMIC. If @result is NULL, only check the access. Called with BH
 * off, and with @result only in the transmit path. Returns IW_AGAIN if a page
 * fault must be resolved first.
 */
enum iw_reason ddp_mem_atomic(struct ddp_stream *s, u32 stag, u64 to,
			      u64 (*result)(const void *how, u64 old),
			      const void *how, u64 *old);

/*
 * Copy @src into registered memory of the local ULP. Called in the receive path
 * with BH off. Returns IW_AGAIN if a page fault must be resolved first.
 */
enum iw_reason ddp_mem_store(struct ddp_stream *s, const struct ddp_sge *m,
			     const void *src);

/* Invalidate @stag on request of the peer if @remote, else of the local ULP */
enum iw_reason ddp_mem_invalidate(struct ddp_stream *s, u32 stag, bool remote);

/*
 * Find the valid MR of @stag in the device's table and take an in-flight reference.
 * The caller must keep BH off until it drops the reference with
 * ddp_region_put(), after one copy at most.
 */
struct ddp_region *ddp_region_find(struct ddp_stags *t, u32 stag);
/* Find the MR of @stag, valid or not, for the length of an RCU read-side section */
struct ddp_region *ddp_region_peek(struct ddp_stags *t, u32 stag);
void ddp_region_put(struct ddp_region *r);

#endif
