// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A walk over octets in TCP's receive queue: linear part, page fragments,
 * frag_list, next skb.  Forward only, never from the start again, no mapping
 * (the kernel has all of memory mapped where this driver runs).
 *
 * The socket lock keeps the queue as it is.  Callers never ask for more than
 * has arrived, so there always is a next skb.
 */
#include <linux/skbuff.h>
#include <net/tcp.h>

#include "internal.h"

/* The run that @cur stands in; its length may be 0 */
static const void *piece(const struct mpa_cursor *cur, u32 *len)
{
	const struct sk_buff *part = cur->part;
	const skb_frag_t *frag;

	if (cur->frag < 0) {
		*len = skb_headlen(part) - cur->off;
		return part->data + cur->off;
	}
	frag = &skb_shinfo(part)->frags[cur->frag];
	*len = skb_frag_size(frag) - cur->off;
	return skb_frag_address(frag) + cur->off;
}

static const struct sk_buff *next_part(const struct mpa_cursor *cur)
{
	if (cur->part == cur->skb)
		return skb_shinfo(cur->skb)->frag_list;
	return cur->part->next;
}

static void step(struct mpa_cursor *cur)
{
	const struct sk_buff *part;

	cur->off = 0;
	if (++cur->frag < skb_shinfo(cur->part)->nr_frags)
		return;
	part = next_part(cur);
	if (part) {
		cur->part = part;
		cur->frag = -1;
		return;
	}
	/* the next skb may repeat octets that this one had */
	mpa_cursor_set(cur, cur->skb->next,
		       cur->seq - TCP_SKB_CB(cur->skb->next)->seq);
}

/**
 * mpa_cursor_set - stand at an octet of an skb
 * @cur: the cursor
 * @skb: in the receive queue
 * @off: distance from its first octet, less than its length
 */
void mpa_cursor_set(struct mpa_cursor *cur, const struct sk_buff *skb, u32 off)
{
	u32 len;

	cur->skb = skb;
	cur->part = skb;
	cur->frag = -1;
	cur->off = 0;
	cur->seq = TCP_SKB_CB(skb)->seq + off;
	for (;;) {
		piece(cur, &len);
		if (off < len)
			break;
		off -= len;
		step(cur);
	}
	cur->off = off;
}

/**
 * mpa_cursor_run - the octets that lie together where a cursor stands
 * @cur: the cursor; it does not move past them
 * @len: in: the most that is wanted, not 0; out: how many there are
 *
 * Return: the first of them.
 */
const void *mpa_cursor_run(struct mpa_cursor *cur, u32 *len)
{
	const void *p;
	u32 run;

	for (;;) {
		p = piece(cur, &run);
		if (run)
			break;
		step(cur);
	}
	*len = min(*len, run);
	return p;
}

static void advance(struct mpa_cursor *cur, u32 len)
{
	cur->off += len;
	cur->seq += len;
}

/**
 * mpa_cursor_copy - copy octets and move past them
 * @cur: the cursor
 * @dst: where to
 * @len: how many
 */
void mpa_cursor_copy(struct mpa_cursor *cur, void *dst, u32 len)
{
	while (len) {
		u32 run = len;
		const void *p = mpa_cursor_run(cur, &run);

		memcpy(dst, p, run);
		advance(cur, run);
		dst += run;
		len -= run;
	}
}

/**
 * mpa_cursor_skip - move past octets
 * @cur: the cursor
 * @len: how many
 */
void mpa_cursor_skip(struct mpa_cursor *cur, u32 len)
{
	while (len) {
		u32 run = len;

		mpa_cursor_run(cur, &run);
		advance(cur, run);
		len -= run;
	}
}
