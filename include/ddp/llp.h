/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Interface between DDP and a lower layer (LLP): MPA over TCP, or SCTP.
 *
 * RFC 5041 section 3 lists eleven requirements on an LLP. A number in
 * parentheses below is the requirement that a function or field serves.
 */
#ifndef _DDP_LLP_H
#define _DDP_LLP_H

#include <linux/types.h>
#include <ddp/query.h>
#include <ddp/reason.h>

struct ddp_llp;
struct ddp_stream;

/**
 * struct ddp_llp_ops - operations that the LLP provides to DDP
 * @kick: schedule the transmit path; there is something to send. Any context,
 *	including the LLP's own upcalls. Returns at once and never transmits
 *	inline. If @bulk is set there is so much to copy that a worker should
 *	transmit.
 * @push: like @kick, but may run the transmit path before it returns. Process
 *	context, no lock held.
 * @read: copy the next @len bytes of the segment that is being passed to
 *	ddp_rx_segment() or ddp_rx_place_early() to @dst. Valid only during that call;
 *	@len never exceeds what is left of the segment. Each byte is copied at
 *	most once, so a sender that still writes the received pages cannot
 *	change a value after DDP has checked it. Returns false if not all bytes
 *	can be read: @dst then has zeros in their place, and nothing of the
 *	segment may be delivered.
 * @close: end the stream for the ULP. IW_LOCAL_CLOSE is a graceful end, after
 *	all pulled segments have been sent (9). Every other reason is abortive
 *	(8). Any context.
 * @quiesce: detach from the stream. On return no upcall for the stream runs and
 *	none will start. May sleep.
 * @resume: the page fault that deferred a segment is over: pass the segment to
 *	ddp_rx_segment() again. Any context, like @kick.
 * @query: fill in @q, which is zeroed. Called under the RCU read lock while the
 *	stream may be ending, so it must not sleep.
 * @pace: send at most @rate bytes per second, LLP headers included; 0 means no
 *	limit. Called like @query. NULL if the LLP cannot limit the rate.
 */
struct ddp_llp_ops {
	void (*kick)(struct ddp_llp *llp, bool bulk);
	void (*push)(struct ddp_llp *llp);
	bool (*read)(struct ddp_llp *llp, void *dst, u32 len);
	void (*close)(struct ddp_llp *llp, enum iw_reason why);
	void (*quiesce)(struct ddp_llp *llp);
	void (*resume)(struct ddp_llp *llp);
	void (*query)(struct ddp_llp *llp, struct ddp_query *q);
	void (*pace)(struct ddp_llp *llp, u64 rate);
};

/**
 * struct ddp_llp - LLP side of one stream, embedded in the LLP's connection
 * @ops: operations of the LLP
 *
 * DDP looks this structure up under RCU to kick the LLP, so the LLP must free
 * it only after an RCU grace period.
 */
struct ddp_llp {
	const struct ddp_llp_ops *ops;
};

int ddp_stream_bind(struct ddp_stream *s, struct ddp_llp *llp);
/* Fail the stream for an LLP error (CRC, marker); a Terminate may follow */
void ddp_llp_error(struct ddp_stream *s, enum iw_reason why);
/* Report that the LLP stream is gone; called by the LLP's worker */
void ddp_llp_down(struct ddp_stream *s, enum iw_reason why);

/**
 * ddp_rx_begin - start a run of received segments
 * @s: stream
 *
 * Between this call and ddp_rx_end() the receive path may keep an MR referenced
 * from one segment to the next. Called by the LLP's receive path only. BH must
 * stay off until ddp_rx_end() returns.
 */
void ddp_rx_begin(struct ddp_stream *s);
void ddp_rx_end(struct ddp_stream *s);

/**
 * ddp_rx_segment - process one complete and verified DDP segment
 * @s: stream
 * @llp: the LLP's side of the stream
 * @head: first bytes of the segment: IW_DDP_T_HDR_LEN, or all if it is shorter.
 *	The LLP has usually read these bytes already, to find the segment.
 * @len: length of the segment in bytes, header included (7)
 *
 * Segments are passed in order (5) and at most once (11). The bytes after @head
 * are read with ddp_llp_ops.read. Called by the LLP's receive path only, with
 * BH off, never concurrently for one stream.
 *
 * Return: IW_OK, or the reason for which the stream has failed: the LLP then
 * discards everything that it receives later, and keeps transmitting until DDP
 * calls ddp_llp_ops.close. IW_AGAIN if a page fault defers the segment: the
 * LLP keeps it, and passes neither it nor a later segment before
 * ddp_llp_ops.resume.
 */
enum iw_reason ddp_rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
			      const u8 *head, u32 len);

/**
 * ddp_rx_fast - process a segment in the fast path, if its header allows
 * @s: stream
 * @head: as for ddp_rx_segment()
 * @body: bytes after @head, contiguous in memory. Each byte is read once, so a
 *	sender may still be writing them.
 * @len: length of the segment in bytes, header included
 * @why: set to what ddp_rx_segment() would return, if the segment is taken
 *
 * The fast path takes a segment whose length and header equal those of the
 * previous segment except for the TO or the MO. The TO or MO must continue the
 * previous segment; if that one ended an RDMA Write, any TO is accepted. This
 * covers most segments of long messages, and series of short Writes.
 *
 * Context: as for ddp_rx_segment(), between ddp_rx_begin() and ddp_rx_end().
 *
 * Return: true if the segment is taken; false if nothing was done and the LLP
 * must pass the segment to ddp_rx_segment().
 */
bool ddp_rx_fast(struct ddp_stream *s, const u8 *head, const void *body, u32 len,
		 enum iw_reason *why);

/**
 * ddp_rx_next_page_off - get the page offset at which the next segment will be placed
 * @s: stream
 *
 * The LLP uses the offset to align its copy of the payload, which then is
 * placed by whole pages (see ddp_copy()). The result is only a hint.
 *
 * Return: the offset in bytes, or -1 if no tagged segment can continue the
 * previous one.
 */
int ddp_rx_next_page_off(const struct ddp_stream *s);

/**
 * ddp_rx_is_next - check whether a tagged segment continues the previous ones
 * @s: stream
 * @head: as for ddp_rx_segment()
 * @len: length of the segment in bytes, header included
 * @n: number of segments between the last one processed and this one, each of
 *	which has passed this check
 *
 * Return: true if the segment is the next one of its message after the @n
 * others, with the same length and header but the TO; false otherwise.
 */
bool ddp_rx_is_next(const struct ddp_stream *s, const u8 *head, u32 len, u32 n);

/**
 * ddp_rx_batch - process a batch of segments that continue the previous one
 * @s: stream
 * @bodies: payloads of the segments, back to back; private to the LLP
 * @n: number of segments; ddp_rx_is_next() has accepted each of them
 * @why: set to what ddp_rx_segment() would return for the first segment not
 *	taken
 *
 * Equivalent to ddp_rx_fast() for each segment in turn, but the checks are done
 * once for all of them if possible. The batch must be short, because a context
 * that fails the stream or revokes the MR waits for it.
 *
 * Return: number of segments taken; @why is valid if that is less than @n.
 */
u32 ddp_rx_batch(struct ddp_stream *s, const void *bodies, u32 n, enum iw_reason *why);

/**
 * ddp_rx_fault_pending - check whether the page fault of a deferred segment is pending
 * @s: stream
 *
 * Return: true if ddp_rx_segment() would return IW_AGAIN again; false if the
 * LLP may pass the segment again.
 */
bool ddp_rx_fault_pending(const struct ddp_stream *s);

/**
 * struct ddp_placed - record of a tagged segment that was placed out of order
 * @len: length of the segment in bytes, header included
 * @hdr: DDP header of the segment
 */
struct ddp_placed {
	u32	len;
	u8	hdr[IW_DDP_T_HDR_LEN];
};

/**
 * ddp_rx_place_early - place a segment that arrived out of order
 * @s: stream
 * @llp: the LLP's side of the stream
 * @head: as for ddp_rx_segment()
 * @len: length of the segment in bytes, header included
 * @p: filled in if the segment is placed
 *
 * Placement needs no order, only delivery does (5; RFC 5041 5.3). So a tagged
 * segment is placed now if the checks allow it. An error is not reported now,
 * but when the segment is next in order.
 *
 * Context: as for ddp_rx_segment().
 *
 * Return: true if the segment is placed: the LLP calls ddp_rx_deliver_early() when the
 * segment is next in order. False if nothing was done: the LLP keeps the
 * segment and passes it to ddp_rx_segment() in order.
 */
bool ddp_rx_place_early(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
			u32 len, struct ddp_placed *p);

/**
 * ddp_rx_deliver_early - process an early-placed segment that is next in order now
 * @s: stream
 * @p: record from ddp_rx_place_early()
 *
 * Return: as for ddp_rx_segment().
 */
enum iw_reason ddp_rx_deliver_early(struct ddp_stream *s, const struct ddp_placed *p);

/**
 * struct ddp_txseg - one segment to send
 * @hdr: encoded DDP header
 * @hdr_len: length of @hdr in bytes
 * @len: length of the payload in bytes, to be fetched with ddp_tx_fill()
 * @left: bytes of the message after this segment; 0 if it is the last one. Not
 *	valid if ddp_tx_fill() fails.
 */
struct ddp_txseg {
	u8	hdr[IW_DDP_HDR_MAX];
	u8	hdr_len;
	u32	len;
	u32	left;
};

/**
 * ddp_tx_begin - start a run of the transmit path
 * @s: stream
 *
 * ddp_tx_next(), ddp_tx_fill(), ddp_tx_batch() and ddp_tx_unpull() may be called
 * only between this call and ddp_tx_end(), and BH must stay off all that time.
 * ddp_stream_settle() waits for the end of the run. After that the ULP's memory
 * is not read any more and no work request takes effect, so a run must be
 * short: one batch at most. Each segment pulled in a run must be filled, or
 * undone with ddp_tx_unpull(), in that run.
 */
void ddp_tx_begin(struct ddp_stream *s);
/* Check whether @s (may be NULL) has failed: only a Terminate can follow */
bool ddp_tx_has_failed(const struct ddp_stream *s);
void ddp_tx_end(struct ddp_stream *s);

/**
 * ddp_tx_next - pull the next segment to send
 * @s: stream
 * @mulpdu: longest segment that the LLP can send now, header included (1). It
 *	may differ from call to call; segments already pulled are never cut
 *	again (2).
 * @seg: filled in
 *
 * Called by the LLP's transmit path only, with BH off.
 *
 * Return: true if @seg is valid: the caller must fetch the payload with
 * ddp_tx_fill() or undo the pull with ddp_tx_unpull(). False if there is nothing
 * to send now.
 */
bool ddp_tx_next(struct ddp_stream *s, u32 mulpdu, struct ddp_txseg *seg);

/**
 * ddp_tx_unpull - undo the last ddp_tx_next()
 * @s: stream; none of the segment's payload may have been fetched
 *
 * For an LLP that finds no space for the segment. ddp_tx_next() returns the
 * same bytes again, and ddp_tx_sent() does not account for them until then.
 */
void ddp_tx_unpull(struct ddp_stream *s);

/**
 * ddp_tx_pending - check whether more is pending after ddp_tx_next() failed
 * @s: stream, or NULL
 *
 * This is so if RDMAP has used up its budget, if a Terminate is still being
 * built, or if a page fault must be resolved first. A kick follows in each
 * case, and a graceful end must wait until then. Called by the transmit path
 * only.
 *
 * Return: true if there will be more to send; false otherwise.
 */
bool ddp_tx_pending(const struct ddp_stream *s);

/**
 * ddp_tx_blocked - check whether the next message is blocked on a response
 * @s: stream, or NULL
 *
 * A work request is blocked by a fence, or by the limit of outstanding Reads,
 * until the peer responds; the response kicks. A graceful end must wait for it,
 * unless no response can arrive any more. Called by the transmit path only.
 *
 * Return: true if a message is blocked; false otherwise.
 */
bool ddp_tx_blocked(const struct ddp_stream *s);

/**
 * ddp_tx_fill - copy the next payload bytes of the current segment
 * @s: stream
 * @dst: destination
 * @len: number of bytes, at most what the segment has left
 *
 * Called in any number of pieces until the whole payload of the segment is
 * copied.
 *
 * Return: true if the bytes are copied. False if the stream has failed or the
 * memory may not be read, which fails the stream; also if a page fault defers
 * the segment. In all these cases the LLP must discard the segment. If it was
 * deferred, ddp_tx_next() returns it again after a kick.
 */
bool ddp_tx_fill(struct ddp_stream *s, void *dst, u32 len);

/**
 * ddp_tx_page_off - get the page offset of the current segment's source
 * @s: stream; none of the segment's payload may have been fetched
 *
 * With the payload at the same page offset in its buffer, the LLP has whole
 * pages copied, which is faster (see ddp_copy()). The offset is taken from the
 * STag's address, which need not match the real one, so it is only a hint.
 *
 * Return: the offset in bytes.
 */
u32 ddp_tx_page_off(struct ddp_stream *s);

/**
 * struct ddp_txbatch - buffer for a batch of segments of the same length
 * @at: start of the first segment
 * @stride: distance from one segment to the next, in bytes
 * @len: length of each segment in bytes, header included
 * @most: number of segments that fit; no more than a batch
 */
struct ddp_txbatch {
	u8	*at;
	u32	stride;
	u32	len;
	u32	most;
};

/**
 * ddp_tx_batch - write the full-length segments that follow in the same message
 * @s: stream; the payload of the segment pulled last must have been fetched
 * @run: destination; @run->len is the LLP's current limit for a segment
 *
 * Writes headers and payloads as ddp_tx_next() and ddp_tx_fill() would, but
 * checks the MR once for the batch. The last segment of the message is never
 * written. Stops at any obstacle, which the next ddp_tx_next() or ddp_tx_fill()
 * handles.
 *
 * Return: number of segments written.
 */
u32 ddp_tx_batch(struct ddp_stream *s, const struct ddp_txbatch *run);

/**
 * ddp_tx_sent - report that the LLP has accepted all segments pulled so far
 * @s: stream
 *
 * The LLP will deliver them or report a failure (3). Called by the transmit
 * path only.
 */
void ddp_tx_sent(struct ddp_stream *s);

#endif
