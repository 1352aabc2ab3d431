// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of rdv_msg.c, rdv_time.c and rdv_lid.c: messages, roles, times and LIDs of a rendezvous. */
#include <kunit/test.h>

#include "../rdv_lid.h"
#include "../rdv_msg.h"
#include "../rdv_time.h"

static const struct rdv_msg mine = {
	.qpn = 0x000102, .dest_qpn = 0xfffefd, .rq_psn = 0xabcdef, .sq_psn = 0x123456,
	.rnr_retry = 5, .has_sq_psn = true,
};

/* Message that the peer of @mine sends */
static struct rdv_msg make_peer_msg(void)
{
	return (struct rdv_msg){
		.qpn = mine.dest_qpn, .dest_qpn = mine.qpn, .rq_psn = mine.sq_psn,
		.sq_psn = mine.rq_psn, .has_sq_psn = true,
	};
}

/* The layout is fixed, because other implementations depend on it */
static void message_layout_is_as_documented(struct kunit *test)
{
	static const u8 want[RDV_MSG_LEN] = {
		'i', 'W', 'Q', 'P', 1, 1, 5, 0, 0, 0, 1, 2, 0, 0xff, 0xfe, 0xfd,
		0, 0xab, 0xcd, 0xef, 0, 0x12, 0x34, 0x56,
	};
	u8 pd[RDV_MSG_LEN];

	rdv_msg_encode(&mine, pd);
	KUNIT_EXPECT_EQ(test, 0, memcmp(pd, want, sizeof(pd)));
}

static void decode_inverts_encode(struct kunit *test)
{
	struct rdv_msg from = mine, to;
	u8 pd[RDV_MSG_LEN + 1] = {};

	rdv_msg_encode(&from, pd);
	KUNIT_EXPECT_TRUE(test, rdv_msg_decode(&to, pd, RDV_MSG_LEN));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&from, &to, sizeof(to)));
	from.has_sq_psn = false;
	from.sq_psn = 0;
	from.rnr_retry = 0;
	rdv_msg_encode(&from, pd);
	/* bytes after the message are ignored */
	KUNIT_EXPECT_TRUE(test, rdv_msg_decode(&to, pd, RDV_MSG_LEN + 1));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&from, &to, sizeof(to)));
}

static void decode_refuses_other_private_data(struct kunit *test)
{
	/* bytes whose change makes the message invalid: magic, version, high bytes of numbers */
	static const u8 fixed[] = { 0, 1, 2, 3, 4, 8, 12, 16, 20 };
	struct rdv_msg m;
	u8 pd[RDV_MSG_LEN];
	u32 i;

	rdv_msg_encode(&mine, pd);
	KUNIT_EXPECT_FALSE(test, rdv_msg_decode(&m, pd, RDV_MSG_LEN - 1));
	KUNIT_EXPECT_FALSE(test, rdv_msg_decode(&m, pd, 0));
	for (i = 0; i < ARRAY_SIZE(fixed); i++) {
		pd[fixed[i]] ^= 0x80;
		KUNIT_EXPECT_FALSE(test, rdv_msg_decode(&m, pd, RDV_MSG_LEN));
		pd[fixed[i]] ^= 0x80;
	}
	KUNIT_EXPECT_TRUE(test, rdv_msg_decode(&m, pd, RDV_MSG_LEN));
}

static void qp_numbers_and_psns_must_match(struct kunit *test)
{
	struct rdv_msg peer = make_peer_msg();
	u32 *const numbers[] = { &peer.qpn, &peer.dest_qpn, &peer.rq_psn, &peer.sq_psn };
	u32 i;

	KUNIT_EXPECT_TRUE(test, rdv_msg_matches(&peer, &mine));
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		*numbers[i] ^= 1;
		KUNIT_EXPECT_FALSE(test, rdv_msg_matches(&peer, &mine));
		*numbers[i] ^= 1;
	}
}

/* The PSN that a side sends is compared only if this side is in RTS and so knows it */
static void unknown_psn_is_not_compared(struct kunit *test)
{
	struct rdv_msg peer = make_peer_msg(), me = mine;

	peer.has_sq_psn = false;
	peer.sq_psn = 0;
	KUNIT_EXPECT_TRUE(test, rdv_msg_matches(&peer, &me));
	me.has_sq_psn = false;
	peer.rq_psn ^= 1;
	KUNIT_EXPECT_TRUE(test, rdv_msg_matches(&peer, &me));
	me.has_sq_psn = true;
	KUNIT_EXPECT_FALSE(test, rdv_msg_matches(&peer, &me));
}

/* Of two different queue pairs exactly one connects, whatever their numbers and GIDs */
static void exactly_one_side_connects(struct kunit *test)
{
	static const u32 qpns[] = { 2, 3, 0x10000, 0xffffff };
	u8 gids[3][RDV_GID_LEN] = { { 0 }, { 0 }, { 0xff } };
	u32 a, b, x, y;

	gids[1][RDV_GID_LEN - 1] = 1;
	for (a = 0; a < ARRAY_SIZE(qpns); a++)
		for (b = 0; b < ARRAY_SIZE(qpns); b++)
			for (x = 0; x < 3; x++)
				for (y = 0; y < 3; y++) {
					enum rdv_role us = rdv_choose_role(qpns[a], gids[x],
									   qpns[b], gids[y]);
					enum rdv_role them = rdv_choose_role(qpns[b], gids[y],
									     qpns[a], gids[x]);

					if (a == b && x == y)
						KUNIT_EXPECT_TRUE(test, us == RDV_SELF &&
								  them == RDV_SELF);
					else
						KUNIT_EXPECT_EQ(test, RDV_ACTIVE + RDV_PASSIVE,
								us + them);
				}
	KUNIT_EXPECT_EQ(test, RDV_ACTIVE, rdv_choose_role(2, gids[2], 3, gids[0]));
}

static void wait_limit_follows_timeout_and_retries(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, RDV_FOREVER, rdv_compute_wait_limit_ms(0, 7));
	KUNIT_EXPECT_EQ(test, RDV_FOREVER, rdv_compute_wait_limit_ms(32, 7));
	KUNIT_EXPECT_EQ(test, 1000u, rdv_compute_wait_limit_ms(1, 0));
	/* perftest and ibv_rc_pingpong use timeout 14, which is 67 ms, and 7 retries */
	KUNIT_EXPECT_EQ(test, 2048u, rdv_compute_wait_limit_ms(14, 7));
	KUNIT_EXPECT_EQ(test, 2048u, rdv_compute_wait_limit_ms(14, 15));
	KUNIT_EXPECT_EQ(test, 4u << 23, rdv_compute_wait_limit_ms(31, 0));
	KUNIT_EXPECT_EQ(test, 32u << 23, rdv_compute_wait_limit_ms(31, 7));
}

static void pauses_grow_to_limit(struct kunit *test)
{
	u32 pause = 0, n, sum = 0;

	for (n = 0; n < 20; n++) {
		u32 next = rdv_compute_pause_ms(pause);

		KUNIT_EXPECT_TRUE(test, next >= pause && next <= 250);
		pause = next;
		sum += pause;
	}
	KUNIT_EXPECT_EQ(test, 1u, rdv_compute_pause_ms(0));
	KUNIT_EXPECT_EQ(test, 250u, pause);
	KUNIT_EXPECT_TRUE(test, sum < 20 * 250);
}

static void rnr_limit_follows_timer_and_retries(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, RDV_FOREVER, rdv_compute_rnr_limit_ms(12, 7));
	KUNIT_EXPECT_EQ(test, 0u, rdv_compute_rnr_limit_ms(12, 0));
	/* these timer values mean 0.64 ms, 0.01 ms, 655.35 ms and 491.52 ms */
	KUNIT_EXPECT_EQ(test, 4u, rdv_compute_rnr_limit_ms(12, 6));
	KUNIT_EXPECT_EQ(test, 1u, rdv_compute_rnr_limit_ms(1, 1));
	KUNIT_EXPECT_EQ(test, 656u, rdv_compute_rnr_limit_ms(0, 1));
	KUNIT_EXPECT_EQ(test, 2950u, rdv_compute_rnr_limit_ms(31, 6));
}

#define MASK(bits)	(~0u << (32 - (bits)))

static void lid_is_low_half_of_address(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0x0102u, (u32)rdv_addr_to_lid(0x0a000102, MASK(24)));
	KUNIT_EXPECT_EQ(test, 0x0102u, (u32)rdv_addr_to_lid(0x0a000102, MASK(16)));
	KUNIT_EXPECT_EQ(test, 1u, (u32)rdv_addr_to_lid(0xc0a80001, MASK(32)));
	KUNIT_EXPECT_EQ(test, 0xbfffu, (u32)rdv_addr_to_lid(0x0a00bfff, MASK(16)));
	KUNIT_EXPECT_EQ(test, 0x0a000102u, rdv_lid_to_addr(0x0102, 0x0a00ff00, MASK(24)));
	KUNIT_EXPECT_EQ(test, 0xc0a8bfffu, rdv_lid_to_addr(0xbfff, 0xc0a80001, MASK(16)));
}

/* If the netmask has less than 16 bits, hosts of the subnet may differ in the high half */
static void short_netmask_has_no_lids(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0u, (u32)rdv_addr_to_lid(0x0a000102, MASK(15)));
	KUNIT_EXPECT_EQ(test, 0u, (u32)rdv_addr_to_lid(0x7f000001, MASK(8)));
	KUNIT_EXPECT_EQ(test, 0u, (u32)rdv_addr_to_lid(0x0a000102, 0));
	KUNIT_EXPECT_EQ(test, 0u, rdv_lid_to_addr(0x0102, 0x0a000103, MASK(15)));
	KUNIT_EXPECT_EQ(test, 0u, rdv_lid_to_addr(0x0102, 0x0a000103, 0));
}

static void only_unicast_lids_are_used(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0u, (u32)rdv_addr_to_lid(0x0a00c000, MASK(16)));
	KUNIT_EXPECT_EQ(test, 0u, (u32)rdv_addr_to_lid(0x0a00ffff, MASK(8)));
	KUNIT_EXPECT_EQ(test, 0u, (u32)rdv_addr_to_lid(0x0a000000, MASK(32)));
	KUNIT_EXPECT_EQ(test, 0u, (u32)rdv_addr_to_lid(0, 0));
	KUNIT_EXPECT_EQ(test, 0u, rdv_lid_to_addr(0, 0x0a000102, MASK(24)));
	KUNIT_EXPECT_EQ(test, 0u, rdv_lid_to_addr(0xc000, 0x0a000102, MASK(24)));
	KUNIT_EXPECT_EQ(test, 0u, rdv_lid_to_addr(0xffff, 0x0a000102, MASK(24)));
	KUNIT_EXPECT_EQ(test, 0u, rdv_lid_to_addr(1, 0, MASK(24)));
}

/* Two hosts of a subnet find each other by the LIDs that they report */
static void lid_of_a_host_stands_for_its_address(struct kunit *test)
{
	u32 low;

	for (low = 1; low <= 0xffff; low += 7) {
		u16 lid = rdv_addr_to_lid(0x0a010000 + low, MASK(16));

		KUNIT_EXPECT_EQ(test, low <= 0xbfff, !!lid);
		if (lid)
			KUNIT_EXPECT_EQ(test, 0x0a010000 + low,
					rdv_lid_to_addr(lid, 0x0a01f00d, MASK(16)));
	}
}

static struct kunit_case rdv_msg_cases[] = {
	KUNIT_CASE(message_layout_is_as_documented),
	KUNIT_CASE(decode_inverts_encode),
	KUNIT_CASE(decode_refuses_other_private_data),
	KUNIT_CASE(qp_numbers_and_psns_must_match),
	KUNIT_CASE(unknown_psn_is_not_compared),
	KUNIT_CASE(exactly_one_side_connects),
	KUNIT_CASE(wait_limit_follows_timeout_and_retries),
	KUNIT_CASE(pauses_grow_to_limit),
	KUNIT_CASE(rnr_limit_follows_timer_and_retries),
	KUNIT_CASE(lid_is_low_half_of_address),
	KUNIT_CASE(short_netmask_has_no_lids),
	KUNIT_CASE(only_unicast_lids_are_used),
	KUNIT_CASE(lid_of_a_host_stands_for_its_address),
	{}
};

static struct kunit_suite rdv_msg_suite = {
	.name = "rnic_sw_rdv_msg",
	.test_cases = rdv_msg_cases,
};

kunit_test_suite(rdv_msg_suite);
