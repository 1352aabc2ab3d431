// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Cut the messages of a plan into segments, and make some of the segments wrong. */
#include "../../../../drivers/ddp/hdr.h"
#include "maker.h"

static u8 *alloc_segment_bytes(struct maker *m, u32 len)
{
	struct plan *p = m->p;

	if (p->segs == PLAN_SEGS || p->used + len > PLAN_BYTES)
		return NULL;
	p->seg[p->segs++] = (struct plan_seg) { .at = p->used, .len = len };
	p->used += len;
	return p->bytes + p->used - len;
}

void fill_random_bytes(struct maker *m, u8 *at, u32 len)
{
	u32 word;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		word = draw_random_u32(&m->dice);
		memcpy(at, &word, sizeof(word));
	}
	word = draw_random_u32(&m->dice);
	memcpy(at, &word, len);
}

static void add_segment(struct maker *m, const struct ddp_hdr *h, const u8 *raw, u32 len)
{
	u8 *at = alloc_segment_bytes(m, ddp_hdr_len(h) + len);

	if (!at)
		return;
	at += ddp_hdr_encode(at, h);
	if (raw)
		memcpy(at, raw, len);
	else
		fill_random_bytes(m, at, len);
}

void add_garbage_segment(struct maker *m)
{
	u32 len = read_u8(m->in) % 64;
	u8 *at = alloc_segment_bytes(m, len);

	for (; at && len; len--)
		*at++ = read_u8(m->in);
}

/* Change the header of a segment */
static void corrupt_header(struct maker *m, struct ddp_hdr *h)
{
	switch (read_u8(m->in) % 8) {
	case 0:
		h->last = !h->last;
		break;
	case 1:
		h->to += (s8)read_u8(m->in);
		h->mo += (s8)read_u8(m->in);
		break;
	case 2:
		h->stag ^= 1u << read_u8(m->in) % 32;
		break;
	case 3:
		h->msn += (s8)read_u8(m->in);
		break;
	case 4:
		h->qn = read_u8(m->in) % 6;
		break;
	case 5:
		h->ulp8 ^= 1 << read_u8(m->in) % 8;
		break;
	case 6:
		h->tagged = !h->tagged;
		break;
	case 7:
		h->ulp32 ^= 1u << read_u8(m->in) % 32;
		h->to ^= 1ull << read_u8(m->in) % 64;
		break;
	}
}

/* Change the bytes of the segment that was added last */
static void corrupt_byte_of_last_segment(struct maker *m)
{
	struct plan_seg *seg = &m->p->seg[m->p->segs - 1];
	u32 at = read_u8(m->in) % 18;

	if (at < seg->len)
		m->p->bytes[seg->at + at] ^= 1 << read_u8(m->in) % 8;
}

/* Repeat, drop, shorten or swap segments that were added last */
static void corrupt_last_segments(struct maker *m)
{
	struct plan *p = m->p;
	struct plan_seg *last = &p->seg[p->segs - 1], before;

	switch (read_u8(m->in) % 4) {
	case 0:
		if (p->segs < PLAN_SEGS)
			p->seg[p->segs++] = *last;
		break;
	case 1:
		/* drop the last segment, unless it belongs to a previous step */
		if (!p->steps || p->segs > p->step[p->steps - 1].segs)
			p->segs--;
		break;
	case 2:
		last->len -= min_t(u32, last->len, 1 + read_u8(m->in));
		break;
	case 3:
		if (p->segs < 2)
			break;
		before = last[-1];
		last[-1] = *last;
		*last = before;
		break;
	}
}

/* Add the next segment of @msg, which may be wrong */
static void add_next_segment(struct maker *m, struct message *msg)
{
	u32 len = min(msg->each, msg->left);
	struct ddp_hdr h = msg->h;
	u8 how = 3;

	h.last = len == msg->left;
	if (m->wrong && read_u8(m->in) < m->wrong)
		how = read_u8(m->in) % 3;
	if (how == 0)
		corrupt_header(m, &h);
	if (how == 1 && read_bool_one_in(m, 4))
		len += 1 + read_u8(m->in);
	add_segment(m, &h, msg->raw_len ? msg->raw + msg->done : NULL,
		    msg->raw_len ? min(len, RAW_MAX - msg->done) : len);
	if (how == 1)
		corrupt_byte_of_last_segment(m);
	if (how == 2 && m->p->segs)
		corrupt_last_segments(m);
	len = min(msg->each, msg->left);
	msg->h.to += len;
	msg->h.mo += len;
	msg->left -= len;
	msg->done += len;
	msg->begun = msg->left;
}

/* Add the next @n segments of @msg */
void add_next_segments(struct maker *m, struct message *msg, u32 n)
{
	while (msg->begun && n--)
		add_next_segment(m, msg);
}
