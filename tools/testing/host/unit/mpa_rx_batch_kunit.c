// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/rx.c: batches of FPDUs whose headers DDP expects, with and without CRC.
 */
#include "mpa_rx.h"

/*
 * FPDUs in several skbs are passed with one call. Without CRC the payloads stay in the queue, so
 * that they are not joined.
 */
static void fpdus_in_two_skbs_form_batch(struct kunit *test)
{
	const u8 *at = stubs.octets;
	u8 third[WIRE];
	u32 i;

	memcpy(third, at + 2 * WIRE, WIRE);
	let_ddp_expect(RX_ANY_FIELD, IW_DDP_T_HDR_LEN, 3);
	queue_two_extents(at, 2 * WIRE, third, WIRE);
	KUNIT_EXPECT_EQ(test, 3u * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
	KUNIT_EXPECT_EQ(test, 3u, stubs.batch.n);
	KUNIT_EXPECT_EQ(test, (u32)ULPDU, stubs.batch.len);
	KUNIT_EXPECT_FALSE(test, stubs.batch.joined);
	KUNIT_EXPECT_PTR_EQ(test, at + HEADS, stubs.batch.body[0]);
	KUNIT_EXPECT_PTR_EQ(test, at + WIRE + HEADS, stubs.batch.body[1]);
	KUNIT_EXPECT_PTR_EQ(test, (const u8 *)third + HEADS, stubs.batch.body[2]);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, get_unaligned_be64(at + i * WIRE + 8), stubs.batch.field[i]);
	expect_got(test, "fff");
	KUNIT_EXPECT_EQ(test, 3u * WIRE, stubs.c.rx_pos);
	KUNIT_EXPECT_EQ(test, 0u, mpa_cursor_bytes_left(&stubs.c.cur));
	KUNIT_EXPECT_EQ(test, 0u, stubs.off_calls);
}

/* A batch has at most as many FPDUs as DDP permits, and the next batch follows */
static void batch_ends_at_most(struct kunit *test)
{
	static u8 queue[5 * WIRE];
	struct rnd_state dice;
	u32 i, k;

	prandom_seed_state(&dice, 1);
	prandom_bytes_state(&dice, queue, sizeof(queue));
	for (k = 0; k < 5; k++)
		write_fpdu_length_and_crc(queue + k * WIRE, ULPDU);
	stubs.most = 2;
	for (i = 0; i < 4; i++) {
		forget_results();
		stubs.c.crc = i % 2;
		let_ddp_expect(RX_ANY_FIELD, i / 2 ? IW_DDP_HDR_MAX : IW_DDP_T_HDR_LEN, 100);
		queue_two_extents(queue, sizeof(queue), NULL, 0);
		KUNIT_EXPECT_EQ(test, (u32)sizeof(queue), receive_fpdus());
		KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
		KUNIT_EXPECT_EQ(test, 5u, stubs.batch_segs);
		KUNIT_EXPECT_EQ(test, 3u, stubs.batch_calls);
		KUNIT_EXPECT_EQ(test, 1u, stubs.batch.n);
		for (k = 0; k < 5; k++)
			KUNIT_EXPECT_EQ(test, 0, memcmp(queue + k * WIRE + MPA_LEN_SIZE +
							stubs.hdr_len,
							stubs.got + k * get_expected_payload(),
							get_expected_payload()));
	}
}

/*
 * A batch of long FPDUs has at most 64 KiB, because the revocation of the MR waits until it is placed
 */
static void batch_has_limited_bytes(struct kunit *test)
{
	static u8 queue[6 * 20008];
	u32 k;

	let_ddp_expect(RX_ANY_FIELD, IW_DDP_T_HDR_LEN, 6);
	stubs.ulpdu = 20000;
	for (k = 0; k < 6; k++)
		write_fpdu_length_and_crc(queue + k * 20008, stubs.ulpdu);
	queue_two_extents(queue, sizeof(queue), NULL, 0);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(queue), receive_fpdus());
	KUNIT_EXPECT_EQ(test, 6u, stubs.batch_segs);
	KUNIT_EXPECT_EQ(test, 2u, stubs.batch_calls);
	KUNIT_EXPECT_EQ(test, 3u, stubs.batch.n);
}

/* A batch ends before an FPDU whose header, or whose length, is not the expected one */
static void other_header_ends_batch(struct kunit *test)
{
	static const struct { u32 hdr_len, octet; } change[] = {
		{ IW_DDP_T_HDR_LEN, 0 },	/* no change */
		{ IW_DDP_T_HDR_LEN, 1 },	/* of the length */
		{ IW_DDP_T_HDR_LEN, 8 },	/* of the TO */
		{ IW_DDP_T_HDR_LEN, 15 },
		{ IW_DDP_HDR_MAX, 0 },
		{ IW_DDP_HDR_MAX, 8 },		/* of the QN */
		{ IW_DDP_HDR_MAX, 15 },		/* of the MSN */
		{ IW_DDP_HDR_MAX, 19 },		/* of the MO */
	};
	u8 *third = stubs.octets + 2 * WIRE;
	u32 i, n, ulpdu;

	for (i = 0; i < 2 * ARRAY_SIZE(change); i++) {
		forget_results();
		stubs.c.crc = i % 2;
		let_ddp_expect(RX_NEXT_FIELD, change[i / 2].hdr_len, 3);
		/* the TO and the MO wrap */
		stubs.field = -150ULL;
		stubs.mo = -150U;
		write_expected_headers();
		n = change[i / 2].octet ? 2 : 3;
		ulpdu = ULPDU - (change[i / 2].octet == 1);
		third[change[i / 2].octet] ^= n < 3;
		write_fpdu_length_and_crc(third, ulpdu);
		queue_received_bytes(0, 2 * WIRE + mpa_fpdu_content_len(ulpdu));
		KUNIT_EXPECT_EQ(test, (u32)mpa_cursor_bytes_left(&stubs.c.cur), receive_fpdus());
		KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
		KUNIT_EXPECT_EQ(test, n, stubs.batch.n);
		KUNIT_EXPECT_EQ(test, 3 - n, stubs.segments);
		if (ulpdu == ULPDU)
			expect_got(test, n < 3 ? "ffs" : "fff");
	}
}

static void change_queue_after_first_read(void)
{
	if (stubs.reads_done == 1)
		memset(stubs.octets, 0x55, HEADS);
}

/* DDP gets the header that was compared with the expected one, even if the queue changes later */
static void header_is_read_once(struct kunit *test)
{
	const u64 field = get_unaligned_be64(stubs.octets + 8);

	let_ddp_expect(RX_ANY_FIELD, IW_DDP_T_HDR_LEN, 1);
	stubs.after_read = change_queue_after_first_read;
	queue_received_bytes(0, WIRE);
	KUNIT_EXPECT_EQ(test, (u32)WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 1u, stubs.batch_segs);
	KUNIT_EXPECT_EQ(test, (u32)ULPDU, stubs.batch.len);
	KUNIT_EXPECT_EQ(test, field, stubs.batch.field[0]);
	KUNIT_EXPECT_EQ(test, 0x5555, (int)get_unaligned_be16(stubs.octets));
}

/*
 * DDP processes only @takes FPDUs of a batch of three, the first @in_first of which are in the
 * first skb. Receive the others after the cursor has been moved back.
 */
static void receive_partly_processed_batch(struct kunit *test, u32 in_first, u32 takes,
					   enum iw_reason why)
{
	static const char *const got[] = { "sss", "fss", "ffs" };
	u8 second[3 * WIRE];

	forget_results();
	memcpy(second, stubs.octets + in_first * WIRE, (3 - in_first) * WIRE);
	let_ddp_expect(RX_ANY_FIELD, IW_DDP_T_HDR_LEN, 3);
	stubs.batch_takes = takes;
	stubs.why_not = why;
	queue_two_extents(stubs.octets, in_first * WIRE, second, (3 - in_first) * WIRE);
	if (why == IW_AGAIN) {
		KUNIT_EXPECT_EQ(test, takes * WIRE, receive_fpdus());
		KUNIT_EXPECT_TRUE(test, stubs.c.rx_deferred);
		KUNIT_EXPECT_FALSE(test, stubs.c.rx_stopped);
		KUNIT_EXPECT_EQ(test, takes * WIRE, stubs.c.rx_pos);
		KUNIT_EXPECT_EQ(test, 0u, stubs.segments);
		KUNIT_EXPECT_EQ(test, 1u, stubs.batch_calls);
		stubs.possible = 0;
	}
	KUNIT_EXPECT_EQ(test, why ? (3 - takes) * WIRE : 3 * WIRE, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 3u * WIRE, stubs.c.rx_pos);
	KUNIT_EXPECT_EQ(test, 0u, mpa_cursor_bytes_left(&stubs.c.cur));
	KUNIT_EXPECT_EQ(test, takes, stubs.batch_segs);
	KUNIT_EXPECT_EQ(test, 0u, stubs.errors);
	expect_got(test, got[takes]);
}

/*
 * If DDP has not processed all FPDUs of a batch, the next one is passed to ddp_rx_segment(): now,
 * or after the page fault that defers it
 */
static void cursor_moves_back_to_unprocessed_fpdu(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 2 * 3 * 3; i++) {
		stubs.c.crc = i % 2;
		receive_partly_processed_batch(test, 1 + i / 6, i / 2 % 3, IW_OK);
		receive_partly_processed_batch(test, 1 + i / 6, i / 2 % 3, IW_AGAIN);
	}
}

static struct kunit_case mpa_rx_batch_cases[] = {
	KUNIT_CASE(fpdus_in_two_skbs_form_batch),
	KUNIT_CASE(batch_ends_at_most),
	KUNIT_CASE(batch_has_limited_bytes),
	KUNIT_CASE(other_header_ends_batch),
	KUNIT_CASE(header_is_read_once),
	KUNIT_CASE(cursor_moves_back_to_unprocessed_fpdu),
	{}
};

static struct kunit_suite mpa_rx_batch_suite = {
	.name = "mpa_rx_batch",
	.init = rx_test_init,
	.exit = rx_test_exit,
	.test_cases = mpa_rx_batch_cases,
};

kunit_test_suite(mpa_rx_batch_suite);
