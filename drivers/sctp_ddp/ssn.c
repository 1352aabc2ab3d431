// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Order of DDP-SSNs: see ssn.h. */
#include "ssn.h"

/**
 * sddp_ssn_compare - compare a DDP-SSN with the next expected one
 * @next: next expected DDP-SSN
 * @ssn: DDP-SSN of a received chunk
 *
 * A gap is checked against the maximum in flight, 32767 chunks, before any
 * memory is allocated because of it (RFC 5043 section 10).
 *
 * Return: the position, see enum sddp_ssn_order. SDDP_SSN_EARLY includes duplicates of
 * chunks that are kept: the caller has to check for these.
 */
enum sddp_ssn_order sddp_ssn_compare(u16 next, u16 ssn)
{
	u16 ahead = ssn - next;

	if (!ahead)
		return SDDP_SSN_NEXT;
	if (ahead < SDDP_IN_FLIGHT_MAX)
		return SDDP_SSN_EARLY;
	return ahead < SDDP_SSN_SPACE / 2 ? SDDP_SSN_FAR : SDDP_SSN_DUP;
}

/**
 * sddp_tally_chunk - count a chunk of an ended session
 * @t: the tally
 */
void sddp_tally_chunk(struct sddp_tally *t)
{
	t->n++;
}

/**
 * sddp_tally_last - note that a counted chunk is the peer's Terminate
 * @t: the tally; the chunk has been counted
 * @ssn: DDP-SSN of the chunk; ignored if a Terminate has been noted before
 */
void sddp_tally_last(struct sddp_tally *t, u16 ssn)
{
	if (t->last)
		return;
	t->last = true;
	t->n -= ssn + 1;
}

/**
 * sddp_tally_complete - check whether all chunks of a session have arrived
 * @t: the tally
 *
 * Return: true if the peer's Terminate and all chunks before it have arrived,
 * so that no chunk of the session can still come; false otherwise.
 */
bool sddp_tally_complete(const struct sddp_tally *t)
{
	return t->last && !t->n;
}
