// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Where the octets of a chunk are read from: SCTP's queue, or what was kept of it.
 */
#include "internal.h"

/* Octets of @src that are in memory of ours; returns how many */
static u32 read_ours(const struct sddp_src *src, u32 off, void *dst, u32 len)
{
	const u8 *from = src->arrived ? src->head : src->flat;
	u32 end = src->arrived ? src->head_len : src->len;
	u32 n = off < end ? min(len, end - off) : 0;

	memcpy(dst, from + off, n);
	return n;
}

/**
 * sddp_src_read - octets of the chunk that is looked at
 * @a: the association; worker
 * @off: where in it
 * @dst: where to
 * @len: how many
 *
 * Return: false if they cannot be read; zeros are in their place.
 */
bool sddp_src_read(struct sddp_assoc *a, u32 off, void *dst, u32 len)
{
	struct sddp_src *src = &a->src;
	u32 n = read_ours(src, off, dst, len);

	if (n == len)
		return true;
	if (src->arrived &&
	    sddp_recv_read(src->arrived, off + n, dst + n, len - n))
		return true;
	memset(dst + n, 0, len - n);
	src->bad = true;
	return false;
}

/**
 * sddp_src_head - fetch what is decided by
 * @a: the association; worker
 *
 * Once.  SCTP has made a packet linear, and so its own, before it believes the
 * checksum; the rules are the same as for TCP, whose queue others may write.
 *
 * Return: false if it cannot be read.
 */
bool sddp_src_head(struct sddp_assoc *a)
{
	u8 len = min_t(u32, a->src.len, SDDP_HEAD);

	if (!sddp_src_read(a, 0, a->src.head, len))
		return false;
	a->src.head_len = len;
	return true;
}

/**
 * sddp_src_next - the next octets of the segment being handed up
 * @a: the association; worker
 * @dst: where to
 * @len: how many
 *
 * Return: false if they cannot be read; zeros are in their place.
 */
bool sddp_src_next(struct sddp_assoc *a, void *dst, u32 len)
{
	bool ok = sddp_src_read(a, a->src.off, dst, len);

	a->src.off += len;
	return ok;
}
