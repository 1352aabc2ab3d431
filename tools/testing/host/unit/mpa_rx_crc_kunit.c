// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/rx.c: batches of FPDUs that continue the same
 * message.
 */
#include "../../../../drivers/mpa/fpdu_verify.h"
#include "mpa_rx.h"

/*
 * Put three FPDUs into the receive queue. DDP accepts the first one alone, and
 * @more of the others as a batch.
 */
static void queue_three_fpdus(u32 more)
{
	stubs.c.crc = true;
	stubs.off = 0;
	stubs.next_possible = more;
	queue_received_bytes(0, 3 * WIRE);
}

/* Expect that DDP has received the first FPDU, and then @n payloads without headers */
static void expect_payloads(struct kunit *test, u32 n)
{
	u32 i;

	KUNIT_EXPECT_EQ(test, ULPDU + n * stubs.payload, stubs.len);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, 0, memcmp(stubs.octets + (i + 1) * WIRE + HEADS,
						stubs.got + ULPDU + i * stubs.payload,
						stubs.payload));
}

static void batch_is_passed_to_ddp(struct kunit *test)
{
	queue_three_fpdus(2);
	KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 1u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 0u, stubs.next_segs);
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
	expect_payloads(test, 2);
	KUNIT_EXPECT_EQ(test, 3u * WIRE, stubs.c.rx_pos);
	KUNIT_EXPECT_PTR_EQ(test, stubs.octets + 3 * WIRE, stubs.c.cur.at);
}

/*
 * DDP gets FPDUs one by one if the connection uses markers or no CRC, or if the
 * FPDUs are so long that they are copied page by page
 */
static void fpdus_with_markers_or_no_crc_form_no_batch(struct kunit *test)
{
	static u8 queue[2 * MPA_CONTENT_MAX];
	const u32 wire = mpa_fpdu_wire_len(0, MPA_ULPDU_MAX, false);
	int i;

	queue_three_fpdus(2);
	stubs.c.crc = false;
	KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 3u, stubs.segments);

	/*
	 * if markers are in use, even FPDUs that contain no marker form no
	 * batch
	 */
	queue_three_fpdus(2);
	stubs.c.rx_markers = true;
	stubs.c.rx_pos = 4;
	KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 6u, stubs.segments);
	stubs.c.rx_markers = false;
	KUNIT_EXPECT_EQ(test, 0u, stubs.off_calls);

	if (MPA_ULPDU_MAX < DDP_COPY_LONG)
		return;
	for (i = 0; i < 2; i++)
		write_fpdu_length_and_crc(queue + i * wire, MPA_ULPDU_MAX);
	stubs.reads = 0;
	stubs.c.cur = (struct mpa_cursor) { .at = queue, .extent_left = 2 * wire, .frag = -1 };
	KUNIT_EXPECT_EQ(test, 2 * wire, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 8u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 0u, stubs.off_calls);
}

/*
 * A batch ends before an FPDU with a wrong CRC. The receive path then processes
 * this FPDU alone, and reports the error.
 */
static void wrong_crc_ends_batch(struct kunit *test)
{
	queue_three_fpdus(2);
	stubs.octets[3 * WIRE - 1] ^= 1;
	receive_and_expect_stream_failure(test, 2 * WIRE, IW_MPA_CRC);
	KUNIT_EXPECT_EQ(test, 1u, stubs.segments);
	expect_payloads(test, 1);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, stubs.c.rx_pos);
	/* no second batch is begun for the FPDU with the wrong CRC */
	KUNIT_EXPECT_EQ(test, 2u, stubs.off_calls);
}

/*
 * If DDP does not accept all FPDUs of a batch, the cursor points to the first
 * FPDU that it has not accepted
 */
static void cursor_stays_at_unaccepted_fpdu(struct kunit *test)
{
	queue_three_fpdus(2);
	stubs.batch_takes = 1;
	stubs.why_not = IW_AGAIN;
	KUNIT_EXPECT_EQ(test, 2u * WIRE, receive_fpdus());
	KUNIT_EXPECT_TRUE(test, stubs.c.rx_deferred);
	KUNIT_EXPECT_FALSE(test, stubs.c.rx_stopped);
	expect_payloads(test, 1);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, stubs.c.rx_pos);
	KUNIT_EXPECT_PTR_EQ(test, stubs.octets + 2 * WIRE, stubs.c.cur.at);

	stubs.len = 0;
	stubs.c.rx_deferred = false;
	stubs.c.rx_pos = 0;
	queue_three_fpdus(2);
	stubs.batch_takes = 0;
	stubs.why_not = IW_DDP_T_BOUNDS;
	KUNIT_EXPECT_EQ(test, (u32)WIRE, receive_fpdus());
	KUNIT_EXPECT_FALSE(test, stubs.c.rx_deferred);
	KUNIT_EXPECT_TRUE(test, stubs.c.rx_stopped);
	KUNIT_EXPECT_EQ(test, 0u, stubs.errors);
}

/* Each FPDU of a batch uses up the budget */
static void batch_uses_budget(struct kunit *test)
{
	int budget = 256 + 1;

	queue_three_fpdus(2);
	KUNIT_EXPECT_EQ(test, 2u * WIRE, receive_fpdus_with_budget(&budget));
	KUNIT_EXPECT_EQ(test, 1 - 256, budget);
	expect_payloads(test, 1);
}

/* A batch ends before an FPDU that is not contiguous */
static void gap_ends_batch(struct kunit *test)
{
	queue_three_fpdus(2);
	stubs.c.cur.extent_left = 3 * WIRE - 1;
	stubs.c.cur.left = 1;
	receive_fpdus();
	expect_payloads(test, 1);
	KUNIT_EXPECT_EQ(test, IW_UNREADABLE, stubs.wrong);
}

/*
 * If there are more FPDUs than fit in one batch, all payloads arrive, and each batch has the same
 * page offset as its destination
 */
static void full_batches_pass_all_payloads(struct kunit *test)
{
	static u8 queue[sizeof(stubs.got)];
	static const u32 ulpdus[] = { 15, 17, 42, 114, 1442 };
	struct rnd_state dice;
	int off;
	u32 i, k, wire, n, most;

	prandom_seed_state(&dice, 1);
	stubs.reads = 0;
	for (i = 0; i < 60; i++) {
		stubs.payload = ulpdus[i % 5] - IW_DDP_T_HDR_LEN;
		wire = mpa_fpdu_wire_len(0, ulpdus[i % 5], false);
		n = i < 5 ? 2 : (sizeof(stubs.got) - 100) / wire / (1 + i % 3);
		most = (MPA_FPDU_BATCH_SIZE - wire) / stubs.payload + 1;
		prandom_bytes_state(&dice, queue, sizeof(queue));
		for (k = 0; k < n; k++)
			write_fpdu_length_and_crc(queue + k * wire, ulpdus[i % 5]);
		stubs.c.crc = true;
		stubs.off = i < 20 ? 4080 + i : 205 * (i - 20);
		stubs.off &= ~PAGE_MASK;
		off = stubs.off;
		stubs.next_possible = n - 1;
		stubs.batch_calls = 0;
		stubs.len = 0;
		stubs.segments = 0;
		stubs.c.cur = (struct mpa_cursor) {
			.at = queue, .extent_left = n * wire, .frag = -1,
		};
		KUNIT_ASSERT_EQ(test, n * wire, receive_fpdus());
		KUNIT_EXPECT_EQ(test, 1u, stubs.segments);
		KUNIT_ASSERT_EQ(test, IW_DDP_T_HDR_LEN + (n - 1) * stubs.payload, stubs.len);
		KUNIT_EXPECT_EQ(test, DIV_ROUND_UP(n - 1, most), stubs.batch_calls);
		/*
		 * with pages of 4 KiB the last batch has the page offset of its destination;
		 * with larger pages, for which long FPDUs are not copied by the page either,
		 * each batch has the same offset
		 */
		off += (stubs.batch_calls - 1) * most * stubs.payload;
		off = MPA_ULPDU_MAX < DDP_COPY_LONG ? MPA_HEADS_MAX : off & ~PAGE_MASK;
		KUNIT_EXPECT_EQ(test, off, (int)offset_in_page(stubs.bodies));
		for (k = 1; k < n; k++)
			KUNIT_EXPECT_EQ(test, 0,
					memcmp(queue + k * wire + HEADS, stubs.got +
					       IW_DDP_T_HDR_LEN + (k - 1) * stubs.payload,
					       stubs.payload));
	}
}

/* If DDP does not accept all FPDUs of a full batch, the pass ends after it */
static void partly_accepted_batch_ends_pass(struct kunit *test)
{
	static u8 queue[30 * 1448];
	u32 i;

	for (i = 0; i < 30; i++)
		write_fpdu_length_and_crc(queue + i * 1448, 1442);
	queue_three_fpdus(29);
	stubs.payload = 1442 - IW_DDP_T_HDR_LEN;
	stubs.reads = 0;
	stubs.batch_takes = 3;
	stubs.why_not = IW_AGAIN;
	stubs.c.cur = (struct mpa_cursor) { .at = queue, .extent_left = sizeof(queue), .frag = -1 };
	KUNIT_EXPECT_EQ(test, 4u * 1448, receive_fpdus());
	KUNIT_EXPECT_TRUE(test, stubs.c.rx_deferred);
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
	KUNIT_EXPECT_PTR_EQ(test, queue + 4 * 1448, stubs.c.cur.at);
}

static struct kunit_case mpa_rx_crc_cases[] = {
	KUNIT_CASE(batch_is_passed_to_ddp),
	KUNIT_CASE(fpdus_with_markers_or_no_crc_form_no_batch),
	KUNIT_CASE(wrong_crc_ends_batch),
	KUNIT_CASE(cursor_stays_at_unaccepted_fpdu),
	KUNIT_CASE(batch_uses_budget),
	KUNIT_CASE(gap_ends_batch),
	KUNIT_CASE(full_batches_pass_all_payloads),
	KUNIT_CASE(partly_accepted_batch_ends_pass),
	{}
};

static struct kunit_suite mpa_rx_crc_suite = {
	.name = "mpa_rx_crc",
	.init = rx_test_init,
	.exit = rx_test_exit,
	.test_cases = mpa_rx_crc_cases,
};

kunit_test_suite(mpa_rx_crc_suite);
