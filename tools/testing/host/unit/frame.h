/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Test fixture: a connection that transmits, the messages that it sends, the
 * memory of these messages, and the pages of batches
 */
#ifndef _HOST_UNIT_FRAME_H
#define _HOST_UNIT_FRAME_H

#include <linux/prandom.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/mpa/fpdu.h"
#include "../../../../drivers/mpa/internal.h"

#define BLOCK		4096
#define BLOCKS		64
#define BASE		0x12345678ull	/* TO of an MR's first byte */
#define SKIP		77		/* offset of the MR's first byte in the memory */
#define LENGTH		(BLOCKS * BLOCK - 2 * SKIP)
#define PIECES		5
#define MESSAGES	16
#define OCTETS		(4 * MPA_BATCH)

/* STags of a pinned MR and of an ODP MR */
#define BLOCKED		0x1000
#define PAGED		0x1001

struct message {
	struct ddp_hdr	hdr;
	struct ddp_sge	sge[PIECES];
	struct ddp_buf	buf;
	u32		done;		/* bytes sent */
};

extern struct frame_stubs {
	struct mpa_conn		c;
	struct ddp_stream	s;
	struct rnd_state	rnd;
	struct message		messages[MESSAGES];
	u32			n;		/* number of messages */
	u32			next;		/* index of the next message to send */
	u32			sent_msgs;		/* messages sent completely */
	u32			failed;		/* number of failed() upcalls */
	u8			rights;		/* access rights that the messages need */

	u8			memory[BLOCKS * BLOCK] __aligned(BLOCK);
	void			*blocks[BLOCKS];
	bool			present[BLOCKS];	/* ODP pages that are present */
	struct ddp_fault		*fault;
	bool			fault_at_once;	/* page faults complete immediately */
	bool			missed;		/* page of the last access was not present */
	u32			retry_len;		/* length of the access after @missed */
	int			mr_refs;		/* number of references to MRs */
	u32			mr_lookups;		/* number of lookups of an MR */
	u32			fails_at;	/* number of the lookup that fails the stream */

	u32			page_size;
	u32			made, pages;	/* pages allocated; pages not yet freed */
	bool			one_by_one;	/* the ULP knows of one message at a time */
	bool			emergency;	/* pages come from emergency reserves */
	u32			short_of;	/* page allocations fail with probability 1/n */
} stubs;

extern struct ddp_region regions[2];

/* mpa_frame_stubs.c */
void open_conn(u32 seed, bool markers, bool crc);
u32 random_below(u32 below);
u32 get_block_index(u32 block);
void complete_fault(void);
struct message *add_message(bool tagged);
void add_sge(struct message *m, u32 stag, u32 off, u32 len);
void add_random_message(void);

/* frame_want.c: expected bytes of a batch */
extern struct frame_want {
	u8	octets[OCTETS];
	u32	len;
	u32	pos;	/* stream position of the next byte */
	u32	field;	/* stream position of the FPDU's length field */
	u32	crc;
	u32	msn;	/* MSN of the current untagged message */
} want;

void append_expected_fpdu(struct message *m, u32 mulpdu);

#endif
