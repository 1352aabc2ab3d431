// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Where the octets of a chunk are read from: SCTP's queue, or what was kept of it; and
 * what its first ones say.
 */
#include "internal.h"

/* The longest segment that a Terminate can name */
#define SEGMENT_MOST	U16_MAX

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

/*
 * What is decided by is fetched once.  SCTP has made a packet linear, and so
 * its own, before it believes the checksum; the rules are the same as for TCP,
 * whose queue others may write.
 */
static bool fetch_head(struct sddp_assoc *a)
{
	u8 len = min_t(u32, a->src.len, SDDP_HEAD);

	if (!sddp_src_read(a, 0, a->src.head, len))
		return false;
	a->src.head_len = len;
	return true;
}

/* RFC 5043 5.1: no other kind of chunk is on such an association */
static bool makes_sense(const struct sddp_in *in)
{
	if (!in->legal)
		return false;
	if (in->ppid == SDDP_PPID_CONTROL)
		return true;
	return in->ppid == SDDP_PPID_SEGMENT &&
	       in->len <= SDDP_SEGMENT + SEGMENT_MOST;
}

/**
 * sddp_src_head - what decides over a chunk before its session is known
 * @a: the association; worker
 * @in: the chunk, in @a->src
 * @h: set
 */
void sddp_src_head(struct sddp_assoc *a, const struct sddp_in *in,
		   struct sddp_head *h)
{
	const struct sddp_src *src = &a->src;

	*h = (struct sddp_head){};
	if (!fetch_head(a))
		return;
	h->numbered = sddp_ssn_decode(&h->ssn, src->head, src->head_len);
	h->sane = h->numbered && makes_sense(in);
	if (h->sane && in->ppid == SDDP_PPID_CONTROL)
		h->function = sddp_control_function(src->head, src->head_len);
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
