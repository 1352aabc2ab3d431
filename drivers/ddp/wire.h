/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* DDP headers on the wire: RFC 5041 sections 4.1 to 4.3, big-endian. */
#ifndef _DDP_WIRE_H
#define _DDP_WIRE_H

/* byte 0: DDP control (4.1) */
#define DDP_CTRL		0
#define DDP_TAGGED		0x80
#define DDP_LAST		0x40	/* last segment of its message */
#define DDP_DV_MASK		0x03	/* version */
#define DDP_DV			0x01	/* the only version */

/* byte 1: RsvdULP, or its first byte */
#define DDP_ULP8		1

/* tagged (4.2) */
#define DDP_T_STAG		2
#define DDP_T_TO		6
#define DDP_T_HDR_LEN		14

/* untagged (4.3) */
#define DDP_U_ULP32		2	/* RsvdULP[8:39] */
#define DDP_U_QN		6
#define DDP_U_MSN		10
#define DDP_U_MO		14
#define DDP_U_HDR_LEN		18

#define DDP_MSN_FIRST		1	/* first MSN of every queue */

#endif
