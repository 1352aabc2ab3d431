// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/mr.c: MRs that a kernel consumer registers with a
 * work request, and reregistration of user MRs, with memory windows. The STag
 * table is a stub.
 */
#include <kunit/test.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <ddp/mem.h>
#include <rdma/uverbs_ioctl.h>

struct ib_device_attr;

#include "../../../../drivers/rnic_sw/mem_fault.h"
#include "../../../../drivers/rnic_sw/rnic.h"

/* The part of the verbs that mr.c uses --------------------------------------- */

enum {
	IB_ACCESS_ON_DEMAND	= 1 << 6,
	IB_MR_REREG_TRANS	= 1 << 0,
	IB_MR_REREG_ACCESS	= 1 << 2,
};

/* 12, unless "make PAGE_SHIFT=16" selects the 64 KiB pages of some arm64 kernels */
#ifndef PAGE_SHIFT
#define PAGE_SHIFT			12
#endif
#define PAGE_SIZE			(1ul << PAGE_SHIFT)
#define GENMASK(high, low)		((~0u >> (31 - (high))) & (~0u << (low)))
#define check_add_overflow(a, b, sum)	__builtin_add_overflow(a, b, sum)
#define get_random_u8()			0x42
#define ib_virt_dma_to_ptr(addr)	((void *)(uintptr_t)(addr))
#define ib_access_writable(access)	((access) & IB_ACCESS_LOCAL_WRITE)

/* result of ib_no_udata_io(), which checks that a command has no driver data */
static int udata_is;
#undef ib_no_udata_io
#define ib_no_udata_io(udata)		((void)(udata), udata_is)

struct scatterlist { u64 addr; };

/* The memory of the process that has registered the MR, and of the calling process */
struct mm_struct { int unused; };

static struct mm_struct first, second;
static struct { struct mm_struct *mm; } caller = { &first };

#undef current
#define current				(&caller)

/* Pinned user memory */
struct ib_umem {
	u64	address;
	bool	writable;
	struct mm_struct *owning_mm;
	struct { struct { struct scatterlist *sgl; } sgt; } sgt_append;
};

struct ib_block_iter { int unused; };

#define sg_dma_address(sg)			((sg)->addr)
#define ib_umem_offset(umem)			0
/* return the smallest size of the set @sizes */
#define ib_umem_find_best_pgsz(umem, sizes, at)	((void)(at), (sizes) & -(sizes))
#define ib_umem_num_dma_blocks(umem, size)	1
#define rdma_block_iter_dma_address(it)		((void)(it), 0)
#define rdma_umem_for_each_dma_block(umem, it, size)	while (0)

/* Offset of the registered memory from a 64 KiB boundary */
#define SPOT	0x5678

/* Number of struct ib_umem, and a function called while memory is pinned, or NULL */
static int umems;
static void (*while_pinning)(void);

static struct ib_umem *ib_umem_get_va(struct ib_device *ib, u64 start, u64 length,
				      int access)
{
	static struct scatterlist page = { 0x30000 + SPOT };
	struct ib_umem *umem = kzalloc(sizeof(*umem), GFP_KERNEL);

	if (!umem)
		return ERR_PTR(-ENOMEM);
	umem->address = start;
	umem->owning_mm = current->mm;
	umem->writable = ib_access_writable(access);
	umem->sgt_append.sgt.sgl = &page;
	umems++;
	if (while_pinning)
		while_pinning();
	return umem;
}

static void ib_umem_release(struct ib_umem *umem)
{
	umems -= !!umem;
	kfree(umem);
}

/* Add each page of the scatterlist to the MR */
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

/* Stubs ------------------------------------------------------------------------ */

int rnic_charge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	return 0;
}

void rnic_uncharge_object(struct rnic_dev *dev, enum rnic_kind kind) {}

void rnic_unpinned_shutdown(struct rnic_unpinned *b) {}
void rnic_unpinned_set_region_mem(struct ddp_region *r, struct rnic_unpinned *b) {}

struct rnic_unpinned *rnic_dmabuf_new(struct rnic_dev *dev, int fd, u64 offset,
				      u64 length, int access)
{
	return ERR_PTR(-ENOMEM);
}

static struct ddp_region *table[4];
static bool no_room;

int ddp_region_insert(struct ddp_stags *t, struct ddp_region *r, u8 key)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(table) && table[i]; i++)
		;
	if (i == ARRAY_SIZE(table) || no_room)
		return -ENOSPC;
	table[i] = r;
	r->stag = 0x123400 + 0x100 * i + key;
	return 0;
}

void ddp_region_remove(struct ddp_stags *t, struct ddp_region *r)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i] == r)
			table[i] = NULL;
	ddp_region_revoke(r);
}

struct ddp_region *ddp_region_peek(struct ddp_stags *t, u32 stag)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i] && table[i]->stag >> 8 == stag >> 8)
			return table[i];
	return NULL;
}

/* Cases --------------------------------------------------------------------- */

static struct rnic_dev device;
static struct ib_pd domain = { .device = &device.ib };
static struct scatterlist pages[2] = { { 0x10000 }, { 0x20000 } };

/* Allocate an MR and map two pages */
static struct rnic_mr *alloc_mapped_mr(struct kunit *test)
{
	struct ib_mr *ib = rnic_alloc_mr(&domain, IB_MR_TYPE_MEM_REG, 2);

	KUNIT_ASSERT_FALSE(test, IS_ERR(ib));
	ib->device = &device.ib;
	ib->page_size = 1 << PAGE_SHIFT;
	KUNIT_ASSERT_EQ(test, 2, rnic_map_mr_sg(ib, pages, 2, NULL));
	return to_rnic_mr(ib);
}

static enum iw_reason fastreg_by_stream(u64 stream, struct ib_pd *pd, struct rnic_mr *mr, u8 key)
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

/*
 * RDMAP-178: the MR records the stream whose work request has registered it
 * last, for ddp_mem_invalidate()
 */
static void mr_records_registering_stream(struct kunit *test)
{
	struct rnic_mr *mr = alloc_mapped_mr(test);
	u64 id;

	KUNIT_EXPECT_TRUE(test, mr->region.may_be_invalidated);
	KUNIT_EXPECT_FALSE(test, mr->region.valid);
	for (id = 7; id < 10; id++) {
		KUNIT_EXPECT_EQ(test, IW_OK, fastreg_by_stream(id, &domain, mr, id));
		KUNIT_EXPECT_TRUE(test, mr->region.valid);
		KUNIT_EXPECT_EQ(test, id, mr->region.invalidate_stream);
		KUNIT_EXPECT_EQ(test, 0x123400 | (u32)id, mr->region.stag);
		ddp_region_revoke(&mr->region);
	}
	rnic_dereg_mr(&mr->ib, NULL);
}

/*
 * DDP-114, DDP-116, DDP-127: the MR has the registered range and rights, for
 * all streams of its PD
 */
static void mr_has_registered_range_and_rights(struct kunit *test)
{
	struct rnic_mr *mr = alloc_mapped_mr(test);
	struct ddp_stream s = { .id = 7, .pd = &domain };
	const struct rdmap_wr wr = {
		.rkey = mr->ib.rkey, .raddr = mr->ib.iova + 3,
		.compare_add = mr->ib.length - 5, .swap = IB_ACCESS_REMOTE_READ,
	};

	KUNIT_EXPECT_EQ(test, IW_OK, rnic_mr_fastreg(&mr->ib, &wr, &s));
	KUNIT_EXPECT_EQ(test, mr->ib.iova + 3, mr->region.base);
	KUNIT_EXPECT_EQ(test, mr->ib.length - 5, mr->region.length);
	KUNIT_EXPECT_EQ(test, (int)rnic_to_ddp_rights(IB_ACCESS_REMOTE_READ),
			(int)mr->region.rights);
	KUNIT_EXPECT_FALSE(test, mr->region.rights & DDP_REMOTE_WRITE);
	KUNIT_EXPECT_EQ(test, 0ull, mr->region.stream);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&domain, mr->region.pd);
	rnic_dereg_mr(&mr->ib, NULL);
}

/* A failed registration changes neither the MR nor the stream that is recorded in the MR */
static void failed_registration_changes_nothing(struct kunit *test)
{
	struct rnic_mr *mr = alloc_mapped_mr(test);
	struct ib_pd other = { .device = &device.ib };

	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, fastreg_by_stream(7, &other, mr, 7));
	KUNIT_EXPECT_EQ(test, 0ull, mr->region.invalidate_stream);
	KUNIT_EXPECT_EQ(test, IW_OK, fastreg_by_stream(7, &domain, mr, 7));
	/* the MR is valid */
	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, fastreg_by_stream(8, &domain, mr, 8));
	KUNIT_EXPECT_EQ(test, 7ull, mr->region.invalidate_stream);
	rnic_dereg_mr(&mr->ib, NULL);
}

/* The blocks of an MR have the size that the consumer sets, whatever the page size is */
static void mr_blocks_have_set_size(struct kunit *test)
{
	static struct scatterlist blocks[2] = { { 0x11000 }, { 0x15000 } };
	struct rnic_mr *mr = alloc_mapped_mr(test);

	mr->ib.page_size = 4096;
	KUNIT_ASSERT_EQ(test, 2, rnic_map_mr_sg(&mr->ib, blocks, 2, NULL));
	KUNIT_EXPECT_EQ(test, IW_OK, fastreg_by_stream(7, &domain, mr, 7));
	KUNIT_EXPECT_EQ(test, 12, (int)mr->region.shift);
	KUNIT_EXPECT_EQ(test, 0u, (u32)mr->region.skip);
	rnic_dereg_mr(&mr->ib, NULL);
}

/* Changing user MRs ---------------------------------------------------------------- */

#define AT	0x5000
#define RIGHTS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_MW_BIND)

static struct ib_mr *known;
static struct rnic_mw window;

/* Set the field that the RDMA core sets in a new MR */
static struct ib_mr *set_core_fields(struct ib_mr *ib)
{
	if (!IS_ERR_OR_NULL(ib))
		ib->device = &device.ib;
	return ib;
}

static void create_window_and_known_mr(struct kunit *test, int access)
{
	window.ib = (struct ib_mw) {
		.device = &device.ib, .pd = &domain, .type = IB_MW_TYPE_2,
	};
	KUNIT_ASSERT_EQ(test, 0, rnic_alloc_mw(&window.ib, NULL));
	known = set_core_fields(rnic_reg_user_mr(&domain, AT, PAGE_SIZE, AT, access, NULL, NULL));
	KUNIT_ASSERT_FALSE(test, IS_ERR(known));
}

static bool bind_window_to_mr(u32 lkey)
{
	const struct ddp_stream s = { .pd = &domain, .id = 3 };
	const struct rdmap_wr wr = {
		.rkey = window.ib.rkey | 1, .inv = lkey, .raddr = AT,
		.compare_add = 16, .swap = IB_ACCESS_REMOTE_READ,
	};

	return rnic_mw_bind(&device, &s, &wr);
}

static void bind_window_to_known_mr(void)
{
	if (!bind_window_to_mr(known->lkey))
		abort();
}

static struct ib_mr *rereg_known_mr(int flags, int access)
{
	return set_core_fields(rnic_rereg_user_mr(known, flags, AT, PAGE_SIZE, AT, access, &domain,
						  NULL));
}

/*
 * Bind a window to the MR while its reregistration pins memory. Expect that the
 * reregistration fails, and that the old MR is unchanged and keeps the window.
 */
static void expect_rereg_fails_on_bind(struct kunit *test, int flags, int access)
{
	struct ib_mr *ib;

	while_pinning = bind_window_to_known_mr;
	ib = rereg_known_mr(flags, access);
	while_pinning = NULL;
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EBUSY), (void *)ib);
	KUNIT_EXPECT_EQ(test, 1, umems);
	KUNIT_EXPECT_PTR_EQ(test, NULL, (void *)table[2]);
	KUNIT_EXPECT_TRUE(test, to_rnic_mr(known)->region.valid);
	KUNIT_EXPECT_TRUE(test, window.w && table[0]->valid);
	KUNIT_EXPECT_EQ(test, -EBUSY, rnic_dereg_mr(known, NULL));
	/* a window can still be bound to the old MR */
	ddp_region_revoke(table[0]);
	KUNIT_EXPECT_TRUE(test, bind_window_to_mr(known->lkey));
	ddp_region_revoke(table[0]);
}

/*
 * Expect that the reregistration returned a new MR, and that no window can be
 * bound to the old MR. Destroy the old MR, as the RDMA core does.
 */
static void expect_new_mr_and_destroy_old(struct kunit *test, struct ib_mr *ib)
{
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(ib));
	KUNIT_EXPECT_FALSE(test, bind_window_to_mr(known->lkey));
	KUNIT_EXPECT_EQ(test, 0, rnic_dereg_mr(known, NULL));
	KUNIT_EXPECT_EQ(test, 1, umems);
	known = ib;
}

static void free_window_and_known_mr(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rnic_dealloc_mw(&window.ib));
	KUNIT_EXPECT_EQ(test, 0, rnic_dereg_mr(known, NULL));
	KUNIT_EXPECT_EQ(test, 0, umems);
}

/*
 * The blocks of a user MR are not smaller than a page, and the memory may begin
 * at any offset in the first block
 */
static void user_mr_blocks_have_page_size(struct kunit *test)
{
	create_window_and_known_mr(test, RIGHTS);
	KUNIT_EXPECT_EQ(test, PAGE_SHIFT, (int)to_rnic_mr(known)->region.shift);
	KUNIT_EXPECT_EQ(test, SPOT & (u32)(PAGE_SIZE - 1), to_rnic_mr(known)->region.skip);
	free_window_and_known_mr(test);
}

/* Changing the memory fails if a window is bound to the old MR while the new memory is pinned */
static void memory_change_fails_on_bind(struct kunit *test)
{
	create_window_and_known_mr(test, RIGHTS);
	expect_rereg_fails_on_bind(test, IB_MR_REREG_TRANS, 0);
	expect_new_mr_and_destroy_old(test, rereg_known_mr(IB_MR_REREG_TRANS, 0));
	free_window_and_known_mr(test);
}

/* Adding local write access fails if a window is bound while the memory is pinned again */
static void repin_fails_on_bind(struct kunit *test)
{
	const int access = RIGHTS | IB_ACCESS_LOCAL_WRITE;

	create_window_and_known_mr(test, RIGHTS);
	expect_rereg_fails_on_bind(test, IB_MR_REREG_ACCESS, access);
	expect_new_mr_and_destroy_old(test, rereg_known_mr(IB_MR_REREG_ACCESS, access));
	free_window_and_known_mr(test);
}

/* An MR with a bound window is neither changed nor replaced */
static void bound_window_blocks_rereg(struct kunit *test)
{
	create_window_and_known_mr(test, RIGHTS);
	bind_window_to_known_mr();
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EBUSY), (void *)rereg_known_mr(IB_MR_REREG_ACCESS, 0));
	KUNIT_EXPECT_EQ(test, RIGHTS, to_rnic_mr(known)->access);
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EBUSY), (void *)rereg_known_mr(IB_MR_REREG_TRANS, 0));
	KUNIT_EXPECT_EQ(test, 1, umems);
	KUNIT_EXPECT_TRUE(test, to_rnic_mr(known)->region.valid && table[0]->valid);
	ddp_region_revoke(table[0]);
	KUNIT_EXPECT_PTR_EQ(test, NULL, (void *)rereg_known_mr(IB_MR_REREG_ACCESS, 0));
	free_window_and_known_mr(test);
}

/* If no STag is free for the new MR, the old MR remains, and windows can be bound to it */
static void old_mr_stays_if_no_stag_is_free(struct kunit *test)
{
	create_window_and_known_mr(test, RIGHTS);
	no_room = true;
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-ENOSPC), (void *)rereg_known_mr(IB_MR_REREG_TRANS, 0));
	no_room = false;
	KUNIT_EXPECT_EQ(test, 1, umems);
	KUNIT_EXPECT_TRUE(test, bind_window_to_mr(known->lkey));
	ddp_region_revoke(table[0]);
	free_window_and_known_mr(test);
}

/* A process cannot make the driver pin memory of another process again */
static void foreign_memory_is_not_pinned(struct kunit *test)
{
	const int access = RIGHTS | IB_ACCESS_LOCAL_WRITE;

	create_window_and_known_mr(test, RIGHTS);
	caller.mm = &second;
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EINVAL),
			    (void *)rereg_known_mr(IB_MR_REREG_ACCESS, access));
	KUNIT_EXPECT_EQ(test, 1, umems);
	/*
	 * another process may set rights for which nothing must be pinned, or replace the memory
	 * with its own
	 */
	KUNIT_EXPECT_PTR_EQ(test, NULL, (void *)rereg_known_mr(IB_MR_REREG_ACCESS, RIGHTS));
	expect_new_mr_and_destroy_old(test, rereg_known_mr(IB_MR_REREG_TRANS | IB_MR_REREG_ACCESS,
							   access));
	caller.mm = &first;
	free_window_and_known_mr(test);
}

/*
 * When the RDMA core destroys the old MR, it passes the driver data of the reregistration, so
 * rnic_dereg_mr() does not check this data
 */
static void dereg_ignores_rereg_data(struct kunit *test)
{
	struct ib_mr *ib;

	create_window_and_known_mr(test, RIGHTS);
	ib = rereg_known_mr(IB_MR_REREG_TRANS, 0);
	udata_is = -EOPNOTSUPP;
	expect_new_mr_and_destroy_old(test, ib);
	free_window_and_known_mr(test);
	udata_is = 0;
}

/* The driver data of a dma-buf registration must be empty */
static void dmabuf_driver_data_must_be_empty(struct kunit *test)
{
	struct uverbs_attr_bundle attrs = {};
	struct ib_mr *mr;

	udata_is = -EOPNOTSUPP;
	mr = rnic_reg_user_mr_dmabuf(&domain, 0, PAGE_SIZE, 0, 3, RIGHTS, NULL, &attrs);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, (int)PTR_ERR(mr));
	udata_is = 0;
}

static u64 get_known_mr_base(void)
{
	return to_rnic_mr(known)->region.base;
}

/*
 * Changing the access flags does not change the base TO of an MR, even if the new
 * flags contain IB_ZERO_BASED
 */
static void access_change_keeps_base(struct kunit *test)
{
	const int to_write = RIGHTS | IB_ACCESS_LOCAL_WRITE;

	create_window_and_known_mr(test, RIGHTS);
	KUNIT_EXPECT_PTR_EQ(test, NULL,
			    (void *)rereg_known_mr(IB_MR_REREG_ACCESS, RIGHTS | IB_ZERO_BASED));
	KUNIT_EXPECT_EQ(test, (u64)AT, get_known_mr_base());
	expect_new_mr_and_destroy_old(test, rereg_known_mr(IB_MR_REREG_ACCESS,
							   to_write | IB_ZERO_BASED));
	KUNIT_EXPECT_EQ(test, (u64)AT, get_known_mr_base());
	expect_new_mr_and_destroy_old(test, rereg_known_mr(IB_MR_REREG_TRANS, 0));
	KUNIT_EXPECT_EQ(test, (u64)AT, get_known_mr_base());
	expect_new_mr_and_destroy_old(test, rereg_known_mr(IB_MR_REREG_TRANS | IB_MR_REREG_ACCESS,
							   to_write | IB_ZERO_BASED));
	KUNIT_EXPECT_EQ(test, 0ull, get_known_mr_base());
	free_window_and_known_mr(test);
}

/*
 * If a zero-based MR is reregistered with the same memory, its base TO stays 0, and its iova,
 * which programs can query, stays that of the registration
 */
static void zero_based_mr_keeps_base(struct kunit *test)
{
	const int to_write = RIGHTS | IB_ACCESS_LOCAL_WRITE;

	create_window_and_known_mr(test, RIGHTS | IB_ZERO_BASED);
	KUNIT_EXPECT_PTR_EQ(test, NULL, (void *)rereg_known_mr(IB_MR_REREG_ACCESS, RIGHTS));
	KUNIT_EXPECT_EQ(test, 0ull, get_known_mr_base());
	KUNIT_EXPECT_EQ(test, (u64)AT, known->iova);
	expect_new_mr_and_destroy_old(test, rereg_known_mr(IB_MR_REREG_ACCESS, to_write));
	KUNIT_EXPECT_EQ(test, 0ull, get_known_mr_base());
	KUNIT_EXPECT_EQ(test, (u64)AT, known->iova);
	expect_new_mr_and_destroy_old(test, rereg_known_mr(IB_MR_REREG_TRANS, 0));
	KUNIT_EXPECT_EQ(test, 0ull, get_known_mr_base());
	expect_new_mr_and_destroy_old(test, rereg_known_mr(IB_MR_REREG_TRANS | IB_MR_REREG_ACCESS,
							   to_write));
	KUNIT_EXPECT_EQ(test, (u64)AT, get_known_mr_base());
	free_window_and_known_mr(test);
}

static struct kunit_case rnic_mr_cases[] = {
	KUNIT_CASE(mr_records_registering_stream),
	KUNIT_CASE(mr_has_registered_range_and_rights),
	KUNIT_CASE(failed_registration_changes_nothing),
	KUNIT_CASE(mr_blocks_have_set_size),
	KUNIT_CASE(user_mr_blocks_have_page_size),
	KUNIT_CASE(memory_change_fails_on_bind),
	KUNIT_CASE(repin_fails_on_bind),
	KUNIT_CASE(bound_window_blocks_rereg),
	KUNIT_CASE(dereg_ignores_rereg_data),
	KUNIT_CASE(old_mr_stays_if_no_stag_is_free),
	KUNIT_CASE(foreign_memory_is_not_pinned),
	KUNIT_CASE(dmabuf_driver_data_must_be_empty),
	KUNIT_CASE(access_change_keeps_base),
	KUNIT_CASE(zero_based_mr_keeps_base),
	{}
};

static struct kunit_suite rnic_mr_suite = {
	.name = "rnic_mr",
	.test_cases = rnic_mr_cases,
};

kunit_test_suite(rnic_mr_suite);
