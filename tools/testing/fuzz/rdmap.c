// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMAP: opcodes, the header of a Read Request, atomics.
 *
 * Input: one DDP segment; its payload is decoded as each kind of header.
 */
#include "../../../drivers/ddp/hdr.h"
#include "../../../drivers/rnic_sw/rdmap_hdr.h"
#include "../../../drivers/rnic_sw/rdmap_op.h"
#include "fuzz.h"

/*
 * For each opcode: TAGGED, or the number of the untagged queue that it must use
 * (RFC 5040 figure 4, RFC 7306 figure 1)
 */
#define TAGGED		(-1)
static const int place[] = {
	TAGGED, 1, TAGGED, 0, 0, 0, 0, 2, 0, 0, 1, 3,
};

static bool has_required_queue(const struct ddp_hdr *h, u8 opcode)
{
	if (opcode >= ARRAY_SIZE(place))
		return false;
	if (place[opcode] == TAGGED)
		return h->tagged;
	return !h->tagged && h->qn == place[opcode];
}

static void check_opcode(const struct ddp_hdr *h)
{
	const struct rdmap_op_row *row = NULL;
	enum iw_reason why = rdmap_op_check(h, &row);
	u8 op = h->ulp8 & 15;

	MUST("rdmap-version",
	     (why == IW_RDMAP_VERSION) == (h->ulp8 >> 6 != 1));
	if (why == IW_RDMAP_VERSION)
		return;
	MUST("rdmap-opcode", (why == IW_OK) == has_required_queue(h, op));
	MUST("rdmap-reason", why == IW_OK || why == IW_RDMAP_OPCODE);
	if (why)
		return;
	MUST("rdmap-row", row->opcode == op && row->supported && row->name);
	MUST("rdmap-inv", row->invalidates == (op == 4 || op == 6));
	MUST("rdmap-se", row->solicited == (op == 5 || op == 6 || op == 9));
	MUST("rdmap-rights",
	     row->tagged ? row->rights : op == 1 || op == 10 ? row->rights
							     : !row->rights);
}

static void check_read_request(const u8 *p, u32 bytes)
{
	struct rdmap_rreq r, rest;
	u8 again[RDMAP_RREQ_LEN];

	rdmap_rreq_decode(&r, p);
	rdmap_rreq_encode(again, &r);
	MUST("rreq-again", !memcmp(again, p, sizeof(again)));
	bytes = min(bytes, r.len);
	rest = r;
	rdmap_rreq_advance(&rest, bytes);
	MUST("rreq-advance", rest.len + bytes == r.len &&
	     rest.sink_to - bytes == r.sink_to &&
	     rest.src_to - bytes == r.src_to &&
	     rest.sink_stag == r.sink_stag && rest.src_stag == r.src_stag);
}

/* Compute the result of Fetch and Add bit by bit, as RFC 7306 5.1.1 defines it */
static u64 compute_fetch_add(const struct rdmap_atomic *a, u64 old)
{
	u64 out = 0, bit;
	u32 carry = 0, sum, i;

	for (i = 0; i < 64; i++) {
		bit = 1ULL << i;
		sum = !!(old & bit) + !!(a->data & bit) + carry;
		carry = a->mask & bit ? 0 : sum >> 1;
		out |= sum & 1 ? bit : 0;
	}
	return out;
}

static u64 compute_cmp_swap(const struct rdmap_atomic *a, u64 old)
{
	u64 out = old, bit;
	u32 i;

	for (i = 0; i < 64; i++) {
		bit = 1ULL << i;
		if (a->cmp_mask & bit && (a->cmp ^ old) & bit)
			return old;
		if (a->mask & bit)
			out = (out & ~bit) | (a->data & bit);
	}
	return out;
}

static void check_atomic_request(const u8 *p, u64 old)
{
	u8 code = p[RDMAP_AREQ_CODE + 3] & 15;
	u8 again[RDMAP_AREQ_LEN];
	struct rdmap_atomic a;
	enum iw_reason why = rdmap_atomic_decode(&a, p);

	MUST("atomic-code", (why == IW_OK) == (code == 0 || code == 2));
	MUST("atomic-reason", why == IW_OK || why == IW_RDMAP_OPCODE);
	rdmap_atomic_encode(again, &a);
	MUST("atomic-again", again[3] == code && !memcmp(again + 4, p + 4,
							 sizeof(again) - 4));
	if (why)
		return;
	MUST("atomic-result", rdmap_compute_atomic_result(&a, old) ==
	     (code ? compute_cmp_swap(&a, old) : compute_fetch_add(&a, old)));
}

static void check_atomic_response(const u8 *p)
{
	u8 again[RDMAP_ARESP_LEN];
	u64 old;
	u32 id;

	rdmap_aresp_decode(p, &id, &old);
	rdmap_aresp_encode(again, id, old);
	MUST("aresp-again", !memcmp(again, p, sizeof(again)));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct ddp_hdr h;
	size_t len;
	u8 *p;

	if (ddp_hdr_decode(&h, data, size))
		return 0;
	check_opcode(&h);
	in.p += ddp_hdr_len(&h);
	in.left -= ddp_hdr_len(&h);
	if (in.left >= RDMAP_ARESP_LEN)
		check_atomic_response(in.p);
	len = RDMAP_RREQ_LEN;
	if (in.left >= len) {
		struct input copy = in;

		p = read_bytes(&copy, &len);
		check_read_request(p, h.msn);
		free(p);
	}
	len = RDMAP_AREQ_LEN;
	if (in.left >= len) {
		p = read_bytes(&in, &len);
		check_atomic_request(p, read_u64(&in));
		free(p);
	}
	return 0;
}
