// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/frame.c with drivers/ddp/{tx,place}.c, which convert
 * messages to bytes for TCP. Memory and pages are stubs. Each batch is compared
 * byte by byte with a reference implementation of the RFCs (frame_want.c).
 */
#include <kunit/test.h>
#include <linux/skbuff.h>

#include "../../../../drivers/mpa/fpdu.h"
#include "frame.h"

#define EMSS		1448
#define PAYLOAD		1428		/* payload of a full tagged segment with that EMSS */

/* TCP ----------------------------------------------------------------------- */

/* The last batch passed to TCP, which still references its pages */
static struct {
	struct mpa_out	out;
	u8		octets[OCTETS];
} tcp;

/* Return the offset of the first byte of a batch that differs from the expected ones */
static u32 find_first_difference(const struct mpa_out *o, const u8 *octets)
{
	const struct bio_vec *v = o->vec;
	u32 i, at = 0;

	for (i = 0; i < o->len; i++, at++) {
		if (at == v->bv_len) {
			v++;
			at = 0;
		}
		if (v->bv_page->octets[v->bv_offset + at] != octets[i])
			break;
	}
	return i;
}

/* Let TCP free the pages of the last batch, whose bytes must not have changed since it was sent */
static void check_and_free_batch_pages(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tcp.out.len, find_first_difference(&tcp.out, tcp.octets));
	while (tcp.out.n)
		put_page(tcp.out.vec[--tcp.out.n].bv_page);
	tcp.out.len = 0;
}

static void let_tcp_accept_batch(struct kunit *test)
{
	struct mpa_out *o = &stubs.c.out;
	u32 i;

	for (i = 0; i < o->n; i++)
		get_page(o->vec[i].bv_page);
	check_and_free_batch_pages(test);
	tcp.out = *o;
	memcpy(tcp.octets, want.octets, want.len);
	mpa_frame_drop_batch(&stubs.c);
}

/* Batches ------------------------------------------------------------------- */

/* Expect that exactly the page space of the batch's bytes is reserved */
static void expect_no_spare_page_space(struct kunit *test)
{
	const struct mpa_out *o = &stubs.c.out;
	u32 i, octets = 0;

	for (i = 0; i < o->n; i++) {
		KUNIT_ASSERT_GT(test, o->vec[i].bv_len, 0u);
		octets += o->vec[i].bv_len;
	}
	KUNIT_ASSERT_EQ(test, o->len, octets);
	KUNIT_ASSERT_EQ(test, 0u, o->reserved);
}

/* Get the maximum length of a batch on an Ethernet interface */
static u32 get_limit(u32 emss)
{
	return mpa_compute_batch_limit(emss, 65215);
}

static void expect_batch_within_limits(struct kunit *test, u32 emss)
{
	const struct mpa_out *o = &stubs.c.out;
	u32 most = get_limit(emss), octets = 0, i;

	/* if a TCP segment is shorter than the shortest FPDU, a batch may be longer */
	if (emss < MPA_MULPDU_MIN + 16)
		most += MPA_MULPDU_MIN + 16;
	KUNIT_EXPECT_LE(test, o->len, most);
	KUNIT_ASSERT_LE(test, (u32)o->n, (u32)MPA_OUT_VECS);
	for (i = 0; i < o->n; i++) {
		KUNIT_ASSERT_LE(test, o->vec[i].bv_offset + o->vec[i].bv_len,
				o->vec[i].bv_page->size);
		octets += o->vec[i].bv_len;
	}
	KUNIT_ASSERT_EQ(test, o->len + o->reserved, octets);
	KUNIT_EXPECT_EQ(test, 0, stubs.mr_refs);
	KUNIT_EXPECT_NULL(test, stubs.s.tx_mr);
}

/*
 * Expect that the batch has the expected bytes, and that DDP has pulled exactly
 * the messages of which the batch contains a segment
 */
static void expect_batch_bytes(struct kunit *test, u32 mulpdu)
{
	const struct mpa_out *o = &stubs.c.out;

	want.len = 0;
	while (want.len < o->len) {
		KUNIT_ASSERT_LT(test, stubs.sent_msgs, stubs.n);
		append_expected_fpdu(&stubs.messages[stubs.sent_msgs], mulpdu);
	}
	KUNIT_ASSERT_EQ(test, want.len, o->len);
	KUNIT_ASSERT_EQ(test, o->len, find_first_difference(o, want.octets));
	KUNIT_ASSERT_EQ(test, want.pos, stubs.c.tx_pos);
	/* messages are committed only when TCP has accepted the batch */
	if (!stubs.failed)
		KUNIT_ASSERT_EQ(test, stubs.sent_msgs, stubs.next - stubs.s.in_msg);
}

/* A batch must be marked as the last one if, and only if, another FPDU would fit into it */
static void expect_last_flag(struct kunit *test, u32 emss)
{
	const struct mpa_out *o = &stubs.c.out;
	/* do not check a batch that ended because memory or free vectors were missing */
	if (!stubs.short_of && o->n < MPA_OUT_VECS - 1)
		KUNIT_EXPECT_EQ(test, o->len + emss <= get_limit(emss), o->last);
}

static bool build_and_check_batch(struct kunit *test, u32 emss)
{
	u32 mulpdu = mpa_compute_mulpdu(emss, stubs.c.tx_markers);
	bool ok;

	ok = mpa_frame_build_batch(&stubs.c, emss, get_limit(emss));
	expect_batch_within_limits(test, emss);
	expect_batch_bytes(test, mulpdu);
	KUNIT_EXPECT_TRUE(test, ok || (stubs.short_of && !stubs.c.out.len));
	expect_last_flag(test, emss);
	return ok;
}

/* Send all messages. @emss 0: choose another EMSS for each batch */
static void send_all_messages(struct kunit *test, u32 emss)
{
	static const u32 sizes[] = { 60, 150, 536, 1448, 1461, 8948, 32000, 70000 };
	u32 batches = 0;

	while (stubs.sent_msgs < stubs.n) {
		KUNIT_ASSERT_LT(test, batches++, 10000u);
		build_and_check_batch(test, emss ?: sizes[random_below(ARRAY_SIZE(sizes))]);
		if (!stubs.short_of)
			expect_no_spare_page_space(test);
		let_tcp_accept_batch(test);
		if (random_below(2))
			complete_fault();
		stubs.present[random_below(BLOCKS)] = false;
	}
	KUNIT_EXPECT_TRUE(test, build_and_check_batch(test, EMSS));
	KUNIT_EXPECT_EQ(test, 0u, stubs.c.out.len);
	KUNIT_EXPECT_EQ(test, 0u, (u32)stubs.c.out.n);
}

static void drop_batch_and_check_pages(struct kunit *test)
{
	mpa_frame_drop_batch(&stubs.c);
	check_and_free_batch_pages(test);
	mpa_frame_exit();
	KUNIT_EXPECT_EQ(test, 0u, stubs.pages);
}

/* Cases --------------------------------------------------------------------- */

/*
 * DDP-42, MPA-17: any messages, with any EMSS, with and without CRC and
 * markers, give the expected bytes
 */
static void messages_give_expected_bytes(struct kunit *test)
{
	u32 seed;

	for (seed = 0; seed < 24; seed++) {
		open_conn(seed, seed & 1, seed & 2);
		stubs.page_size = seed & 4 ? BLOCK : 8 * BLOCK;
		stubs.fault_at_once = seed & 8;
		while (stubs.n < MESSAGES)
			add_random_message();
		send_all_messages(test, 0);
		KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
		drop_batch_and_check_pages(test);
	}
}

/* All messages must be sent correctly even if page allocations fail */
static void messages_are_sent_despite_page_shortage(struct kunit *test)
{
	u32 seed;

	for (seed = 0; seed < 12; seed++) {
		open_conn(seed, seed & 1, true);
		stubs.page_size = seed & 2 ? BLOCK : 8 * BLOCK;
		stubs.short_of = 2 + seed;
		while (stubs.n < MESSAGES)
			add_random_message();
		send_all_messages(test, 0);
		drop_batch_and_check_pages(test);
	}
}

static void open_conn_with_large_message(u32 stag)
{
	open_conn(1, false, true);
	add_sge(add_message(true), stag, 5, 60000);
}

/* A batch ends with the message after which the ULP knows of no other, or with a full batch */
static void batch_ends_with_last_known_message(struct kunit *test)
{
	u32 i;

	open_conn(1, false, true);
	stubs.one_by_one = true;
	for (i = 0; i < 3; i++)
		add_sge(add_message(true), BLOCKED, 5, 40 * 1000 * i + 1);
	for (i = 0; i < 3; i++) {
		u32 batches = 0;

		while (stubs.sent_msgs <= i && batches++ < 3) {
			KUNIT_EXPECT_TRUE(test, mpa_frame_build_batch(&stubs.c, EMSS, get_limit(EMSS)));
			expect_batch_bytes(test, EMSS - 6);
			KUNIT_EXPECT_FALSE(test, stubs.c.out.last);
			let_tcp_accept_batch(test);
		}
		KUNIT_EXPECT_EQ(test, i + 1, stubs.sent_msgs);
		KUNIT_EXPECT_EQ(test, i == 2 ? 2u : 1u, batches);
	}
	drop_batch_and_check_pages(test);
}

/* If the payload of the last known message cannot be read, the Terminate follows in this batch */
static void dropped_message_does_not_end_batch(struct kunit *test)
{
	open_conn_with_large_message(BLOCKED);
	stubs.one_by_one = true;
	regions[0].valid = false;
	KUNIT_EXPECT_TRUE(test, mpa_frame_build_batch(&stubs.c, EMSS, get_limit(EMSS)));
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	/* the pull after the failure has found nothing */
	KUNIT_EXPECT_TRUE(test, stubs.c.out.last);
	drop_batch_and_check_pages(test);
}

/* The MR is looked up once for all middle FPDUs of a message */
static void middle_fpdus_share_mr_lookup(struct kunit *test)
{
	u32 tagged;

	for (tagged = 0; tagged < 2; tagged++) {
		open_conn(tagged, false, true);
		stubs.page_size = 16 * BLOCK;
		add_sge(add_message(tagged), BLOCKED, 5, 60000);
		send_all_messages(test, EMSS);
		KUNIT_EXPECT_LE(test, stubs.mr_lookups, 3u);
		drop_batch_and_check_pages(test);
	}
}

/* Return the vector that begins at byte @at of the batch, or NULL */
static const struct bio_vec *find_vec_beginning_at(const struct mpa_out *o, u32 at)
{
	const struct bio_vec *v = o->vec;

	for (; v < o->vec + o->n && at >= v->bv_len; v++)
		at -= v->bv_len;
	return at || v == o->vec + o->n ? NULL : v;
}

/* The payload of a long FPDU has the same page offset in the batch as in memory */
static void payload_keeps_page_offset(struct kunit *test)
{
	const u32 emss = 16 + 4 * BLOCK + 4, payload = 4 * BLOCK;
	const struct bio_vec *v;
	u32 from, i;

	if (payload < DDP_COPY_LONG)
		kunit_skip(test, "no FPDU is as long as four pages of this size");
	for (from = 0; from < BLOCK; from += 585) {
		open_conn(from, false, from & 1);
		stubs.page_size = 8 * BLOCK;
		add_sge(add_message(true), DDP_STAG_DMA, from, 200000);
		KUNIT_EXPECT_TRUE(test, build_and_check_batch(test, emss));
		KUNIT_EXPECT_EQ(test, 3 * emss, stubs.c.out.len);
		for (i = 0; i < 3; i++) {
			v = find_vec_beginning_at(&stubs.c.out, i * emss);
			KUNIT_ASSERT_NOT_NULL(test, v);
			KUNIT_EXPECT_EQ(test, (from + i * payload) % BLOCK,
					(v->bv_offset + 16) % BLOCK);
		}
		let_tcp_accept_batch(test);
		send_all_messages(test, emss);
		drop_batch_and_check_pages(test);
	}
}

/* The number of pages is limited, however small the pages are */
static void page_count_is_limited(struct kunit *test)
{
	open_conn(1, false, true);
	stubs.page_size = BLOCK / 4;
	add_sge(add_message(true), BLOCKED, 5, 200000);
	send_all_messages(test, EMSS);
	drop_batch_and_check_pages(test);
}

/*
 * Expect that no batch is built, because the payload of the first segment cannot be
 * fetched, and that the space reserved for the segment is free again
 */
static void build_and_expect_no_batch(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, build_and_check_batch(test, EMSS));
	KUNIT_EXPECT_EQ(test, 0u, stubs.c.out.len);
	KUNIT_EXPECT_EQ(test, 0u, (u32)stubs.c.out.n);
	KUNIT_EXPECT_EQ(test, 0u, stubs.c.out.reserved);
	KUNIT_EXPECT_EQ(test, 1u, stubs.made);
}

static void revoked_mr_fails_stream(struct kunit *test)
{
	open_conn_with_large_message(BLOCKED);
	regions[0].valid = false;
	build_and_expect_no_batch(test);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	drop_batch_and_check_pages(test);
}

static void missing_page_delays_batch(struct kunit *test)
{
	open_conn_with_large_message(PAGED);
	stubs.present[0] = false;
	build_and_expect_no_batch(test);
	KUNIT_EXPECT_EQ(test, 1u, stubs.mr_lookups);
	complete_fault();
	send_all_messages(test, EMSS);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	drop_batch_and_check_pages(test);
}

/* If the page fault completes immediately, the segment is retried alone, not in a batch */
static void segment_is_retried_alone_after_fault(struct kunit *test)
{
	open_conn_with_large_message(PAGED);
	stubs.present[0] = false;
	stubs.fault_at_once = true;
	KUNIT_EXPECT_TRUE(test, build_and_check_batch(test, EMSS));
	KUNIT_EXPECT_EQ(test, (u32)PAYLOAD, stubs.retry_len);
	KUNIT_EXPECT_EQ(test, stubs.n, stubs.sent_msgs);
	drop_batch_and_check_pages(test);
}

/*
 * If a page in the middle of a batch is not present, the batch contains exactly
 * the FPDUs whose pages are present
 */
static void batch_ends_at_missing_page(struct kunit *test)
{
	open_conn_with_large_message(PAGED);
	stubs.present[3] = false;
	KUNIT_EXPECT_TRUE(test, build_and_check_batch(test, EMSS));
	KUNIT_EXPECT_EQ(test, (3u * BLOCK - SKIP - 5) / PAYLOAD * EMSS, stubs.c.out.len);
	expect_no_spare_page_space(test);
	let_tcp_accept_batch(test);
	complete_fault();
	send_all_messages(test, EMSS);
	drop_batch_and_check_pages(test);
}

/*
 * If the next SGE is of an invalid MR, the complete FPDUs before it are sent
 * and the stream fails
 */
static void invalid_next_sge_fails_stream(struct kunit *test)
{
	open_conn_with_large_message(PAGED);
	add_sge(&stubs.messages[0], BLOCKED, 5, 60000);
	stubs.messages[0].sge[0].len = 10000;
	stubs.messages[0].buf.len = 70000;
	regions[0].valid = false;
	KUNIT_EXPECT_TRUE(test, build_and_check_batch(test, EMSS));
	KUNIT_EXPECT_EQ(test, 10000u / PAYLOAD * EMSS, stubs.c.out.len);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	expect_no_spare_page_space(test);
	drop_batch_and_check_pages(test);
}

/*
 * RDMAP-176: revoking the remote read right ends a Read response in progress,
 * but not the program's own transfers
 */
static void revoked_read_right_ends_response(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		open_conn_with_large_message(BLOCKED);
		add_sge(&stubs.messages[0], BLOCKED, 0, LENGTH - 60000);
		stubs.rights = i ? DDP_LOCAL_READ : DDP_REMOTE_READ;
		KUNIT_EXPECT_TRUE(test, build_and_check_batch(test, EMSS));
		let_tcp_accept_batch(test);
		KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
		ddp_stream_set_rights(&stubs.s, DDP_REMOTE_WRITE);
		KUNIT_EXPECT_TRUE(test, build_and_check_batch(test, EMSS));
		KUNIT_EXPECT_EQ(test, !i, stubs.failed);
		KUNIT_EXPECT_EQ(test, !i, !stubs.c.out.len);
		drop_batch_and_check_pages(test);
	}
}

/*
 * FPDUs before the end of the MR are sent. The FPDU that exceeds the MR is not
 * sent, and fails the stream.
 */
static void fpdu_beyond_mr_fails_stream(struct kunit *test)
{
	open_conn(1, false, true);
	add_sge(add_message(true), BLOCKED, LENGTH - 30000, 60000);
	KUNIT_EXPECT_TRUE(test, build_and_check_batch(test, EMSS));
	KUNIT_EXPECT_EQ(test, 30000u / PAYLOAD * EMSS, stubs.c.out.len);
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	expect_no_spare_page_space(test);
	drop_batch_and_check_pages(test);
}

/* If the stream fails after the first segment, the other segments are not sent */
static void failed_stream_sends_no_more_fpdus(struct kunit *test)
{
	open_conn_with_large_message(BLOCKED);
	stubs.fails_at = 1;
	KUNIT_EXPECT_TRUE(test, build_and_check_batch(test, EMSS));
	KUNIT_EXPECT_EQ(test, (u32)EMSS, stubs.c.out.len);
	expect_no_spare_page_space(test);
	drop_batch_and_check_pages(test);
}

/* A page from emergency reserves is freed when its space is used up */
static void emergency_page_is_freed_when_full(struct kunit *test)
{
	open_conn_with_large_message(BLOCKED);
	stubs.emergency = true;
	send_all_messages(test, EMSS);
	check_and_free_batch_pages(test);
	KUNIT_EXPECT_GT(test, stubs.made, 8u);
	KUNIT_EXPECT_EQ(test, 1u, stubs.pages);
	drop_batch_and_check_pages(test);
}

static struct kunit_case mpa_frame_cases[] = {
	KUNIT_CASE(messages_give_expected_bytes),
	KUNIT_CASE(messages_are_sent_despite_page_shortage),
	KUNIT_CASE(batch_ends_with_last_known_message),
	KUNIT_CASE(dropped_message_does_not_end_batch),
	KUNIT_CASE(middle_fpdus_share_mr_lookup),
	KUNIT_CASE(payload_keeps_page_offset),
	KUNIT_CASE(page_count_is_limited),
	KUNIT_CASE(revoked_mr_fails_stream),
	KUNIT_CASE(missing_page_delays_batch),
	KUNIT_CASE(segment_is_retried_alone_after_fault),
	KUNIT_CASE(batch_ends_at_missing_page),
	KUNIT_CASE(invalid_next_sge_fails_stream),
	KUNIT_CASE(revoked_read_right_ends_response),
	KUNIT_CASE(fpdu_beyond_mr_fails_stream),
	KUNIT_CASE(failed_stream_sends_no_more_fpdus),
	KUNIT_CASE(emergency_page_is_freed_when_full),
	{}
};

static struct kunit_suite mpa_frame_suite = {
	.name = "mpa_frame",
	.test_cases = mpa_frame_cases,
};

kunit_test_suite(mpa_frame_suite);
