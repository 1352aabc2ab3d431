// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/place.c: placing the payloads of several segments at once. Each test
 * compares the memory with expected[], which the test fills byte by byte.
 */
#include "ddp_place.h"

#define QN	2	/* queue of the untagged messages */
#define GAP	7	/* bytes between scattered payloads */
#define BYTES	65536	/* maximum number of payload bytes of a batch */

/* Segments of a batch, with the payload bytes in order */
static struct {
	struct ddp_rx_batch	b;
	u32			each;	/* payload length of each segment */
	u8			octets[BYTES];
	u8			spread[BYTES + DDP_RX_BATCH_MAX * GAP];
} batch;

/* Prepare @n segments with random payloads. If they are not @joined, they are in reverse order. */
static void prepare_batch(u32 each, u32 n, bool joined)
{
	u32 i;

	prandom_bytes_state(&stubs.rnd, batch.octets, n * each);
	batch.each = each;
	batch.b.n = n;
	batch.b.joined = joined;
	for (i = 0; i < n; i++) {
		u8 *at = batch.spread + (n - 1 - i) * (each + GAP);

		memcpy(at, batch.octets + i * each, each);
		batch.b.body[i] = joined ? batch.octets + i * each : at;
	}
}

static void prepare_random_batch(u32 most)
{
	u32 n = 2 + random_below(DDP_RX_BATCH_MAX - 1);

	prepare_batch(1 + random_below(most / n), n, random_below(2));
}

/* Place the first segments of the batch at once. Return: the number of segments placed. */
static u32 place_batch(const struct ddp_hdr *h)
{
	struct ddp_batch_dst d;
	u32 n = ddp_place_begin_batch(&stubs.s, h, batch.each, batch.b.n, &d);

	if (!n)
		return 0;
	ddp_place_batch(&stubs.s, h, &d, &batch.b, n);
	ddp_place_end_batch(&stubs.s, &d);
	return n;
}

/* Place a byte at the beginning of an MR, so that the stream caches a reference to the MR */
static void open_conn_with_cached_mr(struct kunit *test, u32 seed, u32 stag)
{
	open_conn_with_writable_mrs(seed);
	KUNIT_EXPECT_EQ(test, IW_OK, place_tagged(stag, 0, 1, false, &segment.llp));
	set_expected_bytes(stag, 0, segment.octets, 1);
	stubs.s.rx_seg.rights = DDP_REMOTE_WRITE;
}

/*
 * A batch may extend over several blocks of an MR, some of which are not adjacent. It is placed as
 * its segments would be, whether its payloads are joined or scattered.
 */
static void tagged_batch_is_placed_in_all_blocks(struct kunit *test)
{
	struct ddp_hdr h = { .tagged = true };
	u32 i, off, len;

	open_conn_with_cached_mr(test, 20, BLOCKED);
	for (i = 0; i < 300; i++) {
		prepare_random_batch(i % 2 ? 9000 : BYTES);
		len = batch.each * batch.b.n;
		off = i < 4 ? LENGTH - len : random_below(LENGTH - len);
		h.to = BASE + off;
		KUNIT_EXPECT_EQ(test, batch.b.n, place_batch(&h));
		set_expected_bytes(BLOCKED, off, batch.octets, len);
	}
	KUNIT_EXPECT_EQ(test, 1, stubs.mr_refs);
	expect_memory_and_no_refs(test);
}

/* Scattered payloads that end at a block, or that begin or end one byte beside its end */
static void scattered_payload_may_end_at_block(struct kunit *test)
{
	struct ddp_hdr h = { .tagged = true };
	u32 each, off, start;

	open_conn_with_cached_mr(test, 21, BLOCKED);
	for (each = BLOCK / 2 - 1; each <= BLOCK / 2 + 1; each++) {
		for (start = 0; start < 3; start++) {
			/* blocks 4 and 5 of each eight blocks are swapped */
			off = 3 * BLOCK - SKIP - 1 + start;
			prepare_batch(each, 9, false);
			h.to = BASE + off;
			KUNIT_EXPECT_EQ(test, 9u, place_batch(&h));
			set_expected_bytes(BLOCKED, off, batch.octets, 9 * each);
		}
	}
	expect_memory_and_no_refs(test);
}

/* Begin to place an untagged message in the SGEs of @m */
static void begin_message(const struct message *m)
{
	ddp_cursor_init(&stubs.s.sink[QN], &m->buf);
}

static const struct ddp_hdr more = { .qn = QN };

/* Batches fill one SGE one after the other */
static void untagged_batches_fill_sge(struct kunit *test)
{
	struct message *m;
	u32 i, at;

	open_conn_with_writable_mrs(22);
	m = add_message(false);
	add_sge(m, BLOCKED, 1000, 200000);
	begin_message(m);
	for (at = 0; at < 200000 - BYTES; at += i) {
		prepare_random_batch(BYTES);
		KUNIT_EXPECT_EQ(test, batch.b.n, place_batch(&more));
		for (i = 0; i < batch.each * batch.b.n; i++)
			set_expected_sge_byte(m, at + i, batch.octets[i]);
	}
	KUNIT_EXPECT_EQ(test, at, stubs.s.sink[QN].off);
	KUNIT_EXPECT_PTR_EQ(test, &regions[0], stubs.s.rx_mr);
	expect_memory_and_no_refs(test);
}

/* Get the number of segments of the batch that may be placed at once from byte @at of the SGEs */
static u32 count_segments_before_end(const struct message *m, u32 at)
{
	const struct ddp_sge *e = m->sge;
	u32 left;

	for (; at >= e->len; e++)
		at -= e->len;
	if (e->stag == DDP_STAG_DMA)
		return 0;
	left = e->len - at;
	if (e->stag == PAGED)
		left = min_t(u32, left, BLOCK - (SKIP + e->addr - BASE + at) % BLOCK);
	left = min(batch.b.n, left / batch.each);
	return left > 1 ? left : 0;
}

/*
 * Place a batch at byte @at of the SGEs: the first segments at once, and one more singly if not all
 * of them are placed. Return: the number of bytes placed.
 */
static u32 place_batch_and_next(struct kunit *test, const struct message *m, u32 at)
{
	u32 i, n = place_batch(&more);

	KUNIT_EXPECT_EQ(test, count_segments_before_end(m, at), n);
	if (n < batch.b.n)
		KUNIT_EXPECT_EQ(test, IW_OK,
				ddp_place_untagged_segment(&stubs.s, NULL, batch.b.body[n],
							   &stubs.s.sink[QN], batch.each));
	n += n < batch.b.n;
	for (i = 0; i < n * batch.each; i++)
		set_expected_sge_byte(m, at + i, batch.octets[i]);
	return n * batch.each;
}

/*
 * A batch ends at the last segment that is completely in the SGE of its first segment, and without
 * blocks at the last one in the page. In kernel memory no segments are placed at once.
 */
static void untagged_batch_ends_with_sge(struct kunit *test)
{
	static const u32 stags[] = { BLOCKED, BLOCKED, PAGED, DDP_STAG_DMA };
	struct message *m;
	u32 seed, i, at;

	for (seed = 30; seed < 60; seed++) {
		open_conn_with_writable_mrs(seed);
		m = add_message(false);
		for (i = 0; i < PIECES; i++)
			add_sge(m, stags[random_below(4)], 40000 * i + random_below(9000),
				random_below(4) ? random_below(30000) : 0);
		begin_message(m);
		prepare_random_batch(12000);
		for (at = 0; at + batch.each * batch.b.n <= m->buf.len;) {
			at += place_batch_and_next(test, m, at);
			prepare_random_batch(12000);
		}
		expect_memory_and_no_refs(test);
	}
}

/* Check that nothing can be placed at once at the beginning of @buf, and that the cursor stays */
static void expect_no_batch(struct kunit *test, const struct ddp_buf *buf)
{
	ddp_cursor_init(&stubs.s.sink[QN], buf);
	KUNIT_EXPECT_EQ(test, 0u, place_batch(&more));
	KUNIT_EXPECT_EQ(test, 0u, stubs.s.sink[QN].off);
}

/*
 * Nothing is placed at once in memory that the owner of the receive may not write, in memory that
 * is no MR, and beyond the end of the receive
 */
static void refused_batch_writes_nothing(struct kunit *test)
{
	struct ddp_buf flat = { .flat = stubs.memory, .len = 200 };
	struct message *m;

	open_conn_with_writable_mrs(23);
	prepare_batch(10, 4, true);
	expect_no_batch(test, &flat);
	m = add_message(false);
	expect_no_batch(test, &m->buf);
	add_sge(m, BLOCKED, 0, 39);
	ddp_cursor_init(&stubs.s.sink[QN], &m->buf);
	stubs.s.sink[QN].off = 30;
	KUNIT_EXPECT_EQ(test, 0u, place_batch(&more));
	stubs.s.sink[QN].off = 39;
	KUNIT_EXPECT_EQ(test, 0u, place_batch(&more));
	regions[0].rights &= ~DDP_LOCAL_WRITE;
	expect_no_batch(test, &m->buf);
	regions[0].rights |= DDP_LOCAL_WRITE;
	regions[0].valid = false;
	expect_no_batch(test, &m->buf);
	regions[0].valid = true;
	m = add_message(false);
	add_sge(m, BLOCKED, LENGTH - 39, 40);
	expect_no_batch(test, &m->buf);
	/* a user-space stream may not use kernel memory */
	stubs.s.dma_ok = false;
	m = add_message(false);
	add_sge(m, DDP_STAG_DMA, 0, 40);
	expect_no_batch(test, &m->buf);
	KUNIT_EXPECT_NULL(test, stubs.s.rx_mr);
	expect_memory_and_no_refs(test);
}

/*
 * If the first page of a batch is missing, nothing is placed at once, and no request is issued: the
 * first segment issues it. A batch that ends before a missing page is placed, and ends the failure
 * of an earlier request for its pages.
 */
static void missing_page_ends_batch(struct kunit *test)
{
	struct ddp_hdr h = { .tagged = true, .to = BASE + BLOCK - SKIP };

	open_conn_with_cached_mr(test, 24, PAGED);
	memset(stubs.present, true, sizeof(stubs.present));
	prepare_batch(10, 4, false);
	stubs.present[1] = false;
	KUNIT_EXPECT_EQ(test, 0u, place_batch(&h));
	KUNIT_EXPECT_FALSE(test, stubs.s.rx_fault.pending);
	h.to -= 25;
	KUNIT_EXPECT_EQ(test, 2u, place_batch(&h));
	set_expected_bytes(PAGED, BLOCK - SKIP - 25, batch.octets, 20);
	stubs.present[1] = true;
	stubs.s.rx_fault.fault_failed = true;
	stubs.s.rx_fault.mem = regions[1].mem;
	stubs.s.rx_fault.write = true;
	stubs.s.rx_fault.at = regions[1].mem_base + BLOCK - SKIP + 15;
	h.to = BASE + BLOCK - SKIP;
	KUNIT_EXPECT_EQ(test, 4u, place_batch(&h));
	KUNIT_EXPECT_FALSE(test, stubs.s.rx_fault.fault_failed);
	set_expected_bytes(PAGED, BLOCK - SKIP, batch.octets, 40);
	expect_memory_and_no_refs(test);
}

static struct kunit_case ddp_place_batch_cases[] = {
	KUNIT_CASE(tagged_batch_is_placed_in_all_blocks),
	KUNIT_CASE(scattered_payload_may_end_at_block),
	KUNIT_CASE(untagged_batches_fill_sge),
	KUNIT_CASE(untagged_batch_ends_with_sge),
	KUNIT_CASE(refused_batch_writes_nothing),
	KUNIT_CASE(missing_page_ends_batch),
	{}
};

static struct kunit_suite ddp_place_batch_suite = {
	.name = "ddp_place_batch",
	.test_cases = ddp_place_batch_cases,
};

kunit_test_suite(ddp_place_batch_suite);
