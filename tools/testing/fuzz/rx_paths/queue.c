// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP's receive queue. Each piece of an skb is an allocation of exactly its length, so
 * that the sanitizer detects an access beyond its bytes.
 */
#include "rx_paths.h"

#include "../../../../drivers/ddp/wire.h"
#include "../../../../drivers/mpa/fpdu.h"

void queue_init_tcp_sock(struct tcp_sock *tp)
{
	memset(tp, 0, sizeof(*tp));
	/* the sequence numbers wrap soon */
	tp->copied_seq = tp->rcv_nxt = 0xfffff000u;
}

u32 tcp_inq(struct sock *sk)
{
	return tcp_sk(sk)->rcv_nxt - tcp_sk(sk)->copied_seq;
}

struct sk_buff *tcp_recv_skb(struct sock *sk, u32 seq, u32 *off)
{
	struct sk_buff *skb;

	for (skb = sk->sk_receive_queue.first; skb; skb = skb->next) {
		*off = seq - skb->seq;
		if (*off < skb->len)
			return skb;
	}
	return NULL;
}

static void free_skb(struct sk_buff *skb)
{
	struct sk_buff *part, *next;
	u32 i;

	for (part = skb->info.frag_list; part; part = next) {
		next = part->next;
		free_skb(part);
	}
	for (i = 0; i < skb->info.nr_frags; i++)
		if (!skb->info.adjacent[i])
			free(skb->info.frags[i].at);
	free(skb->head);
	free(skb);
}

/* Drop the skbs at the beginning of the queue that are before @seq */
static void drop_skbs_before(struct sk_buff_head *q, u32 seq)
{
	struct sk_buff *skb;

	while ((skb = q->first) && (s32)(skb->seq + skb->len - seq) <= 0) {
		q->first = skb->next;
		if (!q->first)
			q->last = NULL;
		free_skb(skb);
	}
}

void tcp_read_done(struct sock *sk, size_t len)
{
	struct tcp_sock *tp = tcp_sk(sk);

	MUST("rx-consumed", len <= tcp_inq(sk));
	tp->copied_seq += len;
	drop_skbs_before(&sk->sk_receive_queue, tp->copied_seq);
}

void queue_purge(struct tcp_sock *tp)
{
	drop_skbs_before(&tp->sk.sk_receive_queue, tp->rcv_nxt);
}

/* Bytes that go into an skb */
struct source {
	const u8	*at;
	u32		left;
};

static u32 read_source_bytes(struct source *s, u8 *dst, u32 len)
{
	len = min(len, s->left);
	memcpy(dst, s->at, len);
	s->at += len;
	s->left -= len;
	return len;
}

/*
 * Put the next bytes into the linear part. Half of the long ones begin shortly before a page
 * boundary, half of these by 16 bytes, the length field and header of an FPDU, so that the payload
 * begins at the page.
 */
static void add_linear_part(struct sk_buff *skb, struct source *s, u32 len, struct dice *d)
{
	u32 off = 0;

	if (len >= PAGE_SIZE && draw_random_u32_below(d, 2))
		off = PAGE_SIZE - (draw_random_u32_below(d, 2) ? 16 :
				   draw_random_u32_below(d, PAGE_SIZE));
	if (!len)
		return;
	if (posix_memalign((void **)&skb->head, off ? PAGE_SIZE : sizeof(void *), off + len))
		abort();
	skb->data = skb->head + off;
	skb->headlen = read_source_bytes(s, skb->data, len);
	skb->len += skb->headlen;
}

/* Add a fragment, or two fragments that are adjacent in memory */
static void add_frags(struct sk_buff *skb, struct source *s, struct dice *d)
{
	struct skb_shared_info *info = &skb->info;
	u32 len = 1 + draw_random_u32_below(d, s->left), first = len;
	u8 *at = malloc(len);

	if (len > 1 && info->nr_frags + 2 <= SKB_FRAGS && !draw_random_u32_below(d, 3))
		first = 1 + draw_random_u32_below(d, len - 1);
	read_source_bytes(s, at, len);
	skb->len += len;
	info->frags[info->nr_frags++] = (skb_frag_t) { .at = at, .len = first };
	if (first == len)
		return;
	info->adjacent[info->nr_frags] = true;
	info->frags[info->nr_frags++] = (skb_frag_t) { .at = at + first, .len = len - first };
}

static struct sk_buff *make_skb_part(struct source *s, struct dice *d, bool whole)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb));

	if (whole || !draw_random_u32_below(d, 3)) {
		add_linear_part(skb, s, s->left, d);
		return skb;
	}
	add_linear_part(skb, s, draw_random_u32_below(d, s->left + 1), d);
	while (s->left && skb->info.nr_frags < SKB_FRAGS && draw_random_u32_below(d, 4))
		add_frags(skb, s, d);
	return skb;
}

/* Put all bytes of @s into one skb */
static struct sk_buff *make_skb(struct source *s, struct cut *cut)
{
	struct sk_buff *skb = make_skb_part(s, &cut->dice, !cut->pieces), *part;
	struct sk_buff **end = &skb->info.frag_list;

	while (s->left) {
		part = make_skb_part(s, &cut->dice, false);
		/* the kernel's frag_lists have no empty members */
		if (!part->len) {
			free_skb(part);
			continue;
		}
		*end = part;
		end = &part->next;
		skb->len += part->len;
	}
	return skb;
}

/* Find the byte at position @seq of the stream in the queue. Return: NULL if it is unreadable */
static u8 *find_queued_byte(struct tcp_sock *tp, u32 seq)
{
	struct sk_buff *skb, *part;
	u32 off, i;

	skb = tcp_recv_skb(&tp->sk, seq, &off);
	if (skb->unreadable)
		return NULL;
	for (part = skb; part; part = part == skb ? skb->info.frag_list : part->next) {
		if (off < part->headlen)
			return part->data + off;
		off -= part->headlen;
		for (i = 0; i < part->info.nr_frags; i++) {
			if (off < part->info.frags[i].len)
				return part->info.frags[i].at + off;
			off -= part->info.frags[i].len;
		}
	}
	abort();
}

/*
 * Make the next FPDU the second segment of an untagged message, if the FPDU is its first segment
 * and has no marker: its MO becomes its own length. Other changes hardly ever do this.
 */
static void make_queued_fpdu_second_segment(struct tcp_sock *tp)
{
	u32 i, mo = 0;
	u8 *at;

	if (tcp_inq(&tp->sk) < MPA_LEN_SIZE + DDP_U_HDR_LEN)
		return;
	for (i = 0; i < MPA_LEN_SIZE; i++) {
		at = find_queued_byte(tp, tp->copied_seq + i);
		if (!at)
			return;
		mo = mo << 8 | *at;
	}
	mo -= DDP_U_HDR_LEN;
	for (i = 0; i < sizeof(mo); i++) {
		at = find_queued_byte(tp, tp->copied_seq + MPA_LEN_SIZE + DDP_U_MO + i);
		if (at)
			*at = mo >> (24 - 8 * i);
	}
}

void queue_rewrite_bytes(struct tcp_sock *tp, struct dice *d)
{
	u32 inq = tcp_inq(&tp->sk), n;
	u8 *at;

	if (!inq)
		return;
	if (draw_random_u32_below(d, 2)) {
		make_queued_fpdu_second_segment(tp);
		return;
	}
	for (n = 1 + draw_random_u32_below(d, 3); n; n--) {
		/* most changes are in the header of the next FPDU */
		at = find_queued_byte(tp, tp->copied_seq +
				      draw_random_u32_below(d, min(inq, n == 1 ? 24u : inq)));
		if (at)
			*at ^= 1 << draw_random_u32_below(d, 8);
	}
}

static void append_skb(struct sk_buff_head *q, struct sk_buff *skb)
{
	if (q->last)
		q->last->next = skb;
	else
		q->first = skb;
	q->last = skb;
}

/* Append @len bytes of device memory, which no CPU can read */
void queue_append_unreadable(struct tcp_sock *tp, u32 len)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb));
	/*
	 * An allocation of 0 bytes, so that the sanitizer reports each access. The pointer is void,
	 * because a compiler can warn that the bytes of any other type do not fit.
	 */
	void *no_bytes = malloc(0);

	skb->info.frags[0] = (skb_frag_t) { .at = no_bytes, .len = len };
	skb->info.nr_frags = 1;
	skb->unreadable = true;
	skb->len = len;
	skb->seq = tp->rcv_nxt;
	append_skb(&tp->sk.sk_receive_queue, skb);
	tp->rcv_nxt += len;
}

void queue_append_bytes(struct tcp_sock *tp, const u8 *bytes, u32 len, struct cut *cut)
{
	u32 repeated = 0;
	struct sk_buff *skb;
	struct source s;
	u8 *copy;

	/*
	 * as in TCP, an skb may repeat bytes at the end of the previous skb; here the repeated
	 * bytes are wrong, so that a test fails if they are used
	 */
	if (cut->pieces && tp->sk.sk_receive_queue.last && !draw_random_u32_below(&cut->dice, 4))
		repeated = draw_random_u32_below(&cut->dice, min(tp->sk.sk_receive_queue.last->len,
								 32u));
	copy = malloc(repeated + len);
	memset(copy, 0xee, repeated);
	memcpy(copy + repeated, bytes, len);
	s = (struct source) { .at = copy, .left = repeated + len };
	skb = make_skb(&s, cut);
	skb->seq = tp->rcv_nxt - repeated;
	free(copy);
	append_skb(&tp->sk.sk_receive_queue, skb);
	tp->rcv_nxt += len;
}
