// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of the provider's queues, which a program may allocate itself, and
 * buffers that the provider allocates for a program.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "rnic_sw.h"

#define ALIGNMENT	64		/* a cache line */

/* Return the resource type of a program's function, as ibv_alloc_parent_domain(3) defines it */
static uint64_t to_resource_type(enum rnic_sw_dv_res_type type)
{
	return (uint64_t)RNIC_SW_DRIVER_ID << 32 | type;
}

/**
 * rnic_sw_alloc_queue - allocate the provider's memory of a queue
 * @ibpd: a parent domain, whose allocation function is used if it has one; or a
 *	protection domain, or NULL
 * @size: size in bytes
 * @type: kind of the queue
 * @owner: set to @ibpd if the program's function has allocated the memory, else
 *	NULL; to be passed to rnic_sw_free_queue()
 *
 * The rings of the queue are not part of this memory: the kernel allocates them.
 *
 * Return: zeroed memory; NULL with errno set on failure.
 */
void *rnic_sw_alloc_queue(struct ibv_pd *ibpd, size_t size,
			  enum rnic_sw_dv_res_type type, struct ibv_pd **owner)
{
	struct rnic_sw_pd *pd = ibpd ? to_pd(ibpd) : NULL;
	void *mem = IBV_ALLOCATOR_USE_DEFAULT;

	if (pd && pd->alloc)
		mem = pd->alloc(ibpd, pd->pd_context, size, ALIGNMENT, to_resource_type(type));
	*owner = mem == IBV_ALLOCATOR_USE_DEFAULT ? NULL : ibpd;
	if (!*owner)
		return calloc(1, size);
	if (!mem) {
		errno = ENOMEM;
		return NULL;
	}
	return memset(mem, 0, size);
}

/**
 * rnic_sw_free_queue - free the memory that rnic_sw_alloc_queue() has allocated
 * @mem: the memory
 * @type: kind of the queue
 * @owner: as rnic_sw_alloc_queue() has set it; must still have a reference
 */
void rnic_sw_free_queue(void *mem, enum rnic_sw_dv_res_type type, struct ibv_pd *owner)
{
	if (owner)
		to_pd(owner)->free(owner, to_pd(owner)->pd_context, mem, to_resource_type(type));
	else
		free(mem);
}

#if IBVERBS_PABI_VERSION >= 64
/*
 * Allocate a buffer for a program. The buffer has its own pages, because the
 * library excludes the pages of registered buffers from a fork. The memory may be
 * encrypted in a confidential guest, because this device does no DMA.
 */
void *rnic_sw_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **ibbuf)
{
	struct ibv_buf *buf;
	void *mem;

	if (!size) {
		errno = EINVAL;
		return NULL;
	}
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return NULL;
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED) {
		free(buf);
		return NULL;
	}
	ibv_buf_init(buf, rnic_sw_get_pd(pd), mem, size);
	*ibbuf = buf;
	return mem;
}

void rnic_sw_free_buf(struct ibv_buf *buf)
{
	munmap(buf->addr, buf->size);
	rnic_sw_put_pd(buf->pd);
	free(buf);
}
#endif
