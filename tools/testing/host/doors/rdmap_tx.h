/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What is posted, and who takes what is sent */
#ifndef _HOST_DOORS_RDMAP_TX_H
#define _HOST_DOORS_RDMAP_TX_H

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/rnic_sw/rdmap.h"
#include "fetch.h"
#include "says.h"

#define DEPTH	2	/* of each queue of requests */

extern struct posted {
	struct rdmap_wr		wr;		/* each is like this one */
	u32			left;
	u32			cut;		/* to the end */
	u32			locals;
	u32			failed;		/* requests */
	u32			failures;	/* of the stream */
	enum iw_reason		why;
	u32			received;	/* segments, */
	u32			octets;		/* in them */
	u32			delivered;	/* messages */
	u32			held;		/* memory, at what may invalidate it */
	u8			says;		/* octets of a Terminate: then there is one */
	struct ddp_sge		sge[1];
} posted;

extern u32 kicks;			/* of the lower layer */
extern struct ddp_txseg pulled;		/* the last one */

/* One segment of whatever is next; false: nothing */
bool pull(struct ddp_stream *s);
/* ... and all there are; how many */
u32 pull_all(struct ddp_stream *s);
/* The peer asks for something more: what, or NULL */
struct rdmap_req *they_ask(struct rdmap *r);
/* So many of a kind are posted */
struct rdmap *open_rdmap(enum rdmap_wr_op op, u32 n);

#endif
