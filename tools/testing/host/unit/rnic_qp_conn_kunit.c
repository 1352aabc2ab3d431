// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/qp_conn.c: when a QP gets the peer's start-up message from cm.c,
 * and what a program's query returns.  iw_cm, the lower layer and the core are stubs.
 */
#include "rnic_cm.h"

/* Results of the last query */
static struct rnic_sw_query_conn_resp resp;
static u8 pd[DDP_PD_MAX];

static struct ib_qp *queried;	/* QP of the present query */

void *uverbs_attr_get_obj(const struct uverbs_attr_bundle *attrs, u16 idx)
{
	return idx == RNIC_SW_ATTR_QUERY_CONN_HANDLE ? queried : NULL;
}

static bool without_data;	/* the present query has no buffer for Private Data */

bool uverbs_attr_is_valid(const struct uverbs_attr_bundle *attrs, unsigned int idx)
{
	return !without_data;
}

int uverbs_copy_to_struct_or_zero(const struct uverbs_attr_bundle *attrs, size_t idx,
				  const void *from, size_t size)
{
	void *to = idx == RNIC_SW_ATTR_QUERY_CONN_RESP ? (void *)&resp : pd;

	memcpy(to, from, size);
	return 0;
}

static int query_conn(struct rnic_qp *qp)
{
	struct uverbs_attr_bundle attrs = {};

	memset(&resp, 0xee, sizeof(resp));
	memset(pd, 0xee, sizeof(pd));
	queried = &qp->ib;
	return rnic_qp_conn_defs[0].tree->handler(&attrs);
}

/* Cases ---------------------------------------------------------------------------- */

/*
 * MPA-95, MPA2-18, MPA2-26: a responder's program can query the Request from ESTABLISHED on, also
 * after the end of the connection
 */
static void request_can_be_queried(struct kunit *test)
{
	struct ib_qp *held;

	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &held));
	KUNIT_EXPECT_EQ(test, -ENOTCONN, query_conn(&stubs.qp[0]));
	KUNIT_EXPECT_EQ(test, stubs.charges, 0);
	rnic_session_user.established(&stubs.ss, NULL);
	KUNIT_EXPECT_EQ(test, stubs.charges, 1);
	KUNIT_EXPECT_NULL(test, stubs.memcg);
	KUNIT_EXPECT_EQ(test, 0, query_conn(&stubs.qp[0]));
	KUNIT_EXPECT_EQ(test, resp.flags, RNIC_SW_CONN_DEPTHS);
	KUNIT_EXPECT_EQ(test, resp.llp, RNIC_SW_LLP_TCP);
	KUNIT_EXPECT_EQ(test, resp.revision, 2);
	KUNIT_EXPECT_EQ(test, resp.comp_mask, 0);
	KUNIT_EXPECT_EQ(test, resp.private_data_len, 3);
	KUNIT_EXPECT_EQ(test, 0, memcmp(pd, "ask\xee", 4));
	KUNIT_EXPECT_EQ(test, -ENOTCONN, query_conn(&stubs.qp[1]));
	rnic_session_user.closed(&stubs.ss, IW_PEER_CLOSED, NULL);
	KUNIT_EXPECT_EQ(test, 0, query_conn(&stubs.qp[0]));
	release_qps_and_expect_nothing_left(test, held);
}

/* A query needs no buffer for Private Data */
static void query_needs_no_data_buffer(struct kunit *test)
{
	struct ib_qp *held;

	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &held));
	rnic_session_user.established(&stubs.ss, NULL);
	without_data = true;
	KUNIT_EXPECT_EQ(test, 0, query_conn(&stubs.qp[0]));
	without_data = false;
	KUNIT_EXPECT_EQ(test, resp.private_data_len, 3);
	KUNIT_EXPECT_EQ(test, pd[0], 0xee);
	rnic_session_user.closed(&stubs.ss, IW_PEER_CLOSED, NULL);
	release_qps_and_expect_nothing_left(test, held);
}

/* The QP of a kernel consumer keeps no message */
static void kernel_qp_keeps_no_message(struct kunit *test)
{
	struct ib_qp *held;

	stubs.qp[0].ib.uobject = NULL;
	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &held));
	rnic_session_user.established(&stubs.ss, NULL);
	KUNIT_EXPECT_NULL(test, stubs.qp[0].peer_msg);
	KUNIT_EXPECT_EQ(test, stubs.charges, 0);
	rnic_session_user.closed(&stubs.ss, IW_PEER_CLOSED, NULL);
	release_qps_and_expect_nothing_left(test, held);
}

/*
 * End the pending request of test_init(), and create an endpoint that connects QP 0. The endpoint
 * has the references that the closed upcall drops.
 */
static struct rnic_ep *end_request_and_open_connecting_ep(struct kunit *test)
{
	struct rnic_ep *ep;

	rnic_iw_reject(&stubs.id, NULL, 0);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_CLOSE, NULL);
	ep = rnic_ep_new(&stubs.dev);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	ep->state = EP_CONNECTING;
	ep->me = (struct negotiation_local){ .ird = 1, .ord = 1, .max = RDMAP_DEPTH_MAX,
					     .enhanced = true };
	negotiation_build_request(&ep->me, &ep->request);
	rnic_ep_attach_id_and_qp(ep, &stubs.id, &stubs.qp[0]);
	kref_init(&stubs.ss.ref);
	stubs.ss.ctx = ep;
	return ep;
}

static void end_session_and_expect_released(struct kunit *test, enum iw_reason why,
					    const struct ddp_offer *o)
{
	rnic_session_user.closed(&stubs.ss, why, o);
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

/* Fill a start-up message of maximum length, with IRD and ORD that need all 14 bits */
static void fill_longest_offer(struct ddp_offer *o)
{
	int i;

	*o = (struct ddp_offer){
		.enhanced = true, .ird = NEG_DEPTH_NONE, .ord = 0x1234, .pd_len = DDP_PD_MAX,
	};
	for (i = 0; i < DDP_PD_MAX; i++)
		o->pd[i] = i * 7;
}

static void expect_longest_offer(struct kunit *test, const struct ddp_offer *o, u32 flags)
{
	KUNIT_EXPECT_EQ(test, 0, query_conn(&stubs.qp[0]));
	KUNIT_EXPECT_EQ(test, resp.flags, flags);
	KUNIT_EXPECT_EQ(test, resp.ird, o->ird);
	KUNIT_EXPECT_EQ(test, resp.ord, o->ord);
	KUNIT_EXPECT_EQ(test, resp.private_data_len, DDP_PD_MAX);
	KUNIT_EXPECT_EQ(test, 0, memcmp(pd, o->pd, DDP_PD_MAX));
}

/* MPA2-18, MPA2-26, MPA2-35, SCTPDDP-19: an initiator's program can query the whole Reply */
static void reply_can_be_queried(struct kunit *test)
{
	struct ddp_offer reply;

	stubs.llp = RNIC_SW_LLP_SCTP;
	end_request_and_open_connecting_ep(test);
	fill_longest_offer(&reply);
	reply.ord = 1;
	KUNIT_EXPECT_EQ(test, IW_OK, rnic_session_user.established(&stubs.ss, &reply));
	expect_longest_offer(test, &reply, RNIC_SW_CONN_DEPTHS);
	KUNIT_EXPECT_EQ(test, resp.llp, RNIC_SW_LLP_SCTP);
	KUNIT_EXPECT_EQ(test, resp.revision, 0);
	end_session_and_expect_released(test, IW_PEER_CLOSED, NULL);
}

/* A program can query whether FPDUs have a CRC, and in which direction markers are sent */
static void crc_and_markers_can_be_queried(struct kunit *test)
{
	static const u32 want[] = {
		RNIC_SW_CONN_CRC, RNIC_SW_CONN_TX_MARKERS, RNIC_SW_CONN_RX_MARKERS,
	};
	struct ddp_offer reply;
	int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		if (i)
			KUNIT_ASSERT_EQ(test, 0, test_init(test));
		end_request_and_open_connecting_ep(test);
		fill_longest_offer(&reply);
		reply.ord = 1;
		reply.crc = i == 0;
		reply.tx_markers = i == 1;
		reply.rx_markers = i == 2;
		KUNIT_EXPECT_EQ(test, IW_OK, rnic_session_user.established(&stubs.ss, &reply));
		expect_longest_offer(test, &reply, RNIC_SW_CONN_DEPTHS | want[i]);
		end_session_and_expect_released(test, IW_PEER_CLOSED, NULL);
	}
}

/* MPA2-35: after a reject the initiator's program can query the peer's IRD and ORD */
static void reject_can_be_queried(struct kunit *test)
{
	struct ddp_offer reject;

	end_request_and_open_connecting_ep(test);
	fill_longest_offer(&reject);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, query_conn(&stubs.qp[0]));
	rnic_session_user.closed(&stubs.ss, IW_PEER_REJECT, &reject);
	expect_longest_offer(test, &reject, RNIC_SW_CONN_DEPTHS | RNIC_SW_CONN_REJECTED);
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

/* A message that is not enhanced has no IRD and ORD, whatever the fields contain */
static void plain_message_has_no_depths(struct kunit *test)
{
	struct ddp_offer reject;

	end_request_and_open_connecting_ep(test);
	fill_longest_offer(&reject);
	reject.enhanced = false;
	reject.revision = 1;
	rnic_session_user.closed(&stubs.ss, IW_PEER_REJECT, &reject);
	KUNIT_EXPECT_EQ(test, 0, query_conn(&stubs.qp[0]));
	KUNIT_EXPECT_EQ(test, resp.flags, RNIC_SW_CONN_REJECTED);
	KUNIT_EXPECT_EQ(test, resp.ird, 0);
	KUNIT_EXPECT_EQ(test, resp.ord, 0);
	KUNIT_EXPECT_EQ(test, resp.revision, 1);
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

/* If a connect fails and the peer has not rejected it, there is no message */
static void failed_connect_without_reject_leaves_no_message(struct kunit *test)
{
	end_request_and_open_connecting_ep(test);
	rnic_session_user.closed(&stubs.ss, IW_PEER_RESET, NULL);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, query_conn(&stubs.qp[0]));
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

/* Without memory for a copy of the peer's Reply, the connect fails */
static void connect_fails_without_memory_for_reply(struct kunit *test)
{
	struct ddp_offer reply;

	end_request_and_open_connecting_ep(test);
	fill_longest_offer(&reply);
	reply.ord = 1;
	host_alloc_fails = true;
	KUNIT_EXPECT_EQ(test, IW_MPA_LOCAL, rnic_session_user.established(&stubs.ss, &reply));
	host_alloc_fails = false;
	KUNIT_EXPECT_EQ(test, -ENOTCONN, query_conn(&stubs.qp[0]));
	end_session_and_expect_released(test, IW_MPA_LOCAL, NULL);
}

/* Without memory for the peer's reject, the program still gets the event */
static void reject_is_reported_without_memory(struct kunit *test)
{
	struct ddp_offer reject;

	end_request_and_open_connecting_ep(test);
	fill_longest_offer(&reject);
	host_alloc_fails = true;
	rnic_session_user.closed(&stubs.ss, IW_PEER_REJECT, &reject);
	host_alloc_fails = false;
	KUNIT_EXPECT_EQ(test, stubs.events, 1);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, query_conn(&stubs.qp[0]));
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(request_can_be_queried),
	KUNIT_CASE(query_needs_no_data_buffer),
	KUNIT_CASE(kernel_qp_keeps_no_message),
	KUNIT_CASE(reply_can_be_queried),
	KUNIT_CASE(crc_and_markers_can_be_queried),
	KUNIT_CASE(reject_can_be_queried),
	KUNIT_CASE(plain_message_has_no_depths),
	KUNIT_CASE(failed_connect_without_reject_leaves_no_message),
	KUNIT_CASE(connect_fails_without_memory_for_reply),
	KUNIT_CASE(reject_is_reported_without_memory),
	{}
};

static struct kunit_suite suite = {
	.name = "rnic_qp_conn",
	.init = test_init,
	.test_cases = cases,
};
kunit_test_suite(suite);
