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
#include <linux/export.h>
#include <linux/mm.h>

#include <ddp/copy.h>
#include "bounds.h"
#include "extent.h"
#include "internal.h"

static enum iw_reason copy_llp_to_region(const struct ddp_region *r, u64 to,
					 u32 len, struct ddp_llp *llp,
					 struct ddp_fault *w)
{
	if (unlikely(!r->block))
		return ddp_paged_copy_from_llp(r, to, len, llp, false, w);
	while (len) {
		u32 extent = len;
		void *p = ddp_region_find_extent(r, to, &extent);

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
		void *p = ddp_region_find_extent(r, to, &extent);

		ddp_copy(p, src, extent);
		src += extent;
		to += extent;
		len -= extent;
	}
	return IW_OK;
}

/* Copy @n payloads of @each bytes to consecutive bytes of an MR with blocks */
static void gather_payloads_to_region(const struct ddp_region *r, u64 to, const u8 *const *src,
				      u32 each, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++, to += each) {
		u32 extent = (n - i) * each;
		void *p = ddp_region_find_extent(r, to, &extent);

		for (; extent > each; extent -= each, p += each, to += each, i++)
			ddp_copy(p, src[i], each);
		/* the bytes of this payload may lie in several extents */
		copy_flat_to_region(r, to, each, src[i], NULL);
	}
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
	p = ddp_region_find_extent(r, to, &extent);
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
		const void *p = ddp_region_find_extent(r, to, &extent);

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
		const void *p = ddp_region_find_extent(r, to, &extent);

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

/*
 * Set @m to the memory of the next @n segments of an untagged message, or of fewer if the current
 * SGE ends before, and get a cached reference to its MR. Return: number of segments; 0 if the
 * memory may not be written, or is not in an MR.
 */
static u32 peek_sink_and_get_mr(struct ddp_stream *s, const struct ddp_hdr *h, u32 each, u32 n,
				struct ddp_sge *m)
{
	n = cursor_peek_pieces(&s->sink[h->qn], each, n, m);
	if (!n || is_kernel_memory(s, m->stag) ||
	    ddp_mr_cache_check_and_get(s, &s->rx_mr, &s->rx_hint, m,
				       DDP_LOCAL_WRITE | DDP_RECV_BUF))
		return 0;
	return n;
}

/* Find the memory of at least two payloads in an MR without blocks. Return: number of payloads. */
static u32 lock_batch_extent(struct ddp_stream *s, struct ddp_batch_dst *d, u32 each)
{
	u32 n;

	d->extent.len = d->m.len;
	if (!ddp_paged_lock_extent(s->rx_mr, d->m.addr, true, &d->extent))
		return 0;
	n = d->extent.len / each;
	d->m.len = n * each;
	if (n > 1)
		return n;
	ddp_paged_unlock_extent(&d->extent);
	return 0;
}

/**
 * ddp_place_begin_batch - check whether payloads of a message can be placed at once
 * @s: stream; @s->rx_mr must be the cached reference to the MR if the segments are tagged
 * @h: header of the first segment, which continues the message
 * @each: length of each payload in bytes, not 0
 * @n: number of payloads
 * @d: if the result is not 0, set to the memory of that many payloads
 *
 * Return: number of payloads that ddp_place_batch() can place, and the caller must then call
 * ddp_place_end_batch(). It is less than @n if an SGE of the receive buffer ends, or if the next
 * page of an MR without blocks is elsewhere or missing. 0 if the access is not allowed, or if fewer
 * than two payloads could be placed. In any case the caller must call ddp_mr_cache_end_copy() for
 * @s->rx_mr in the end.
 */
u32 ddp_place_begin_batch(struct ddp_stream *s, const struct ddp_hdr *h, u32 each, u32 n,
			  struct ddp_batch_dst *d)
{
	if (h->tagged) {
		d->m = (struct ddp_sge) { .addr = h->to, .len = n * each };
		if (ddp_bounds_recheck_access(s->rx_mr, s, s->rx_seg.rights, d->m.addr, d->m.len))
			return 0;
	} else {
		n = peek_sink_and_get_mr(s, h, each, n, &d->m);
	}
	if (n < 2)
		return 0;
	if (unlikely(!s->rx_mr->block))
		return lock_batch_extent(s, d, each);
	d->extent.at = NULL;
	return n;
}

/**
 * ddp_place_batch - place payloads of a message at once
 * @s: stream
 * @h: header of the first segment
 * @d: memory, as set by ddp_place_begin_batch()
 * @b: the segments
 * @n: number of payloads, as returned by ddp_place_begin_batch()
 *
 * If the MR is revoked after ddp_place_begin_batch(), ddp_region_revoke() waits for this copy.
 */
void ddp_place_batch(struct ddp_stream *s, const struct ddp_hdr *h,
		     const struct ddp_batch_dst *d, const struct ddp_rx_batch *b, u32 n)
{
	u32 each = d->m.len / n, i;

	if (unlikely(d->extent.at))
		for (i = 0; i < n; i++)
			ddp_copy(d->extent.at + i * each, b->body[i], each);
	else if (b->joined)
		copy_flat_to_region(s->rx_mr, d->m.addr, d->m.len, b->body[0], NULL);
	else
		gather_payloads_to_region(s->rx_mr, d->m.addr, b->body, each, n);
	if (!h->tagged)
		s->sink[h->qn].off += d->m.len;
}

/**
 * ddp_place_end_batch - end the access that ddp_place_begin_batch() has begun
 * @s: stream
 * @d: memory, as set by ddp_place_begin_batch()
 */
void ddp_place_end_batch(struct ddp_stream *s, const struct ddp_batch_dst *d)
{
	if (likely(!d->extent.at))
		return;
	ddp_paged_unlock_extent(&d->extent);
	if (unlikely(READ_ONCE(s->rx_fault.fault_failed)))
		ddp_fault_clear_failure(&s->rx_fault, s->rx_mr, d->m.addr, d->m.len, true);
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
