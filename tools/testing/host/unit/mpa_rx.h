/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Test fixture: received bytes, some unreadable, and a fake DDP layer */
#ifndef _HOST_DOORS_MPA_GATHER_H
#define _HOST_DOORS_MPA_GATHER_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/unaligned.h>
#include <net/tcp.h>

#include "../../../../drivers/mpa/crc.h"
#include "../../../../drivers/mpa/fpdu.h"
#include "../../../../drivers/mpa/internal.h"

#define ULPDU	114
#define WIRE	120		/* FPDU with length field and CRC */
#define HEADS	(MPA_LEN_SIZE + IW_DDP_T_HDR_LEN)

extern struct mpa_rx_stubs {
	struct mpa_conn	c;
	u8		octets[3 * WIRE];
	u8		got[2 * MPA_CONTENT_MAX];	/* bytes received by DDP */
	u32		len;
	u32		reads;		/* payload bytes that DDP reads itself */
	u32		segments;
	u32		payload;	/* payload bytes per segment */
	enum iw_reason	why;		/* result of the next segments */
	u32		more;		/* number of segments accepted by ddp_rx_fast() */
	u32		next_segs;
	enum iw_reason	why_more;	/* result of ddp_rx_fast() for an accepted segment */
	int		off;		/* page offset for a batch, or -1 if none is possible */
	u32		next_possible;		/* segments that would continue the message */
	u32		batch_takes;		/* segments that a batch accepts */
	enum iw_reason	why_not;	/* reason for which it accepts no more */
	u32		off_calls, batch_calls;	/* calls of ddp_rx_next_page_off() and of ddp_rx_batch() */
	const u8	*bodies;
	u32		errors;		/* errors reported to DDP */
	enum iw_reason	wrong;
	u32		kicks;
	int		runs;		/* receive passes begun and not ended */
	struct tcp_sock	tp;
	struct sk_buff	skb;		/* begins the data that is received */
	u32		unread;		/* bytes in TCP's queue */
	bool		waits;		/* a segment waits for a page */
} stubs;

int rx_test_init(struct kunit *test);
void rx_test_exit(struct kunit *test);
/* Receive @len contiguous bytes from @at on */
void receive_bytes(u32 at, u32 len);
u32 run_rx(void);
u32 gather_within(int *budget);
/* Receive FPDUs of WIRE bytes from a queue of @unread bytes. Return: as mpa_rx() */
bool receive(u32 unread);
/* The stream fails: DDP gets the reason, and the transmit path is scheduled */
void expect_refused(struct kunit *test, u32 used, enum iw_reason why);
/* Write the length and the CRC of an FPDU with any content */
void finish_fpdu(u8 *p, u32 ulpdu_len);

#endif
