// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* GID table of a device: assign entries to addresses.  gid_table.c lists the addresses. */
#include "gids.h"

static bool are_gids_equal(const struct gid *a, const struct gid *b)
{
	return a->half[0] == b->half[0] && a->half[1] == b->half[1];
}

/* Find a GID in the elements @from to @to - 1.  Return: its index, or @to. */
static u32 find_gid_index(const struct gid *list, u32 from, u32 to, const struct gid *gid)
{
	u32 i;

	for (i = from; i < to; i++)
		if (are_gids_equal(&list[i], gid))
			break;
	return i;
}

/**
 * gids_begin_update - begin to update a GID table
 * @u: state of the update, to initialize
 * @table: the table, with GIDS_MAX entries; only gids_finish_update() changes the table
 * @first: index of the first entry for addresses, less than GIDS_MAX; entries before it are
 *	left alone
 */
void gids_begin_update(struct gids_update *u, struct gid *table, u32 first)
{
	u->table = table;
	u->first = first;
	u->kept = 0;
	u->nr_fresh = 0;
}

/**
 * gids_add_address - list one address of the interface
 * @u: the update
 * @gid: the address, which may have been listed before; not zero
 *
 * If the table is too small, addresses that have an entry keep it, and the addresses listed
 * first get the other entries.
 */
void gids_add_address(struct gids_update *u, const struct gid *gid)
{
	u32 i = find_gid_index(u->table, u->first, GIDS_MAX, gid);

	if (i < GIDS_MAX)
		u->kept |= 1u << i;
	else if (u->nr_fresh < GIDS_MAX &&
		 find_gid_index(u->fresh, 0, u->nr_fresh, gid) == u->nr_fresh)
		u->fresh[u->nr_fresh++] = *gid;
}

/**
 * gids_finish_update - change the table after all addresses have been listed
 * @u: the update
 *
 * Removes entries whose address was not listed, and enters new addresses into the lowest
 * entries that are free.
 */
void gids_finish_update(const struct gids_update *u)
{
	u32 i, next = 0;

	for (i = u->first; i < GIDS_MAX; i++) {
		if (u->kept & 1u << i)
			continue;
		if (next < u->nr_fresh)
			u->table[i] = u->fresh[next++];
		else
			u->table[i] = (struct gid){};
	}
}

/**
 * gids_compute_next_delay - compute the time until the next check of a table
 * @before: delay before the last check, in milliseconds
 *
 * For a table that may still change without a notification, see gid_table.c.
 *
 * Return: the time in milliseconds, or 0 if the next check must wait for a notification.
 */
u32 gids_compute_next_delay(u32 before)
{
	return before < GIDS_DELAY_MAX ? 2 * before : 0;
}
