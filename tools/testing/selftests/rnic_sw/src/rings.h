/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Rings that this process has mapped; their words, see rnic_sw-abi.h. */
#ifndef RNIC_SW_RINGS_H
#define RNIC_SW_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words of a ring's header, and how many it has; rings begin where it fits */
enum { RING_PROD = 0, RING_CONS = 16, RING_FLAGS = 17, RING_HEADER = 32 };

/* What is mapped at once: a ring, or that of a receive queue behind a send queue's */
struct ring {
	volatile uint32_t	*at;
	size_t			words;
};

/* How many there are, @max at most, filled in */
size_t rings_mapped(struct ring *ring, size_t max);

/* Is there nothing but what a header has? In a slot there would be more than that */
bool ring_is_header(const volatile uint32_t *at);
/*
 * Where headers are, @max at most, in words: at the beginning, and wherever something
 * looks like one that is in use.  How many
 */
size_t ring_headers(const struct ring *ring, size_t *at, size_t max);

#endif
