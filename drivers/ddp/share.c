// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who may wait at a listener.
 *
 * Strangers can come faster than they can be told from honest peers, so a full
 * listener does not shut its door: one that waits goes, the oldest of whatever
 * source has the most.  Who comes from elsewhere is in no danger then, however
 * many connections one source makes.  Where nobody can be sent away any more,
 * there are places beyond the bound for those who have less than their share.
 */
#include "share.h"

#define SHARE	4	/* a fourth */

/**
 * ddp_share_fits - where nobody can be sent away: is there room?
 * @c: who is there
 *
 * A fourth of the places more is for those who have less than a fourth.
 *
 * Return: whether there is.
 */
bool ddp_share_fits(const struct ddp_crowd *c)
{
	u32 more = c->bound / SHARE;

	return c->waiting < c->bound + (c->own < more ? more : 0);
}

/**
 * ddp_share_takes - where one can be sent away: is it worth it?
 * @c: who is there
 *
 * Who was sent away is there until its socket is closed: together they are
 * never more than twice the bound.
 *
 * Return: whether the newcomer is taken in; if all places are taken somebody
 * else has to go.
 */
bool ddp_share_takes(const struct ddp_crowd *c)
{
	return c->held < 2 * c->bound;
}

/**
 * ddp_share_loser - which source loses its oldest caller?
 * @waiting: how many wait, of each source
 * @sources: how many sources there are
 * @oldest: the source of the oldest caller of all
 *
 * Return: one that has the most; of several @oldest, if it is one of them.
 */
u32 ddp_share_loser(const u32 *waiting, u32 sources, u32 oldest)
{
	u32 loser = oldest, i;

	for (i = 0; i < sources; i++)
		if (waiting[i] > waiting[loser])
			loser = i;
	return loser;
}

/**
 * ddp_share_victim - who of those whose sources have one number goes?
 * @source: their sources, the oldest first
 * @n: how many they are, at least one
 *
 * Different sources may have the same number, and one with many callers is not
 * to drive out who happens to share it.
 *
 * Return: which of them: the oldest of the source that has the most of them.
 */
u32 ddp_share_victim(const u32 *source, u32 n)
{
	u32 victim = 0, most = 0, i, j, count;

	for (i = 0; i < n; i++) {
		for (count = 0, j = i; j < n; j++)
			count += source[j] == source[i];
		if (count > most) {
			most = count;
			victim = i;
		}
	}
	return victim;
}
