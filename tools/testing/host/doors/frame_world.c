// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Stubs of the tests of frame.c: messages, memory and pages, which may be
 * unavailable.
 */
#include <linux/skbuff.h>
#include <stdlib.h>

#include "../../../../drivers/ddp/bounds.h"
#include "frame.h"

struct frame_world world;
struct ddp_region regions[2];

u32 roll(u32 below)
{
	return prandom_u32_state(&world.dice) % below;
}

/* Pages --------------------------------------------------------------------- */

void put_page(struct page *page)
{
	if (--page->refs)
		return;
	world.pages--;
	free(page);
}

/* As the kernel's function */
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
	if (world.short_of && !roll(world.short_of))
		return false;
	if (posix_memalign((void **)&f->page, BLOCK, sizeof(*f->page) + world.page_size))
		abort();
	f->page->refs = 1;
	f->page->size = world.page_size;
	f->page->emergency = world.emergency;
	f->size = world.page_size;
	world.made++;
	world.pages++;
	return true;
}

/* Memory -------------------------------------------------------------------- */

/*
 * Position of a block in memory: of eight, 0 to 3 are contiguous, 4 and 5 are
 * swapped, 6 and 7 are contiguous
 */
u32 place_of(u32 block)
{
	return block % 8 == 4 || block % 8 == 5 ? block ^ 1 : block;
}

static bool mem_run(void *mem, u64 at, bool write, struct ddp_run *run)
{
	world.missed = !world.there[at / BLOCK];
	run->at = world.memory + at;
	run->len = min(run->len, (u32)(BLOCK - at % BLOCK));
	run->lock = NULL;
	return !world.missed;
}

void comes(void)
{
	struct ddp_wait *w = world.waits;
	u64 at;

	world.waits = NULL;
	if (!w)
		return;
	for (at = w->at / BLOCK; at <= (w->at + w->len - 1) / BLOCK; at++)
		world.there[at] = true;
	ddp_wait_over(w, false);
}

static void mem_bring(void *mem, struct ddp_wait *w)
{
	world.waits = w;
	if (world.at_once)
		comes();
}

static const struct ddp_mem_ops mem_ops = { .run = mem_run, .bring = mem_bring };

/* Stubs of stag.c, with two MRs */
enum iw_reason ddp_region_use(struct ddp_stream *s, const struct ddp_sge *m,
			      u8 rights, struct ddp_region **r)
{
	struct ddp_region *found = &regions[m->stag & 1];
	enum iw_reason why = ddp_bounds_check(found, s, m->stag, m->addr, m->len,
					      rights);

	if (why)
		return why;
	world.uses++;
	*r = found;
	return IW_OK;
}

void ddp_region_put(struct ddp_region *r)
{
	world.uses--;
}

void ddp_hold_drop(struct ddp_region **held)
{
	if (*held)
		ddp_region_put(*held);
	*held = NULL;
}

void ddp_hold_used(struct ddp_region **held)
{
}

enum iw_reason ddp_hold_use(struct ddp_stream *s, struct ddp_region **held,
			    const struct ddp_sge *m, u8 rights)
{
	static const struct iw_fault aborted = { .why = IW_LOCAL_ABORT };

	if (++world.asked == world.fails_at)
		ddp_stream_fail(s, &aborted);
	if (world.missed)
		world.again = m->len;
	world.missed = false;
	ddp_hold_drop(held);
	return ddp_region_use(s, m, rights, held);
}

/* Messages ------------------------------------------------------------------ */

static bool next(struct ddp_stream *s, struct ddp_msg *m)
{
	if (world.next == world.n || ddp_tx_waits(s))
		return false;
	memset(m, 0, sizeof(*m));
	m->hdr = world.messages[world.next].hdr;
	m->buf = &world.messages[world.next++].buf;
	m->rights = world.rights;
	return true;
}

static void failed(struct ddp_stream *s, const struct iw_fault *f)
{
	world.failed++;
}

static const struct ddp_ulp_ops ulp = { .next = next, .failed = failed };

struct message *add_message(bool tagged)
{
	struct message *m = &world.messages[world.n++];

	m->hdr = (struct ddp_hdr) {
		.tagged = tagged, .ulp8 = 0x40 + world.n, .ulp32 = 0xdeadbeef,
		.stag = 0xfeed0000 + world.n, .to = 0x1fffffff0ull, .qn = tagged ? 0 : 2,
	};
	m->buf.sge = m->sge;
	return m;
}

void add_piece(struct message *m, u32 stag, u32 off, u32 len)
{
	u64 at = stag == DDP_STAG_DMA ? (uintptr_t)world.memory : BASE;

	m->sge[m->buf.nsge++] = (struct ddp_sge) {
		.stag = stag, .addr = at + off, .len = len,
	};
	m->buf.len += len;
}

/* Add a random message, with SGEs of any length including zero */
void add_any(void)
{
	static const u32 most[] = { 1, 20, 300, 3001, 60000 };
	static const u32 stags[] = { BLOCKED, BLOCKED, PAGED, DDP_STAG_DMA };
	struct message *m = add_message(roll(2));
	u32 pieces = 1 + roll(PIECES);

	if (!roll(5)) {
		m->buf.len = roll(most[roll(5)]);
		m->buf.flat = world.memory + roll(1000);
		return;
	}
	while (pieces--)
		add_piece(m, stags[roll(4)], roll(1 + LENGTH - 60000),
			  roll(most[roll(5)]));
}

void open_conn(u32 seed, bool markers, bool crc)
{
	u32 i;

	memset(&world, 0, sizeof(world));
	memset(&want, 0, sizeof(want));
	prandom_seed_state(&world.dice, seed);
	prandom_bytes_state(&world.dice, world.memory, sizeof(world.memory));
	for (i = 0; i < BLOCKS; i++) {
		world.blocks[i] = world.memory + place_of(i) * BLOCK;
		world.there[i] = true;
	}
	for (i = 0; i < 2; i++)
		regions[i] = (struct ddp_region) {
			.base = BASE, .length = LENGTH, .stag = BLOCKED + i,
			.rights = DDP_LOCAL_READ | DDP_REMOTE_READ, .valid = true,
			.mem = world.memory, .from = SKIP, .ops = &mem_ops,
		};
	regions[0].block = world.blocks;
	regions[0].shift = 12;
	regions[0].skip = SKIP;
	ddp_stream_init(&world.s, &ulp, NULL, NULL);
	world.s.dma_ok = true;
	world.c.tx_stream = &world.s;
	world.c.tx_markers = markers;
	world.c.crc = crc;
	world.rights = DDP_LOCAL_READ;
	world.page_size = BLOCK;
	want.msn = 1;
}
