/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Test fixture: a receiving stream with a fake lower layer and a fake ULP */
#ifndef _HOST_UNIT_RX_H
#define _HOST_UNIT_RX_H

#include <ddp/llp.h>

#include "../../../../drivers/ddp/hdr.h"
#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/ddp/wire.h"

/* Calls of the stubs, and their results */
extern struct rx_stubs {
	u32		failed, placed, delivered;	/* number of calls */
	enum iw_reason	why;				/* reason of the last failure */
	struct iw_failure	quoted;				/* what its Terminate quotes */
	enum iw_reason	admits, places, delivers;	/* results of the stubs */
	u8		rights;				/* rights that a tagged segment needs */
	u32		more_buf;			/* receive buffer: bytes beyond 100 */
	u32		closed, kicked, unbinds;	/* calls of the lower layer */
	u32		checked;			/* segments checked only, not placed */
	u32		mr_refs;				/* MR references at upcalls */
	u32		admitted, payload;		/* admissions; payload of the last */
	u32		next_segs;			/* segments admitted as next segments */
	u32		repeated;			/* placed as repeated Writes */
	u32		wrote;				/* repeated Writes reported */
	u32		wrote_len;			/* bytes of each Write reported */
	u32		wrote_first;			/* @wrote at the last admission */
	const void	*body;				/* payload of the last segment */
	u64		to;				/* TO of the last segment */
	u32		len;				/* length of @body */
	struct ddp_cursor *sink;			/* sink of an untagged segment */
	u32		fitted;				/* bytes of the last batch */
	u32		fits;				/* segments that can be placed at once */
	bool		batch_begun;	/* ddp_place_begin_batch() was called, ddp_place_end_batch() not */
	u32		together;			/* segments last placed at once */
	u32		copies_ended;			/* calls of ddp_mr_cache_end_copy() */
	bool		preempt_rt;			/* that function drops the reference */
	bool		refuses_many;			/* RDMAP refuses batches */
	u32		places_at;			/* @places applies from this segment on */
	u32		fails_at;			/* segment that fails the stream; 0: none */
	struct ddp_hdr	admit_hdr;				/* header at admission */
	struct ddp_hdr	deliver_hdr;				/* header at delivery */
	u32		total;				/* length of the message at delivery */
	u32		down;				/* calls of down() */
	enum iw_reason	down_why;			/* reason of the last call of down() */
} stubs;

extern struct rx_wire {
	u8	octets[200];
	u32	at;
} wire;

extern struct ddp_region region;
extern struct ddp_llp llp;
extern const struct ddp_hdr good_write, good_send;

struct ddp_stream *open_rx_stream(void);
/* Prepare @wire: a segment with this header, and zeros as payload */
void encode_header_on_wire(const struct ddp_hdr *h);
/*
 * Receive a segment of @len bytes with this header, its first byte XORed with
 * @change
 */
void receive_segment(struct ddp_stream *s, const struct ddp_hdr *h, u8 change, u32 len);
/*
 * Check whether DDP expects a segment with this header after @n other segments with the
 * expected header
 */
bool is_expected_segment(struct ddp_stream *s, const struct ddp_hdr *h, u32 len, u32 n);
/*
 * Pass a segment of @len bytes to ddp_rx_batch() if it has the expected header. @octets: at least
 * IW_DDP_HDR_MAX bytes. Return: true if the segment was processed and @why is set; false if DDP
 * does not expect its header, or leaves it to ddp_rx_segment().
 */
bool receive_if_expected(struct ddp_stream *s, const u8 *octets, u32 len, enum iw_reason *why);
/*
 * Build a batch of @n segments of @len bytes, with the headers @h. @bodies: their payloads, one
 * after the other. Return: true if all of them have the expected header.
 */
bool build_batch(struct ddp_stream *s, struct ddp_rx_batch *b, const struct ddp_hdr *h, u32 n,
		 u32 len, const u8 *bodies);

#define NOT_EXPECTED	(-1)

/* Build a batch and pass it to ddp_rx_batch(). Return: its result; NOT_EXPECTED if not passed. */
int receive_batch(struct ddp_stream *s, const struct ddp_hdr *h, u32 n, u32 len, const u8 *bodies,
		  enum iw_reason *why);

#endif
