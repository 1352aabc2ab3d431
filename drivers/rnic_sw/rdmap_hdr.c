// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Encode and decode the Read Request header. */
#include <ddp/pure.h>

#include "rdmap_hdr.h"

static_assert(RDMAP_RREQ_SRC_TO + sizeof(u64) == RDMAP_RREQ_LEN);

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
 * rdmap_rreq_advance - advance a Read Request past the part already answered
 * @r: the request
 * @octets: bytes of the response already sent, at most @r->len
 *
 * A Terminate in the middle of a response quotes the advanced request (RFC 5040
 * section 4.8, Terminated RDMA Header).
 */
void rdmap_rreq_advance(struct rdmap_rreq *r, u32 octets)
{
	r->sink_to += octets;
	r->src_to += octets;
	r->len -= octets;
}
