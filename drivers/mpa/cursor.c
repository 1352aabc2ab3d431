// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A walk over octets in TCP's receive queue: linear part, page fragments,
 * frag_list, next skb.  Forward only, never from the start again, no mapping
 * (the kernel has all of memory mapped where this driver runs).
 *
 * The socket lock keeps the queue as it is, but not the octets in it: pages
 * may be a sender's on this machine, who goes on writing them, or a device's,
 * which no CPU can read.  So an octet is copied out and never looked at in
 * place, and whatever length is asked for, the walk ends where it was said to
 * end, and at the end of the queue in any case.
 */
#include <linux/skbuff.h>
#include <net/tcp.h>

#include "internal.h"

/* Octets of the piece that @cur is in */
static u32 piece_len(const struct mpa_cursor *cur)
{
	if (cur->frag < 0)
		return skb_headlen(cur->part);
	return skb_frag_size(&skb_shinfo(cur->part)->frags[cur->frag]);
}

/* The first of them; NULL: no CPU can read it */
static const void *piece(const struct mpa_cursor *cur)
{
	if (cur->frag < 0)
		return cur->part->data;
	if (!skb_frags_readable(cur->part))
		return NULL;
	return skb_frag_address(&skb_shinfo(cur->part)->frags[cur->frag]);
}

/* Within the skb */
static bool next_piece(struct mpa_cursor *cur)
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

/* Is the next fragment what lies at @end?  Then that one is the piece */
static bool joins(struct mpa_cursor *cur, const void *end)
{
	if (cur->frag + 1 >= skb_shinfo(cur->part)->nr_frags)
		return false;
	cur->frag++;
	if (piece(cur) == end)
		return true;
	cur->frag--;
	return false;
}

/*
 * Stand @off octets behind the first of the piece; may be its end.  A sender on this
 * machine has pages that lie side by side in a fragment each: they are one run.
 */
static void stand(struct mpa_cursor *cur, u32 off)
{
	const void *p = piece(cur);
	u32 run = piece_len(cur) - off;

	cur->at = p ? p + off : NULL;
	while (p && run < cur->left && joins(cur, cur->at + run))
		run += piece_len(cur);
	cur->run = min(run, cur->left);
	cur->left -= cur->run;
	cur->seq += cur->run;
}

/* Stand @off octets behind the first of @skb, which has more */
static void mpa_cursor_enter(struct mpa_cursor *cur, const struct sk_buff *skb,
			     u32 off)
{
	u32 len;

	cur->skb = skb;
	cur->part = skb;
	cur->frag = -1;
	while ((len = piece_len(cur)) <= off) {
		off -= len;
		if (!next_piece(cur)) {
			cur->ended = true;
			return;
		}
	}
	stand(cur, off);
}

/* From @skb on, look for the octet: an skb may repeat what one before it had */
static void mpa_cursor_find(struct mpa_cursor *cur, const struct sk_buff *skb)
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
	mpa_cursor_enter(cur, skb, off);
}

static void mpa_cursor_step(struct mpa_cursor *cur)
{
	if (next_piece(cur))
		stand(cur, 0);
	else if (skb_queue_is_last(cur->queue, cur->skb))
		cur->ended = true;
	else
		mpa_cursor_find(cur, skb_queue_next(cur->queue, cur->skb));
}

/**
 * mpa_cursor_set - stand at an octet of an skb
 * @cur: the cursor
 * @queue: the receive queue
 * @skb: in it
 * @off: distance from its first octet
 * @left: octets that may be walked from there on
 */
void mpa_cursor_set(struct mpa_cursor *cur, const struct sk_buff_head *queue,
		    const struct sk_buff *skb, u32 off, u32 left)
{
	cur->queue = queue;
	cur->seq = TCP_SKB_CB(skb)->seq + off;
	cur->at = NULL;
	cur->run = 0;
	cur->left = left;
	cur->ended = false;
	mpa_cursor_find(cur, skb);
}

/**
 * mpa_cursor_next - move on to the next run, unless there is something of this one
 * @cur: the cursor.  Without a run afterwards: there are no more octets
 */
void mpa_cursor_next(struct mpa_cursor *cur)
{
	while (!cur->run && cur->left && !cur->ended)
		mpa_cursor_step(cur);
}

/* How many of @len octets lie together here; 0: there are no more */
static u32 next_run(struct mpa_cursor *cur, u32 len)
{
	mpa_cursor_next(cur);
	return min(len, cur->run);
}

/**
 * mpa_cursor_copy_runs - as mpa_cursor_copy(), of octets that may lie anywhere
 * @cur: the cursor
 * @dst: where to
 * @len: how many
 *
 * Return: as mpa_cursor_copy().
 */
bool mpa_cursor_copy_runs(struct mpa_cursor *cur, void *dst, u32 len)
{
	while (len) {
		u32 run = next_run(cur, len);

		if (!run || !cur->at) {
			memset(dst, 0, len);
			return false;
		}
		mpa_cursor_take(cur, dst, run);
		dst += run;
		len -= run;
	}
	return true;
}

/**
 * mpa_cursor_skip_runs - as mpa_cursor_skip(), over octets that may lie anywhere
 * @cur: the cursor
 * @len: how many
 *
 * Return: as mpa_cursor_skip().
 */
bool mpa_cursor_skip_runs(struct mpa_cursor *cur, u32 len)
{
	while (len) {
		u32 run = next_run(cur, len);

		if (!run)
			return false;
		mpa_cursor_advance(cur, run);
		len -= run;
	}
	return true;
}
