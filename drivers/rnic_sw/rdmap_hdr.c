// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Encode and decode the RDMAP headers of Read Requests and Atomic Operations,
 * and compute the results of Atomic Operations. ddp_mem_apply_atomic() does the
 * access to memory.
 *
 * Encoded headers are in network byte order and need not be aligned.
 */
#include <ddp/pure.h>

#include "rdmap_hdr.h"

#define CODE_MASK	0xfu

static_assert(RDMAP_RREQ_SRC_TO + sizeof(u64) == RDMAP_RREQ_LEN);
static_assert(RDMAP_AREQ_CMP_MASK + sizeof(u64) == RDMAP_AREQ_LEN);
static_assert(RDMAP_ARESP_OLD + sizeof(u64) == RDMAP_ARESP_LEN);

/**
 * rdmap_rreq_decode - decode a Read Request header (RFC 5040 section 4.4)
 * @r: set to the decoded header
 * @p: RDMAP_RREQ_LEN bytes as received
 */
void rdmap_rreq_decode(struct rdmap_rreq *r, const u8 *p)
{
	r->sink_stag = get_unaligned_be32(p + RDMAP_RREQ_SINK_STAG);
	r->sink_to = get_unaligned_be64(p + RDMAP_RREQ_SINK_TO);
	r->len = get_unaligned_be32(p + RDMAP_RREQ_SIZE);
	r->src_stag = get_unaligned_be32(p + RDMAP_RREQ_SRC_STAG);
	r->src_to = get_unaligned_be64(p + RDMAP_RREQ_SRC_TO);
}

/**
 * rdmap_rreq_encode - encode a Read Request header (RFC 5040 section 4.4)
 * @p: buffer of RDMAP_RREQ_LEN bytes
 * @r: header to encode
 */
void rdmap_rreq_encode(u8 *p, const struct rdmap_rreq *r)
{
	put_unaligned_be32(r->sink_stag, p + RDMAP_RREQ_SINK_STAG);
	put_unaligned_be64(r->sink_to, p + RDMAP_RREQ_SINK_TO);
	put_unaligned_be32(r->len, p + RDMAP_RREQ_SIZE);
	put_unaligned_be32(r->src_stag, p + RDMAP_RREQ_SRC_STAG);
	put_unaligned_be64(r->src_to, p + RDMAP_RREQ_SRC_TO);
}

/**
 * rdmap_rreq_advance - remove the answered part from a Read Request
 * @r: the request
 * @bytes: bytes of the response already sent, at most @r->len
 *
 * If the response fails after @bytes bytes, the Terminate quotes the request
 * without the answered part (RFC 5040 section 4.8, Terminated RDMA Header).
 */
void rdmap_rreq_advance(struct rdmap_rreq *r, u32 bytes)
{
	r->sink_to += bytes;
	r->src_to += bytes;
	r->len -= bytes;
}

/* Atomic Operations --------------------------------------------------------- */

/**
 * rdmap_atomic_encode - encode an Atomic Operation Request header
 * @p: buffer of RDMAP_AREQ_LEN bytes
 * @a: request to encode (RFC 7306 section 5.2.1)
 */
void rdmap_atomic_encode(u8 *p, const struct rdmap_atomic *a)
{
	put_unaligned_be32(a->code, p + RDMAP_AREQ_CODE);
	put_unaligned_be32(a->id, p + RDMAP_AREQ_ID);
	put_unaligned_be32(a->stag, p + RDMAP_AREQ_STAG);
	put_unaligned_be64(a->to, p + RDMAP_AREQ_TO);
	put_unaligned_be64(a->data, p + RDMAP_AREQ_DATA);
	put_unaligned_be64(a->mask, p + RDMAP_AREQ_MASK);
	put_unaligned_be64(a->cmp, p + RDMAP_AREQ_CMP);
	put_unaligned_be64(a->cmp_mask, p + RDMAP_AREQ_CMP_MASK);
}

/**
 * rdmap_atomic_decode - decode an Atomic Operation Request header
 * @a: set to the decoded request
 * @p: RDMAP_AREQ_LEN bytes as received
 *
 * Reserved bits are ignored.
 *
 * Return: IW_OK; IW_RDMAP_OPCODE if the operation code is neither FetchAdd nor
 * CmpSwap. RFC 7306 5.2.1 mentions Swap but does not define it.
 */
enum iw_reason rdmap_atomic_decode(struct rdmap_atomic *a, const u8 *p)
{
	a->code = get_unaligned_be32(p + RDMAP_AREQ_CODE) & CODE_MASK;
	a->id = get_unaligned_be32(p + RDMAP_AREQ_ID);
	a->stag = get_unaligned_be32(p + RDMAP_AREQ_STAG);
	a->to = get_unaligned_be64(p + RDMAP_AREQ_TO);
	a->data = get_unaligned_be64(p + RDMAP_AREQ_DATA);
	a->mask = get_unaligned_be64(p + RDMAP_AREQ_MASK);
	a->cmp = get_unaligned_be64(p + RDMAP_AREQ_CMP);
	a->cmp_mask = get_unaligned_be64(p + RDMAP_AREQ_CMP_MASK);
	if (a->code != RDMAP_ATOMIC_FETCH_ADD &&
	    a->code != RDMAP_ATOMIC_CMP_SWAP)
		return IW_RDMAP_OPCODE;
	return IW_OK;
}

/*
 * Add @a and @b field by field. Each bit set in @tops is the top bit of a
 * field. The carry out of each field must be dropped: so add @a and @b with the
 * top bits cleared, and then add the top bits by XOR, which has no carry.
 */
static u64 add_fields(u64 a, u64 b, u64 tops)
{
	return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

/**
 * rdmap_compute_atomic_result - compute the new value (RFC 7306 5.1.1, 5.1.2)
 * @a: the operation
 * @old: value in memory before the operation, in host byte order
 *
 * Return: the value to store in memory; equal to @old if @a is a CmpSwap whose
 * comparison failed.
 */
u64 rdmap_compute_atomic_result(const struct rdmap_atomic *a, u64 old)
{
	if (a->code == RDMAP_ATOMIC_FETCH_ADD)
		return add_fields(old, a->data, a->mask);
	if ((a->cmp ^ old) & a->cmp_mask)
		return old;
	return (old & ~a->mask) | (a->data & a->mask);
}

/**
 * rdmap_aresp_encode - encode an Atomic Operation Response header
 * @p: buffer of RDMAP_ARESP_LEN bytes
 * @id: Request Identifier of the request
 * @old: value in memory before the operation (RFC 7306 section 5.2.2)
 */
void rdmap_aresp_encode(u8 *p, u32 id, u64 old)
{
	put_unaligned_be32(id, p + RDMAP_ARESP_ID);
	put_unaligned_be64(old, p + RDMAP_ARESP_OLD);
}

/**
 * rdmap_aresp_decode - decode an Atomic Operation Response header
 * @p: RDMAP_ARESP_LEN bytes as received
 * @id: set to the Request Identifier of the request
 * @old: set to the value in memory before the operation
 */
void rdmap_aresp_decode(const u8 *p, u32 *id, u64 *old)
{
	*id = get_unaligned_be32(p + RDMAP_ARESP_ID);
	*old = get_unaligned_be64(p + RDMAP_ARESP_OLD);
}
