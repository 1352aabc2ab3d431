// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Mappings that several small rings share.
 *
 * They are told by the kernel's number, not by its key: while one goes here, there may be
 * another already that has its key.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "rnic_sw.h"

struct rnic_sw_page {
	uint64_t		number;
	struct rnic_sw_context	*ctx;
	void			*mem;
	size_t			bytes;
	unsigned int		refs;	/* rings, under the context's lock */
};

static int by_number(const void *a, const void *b)
{
	const struct rnic_sw_page *p = a, *q = b;

	return p->number < q->number ? -1 : p->number > q->number;
}

static struct rnic_sw_page *make_page(struct rnic_sw_context *ctx,
				      const struct rnic_sw_place *at)
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
	if (tsearch(page, &ctx->pages, by_number))
		return page;
	munmap(page->mem, page->bytes);
	errno = ENOMEM;
free:
	free(page);
	return NULL;
}

static struct rnic_sw_page *find_page(struct rnic_sw_context *ctx,
				      const struct rnic_sw_place *at)
{
	const struct rnic_sw_page want = { .number = at->number };
	struct rnic_sw_page **node = tfind(&want, &ctx->pages, by_number);

	return node ? *node : NULL;
}

/**
 * rnic_sw_get_page - map a page of rings, if it is not yet
 * @ctx: the context
 * @at: where a ring on it is
 * @mem: set to where it is mapped
 *
 * Return: the page, for rnic_sw_put_page(); NULL, with errno set, if it cannot be mapped
 * or is not as long as it was.
 */
struct rnic_sw_page *rnic_sw_get_page(struct rnic_sw_context *ctx,
				      const struct rnic_sw_place *at, void **mem)
{
	struct rnic_sw_page *page;

	pthread_mutex_lock(&ctx->pages_lock);
	page = find_page(ctx, at);
	if (!page) {
		page = make_page(ctx, at);
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
 * rnic_sw_put_page - a ring less on it; with the last it is unmapped
 * @page: the page
 */
void rnic_sw_put_page(struct rnic_sw_page *page)
{
	struct rnic_sw_context *ctx = page->ctx;

	pthread_mutex_lock(&ctx->pages_lock);
	if (!--page->refs) {
		tdelete(page, &ctx->pages, by_number);
		munmap(page->mem, page->bytes);
		free(page);
	}
	pthread_mutex_unlock(&ctx->pages_lock);
}
