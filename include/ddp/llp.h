/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Interface between DDP and a lower layer (LLP): MPA over TCP, or SCTP.
 *
 * RFC 5041 section 3 lists eleven requirements on an LLP. A number in
 * parentheses below is the item of that list which a function or field meets.
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
 * @kick: schedule the transmit path, because DDP has something to send. Any
 *	context, including the LLP's own upcalls. Never transmits before it
 *	returns. If @bulk is set, transmit in a worker, because there is much
 *	data to copy.
 * @push: run the transmit path before returning if possible, else schedule the
 *	transmit path. Process context, no lock held.
 * @read: copy the next @len bytes of the current segment to @dst. Called only
 *	while the LLP passes the segment to ddp_rx_segment() or
 *	ddp_rx_place_early(); @len never exceeds the unread bytes of the
 *	segment. Each byte is copied at most once, so a sender that still writes
 *	the received pages cannot change a value after DDP has checked it.
 *	Returns false if the CPU cannot read all bytes: @dst then has zeros for
 *	the unreadable bytes, and DDP must not deliver the segment.
 * @close: end the stream for the ULP. If @why is IW_LOCAL_CLOSE, end it
 *	gracefully, after all pulled segments have been sent (9). For every
 *	other reason end it abortively (8). Any context.
 * @quiesce: detach from the stream. On return no upcall for the stream runs and
 *	none will start. May sleep.
 * @resume: have the deferred segment passed to ddp_rx_segment() again, because
 *	its page fault has been resolved or has failed. Any context. Never
 *	passes the segment before it returns.
 * @query: fill in @q, which is zeroed. Called under the RCU read lock, so it
 *	must not sleep. The stream may be ending.
 * @pace: limit the rate to @rate bytes per second, LLP headers included; 0
 *	means no limit. Called under the RCU read lock, so it must not sleep.
 *	NULL if the LLP cannot limit the rate.
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
 * DDP looks this structure up under RCU, so the LLP must free it only after an
 * RCU grace period.
 */
struct ddp_llp {
	const struct ddp_llp_ops *ops;
};

int ddp_stream_bind(struct ddp_stream *s, struct ddp_llp *llp);
/* Fail the stream for an LLP error (CRC, marker); RDMAP may send a Terminate */
void ddp_llp_error(struct ddp_stream *s, enum iw_reason why);
/* Report that the LLP stream has ended; called by the LLP's worker */
void ddp_llp_down(struct ddp_stream *s, enum iw_reason why);

/**
 * ddp_rx_begin - begin a receive pass, which processes several segments
 * @s: stream
 *
 * Between this call and ddp_rx_end() DDP may keep a cached MR reference from
 * one segment to the next. Called by the LLP's receive path only. The caller
 * must keep BH off until ddp_rx_end() has returned.
 */
void ddp_rx_begin(struct ddp_stream *s);
void ddp_rx_end(struct ddp_stream *s);

/**
 * ddp_rx_segment - process one complete and verified DDP segment
 * @s: stream
 * @llp: the LLP's side of the stream
 * @head: first IW_DDP_T_HDR_LEN bytes of the segment, or the whole segment if
 *	it is shorter
 * @len: length of the segment in bytes, header included (7)
 *
 * The LLP must pass segments in order (5) and each at most once (11), except
 * that it passes a deferred segment again. DDP reads the bytes after @head with
 * ddp_llp_ops.read. Called by the LLP's receive path only, with BH off, never
 * concurrently for one stream.
 *
 * Return: IW_OK if the segment was processed.
 * IW_AGAIN if a page fault defers the segment: the LLP must keep the segment,
 * and must pass no segment until ddp_llp_ops.resume is called.
 * Otherwise the reason for which the stream has failed: the LLP must discard
 * everything that it receives later, and keep transmitting until DDP calls
 * ddp_llp_ops.close.
 */
enum iw_reason ddp_rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
			      const u8 *head, u32 len);

/**
 * ddp_rx_fast - process a segment in the fast path, if its header allows
 * @s: stream
 * @head: first IW_DDP_T_HDR_LEN bytes of the segment
 * @body: bytes after @head, contiguous in memory. Each byte is read once, so a
 *	sender may still be writing them.
 * @len: length of the segment in bytes, header included
 * @why: set to the value that ddp_rx_segment() would return, if the fast path
 *	processes the segment
 *
 * The fast path processes a segment whose length and header equal those of the
 * previous segment except for the TO or the MO. The TO or MO must continue the
 * previous segment. If the previous segment ended an RDMA Write, any TO is
 * accepted. This covers most segments of long messages, and series of short
 * Writes.
 *
 * Context: as for ddp_rx_segment(), between ddp_rx_begin() and ddp_rx_end().
 *
 * Return: true if the segment was processed and @why is set; false if nothing
 * was done and the LLP must pass the segment to ddp_rx_segment().
 */
bool ddp_rx_fast(struct ddp_stream *s, const u8 *head, const void *body, u32 len,
		 enum iw_reason *why);

/**
 * ddp_rx_next_page_off - get the page offset at which the next segment will be placed
 * @s: stream
 *
 * If the LLP copies the payload to this page offset, ddp_copy() can place whole
 * pages. The result is only a hint.
 *
 * Return: the offset in bytes, or -1 if no tagged segment can continue the
 * previous one.
 */
int ddp_rx_next_page_off(const struct ddp_stream *s);

/**
 * ddp_rx_is_next - check whether a tagged segment continues the previous ones
 * @s: stream
 * @head: first IW_DDP_T_HDR_LEN bytes of the segment
 * @len: length of the segment in bytes, header included
 * @n: number of segments that the LLP holds between the last processed segment
 *	and this one; each must have passed this check
 *
 * Return: true if the TO continues those @n segments, and the length and the
 * rest of the header equal those of the last processed segment; false
 * otherwise.
 */
bool ddp_rx_is_next(const struct ddp_stream *s, const u8 *head, u32 len, u32 n);

/**
 * ddp_rx_batch - process a batch of segments that continue the previous segment
 * @s: stream
 * @bodies: payloads of the segments, back to back, in memory that only the LLP
 *	can write
 * @n: number of segments; ddp_rx_is_next() must have returned true for each
 * @why: set to the value that ddp_rx_segment() would return for the first
 *	segment that is not processed
 *
 * Has the effect of ddp_rx_fast() for each segment in turn, but checks all of
 * them at once if possible. The caller must keep the batch short, because a
 * context that fails the stream or revokes the MR waits for the batch.
 *
 * Return: number of segments processed. @why is valid if this is less than @n.
 */
u32 ddp_rx_batch(struct ddp_stream *s, const void *bodies, u32 n, enum iw_reason *why);

/**
 * ddp_rx_fault_pending - check whether a page fault of the receive path is pending
 * @s: stream
 *
 * Return: true if a page fault is pending, so the LLP must keep the deferred
 * segment; false if no page fault is pending or the stream has failed, so the
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
 * Delivery must be in order, but placement need not be (5; RFC 5041 5.3). So a
 * tagged segment is placed now if the checks allow it. An error is reported
 * only when the segment is next in order.
 *
 * Context: as for ddp_rx_segment().
 *
 * Return: true if the segment is placed: the LLP must call
 * ddp_rx_deliver_early() when the segment is next in order. False if the
 * segment is not placed: the LLP must keep the segment and pass it to
 * ddp_rx_segment() when it is next in order.
 */
bool ddp_rx_place_early(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
			u32 len, struct ddp_placed *p);

/**
 * ddp_rx_deliver_early - process a segment that was placed out of order
 * @s: stream
 * @p: record from ddp_rx_place_early()
 *
 * Called when the segment is next in order. Repeats all steps except the copy.
 *
 * Context: as for ddp_rx_segment().
 *
 * Return: as for ddp_rx_segment().
 */
enum iw_reason ddp_rx_deliver_early(struct ddp_stream *s, const struct ddp_placed *p);

/**
 * struct ddp_txseg - one segment to send
 * @hdr: encoded DDP header
 * @hdr_len: length of @hdr in bytes
 * @len: length of the payload in bytes; ddp_tx_fill() copies the payload
 * @left: number of bytes of the message after this segment; 0 for the last
 *	segment. Not valid if ddp_tx_fill() fails.
 */
struct ddp_txseg {
	u8	hdr[IW_DDP_HDR_MAX];
	u8	hdr_len;
	u32	len;
	u32	left;
};

/**
 * ddp_tx_begin - begin to pull segments
 * @s: stream
 *
 * The caller must call ddp_tx_next(), ddp_tx_fill(), ddp_tx_batch() and
 * ddp_tx_unpull() only between this call and ddp_tx_end(), with BH off all the
 * time. Each segment pulled must be filled, or undone with ddp_tx_unpull(),
 * before ddp_tx_end(). ddp_stream_settle() waits for ddp_tx_end(), so the
 * caller must call it after one batch at most.
 */
void ddp_tx_begin(struct ddp_stream *s);
/*
 * Check whether @s (may be NULL) has failed, so that only a Terminate can still
 * be sent
 */
bool ddp_tx_has_failed(const struct ddp_stream *s);
void ddp_tx_end(struct ddp_stream *s);

/**
 * ddp_tx_next - pull the next segment to send
 * @s: stream
 * @mulpdu: maximum length in bytes of a segment that the LLP can send now,
 *	header included (1). It may differ from call to call; segments already
 *	pulled are not segmented again (2).
 * @seg: filled in
 *
 * Called by the LLP's transmit path only, with BH off.
 *
 * Return: true if @seg is valid: the caller must fetch the payload with
 * ddp_tx_fill() or undo the pull with ddp_tx_unpull(). False if there is
 * nothing to send now.
 */
bool ddp_tx_next(struct ddp_stream *s, u32 mulpdu, struct ddp_txseg *seg);

/**
 * ddp_tx_unpull - undo the last ddp_tx_next()
 * @s: stream; none of the segment's payload may have been fetched
 *
 * Used by an LLP that has no space for the segment. The next ddp_tx_next()
 * returns the bytes of the segment again. ddp_tx_sent() does not include the
 * segment until then.
 */
void ddp_tx_unpull(struct ddp_stream *s);

/**
 * ddp_tx_pending - check whether a kick will announce more segments
 * @s: stream, or NULL
 *
 * Called by the transmit path after ddp_tx_next() has returned false. A
 * graceful end must wait for the kick.
 *
 * Return: true if RDMAP has used up its budget, if a Terminate is still being
 * built, or if a page fault must be resolved first; false otherwise.
 */
bool ddp_tx_pending(const struct ddp_stream *s);

/**
 * ddp_tx_blocked - check whether the next message is blocked on a response
 * @s: stream, or NULL
 *
 * A fence, or the limit of outstanding Reads, blocks a work request until a
 * response of the peer arrives; the receive path then kicks. A graceful end
 * must wait for the response, unless no response can arrive any more. Called by
 * the transmit path only.
 *
 * Return: true if a message is blocked; false otherwise.
 */
bool ddp_tx_blocked(const struct ddp_stream *s);

/**
 * ddp_tx_fill - copy the next payload bytes of the current segment
 * @s: stream
 * @dst: destination
 * @len: number of bytes, at most the remaining payload of the segment
 *
 * The caller may copy the payload with one call or with several.
 *
 * Return: true if the bytes are copied. False if the stream has failed, if the
 * memory may not be read, or if a page fault must be resolved first. A
 * forbidden read fails the stream. If false, the LLP must discard the segment.
 * After the page fault a kick follows, and ddp_tx_next() returns the segment
 * again.
 */
bool ddp_tx_fill(struct ddp_stream *s, void *dst, u32 len);

/**
 * ddp_tx_page_off - get the page offset of the current segment's source
 * @s: stream; none of the segment's payload may have been fetched
 *
 * If the LLP has the payload copied to this page offset, ddp_copy() can copy
 * whole pages, which is faster. The offset is only a hint: it is that of the
 * TO, which may differ from that of the kernel address.
 *
 * Return: the offset in bytes.
 */
u32 ddp_tx_page_off(struct ddp_stream *s);

/**
 * struct ddp_txbatch - buffer for a batch of segments of the same length
 * @at: address of the first segment
 * @stride: distance between the starts of two adjacent segments, in bytes
 * @len: length of each segment in bytes, header included
 * @most: maximum number of segments; together they are one batch at most
 */
struct ddp_txbatch {
	u8	*at;
	u32	stride;
	u32	len;
	u32	most;
};

/**
 * ddp_tx_batch - pull and fill several full-length segments of the current message
 * @s: stream; the payload of the segment pulled last must have been copied
 * @run: destination; @run->len must be the current MULPDU of the LLP
 *
 * Writes headers and payloads as ddp_tx_next() and ddp_tx_fill() would, but
 * checks the MR once for the batch. Never writes the last segment of the
 * message. Stops at a page fault or an error, which the next ddp_tx_next() or
 * ddp_tx_fill() handles.
 *
 * Return: number of segments written.
 */
u32 ddp_tx_batch(struct ddp_stream *s, const struct ddp_txbatch *run);

/**
 * ddp_tx_sent - report that the LLP has accepted all segments pulled so far
 * @s: stream
 *
 * The LLP must deliver these segments or report a failure (3). Called by the
 * transmit path only.
 */
void ddp_tx_sent(struct ddp_stream *s);

#endif
