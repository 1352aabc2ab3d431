// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Replacements for the kernel functions that pure files call and that are not inline. */
#include <linux/crc32c.h>

#include "unit/linux/atomic.h"

void (*host_at_wmb)(void);

#define CRC32C_POLY	0x82f63b78	/* Castagnoli polynomial, reflected */

static u32 crc_table[256];

static void __attribute__((constructor)) fill_crc_table(void)
{
	u32 i, bit, crc;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC32C_POLY : 0);
		crc_table[i] = crc;
	}
}

u32 crc32c(u32 crc, const void *p, size_t len)
{
	const u8 *s = p;

	while (len--)
		crc = crc >> 8 ^ crc_table[(crc ^ *s++) & 0xff];
	return crc;
}
