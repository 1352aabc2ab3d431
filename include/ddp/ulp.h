/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The door between DDP and its upper layer, RDMAP. */
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

#define DDP_QUEUES	4	/* Send, Read Request, Terminate, Atomic Response */

/**
 * struct ddp_hdr - a DDP header, decoded (RFC 5041 section 4)
 * @tagged: T bit
 * @last: L bit
 * @ulp8: first octet of RsvdULP
 * @ulp32: the other four, untagged only
 * @stag: tagged: STag
 * @to: tagged: tagged offset
 * @qn: untagged: queue number
 * @msn: untagged: message sequence number
 * @mo: untagged: message offset
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

/* A piece of registered memory, named by its STag */
struct ddp_sge {
	u64	addr;
	u32	len;
	u32	stag;
};

/**
 * struct ddp_buf - where a message comes from or goes to
 * @flat: kernel memory; used if not NULL
 * @sge: otherwise pieces of registered memory
 * @nsge: number of pieces
 * @len: octets in all
 *
 * Belongs to the ULP and stays as it is while DDP uses it.
 */
struct ddp_buf {
	void			*flat;
	const struct ddp_sge	*sge;
	u16			nsge;
	u32			len;
};

/**
 * struct ddp_grant - the ULP's answer to a segment
 * @rights: tagged: rights the STag must give
 * @buf: untagged: the buffer of this message
 */
struct ddp_grant {
	u8			rights;
	const struct ddp_buf	*buf;
};

/**
 * struct ddp_msg - a message to send
 * @hdr: header of its first segment; @msn, @mo and @last are DDP's
 * @buf: payload
 * @rights: what its registered memory must allow: DDP_LOCAL_READ for the
 *	ULP's own, DDP_REMOTE_READ for what the peer asked to read
 * @last_words: goes out although the stream has failed: its memory is the ULP's
 */
struct ddp_msg {
	struct ddp_hdr		hdr;
	const struct ddp_buf	*buf;
	u8			rights;
	bool			last_words;
};

/**
 * struct ddp_ulp_ops - what RDMAP does for DDP
 * @admit: once per segment, before anything of it is placed.  Tagged: which
 *	rights it needs.  Untagged: the buffer of this MSN; IW_DDP_U_NO_BUFFER
 *	if there is none.
 * @more: a segment goes on where the last one ended, its header the same but for the TO or
 *	the MO: as @admit, which rights it needs, or which buffer it has, is known.  Or @n
 *	tagged ones, @payload octets together and @h of the first; if these are refused
 *	nothing has changed, and each is asked for by itself.
 * @wrote: @n messages of one segment each, @payload octets in each, are placed: each like
 *	the segment that the last one, which needed DDP_REMOTE_WRITE, ended with.  In place of
 *	admit and deliver, before these are asked about anything else, or when the run is
 *	over.
 * @early: a tagged segment is here before its turn: may it be placed, as far as
 *	the ULP is concerned, and with which rights?  Nothing else changes:
 *	admit follows, when its turn comes (RFC 5041 5.3).
 * @deliver: once per message but for @wrote, in order, after its last segment is placed;
 *	@total is the length of an untagged message, of a tagged one the
 *	octets of its last segment.  Of an untagged message it may say
 *	IW_NOT_NOW, having changed nothing: it is asked again.  Of a tagged one that needed
 *	DDP_REMOTE_WRITE it revokes nothing, nor takes a lock that is held for revoking: its
 *	region may be in use, for the next one.
 * @next: the next message to send, or false.  Who has had enough for one go
 *	calls ddp_tx_rest() and says false.  False also while ddp_tx_waits().  The last
 *	message's region may be in use, for this one: before it invalidates memory, takes a
 *	lock that is held for that, or fails the stream, it calls ddp_tx_let_go().
 * @sent: the LLP has taken every message whose last segment was pulled.
 * @failed: the stream has failed.  @f->why may be local.  Nothing is placed
 *	after it; next() is still called, for a Terminate.
 * @down: the LLP stream is gone; last of all, once
 *
 * admit, more, wrote, early and deliver: the receive runner, BH off, atomic.  next and
 * sent: the transmit runner, BH off, atomic.  failed: either of them, once.  down: the
 * LLP's worker.
 */
struct ddp_ulp_ops {
	enum iw_reason (*admit)(struct ddp_stream *s, const struct ddp_hdr *h,
				u32 payload, struct ddp_grant *g);
	enum iw_reason (*more)(struct ddp_stream *s, const struct ddp_hdr *h,
			       u32 payload, u32 n);
	void (*wrote)(struct ddp_stream *s, u32 payload, u32 n);
	bool (*early)(struct ddp_stream *s, const struct ddp_hdr *h,
		      u32 payload, struct ddp_grant *g);
	enum iw_reason (*deliver)(struct ddp_stream *s, const struct ddp_hdr *h,
				  u32 total);
	bool (*next)(struct ddp_stream *s, struct ddp_msg *m);
	void (*sent)(struct ddp_stream *s);
	void (*failed)(struct ddp_stream *s, const struct iw_fault *f);
	void (*down)(struct ddp_stream *s, enum iw_reason why);
};

/* Where a copy stands in a ddp_buf */
struct ddp_cursor {
	const struct ddp_buf	*buf;
	u32			sge;
	u32			off;
};

/* An untagged queue of the receiving side */
struct ddp_uq {
	u32	msn;		/* of the message that is due */
	u32	mo;		/* where its next segment starts */
};

/* The segment that came last: what a Terminate would quote, and the next may go on from */
struct ddp_rx_seg {
	struct ddp_hdr	h;
	u32		len;		/* whole */
	u32		payload;
	u8		raw[IW_DDP_HDR_MAX];	/* its header */
	u8		raw_len;
	u8		rights;		/* tagged: what it needs */
	bool		placed;		/* before its turn */
};

/* A segment that was admitted, and is to be placed once its memory is there */
struct ddp_put_off {
	bool			here;
	u8			raw_len;
	u8			raw[IW_DDP_HDR_MAX];	/* its header */
	u32			len;
	struct ddp_grant	grant;
};

/* One DDP stream, embedded in a queue pair */
struct ddp_stream {
	/* fixed after ddp_stream_init() */
	const struct ddp_ulp_ops *ulp;
	struct ddp_stags	*stags;
	void			*pd;
	void			*recv_pd;	/* of what is received into */
	u64			id;	/* never used again */
	bool			dma_ok;	/* kernel consumer: DDP_STAG_DMA works */

	/* ddp_stream_allow()'s, read for each copy */
	u8			denied;	/* DDP_REMOTE_*: not by any STag */

	/* set by bind, once, and by unbind for good; read under RCU */
	struct ddp_llp __rcu	*llp;

	unsigned long		failed;	/* bit 0, test_and_set */

	/* the rx runner's, but while it waits */
	struct ddp_wait		rx_wait;

	/* rx runner only */
	bool			rx_busy;	/* it is in here: who settles reads it */
	bool			rx_run;	/* between ddp_rx_begin() and _end() */
	struct ddp_region	*rx_held;	/* where the last segment went, or NULL */
	struct ddp_rx_seg	rx_seg;
	u32			rx_wrote;	/* like it, placed, and not yet told */
	struct ddp_uq		uq[DDP_QUEUES];
	struct ddp_cursor	sink[DDP_QUEUES];
	struct ddp_put_off	put_off;

	/* the tx runner's, but while it waits */
	struct ddp_wait		tx_wait;

	/* tx runner only */
	bool			tx_busy;	/* it is in here: who settles reads it */
	bool			rests;		/* nothing given out, but there is more */
	bool			awaits;		/* ... behind what the peer answers */
	bool			in_msg;	/* not all is cut; set before next() */
	struct ddp_msg		msg;
	u32			cut;	/* octets of it handed out */
	u32			gone;	/* the same, without the last segment */
	struct ddp_cursor	src;
	struct ddp_region	*tx_held;	/* the last message's, or NULL */
	u32			msn[DDP_QUEUES];
	u32			segments;	/* cut so far; free-running */
	u32			octets;		/* of their payload */
};

/* What both read, what the one writes, what the other one writes */
static_assert(DDP_GAP(struct ddp_stream, failed, rx_busy) >= DDP_LINE);
static_assert(DDP_GAP(struct ddp_stream, sink, tx_busy) >= DDP_LINE);

void ddp_stream_init(struct ddp_stream *s, const struct ddp_ulp_ops *ulp,
		     struct ddp_stags *stags, void *pd);
void ddp_stream_unbind(struct ddp_stream *s);
void ddp_stream_fail(struct ddp_stream *s, const struct iw_fault *f);
/* What the peer may do where its STags allow it, too: DDP_REMOTE_*; any context */
void ddp_stream_allow(struct ddp_stream *s, u8 rights);
void ddp_stream_close(struct ddp_stream *s, enum iw_reason why);
void ddp_stream_check(struct ddp_stream *s);

/*
 * After a failure: wait until nothing is being placed or read any more, and no
 * work request takes effect.  Sleeps.
 */
void ddp_stream_settle(struct ddp_stream *s);

/* From within next(): there will be more to send, and then a kick */
void ddp_tx_expect(struct ddp_stream *s);
/* From within next(): there is more to send, but others first */
void ddp_tx_rest(struct ddp_stream *s);
/* From within next(), before what may invalidate memory or fail the stream */
void ddp_tx_let_go(struct ddp_stream *s);
/* From within next(): there is more to send behind an answer of the peer's */
void ddp_tx_await(struct ddp_stream *s);
/* Memory has to come before anything more is sent */
bool __ddp_tx_waits(const struct ddp_stream *s);
static inline bool ddp_tx_waits(const struct ddp_stream *s)
{
	return READ_ONCE(s->tx_wait.waits) && __ddp_tx_waits(s);
}

/* next() has something: any context; or, from process context, send it now */
void ddp_kick(struct ddp_stream *s);
void ddp_kick_bulk(struct ddp_stream *s);
void ddp_push(struct ddp_stream *s);

/* How it fares in the lower layer; process context */
void ddp_stream_query(struct ddp_stream *s, struct ddp_query *q);
int ddp_stream_pace(struct ddp_stream *s, u64 rate);

/*
 * Is [@to, @to + @len) of @stag open to @s with @rights right now?  For a Read
 * Request before its response is begun, and for invalidation.
 */
enum iw_reason ddp_mem_check(struct ddp_stream *s, u32 stag, u64 to, u32 len,
			     u8 rights);

/*
 * Atomically replace the aligned u64 at @to of @stag, for which the peer needs
 * DDP_REMOTE_ATOMIC, by what @result makes of it; @old is what it was.  With
 * no @result: would it be allowed?  BH off.  IW_NOT_NOW, to the tx runner: memory
 * has to come first.
 */
enum iw_reason ddp_mem_atomic(struct ddp_stream *s, u32 stag, u64 to,
			      u64 (*result)(const void *how, u64 old),
			      const void *how, u64 *old);

/*
 * Copy @src into memory of the local ULP's.  BH off.  IW_NOT_NOW, to the rx runner:
 * memory has to come first.
 */
enum iw_reason ddp_mem_store(struct ddp_stream *s, const struct ddp_sge *m,
			     const void *src);

/* Make @stag unusable because the peer (@remote) or the local ULP says so */
enum iw_reason ddp_mem_invalidate(struct ddp_stream *s, u32 stag, bool remote);

/*
 * Find @stag for the stream's device; the region stays until ddp_region_put().
 * BH off, at most for the time of a copy.
 */
struct ddp_region *ddp_region_find(struct ddp_stags *t, u32 stag);
void ddp_region_put(struct ddp_region *r);

#endif
