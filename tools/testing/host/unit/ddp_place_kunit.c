// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/{place,atomic}.c: placing data. The lower layer is a stub;
 * the memory is that of mpa_frame_stubs.c. Each test compares the memory with
 * expected[], which the test fills byte by byte.
 */
#include "ddp_place.h"

/* RFC 5041 5.2.1: data is placed where the header says, and nowhere else */
static void tagged_data_is_placed_at_its_to(struct kunit *test)
{
	u32 i, stag, off, len;

	open_conn_with_writable_mrs(1);
	for (i = 0; i < 300; i++) {
		prepare_random_segment();
		stag = i % 2 ? PAGED : BLOCKED;
		len = 1 + random_below(SEGMENT);
		off = i < 4 ? LENGTH - len : random_below(LENGTH - len);
		KUNIT_EXPECT_EQ(test, IW_OK, place_tagged(stag, off, len, random_below(2), &segment.llp));
		set_expected_bytes(stag, off, segment.octets, len);
		KUNIT_EXPECT_EQ(test, len, segment.at);
	}
	expect_memory_and_no_refs(test);
}

/*
 * State of record_placed_bytes_at_barrier(), which runs before the last byte of a range is
 * written: @good stays true if all bytes except the last are in place then
 */
static struct {
	u32	stag, off, len;
	u32	barriers;
	bool	good;
} before_last;

static u8 read_range_byte(u32 i)
{
	return stubs.memory[get_memory_index(before_last.stag, before_last.off + i)];
}

static void record_placed_bytes_at_barrier(void)
{
	u32 i, last = before_last.len - 1;

	before_last.barriers++;
	for (i = 0; i < last; i++)
		before_last.good &= read_range_byte(i) == segment.octets[i];
	before_last.good &= read_range_byte(last) == (u8)~segment.octets[last];
}

static enum iw_reason place_next_untagged(const void *body, struct ddp_cursor *to, u32 len)
{
	return ddp_place_untagged_segment(&stubs.s, &segment.llp, body, to, len);
}

/* Place a tagged segment that continues the previous one */
static enum iw_reason place_next_tagged(const void *body, u64 to, u32 len, bool last)
{
	return ddp_place_next_tagged_segment(&stubs.s, &segment.llp, body, to, len, last);
}

/*
 * Place the end of a Write. @how: 0: read from the lower layer; 1: as a
 * repeated Write; 2: as a repeated Write with contiguous payload
 */
static enum iw_reason place_write_end(u32 stag, u32 off, u32 len, u32 how)
{
	enum iw_reason why;

	if (!how)
		return place_tagged(stag, off, len, true, &segment.llp);
	why = place_tagged(stag, off, len, true, NULL);
	if (why)
		return why;
	stubs.s.rx_seg.rights = DDP_REMOTE_WRITE;
	return place_next_tagged(how == 1 ? NULL : segment.octets, BASE + off, len, true);
}

static void expect_last_byte_written_last(struct kunit *test, u32 stag, u32 off, u32 len, u32 how)
{
	prepare_random_segment();
	before_last.stag = stag;
	before_last.off = off;
	before_last.len = len;
	before_last.barriers = 0;
	before_last.good = true;
	stubs.memory[get_memory_index(stag, off + len - 1)] = ~segment.octets[len - 1];
	host_at_wmb = record_placed_bytes_at_barrier;
	KUNIT_EXPECT_EQ(test, IW_OK, place_write_end(stag, off, len, how));
	host_at_wmb = NULL;
	KUNIT_EXPECT_EQ(test, 1u, before_last.barriers);
	KUNIT_EXPECT_TRUE(test, before_last.good);
	set_expected_bytes(stag, off, segment.octets, len);
}

/* A program that polls the last byte of a Write finds all other bytes in place */
static void last_byte_is_written_last(struct kunit *test)
{
	u32 i, len;

	open_conn_with_writable_mrs(2);
	for (i = 0; i < 120; i++) {
		len = 1 + (i < 12 ? 0 : random_below(SEGMENT));
		expect_last_byte_written_last(test, i & 1 ? PAGED : BLOCKED,
					      random_below(LENGTH - len), len, i % 3);
	}
	expect_memory_and_no_refs(test);
}

/*
 * A page fault of a repeated Write uses the fault request of the receive path, and the segment is
 * retried
 */
static void repeated_write_is_retried_after_fault(struct kunit *test)
{
	const u32 off = BLOCK - SKIP - 10;
	u32 how;

	for (how = 1; how < 3; how++) {
		open_conn_with_writable_mrs(12 + how);
		KUNIT_EXPECT_EQ(test, IW_OK, place_tagged(PAGED, off, 20, true, NULL));
		stubs.s.rx_seg.rights = DDP_REMOTE_WRITE;
		stubs.present[1] = false;
		KUNIT_EXPECT_EQ(test, IW_AGAIN, place_write_end(PAGED, off, 20, how));
		KUNIT_EXPECT_TRUE(test, stubs.s.rx_fault.pending);
		KUNIT_EXPECT_FALSE(test, stubs.s.tx_fault.pending);
		set_expected_bytes(PAGED, off, segment.octets, 10);
		expect_memory_and_no_refs(test);
		complete_fault();
		segment.at = 0;
		KUNIT_EXPECT_EQ(test, IW_OK, place_write_end(PAGED, off, 20, how));
		set_expected_bytes(PAGED, off, segment.octets, 20);
		expect_memory_and_no_refs(test);
	}
}

/* For a repeated Write, only bounds, rights and validity are checked again */
static void region_is_checked_for_repeated_write(struct kunit *test)
{
	u32 stag;

	open_conn_with_writable_mrs(12);
	stubs.s.rx_seg.rights = DDP_REMOTE_WRITE;
	for (stag = BLOCKED; stag <= PAGED; stag++) {
		KUNIT_EXPECT_EQ(test, IW_OK, place_tagged(stag, 0, 8, true, NULL));
		KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS,
				ddp_place_next_tagged_segment(&stubs.s, NULL, segment.octets,
							      BASE + LENGTH - 7, 8, true));
		stubs.s.denied = DDP_REMOTE_WRITE;
		KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
				ddp_place_next_tagged_segment(&stubs.s, NULL, segment.octets, BASE,
							      8, true));
		stubs.s.denied = 0;
		regions[stag & 1].valid = false;
		KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
				ddp_place_next_tagged_segment(&stubs.s, NULL, segment.octets, BASE,
							      8, true));
		regions[stag & 1].valid = true;
	}
	segment.fails_at = 1;
	KUNIT_EXPECT_EQ(test, IW_UNREADABLE, place_next_tagged(NULL, BASE, 1, true));
	expect_memory_and_no_refs(test);
}

/* No memory changes if a segment fails a check, or if there is no lower layer to read from */
static void failed_check_writes_nothing(struct kunit *test)
{
	open_conn_with_writable_mrs(3);
	KUNIT_EXPECT_EQ(test, IW_OK, place_tagged(BLOCKED, 0, 8, true, NULL));
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, place_tagged(BLOCKED, LENGTH - 7, 8, true, &segment.llp));
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG, place_tagged(BLOCKED + 8, 0, 8, true, &segment.llp));
	regions[0].rights &= ~DDP_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG, place_tagged(BLOCKED, 0, 8, true, &segment.llp));
	KUNIT_EXPECT_EQ(test, 0u, segment.reads);
	expect_memory_and_no_refs(test);
}

/* Check whether @n payloads of @each bytes may be placed at once, as ddp_rx_batch() does */
static u32 check_batch(u64 to, u32 each, u32 n)
{
	const struct ddp_hdr h = { .tagged = true, .to = to };
	struct ddp_batch_dst d;

	n = ddp_place_begin_batch(&stubs.s, &h, each, n, &d);
	if (n)
		ddp_place_end_batch(&stubs.s, &d);
	return n;
}

/* Get the number of payloads, of three, that may be placed at once at offset @off of an MR */
static u32 count_batch(u32 stag, u32 off, u32 each)
{
	u32 n = (BLOCK - (SKIP + off) % BLOCK) / each;

	/* without blocks, a batch ends with the page, and has at least two segments */
	if (stag == BLOCKED || n > 3)
		return 3;
	return n > 1 ? n : 0;
}

static void expect_next_segment_placed(struct kunit *test, u32 stag, bool together)
{
	const u8 *octets = segment.octets;
	u32 off = random_below(LENGTH / 2), len = 1 + random_below(SEGMENT / 4);

	KUNIT_EXPECT_EQ(test, IW_OK, place_tagged(stag, off, len, false, &segment.llp));
	stubs.s.rx_seg.rights = DDP_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, IW_OK, place_next_tagged(together ? octets + len : NULL,
				   BASE + off + len, 2 * len, false));
	KUNIT_EXPECT_EQ(test, count_batch(stag, off, len), check_batch(BASE + off, len, 3));
	KUNIT_EXPECT_EQ(test, together ? len : 3 * len, segment.at);
	set_expected_bytes(stag, off, octets, 3 * len);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS,
			place_next_tagged(octets, BASE + LENGTH - 7, 8, false));
	KUNIT_EXPECT_EQ(test, 0u, check_batch(BASE + LENGTH - 7, 4, 2));
	stubs.s.denied = DDP_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, 0u, check_batch(BASE + off, 4, 2));
	stubs.s.denied = 0;
	regions[stag & 1].valid = false;
	KUNIT_EXPECT_EQ(test, 0u, check_batch(BASE + off, 4, 2));
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG, place_next_tagged(octets, BASE + off, 8, false));
	regions[stag & 1].valid = true;
	expect_memory_and_no_refs(test);
}

static void region_is_checked_for_next_segments(struct kunit *test)
{
	u32 i;

	open_conn_with_writable_mrs(4);
	for (i = 0; i < 40; i++) {
		prepare_random_segment();
		expect_next_segment_placed(test, i & 1 ? PAGED : BLOCKED, i & 2);
	}
}

/* Add SGEs of all kinds to a receive, some of them empty. Return: the total length. */
static u32 add_random_sges(struct message *m)
{
	static const u32 stags[] = { BLOCKED, PAGED, DDP_STAG_DMA };
	u32 i;

	/* the SGEs do not overlap */
	for (i = 0; i < PIECES; i++)
		add_sge(m, stags[random_below(3)], 40000 * i + random_below(9000), random_below(4) ? random_below(9000) : 0);
	return m->buf.len;
}

/* RFC 5041 5.2.2: consecutive segments fill the SGEs one after the other */
static void untagged_data_fills_sges_in_order(struct kunit *test)
{
	u32 seed, i, at, len, end;
	struct ddp_cursor to;
	struct message *m;

	for (seed = 10; seed < 60; seed++) {
		open_conn_with_writable_mrs(seed);
		m = add_message(false);
		end = add_random_sges(m);
		ddp_cursor_init(&to, &m->buf);
		for (at = 0; at < end; at += len) {
			prepare_random_segment();
			len = min(end - at, 1 + random_below(SEGMENT));
			KUNIT_EXPECT_EQ(test, IW_OK,
					place_next_untagged(random_below(2) ? segment.octets : NULL,
							    &to, len));
			for (i = 0; i < len; i++)
				set_expected_sge_byte(m, at + i, segment.octets[i]);
		}
		prepare_random_segment();
		KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, place_next_untagged(NULL, &to, 1));
		expect_memory_and_no_refs(test);
	}
}

static enum iw_reason place_in_sge(u32 stag, u32 off, u32 len)
{
	struct message *m = add_message(false);
	struct ddp_cursor to;

	add_sge(m, stag, off, len);
	ddp_cursor_init(&to, &m->buf);
	return place_next_untagged(NULL, &to, len);
}

/* RFC 5041 8.2: a receive with an SGE that its owner may not use is a local error */
static void bad_receive_sge_is_local_error(struct kunit *test)
{
	struct ddp_pd *other = (void *)&segment;

	open_conn_with_writable_mrs(5);
	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, place_in_sge(BLOCKED + 8, 0, 8));
	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, place_in_sge(BLOCKED, LENGTH, 1));
	/* a user-space stream may not use kernel memory */
	stubs.s.dma_ok = false;
	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, place_in_sge(DDP_STAG_DMA, 0, 8));
	/* SGEs of an SRQ belong to the SRQ's PD, not to the stream's */
	stubs.s.recv_pd = (void *)other;
	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, place_in_sge(BLOCKED, 0, 8));
	regions[0].pd = (void *)other;
	KUNIT_EXPECT_EQ(test, IW_OK, place_in_sge(BLOCKED, 0, 8));
	set_expected_bytes(BLOCKED, 0, segment.octets, 8);
	stubs.s.recv_pd = NULL;
	regions[0].pd = NULL;
	regions[0].rights &= ~DDP_LOCAL_WRITE;
	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, place_in_sge(BLOCKED, 0, 8));
	expect_memory_and_no_refs(test);
}

static enum iw_reason fetch_from_sge(u32 stag, u32 off, u8 *dst, u32 len)
{
	struct message *m = add_message(false);
	struct ddp_cursor from;

	add_sge(m, stag, off, len);
	ddp_cursor_init(&from, &m->buf);
	return ddp_fetch_payload(&stubs.s, &from, dst, len);
}

/* The stream caches its reference to an MR until it accesses other memory, such as DMA memory */
static void mr_ref_is_cached_until_other_memory_is_used(struct kunit *test)
{
	u8 octets[8];

	open_conn_with_writable_mrs(9);
	stubs.s.msg.rights = DDP_LOCAL_READ;
	KUNIT_EXPECT_EQ(test, IW_OK, place_in_sge(BLOCKED, 0, 8));
	set_expected_bytes(BLOCKED, 0, segment.octets, 8);
	KUNIT_EXPECT_PTR_EQ(test, &regions[0], stubs.s.rx_mr);
	KUNIT_EXPECT_EQ(test, IW_OK, fetch_from_sge(BLOCKED, 0, octets, 8));
	KUNIT_EXPECT_PTR_EQ(test, &regions[0], stubs.s.tx_mr);
	KUNIT_EXPECT_EQ(test, IW_OK, fetch_from_sge(DDP_STAG_DMA, 20, octets, 8));
	KUNIT_EXPECT_NULL(test, stubs.s.tx_mr);
	prepare_random_segment();
	KUNIT_EXPECT_EQ(test, IW_OK, place_in_sge(DDP_STAG_DMA, 20, 8));
	set_expected_bytes(DDP_STAG_DMA, 20, segment.octets, 8);
	KUNIT_EXPECT_NULL(test, stubs.s.rx_mr);
	expect_memory_and_no_refs(test);
}

/*
 * In a flat buffer of the ULP the next segment is placed where the previous one
 * ended
 */
static void flat_buffer_is_filled_in_order(struct kunit *test)
{
	struct ddp_buf b = { .flat = stubs.memory, .len = 100 };
	struct ddp_cursor to;

	open_conn_with_writable_mrs(6);
	ddp_cursor_init(&to, &b);
	KUNIT_EXPECT_EQ(test, IW_OK, place_next_untagged(NULL, &to, 30));
	KUNIT_EXPECT_EQ(test, IW_OK, place_next_untagged(segment.octets + 30, &to, 70));
	set_expected_bytes(DDP_STAG_DMA, 0, segment.octets, 100);
	segment.fails_at = segment.reads + 1;
	to.off = 0;
	KUNIT_EXPECT_EQ(test, IW_UNREADABLE, place_next_untagged(NULL, &to, 1));
	expect_memory_and_no_refs(test);
}

/* If the lower layer's data is unreadable, no reference is kept */
static void no_ref_is_kept_after_unreadable_data(struct kunit *test)
{
	static const u32 stags[] = { BLOCKED, PAGED, DDP_STAG_DMA };
	u32 i;

	open_conn_with_writable_mrs(7);
	segment.fails_at = 1;
	for (i = 0; i < 3; i++) {
		segment.reads = 0;
		KUNIT_EXPECT_EQ(test, IW_UNREADABLE, place_in_sge(stags[i], 0, 8));
	}
	for (i = 0; i < 4; i++) {
		segment.reads = 0;
		KUNIT_EXPECT_EQ(test, IW_UNREADABLE,
				place_tagged(stags[i % 2], 0, 8, i / 2, &segment.llp));
	}
	expect_memory_and_no_refs(test);
}

/* Missing pages are faulted in, and the whole segment is retried */
static void segment_is_retried_after_missing_page(struct kunit *test)
{
	open_conn_with_writable_mrs(8);
	stubs.present[1] = false;
	KUNIT_EXPECT_EQ(test, IW_AGAIN, place_tagged(PAGED, BLOCK - SKIP - 10, 20, true, &segment.llp));
	/* the bytes that belong to the present page have been placed */
	set_expected_bytes(PAGED, BLOCK - SKIP - 10, segment.octets, 10);
	expect_memory_and_no_refs(test);
	KUNIT_EXPECT_TRUE(test, stubs.fault);
	complete_fault();
	prepare_random_segment();
	KUNIT_EXPECT_EQ(test, IW_OK, place_tagged(PAGED, BLOCK - SKIP - 10, 20, true, &segment.llp));
	set_expected_bytes(PAGED, BLOCK - SKIP - 10, segment.octets, 20);
	expect_memory_and_no_refs(test);
}

static enum iw_reason store_atomic_response(u32 stag, u32 off, u32 len)
{
	const struct ddp_sge m = { .stag = stag, .addr = get_address(stag, off), .len = len };

	return ddp_mem_store(&stubs.s, &m, segment.octets);
}

/*
 * The response of an atomic goes to registered memory or to a kernel consumer's
 * buffer
 */
static void atomic_response_is_stored(struct kunit *test)
{
	static const u32 stags[] = { BLOCKED, PAGED, DDP_STAG_DMA };
	u32 i, off;

	open_conn_with_writable_mrs(9);
	for (i = 0; i < 60; i++) {
		prepare_random_segment();
		off = random_below(LENGTH - SEGMENT);
		KUNIT_EXPECT_EQ(test, IW_OK, store_atomic_response(stags[i % 3], off, 8 + 40 * i));
		set_expected_bytes(stags[i % 3], off, segment.octets, 8 + 40 * i);
	}
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, store_atomic_response(BLOCKED, LENGTH - 7, 8));
	regions[0].rights &= ~DDP_LOCAL_WRITE;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG, store_atomic_response(BLOCKED, 0, 8));
	stubs.s.dma_ok = false;
	KUNIT_EXPECT_NE(test, IW_OK, store_atomic_response(DDP_STAG_DMA, 0, 8));
	expect_memory_and_no_refs(test);
}

static u64 add_operand(const void *how, u64 old)
{
	return old + *(const u64 *)how;
}

static u64 read_expected_word(u32 stag, u32 off)
{
	u64 value;

	memcpy(&value, expected + get_memory_index(stag, off), sizeof(value));
	return value;
}

static void apply_atomic_add_and_expect_result(struct kunit *test, u32 stag, u32 off, u64 by)
{
	u64 was = read_expected_word(stag, off), new = was + by, old = 0;

	KUNIT_EXPECT_EQ(test, IW_OK,
			ddp_mem_apply_atomic(&stubs.s, stag, BASE + off, add_operand, &by, &old));
	KUNIT_EXPECT_EQ(test, was, old);
	set_expected_bytes(stag, off, (u8 *)&new, sizeof(new));
	/* with no operation to apply, neither the memory nor @old changes */
	KUNIT_EXPECT_EQ(test, IW_OK,
			ddp_mem_apply_atomic(&stubs.s, stag, BASE + off, NULL, NULL, &old));
	KUNIT_EXPECT_EQ(test, was, old);
	expect_memory_and_no_refs(test);
}

/* RFC 7306 5.1: the address in memory must be aligned, whatever the TO is */
static void atomic_needs_aligned_memory(struct kunit *test)
{
	const u32 aligned = 8 - SKIP % 8;
	u32 i, stag;
	u64 old = 7, by = 1;

	open_conn_with_writable_mrs(10);
	for (i = 0; i < 8; i++)
		apply_atomic_add_and_expect_result(test, i % 2 ? PAGED : BLOCKED,
						   aligned + 4096 * i + 8 * random_below(500), i);
	for (stag = BLOCKED; stag <= PAGED; stag++) {
		for (i = 1; i < 8; i++) {
			KUNIT_EXPECT_EQ(test, IW_RDMAP_STREAM,
					ddp_mem_apply_atomic(&stubs.s, stag, BASE + aligned + i,
							     add_operand, &by, &old));
			KUNIT_EXPECT_EQ(test, IW_RDMAP_STREAM,
					ddp_mem_apply_atomic(&stubs.s, stag, BASE + aligned + i,
							     NULL, NULL, &old));
		}
		regions[stag & 1].rights &= ~DDP_REMOTE_ATOMIC;
		KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
				ddp_mem_apply_atomic(&stubs.s, stag, BASE + aligned, add_operand,
						     &by, &old));
	}
	KUNIT_EXPECT_EQ(test, 7ull, old);
	KUNIT_EXPECT_FALSE(test, stubs.s.tx_expects_kick);
	expect_memory_and_no_refs(test);
}

/*
 * If the page is not present, an atomic changes nothing and requests the page
 * for the transmit path, which repeats the atomic
 */
static void atomic_requests_missing_page(struct kunit *test)
{
	const u32 off = 2 * BLOCK - SKIP;
	u64 old = 7, by = 1;

	open_conn_with_writable_mrs(11);
	stubs.present[2] = false;
	KUNIT_EXPECT_EQ(test, IW_AGAIN,
			ddp_mem_apply_atomic(&stubs.s, PAGED, BASE + off, add_operand, &by, &old));
	KUNIT_EXPECT_TRUE(test, stubs.s.tx_expects_kick);
	KUNIT_EXPECT_EQ(test, 7ull, old);
	expect_memory_and_no_refs(test);
	complete_fault();
	apply_atomic_add_and_expect_result(test, PAGED, off, by);
}

static struct kunit_case ddp_place_cases[] = {
	KUNIT_CASE(tagged_data_is_placed_at_its_to),
	KUNIT_CASE(last_byte_is_written_last),
	KUNIT_CASE(region_is_checked_for_repeated_write),
	KUNIT_CASE(repeated_write_is_retried_after_fault),
	KUNIT_CASE(failed_check_writes_nothing),
	KUNIT_CASE(region_is_checked_for_next_segments),
	KUNIT_CASE(untagged_data_fills_sges_in_order),
	KUNIT_CASE(bad_receive_sge_is_local_error),
	KUNIT_CASE(mr_ref_is_cached_until_other_memory_is_used),
	KUNIT_CASE(flat_buffer_is_filled_in_order),
	KUNIT_CASE(no_ref_is_kept_after_unreadable_data),
	KUNIT_CASE(segment_is_retried_after_missing_page),
	KUNIT_CASE(atomic_response_is_stored),
	KUNIT_CASE(atomic_needs_aligned_memory),
	KUNIT_CASE(atomic_requests_missing_page),
	{}
};

static struct kunit_suite ddp_place_suite = {
	.name = "ddp_place",
	.test_cases = ddp_place_cases,
};

kunit_test_suite(ddp_place_suite);
