// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/rx.c: passing received bytes, which may be
 * unreadable in part, to DDP as segments.
 */
#include "mpa_rx.h"

static void receive_and_expect_two_fpdus(struct kunit *test, const char *how)
{
	queue_received_bytes(0, 3 * WIRE - 1);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, receive_fpdus());
	expect_got(test, how);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, stubs.c.rx_pos);
	KUNIT_EXPECT_EQ(test, 1u, stubs.kicks);
	KUNIT_EXPECT_TRUE(test, stubs.c.tx_permitted);
	/* the incomplete third FPDU is not consumed */
	KUNIT_EXPECT_PTR_EQ(test, stubs.octets + 2 * WIRE, stubs.c.cur.at);
	KUNIT_EXPECT_FALSE(test, stubs.c.rx_stopped);
}

static void fpdus_are_received_from_queue(struct kunit *test)
{
	receive_and_expect_two_fpdus(test, "ss");
}

static void fpdus_are_received_from_copy(struct kunit *test)
{
	stubs.c.crc = true;
	receive_and_expect_two_fpdus(test, "ss");
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

/* Each FPDU that DDP expects uses the fast path, also the first one of a receive pass */
static void fpdus_use_fast_path(struct kunit *test)
{
	let_ddp_expect(RX_ANY_FIELD, IW_DDP_T_HDR_LEN, 1);
	receive_and_expect_two_fpdus(test, "fs");
	KUNIT_EXPECT_EQ(test, 1u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch_segs);
}

/* FPDUs that are copied because of markers are passed one by one, but DDP decodes no header */
static void copied_fpdus_use_fast_path(struct kunit *test)
{
	stubs.c.crc = true;
	stubs.c.rx_markers = true;
	/* the next marker follows the FPDUs */
	stubs.c.rx_pos = 4;
	let_ddp_expect(RX_ANY_FIELD, IW_DDP_T_HDR_LEN, 2);
	stubs.c.tx_permitted = true;
	queue_received_bytes(0, 2 * WIRE);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 2u, stubs.batch_calls);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(stubs.octets + WIRE + 8), stubs.batch.field[0]);
	expect_got(test, "ff");
	/* the fast path does not accept an FPDU with a wrong CRC */
	stubs.possible = 1;
	stubs.octets[3 * WIRE - 1] ^= 1;
	queue_received_bytes(2 * WIRE, WIRE);
	receive_and_expect_stream_failure(test, 0, IW_MPA_CRC);
	KUNIT_EXPECT_EQ(test, 2u, stubs.batch_calls);
}

/* A copied FPDU whose header is not the expected one is passed to ddp_rx_segment() */
static void copied_fpdu_with_other_header_uses_slow_path(struct kunit *test)
{
	stubs.c.rx_markers = true;
	stubs.c.rx_pos = 4;
	let_ddp_expect(RX_NEXT_FIELD, IW_DDP_HDR_MAX, 3);
	write_expected_headers();
	stubs.octets[2 * WIRE + 8] ^= 1;
	queue_received_bytes(0, 3 * WIRE);
	KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
	expect_got(test, "ffs");
}

/* The fast path takes each length from the FPDU itself; an FPDU that is not contiguous is slow */
static void noncontiguous_fpdu_uses_slow_path(struct kunit *test)
{
	let_ddp_expect(RX_NEXT_MSG, IW_DDP_HDR_MAX, 3);
	put_unaligned_be16(ULPDU - 4, stubs.octets + WIRE);
	/* the second FPDU is shorter, but the queue has the bytes of two long ones */
	queue_received_bytes(0, 2 * WIRE);
	KUNIT_EXPECT_EQ(test, 2u * WIRE - 4, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 2u, stubs.batch_segs);
	KUNIT_EXPECT_EQ(test, (u32)ULPDU - 4, stubs.batch.len);

	put_unaligned_be16(ULPDU, stubs.octets + WIRE);
	stubs.reads = 0;
	stubs.possible = 2;
	queue_received_bytes(0, 2 * WIRE - 1);
	stubs.c.cur.left = 1;
	receive_fpdus();
	KUNIT_EXPECT_EQ(test, 1u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 3u, stubs.batch_segs);
}

/* An FPDU that is too short for its header is left to the slow path, which refuses it */
static void short_fpdu_uses_slow_path(struct kunit *test)
{
	static const u16 lens[] = { 0, 1, 9, 17 };
	int i;

	for (i = 0; i < 2 * ARRAY_SIZE(lens); i++) {
		stubs.c.crc = i % 2;
		let_ddp_expect(RX_NEXT_MSG, IW_DDP_HDR_MAX, 1);
		write_fpdu_length_and_crc(stubs.octets, lens[i / 2]);
		queue_received_bytes(0, WIRE);
		stubs.why = IW_DDP_SHORT;
		receive_fpdus();
		KUNIT_EXPECT_EQ(test, i + 1u, stubs.segments);
		KUNIT_EXPECT_EQ(test, 0u, stubs.batch_segs);
		KUNIT_EXPECT_EQ(test, 0u, stubs.errors);
		stubs.c.rx_stopped = false;
	}
}

/*
 * If an FPDU is shorter than DDP_RX_HEAD_LEN, the bytes after it are not read. An empty message,
 * which has a header but no payload, uses the fast path.
 */
static void nothing_after_short_fpdu_is_read(struct kunit *test)
{
	u32 i, len, wire;
	u8 *p;

	for (i = 0; i <= 2 * IW_DDP_HDR_MAX + 1; i++) {
		len = i / 2;
		wire = mpa_fpdu_content_len(len);
		/* the sanitizer reports an access after these bytes */
		p = kunit_kzalloc(test, wire, GFP_KERNEL);
		write_fpdu_length_and_crc(p, len);
		forget_results();
		stubs.c.crc = i % 2;
		let_ddp_expect(RX_NEXT_MSG, IW_DDP_HDR_MAX, 1);
		queue_two_extents(p, wire, NULL, 0);
		KUNIT_EXPECT_EQ(test, wire, receive_fpdus());
		KUNIT_EXPECT_EQ(test, len == IW_DDP_HDR_MAX ? 1u : 0u, stubs.batch_segs);
		/* with CRC, the bytes after the copy are not taken for a header either */
		KUNIT_EXPECT_TRUE(test, !stubs.c.crc || stubs.batch_calls == stubs.batch_segs);
		KUNIT_EXPECT_EQ(test, 1 - stubs.batch_segs, stubs.segments);
		KUNIT_EXPECT_EQ(test, len == IW_DDP_HDR_MAX ? 0 : len, stubs.len);
	}
}

/* An FPDU that the fast path has refused must not be passed to the slow path in the same call */
static void fast_path_failure_stops_rx(struct kunit *test)
{
	static const char *const got[] = { "", "f", "ff" };
	u32 takes;

	for (takes = 0; takes < 3; takes++) {
		forget_results();
		let_ddp_expect(RX_ANY_FIELD, IW_DDP_T_HDR_LEN, 3);
		stubs.batch_takes = takes;
		stubs.why_not = IW_DDP_T_BOUNDS;
		queue_received_bytes(0, 3 * WIRE);
		KUNIT_EXPECT_EQ(test, takes * WIRE, receive_fpdus());
		KUNIT_EXPECT_TRUE(test, stubs.c.rx_stopped);
		KUNIT_EXPECT_FALSE(test, stubs.c.rx_deferred);
		KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
		KUNIT_EXPECT_EQ(test, 0u, stubs.errors);
		KUNIT_EXPECT_EQ(test, takes * WIRE, stubs.c.rx_pos);
		KUNIT_EXPECT_PTR_EQ(test, stubs.octets + takes * WIRE, stubs.c.cur.at);
		expect_got(test, got[takes]);
	}
}

/* Without CRC, with CRC, and with a copy because of markers */
static void fast_path_defers_fpdu(struct kunit *test)
{
	int how;

	for (how = 0; how < 3; how++) {
		forget_results();
		stubs.c.crc = how == 1;
		stubs.c.rx_markers = how == 2;
		stubs.c.rx_pos = 4;
		let_ddp_expect(RX_ANY_FIELD, IW_DDP_T_HDR_LEN, 2);
		stubs.batch_takes = 0;
		stubs.why_not = IW_AGAIN;
		queue_received_bytes(0, 3 * WIRE);
		KUNIT_EXPECT_EQ(test, 0u, receive_fpdus());
		KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
		KUNIT_EXPECT_TRUE(test, stubs.c.rx_deferred);
		KUNIT_EXPECT_FALSE(test, stubs.c.rx_stopped);
		KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
		KUNIT_EXPECT_PTR_EQ(test, stubs.octets, stubs.c.cur.at);
		/* the FPDU is retried; DDP expects nothing while a segment is deferred */
		stubs.possible = 0;
		KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
		expect_got(test, "sss");
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

	/* the fast path uses up the budget as well, and the budget ends a batch */
	let_ddp_expect(RX_ANY_FIELD, IW_DDP_T_HDR_LEN, 3);
	stubs.len = 0;
	budget = 256 + 1;
	queue_received_bytes(0, 3 * WIRE);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, receive_fpdus_with_budget(&budget));
	KUNIT_EXPECT_EQ(test, 2u, stubs.batch_calls);
	KUNIT_EXPECT_EQ(test, 2u, stubs.batch_segs);
	KUNIT_EXPECT_EQ(test, 1 - 256, budget);
	expect_got(test, "ff");
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
	KUNIT_CASE(copied_fpdu_with_other_header_uses_slow_path),
	KUNIT_CASE(noncontiguous_fpdu_uses_slow_path),
	KUNIT_CASE(short_fpdu_uses_slow_path),
	KUNIT_CASE(nothing_after_short_fpdu_is_read),
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
