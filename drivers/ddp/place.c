// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Octets between segments and registered memory, in either direction.
 *
 * A region's blocks are found by a shift; neighbours that lie together in
 * memory are copied as one run.  Never a second look at where octets go: each
 * piece is checked and held, and copied; the hold may stay for the next.  Regions
 * without blocks are paged.c's.
 */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/mm.h>

#include <ddp/copy.h>
#include "bounds.h"
#include "internal.h"

/* The longest run at @to, up to @len octets, of a region with blocks */
static void *region_run(const struct ddp_region *r, u64 to, u32 *len)
{
	u64 off = to - r->base + r->skip;
	size_t mask = ((size_t)1 << r->shift) - 1;
	size_t i = off >> r->shift, run;
	void *p;

	p = r->block[i] + (off & mask);
	for (run = mask + 1 - (off & mask); run < *len; run += mask + 1, i++)
		if (r->block[i + 1] != r->block[i] + mask + 1)
			break;
	*len = min_t(size_t, *len, run);
	return p;
}

static enum iw_reason region_from_llp(const struct ddp_region *r, u64 to,
				      u32 len, struct ddp_llp *llp,
				      struct ddp_wait *w)
{
	if (unlikely(!r->block))
		return ddp_paged_from_llp(r, to, len, llp, false, w);
	while (len) {
		u32 run = len;
		void *p = region_run(r, to, &run);

		if (!llp->ops->read(llp, p, run))
			return IW_UNREADABLE;
		to += run;
		len -= run;
	}
	return IW_OK;
}

/*
 * The end of a message.  A program may look at the last octet of a Write to see that
 * all of it is there.  No RFC promises it that, but adapters keep it; memcpy() may
 * begin at the end.  (One whose last segment is empty, as nobody sends it, may see its
 * last octet early; so may one over SCTP whose last segment overtakes another.)
 */
static enum iw_reason region_fill(const struct ddp_region *r, u64 to, u32 len,
				  struct ddp_llp *llp, struct ddp_wait *w)
{
	enum iw_reason why;

	if (unlikely(!r->block))
		return ddp_paged_from_llp(r, to, len, llp, true, w);
	why = region_from_llp(r, to, len - 1, llp, w);
	if (why)
		return why;
	/* litmus: none, the other side is a program: the data, then the flag */
	smp_wmb();
	return region_from_llp(r, to + len - 1, 1, llp, w);
}

static enum iw_reason region_from_flat(const struct ddp_region *r, u64 to,
				       u32 len, const void *src,
				       struct ddp_wait *w)
{
	if (unlikely(!r->block))
		return ddp_paged_from_flat(r, to, len, src, false, w);
	while (len) {
		u32 run = len;
		void *p = region_run(r, to, &run);

		ddp_copy(p, src, run);
		src += run;
		to += run;
		len -= run;
	}
	return IW_OK;
}

/* region_fill(), of octets that lie together */
static enum iw_reason region_fill_flat(const struct ddp_region *r, u64 to, u32 len,
				       const u8 *src, struct ddp_wait *w)
{
	const u32 most = len - 1;
	u32 run = len;
	u8 *p;

	if (unlikely(!r->block))
		return ddp_paged_from_flat(r, to, len, src, true, w);
	p = region_run(r, to, &run);
	if (likely(run == len))
		ddp_copy(p, src, most);
	else
		region_from_flat(r, to, most, src, w);
	/* litmus: none, as in region_fill() */
	smp_wmb();
	if (likely(run == len))
		p[most] = src[most];
	else
		region_from_flat(r, to + most, 1, src + most, w);
	return IW_OK;
}

static enum iw_reason region_to_flat(const struct ddp_region *r, u64 to,
				     u32 len, void *dst, struct ddp_wait *w)
{
	if (unlikely(!r->block))
		return ddp_paged_to_flat(r, to, len, dst, w);
	while (len) {
		u32 run = len;
		const void *p = region_run(r, to, &run);

		ddp_copy(dst, p, run);
		dst += run;
		to += run;
		len -= run;
	}
	return IW_OK;
}

/* To @n places, @each octets to each; how many have theirs */
static u32 region_to_many(const struct ddp_region *r, u64 to, void *dst, u32 stride,
			  u32 each, u32 n, struct ddp_wait *w)
{
	u32 i;

	if (unlikely(!r->block))
		return ddp_paged_to_many(r, to, dst, stride, each, n, w);
	for (i = 0; i < n; i++, to += each) {
		u32 run = (n - i) * each;
		const void *p = region_run(r, to, &run);

		for (; run > each; run -= each, p += each, to += each, i++)
			memcpy(dst + i * stride, p, each);
		/* the last that begins in the run may end in another */
		region_to_flat(r, to, each, dst + i * stride, w);
	}
	return n;
}

/*
 * The piece of @c's current element that the next @len octets begin with;
 * false at the end of the buffer.
 */
static bool cursor_piece(struct ddp_cursor *c, u32 len, struct ddp_sge *m)
{
	const struct ddp_buf *b = c->buf;

	while (c->sge < b->nsge && c->off == b->sge[c->sge].len) {
		c->sge++;
		c->off = 0;
	}
	if (c->sge == b->nsge)
		return false;
	m->stag = b->sge[c->sge].stag;
	m->addr = b->sge[c->sge].addr + c->off;
	m->len = min(len, b->sge[c->sge].len - c->off);
	return true;
}

static bool plain_kernel_memory(const struct ddp_stream *s, u32 stag)
{
	return stag == DDP_STAG_DMA && s->dma_ok;
}

/**
 * ddp_place_tagged - the payload of a tagged segment to its STag and TO
 * @s: the stream
 * @llp: where the octets come from; NULL: they are there already, only look
 *	whether they may be
 * @h: the header
 * @len: octets of payload, not 0
 * @rights: DDP_* needed
 *
 * @s->rx_held may hold the region afterwards.
 *
 * Return: IW_OK with all of it placed, or why not; IW_UNREADABLE and IW_NOT_NOW
 * may come after a part of it.
 */
enum iw_reason ddp_place_tagged(struct ddp_stream *s, struct ddp_llp *llp,
				const struct ddp_hdr *h, u32 len, u8 rights)
{
	const struct ddp_sge m = { .addr = h->to, .len = len, .stag = h->stag };
	const struct ddp_region *r;
	enum iw_reason why;

	why = ddp_hold_use(s, &s->rx_held, &m, rights);
	if (why)
		return why;
	r = s->rx_held;
	if (llp)
		why = h->last ? region_fill(r, h->to, len, llp, &s->rx_wait)
			      : region_from_llp(r, h->to, len, llp, &s->rx_wait);
	ddp_hold_used(&s->rx_held);
	return why;
}

/**
 * ddp_place_more - the payload of a tagged segment that goes on where the last one ended
 * @s: the stream; @s->rx_held holds the region
 * @llp: where the octets come from, unless they lie together
 * @body: there, or NULL
 * @to: their TO
 * @len: octets of payload, not 0; others of the message follow
 *
 * Return: as ddp_place_tagged().
 */
enum iw_reason ddp_place_more(struct ddp_stream *s, struct ddp_llp *llp,
			      const void *body, u64 to, u32 len)
{
	enum iw_reason why;

	why = ddp_bounds_more(s->rx_held, s, s->rx_seg.rights, to, len);
	if (why)
		return why;
	return body ? region_from_flat(s->rx_held, to, len, body, &s->rx_wait)
		    : region_from_llp(s->rx_held, to, len, llp, &s->rx_wait);
}

/**
 * ddp_place_another - the payload of a Write of one segment, like what has ended one
 * @s: the stream; @s->rx_held holds the region
 * @llp: where the octets come from, unless they lie together
 * @body: there, or NULL
 * @to: their TO
 * @len: octets of payload, not 0
 *
 * Its last octet is placed last, as any Write's.
 *
 * Return: as ddp_place_tagged().
 */
enum iw_reason ddp_place_another(struct ddp_stream *s, struct ddp_llp *llp,
				 const void *body, u64 to, u32 len)
{
	enum iw_reason why;

	why = ddp_bounds_more(s->rx_held, s, s->rx_seg.rights, to, len);
	if (why)
		return why;
	return body ? region_fill_flat(s->rx_held, to, len, body, &s->rx_wait)
		    : region_fill(s->rx_held, to, len, llp, &s->rx_wait);
}

/**
 * ddp_place_fits - may octets behind the last segment's be placed all at once?
 * @s: the stream; @s->rx_held holds the region
 * @to: their TO
 * @len: octets, not 0
 *
 * Return: whether ddp_place_more() would, unless region or right are taken meanwhile.  Never
 * of a region without blocks, of which a part may have to come first.
 */
bool ddp_place_fits(const struct ddp_stream *s, u64 to, u32 len)
{
	return s->rx_held->block &&
	       !ddp_bounds_more(s->rx_held, s, s->rx_seg.rights, to, len);
}

static enum iw_reason place_flat(struct ddp_llp *llp, const void *body, void *dst, u32 len)
{
	if (!body)
		return llp->ops->read(llp, dst, len) ? IW_OK : IW_UNREADABLE;
	ddp_copy(dst, body, len);
	return IW_OK;
}

static enum iw_reason place_piece(struct ddp_stream *s, struct ddp_llp *llp,
				  const void *body, const struct ddp_sge *m)
{
	enum iw_reason why;

	if (plain_kernel_memory(s, m->stag)) {
		/* nobody looks whether it is valid any more */
		ddp_hold_drop(&s->rx_held);
		return place_flat(llp, body, (void *)(uintptr_t)m->addr, m->len);
	}
	/* the buffer is the ULP's own: what is wrong with it is a local fault */
	if (ddp_hold_use(s, &s->rx_held, m, DDP_LOCAL_WRITE | DDP_RECEIVED))
		return IW_LOCAL_PROT;
	why = body ? region_from_flat(s->rx_held, m->addr, m->len, body, &s->rx_wait)
		   : region_from_llp(s->rx_held, m->addr, m->len, llp, &s->rx_wait);
	ddp_hold_used(&s->rx_held);
	return why == IW_DDP_T_STAG ? IW_LOCAL_PROT : why;
}

/**
 * ddp_place_untagged - the payload of an untagged segment to its buffer
 * @s: the stream
 * @llp: where the octets come from, unless they lie together
 * @body: there, or NULL
 * @to: where the last segment of the message ended
 * @len: octets, no more than the buffer has left
 *
 * @s->rx_held may hold the last piece's region afterwards.
 *
 * Return: IW_OK; IW_LOCAL_PROT if the buffer names memory it may not use;
 * IW_UNREADABLE; IW_NOT_NOW after a part of it, @to standing anywhere.
 */
enum iw_reason ddp_place_untagged(struct ddp_stream *s, struct ddp_llp *llp,
				  const void *body, struct ddp_cursor *to, u32 len)
{
	enum iw_reason why = IW_OK;
	struct ddp_sge m;

	if (to->buf->flat) {
		why = place_flat(llp, body, to->buf->flat + to->off, len);
		to->off += len;
		return why;
	}
	while (len && !why) {
		if (!cursor_piece(to, len, &m))
			return IW_LOCAL_PROT;
		why = place_piece(s, llp, body, &m);
		to->off += m.len;
		len -= m.len;
		if (body)
			body += m.len;
	}
	return why;
}

static enum iw_reason fetch_piece(struct ddp_stream *s, const struct ddp_sge *m,
				  void *dst)
{
	enum iw_reason why;

	if (plain_kernel_memory(s, m->stag)) {
		/* nobody looks whether it is valid any more */
		ddp_hold_drop(&s->tx_held);
		ddp_copy(dst, (void *)(uintptr_t)m->addr, m->len);
		return IW_OK;
	}
	why = ddp_hold_use(s, &s->tx_held, m, s->msg.rights);
	if (why)
		return why;
	why = region_to_flat(s->tx_held, m->addr, m->len, dst, &s->tx_wait);
	ddp_hold_used(&s->tx_held);
	return why;
}

/**
 * ddp_fetch - the next octets of the message being sent
 * @s: the stream
 * @from: where the last fetch ended
 * @dst: where they go
 * @len: how many, no more than the message has left
 *
 * Return: IW_OK, or why the memory may not be read; IW_NOT_NOW after a part of it,
 * @from standing anywhere.
 */
enum iw_reason ddp_fetch(struct ddp_stream *s, struct ddp_cursor *from,
			 void *dst, u32 len)
{
	enum iw_reason why = IW_OK;
	struct ddp_sge m;

	if (from->buf->flat) {
		memcpy(dst, from->buf->flat + from->off, len);
		from->off += len;
		return IW_OK;
	}
	while (len && !why) {
		if (!cursor_piece(from, len, &m))
			return IW_DDP_CATASTROPHIC;
		why = fetch_piece(s, &m, dst);
		from->off += m.len;
		dst += m.len;
		len -= m.len;
	}
	return why;
}

/**
 * ddp_cursor_page_off - where in its page the next octet lies
 * @c: a cursor
 *
 * As far as its address says so: memory may be registered under any.  What is flat is short.
 *
 * Return: the offset, in octets.
 */
u32 ddp_cursor_page_off(struct ddp_cursor *c)
{
	struct ddp_sge m;

	return cursor_piece(c, 1, &m) ? offset_in_page(m.addr) : 0;
}

/* As many times @each octets as lie in one piece of registered memory, up to @n times */
static u32 cursor_pieces(struct ddp_cursor *c, u32 each, u32 n, struct ddp_sge *m)
{
	if (!n || c->buf->flat || !cursor_piece(c, n * each, m))
		return 0;
	n = m->len / each;
	m->len = n * each;
	return n;
}

/**
 * ddp_fetch_run - the next octets of the message being sent, to many places
 * @s: the stream
 * @from: where the last fetch ended
 * @dst: the first place
 * @stride: from one to the next
 * @each: octets for each
 * @n: how many places; @n * @each is no more than a batch, nor than the message has left
 *
 * Return: how many have theirs; @from stands behind them.  Where one does not get it
 * ddp_fetch() says why.
 */
u32 ddp_fetch_run(struct ddp_stream *s, struct ddp_cursor *from, void *dst,
		  u32 stride, u32 each, u32 n)
{
	struct ddp_sge m;

	n = cursor_pieces(from, each, n, &m);
	if (!n || plain_kernel_memory(s, m.stag) ||
	    ddp_hold_use(s, &s->tx_held, &m, s->msg.rights))
		return 0;
	/* ddp_fetch() asks for what is missing */
	s->tx_wait.mute = true;
	n = region_to_many(s->tx_held, m.addr, dst, stride, each, n, &s->tx_wait);
	s->tx_wait.mute = false;
	ddp_hold_used(&s->tx_held);
	from->off += n * each;
	return n;
}

/**
 * ddp_mem_store - octets of the ULP's own into its registered memory
 * @s: the stream
 * @m: where to, all of it
 * @src: where from
 *
 * The receive runner, BH off.
 *
 * Return: IW_OK, or why the memory may not be written; or IW_NOT_NOW.
 */
enum iw_reason ddp_mem_store(struct ddp_stream *s, const struct ddp_sge *m,
			     const void *src)
{
	struct ddp_region *r;
	enum iw_reason why;

	if (plain_kernel_memory(s, m->stag)) {
		memcpy((void *)(uintptr_t)m->addr, src, m->len);
		return IW_OK;
	}
	why = ddp_region_use(s, m, DDP_LOCAL_WRITE, &r);
	if (why)
		return why;
	why = region_from_flat(r, m->addr, m->len, src, &s->rx_wait);
	ddp_region_put(r);
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_store);

struct change {
	u64		(*result)(const void *how, u64 old);
	const void	*how;
	u64		old;
};

static void ddp_place_replace(void *arg, u64 *word)
{
	struct change *c = arg;

	c->old = READ_ONCE(*word);
	/* litmus: none, the peers' own affair */
	while (!try_cmpxchg(word, &c->old, c->result(c->how, c->old)))
		;
}

/* Of a region with blocks; see ddp_paged_atomic() */
static enum iw_reason region_atomic(const struct ddp_region *r, u64 to,
				    struct change *c)
{
	u32 len = sizeof(u64);
	/* what is aligned lies in one block */
	u64 *word = region_run(r, to, &len);

	if (!IS_ALIGNED((uintptr_t)word, sizeof(u64)))
		return IW_RDMAP_STREAM;
	if (c->result)
		ddp_place_replace(c, word);
	return IW_OK;
}

/**
 * ddp_mem_atomic - read and replace a word of registered memory in one
 * @s: the stream whose peer asks
 * @stag: of the memory
 * @to: where in it: eight octets, aligned in memory (RFC 7306 5.1)
 * @result: makes the new value of the old one, in this machine's octet order;
 *	NULL: only check
 * @how: for @result
 * @old: set to the old value
 *
 * Atomic against all streams of all devices and against the CPUs.  BH off; with
 * @result the transmit runner.
 *
 * Return: IW_OK; IW_RDMAP_STREAM: it is misaligned; IW_NOT_NOW with nothing done; or
 * why the peer may not.
 */
enum iw_reason ddp_mem_atomic(struct ddp_stream *s, u32 stag, u64 to,
			      u64 (*result)(const void *how, u64 old),
			      const void *how, u64 *old)
{
	const struct ddp_sge m = { .addr = to, .len = sizeof(u64), .stag = stag };
	struct change c = { .result = result, .how = how };
	struct ddp_region *r;
	enum iw_reason why;

	why = ddp_region_use(s, &m, DDP_REMOTE_ATOMIC, &r);
	if (why)
		return why;
	if (unlikely(!r->block))
		why = ddp_paged_atomic(r, to, result ? ddp_place_replace : NULL,
				       &c, &s->tx_wait);
	else
		why = region_atomic(r, to, &c);
	ddp_region_put(r);
	/* there is something to send, when it has come */
	if (why == IW_NOT_NOW)
		s->rests = true;
	if (!why && result)
		*old = c.old;
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_atomic);
