// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Whose turn it is: see ssn.h. */
#include "ssn.h"

/**
 * sddp_ssn_turn - when would this one's turn come?
 * @next: the DDP-SSN whose turn it is
 * @ssn: a DDP-SSN as it came
 *
 * A gap is held against what may be in flight, 32767 chunks, before anybody
 * allocates anything because of it (RFC 5043 section 10).
 *
 * Return: see enum sddp_turn.  Whether an EARLY one is here already knows who
 * keeps them.
 */
enum sddp_turn sddp_ssn_turn(u16 next, u16 ssn)
{
	u16 ahead = ssn - next;

	if (!ahead)
		return SDDP_NOW;
	if (ahead < SDDP_IN_FLIGHT_MAX)
		return SDDP_EARLY;
	return ahead < SDDP_SSN_SPACE / 2 ? SDDP_FAR : SDDP_DUP;
}

/**
 * sddp_tally_chunk - one more is here
 * @t: the tally
 */
void sddp_tally_chunk(struct sddp_tally *t)
{
	t->n++;
}

/**
 * sddp_tally_last - it was the peer's Terminate
 * @t: the tally; the chunk is counted
 * @ssn: its DDP-SSN; of several Terminates the first counts
 */
void sddp_tally_last(struct sddp_tally *t, u16 ssn)
{
	if (t->last)
		return;
	t->last = true;
	t->n -= ssn + 1;
}

/**
 * sddp_tally_whole - can anything of the session still come?
 * @t: the tally
 *
 * Return: whether its last chunk and all before it are here.
 */
bool sddp_tally_whole(const struct sddp_tally *t)
{
	return t->last && !t->n;
}
