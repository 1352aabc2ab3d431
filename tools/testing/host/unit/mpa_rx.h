/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Test fixture: received bytes, which may be unreadable in part, and stubs of DDP's functions */
#ifndef _HOST_UNIT_MPA_RX_H
#define _HOST_UNIT_MPA_RX_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/unaligned.h>
#include <net/tcp.h>
#include <ddp/expected.h>

#include "../../../../drivers/mpa/crc.h"
#include "../../../../drivers/mpa/fpdu.h"
#include "../../../../drivers/mpa/internal.h"

#define ULPDU	114
#define WIRE	120		/* FPDU with length field and CRC */
#define HEADS	(MPA_LEN_SIZE + IW_DDP_T_HDR_LEN)

/* The header that DDP expects next. Its length is @hdr_len of struct mpa_rx_stubs. */
enum rx_expects {
	RX_ANY_FIELD,	/* @ulpdu bytes long, with any content: as after an RDMA Write */
	RX_NEXT_FIELD,	/* @ulpdu bytes long, continues the message at @field or @mo */
	RX_NEXT_MSG,	/* of any length and content; one segment: as after an untagged message */
};

extern struct mpa_rx_stubs {
	struct mpa_conn	c;
	u8		octets[3 * WIRE];
	u8		got[2 * MPA_CONTENT_MAX];	/* bytes received by DDP */
	u32		len;
	u32		reads;		/* maximum payload bytes that DDP reads of a segment */
	u32		segments;	/* calls of ddp_rx_segment() */
	enum iw_reason	why;		/* result of ddp_rx_segment() */
	enum rx_expects	expects;	/* what DDP expects, while @possible is not 0 */
	u32		possible;	/* segments that DDP still expects; 0: no particular one */
	bool		after_first;	/* DDP expects none before the first ddp_rx_segment() */
	u32		hdr_len, ulpdu;	/* length of the header and of the expected segments */
	u64		field;		/* in the header of the next segment */
	u32		mo;		/* likewise, if the header is untagged */
	u32		most;		/* maximum number of segments of a batch */
	u32		batch_takes;	/* segments that ddp_rx_batch() accepts */
	enum iw_reason	why_not;	/* its result if it does not accept all segments */
	u32		expect_calls;	/* calls of ddp_rx_get_expected() */
	u32		batch_calls;	/* calls of ddp_rx_batch() */
	u32		batch_segs;	/* segments that ddp_rx_batch() has accepted */
	struct ddp_rx_batch batch;	/* last argument of ddp_rx_batch() */
	u32		off;		/* page offset of the next payload in its destination */
	u32		off_calls;	/* calls of ddp_rx_get_next_page_off() */
	void		(*after_read)(void);	/* called after each read of the queue, if set */
	u32		reads_done;	/* reads of the queue */
	u32		errors;		/* errors reported to DDP */
	enum iw_reason	wrong;		/* last error reported to DDP */
	u32		kicks;		/* calls of mpa_tx_kick() */
	int		runs;		/* receive passes in progress */
	struct tcp_sock	tp;
	struct sk_buff	skb;		/* first skb of TCP's queue */
	struct sk_buff	skb2;		/* second skb of TCP's queue, if @skb_len is not 0 */
	const u8	*skb2_at;	/* its bytes; NULL if they follow those of the first skb */
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
/* The same for @len bytes at @at, which are followed by @len2 bytes at @at2 in a second skb */
void queue_two_extents(const u8 *at, u32 len, const u8 *at2, u32 len2);
/* Let DDP expect the next @possible segments to have a header of @hdr_len bytes, and ULPDU bytes */
void let_ddp_expect(enum rx_expects expects, u32 hdr_len, u32 possible);
/* Get the number of payload bytes of an expected segment */
u32 get_expected_payload(void);
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
/* Write the headers that DDP expects (RX_NEXT_FIELD) into the FPDUs of the test data */
void write_expected_headers(void);
/*
 * Expect that DDP has got the first FPDUs of the test data. @how: 'f' for each FPDU that used the
 * fast path, of which DDP gets the payload; 's' for each FPDU that used the slow path, of which DDP
 * gets the ULPDU
 */
void expect_got(struct kunit *test, const char *how);
/* Clear the results of the stubs and of the connection, for another round */
void forget_results(void);

#endif
