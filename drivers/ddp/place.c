// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copies between segments and registered memory, in both directions.
 *
 * The MR of an SGE or of a tagged segment is looked up, referenced and checked
 * once, before the copy. The reference may be cached for the next SGE or
 * segment. All blocks of an MR have the same size, so a shift of the TO gives
 * the index of the block. Blocks with adjacent kernel addresses are copied as
 * one extent. paged.c copies from and to MRs without blocks.
 */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/mm.h>

#include <ddp/copy.h>
#include "bounds.h"
#include "internal.h"

/*
 * Find the extent at @to in an MR with blocks. On entry *@len is the number of
 * bytes wanted; on return it is the number of contiguous bytes, at most that
 * number. Return: the kernel address of the extent.
 */
static void *find_region_extent(const struct ddp_region *r, u64 to, u32 *len)
{
	u64 off = to - r->base + r->skip;
	size_t mask = ((size_t)1 << r->shift) - 1;
	size_t i = off >> r->shift, extent;
	void *p;

	p = r->block[i] + (off & mask);
	for (extent = mask + 1 - (off & mask); extent < *len; extent += mask + 1, i++)
		if (r->block[i + 1] != r->block[i] + mask + 1)
			break;
	*len = min_t(size_t, *len, extent);
	return p;
}

static enum iw_reason copy_llp_to_region(const struct ddp_region *r, u64 to,
					 u32 len, struct ddp_llp *llp,
					 struct ddp_fault *w)
{
	if (unlikely(!r->block))
		return ddp_paged_copy_from_llp(r, to, len, llp, false, w);
	while (len) {
		u32 extent = len;
		void *p = find_region_extent(r, to, &extent);

		if (!llp->ops->read(llp, p, extent))
			return IW_UNREADABLE;
		to += extent;
		len -= extent;
	}
	return IW_OK;
}

/*
 * Place the last segment of a message, and write its last byte after all
 * others. A program may poll the last byte of a Write to detect that the whole
 * message has arrived. No RFC guarantees that this works, but adapters support
 * it. memcpy() may copy the end first, so the last byte is copied separately.
 * The byte may still be visible too early if the last segment is empty, or
 * arrives out of order over SCTP.
 */
static enum iw_reason copy_last_llp_segment_to_region(const struct ddp_region *r, u64 to, u32 len,
						      struct ddp_llp *llp, struct ddp_fault *w)
{
	enum iw_reason why;

	if (unlikely(!r->block))
		return ddp_paged_copy_from_llp(r, to, len, llp, true, w);
	why = copy_llp_to_region(r, to, len - 1, llp, w);
	if (why)
		return why;
	/*
	 * Write the data before the last byte. A program that polls the last
	 * byte would otherwise read old data. (litmus: none, because the reader is
	 * a user program)
	 */
	smp_wmb();
	return copy_llp_to_region(r, to + len - 1, 1, llp, w);
}

static enum iw_reason copy_flat_to_region(const struct ddp_region *r, u64 to,
					  u32 len, const void *src,
					  struct ddp_fault *w)
{
	if (unlikely(!r->block))
		return ddp_paged_copy_from_flat(r, to, len, src, false, w);
	while (len) {
		u32 extent = len;
		void *p = find_region_extent(r, to, &extent);

		ddp_copy(p, src, extent);
		src += extent;
		to += extent;
		len -= extent;
	}
	return IW_OK;
}

/* Place the last segment of a message from @src, as copy_last_llp_segment_to_region() does */
static enum iw_reason copy_last_flat_segment_to_region(const struct ddp_region *r, u64 to, u32 len,
						       const u8 *src, struct ddp_fault *w)
{
	const u32 most = len - 1;
	u32 extent = len;
	u8 *p;

	if (unlikely(!r->block))
		return ddp_paged_copy_from_flat(r, to, len, src, true, w);
	p = find_region_extent(r, to, &extent);
	if (likely(extent == len))
		ddp_copy(p, src, most);
	else
		copy_flat_to_region(r, to, most, src, w);
	/*
	 * Write the data before the last byte, see copy_last_llp_segment_to_region().
	 * (litmus: none, because the reader is a user program)
	 */
	smp_wmb();
	if (likely(extent == len))
		p[most] = src[most];
	else
		copy_flat_to_region(r, to + most, 1, src + most, w);
	return IW_OK;
}

static enum iw_reason copy_region_to_flat(const struct ddp_region *r, u64 to,
					  u32 len, void *dst, struct ddp_fault *w)
{
	if (unlikely(!r->block))
		return ddp_paged_copy_to_flat(r, to, len, dst, w);
	while (len) {
		u32 extent = len;
		const void *p = find_region_extent(r, to, &extent);

		ddp_copy(dst, p, extent);
		dst += extent;
		to += extent;
		len -= extent;
	}
	return IW_OK;
}

/*
 * Copy @n times @each consecutive bytes of the MR to @n buffers, whose starts
 * are @stride bytes apart. Return: the number of buffers filled.
 */
static u32 scatter_region_to_buffers(const struct ddp_region *r, u64 to, void *dst, u32 stride,
				     u32 each, u32 n, struct ddp_fault *w)
{
	u32 i;

	if (unlikely(!r->block))
		return ddp_paged_scatter_to_buffers(r, to, dst, stride, each, n, w);
	for (i = 0; i < n; i++, to += each) {
		u32 extent = (n - i) * each;
		const void *p = find_region_extent(r, to, &extent);

		for (; extent > each; extent -= each, p += each, to += each, i++)
			memcpy(dst + i * stride, p, each);
		/* the bytes of this buffer may lie in several extents */
		copy_region_to_flat(r, to, each, dst + i * stride, w);
	}
	return n;
}

/*
 * Set @m to the memory of the next bytes of the buffer: at most @len bytes, and
 * at most up to the end of the current SGE. Return: true if @m is set; false at
 * the end of the buffer.
 */
static bool cursor_peek_piece(struct ddp_cursor *c, u32 len, struct ddp_sge *m)
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

static bool is_kernel_memory(const struct ddp_stream *s, u32 stag)
{
	return stag == DDP_STAG_DMA && s->dma_ok;
}

/**
 * ddp_place_tagged_segment - place the payload of a tagged segment
 * @s: stream
 * @llp: LLP to read the payload from; NULL to repeat only the checks, because
 *	the payload was placed before, out of order
 * @h: header of the segment
 * @len: length of the payload in bytes, not 0
 * @rights: DDP_* rights that the STag must have
 *
 * On success @s->rx_mr is a cached reference to the MR; on PREEMPT_RT it is
 * NULL.
 *
 * Return: IW_OK if the whole payload is placed; IW_AGAIN if a page fault must be
 * resolved first; IW_UNREADABLE if the CPU cannot read the payload; IW_DDP_T_STAG
 * if a page cannot be faulted in; or the reason why the access is not allowed. If
 * the access is not allowed, nothing has been placed. After any other failure, part
 * of the payload may have been placed.
 */
enum iw_reason ddp_place_tagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					const struct ddp_hdr *h, u32 len, u8 rights)
{
	const struct ddp_sge m = { .addr = h->to, .len = len, .stag = h->stag };
	const struct ddp_region *r;
	enum iw_reason why;

	why = ddp_mr_cache_check_and_get(s, &s->rx_mr, &s->rx_hint, &m, rights);
	if (why)
		return why;
	r = s->rx_mr;
	if (llp)
		why = h->last ? copy_last_llp_segment_to_region(r, h->to, len, llp, &s->rx_fault)
			      : copy_llp_to_region(r, h->to, len, llp, &s->rx_fault);
	ddp_mr_cache_end_copy(&s->rx_mr);
	return why;
}

/**
 * ddp_place_next_tagged_segment - place a tagged segment in the MR of the previous segment
 * @s: stream; @s->rx_mr must be the cached reference to the MR
 * @llp: LLP to read from; used if @body is NULL
 * @body: payload in contiguous memory, or NULL
 * @to: TO of the payload
 * @len: length of the payload in bytes, not 0
 * @last: true if the segment is the last of its message, so that its last byte
 *	must be placed after all others
 *
 * Return: as for ddp_place_tagged_segment().
 */
enum iw_reason ddp_place_next_tagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					     const void *body, u64 to, u32 len, bool last)
{
	const struct ddp_region *r = s->rx_mr;
	enum iw_reason why;

	why = ddp_bounds_recheck_access(r, s, s->rx_seg.rights, to, len);
	if (why)
		return why;
	if (body)
		return last ? copy_last_flat_segment_to_region(r, to, len, body, &s->rx_fault)
			    : copy_flat_to_region(r, to, len, body, &s->rx_fault);
	return last ? copy_last_llp_segment_to_region(r, to, len, llp, &s->rx_fault)
		    : copy_llp_to_region(r, to, len, llp, &s->rx_fault);
}

/**
 * ddp_can_place_batch - check whether several payloads can be placed with one copy
 * @s: stream; @s->rx_mr must be the cached reference to the MR
 * @to: TO of the first payload
 * @len: total length of the payloads in bytes, not 0
 *
 * Return: true if the MR has blocks, and the stream may access the range now;
 * the copy can still fail, if the MR is revoked or the rights are reduced
 * before it. False if the access is not allowed, or if the MR has no blocks: a
 * page fault might then be needed in the middle of the batch.
 */
bool ddp_can_place_batch(const struct ddp_stream *s, u64 to, u32 len)
{
	return s->rx_mr->block &&
	       !ddp_bounds_recheck_access(s->rx_mr, s, s->rx_seg.rights, to, len);
}

/* Copy the payload from @body, or from @llp if @body is NULL, to kernel memory */
static enum iw_reason place_payload_in_kernel_memory(struct ddp_llp *llp, const void *body,
						     void *dst,
						     u32 len)
{
	if (!body)
		return llp->ops->read(llp, dst, len) ? IW_OK : IW_UNREADABLE;
	ddp_copy(dst, body, len);
	return IW_OK;
}

/* Copy the payload from @body, or from @llp if @body is NULL, to one SGE */
static enum iw_reason place_payload_in_sge(struct ddp_stream *s, struct ddp_llp *llp,
					   const void *body, const struct ddp_sge *m)
{
	enum iw_reason why;

	if (is_kernel_memory(s, m->stag)) {
		/* this copy uses no MR: drop the cached reference, which delays revocation */
		ddp_mr_cache_drop(&s->rx_mr);
		return place_payload_in_kernel_memory(llp, body, (void *)(uintptr_t)m->addr,
						      m->len);
	}
	/* the local consumer has posted the buffer, so an error is not the peer's fault */
	if (ddp_mr_cache_check_and_get(s, &s->rx_mr, &s->rx_hint, m,
				       DDP_LOCAL_WRITE | DDP_RECV_BUF))
		return IW_LOCAL_PROT;
	why = body ? copy_flat_to_region(s->rx_mr, m->addr, m->len, body, &s->rx_fault)
		   : copy_llp_to_region(s->rx_mr, m->addr, m->len, llp, &s->rx_fault);
	ddp_mr_cache_end_copy(&s->rx_mr);
	return why == IW_DDP_T_STAG ? IW_LOCAL_PROT : why;
}

/**
 * ddp_place_untagged_segment - place the payload of an untagged segment
 * @s: stream
 * @llp: LLP to read from; used if @body is NULL
 * @body: payload in contiguous memory, or NULL
 * @to: position in the buffer of the message; advanced by @len on success
 * @len: length of the payload in bytes; it must fit into the buffer after the
 *	position @to
 *
 * On success @s->rx_mr may be the MR of the last SGE, with a cached reference.
 *
 * Return: IW_OK if the whole payload is placed; IW_LOCAL_PROT if the buffer may
 * not be written; IW_UNREADABLE if the CPU cannot read the payload; IW_AGAIN if
 * a page fault must be resolved first, and @to is undefined.
 */
enum iw_reason ddp_place_untagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					  const void *body, struct ddp_cursor *to, u32 len)
{
	enum iw_reason why = IW_OK;
	struct ddp_sge m;

	if (to->buf->flat) {
		why = place_payload_in_kernel_memory(llp, body, to->buf->flat + to->off, len);
		to->off += len;
		return why;
	}
	while (len && !why) {
		if (!cursor_peek_piece(to, len, &m))
			return IW_LOCAL_PROT;
		why = place_payload_in_sge(s, llp, body, &m);
		to->off += m.len;
		len -= m.len;
		if (body)
			body += m.len;
	}
	return why;
}

static enum iw_reason fetch_payload_from_sge(struct ddp_stream *s, const struct ddp_sge *m,
					     void *dst)
{
	enum iw_reason why;

	if (is_kernel_memory(s, m->stag)) {
		/* this copy uses no MR: drop the cached reference, which delays revocation */
		ddp_mr_cache_drop(&s->tx_mr);
		ddp_copy(dst, (void *)(uintptr_t)m->addr, m->len);
		return IW_OK;
	}
	why = ddp_mr_cache_check_and_get(s, &s->tx_mr, &s->tx_hint, m, s->msg.rights);
	if (why)
		return why;
	why = copy_region_to_flat(s->tx_mr, m->addr, m->len, dst, &s->tx_fault);
	ddp_mr_cache_end_copy(&s->tx_mr);
	return why;
}

/**
 * ddp_fetch_payload - copy the next payload bytes of the message that is being sent
 * @s: stream
 * @from: position in the message's buffer; advanced by @len on success
 * @dst: destination
 * @len: number of bytes, at most the unsent bytes of the message
 *
 * Return: IW_OK if all bytes are copied; IW_AGAIN if a page fault must be
 * resolved first, and @from is undefined; or the reason why the memory may not
 * be read.
 */
enum iw_reason ddp_fetch_payload(struct ddp_stream *s, struct ddp_cursor *from,
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
		if (!cursor_peek_piece(from, len, &m))
			return IW_DDP_CATASTROPHIC;
		why = fetch_payload_from_sge(s, &m, dst);
		from->off += m.len;
		dst += m.len;
		len -= m.len;
	}
	return why;
}

/**
 * ddp_cursor_get_page_off - get the page offset of the next byte of a buffer
 * @c: position in the buffer
 *
 * The result is only a hint, because the kernel address may have another page
 * offset than the TO.
 *
 * Return: the page offset of the TO in bytes; 0 at the end of the buffer and
 * for a flat buffer.
 */
u32 ddp_cursor_get_page_off(struct ddp_cursor *c)
{
	struct ddp_sge m;

	return cursor_peek_piece(c, 1, &m) ? offset_in_page(m.addr) : 0;
}

/*
 * Divide the memory at the cursor into pieces of @each bytes, and set @m to the
 * pieces that are completely in the current SGE, at most @n. Return: the number
 * of pieces in @m; 0 for a flat buffer, or at the end of the buffer.
 */
static u32 cursor_peek_pieces(struct ddp_cursor *c, u32 each, u32 n, struct ddp_sge *m)
{
	if (!n || c->buf->flat || !cursor_peek_piece(c, n * each, m))
		return 0;
	n = m->len / each;
	m->len = n * each;
	return n;
}

/**
 * ddp_fetch_payload_batch - copy the next payload bytes of the message to several buffers
 * @s: stream
 * @from: position in the message's buffer; advanced by the bytes copied
 * @dst: first buffer
 * @stride: distance between the starts of two adjacent buffers, in bytes
 * @each: number of bytes for each buffer
 * @n: number of buffers; @n * @each must exceed neither the size of a batch nor
 *	the unsent bytes of the message
 *
 * Return: number of buffers filled. It is less than @n if the current SGE ends,
 * a page is missing, or the memory may not be read, and 0 if the payload is not
 * in an MR (a flat buffer, or DDP_STAG_DMA). The caller must then call
 * ddp_fetch_payload() for the next buffer.
 */
u32 ddp_fetch_payload_batch(struct ddp_stream *s, struct ddp_cursor *from, void *dst,
			    u32 stride, u32 each, u32 n)
{
	struct ddp_sge m;

	n = cursor_peek_pieces(from, each, n, &m);
	if (!n || is_kernel_memory(s, m.stag) ||
	    ddp_mr_cache_check_and_get(s, &s->tx_mr, &s->tx_hint, &m, s->msg.rights))
		return 0;
	/*
	 * Issue no page-fault request here: if a page is missing, the caller calls
	 * ddp_fetch_payload(), which issues it
	 */
	s->tx_fault.suppressed = true;
	n = scatter_region_to_buffers(s->tx_mr, m.addr, dst, stride, each, n, &s->tx_fault);
	s->tx_fault.suppressed = false;
	ddp_mr_cache_end_copy(&s->tx_mr);
	from->off += n * each;
	return n;
}

/**
 * ddp_mem_store - copy kernel memory of the ULP into registered memory
 * @s: stream
 * @m: destination; @m->len bytes are copied
 * @src: source
 *
 * Context: receive path, BH off.
 *
 * Return: IW_OK if all bytes are copied; IW_AGAIN if a page fault must be
 * resolved first; or the reason why the memory may not be written.
 */
enum iw_reason ddp_mem_store(struct ddp_stream *s, const struct ddp_sge *m,
			     const void *src)
{
	struct ddp_region *r;
	enum iw_reason why;

	if (is_kernel_memory(s, m->stag)) {
		memcpy((void *)(uintptr_t)m->addr, src, m->len);
		return IW_OK;
	}
	why = ddp_region_check_and_get(s, m, DDP_LOCAL_WRITE, &r);
	if (why)
		return why;
	why = copy_flat_to_region(r, m->addr, m->len, src, &s->rx_fault);
	ddp_region_put(r);
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_store);

struct atomic_update {
	u64		(*result)(const void *how, u64 old);
	const void	*how;
	u64		old;
};

/* Atomically replace *@word with the value that a struct atomic_update computes */
static void ddp_atomic_replace(void *arg, u64 *word)
{
	struct atomic_update *c = arg;

	c->old = READ_ONCE(*word);
	/* litmus: none, because no kernel code depends on the order of the update */
	while (!try_cmpxchg(word, &c->old, c->result(c->how, c->old)))
		;
}

/* Modify a u64 of an MR with blocks, like ddp_paged_apply_atomic() */
static enum iw_reason region_apply_atomic(const struct ddp_region *r, u64 to,
					  struct atomic_update *c)
{
	u32 len = sizeof(u64);
	/* an aligned u64 is contained in one block */
	u64 *word = find_region_extent(r, to, &len);

	if (!IS_ALIGNED((uintptr_t)word, sizeof(u64)))
		return IW_RDMAP_STREAM;
	if (c->result)
		ddp_atomic_replace(c, word);
	return IW_OK;
}

/**
 * ddp_mem_apply_atomic - atomically read and replace a u64 of registered memory
 * @s: stream whose peer has requested the operation
 * @stag: STag of the memory
 * @to: TO of eight bytes that are aligned in memory (RFC 7306 5.1)
 * @result: function that computes the new value from the old value, both in
 *	host byte order; NULL to check the access only
 * @how: argument of @result
 * @old: set to the old value, if @result is not NULL
 *
 * The operation is atomic with regard to all streams of all devices, and to
 * atomic instructions of the CPUs.
 *
 * Context: BH off; if @result is not NULL, only the transmit path.
 *
 * Return: IW_OK if the u64 is replaced (with @result), or if the access is
 * allowed (without); IW_RDMAP_STREAM if the u64 is misaligned; IW_AGAIN if a page
 * fault must be resolved first, and the memory is unchanged; or the reason why
 * the peer may not access the u64.
 */
enum iw_reason ddp_mem_apply_atomic(struct ddp_stream *s, u32 stag, u64 to,
				    u64 (*result)(const void *how, u64 old),
				    const void *how, u64 *old)
{
	const struct ddp_sge m = { .addr = to, .len = sizeof(u64), .stag = stag };
	struct atomic_update c = { .result = result, .how = how };
	struct ddp_region *r;
	enum iw_reason why;

	why = ddp_region_check_and_get(s, &m, DDP_REMOTE_ATOMIC, &r);
	if (why)
		return why;
	if (unlikely(!r->block))
		why = ddp_paged_apply_atomic(r, to, result ? ddp_atomic_replace : NULL,
					     &c, &s->tx_fault);
	else
		why = region_apply_atomic(r, to, &c);
	ddp_region_put(r);
	/*
	 * After the page fault ddp_tx_resume() kicks, and the transmit path
	 * repeats the operation. Until then the LLP must not end the stream
	 * gracefully, so report that a kick will follow.
	 */
	if (why == IW_AGAIN)
		s->tx_expects_kick = true;
	if (!why && result)
		*old = c.old;
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_apply_atomic);
