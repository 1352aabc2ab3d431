/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Wire format of RDMAP: offsets, lengths and values (RFC 5040 section 4). */
#ifndef _RNIC_SW_RDMAP_WIRE_H
#define _RNIC_SW_RDMAP_WIRE_H

#include <ddp/pure.h>

/* RDMAP Control Field: first byte of RsvdULP (RFC 5040 figure 3) */
#define RDMAP_RV_MASK		0xc0
#define RDMAP_RV		0x40	/* 01b */
#define RDMAP_OPCODE_MASK	0x0f

/* Opcodes (RFC 5040 figure 4; from 0x8 on: RFC 7306 figure 1) */
#define RDMAP_OP_WRITE		0x0
#define RDMAP_OP_READ_REQ	0x1
#define RDMAP_OP_READ_RESP	0x2
#define RDMAP_OP_SEND		0x3
#define RDMAP_OP_SEND_INV	0x4
#define RDMAP_OP_SEND_SE	0x5
#define RDMAP_OP_SEND_SE_INV	0x6
#define RDMAP_OP_TERMINATE	0x7
#define RDMAP_OP_IMM		0x8
#define RDMAP_OP_IMM_SE		0x9
#define RDMAP_OP_ATOMIC_REQ	0xa
#define RDMAP_OP_ATOMIC_RESP	0xb
#define RDMAP_OP_NR		12

/*
 * Numbers of the untagged queues (RFC 5040 section 3.1; RFC 7306 section 4.1)
 */
#define RDMAP_QN_SEND		0
#define RDMAP_QN_READ_REQ	1
#define RDMAP_QN_TERMINATE	2
#define RDMAP_QN_ATOMIC_RESP	3

/*
 * Byte offsets in the Read Request header, and its length (RFC 5040 figure 6)
 */
#define RDMAP_RREQ_SINK_STAG	0
#define RDMAP_RREQ_SINK_TO	4
#define RDMAP_RREQ_SIZE		12
#define RDMAP_RREQ_SRC_STAG	16
#define RDMAP_RREQ_SRC_TO	20
#define RDMAP_RREQ_LEN		28

/*
 * Byte offsets in the Atomic Operation Request and Response headers, their
 * lengths, and values of the operation code (RFC 7306 figures 4 and 6)
 */
#define RDMAP_AREQ_CODE		0	/* low four bits of a 32-bit field */
#define RDMAP_AREQ_ID		4
#define RDMAP_AREQ_STAG		8
#define RDMAP_AREQ_TO		12
#define RDMAP_AREQ_DATA		20
#define RDMAP_AREQ_MASK		28
#define RDMAP_AREQ_CMP		36
#define RDMAP_AREQ_CMP_MASK	44
#define RDMAP_AREQ_LEN		52
#define RDMAP_ATOMIC_FETCH_ADD	0x0
#define RDMAP_ATOMIC_CMP_SWAP	0x2
#define RDMAP_ATOMIC_OPERAND	8	/* bytes in memory, naturally aligned */
#define RDMAP_ARESP_ID		0
#define RDMAP_ARESP_OLD		4
#define RDMAP_ARESP_LEN		12

/*
 * Length of Immediate Data in bytes (RFC 7306 section 6.2). The first four
 * bytes are the immediate data of the verbs. The last four bytes are sent as
 * zero and ignored on receipt.
 */
#define RDMAP_IMM_LEN		8

/*
 * Byte offsets in the Terminate header, and lengths in bytes (RFC 5040 figures
 * 7 and 8). DDP Segment Length and the quoted headers follow the Terminate
 * header if the M, D and R bits announce them.
 */
#define RDMAP_TERM_KIND		0	/* layer and error type */
#define RDMAP_TERM_CODE		1
#define RDMAP_TERM_HDRCT	2	/* M, D and R; other bits are reserved */
#define RDMAP_TERM_LEN		4
#define RDMAP_TERM_SEG_LEN	2	/* length of DDP Segment Length in bytes */
#define RDMAP_TERM_TAGGED	0x80	/* T bit of a quoted DDP header */
#define RDMAP_TERM_DDP_TAGGED	14
#define RDMAP_TERM_DDP_UNTAGGED	18

#endif
