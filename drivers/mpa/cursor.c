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

/* Octets from where @cur stands that lie together; may be 0 */
static u32 together(const struct mpa_cursor *cur)
{
	if (cur->ended)
		return 0;
	if (cur->frag < 0)
		return skb_headlen(cur->part) - cur->off;
	return skb_frag_size(&skb_shinfo(cur->part)->frags[cur->frag]) -
	       cur->off;
}

/* The first of them; NULL: no CPU can read it */
static const void *address(const struct mpa_cursor *cur)
{
	const void *p;

	if (cur->frag < 0)
		return cur->part->data + cur->off;
	if (!skb_frags_readable(cur->part))
		return NULL;
	p = skb_frag_address(&skb_shinfo(cur->part)->frags[cur->frag]);
	return p ? p + cur->off : NULL;
}

/* Within the skb */
static bool next_piece(struct mpa_cursor *cur)
{
	const struct sk_buff *part;

	cur->off = 0;
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

/* Stand @off octets behind the first of @skb, which has more */
static void mpa_cursor_enter(struct mpa_cursor *cur, const struct sk_buff *skb,
			     u32 off)
{
	u32 run;

	cur->skb = skb;
	cur->part = skb;
	cur->frag = -1;
	cur->off = 0;
	while ((run = together(cur)) <= off) {
		off -= run;
		if (!next_piece(cur)) {
			cur->ended = true;
			return;
		}
	}
	cur->off = off;
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
		return;
	if (skb_queue_is_last(cur->queue, cur->skb))
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
	cur->left = left;
	cur->ended = false;
	mpa_cursor_find(cur, skb);
}

/* How many of @len octets are together here; 0: there are no more */
static u32 next_run(struct mpa_cursor *cur, u32 len)
{
	len = min(len, cur->left);
	while (len && !cur->ended && !together(cur))
		mpa_cursor_step(cur);
	return min(len, together(cur));
}

static void advance(struct mpa_cursor *cur, u32 len)
{
	cur->off += len;
	cur->seq += len;
	cur->left -= len;
}

/**
 * mpa_cursor_copy - copy octets and move past them
 * @cur: the cursor
 * @dst: where to
 * @len: how many
 *
 * Return: false if not all can be read, or there are not so many: zeros are in
 * their place.
 */
bool mpa_cursor_copy(struct mpa_cursor *cur, void *dst, u32 len)
{
	u32 run;

	while ((run = next_run(cur, len))) {
		const void *p = address(cur);

		if (!p)
			break;
		memcpy(dst, p, run);
		/* what is decided by is the copy, also to the compiler */
		barrier();
		advance(cur, run);
		dst += run;
		len -= run;
	}
	if (!len)
		return true;
	memset(dst, 0, len);
	return false;
}

/**
 * mpa_cursor_skip - move past octets, which nobody need be able to read
 * @cur: the cursor
 * @len: how many
 *
 * Return: false if there are not so many.
 */
bool mpa_cursor_skip(struct mpa_cursor *cur, u32 len)
{
	u32 run;

	while ((run = next_run(cur, len))) {
		advance(cur, run);
		len -= run;
	}
	return !len;
}
