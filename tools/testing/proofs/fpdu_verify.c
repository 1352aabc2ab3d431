// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copying of an FPDU out of the receive queue, whose memory other programs may change
 * meanwhile. Proved for one step from any state of any FPDU: the copy stays inside its
 * buffer, makes progress and ends. The handling of markers and CRC depends only on the
 * position in the FPDU.
 *
 * Files: mpa/fpdu_verify.c mpa/fpdu.c mpa/crc.c
 * Bound: 4, the bytes of a CRC
 * prove_copy_step: Slow
 * Mutation: mpa/fpdu_verify.c s/min_t(u32, left, PIECE/(PIECE/
 * Mutation: mpa/fpdu_verify.c s/u32 end = min(t->got, get_crc_covered_len(t))/u32 end = t->got/
 * Mutation: mpa/fpdu_verify.c s/^\tmpa_verify_update_crc(t);/\t;/
 */
#include "../../../drivers/mpa/fpdu_verify.h"
#include "proof.h"

/* Number of bytes added to the CRC by the calls of crc32c() in this proof */
static u32 summed;

/* Stub of the kernel's CRC function, which counts the bytes and returns any value */
u32 crc32c(u32 crc, const void *p, size_t len)
{
	MUST("the CRC covers only memory of the copy", __CPROVER_r_ok(p, len));
	summed += len;
	return ANY(u32);
}

static u32 get_content_len(const struct mpa_verify *t)
{
	return mpa_fpdu_content_len(t->f.ulpdu_len);
}

static u32 compute_expected_crc_len(const struct mpa_verify *t, u32 got)
{
	u32 covered = get_content_len(t) - 4;

	return got < covered ? got : covered;
}

/*
 * Check the invariant that holds between two steps: the position has advanced by the
 * copied content and by whole markers, and the CRC covers all copied content, unless only
 * the length field has been copied.
 */
static bool is_sound(const struct mpa_verify *t)
{
	u32 lead = t->f.head_len - 2, markers = t->pos - t->f.start - t->got;

	return t->f.ulpdu_len <= MPA_ULPDU_MAX && t->f.start % 4 == 0 &&
	       t->f.head_len == mpa_fpdu_head_len(t->f.start, t->markers) &&
	       t->got >= 2 && t->got <= get_content_len(t) &&
	       t->pos - t->f.start >= t->got &&
	       markers >= lead && markers <= lead + 4 * 130 && markers % 4 == 0 &&
	       (t->markers || !markers) &&
	       (t->crc_len == compute_expected_crc_len(t, t->got) ||
		(t->got == 2 && !t->crc_len)) &&
	       /* a content byte is never at the position of a marker */
	       (!t->markers || !(t->pos % 512 > 0 && t->pos % 512 < 4));
}

static void init_any_verify_state(struct mpa_verify *t, u32 room)
{
	t->markers = any_bool();
	t->crc = any_bool();
	t->marker_wrong = any_bool();
	GIVEN(is_sound(t) && get_content_len(t) <= room);
	t->to = any_bytes(room);
}

void prove_verify_begin(void)
{
	struct mpa_verify t;
	struct mpa_fpdu f;
	u8 head[6], *to = any_bytes(2);

	t.markers = any_bool();
	t.crc = any_bool();
	GIVEN(f.start % 4 == 0 && f.ulpdu_len <= MPA_ULPDU_MAX);
	f.head_len = mpa_fpdu_head_len(f.start, t.markers);
	mpa_verify_begin(&t, &f, head, to);
	MUST("the invariant holds at the beginning", is_sound(&t) && t.got == 2 && !t.crc_len);
	MUST("the length field is copied",
	     to[0] == head[f.head_len - 2] && to[1] == head[f.head_len - 1]);
	MUST("MPA-49, MPA-51: the CRC begins with a leading marker",
	     summed == (t.crc ? f.head_len - 2 : 0));
	MUST("MPA-32: FPDUPTR of a leading marker is 0", t.marker_wrong ==
	     (f.head_len == 6 && (decode_big_endian(head + 2, 2) & 0xfffc)));
	REACHED("end");
}

void prove_copy_step(void)
{
	struct mpa_verify t;
	u32 len, got, pos, due, before;
	bool wrong;
	void *to;

	init_any_verify_state(&t, MPA_CONTENT_MAX);
	got = t.got;
	pos = t.pos;
	before = t.crc_len;
	wrong = t.marker_wrong;
	due = t.markers && t.pos % 512 == 0;
	to = mpa_verify_get_next_dst(&t, &len);
	MUST("MPA-73: copying ends exactly at the end of the FPDU",
	     !to == (got == get_content_len(&t)));
	if (!to) {
		MUST("MPA-50: the CRC covers all content before the CRC field", !t.crc ||
		     t.crc_len == get_content_len(&t) - 4);
		REACHED("the FPDU is complete");
		return;
	}
	MUST("the destination is inside the buffer", len && len <= 8192 && __CPROVER_w_ok(to, len));
	MUST("MPA-38: exactly the markers are copied to the marker field", due == (to == t.marker));
	MUST("MPA-38: content is copied after the copied content, up to its end", due ||
	     ((u8 *)to == t.to + got && got + len <= get_content_len(&t)));
	MUST("MPA-28: a copy ends before the next marker", due || !t.markers ||
	     pos % 512 + len <= 512 || !(pos % 512));
	MUST("MPA-49: content before a marker is added to the CRC before the marker",
	     !summed && (!due || before == compute_expected_crc_len(&t, got)));
	mpa_verify_add_copied(&t, len);
	MUST("position and copied content advance",
	     t.pos == pos + len && t.got == got + (due ? 0 : len));
	MUST("MPA-49, MPA-50: the CRC covers the markers and the content before the CRC field",
	     summed == (!t.crc ? 0 : compute_expected_crc_len(&t, t.got) - before + (due ? 4 : 0)));
	MUST("MPA-137: a wrong marker is recorded, and nothing else is", t.marker_wrong ==
	     (wrong || (due && (decode_big_endian(t.marker + 2, 2) & 0xfffc) !=
			       mpa_compute_fpduptr(t.f.start, pos))));
	MUST("the invariant holds again", is_sound(&t) || t.pos - t.f.start - t.got > 4 * 130);
	if (due)
		REACHED("marker");
	if (got >= 2 + t.f.ulpdu_len)
		REACHED("PAD or CRC field");
}

void prove_verify_result(void)
{
	struct mpa_verify t;
	enum iw_reason why;
	u32 at, field;

	/*
	 * a short FPDU suffices, because prove_copy_step shows the position of the
	 * CRC field for any FPDU
	 */
	init_any_verify_state(&t, 32);
	at = get_content_len(&t) - 4;
	/* the CRC is sent least significant byte first */
	field = t.to[at] | t.to[at + 1] << 8 | t.to[at + 2] << 16 |
		(u32)t.to[at + 3] << 24;
	why = mpa_verify_get_result(&t);
	MUST("MPA-21, MPA-48, MPA-54, MPA-87, MPA-133: exactly a wrong CRC is reported",
	     (why == IW_MPA_CRC) == (t.crc && field != (u32)~t.crc_value));
	MUST("MPA-71, MPA-134: if the CRC is right, a wrong marker is reported",
	     why == IW_MPA_CRC ||
	     why == (t.marker_wrong ? IW_MPA_MARKER : IW_OK));
	if (why == IW_MPA_CRC)
		REACHED("wrong CRC");
	if (why == IW_OK && t.crc)
		REACHED("right CRC");
}
