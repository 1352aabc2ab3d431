// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory and MRs: pinned memory in blocks of several sizes, kernel memory, ODP memory,
 * and MRs that the stream may not use at all, or only for some accesses. The MRs overlap. Each
 * MR has the same STag in every run.
 */
#include <linux/rhashtable.h>

#include "memory.h"

#define FLAT		24	/* adjacent pages, for long segments */
#define SCATTERED	8	/* pages of the MRs whose pages are not adjacent */
#define PAGED		8	/* pages of ODP memory */
#define BAD_PAGE	5	/* page of the second ODP MR that cannot be faulted in */
#define ALL		(DDP_LOCAL_WRITE | DDP_REMOTE | DDP_LOCAL_READ)

static_assert(FLAT + SCATTERED + PAGED == PAGES);

struct ddp_stags memory_stags;

static u8 *page[PAGES];

/* Tables of blocks */
static void *flat[FLAT], *scattered[SCATTERED], *large[FLAT / 4];

/* Two ODP MRs of the same memory; different pages are present for each of them */
static struct odp {
	bool	present[PAGED];
	int	bad;		/* page that cannot be faulted in, or -1 */
} odp[2];
static rwlock_t odp_lock;

enum how { IN_FLAT, IN_SCATTERED, IN_LARGE, IN_KERNEL, IN_ODP };

static const struct spec {
	enum how	how;
	u64		base;		/* IN_KERNEL: offset in the flat pages */
	u32		length;
	u32		skip;		/* IN_ODP: index in odp[] */
	u8		rights;
	u8		whose;		/* 0: the stream's; 1: of another PD; 2: of another stream */
	bool		may_be_invalidated, by_peer, invalid;
} specs[MRS] = {
	{ IN_FLAT, 0x10000, FLAT * 4096 - 160, 60, ALL },
	{ IN_SCATTERED, 0, SCATTERED * 4096 - 0x123 - 5, 0x123, ALL },
	{ IN_LARGE, 0xfedcba9876540000, FLAT * 4096, 0, ALL },
	{ IN_KERNEL, 2 * 4096 + 17, 40000, 0, ALL },
	/* the last byte of the address space is in this MR */
	{ IN_ODP, -8ull * 4096, PAGED * 4096, 0, ALL },
	{ IN_ODP, 0x7000, PAGED * 4096 - 100, 1, ALL },
	{ IN_SCATTERED, 0x1000, 4096, 0, DDP_LOCAL_WRITE | DDP_LOCAL_READ | DDP_REMOTE_READ },
	{ IN_SCATTERED, 0x1000, 4096, 0, ALL, 1 },
	{ IN_SCATTERED, 0x1000, 4096, 0, ALL, 2 },
	{ IN_FLAT, 0x4000, 3 * 4096 + 1, 4000, DDP_REMOTE, 0, true, true },
	{ IN_SCATTERED, 0xffff0000, 5 * 4096, 0, ALL, 0, true, true },
	{ IN_FLAT, 0xffff0000, 5 * 4096, 0, ALL, 0, true, false },
	{ IN_SCATTERED, 0x1000, 4096, 0, ALL, 0, true, true, true },
};

static struct ddp_region regions[MRS];
static struct world_mr known[MRS];
static u32 drawn;

/* The kernel's functions ---------------------------------------------------------- */

u32 host_get_random(void)
{
	return ++drawn * 0x01357900;
}

/*
 * Fail the run: the code under test waits for references to an MR, but this thread holds the
 * reference itself
 */
void host_on_cpu_relax(void)
{
	MUST("rx-waits-forever", false);
}

void host_on_sleep(void)
{
	MUST("rx-sleeps", false);
}

static struct rhash_head *entries[MRS];

int rhashtable_init(struct rhashtable *ht, const struct rhashtable_params *params)
{
	ht->nelems.v = 0;
	return 0;
}

void rhashtable_destroy(struct rhashtable *ht) { }

void *rhashtable_lookup(struct rhashtable *ht, const u32 *index,
			const struct rhashtable_params params)
{
	struct rhashtable_compare_arg arg = { .key = index };
	void *object;
	int i;

	for (i = 0; i < ht->nelems.v; i++) {
		object = (u8 *)entries[i] - params.head_offset;
		if (!params.obj_cmpfn(&arg, object))
			return object;
	}
	return NULL;
}

int rhashtable_lookup_insert_fast(struct rhashtable *ht, struct rhash_head *node,
				  const struct rhashtable_params params)
{
	entries[ht->nelems.v++] = node;
	return 0;
}

void rhashtable_remove_fast(struct rhashtable *ht, struct rhash_head *node,
			    const struct rhashtable_params params)
{
	int i;

	for (i = 0; entries[i] != node; i++)
		;
	entries[i] = entries[--ht->nelems.v];
}

/* Pages --------------------------------------------------------------------------- */

static void *allocate_adjacent_pages(u32 n)
{
	void *p;

	if (posix_memalign(&p, PAGE_SIZE, n * PAGE_SIZE))
		abort();
	return p;
}

/* Allocate the pages once. Pages that are not adjacent have a red zone between them. */
static void allocate_pages(void)
{
	u32 i;

	page[0] = allocate_adjacent_pages(FLAT);
	for (i = 0; i < FLAT; i++)
		flat[i] = page[i] = page[0] + i * PAGE_SIZE;
	/* the blocks of 16 KiB are in another order than their addresses */
	for (i = 0; i < FLAT / 4; i++)
		large[i] = page[(i + 4) % (FLAT / 4) * 4];
	for (i = FLAT; i < PAGES; i++)
		page[i] = allocate_adjacent_pages(1);
	for (i = 0; i < SCATTERED; i++)
		scattered[i] = page[FLAT + i];
}

void memory_reset(void)
{
	u32 i;

	if (!page[0])
		allocate_pages();
	for (i = 0; i < PAGES; i++)
		memset(page[i], i + 1, PAGE_SIZE);
	memset(odp, 0, sizeof(odp));
	odp[0].bad = -1;
	odp[1].bad = BAD_PAGE;
}

/* ODP memory ---------------------------------------------------------------------- */

static bool odp_find_extent(void *mem, u64 at, bool write, struct ddp_extent *extent)
{
	const struct odp *o = mem;
	u32 n = at / PAGE_SIZE;

	MUST("odp-inside", n < PAGED);
	if (!o->present[n])
		return false;
	read_lock(&odp_lock);
	extent->at = page[FLAT + SCATTERED + n] + offset_in_page(at);
	extent->len = min(extent->len, (u32)(PAGE_SIZE - offset_in_page(at)));
	extent->lock = &odp_lock;
	return true;
}

void memory_resolve_fault(struct ddp_fault *w)
{
	struct odp *o = w->mem;
	bool bad = false;
	u64 n;

	MUST("odp-fault-inside", w->len && (w->at + w->len - 1) / PAGE_SIZE < PAGED);
	for (n = w->at / PAGE_SIZE; n <= (w->at + w->len - 1) / PAGE_SIZE; n++) {
		if ((int)n == o->bad)
			bad = true;
		else
			o->present[n] = true;
	}
	ddp_fault_complete(w, bad);
}

static void odp_fault_in(void *mem, struct ddp_fault *w)
{
	u32 which = w == &world.r.stream.tx_fault;

	MUST("odp-one-fault", !world.fault[which]);
	if (world.plan->faults_at_once)
		memory_resolve_fault(w);
	else
		world.fault[which] = w;
}

static void odp_cancel(struct ddp_fault *w) { }

static const struct ddp_mem_ops odp_ops = {
	.extent = odp_find_extent, .fault_in = odp_fault_in, .cancel = odp_cancel,
};

void memory_drop_odp_pages(void)
{
	memset(odp[0].present, 0, sizeof(odp[0].present));
	memset(odp[1].present, 0, sizeof(odp[1].present));
}

/* MRs ----------------------------------------------------------------------------- */

static void init_region(struct ddp_region *r, const struct spec *spec)
{
	r->base = spec->base;
	r->skip = spec->skip;
	r->shift = PAGE_SHIFT;
	switch (spec->how) {
	case IN_FLAT:
		r->block = flat;
		break;
	case IN_SCATTERED:
		r->block = scattered;
		break;
	case IN_LARGE:
		r->block = large;
		r->shift = PAGE_SHIFT + 2;
		break;
	case IN_KERNEL:
		r->base += (uintptr_t)flat[0];
		break;
	case IN_ODP:
		r->skip = 0;
		r->ops = &odp_ops;
		r->mem = &odp[spec->skip];
		r->mem_base = spec->skip ? 100 : 0;
		break;
	}
}

void memory_register_mrs(const struct ddp_stream *s)
{
	const struct spec *spec;
	struct ddp_region *r;

	ddp_stags_init(&memory_stags);
	drawn = 0;
	for (r = regions; r < regions + MRS; r++) {
		spec = &specs[r - regions];
		memset(r, 0, sizeof(*r));
		init_region(r, spec);
		r->length = spec->length;
		r->rights = spec->rights;
		r->pd = spec->whose == 1 ? NULL : &memory_stags;
		r->stream = spec->whose == 2 ? s->id + 1 : 0;
		r->may_be_invalidated = spec->may_be_invalidated;
		r->invalidate_stream = spec->by_peer ? s->id : 0;
		r->valid = !spec->invalid;
		if (ddp_region_insert(&memory_stags, r, r - regions + 1))
			abort();
	}
}

/* Register the MRs once, and record their STags, which are the same in each run */
static void register_mrs_and_record_stags(void)
{
	static const struct ddp_stream s;
	u32 i;

	memory_reset();
	memory_register_mrs(&s);
	for (i = 0; i < MRS; i++)
		known[i] = (struct world_mr) {
			.stag = regions[i].stag, .base = regions[i].base,
			.length = regions[i].length,
		};
}

const struct world_mr *get_test_mr(u32 mr)
{
	if (!known[0].stag)
		register_mrs_and_record_stags();
	return &known[mr];
}

void memory_revoke_mr(u32 mr)
{
	ddp_region_revoke(&regions[mr]);
}

void memory_validate_mr(u32 mr)
{
	if (!regions[mr].valid)
		ddp_region_validate(&regions[mr], regions[mr].stag);
}

void memory_remove_mrs_and_copy_pages(struct result *result)
{
	u32 i;

	for (i = 0; i < MRS; i++) {
		MUST("mr-reference", refcount_read(&regions[i].users) == 1);
		ddp_region_remove(&memory_stags, &regions[i]);
	}
	ddp_stags_destroy(&memory_stags);
	for (i = 0; i < PAGES; i++)
		memcpy(result->memory[i], page[i], PAGE_SIZE);
}
