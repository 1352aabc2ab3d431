// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Test how FPDUs are copied and verified if the sender changes each byte of the source after
 * the byte was read. Each byte must be read exactly once, and the copy for DDP must contain
 * the bytes that were verified.
 */
#include <kunit/test.h>

#include "../crc.h"
#include "../fpdu_verify.h"

#define ULPDU_MOST	9000
#define WIRE_MOST	(ULPDU_MOST + 256)

static const u32 sizes[] = {
	0, 1, 2, 3, 4, 14, 42, 500, 505, 506, 507, 508, 511, 1442, 4095, 4096,
	4097, 8192, ULPDU_MOST,
};

/* Source of an FPDU, like a receive queue to which the sender can still write */
struct source {
	u8	src_bytes[WIRE_MOST];
	u8	times_read[WIRE_MOST];	/* number of times that each byte was read */
	u32	at;			/* index of the next byte to read */
};

struct fixture {
	struct source	src;
	u8		right[WIRE_MOST];	/* the FPDU before any change */
	u8		fpdu[WIRE_MOST];	/* the copy for DDP, without markers */
};

static u8 get_pattern_byte(u32 i)
{
	return i * 151 + (i >> 8);
}

/* Write an FPDU byte by byte, with a correct CRC. Return: length of the FPDU. */
static u32 build_fpdu(u8 *out, u32 start, u32 ulpdu_len, bool markers)
{
	u32 content = mpa_fpdu_content_len(ulpdu_len), at = 0, i;

	for (i = 0; i < content - MPA_CRC_SIZE; i++) {
		if (markers && !mpa_compute_marker_distance(start + at)) {
			mpa_marker_encode(out + at,
					  mpa_compute_fpduptr(start, start + at));
			at += MPA_MARKER_SIZE;
		}
		out[at++] = i == 0 ? ulpdu_len >> 8 :
			    i == 1 ? ulpdu_len :
			    i < MPA_LEN_SIZE + ulpdu_len ? get_pattern_byte(i) : 0;
	}
	if (markers && !mpa_compute_marker_distance(start + at)) {
		mpa_marker_encode(out + at, mpa_compute_fpduptr(start, start + at));
		at += MPA_MARKER_SIZE;
	}
	mpa_crc_final(mpa_crc_update(mpa_crc_init(), out, at), out + at);
	return at + MPA_CRC_SIZE;
}

/* Copy @len bytes from the source, and then change these bytes in the source */
static void copy_bytes_and_change_source(struct source *s, void *dst, u32 len)
{
	u32 i;

	memcpy(dst, s->src_bytes + s->at, len);
	for (i = s->at; i < s->at + len; i++) {
		s->times_read[i]++;
		s->src_bytes[i] = ~s->src_bytes[i];
	}
	s->at += len;
}

/* Copy and verify an FPDU with the calls that rx.c makes. Return: the result. */
static enum iw_reason copy_and_verify_fpdu(struct source *s, struct mpa_verify *t, u32 start,
					   u8 *fpdu)
{
	u8 head[MPA_FPDU_HEAD_MAX];
	struct mpa_fpdu f;
	void *to;
	u32 len;

	len = mpa_fpdu_head_len(start, t->markers);
	copy_bytes_and_change_source(s, head, len);
	mpa_fpdu_decode(&f, start, t->markers, head, len);
	mpa_verify_begin(t, &f, head, fpdu);
	while ((to = mpa_verify_get_next_dst(t, &len))) {
		copy_bytes_and_change_source(s, to, len);
		mpa_verify_add_copied(t, len);
	}
	return mpa_verify_get_result(t);
}

static struct fixture *new_fixture(struct kunit *test)
{
	struct fixture *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, x);
	return x;
}

/* Copy the @len bytes of the FPDU in @x->right to the source, and reset the counters */
static void load_source(struct fixture *x, u32 len)
{
	memcpy(x->src.src_bytes, x->right, len);
	memset(x->src.times_read, 0, sizeof(x->src.times_read));
	memset(x->fpdu, 0xee, sizeof(x->fpdu));
	x->src.at = 0;
}

/*
 * Copy and verify an FPDU from the changing source. Expect that each byte is read
 * once, the copied ULPDU is correct, and no byte after the copy is written.
 */
static void verify_fpdu_from_changing_source(struct kunit *test, struct fixture *x, u32 start,
					     u32 ulpdu_len, bool markers)
{
	struct mpa_verify t = { .markers = markers, .crc = true };
	u32 len, i, wrong = 0;

	len = build_fpdu(x->right, start, ulpdu_len, markers);
	load_source(x, len);
	KUNIT_EXPECT_EQ(test, copy_and_verify_fpdu(&x->src, &t, start, x->fpdu), IW_OK);
	KUNIT_EXPECT_EQ(test, t.f.ulpdu_len, ulpdu_len);
	KUNIT_EXPECT_EQ(test, t.f.wire_len, len);
	KUNIT_EXPECT_EQ(test, x->src.at, len);
	for (i = 0; i < len; i++)
		wrong += x->src.times_read[i] != 1;
	for (i = MPA_LEN_SIZE; i < MPA_LEN_SIZE + ulpdu_len; i++)
		wrong += x->fpdu[i] != get_pattern_byte(i);
	for (i = mpa_fpdu_content_len(ulpdu_len); i < WIRE_MOST; i++)
		wrong += x->fpdu[i] != 0xee;
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0u, "ULPDU of %u bytes at %#x, markers %d",
			    ulpdu_len, start, markers);
}

/*
 * RFC 5044 4.3, 6 (MPA-69; MPA-31 for positions that wrap at 2^32): the bytes passed to
 * DDP are the verified bytes, even if the sender changes the source.
 */
static void verify_reads_each_byte_once(struct kunit *test)
{
	struct fixture *x = new_fixture(test);
	u32 start;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		verify_fpdu_from_changing_source(test, x, 0, sizes[i], false);
		for (start = 0u - MPA_MARKER_INTERVAL;
		     start != MPA_MARKER_INTERVAL; start += 4)
			verify_fpdu_from_changing_source(test, x, start, sizes[i], true);
	}
}

/*
 * RFC 5044 4.4, 8 (2) (MPA-53, MPA-54, MPA-133): a change of any byte after the
 * length field is detected.
 */
static void verify_detects_each_change(struct kunit *test)
{
	struct fixture *x = new_fixture(test);
	struct mpa_verify t = { .markers = true, .crc = true };
	u32 start = 300, len, i;

	len = build_fpdu(x->right, start, 601, true);
	for (i = MPA_LEN_SIZE; i < len; i++) {
		load_source(x, len);
		x->src.src_bytes[i] ^= 0x10;
		KUNIT_EXPECT_EQ_MSG(test, copy_and_verify_fpdu(&x->src, &t, start, x->fpdu),
				    IW_MPA_CRC, "byte %u changed", i);
	}
}

/*
 * RFC 5044 8 (3) (MPA-134, MPA-136, MPA-137): each wrong marker is detected, both
 * if the CRC is correct and if CRC is not in use.
 */
static void verify_detects_wrong_markers(struct kunit *test)
{
	struct fixture *x = new_fixture(test);
	struct mpa_verify t = { .markers = true };
	u32 start = 512, len, at;

	len = build_fpdu(x->right, start, 1200, true);
	for (at = 0; at < len; at += MPA_MARKER_INTERVAL) {
		for (t.crc = false; ; t.crc = true) {
			load_source(x, len);
			x->src.src_bytes[at + 3] ^= 0x80;
			mpa_crc_final(mpa_crc_update(mpa_crc_init(),
						     x->src.src_bytes,
						     len - MPA_CRC_SIZE),
				      x->src.src_bytes + len - MPA_CRC_SIZE);
			KUNIT_EXPECT_EQ(test,
					copy_and_verify_fpdu(&x->src, &t, start, x->fpdu),
					IW_MPA_MARKER);
			if (t.crc)
				break;
		}
	}
}

/*
 * RFC 5044 4.1, 7.1.1 (MPA-21, MPA-87): if CRC is not in use, an FPDU with any value
 * in the CRC field is valid.
 */
static void verify_ignores_unused_crc(struct kunit *test)
{
	struct fixture *x = new_fixture(test);
	struct mpa_verify t = { .markers = true };
	u32 len = build_fpdu(x->right, 4, 77, true);

	memset(x->right + len - MPA_CRC_SIZE, 0xff, MPA_CRC_SIZE);
	load_source(x, len);
	KUNIT_EXPECT_EQ(test, copy_and_verify_fpdu(&x->src, &t, 4, x->fpdu), IW_OK);
	KUNIT_EXPECT_EQ(test, x->fpdu[78], get_pattern_byte(78));
}

static struct kunit_case take_cases[] = {
	KUNIT_CASE(verify_reads_each_byte_once),
	KUNIT_CASE(verify_detects_each_change),
	KUNIT_CASE(verify_detects_wrong_markers),
	KUNIT_CASE(verify_ignores_unused_crc),
	{}
};

static struct kunit_suite take_suite = {
	.name = "mpa_verify",
	.test_cases = take_cases,
};

kunit_test_suite(take_suite);
