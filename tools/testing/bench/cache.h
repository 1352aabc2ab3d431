/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A cache as most processors have them nearest: 32 KiB, lines of 64 octets, 8 ways, of
 * which the one goes that was used longest ago.
 */
#ifndef CACHE_H
#define CACHE_H

#include <stdint.h>

enum { CACHE_LINE = 64, CACHE_WAYS = 8, CACHE_SETS = 64 };

/**
 * struct cache - what it holds
 * @line: of each set, the one used last first; 0 is none, else an address by
 *	CACHE_LINE, and one more
 * @fetched: lines that were not there when they were used
 */
struct cache {
	uint64_t line[CACHE_SETS][CACHE_WAYS];
	uint64_t fetched;
};

/* @octets: at least one */
void cache_use(struct cache *c, uint64_t addr, uint64_t octets);
uint64_t cache_fetched(struct cache *c);

#endif
