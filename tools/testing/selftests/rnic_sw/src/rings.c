// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Find the rings that this process has mapped. */
#include <stdio.h>
#include <string.h>

#include "rings.h"

size_t rings_find_mapped(struct ring *ring, size_t max)
{
	unsigned long long from, to;
	char line[512];
	size_t n = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && n < max && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/uverbs") ||
		    sscanf(line, "%llx-%llx", &from, &to) != 2)
			continue;
		ring[n].at = (uint32_t *)(uintptr_t)from;
		ring[n++].words = (to - from) / 4;
	}
	if (f)
		fclose(f);
	return n;
}

bool is_ring_header(const volatile uint32_t *at)
{
	size_t i;

	for (i = 1; i < RING_HEADER; i++)
		if (i != RING_CONS && i != RING_FLAGS && at[i])
			return false;
	return true;
}

static bool is_ring_used(const volatile uint32_t *at)
{
	return at[RING_PROD] || at[RING_CONS] || at[RING_FLAGS];
}

size_t ring_find_headers(const struct ring *ring, size_t *at, size_t max)
{
	size_t where, n = 0;

	at[n++] = 0;
	for (where = RING_HEADER; n < max && where < ring->words; where += RING_HEADER)
		if (is_ring_used(ring->at + where) && is_ring_header(ring->at + where))
			at[n++] = where;
	return n;
}
