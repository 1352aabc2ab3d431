// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Terminate messages: parsing of any bytes from a peer, and building for any fault.
 *
 * Files: rnic_sw/rdmap_term.c ddp/reason.c
 * Checks: conversion
 * Bound: 1, there is no loop
 * Mutation: rnic_sw/rdmap_term.c s/if (r->len < n)/if (r->len + 1 < n)/
 * Mutation: rnic_sw/rdmap_term.c s/u8 len = RDMAP_TERM_DDP_UNTAGGED/u8 len = RDMAP_TERM_DDP_TAGGED/
 * Mutation: rnic_sw/rdmap_term.c s/row->layer << 4 | row->type/row->type << 4 | row->layer/
 * Mutation: ddp/reason.c s/ROW(DDP, 1, 0x01, SEGMENT/ROW(DDP, 1, 0x01, NONE/
 * Mutation, big-endian: rnic_sw/rdmap_term.c s/t->seg_len = get_unaligned_be16(p)/t->seg_len = __builtin_bswap16(*(u16 *)p)/
 */
#include "../../../drivers/rnic_sw/rdmap_term.h"
#include "proof.h"

#define SEGMENT	(IW_QUOTE_M | IW_QUOTE_D)

/* Get the offset of the quoted DDP header in a Terminate (RFC 5040 figure 8) */
static size_t get_ddp_offset(u8 quote)
{
	return quote & SEGMENT ? 6 : 4;
}

static size_t compute_terminate_len(const u8 *p, size_t len)
{
	u8 quote = p[2];
	size_t n = get_ddp_offset(quote);

	if (quote & IW_QUOTE_D)
		n += len > n && p[n] & 0x80 ? 14 : 18;
	if (quote & IW_QUOTE_R)
		n += 28;
	return n;
}

static void check_quoted_headers(const struct rdmap_term *t, const u8 *p, size_t len)
{
	size_t ddp = get_ddp_offset(p[2]), at = ANY(size_t);

	MUST("RDMAP-44: a quoted DDP header has 14 or 18 bytes by its T bit", t->ddp_len ==
	     (p[2] & IW_QUOTE_D ? p[ddp] & 0x80 ? 14 : 18 : 0));
	MUST("RDMAP-46: a quoted RDMA header has 28 bytes",
	     t->rdma_len == (p[2] & IW_QUOTE_R ? 28 : 0));
	if (p[2] & SEGMENT)
		MUST("RDMAP-44: quoted segment length", t->seg_len == decode_big_endian(p + 4, 2));
	GIVEN(at < 28);
	if (at < t->ddp_len)
		MUST("RDMAP-44: bytes of the DDP header", t->ddp[at] == p[ddp + at]);
	if (at < t->rdma_len)
		MUST("RDMAP-46: bytes of the RDMA header",
		     t->rdma[at] == p[ddp + t->ddp_len + at]);
	if (t->ddp_len == 14 && t->rdma_len)
		REACHED("both headers");
}

void prove_terminate_parsing(void)
{
	size_t len = ANY(size_t);
	struct rdmap_term t;
	enum iw_reason why;
	u8 *p;

	/* a message may be far longer than any header */
	GIVEN(len <= 1 << 16);
	p = any_bytes(len);
	why = rdmap_term_parse(&t, p, len);
	MUST("RDMAP-110: exactly a complete Terminate is accepted", why ==
	     (len >= 4 && len >= compute_terminate_len(p, len) ? IW_OK : IW_RDMAP_UNSPEC));
	MUST("the quoted headers fit into the struct", t.ddp_len <= 18 && t.rdma_len <= 28);
	if (len < 4) {
		REACHED("shorter than the control field");
		return;
	}
	MUST("RDMAP-36: layer, type and code are in bytes 0 and 1", t.layer == p[0] >> 4 &&
	     t.type == (p[0] & 15) && t.code == p[1]);
	MUST("RDMAP-41: reserved bits are ignored", t.quote == (p[2] & 0xe0));
	if (why)
		REACHED("incomplete");
	else
		check_quoted_headers(&t, p, len);
}

/* Get any fault that the modules can create: each quoted header is complete or absent */
static struct iw_failure any_failure(void)
{
	struct iw_failure f;

	GIVEN((u32)f.why < IW_REASON_NR);
	GIVEN(!f.ddp_len || f.ddp_len == (f.ddp[0] & 0x80 ? 14 : 18));
	GIVEN(!f.rdma_len || f.rdma_len == 28);
	return f;
}

/* Get the headers that a Terminate may quote for an error (RFC 5040 figure 10) */
static u8 get_permitted_quotes(u8 layer, u8 type)
{
	if (layer == 2 || type == 0)
		return 0;
	return layer == 0 && type == 1 ? SEGMENT | IW_QUOTE_R : SEGMENT;
}

void prove_terminate_building(void)
{
	struct iw_failure f = any_failure();
	const struct iw_reason_row *row = iw_reason_get_row(f.why);
	u8 out[RDMAP_TERM_BUILD_MAX];
	size_t len = rdmap_term_build(out, &f), at = ANY(size_t), n;
	bool quotes;

	MUST("exactly a local reason gives no Terminate",
	     !len == (row->layer == IW_NOT_ON_WIRE));
	if (!len) {
		REACHED("local reason");
		return;
	}
	MUST("RDMAP-36: layer, type and code are in bytes 0 and 1", out[0] >> 4 == row->layer &&
	     (out[0] & 15) == row->type && out[1] == row->code);
	MUST("RDMAP-40: reserved bits are zero", !(out[2] & 0x1f) && !out[3]);
	MUST("RDMAP-45, RDMAP-47, RDMAP-50, RDMAP-51, RDMAP-53 to RDMAP-55: as in figure 10",
	     !(out[2] & ~get_permitted_quotes(row->layer, row->type)));
	MUST("RDMAP-44, RDMAP-46: the length matches the quote bits",
	     len == compute_terminate_len(out, len) && len <= RDMAP_TERM_BUILD_MAX);
	n = get_ddp_offset(out[2]);
	quotes = out[2] & IW_QUOTE_D;
	MUST("RDMAP-51, RDMAP-53, RDMAP-54: an existing DDP header is quoted",
	     quotes == (f.ddp_len && get_permitted_quotes(row->layer, row->type)));
	GIVEN(at < 28);
	if (quotes) {
		MUST("RDMAP-44: the quoted segment length is that of the fault",
		     decode_big_endian(out + 4, 2) == f.seg_len);
		MUST("RDMAP-44: the quoted DDP header is that of the fault",
		     at >= f.ddp_len || out[n + at] == f.ddp[at]);
		n += f.ddp_len;
	}
	if (out[2] & IW_QUOTE_R) {
		MUST("RDMAP-46: the quoted header is that of the Read Request",
		     out[n + at] == f.rdma[at]);
		REACHED("Read Request quoted");
	}
}

/* iw_reason_get_row() returns a valid row for any number, even one beyond the table */
void prove_reason_rows(void)
{
	const struct iw_reason_row *row = iw_reason_get_row(ANY(u32));

	MUST("DDP-106 to DDP-108, MPA2-23: the layer is valid",
	     row->layer <= 2 || row->layer == IW_NOT_ON_WIRE);
	MUST("the type fits into 4 bits, and the row has name and rule",
	     row->type <= 2 && row->name[0] &&
	     row->rule[0]);
	REACHED("end");
}
