// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory that a program can map: one or two rings (ring.c), or a page of small
 * rings (page.c).  This file does not know the contents.
 *
 * The memory is freed with the last reference to its mmap entry. If a program
 * still has the memory mapped, the pages are freed when the program unmaps
 * them.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "uctx.h"

/*
 * Map vmalloc memory into a VMA. remap_vmalloc_range() cannot be used: it
 * accepts only memory of vmalloc_user(), which is not charged to a control
 * group.
 */
static int map_pages(struct vm_area_struct *vma, void *mem)
{
	unsigned long addr = vma->vm_start;
	int err = 0;

	for (; addr < vma->vm_end && !err; addr += PAGE_SIZE) {
		err = vm_insert_page(vma, addr, vmalloc_to_page(mem));
		mem += PAGE_SIZE;
	}
	return err;
}

/**
 * rnic_mmap - map the memory of rings into a program (verb)
 * @ib: the context
 * @vma: the VMA; its file offset is a key that the kernel has returned to the
 *	program
 *
 * Return: 0 or a negative errno.
 */
int rnic_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma = rdma_user_mmap_entry_get(ib, vma);
	int err;

	if (!rdma)
		return -EINVAL;
	err = map_pages(vma, container_of(rdma, struct rnic_map, rdma)->mem);
	/* the VMA now holds references to the pages */
	rdma_user_mmap_entry_put(rdma);
	return err;
}

/**
 * rnic_mmap_free - free mappable memory after the last reference to its mmap
 * entry
 * @rdma: the mmap entry, embedded in struct rnic_map
 */
void rnic_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct rnic_map *map = container_of(rdma, struct rnic_map, rdma);

	vfree(map->mem);
	kfree(map);
}

/**
 * rnic_ring_alloc_mem - allocate zeroed memory for rings
 * @bytes: size in bytes
 *
 * The memory is charged to the caller's control group. A failure is not logged,
 * because a program chooses the size. May sleep.
 *
 * Return: the memory, to be freed by vfree(), or NULL.
 */
void *rnic_ring_alloc_mem(size_t bytes)
{
	return __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
}

/**
 * rnic_map_create - allocate zeroed memory that a program can map
 * @uctx: the context
 * @bytes: size in bytes, rounded up to pages
 *
 * The memory is charged to the caller's control group. May sleep.
 *
 * Return: the memory, to be released by rnic_map_release(), or an error
 * pointer.
 */
struct rnic_map *rnic_map_create(struct ib_ucontext *uctx, size_t bytes)
{
	struct rnic_map *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!map)
		return ERR_PTR(err);
	bytes = PAGE_ALIGN(bytes);
	map->mem = rnic_ring_alloc_mem(bytes);
	if (map->mem)
		err = rdma_user_mmap_entry_insert(uctx, &map->rdma, bytes);
	if (!err)
		return map;
	vfree(map->mem);
	kfree(map);
	return ERR_PTR(err);
}

/**
 * rnic_map_users - count the references to the first page of mappable memory
 * @map: the memory
 *
 * Return: the number of mappings, plus temporary references of other parts of
 * the kernel.
 */
unsigned int rnic_map_users(const struct rnic_map *map)
{
	return page_count(vmalloc_to_page(map->mem)) - 1;
}

/**
 * rnic_map_release - release mappable memory
 * @map: the memory
 *
 * If a program has the memory mapped, its pages are freed when the program
 * unmaps them.
 */
void rnic_map_release(struct rnic_map *map)
{
	rdma_user_mmap_entry_remove(&map->rdma);
}
