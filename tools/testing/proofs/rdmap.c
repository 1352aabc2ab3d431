// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMAP opcodes, the headers of Read Requests and atomics, and the result of atomics.
 *
 * Files: rnic_sw/rdmap_op.c rnic_sw/rdmap_hdr.c
 * Checks: conversion
 * Bound: 1, there is no loop
 * prove_fetch_add: Bound 64, the reference computes bit by bit
 * Mutation: rnic_sw/rdmap_op.c s/opcode >= RDMAP_OP_NR/opcode > RDMAP_OP_NR/
 * Mutation: rnic_sw/rdmap_op.c s/.qn = RDMAP_QN_TERMINATE/.qn = RDMAP_QN_SEND/
 * Mutation: rnic_sw/rdmap_hdr.c s/r->sink_to += bytes/r->sink_to -= bytes/
 * Mutation: rnic_sw/rdmap_hdr.c s/p + RDMAP_RREQ_SIZE/p + RDMAP_RREQ_SINK_TO/
 * Mutation: rnic_sw/rdmap_hdr.c s/(b & ~tops)) ^/b) ^/
 * Mutation: rnic_sw/rdmap_hdr.c s/a->cmp_mask)$/a->mask)/
 * Mutation, big-endian: rnic_sw/rdmap_hdr.c s/r->sink_stag = get_unaligned_be32(p + RDMAP_RREQ_SINK_STAG)/r->sink_stag = __builtin_bswap32(*(u32 *)(p + RDMAP_RREQ_SINK_STAG))/
 */
#include "../../../drivers/rnic_sw/rdmap_hdr.h"
#include "../../../drivers/rnic_sw/rdmap_op.h"
#include "proof.h"

/*
 * Check whether a header has the T bit and the queue number that the opcode requires
 * (RFC 5040 figure 4, RFC 7306 figure 1)
 */
static bool has_required_queue(const struct ddp_hdr *h, u8 opcode)
{
	switch (opcode) {
	case 0:
	case 2:
		return h->tagged;
	case 3:
	case 4:
	case 5:
	case 6:
	case 8:
	case 9:
		return !h->tagged && h->qn == 0;
	case 1:
	case 10:
		return !h->tagged && h->qn == 1;
	case 7:
		return !h->tagged && h->qn == 2;
	case 11:
		return !h->tagged && h->qn == 3;
	default:
		return false;
	}
}

/* Get the length of an opcode's RDMAP header, in bytes (RFC 5040 figure 2, RFC 7306) */
static u8 get_header_len(u8 opcode)
{
	switch (opcode) {
	case 1:
		return 28;
	case 7:
		return 4;
	case 8:
	case 9:
		return 8;
	case 10:
		return 52;
	case 11:
		return 12;
	default:
		return 0;
	}
}

static u8 get_required_rights(u8 opcode)
{
	switch (opcode) {
	case 0:
		return DDP_REMOTE_WRITE;
	case 1:
		return DDP_REMOTE_READ;
	case 2:
		return DDP_LOCAL_WRITE;
	case 10:
		return DDP_REMOTE_ATOMIC;
	default:
		return 0;
	}
}

void prove_opcode_check(void)
{
	struct ddp_hdr h;
	const struct rdmap_op_row *row = NULL;
	enum iw_reason why;
	u8 op;

	h.tagged = any_bool();
	why = rdmap_op_check(&h, &row);
	op = h.ulp8 & 15;
	MUST("RDMAP-17, RDMAP-22, EXT-4: exactly a wrong version is reported as such",
	     (why == IW_RDMAP_VERSION) == (h.ulp8 >> 6 != 1));
	if (why == IW_RDMAP_VERSION) {
		REACHED("wrong version");
		return;
	}
	MUST("RDMAP-19, RDMAP-20, RDMAP-158, EXT-5, EXT-7: only opcodes in their queue are legal",
	     why == (has_required_queue(&h, op) ? IW_OK : IW_RDMAP_OPCODE));
	if (why) {
		REACHED("wrong opcode");
		return;
	}
	MUST("RDMAP-20: the row is that of the opcode", row->opcode == op && row->name[0]);
	MUST("RDMAP-18: exactly the opcodes 4 and 6 invalidate an STag",
	     row->invalidates == (op == 4 || op == 6));
	MUST("RDMAP-20, EXT-5: exactly the opcodes 5, 6 and 9 solicit an event",
	     row->solicited == (op == 5 || op == 6 || op == 9));
	MUST("RDMAP-28, EXT-34, EXT-49, EXT-70: the header has the length of the opcode",
	     row->hdr_len == get_header_len(op));
	MUST("EXT-92: the STag needs the rights of the opcode", row->rights ==
	     get_required_rights(op));
	REACHED("accepted");
}

/* The control field of each sent segment has RV 01b and zero reserved bits */
void prove_control_field(void)
{
	u8 opcode = ANY(u8), octet;

	GIVEN(opcode < 12);
	octet = rdmap_make_ulp8(opcode);
	MUST("RDMAP-17, RDMAP-22, RDMAP-23: the control field has RV, Rsvd and the opcode",
	     octet >> 6 == 1 && !(octet & 0x30) && (octet & 15) == opcode);
	REACHED("end");
}

void prove_read_request(void)
{
	struct rdmap_rreq r, rest;
	u8 *p = any_bytes(28), *again = any_bytes(28);
	u32 gone = ANY(u32);
	size_t at = ANY(size_t);

	rdmap_rreq_decode(&r, p);
	MUST("RDMAP-30: the fields of a Read Request are decoded from their offsets",
	     r.sink_stag == decode_big_endian(p, 4) &&
	     r.sink_to == decode_big_endian(p + 4, 8) && r.len == decode_big_endian(p + 12, 4) &&
	     r.src_stag == decode_big_endian(p + 16, 4) && r.src_to ==
	     decode_big_endian(p + 20, 8));
	rdmap_rreq_encode(again, &r);
	GIVEN(at < 28);
	MUST("RDMAP-30: encoding is the inverse of decoding", again[at] == p[at]);
	GIVEN(gone <= r.len);
	rest = r;
	rdmap_rreq_advance(&rest, gone);
	MUST("RDMAP-48, RDMAP-49: the rest of the Read Request is shorter and begins later",
	     rest.len == r.len - gone &&
	     rest.sink_to == r.sink_to + gone && rest.src_to == r.src_to + gone &&
	     rest.sink_stag == r.sink_stag && rest.src_stag == r.src_stag);
	REACHED("end");
}

void prove_atomic_header(void)
{
	u8 *p = any_bytes(52), *again = any_bytes(52);
	struct rdmap_atomic a;
	enum iw_reason why = rdmap_atomic_decode(&a, p);
	size_t at = ANY(size_t);

	MUST("EXT-36, EXT-44: exactly the two atomic operations are accepted",
	     why == ((p[3] & 15) == 0 || (p[3] & 15) == 2 ? IW_OK
							   : IW_RDMAP_OPCODE));
	MUST("EXT-34: the fields of an atomic request are decoded from their offsets",
	     a.code == (p[3] & 15) && a.id == decode_big_endian(p + 4, 4) &&
	     a.stag == decode_big_endian(p + 8, 4) && a.to == decode_big_endian(p + 12, 8) &&
	     a.data == decode_big_endian(p + 20, 8) && a.mask == decode_big_endian(p + 28, 8) &&
	     a.cmp == decode_big_endian(p + 36, 8) && a.cmp_mask == decode_big_endian(p + 44, 8));
	rdmap_atomic_encode(again, &a);
	GIVEN(at < 52);
	MUST("EXT-34, EXT-35: encoding gives the same bytes, with reserved bits zero", again[at] ==
	     (at < 3 ? 0 : at == 3 ? p[3] & 15 : p[at]));
	REACHED("end");
}

void prove_atomic_response(void)
{
	u8 *p = any_bytes(12), *again = any_bytes(12);
	size_t at = ANY(size_t);
	u64 old;
	u32 id;

	rdmap_aresp_decode(p, &id, &old);
	MUST("EXT-49: the fields of an atomic response are decoded from their offsets",
	     id == decode_big_endian(p, 4) && old == decode_big_endian(p + 4, 8));
	rdmap_aresp_encode(again, id, old);
	GIVEN(at < 12);
	MUST("EXT-37, EXT-49: encoding is the inverse of decoding", again[at] == p[at]);
	REACHED("end");
}

/* Fetch and add drops the carry out of each bit that is set in the mask (RFC 7306 5.1.1) */
void prove_fetch_add(void)
{
	struct rdmap_atomic a;
	u64 old = ANY(u64), sum = 0;
	u32 carry = 0, one, i;

	a.code = RDMAP_ATOMIC_FETCH_ADD;
	for (i = 0; i < 64; i++) {
		one = (u32)(old >> i & 1) + (u32)(a.data >> i & 1) + carry;
		sum |= (u64)(one & 1) << i;
		carry = a.mask >> i & 1 ? 0 : one >> 1;
	}
	MUST("EXT-19, EXT-21: the mask separates the fields of the sum",
	     rdmap_compute_atomic_result(&a, old) == sum);
	a.mask = 0;
	MUST("EXT-20: mask 0 is a plain sum",
	     rdmap_compute_atomic_result(&a, old) == old + a.data);
	REACHED("end");
}

/* Compare and swap gives the result of RFC 7306 5.1.2, checked for one arbitrary bit */
void prove_compare_swap(void)
{
	struct rdmap_atomic a;
	u64 old = ANY(u64), now;
	u8 bit = ANY(u8);
	bool equal;

	GIVEN(bit < 64);
	a.code = RDMAP_ATOMIC_CMP_SWAP;
	now = rdmap_compute_atomic_result(&a, old);
	equal = (old & a.cmp_mask) == (a.cmp & a.cmp_mask);
	MUST("EXT-23, EXT-25, EXT-27: without a match nothing is swapped", equal || now == old);
	MUST("EXT-24, EXT-27: with a match exactly the bits of the mask are swapped", !equal ||
	     (now >> bit & 1) == (a.mask >> bit & 1 ? a.data >> bit & 1
						    : old >> bit & 1));
	if (equal && now != old)
		REACHED("swapped");
	if (!equal)
		REACHED("not equal");
}
