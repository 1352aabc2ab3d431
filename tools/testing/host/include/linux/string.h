/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_STRING_H
#define _HOST_LINUX_STRING_H

#include <linux/types.h>
#include <string.h>

static inline ssize_t strscpy(char *dst, const char *src, size_t size)
{
	size_t len = 0;

	/* not memchr(): @src may be shorter than @size bytes */
	while (len < size && src[len])
		len++;
	if (!size)
		return -7;	/* -E2BIG */
	if (len == size)
		len--;
	memcpy(dst, src, len);
	dst[len] = 0;
	return src[len] ? -7 : (ssize_t)len;
}

static inline void *memchr_inv(const void *p, int c, size_t n)
{
	const u8 *s = p;

	for (; n; n--, s++)
		if (*s != (u8)c)
			return (void *)s;
	return NULL;
}

#endif
