// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reading the bytes of a chunk, from SCTP's receive queue or from a kept copy, and
 * decoding the beginning of a chunk.
 *
 * recv.c takes chunks from the queue. The first bytes of a chunk are copied once, and
 * all decisions are based on this copy.
 */
#include <linux/skbuff.h>

#include "internal.h"

/* Maximum segment length that a Terminate can quote, in bytes */
#define SEGMENT_MAX	U16_MAX

/*
 * Copy bytes that have been copied out of the queue before: the head of a chunk in the
 * queue, or a kept chunk. Return: the number of bytes copied, which may be less than @len.
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
 * Bytes that cannot be copied are set to zero in @dst.
 *
 * Return: true if all bytes have been copied; false if some are past the end of the
 * chunk, or in a device's memory, which the CPU cannot read.
 */
bool sddp_src_read(struct sddp_assoc *a, u32 off, void *dst, u32 len)
{
	struct sddp_src *src = &a->src;
	u32 n = read_from_copy(src, off, dst, len);

	if (n == len)
		return true;
	/* skb_copy_bits() fails if skb_frags_readable() is false for a buffer */
	if (src->arrived &&
	    !skb_copy_bits(src->arrived, off + n, dst + n, len - n))
		return true;
	memset(dst + n, 0, len - n);
	src->bad = true;
	return false;
}

/*
 * Copy the first bytes of the association's current chunk once: all decisions are based
 * on this copy, so the bytes cannot change between two reads. Over SCTP nothing else
 * writes to them anyway, because SCTP copies each packet to its own memory before it
 * verifies the checksum. Return: true if the CPU can read the bytes, false otherwise.
 */
static bool fetch_head(struct sddp_assoc *a)
{
	u8 len = min_t(u32, a->src.len, SDDP_HEAD);

	if (!sddp_src_read(a, 0, a->src.head, len))
		return false;
	a->src.head_len = len;
	return true;
}

/*
 * Check whether a chunk is a legal one of DDP: an association with DDP's Adaptation
 * Indication must carry no other chunks (RFC 5043 5.1).
 */
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
 * @in: description of the chunk in the association's src
 * @h: set to the decoded beginning; all zero if the CPU cannot read the chunk
 *
 * The result does not depend on the state of a session.
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
 * sddp_src_read_next - copy the next bytes of the segment that DDP processes
 * @a: the association; worker context
 * @dst: destination
 * @len: number of bytes
 *
 * Return: true if all bytes have been copied; false if some cannot be read, which are
 * then set to zero in @dst.
 */
bool sddp_src_read_next(struct sddp_assoc *a, void *dst, u32 len)
{
	bool ok = sddp_src_read(a, a->src.off, dst, len);

	a->src.off += len;
	return ok;
}
