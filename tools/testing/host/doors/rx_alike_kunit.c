// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Writes of one segment that are like what has just ended one: the use of its memory stays,
 * and they go a short way.
 */
#include <kunit/test.h>
#include <linux/mm.h>

#include "rx.h"

/* From one message to the next, within a run: at a Write's end nothing is invalidated */
static void use_outlasts_a_write(struct kunit *test)
{
	struct ddp_stream *s = rx_open();
	struct ddp_placed p;

	world.rights = DDP_REMOTE_WRITE;
	ddp_rx_begin(s);
	rx_comes(s, &good_write, 0, 50);
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_held);
	/* nothing goes on behind it */
	KUNIT_EXPECT_EQ(test, -1, ddp_rx_run_off(s));
	rx_comes(s, &good_send, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	rx_comes(s, &good_write, 0, 50);
	rx_comes(s, &good_write, 0, 14);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	rx_comes(s, &good_write, 0, 50);
	ddp_rx_end(s);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	rx_comes(s, &good_write, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_held);

	/* one whose turn has come is not what the next is compared with */
	ddp_rx_begin(s);
	rx_comes(s, &good_write, 0, 50);
	memcpy(p.hdr, wire.octets, sizeof(p.hdr));
	p.len = 50;
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_rx_placed(s, &p));
	KUNIT_EXPECT_NULL(test, s->rx_held);
	world.rights = DDP_LOCAL_WRITE;
	rx_comes(s, &good_write, 0, 50);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
}

static const struct ddp_hdr some_write = {
	.tagged = true, .last = true, .ulp8 = 0x40, .stag = 0x12345678, .to = 0xfffffff0,
};

/* Within a run, behind one Write */
static struct ddp_stream *alike_open(void)
{
	struct ddp_stream *s = rx_open();

	world.rights = DDP_REMOTE_WRITE;
	ddp_rx_begin(s);
	rx_comes(s, &some_write, 0, 50);
	return s;
}

/* It is another Write only if nothing but its TO differs: then, too, it is what it says */
static void expect_alike(struct kunit *test, const u8 *octets, u32 len, bool alike)
{
	struct ddp_stream *s = alike_open();
	enum iw_reason why = IW_UNREADABLE;
	bool taken;

	taken = ddp_rx_more(s, octets, octets + IW_DDP_T_HDR_LEN, len, &why);
	KUNIT_EXPECT_EQ(test, alike, taken);
	KUNIT_EXPECT_EQ(test, (u32)alike, world.another);
	KUNIT_EXPECT_EQ(test, 1u, world.admitted);
	KUNIT_EXPECT_EQ(test, 1u, world.delivered);
	if (alike) {
		KUNIT_EXPECT_EQ(test, IW_OK, why);
		KUNIT_EXPECT_EQ(test, get_unaligned_be64(octets + DDP_T_TO), world.to);
		KUNIT_EXPECT_EQ(test, len - IW_DDP_T_HDR_LEN, world.len);
		KUNIT_EXPECT_PTR_EQ(test, (const void *)octets + IW_DDP_T_HDR_LEN, world.body);
	}
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, (u32)alike, world.wrote);
}

static void alike(struct kunit *test)
{
	u8 octets[IW_DDP_HDR_MAX];
	u32 len, bit;

	ddp_hdr_encode(octets, &some_write);
	for (len = 15; len < 60; len++) {
		expect_alike(test, octets, len, len == 50);
		for (bit = 0; bit < 8 * IW_DDP_T_HDR_LEN; bit++) {
			octets[bit / 8] ^= 1 << bit % 8;
			expect_alike(test, octets, len, len == 50 && bit >= 8 * DDP_T_TO);
			octets[bit / 8] ^= 1 << bit % 8;
		}
	}
}

/* Many are told at once: before whatever comes behind them is asked about, or at the end */
static void alike_told(struct kunit *test)
{
	struct ddp_stream *s = alike_open();
	struct ddp_placed p = { .len = 50 };
	enum iw_reason why;
	u8 head[IW_DDP_HDR_MAX];
	u32 i;

	ddp_hdr_encode(head, &some_write);
	memcpy(p.hdr, head, sizeof(p.hdr));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, ddp_rx_more(s, head, head, 50, &why));
	KUNIT_EXPECT_EQ(test, 0u, world.wrote);
	rx_comes(s, &good_send, 0, 50);
	KUNIT_EXPECT_EQ(test, 3u, world.wrote);
	KUNIT_EXPECT_EQ(test, 36u, world.wrote_len);
	KUNIT_EXPECT_EQ(test, 3u, world.wrote_first);

	/* also where its turn has come */
	rx_comes(s, &some_write, 0, 50);
	KUNIT_EXPECT_TRUE(test, ddp_rx_more(s, head, head, 50, &why));
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_rx_placed(s, &p));
	KUNIT_EXPECT_EQ(test, 4u, world.wrote_first);

	/* the other side has failed it: what was placed before was */
	rx_comes(s, &some_write, 0, 50);
	KUNIT_EXPECT_TRUE(test, ddp_rx_more(s, head, head, 50, &why));
	set_bit(0, &s->failed);
	KUNIT_EXPECT_FALSE(test, ddp_rx_more(s, head, head, 50, &why));
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 5u, world.wrote);
	ddp_rx_begin(s);
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 5u, world.wrote);
}

/* A Write behind the end of one does not go on with it, and what begins is not another */
static void alike_is_no_part(struct kunit *test)
{
	struct ddp_hdr h = some_write;
	struct ddp_stream *s = alike_open();
	u8 head[IW_DDP_HDR_MAX];

	/* where the last one ended: by the lower layer's octets, as any */
	h.to += 36;
	rx_comes(s, &h, 0, 50);
	KUNIT_EXPECT_EQ(test, 1u, world.another);
	KUNIT_EXPECT_NULL(test, world.body);
	KUNIT_EXPECT_EQ(test, 1u, world.delivered);
	h.to += 36;
	ddp_hdr_encode(head, &h);
	KUNIT_EXPECT_FALSE(test, ddp_rx_joins(s, head, 50, 0));
	h.last = false;
	rx_comes(s, &h, 0, 50);
	h.to += 36;
	rx_comes(s, &h, 0, 50);
	KUNIT_EXPECT_EQ(test, 1u, world.delivered);
	KUNIT_EXPECT_EQ(test, 1u, world.wrote);
	h.to += 36;
	h.last = true;
	rx_comes(s, &h, 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, world.delivered);
	/* that was the end of a longer one: no matter */
	rx_comes(s, &some_write, 0, 50);
	KUNIT_EXPECT_EQ(test, 2u, world.another);
	KUNIT_EXPECT_EQ(test, 2u, world.delivered);
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
	ddp_rx_end(s);
}

/* Wherever it fails it is quoted as it came, is not delivered, and none comes behind it */
static void alike_fails(struct kunit *test)
{
	const enum iw_reason whys[] = { IW_DDP_T_BOUNDS, IW_RDMAP_UNSPEC };
	struct ddp_hdr h = some_write;
	enum iw_reason why;
	struct ddp_stream *s;
	u8 head[IW_DDP_HDR_MAX];
	u32 how;

	h.to = 0x1122334455667788;
	ddp_hdr_encode(head, &h);
	for (how = 0; how < ARRAY_SIZE(whys); how++) {
		s = alike_open();
		KUNIT_EXPECT_TRUE(test, ddp_rx_more(s, wire.octets, head, 50, &why));
		/* what RDMAP says goes first */
		world.places = IW_DDP_T_BOUNDS;
		if (how)
			world.admits = whys[how];
		KUNIT_EXPECT_TRUE(test, ddp_rx_more(s, head, head, 50, &why));
		KUNIT_EXPECT_EQ(test, whys[how], why);
		KUNIT_EXPECT_EQ(test, whys[how], world.why);
		KUNIT_EXPECT_EQ(test, 1u, world.failed);
		KUNIT_EXPECT_EQ(test, 1u, world.delivered);
		KUNIT_EXPECT_EQ(test, 1u, world.wrote);
		KUNIT_EXPECT_EQ(test, 1u, world.wrote_first);
		KUNIT_EXPECT_EQ(test, 2u, world.placed);
		KUNIT_EXPECT_EQ(test, 50u, world.quoted.seg_len);
		KUNIT_EXPECT_EQ(test, (u32)IW_DDP_T_HDR_LEN, world.quoted.ddp_len);
		KUNIT_EXPECT_EQ(test, 0, memcmp(head, world.quoted.ddp, IW_DDP_T_HDR_LEN));
		KUNIT_EXPECT_NULL(test, s->rx_held);
		world.places = IW_OK;
		world.admits = IW_OK;
		KUNIT_EXPECT_FALSE(test, ddp_rx_more(s, head, head, 50, &why));
		KUNIT_EXPECT_EQ(test, IW_DDP_CATASTROPHIC, ddp_rx_segment(s, &llp, head, 50));
		KUNIT_EXPECT_EQ(test, 1u, world.delivered);
		ddp_rx_end(s);
	}
}

/* The transmit side has failed it, whatever is held */
static void alike_after_a_failure(struct kunit *test)
{
	const struct iw_fault f = { .why = IW_LOCAL_PROT };
	struct ddp_stream *s = alike_open();
	enum iw_reason why;

	ddp_stream_fail(s, &f);
	KUNIT_EXPECT_PTR_EQ(test, &region, s->rx_held);
	KUNIT_EXPECT_FALSE(test, ddp_rx_more(s, wire.octets, wire.octets, 50, &why));
	KUNIT_EXPECT_EQ(test, 1u, world.placed);
	ddp_rx_end(s);
}

/* Its memory has to come first: admitted once, delivered once, and no other goes before it */
static void alike_waits(struct kunit *test)
{
	struct ddp_stream *s = alike_open();
	struct ddp_hdr h = some_write;
	enum iw_reason why;
	u8 head[IW_DDP_HDR_MAX];

	h.to += 1000;
	ddp_hdr_encode(head, &h);
	world.places = IW_NOT_NOW;
	KUNIT_EXPECT_TRUE(test, ddp_rx_more(s, head, head, 50, &why));
	KUNIT_EXPECT_EQ(test, IW_NOT_NOW, why);
	KUNIT_EXPECT_NULL(test, s->rx_held);
	ddp_rx_end(s);
	KUNIT_EXPECT_EQ(test, 2u, world.admitted);
	KUNIT_EXPECT_EQ(test, 1u, world.delivered);

	ddp_rx_begin(s);
	world.places = IW_OK;
	KUNIT_EXPECT_FALSE(test, ddp_rx_more(s, head, head, 50, &why));
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_rx_segment(s, &llp, head, 50));
	KUNIT_EXPECT_EQ(test, 2u, world.admitted);
	KUNIT_EXPECT_EQ(test, 2u, world.delivered);
	KUNIT_EXPECT_EQ(test, 0u, world.wrote);
	/* what needed the right then needs it now */
	KUNIT_EXPECT_EQ(test, (u8)DDP_REMOTE_WRITE, s->rx_seg.rights);
	KUNIT_EXPECT_TRUE(test, ddp_rx_more(s, head, head, 50, &why));
	KUNIT_EXPECT_EQ(test, IW_OK, why);
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
	ddp_rx_end(s);
}

static struct kunit_case rx_alike_cases[] = {
	KUNIT_CASE(use_outlasts_a_write),
	KUNIT_CASE(alike),
	KUNIT_CASE(alike_told),
	KUNIT_CASE(alike_is_no_part),
	KUNIT_CASE(alike_fails),
	KUNIT_CASE(alike_after_a_failure),
	KUNIT_CASE(alike_waits),
	{}
};

static struct kunit_suite rx_alike_suite = {
	.name = "rx_alike",
	.test_cases = rx_alike_cases,
};

kunit_test_suite(rx_alike_suite);
