// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The window of DDP-SSNs: see ssn.h. */
#include "ssn.h"

/* What may be in flight fits: no two of it share a bit */
static_assert(SDDP_IN_FLIGHT_MAX < SDDP_SSN_BITS);

static u32 word_of(u16 ssn)
{
	return ssn % SDDP_SSN_BITS / 32;
}

static u32 bit_of(u16 ssn)
{
	return 1U << ssn % 32;
}

static bool is_here(const struct sddp_ssn *w, u16 ssn)
{
	return w->early[word_of(ssn)] & bit_of(ssn);
}

/**
 * sddp_ssn_init - a session begins: the first DDP-SSN is zero (RFC 5043 6.1)
 * @w: the window
 */
void sddp_ssn_init(struct sddp_ssn *w)
{
	memset(w, 0, sizeof(*w));
}

/**
 * sddp_ssn_turn - when would this one's turn come?
 * @w: the window
 * @ssn: a DDP-SSN as it came
 *
 * A gap is held against what may be in flight, 32767 chunks, before anybody
 * allocates anything because of it (RFC 5043 section 10).
 *
 * Return: see enum sddp_turn.
 */
enum sddp_turn sddp_ssn_turn(const struct sddp_ssn *w, u16 ssn)
{
	u16 ahead = ssn - w->next;

	if (!ahead)
		return SDDP_NOW;
	if (ahead < SDDP_IN_FLIGHT_MAX)
		return is_here(w, ssn) ? SDDP_DUP : SDDP_EARLY;
	return ahead < SDDP_SSN_SPACE / 2 ? SDDP_FAR : SDDP_DUP;
}

/**
 * sddp_ssn_push - a chunk has arrived
 * @w: the window
 * @ssn: its DDP-SSN
 *
 * Return: as sddp_ssn_turn(); of an EARLY one note is taken.  After NOW
 * sddp_ssn_advance() is due once the chunk is dealt with.
 */
enum sddp_turn sddp_ssn_push(struct sddp_ssn *w, u16 ssn)
{
	enum sddp_turn turn = sddp_ssn_turn(w, ssn);

	if (turn == SDDP_EARLY)
		w->early[word_of(ssn)] |= bit_of(ssn);
	return turn;
}

/**
 * sddp_ssn_advance - the chunk whose turn it was is dealt with
 * @w: the window; @w->next becomes the next one's
 *
 * Return: whether that one is already here, as an EARLY one.
 */
bool sddp_ssn_advance(struct sddp_ssn *w)
{
	bool here;

	w->next++;
	here = is_here(w, w->next);
	w->early[word_of(w->next)] &= ~bit_of(w->next);
	return here;
}
