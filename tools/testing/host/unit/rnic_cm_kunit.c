// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/cm*.c and qp_cm.c: which events iw_cm gets, and which
 * references it holds, for each order of accept, reject and the lower layer's upcalls.
 * iw_cm and the lower layer are stubs.
 */
#include "rnic_cm.h"

/* Attributes of methods, which these tests do not call */

void *uverbs_attr_get_obj(const struct uverbs_attr_bundle *attrs, u16 idx)
{
	return NULL;
}

bool uverbs_attr_is_valid(const struct uverbs_attr_bundle *attrs, unsigned int idx)
{
	return false;
}

int uverbs_copy_to_struct_or_zero(const struct uverbs_attr_bundle *attrs, size_t idx,
				  const void *from, size_t size)
{
	return -EINVAL;
}

/* Cases ---------------------------------------------------------------------------- */

static void accepted_conn_reports_established_and_close(struct kunit *test)
{
	struct ib_qp *held;

	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &held));
	rnic_session_user.established(&stubs.ss, NULL);
	rnic_session_user.closed(&stubs.ss, IW_PEER_CLOSED, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 2);
	KUNIT_EXPECT_EQ(test, stubs.event[0], IW_CM_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, stubs.event[1], IW_CM_EVENT_CLOSE);
	KUNIT_EXPECT_EQ(test, stubs.qp[0].ref.refs, 2);
	rnic_qp_rem_ref(held);
	KUNIT_EXPECT_EQ(test, stubs.qp[0].ref.refs, 1);
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

static void reject_gives_no_event(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rnic_iw_reject(&stubs.id, NULL, 0));
	KUNIT_EXPECT_TRUE(test, stubs.rejected);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_CLOSE, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 0);
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

/*
 * If iw_cm rejects a request that it has accepted, the connection ends.  iw_cm gets no
 * event, even if the session is established after the reject.  The QP can be destroyed
 * although iw_cm still has its handle of the QP.
 */
static void reject_after_accept_ends_conn(struct kunit *test)
{
	struct ib_qp *held;

	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &held));
	KUNIT_EXPECT_EQ(test, -EINVAL, rnic_iw_reject(&stubs.id, NULL, 0));
	KUNIT_EXPECT_EQ(test, stubs.qp_error[0], IW_LOCAL_ABORT);
	KUNIT_EXPECT_FALSE(test, stubs.rejected);
	rnic_session_user.established(&stubs.ss, NULL);
	rnic_session_user.peer_closed(&stubs.ss);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_ABORT, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 0);
	/*
	 * only the initial reference to the QP is left; iw_cm drops its handle
	 * after the QP is freed
	 */
	KUNIT_EXPECT_EQ(test, stubs.qp[0].ref.refs, 1);
	destroy_qp(0);
	memset(&stubs.qp[0], 0xff, sizeof(stubs.qp[0]));
	rnic_qp_rem_ref(held);
	destroy_qp(1);
	expect_all_objects_released(test);
}

/*
 * If iw_cm rejects a request that it has accepted, and the session is never
 * established, iw_cm gets no event
 */
static void reject_before_establishment_is_silent(struct kunit *test)
{
	struct ib_qp *held;

	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &held));
	rnic_iw_reject(&stubs.id, NULL, 0);
	rnic_session_user.closed(&stubs.ss, IW_PEER_RESET, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 0);
	release_qps_and_expect_nothing_left(test, held);
}

/* After ESTABLISHED iw_cm always gets CLOSE, even after a reject, because iw_cm waits for CLOSE */
static void established_conn_reports_close_after_reject(struct kunit *test)
{
	struct ib_qp *held;

	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &held));
	rnic_session_user.established(&stubs.ss, NULL);
	rnic_iw_reject(&stubs.id, NULL, 0);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_ABORT, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 2);
	KUNIT_EXPECT_EQ(test, stubs.event[1], IW_CM_EVENT_CLOSE);
	release_qps_and_expect_nothing_left(test, held);
}

/*
 * A second accept with the same QP gives iw_cm another handle of the QP and does nothing
 * else.  An accept with another QP ends the connection: iw_cm gets one ESTABLISHED and one
 * CLOSE.
 */
static void second_accept_needs_same_qp(struct kunit *test)
{
	struct ib_qp *first, *second, *third;

	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &first));
	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &second));
	KUNIT_EXPECT_PTR_EQ(test, first, second);
	KUNIT_EXPECT_EQ(test, stubs.qp_error[0], IW_OK);
	/* references: the initial one, one of the endpoint, and one of iw_cm */
	KUNIT_EXPECT_EQ(test, stubs.qp[0].ref.refs, 3);
	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(1, &third));
	KUNIT_EXPECT_EQ(test, stubs.qp_error[0], IW_LOCAL_ABORT);
	KUNIT_EXPECT_EQ(test, stubs.qp[0].ref.refs, 2);
	KUNIT_EXPECT_EQ(test, stubs.qp[1].ref.refs, 2);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_ABORT, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 2);
	KUNIT_EXPECT_EQ(test, stubs.event[0], IW_CM_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, stubs.event[1], IW_CM_EVENT_CLOSE);
	rnic_qp_rem_ref(third);
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

/* After rnic_qp_cm_revoke_refs() iw_cm cannot look the QP up to connect it */
static void revoked_qp_is_not_found(struct kunit *test)
{
	rnic_qp_cm_revoke_refs(&stubs.qp[0]);
	KUNIT_EXPECT_NULL(test, rnic_get_qp(&stubs.dev.ib, 0));
	KUNIT_EXPECT_EQ(test, stubs.qp[0].ref.refs, 1);
	rnic_iw_reject(&stubs.id, NULL, 0);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_CLOSE, NULL);
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

/* Removing a device aborts pending connection requests, but no request that was accepted */
static void removal_aborts_only_pending_requests(struct kunit *test)
{
	struct ib_qp *held;

	rnic_pending_reqs_abort(&stubs.dev);
	KUNIT_EXPECT_TRUE(test, stubs.stopped);
	stubs.stopped = false;
	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &held));
	rnic_pending_reqs_abort(&stubs.dev);
	KUNIT_EXPECT_FALSE(test, stubs.stopped);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_ABORT, NULL);
	release_qps_and_expect_nothing_left(test, held);
}

/* An accept after the end of the session reports ESTABLISHED and CLOSE during the call */
static void accept_of_ended_session_reports_close(struct kunit *test)
{
	struct ib_qp *held;

	rnic_session_user.closed(&stubs.ss, IW_PEER_RESET, NULL);
	KUNIT_EXPECT_EQ(test, 0, accept_with_qp(0, &held));
	KUNIT_EXPECT_EQ(test, stubs.qp_error[0], IW_PEER_RESET);
	KUNIT_EXPECT_EQ(test, stubs.events, 2);
	KUNIT_EXPECT_EQ(test, stubs.event[0], IW_CM_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, stubs.event[1], IW_CM_EVENT_CLOSE);
	release_qps_and_expect_nothing_left(test, held);
}

/*
 * If the lower layer fails to accept, the driver rejects the request at once, because iw_cm has
 * forgotten the request, and the program can therefore no longer reject it
 */
static void failed_accept_rejects_request(struct kunit *test)
{
	struct ib_qp *held;

	stubs.accept_err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, -ENOMEM, accept_with_qp(0, &held));
	KUNIT_EXPECT_TRUE(test, stubs.rejected);
	KUNIT_EXPECT_FALSE(test, stubs.stopped);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_CLOSE, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 0);
	release_qps_and_expect_nothing_left(test, held);
}

/*
 * RFC 6581 9.3 (MPA2-57): when the Reply arrives, the initiator first adjusts IRD and ORD. Only
 * then does the queue pair have an RTR to send.
 */
static void depths_are_adjusted_before_rtr(struct kunit *test)
{
	const struct ddp_offer reply = {
		.enhanced = true, .ird = 3, .ord = 7, .rtr = NEG_RTR_P2P | NEG_RTR_WRITE,
	};
	struct rnic_ep ep = {
		.dev = &stubs.dev, .id = &stubs.id, .qp = &stubs.qp[0], .ss = &stubs.ss,
		.me = {
			.ird = 2, .ord = 9, .max = RDMAP_DEPTH_MAX, .enhanced = true,
			.rtr = NEG_RTR_P2P | NEG_RTR_WRITE,
		},
	};

	negotiation_build_request(&ep.me, &ep.request);
	KUNIT_EXPECT_EQ(test, IW_OK, finish_connect(&ep, &reply));
	KUNIT_EXPECT_EQ(test, 7, (int)stubs.start.ird);
	KUNIT_EXPECT_EQ(test, 3, (int)stubs.start.ord);
	KUNIT_EXPECT_EQ(test, 0, (int)stubs.start.rtr);
	KUNIT_EXPECT_EQ(test, NEG_RTR_WRITE, (int)stubs.qp[0].rdmap.rtr);
	KUNIT_EXPECT_EQ(test, stubs.event[0], IW_CM_EVENT_CONNECT_REPLY);
	KUNIT_EXPECT_EQ(test, 0, rnic_iw_reject(&stubs.id, NULL, 0));
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_CLOSE, NULL);
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

/* rdma_cm can neither connect nor accept with a QP that the program connects without rdma_cm */
static void qp_with_rendezvous_is_refused(struct kunit *test)
{
	struct iw_cm_conn_param p = { .qpn = 1, .ird = 1, .ord = 1 };
	struct ib_qp *held;

	stubs.qp[0].rdv = (void *)&stubs;
	stubs.qp[1].rdv = (void *)&stubs;
	KUNIT_EXPECT_EQ(test, -EINVAL, rnic_iw_connect(&stubs.id, &p));
	KUNIT_EXPECT_EQ(test, 1, stubs.qp[1].ref.refs);
	KUNIT_EXPECT_EQ(test, -EINVAL, accept_with_qp(0, &held));
	KUNIT_EXPECT_TRUE(test, stubs.rejected);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_CLOSE, NULL);
	release_qps_and_expect_nothing_left(test, held);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(accepted_conn_reports_established_and_close),
	KUNIT_CASE(reject_gives_no_event),
	KUNIT_CASE(reject_after_accept_ends_conn),
	KUNIT_CASE(reject_before_establishment_is_silent),
	KUNIT_CASE(established_conn_reports_close_after_reject),
	KUNIT_CASE(second_accept_needs_same_qp),
	KUNIT_CASE(revoked_qp_is_not_found),
	KUNIT_CASE(removal_aborts_only_pending_requests),
	KUNIT_CASE(accept_of_ended_session_reports_close),
	KUNIT_CASE(failed_accept_rejects_request),
	KUNIT_CASE(depths_are_adjusted_before_rtr),
	KUNIT_CASE(qp_with_rendezvous_is_refused),
	{}
};

static struct kunit_suite suite = {
	.name = "rnic_cm",
	.init = test_init,
	.test_cases = cases,
};
kunit_test_suite(suite);
