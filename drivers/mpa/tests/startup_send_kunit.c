// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Test how MPA start-up encodes frames: compare Requests byte by byte, check that a
 * Reply matches its Request, and let an initiator and a responder exchange frames.
 */
#include <kunit/test.h>

#include "../startup.h"

#define EXPECT_WANT(test, s, want) \
	KUNIT_EXPECT_EQ(test, mpa_startup_get_next_step(s), want)

/* static, because these variables are too large for the stack */
static struct mpa_startup su, other;
static struct ddp_offer offer;
static u8 ours[MPA_FRAME_MAX];

static void fill_offer(bool enhanced, u16 pd_len)
{
	memset(&offer, 0, sizeof(offer));
	offer.enhanced = enhanced;
	offer.ird = 3;
	offer.ord = 0x1234;
	offer.rtr = DDP_RTR_P2P | DDP_RTR_WRITE;
	offer.pd_len = pd_len;
	while (pd_len--)
		offer.pd[pd_len] = pd_len * 7 + 3;
}

/* Encode the frame of @su in ours[]. Return: length of the frame in bytes. */
static size_t encode_frame(void)
{
	memset(ours, 0x55, sizeof(ours));
	return mpa_startup_encode_frame(&su, ours, sizeof(ours));
}

/*
 * Expect that the frame of @su has the @len bytes at @want, and that a buffer of
 * @len - 1 bytes is refused as too small
 */
static void expect_frame(struct kunit *test, const u8 *want, size_t len)
{
	KUNIT_EXPECT_EQ(test, mpa_startup_encode_frame(&su, ours, len - 1), 0);
	KUNIT_ASSERT_EQ(test, encode_frame(), len);
	KUNIT_EXPECT_EQ(test, memcmp(ours, want, len), 0);
	KUNIT_EXPECT_EQ(test, ours[len], 0x55);
}

/*
 * RFC 5044 7.1.1, 7.1.2 (1) (MPA-79, MPA-90, MPA-92, MPA-96, MPA-100, MPA-101), RFC
 * 6581 6, 9 (MPA2-4, MPA2-10, MPA2-25): Requests of revisions 1 and 2 are encoded
 * correctly.
 */
static void startup_encodes_request(struct kunit *test)
{
	static const u8 plain[] = {
		'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'q', ' ',
		'F', 'r', 'a', 'm', 'e', 0x40, 1, 0, 2, 3, 10,
	};
	static const u8 enhanced[] = {
		'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'q', ' ',
		'F', 'r', 'a', 'm', 'e', 0xd0, 2, 0, 6,
		0x80, 0x03, 0x92, 0x34, 3, 10,
	};

	fill_offer(false, 2);
	mpa_startup_init(&su, true, 2, true, false);
	EXPECT_WANT(test, &su, MPA_WANT_OFFER);
	KUNIT_EXPECT_EQ(test, encode_frame(), 0);
	KUNIT_EXPECT_EQ(test, mpa_startup_reject(&su, &offer), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, mpa_startup_set_offer(&su, &offer), 0);
	expect_frame(test, plain, sizeof(plain));
	KUNIT_EXPECT_EQ(test, mpa_startup_set_offer(&su, &offer), -ENOTCONN);

	fill_offer(true, 2);
	mpa_startup_init(&su, true, 2, true, true);
	KUNIT_EXPECT_EQ(test, mpa_startup_set_offer(&su, &offer), 0);
	expect_frame(test, enhanced, sizeof(enhanced));

	/* RFC 6581 6 (MPA2-7): a Request of revision 1 has no IRD/ORD word */
	mpa_startup_init(&su, true, 1, true, false);
	KUNIT_EXPECT_EQ(test, mpa_startup_set_offer(&su, &offer), 0);
	expect_frame(test, plain, sizeof(plain));
}

/* Expect that mpa_startup_set_offer() fails and does not change the state machine */
static void expect_offer_refused(struct kunit *test)
{
	static struct mpa_startup before;

	memcpy(&before, &su, sizeof(su));
	KUNIT_EXPECT_EQ(test, mpa_startup_set_offer(&su, &offer), -EINVAL);
	KUNIT_EXPECT_EQ(test, memcmp(&before, &su, sizeof(su)), 0);
}

/*
 * RFC 5044 7.1.1 (MPA-99), RFC 6581 7 (MPA2-15): Private Data of the maximum length
 * is accepted, and Private Data with one more byte is refused.
 */
static void startup_limits_private_data_and_depths(struct kunit *test)
{
	int enhanced;
	u16 most;

	for (enhanced = 0; enhanced <= 1; enhanced++) {
		most = enhanced ? 508 : 512;
		mpa_startup_init(&su, true, 2, true, false);
		fill_offer(enhanced, most);
		offer.pd_len++;
		expect_offer_refused(test);
		offer.pd_len--;
		KUNIT_EXPECT_EQ(test, mpa_startup_set_offer(&su, &offer), 0);
		KUNIT_EXPECT_EQ(test, encode_frame(), 532);
	}
	mpa_startup_init(&su, true, 2, true, false);
	offer.ird = 0x4000;
	expect_offer_refused(test);
	offer.ird = DDP_DEPTH_NONE;
	offer.ord = 0x8000;
	expect_offer_refused(test);
	offer.ord = DDP_DEPTH_NONE;
	KUNIT_EXPECT_EQ(test, mpa_startup_set_offer(&su, &offer), 0);
}

/*
 * Let @su receive a Request with 4 bytes of data: the IRD/ORD word with flag A if the
 * Request is enhanced, Private Data if not
 */
static void receive_request(u8 flags, u8 rev)
{
	u8 request[24] = "MPA ID Req Frame";

	request[16] = flags;
	request[17] = rev;
	request[19] = 4;
	request[20] = 0x80;
	mpa_startup_process_input(&su, request, sizeof(request));
}

/*
 * RFC 5044 7.1.1, 7.1.2 (2) (MPA-81, MPA-86, MPA-89, MPA-104, MPA-107), RFC 6581 10
 * (MPA2-60, MPA2-61, MPA2-64, MPA2-65): a Reply has the revision of its Request, and
 * is enhanced only if the Request was enhanced.
 */
static void startup_reply_has_revision_of_request(struct kunit *test)
{
	bool crc, markers, accept, word;
	u8 rev, flags, want;
	u32 i;

	for (i = 0; i < 64; i++) {
		rev = i & 1 ? 2 : 1;
		flags = (i & 2 ? 0x10 : 0) | (i & 4 ? 0x40 : 0);
		crc = i & 8;
		markers = i & 16;
		accept = i & 32;
		word = rev == 2 && flags & 0x10;
		mpa_startup_init(&su, false, 2, crc, markers);
		receive_request(flags, rev);
		fill_offer(true, 1);
		KUNIT_EXPECT_EQ(test, accept ? mpa_startup_set_offer(&su, &offer) :
				mpa_startup_reject(&su, &offer), 0);

		want = (markers ? 0x80 : 0) | (accept ? 0 : 0x20);
		want |= (word ? 0x10 : 0) | (crc ? 0x40 : 0) | (flags & 0x40);
		KUNIT_EXPECT_EQ(test, encode_frame(), word ? 25 : 21);
		KUNIT_EXPECT_EQ(test, memcmp(ours, "MPA ID Rep Frame", 16), 0);
		KUNIT_EXPECT_EQ(test, ours[16], want);
		KUNIT_EXPECT_EQ(test, ours[17], rev);
		KUNIT_EXPECT_EQ(test, ours[19], word ? 5 : 1);
		mpa_startup_record_frame_sent(&su);
		EXPECT_WANT(test, &su, accept ? MPA_WANT_ENTER :
			    MPA_WANT_CLOSE);
	}
}

/*
 * RFC 6581 7: if the ULP rejects an enhanced Request without giving IRD and
 * ORD, the Reply still has an IRD/ORD word. The ULP cannot accept such a Request
 * without giving IRD and ORD.
 */
static void reject_without_depths_has_ird_ord_word(struct kunit *test)
{
	static const u8 word[] = { 0xbf, 0xff, 0x3f, 0xff };

	mpa_startup_init(&su, false, 2, true, false);
	receive_request(0x10, 2);
	fill_offer(false, 1);
	KUNIT_EXPECT_EQ(test, mpa_startup_set_offer(&su, &offer), -EINVAL);
	EXPECT_WANT(test, &su, MPA_WANT_OFFER);
	KUNIT_EXPECT_EQ(test, mpa_startup_reject(&su, &offer), 0);
	KUNIT_EXPECT_EQ(test, encode_frame(), 25);
	KUNIT_EXPECT_EQ(test, memcmp(ours + 20, word, sizeof(word)), 0);
	KUNIT_EXPECT_EQ(test, ours[24], offer.pd[0]);
}

/*
 * RFC 6581 9, 12 (MPA2-25, MPA2-36, MPA2-54, MPA2-55, MPA2-68): IRD, ORD and RTR
 * flags are unchanged after encoding and decoding; without flag A, no other RTR flag
 * is set after decoding.
 */
static void startup_ird_ord_word_survives_round_trip(struct kunit *test)
{
	struct ddp_offer *a = &offer, *b = &other.peer;
	u32 i, word;

	fill_offer(true, 0);
	for (i = 0; i < 0x4000 * 16; i++) {
		a->ird = i >> 4;
		a->ord = a->ird ^ 0x3fff;
		a->rtr = i & 15;
		word = ddp_offer_encode_ird_ord(a);
		ddp_offer_decode_ird_ord(b, word);
		KUNIT_EXPECT_EQ(test, word & 0x3fff3fff,
				(u32)a->ird << 16 | a->ord);
		KUNIT_EXPECT_EQ(test, a->ird, b->ird);
		KUNIT_EXPECT_EQ(test, a->ord, b->ord);
		KUNIT_EXPECT_EQ(test, b->rtr,
				(u8)(i & DDP_RTR_P2P ? a->rtr : 0));
	}
	/* each RTR flag is decoded from its own bit, and only if flag A is set */
	ddp_offer_decode_ird_ord(b, 0xc0000000);
	KUNIT_EXPECT_EQ(test, b->rtr, DDP_RTR_P2P | DDP_RTR_SEND);
	ddp_offer_decode_ird_ord(b, 0x80004000);
	KUNIT_EXPECT_EQ(test, b->rtr, DDP_RTR_P2P | DDP_RTR_READ);
	ddp_offer_decode_ird_ord(b, 0x4000c000);
	KUNIT_EXPECT_EQ(test, b->rtr, 0);
}

/* Let @from send its frame, and pass the frame to @to */
static void transfer_frame(struct mpa_startup *from, struct mpa_startup *to)
{
	size_t len = mpa_startup_encode_frame(from, ours, sizeof(ours));

	mpa_startup_record_frame_sent(from);
	mpa_startup_process_input(to, ours, len);
}

/*
 * Expect that both sides enter Full Operation with the same parameters. @word: true
 * if both frames must have an IRD/ORD word.
 */
static void expect_agreement(struct kunit *test, bool word)
{
	EXPECT_WANT(test, &su, MPA_WANT_ENTER);
	EXPECT_WANT(test, &other, MPA_WANT_ENTER);
	KUNIT_EXPECT_EQ(test, su.tx_markers, other.rx_markers);
	KUNIT_EXPECT_EQ(test, su.rx_markers, other.tx_markers);
	KUNIT_EXPECT_EQ(test, su.crc, other.crc);
	KUNIT_EXPECT_EQ(test, su.revision, other.revision);
	KUNIT_EXPECT_EQ(test, su.enhanced, word);
	KUNIT_EXPECT_EQ(test, other.enhanced, word);
	KUNIT_EXPECT_EQ(test, su.peer.pd_len, 77);
	KUNIT_EXPECT_EQ(test, memcmp(su.peer.pd, offer.pd, 77), 0);
	KUNIT_EXPECT_EQ(test, other.peer.pd_len, 77);
	KUNIT_EXPECT_EQ(test, memcmp(other.peer.pd, offer.pd, 77), 0);
	if (!word)
		return;
	KUNIT_EXPECT_EQ(test, su.peer.ird, 3);
	KUNIT_EXPECT_EQ(test, su.peer.ord, 0x1234);
	KUNIT_EXPECT_EQ(test, su.peer.rtr, other.peer.rtr);
}

/*
 * RFC 5044 4.4, 7.1 (MPA-42, MPA-84, MPA-86, MPA-112): our initiator and our
 * responder agree on all parameters, for all combinations of their settings.
 */
static void startup_both_ends_agree(struct kunit *test)
{
	bool lost, word;
	u32 i;

	for (i = 0; i < 128; i++) {
		word = i & 64;
		fill_offer(word, 77);
		mpa_startup_init(&su, true, i & 1 ? 2 : 1, i & 2, i & 4);
		mpa_startup_init(&other, false, i & 8 ? 2 : 1, i & 16, i & 32);
		mpa_startup_set_offer(&su, &offer);
		transfer_frame(&su, &other);
		/* RFC 6581 10 (MPA2-66): a responder of revision 1 closes the connection */
		lost = mpa_startup_get_next_step(&other) == MPA_WANT_CLOSE;
		KUNIT_EXPECT_EQ(test, lost, word && i & 1 && !(i & 8));
		if (lost) {
			mpa_startup_record_eof(&su, true);
			mpa_startup_retry(&su);
			mpa_startup_init(&other, false, 1, i & 16, i & 32);
			transfer_frame(&su, &other);
		}
		mpa_startup_set_offer(&other, &offer);
		transfer_frame(&other, &su);
		expect_agreement(test, word && i & 1 && i & 8);
	}
}

static struct kunit_case startup_send_cases[] = {
	KUNIT_CASE(startup_encodes_request),
	KUNIT_CASE(startup_limits_private_data_and_depths),
	KUNIT_CASE(startup_reply_has_revision_of_request),
	KUNIT_CASE(reject_without_depths_has_ird_ord_word),
	KUNIT_CASE(startup_ird_ord_word_survives_round_trip),
	KUNIT_CASE(startup_both_ends_agree),
	{}
};

static struct kunit_suite startup_send_suite = {
	.name = "mpa_startup_send",
	.test_cases = startup_send_cases,
};

kunit_test_suite(startup_send_suite);
