// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDUs, read in place from TCP's receive queue.
 *
 * An FPDU that is not all there stays where it is: nothing is kept of it, and
 * nobody above ever hears of half a segment.  One that is whole is verified
 * first (CRC and markers, RFC 5044 section 6) and then handed up; DDP reads
 * its octets with mpa_gather_read() while they are still in the cache.
 */
#include "crc.h"
#include "fpdu.h"
#include "internal.h"

static u32 crc_run(struct mpa_cursor *cur, u32 crc, u32 len)
{
	while (len) {
		u32 run = len;
		const void *p = mpa_cursor_run(cur, &run);

		crc = mpa_crc_update(crc, p, run);
		mpa_cursor_skip(cur, run);
		len -= run;
	}
	return crc;
}

struct verify {
	struct mpa_cursor	cur;
	u32			pos;
	u32			crc;
};

/* The marker that stands where @v is, @start being the FPDU's first octet */
static bool verify_marker(struct mpa_conn *c, struct verify *v, u32 start)
{
	u8 marker[MPA_MARKER_SIZE];

	mpa_cursor_copy(&v->cur, marker, sizeof(marker));
	if (c->crc)
		v->crc = mpa_crc_update(v->crc, marker, sizeof(marker));
	v->pos += sizeof(marker);
	return mpa_marker_ok(marker,
			     mpa_marker_back(start, v->pos - sizeof(marker)));
}

/* @len octets of the FPDU, markers aside */
static bool verify_content(struct mpa_conn *c, struct verify *v, u32 start,
			   u32 len)
{
	bool ok = true;

	while (len) {
		u32 run = len;

		if (c->rx_markers) {
			if (!mpa_to_marker(v->pos)) {
				ok &= verify_marker(c, v, start);
				continue;
			}
			run = min(run, mpa_to_marker(v->pos));
		}
		if (c->crc)
			v->crc = crc_run(&v->cur, v->crc, run);
		else
			mpa_cursor_skip(&v->cur, run);
		v->pos += run;
		len -= run;
	}
	return ok;
}

static enum iw_reason verify(struct mpa_conn *c, u32 ulpdu_len)
{
	struct verify v = {
		.cur = c->cur,
		.pos = c->rx_pos,
		.crc = mpa_crc_init(),
	};
	u8 want[MPA_CRC_SIZE], got[MPA_CRC_SIZE];
	bool markers_ok;

	markers_ok = verify_content(c, &v, c->rx_pos,
				    mpa_fpdu_content(ulpdu_len) - MPA_CRC_SIZE);
	/* a marker in front of the CRC is covered by it */
	if (c->rx_markers && !mpa_to_marker(v.pos))
		markers_ok &= verify_marker(c, &v, c->rx_pos);
	if (c->crc) {
		mpa_crc_final(v.crc, want);
		mpa_cursor_copy(&v.cur, got, sizeof(got));
		if (memcmp(want, got, sizeof(got)))
			return IW_MPA_CRC;
	}
	/* only a marker under a good CRC can be wrong (RFC 5044 8, code 3) */
	return markers_ok ? IW_OK : IW_MPA_MARKER;
}

static void skip_markers(struct mpa_conn *c)
{
	if (!c->rx_markers || mpa_to_marker(c->rx_pos))
		return;
	mpa_cursor_skip(&c->cur, MPA_MARKER_SIZE);
	c->rx_pos += MPA_MARKER_SIZE;
}

/**
 * mpa_gather_read - the next octets of the segment being handed up
 * @c: the connection
 * @dst: where to
 * @len: how many, no more than the segment has left
 *
 * Return: true.
 */
bool mpa_gather_read(struct mpa_conn *c, void *dst, u32 len)
{
	while (len) {
		u32 run = len;

		skip_markers(c);
		if (c->rx_markers)
			run = min(run, mpa_to_marker(c->rx_pos));
		mpa_cursor_copy(&c->cur, dst, run);
		c->rx_pos += run;
		dst += run;
		len -= run;
	}
	return true;
}

/* A responder may send once it has had a valid FPDU (RFC 5044 7.1.2 (4)) */
static void open_tx(struct mpa_conn *c)
{
	if (c->tx_open)
		return;
	/* who finds it open finds the stream; litmus: publish */
	smp_store_release(&c->tx_open, true);
	mpa_tx_kick(c, false);
}

static enum iw_reason hand_up(struct mpa_conn *c, u32 ulpdu_len)
{
	enum iw_reason why = IW_OK;
	u8 len[MPA_LEN_SIZE];

	if (c->crc || c->rx_markers)
		why = verify(c, ulpdu_len);
	if (why) {
		ddp_llp_error(c->stream, why);
		return why;
	}
	open_tx(c);
	/* past the length field: what counts is the copy that was looked at */
	mpa_gather_read(c, len, sizeof(len));
	return ddp_rx_segment(c->stream, &c->llp, ulpdu_len);
}

/**
 * mpa_gather - hand up the FPDU that the cursor stands at, if it is whole
 * @c: the connection, its socket locked, BH off
 * @avail: octets that have arrived from there on
 *
 * Return: octets used up, 0 if it is not all there, or -EIO if the stream has
 * failed.
 */
int mpa_gather(struct mpa_conn *c, u32 avail)
{
	struct mpa_cursor at = c->cur;
	u32 start = c->rx_pos, len = min_t(u32, avail, MPA_FPDU_HEAD_MAX);
	u8 head[MPA_FPDU_HEAD_MAX];
	struct mpa_fpdu f;

	mpa_cursor_copy(&at, head, len);
	if (!mpa_fpdu_peek(&f, start, c->rx_markers, head, len) ||
	    f.wire > avail)
		return 0;

	if (hand_up(c, f.ulpdu_len))
		return -EIO;
	/* the pad, the CRC and what DDP did not read */
	if (f.wire < avail)
		mpa_cursor_skip(&c->cur, start + f.wire - c->rx_pos);
	c->rx_pos = start + f.wire;
	return f.wire;
}
