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

#define DDP_QUEUES	4	/* for Sends, Read Requests, Terminates and Atomic Responses */

/**
 * struct ddp_hdr - decoded DDP header (RFC 5041 section 4)
 * @tagged: T bit
 * @last: L bit
 * @ulp8: first byte of RsvdULP
 * @ulp32: last four bytes of RsvdULP; untagged only
 * @stag: STag; tagged only
 * @qn: queue number; untagged only
 * @to: tagged offset; tagged only
 * @msn: message sequence number; untagged only
 * @mo: message offset; untagged only
 */
struct ddp_hdr {
	bool	tagged;
	bool	last;
	u8	ulp8;
	u32	ulp32;
	u32	stag;
	u32	qn;
	u64	to;
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
 * The ULP owns the buffer, and must not change it until DDP has finished with
 * it.
 */
struct ddp_buf {
	void			*flat;
	const struct ddp_sge	*sge;
	u16			nsge;
	u32			len;
};

/**
 * struct ddp_grant - what the ULP grants a segment that it has admitted
 * @rights: for a tagged segment: DDP_* rights that its STag must have
 * @buf: for an untagged segment: buffer of its message
 */
struct ddp_grant {
	u8			rights;
	const struct ddp_buf	*buf;
};

/**
 * struct ddp_msg - message to send
 * @hdr: header of the first segment; DDP sets MSN, MO and the L bit
 * @buf: payload
 * @rights: right that the registered memory of @buf must have: DDP_REMOTE_READ
 *	for a Read Response, DDP_LOCAL_READ for all other messages
 * @send_if_failed: true if the message is sent even though the stream has
 *	failed (Terminate); its payload must be in @buf->flat
 * @more: false if the ULP knows of no other message to send. The LLP then sends this message
 *	before @sent looks for another one.
 */
struct ddp_msg {
	struct ddp_hdr		hdr;
	const struct ddp_buf	*buf;
	u8			rights;
	bool			send_if_failed;
	bool			more;
};

/**
 * struct ddp_ulp_ops - operations that RDMAP provides to DDP
 * @admit: decide whether a segment may be placed. Called once for each segment,
 *	in order, except for segments passed to @admit_more or @writes_placed.
 *	Called before the segment is placed, with two exceptions: a segment that
 *	was placed out of order, and a Write that DDP tried to place without
 *	@admit but could not place completely. For a tagged segment,
 *	set the rights that its STag must have. For an untagged segment, set the
 *	buffer of its message, or return IW_DDP_U_NO_BUFFER if there is no
 *	buffer for this MSN. After ddp_rx_begin_wait() it may return IW_AGAIN for
 *	an untagged segment; it must then leave the state of the ULP unchanged,
 *	and DDP calls it again after the wait.
 * @admit_more: admit @n segments that continue the previous segment: their headers
 *	differ from its header only in the TO or the MO. DDP keeps using the
 *	rights or the buffer that @admit has set. @h is the header of the first
 *	segment, and @payload the sum of the payload lengths. If it returns an
 *	error for @n > 1, it must leave the state of the ULP unchanged; DDP then
 *	calls it for each segment separately. DDP may hold a reference to the MR.
 * @writes_placed: count @n RDMA Writes that have been placed. Each has one segment with
 *	@payload bytes, whose header differs only in the TO from that of the last
 *	segment of the previous Write. Replaces @admit and @deliver for these
 *	messages. Called before the next @admit or @deliver, at the latest in
 *	ddp_rx_end().
 * @may_place_early: decide whether a tagged segment that has arrived out of
 *	order may be placed now, and set the rights that its STag must have. Must
 *	not change the state of the ULP, because @admit is called when the
 *	segment is next in order (RFC 5041 5.3). Returns true if the segment may
 *	be placed.
 * @deliver: process a message whose last segment has been placed. Called in
 *	order, once for each message, except for messages passed to @writes_placed.
 *	@total is the length of an untagged message, or the payload length of
 *	the last segment of a tagged message. For an untagged message it may
 *	return IW_AGAIN; it must then leave the state of the ULP unchanged, and DDP
 *	calls it again after the page fault. If the message needed
 *	DDP_REMOTE_WRITE, DDP may hold a
 *	cached MR reference during the upcall. So the upcall must then neither
 *	revoke an MR, nor take a lock under which another context revokes an MR.
 * @next: get the next message to send; returns false if there is none. To let
 *	other streams transmit, call ddp_tx_resched() and return false. Must
 *	return false while ddp_tx_has_pending_fault() is true. DDP may hold a cached
 *	MR reference during the upcall, so the upcall must call ddp_tx_put_mr()
 *	before it invalidates memory, fails the stream, or takes a lock under
 *	which another context revokes an MR.
 * @sent: complete the messages that the LLP has accepted: all messages whose
 *	last segment was pulled. If @look, also look for another message to send.
 *	Returns false if @look and there is none: the ULP kicks when there is one.
 * @failed: handle a failure of the stream; @f->why may be a local reason. After
 *	this upcall DDP begins no further placement. A copy that is already in
 *	progress may continue; ddp_stream_quiesce() waits for it. DDP still calls
 *	@next, which may return a Terminate. Called at most once.
 * @down: handle the end of the LLP's connection. Called at most once, as the
 *	last upcall; not called if ddp_stream_unbind() comes first.
 *
 * Context: @admit, @admit_more, @writes_placed, @may_place_early and @deliver run in the
 * receive path, @next and @sent in the transmit path; all of them run with BH
 * off and must not sleep. @failed runs in one of the two paths, or in another
 * context that fails the stream. @down runs in the LLP's worker.
 */
struct ddp_ulp_ops {
	enum iw_reason (*admit)(struct ddp_stream *s, const struct ddp_hdr *h,
				u32 payload, struct ddp_grant *g);
	enum iw_reason (*admit_more)(struct ddp_stream *s, const struct ddp_hdr *h,
				     u32 payload, u32 n);
	void (*writes_placed)(struct ddp_stream *s, u32 payload, u32 n);
	bool (*may_place_early)(struct ddp_stream *s, const struct ddp_hdr *h,
				u32 payload, struct ddp_grant *g);
	enum iw_reason (*deliver)(struct ddp_stream *s, const struct ddp_hdr *h,
				  u32 total);
	bool (*next)(struct ddp_stream *s, struct ddp_msg *m);
	bool (*sent)(struct ddp_stream *s, bool look);
	void (*failed)(struct ddp_stream *s, const struct iw_failure *f);
	void (*down)(struct ddp_stream *s, enum iw_reason why);
};

/* Cursor in a ddp_buf: where the next byte is copied from or to */
struct ddp_cursor {
	const struct ddp_buf	*buf;
	u32			sge;
	u32			off;
};

/* Receive state of one untagged queue */
struct ddp_untagged_queue {
	u32	msn;		/* MSN of the next expected segment */
	u32	mo;		/* MO of the next expected segment */
};

/* Last received segment: a Terminate may quote it, and it predicts the header of the next one */
struct ddp_rx_seg {
	struct ddp_hdr	h;
	u32		len;		/* segment length in bytes, header included */
	u32		payload;	/* payload length in bytes */
	u8		raw[IW_DDP_HDR_MAX];	/* header as received */
	u8		raw_len;	/* number of valid bytes in raw */
	u8		rights;		/* rights that the STag must have; tagged only */
	bool		placed;		/* true if the segment was placed out of order before */
};

/* Segment that was admitted, but is deferred until its page fault is resolved */
struct ddp_deferred {
	bool			valid;		/* a segment is deferred */
	u8			raw_len;	/* number of valid bytes in raw */
	u8			raw[IW_DDP_HDR_MAX];	/* header as received */
	u32			len;		/* segment length in bytes */
	struct ddp_grant	grant;		/* result of admit() */
};

/*
 * MR that a path of a stream has looked up last. It saves the next lookup if it is still in the
 * table, that is, if no MR was removed since then. It is no reference: the memory of a removed MR
 * may be freed, so @mr must not be used if @removals is not that of the table.
 */
struct ddp_mr_hint {
	struct ddp_region	*mr;
	long			removals;	/* ddp_stags.removals before the lookup */
};

/* One DDP stream, embedded in a queue pair */
struct ddp_stream {
	/* constant after the ULP has initialized the stream */
	const struct ddp_ulp_ops *ulp;
	struct ddp_stags	*stags;
	void			*pd;
	void			*recv_pd;	/* PD of receive buffers: the SRQ's, if any */
	u64			id;	/* id of the stream, never reused */
	bool			dma_ok;	/* kernel consumer: may use DDP_STAG_DMA */

	/* set by ddp_stream_set_rights(); read before each copy */
	u8			denied;	/* DDP_REMOTE_* rights that the QP forbids */

	/* set once by ddp_stream_bind(); ddp_stream_unbind() sets unbound_llp; read under RCU */
	struct ddp_llp __rcu	*llp;

	unsigned long		failed;	/* bit 0: failed; only ddp_stream_reset() clears it */

	/* page-fault request of the receive path; ownership: see struct ddp_fault */
	struct ddp_fault		rx_fault;

	/* written by the receive path only */
	bool			rx_busy;	/* receive path runs; see ddp_stream_quiesce() */
	bool			rx_begun;	/* true between ddp_rx_begin() and ddp_rx_end() */
	/*
	 * MR of the last segment, or NULL. The stream holds a cached reference
	 * to this MR. The receive path drops the reference in ddp_rx_end(), and
	 * before each upcall that may invalidate an MR.
	 */
	struct ddp_region	*rx_mr;
	struct ddp_mr_hint	rx_hint;
	struct ddp_rx_seg	rx_seg;		/* last received segment */
	u32			writes_unreported;	/* Writes to pass to writes_placed() */
	/* receive state of the untagged queues, indexed by the queue number */
	struct ddp_untagged_queue uq[DDP_QUEUES];
	struct ddp_cursor	sink[DDP_QUEUES];	/* destination of the next payload */
	struct ddp_deferred	deferred;	/* deferred segment, if any */

	/* page-fault request of the transmit path; ownership: see struct ddp_fault */
	struct ddp_fault		tx_fault;

	/* written by the transmit path only */
	bool			tx_busy;	/* transmit path runs; see ddp_stream_quiesce() */
	bool			tx_expects_kick;	/* the ULP kicks when it has more to send */
	bool			tx_blocked;	/* next message waits for the peer's response */
	/*
	 * True while segments of msg are left to pull. The transmit path sets
	 * in_msg before next() takes a message. The receive path also reads in_msg.
	 */
	bool			in_msg;
	struct ddp_msg		msg;	/* message that is being sent */
	u32			msg_pulled;	/* payload bytes of msg that were pulled */
	u32			msg_pulled_before; /* msg_pulled before the last pull */
	struct ddp_cursor	src;	/* position of the next payload byte of msg to copy */
	/* MR that was read last, with a cached reference, or NULL; dropped in ddp_tx_end() */
	struct ddp_region	*tx_mr;
	struct ddp_mr_hint	tx_hint;
	u32			msn[DDP_QUEUES];	/* MSN of the next message, per queue */
	u32			segments;	/* number of segments pulled; wraps */
	u32			bytes;		/* number of payload bytes pulled; wraps */
};

/*
 * The receive path and the transmit path read the fields up to failed. The receive
 * path writes the fields from rx_busy to deferred, the transmit path those from tx_busy.
 * rx_fault and tx_fault lie between these groups, so that no two groups share a
 * cache line.
 */
static_assert(DDP_GAP(struct ddp_stream, failed, rx_busy) >= DDP_CACHELINE);
static_assert(DDP_GAP(struct ddp_stream, sink, tx_busy) >= DDP_CACHELINE);

void ddp_stream_init(struct ddp_stream *s, const struct ddp_ulp_ops *ulp,
		     struct ddp_stags *stags, void *pd);
void ddp_stream_unbind(struct ddp_stream *s);
/* Replace a stream that has failed and is unbound with a new one */
void ddp_stream_reset(struct ddp_stream *s);
void ddp_stream_fail(struct ddp_stream *s, const struct iw_failure *f);
/* Limit the rights that the peer may use through STags; any context */
void ddp_stream_set_rights(struct ddp_stream *s, u8 rights);
void ddp_stream_close(struct ddp_stream *s, enum iw_reason why);
void ddp_stream_close_if_failed(struct ddp_stream *s);

/*
 * Wait until the receive path and the transmit path of a failed stream have stopped
 * accessing registered memory and executing work requests. Sleeps.
 */
void ddp_stream_quiesce(struct ddp_stream *s);

/* The next four functions may be called in next() only */

/* Report that there is nothing to send now, but that the ULP will kick later */
void ddp_tx_set_expects_kick(struct ddp_stream *s);
/* Let other streams transmit now, and schedule this stream again, which has more to send */
void ddp_tx_resched(struct ddp_stream *s);
/* Drop the cached MR reference, see ddp_ulp_ops.next */
void ddp_tx_put_mr(struct ddp_stream *s);
/* Report that the next message must wait for a response from the peer */
void ddp_tx_set_blocked(struct ddp_stream *s);

/* Check whether transmission must wait until a page fault is resolved */
bool __ddp_tx_has_pending_fault(const struct ddp_stream *s);
static inline bool ddp_tx_has_pending_fault(const struct ddp_stream *s)
{
	return READ_ONCE(s->tx_fault.pending) && __ddp_tx_has_pending_fault(s);
}

/*
 * Start transmission, because next() can return a message. ddp_kick() and
 * ddp_kick_for_bulk() schedule the transmit path, in any context. ddp_push() may
 * transmit before it returns, and needs process context.
 */
void ddp_kick(struct ddp_stream *s);
void ddp_kick_for_bulk(struct ddp_stream *s);
void ddp_push(struct ddp_stream *s);

/* Get the state of the stream in its LLP, or limit its rate; process context */
void ddp_stream_query(struct ddp_stream *s, struct ddp_query *q);
int ddp_stream_set_tx_rate(struct ddp_stream *s, u64 rate);
/* Receive the packets that the network device of the connection has now; process context */
bool ddp_stream_busy_poll(struct ddp_stream *s);

/*
 * Check whether @s may access [@to, @to + @len) of @stag with @rights now.
 * Called for a Read or Atomic Request that was delivered, and for the sink of a
 * request before it is sent.
 */
enum iw_reason ddp_mem_check_access(struct ddp_stream *s, u32 stag, u64 to, u32 len,
				    u8 rights);

/*
 * Atomically replace the aligned u64 at @to of @stag with the value that @result
 * computes, and set @old to the previous value. Fails unless the peer has
 * DDP_REMOTE_ATOMIC. If @result is NULL, only checks the access. Called with BH
 * off, and with @result only in the transmit path. Returns IW_AGAIN if a page
 * fault must be resolved first.
 */
enum iw_reason ddp_mem_apply_atomic(struct ddp_stream *s, u32 stag, u64 to,
				    u64 (*result)(const void *how, u64 old),
				    const void *how, u64 *old);

/*
 * Copy @src to registered memory that a work request of the local ULP names.
 * Called in the receive path with BH off. Returns IW_AGAIN if a page fault must
 * be resolved first.
 */
enum iw_reason ddp_mem_store(struct ddp_stream *s, const struct ddp_sge *m,
			     const void *src);

/* Invalidate @stag, at the request of the peer if @remote is set, else of the local ULP */
enum iw_reason ddp_mem_invalidate(struct ddp_stream *s, u32 stag, bool remote);

/*
 * Find the valid MR of @stag in the device's table and take an in-flight reference.
 * The caller must keep BH off until it drops the reference with
 * ddp_region_put(), and may hold the reference for one copy at most.
 */
struct ddp_region *ddp_region_find_get(struct ddp_stags *t, u32 stag);
/*
 * Find the MR of @stag, valid or not. The caller must be in an RCU read-side section
 * while it uses the MR.
 */
struct ddp_region *ddp_region_peek(struct ddp_stags *t, u32 stag);
void ddp_region_put(struct ddp_region *r);

#endif
