// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/rdv.c and qp_modify.c: programs that name the peer by a LID, without
 * a GRH
 */
#include "rnic_rdv.h"

static int move_to_rtr_by_lid(int i, u32 peer, struct rnic_sw_modify_qp req)
{
	struct ib_udata udata = { .inlen = sizeof(req), .in = &req };
	struct ib_qp_attr a = make_rtr_attr(peer, 2);

	a.ah_attr = (struct rdma_ah_attr){};
	return rnic_modify_qp(&stubs.qp[i].ib, &a, IB_QP_STATE | RTR_NEEDS, &udata);
}

/* The program's driver data have the LID of the peer, here 2, which stands for 10.0.0.2 */
static void lid_names_peer(struct kunit *test)
{
	const struct rnic_sw_modify_qp req = { .dlid = 2 };
	const struct rdv_msg m = make_peer_msg(0, 0x222);
	struct ib_qp_attr a;

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr_by_lid(0, PEER, req));
	KUNIT_EXPECT_EQ(test, 0, stubs.listening);
	advance_ms(0);
	deliver_reply(get_last_session(), &m);
	KUNIT_EXPECT_EQ(test, QP_RTS, stubs.qp[0].state);
	a = query_qp(0);
	KUNIT_EXPECT_EQ(test, 2u, rdma_ah_get_dlid(&a.ah_attr));
	KUNIT_EXPECT_EQ(test, 0, move_to_rts(0, 0x222));
	KUNIT_EXPECT_EQ(test, -EINVAL, move_to_rtr(0));
	end_all_and_expect_released(test);
}

/* If the numbers of the queue pairs are equal, the smaller address connects */
static void smaller_address_connects(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr_by_lid(1, PASSIVE, (struct rnic_sw_modify_qp){ .dlid = 2 }));
	KUNIT_EXPECT_EQ(test, 0, stubs.listening);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			move_to_rtr_by_lid(0, ACTIVE, (struct rnic_sw_modify_qp){ .dlid = 1 }));
	end_all_and_expect_released(test);
}

static void unknown_driver_data_are_refused(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, move_to_rtr_by_lid(0, PEER, (struct rnic_sw_modify_qp){
		.comp_mask = 1, .dlid = 2 }));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, move_to_rtr_by_lid(0, PEER, (struct rnic_sw_modify_qp){
		.reserved = 1, .dlid = 2 }));
	KUNIT_EXPECT_EQ(test, -EINVAL, move_to_rtr_by_lid(0, PEER, (struct rnic_sw_modify_qp){}));
	end_all_and_expect_released(test);
}

static struct kunit_case rdv_lid_cases[] = {
	KUNIT_CASE(lid_names_peer),
	KUNIT_CASE(smaller_address_connects),
	KUNIT_CASE(unknown_driver_data_are_refused),
	{}
};

static struct kunit_suite rdv_lid_suite = {
	.name = "rnic_rdv_lid",
	.init = test_init,
	.test_cases = rdv_lid_cases,
};

kunit_test_suite(rdv_lid_suite);
