// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Test the cursor of cursor.c on skbs with a linear part, fragments and a frag_list,
 * and at the end of the queue.
 */
#include <kunit/test.h>
#include <linux/skbuff.h>
#include <net/tcp.h>

#include "../internal.h"

#define FIRST	0xffffffc0u	/* first sequence number, which wraps inside the first skb */

static u8 get_pattern_byte(u32 seq)
{
	return seq * 7 + (seq >> 8);
}

static void fill_pattern(u8 *p, u32 seq, u32 len)
{
	while (len--)
		*p++ = get_pattern_byte(seq++);
}

/*
 * Create an skb with @linear bytes in the linear part and, unless @frag is 0, two
 * fragments of @frag bytes
 */
static struct sk_buff *make_test_skb(struct kunit *test, u32 seq, u32 linear,
				     u32 frag)
{
	struct sk_buff *skb = alloc_skb(256, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	TCP_SKB_CB(skb)->seq = seq;
	fill_pattern(skb_put(skb, linear), seq, linear);
	seq += linear;
	for (i = 0; frag && i < 2; i++, seq += frag) {
		struct page *page = alloc_page(GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, page);
		fill_pattern(page_address(page) + 100, seq, frag);
		skb_add_rx_frag(skb, i, page, 100, frag, PAGE_SIZE);
	}
	return skb;
}

/* Append @part to the frag_list of @skb */
static void append_to_frag_list(struct sk_buff *skb, struct sk_buff *part)
{
	struct sk_buff **end = &skb_shinfo(skb)->frag_list;

	while (*end)
		end = &(*end)->next;
	*end = part;
	skb->len += part->len;
	skb->data_len += part->len;
}

/*
 * Create a queue of three skbs. The first skb has two members in its frag_list.
 * The second skb repeats the last 7 bytes of the first, and has no linear part. The
 * third skb is linear, and @gap bytes are missing before it. Return: number of bytes
 * in the queue, without the repeated bytes.
 */
static u32 make_queue(struct kunit *test, struct sk_buff_head *q, u32 gap)
{
	struct sk_buff *skb = make_test_skb(test, FIRST, 10, 150);
	u32 seq;

	append_to_frag_list(skb, make_test_skb(test, FIRST + skb->len, 0, 33));
	append_to_frag_list(skb, make_test_skb(test, FIRST + skb->len, 5, 0));
	seq = FIRST + skb->len;
	__skb_queue_head_init(q);
	__skb_queue_tail(q, skb);
	skb = make_test_skb(test, seq - 7, 0, 60);
	__skb_queue_tail(q, skb);
	seq += skb->len - 7;
	skb = make_test_skb(test, seq + gap, 40, 0);
	__skb_queue_tail(q, skb);
	return seq + skb->len - FIRST;
}

/* Count the bytes at @p that differ from the pattern at offset @off of the queue */
static u32 count_wrong_bytes(const u8 *p, u32 off, u32 len)
{
	u32 i, n = 0;

	for (i = 0; i < len; i++)
		n += p[i] != get_pattern_byte(FIRST + off + i);
	return n;
}

/* Count the bytes that are not zero */
static u32 count_nonzero_bytes(const u8 *p, u32 len)
{
	u32 n = 0;

	while (len--)
		n += !!*p++;
	return n;
}

/*
 * Copy or skip all bytes from offset @off to @all, @piece bytes at a time. Expect
 * that the copied bytes are correct, and that no bytes are left afterwards.
 */
static void walk_queue_and_check_bytes(struct kunit *test, struct sk_buff_head *q, u32 off, u32 all,
				       u32 piece)
{
	struct mpa_cursor cur;
	u8 buf[64];
	u32 n;

	mpa_cursor_seek(&cur, q, skb_peek(q), off, all - off);
	for (; off < all; off += n) {
		n = min(piece, all - off);
		if (piece % 3 == 1) {
			KUNIT_EXPECT_TRUE(test, mpa_cursor_skip(&cur, n));
			continue;
		}
		KUNIT_EXPECT_TRUE(test, mpa_cursor_copy(&cur, buf, n));
		KUNIT_EXPECT_EQ(test, count_wrong_bytes(buf, off, n), 0u);
	}
	KUNIT_EXPECT_EQ(test, mpa_cursor_bytes_left(&cur), 0u);
	memset(buf, 0xee, sizeof(buf));
	KUNIT_EXPECT_FALSE(test, mpa_cursor_copy(&cur, buf, sizeof(buf)));
	KUNIT_EXPECT_EQ(test, count_nonzero_bytes(buf, sizeof(buf)), 0u);
	KUNIT_EXPECT_FALSE(test, mpa_cursor_skip(&cur, 1));
	KUNIT_EXPECT_TRUE(test, mpa_cursor_copy(&cur, buf, 0));
}

/* The cursor copies and skips all bytes of a queue, from any start, in pieces of any size. */
static void cursor_copies_and_skips_whole_queue(struct kunit *test)
{
	struct sk_buff_head q;
	u32 all = make_queue(test, &q, 0), off, piece;

	for (off = 0; off < skb_peek(&q)->len; off++)
		for (piece = 1; piece <= 64; piece += 7)
			walk_queue_and_check_bytes(test, &q, off, all, piece);
	__skb_queue_purge(&q);
}

/*
 * Add @len bytes of @pages, beginning at offset @skew of the first page, to @skb, as
 * one fragment for each page
 */
static void skb_append_pages(struct sk_buff *skb, struct page *pages, u32 skew, u32 len)
{
	u32 n, at;

	for (at = skew; at < skew + len; at += n) {
		n = min_t(u32, PAGE_SIZE - at % PAGE_SIZE, skew + len - at);
		get_page(pages);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, pages + at / PAGE_SIZE,
				at % PAGE_SIZE, n, PAGE_SIZE);
	}
}

/*
 * The cursor combines fragments into one extent, up to its limit, but only if their
 * pages are adjacent.
 */
static void cursor_combines_adjacent_pages(struct kunit *test)
{
	struct page *pages = alloc_pages(GFP_KERNEL | __GFP_COMP, 2);
	const u32 len = 3 * PAGE_SIZE;
	struct sk_buff_head q;
	struct mpa_cursor cur;
	struct sk_buff *skb = make_test_skb(test, FIRST, 10, 0);
	u8 buf[64];

	KUNIT_ASSERT_NOT_NULL(test, pages);
	fill_pattern(page_address(pages) + 50, FIRST + 10, len);
	skb_append_pages(skb, pages, 50, len);
	/* add the first page again, which is not adjacent to the last page */
	fill_pattern(page_address(pages), FIRST + 10 + len, 50);
	skb_append_pages(skb, pages, 0, 50);
	__skb_queue_head_init(&q);
	__skb_queue_tail(&q, skb);

	mpa_cursor_seek(&cur, &q, skb, 3, len + 57);
	KUNIT_EXPECT_EQ(test, 7u, cur.extent_left);
	KUNIT_EXPECT_TRUE(test, mpa_cursor_skip(&cur, 17));
	KUNIT_EXPECT_EQ(test, len - 10, cur.extent_left);
	KUNIT_EXPECT_TRUE(test, mpa_cursor_skip(&cur, PAGE_SIZE - 32));
	KUNIT_EXPECT_TRUE(test, mpa_cursor_copy(&cur, buf, 64));
	KUNIT_EXPECT_EQ(test, count_wrong_bytes(buf, 20 + PAGE_SIZE - 32, 64), 0u);
	KUNIT_EXPECT_TRUE(test, mpa_cursor_skip(&cur, cur.extent_left));
	KUNIT_EXPECT_TRUE(test, mpa_cursor_copy(&cur, buf, 50));
	KUNIT_EXPECT_EQ(test, count_wrong_bytes(buf, 10 + len, 50), 0u);

	mpa_cursor_seek(&cur, &q, skb, 10 + PAGE_SIZE, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, (u32)PAGE_SIZE, cur.extent_left);
	KUNIT_EXPECT_EQ(test, 0u, cur.left);
	__skb_queue_purge(&q);
	__free_pages(pages, 2);
}

/* The cursor reads no byte past its limit, even if more bytes are requested. */
static void cursor_stays_within_limit(struct kunit *test)
{
	u8 *buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct sk_buff_head q;
	u32 all = make_queue(test, &q, 0), left;
	struct mpa_cursor cur;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (left = 0; left <= all; left++) {
		mpa_cursor_seek(&cur, &q, skb_peek(&q), 0, left);
		memset(buf, 0xee, PAGE_SIZE);
		KUNIT_EXPECT_FALSE(test, mpa_cursor_copy(&cur, buf, PAGE_SIZE));
		KUNIT_EXPECT_EQ(test, count_wrong_bytes(buf, 0, left), 0u);
		KUNIT_EXPECT_EQ(test, count_nonzero_bytes(buf + left, PAGE_SIZE - left),
				0u);
		KUNIT_EXPECT_EQ(test, mpa_cursor_bytes_left(&cur), 0u);
	}
	__skb_queue_purge(&q);
}

/* Expect that the cursor copies exactly @have bytes although its limit is larger */
static void expect_cursor_stops_after(struct kunit *test, struct sk_buff_head *q, u32 have)
{
	u8 *buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct mpa_cursor cur;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	mpa_cursor_seek(&cur, q, skb_peek(q), 0, U32_MAX);
	memset(buf, 0xee, PAGE_SIZE);
	KUNIT_EXPECT_FALSE(test, mpa_cursor_copy(&cur, buf, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, count_wrong_bytes(buf, 0, have), 0u);
	KUNIT_EXPECT_EQ(test, count_nonzero_bytes(buf + have, PAGE_SIZE - have), 0u);
	/* the cursor stays at the end of the queue */
	KUNIT_EXPECT_FALSE(test, mpa_cursor_copy(&cur, buf, 1));
}

/* The cursor stops at the end of the queue, and at a gap in the sequence numbers. */
static void cursor_stops_at_queue_end_and_gap(struct kunit *test)
{
	struct sk_buff_head q;
	u32 all = make_queue(test, &q, 0);
	struct mpa_cursor cur;

	expect_cursor_stops_after(test, &q, all);
	mpa_cursor_seek(&cur, &q, skb_peek(&q), 0, U32_MAX);
	KUNIT_EXPECT_TRUE(test, mpa_cursor_skip(&cur, all));
	KUNIT_EXPECT_FALSE(test, mpa_cursor_skip(&cur, 1));
	/* start at an offset past the end of the queue */
	mpa_cursor_seek(&cur, &q, skb_peek_tail(&q), 1000, U32_MAX);
	KUNIT_EXPECT_FALSE(test, mpa_cursor_skip(&cur, 1));
	__skb_queue_purge(&q);
	/* with a gap of one byte before the last skb, the cursor stops there */
	all = make_queue(test, &q, 1);
	expect_cursor_stops_after(test, &q, all - 40);
	__skb_queue_purge(&q);
}

/* The cursor skips fragments in device memory, which no CPU can read, but never reads them. */
static void cursor_reads_no_device_memory(struct kunit *test)
{
	struct sk_buff_head q;
	u32 all = make_queue(test, &q, 0);
	struct mpa_cursor cur;

	compat_skb_hide_frags(skb_peek_tail(&q)->prev);
	if (skb_frags_readable(skb_peek_tail(&q)->prev)) {
		__skb_queue_purge(&q);
		kunit_skip(test, "this kernel has no unreadable fragments");
	}
	expect_cursor_stops_after(test, &q, 10 + 2 * 150 + 2 * 33 + 5);
	/* each member of a frag_list has its own flag for unreadable fragments */
	compat_skb_hide_frags(skb_shinfo(skb_peek(&q))->frag_list);
	expect_cursor_stops_after(test, &q, 10 + 2 * 150);
	compat_skb_hide_frags(skb_peek(&q));
	expect_cursor_stops_after(test, &q, 10);
	/* unreadable bytes can be skipped */
	mpa_cursor_seek(&cur, &q, skb_peek(&q), 0, all);
	KUNIT_EXPECT_TRUE(test, mpa_cursor_skip(&cur, all));
	__skb_queue_purge(&q);
}

static struct kunit_case cursor_cases[] = {
	KUNIT_CASE(cursor_copies_and_skips_whole_queue),
	KUNIT_CASE(cursor_combines_adjacent_pages),
	KUNIT_CASE(cursor_stays_within_limit),
	KUNIT_CASE(cursor_stops_at_queue_end_and_gap),
	KUNIT_CASE(cursor_reads_no_device_memory),
	{}
};

static struct kunit_suite cursor_suite = {
	.name = "mpa_cursor",
	.test_cases = cursor_cases,
};

kunit_test_suite(cursor_suite);
