/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Compute the CRC32c of an FPDU, RFC 5044 section 4.4. */
#ifndef _MPA_CRC_H
#define _MPA_CRC_H

#include <ddp/pure.h>
#include "wire.h"

u32 mpa_crc_init(void);
u32 mpa_crc_update(u32 crc, const void *p, size_t n);
void mpa_crc_final(u32 crc, u8 out[MPA_CRC_SIZE]);
bool mpa_crc_matches(u32 crc, const u8 *field);

#endif
