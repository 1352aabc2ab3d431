/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_CRC32C_H
#define _HOST_LINUX_CRC32C_H

#include <linux/types.h>

/* As in the kernel, the caller inverts the CRC before and after the call */
u32 crc32c(u32 crc, const void *p, size_t len);

#endif
