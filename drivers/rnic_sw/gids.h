/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * GID table of a device: which address has which entry.
 *
 * The caller lists all addresses of the interface, between gids_begin_update() and
 * gids_finish_update().  An address that has an entry keeps it, so that the index of a GID does
 * not change while the interface has the address.
 */
#ifndef _RNIC_SW_GIDS_H
#define _RNIC_SW_GIDS_H

#include <ddp/pure.h>

#define GIDS_MAX	16u	/* number of entries of a GID table */

/* Time from a change of addresses to the update of the table, in milliseconds */
#define GIDS_DELAY_MIN	50u
/*
 * Maximum time between two checks of a table that may still change without a notification, in
 * milliseconds
 */
#define GIDS_DELAY_MAX	25600u

/* One GID: the 16 bytes of an IPv6 address; zero in an empty entry */
struct gid {
	__be64	half[2];
};

/**
 * struct gids_update - update of a GID table in progress
 * @table: the GID table, with GIDS_MAX entries
 * @first: index of the first entry for addresses
 * @kept: entries whose address has been listed, one bit each
 * @nr_fresh: number of elements of @fresh
 * @fresh: listed addresses that have no entry, in the order of the list
 */
struct gids_update {
	struct gid	*table;
	u32		first;
	u32		kept;
	u32		nr_fresh;
	struct gid	fresh[GIDS_MAX];
};

void gids_begin_update(struct gids_update *u, struct gid *table, u32 first);
void gids_add_address(struct gids_update *u, const struct gid *gid);
void gids_finish_update(const struct gids_update *u);
u32 gids_compute_next_delay(u32 before);

#endif
