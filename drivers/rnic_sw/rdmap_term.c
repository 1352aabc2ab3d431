// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Build the Terminate message for a fault, and parse a received Terminate
 * message.
 *
 * Layout of Terminate Control: the upper four bits of the first byte are the
 * layer, the lower four bits the error type. The second byte is the error code.
 * M, D and R are the three most significant bits of the third byte. Shifts and
 * masks are used instead of C bit-fields, because the layout of bit-fields
 * depends on the compiler.
 */
#include <ddp/pure.h>

#include "rdmap_term.h"

#define QUOTE_ALL	(IW_QUOTE_M | IW_QUOTE_D | IW_QUOTE_R)

static_assert(RDMAP_TERM_DDP_UNTAGGED == IW_DDP_HDR_MAX);
static_assert(RDMAP_RREQ_LEN == IW_RDMA_HDR_MAX);

/*
 * Get the IW_QUOTE_* bits of the headers to quote: those that the RFCs require
 * for the reason in @row, without those that @f does not contain
 */
static u8 choose_quote_bits(const struct iw_reason_row *row, const struct iw_failure *f)
{
	u8 quote = row->quote;

	if (!f->ddp_len)
		quote &= ~(IW_QUOTE_M | IW_QUOTE_D);
	if (!f->rdma_len)
		quote &= ~IW_QUOTE_R;
	return quote;
}

static u8 *append_bytes(u8 *out, const u8 *src, size_t len)
{
	memcpy(out, src, len);
	return out + len;
}

/**
 * rdmap_term_build - build the Terminate message for a fault
 * @out: buffer of RDMAP_TERM_BUILD_MAX bytes
 * @f: the fault
 *
 * Omits headers that are not quoted, instead of sending zeros for them.
 *
 * Return: the length of the message in bytes, without DDP header; 0 if the
 * reason is local, so that the caller must send no Terminate.
 */
size_t rdmap_term_build(u8 *out, const struct iw_failure *f)
{
	const struct iw_reason_row *row = iw_reason_get_row(f->why);
	u8 *end = out + RDMAP_TERM_LEN;
	u8 quote;

	if (row->layer == IW_NOT_ON_WIRE)
		return 0;
	quote = choose_quote_bits(row, f);
	memset(out, 0, RDMAP_TERM_LEN);
	out[RDMAP_TERM_KIND] = row->layer << 4 | row->type;
	out[RDMAP_TERM_CODE] = row->code;
	out[RDMAP_TERM_HDRCT] = quote;
	if (quote & (IW_QUOTE_M | IW_QUOTE_D)) {
		put_unaligned_be16(f->seg_len, end);
		end += RDMAP_TERM_SEG_LEN;
	}
	if (quote & IW_QUOTE_D)
		end = append_bytes(end, f->ddp, f->ddp_len);
	if (quote & IW_QUOTE_R)
		end = append_bytes(end, f->rdma, f->rdma_len);
	return end - out;
}

/* Part of the message that is not parsed yet, and its length in bytes */
struct reader {
	const u8	*p;
	size_t		len;
};

static const u8 *read_bytes(struct reader *r, size_t n)
{
	const u8 *p = r->p;

	if (r->len < n)
		return NULL;
	r->p += n;
	r->len -= n;
	return p;
}

static bool read_seg_len(struct rdmap_term *t, struct reader *r)
{
	const u8 *p = read_bytes(r, RDMAP_TERM_SEG_LEN);

	if (!p)
		return false;
	t->seg_len = get_unaligned_be16(p);
	return true;
}

/* Copy the quoted DDP header, whose T bit determines its length */
static bool read_ddp_header(struct rdmap_term *t, struct reader *r)
{
	u8 len = RDMAP_TERM_DDP_UNTAGGED;
	const u8 *p;

	if (r->len && r->p[0] & RDMAP_TERM_TAGGED)
		len = RDMAP_TERM_DDP_TAGGED;
	p = read_bytes(r, len);
	if (!p)
		return false;
	memcpy(t->ddp, p, len);
	t->ddp_len = len;
	return true;
}

static bool read_rdma_header(struct rdmap_term *t, struct reader *r)
{
	const u8 *p = read_bytes(r, RDMAP_RREQ_LEN);

	if (!p)
		return false;
	memcpy(t->rdma, p, RDMAP_RREQ_LEN);
	t->rdma_len = RDMAP_RREQ_LEN;
	return true;
}

/**
 * rdmap_term_parse - parse a Terminate message from the peer
 * @t: set to the parsed fields; fields that the message does not have are zero
 * @p: the message, without DDP header
 * @len: length of @p in bytes
 *
 * Ignores reserved bits. Also ignores bytes after the headers that M, D and R
 * announce, because some peers send zeros in place of headers that they do not
 * quote.
 *
 * Return: IW_OK; IW_RDMAP_UNSPEC if the message is shorter than RDMAP_TERM_LEN,
 * or too short for the headers that M, D and R announce. With either value,
 * layer, type and code in @t are valid if @len is at least RDMAP_TERM_LEN.
 */
enum iw_reason rdmap_term_parse(struct rdmap_term *t, const u8 *p, size_t len)
{
	struct reader r = { .p = p, .len = len };
	const u8 *ctrl = read_bytes(&r, RDMAP_TERM_LEN);

	memset(t, 0, sizeof(*t));
	if (!ctrl)
		return IW_RDMAP_UNSPEC;
	t->layer = ctrl[RDMAP_TERM_KIND] >> 4;
	t->type = ctrl[RDMAP_TERM_KIND] & 0xf;
	t->code = ctrl[RDMAP_TERM_CODE];
	t->quote = ctrl[RDMAP_TERM_HDRCT] & QUOTE_ALL;
	if (t->quote & (IW_QUOTE_M | IW_QUOTE_D) && !read_seg_len(t, &r))
		return IW_RDMAP_UNSPEC;
	if (t->quote & IW_QUOTE_D && !read_ddp_header(t, &r))
		return IW_RDMAP_UNSPEC;
	if (t->quote & IW_QUOTE_R && !read_rdma_header(t, &r))
		return IW_RDMAP_UNSPEC;
	return IW_OK;
}
