/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_BITMAP_H
#define _HOST_UNIT_BITMAP_H

#include <linux/types.h>

#define HOST_LONG_BITS		(8 * sizeof(long))
#define DECLARE_BITMAP(name, n)	unsigned long name[((n) + HOST_LONG_BITS - 1) / HOST_LONG_BITS]

static inline bool host_test_bit(const unsigned long *map, unsigned long n)
{
	return map[n / HOST_LONG_BITS] >> n % HOST_LONG_BITS & 1;
}

static inline void bitmap_set(unsigned long *map, unsigned int at, unsigned int n)
{
	for (; n--; at++)
		map[at / HOST_LONG_BITS] |= 1ul << at % HOST_LONG_BITS;
}

static inline void bitmap_clear(unsigned long *map, unsigned int at, unsigned int n)
{
	for (; n--; at++)
		map[at / HOST_LONG_BITS] &= ~(1ul << at % HOST_LONG_BITS);
}

/*
 * Find @n consecutive clear bits. Return: the first of them, or a number >=
 * @size if there are none.
 */
static inline unsigned long bitmap_find_next_zero_area(const unsigned long *map,
						       unsigned long size, unsigned long at,
						       unsigned int n, unsigned long align)
{
	unsigned long in_row = 0;

	for (; at < size; at++) {
		in_row = host_test_bit(map, at) ? 0 : in_row + 1;
		if (in_row == n)
			return at + 1 - n;
	}
	return size + 1;
}

static inline bool bitmap_full(const unsigned long *map, unsigned int size)
{
	return bitmap_find_next_zero_area(map, size, 0, 1, 0) >= size;
}

static inline bool bitmap_empty(const unsigned long *map, unsigned int size)
{
	return !bitmap_find_next_zero_area(map, size, 0, size, 0);
}

#endif
