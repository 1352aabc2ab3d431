// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Build batches of FPDUs from DDP's segments, so that one call passes many FPDUs
 * to TCP.
 *
 * FPDUs are written to a page fragment of the current CPU, which all connections share. A
 * batch reserves the next free bytes of the fragment, and no other batch writes to these
 * bytes. Bytes that were passed to TCP are not overwritten while TCP may still use them;
 * reserved bytes that were not passed to TCP can be returned to the fragment. As
 * ddp_tx_begin() requires, BH is off from when a segment is pulled until the segment is
 * written.
 */
/* local_lock.h needs spinlock.h */
#include <linux/spinlock.h>
#include <linux/local_lock.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#include "crc.h"
#include "fpdu.h"
#include "internal.h"

#define FRAG_MIN	256	/* minimum free space of a usable fragment, in bytes */

#define FRAG_SPARES	8	/* number of exhausted fragments to keep for reuse */

#define ANY_PAGE_OFF	U32_MAX	/* the FPDU may begin at any page offset */

/*
 * Page fragments of a CPU. An exhausted fragment is kept, and is used again after TCP, and
 * the receiver if it is on this machine, have dropped their references. Allocating a new
 * fragment instead would take an eighth of the time that sending 64 KiB takes. @lock
 * protects the other fields on PREEMPT_RT, where code with BH off can be preempted.
 */
struct frags {
	struct page_frag	pf;	/* current fragment, from which bytes are reserved */
	struct page_frag	spare[FRAG_SPARES];	/* ring of exhausted fragments */
	u8			oldest;	/* index of the oldest fragment in @spare */
	local_lock_t		lock;
};

static DEFINE_PER_CPU(struct frags, frags) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/* Reserve the next @len bytes of the fragment for the batch */
static void mpa_frame_reserve_frag_bytes(struct mpa_out *o, struct page_frag *pf, u32 len)
{
	struct bio_vec *last = o->n ? &o->vec[o->n - 1] : NULL;

	if (last && last->bv_page == pf->page &&
	    last->bv_offset + last->bv_len == pf->offset) {
		last->bv_len += len;
	} else {
		get_page(pf->page);
		bvec_set_page(&o->vec[o->n++], pf->page, len, pf->offset);
	}
	pf->offset += len;
	o->reserved += len;
}

static void mpa_frag_put(struct page_frag *pf)
{
	if (pf->page)
		put_page(pf->page);
	*pf = (struct page_frag) {};
}

/*
 * Replace the exhausted fragment with the oldest spare fragment: of all spare fragments
 * this one is the most likely to have no other references any more
 */
static void mpa_frag_rotate(struct frags *f)
{
	/* do not keep pages of the emergency reserve as spare fragments */
	if (f->pf.page && page_is_pfmemalloc(f->pf.page))
		mpa_frag_put(&f->pf);
	swap(f->pf, f->spare[f->oldest]);
	f->oldest = (f->oldest + 1) % FRAG_SPARES;
	f->pf.offset = f->pf.size;
}

/*
 * After an allocation has failed, search the ring for a spare fragment that nothing
 * else references. Forget the page of @f->pf, because skb_page_frag_refill() has
 * already dropped its reference. Return: true if found, false otherwise.
 */
static bool mpa_frag_find_free_spare(struct frags *f)
{
	int i;

	f->pf = (struct page_frag) {};
	for (i = 0; i < FRAG_SPARES; i++) {
		mpa_frag_rotate(f);
		if (f->pf.page && page_ref_count(f->pf.page) == 1) {
			f->pf.offset = 0;
			return true;
		}
	}
	return false;
}

/*
 * Ensure that the CPU's fragment has at least @least free bytes. Return: true on
 * success, false if no memory is available.
 */
static bool mpa_frag_refill(struct frags *f, u32 least)
{
	if (f->pf.size - f->pf.offset < least)
		mpa_frag_rotate(f);
	return skb_page_frag_refill(least, &f->pf, GFP_ATOMIC | __GFP_NOWARN) ||
	       mpa_frag_find_free_spare(f);
}

/*
 * Skip bytes of the fragment up to page offset @off, if the fragment has enough space. The
 * payload of a long FPDU then has the same page offset in the fragment and at its source,
 * so that ddp_copy() copies whole pages. The faster copy is worth the skipped bytes.
 */
static void mpa_frag_align_to(struct page_frag *pf, u32 off)
{
	if (pf->size - pf->offset >= PAGE_SIZE + FRAG_MIN)
		pf->offset += (off - pf->offset) & ~PAGE_MASK;
}

/*
 * Reserve at least @need bytes for the batch, and up to @most if the fragment has
 * space. @off: page offset for the first byte, or ANY_PAGE_OFF. Return: true if
 * reserved; false if no memory is available or all MPA_OUT_VECS vectors are in use.
 */
static __always_inline bool __reserve_bytes(struct mpa_out *o, struct frags *f, u32 need, u32 most,
					    u32 off)
{
	struct page_frag *pf = &f->pf;

	while (o->reserved < need) {
		u32 least = min_t(u32, need - o->reserved, FRAG_MIN);

		/* in fragments longer than a page, mpa_frag_align_to() may skip up to a page */
		if (off != ANY_PAGE_OFF && pf->size > PAGE_SIZE)
			least += PAGE_SIZE;
		if (o->n == MPA_OUT_VECS || !mpa_frag_refill(f, least))
			return false;
		if (off != ANY_PAGE_OFF)
			mpa_frag_align_to(pf, off);
		off = ANY_PAGE_OFF;
		mpa_frame_reserve_frag_bytes(o, pf, min(most - o->reserved, pf->size - pf->offset));
	}
	return true;
}

/*
 * Reserve bytes of this CPU's fragment, unless @need bytes are already reserved; see
 * __reserve_bytes() for parameters and result
 */
static __always_inline bool reserve_bytes(struct mpa_out *o, u32 need, u32 most, u32 off)
{
	bool ok;

	if (o->reserved >= need)
		return true;
	local_lock_nested_bh(&frags.lock);
	ok = __reserve_bytes(o, this_cpu_ptr(&frags), need, most, off);
	local_unlock_nested_bh(&frags.lock);
	return ok;
}

/*
 * Get the page offset at which an FPDU should begin. Return: for a long segment, the offset
 * that gives the payload the page offset of its source; ANY_PAGE_OFF for a shorter segment,
 * or if markers are inserted.
 */
static u32 mpa_frame_choose_page_off(const struct mpa_conn *c, const struct ddp_txseg *seg)
{
	if (seg->len < DDP_COPY_LONG || c->tx_markers)
		return ANY_PAGE_OFF;
	return (ddp_tx_get_page_off(c->tx_stream) - MPA_LEN_SIZE - seg->hdr_len) & ~PAGE_MASK;
}

/*
 * Return the last @len bytes of @v to this CPU's fragment, if @v ends where the free
 * space of the fragment begins. In all other cases the bytes stay unused. The caller
 * must no longer use these bytes.
 */
static void mpa_frame_return_bytes(const struct bio_vec *v, u32 len)
{
	struct page_frag *pf;

	local_lock_nested_bh(&frags.lock);
	pf = &this_cpu_ptr(&frags)->pf;
	if (v->bv_page == pf->page && v->bv_offset + v->bv_len == pf->offset)
		pf->offset -= len;
	local_unlock_nested_bh(&frags.lock);
}

/* Shorten the batch to its first @len bytes, and release all bytes after these */
static void trim_batch(struct mpa_out *o, u32 len)
{
	u32 over = o->len + o->reserved - len;

	while (over) {
		struct bio_vec *last = &o->vec[o->n - 1];
		u32 n = min(over, last->bv_len);

		mpa_frame_return_bytes(last, n);
		last->bv_len -= n;
		over -= n;
		if (!last->bv_len) {
			put_page(last->bv_page);
			o->n--;
		}
	}
	o->len = len;
	o->reserved = 0;
}

/* State of an FPDU that is being written */
struct writer {
	struct mpa_conn	*c;
	u32		start;		/* position of the FPDU in the stream */
	u32		crc;		/* CRC of the bytes written so far */
	u8		vec;		/* index of the vector with the next byte */
	u32		off;		/* offset of the next byte in this vector */
};

/*
 * Get the destination of the next bytes. @len: number of bytes to write; reduced to
 * the number of bytes that are contiguous at the destination, if that is less.
 */
static u8 *writer_get_dst(struct writer *w, u32 *len)
{
	struct bio_vec *v = &w->c->out.vec[w->vec];

	if (w->off == v->bv_len) {
		v = &w->c->out.vec[++w->vec];
		w->off = 0;
	}
	*len = min(*len, v->bv_len - w->off);
	return page_address(v->bv_page) + v->bv_offset + w->off;
}

/* Count the next @len reserved bytes as written */
static void mpa_frame_count_written(struct mpa_conn *c, u32 len)
{
	c->tx_pos += len;
	c->out.len += len;
	c->out.reserved -= len;
}

static void writer_advance(struct writer *w, u32 len)
{
	w->off += len;
	mpa_frame_count_written(w->c, len);
}

/* Add the @len bytes written at @p to the CRC, and advance the writer by @len bytes */
static void writer_commit(struct writer *w, const u8 *p, u32 len)
{
	if (w->c->crc)
		w->crc = mpa_crc_update(w->crc, p, len);
	writer_advance(w, len);
}

/* Write @len bytes without inserting markers */
static void write_without_markers(struct writer *w, const u8 *src, u32 len)
{
	while (len) {
		u32 n = len;
		u8 *p = writer_get_dst(w, &n);

		memcpy(p, src, n);
		writer_commit(w, p, n);
		src += n;
		len -= n;
	}
}

/*
 * Write a marker if the stream must have a marker at the current position. Return:
 * number of bytes up to the next marker; U32_MAX if markers are not in use.
 */
static u32 write_marker_if_due(struct writer *w)
{
	u8 marker[MPA_MARKER_SIZE];

	if (!w->c->tx_markers)
		return U32_MAX;
	if (!mpa_compute_marker_distance(w->c->tx_pos)) {
		mpa_marker_encode(marker,
				  mpa_compute_fpduptr(w->start, w->c->tx_pos));
		write_without_markers(w, marker, sizeof(marker));
	}
	return mpa_compute_marker_distance(w->c->tx_pos);
}

/* Write @len bytes, and insert markers where the stream must have them */
static void write_with_markers(struct writer *w, const u8 *src, u32 len)
{
	while (len) {
		u32 n = min(len, write_marker_if_due(w));

		write_without_markers(w, src, n);
		src += n;
		len -= n;
	}
}

/*
 * Let DDP write @len bytes of payload, and insert markers where the stream must have
 * them. Return: true on success, false if DDP has not supplied the payload.
 */
static bool write_payload(struct writer *w, u32 len)
{
	while (len) {
		u32 n = min(len, write_marker_if_due(w));
		u8 *p = writer_get_dst(w, &n);

		if (!ddp_tx_copy_payload(w->c->tx_stream, p, n))
			return false;
		writer_commit(w, p, n);
		len -= n;
	}
	return true;
}

/* Write the PAD and the CRC field, and insert markers where the stream must have them */
static void write_trailer_with_markers(struct writer *w, u32 ulpdu_len)
{
	static const u8 zero[MPA_ALIGN];
	u8 crc[MPA_CRC_SIZE] = {};

	write_with_markers(w, zero, mpa_fpdu_pad_len(ulpdu_len));
	write_marker_if_due(w);
	if (w->c->crc)
		mpa_crc_final(w->crc, crc);
	write_without_markers(w, crc, sizeof(crc));
}

/*
 * Write the length field and the DDP header to @p, which must have space for the longest header.
 * If the header is shorter, the bytes after it are undefined. Return: length of field and header.
 */
static __always_inline u32 write_head(u8 *p, const struct ddp_txseg *seg)
{
	put_unaligned_be16(seg->hdr_len + seg->len, p);
	/* with a constant length the copy needs no loop */
	memcpy(p + MPA_LEN_SIZE, seg->hdr, sizeof(seg->hdr));
	return MPA_LEN_SIZE + seg->hdr_len;
}

/*
 * Write an FPDU piece by piece, with markers or to memory that is not contiguous.
 * Return: true if written, false if DDP has not supplied the payload.
 */
static bool write_fpdu_in_pieces(struct writer *w, const struct ddp_txseg *seg)
{
	u8 head[MPA_LEN_SIZE + IW_DDP_HDR_MAX];

	write_with_markers(w, head, write_head(head, seg));
	if (!write_payload(w, seg->len))
		return false;
	write_trailer_with_markers(w, seg->hdr_len + seg->len);
	return true;
}

/*
 * Write the PAD and the CRC field of a contiguous FPDU of @wire bytes. @p: the FPDU; @at:
 * offset of the PAD, directly after the ULPDU.
 */
static void mpa_frame_write_trailer(const struct mpa_conn *c, u8 *p, u32 at, u32 wire)
{
	u32 end = wire - MPA_CRC_SIZE;

	/* write 4 zeros for the PAD of at most 3 bytes; the CRC field overwrites the rest */
	put_unaligned_le32(0, p + at);
	if (c->crc)
		mpa_crc_final(mpa_crc_update(mpa_crc_init(), p, end), p + end);
	else
		put_unaligned_le32(0, p + end);
}

/*
 * Write an FPDU without markers to @wire contiguous bytes at @p. Return: true if
 * written, false if DDP has not supplied the payload.
 */
static bool write_contiguous_fpdu(struct mpa_conn *c, const struct ddp_txseg *seg, u8 *p,
				  u32 wire)
{
	u32 at = write_head(p, seg);

	if (seg->len && !ddp_tx_copy_payload(c->tx_stream, p + at, seg->len))
		return false;
	mpa_frame_write_trailer(c, p, at + seg->len, wire);
	mpa_frame_count_written(c, wire);
	return true;
}

/* Initialize a writer at the first reserved byte of the batch */
static void writer_init_at_end(struct writer *w, struct mpa_conn *c)
{
	struct mpa_out *o = &c->out;
	u32 skip = o->len;

	*w = (struct writer) {
		.c = c, .start = c->tx_pos, .crc = mpa_crc_init(),
	};
	while (skip >= o->vec[w->vec].bv_len && w->vec < o->n - 1)
		skip -= o->vec[w->vec++].bv_len;
	w->off = skip;
}

/*
 * Get the address of the reserved bytes. Return: the address; NULL if the reserved
 * bytes are not contiguous.
 */
static u8 *mpa_frame_get_reserved_addr(const struct mpa_out *o)
{
	const struct bio_vec *last = &o->vec[o->n - 1];

	if (o->reserved > last->bv_len)
		return NULL;
	return page_address(last->bv_page) + last->bv_offset + last->bv_len - o->reserved;
}

/*
 * Write a segment as an FPDU of @wire bytes, which must be reserved. Return: true
 * if written, false if DDP has not supplied the payload.
 */
static bool write_fpdu(struct mpa_conn *c, const struct ddp_txseg *seg, u32 wire)
{
	u8 *p = mpa_frame_get_reserved_addr(&c->out);
	struct writer w;

	if (p && !c->tx_markers)
		return write_contiguous_fpdu(c, seg, p, wire);
	writer_init_at_end(&w, c);
	return write_fpdu_in_pieces(&w, seg);
}

/*
 * Write the next segments of the current message as FPDUs of @wire bytes each. Write at
 * most @most FPDUs, and only as many as fit into the first contiguous part of the reserved
 * bytes. @mulpdu: length of each ULPDU.
 */
static void write_fpdu_batch(struct mpa_conn *c, u32 mulpdu, u32 wire, u32 most)
{
	struct ddp_txbatch batch = { .stride = wire, .len = mulpdu };
	u32 together = most * wire, n, i;
	struct writer w;
	u8 *p;

	writer_init_at_end(&w, c);
	p = writer_get_dst(&w, &together);
	batch.at = p + MPA_LEN_SIZE;
	batch.max_segments = together / wire;
	if (!batch.max_segments)
		return;
	n = ddp_tx_pull_batch(c->tx_stream, &batch);
	for (i = 0; i < n; i++, p += wire) {
		put_unaligned_be16(mulpdu, p);
		mpa_frame_write_trailer(c, p, MPA_LEN_SIZE + mulpdu, wire);
	}
	writer_advance(&w, n * wire);
}

/*
 * Get the number of bytes to reserve for an FPDU of @wire bytes. If the segment is
 * short and the last one of its message, more short messages probably follow, so
 * reserve at least as many bytes as the batch already has.
 */
static u32 mpa_frame_choose_reserve_len(const struct mpa_out *o, const struct ddp_txseg *seg,
					u32 wire)
{
	return seg->left || seg->len >= DDP_COPY_LONG ? wire : max(wire, o->len);
}

/*
 * Add the segment that was pulled last to the batch. If DDP does not supply the
 * payload, drop the FPDU. Return: true if the segment was added or dropped; false if
 * no memory or no vector was available, and the pull of the segment was undone.
 */
static bool add_fpdu(struct mpa_conn *c, struct ddp_txseg *seg)
{
	u32 len = c->out.len, pos = c->tx_pos;
	u32 wire = mpa_fpdu_wire_len(pos, seg->hdr_len + seg->len,
				     c->tx_markers);

	/* reserved bytes may have the wrong page offset for a long FPDU, so release them */
	if (seg->len >= DDP_COPY_LONG)
		trim_batch(&c->out, len);
	if (!reserve_bytes(&c->out, wire, mpa_frame_choose_reserve_len(&c->out, seg, wire),
			   mpa_frame_choose_page_off(c, seg))) {
		ddp_tx_undo_pull(c->tx_stream);
		return false;
	}
	if (!write_fpdu(c, seg, wire)) {
		trim_batch(&c->out, len);
		c->tx_pos = pos;
		/* prevent add_following_fpdus() from adding the next segments of this message */
		seg->left = 0;
	}
	return true;
}

/*
 * Add the segments that follow @seg in its message and are as long as @seg. @mulpdu: length
 * of each ULPDU; @reserved: maximum number of bytes to add to the batch.
 */
static void add_following_fpdus(struct mpa_conn *c, const struct ddp_txseg *seg, u32 mulpdu,
				u32 reserved)
{
	u32 wire = mpa_fpdu_wire_len(c->tx_pos, mulpdu, false), n;

	/*
	 * Leave the last segment to add_fpdu(), and also long segments, which must begin at a
	 * particular page offset
	 */
	if (c->tx_markers || seg->left <= seg->len || seg->len >= DDP_COPY_LONG)
		return;
	n = min(reserved / wire, (seg->left - 1) / seg->len);
	if (n && reserve_bytes(&c->out, n * wire, n * wire, ANY_PAGE_OFF))
		write_fpdu_batch(c, mulpdu, wire, n);
}

/* Pull segments and add them to the batch; see mpa_frame_build_batch() for the result */
static bool fill_batch(struct mpa_conn *c, u32 emss, u32 most)
{
	u32 mulpdu = mpa_compute_mulpdu(emss, c->tx_markers);
	struct mpa_out *o = &c->out;
	struct ddp_txseg seg;

	o->last = false;
	while (o->len + emss <= most) {
		if (!ddp_tx_pull(c->tx_stream, mulpdu, &seg)) {
			o->last = true;
			break;
		}
		if (!add_fpdu(c, &seg))
			return o->len;
		add_following_fpdus(c, &seg, mulpdu, most - min(most, o->len));
		/* a dropped FPDU leaves the batch empty; the next pull may give a Terminate */
		if (!seg.more && o->len)
			break;
	}
	return true;
}

/**
 * mpa_frame_build_batch - build a batch of FPDUs from the pending segments
 * @c: the connection; the caller must own its transmit side and have BH off
 * @emss: effective maximum segment size of TCP in bytes, which limits the length
 *	of FPDUs (RFC 5044 5.1)
 * @most: maximum length of the batch in bytes, at least @emss. The batch may be longer if
 *	@emss is shorter than an FPDU with a ULPDU of MPA_MULPDU_MIN bytes.
 *
 * Return: false if the batch is empty because no memory is available, true otherwise.
 */
bool mpa_frame_build_batch(struct mpa_conn *c, u32 emss, u32 most)
{
	bool ok;

	ddp_tx_begin(c->tx_stream);
	ok = fill_batch(c, emss, most);
	/* an idle connection must not keep reserved bytes, so release them */
	trim_batch(&c->out, c->out.len);
	ddp_tx_end(c->tx_stream);
	return ok;
}

/**
 * mpa_frame_drop_batch - release the memory of the batch, whether it was sent or not
 * @c: the connection; the caller must own its transmit side, or have stopped it
 */
void mpa_frame_drop_batch(struct mpa_conn *c)
{
	struct mpa_out *o = &c->out;

	while (o->n)
		put_page(o->vec[--o->n].bv_page);
	o->len = 0;
	o->sent = 0;
}

/**
 * mpa_frame_exit - release the fragments of all CPUs
 */
void mpa_frame_exit(void)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		struct frags *f = per_cpu_ptr(&frags, cpu);

		mpa_frag_put(&f->pf);
		for (i = 0; i < FRAG_SPARES; i++)
			mpa_frag_put(&f->spare[i]);
	}
}
