/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_PRANDOM_H
#define _HOST_LINUX_PRANDOM_H

#include <linux/types.h>

struct rnd_state {
	u64 s;
};

static inline void prandom_seed_state(struct rnd_state *r, u64 seed)
{
	r->s = seed * 0x9e3779b97f4a7c15ULL | 1;
}

/* Generate random numbers with xorshift64*; they differ from the kernel's */
static inline u32 prandom_u32_state(struct rnd_state *r)
{
	r->s ^= r->s >> 12;
	r->s ^= r->s << 25;
	r->s ^= r->s >> 27;
	return r->s * 0x2545f4914f6cdd1dULL >> 32;
}

static inline void prandom_bytes_state(struct rnd_state *r, void *buf, size_t n)
{
	u8 *p = buf;

	while (n--)
		*p++ = prandom_u32_state(r);
}

#endif
