/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SLAB_H
#define _HOST_UNIT_SLAB_H

#include_next <linux/slab.h>
#include <linux/align.h>

#define GFP_KERNEL_ACCOUNT	GFP_KERNEL
#define GFP_NOWAIT		0u
#ifndef __GFP_NOWARN
#define __GFP_NOWARN		0u
#endif

extern int host_allocations;	/* number of allocations that are not freed yet */
extern bool host_alloc_fails;	/* true if all allocations fail */
void *host_zalloc(size_t size);
void *host_alloc_filled(size_t size);
void *host_memdup(const void *p, size_t size);
void *host_alloc_pages(size_t size);
void host_free(const void *p);

/* round sizes up to a multiple of 64, as a slab allocator may */
#define kmalloc_size_roundup(size)	ALIGN(size, 64)
#define struct_size(p, member, n)	(sizeof(*(p)) + (n) * sizeof(*(p)->member))
#define kzalloc(size, gfp)	((void)(gfp), host_zalloc(size))
#define kmalloc(size, gfp)	((void)(gfp), host_alloc_filled(size))
#define kmalloc_array(n, size, gfp)	kmalloc((n) * (size), gfp)
#define kcalloc(n, size, gfp)	kzalloc((n) * (size), gfp)
#define kvcalloc(n, size, gfp)	kcalloc(n, size, gfp)
#define kvmalloc(size, gfp)	kmalloc(size, gfp)
#define kvmalloc_array(n, size, gfp)	kmalloc_array(n, size, gfp)
#define kmemdup(p, size, gfp)	((void)(gfp), host_memdup(p, size))
#define kfree(p)		host_free(p)
#define kfree_rcu(p, member)	kfree(p)
#define kvfree(p)		kfree(p)

/* A pointer to a cache is not an address: its value is the object size */
struct kmem_cache;
#define SLAB_ACCOUNT			0
#define KMEM_CACHE(type, flags)		((struct kmem_cache *)sizeof(struct type))
#define kmem_cache_zalloc(c, gfp)	kzalloc((size_t)(c), gfp)
#define kmem_cache_free(c, p)		((void)(c), kfree(p))
#define kmem_cache_destroy(c)		((void)(c))

#endif
