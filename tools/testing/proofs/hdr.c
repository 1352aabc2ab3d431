// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Encoding and decoding of the DDP header.
 *
 * Files: ddp/hdr.c
 * Checks: unsigned-overflow conversion
 * Bound: 1, there is no loop
 * Mutation: ddp/hdr.c s/DDP_T_TO)/DDP_T_TO + 1)/
 * Mutation: ddp/hdr.c s/len < ddp_hdr_len(h)/len < DDP_T_HDR_LEN/
 * Mutation: ddp/hdr.c s/p.DDP_CTRL. = DDP_DV/p[DDP_CTRL] |= DDP_DV/
 * Mutation, big-endian: ddp/hdr.c s/get_unaligned_be32(p + DDP_U_QN)/__builtin_bswap32(*(u32 *)(p + DDP_U_QN))/
 * Mutation, big-endian: ddp/hdr.c s/put_unaligned_be64(h->to, p + DDP_T_TO)/*(u64 *)(p + DDP_T_TO) = __builtin_bswap64(h->to)/
 */
#include "../../../drivers/ddp/hdr.h"
#include "proof.h"

/* CBMC and the kernel headers use the byte order of the machine that scripts/prove selects */
void prove_byte_order(void)
{
	u16 one = 1;
	bool big = !*(u8 *)&one;

	MUST("CBMC uses the byte order that scripts/prove selects", big == PROOF_BIG);
	MUST("the compiler's macros have that byte order",
	     big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__));
	MUST("conversions have that order", big == (cpu_to_be16(one) == one));
	REACHED("order");
}

/* Assert that a tagged header has the byte layout of RFC 5041 section 4 */
static void check_tagged_layout(const struct ddp_hdr *h, const u8 *p)
{
	MUST("DDP-26: the STag is in bytes 2 to 5", h->stag == decode_big_endian(p + 2, 4));
	MUST("DDP-26: the TO is in bytes 6 to 13", h->to == decode_big_endian(p + 6, 8));
	REACHED("tagged");
}

static void check_untagged_layout(const struct ddp_hdr *h, const u8 *p)
{
	MUST("DDP-35: the rest of RsvdULP is in bytes 2 to 5", h->ulp32 ==
	     decode_big_endian(p + 2, 4));
	MUST("DDP-35: the QN is in bytes 6 to 9", h->qn == decode_big_endian(p + 6, 4));
	MUST("DDP-35: the MSN is in bytes 10 to 13", h->msn == decode_big_endian(p + 10, 4));
	MUST("DDP-35: the MO is in bytes 14 to 17", h->mo == decode_big_endian(p + 14, 4));
	REACHED("untagged");
}

static void check_layout(const struct ddp_hdr *h, const u8 *p)
{
	MUST("DDP-15, DDP-16: T is bit 7 of byte 0", h->tagged == p[0] >> 7);
	MUST("DDP-17: L is bit 6 of byte 0", h->last == (p[0] >> 6 & 1));
	MUST("DDP-28, DDP-37: RsvdULP begins at byte 1", h->ulp8 == p[1]);
	if (h->tagged)
		check_tagged_layout(h, p);
	else
		check_untagged_layout(h, p);
}

void prove_decode(void)
{
	size_t len = ANY(size_t);
	u8 *p;
	struct ddp_hdr h;
	enum iw_reason why;
	bool whole, version;

	GIVEN(len <= PTRDIFF_MAX / 2);
	p = any_bytes(len);
	whole = len && len >= (p[0] & 0x80 ? 14 : 18);
	why = ddp_hdr_decode(&h, p, len);
	MUST("DDP-46: a header is reported as short if and only if it is incomplete",
	     (why == IW_DDP_SHORT) == !whole);
	if (!whole) {
		REACHED("short");
		return;
	}
	check_layout(&h, p);
	version = (p[0] & 3) == 1;
	/* the reserved bits between L and DV are ignored */
	MUST("DDP-23, DDP-25: the only error of a complete header is a wrong version",
	     why == (version ? IW_OK : p[0] & 0x80 ? IW_DDP_T_VERSION
						   : IW_DDP_U_VERSION));
	if (!version)
		REACHED("version");
}

void prove_encode(void)
{
	struct ddp_hdr h;
	u8 *p;
	size_t len;

	h.tagged = any_bool();
	h.last = any_bool();
	p = any_bytes(h.tagged ? 14 : 18);
	len = ddp_hdr_encode(p, &h);
	MUST("DDP-26, DDP-35: a header has 14 or 18 bytes", len == (h.tagged ? 14 : 18));
	MUST("DDP-22: Rsvd is zero", !(p[0] & 0x3c));
	MUST("DDP-24: DV is 1", (p[0] & 3) == 1);
	check_layout(&h, p);
}
