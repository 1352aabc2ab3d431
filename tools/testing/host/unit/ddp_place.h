/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Test fixture: a segment to place, and the expected content of the memory */
#ifndef _HOST_UNIT_DDP_PLACE_H
#define _HOST_UNIT_DDP_PLACE_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/skbuff.h>

#include "frame.h"

#define SEGMENT		3000	/* maximum payload */
#define WRITE		(DDP_LOCAL_WRITE | DDP_REMOTE_WRITE | DDP_REMOTE_ATOMIC)

/* The payload of a segment whose header the lower layer has read already */
static struct {
	struct ddp_llp	llp;
	u8		octets[SEGMENT];
	u32		at;
	u32		reads, fails_at;	/* reads; which of them fails, 0: none */
} segment;

static u8 expected[BLOCKS * BLOCK];

static bool read_segment_bytes(struct ddp_llp *llp, void *dst, u32 len)
{
	if (++segment.reads == segment.fails_at)
		return false;
	memcpy(dst, segment.octets + segment.at, len);
	segment.at += len;
	return true;
}

static const struct ddp_llp_ops llp_ops = { .read = read_segment_bytes };

static void prepare_random_segment(void)
{
	prandom_bytes_state(&stubs.rnd, segment.octets, sizeof(segment.octets));
	segment.llp.ops = &llp_ops;
	segment.at = 0;
	segment.reads = 0;
	segment.fails_at = 0;
}

static void open_conn_with_writable_mrs(u32 seed)
{
	open_conn(seed, false, false);
	regions[0].rights |= WRITE;
	regions[1].rights |= WRITE;
	memcpy(expected, stubs.memory, sizeof(expected));
	prepare_random_segment();
}

/* Return the index in stubs.memory of byte @off of an MR, or of DMA memory */
static u32 get_memory_index(u32 stag, u32 off)
{
	if (stag == DDP_STAG_DMA)
		return off;
	off += SKIP;
	return stag == PAGED ? off : get_block_index(off / BLOCK) * BLOCK + off % BLOCK;
}

static u64 get_address(u32 stag, u32 off)
{
	return stag == DDP_STAG_DMA ? (uintptr_t)stubs.memory + off : BASE + off;
}

static void set_expected_bytes(u32 stag, u32 off, const u8 *octets, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		expected[get_memory_index(stag, off + i)] = octets[i];
}

/* Set the expected value of byte @at of the SGE list to @octet */
static void set_expected_sge_byte(const struct message *m, u32 at, u8 octet)
{
	const struct ddp_sge *e = m->sge;
	u64 base;

	for (; at >= e->len; e++)
		at -= e->len;
	base = get_address(e->stag, 0);
	set_expected_bytes(e->stag, e->addr - base + at, &octet, 1);
}

/* Expect that the memory equals expected[] and that no MR reference is left */
static void expect_memory_and_no_refs(struct kunit *test)
{
	ddp_mr_cache_drop(&stubs.s.rx_mr);
	KUNIT_EXPECT_EQ(test, 0, stubs.mr_refs);
	KUNIT_EXPECT_TRUE(test, !memcmp(expected, stubs.memory, sizeof(expected)));
}

static enum iw_reason place_tagged(u32 stag, u32 off, u32 len, bool last, struct ddp_llp *llp)
{
	const struct ddp_hdr h = {
		.tagged = true, .last = last, .stag = stag, .to = BASE + off,
	};

	return ddp_place_tagged_segment(&stubs.s, llp, &h, len, DDP_REMOTE_WRITE);
}

#endif
