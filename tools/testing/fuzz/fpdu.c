// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDUs, markers and CRC. The input is either parsed, in pieces of any size, as a
 * stream of FPDUs; or split into ULPDUs, which are framed and extracted again.
 *
 * Input: flags, the stream position in units of 4 bytes, a seed for the piece
 * sizes, an EMSS; then the stream, or ULPDUs with 16 bits of length each.
 */
#include "../../../drivers/mpa/crc.h"
#include "../../../drivers/mpa/fpdu.h"
#include "../../../drivers/mpa/fpdu_verify.h"
#include "fuzz.h"

/* Value of the CRC register after any bytes followed by their own CRC32c */
#define CRC_RESIDUE	0xb798b438
#define WIRE_MAX	(2 + 65535 + 3 + 4 + 4 * 130)
#define F_MARKERS	1
#define F_FRAMES	2	/* the input is ULPDUs */

struct stream {
	u32	pos;
	bool	markers;
	u32	seed;
};

/* An FPDU parsed byte by byte, according to RFC 5044 section 4 */
struct parts {
	u32	start;
	u32	nmarkers;
	u32	got;		/* bytes of the content */
	bool	markers_ok;
	bool	zeros;		/* reserved field and PAD are zero */
	u32	crc;
	u8	field[MPA_CRC_SIZE];
	u8	ulpdu[65536];
};

static u32 draw_random_below(struct stream *s, u32 n)
{
	s->seed = s->seed * 1664525 + 1013904223;
	return (u64)(s->seed >> 8) * n >> 24;
}

static void parse_content_byte(struct parts *a, u32 ulpdu, u8 octet)
{
	u32 at = a->got++;
	u32 crc_at = mpa_fpdu_content_len(ulpdu) - MPA_CRC_SIZE;

	if (at >= crc_at)
		a->field[at - crc_at] = octet;
	else if (at >= MPA_LEN_SIZE + ulpdu)
		a->zeros &= !octet;
	else if (at >= MPA_LEN_SIZE)
		a->ulpdu[at - MPA_LEN_SIZE] = octet;
}

/* Parse an FPDU of @len bytes, including markers, into @a */
static void parse_fpdu(struct parts *a, const struct stream *s, const u8 *p,
		       u32 len, u32 ulpdu)
{
	u32 end = mpa_fpdu_content_len(ulpdu) - MPA_CRC_SIZE;
	bool lead = s->markers && !(s->pos % MPA_MARKER_INTERVAL);
	u32 at = 0, pos, back;

	/* position of the length field, after a leading marker */
	a->start = s->pos + (lead ? MPA_MARKER_SIZE : 0);
	a->nmarkers = 0;
	a->got = 0;
	a->markers_ok = true;
	a->zeros = true;
	a->crc = mpa_crc_init();
	while (at < len) {
		pos = s->pos + at;
		if (s->markers && !(pos % MPA_MARKER_INTERVAL)) {
			MUST("fpdu-marker-inside", at + MPA_MARKER_SIZE <= len);
			back = lead && !at ? 0 : pos - a->start;
			MUST("fpdu-marker-back",
			     mpa_compute_fpduptr(s->pos, pos) == back);
			/* the low two bits are reserved */
			MUST("fpdu-marker-ok", mpa_marker_is_valid(p + at, back) ==
			     ((get_unaligned_be16(p + at + 2) & ~3) == back));
			a->markers_ok &= mpa_marker_is_valid(p + at, back);
			a->zeros &= !p[at] && !p[at + 1] && !(p[at + 3] & 3);
			a->crc = mpa_crc_update(a->crc, p + at,
						MPA_MARKER_SIZE);
			a->nmarkers++;
			at += MPA_MARKER_SIZE;
			continue;
		}
		if (a->got < end)
			a->crc = mpa_crc_update(a->crc, p + at, 1);
		parse_content_byte(a, ulpdu, p[at++]);
	}
}

static u32 encode_marker_if_due(const struct stream *s, u8 *out, u32 at)
{
	u32 pos = s->pos + at;

	if (!s->markers || mpa_compute_marker_distance(pos))
		return 0;
	mpa_marker_encode(out + at, mpa_compute_fpduptr(s->pos, pos));
	return MPA_MARKER_SIZE;
}

/* Build an FPDU as a sender does. Return: the length of the FPDU in bytes */
static u32 build_fpdu(const struct stream *s, u8 *out, const u8 *ulpdu, u32 len)
{
	u32 total = mpa_fpdu_content_len(len), at = 0, i, sum;
	u8 crc[MPA_CRC_SIZE];

	for (i = 0; i < total; i++) {
		at += encode_marker_if_due(s, out, at);
		if (i == total - MPA_CRC_SIZE) {
			sum = mpa_crc_update(mpa_crc_init(), out, at);
			mpa_crc_final(sum, crc);
			MUST("fpdu-crc", mpa_crc_update(sum, crc,
					MPA_CRC_SIZE) == CRC_RESIDUE);
			memcpy(out + at, crc, MPA_CRC_SIZE);
			return at + MPA_CRC_SIZE;
		}
		out[at] = 0;
		if (i < MPA_LEN_SIZE)
			out[at] = i ? len : len >> 8;
		else if (i < MPA_LEN_SIZE + len)
			out[at] = ulpdu[i - MPA_LEN_SIZE];
		at++;
	}
	return at;
}

/*
 * Decode the length of an FPDU from @have bytes, and check that fewer bytes
 * give the same length or none. Return: the length, or 0 if it is unknown.
 */
static u32 decode_and_check_length(struct stream *s, const u8 *p, size_t have)
{
	size_t some = draw_random_below(s, have + 1);
	u8 *piece = malloc(some);
	struct mpa_fpdu f;
	u32 early, len;

	memcpy(piece, p, some);
	early = mpa_fpdu_decode(&f, s->pos, s->markers, piece, some) ? f.wire_len : 0;
	free(piece);
	len = mpa_fpdu_decode(&f, s->pos, s->markers, p, have) ? f.wire_len : 0;
	MUST("fpdu-peek-pieces", !early || early == len);
	MUST("fpdu-peek-enough",
	     len || have < MPA_MARKER_SIZE + MPA_LEN_SIZE);
	MUST("fpdu-length", len <= WIRE_MAX && !(len % MPA_ALIGN));
	return len;
}

static struct parts parts;
static u8 again[WIRE_MAX];

static enum iw_reason compute_expected_result(const struct parts *a)
{
	u8 field[MPA_CRC_SIZE];

	mpa_crc_final(a->crc, field);
	if (memcmp(field, a->field, MPA_CRC_SIZE))
		return IW_MPA_CRC;
	return a->markers_ok ? IW_OK : IW_MPA_MARKER;
}

/*
 * Copy and verify an FPDU in pieces with the driver's functions, and compare with the result of
 * parse_fpdu()
 */
static void copy_fpdu_and_check_verification(const struct stream *s, const u8 *p, u32 len,
					     u32 ulpdu)
{
	struct mpa_verify t = { .markers = s->markers, .crc = true };
	u8 *to, *mem = malloc(mpa_fpdu_content_len(ulpdu));
	struct mpa_fpdu f;
	u32 at, n;

	mpa_fpdu_decode(&f, s->pos, s->markers, p, len);
	MUST("take-length", f.ulpdu_len == ulpdu && f.wire_len == len);
	mpa_verify_begin(&t, &f, p, mem);
	for (at = f.head_len; (to = mpa_verify_get_next_dst(&t, &n)); at += n) {
		MUST("take-end", n && n <= len - at);
		memcpy(to, p + at, n);
		mpa_verify_add_copied(&t, n);
	}
	MUST("take-all", at == len);
	MUST("take-ulpdu", !memcmp(mem + MPA_LEN_SIZE, parts.ulpdu, ulpdu));
	MUST("take-verdict", mpa_verify_get_result(&t) == compute_expected_result(&parts));
	free(mem);
}

/* Check one FPDU. Return: the length of the FPDU in bytes, or 0 if it is not complete */
static u32 check_fpdu(struct stream *s, const u8 *p, size_t have)
{
	u32 len = decode_and_check_length(s, p, have);
	u8 field[MPA_CRC_SIZE];
	u32 ulpdu;
	bool lead;

	if (!len || len > have)
		return 0;
	lead = s->markers && !mpa_compute_marker_distance(s->pos);
	ulpdu = get_unaligned_be16(p + (lead ? MPA_MARKER_SIZE : 0));
	parse_fpdu(&parts, s, p, len, ulpdu);
	MUST("fpdu-content", parts.got == mpa_fpdu_content_len(ulpdu));
	MUST("fpdu-markers", !s->markers || parts.nmarkers ==
	     mpa_count_markers(s->pos, mpa_fpdu_content_len(ulpdu)));
	copy_fpdu_and_check_verification(s, p, len, ulpdu);
	mpa_crc_final(parts.crc, field);
	if (parts.markers_ok && parts.zeros &&
	    !memcmp(field, parts.field, MPA_CRC_SIZE))
		MUST("fpdu-again",
		     build_fpdu(s, again, parts.ulpdu, ulpdu) == len &&
		     !memcmp(again, p, len));
	return len;
}

static void check_raw_stream(struct stream *s, struct input *in)
{
	u32 len;

	while ((len = check_fpdu(s, in->p, in->left))) {
		in->p += len;
		in->left -= len;
		s->pos += len;
	}
}

static u8 wire[WIRE_MAX];

static void check_framed_ulpdus(struct stream *s, struct input *in)
{
	size_t len;
	u32 total;
	u8 *p;

	while (in->left) {
		len = read_u16(in);
		p = read_bytes(in, &len);
		total = build_fpdu(s, wire, p, len);
		MUST("fpdu-wire-length",
		     total == mpa_fpdu_wire_len(s->pos, len, s->markers));
		MUST("fpdu-cut", check_fpdu(s, wire, total) == total);
		MUST("fpdu-good", parts.markers_ok && parts.zeros);
		MUST("fpdu-ulpdu", !memcmp(parts.ulpdu, p, len));
		free(p);
		s->pos += total;
	}
}

/* RFC 5044 4.5: an FPDU with MULPDU bytes fits into a TCP segment, wherever the markers are */
static void check_mulpdu(u32 pos, u32 emss)
{
	bool markers = emss & 0x10000;
	u32 most = mpa_compute_mulpdu(emss & 0xffff, markers);
	u32 len = mpa_fpdu_wire_len(pos, most, markers);

	MUST("mulpdu-limits", most >= MPA_MULPDU_MIN && most <= MPA_MULPDU_MAX);
	MUST("mulpdu-fits",
	     most == MPA_MULPDU_MIN || len <= (emss & 0xffff));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u8 flags = read_u8(&in);
	struct stream s = {
		.markers = flags & F_MARKERS,
		.pos = read_u16(&in) * MPA_ALIGN,
		.seed = read_u8(&in),
	};

	check_mulpdu(s.pos, read_u16(&in) | (flags & 4) << 14);
	if (flags & F_FRAMES)
		check_framed_ulpdus(&s, &in);
	else
		check_raw_stream(&s, &in);
	return 0;
}
