/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Model of a common first-level cache: 32 KiB, lines of 64 bytes, 8 ways, LRU replacement. */
#ifndef CACHE_H
#define CACHE_H

#include <stdint.h>

enum { CACHE_LINE = 64, CACHE_WAYS = 8, CACHE_SETS = 64 };

/**
 * struct cache - contents of the cache
 * @line: lines of each set, the last used one first, each as address / CACHE_LINE + 1; 0: no line
 * @fetched: number of lines that were not present when used
 */
struct cache {
	uint64_t line[CACHE_SETS][CACHE_WAYS];
	uint64_t fetched;
};

/*
 * Use @octets bytes at @addr, at least one: fetch the lines of these bytes that are not in the
 * cache
 */
void cache_access(struct cache *c, uint64_t addr, uint64_t octets);
uint64_t cache_take_fetch_count(struct cache *c);

#endif
