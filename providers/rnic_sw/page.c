// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Mappings that hold several small rings.
 *
 * A mapping is identified by the number that the kernel has assigned to it, not
 * by its mmap key: the kernel may reuse the key for a new mapping before this
 * process has unmapped the old mapping.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "rnic_sw.h"

/* Mapping that several small rings share */
struct rnic_sw_page {
	uint64_t		number;	/* assigned by the kernel, unique in the context */
	struct rnic_sw_context	*ctx;
	void			*mem;	/* address of the mapping */
	size_t			bytes;	/* length of the mapping, in bytes */
	unsigned int		refs;	/* number of rings in use; protected by pages_lock */
};

static int compare_page_numbers(const void *a, const void *b)
{
	const struct rnic_sw_page *p = a, *q = b;

	return p->number < q->number ? -1 : p->number > q->number;
}

static struct rnic_sw_page *map_new_page(struct rnic_sw_context *ctx,
					 const struct rnic_sw_ring_loc *at)
{
	struct rnic_sw_page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	page->number = at->number;
	page->ctx = ctx;
	page->bytes = at->bytes;
	page->mem = mmap(NULL, at->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			 ctx->vctx.context.cmd_fd, (off_t)at->key);
	if (page->mem == MAP_FAILED)
		goto free;
	if (tsearch(page, &ctx->pages, compare_page_numbers))
		return page;
	munmap(page->mem, page->bytes);
	errno = ENOMEM;
free:
	free(page);
	return NULL;
}

static struct rnic_sw_page *find_page(struct rnic_sw_context *ctx,
				      const struct rnic_sw_ring_loc *at)
{
	const struct rnic_sw_page want = { .number = at->number };
	struct rnic_sw_page **node = tfind(&want, &ctx->pages, compare_page_numbers);

	return node ? *node : NULL;
}

/**
 * rnic_sw_get_page - get a reference to a shared mapping, mapping it if needed
 * @ctx: the context
 * @at: key, number and size of the mapping, as the kernel reported them
 * @mem: set to the address of the mapping on success
 *
 * Return: the mapping, to be released with rnic_sw_put_page(); or NULL, with
 * errno set, if mapping fails or @at has another size than the existing
 * mapping.
 */
struct rnic_sw_page *rnic_sw_get_page(struct rnic_sw_context *ctx,
				      const struct rnic_sw_ring_loc *at, void **mem)
{
	struct rnic_sw_page *page;

	pthread_mutex_lock(&ctx->pages_lock);
	page = find_page(ctx, at);
	if (!page) {
		page = map_new_page(ctx, at);
	} else if (page->bytes != at->bytes) {
		errno = EINVAL;
		page = NULL;
	}
	if (page) {
		page->refs++;
		*mem = page->mem;
	}
	pthread_mutex_unlock(&ctx->pages_lock);
	return page;
}

/**
 * rnic_sw_put_page - drop a reference to a shared mapping
 * @page: the mapping; unmapped and freed with its last reference
 */
void rnic_sw_put_page(struct rnic_sw_page *page)
{
	struct rnic_sw_context *ctx = page->ctx;

	pthread_mutex_lock(&ctx->pages_lock);
	if (!--page->refs) {
		tdelete(page, &ctx->pages, compare_page_numbers);
		munmap(page->mem, page->bytes);
		free(page);
	}
	pthread_mutex_unlock(&ctx->pages_lock);
}
