/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_UNALIGNED_H
#define _HOST_LINUX_UNALIGNED_H

#include <asm/byteorder.h>

#define host_unaligned(bits, end)					\
static inline u##bits get_unaligned_##end##bits(const void *p)		\
{									\
	__##end##bits v;						\
									\
	__builtin_memcpy(&v, p, sizeof(v));				\
	return end##bits##_to_cpu(v);					\
}									\
									\
static inline void put_unaligned_##end##bits(u##bits val, void *p)	\
{									\
	__##end##bits v = cpu_to_##end##bits(val);			\
									\
	__builtin_memcpy(p, &v, sizeof(v));				\
}

host_unaligned(16, be)
host_unaligned(32, be)
host_unaligned(64, be)
host_unaligned(16, le)
host_unaligned(32, le)
host_unaligned(64, le)

#endif
