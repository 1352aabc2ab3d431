// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test FPDU lengths and markers against a reference that counts byte by byte. */
#include <kunit/test.h>

#include "../fpdu.h"

static const u32 lengths[] = {
	0, 1, 2, 3, 4, 5, 14, 18, 42, 127, 128, 129, 490, 497, 498, 499,
	500, 501, 502, 503, 504, 505, 506, 507, 508, 509, 510, 511, 512,
	1006, 1010, 1014, 1442, 1454, 4096, 8960, 32767, 64767, 64768, 65535,
};

/* Range of tested positions in the stream, which includes a wrap at 2^32 */
#define POS_FIRST	(0u - 1024)
#define POS_LAST	1024u

struct walk {
	u32	len;		/* length of the FPDU with markers, in bytes */
	u32	markers;	/* number of markers */
	u32	wrong;		/* number of markers with a wrong FPDUPTR */
};

/*
 * Reference: count the bytes and markers of an FPDU one by one. @pos: position of
 * the FPDU in the stream; @content: length of the FPDU without markers.
 */
static void count_fpdu_bytes_and_markers(struct walk *w, u32 pos, u32 content)
{
	bool begun = false;
	u32 length_at = 0;
	u32 at = pos;

	memset(w, 0, sizeof(*w));
	while (content) {
		if (at % MPA_MARKER_INTERVAL == 0) {
			u32 back = begun ? at - length_at : 0;

			w->markers++;
			w->wrong += mpa_compute_fpduptr(pos, at) != back;
			at += MPA_MARKER_SIZE;
		}
		if (!begun)
			length_at = at;
		begun = true;
		at++;
		content--;
	}
	w->len = at - pos;
}

/* Reference: compute the length of an FPDU without markers */
static u32 get_expected_content_len(u32 ulpdu_len)
{
	u32 len = 2 + ulpdu_len;

	while (len % 4)
		len++;
	return len + 4;
}

/*
 * RFC 5044 4.1 (MPA-15, MPA-16, MPA-19, MPA-20): the PAD makes the length of an
 * FPDU a multiple of 4 bytes.
 */
static void fpdu_content_is_padded(struct kunit *test)
{
	u32 len;

	for (len = 0; len <= 65535; len++) {
		u32 want = get_expected_content_len(len);

		KUNIT_EXPECT_EQ(test, mpa_fpdu_content_len(len), want);
		KUNIT_EXPECT_EQ(test, mpa_fpdu_pad_len(len), want - 6 - len);
		KUNIT_EXPECT_EQ(test, mpa_fpdu_wire_len(len & ~3u, len, false),
				want);
	}
}

/*
 * RFC 5044 4.3 (MPA-28, MPA-29, MPA-30, MPA-32, MPA-35, MPA-36; MPA-31 for positions
 * that wrap at 2^32): length, number of markers and FPDUPTR agree with the reference.
 */
static void fpdu_lengths_match_reference(struct kunit *test)
{
	struct walk w;
	u32 pos, len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		len = lengths[i];
		for (pos = POS_FIRST; pos != POS_LAST; pos += 4) {
			if (len > 8192 && pos % 128)
				continue;
			count_fpdu_bytes_and_markers(&w, pos, mpa_fpdu_content_len(len));
			KUNIT_EXPECT_EQ_MSG(test, w.len,
					    mpa_fpdu_wire_len(pos, len, true),
					    "ULPDU of %u bytes at %#x", len, pos);
			KUNIT_EXPECT_EQ(test, w.markers,
					mpa_count_markers(pos,
							  mpa_fpdu_content_len(len)));
			KUNIT_EXPECT_EQ(test, w.wrong, 0u);
		}
	}
}

/*
 * Expect that mpa_fpdu_decode() sets all fields of struct mpa_fpdu to the values that
 * follow from @pos and from the length field in @p
 */
static void expect_fpdu_decoded(struct kunit *test, u32 pos, bool markers, const u8 *p,
				size_t len)
{
	struct mpa_fpdu f;
	u32 ulpdu_len;

	KUNIT_ASSERT_TRUE(test, mpa_fpdu_decode(&f, pos, markers, p, len));
	KUNIT_EXPECT_EQ(test, f.start, pos);
	KUNIT_EXPECT_EQ(test, f.head_len, mpa_fpdu_head_len(pos, markers));
	ulpdu_len = get_unaligned_be16(p + f.head_len - MPA_LEN_SIZE);
	KUNIT_EXPECT_EQ(test, f.ulpdu_len, ulpdu_len);
	KUNIT_EXPECT_EQ(test, f.wire_len,
			mpa_fpdu_wire_len(pos, ulpdu_len, markers));
}

/*
 * RFC 5044 5.2, 6 (MPA-67, MPA-73): mpa_fpdu_decode() needs all bytes up to the end
 * of the length field, and no bytes after the length field.
 */
static void fpdu_decode_needs_whole_length_field(struct kunit *test)
{
	u8 p[MPA_FPDU_HEAD_MAX];
	struct mpa_fpdu f;
	size_t i, n, need;
	u32 pos;

	for (i = 0; i < 2 * ARRAY_SIZE(lengths); i++) {
		bool markers = i % 2;
		u32 len = lengths[i / 2];

		for (pos = POS_FIRST; pos != POS_LAST; pos += 4) {
			bool leads = markers && pos % MPA_MARKER_INTERVAL == 0;

			need = leads ? 6 : 2;
			memset(p, 0xff, sizeof(p));
			put_unaligned_be16(len, p + need - 2);
			for (n = 0; n < need; n++)
				KUNIT_EXPECT_FALSE(test,
						   mpa_fpdu_decode(&f, pos,
								   markers, p, n));
			KUNIT_EXPECT_EQ(test, mpa_fpdu_head_len(pos, markers), need);
			for (n = need; n <= sizeof(p); n++)
				expect_fpdu_decoded(test, pos, markers, p, n);
		}
	}
}

/* Lengths and FPDUPTRs agree with figures 4, 5 and 6 of RFC 5044. */
static void fpdu_matches_rfc5044_figures(struct kunit *test)
{
	/* figure 4: ULPDU of 16 bytes, marker 12 bytes after the start of the length field */
	KUNIT_EXPECT_EQ(test, mpa_fpdu_wire_len(500, 16, true), 28u);
	KUNIT_EXPECT_EQ(test, mpa_compute_fpduptr(500, 512), 0x0cu);
	/* figure 5: ULPDU of 42 bytes, FPDU at position 0 with a leading marker */
	KUNIT_EXPECT_EQ(test, mpa_fpdu_content_len(42), 48u);
	KUNIT_EXPECT_EQ(test, mpa_count_markers(0, 48), 1u);
	KUNIT_EXPECT_EQ(test, mpa_fpdu_wire_len(0, 42, true), 0x34u);
	KUNIT_EXPECT_EQ(test, mpa_compute_fpduptr(0, 0), 0u);
	/* figure 6: ULPDU of 42 bytes, FPDU at position 0x1ec, one marker at 0x200 */
	KUNIT_EXPECT_EQ(test, mpa_count_markers(0x1ec, 48), 1u);
	KUNIT_EXPECT_EQ(test, mpa_fpdu_wire_len(0x1ec, 42, true),
			0x220u - 0x1ec);
	KUNIT_EXPECT_EQ(test, mpa_compute_fpduptr(0x1ec, 0x200), 0x14u);
	/* FPDUPTR includes the bytes of the length field, but not those of a leading marker */
	KUNIT_EXPECT_EQ(test, mpa_compute_fpduptr(512, 1024), 508u);
}

/*
 * RFC 5044 4.3 (MPA-33): a marker that follows the last byte of an FPDU belongs to
 * the next FPDU.
 */
static void marker_after_fpdu_belongs_to_next(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mpa_count_markers(512 - 48, 48), 0u);
	KUNIT_EXPECT_EQ(test, mpa_count_markers(512 - 44, 48), 1u);
	KUNIT_EXPECT_EQ(test, mpa_compute_marker_distance(512 - 48), 48u);
	KUNIT_EXPECT_EQ(test, mpa_compute_marker_distance(512), 0u);
	KUNIT_EXPECT_EQ(test, mpa_compute_marker_distance(0u - 4), 4u);
	KUNIT_EXPECT_EQ(test, mpa_compute_marker_distance(4), 508u);
}

/*
 * RFC 5044 4.2, 8 (3) (MPA-22, MPA-23, MPA-25; on receive MPA-24, MPA-26; MPA-134):
 * markers are encoded correctly, a receiver detects a wrong FPDUPTR, and it ignores
 * the reserved bits.
 */
static void fpdu_markers_are_encoded_and_validated(struct kunit *test)
{
	static const u8 want[] = { 0, 0, 0xff, 0xfc };
	u8 p[MPA_MARKER_SIZE];
	u32 back;

	mpa_marker_encode(p, 0xfffc);
	KUNIT_EXPECT_EQ(test, memcmp(p, want, sizeof(want)), 0);
	for (back = 0; back <= 0xfffc; back += 4) {
		mpa_marker_encode(p, back);
		KUNIT_EXPECT_TRUE(test, mpa_marker_is_valid(p, back));
		KUNIT_EXPECT_FALSE(test, mpa_marker_is_valid(p, back + 4));
		KUNIT_EXPECT_FALSE(test, mpa_marker_is_valid(p, back + 0x10000));
		p[0] = 0xa5;
		p[1] = 0x5a;
		p[3] |= 3;
		KUNIT_EXPECT_TRUE(test, mpa_marker_is_valid(p, back));
	}
}

/* Get the maximum length of an FPDU over all positions in the stream, in bytes */
static u32 get_max_fpdu_len(u32 ulpdu_len, bool markers)
{
	u32 pos, len, max = 0;

	for (pos = 0; pos < MPA_MARKER_INTERVAL; pos += 4) {
		len = mpa_fpdu_wire_len(pos, ulpdu_len, markers);
		max = max(max, len);
	}
	return max;
}

/*
 * RFC 5044 4.5 (MPA-55, MPA-56): an FPDU with a ULPDU of MULPDU bytes has at most
 * EMSS bytes, at any position in the stream. With MULPDU + 1 bytes the FPDU is
 * longer at some position. MULPDU + 1 is not tested if EMSS is 1 to 3 bytes more
 * than a multiple of 512, because the RFC's formula then counts a marker that cannot
 * occur.
 */
static void mulpdu_is_largest_that_fits(struct kunit *test)
{
	u32 emss, got, over;
	int markers;

	for (emss = 160; emss < 9300; emss++) {
		for (markers = 0; markers <= 1; markers++) {
			got = mpa_compute_mulpdu(emss, markers);
			over = emss % MPA_MARKER_INTERVAL;
			KUNIT_EXPECT_LE(test, get_max_fpdu_len(got, markers), emss);
			if (markers && over >= 1 && over <= 3)
				continue;
			KUNIT_EXPECT_GT_MSG(test, get_max_fpdu_len(got + 1, markers),
					    emss, "emss %u", emss);
		}
	}
}

/*
 * RFC 5044 3, 4.5 (MPA-6, MPA-7, MPA-60, and examples of MPA-55, MPA-56): MULPDU is
 * at least 128 and at most 64768 bytes.
 */
static void mulpdu_is_between_128_and_64768(struct kunit *test)
{
	u32 emss;

	KUNIT_EXPECT_EQ(test, mpa_compute_mulpdu(1460, true), 1442u);
	KUNIT_EXPECT_EQ(test, mpa_compute_mulpdu(1460, false), 1454u);
	KUNIT_EXPECT_EQ(test, mpa_compute_mulpdu(1448, false), 1442u);
	KUNIT_EXPECT_EQ(test, mpa_compute_mulpdu(513, true), 498u);
	for (emss = 0; emss < 134; emss++) {
		KUNIT_EXPECT_EQ(test, mpa_compute_mulpdu(emss, false), 128u);
		KUNIT_EXPECT_EQ(test, mpa_compute_mulpdu(emss, true), 128u);
	}
	KUNIT_EXPECT_EQ(test, mpa_compute_mulpdu(136, false), 130u);
	for (emss = 65483; emss < 70000; emss++) {
		KUNIT_EXPECT_EQ(test, mpa_compute_mulpdu(emss, false), 64768u);
		KUNIT_EXPECT_EQ(test, mpa_compute_mulpdu(emss, true), 64768u);
	}
	/* the 16 bits of FPDUPTR are enough for the longest FPDU */
	KUNIT_EXPECT_LE(test, get_max_fpdu_len(64768, true), 0xffffu);
}

/* A batch fills whole skbs of TCP, or one skb if an skb can be longer than a batch */
static void batch_fills_whole_skbs(struct kunit *test)
{
	u32 emss, limit;

	/* 45 segments in an Ethernet skb, although 65536 bytes would be more */
	KUNIT_EXPECT_EQ(test, mpa_compute_batch_limit(1448, 65215), 45 * 1448u);
	KUNIT_EXPECT_EQ(test, mpa_compute_batch_limit(8948, 65215), 7 * 8948u);
	/* the interface permits few segments in an skb */
	KUNIT_EXPECT_EQ(test, mpa_compute_batch_limit(1448, 16384), 44 * 1448u);
	/* no skb has more than one segment */
	KUNIT_EXPECT_EQ(test, mpa_compute_batch_limit(1448, 0), 45 * 1448u);
	KUNIT_EXPECT_EQ(test, mpa_compute_batch_limit(65483, 65215), 2 * 65483u);
	/* skbs are longer than batches */
	KUNIT_EXPECT_EQ(test, mpa_compute_batch_limit(1448, 524280), 65536u);
	KUNIT_EXPECT_EQ(test, mpa_compute_batch_limit(0, 65215), 65536u);
	for (emss = 1; emss < 70000; emss += 7) {
		limit = mpa_compute_batch_limit(emss, 65215);
		KUNIT_EXPECT_GE(test, limit, emss);
		KUNIT_EXPECT_LE(test, limit, max(65536u, 2 * emss));
		KUNIT_EXPECT_EQ(test, limit % emss, 0u);
	}
}

static struct kunit_case fpdu_cases[] = {
	KUNIT_CASE(fpdu_content_is_padded),
	KUNIT_CASE(fpdu_lengths_match_reference),
	KUNIT_CASE(fpdu_decode_needs_whole_length_field),
	KUNIT_CASE(fpdu_matches_rfc5044_figures),
	KUNIT_CASE(marker_after_fpdu_belongs_to_next),
	KUNIT_CASE(fpdu_markers_are_encoded_and_validated),
	KUNIT_CASE(mulpdu_is_largest_that_fits),
	KUNIT_CASE(batch_fills_whole_skbs),
	KUNIT_CASE(mulpdu_is_between_128_and_64768),
	{}
};

static struct kunit_suite fpdu_suite = {
	.name = "mpa_fpdu",
	.test_cases = fpdu_cases,
};

kunit_test_suite(fpdu_suite);
