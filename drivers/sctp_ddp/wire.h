/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Layout of the user data of DDP's DATA chunks: RFC 5043 section 5, RFC 6581 section 7. */
#ifndef _SDDP_WIRE_H
#define _SDDP_WIRE_H

/* Adaptation Indication, RFC 5043 5.1 */
#define SDDP_ADAPTATION		0x00000001

/* Payload Protocol Identifiers, RFC 5043 5.2 */
#define SDDP_PPID_SEGMENT	16
#define SDDP_PPID_CONTROL	17

/*
 * Offset and size, in bytes, of the DDP-SSN. Both kinds of chunk begin with the DDP-SSN
 * (RFC 5043 5.2.1).
 */
#define SDDP_SSN		0	/* 16 bits */
#define SDDP_SSN_SIZE		2

/*
 * Offset of the DDP Segment in a DDP Segment Chunk: the segment follows the DDP-SSN
 * without padding (RFC 5043 5.2.2)
 */
#define SDDP_SEGMENT		2

/* DDP Stream Session Control Chunk, RFC 5043 5.2.3: offsets and length */
/* Function Code: 16 bits, although the RFC prints the codes with three hex digits */
#define SDDP_FUNCTION		2
#define SDDP_PD			4	/* Private Data */
#define SDDP_CONTROL_LEN	4

/*
 * Function Codes, RFC 5043 5.2.3 and RFC 6581 7. The Private Data of the three
 * enhanced codes begins with the IRD/ORD word.
 */
#define SDDP_INITIATE		0x001
#define SDDP_ACCEPT		0x002
#define SDDP_REJECT		0x003
#define SDDP_TERMINATE		0x004
#define SDDP_INITIATE_ENHANCED	0x005
#define SDDP_ACCEPT_ENHANCED	0x006
#define SDDP_REJECT_ENHANCED	0x007

/*
 * Maximum length of Private Data, the IRD/ORD word included (RFC 5043 5.2.3,
 * RFC 6581 7)
 */
#define SDDP_PD_MAX		512
#define SDDP_CONTROL_MAX	(SDDP_CONTROL_LEN + SDDP_PD_MAX)

/* User data, in bytes, that fits into a chunk on any path (RFC 5043 9): no limit is lower */
#define SDDP_CHUNK_MIN	516

/* Maximum number of chunks in flight on one stream, RFC 5043 10 */
#define SDDP_IN_FLIGHT_MAX	32767

#endif
