// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Stubs of the tests of frame.c: messages, memory and pages, which may be
 * unavailable.
 */
#include <linux/skbuff.h>
#include <stdlib.h>

#include "../../../../drivers/ddp/bounds.h"
#include "frame.h"

struct frame_stubs stubs;
struct ddp_region regions[2];

u32 random_below(u32 below)
{
	return prandom_u32_state(&stubs.rnd) % below;
}

/* Pages --------------------------------------------------------------------- */

void put_page(struct page *page)
{
	if (--page->refs)
		return;
	stubs.pages--;
	free(page);
}

/*
 * Make sure that the fragment @f has space for @least bytes, like the kernel's
 * function
 */
bool skb_page_frag_refill(u32 least, struct page_frag *f, gfp_t gfp)
{
	if (f->page) {
		if (f->page->refs == 1) {
			f->offset = 0;
			return true;
		}
		if (f->offset + least <= f->size)
			return true;
		put_page(f->page);
	}
	f->offset = 0;
	f->page = NULL;
	if (stubs.short_of && !random_below(stubs.short_of))
		return false;
	if (posix_memalign((void **)&f->page, BLOCK, sizeof(*f->page) + stubs.page_size))
		abort();
	f->page->refs = 1;
	f->page->size = stubs.page_size;
	f->page->emergency = stubs.emergency;
	f->size = stubs.page_size;
	stubs.made++;
	stubs.pages++;
	return true;
}

/* Memory -------------------------------------------------------------------- */

/*
 * Return the index in memory of block number @block of the pinned MR. Of each
 * eight blocks the 5th and 6th are swapped, so that the MR is not contiguous.
 */
u32 get_block_index(u32 block)
{
	return block % 8 == 4 || block % 8 == 5 ? block ^ 1 : block;
}

static bool find_extent(void *mem, u64 at, bool write, struct ddp_extent *extent)
{
	stubs.missed = !stubs.present[at / BLOCK];
	extent->at = stubs.memory + at;
	extent->len = min(extent->len, (u32)(BLOCK - at % BLOCK));
	extent->lock = NULL;
	return !stubs.missed;
}

void complete_fault(void)
{
	struct ddp_fault *w = stubs.fault;
	u64 at;

	stubs.fault = NULL;
	if (!w)
		return;
	for (at = w->at / BLOCK; at <= (w->at + w->len - 1) / BLOCK; at++)
		stubs.present[at] = true;
	ddp_fault_complete(w, false);
}

static void record_fault(void *mem, struct ddp_fault *w)
{
	stubs.fault = w;
	if (stubs.fault_at_once)
		complete_fault();
}

static const struct ddp_mem_ops mem_ops = { .extent = find_extent, .fault_in = record_fault };

/* Stubs of stag.c, with two MRs */
enum iw_reason ddp_region_check_and_get(struct ddp_stream *s, const struct ddp_sge *m,
					u8 rights, struct ddp_region **r)
{
	struct ddp_region *found = &regions[m->stag & 1];
	enum iw_reason why = ddp_bounds_check_access(found, s, m->stag, m->addr, m->len,
						     rights);

	if (why)
		return why;
	stubs.mr_refs++;
	*r = found;
	return IW_OK;
}

void ddp_region_put(struct ddp_region *r)
{
	stubs.mr_refs--;
}

void ddp_mr_cache_drop(struct ddp_region **held)
{
	if (*held)
		ddp_region_put(*held);
	*held = NULL;
}

void ddp_mr_cache_end_copy(struct ddp_region **held)
{
}

enum iw_reason ddp_mr_cache_check_and_get(struct ddp_stream *s, struct ddp_region **held,
				struct ddp_mr_hint *hint, const struct ddp_sge *m, u8 rights)
{
	static const struct iw_failure aborted = { .why = IW_LOCAL_ABORT };

	if (++stubs.mr_lookups == stubs.fails_at)
		ddp_stream_fail(s, &aborted);
	if (stubs.missed)
		stubs.retry_len = m->len;
	stubs.missed = false;
	ddp_mr_cache_drop(held);
	return ddp_region_check_and_get(s, m, rights, held);
}

/* Messages ------------------------------------------------------------------ */

static bool get_next_message(struct ddp_stream *s, struct ddp_msg *m)
{
	if (stubs.next == stubs.n || ddp_tx_has_pending_fault(s))
		return false;
	memset(m, 0, sizeof(*m));
	m->hdr = stubs.messages[stubs.next].hdr;
	m->buf = &stubs.messages[stubs.next++].buf;
	m->rights = stubs.rights;
	m->more = !stubs.one_by_one;
	return true;
}

static void count_failure(struct ddp_stream *s, const struct iw_failure *f)
{
	stubs.failed++;
}

static const struct ddp_ulp_ops ulp = { .next = get_next_message, .failed = count_failure };

struct message *add_message(bool tagged)
{
	struct message *m = &stubs.messages[stubs.n++];

	m->hdr = (struct ddp_hdr) {
		.tagged = tagged, .ulp8 = 0x40 + stubs.n, .ulp32 = 0xdeadbeef,
		.stag = 0xfeed0000 + stubs.n, .to = 0x1fffffff0ull, .qn = tagged ? 0 : 2,
	};
	m->buf.sge = m->sge;
	return m;
}

void add_sge(struct message *m, u32 stag, u32 off, u32 len)
{
	u64 at = stag == DDP_STAG_DMA ? (uintptr_t)stubs.memory : BASE;

	m->sge[m->buf.nsge++] = (struct ddp_sge) {
		.stag = stag, .addr = at + off, .len = len,
	};
	m->buf.len += len;
}

/* Add a random message, with SGEs of any length including zero */
void add_random_message(void)
{
	static const u32 most[] = { 1, 20, 300, 3001, 60000 };
	static const u32 stags[] = { BLOCKED, BLOCKED, PAGED, DDP_STAG_DMA };
	struct message *m = add_message(random_below(2));
	u32 pieces = 1 + random_below(PIECES);

	if (!random_below(5)) {
		m->buf.len = random_below(most[random_below(5)]);
		m->buf.flat = stubs.memory + random_below(1000);
		return;
	}
	while (pieces--)
		add_sge(m, stags[random_below(4)], random_below(1 + LENGTH - 60000),
			random_below(most[random_below(5)]));
}

void open_conn(u32 seed, bool markers, bool crc)
{
	u32 i;

	memset(&stubs, 0, sizeof(stubs));
	memset(&want, 0, sizeof(want));
	prandom_seed_state(&stubs.rnd, seed);
	prandom_bytes_state(&stubs.rnd, stubs.memory, sizeof(stubs.memory));
	for (i = 0; i < BLOCKS; i++) {
		stubs.blocks[i] = stubs.memory + get_block_index(i) * BLOCK;
		stubs.present[i] = true;
	}
	for (i = 0; i < 2; i++)
		regions[i] = (struct ddp_region) {
			.base = BASE, .length = LENGTH, .stag = BLOCKED + i,
			.rights = DDP_LOCAL_READ | DDP_REMOTE_READ, .valid = true,
			.mem = stubs.memory, .mem_base = SKIP, .ops = &mem_ops,
		};
	regions[0].block = stubs.blocks;
	regions[0].shift = 12;
	regions[0].skip = SKIP;
	ddp_stream_init(&stubs.s, &ulp, NULL, NULL);
	stubs.s.dma_ok = true;
	stubs.c.tx_stream = &stubs.s;
	stubs.c.tx_markers = markers;
	stubs.c.crc = crc;
	stubs.rights = DDP_LOCAL_READ;
	stubs.page_size = BLOCK;
	want.msn = 1;
}
