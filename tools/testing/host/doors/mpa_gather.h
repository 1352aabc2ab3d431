/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Octets that have come, some of which nobody can read, and a DDP of the tests' */
#ifndef _HOST_DOORS_MPA_GATHER_H
#define _HOST_DOORS_MPA_GATHER_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/unaligned.h>

#include "../../../../drivers/mpa/crc.h"
#include "../../../../drivers/mpa/fpdu.h"
#include "../../../../drivers/mpa/internal.h"

#define ULPDU	114
#define WIRE	120		/* with length and CRC field */
#define HEADS	(MPA_LEN_SIZE + IW_DDP_T_HDR_LEN)

extern struct gather_world {
	struct mpa_conn	c;
	u8		octets[3 * WIRE];
	u8		got[2 * MPA_CONTENT_MAX];	/* by DDP */
	u32		len;
	u32		reads;		/* octets that DDP reads itself */
	u32		segments;
	u32		payload;	/* of each */
	enum iw_reason	why;		/* what DDP says of one */
	u32		more;		/* of them may go on with their message */
	u32		went_on;
	enum iw_reason	why_more;	/* what it says of one that does */
	int		off;		/* -1, or in its page of what goes on together */
	u32		joins;		/* so many would */
	u32		takes;		/* so many of them it takes, */
	enum iw_reason	why_not;	/* ... and no more because of that */
	u32		asked, runs_up;	/* how often; and how often it had some */
	const u8	*bodies;
	u32		told;		/* it of what is wrong */
	enum iw_reason	wrong;
	u32		kicks;
	int		runs;		/* begun and not ended */
} world;

int gather_open(struct kunit *test);
void gather_close(struct kunit *test);
/* So many octets from @at on, which are one run */
void arrives(u32 at, u32 len);
u32 gather(void);
/* The stream has failed, DDP was told why, and so was who would send */
void expect_refused(struct kunit *test, u32 used, enum iw_reason why);
/* An FPDU of any octets has its length and its digest */
void finish_fpdu(u8 *p, u32 ulpdu_len);

#endif
