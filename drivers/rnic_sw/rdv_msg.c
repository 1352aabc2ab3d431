// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Encode, decode and compare rendezvous messages, and choose which side connects.  All
 * functions are pure.
 *
 * Layout of a message, in network byte order:
 *
 *	 0  "iWQP"
 *	 4  version, 1
 *	 5  flags: RDV_HAS_SQ_PSN
 *	 6  RNR retry count
 *	 7  zero
 *	 8  QP number of the sender
 *	12  QP number of the receiver
 *	16  first PSN that the sender expects
 *	20  first PSN that the sender sends
 */
#include <ddp/pure.h>

#include "rdv_msg.h"

#define RDV_VERSION	1
#define RDV_HAS_SQ_PSN	0x01
#define RDV_24BITS	0xffffffu

static const u8 magic[4] = { 'i', 'W', 'Q', 'P' };

/**
 * rdv_msg_encode - encode a message
 * @m: the message
 * @pd: buffer of RDV_MSG_LEN bytes
 */
void rdv_msg_encode(const struct rdv_msg *m, u8 *pd)
{
	memset(pd, 0, RDV_MSG_LEN);
	memcpy(pd, magic, sizeof(magic));
	pd[4] = RDV_VERSION;
	pd[5] = m->has_sq_psn ? RDV_HAS_SQ_PSN : 0;
	pd[6] = m->has_sq_psn ? m->rnr_retry & 7 : 0;
	put_unaligned_be32(m->qpn, pd + 8);
	put_unaligned_be32(m->dest_qpn, pd + 12);
	put_unaligned_be32(m->rq_psn, pd + 16);
	put_unaligned_be32(m->has_sq_psn ? m->sq_psn : 0, pd + 20);
}

/**
 * rdv_msg_decode - decode a message
 * @m: filled in
 * @pd: Private Data from the peer
 * @len: length of @pd in bytes; bytes after the message are ignored, so that later versions can
 *	add fields
 *
 * Return: true if @pd begins with a message of version 1; false otherwise.
 */
bool rdv_msg_decode(struct rdv_msg *m, const u8 *pd, u16 len)
{
	if (len < RDV_MSG_LEN || memcmp(pd, magic, sizeof(magic)) || pd[4] != RDV_VERSION)
		return false;
	*m = (struct rdv_msg){
		.qpn = get_unaligned_be32(pd + 8), .dest_qpn = get_unaligned_be32(pd + 12),
		.rq_psn = get_unaligned_be32(pd + 16), .sq_psn = get_unaligned_be32(pd + 20),
		.rnr_retry = pd[6] & 7, .has_sq_psn = pd[5] & RDV_HAS_SQ_PSN,
	};
	return !((m->qpn | m->dest_qpn | m->rq_psn | m->sq_psn) & ~RDV_24BITS);
}

/**
 * rdv_msg_matches - check whether a peer's message belongs to a queue pair
 * @peer: the peer's message
 * @mine: message that the queue pair would send
 *
 * A side that is not in RTS yet does not know the first PSN that it will send.  Then only the other
 * PSN is compared, and the caller must compare again when the queue pair enters RTS.
 *
 * Return: true if the queue pair numbers and the PSNs that are known match; false otherwise.
 */
bool rdv_msg_matches(const struct rdv_msg *peer, const struct rdv_msg *mine)
{
	return peer->qpn == mine->dest_qpn && peer->dest_qpn == mine->qpn &&
	       (!peer->has_sq_psn || peer->sq_psn == mine->rq_psn) &&
	       (!mine->has_sq_psn || peer->rq_psn == mine->sq_psn);
}

/**
 * rdv_choose_role - choose which of two queue pairs connects
 * @qpn: number of the own queue pair
 * @gid: own GID, RDV_GID_LEN bytes
 * @dest_qpn: number of the peer's queue pair
 * @dgid: the peer's GID, RDV_GID_LEN bytes
 *
 * The smaller number connects, or the smaller GID if the numbers are equal. The number comes
 * first, because each side knows both numbers, but the two sides may use different GIDs of the
 * same device.
 *
 * Return: the role of the own queue pair.
 */
enum rdv_role rdv_choose_role(u32 qpn, const u8 *gid, u32 dest_qpn, const u8 *dgid)
{
	int order = qpn < dest_qpn ? -1 : qpn > dest_qpn ? 1 : memcmp(gid, dgid, RDV_GID_LEN);

	if (!order)
		return RDV_SELF;
	return order < 0 ? RDV_ACTIVE : RDV_PASSIVE;
}
