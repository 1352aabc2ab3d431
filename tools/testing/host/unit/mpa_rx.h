/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Test fixture: received bytes, which may be unreadable in part, and a stub of DDP */
#ifndef _HOST_UNIT_MPA_RX_H
#define _HOST_UNIT_MPA_RX_H

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
	u32		reads;		/* maximum payload bytes that DDP reads of a segment */
	u32		segments;	/* calls of ddp_rx_segment() */
	u32		payload;	/* payload bytes of a segment */
	enum iw_reason	why;		/* result of ddp_rx_segment() */
	u32		more;		/* number of segments that ddp_rx_try_fast_path() accepts */
	u32		next_segs;	/* segments that ddp_rx_try_fast_path() has accepted */
	enum iw_reason	why_more;	/* its result for an accepted segment */
	int		off;		/* page offset for a batch, or -1 if none is possible */
	u32		next_possible;		/* segments that the message still has */
	u32		batch_takes;		/* segments that ddp_rx_batch() accepts */
	enum iw_reason	why_not;	/* result if ddp_rx_batch() does not accept all segments */
	u32		off_calls, batch_calls;	/* of ddp_rx_get_next_page_off, ddp_rx_batch */
	const u8	*bodies;	/* payloads of the last batch */
	u32		errors;		/* errors reported to DDP */
	enum iw_reason	wrong;		/* last error reported to DDP */
	u32		kicks;		/* calls of mpa_tx_kick() */
	int		runs;		/* receive passes in progress */
	struct tcp_sock	tp;
	struct sk_buff	skb;		/* first skb of TCP's queue */
	struct sk_buff	skb2;		/* second skb of TCP's queue, if @skb_len is not 0 */
	u32		skb_len;	/* bytes in the first skb; 0 if it holds all bytes */
	u32		unread;		/* bytes in TCP's queue */
	bool		waits;		/* a page fault of the receive path is pending */
} stubs;

int rx_test_init(struct kunit *test);
void rx_test_exit(struct kunit *test);
/*
 * Append @len bytes of the test data, which begin at index @at, to the receive queue as one
 * extent
 */
void queue_received_bytes(u32 at, u32 len);
u32 receive_fpdus(void);
u32 receive_fpdus_with_budget(int *budget);
/*
 * Receive FPDUs of WIRE bytes from a queue of @unread bytes. Return: the result
 * of mpa_rx_receive_or_discard().
 */
bool receive_from_queue(u32 unread);
/* Expect that the stream fails: DDP gets the reason, and the transmit path is scheduled */
void receive_and_expect_stream_failure(struct kunit *test, u32 used, enum iw_reason why);
/* Write the length and the CRC of an FPDU with any content */
void write_fpdu_length_and_crc(u8 *p, u32 ulpdu_len);

#endif
