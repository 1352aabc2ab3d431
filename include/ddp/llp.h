/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Interface between DDP and a lower layer (LLP): MPA over TCP, or SCTP.
 *
 * RFC 5041 section 3 lists eleven requirements on an LLP. "(LLP 3)" below means
 * that the function or field fulfils item 3 of that list.
 */
#ifndef _DDP_LLP_H
#define _DDP_LLP_H

#include <linux/types.h>
#include <ddp/expected.h>
#include <ddp/query.h>
#include <ddp/reason.h>

struct ddp_llp;
struct ddp_stream;

/**
 * struct ddp_llp_ops - operations that the LLP provides to DDP
 * @kick: schedule the transmit path, because DDP has a segment to send. May be
 *	called in any context, even inside an upcall that the LLP makes, so it
 *	must not transmit before it returns. If @bulk is set, much data must be
 *	copied, so the LLP should transmit in a worker instead of softirq.
 * @push: transmit in the calling process if the LLP can do so now, else
 *	schedule the transmit path. Process context; called under the RCU read
 *	lock but no other lock, so it must not sleep.
 * @read: copy the next @len bytes of the current segment to @dst. DDP calls it
 *	only inside ddp_rx_segment() and ddp_rx_try_place_early_segment(); @len never
 *	exceeds the unread bytes of the segment. Each byte is copied at most once,
 *	because a sender on this machine may still be writing to the received
 *	pages, and a value must not change after DDP has checked it. Returns false
 *	if the CPU cannot read all bytes: @dst then has zeros for the unreadable bytes,
 *	and DDP must not deliver the segment.
 * @close: end the stream on request of the ULP. If @why is IW_LOCAL_CLOSE, end
 *	it gracefully, after all pulled segments have been sent (LLP 9). For every
 *	other reason end it abortively (LLP 8). Any context; called under the RCU
 *	read lock, so it must not sleep.
 * @unbind: unbind the LLP from the stream. On return no upcall for the stream
 *	runs and none will start. May sleep.
 * @resume: schedule the receive path to pass the deferred segment to
 *	ddp_rx_segment() again, because its page fault has been resolved or has
 *	failed. Any context, so it must not pass the segment before it returns.
 * @query: fill in the fields of @q that the LLP knows; DDP has set defaults.
 *	Called under the RCU read lock, so it must not sleep. The connection may
 *	be closing at the same time.
 * @set_tx_rate: limit the transmit rate to @rate bytes per second, LLP headers
 *	included; 0 means no limit. Called under the RCU read lock, so it must
 *	not sleep. NULL if the LLP cannot limit the rate.
 * @busy_poll: receive the packets that the network device of the connection has
 *	now. Process context; called under the RCU read lock, so it must not
 *	sleep. Returns false if the network device cannot be polled. NULL if the
 *	LLP does not know the network device.
 */
struct ddp_llp_ops {
	void (*kick)(struct ddp_llp *llp, bool bulk);
	void (*push)(struct ddp_llp *llp);
	bool (*read)(struct ddp_llp *llp, void *dst, u32 len);
	void (*close)(struct ddp_llp *llp, enum iw_reason why);
	void (*unbind)(struct ddp_llp *llp);
	void (*resume)(struct ddp_llp *llp);
	void (*query)(struct ddp_llp *llp, struct ddp_query *q);
	void (*set_tx_rate)(struct ddp_llp *llp, u64 rate);
	bool (*busy_poll)(struct ddp_llp *llp);
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
/*
 * Fail the stream because the LLP has detected an error, such as a wrong CRC.
 * RDMAP may send a Terminate before it closes the stream.
 */
void ddp_llp_report_error(struct ddp_stream *s, enum iw_reason why);
/* Report that the LLP's connection has ended; called in the LLP's worker */
void ddp_llp_report_down(struct ddp_stream *s, enum iw_reason why);

/**
 * ddp_rx_begin - begin a receive pass
 * @s: stream
 *
 * A receive pass is a series of calls that process received segments. Until
 * ddp_rx_end(), DDP may keep a cached MR reference from one segment to the
 * next, so the caller must keep BH off until ddp_rx_end() has returned. Called
 * by the LLP's receive path only.
 */
void ddp_rx_begin(struct ddp_stream *s);
void ddp_rx_end(struct ddp_stream *s);

/**
 * ddp_rx_segment - process one complete and verified DDP segment
 * @s: stream
 * @llp: the LLP's side of the stream
 * @head: first IW_DDP_T_HDR_LEN bytes of the segment, or the whole segment if
 *	it is shorter
 * @len: length of the segment in bytes, header included (LLP 7)
 *
 * The LLP must pass the segments in order (LLP 5) and each only once (LLP 11); only a
 * deferred segment is passed again. DDP reads the bytes after @head with
 * ddp_llp_ops.read.
 *
 * Context: receive path of the LLP, BH off. Calls for one stream must not
 * overlap.
 *
 * Return: IW_OK if the segment was processed. IW_AGAIN if a page fault defers the
 * segment: the LLP must keep this segment, and pass no later one until DDP calls
 * ddp_llp_ops.resume. Any other value means that the stream has failed: the LLP must
 * discard everything that it receives from now on, but must continue to transmit until
 * DDP calls ddp_llp_ops.close, because RDMAP may send a Terminate. The value is the
 * reason of the failure, or IW_DDP_CATASTROPHIC if the stream had failed before this
 * call.
 */
enum iw_reason ddp_rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
			      const u8 *head, u32 len);

/**
 * ddp_rx_get_expected - get the header that DDP expects in the next segments
 * @s: stream
 * @e: filled in
 *
 * The result is valid until the next call that processes a segment.
 *
 * Context: as for ddp_rx_segment(), between ddp_rx_begin() and ddp_rx_end().
 *
 * Return: true if @e is valid; false if DDP expects no particular header, so that the LLP must pass
 * the next segment to ddp_rx_segment().
 */
bool ddp_rx_get_expected(const struct ddp_stream *s, struct ddp_expected *e);

/**
 * struct ddp_rx_batch - received segments with the expected header, and all of the same length
 * @n: number of segments, at least 1 and at most &ddp_expected.most
 * @len: length of each segment in bytes, header included
 * @joined: true if the payloads follow each other without gaps
 * @body: address of each payload. DDP reads each byte only once, so it may be in memory that a
 *	sender on this machine can still write.
 * @field: &ddp_rx_head.field of each segment
 */
struct ddp_rx_batch {
	u32		n;
	u32		len;
	bool		joined;
	const u8	*body[DDP_RX_BATCH_MAX];
	u64		field[DDP_RX_BATCH_MAX];
};

/**
 * ddp_rx_batch - process segments with the expected header
 * @s: stream
 * @b: the segments; ddp_rx_is_expected() must have returned true for each of them
 * @why: if fewer than @b->n segments are processed, the value that ddp_rx_segment() would return
 *	for the first of the others; IW_OK if the LLP must pass that segment to ddp_rx_segment()
 *
 * Does all that ddp_rx_segment() would do, except for decoding the headers. Segments that continue
 * a message are checked and admitted together if possible, and their payloads are copied together
 * if @b->joined.
 *
 * Context: as for ddp_rx_get_expected().
 *
 * Return: number of segments processed; @b->n if there was no error.
 */
u32 ddp_rx_batch(struct ddp_stream *s, const struct ddp_rx_batch *b, enum iw_reason *why);

/**
 * ddp_rx_get_next_page_off - predict the page offset at which the next segment is placed
 * @s: stream
 *
 * An LLP that copies payloads to its own buffer first should copy the next
 * payload to this page offset of the buffer: ddp_copy() can then copy whole
 * pages from the buffer to the MR. The result is only a hint. The caller must have called
 * ddp_rx_get_expected() for the next segment, with the result true.
 *
 * Return: the page offset in bytes; 0 if it cannot be predicted.
 */
u32 ddp_rx_get_next_page_off(struct ddp_stream *s);

/**
 * ddp_rx_has_pending_fault - check whether the receive path waits for a page fault
 * @s: stream
 *
 * Return: true if a page-fault request is pending, so the LLP must keep the
 * deferred segment; false if the request is complete or the stream has failed,
 * so the LLP may pass the segment again.
 */
bool ddp_rx_has_pending_fault(const struct ddp_stream *s);

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
 * ddp_rx_try_place_early_segment - place a segment that arrived out of order
 * @s: stream
 * @llp: the LLP's side of the stream
 * @head: as for ddp_rx_segment()
 * @len: length of the segment in bytes, header included
 * @p: filled in if the segment is placed
 *
 * Messages must be delivered in order, but segments may be placed in any order
 * (LLP 5; RFC 5041 5.3). So a tagged segment that passes all checks is placed now.
 * If a check fails, nothing is reported now: the segment is checked again when
 * it is next in order, and then fails the stream.
 *
 * Context: as for ddp_rx_segment().
 *
 * Return: true if the segment is placed; the LLP must call
 * ddp_rx_deliver_placed_segment() when the segment is next in order. False if the
 * segment is not placed; the LLP must keep the segment, and pass it to
 * ddp_rx_segment() when it is next in order.
 */
bool ddp_rx_try_place_early_segment(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
				    u32 len, struct ddp_placed *p);

/**
 * ddp_rx_deliver_placed_segment - process a segment that was placed out of order
 * @s: stream
 * @p: record from ddp_rx_try_place_early_segment()
 *
 * Called when the segment is next in order. Does all that ddp_rx_segment()
 * does, except for the copy.
 *
 * Context: as for ddp_rx_segment().
 *
 * Return: as for ddp_rx_segment(), but never IW_AGAIN.
 */
enum iw_reason ddp_rx_deliver_placed_segment(struct ddp_stream *s, const struct ddp_placed *p);

/**
 * struct ddp_txseg - one segment to send
 * @hdr: encoded DDP header
 * @hdr_len: length of @hdr in bytes
 * @len: length of the payload in bytes; ddp_tx_copy_payload() copies the payload
 * @left: number of bytes of the message that follow this segment; 0 for the
 *	last segment. Not valid if ddp_tx_copy_payload() fails.
 * @more: false if this is the last segment of its message, and the ULP knows of no other
 *	message. Another pull is then allowed, but it delays this segment, and
 *	ddp_tx_report_sent() can look for more at a lower cost.
 */
struct ddp_txseg {
	u8	hdr[IW_DDP_HDR_MAX];
	u8	hdr_len;
	u32	len;
	u32	left;
	bool	more;
};

/**
 * ddp_tx_begin - begin to pull a batch of segments
 * @s: stream
 *
 * Until ddp_tx_end(), the caller may call ddp_tx_pull(), ddp_tx_copy_payload(),
 * ddp_tx_pull_batch() and ddp_tx_undo_pull(), and must keep BH off. Before ddp_tx_end()
 * it must have copied the payload of each segment that it has pulled, or have called
 * ddp_tx_undo_pull(). ddp_stream_quiesce() waits for ddp_tx_end(), so the caller must
 * call ddp_tx_end() after one batch at most.
 */
void ddp_tx_begin(struct ddp_stream *s);
/* Check whether @s has failed; @s may be NULL. A failed stream can only send a Terminate. */
bool ddp_tx_has_failed(const struct ddp_stream *s);
void ddp_tx_end(struct ddp_stream *s);

/**
 * ddp_tx_pull - pull the next segment to send
 * @s: stream
 * @mulpdu: maximum length in bytes of a segment that the LLP can send now,
 *	header included (LLP 1). It may differ from call to call, but a change does
 *	not affect segments that are already pulled (LLP 2).
 * @seg: filled in
 *
 * Called by the LLP's transmit path only, with BH off.
 *
 * Return: true if @seg is valid; the caller must then copy the payload with
 * ddp_tx_copy_payload(), or undo the pull with ddp_tx_undo_pull(). False if there is
 * nothing to send now.
 */
bool ddp_tx_pull(struct ddp_stream *s, u32 mulpdu, struct ddp_txseg *seg);

/**
 * ddp_tx_undo_pull - undo the last ddp_tx_pull()
 * @s: stream; ddp_tx_copy_payload() must not have copied any payload of the segment
 *
 * An LLP calls this function if it has no space for the segment. The next
 * ddp_tx_pull() returns the same bytes again, and only the ddp_tx_report_sent()
 * after that call reports them as sent.
 */
void ddp_tx_undo_pull(struct ddp_stream *s);

/**
 * ddp_tx_expects_kick - check whether the ULP will kick because it has more to send
 * @s: stream, or NULL
 *
 * Called by the transmit path after ddp_tx_pull() has returned false. While the
 * result is true, the LLP must not end the stream gracefully: the segments that
 * the ULP has not provided yet would be lost.
 *
 * Return: true if RDMAP has used up its budget and lets other streams transmit,
 * if RDMAP is still building a Terminate, or if a page fault must be resolved
 * first; false otherwise.
 */
bool ddp_tx_expects_kick(const struct ddp_stream *s);

/**
 * ddp_tx_is_blocked - check whether the next message must wait for a response
 * @s: stream, or NULL
 *
 * A work request with a fence waits for the responses of earlier requests, and
 * the ORD limits the number of outstanding requests. The receive path kicks
 * when a response arrives. The LLP must not end the stream gracefully while a
 * message is blocked, unless the peer can send no response any more.
 *
 * Context: transmit path of the LLP.
 *
 * Return: true if a message is blocked; false otherwise.
 */
bool ddp_tx_is_blocked(const struct ddp_stream *s);

/**
 * ddp_tx_copy_payload - copy the next payload bytes of the current segment
 * @s: stream
 * @dst: destination
 * @len: number of bytes, at most the payload bytes that are not copied yet
 *
 * The caller may copy the payload with one call or with several.
 *
 * Return: true if the bytes are copied. False if the stream has failed and the
 * message is not a Terminate, if the memory may not be read, or if a page fault
 * must be resolved first; the LLP must then discard the segment. If the memory
 * may not be read, DDP fails the stream. After a page fault DDP kicks, and
 * ddp_tx_pull() returns the segment again.
 */
bool ddp_tx_copy_payload(struct ddp_stream *s, void *dst, u32 len);

/**
 * ddp_tx_get_page_off - get the page offset of the current segment's source
 * @s: stream; ddp_tx_copy_payload() must not have copied any payload of the segment
 *
 * An LLP that fills a long segment at this page offset of its buffer lets
 * ddp_copy() copy whole pages, which is faster. The offset is only a hint,
 * because it is computed from the TO, and the kernel address may have another
 * page offset.
 *
 * Return: the page offset in bytes.
 */
u32 ddp_tx_get_page_off(struct ddp_stream *s);

/**
 * struct ddp_txbatch - buffer for a batch of segments of the same length
 * @at: address at which the header of the first segment is written
 * @stride: distance between the starts of two adjacent segments, in bytes
 * @len: length of each segment in bytes, header included
 * @max_segments: maximum number of segments; the buffer must have space for them
 */
struct ddp_txbatch {
	u8	*at;
	u32	stride;
	u32	len;
	u32	max_segments;
};

/**
 * ddp_tx_pull_batch - pull and fill several segments of maximum length
 * @s: stream; the whole payload of the last pulled segment must have been
 *	copied
 * @batch: buffer to write to; @batch->len must be the MULPDU that the LLP can
 *	send now
 *
 * Writes the headers and payloads that ddp_tx_pull() and ddp_tx_copy_payload() would
 * write, but checks the MR only once for the whole batch. Never writes the last
 * segment of the message. Stops at a page fault or an error, which the next
 * ddp_tx_pull() or ddp_tx_copy_payload() handles.
 *
 * Return: number of segments written.
 */
u32 ddp_tx_pull_batch(struct ddp_stream *s, const struct ddp_txbatch *batch);

/**
 * ddp_tx_report_sent - report that the LLP is responsible for all segments pulled so far
 * @s: stream
 * @look: true to look for more segments to send as well; false if the last ddp_tx_pull() has
 *	found none, or if the LLP pulls again anyway
 *
 * The LLP must deliver these segments to the peer or report a failure (LLP 3).
 *
 * Context: transmit path of the LLP, BH off.
 *
 * Return: false if @look and nothing is left to send, so that the next ddp_tx_pull() follows a
 * kick or push; true otherwise.
 */
bool ddp_tx_report_sent(struct ddp_stream *s, bool look);

#endif
