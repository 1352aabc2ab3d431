// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * An FPDU taken over from memory that others write: any FPDU, copied so far to
 * any place, one piece more. It stays inside its rooms, goes on, ends, and what
 * it does with markers and CRC is told by the position alone.
 *
 * Files: mpa/take.c mpa/fpdu.c mpa/crc.c
 * Bound: 4, the octets of a digest
 * prove_step: Slow
 * Mutation: mpa/take.c s/min_t(u32, end - t->got, PIECE)/PIECE/
 * Mutation: mpa/take.c s/t->got < t->f.ulpdu_len ? t->f.ulpdu_len : behind_head(t)/behind_head(t)/
 * Mutation: mpa/take.c s/min(len, end - t->got));/len);/
 */
#include "../../../drivers/mpa/take.h"
#include "proof.h"

#define ULPDU_MAX	65535

/* Octets that the digest was given since the last look */
static u32 summed;

/* The kernel's */
u32 crc32c(u32 crc, const void *p, size_t len)
{
	MUST("what is summed is ours", __CPROVER_r_ok(p, len));
	summed += len;
	return ANY(u32);
}

static u32 behind_head(const struct mpa_take *t)
{
	return mpa_fpdu_content(t->f.ulpdu_len) - 2;
}

/* Markers in the stream from the head's end to where @t is, none cut */
static bool sound(const struct mpa_take *t)
{
	u32 head = t->f.head, gone = t->pos - t->f.start;

	return t->f.ulpdu_len <= ULPDU_MAX && t->f.start % 4 == 0 &&
	       head == mpa_fpdu_head(t->f.start, t->markers) &&
	       t->got <= behind_head(t) && gone >= head + t->got &&
	       gone <= head + t->got + 4 * 130 &&
	       (t->markers || gone == head + t->got) &&
	       (gone - head - t->got) % 4 == 0 &&
	       /* a content octet is never where a marker stands */
	       (!t->markers || !(t->pos % 512 > 0 && t->pos % 512 < 4));
}

static void any_take(struct mpa_take *t)
{
	t->markers = any_bool();
	t->crc = any_bool();
	t->marker_wrong = any_bool();
	GIVEN(sound(t));
	t->ulpdu = any_octets(ULPDU_MAX);
}

void prove_begin(void)
{
	struct mpa_take t;
	struct mpa_fpdu f;
	u8 head[6], *ulpdu = any_octets(1);

	t.markers = any_bool();
	t.crc = any_bool();
	GIVEN(f.start % 4 == 0 && f.ulpdu_len <= ULPDU_MAX);
	f.head = mpa_fpdu_head(f.start, t.markers);
	mpa_take_begin(&t, &f, head, ulpdu);
	MUST("sound to begin with", sound(&t) && !t.got);
	MUST("MPA-49, MPA-51: the digest begins with it",
	     summed == (t.crc ? f.head : 0));
	MUST("MPA-32: a leading marker points nowhere", t.marker_wrong ==
	     (f.head == 6 && (octets(head + 2, 2) & 0xfffc)));
	REACHED("end");
}

void prove_step(void)
{
	struct mpa_take t;
	u32 len, got, pos, due, left;
	bool wrong;
	void *to;

	any_take(&t);
	got = t.got;
	pos = t.pos;
	wrong = t.marker_wrong;
	due = t.markers && t.pos % 512 == 0;
	to = mpa_take_want(&t, &len);
	MUST("MPA-73: all of it, then no more", !to == (got == behind_head(&t)));
	if (!to) {
		REACHED("all there");
		return;
	}
	MUST("where it goes is ours", len && len <= 4096 && __CPROVER_w_ok(to, len));
	MUST("MPA-38: a marker goes apart", due == (to == t.marker));
	MUST("MPA-38: the ULPDU in its room, not what follows it", due ||
	     (got < t.f.ulpdu_len ? (u8 *)to == t.ulpdu + got &&
	      got + len <= t.f.ulpdu_len
	      : (u8 *)to == t.tail + (got - t.f.ulpdu_len)));
	MUST("MPA-28: up to the next marker", due || !t.markers ||
	     pos % 512 + len <= 512 || !(pos % 512));
	left = behind_head(&t) - 4 > got ? behind_head(&t) - 4 - got : 0;
	mpa_take_got(&t, len);
	MUST("it goes on", t.pos == pos + len && t.got == got + (due ? 0 : len));
	MUST("MPA-49, MPA-50: the digest covers markers, and all up to itself",
	     summed == (!t.crc ? 0 : due ? len : len < left ? len : left));
	MUST("MPA-137: each marker is looked at, and nothing else is", t.marker_wrong ==
	     (wrong || (due && (octets(t.marker + 2, 2) & 0xfffc) !=
			       mpa_marker_back(t.f.start, pos))));
	MUST("no more than is there", t.got <= behind_head(&t));
	if (due)
		REACHED("marker");
	if (got >= t.f.ulpdu_len)
		REACHED("tail");
}

void prove_verdict(void)
{
	struct mpa_take t;
	enum iw_reason why;
	u32 pad, field;

	any_take(&t);
	pad = mpa_fpdu_pad(t.f.ulpdu_len);
	/* least significant octet first */
	field = t.tail[pad] | t.tail[pad + 1] << 8 | t.tail[pad + 2] << 16 |
		(u32)t.tail[pad + 3] << 24;
	why = mpa_take_verdict(&t);
	MUST("MPA-21, MPA-48, MPA-54, MPA-87, MPA-133: the digest",
	     (why == IW_MPA_CRC) == (t.crc && field != (u32)~t.sum));
	MUST("MPA-71, MPA-134: then the markers", why == IW_MPA_CRC ||
	     why == (t.marker_wrong ? IW_MPA_MARKER : IW_OK));
	if (why == IW_MPA_CRC)
		REACHED("digest");
	if (why == IW_OK && t.crc)
		REACHED("good");
}
