/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Encoding and decoding of the payload of SCTP DATA chunks (RFC 5043 section
 * 5.2, RFC 6581 section 7).
 */
#ifndef _SDDP_CHUNK_H
#define _SDDP_CHUNK_H

#include <ddp/offer.h>
#include <ddp/pure.h>
#include <ddp/reason.h>
#include "wire.h"

/**
 * enum sddp_chunk_kind - kinds of chunk that the state machine in session.h distinguishes
 * @SDDP_KIND_SEGMENT: a DDP Segment
 * @SDDP_KIND_INITIATE: an Initiate or Enhanced Initiate, which requests a session
 * @SDDP_KIND_ACCEPT: an Accept or Enhanced Accept of the ULP
 * @SDDP_KIND_REJECT: a Reject or Enhanced Reject of the ULP
 * @SDDP_KIND_TERMINATE: a Terminate, the sender's last chunk of the session
 */
enum sddp_chunk_kind {
	SDDP_KIND_SEGMENT,
	SDDP_KIND_INITIATE,
	SDDP_KIND_ACCEPT,
	SDDP_KIND_REJECT,
	SDDP_KIND_TERMINATE,
};

/**
 * struct sddp_control - a Session Control chunk in decoded form
 * @ssn: DDP-SSN
 * @kind: kind of the chunk, never SDDP_KIND_SEGMENT
 * @offer: IRD/ORD word and Private Data; @offer.enhanced is set if the Function Code is
 *	one of the three enhanced codes and the chunk has the word
 */
struct sddp_control {
	u16			ssn;
	enum sddp_chunk_kind		kind;
	struct ddp_offer	offer;
};

bool sddp_ssn_decode(u16 *ssn, const u8 *p, size_t len);
void sddp_ssn_encode(u8 *p, u16 ssn);

u16 sddp_control_read_function_code(const u8 *p, size_t len);
enum iw_reason sddp_control_decode(struct sddp_control *c, const u8 *p,
				   size_t len);
size_t sddp_control_encode(u8 *p, size_t size, const struct sddp_control *c);

#endif
