// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Allocator that counts allocations. The sanitizer alone does not find all
 * leaks: it ignores memory to which a table still has a pointer.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <stdlib.h>
#include <string.h>

int host_allocations;
bool host_alloc_fails;

void *host_zalloc(size_t size)
{
	if (host_alloc_fails)
		return NULL;
	host_allocations++;
	return calloc(1, size);
}

/* Fill the memory, so that a test fails if the code takes it for zeroed */
void *host_alloc_filled(size_t size)
{
	void *p = host_zalloc(size);

	return p ? memset(p, 0xa5, size) : NULL;
}

void *host_memdup(const void *p, size_t size)
{
	void *copy = host_zalloc(size);

	return copy ? memcpy(copy, p, size) : NULL;
}

/* Allocate zeroed memory that is aligned to a page */
void *host_alloc_pages(size_t size)
{
	void *p = NULL;

	if (host_alloc_fails || posix_memalign(&p, PAGE_SIZE, size))
		return NULL;
	host_allocations++;
	return memset(p, 0, size);
}

void host_free(const void *p)
{
	host_allocations -= !!p;
	free((void *)p);
}
