/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The DDP-SSNs of a session's arriving chunks (RFC 5043 sections 5.2.1, 6.1
 * and 10): whose turn it is, and which ones behind it are already here.
 *
 *	push ... NOW: take the chunk, then advance; while that says so, take the
 *	chunk kept for w->next, advance again.  EARLY: keep it.
 */
#ifndef _SDDP_SSN_H
#define _SDDP_SSN_H

#include <ddp/pure.h>
#include "wire.h"

/* One bit for each DDP-SSN modulo their number */
#define SDDP_SSN_SPACE	0x10000
#define SDDP_SSN_BITS	(SDDP_SSN_SPACE / 2)
#define SDDP_SSN_WORDS	(SDDP_SSN_BITS / 32)

/**
 * enum sddp_turn - when a chunk's turn comes
 * @SDDP_NOW: it is the next one
 * @SDDP_EARLY: chunks before it are still to come
 * @SDDP_DUP: this DDP-SSN was here before, or has long passed
 * @SDDP_FAR: no sender that keeps to RFC 5043 section 10 can be so far ahead
 */
enum sddp_turn {
	SDDP_NOW,
	SDDP_EARLY,
	SDDP_DUP,
	SDDP_FAR,
};

/**
 * struct sddp_ssn - the window
 * @next: the DDP-SSN whose turn it is
 * @early: which ones behind it have arrived
 */
struct sddp_ssn {
	u16	next;
	u32	early[SDDP_SSN_WORDS];
};

void sddp_ssn_init(struct sddp_ssn *w);
enum sddp_turn sddp_ssn_turn(const struct sddp_ssn *w, u16 ssn);
enum sddp_turn sddp_ssn_push(struct sddp_ssn *w, u16 ssn);
bool sddp_ssn_advance(struct sddp_ssn *w);

#endif
