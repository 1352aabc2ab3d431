// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Test how MPA start-up handles received frames: compare the results for all kinds
 * of frames with a reference, and split frames at all positions.
 */
#include <kunit/test.h>

#include "../startup.h"

/* Input of a start-up: role and settings of this side, and fields of the peer's frame */
struct given {
	bool	initiator;
	bool	enhanced;	/* this side is the initiator and sends an enhanced Request */
	bool	crc;		/* this side requests CRC */
	bool	markers;	/* this side requests markers */
	u8	ours;		/* highest MPA revision of this side */
	u8	flags;		/* flags of the peer's frame */
	u8	rev;		/* Rev of the peer's frame */
	u16	pd_len;		/* PD_Length of the peer's frame */
};

/* Result of a start-up */
struct outcome {
	enum mpa_want	want;		/* next step */
	enum iw_reason	why;		/* reason if start-up has failed */
	ssize_t		last;		/* last result of mpa_startup_process_input() */
	size_t		eaten;		/* number of bytes consumed */
};

#define EXPECT_WANT(test, s, want) \
	KUNIT_EXPECT_EQ(test, mpa_startup_get_next_step(s), want)

/* static, because these variables are too large for the stack */
static struct mpa_startup su, other;
static struct ddp_offer offer;
static u8 frame[MPA_FRAME_MAX + 64];
static u8 ours[MPA_FRAME_MAX];

static const u16 data_lengths[] = { 0, 3, 4, 5, 512, 513 };
static const u8 revisions[] = { 0, 1, 2, 3, 255 };

static u8 get_pattern_byte(size_t i)
{
	return i * 7 + 3;
}

static void fill_offer(bool enhanced, u16 pd_len)
{
	size_t i;

	memset(&offer, 0, sizeof(offer));
	offer.enhanced = enhanced;
	offer.ird = 3;
	offer.ord = 0x1234;
	offer.rtr = DDP_RTR_P2P | DDP_RTR_WRITE;
	offer.pd_len = pd_len;
	for (i = 0; i < pd_len; i++)
		offer.pd[i] = get_pattern_byte(i);
}

/*
 * Build the peer's frame in frame[], and fill the rest of frame[] with other bytes.
 * Return: length of the frame in bytes.
 */
static size_t build_frame(const struct given *g)
{
	size_t i, len = 20 + g->pd_len;

	memset(frame, 0xee, sizeof(frame));
	memcpy(frame, g->initiator ? "MPA ID Rep Frame" : "MPA ID Req Frame",
	       16);
	frame[16] = g->flags;
	frame[17] = g->rev;
	frame[18] = g->pd_len >> 8;
	frame[19] = g->pd_len;
	for (i = 20; i < len; i++)
		frame[i] = get_pattern_byte(i - 20);
	return len;
}

/* Advance the state machine until it waits for the peer's frame */
static void begin_startup(const struct given *g)
{
	mpa_startup_init(&su, g->initiator, g->ours, g->crc, g->markers);
	if (!g->initiator)
		return;
	fill_offer(g->enhanced, 8);
	mpa_startup_set_offer(&su, &offer);
	mpa_startup_record_frame_sent(&su);
}

/*
 * Pass up to @len bytes of frame[] to the state machine, @piece bytes at a time, as
 * long as the next step is MPA_WANT_READ
 */
static void feed_frame(struct outcome *o, size_t len, size_t piece)
{
	size_t n;

	memset(o, 0, sizeof(*o));
	while (mpa_startup_get_next_step(&su) == MPA_WANT_READ && o->eaten < len) {
		n = min(piece, len - o->eaten);
		o->last = mpa_startup_process_input(&su, frame + o->eaten, n);
		if (o->last < 0)
			break;
		o->eaten += o->last;
	}
	o->want = mpa_startup_get_next_step(&su);
	o->why = su.why;
}

/* Set *@why to @because, the reason for closing. Return: MPA_WANT_CLOSE. */
static enum mpa_want set_reason_and_return_close(enum iw_reason *why, enum iw_reason because)
{
	*why = because;
	return MPA_WANT_CLOSE;
}

/*
 * Reference: get the next step that RFC 5044 7.1.1 and RFC 6581 6, 9 and 10 require
 * after the peer's frame
 */
static enum mpa_want get_expected_next_step(const struct given *g, enum iw_reason *why)
{
	bool word = g->rev == 2 && g->flags & 0x10;
	bool no = g->initiator && g->flags & 0x20;

	*why = IW_OK;
	if (g->rev == 0 || g->rev > g->ours || g->pd_len > 512)
		return set_reason_and_return_close(why, IW_MPA_STARTUP);
	if (word && g->pd_len < 4 && !no)
		return set_reason_and_return_close(why, IW_MPA_STARTUP);
	word = word && g->pd_len >= 4;
	if (!g->initiator)
		return MPA_WANT_OFFER;
	if (word && !g->enhanced)
		return set_reason_and_return_close(why, IW_MPA_STARTUP);
	if (no && (word || !g->enhanced || g->rev == 2))
		return set_reason_and_return_close(why, IW_PEER_REJECT);
	if (word || !g->enhanced)
		return MPA_WANT_ENTER;
	*why = IW_MPA_STARTUP;
	return MPA_WANT_RETRY;
}

#define ROWS (ARRAY_SIZE(data_lengths) * ARRAY_SIZE(revisions) * 256 * 16)

/*
 * Set @g to combination number @i. Return: true if the combination is possible, false
 * otherwise.
 */
static bool try_set_combination(struct given *g, u32 i)
{
	g->flags = i;
	i >>= 8;
	g->initiator = i & 1;
	g->enhanced = i & 2;
	g->crc = i & 4;
	g->markers = g->crc;
	g->ours = i & 8 ? 2 : 1;
	i >>= 4;
	g->rev = revisions[i % ARRAY_SIZE(revisions)];
	i /= ARRAY_SIZE(revisions);
	g->pd_len = data_lengths[i];
	if (!g->enhanced)
		return true;
	return g->initiator && g->ours == 2;
}

/* Expect that the results of start-up are those of the valid frame @g */
static void expect_startup_results(struct kunit *test, const struct given *g)
{
	/* only a reject can be too short for the word that flag S announces */
	bool word = g->rev == 2 && g->flags & 0x10 && g->pd_len >= 4;
	bool no = g->initiator && g->flags & 0x20;
	u32 skip = word ? 4 : 0;

	KUNIT_EXPECT_EQ(test, su.revision, g->rev);
	KUNIT_EXPECT_EQ(test, su.enhanced, word);
	KUNIT_EXPECT_EQ(test, su.peer.enhanced, word);
	KUNIT_EXPECT_EQ(test, su.peer.revision, g->rev);
	KUNIT_EXPECT_EQ(test, su.tx_markers, (bool)(g->flags & 0x80));
	KUNIT_EXPECT_EQ(test, su.rx_markers, g->markers);
	KUNIT_EXPECT_EQ(test, su.crc, g->crc || g->flags & 0x40);
	KUNIT_EXPECT_EQ(test, su.peer.crc, su.crc && !no);
	KUNIT_EXPECT_EQ(test, su.peer.tx_markers, su.tx_markers && !no);
	KUNIT_EXPECT_EQ(test, su.peer.rx_markers, su.rx_markers && !no);
	KUNIT_EXPECT_EQ(test, su.peer.pd_len, g->pd_len - skip);
	KUNIT_EXPECT_EQ(test, memcmp(su.peer.pd, frame + 20 + skip,
				     g->pd_len - skip), 0);
}

/* Expect that start-up has the result @whole also if the frame arrives byte by byte */
static void expect_same_result_bytewise(struct kunit *test, const struct given *g,
					const struct outcome *whole)
{
	struct outcome o;

	memcpy(&other, &su, sizeof(su));
	begin_startup(g);
	feed_frame(&o, sizeof(frame), 1);
	KUNIT_EXPECT_EQ(test, o.want, whole->want);
	KUNIT_EXPECT_EQ(test, memcmp(&su, &other, sizeof(su)), 0);
	KUNIT_EXPECT_LE(test, o.eaten, 20 + g->pd_len);
}

/*
 * The state machine agrees with the reference for all combinations of flags, Rev,
 * PD_Length, role and revision. RFC 5044 4.4, 7.1, 8 (4): MPA-42, MPA-74, MPA-83 to
 * MPA-86, MPA-88, MPA-89, MPA-91, MPA-93 to MPA-95, MPA-97 to MPA-99, MPA-120,
 * MPA-138. RFC 6581 6, 10: MPA2-5, MPA2-8, MPA2-9, MPA2-63, MPA2-66.
 */
static void startup_matches_reference(struct kunit *test)
{
	struct outcome o, ref;
	struct given g;
	u32 i;

	for (i = 0; i < ROWS; i++) {
		if (!try_set_combination(&g, i))
			continue;
		ref.eaten = build_frame(&g);
		ref.want = get_expected_next_step(&g, &ref.why);
		begin_startup(&g);
		feed_frame(&o, sizeof(frame), sizeof(frame));
		KUNIT_EXPECT_EQ_MSG(test, o.want, ref.want,
				    "role %d ours %u/%d flags %#x rev %u pd %u",
				    g.initiator, g.ours, g.enhanced, g.flags,
				    g.rev, g.pd_len);
		KUNIT_EXPECT_EQ(test, o.why, ref.why);
		if (o.last >= 0)
			KUNIT_EXPECT_EQ(test, o.eaten, ref.eaten);
		KUNIT_EXPECT_EQ(test, o.last < 0, o.want == MPA_WANT_CLOSE &&
				o.why != IW_PEER_REJECT);
		if (o.want == MPA_WANT_ENTER || o.want == MPA_WANT_OFFER ||
		    o.why == IW_PEER_REJECT)
			expect_startup_results(test, &g);
		if (!(g.flags & 0x0f))
			expect_same_result_bytewise(test, &g, &o);
	}
}

/*
 * A valid frame of each kind leads to the same result, wherever it is split in two,
 * and the byte after the frame is not consumed.
 */
static void startup_accepts_split_frames(struct kunit *test)
{
	static const struct given kinds[] = {
		{ .ours = 2, .rev = 2, .flags = 0xd0, .pd_len = 512 },
		{ .ours = 1, .rev = 1, .flags = 0x0f, .pd_len = 17 },
		{ .initiator = true, .enhanced = true, .ours = 2, .rev = 2,
		  .flags = 0x50, .pd_len = 512 },
		{ .initiator = true, .ours = 2, .rev = 1, .flags = 0x20,
		  .pd_len = 100 },
		{ .initiator = true, .enhanced = true, .ours = 2, .rev = 1,
		  .pd_len = 4 },
	};
	enum iw_reason why;
	size_t i, cut, len;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		len = build_frame(&kinds[i]);
		for (cut = 0; cut <= len; cut++) {
			begin_startup(&kinds[i]);
			KUNIT_EXPECT_EQ(test, cut,
					mpa_startup_process_input(&su, frame, cut));
			KUNIT_EXPECT_EQ(test, (ssize_t)(len - cut),
					cut == len ? 0 :
					mpa_startup_process_input(&su, frame + cut,
								  len - cut + 1));
			EXPECT_WANT(test, &su, get_expected_next_step(&kinds[i], &why));
			KUNIT_EXPECT_EQ(test, su.why, why);
		}
	}
}

/*
 * A caller that always reads the number of bytes that mpa_startup_get_missing_len() returns
 * reads the whole frame, and no byte after the frame.
 */
static void startup_missing_len_ends_with_frame(struct kunit *test)
{
	struct given g = { .ours = 2, .rev = 2, .flags = 0x10 };
	size_t at, need, len;

	for (g.pd_len = 4; g.pd_len <= 512; g.pd_len++) {
		len = build_frame(&g);
		begin_startup(&g);
		KUNIT_EXPECT_EQ(test, mpa_startup_get_missing_len(&su), 20);
		for (at = 0; (need = mpa_startup_get_missing_len(&su)); at += need)
			mpa_startup_process_input(&su, frame + at, need);
		KUNIT_EXPECT_EQ(test, at, len);
		EXPECT_WANT(test, &su, MPA_WANT_OFFER);
	}
}

/*
 * RFC 5044 7.1.1, 7.1.2 (5), (8) (MPA-80, MPA-82, MPA-114, MPA-118): a wrong key is
 * refused at its first wrong byte.
 */
static void startup_refuses_wrong_key(struct kunit *test)
{
	struct given g = { .ours = 2, .rev = 1 };
	struct outcome o;
	size_t i;

	for (i = 0; i < 32; i++) {
		g.initiator = i / 16;
		build_frame(&g);
		frame[i % 16] ^= 0x20;
		begin_startup(&g);
		feed_frame(&o, 20, 1);
		KUNIT_EXPECT_EQ(test, o.want, MPA_WANT_CLOSE);
		KUNIT_EXPECT_EQ(test, o.why, IW_MPA_STARTUP);
		KUNIT_EXPECT_EQ(test, o.eaten, i % 16);
	}
	/* the peer has the role of this side: two initiators, or two responders */
	for (i = 0; i < 2; i++) {
		g.initiator = i;
		build_frame(&g);
		g.initiator = !i;
		begin_startup(&g);
		feed_frame(&o, 20, 20);
		KUNIT_EXPECT_EQ(test, o.last, -(ssize_t)IW_MPA_STARTUP);
	}
}

/*
 * RFC 5044 7.1.1 (MPA-97): a truncated frame is an error. RFC 6581 10 (MPA2-67): an
 * initiator retries if the peer closes without a Reply to an enhanced Request.
 */
static void startup_ends_or_retries_on_eof(struct kunit *test)
{
	struct given g = { .ours = 2, .rev = 2, .flags = 0x10, .pd_len = 30 };
	bool truncated;
	struct outcome o;
	size_t i, n;

	for (i = 0; i < 3 * 50; i++) {
		n = i / 3;
		truncated = n > 0;
		g.initiator = i % 3;
		g.enhanced = i % 3 == 2;
		build_frame(&g);
		begin_startup(&g);
		if (g.initiator && !g.enhanced)
			frame[16] = 0;
		feed_frame(&o, n, 50);
		mpa_startup_record_eof(&su, true);
		KUNIT_EXPECT_EQ(test, su.why, truncated ? IW_MPA_STARTUP :
				IW_MPA_LOST);
		EXPECT_WANT(test, &su, g.enhanced && !truncated ?
			    MPA_WANT_RETRY : MPA_WANT_CLOSE);
	}
}

/*
 * If the peer closes before our accepting Reply is sent, start-up fails. A rejecting
 * Reply is sent even if the peer has closed.
 */
static void startup_fails_on_eof_before_reply(struct kunit *test)
{
	struct given g = { .ours = 2, .rev = 1 };
	struct outcome o;

	build_frame(&g);
	fill_offer(false, 0);

	begin_startup(&g);
	feed_frame(&o, 20, 20);
	mpa_startup_record_eof(&su, true);
	KUNIT_EXPECT_EQ(test, su.why, IW_MPA_LOST);
	KUNIT_EXPECT_EQ(test, mpa_startup_set_offer(&su, &offer), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, mpa_startup_reject(&su, &offer), -ENOTCONN);

	begin_startup(&g);
	feed_frame(&o, 20, 20);
	mpa_startup_set_offer(&su, &offer);
	mpa_startup_record_eof(&su, true);
	KUNIT_EXPECT_EQ(test, su.why, IW_MPA_LOST);

	/* the rejecting Reply is still sent, and start-up ends afterwards */
	begin_startup(&g);
	feed_frame(&o, 20, 20);
	KUNIT_EXPECT_EQ(test, mpa_startup_reject(&su, &offer), 0);
	mpa_startup_record_eof(&su, true);
	EXPECT_WANT(test, &su, MPA_WANT_WRITE);
	mpa_startup_record_frame_sent(&su);
	EXPECT_WANT(test, &su, MPA_WANT_CLOSE);
	KUNIT_EXPECT_EQ(test, su.why, IW_LOCAL_CLOSE);
	mpa_startup_record_eof(&su, true);
	KUNIT_EXPECT_EQ(test, su.why, IW_LOCAL_CLOSE);
}

/*
 * RFC 5044 7.1.1, 7.1.2 (2), (9) (MPA-97, MPA-102): start-up fails if the
 * initiator sends data between its Request and our Reply.
 */
static void startup_refuses_early_data(struct kunit *test)
{
	struct given g = { .ours = 2, .rev = 1, .pd_len = 5 };
	struct outcome o;

	build_frame(&g);
	begin_startup(&g);
	feed_frame(&o, 26, 26);
	KUNIT_EXPECT_EQ(test, o.eaten, 25);
	KUNIT_EXPECT_EQ(test, mpa_startup_process_input(&su, frame + 25, 0), 0);
	KUNIT_EXPECT_EQ(test, mpa_startup_process_input(&su, frame + 25, 1),
			-(ssize_t)IW_MPA_STARTUP);
	EXPECT_WANT(test, &su, MPA_WANT_CLOSE);
	/* no byte is consumed after start-up has failed */
	KUNIT_EXPECT_EQ(test, mpa_startup_process_input(&su, frame, 20), 0);
}

/*
 * RFC 6581 10 (MPA2-67): if the Reply to an enhanced Request is not enhanced, the
 * initiator retries with revision 1 and succeeds.
 */
static void startup_falls_back_to_revision_1(struct kunit *test)
{
	struct given g = { .initiator = true, .enhanced = true, .ours = 2,
			   .rev = 1, .flags = 0x60, .pd_len = 9 };
	struct outcome o;

	build_frame(&g);
	begin_startup(&g);
	feed_frame(&o, 29, 29);
	KUNIT_EXPECT_EQ(test, o.want, MPA_WANT_RETRY);
	KUNIT_EXPECT_EQ(test, o.why, IW_MPA_STARTUP);

	mpa_startup_retry(&su);
	EXPECT_WANT(test, &su, MPA_WANT_WRITE);
	KUNIT_EXPECT_EQ(test, mpa_startup_encode_frame(&su, ours, sizeof(ours)), 28);
	KUNIT_EXPECT_EQ(test, ours[MPA_HDR_FLAGS], 0);
	KUNIT_EXPECT_EQ(test, ours[MPA_HDR_REV], 1);
	KUNIT_EXPECT_EQ(test, memcmp(ours + 20, offer.pd, 8), 0);

	mpa_startup_record_frame_sent(&su);
	g.flags = 0x80;
	build_frame(&g);
	feed_frame(&o, 29, 29);
	KUNIT_EXPECT_EQ(test, o.want, MPA_WANT_ENTER);
	g.enhanced = false;
	expect_startup_results(test, &g);
}

/* Let the peer close after our Request; expect that the next Request has revision @rev */
static void close_and_expect_next_revision(struct kunit *test, bool acked, u8 rev)
{
	mpa_startup_record_eof(&su, acked);
	EXPECT_WANT(test, &su, MPA_WANT_RETRY);
	KUNIT_EXPECT_EQ(test, su.why, IW_MPA_LOST);
	mpa_startup_retry(&su);
	EXPECT_WANT(test, &su, MPA_WANT_WRITE);
	KUNIT_EXPECT_EQ(test, mpa_startup_encode_frame(&su, ours, sizeof(ours)),
			rev == 2 ? 32 : 28);
	KUNIT_EXPECT_EQ(test, ours[MPA_HDR_FLAGS], rev == 2 ? MPA_FLAG_S : 0);
	KUNIT_EXPECT_EQ(test, ours[MPA_HDR_REV], rev);
	mpa_startup_record_frame_sent(&su);
}

/*
 * RFC 6581 10 (MPA2-67): a peer that closes before its TCP has acknowledged the enhanced
 * Request may support revision 2, so the initiator repeats the Request once. After
 * that, or if the Request was acknowledged, the initiator uses revision 1.
 */
static void startup_repeats_unacked_request(struct kunit *test)
{
	struct given g = { .initiator = true, .enhanced = true, .ours = 2 };

	begin_startup(&g);
	close_and_expect_next_revision(test, true, 1);

	begin_startup(&g);
	close_and_expect_next_revision(test, false, 2);
	close_and_expect_next_revision(test, true, 1);
	mpa_startup_record_eof(&su, false);
	EXPECT_WANT(test, &su, MPA_WANT_CLOSE);

	begin_startup(&g);
	close_and_expect_next_revision(test, false, 2);
	close_and_expect_next_revision(test, false, 1);
	mpa_startup_record_eof(&su, false);
	EXPECT_WANT(test, &su, MPA_WANT_CLOSE);
}

static struct kunit_case startup_cases[] = {
	KUNIT_CASE(startup_matches_reference),
	KUNIT_CASE(startup_accepts_split_frames),
	KUNIT_CASE(startup_missing_len_ends_with_frame),
	KUNIT_CASE(startup_refuses_wrong_key),
	KUNIT_CASE(startup_ends_or_retries_on_eof),
	KUNIT_CASE(startup_fails_on_eof_before_reply),
	KUNIT_CASE(startup_refuses_early_data),
	KUNIT_CASE(startup_falls_back_to_revision_1),
	KUNIT_CASE(startup_repeats_unacked_request),
	{}
};

static struct kunit_suite startup_suite = {
	.name = "mpa_startup",
	.test_cases = startup_cases,
};

kunit_test_suite(startup_suite);
