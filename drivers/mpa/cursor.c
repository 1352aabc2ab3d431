// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Read bytes from TCP's receive queue: from the linear part, the page fragments and
 * the frag_list of each skb. Pages are not mapped with kmap(), because this driver
 * requires a kernel that has all memory mapped.
 *
 * An extent is a range of contiguous bytes in memory: the linear part or a fragment of
 * an skb, and the next fragments if they are adjacent in memory.
 *
 * The socket lock protects the queue, but not the bytes in the queue. A sender on
 * this machine may share a page with the queue and still write to this page. So bytes
 * are copied and never used in place. A page may also be device memory, which no CPU
 * can read. The functions of this file only move the cursor forward, and never past
 * the limit that mpa_cursor_seek() has set, or past the end of the queue. To move back,
 * rx.c restores a copy of the cursor.
 */
#include <linux/skbuff.h>
#include <net/tcp.h>

#include "internal.h"

/* Get the length of the current linear part or fragment, in bytes */
static u32 get_piece_len(const struct mpa_cursor *cur)
{
	if (cur->frag < 0)
		return skb_headlen(cur->part);
	return skb_frag_size(&skb_shinfo(cur->part)->frags[cur->frag]);
}

/*
 * Get the address of the current linear part or fragment. Return: the address; NULL
 * if the fragment is device memory, which no CPU can read.
 */
static const void *get_piece_addr(const struct mpa_cursor *cur)
{
	if (cur->frag < 0)
		return cur->part->data;
	if (!skb_frags_readable(cur->part))
		return NULL;
	return skb_frag_address(&skb_shinfo(cur->part)->frags[cur->frag]);
}

/*
 * Move to the next fragment; after the last fragment, move to the linear part of the
 * next frag_list member. Return: true if moved, false at the end of the skb.
 */
static bool move_to_next_piece(struct mpa_cursor *cur)
{
	const struct sk_buff *part;

	if (++cur->frag < skb_shinfo(cur->part)->nr_frags)
		return true;
	part = cur->part == cur->skb ? skb_shinfo(cur->skb)->frag_list
				     : cur->part->next;
	if (!part)
		return false;
	cur->part = part;
	cur->frag = -1;
	return true;
}

/*
 * Move to the next fragment if it is adjacent in memory. @end: address of the end of
 * the current linear part or fragment. Return: true if moved, false otherwise.
 */
static bool advance_if_adjacent(struct mpa_cursor *cur, const void *end)
{
	if (cur->frag + 1 >= skb_shinfo(cur->part)->nr_frags)
		return false;
	cur->frag++;
	if (get_piece_addr(cur) == end)
		return true;
	cur->frag--;
	return false;
}

/*
 * Begin an extent at offset @off of the current linear part or fragment. @off may be
 * the length of this part or fragment; the extent is then empty. A sender on this
 * machine may put adjacent pages into separate fragments, so combine these fragments
 * into one extent.
 */
static void start_extent_in_piece(struct mpa_cursor *cur, u32 off)
{
	const void *p = get_piece_addr(cur);
	u32 len = get_piece_len(cur) - off;

	cur->at = p ? p + off : NULL;
	while (p && len < cur->left && advance_if_adjacent(cur, cur->at + len))
		len += get_piece_len(cur);
	cur->extent_left = min(len, cur->left);
	cur->left -= cur->extent_left;
	cur->seq += cur->extent_left;
}

/* Begin an extent at offset @off of @skb; @off must be less than the skb's length */
static void mpa_cursor_seek_in_skb(struct mpa_cursor *cur, const struct sk_buff *skb,
				   u32 off)
{
	u32 len;

	cur->skb = skb;
	cur->part = skb;
	cur->frag = -1;
	while ((len = get_piece_len(cur)) <= off) {
		off -= len;
		if (!move_to_next_piece(cur)) {
			cur->ended = true;
			return;
		}
	}
	start_extent_in_piece(cur, off);
}

/*
 * Find the byte with the sequence number @cur->seq in @skb or in an skb after @skb,
 * and begin an extent at this byte. An skb may begin with bytes that the previous
 * skb also has; searching by sequence number skips these bytes.
 */
static void mpa_cursor_seek_seq(struct mpa_cursor *cur, const struct sk_buff *skb)
{
	u32 off;

	for (;;) {
		off = cur->seq - TCP_SKB_CB(skb)->seq;
		if (off < skb->len)
			break;
		if (skb_queue_is_last(cur->queue, skb)) {
			cur->ended = true;
			return;
		}
		skb = skb_queue_next(cur->queue, skb);
	}
	mpa_cursor_seek_in_skb(cur, skb, off);
}

/*
 * Begin an extent at the next fragment or frag_list member of the skb, or at the next
 * skb of the queue. At the end of the queue, set @cur->ended.
 */
static void mpa_cursor_move_to_next_extent(struct mpa_cursor *cur)
{
	if (move_to_next_piece(cur))
		start_extent_in_piece(cur, 0);
	else if (skb_queue_is_last(cur->queue, cur->skb))
		cur->ended = true;
	else
		mpa_cursor_seek_seq(cur, skb_queue_next(cur->queue, cur->skb));
}

/**
 * mpa_cursor_seek - position a cursor at a byte of an skb
 * @cur: the cursor
 * @queue: the receive queue
 * @skb: an skb of @queue
 * @off: offset of the byte in @skb
 * @left: maximum number of bytes to consume, beginning at this byte
 *
 * The cursor is valid as long as the caller holds the socket lock.
 */
void mpa_cursor_seek(struct mpa_cursor *cur, const struct sk_buff_head *queue,
		     const struct sk_buff *skb, u32 off, u32 left)
{
	cur->queue = queue;
	cur->seq = TCP_SKB_CB(skb)->seq + off;
	cur->at = NULL;
	cur->extent_left = 0;
	cur->left = left;
	cur->ended = false;
	mpa_cursor_seek_seq(cur, skb);
}

/**
 * mpa_cursor_refill - move to the next extent if the current extent is consumed
 * @cur: the cursor; on return @cur->extent_left is 0 if no bytes are left
 */
void mpa_cursor_refill(struct mpa_cursor *cur)
{
	while (!cur->extent_left && cur->left && !cur->ended)
		mpa_cursor_move_to_next_extent(cur);
}

/*
 * Get the number of contiguous bytes at the cursor, at most @len. Moves to the next
 * extent if the current extent is consumed. Return: number of bytes; 0 if no bytes
 * are left.
 */
static u32 refill_and_get_contiguous_len(struct mpa_cursor *cur, u32 len)
{
	mpa_cursor_refill(cur);
	return min(len, cur->extent_left);
}

/**
 * mpa_cursor_copy_extents - copy and consume bytes that may span several extents
 * @cur: the cursor
 * @dst: destination
 * @len: number of bytes
 *
 * Return: true if @len bytes were copied. False if fewer bytes are left or a byte is in
 * device memory, which no CPU can read; @dst then has zeros for the missing bytes.
 */
bool mpa_cursor_copy_extents(struct mpa_cursor *cur, void *dst, u32 len)
{
	while (len) {
		u32 n = refill_and_get_contiguous_len(cur, len);

		if (!n || !cur->at) {
			memset(dst, 0, len);
			return false;
		}
		mpa_cursor_copy_contiguous(cur, dst, n);
		dst += n;
		len -= n;
	}
	return true;
}

/**
 * mpa_cursor_skip_extents - consume bytes that may span several extents
 * @cur: the cursor
 * @len: number of bytes
 *
 * Return: true if @len bytes were consumed, false if fewer bytes are left.
 */
bool mpa_cursor_skip_extents(struct mpa_cursor *cur, u32 len)
{
	while (len) {
		u32 n = refill_and_get_contiguous_len(cur, len);

		if (!n)
			return false;
		mpa_cursor_advance(cur, n);
		len -= n;
	}
	return true;
}
