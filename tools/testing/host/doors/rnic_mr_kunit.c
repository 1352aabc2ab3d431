// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Regions that a kernel consumer registers by a work request: drivers/rnic_sw/mr.c
 * over a table that takes all.  No memory of programs is registered here.
 */
#include <kunit/test.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <ddp/mem.h>
#include <rdma/uverbs_ioctl.h>

struct ib_device_attr;

#include "../../../../drivers/rnic_sw/bring.h"
#include "../../../../drivers/rnic_sw/rnic.h"

/* Verbs, as far as they are looked at ---------------------------------------- */

enum {
	IB_ACCESS_ON_DEMAND	= 1 << 6,
	IB_MR_REREG_TRANS	= 1 << 0,
	IB_MR_REREG_ACCESS	= 1 << 2,
};

#define PAGE_SHIFT			12
#define GENMASK(high, low)		((~0u >> (31 - (high))) & (~0u << (low)))
#define __GFP_NOWARN			0
#define check_add_overflow(a, b, sum)	__builtin_add_overflow(a, b, sum)
#define get_random_u8()			0x42
#define kvmalloc_array(n, size, gfp)	kvcalloc(n, size, gfp)
#define ib_virt_dma_to_ptr(addr)	((void *)(uintptr_t)(addr))
#define ib_access_writable(access)	((access) & IB_ACCESS_LOCAL_WRITE)

struct scatterlist { u64 addr; };

/* Never made */
struct ib_umem {
	u64	address;
	bool	writable;
	struct { struct { struct scatterlist *sgl; } sgt; } sgt_append;
};

struct ib_block_iter { int unused; };

#define sg_dma_address(sg)			((sg)->addr)
#define ib_umem_offset(umem)			0
#define ib_umem_find_best_pgsz(umem, sizes, at)	((void)(at), (sizes) & 0ul)
#define ib_umem_num_dma_blocks(umem, size)	0
#define ib_umem_get_va(ib, start, len, access)	((struct ib_umem *)ERR_PTR(-ENOMEM))
#define ib_umem_release(umem)			((void)(umem))
#define rdma_block_iter_dma_address(it)		((void)(it), 0)
#define rdma_umem_for_each_dma_block(umem, it, size)	while (0)

/* Pages of the core's list go into the region one by one */
static int ib_sg_to_pages(struct ib_mr *ib, struct scatterlist *sg, int n,
			  unsigned int *off, int (*add)(struct ib_mr *ib, u64 addr))
{
	int i = 0;

	ib->iova = sg->addr;
	ib->length = (u64)n * ib->page_size;
	while (i < n && !add(ib, sg[i].addr))
		i++;
	return i;
}

#include "../../../../drivers/rnic_sw/mr.c"

/* Who is at the other sides ---------------------------------------------------- */

int rnic_take(struct rnic_dev *dev, enum rnic_kind kind)
{
	return 0;
}

void rnic_give(struct rnic_dev *dev, enum rnic_kind kind) {}

int rnic_mr_keep_windows(struct rnic_mr *mr)
{
	return 0;
}

int rnic_mr_drop_windows(struct rnic_mr *mr)
{
	return 0;
}

void rnic_bring_end(struct rnic_bring *b) {}
void rnic_bring_name(struct ddp_region *r, struct rnic_bring *b) {}

struct rnic_bring *rnic_dmabuf_new(struct rnic_dev *dev, int fd, u64 offset,
				   u64 length, int access)
{
	return ERR_PTR(-ENOMEM);
}

int ddp_region_publish(struct ddp_stags *t, struct ddp_region *r, u8 key)
{
	r->stag = 0x123400 | key;
	return 0;
}

void ddp_region_remove(struct ddp_stags *t, struct ddp_region *r)
{
	ddp_region_revoke(r);
}

/* Cases --------------------------------------------------------------------- */

static struct rnic_dev device;
static struct ib_pd domain = { .device = &device.ib };
static struct scatterlist pages[2] = { { 0x10000 }, { 0x20000 } };

/* A region of two pages, mapped */
static struct rnic_mr *mapped(struct kunit *test)
{
	struct ib_mr *ib = rnic_alloc_mr(&domain, IB_MR_TYPE_MEM_REG, 2);

	KUNIT_ASSERT_FALSE(test, IS_ERR(ib));
	ib->device = &device.ib;
	ib->page_size = 1 << PAGE_SHIFT;
	KUNIT_ASSERT_EQ(test, 2, rnic_map_mr_sg(ib, pages, 2, NULL));
	return to_rnic_mr(ib);
}

static enum iw_reason register_by(u64 stream, struct ib_pd *pd, struct rnic_mr *mr, u8 key)
{
	struct ddp_stream s = { .id = stream, .pd = pd };
	const struct rdmap_wr wr = {
		.rkey = (mr->ib.rkey & ~DDP_STAG_KEY_MASK) | key,
		.raddr = mr->ib.iova,
		.compare_add = mr->ib.length,
		.swap = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};

	return rnic_mr_fastreg(&mr->ib, &wr, &s);
}

/* RDMAP-178: whose work request has registered it last; ddp_mem_invalidate() asks */
static void registered_by(struct kunit *test)
{
	struct rnic_mr *mr = mapped(test);
	u64 id;

	KUNIT_EXPECT_TRUE(test, mr->region.may_invalidate);
	KUNIT_EXPECT_FALSE(test, mr->region.valid);
	for (id = 7; id < 10; id++) {
		KUNIT_EXPECT_EQ(test, IW_OK, register_by(id, &domain, mr, id));
		KUNIT_EXPECT_TRUE(test, mr->region.valid);
		KUNIT_EXPECT_EQ(test, id, mr->region.scope);
		KUNIT_EXPECT_EQ(test, 0x123400 | (u32)id, mr->region.stag);
		ddp_region_revoke(&mr->region);
	}
	rnic_dereg_mr(&mr->ib, NULL);
}

/* DDP-114, DDP-116, DDP-127: so much as was said, for that, and for all of its domain */
static void registered_as_said(struct kunit *test)
{
	struct rnic_mr *mr = mapped(test);
	struct ddp_stream s = { .id = 7, .pd = &domain };
	const struct rdmap_wr wr = {
		.rkey = mr->ib.rkey, .raddr = mr->ib.iova + 3,
		.compare_add = mr->ib.length - 5, .swap = IB_ACCESS_REMOTE_READ,
	};

	KUNIT_EXPECT_EQ(test, IW_OK, rnic_mr_fastreg(&mr->ib, &wr, &s));
	KUNIT_EXPECT_EQ(test, mr->ib.iova + 3, mr->region.base);
	KUNIT_EXPECT_EQ(test, mr->ib.length - 5, mr->region.length);
	KUNIT_EXPECT_EQ(test, (int)rnic_ddp_rights(IB_ACCESS_REMOTE_READ),
			(int)mr->region.rights);
	KUNIT_EXPECT_FALSE(test, mr->region.rights & DDP_REMOTE_WRITE);
	KUNIT_EXPECT_EQ(test, 0ull, mr->region.stream);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&domain, mr->region.pd);
	rnic_dereg_mr(&mr->ib, NULL);
}

/* What is refused changes nothing, not even whose it is */
static void not_registered(struct kunit *test)
{
	struct rnic_mr *mr = mapped(test);
	struct ib_pd other = { .device = &device.ib };

	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, register_by(7, &other, mr, 7));
	KUNIT_EXPECT_EQ(test, 0ull, mr->region.scope);
	KUNIT_EXPECT_EQ(test, IW_OK, register_by(7, &domain, mr, 7));
	/* it is in use */
	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, register_by(8, &domain, mr, 8));
	KUNIT_EXPECT_EQ(test, 7ull, mr->region.scope);
	rnic_dereg_mr(&mr->ib, NULL);
}

static struct kunit_case rnic_mr_cases[] = {
	KUNIT_CASE(registered_by),
	KUNIT_CASE(registered_as_said),
	KUNIT_CASE(not_registered),
	{}
};

static struct kunit_suite rnic_mr_suite = {
	.name = "rnic_mr",
	.test_cases = rnic_mr_cases,
};

kunit_test_suite(rnic_mr_suite);
