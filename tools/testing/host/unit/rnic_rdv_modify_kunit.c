// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/qp_modify.c and rdv.c: what ibv_modify_qp() accepts, and what
 * ibv_query_qp() returns, for queue pairs that a program connects without rdma_cm.
 */
#include "rnic_rdv.h"

/* Entering RTS fails if the peer expects another PSN, and can be repeated with the right PSN */
static void rts_with_wrong_psn_is_refused(struct kunit *test)
{
	const struct rdv_msg m = make_peer_msg(0, 0x222);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	advance_ms(0);
	deliver_reply(get_last_session(), &m);
	KUNIT_EXPECT_EQ(test, -EINVAL, move_to_rts(0, 0x223));
	KUNIT_EXPECT_EQ(test, IB_QPS_RTR, query_qp(0).qp_state);
	KUNIT_EXPECT_EQ(test, 0, move_to_rts(0, 0x222));
	KUNIT_EXPECT_EQ(test, IB_QPS_RTS, query_qp(0).qp_state);
	KUNIT_EXPECT_EQ(test, -EINVAL, move_to_rts(0, 0x222));
	end_all_and_expect_released(test);
}

static int modify_qp_in_rts(int mask)
{
	struct ib_qp_attr a = {
		.qp_state = IB_QPS_RTS, .min_rnr_timer = 31, .timeout = 1, .qp_access_flags = 5,
	};

	return rnic_modify_qp(&stubs.qp[0].ib, &a, mask, NULL);
}

/* In RTS a program can change the same attributes as on InfiniBand */
static void attributes_can_be_changed_in_rts(struct kunit *test)
{
	const struct rdv_msg m = {
		.qpn = PEER, .dest_qpn = ACTIVE, .rq_psn = 0x222, .sq_psn = 0x111, .rnr_retry = 6,
		.has_sq_psn = true,
	};

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_ASSERT_EQ(test, 0, move_to_rts(0, 0x222));
	advance_ms(0);
	deliver_reply(get_last_session(), &m);
	KUNIT_EXPECT_EQ(test, 0,
			modify_qp_in_rts(IB_QP_STATE | IB_QP_MIN_RNR_TIMER | IB_QP_ACCESS_FLAGS));
	KUNIT_EXPECT_EQ(test, 31, (int)query_qp(0).min_rnr_timer);
	KUNIT_EXPECT_EQ(test, 5, stubs.qp[0].access);
	KUNIT_EXPECT_EQ(test, 2950u, stubs.rnr_limit);
	KUNIT_EXPECT_EQ(test, -EINVAL, modify_qp_in_rts(IB_QP_STATE | IB_QP_TIMEOUT));
	KUNIT_EXPECT_EQ(test, 14, (int)query_qp(0).timeout);
	/* a call may change only the state, or only an attribute */
	KUNIT_ASSERT_EQ(test, 0, modify_qp_in_rts(IB_QP_STATE));
	stubs.rnr_limit = 0;
	KUNIT_ASSERT_EQ(test, 0, modify_qp_in_rts(IB_QP_MIN_RNR_TIMER));
	KUNIT_EXPECT_EQ(test, 2950u, stubs.rnr_limit);
	end_all_and_expect_released(test);
}

static void wrong_rtr_attributes_are_refused(struct kunit *test)
{
	struct ib_qp_attr a = make_rtr_attr(PEER, 2);

	/* refuse an address vector without GRH and LID, and a connection of a QP to itself */
	a.ah_attr = (struct rdma_ah_attr){};
	KUNIT_EXPECT_EQ(test, -EINVAL, move_to_rtr_with_attr(0, a));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, move_to_rtr_with_attr(0, make_rtr_attr(ACTIVE, 1)));
	/* the setting "rendezvous" is off */
	stubs.dev.policy.rendezvous = 0;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, move_to_rtr(0));
	stubs.dev.policy.rendezvous = PORT;
	/* an attribute is missing */
	a = make_rtr_attr(PEER, 2);
	KUNIT_EXPECT_EQ(test, -EINVAL, rnic_modify_qp(&stubs.qp[0].ib, &a, IB_QP_STATE | IB_QP_AV |
						      IB_QP_DEST_QPN, NULL));
	/* rdma_cm has bound the stream */
	stubs.qp[0].rdmap.stream.llp = (void *)&stubs;
	KUNIT_EXPECT_EQ(test, -EINVAL, move_to_rtr(0));
	stubs.qp[0].rdmap.stream.llp = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL, move_to_rts(0, 0));
	KUNIT_EXPECT_EQ(test, 0, move_to_rtr(0));
	KUNIT_EXPECT_EQ(test, -EINVAL, move_to_rtr(0));
	end_all_and_expect_released(test);
}

/* A queue pair in RTR can enter RTR or INIT again only after a reset, which may fail */
static void only_reset_leads_back_from_rtr(struct kunit *test)
{
	struct ib_qp_attr a = { .qp_state = IB_QPS_INIT };

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_EXPECT_EQ(test, -EINVAL, rnic_modify_qp(&stubs.qp[0].ib, &a, IB_QP_STATE, NULL));
	a.qp_state = IB_QPS_RTR;
	KUNIT_EXPECT_EQ(test, -EINVAL, rnic_modify_qp(&stubs.qp[0].ib, &a, IB_QP_STATE, NULL));
	a.qp_state = IB_QPS_RESET;
	KUNIT_EXPECT_EQ(test, 0, stubs.resets);
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_qp(&stubs.qp[0].ib, &a, IB_QP_STATE, NULL));
	KUNIT_EXPECT_EQ(test, 1, stubs.resets);
	stubs.reset_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, -EBUSY, rnic_modify_qp(&stubs.qp[0].ib, &a, IB_QP_STATE, NULL));
	end_all_and_expect_released(test);
}

static void fail_passive_qp(void)
{
	fail_qp(&stubs.qp[1], IW_LOCAL_ABORT);
}

/* If the queue pair fails while it enters RTR, its rendezvous must end */
static void failure_during_rtr_ends_rendezvous(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_EXPECT_EQ(test, 0, stubs.flushes);
	stubs.at_listen = fail_passive_qp;
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	KUNIT_EXPECT_EQ(test, 1, stubs.flushes);
	end_all_and_expect_released(test);
}

/* A query returns the state that the program has set, whether or not the stream has started */
static void query_returns_state_set_by_program(struct kunit *test)
{
	const struct rdv_msg m = make_peer_msg(0, 0);
	struct ib_qp_attr a = { .cur_qp_state = IB_QPS_RTS };

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	advance_ms(0);
	deliver_reply(get_last_session(), &m);
	KUNIT_EXPECT_EQ(test, IB_QPS_RTR, query_qp(0).cur_qp_state);
	KUNIT_EXPECT_EQ(test, 0, move_to_rts_with_mask_and_rate(0, 0, IB_QP_CUR_STATE, 0));
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	KUNIT_EXPECT_EQ(test, -EINVAL, rnic_modify_qp(&stubs.qp[1].ib, &a, IB_QP_CUR_STATE, NULL));
	KUNIT_ASSERT_EQ(test, 0, move_to_rts(1, 0));
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_qp(&stubs.qp[1].ib, &a, IB_QP_CUR_STATE, NULL));
	KUNIT_EXPECT_EQ(test, IB_QPS_RTS, query_qp(1).cur_qp_state);
	fail_qp(&stubs.qp[1], IW_LOCAL_ABORT);
	KUNIT_EXPECT_EQ(test, IB_QPS_ERR, query_qp(1).qp_state);
	end_all_and_expect_released(test);
}

static void query_returns_attributes_set_by_program(struct kunit *test)
{
	struct ib_qp_attr a;

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	a = query_qp(1);
	KUNIT_EXPECT_EQ(test, IB_MTU_1024, a.path_mtu);
	KUNIT_EXPECT_EQ(test, PEER, a.dest_qp_num);
	KUNIT_EXPECT_EQ(test, 0x111u, a.rq_psn);
	KUNIT_EXPECT_EQ(test, 3, (int)a.max_dest_rd_atomic);
	KUNIT_EXPECT_EQ(test, 12, (int)a.min_rnr_timer);
	KUNIT_EXPECT_EQ(test, 2, (int)a.ah_attr.grh.dgid.raw[15]);
	KUNIT_EXPECT_NULL(test, a.ah_attr.grh.sgid_attr);
	KUNIT_ASSERT_EQ(test, 0, move_to_rts_with_mask_and_rate(1, 0x1000222, IB_QP_MIN_RNR_TIMER,
								0));
	a = query_qp(1);
	KUNIT_EXPECT_EQ(test, 0x222u, a.sq_psn);
	KUNIT_EXPECT_EQ(test, 14, (int)a.timeout);
	KUNIT_EXPECT_EQ(test, 7, (int)a.retry_cnt);
	KUNIT_EXPECT_EQ(test, 6, (int)a.rnr_retry);
	KUNIT_EXPECT_EQ(test, 2, (int)a.max_rd_atomic);
	KUNIT_EXPECT_EQ(test, 5, (int)a.min_rnr_timer);
	end_all_and_expect_released(test);
}

/*
 * The peer gets the rights that are set with RTR, or else those of INIT. A failed call does not
 * change the rights.
 */
static void rtr_sets_rights(struct kunit *test)
{
	struct ib_qp_attr a = make_rtr_attr(PEER, 2);

	stubs.qp[0].init_access = IB_ACCESS_REMOTE_WRITE;
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_WRITE, stubs.qp[0].access);
	a.qp_access_flags = IB_ACCESS_REMOTE_ATOMIC;
	KUNIT_EXPECT_EQ(test, -EINVAL, rnic_modify_qp(&stubs.qp[0].ib, &a, IB_QP_STATE | RTR_NEEDS |
						      IB_QP_ACCESS_FLAGS, NULL));
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_WRITE, stubs.qp[0].access);
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_qp(&stubs.qp[1].ib, &a, IB_QP_STATE | RTR_NEEDS |
						IB_QP_ACCESS_FLAGS, NULL));
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_ATOMIC, stubs.qp[1].access);
	end_all_and_expect_released(test);
}

/* A rate limit that is set with RTS applies when the stream starts */
static void rate_limit_applies_at_stream_start(struct kunit *test)
{
	struct ib_qp_attr a = { .rate_limit = 16000 };
	const struct rdv_msg m = make_peer_msg(0, 0);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_EXPECT_EQ(test, -EINVAL, rnic_modify_qp(&stubs.qp[0].ib, &a, IB_QP_RATE_LIMIT, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, move_to_rts_with_mask_and_rate(0, 0, IB_QP_RATE_LIMIT, 1));
	KUNIT_ASSERT_EQ(test, 0, move_to_rts_with_mask_and_rate(0, 0, IB_QP_RATE_LIMIT, 8000));
	advance_ms(0);
	KUNIT_EXPECT_EQ(test, 0ull, stubs.rate);
	deliver_reply(get_last_session(), &m);
	KUNIT_EXPECT_EQ(test, 1000000ull, stubs.rate);
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_qp(&stubs.qp[0].ib, &a, IB_QP_RATE_LIMIT, NULL));
	KUNIT_EXPECT_EQ(test, 2000000ull, stubs.rate);
	end_all_and_expect_released(test);
}

static struct kunit_case rdv_modify_cases[] = {
	KUNIT_CASE(rts_with_wrong_psn_is_refused),
	KUNIT_CASE(attributes_can_be_changed_in_rts),
	KUNIT_CASE(wrong_rtr_attributes_are_refused),
	KUNIT_CASE(only_reset_leads_back_from_rtr),
	KUNIT_CASE(failure_during_rtr_ends_rendezvous),
	KUNIT_CASE(query_returns_state_set_by_program),
	KUNIT_CASE(query_returns_attributes_set_by_program),
	KUNIT_CASE(rtr_sets_rights),
	KUNIT_CASE(rate_limit_applies_at_stream_start),
	{}
};

static struct kunit_suite rdv_modify_suite = {
	.name = "rnic_rdv_modify",
	.init = test_init,
	.test_cases = rdv_modify_cases,
};

kunit_test_suite(rdv_modify_suite);
