// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Lengths of FPDUs and positions of their markers, for any ULPDU length and any stream
 * position where an FPDU can start. The reference uses 64-bit positions, which do not wrap.
 *
 * Files: mpa/fpdu.c
 * Checks: conversion
 * Bound: 1, there is no loop
 * prove_mulpdu_value: Checks conversion unsigned-overflow
 * Mutation: mpa/fpdu.c s/content <= gap/content < gap/
 * Mutation: mpa/fpdu.c s/(MPA_MARKER_INTERVAL - MPA_MARKER_SIZE);/MPA_MARKER_INTERVAL;/
 * Mutation: mpa/fpdu.c s/-(MPA_LEN_SIZE + ulpdu_len)/-ulpdu_len/
 * Mutation: mpa/fpdu.c s/if (len < f->head_len)/if (len + 1 < f->head_len)/
 * Mutation: mpa/fpdu.c s/return at - pos;/return at - pos - (at < pos);/
 * Mutation: mpa/fpdu.c s/emss % MPA_ALIGN/0/
 */
#include "../../../drivers/mpa/fpdu.h"
#include "proof.h"

/*
 * An FPDU at position pos of a stream whose Full Operation began at position 0
 * (RFC 5044 4.3); lead is true if the FPDU begins with a marker
 */
struct fpdu {
	u64	pos;
	u32	ulpdu;
	u32	content;
	u32	wire;
	bool	lead;
};

static struct fpdu any_fpdu(void)
{
	struct fpdu f = { .pos = ANY(u64), .ulpdu = ANY(u16) };

	GIVEN(f.pos % 4 == 0 && f.pos < (u64)1 << 62);
	f.content = mpa_fpdu_content_len(f.ulpdu);
	f.wire = mpa_fpdu_wire_len(f.pos & U32_MAX, f.ulpdu, true);
	f.lead = f.pos % 512 == 0;
	return f;
}

void prove_content_len(void)
{
	u32 ulpdu = ANY(u16), pad = mpa_fpdu_pad_len(ulpdu);
	u32 content = mpa_fpdu_content_len(ulpdu);

	MUST("MPA-15: PAD is 0 to 3", pad <= 3);
	MUST("MPA-15, MPA-16: content is length field, ULPDU, PAD and CRC",
	     content == 2 + ulpdu + pad + 4);
	MUST("MPA-19: the length without markers is a multiple of 4", content % 4 == 0);
	MUST("MPA-47: without markers the FPDU has only its content",
	     mpa_fpdu_wire_len(ANY(u32), ulpdu, false) == content);
	REACHED("end");
}

/* Count the multiples of 512 in [from, to) */
static u64 count_marker_positions(u64 from, u64 to)
{
	return (to + 511) / 512 - (from + 511) / 512;
}

void prove_marker_count(void)
{
	struct fpdu f = any_fpdu();
	u64 end = f.pos + f.wire;
	u32 n = mpa_count_markers(f.pos & U32_MAX, f.content);

	MUST("MPA-28, MPA-29: the FPDU has one marker at each multiple of 512",
	     n == count_marker_positions(f.pos, end));
	MUST("MPA-16, MPA-28: the FPDU consists of content and markers",
	     f.wire == f.content + 4 * n);
	/* the last four bytes of an FPDU are the CRC field, never a marker */
	MUST("MPA-33: no marker follows the CRC field in the FPDU",
	     (end - 4) % 512 != 0);
	MUST("MPA-31: the length is the same if the position wraps at 2^32",
	     mpa_fpdu_wire_len((f.pos + (u64)512 * ANY(u32)) & U32_MAX, f.ulpdu,
			       true) == f.wire);
	MUST("the length of an FPDU is bounded", f.wire <= 65535 + 9 + 130 * 4);
	if (f.lead)
		REACHED("leading marker");
	if (n == 129)
		REACHED("the maximum number of markers");
	if (!n)
		REACHED("no marker");
}

void prove_marker_distance(void)
{
	u64 pos = ANY(u64);
	u32 to = mpa_compute_marker_distance(pos & U32_MAX);

	GIVEN(pos < (u64)1 << 62);
	MUST("MPA-28: the next marker is at the next multiple of 512",
	     to < 512 && (pos + to) % 512 == 0);
	REACHED("end");
}

/* The header of an FPDU is decoded from any number of received bytes, and no more are read */
void prove_decode(void)
{
	u64 pos = ANY(u64);
	size_t len = ANY(size_t), at;
	bool markers = any_bool(), told;
	struct mpa_fpdu f;
	u8 *p;

	GIVEN(pos % 4 == 0 && len <= 1 << 20);
	p = any_bytes(len);
	at = markers && pos % 512 == 0 ? 4 : 0;
	told = mpa_fpdu_decode(&f, pos & U32_MAX, markers, p, len);
	MUST("MPA-73: the header is decoded as soon as the length field is received",
	     told == (len >= at + 2));
	MUST("MPA-117: the ULPDU begins after the length field",
	     mpa_fpdu_head_len(pos & U32_MAX, markers) == at + 2);
	if (!told) {
		REACHED("too short");
		return;
	}
	MUST("MPA-67, MPA-70: the ULPDU's length is ULPDU_Length",
	     f.ulpdu_len == decode_big_endian(p + at, 2) &&
	     f.head_len == at + 2 && f.start == (pos & U32_MAX));
	MUST("MPA-16: the FPDU's length is that for its ULPDU_Length and position", f.wire_len ==
	     mpa_fpdu_wire_len(pos & U32_MAX, f.ulpdu_len, markers));
	REACHED("decoded");
}

/* A marker anywhere in an FPDU is encoded correctly, and only a correct one is accepted */
void prove_marker_encoding(void)
{
	struct fpdu f = any_fpdu();
	u64 at = ANY(u64), field = f.pos + (f.lead ? 4 : 0);
	u8 p[4], any[4];
	u32 back, ptr;

	GIVEN(f.ulpdu <= MPA_MULPDU_MAX);
	GIVEN(at % 512 == 0 && at >= f.pos && at < f.pos + f.wire);
	back = mpa_compute_fpduptr(f.pos & U32_MAX, at & U32_MAX);
	MUST("MPA-30, MPA-32, MPA-35: FPDUPTR is the distance from the length field",
	     back == (at == f.pos ? 0 : at - field));
	MUST("MPA-25: the distance fits into FPDUPTR", back <= 0xfffc && !(back & 3));
	mpa_marker_encode(p, back);
	MUST("MPA-22, MPA-23: a marker has a zero half, then FPDUPTR",
	     !p[0] && !p[1] && decode_big_endian(p + 2, 2) == back);
	MUST("MPA-68: an encoded marker is valid", mpa_marker_is_valid(p, back));
	ptr = decode_big_endian(any + 2, 2);
	MUST("MPA-24, MPA-26, MPA-134: a marker is valid only with the right FPDUPTR",
	     mpa_marker_is_valid(any, back) == (ptr / 4 * 4 == back));
	if (at != f.pos)
		REACHED("not at the start of the FPDU");
	if (back == 0xfffc || at - field > 64000)
		REACHED("far from the length field");
}

/* MULPDU has the value of RFC 5044 4.5, for the maximum number of markers in a segment */
void prove_mulpdu_value(void)
{
	u32 emss = ANY(u32), mulpdu, over, fits;
	bool markers = any_bool();

	/* up to 16 MiB, more than the largest GSO packet */
	GIVEN(emss <= 1 << 24);
	mulpdu = mpa_compute_mulpdu(emss, markers);
	over = 6 + emss % 4 + (markers ? 4 * ((emss + 511) / 512) : 0);
	fits = emss >= over + 128 ? emss - over : 128;
	MUST("MPA-55, MPA-56, MPA-60: MULPDU has the value of the formula",
	     mulpdu == (fits > 64768 ? 64768 : fits));
	MUST("MPA-6: MULPDU is 128 to 64768", mulpdu >= 128 && mulpdu <= 64768);
	REACHED("end");
}

void prove_mulpdu_fits(void)
{
	u32 emss = ANY(u32), mulpdu, pos = ANY(u32);
	bool markers = any_bool();

	GIVEN(emss <= 1 << 17 && pos % 4 == 0);
	mulpdu = mpa_compute_mulpdu(emss, markers);
	MUST("MPA-62: an FPDU fits into one TCP segment", mulpdu == 128 ||
	     mpa_fpdu_wire_len(pos, mulpdu, markers) <= emss);
	if (mulpdu > 128 && markers)
		REACHED("markers");
}
