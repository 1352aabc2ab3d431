// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A fault to octets and back.
 *
 * Terminate Control is layer and type in the halves of its first octet, the
 * code in the second, and M, D, R from the top of the third: counted from the
 * most significant bit, whatever a compiler does with bit-fields.
 */
#include <ddp/pure.h>

#include "rdmap_term.h"

#define QUOTE_ALL	(IW_QUOTE_M | IW_QUOTE_D | IW_QUOTE_R)

static_assert(RDMAP_TERM_DDP_UNTAGGED == IW_DDP_HDR_MAX);
static_assert(RDMAP_RREQ_LEN == IW_RDMA_HDR_MAX);

/* What the reason calls for and the fault has */
static u8 quote_of(const struct iw_reason_row *row, const struct iw_fault *f)
{
	u8 quote = row->quote;

	if (!f->ddp_len)
		quote &= ~(IW_QUOTE_M | IW_QUOTE_D);
	if (!f->rdma_len)
		quote &= ~IW_QUOTE_R;
	return quote;
}

static u8 *append(u8 *out, const u8 *src, size_t len)
{
	memcpy(out, src, len);
	return out + len;
}

/**
 * rdmap_term_build - the Terminate that tells the peer of a fault
 * @out: room for RDMAP_TERM_BUILD_MAX octets
 * @f: the fault
 *
 * A header that is not quoted is absent, not zero.
 *
 * Return: octets of the message, DDP header not counted, or 0 if the fault is
 * none of the peer's business: no Terminate then.
 */
size_t rdmap_term_build(u8 *out, const struct iw_fault *f)
{
	const struct iw_reason_row *row = iw_reason_row(f->why);
	u8 *end = out + RDMAP_TERM_LEN;
	u8 quote;

	if (row->layer == IW_NOT_ON_WIRE)
		return 0;
	quote = quote_of(row, f);
	memset(out, 0, RDMAP_TERM_LEN);
	out[RDMAP_TERM_KIND] = row->layer << 4 | row->type;
	out[RDMAP_TERM_CODE] = row->code;
	out[RDMAP_TERM_HDRCT] = quote;
	if (quote & (IW_QUOTE_M | IW_QUOTE_D)) {
		put_unaligned_be16(f->seg_len, end);
		end += RDMAP_TERM_SEG_LEN;
	}
	if (quote & IW_QUOTE_D)
		end = append(end, f->ddp, f->ddp_len);
	if (quote & IW_QUOTE_R)
		end = append(end, f->rdma, f->rdma_len);
	return end - out;
}

/* Octets not yet parsed */
struct rest {
	const u8	*p;
	size_t		len;
};

static const u8 *rdmap_term_take(struct rest *r, size_t n)
{
	const u8 *p = r->p;

	if (r->len < n)
		return NULL;
	r->p += n;
	r->len -= n;
	return p;
}

static bool take_seg_len(struct rdmap_term *t, struct rest *r)
{
	const u8 *p = rdmap_term_take(r, RDMAP_TERM_SEG_LEN);

	if (!p)
		return false;
	t->seg_len = get_unaligned_be16(p);
	return true;
}

/* Its own T bit says how long a DDP header is */
static bool take_ddp(struct rdmap_term *t, struct rest *r)
{
	u8 len = RDMAP_TERM_DDP_UNTAGGED;
	const u8 *p;

	if (r->len && r->p[0] & RDMAP_TERM_TAGGED)
		len = RDMAP_TERM_DDP_TAGGED;
	p = rdmap_term_take(r, len);
	if (!p)
		return false;
	memcpy(t->ddp, p, len);
	t->ddp_len = len;
	return true;
}

static bool take_rdma(struct rdmap_term *t, struct rest *r)
{
	const u8 *p = rdmap_term_take(r, RDMAP_RREQ_LEN);

	if (!p)
		return false;
	memcpy(t->rdma, p, RDMAP_RREQ_LEN);
	t->rdma_len = RDMAP_RREQ_LEN;
	return true;
}

/**
 * rdmap_term_parse - what a peer's Terminate says
 * @t: filled in, as far as the message goes
 * @p: the message, from behind its DDP header
 * @len: its octets
 *
 * Reserved bits are ignored, and so is whatever follows the headers announced:
 * some peers send those they do not announce as zeros.
 *
 * Return: IW_OK, or IW_RDMAP_UNSPEC if the message is shorter than it says; if
 * @len is RDMAP_TERM_LEN at least, layer, type and code are good all the same.
 */
enum iw_reason rdmap_term_parse(struct rdmap_term *t, const u8 *p, size_t len)
{
	struct rest r = { .p = p, .len = len };
	const u8 *ctrl = rdmap_term_take(&r, RDMAP_TERM_LEN);

	memset(t, 0, sizeof(*t));
	if (!ctrl)
		return IW_RDMAP_UNSPEC;
	t->layer = ctrl[RDMAP_TERM_KIND] >> 4;
	t->type = ctrl[RDMAP_TERM_KIND] & 0xf;
	t->code = ctrl[RDMAP_TERM_CODE];
	t->quote = ctrl[RDMAP_TERM_HDRCT] & QUOTE_ALL;
	if (t->quote & (IW_QUOTE_M | IW_QUOTE_D) && !take_seg_len(t, &r))
		return IW_RDMAP_UNSPEC;
	if (t->quote & IW_QUOTE_D && !take_ddp(t, &r))
		return IW_RDMAP_UNSPEC;
	if (t->quote & IW_QUOTE_R && !take_rdma(t, &r))
		return IW_RDMAP_UNSPEC;
	return IW_OK;
}
