/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Parameters that both sides exchange at connection setup: IRD, ORD, RTR types
 * and Private Data.
 */
#ifndef _DDP_OFFER_H
#define _DDP_OFFER_H

#include <ddp/pure.h>

#define DDP_PD_MAX	512	/* maximum bytes of Private Data, RFC 5044 7.1.1 */
#define DDP_DEPTH_NONE	0x3fff	/* value of IRD and ORD for "not negotiated", RFC 6581 9.1 */

#define DDP_RTR_P2P	0x1	/* flag A: peer-to-peer model */
#define DDP_RTR_SEND	0x2	/* flag B: RTR is a zero-length Send */
#define DDP_RTR_WRITE	0x4	/* flag C: RTR is a zero-length Write */
#define DDP_RTR_READ	0x8	/* flag D: RTR is a zero-length Read */

/* Layout of the IRD/ORD word, which precedes the Private Data (RFC 6581 section 9) */
#define DDP_WORD_SIZE	4
#define DDP_WORD_A	0x80000000u
#define DDP_WORD_B	0x40000000u
#define DDP_WORD_C	0x00008000u
#define DDP_WORD_D	0x00004000u
#define DDP_WORD_DEPTH	0x3fffu
#define DDP_WORD_IRD_SHIFT 16

/**
 * struct ddp_offer - parameters in the start-up message of one side
 * @enhanced: true if the message has the IRD/ORD word of RFC 6581; otherwise
 *	@ird, @ord and @rtr are not valid
 * @ird: Inbound RDMA Read Queue Depth, 14 bits
 * @ord: Outbound RDMA Read Queue Depth, 14 bits
 * @rtr: DDP_RTR_* flags
 * @revision: MPA revision of a received message; 0 over SCTP, whose messages have
 *	no revision. Ignored in an offer to send.
 * @crc: true if the segments of both directions will carry an MPA CRC. Valid in
 *	a received message that is not a reject; ignored in an offer to send.
 * @tx_markers: true if this side will send MPA markers; valid if @crc is
 * @rx_markers: true if the peer will send MPA markers; valid if @crc is
 * @pd_len: length of Private Data in bytes, without the IRD/ORD word
 * @pd: Private Data
 */
struct ddp_offer {
	bool	enhanced;
	u16	ird;
	u16	ord;
	u8	rtr;
	u8	revision;
	bool	crc;
	bool	tx_markers;
	bool	rx_markers;
	u16	pd_len;
	u8	pd[DDP_PD_MAX];
};

/**
 * ddp_offer_encode_ird_ord - encode the IRD/ORD word of an offer, RFC 6581 section 9
 * @o: enhanced offer; @o->ird and @o->ord must fit in 14 bits
 *
 * If flag A is not set, the other RTR flags are encoded as zero (9.2).
 *
 * Return: the word in host byte order.
 */
static inline u32 ddp_offer_encode_ird_ord(const struct ddp_offer *o)
{
	u32 word = (u32)o->ird << DDP_WORD_IRD_SHIFT | o->ord;

	if (!(o->rtr & DDP_RTR_P2P))
		return word;
	word |= DDP_WORD_A;
	if (o->rtr & DDP_RTR_SEND)
		word |= DDP_WORD_B;
	if (o->rtr & DDP_RTR_WRITE)
		word |= DDP_WORD_C;
	if (o->rtr & DDP_RTR_READ)
		word |= DDP_WORD_D;
	return word;
}

/**
 * ddp_offer_decode_ird_ord - decode a peer's IRD/ORD word, RFC 6581 section 9
 * @o: the peer's offer; enhanced, ird, ord and rtr are set from @word
 * @word: the word in host byte order
 *
 * If flag A is not set, the other RTR flags are ignored (9.2).
 */
static inline void ddp_offer_decode_ird_ord(struct ddp_offer *o, u32 word)
{
	o->enhanced = true;
	o->ird = word >> DDP_WORD_IRD_SHIFT & DDP_WORD_DEPTH;
	o->ord = word & DDP_WORD_DEPTH;
	o->rtr = 0;
	if (!(word & DDP_WORD_A))
		return;
	o->rtr |= DDP_RTR_P2P;
	if (word & DDP_WORD_B)
		o->rtr |= DDP_RTR_SEND;
	if (word & DDP_WORD_C)
		o->rtr |= DDP_RTR_WRITE;
	if (word & DDP_WORD_D)
		o->rtr |= DDP_RTR_READ;
}

#endif
