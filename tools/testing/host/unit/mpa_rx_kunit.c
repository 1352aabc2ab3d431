// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/rx.c: passing received bytes, which may be
 * unreadable in part, to DDP as segments.
 */
#include "mpa_rx.h"

static void receive_and_expect_two_fpdus(struct kunit *test)
{
	queue_received_bytes(0, 3 * WIRE - 1);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 2u * ULPDU, stubs.len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(stubs.octets + MPA_LEN_SIZE, stubs.got, ULPDU));
	KUNIT_EXPECT_EQ(test, 0, memcmp(stubs.octets + WIRE + MPA_LEN_SIZE,
					stubs.got + ULPDU, ULPDU));
	KUNIT_EXPECT_EQ(test, 2u * WIRE, stubs.c.rx_pos);
	KUNIT_EXPECT_EQ(test, 1u, stubs.kicks);
	KUNIT_EXPECT_TRUE(test, stubs.c.tx_permitted);
	/* the incomplete third FPDU is not consumed */
	KUNIT_EXPECT_PTR_EQ(test, stubs.octets + 2 * WIRE, stubs.c.cur.at);
	KUNIT_EXPECT_FALSE(test, stubs.c.rx_stopped);
}

static void fpdus_are_received_from_queue(struct kunit *test)
{
	receive_and_expect_two_fpdus(test);
}

static void fpdus_are_received_from_copy(struct kunit *test)
{
	stubs.c.crc = true;
	receive_and_expect_two_fpdus(test);
}

/*
 * The copy of an FPDU of maximum length contains exactly the bytes of the FPDU,
 * at any page offset
 */
static void longest_fpdu_is_copied_exactly(struct kunit *test)
{
	static u8 queue[4096 + MPA_CONTENT_MAX] __aligned(4096);
	const u32 wire = mpa_fpdu_wire_len(0, MPA_ULPDU_MAX, false);
	const u8 *first = NULL, *at;
	struct rnd_state dice;
	u32 off;
	u8 *p;

	stubs.c.crc = true;
	stubs.reads = MPA_ULPDU_MAX;
	prandom_seed_state(&dice, 1);
	prandom_bytes_state(&dice, queue, sizeof(queue));
	for (off = 0; off < 4096; off += off < 8 || off > 4080 ? 1 : 237) {
		p = queue + off;
		write_fpdu_length_and_crc(p, MPA_ULPDU_MAX);
		stubs.c.cur = (struct mpa_cursor) { .at = p, .extent_left = wire, .frag = -1 };
		stubs.len = 0;
		KUNIT_ASSERT_EQ(test, wire, receive_fpdus());
		KUNIT_EXPECT_EQ(test, (u32)MPA_ULPDU_MAX, stubs.len);
		KUNIT_EXPECT_EQ(test, 0, memcmp(p + MPA_LEN_SIZE, stubs.got, stubs.len));
		/*
		 * with pages of 4 KiB a long ULPDU is copied by the page, so the copy has
		 * the page offset of the FPDU in the queue
		 */
		at = stubs.c.rx_copy - stubs.len - (MPA_ULPDU_MAX < DDP_COPY_LONG ? 0 : off);
		first = first ?: at;
		KUNIT_EXPECT_PTR_EQ(test, first, at);
	}
}

/* Each FPDU is offered to DDP's fast path, also the first one of a receive pass */
static void fpdus_use_fast_path(struct kunit *test)
{
	stubs.more = 1;
	receive_and_expect_two_fpdus(test);
	KUNIT_EXPECT_EQ(test, 1u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 1u, stubs.next_segs);
}

static void copied_fpdus_use_fast_path(struct kunit *test)
{
	stubs.c.crc = true;
	/* FPDUs that are copied for the CRC check are all offered to the fast path */
	stubs.more = 2;
	stubs.c.tx_permitted = true;
	queue_received_bytes(0, 2 * WIRE);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 0, memcmp(stubs.octets + WIRE + MPA_LEN_SIZE,
					stubs.got + ULPDU, ULPDU));
	/* the fast path does not accept an FPDU with a wrong CRC */
	stubs.more = 3;
	stubs.octets[3 * WIRE - 1] ^= 1;
	queue_received_bytes(2 * WIRE, WIRE);
	receive_and_expect_stream_failure(test, 0, IW_MPA_CRC);
	KUNIT_EXPECT_EQ(test, 2u, stubs.next_segs);
}

/* The fast path takes each length from the FPDU itself; an FPDU that is not contiguous is slow */
static void noncontiguous_fpdu_uses_slow_path(struct kunit *test)
{
	stubs.more = 3;
	put_unaligned_be16(ULPDU - 4, stubs.octets + WIRE);
	/* the second FPDU is shorter, but the queue has the bytes of two long ones */
	queue_received_bytes(0, 2 * WIRE);
	KUNIT_EXPECT_EQ(test, 2u * WIRE - 4, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 2u, stubs.next_segs);

	put_unaligned_be16(ULPDU, stubs.octets + WIRE);
	stubs.reads = 0;
	queue_received_bytes(0, 2 * WIRE - 1);
	stubs.c.cur.left = 1;
	receive_fpdus();
	KUNIT_EXPECT_EQ(test, 1u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 3u, stubs.next_segs);
}

/* An FPDU that is too short for a tagged header is left to the slow path, which refuses it */
static void short_fpdu_uses_slow_path(struct kunit *test)
{
	static const u16 lens[] = { 0, 1, 9 };
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		stubs.more = stubs.next_segs + 1;
		put_unaligned_be16(lens[i], stubs.octets);
		queue_received_bytes(0, WIRE);
		stubs.why = IW_DDP_SHORT;
		receive_fpdus();
		KUNIT_EXPECT_EQ(test, i + 1u, stubs.segments);
		KUNIT_EXPECT_EQ(test, 0u, stubs.next_segs);
		stubs.c.rx_stopped = false;
	}
}

/* An FPDU that the fast path has refused must not be passed to the slow path in the same call */
static void fast_path_failure_stops_rx(struct kunit *test)
{
	stubs.more = 1;
	stubs.why_more = IW_DDP_T_BOUNDS;
	queue_received_bytes(0, 3 * WIRE);
	KUNIT_EXPECT_EQ(test, 0u, receive_fpdus());
	KUNIT_EXPECT_TRUE(test, stubs.c.rx_stopped);
	KUNIT_EXPECT_FALSE(test, stubs.c.rx_deferred);
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 0u, stubs.c.rx_pos);
}

static void fast_path_defers_fpdu(struct kunit *test)
{
	int how;

	for (how = 0; how < 2; how++) {
		stubs.c.crc = how;
		stubs.more = stubs.next_segs + 2;
		stubs.segments = 0;
		stubs.len = 0;
		stubs.c.rx_deferred = false;
		stubs.why_more = IW_AGAIN;
		queue_received_bytes(0, 3 * WIRE);
		KUNIT_EXPECT_EQ(test, 0u, receive_fpdus());
		KUNIT_EXPECT_EQ(test, stubs.more - 1, stubs.next_segs);
		stubs.more--;
		KUNIT_EXPECT_TRUE(test, stubs.c.rx_deferred);
		KUNIT_EXPECT_FALSE(test, stubs.c.rx_stopped);
		KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
		KUNIT_EXPECT_PTR_EQ(test, stubs.octets, stubs.c.cur.at);
		/* the FPDU is retried */
		KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
	}
}

/* A header that the CPU cannot read fails the stream */
static void unreadable_header_fails_stream(struct kunit *test)
{
	queue_received_bytes(0, WIRE);
	stubs.c.cur.at = NULL;
	receive_and_expect_stream_failure(test, 0, IW_UNREADABLE);
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
}

static void unreadable_data_fails_copy(struct kunit *test)
{
	stubs.c.crc = true;
	queue_received_bytes(0, HEADS);
	stubs.c.cur.left = WIRE - HEADS;
	receive_and_expect_stream_failure(test, 0, IW_UNREADABLE);
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
}

/* If DDP does not read the end of an FPDU, and that end is unreadable, the stream fails */
static void unreadable_end_fails_stream(struct kunit *test)
{
	queue_received_bytes(0, WIRE + HEADS);
	stubs.c.cur.left = WIRE - HEADS;
	stubs.reads = 0;
	receive_and_expect_stream_failure(test, WIRE, IW_UNREADABLE);
	KUNIT_EXPECT_EQ(test, 2u, stubs.segments);
}

static void wrong_crc_fails_stream(struct kunit *test)
{
	stubs.c.crc = true;
	stubs.octets[WIRE - 1] ^= 1;
	queue_received_bytes(0, WIRE);
	receive_and_expect_stream_failure(test, 0, IW_MPA_CRC);
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
}

/* An error that DDP has returned is not reported to DDP again */
static void ddp_error_is_reported_once(struct kunit *test)
{
	stubs.why = IW_UNREADABLE;
	queue_received_bytes(0, WIRE);
	KUNIT_EXPECT_EQ(test, 0u, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 0u, stubs.errors);
	KUNIT_EXPECT_TRUE(test, stubs.c.rx_stopped);
}

/* DDP cannot read beyond the end of its segment, even if other FPDUs follow */
static void ddp_reads_only_its_segment(struct kunit *test)
{
	int budget = 1;
	u8 octet = 7;

	stubs.reads = 0;
	queue_received_bytes(0, 2 * WIRE);
	KUNIT_EXPECT_EQ(test, (u32)WIRE, receive_fpdus_with_budget(&budget));
	KUNIT_EXPECT_TRUE(test, mpa_rx_read(&stubs.c, stubs.got,
					    ULPDU - IW_DDP_T_HDR_LEN));
	KUNIT_EXPECT_FALSE(test, mpa_rx_read(&stubs.c, &octet, 1));
	KUNIT_EXPECT_EQ(test, 0u, (u32)octet);
}

/*
 * The budget limits the number of short FPDUs, and so the time for which the
 * socket stays locked
 */
static void budget_limits_short_fpdus(struct kunit *test)
{
	int budget = 256 + 1;

	queue_received_bytes(0, 3 * WIRE);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, receive_fpdus_with_budget(&budget));
	KUNIT_EXPECT_EQ(test, 1 - 256, budget);
	budget = 1000;
	KUNIT_EXPECT_EQ(test, 1u * WIRE, receive_fpdus_with_budget(&budget));
	KUNIT_EXPECT_EQ(test, 1000 - 256, budget);
	KUNIT_EXPECT_EQ(test, 0u, receive_fpdus_with_budget(&budget));
	KUNIT_EXPECT_EQ(test, 1000 - 256, budget);

	/* the fast path uses up the budget as well */
	stubs.more = 3;
	stubs.len = 0;
	budget = 256 + 1;
	queue_received_bytes(0, 3 * WIRE);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, receive_fpdus_with_budget(&budget));
	KUNIT_EXPECT_EQ(test, 2u, stubs.next_segs);
	KUNIT_EXPECT_EQ(test, 1 - 256, budget);
}

/* An FPDU that DDP defers stays in the queue unchanged */
static void deferred_fpdu_stays_queued(struct kunit *test)
{
	stubs.why = IW_AGAIN;
	queue_received_bytes(0, WIRE);
	KUNIT_EXPECT_EQ(test, 0u, receive_fpdus());
	KUNIT_EXPECT_TRUE(test, stubs.c.rx_deferred);
	KUNIT_EXPECT_PTR_EQ(test, stubs.octets, stubs.c.cur.at);
	KUNIT_EXPECT_FALSE(test, stubs.c.rx_stopped);
	stubs.why = IW_OK;
	KUNIT_EXPECT_EQ(test, (u32)WIRE, receive_fpdus());
}

/* mpa_rx_receive_or_discard() consumes complete FPDUs, or everything once it has stopped */
static void mpa_rx_consumes_complete_fpdus(struct kunit *test)
{
	const u32 most = 256 * 1024 / 256;

	KUNIT_EXPECT_FALSE(test, receive_from_queue(0));
	KUNIT_EXPECT_FALSE(test, receive_from_queue(WIRE + 100));
	KUNIT_EXPECT_EQ(test, 100u, stubs.unread);
	/* the result is true only if the budget is used up before the queue */
	stubs.len = 0;
	KUNIT_EXPECT_FALSE(test, receive_from_queue((most - 1) * WIRE + 100));
	KUNIT_EXPECT_EQ(test, 100u, stubs.unread);
	stubs.len = 0;
	KUNIT_EXPECT_TRUE(test, receive_from_queue(most * WIRE + 100));
	KUNIT_EXPECT_EQ(test, 100u, stubs.unread);
	stubs.len = 0;
	KUNIT_EXPECT_FALSE(test, receive_from_queue(most * WIRE));
	KUNIT_EXPECT_EQ(test, 0u, stubs.unread);
	/* an FPDU that waits for a page is left in the queue */
	stubs.len = 0;
	stubs.c.rx_deferred = true;
	stubs.waits = true;
	KUNIT_EXPECT_FALSE(test, receive_from_queue(WIRE));
	KUNIT_EXPECT_EQ(test, (u32)WIRE, stubs.unread);
	stubs.waits = false;
	KUNIT_EXPECT_FALSE(test, receive_from_queue(WIRE));
	KUNIT_EXPECT_EQ(test, 0u, stubs.unread);
	KUNIT_EXPECT_FALSE(test, stubs.c.rx_deferred);
	/* received data is discarded once the receive path has stopped */
	stubs.segments = 0;
	stubs.c.rx_stopped = true;
	KUNIT_EXPECT_FALSE(test, receive_from_queue(WIRE + 100));
	KUNIT_EXPECT_EQ(test, 0u, stubs.unread);
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
}

static void receive_and_expect_rcvbuf(struct kunit *test, u32 unread, u32 kib, int buffer,
				      u32 clamp)
{
	stubs.tp.sk.sk_rcvbuf = 600 * 1024;
	stubs.tp.window_clamp = 290 * 1024;
	stubs.skb.truesize = kib * 1024;
	receive_from_queue(unread);
	KUNIT_EXPECT_EQ(test, buffer * 1024, stubs.tp.sk.sk_rcvbuf);
	KUNIT_EXPECT_EQ(test, clamp * 1024, stubs.tp.window_clamp);
}

/*
 * While an incomplete FPDU is queued, the receive buffer is larger by the size of
 * the skb in which the FPDU begins
 */
static void partial_fpdu_enlarges_rcvbuf(struct kunit *test)
{
	receive_and_expect_rcvbuf(test, WIRE + 100, 88, 600, 290);
	receive_and_expect_rcvbuf(test, WIRE + 100, 90, 602, 301);
	receive_and_expect_rcvbuf(test, WIRE + 100, 500, 1012, 506);
	receive_and_expect_rcvbuf(test, WIRE + 100, 3584, 4096, 2048);
	receive_and_expect_rcvbuf(test, WIRE + 100, 9000, 4096, 2048);
	/*
	 * the buffer does not grow if no incomplete FPDU is queued, or after reception has stopped
	 */
	receive_and_expect_rcvbuf(test, WIRE, 500, 600, 290);
	stubs.c.rx_stopped = true;
	receive_and_expect_rcvbuf(test, WIRE + 100, 500, 600, 290);
}

/*
 * If the incomplete FPDU begins a new skb, TCP frees the skbs before it, so the size of
 * the new skb counts
 */
static void partial_fpdu_in_next_skb_enlarges_rcvbuf(struct kunit *test)
{
	stubs.skb_len = WIRE;
	stubs.skb2.truesize = 500 * 1024;
	receive_and_expect_rcvbuf(test, WIRE + 1, 1, 1012, 506);
	/* the FPDU begins in the first skb */
	stubs.skb_len = WIRE + 1;
	stubs.skb2.truesize = 1024;
	receive_and_expect_rcvbuf(test, WIRE + 1, 500, 1012, 506);
}

static struct kunit_case mpa_rx_cases[] = {
	KUNIT_CASE(fpdus_are_received_from_queue),
	KUNIT_CASE(fpdus_are_received_from_copy),
	KUNIT_CASE(longest_fpdu_is_copied_exactly),
	KUNIT_CASE(fpdus_use_fast_path),
	KUNIT_CASE(copied_fpdus_use_fast_path),
	KUNIT_CASE(noncontiguous_fpdu_uses_slow_path),
	KUNIT_CASE(short_fpdu_uses_slow_path),
	KUNIT_CASE(fast_path_failure_stops_rx),
	KUNIT_CASE(fast_path_defers_fpdu),
	KUNIT_CASE(unreadable_header_fails_stream),
	KUNIT_CASE(unreadable_data_fails_copy),
	KUNIT_CASE(unreadable_end_fails_stream),
	KUNIT_CASE(wrong_crc_fails_stream),
	KUNIT_CASE(ddp_error_is_reported_once),
	KUNIT_CASE(ddp_reads_only_its_segment),
	KUNIT_CASE(budget_limits_short_fpdus),
	KUNIT_CASE(deferred_fpdu_stays_queued),
	KUNIT_CASE(mpa_rx_consumes_complete_fpdus),
	KUNIT_CASE(partial_fpdu_enlarges_rcvbuf),
	KUNIT_CASE(partial_fpdu_in_next_skb_enlarges_rcvbuf),
	{}
};

static struct kunit_suite mpa_rx_suite = {
	.name = "mpa_rx",
	.init = rx_test_init,
	.exit = rx_test_exit,
	.test_cases = mpa_rx_cases,
};

kunit_test_suite(mpa_rx_suite);
