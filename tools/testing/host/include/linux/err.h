/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_ERR_H
#define _HOST_LINUX_ERR_H

#include <linux/errno.h>
#include <linux/types.h>

#define IS_ERR_VALUE(x)	((unsigned long)(x) >= (unsigned long)-4095)

static inline void *ERR_PTR(long err)
{
	return (void *)err;
}

static inline long PTR_ERR(const void *p)
{
	return (long)p;
}

static inline bool IS_ERR(const void *p)
{
	return IS_ERR_VALUE(p);
}

static inline int PTR_ERR_OR_ZERO(const void *p)
{
	return IS_ERR(p) ? PTR_ERR(p) : 0;
}

#define ERR_CAST(p)	((void *)(p))

static inline bool IS_ERR_OR_NULL(const void *p)
{
	return !p || IS_ERR(p);
}

#endif
