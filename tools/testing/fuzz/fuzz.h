/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Common part of the fuzz targets: access to the input, and the assertion
 * MUST().
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include <ddp/pure.h>

/*
 * Assert a property that must hold for every input. When the property is violated, scripts/fuzz
 * reports this @name.
 */
#define MUST(name, cond) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "BROKEN: %s: %s at %s:%d\n", name,	\
			#cond, __FILE__, __LINE__);			\
		abort();						\
	}								\
} while (0)

/* Input bytes not used yet; after the last byte, numbers are read as 0 */
struct input {
	const u8	*p;
	size_t		left;
};

static inline u64 read_number(struct input *in, u32 octets)
{
	u64 v = 0;

	while (octets--) {
		v <<= 8;
		if (in->left) {
			v |= *in->p++;
			in->left--;
		}
	}
	return v;
}

static inline u8 read_u8(struct input *in)
{
	return read_number(in, 1);
}

static inline u16 read_u16(struct input *in)
{
	return read_number(in, 2);
}

static inline u32 read_u32(struct input *in)
{
	return read_number(in, 4);
}

static inline u64 read_u64(struct input *in)
{
	return read_number(in, 8);
}

/*
 * Copy the next bytes, at most @len, into an allocation of exactly that size, so that
 * sanitizers detect an access beyond the bytes
 */
static inline u8 *read_bytes(struct input *in, size_t *len)
{
	u8 *copy;

	*len = min(*len, in->left);
	copy = malloc(*len);
	memcpy(copy, in->p, *len);
	in->p += *len;
	in->left -= *len;
	return copy;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif
