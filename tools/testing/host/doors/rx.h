/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A stream that receives, between a lower layer and an upper one of the tests' */
#ifndef _HOST_DOORS_RX_H
#define _HOST_DOORS_RX_H

#include <ddp/llp.h>

#include "../../../../drivers/ddp/hdr.h"
#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/ddp/wire.h"

/* What the layers have been asked, and what they say */
extern struct rx_world {
	u32		failed, placed, delivered;	/* how often */
	enum iw_reason	why;				/* the last failure's */
	struct iw_fault	quoted;
	enum iw_reason	admits, places, delivers;	/* what they say */
	u8		rights;				/* that a tagged one needs */
	u32		closed, kicked, quiet;
	u32		checked;			/* not placed: it was */
	u32		held;				/* memory, at an upcall */
	u32		admitted, payload;
	u32		went_on;			/* of those */
	u32		another;			/* placed as such, */
	u32		wrote;				/* ... and told, */
	u32		wrote_len;			/* ... so many octets each; */
	u32		wrote_first;			/* those that were before another came */
	const void	*body;				/* of one that did, ... */
	u64		to;				/* ... and where it goes */
	u32		len;
	struct ddp_cursor *sink;			/* of an untagged one */
	u32		fitted;				/* so many octets, were asked for at once */
	bool		fits;				/* they may be placed so, */
	bool		refuses_many;			/* ... or RDMAP may not have them so */
	u32		places_at;			/* @places is what is said from then on */
	u32		fails_at;			/* the other side fails it, 0: never */
	struct ddp_hdr	asked;				/* at admission */
	struct ddp_hdr	told;				/* at delivery, */
	u32		total;				/* ... and of how many octets */
	u32		down;
	enum iw_reason	down_why;
} world;

extern struct rx_wire {
	u8	octets[200];
	u32	at;
} wire;

extern struct ddp_region region;
extern struct ddp_llp llp;
extern const struct ddp_hdr good_write, good_send;

struct ddp_stream *rx_open(void);
/* A segment of that header comes, its first octet changed, @len long */
void rx_comes(struct ddp_stream *s, const struct ddp_hdr *h, u8 change, u32 len);

#endif
