/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Test fixture: posted work requests, and a lower layer that accepts all segments */
#ifndef _HOST_UNIT_RDMAP_TX_H
#define _HOST_UNIT_RDMAP_TX_H

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/rnic_sw/rdmap.h"
#include "fetch.h"
#include "mem_results.h"

#define DEPTH	2	/* size of each queue of requests */

extern struct posted {
	struct rdmap_wr		wr;		/* template of all work requests */
	u32			left;		/* work requests not yet started */
	u32			cut;		/* work requests segmented completely */
	u32			looks;		/* times the send queue looked for a later post */
	u32			locals;		/* local work requests executed */
	u32			failed;		/* work requests failed */
	u32			failures;	/* failures of the stream */
	enum iw_reason		why;		/* reason of the last failure */
	u32			received;	/* segments received */
	u32			bytes;		/* bytes in received segments */
	u32			delivered;	/* messages received */
	u32			peer_writes;	/* Writes of the peer counted as completed */
	u32			peer_reads;	/* Reads of the peer counted as completed */
	u32			terminates;	/* Terminates counted as sent */
	u32			mr_refs;		/* MR references cached at invalidations */
	u8			terminate_len;		/* length of the Terminate; 0: none */
	struct ddp_sge		sge[1];
} posted;

extern u32 kicks;			/* calls of the lower layer's kick() */
extern struct ddp_txseg pulled;		/* the last segment */

/* Transmit the next segment. Return: true if there was one, false otherwise. */
bool pull_segment(struct ddp_stream *s);
/* Transmit all segments. Return: the number of segments. */
u32 pull_all_segments(struct ddp_stream *s);
/*
 * Queue another request from the peer. Return: the request, or NULL if the queue
 * is full.
 */
struct rdmap_req *receive_peer_request(struct rdmap *r);
/* Open a stream with @n work requests posted */
struct rdmap *open_rdmap(enum rdmap_wr_op op, u32 n);

#endif
