/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Copying of large payloads. */
#ifndef _DDP_COPY_H
#define _DDP_COPY_H

#include <linux/kasan-checks.h>
#include <linux/mm.h>
#include <linux/string.h>

/* @len >= PAGE_SIZE, and both addresses have the same page offset */
static inline void ddp_copy_pages(void *dst, const void *src, size_t len)
{
	size_t at = -(uintptr_t)dst & ~PAGE_MASK;

	/* copy_page() is not instrumented by KASAN */
	kasan_check_read(src, len);
	kasan_check_write(dst, len);
	memcpy(dst, src, at);
	for (; len - at >= PAGE_SIZE; at += PAGE_SIZE)
		copy_page(dst + at, (void *)src + at);
	memcpy(dst + at, src + at, len - at);
}

/*
 * Payload length from which it is worthwhile to place the payload at the page
 * offset of its source or destination. With pages larger than 4 KiB no segment
 * is that long.
 */
#define DDP_COPY_LONG	(4 * PAGE_SIZE)

/**
 * ddp_copy - copy memory, page by page where possible
 * @dst: destination
 * @src: source
 * @len: number of bytes
 *
 * On x86 CPUs without fast short REP MOVSB, memcpy() copies word by word.
 * copy_page() is as fast as the machine allows, so whole pages are copied with
 * it if both sides have the same page offset.
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
