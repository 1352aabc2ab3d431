/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Rings that this process has mapped; their words, see rnic_sw-abi.h. */
#ifndef RNIC_SW_RINGS_H
#define RNIC_SW_RINGS_H

#include <stddef.h>
#include <stdint.h>

/* Words of a ring's header */
enum { RING_PROD = 0, RING_CONS = 16, RING_FLAGS = 17 };

struct ring {
	volatile uint32_t	*at;
	size_t			words;
};

/* How many there are, @max at most, filled in */
size_t rings_mapped(struct ring *ring, size_t max);

#endif
