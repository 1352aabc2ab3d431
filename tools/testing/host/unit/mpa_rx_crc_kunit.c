// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/rx.c: batches of FPDUs with CRC, whose payloads are joined in the copy
 * buffer.
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
	let_ddp_expect(RX_ANY_FIELD, IW_DDP_T_HDR_LEN, more);
	stubs.after_first = true;
	queue_received_bytes(0, 3 * WIRE);
}

static void batch_is_passed_to_ddp(struct kunit *test)
{
	queue_three_fpdus(2);
	KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 1u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
	KUNIT_EXPECT_EQ(test, 2u, stubs.batch.n);
	KUNIT_EXPECT_TRUE(test, stubs.batch.joined);
	expect_got(test, "sff");
	KUNIT_EXPECT_EQ(test, 3u * WIRE, stubs.c.rx_pos);
	KUNIT_EXPECT_PTR_EQ(test, stubs.octets + 3 * WIRE, stubs.c.cur.at);
}

/*
 * DDP gets FPDUs one by one if the connection uses markers, or if the FPDUs are so long
 * that they are copied page by page. Without CRC nothing is copied.
 */
static void fpdus_with_markers_and_long_fpdus_form_no_batch(struct kunit *test)
{
	static u8 queue[2 * MPA_CONTENT_MAX];
	const u32 wire = mpa_fpdu_wire_len(0, MPA_ULPDU_MAX, false);
	int i;

	queue_three_fpdus(2);
	stubs.c.crc = false;
	KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
	KUNIT_EXPECT_FALSE(test, stubs.batch.joined);
	expect_got(test, "sff");

	/*
	 * if markers are in use, even FPDUs that contain no marker form no
	 * batch
	 */
	forget_results();
	queue_three_fpdus(2);
	stubs.c.rx_markers = true;
	stubs.c.rx_pos = 4;
	KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 1u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 2u, stubs.batch_calls);
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch.n);
	expect_got(test, "sff");
	stubs.c.rx_markers = false;
	KUNIT_EXPECT_EQ(test, 0u, stubs.off_calls);

	if (MPA_ULPDU_MAX < DDP_COPY_LONG)
		return;
	forget_results();
	for (i = 0; i < 2; i++)
		write_fpdu_length_and_crc(queue + i * wire, MPA_ULPDU_MAX);
	stubs.possible = 2;
	stubs.ulpdu = MPA_ULPDU_MAX;
	stubs.after_first = false;
	queue_two_extents(queue, 2 * wire, NULL, 0);
	KUNIT_EXPECT_EQ(test, 2 * wire, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 2u, stubs.batch_calls);
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch.n);
	KUNIT_EXPECT_EQ(test, 0u, stubs.off_calls);
	/* both payloads have arrived */
	KUNIT_EXPECT_EQ(test, 2 * get_expected_payload(), stubs.len);
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
	expect_got(test, "sf");
	KUNIT_EXPECT_EQ(test, 2u * WIRE, stubs.c.rx_pos);
	/*
	 * no second batch is begun for the FPDU with the wrong CRC: both paths have asked for the
	 * first FPDU, and the fast path for the second
	 */
	KUNIT_EXPECT_EQ(test, 3u, stubs.expect_calls);
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
}

/* Number of the read of the queue after which the sender changes the second FPDU */
static u32 change_at_read;

/* Change the header of the second FPDU, which gets a correct CRC again */
static void replace_second_fpdu(void)
{
	u8 *second = stubs.octets + WIRE;

	if (stubs.reads_done != change_at_read)
		return;
	second[15] ^= 1;
	write_fpdu_length_and_crc(second, ULPDU);
}

/*
 * The fast path reads each FPDU twice: its header, and all of it. If the header changes between
 * these reads, the slow path must receive the FPDU: it reads the FPDU again, and passes the new
 * header to DDP. It also does so if the header changes before the first read and is not the
 * expected one any more. A change after the second read has no effect.
 */
static void changed_header_is_left_to_slow_path(struct kunit *test)
{
	static const char *const got[] = { "fss", "fss", "fss", "fff" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(got); i++) {
		forget_results();
		stubs.c.crc = true;
		let_ddp_expect(RX_NEXT_FIELD, IW_DDP_T_HDR_LEN, 3);
		stubs.field = 0;
		write_expected_headers();
		stubs.after_read = replace_second_fpdu;
		change_at_read = i + 1;
		queue_received_bytes(0, 3 * WIRE);
		KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
		KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
		KUNIT_EXPECT_EQ(test, 0u, stubs.errors);
		expect_got(test, got[i]);
	}
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
	expect_got(test, "sf");
	KUNIT_EXPECT_EQ(test, 2u * WIRE, stubs.c.rx_pos);
	KUNIT_EXPECT_PTR_EQ(test, stubs.octets + 2 * WIRE, stubs.c.cur.at);

	forget_results();
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
	expect_got(test, "sf");
}

/* A batch ends before an FPDU that is not contiguous */
static void gap_ends_batch(struct kunit *test)
{
	queue_three_fpdus(2);
	stubs.c.cur.extent_left = 3 * WIRE - 1;
	stubs.c.cur.left = 1;
	receive_fpdus();
	expect_got(test, "sf");
	KUNIT_EXPECT_EQ(test, IW_UNREADABLE, stubs.wrong);
}

/*
 * If there are more FPDUs than fit in one batch, all payloads arrive, and each batch has the same
 * page offset as its destination. The DDP headers are tagged or untagged.
 */
static void full_batches_pass_all_payloads(struct kunit *test)
{
	static u8 queue[sizeof(stubs.got)];
	static const u32 ulpdus[] = { 19, 21, 42, 114, 600, 1442 };
	u32 i, k, wire, n, most, payload, head;
	struct rnd_state dice;
	u32 off;

	prandom_seed_state(&dice, 1);
	stubs.reads = 0;
	stubs.after_first = true;
	stubs.c.crc = true;
	for (i = 0; i < 120; i++) {
		forget_results();
		stubs.hdr_len = i / 6 % 2 ? IW_DDP_HDR_MAX : IW_DDP_T_HDR_LEN;
		/* payloads of one byte and more, with each kind of header */
		stubs.ulpdu = ulpdus[i % 6] - IW_DDP_HDR_MAX + stubs.hdr_len;
		head = MPA_LEN_SIZE + stubs.hdr_len;
		payload = get_expected_payload();
		wire = mpa_fpdu_wire_len(0, stubs.ulpdu, false);
		n = i < 12 ? 2 : (sizeof(stubs.got) - 100) / wire / (1 + i % 3);
		most = min((MPA_FPDU_BATCH_SIZE - wire) / payload + 1, (u32)DDP_RX_BATCH_MAX);
		prandom_bytes_state(&dice, queue, sizeof(queue));
		for (k = 0; k < n; k++)
			write_fpdu_length_and_crc(queue + k * wire, stubs.ulpdu);
		off = (i < 40 ? 4060 + i : 205 * (i - 40)) & ~PAGE_MASK;
		stubs.off = off;
		stubs.possible = n - 1;
		queue_two_extents(queue, n * wire, NULL, 0);
		KUNIT_ASSERT_EQ(test, n * wire, receive_fpdus());
		KUNIT_EXPECT_EQ(test, 1u, stubs.segments);
		KUNIT_ASSERT_EQ(test, IW_DDP_T_HDR_LEN + (n - 1) * payload, stubs.len);
		KUNIT_EXPECT_EQ(test, DIV_ROUND_UP(n - 1, most), stubs.batch_calls);
		/*
		 * with pages of 4 KiB the last batch has the page offset of its destination;
		 * with larger pages, for which long FPDUs are not copied by the page either,
		 * each batch has the same offset
		 */
		off += (stubs.batch_calls - 1) * most * payload;
		off = MPA_ULPDU_MAX < DDP_COPY_LONG ? DDP_RX_HEAD_LEN : off & ~PAGE_MASK;
		KUNIT_EXPECT_EQ(test, off, (u32)offset_in_page(stubs.batch.body[0]));
		for (k = 1; k < n; k++)
			KUNIT_EXPECT_EQ(test, 0,
					memcmp(queue + k * wire + head, stubs.got +
					       IW_DDP_T_HDR_LEN + (k - 1) * payload, payload));
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
	stubs.ulpdu = 1442;
	stubs.reads = 0;
	stubs.batch_takes = 3;
	stubs.why_not = IW_AGAIN;
	queue_two_extents(queue, sizeof(queue), NULL, 0);
	KUNIT_EXPECT_EQ(test, 4u * 1448, receive_fpdus());
	KUNIT_EXPECT_TRUE(test, stubs.c.rx_deferred);
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
	KUNIT_EXPECT_PTR_EQ(test, queue + 4 * 1448, stubs.c.cur.at);
}

static struct kunit_case mpa_rx_crc_cases[] = {
	KUNIT_CASE(batch_is_passed_to_ddp),
	KUNIT_CASE(fpdus_with_markers_and_long_fpdus_form_no_batch),
	KUNIT_CASE(wrong_crc_ends_batch),
	KUNIT_CASE(changed_header_is_left_to_slow_path),
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
