// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Scribbling into the rings that this process has mapped. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hostile.h"

#define RINGS		64
#define HEADER_WORDS	48	/* the header, and the first slot's beginning */
#define PROD		0	/* words of the header, see rnic_sw-abi.h */
#define CONS		16
#define FLAGS		17

struct ring {
	volatile uint32_t	*at;
	size_t			words;
};

static size_t find_rings(struct ring *ring)
{
	unsigned long long from, to;
	char line[512];
	size_t n = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && n < RINGS && fgets(line, sizeof(line), f)) {
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

/* One more than there is room for is taken; then there is no end to them */
static void lie_twice(volatile uint32_t *at)
{
	at[PROD] = at[CONS] + (1u << dice(9)) + 1 + dice(3);
	usleep(dice(500));
	at[PROD] += 1u << 31;
	usleep(dice(500));
}

/* What a kernel that believed it would go wrong by */
static void one_lie(const struct ring *r)
{
	volatile uint32_t *at = r->at;

	switch (dice(8)) {
	case 0:
		at[PROD] += 1u << dice(32);
		break;
	case 1:
		at[PROD] = at[CONS] + dice(80);
		break;
	case 2:
		at[CONS] = at[PROD] - dice(80);
		break;
	case 3:
		at[CONS] = nonsense();
		break;
	case 4:
		at[FLAGS] = dice(4);
		break;
	case 5:
		at[dice(HEADER_WORDS)] = nonsense();
		break;
	case 6:
		if (!dice(100))
			lie_twice(at);
		break;
	default:
		at[dice(r->words)] = nonsense();
	}
}

/**
 * ring_scribble - a burst of lies into whatever is mapped now
 *
 * Another thread may unmap it meanwhile: the caller is ready for a fault.
 */
void ring_scribble(void)
{
	static __thread struct ring ring[RINGS];
	size_t n = find_rings(ring);
	int i;

	for (i = 0; n && i < 2000; i++)
		one_lie(&ring[dice(n)]);
}
