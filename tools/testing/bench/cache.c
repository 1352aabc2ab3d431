// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Model of a cache, see cache.h. */
#include "cache.h"

/* Move @line to the front of its set. If it was not there, count a fetch and drop the last line */
static void access_line(struct cache *c, uint64_t line)
{
	uint64_t *set = c->line[line % CACHE_SETS], wanted = line + 1, last = wanted;
	int i;

	for (i = 0; i < CACHE_WAYS; i++) {
		uint64_t here = set[i];

		set[i] = last;
		if (here == wanted)
			return;
		last = here;
	}
	c->fetched++;
}

void cache_access(struct cache *c, uint64_t addr, uint64_t octets)
{
	uint64_t line;

	for (line = addr / CACHE_LINE; line <= (addr + octets - 1) / CACHE_LINE; line++)
		access_line(c, line);
}

/* Return: the number of lines fetched since the last call */
uint64_t cache_take_fetch_count(struct cache *c)
{
	uint64_t n = c->fetched;

	c->fetched = 0;
	return n;
}
