// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Compute the CRC32c of an FPDU. The bytes of the FPDU may be added in several calls.
 *
 * RFC 5044 section 4.4 uses the CRC of iSCSI: the initial value is all ones, and
 * the result is inverted and sent least significant byte first.
 */
#include <linux/crc32c.h>

#include "crc.h"

/**
 * mpa_crc_init - get the initial value of a CRC
 *
 * Return: the value to pass to the first mpa_crc_update().
 */
u32 mpa_crc_init(void)
{
	return ~0u;
}

/**
 * mpa_crc_update - add bytes to a CRC
 * @crc: result of mpa_crc_init() or of the previous call
 * @p: the bytes, markers included
 * @n: number of bytes
 *
 * Return: the new value of the CRC.
 */
u32 mpa_crc_update(u32 crc, const void *p, size_t n)
{
	return crc32c(crc, p, n);
}

/**
 * mpa_crc_final - write the CRC field of an FPDU
 * @crc: result of mpa_crc_update() for all bytes before the CRC field
 * @out: destination; written least significant byte first
 */
void mpa_crc_final(u32 crc, u8 out[MPA_CRC_SIZE])
{
	put_unaligned_le32(~crc, out);
}

/**
 * mpa_crc_matches - check whether a CRC field is correct
 * @crc: result of mpa_crc_update() for all bytes before the CRC field
 * @field: CRC field as received, MPA_CRC_SIZE bytes
 *
 * Return: true if the CRC field is correct, false otherwise.
 */
bool mpa_crc_matches(u32 crc, const u8 *field)
{
	return get_unaligned_le32(field) == (u32)~crc;
}
