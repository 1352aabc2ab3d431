// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test the CRC with the two example FPDUs of RFC 5044. */
#include <kunit/test.h>

#include "../crc.h"

/* RFC 5044 figure 5: the first FPDU of a stream, which begins with a marker */
static const u8 figure5[48] = {
	0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x41, 0x43,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x01,
};

/* RFC 5044 figure 6: the second FPDU, at position 0x1ec, with a marker inside */
static const u8 figure6[48] = {
	0x00, 0x2a, 0x41, 0x43, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x14,
};

static const u8 crc5[MPA_CRC_SIZE] = { 0x52, 0x23, 0x99, 0x83 };
static const u8 crc6[MPA_CRC_SIZE] = { 0x84, 0x92, 0x58, 0x98 };

/*
 * Compute the CRC of @p with two calls of mpa_crc_update(), the first for @cut bytes.
 * Return: true if the CRC field is @want, false otherwise.
 */
static bool has_crc(const u8 *p, size_t len, size_t cut, const u8 *want)
{
	u8 got[MPA_CRC_SIZE];
	u32 crc = mpa_crc_init();

	crc = mpa_crc_update(crc, p, cut);
	crc = mpa_crc_update(crc, p + cut, len - cut);
	mpa_crc_final(crc, got);
	return !memcmp(got, want, sizeof(got));
}

/*
 * RFC 5044 4.3, 4.4 (MPA-33, MPA-48, MPA-49, MPA-51, MPA-52): the CRCs of figures
 * 5 and 6 are computed correctly, wherever the bytes are split into two calls.
 */
static void crc_matches_rfc5044_figures(struct kunit *test)
{
	size_t cut;

	for (cut = 0; cut <= sizeof(figure5); cut++) {
		KUNIT_EXPECT_TRUE(test, has_crc(figure5, sizeof(figure5), cut,
						crc5));
		KUNIT_EXPECT_TRUE(test, has_crc(figure6, sizeof(figure6), cut,
						crc6));
	}
}

/* RFC 5044 4.4 (MPA-54): the CRC detects a change of any single bit. */
static void crc_detects_every_bit_flip(struct kunit *test)
{
	u8 copy[sizeof(figure5)];
	size_t bit;

	for (bit = 0; bit < 8 * sizeof(copy); bit++) {
		memcpy(copy, figure5, sizeof(copy));
		copy[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_FALSE(test, has_crc(copy, sizeof(copy), 0, crc5));
	}
}

/*
 * RFC 5044 4.4 (MPA-48): the CRC of "123456789" is the published check value of
 * CRC32c, stored least significant byte first.
 */
static void crc_matches_check_value(struct kunit *test)
{
	static const u8 want[MPA_CRC_SIZE] = { 0x83, 0x92, 0x06, 0xe3 };
	static const u8 none[MPA_CRC_SIZE];

	KUNIT_EXPECT_TRUE(test, has_crc((const u8 *)"123456789", 9, 4, want));
	KUNIT_EXPECT_TRUE(test, has_crc(none, 0, 0, none));
}

static struct kunit_case crc_cases[] = {
	KUNIT_CASE(crc_matches_rfc5044_figures),
	KUNIT_CASE(crc_detects_every_bit_flip),
	KUNIT_CASE(crc_matches_check_value),
	{}
};

static struct kunit_suite crc_suite = {
	.name = "mpa_crc",
	.test_cases = crc_cases,
};

kunit_test_suite(crc_suite);
