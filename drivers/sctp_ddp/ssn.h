/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The DDP-SSNs of a session's arriving chunks (RFC 5043 sections 5.2.1, 6.1
 * and 10): whose turn it is; and, of a session that is over, whether all that
 * the peer sends of it is here.
 */
#ifndef _SDDP_SSN_H
#define _SDDP_SSN_H

#include <ddp/pure.h>
#include "wire.h"

#define SDDP_SSN_SPACE	0x10000

/**
 * enum sddp_turn - when a chunk's turn comes
 * @SDDP_NOW: it is the next one
 * @SDDP_EARLY: chunks before it are still to come
 * @SDDP_DUP: this DDP-SSN has long passed
 * @SDDP_FAR: no sender that keeps to RFC 5043 section 10 can be so far ahead
 */
enum sddp_turn {
	SDDP_NOW,
	SDDP_EARLY,
	SDDP_DUP,
	SDDP_FAR,
};

enum sddp_turn sddp_ssn_turn(u16 next, u16 ssn);

/**
 * struct sddp_tally - what has come of a session whose chunks nobody wants
 * @n: how many, modulo 65536; from the last one on: less those there are
 * @last: the peer's Terminate was among them
 *
 * Which ones they were need not be known: when as many are here as the number
 * of the last one says, all are.
 */
struct sddp_tally {
	u16	n;
	bool	last;
};

void sddp_tally_chunk(struct sddp_tally *t);
void sddp_tally_last(struct sddp_tally *t, u16 ssn);
bool sddp_tally_whole(const struct sddp_tally *t);

#endif
