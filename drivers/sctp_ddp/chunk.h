/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The payload of SCTP DATA chunks: octets to what they say and back (RFC 5043
 * section 5.2, RFC 6581 section 7).
 */
#ifndef _SDDP_CHUNK_H
#define _SDDP_CHUNK_H

#include <ddp/offer.h>
#include <ddp/pure.h>
#include <ddp/reason.h>
#include "wire.h"

/**
 * enum sddp_what - what a chunk is to the session
 * @SDDP_SEGMENT_CHUNK: a DDP Segment
 * @SDDP_SAY_INITIATE: Session Control, as are the following; plain or enhanced
 * @SDDP_SAY_ACCEPT: the ULP says yes
 * @SDDP_SAY_REJECT: the ULP says no
 * @SDDP_SAY_TERMINATE: the sender's last chunk
 */
enum sddp_what {
	SDDP_SEGMENT_CHUNK,
	SDDP_SAY_INITIATE,
	SDDP_SAY_ACCEPT,
	SDDP_SAY_REJECT,
	SDDP_SAY_TERMINATE,
};

/**
 * struct sddp_control - a Session Control chunk, decoded
 * @ssn: its DDP-SSN
 * @what: what it says, never SDDP_SEGMENT_CHUNK
 * @offer: Private Data; @offer.enhanced: it is one of the enhanced three
 */
struct sddp_control {
	u16			ssn;
	enum sddp_what		what;
	struct ddp_offer	offer;
};

bool sddp_ssn_decode(u16 *ssn, const u8 *p, size_t len);
void sddp_ssn_encode(u8 *p, u16 ssn);

u16 sddp_control_function(const u8 *p, size_t len);
enum iw_reason sddp_control_decode(struct sddp_control *c, const u8 *p,
				   size_t len);
size_t sddp_control_encode(u8 *p, size_t size, const struct sddp_control *c);

#endif
