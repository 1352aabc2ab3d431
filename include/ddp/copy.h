/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Copying what may be much. */
#ifndef _DDP_COPY_H
#define _DDP_COPY_H

#include <linux/kasan-checks.h>
#include <linux/mm.h>
#include <linux/string.h>

/* A page at least, and both lie alike in theirs */
static inline void ddp_copy_pages(void *dst, const void *src, size_t len)
{
	size_t at = -(uintptr_t)dst & ~PAGE_MASK;

	/* what copies a page has no checks */
	kasan_check_read(src, len);
	kasan_check_write(dst, len);
	memcpy(dst, src, at);
	for (; len - at >= PAGE_SIZE; at += PAGE_SIZE)
		copy_page(dst + at, (void *)src + at);
	memcpy(dst + at, src + at, len - at);
}

/*
 * So many octets of a segment are worth being laid where they lie alike.  With pages of more
 * than 4 KiB no segment has as many.
 */
#define DDP_COPY_LONG	(4 * PAGE_SIZE)

/**
 * ddp_copy - as memcpy(), of what may be much
 * @dst: where to
 * @src: where from
 * @len: how many octets
 *
 * x86's memcpy() goes word by word on processors that do not repeat short strings fast.
 * What copies a page is as fast as a machine can, so whole pages go that way where
 * both sides lie alike in them.
 */
static inline void ddp_copy(void *dst, const void *src, size_t len)
{
	if (len < PAGE_SIZE || ((uintptr_t)dst ^ (uintptr_t)src) & ~PAGE_MASK ||
	    IS_ENABLED(CONFIG_KMSAN))
		memcpy(dst, src, len);
	else
		ddp_copy_pages(dst, src, len);
}

#endif
