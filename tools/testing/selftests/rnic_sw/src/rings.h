/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Rings that this process has mapped; for their layout see rnic_sw-abi.h. */
#ifndef RNIC_SW_RINGS_H
#define RNIC_SW_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Indexes of words in a ring header, and the header's length in words; each ring starts at a
 * multiple of this length
 */
enum { RING_PROD = 0, RING_CONS = 16, RING_FLAGS = 17, RING_HEADER = 32 };

/* One mapping: a ring, a send ring followed by a receive ring, or several small rings */
struct ring {
	volatile uint32_t	*at;
	size_t			words;
};

/* Find the mappings of rings and store them in @ring.  Return: their number, at most @max */
size_t rings_find_mapped(struct ring *ring, size_t max);

/*
 * Check whether the words at @at can be a ring header: the unused words of a header are 0, but in a
 * ring entry some of them are not
 */
bool is_ring_header(const volatile uint32_t *at);
/*
 * Find ring headers in a mapping: at its start, and wherever words look like a header in use.
 * @at: filled with their offsets, in words.  Return: the number of headers, at most @max
 */
size_t ring_find_headers(const struct ring *ring, size_t *at, size_t max);

#endif
