// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Allocate memory for rings and map it into a program. ring.c and page.c decide which rings are
 * in the memory.
 *
 * The memory is freed when the last reference to its mmap entry is dropped. Pages that a program
 * still has mapped at that time are freed when the program unmaps them.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "uctx.h"

/*
 * Map all pages of vmalloc memory into a VMA. remap_vmalloc_range() cannot do this, because it
 * accepts only memory from vmalloc_user(), which is not charged to a control group.
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
 * rnic_mmap - map the memory of rings into a program (device operation)
 * @ib: the program's context
 * @vma: the VMA; its file offset is a key that the driver has returned to the program
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
	/* drop the reference, because the VMA now has references to the pages */
	rdma_user_mmap_entry_put(rdma);
	return err;
}

/**
 * rnic_mmap_free - free mappable memory (device operation)
 * @rdma: the mmap entry, embedded in struct rnic_map; its last reference has been dropped
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
 * The memory is charged to the current task's control group. Suppresses the kernel's log message
 * on failure, because programs choose the size and could flood the log. May sleep.
 *
 * Return: the memory, to be freed with vfree(); NULL if memory is short.
 */
void *rnic_ring_alloc_mem(size_t bytes)
{
	return __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
}

/**
 * rnic_map_create - allocate zeroed memory that a program can map
 * @uctx: the program's context
 * @bytes: size in bytes, rounded up to pages
 *
 * The memory is charged to the current task's control group. May sleep.
 *
 * Return: the memory, to be released with rnic_map_release(); or an error pointer.
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
 * rnic_map_count_users - get the number of mappings of mappable memory
 * @map: the memory
 *
 * The number is computed from the reference count of the first page, to which other parts of the
 * kernel may hold temporary references.
 *
 * Return: the number of mappings and temporary references.
 */
unsigned int rnic_map_count_users(const struct rnic_map *map)
{
	return page_count(vmalloc_to_page(map->mem)) - 1;
}

/**
 * rnic_map_release - release mappable memory
 * @map: the memory
 *
 * Pages that a program has mapped are freed when the program unmaps them.
 */
void rnic_map_release(struct rnic_map *map)
{
	rdma_user_mmap_entry_remove(&map->rdma);
}
