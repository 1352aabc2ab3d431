// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Segments of one message: how long the use of its memory stays, and which of them goes
 * on where the one before it ended.
 */
#include <kunit/test.h>

#include "rx.h"

/* A use of memory ----------------------------------------------------------- */

static const struct ddp_hdr write_goes_on = { .tagged = true };

/* From one segment of a message to the next, within a run, and no further */
static void use_stays(struct kunit *test)
{
	struct ddp_stream *s = rx_open();

	ddp_rx_begin(s);
	rx_comes(s, &write_goes_on, 0, 50);
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_held);
	rx_comes(s, &good_write, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	rx_comes(s, &write_goes_on, 0, 50);
	rx_comes(s, &good_send, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	/* without octets nobody looks whether it may be used any more */
	rx_comes(s, &write_goes_on, 0, 50);
	rx_comes(s, &write_goes_on, 0, 14);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	rx_comes(s, &write_goes_on, 0, 50);
	ddp_rx_end(s);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	rx_comes(s, &write_goes_on, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	KUNIT_EXPECT_EQ(test, 2u, world.delivered);
	KUNIT_EXPECT_EQ(test, 0u, world.held);
}

/* ... and who hears of a failure may invalidate it, whatever failed */
static void use_ends_with_a_failure(struct kunit *test)
{
	const struct ddp_hdr bad_send = { .msn = 2 };
	struct ddp_stream *s;
	int how;

	for (how = 0; how < 3; how++) {
		s = rx_open();
		ddp_rx_begin(s);
		rx_comes(s, &write_goes_on, 0, 50);
		if (how == 0)
			world.admits = IW_RDMAP_OPCODE;
		if (how == 1)
			rx_comes(s, &bad_send, 0, 50);
		else
			rx_comes(s, &write_goes_on, 0, how ? 13 : 50);
		KUNIT_EXPECT_EQ(test, 1u, world.failed);
		KUNIT_EXPECT_EQ(test, 0u, world.held);
		KUNIT_EXPECT_NULL(test, s->rx_held);
		ddp_rx_end(s);
	}
	/* the lower layer's, too */
	s = rx_open();
	ddp_rx_begin(s);
	rx_comes(s, &write_goes_on, 0, 50);
	ddp_llp_error(s, IW_MPA_CRC);
	KUNIT_EXPECT_EQ(test, 1u, world.failed);
	KUNIT_EXPECT_EQ(test, 0u, world.held);
	ddp_rx_end(s);
}

/* Going on ------------------------------------------------------------------ */

/* A segment that may go on with the last one's message is what its own octets say */
static void expect_own(struct kunit *test, const u8 *octets, u32 len)
{
	struct ddp_stream *s = rx_open();
	const struct ddp_hdr first = {
		.tagged = true, .ulp8 = 0x40, .stag = 0x12345678, .to = 0xfffffff0,
	};
	struct ddp_hdr h;
	bool good;

	ddp_rx_begin(s);
	rx_comes(s, &first, 0, 50);
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_held);
	memset(&wire, 0, sizeof(wire));
	memcpy(wire.octets, octets, IW_DDP_T_HDR_LEN);
	wire.at = IW_DDP_T_HDR_LEN;
	good = !ddp_hdr_decode(&h, wire.octets, min(len, (u32)IW_DDP_HDR_MAX));
	ddp_rx_segment(s, &llp, wire.octets, len);
	if (!good || !h.tagged) {
		KUNIT_EXPECT_EQ(test, 1u, world.admitted);
		KUNIT_EXPECT_EQ(test, 1u, world.failed);
	} else {
		KUNIT_EXPECT_EQ(test, 2u, world.admitted);
		KUNIT_EXPECT_EQ(test, 0, memcmp(&h, &world.asked, sizeof(h)));
		KUNIT_EXPECT_EQ(test, len - IW_DDP_T_HDR_LEN, world.payload);
		KUNIT_EXPECT_EQ(test, (u32)h.last, world.delivered);
	}
	ddp_rx_end(s);
}

static void goes_on(struct kunit *test)
{
	const struct ddp_hdr next = {
		.tagged = true, .ulp8 = 0x40, .stag = 0x12345678,
		.to = 0xfffffff0ull + 36,
	};
	u8 octets[IW_DDP_HDR_MAX];
	u32 len, bit;

	for (len = 15; len < 60; len++) {
		ddp_hdr_encode(octets, &next);
		expect_own(test, octets, len);
		KUNIT_EXPECT_EQ(test, (u32)(len == 50), world.went_on);
		for (bit = 0; bit < 8 * IW_DDP_T_HDR_LEN; bit++) {
			octets[bit / 8] ^= 1 << bit % 8;
			expect_own(test, octets, len);
			octets[bit / 8] ^= 1 << bit % 8;
		}
	}
}

/* What is not tagged never does, whatever its fields look like */
static void untagged_begins_anew(struct kunit *test)
{
	struct ddp_stream *s = rx_open();
	struct ddp_hdr h = { .msn = 1 };

	ddp_rx_begin(s);
	/* so many octets as its MSN: as a TO would go on */
	for (h.mo = 0; h.mo < 3; h.mo++) {
		h.last = h.mo == 2;
		rx_comes(s, &h, 0, IW_DDP_HDR_MAX + 1);
		KUNIT_EXPECT_EQ(test, h.mo, world.asked.mo);
	}
	KUNIT_EXPECT_EQ(test, 1u, world.delivered);
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
	ddp_rx_end(s);
}

/* What failed is quoted as it came */
static void goes_on_and_fails(struct kunit *test)
{
	struct ddp_stream *s = rx_open();
	struct ddp_hdr h = { .tagged = true, .to = 100 };

	ddp_rx_begin(s);
	rx_comes(s, &h, 0, 50);
	h.to += 36;
	world.places = IW_DDP_T_BOUNDS;
	rx_comes(s, &h, 0, 50);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, world.why);
	KUNIT_EXPECT_EQ(test, 50u, world.quoted.seg_len);
	KUNIT_EXPECT_EQ(test, (u32)IW_DDP_T_HDR_LEN, world.quoted.ddp_len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(wire.octets, world.quoted.ddp, IW_DDP_T_HDR_LEN));
	ddp_rx_end(s);
}

static struct kunit_case rx_more_cases[] = {
	KUNIT_CASE(use_stays),
	KUNIT_CASE(use_ends_with_a_failure),
	KUNIT_CASE(goes_on),
	KUNIT_CASE(untagged_begins_anew),
	KUNIT_CASE(goes_on_and_fails),
	{}
};

static struct kunit_suite rx_more_suite = {
	.name = "rx_more",
	.test_cases = rx_more_cases,
};

kunit_test_suite(rx_more_suite);
