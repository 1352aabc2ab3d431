/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A connection that sends, and what its messages, their memory and its pages are */
#ifndef _HOST_DOORS_FRAME_H
#define _HOST_DOORS_FRAME_H

#include <linux/prandom.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/mpa/internal.h"

#define BLOCK		4096
#define BLOCKS		64
#define BASE		0x12345678ull	/* TO of a region's first octet */
#define SKIP		77		/* ... and where it lies in the memory */
#define LENGTH		(BLOCKS * BLOCK - 2 * SKIP)
#define PIECES		5
#define MESSAGES	16
#define OCTETS		(4 * MPA_BATCH)

/* STags: a region with blocks, and one whose memory comes and goes */
#define BLOCKED		0x1000
#define PAGED		0x1001

struct message {
	struct ddp_hdr	hdr;
	struct ddp_sge	sge[PIECES];
	struct ddp_buf	buf;
	u32		done;		/* octets of it that have gone */
};

extern struct frame_world {
	struct mpa_conn		c;
	struct ddp_stream	s;
	struct rnd_state	dice;
	struct message		messages[MESSAGES];
	u32			n;		/* messages */
	u32			next;		/* to be asked for */
	u32			gone;		/* whole */
	u32			failed;		/* how often it was told */
	u8			rights;		/* that its memory needs */

	u8			memory[BLOCKS * BLOCK] __aligned(BLOCK);
	void			*blocks[BLOCKS];
	bool			there[BLOCKS];	/* of what comes and goes */
	struct ddp_wait		*waits;
	bool			at_once;	/* it comes as soon as asked for */
	bool			missed;		/* some of it, a moment ago */
	u32			again;		/* octets asked of next then */
	int			uses;		/* of regions, not given back */
	u32			asked;		/* for one */
	u32			fails_at;	/* that time the stream fails, too */

	u32			page_size;
	u32			made, pages;	/* and those not given back */
	bool			emergency;	/* pages are made in one */
	u32			short_of;	/* of so many refills one fails; 0: none */
} world;

extern struct ddp_region regions[2];

/* frame_world.c */
void open_conn(u32 seed, bool markers, bool crc);
u32 roll(u32 below);
u32 place_of(u32 block);
void comes(void);
struct message *add_message(bool tagged);
void add_piece(struct message *m, u32 stag, u32 off, u32 len);
void add_any(void);

/* frame_want.c: what there should be of a batch, and then goes */
extern struct frame_want {
	u8	octets[OCTETS];
	u32	len;
	u32	pos;	/* of the next one, counted from the first of all */
	u32	field;	/* of the FPDU's length field */
	u32	crc;
	u32	msn;	/* of the untagged message that is under way */
} want;

void put_fpdu(struct message *m, u32 mulpdu);

#endif
