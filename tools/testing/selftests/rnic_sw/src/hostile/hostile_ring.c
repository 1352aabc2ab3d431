// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Write wrong values to the rings that this process has mapped. */
#include <unistd.h>

#include "hostile.h"
#include "rings.h"

#define RINGS		64
#define HEADER_WORDS	48	/* the header and the start of the first entry */

/*
 * First post slightly more entries than a ring of a random size has, then advance the index by half
 * of its range
 */
static void write_two_bad_indexes(volatile uint32_t *at)
{
	at[RING_PROD] = at[RING_CONS] + (1u << get_random_below(9)) + 1 + get_random_below(3);
	usleep(get_random_below(500));
	at[RING_PROD] += 1u << 31;
	usleep(get_random_below(500));
}

/* Write a value that would harm a kernel that trusts it */
static void write_bad_value(const struct ring *r)
{
	size_t header[8];
	volatile uint32_t *at = r->at + header[get_random_below(ring_find_headers(r, header, 8))];

	switch (get_random_below(8)) {
	case 0:
		at[RING_PROD] += 1u << get_random_below(32);
		break;
	case 1:
		at[RING_PROD] = at[RING_CONS] + get_random_below(80);
		break;
	case 2:
		at[RING_CONS] = at[RING_PROD] - get_random_below(80);
		break;
	case 3:
		at[RING_CONS] = get_random_value();
		break;
	case 4:
		at[RING_FLAGS] = get_random_below(4);
		break;
	case 5:
		r->at[get_random_below(HEADER_WORDS)] = get_random_value();
		break;
	case 6:
		if (!get_random_below(100))
			write_two_bad_indexes(at);
		break;
	default:
		r->at[get_random_below(r->words)] = get_random_value();
	}
}

/**
 * corrupt_mapped_rings - write a burst of wrong values to mapped rings
 *
 * Another thread may unmap a ring during the call: the caller must handle SIGSEGV.
 *
 * Return: true if a ring was mapped, false otherwise.
 */
bool corrupt_mapped_rings(void)
{
	static __thread struct ring ring[RINGS];
	size_t n = rings_find_mapped(ring, RINGS);
	int i;

	for (i = 0; n && i < 2000; i++)
		write_bad_value(&ring[get_random_below(n)]);
	return n;
}
