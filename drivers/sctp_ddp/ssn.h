/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Arithmetic on the DDP-SSNs of received chunks (RFC 5043 sections 5.2.1, 6.1 and 10):
 * finds out whether a chunk is the next one in order, and whether all chunks of an ended
 * session have been received.
 */
#ifndef _SDDP_SSN_H
#define _SDDP_SSN_H

#include <ddp/pure.h>
#include "wire.h"

#define SDDP_SSN_SPACE	0x10000

/**
 * enum sddp_ssn_order - position of a chunk relative to the next expected DDP-SSN
 * @SDDP_SSN_NEXT: the chunk has the next expected DDP-SSN
 * @SDDP_SSN_EARLY: out of order: a chunk with a lower DDP-SSN has not been received yet
 * @SDDP_SSN_DUP: duplicate: a chunk with this DDP-SSN has already been processed
 * @SDDP_SSN_FAR: so far ahead that the sender has exceeded the number of chunks in
 *	flight that RFC 5043 section 10 allows
 */
enum sddp_ssn_order {
	SDDP_SSN_NEXT,
	SDDP_SSN_EARLY,
	SDDP_SSN_DUP,
	SDDP_SSN_FAR,
};

enum sddp_ssn_order sddp_ssn_compare(u16 next, u16 ssn);

/**
 * struct sddp_tally - count of the received chunks of an ended session
 * @n: if @last is false: number of received chunks, modulo 65536. If @last is true:
 *	number of received chunks minus the number of chunks that the peer has sent in
 *	the session.
 * @last: true if the peer's Terminate has been received
 *
 * The DDP-SSN of the peer's Terminate gives the number of chunks that the peer has sent
 * in the session. So once @last is true, @n is zero if all of them have been received.
 */
struct sddp_tally {
	u16	n;
	bool	last;
};

void sddp_tally_increment(struct sddp_tally *t);
void sddp_tally_set_last(struct sddp_tally *t, u16 ssn);
bool sddp_tally_is_complete(const struct sddp_tally *t);

#endif
