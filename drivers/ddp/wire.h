/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* DDP headers on the wire: RFC 5041 sections 4.1 to 4.3, big-endian. */
#ifndef _DDP_WIRE_H
#define _DDP_WIRE_H

/* DDP control byte (4.1): offset and bits */
#define DDP_CTRL		0
#define DDP_TAGGED		0x80	/* T bit: tagged segment */
#define DDP_LAST		0x40	/* L bit: last segment of its message */
#define DDP_DV_MASK		0x03	/* DDP version field */
#define DDP_DV			0x01	/* only valid DDP version */

/* Offset of RsvdULP in a tagged header, and of its first byte in an untagged header */
#define DDP_ULP8		1

/* Offsets and header length of a tagged segment (4.2), in bytes */
#define DDP_T_STAG		2
#define DDP_T_TO		6
#define DDP_T_HDR_LEN		14

/* Offsets and header length of an untagged segment (4.3), in bytes */
#define DDP_U_ULP32		2	/* last four bytes of RsvdULP */
#define DDP_U_QN		6
#define DDP_U_MSN		10
#define DDP_U_MO		14
#define DDP_U_HDR_LEN		18

#define DDP_MSN_FIRST		1	/* first MSN of every queue */

#endif
