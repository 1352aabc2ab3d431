// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Bounds on what a peer can make us keep: see share.h. */
#include "share.h"

#define DELAY_LEAST	10	/* milliseconds */
#define DELAY_MOST	1000

/**
 * sddp_share_early - may an early chunk be kept?
 * @kept: what the association's cost already, octets
 * @all: what all associations' cost
 * @cost: of this one
 *
 * One association gets at most half of what is left, so that many that take
 * all they can leave some to the next one; the least it gets always.
 *
 * Return: whether.
 */
bool sddp_share_early(u32 kept, u64 all, u32 cost)
{
	u32 left = all < SDDP_EARLY_ALL ? SDDP_EARLY_ALL - all : 0;
	u32 most = left / 2;

	if (most < SDDP_EARLY_LEAST)
		most = SDDP_EARLY_LEAST;
	if (most > SDDP_EARLY_ASSOC)
		most = SDDP_EARLY_ASSOC;
	return cost <= most && kept <= most - cost;
}

/**
 * sddp_share_waiting - may a chunk be kept that waits for memory of ours?
 * @chunks: of its session that are kept
 * @kept: what the association's cost already, octets
 * @all: what all associations' cost
 *
 * Return: whether.
 */
bool sddp_share_waiting(u32 chunks, u32 kept, u64 all)
{
	return chunks < SDDP_WAITING_CHUNKS && kept < SDDP_WAITING_ASSOC &&
	       all < SDDP_WAITING_ALL;
}

/**
 * sddp_share_leaver - one stranger more: does another one have to go?
 * @c: those that are there already
 *
 * Return: among whom, see enum sddp_leaver.
 */
enum sddp_leaver sddp_share_leaver(const struct sddp_crowd *c)
{
	if (c->peer >= SDDP_STRANGERS_PEER)
		return SDDP_LEAVE_PEER;
	if (c->place >= SDDP_STRANGERS_PLACE)
		return SDDP_LEAVE_PLACE;
	if (c->net >= SDDP_STRANGERS_NET)
		return SDDP_LEAVE_NET;
	return SDDP_LEAVE_NONE;
}

/**
 * sddp_share_delay - how long to wait when memory was short once more
 * @before: the last time, milliseconds; 0: this is the first
 *
 * Return: milliseconds.
 */
u32 sddp_share_delay(u32 before)
{
	if (before < DELAY_LEAST)
		return DELAY_LEAST;
	return before > DELAY_MOST / 2 ? DELAY_MOST : 2 * before;
}

static int badness(int err)
{
	switch (err) {
	case 0:
		return 0;
	case -EADDRINUSE:
		return 1;
	case -ENOMEM:
		return 3;
	default:
		return 2;
	}
}

/**
 * sddp_share_worse - of many addresses some could not be had: why?
 * @a: 0 or why one could not
 * @b: 0 or why another one could not
 *
 * That another has it is nobody's fault; for memory one may try again.
 *
 * Return: the one that tells more.
 */
int sddp_share_worse(int a, int b)
{
	return badness(b) > badness(a) ? b : a;
}
