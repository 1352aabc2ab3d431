// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * GID table: for any table and any two addresses, an address keeps its entry, entries of other
 * addresses become free, and no entry before the first one for addresses changes.
 *
 * Files: rnic_sw/gids.c
 * Bound: 17, the entries of a table
 * Mutation: rnic_sw/gids.c s/find_gid_index(u->table, u->first, /find_gid_index(u->table, 0, /
 * Mutation: rnic_sw/gids.c s/for (i = u->first;/for (i = 0;/
 * Mutation: rnic_sw/gids.c s/next < u->nr_fresh/next <= u->nr_fresh/
 * Mutation: rnic_sw/gids.c s/a->half\[0\] == b->half\[0\] && //
 * Mutation: rnic_sw/gids.c s/before < GIDS_DELAY_MAX/before <= GIDS_DELAY_MAX/
 */
#include "../../../drivers/rnic_sw/gids.h"
#include "proof.h"

#define FIRST	2u

static bool is_same_gid(const struct gid *a, const struct gid *b)
{
	return a->half[0] == b->half[0] && a->half[1] == b->half[1];
}

static bool is_empty_gid(const struct gid *gid)
{
	return !gid->half[0] && !gid->half[1];
}

void prove_table_update(void)
{
	struct gid table[GIDS_MAX], was[GIDS_MAX], a, b, none = {};
	struct gids_update u;
	u32 i = ANY(u32);

	GIVEN(i < GIDS_MAX);
	GIVEN(!is_empty_gid(&a) && !is_empty_gid(&b));
	memcpy(was, table, sizeof(was));
	gids_begin_update(&u, table, FIRST);
	gids_add_address(&u, &a);
	gids_add_address(&u, &b);
	gids_finish_update(&u);
	if (i < FIRST) {
		MUST("entries before the first one for addresses do not change",
		     is_same_gid(&table[i], &was[i]));
		REACHED("an entry before the first one");
		return;
	}
	MUST("each entry is empty or has an address of the interface",
	     is_same_gid(&table[i], &none) ||
	     is_same_gid(&table[i], &a) || is_same_gid(&table[i], &b));
	if (is_same_gid(&table[i], &was[i]) && !is_empty_gid(&was[i]))
		REACHED("an address keeps its entry");
	if (is_empty_gid(&table[i]) && !is_empty_gid(&was[i]))
		REACHED("an entry becomes free");
	if (is_same_gid(&table[i], &b) && !is_same_gid(&was[i], &b))
		REACHED("a new address");
}

/* An address of the interface that has an entry keeps it */
void prove_addresses_keep_entries(void)
{
	struct gid table[GIDS_MAX], a, b;
	struct gids_update u;
	u32 i = ANY(u32), k;

	GIVEN(FIRST <= i && i < GIDS_MAX);
	a = table[i];
	GIVEN(!is_empty_gid(&a));
	for (k = FIRST; k < GIDS_MAX; k++)
		GIVEN(k >= i || !is_same_gid(&table[k], &a));
	gids_begin_update(&u, table, FIRST);
	gids_add_address(&u, &b);
	gids_add_address(&u, &a);
	gids_finish_update(&u);
	MUST("an address keeps its entry", is_same_gid(&table[i], &a));
	REACHED("kept");
}

/* A new address gets an entry if one is free */
void prove_new_address_gets_free_entry(void)
{
	struct gid table[GIDS_MAX], a;
	struct gids_update u;
	bool found = false;
	u32 i;

	GIVEN(!is_empty_gid(&a));
	gids_begin_update(&u, table, FIRST);
	gids_add_address(&u, &a);
	gids_finish_update(&u);
	for (i = FIRST; i < GIDS_MAX; i++)
		found |= is_same_gid(&table[i], &a);
	MUST("the only address has an entry", found);
	REACHED("entered");
}

void prove_check_delay_is_bounded(void)
{
	u32 before = ANY(u32), delay;

	GIVEN(before >= GIDS_DELAY_MIN && before <= GIDS_DELAY_MAX);
	delay = gids_compute_next_delay(before);
	MUST("the delay doubles from check to check, or there is no further check",
	     !delay || delay == 2 * before);
	MUST("the checks end", !delay == (before == GIDS_DELAY_MAX));
	if (delay)
		REACHED("another check");
	if (!delay)
		REACHED("no further check");
}
