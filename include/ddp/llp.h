/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The door between DDP and a lower layer (LLP): MPA over TCP, or SCTP.
 *
 * RFC 5041 section 3 lists eleven duties of an LLP; the number in brackets
 * behind each line below is the duty it serves.
 */
#ifndef _DDP_LLP_H
#define _DDP_LLP_H

#include <linux/types.h>
#include <ddp/query.h>
#include <ddp/reason.h>

struct ddp_llp;
struct ddp_stream;

/**
 * struct ddp_llp_ops - what a lower layer does for DDP
 * @kick: there is something to send.  Any context, also under the LLP's own
 *	upcalls; never sends from within, returns at once.  @bulk: so much that
 *	it is better copied by a worker than on top of whatever runs here.
 * @push: like @kick from a caller in process context that holds no lock: may
 *	run the transmit routine before it returns.
 * @read: copy the next @len octets of the segment now being handed up by
 *	ddp_rx_segment() or ddp_rx_early() to @dst.  Only from within that
 *	call; @len never exceeds what is left of the segment.  Each octet is
 *	copied once, so nobody who still writes them can change what was
 *	decided by them.  False: not all can be read (zeros are in their
 *	place), and nothing of the segment may be delivered.
 * @close: the ULP ends the stream.  IW_LOCAL_CLOSE: what was pulled goes out
 *	first, then a graceful end (9); anything else: abortive (8).  Any
 *	context.
 * @quiesce: forget the stream.  After it returns no upcall for it runs and
 *	none will start.  May sleep.
 * @resume: what was left for later by ddp_rx_segment() can be handed up again.  As
 *	@kick.
 * @query: fill in @q, which is zero.  Under RCU alone: the stream may be
 *	going; waits for nobody.
 * @pace: send no faster than @rate octets a second, 0: as fast as it goes.
 *	As query; NULL if the LLP cannot.
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
 * struct ddp_llp - an LLP's end of one stream, embedded in its connection
 * @ops: the LLP's functions
 *
 * Freed by the LLP only after an RCU grace period: kicks look it up under RCU.
 */
struct ddp_llp {
	const struct ddp_llp_ops *ops;
};

int ddp_stream_bind(struct ddp_stream *s, struct ddp_llp *llp);
/* The LLP found an error (CRC, marker): a Terminate may still go out */
void ddp_llp_error(struct ddp_stream *s, enum iw_reason why);
/* The LLP stream is gone; worker */
void ddp_llp_down(struct ddp_stream *s, enum iw_reason why);

/**
 * ddp_rx_begin - several segments may follow, in one stretch of BH off
 * @s: their stream
 *
 * What is looked up for one of them may then serve the next, until ddp_rx_end().
 * The LLP's runner only.
 */
void ddp_rx_begin(struct ddp_stream *s);
void ddp_rx_end(struct ddp_stream *s);

/**
 * ddp_rx_segment - one DDP segment arrived, whole and verified
 * @s: its stream
 * @llp: the LLP's end of it
 * @head: its first octets, IW_DDP_T_HDR_LEN or all of them: who finds segments has
 *	had to read so far, as a rule
 * @len: its length in octets, header included (7)
 *
 * In order (5), at most once (11).  Reads what is behind @head through
 * ddp_llp_ops.read.  The LLP's runner only, BH off, never two at once.
 *
 * Return: IW_OK, or why the stream has failed: the LLP then drops whatever
 * else arrives, and goes on transmitting until it is told to close.  IW_NOT_NOW:
 * memory has to come first; the LLP keeps the segment, hands it up again after
 * ddp_llp_ops.resume, and nothing that is behind it before.
 */
enum iw_reason ddp_rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
			      const u8 *head, u32 len);

/**
 * ddp_rx_more - the next segment, if it is like the last one
 * @s: its stream
 * @head: as for ddp_rx_segment()
 * @body: what is behind @head, where all of it lies together.  Each octet is read once,
 *	so anybody may still write them
 * @len: its length in octets, header included
 * @why: set to what ddp_rx_segment() would return, if it is
 *
 * A short way for most of a long message, and for short Writes one behind the other: a
 * segment of the same length and header but for the TO or the MO.  That is where the last
 * one ended, or, if that ended a Write, any TO.  Between ddp_rx_begin() and ddp_rx_end();
 * otherwise as ddp_rx_segment().
 *
 * Return: whether it is.  If not, nothing is done: it is ddp_rx_segment()'s.
 */
bool ddp_rx_more(struct ddp_stream *s, const u8 *head, const void *body, u32 len,
		 enum iw_reason *why);

/**
 * ddp_rx_run_off - where in its page goes what goes on behind the last segment
 * @s: the stream
 *
 * A guess, as ddp_tx_page_off().
 *
 * Return: the offset, in octets; -1 if nothing goes on there, or it is a Send's.
 */
int ddp_rx_run_off(const struct ddp_stream *s);

/**
 * ddp_rx_joins - would a tagged segment go on behind others?
 * @s: their stream
 * @head: as for ddp_rx_segment()
 * @len: its length in octets, header included
 * @n: so many others, each of which goes on, lie between the last one and this
 *
 * Return: whether it is what comes next if those had been taken.
 */
bool ddp_rx_joins(const struct ddp_stream *s, const u8 *head, u32 len, u32 n);

/**
 * ddp_rx_run - segments that go on one behind the other
 * @s: their stream
 * @bodies: what is behind the header of each, side by side; nobody writes them
 * @n: how many; ddp_rx_joins() has said so of each
 * @why: set to what ddp_rx_segment() would return of the first that is not taken
 *
 * As ddp_rx_more() of one after the other, but what may be done once for all of them is.
 * No more octets than a batch has: whoever fails the stream or revokes the region waits for
 * them.
 *
 * Return: how many are taken; fewer than @n only with @why.
 */
u32 ddp_rx_run(struct ddp_stream *s, const void *bodies, u32 n, enum iw_reason *why);

/**
 * ddp_rx_waits - is it too early to hand a segment up once more?
 * @s: the stream
 *
 * Return: whether it would only be IW_NOT_NOW again.
 */
bool ddp_rx_waits(const struct ddp_stream *s);

/**
 * struct ddp_placed - a segment that was placed before its turn
 * @len: its length, header included
 * @hdr: its header: always a tagged one
 */
struct ddp_placed {
	u32	len;
	u8	hdr[IW_DDP_T_HDR_LEN];
};

/**
 * ddp_rx_early - one DDP segment arrived before others that come before it
 * @s: its stream
 * @llp: the LLP's end of it
 * @head: as for ddp_rx_segment()
 * @len: its length in octets, header included
 * @p: filled in if it is placed
 *
 * Placement needs no order, delivery does (5; RFC 5041 5.3): a tagged segment
 * that may be placed is placed now.  What is wrong with it, if anything, shows
 * when its turn comes.  Otherwise as ddp_rx_segment().
 *
 * Return: true: ddp_rx_placed() is due when its turn comes.  False: nothing
 * has happened; the LLP keeps the octets for ddp_rx_segment().
 */
bool ddp_rx_early(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
		  u32 len, struct ddp_placed *p);

/**
 * ddp_rx_placed - the turn of a segment that was placed early has come
 * @s: its stream
 * @p: from ddp_rx_early()
 *
 * Return: as ddp_rx_segment().
 */
enum iw_reason ddp_rx_placed(struct ddp_stream *s, const struct ddp_placed *p);

/**
 * struct ddp_txseg - one segment to be sent
 * @hdr: its DDP header, encoded
 * @hdr_len: octets of @hdr
 * @len: octets of payload, to be fetched with ddp_tx_fill()
 * @left: octets of its message behind it, unless fetching fails; 0: it is the last
 */
struct ddp_txseg {
	u8	hdr[IW_DDP_HDR_MAX];
	u8	hdr_len;
	u32	len;
	u32	left;
};

/**
 * ddp_tx_begin - a run of the transmit runner's begins
 * @s: the stream
 *
 * ddp_tx_next() and ddp_tx_fill() are called between this and ddp_tx_end()
 * only, all of it with BH off: whoever has failed the stream waits for the end
 * of the run, and after it memory of the ULP's is not read and no work request
 * takes effect any more.  So a run is short: a batch at most.  No segment outlives
 * it without its payload: it is fetched, or the segment given back.
 */
void ddp_tx_begin(struct ddp_stream *s);
/* Has it failed?  Then a Terminate at most is left to be sent.  NULL has not */
bool ddp_tx_failed(const struct ddp_stream *s);
void ddp_tx_end(struct ddp_stream *s);

/**
 * ddp_tx_next - the next segment to send, no longer than the LLP can take
 * @s: the stream
 * @mulpdu: the LLP's limit now, header included (1); it may differ from call
 *	to call, and nothing is ever cut again because of it (2)
 * @seg: filled in
 *
 * The LLP's transmit runner only, BH off.
 *
 * Return: true if there is a segment; the caller then fetches its payload, or
 * gives it back.
 */
bool ddp_tx_next(struct ddp_stream *s, u32 mulpdu, struct ddp_txseg *seg);

/**
 * ddp_tx_back - there is no place for the segment pulled last
 * @s: the stream; nothing of the segment has been fetched
 *
 * ddp_tx_next() gives it again: in ddp_tx_taken() it does not count.
 */
void ddp_tx_back(struct ddp_stream *s);

/**
 * ddp_tx_rests - did ddp_tx_next() find nothing only because it has done enough,
 *	or because memory has to come first?
 * @s: the stream, or NULL
 *
 * The ULP has kicked, or it will be done when the memory is there.  What is to come
 * after all that is due has to wait.  Transmit runner only.
 *
 * Return: whether there is more.
 */
bool ddp_tx_rests(const struct ddp_stream *s);

/**
 * ddp_tx_awaits - did ddp_tx_next() find nothing because the peer has to answer
 *	what it was asked, before what is posted behind that may go?
 * @s: the stream, or NULL
 *
 * An answer kicks.  An end that was asked for has to wait, unless none can come any
 * more.  Transmit runner only.
 *
 * Return: whether there is more.
 */
bool ddp_tx_awaits(const struct ddp_stream *s);

/**
 * ddp_tx_fill - copy the next @len payload octets of the current segment
 * @s: the stream
 * @dst: where to
 * @len: octets, no more than the segment has left
 *
 * Called until the segment's payload is fetched, in any number of pieces.
 *
 * Return: false if the memory may no longer be read: the stream has failed,
 * now or meanwhile, and the segment must not be sent.  Nor must it if memory has
 * to come first: then ddp_tx_next() gives it again, after a kick.
 */
bool ddp_tx_fill(struct ddp_stream *s, void *dst, u32 len);

/**
 * ddp_tx_page_off - where in its page the current segment's payload lies
 * @s: the stream; nothing of the segment has been fetched
 *
 * For who would have it lie alike where it goes, which copies faster (ddp_copy()).
 * A guess, for a region's addresses may be anything.
 *
 * Return: the offset, in octets.
 */
u32 ddp_tx_page_off(struct ddp_stream *s);

/**
 * struct ddp_txrun - where segments of one length are written
 * @at: the first one's first octet
 * @stride: from one to the next
 * @len: octets of each, header included
 * @most: there is room for so many; no more than a batch
 */
struct ddp_txrun {
	u8	*at;
	u32	stride;
	u32	len;
	u32	most;
};

/**
 * ddp_tx_run - what goes on behind the last segment, as far as it is all alike
 * @s: the stream; the payload of the segment pulled last is fetched
 * @run: where to; @run->len is the LLP's limit now, header included
 *
 * The next segments of its message, but for the last one, header and payload, as
 * ddp_tx_next() and ddp_tx_fill() would give them one after the other.  Where anything
 * is in the way it stops, and ddp_tx_next() comes upon that.
 *
 * Return: how many are written.
 */
u32 ddp_tx_run(struct ddp_stream *s, const struct ddp_txrun *run);

/**
 * ddp_tx_taken - the LLP has accepted all octets of all segments pulled so far
 * @s: the stream
 *
 * It will deliver them or report failure (3).  Transmit runner only.
 */
void ddp_tx_taken(struct ddp_stream *s);

#endif
