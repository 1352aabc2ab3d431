// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Access to the bytes of the chunk that the receive path is processing, and decoding of
 * the first bytes. The chunk is in SCTP's receive queue, or is a kept copy (early.c).
 *
 * The first bytes of a chunk are copied once, and all decisions are based on this copy.
 * recv.c removes chunks from SCTP's queue.
 */
#include <linux/skbuff.h>

#include "internal.h"

/*
 * Maximum length of a received segment, bytes: RDMAP's Terminate has 16 bits for the
 * length of the segment that it quotes
 */
#define SEGMENT_MAX	U16_MAX

/*
 * Copy bytes from memory of this module: from the copy of a queued chunk's first bytes,
 * or from a kept chunk. Return: the number of bytes copied, which is less than @len if
 * the memory has fewer bytes at @off.
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
 * sddp_src_read - copy bytes of the chunk in @a->src
 * @a: the association
 * @off: offset in the chunk, bytes
 * @dst: destination
 * @len: number of bytes
 *
 * Set to zero the bytes of @dst that cannot be copied, and set @a->src.bad.
 *
 * Context: worker, with the association's mutex held.
 * Return: true if all bytes have been copied; false if some are past the end of the
 * chunk, or are in a device's memory, which the CPU cannot read.
 */
bool sddp_src_read(struct sddp_assoc *a, u32 off, void *dst, u32 len)
{
	struct sddp_src *src = &a->src;
	u32 n = read_from_copy(src, off, dst, len);

	if (n == len)
		return true;
	/* skb_copy_bits() fails if the buffer has fragments in a device's memory */
	if (src->arrived &&
	    !skb_copy_bits(src->arrived, off + n, dst + n, len - n))
		return true;
	memset(dst + n, 0, len - n);
	src->bad = true;
	return false;
}

/*
 * Copy the first bytes of the chunk in @a->src. All decisions are based on this copy, so
 * the bytes cannot change between a check and their use. The copy is only a precaution:
 * no other context should write to the bytes in SCTP's queue, because SCTP copies each
 * packet to its own memory before it verifies the checksum. Return: true if the CPU can
 * read the bytes, false otherwise.
 */
static bool copy_chunk_head(struct sddp_assoc *a)
{
	u8 len = min_t(u32, a->src.len, SDDP_HEAD);

	if (!sddp_src_read(a, 0, a->src.head, len))
		return false;
	a->src.head_len = len;
	return true;
}

/*
 * Check whether DDP allows a chunk: an association with DDP's Adaptation Indication must
 * carry no chunks of other protocols (RFC 5043 5.1)
 */
static bool is_legal_chunk(const struct sddp_chunk_desc *in)
{
	if (!in->legal)
		return false;
	if (in->ppid == SDDP_PPID_CONTROL)
		return true;
	return in->ppid == SDDP_PPID_SEGMENT &&
	       in->len <= SDDP_SEGMENT + SEGMENT_MAX;
}

/**
 * sddp_src_decode_head - decode the first bytes of a chunk
 * @a: the association, with the chunk in @a->src
 * @in: description of the chunk
 * @h: set to the decoded bytes; all zero if the CPU cannot read the chunk
 *
 * The result does not depend on the state of a session.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_src_decode_head(struct sddp_assoc *a, const struct sddp_chunk_desc *in,
			  struct sddp_head *h)
{
	const struct sddp_src *src = &a->src;

	*h = (struct sddp_head){};
	if (!copy_chunk_head(a))
		return;
	h->has_ssn = sddp_ssn_decode(&h->ssn, src->head, src->head_len);
	h->well_formed = h->has_ssn && is_legal_chunk(in);
	if (h->well_formed && in->ppid == SDDP_PPID_CONTROL)
		h->function = sddp_control_read_function_code(src->head, src->head_len);
}

/**
 * sddp_src_read_next - copy the next bytes of the segment that DDP processes
 * @a: the association, with the segment's chunk in @a->src
 * @dst: destination
 * @len: number of bytes
 *
 * Copy from offset @a->src.off, and advance this offset by @len.
 *
 * Context: worker, with the association's mutex held.
 * Return: true if all bytes have been copied; false if some cannot be read, and these
 * bytes are zero in @dst.
 */
bool sddp_src_read_next(struct sddp_assoc *a, void *dst, u32 len)
{
	bool ok = sddp_src_read(a, a->src.off, dst, len);

	a->src.off += len;
	return ok;
}
