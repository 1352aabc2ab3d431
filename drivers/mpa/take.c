// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One FPDU, taken over from memory that others may still write: a sender on
 * this machine can splice pages into TCP and go on writing them.
 *
 * Copied first, then the copy is summed and its markers are looked at, and only
 * the copy is handed up: what is placed is what was summed.  Both go over the
 * octets in pieces that stay in the cache.
 */
#include "crc.h"
#include "take.h"

/* Copied and summed together: a part of the smallest first-level cache, two pages of 4 KiB */
#define PIECE		8192

/* Octets of the FPDU, markers aside */
static u32 content(const struct mpa_take *t)
{
	return mpa_fpdu_content(t->f.ulpdu_len);
}

/* ... of which the digest covers */
static u32 covered(const struct mpa_take *t)
{
	return content(t) - MPA_CRC_SIZE;
}

static bool marker_due(const struct mpa_take *t)
{
	return t->markers && !mpa_to_marker(t->pos);
}

static void take_marker(struct mpa_take *t)
{
	if (!mpa_marker_ok(t->marker, mpa_marker_back(t->f.start, t->pos)))
		t->marker_wrong = true;
	if (t->crc)
		t->sum = mpa_crc_update(t->sum, t->marker, sizeof(t->marker));
	t->pos += sizeof(t->marker);
}

/*
 * Octets that lie behind those summed so far.  The length field waits for what follows
 * it, which is never a marker.
 */
static void mpa_take_sum(struct mpa_take *t)
{
	u32 end = min(t->got, covered(t));

	if (t->crc && end > t->summed)
		t->sum = mpa_crc_update(t->sum, t->to + t->summed, end - t->summed);
	t->summed = end;
}

/**
 * mpa_take_begin - the head of an FPDU has been copied
 * @t: with @t->markers and @t->crc set
 * @f: what mpa_fpdu_peek() found in it
 * @head: the copy
 * @to: where the FPDU goes, markers aside: MPA_CONTENT_MAX octets
 */
void mpa_take_begin(struct mpa_take *t, const struct mpa_fpdu *f,
		    const u8 *head, u8 *to)
{
	t->f = *f;
	t->marker_wrong = false;
	t->pos = f->start;
	t->got = 0;
	t->summed = 0;
	t->sum = mpa_crc_init();
	t->to = to;
	if (marker_due(t)) {
		memcpy(t->marker, head, sizeof(t->marker));
		take_marker(t);
	}
	memcpy(to, head + f->head - MPA_LEN_SIZE, MPA_LEN_SIZE);
	t->got = MPA_LEN_SIZE;
	t->pos += MPA_LEN_SIZE;
}

/**
 * mpa_take_want - what is to be copied next
 * @t: the FPDU
 * @len: out: how many octets, all of which mpa_take_got() is to be told of
 *
 * Return: where they go; NULL when all are there.
 */
void *mpa_take_want(struct mpa_take *t, u32 *len)
{
	u32 left = content(t) - t->got;
	u8 *to;

	if (!left)
		return NULL;
	if (marker_due(t)) {
		*len = sizeof(t->marker);
		return t->marker;
	}
	to = t->to + t->got;
	*len = min_t(u32, left, PIECE - ((uintptr_t)to & (PIECE - 1)));
	if (t->markers)
		*len = min(*len, mpa_to_marker(t->pos));
	return to;
}

/**
 * mpa_take_got - what was wanted has been copied
 * @t: the FPDU
 * @len: as mpa_take_want() said
 */
void mpa_take_got(struct mpa_take *t, u32 len)
{
	if (marker_due(t)) {
		take_marker(t);
		return;
	}
	t->got += len;
	t->pos += len;
	mpa_take_sum(t);
}

/**
 * mpa_take_verdict - may it be handed up?
 * @t: an FPDU that is all there
 *
 * Return: IW_OK, or what is wrong with it.
 */
enum iw_reason mpa_take_verdict(const struct mpa_take *t)
{
	if (t->crc && !mpa_crc_is(t->sum, t->to + covered(t)))
		return IW_MPA_CRC;
	/* only a marker under a good CRC can be wrong (RFC 5044 8, code 3) */
	return t->marker_wrong ? IW_MPA_MARKER : IW_OK;
}
