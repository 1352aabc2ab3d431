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
	bool		fits;				/* a batch can be placed as one */
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
/*
 * Receive a segment of @len bytes with this header, its first byte XORed with
 * @change
 */
void receive_segment(struct ddp_stream *s, const struct ddp_hdr *h, u8 change, u32 len);

#endif
