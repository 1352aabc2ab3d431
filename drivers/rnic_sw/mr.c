// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory regions (MRs): registration of user memory, dma-bufs and kernel memory under STags.
 *
 * The device does no DMA, so each DMA address that the core passes is a kernel virtual address.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <ddp/mem.h>
#include <rdma/iter.h>
#include <rdma/uverbs_ioctl.h>

#include "dmabuf.h"
#include "odp.h"
#include "rnic.h"

/* Possible block sizes: a page to 2 GiB, so that an offset in a block fits into ddp_region.skip */
#define BLOCK_SIZES	(GENMASK(31, PAGE_SHIFT))

/**
 * rnic_to_ddp_rights - convert access flags of the verbs to DDP rights
 * @access: mask of IB_ACCESS_*
 *
 * Return: mask of DDP_* rights, always with DDP_LOCAL_READ.
 */
u8 rnic_to_ddp_rights(int access)
{
	u8 rights = DDP_LOCAL_READ;

	if (access & IB_ACCESS_LOCAL_WRITE)
		rights |= DDP_LOCAL_WRITE;
	if (access & IB_ACCESS_REMOTE_WRITE)
		rights |= DDP_REMOTE_WRITE;
	if (access & IB_ACCESS_REMOTE_READ)
		rights |= DDP_REMOTE_READ;
	if (access & IB_ACCESS_REMOTE_ATOMIC)
		rights |= DDP_REMOTE_ATOMIC;
	return rights;
}

static struct rnic_mr *new_mr(struct ib_pd *pd)
{
	struct rnic_dev *dev = to_rnic_dev(pd->device);
	struct rnic_mr *mr;

	if (rnic_charge_object(dev, RNIC_MRS))
		return NULL;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		rnic_uncharge_object(dev, RNIC_MRS);
		return NULL;
	}
	mr->dev = dev;
	mr->region.pd = pd;
	mr->region.kind = RNIC_REGION;
	INIT_LIST_HEAD(&mr->windows);
	return mr;
}

/* Free an MR, which must not be in the STag table */
static void free_mr(struct rnic_mr *mr)
{
	ib_umem_release(mr->umem);
	if (mr->unpinned)
		rnic_unpinned_shutdown(mr->unpinned);
	kvfree(mr->max_blocks ? mr->map[0].block : mr->region.block);
	rnic_uncharge_object(mr->dev, RNIC_MRS);
	kfree_rcu(mr, rcu);
}

/* Insert an MR into the STag table; free it on error. Return: the MR or an error pointer */
static struct ib_mr *publish_or_free_mr(struct rnic_dev *dev, struct rnic_mr *mr)
{
	int err = ddp_region_insert(&dev->stags, &mr->region, get_random_u8());

	if (err) {
		free_mr(mr);
		return ERR_PTR(err);
	}
	mr->ib.lkey = mr->region.stag;
	mr->ib.rkey = mr->region.stag;
	return &mr->ib;
}

/**
 * rnic_get_dma_mr - get an MR of all kernel memory for a kernel consumer (device operation)
 * @pd: the protection domain
 * @access: mask of IB_ACCESS_*; with remote rights, peers can access all kernel memory
 *
 * Return: the MR or an error pointer.
 */
struct ib_mr *rnic_get_dma_mr(struct ib_pd *pd, int access)
{
	struct rnic_mr *mr = new_mr(pd);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->region.length = U64_MAX;
	mr->region.rights = rnic_to_ddp_rights(access);
	mr->region.valid = true;
	return publish_or_free_mr(to_rnic_dev(pd->device), mr);
}

/* Fill in the list of blocks of pinned memory, with the largest possible block size */
static int fill_block_list(struct rnic_mr *mr)
{
	struct ddp_region *r = &mr->region;
	u64 start = sg_dma_address(mr->umem->sgt_append.sgt.sgl) +
		    ib_umem_offset(mr->umem);
	struct ib_block_iter it;
	unsigned long size;
	size_t i = 0;

	/* pass the kernel address, not the TO, because the TO may have any offset in a block */
	size = ib_umem_find_best_pgsz(mr->umem, BLOCK_SIZES, start);
	if (!size)
		return -EINVAL;
	r->block = kvmalloc_array(ib_umem_num_dma_blocks(mr->umem, size),
				  sizeof(*r->block),
				  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!r->block)
		return -ENOMEM;
	r->shift = ilog2(size);
	r->skip = start & (size - 1);
	rdma_umem_for_each_dma_block(mr->umem, &it, size)
		r->block[i++] =
			ib_virt_dma_to_ptr(rdma_block_iter_dma_address(&it));
	return 0;
}

static int pin_memory(struct rnic_mr *mr, struct ib_device *ib, u64 start, u64 length)
{
	struct ib_umem *umem = ib_umem_get_va(ib, start, length, mr->access);

	if (IS_ERR(umem))
		return PTR_ERR(umem);
	mr->umem = umem;
	return fill_block_list(mr);
}

/* Make the MR use @b, memory that is not pinned; @b may be an error pointer, which is returned */
static int attach_unpinned_memory(struct rnic_mr *mr, struct rnic_unpinned *b)
{
	if (IS_ERR(b))
		return PTR_ERR(b);
	mr->unpinned = b;
	mr->denied_rights = b->no_atomics ? DDP_REMOTE_ATOMIC : 0;
	rnic_unpinned_set_region_mem(&mr->region, b);
	return 0;
}

/* Attach ODP memory. The range need not be mapped, because the process may map it later */
static int attach_odp_memory(struct rnic_mr *mr, u64 start, u64 length)
{
	u64 end;

	/* require that the address after the last byte fits into 64 bits */
	if (check_add_overflow(start, length, &end))
		return -EINVAL;
	return attach_unpinned_memory(mr, rnic_odp_new(mr->dev, start, length));
}

/* Fill in those fields of an MR that do not depend on the kind of its memory */
static void fill_user_mr(struct rnic_mr *mr, u64 length, u64 iova)
{
	mr->region.base = mr->access & IB_ZERO_BASED ? 0 : iova;
	mr->region.length = length;
	/* set these fields, because the core sets them in some of its commands only */
	mr->ib.iova = iova;
	mr->ib.length = length;
	mr->region.rights = rnic_to_ddp_rights(mr->access);
	mr->region.valid = true;
}

/* Check a range for overflows of addresses and of the TO. Return: 0 or -EINVAL */
static int rnic_mr_check_range(u64 start, u64 length, u64 iova)
{
	u64 end;

	if (!length || check_add_overflow(iova, length - 1, &end) ||
	    check_add_overflow(start, length - 1, &end) ||
	    (unsigned long)start != start || (size_t)length != length)
		return -EINVAL;
	return 0;
}

/* Create an MR, but do not insert it into the STag table. Return: the MR or an error pointer */
static struct rnic_mr *new_user_mr(struct ib_pd *pd, u64 start, u64 length,
				   u64 iova, int access)
{
	int err = rnic_mr_check_range(start, length, iova);
	struct rnic_mr *mr;

	if (err)
		return ERR_PTR(err);
	mr = new_mr(pd);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->access = access;
	if (access & IB_ACCESS_ON_DEMAND)
		err = attach_odp_memory(mr, start, length);
	else
		err = pin_memory(mr, pd->device, start, length);
	if (err) {
		free_mr(mr);
		return ERR_PTR(err);
	}
	fill_user_mr(mr, length, iova);
	return mr;
}

static struct ib_mr *register_user_mr(struct ib_pd *pd, u64 start, u64 length,
				      u64 iova, int access)
{
	struct rnic_mr *mr = new_user_mr(pd, start, length, iova, access);

	return IS_ERR(mr) ? ERR_CAST(mr) : publish_or_free_mr(mr->dev, mr);
}

static int check_access_flags(int access)
{
	const int remote_write = IB_ACCESS_REMOTE_WRITE |
				 IB_ACCESS_REMOTE_ATOMIC;

	if (access & IB_ACCESS_ON_DEMAND &&
	    !IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING))
		return -EOPNOTSUPP;
	if (access & remote_write && !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

/**
 * rnic_reg_user_mr - register memory of the current process (device operation)
 * @pd: the protection domain
 * @start: address of the first byte
 * @length: length in bytes; need not be a multiple of the page size
 * @iova: TO of the first byte
 * @access: mask of IB_ACCESS_*
 * @dmah: DMA hints; must be NULL, because the device does no DMA
 * @udata: driver data; must be empty
 *
 * Return: the MR or an error pointer.
 */
struct ib_mr *rnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah,
			       struct ib_udata *udata)
{
	int err = dmah ? -EOPNOTSUPP : ib_no_udata_io(udata);

	if (!err)
		err = check_access_flags(access);
	if (err)
		return ERR_PTR(err);
	return register_user_mr(pd, start, length, iova, access);
}

/**
 * rnic_reg_user_mr_dmabuf - register a range of a dma-buf (device operation)
 * @pd: the protection domain
 * @offset: first byte, as an offset in the buffer
 * @length: length in bytes; need not be a multiple of the page size
 * @iova: TO of the first byte
 * @fd: file descriptor of the dma-buf
 * @access: mask of IB_ACCESS_*
 * @dmah: DMA hints; must be NULL, because the device does no DMA
 * @attrs: attributes of the command; must contain no driver data
 *
 * Return: the MR or an error pointer, see rnic_dmabuf_new().
 */
struct ib_mr *rnic_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				      u64 iova, int fd, int access,
				      struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs)
{
	int err = dmah ? -EOPNOTSUPP : rnic_mr_check_range(offset, length, iova);
	struct rnic_mr *mr;

	if (!err)
		err = ib_no_udata_io(&attrs->driver_udata);
	if (!err)
		err = check_access_flags(access);
	if (err)
		return ERR_PTR(err);
	mr = new_mr(pd);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->access = access;
	err = attach_unpinned_memory(mr, rnic_dmabuf_new(mr->dev, fd, offset, length,
							 access));
	if (err) {
		free_mr(mr);
		return ERR_PTR(err);
	}
	fill_user_mr(mr, length, iova);
	return publish_or_free_mr(mr->dev, mr);
}

/*
 * Change rights or protection domain, but not pages and STag. Forbid concurrent binds of memory
 * windows, because they might be checked against the old values.
 *
 * Return: 0, or -EBUSY if a valid window is bound.
 */
static int change_mr_in_place(struct rnic_mr *mr, struct ib_pd *pd, int access)
{
	int err = rnic_mr_forbid_bind(mr);

	if (err)
		return err;
	ddp_region_revoke(&mr->region);
	mr->access = access;
	mr->region.rights = rnic_to_ddp_rights(access);
	WRITE_ONCE(mr->region.pd, pd);
	ddp_region_validate(&mr->region, mr->region.stag & DDP_STAG_KEY_MASK);
	rnic_mr_permit_bind(mr);
	return 0;
}

/* Check whether the MR can get the access flags @access without registering its memory again */
static bool rnic_mr_can_grant_access(const struct rnic_mr *mr, int access)
{
	if ((mr->access ^ access) & IB_ACCESS_ON_DEMAND)
		return false;
	if (!ib_access_writable(access))
		return true;
	if (rnic_to_ddp_rights(access) & mr->denied_rights)
		return false;
	return mr->unpinned ? !mr->unpinned->read_only : mr->umem->writable;
}

/*
 * Check whether the memory has a user address, so that it can be registered again at this address
 */
static bool has_user_addr(const struct rnic_mr *mr)
{
	return mr->umem || mr->access & IB_ACCESS_ON_DEMAND;
}

/* Compute the access flags after a rereg; IB_ZERO_BASED can change only if the memory changes */
static int compute_rereg_access(const struct rnic_mr *mr, int flags, int access)
{
	if (!(flags & IB_MR_REREG_ACCESS))
		return mr->access;
	if (flags & IB_MR_REREG_TRANS)
		return access;
	return (access & ~IB_ZERO_BASED) | (mr->access & IB_ZERO_BASED);
}

/* Get the user address of the memory, in the process that registered the MR */
static u64 get_registered_addr(const struct rnic_mr *mr)
{
	return mr->umem ? mr->umem->address : mr->region.mem_base;
}

/*
 * Check whether the current process is the one that registered the MR. Another process may use the
 * same context, but at get_registered_addr() it has other memory, which must not be registered.
 */
static bool is_registered_by_caller(const struct rnic_mr *mr)
{
	return current->mm ==
	       (mr->umem ? mr->umem->owning_mm : mr->unpinned->mm);
}

/*
 * Publish @mr, which replaces @old. The core deregisters @old afterwards and cannot handle a
 * failure of that deregistration. So check here that no valid window is bound to @old, and forbid
 * further binds. The caller does not forbid them before it creates @mr, because pinning memory
 * takes long and can fail. Frees @mr on error; @mr may be an error pointer, which is returned.
 */
static struct ib_mr *publish_replacement_mr(struct rnic_mr *old, struct rnic_mr *mr)
{
	struct ib_mr *ib;
	int err;

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = rnic_mr_forbid_bind(old);
	if (err) {
		free_mr(mr);
		return ERR_PTR(err);
	}
	ib = publish_or_free_mr(mr->dev, mr);
	if (IS_ERR(ib))
		rnic_mr_permit_bind(old);
	return ib;
}

/**
 * rnic_rereg_user_mr - change memory, rights or protection domain of an MR (device operation)
 * @ib: the MR
 * @flags: mask of IB_MR_REREG_*: the properties to change
 * @start: address of the new memory; used with IB_MR_REREG_TRANS only
 * @length: length of the new memory in bytes; used with IB_MR_REREG_TRANS only
 * @iova: TO of the first byte of the new memory; used with IB_MR_REREG_TRANS only
 * @access: mask of IB_ACCESS_*; used with IB_MR_REREG_ACCESS only; see compute_rereg_access()
 * @pd: the new protection domain, or the current one
 * @udata: driver data; must be empty
 *
 * Return: NULL if @ib was changed; a new MR that replaces @ib, in which case the core deregisters
 * @ib; or an error pointer, in which case nothing has changed.
 */
struct ib_mr *rnic_rereg_user_mr(struct ib_mr *ib, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata)
{
	struct rnic_mr *mr = to_rnic_mr(ib);
	bool moves = flags & IB_MR_REREG_TRANS;
	int err = ib_no_udata_io(udata);

	access = compute_rereg_access(mr, flags, access);
	if (!err)
		err = check_access_flags(access);
	if (err)
		return ERR_PTR(err);
	if (!moves && rnic_mr_can_grant_access(mr, access)) {
		err = change_mr_in_place(mr, pd, access);
		return err ? ERR_PTR(err) : NULL;
	}
	if (!moves && !has_user_addr(mr))
		return ERR_PTR(-EOPNOTSUPP);
	if (!moves && !is_registered_by_caller(mr))
		return ERR_PTR(-EINVAL);
	if (!moves) {
		/* register the same memory again: for writing, or with ODP switched on or off */
		start = get_registered_addr(mr);
		length = mr->region.length;
		iova = mr->ib.iova;
	}
	return publish_replacement_mr(mr, new_user_mr(pd, start, length, iova, access));
}

/**
 * rnic_dereg_mr - deregister an MR (device operation)
 * @ib: the MR
 * @udata: ignored, see rnic_dealloc_pd()
 *
 * On return no peer can access the memory of the MR. May sleep.
 *
 * Return: 0, or -EBUSY if a valid memory window is bound to the MR.
 */
int rnic_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct rnic_mr *mr = to_rnic_mr(ib);
	int err = rnic_mr_forbid_bind(mr);

	if (err)
		return err;
	ddp_region_remove(&to_rnic_dev(ib->device)->stags, &mr->region);
	free_mr(mr);
	return 0;
}

/**
 * rnic_alloc_mr - allocate an MR for fast registration (device operation)
 * @pd: the protection domain
 * @type: must be IB_MR_TYPE_MEM_REG
 * @max_num_sg: maximum number of pages
 *
 * Return: the MR, whose STag is not valid before a fast registration; or an error pointer.
 */
struct ib_mr *rnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			    u32 max_num_sg)
{
	struct rnic_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > RNIC_MAX_FASTREG)
		return ERR_PTR(-EINVAL);
	mr = new_mr(pd);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->map[0].block = kvcalloc(max_num_sg, 2 * sizeof(void *),
				    GFP_KERNEL_ACCOUNT);
	if (!mr->map[0].block) {
		free_mr(mr);
		return ERR_PTR(-ENOMEM);
	}
	mr->map[1].block = mr->map[0].block + max_num_sg;
	mr->max_blocks = max_num_sg;
	mr->region.may_be_invalidated = true;
	return publish_or_free_mr(to_rnic_dev(pd->device), mr);
}

/* Get the page list that rnic_map_mr_sg() fills in, for the next fast registration */
static struct rnic_mapping *get_next_mapping(struct rnic_mr *mr)
{
	return &mr->map[!mr->cur_map];
}

static int rnic_mr_add_block(struct ib_mr *ib, u64 addr)
{
	struct rnic_mr *mr = to_rnic_mr(ib);
	struct rnic_mapping *m = get_next_mapping(mr);

	if (m->nblocks == mr->max_blocks)
		return -ENOMEM;
	m->block[m->nblocks++] = ib_virt_dma_to_ptr(addr);
	return 0;
}

/**
 * rnic_map_mr_sg - set the pages for the next fast registration of an MR (device operation)
 * @ib: the MR; its current registration and a posted invalidation of it are not affected
 * @sg: the pages
 * @n: number of elements of @sg
 * @off: offset of the first byte in the first element, in bytes; may be NULL
 *
 * Return: the number of elements of @sg that fit into the page list, or a negative errno.
 */
int rnic_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int n,
		   unsigned int *off)
{
	struct rnic_mr *mr = to_rnic_mr(ib);
	struct rnic_mapping *m = get_next_mapping(mr);
	int mapped;

	if (!is_power_of_2(ib->page_size))
		return -EINVAL;
	m->nblocks = 0;
	mapped = ib_sg_to_pages(ib, sg, n, off, rnic_mr_add_block);
	/* read ib->iova here, because the consumer may change it before the fast registration */
	m->shift = ilog2(ib->page_size);
	m->skip = ib->iova & (ib->page_size - 1);
	mr->next_map_valid = true;
	return mapped;
}

/* Get the page list to register: the next list if it is filled in, else the current list */
static const struct rnic_mapping *pick_reg_mapping(struct rnic_mr *mr)
{
	return mr->next_map_valid ? get_next_mapping(mr) : &mr->map[mr->cur_map];
}

static bool is_mapping_large_enough(const struct rnic_mapping *m, u64 length)
{
	return m->nblocks &&
	       length <= ((u64)m->nblocks << m->shift) - m->skip;
}

static bool may_fastreg(struct rnic_mr *mr, const struct rdmap_wr *wr,
			const struct ddp_stream *s)
{
	u64 end;

	return mr->max_blocks && is_mapping_large_enough(pick_reg_mapping(mr), wr->compare_add) &&
	       !READ_ONCE(mr->region.valid) && mr->region.pd == s->pd &&
	       !((mr->region.stag ^ wr->rkey) & ~DDP_STAG_KEY_MASK) &&
	       !check_add_overflow(wr->raddr, wr->compare_add, &end);
}

static void activate_mapping(struct rnic_mr *mr)
{
	const struct rnic_mapping *m = pick_reg_mapping(mr);

	mr->region.block = m->block;
	mr->region.shift = m->shift;
	mr->region.skip = m->skip;
	if (mr->next_map_valid)
		mr->cur_map = !mr->cur_map;
	mr->next_map_valid = false;
}

/**
 * rnic_mr_fastreg - execute a fast registration work request
 * @ib: the MR
 * @wr: the work request, with these members: @rkey is the new STag, which may differ from the
 *	current STag in the key only; @raddr and @compare_add are the first TO and the length in
 *	bytes; @swap is a mask of IB_ACCESS_*
 * @s: the stream of the QP; no other peer than that of @s may invalidate the MR (RFC 5040
 *	8.1.1, RFC 5042 6.4.5)
 *
 * Does not sleep.
 *
 * Return: IW_OK; IW_LOCAL_PROT if the MR is valid already, if its page list is too short, if the
 * MR does not match @wr or @s, or if the range of TOs wraps. After IW_LOCAL_PROT nothing has
 * changed.
 */
enum iw_reason rnic_mr_fastreg(struct ib_mr *ib, const struct rdmap_wr *wr,
			       struct ddp_stream *s)
{
	struct rnic_mr *mr = to_rnic_mr(ib);

	if (!may_fastreg(mr, wr, s))
		return IW_LOCAL_PROT;
	/* wait for copies in flight: another QP's invalidation may still be waiting for them */
	ddp_region_revoke(&mr->region);
	activate_mapping(mr);
	mr->region.base = wr->raddr;
	mr->region.length = wr->compare_add;
	WRITE_ONCE(mr->region.rights, rnic_to_ddp_rights(wr->swap));
	mr->region.invalidate_stream = s->id;
	ddp_region_validate(&mr->region, wr->rkey & DDP_STAG_KEY_MASK);
	return IW_OK;
}
