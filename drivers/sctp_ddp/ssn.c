// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Arithmetic on DDP-SSNs: see ssn.h. */
#include "ssn.h"

/**
 * sddp_ssn_compare - compare the DDP-SSN of a chunk with the next expected DDP-SSN
 * @next: next expected DDP-SSN
 * @ssn: DDP-SSN of a received chunk
 *
 * The caller must call this function before it allocates memory for an out-of-order chunk.
 * A chunk is refused without using memory if it is further ahead than the 32767 chunks that
 * may be in flight (RFC 5043 section 10).
 *
 * Return: the position, see enum sddp_ssn_order. SDDP_SSN_EARLY includes duplicates of
 * kept chunks, which the caller must detect.
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
 * sddp_tally_increment - count a chunk of an ended session
 * @t: the count of the session's chunks
 */
void sddp_tally_increment(struct sddp_tally *t)
{
	t->n++;
}

/**
 * sddp_tally_set_last - record that one of the counted chunks is the peer's Terminate
 * @t: the count of the session's chunks, including the Terminate
 * @ssn: DDP-SSN of the Terminate; ignored if a Terminate has been recorded already
 */
void sddp_tally_set_last(struct sddp_tally *t, u16 ssn)
{
	if (t->last)
		return;
	t->last = true;
	t->n -= ssn + 1;
}

/**
 * sddp_tally_is_complete - check whether all chunks of a session have been received
 * @t: the count of the session's chunks
 *
 * Return: true if the peer's Terminate and all chunks before it have been received, so
 * that no more chunk of the session can arrive; false otherwise.
 */
bool sddp_tally_is_complete(const struct sddp_tally *t)
{
	return t->last && !t->n;
}
