// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Terminate messages: parsing any bytes from a peer, and building a Terminate for
 * any fault. A built Terminate must have the same contents when it is parsed.
 *
 * Input: the message after its DDP header.
 */
#include "../../../drivers/rnic_sw/rdmap_term.h"
#include "fuzz.h"

#define SEGMENT_QUOTED	(IW_QUOTE_M | IW_QUOTE_D)

/* Compute the length in bytes of a Terminate from its quotation bits (RFC 5040 figure 8) */
static size_t compute_terminate_len(const u8 *p, size_t len)
{
	size_t n = RDMAP_TERM_LEN;
	u8 quote = p[RDMAP_TERM_HDRCT];

	if (quote & SEGMENT_QUOTED)
		n += RDMAP_TERM_SEG_LEN;
	if (quote & IW_QUOTE_D)
		n += len > n && p[n] & 0x80 ? 14 : 18;
	if (quote & IW_QUOTE_R)
		n += 28;
	return n;
}

/* Encode a parsed Terminate according to RFC 5040 */
static size_t encode_terminate(const struct rdmap_term *t, u8 *p)
{
	size_t n = RDMAP_TERM_LEN;

	p[0] = t->layer << 4 | t->type;
	p[1] = t->code;
	p[2] = t->quote;
	p[3] = 0;
	if (t->quote & SEGMENT_QUOTED) {
		put_unaligned_be16(t->seg_len, p + n);
		n += 2;
	}
	memcpy(p + n, t->ddp, t->ddp_len);
	n += t->ddp_len;
	memcpy(p + n, t->rdma, t->rdma_len);
	return n + t->rdma_len;
}

static void check_terminate_parsing(const u8 *p, size_t len)
{
	u8 again[RDMAP_TERM_BUILD_MAX];
	struct rdmap_term t;
	enum iw_reason why = rdmap_term_parse(&t, p, len);
	size_t n;

	MUST("term-short", (why == IW_OK) ==
	     (len >= RDMAP_TERM_LEN && len >= compute_terminate_len(p, len)));
	MUST("term-reason", why == IW_OK || why == IW_RDMAP_UNSPEC);
	MUST("term-lengths", (!t.ddp_len || t.ddp_len == 14 ||
			      t.ddp_len == 18) &&
			     (!t.rdma_len || t.rdma_len == 28));
	if (len >= RDMAP_TERM_LEN)
		MUST("term-code", (t.layer << 4 | t.type) == p[0] &&
		     t.code == p[1]);
	if (why)
		return;
	n = encode_terminate(&t, again);
	MUST("term-consumed", n <= len && n == compute_terminate_len(p, len));
	MUST("term-again", again[0] == p[0] && again[1] == p[1] &&
	     again[2] == (p[2] & 0xe0) && !memcmp(again + 4, p + 4, n - 4));
}

/* Read a fault from the input. As in the modules, each quoted header is complete or absent */
static void read_failure(struct iw_failure *f, struct input *in)
{
	u8 which = read_u8(in);
	size_t i;

	memset(f, 0, sizeof(*f));
	f->why = read_u8(in) % IW_REASON_NR;
	f->seg_len = read_u16(in);
	for (i = 0; i < sizeof(f->ddp); i++)
		f->ddp[i] = read_u8(in);
	for (i = 0; i < sizeof(f->rdma); i++)
		f->rdma[i] = read_u8(in);
	if (which & 1)
		f->ddp_len = f->ddp[0] & 0x80 ? 14 : 18;
	if (which & 2)
		f->rdma_len = 28;
}

static void check_terminate_building(const struct iw_failure *f)
{
	const struct iw_reason_row *row = iw_reason_get_row(f->why);
	u8 *p = malloc(RDMAP_TERM_BUILD_MAX);
	size_t len = rdmap_term_build(p, f);
	struct rdmap_term t;

	MUST("term-build-length", len <= RDMAP_TERM_BUILD_MAX);
	MUST("term-local", !len == (row->layer == IW_NOT_ON_WIRE));
	if (len) {
		p = realloc(p, len);
		MUST("term-build-parse", rdmap_term_parse(&t, p, len) == IW_OK);
		MUST("term-build-whole", compute_terminate_len(p, len) == len);
		MUST("term-build-code", t.layer == row->layer &&
		     t.type == row->type && t.code == row->code);
		MUST("term-build-ddp",
		     !t.ddp_len || (t.ddp_len == f->ddp_len &&
				    t.seg_len == f->seg_len &&
				    !memcmp(t.ddp, f->ddp, t.ddp_len)));
		MUST("term-build-rdma",
		     !t.rdma_len || !memcmp(t.rdma, f->rdma, t.rdma_len));
		MUST("term-build-quote", !(t.quote & ~row->quote));
	}
	free(p);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct iw_failure f;

	check_terminate_parsing(data, size);
	read_failure(&f, &in);
	check_terminate_building(&f);
	return 0;
}
