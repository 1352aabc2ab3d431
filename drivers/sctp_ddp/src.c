// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reading the bytes of a chunk, from SCTP's queue or from a kept copy, and
 * decoding its beginning.
 *
 * The queue itself is in recv.c. The first bytes of a chunk are copied once:
 * all decisions are based on this copy.
 */
#include <linux/skbuff.h>

#include "internal.h"

/* Longest segment whose length fits into an RDMAP Terminate */
#define SEGMENT_MAX	U16_MAX

/*
 * Copy the bytes of @src that are in local memory. Return: the number copied.
 */
static u32 read_from_copy(const struct sddp_src *src, u32 off, void *dst, u32 len)
{
	const u8 *from = src->arrived ? src->head : src->flat;
	u32 end = src->arrived ? src->head_len : src->len;
	u32 n = off < end ? min(len, end - off) : 0;

	memcpy(dst, from + off, n);
	return n;
}

/**
 * sddp_src_read - copy bytes of the current chunk
 * @a: the association; worker context
 * @off: offset in the chunk
 * @dst: destination
 * @len: number of bytes
 *
 * Return: true if all bytes have been copied; false if some are past the end of
 * the chunk or in a device's memory, which are then set to zero.
 */
bool sddp_src_read(struct sddp_assoc *a, u32 off, void *dst, u32 len)
{
	struct sddp_src *src = &a->src;
	u32 n = read_from_copy(src, off, dst, len);

	if (n == len)
		return true;
	/* checks skb_frags_readable() of each buffer */
	if (src->arrived &&
	    !skb_copy_bits(src->arrived, off + n, dst + n, len - n))
		return true;
	memset(dst + n, 0, len - n);
	src->bad = true;
	return false;
}

/*
 * Copy the bytes that decisions are based on, once. SCTP makes a packet linear,
 * in memory of its own, before it verifies the checksum. So nothing else can
 * write to the bytes, but the code does not rely on that: over TCP, other
 * programs may write to the receive queue.
 */
static bool fetch_head(struct sddp_assoc *a)
{
	u8 len = min_t(u32, a->src.len, SDDP_HEAD);

	if (!sddp_src_read(a, 0, a->src.head, len))
		return false;
	a->src.head_len = len;
	return true;
}

/* RFC 5043 5.1: an association with DDP's indication has no other chunks */
static bool is_legal(const struct sddp_chunk_desc *in)
{
	if (!in->legal)
		return false;
	if (in->ppid == SDDP_PPID_CONTROL)
		return true;
	return in->ppid == SDDP_PPID_SEGMENT &&
	       in->len <= SDDP_SEGMENT + SEGMENT_MAX;
}

/**
 * sddp_src_decode_head - decode the beginning of a chunk
 * @a: the association; worker context
 * @in: the chunk, which is in @a->src
 * @h: set; all zero if the chunk cannot be read
 *
 * Does not need the session.
 */
void sddp_src_decode_head(struct sddp_assoc *a, const struct sddp_chunk_desc *in,
			  struct sddp_head *h)
{
	const struct sddp_src *src = &a->src;

	*h = (struct sddp_head){};
	if (!fetch_head(a))
		return;
	h->numbered = sddp_ssn_decode(&h->ssn, src->head, src->head_len);
	h->sane = h->numbered && is_legal(in);
	if (h->sane && in->ppid == SDDP_PPID_CONTROL)
		h->function = sddp_control_function(src->head, src->head_len);
}

/**
 * sddp_src_read_next - copy the next bytes of the segment being handed up
 * @a: the association; worker context
 * @dst: destination
 * @len: number of bytes
 *
 * Return: true if all bytes have been copied; false if some cannot be read,
 * which are then set to zero.
 */
bool sddp_src_read_next(struct sddp_assoc *a, void *dst, u32 len)
{
	bool ok = sddp_src_read(a, a->src.off, dst, len);

	a->src.off += len;
	return ok;
}
