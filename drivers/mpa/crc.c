// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * CRC32c of an FPDU, computed in pieces of any size.
 *
 * RFC 5044 section 4.4 takes the CRC from iSCSI: the initial value is all ones,
 * the result is inverted and sent least significant byte first.
 */
#include <linux/crc32c.h>

#include "crc.h"

/**
 * mpa_crc_init - start a CRC
 *
 * Return: the initial value, for the first mpa_crc_update().
 */
u32 mpa_crc_init(void)
{
	return ~0u;
}

/**
 * mpa_crc_update - add bytes to a CRC
 * @crc: value so far
 * @p: the bytes, markers included
 * @n: number of bytes
 *
 * Return: the new value.
 */
u32 mpa_crc_update(u32 crc, const void *p, size_t n)
{
	return crc32c(crc, p, n);
}

/**
 * mpa_crc_final - write the CRC field of an FPDU
 * @crc: value over everything before the field
 * @out: destination, in the byte order of the wire
 */
void mpa_crc_final(u32 crc, u8 out[MPA_CRC_SIZE])
{
	put_unaligned_le32(~crc, out);
}

/**
 * mpa_crc_matches - check whether a CRC field is correct
 * @crc: value over everything before the field
 * @field: MPA_CRC_SIZE bytes as received
 *
 * Return: true if it is correct, false otherwise.
 */
bool mpa_crc_matches(u32 crc, const u8 *field)
{
	return get_unaligned_le32(field) == (u32)~crc;
}
