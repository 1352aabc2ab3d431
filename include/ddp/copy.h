/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Copying of payloads in whole pages, which is faster for large payloads. */
#ifndef _DDP_COPY_H
#define _DDP_COPY_H

#include <linux/kasan-checks.h>
#include <linux/mm.h>
#include <linux/string.h>

/*
 * Copy whole pages with copy_page(), and the bytes before and after the whole
 * pages with memcpy(). The caller must ensure that @len >= PAGE_SIZE and that
 * @dst and @src have the same page offset.
 */
static inline void ddp_copy_by_pages(void *dst, const void *src, size_t len)
{
	size_t at = -(uintptr_t)dst & ~PAGE_MASK;

	/* KASAN does not instrument copy_page(), so check both ranges explicitly */
	kasan_check_read(src, len);
	kasan_check_write(dst, len);
	memcpy(dst, src, at);
	for (; len - at >= PAGE_SIZE; at += PAGE_SIZE)
		copy_page(dst + at, (void *)src + at);
	memcpy(dst + at, src + at, len - at);
}

/*
 * Minimum payload length in bytes for which an LLP aligns its transmit buffer:
 * it copies the payload to the page offset that the payload has at its source,
 * so that ddp_copy() copies whole pages. With pages of 16 KiB or more no
 * segment is that long.
 */
#define DDP_COPY_LONG	(4 * PAGE_SIZE)

/**
 * ddp_copy - copy memory, page by page where possible
 * @dst: destination
 * @src: source
 * @len: number of bytes
 *
 * Copies whole pages with copy_page() if @dst and @src have the same page
 * offset. On x86 CPUs without fast short REP MOVSB, memcpy() copies word by
 * word, so it is slower than copy_page().
 */
static inline void ddp_copy(void *dst, const void *src, size_t len)
{
	if (len < PAGE_SIZE || ((uintptr_t)dst ^ (uintptr_t)src) & ~PAGE_MASK ||
	    IS_ENABLED(CONFIG_KMSAN))
		memcpy(dst, src, len);
	else
		ddp_copy_by_pages(dst, src, len);
}

#endif
