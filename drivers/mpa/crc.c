// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * CRC32c of an FPDU, fed in any pieces.
 *
 * RFC 5044 section 4.4 takes the CRC from iSCSI: all ones to begin with,
 * inverted at the end, sent least significant octet first.
 */
#include <linux/crc32c.h>

#include "crc.h"

/**
 * mpa_crc_init - the CRC of nothing
 *
 * Return: what to give to the first mpa_crc_update().
 */
u32 mpa_crc_init(void)
{
	return ~0u;
}

/**
 * mpa_crc_update - add octets to a CRC
 * @crc: so far
 * @p: the octets, markers included
 * @n: how many
 *
 * Return: the CRC with them.
 */
u32 mpa_crc_update(u32 crc, const void *p, size_t n)
{
	return crc32c(crc, p, n);
}

/**
 * mpa_crc_final - the CRC field of an FPDU
 * @crc: over all that precedes it
 * @out: the field, as it is on the wire
 */
void mpa_crc_final(u32 crc, u8 out[MPA_CRC_SIZE])
{
	put_unaligned_le32(~crc, out);
}

/**
 * mpa_crc_is - is a CRC field right?
 * @crc: over all that precedes it
 * @field: MPA_CRC_SIZE octets, as they came
 *
 * Return: whether it is.
 */
bool mpa_crc_is(u32 crc, const u8 *field)
{
	return get_unaligned_le32(field) == (u32)~crc;
}
