// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/cm*.c and qp_cm.c: which events iw_cm gets, and which
 * references it holds, for each order of accept, reject and the lower layer's upcalls.
 * iw_cm and the lower layer are stubs.
 */
#include <kunit/test.h>
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/socket.h>

/* Leave out compat/rdma.h, and define what the driver needs of it */
#define _COMPAT_RDMA_H
struct ib_device_param { const char *name; };

/* The tests have one thread, so tables need no lock */
#define xa_lock(xa)	((void)(xa))
#define xa_unlock(xa)	((void)(xa))

#include "../../../../drivers/rnic_sw/cm.c"
#include "../../../../drivers/rnic_sw/cm_ep.c"
#include "../../../../drivers/rnic_sw/cm_event.c"
#include "../../../../drivers/rnic_sw/qp_cm.c"

#define QPS	2

static struct {
	struct rnic_dev		dev;
	struct rnic_qp		qp[QPS];
	enum iw_reason		qp_error[QPS];
	struct net		net;
	u64			counters[RNIC_COUNTERS_ALL];
	struct iw_cm_id		id;
	int			id_refs;
	enum iw_cm_event_type	event[8];
	int			events;
	struct rnic_listener		lep;
	struct ddp_listener	listener;
	struct ddp_session	ss;
	bool			rejected, stopped;
	int			accept_err;	/* result of accept_stub() */
	struct {
		u16	ird, ord;
		u8	rtr;	/* the RTR that the QP may send at its start */
	} start;			/* last call of rnic_qp_start() */
	int			endpoints;
} stubs;

/* The lower layer ------------------------------------------------------------------ */

static int accept_stub(struct ddp_session *ss, struct ddp_stream *s, const struct ddp_offer *o)
{
	ss->accepted = !stubs.accept_err;
	return stubs.accept_err;
}

static int reject_stub(struct ddp_session *ss, const struct ddp_offer *o)
{
	stubs.rejected = true;
	return 0;
}

static void stop_stub(struct ddp_session *ss, bool abort)
{
	stubs.stopped = true;
}

static void release_stub(struct kref *ref)
{
}

static const struct ddp_session_type type = {
	.accept = accept_stub, .reject = reject_stub, .stop = stop_stub,
	.release = release_stub,
};

void ddp_stream_close_if_failed(struct ddp_stream *s) {}
void ddp_session_sync_upcalls(void) {}
void ddp_sock_owner_init(struct ddp_sock_owner *o, const struct net *net) {}
void ddp_sock_owner_exit(struct ddp_sock_owner *o) {}

static struct rnic_ep *watched;	/* endpoint whose program is watched, or NULL */

void rnic_ep_watch(struct rnic_ep *ep)
{
	watched = ep;
}

void rnic_ep_unwatch(struct rnic_ep *ep)
{
	if (watched == ep)
		watched = NULL;
}

/* iw_cm ---------------------------------------------------------------------------- */

static int handle_event(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	stubs.event[stubs.events++] = ev->event;
	if (ev->event == IW_CM_EVENT_CONNECT_REQUEST)
		id->provider_data = ev->provider_data;
	return 0;
}

static void add_ref(struct iw_cm_id *id)
{
	stubs.id_refs++;
}

static void rem_ref(struct iw_cm_id *id)
{
	stubs.id_refs--;
}

const char *iwcm_reject_msg(int reason)
{
	return "";
}

/* Other functions of rnic_sw ------------------------------------------------------- */

int rnic_charge(struct rnic_dev *dev, enum rnic_kind kind)
{
	stubs.endpoints++;
	return 0;
}

void rnic_uncharge(struct rnic_dev *dev, enum rnic_kind kind)
{
	stubs.endpoints--;
}

struct rnic_qp *rnic_qp_lookup_noref(struct rnic_dev *dev, u32 qpn)
{
	return &stubs.qp[qpn];
}

struct rnic_qp *rnic_qp_find(struct rnic_dev *dev, u32 qpn)
{
	kref_get(&stubs.qp[qpn].ref);
	return &stubs.qp[qpn];
}

static void destroyed(struct kref *ref) {}

void rnic_qp_put(struct rnic_qp *qp)
{
	kref_put(&qp->ref, destroyed);
}

bool rnic_qp_may_connect(struct rnic_qp *qp)
{
	return true;
}

bool rnic_qp_authorize_connect(struct rnic_qp *qp)
{
	return true;
}

enum iw_reason rnic_qp_start(struct rnic_qp *qp, u16 ird, u16 ord)
{
	stubs.start.ird = ird;
	stubs.start.ord = ord;
	stubs.start.rtr = qp->rdmap.rtr;
	return stubs.qp_error[qp - stubs.qp] ? IW_LOCAL_ABORT : IW_OK;
}

void rnic_qp_fail(struct rnic_qp *qp, enum iw_reason why)
{
	stubs.qp_error[qp - stubs.qp] = why;
}

void rnic_qp_close(struct rnic_qp *qp) {}
int rnic_llps_init(struct rnic_dev *dev) { return 0; }
void rnic_llps_exit(struct rnic_dev *dev) {}
void rnic_wait_none_used(struct rnic_dev *dev, enum rnic_kind kind) {}
void rdmap_fail(struct rdmap *r, enum iw_reason why) {}
void rnic_fill_policy(const struct rnic_dev *dev, struct ddp_policy *p) {}
u8 rnic_get_tos(const struct iw_cm_id *id) { return 0; }
bool rnic_is_same_netns(const struct net *net, const struct iw_cm_id *id) { return true; }
struct net *rnic_get_net(struct rnic_dev *dev) { return maybe_get_net(&stubs.net); }
int rnic_get_ifindex(struct rnic_dev *dev) { return 7; }

const struct ddp_session_type *rnic_get_llp(const struct rnic_dev *dev, u8 llp)
{
	return &type;
}

/* Helpers that act as iw_cm and the lower layer ------------------------------------ */

static int test_init(struct kunit *test)
{
	static const struct ddp_offer request = { .enhanced = true, .ird = 1, .ord = 1 };
	int i;

	memset(&stubs, 0, sizeof(stubs));
	stubs.dev.default_set.value = stubs.counters;
	stubs.id.device = &stubs.dev.ib;
	stubs.id.event_handler = handle_event;
	stubs.id.add_ref = add_ref;
	stubs.id.rem_ref = rem_ref;
	rnic_pending_init(&stubs.dev);
	stubs.lep.dev = &stubs.dev;
	stubs.lep.id = &stubs.id;
	stubs.listener.ctx = &stubs.lep;
	stubs.ss.type = &type;
	kref_init(&stubs.ss.ref);
	for (i = 0; i < QPS; i++) {
		stubs.qp[i].dev = &stubs.dev;
		stubs.qp[i].ib.qp_num = i;
		stubs.qp[i].ird_max = 1;
		stubs.qp[i].ord_max = 1;
		kref_init(&stubs.qp[i].ref);
		KUNIT_ASSERT_EQ(test, 0, rnic_qp_cm_init(&stubs.qp[i]));
	}
	KUNIT_ASSERT_EQ(test, 0, rnic_session_user.request(&stubs.listener, &stubs.ss, &request));
	stubs.events = 0;
	return 0;
}

/* Accept like iw_cm: look the QP up, take a reference to it, call the provider */
static int accept_with(u32 qpn, struct ib_qp **held)
{
	struct iw_cm_conn_param p = { .qpn = qpn, .ird = 1, .ord = 1 };

	*held = rnic_get_qp(&stubs.dev.ib, qpn);
	rnic_qp_add_ref(*held);
	return rnic_iw_accept(&stubs.id, &p);
}

static void destroy_qp(int i)
{
	rnic_qp_put(&stubs.qp[i]);
	rnic_qp_cm_exit(&stubs.qp[i]);
}

static void all_released(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, watched);
	KUNIT_EXPECT_EQ(test, stubs.id_refs, 0);
	KUNIT_EXPECT_EQ(test, stubs.endpoints, 0);
	KUNIT_EXPECT_EQ(test, host_allocations, 0);
}

/* Drop iw_cm's reference to @held, destroy both QPs, and expect that nothing is left */
static void release_all(struct kunit *test, struct ib_qp *held)
{
	rnic_qp_rem_ref(held);
	destroy_qp(0);
	destroy_qp(1);
	all_released(test);
}

/* Cases ---------------------------------------------------------------------------- */

static void accepted_conn_closes(struct kunit *test)
{
	struct ib_qp *held;

	KUNIT_EXPECT_EQ(test, 0, accept_with(0, &held));
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
	all_released(test);
}

static void reject_gives_no_event(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rnic_iw_reject(&stubs.id, NULL, 0));
	KUNIT_EXPECT_TRUE(test, stubs.rejected);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_CLOSE, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 0);
	destroy_qp(0);
	destroy_qp(1);
	all_released(test);
}

/*
 * If iw_cm rejects a request that it has accepted, the connection ends.  iw_cm gets no
 * event, even if the session is established after the reject.  The QP can be destroyed
 * although iw_cm still has its handle of the QP.
 */
static void reject_after_accept_ends_conn(struct kunit *test)
{
	struct ib_qp *held;

	KUNIT_EXPECT_EQ(test, 0, accept_with(0, &held));
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
	all_released(test);
}

/*
 * If iw_cm rejects a request that it has accepted, and the session is never
 * established, iw_cm gets no event
 */
static void reject_after_accept_before_close(struct kunit *test)
{
	struct ib_qp *held;

	KUNIT_EXPECT_EQ(test, 0, accept_with(0, &held));
	rnic_iw_reject(&stubs.id, NULL, 0);
	rnic_session_user.closed(&stubs.ss, IW_PEER_RESET, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 0);
	release_all(test, held);
}

/* After ESTABLISHED iw_cm always gets CLOSE, even after a reject, because iw_cm waits for CLOSE */
static void established_conn_reports_close_once(struct kunit *test)
{
	struct ib_qp *held;

	KUNIT_EXPECT_EQ(test, 0, accept_with(0, &held));
	rnic_session_user.established(&stubs.ss, NULL);
	rnic_iw_reject(&stubs.id, NULL, 0);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_ABORT, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 2);
	KUNIT_EXPECT_EQ(test, stubs.event[1], IW_CM_EVENT_CLOSE);
	release_all(test, held);
}

/*
 * A second accept with the same QP gives iw_cm another handle of the QP and does nothing
 * else.  An accept with another QP ends the connection: iw_cm gets one ESTABLISHED and one
 * CLOSE.
 */
static void second_accept_same_or_other_qp(struct kunit *test)
{
	struct ib_qp *first, *second, *third;

	KUNIT_EXPECT_EQ(test, 0, accept_with(0, &first));
	KUNIT_EXPECT_EQ(test, 0, accept_with(0, &second));
	KUNIT_EXPECT_PTR_EQ(test, first, second);
	KUNIT_EXPECT_EQ(test, stubs.qp_error[0], IW_OK);
	/* references: the initial one, one of the endpoint, and one of iw_cm */
	KUNIT_EXPECT_EQ(test, stubs.qp[0].ref.refs, 3);
	KUNIT_EXPECT_EQ(test, 0, accept_with(1, &third));
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
	all_released(test);
}

/* After rnic_qp_cm_revoke() iw_cm cannot look the QP up to connect it */
static void revoked_qp_is_not_found(struct kunit *test)
{
	rnic_qp_cm_revoke(&stubs.qp[0]);
	KUNIT_EXPECT_NULL(test, rnic_get_qp(&stubs.dev.ib, 0));
	KUNIT_EXPECT_EQ(test, stubs.qp[0].ref.refs, 1);
	rnic_iw_reject(&stubs.id, NULL, 0);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_CLOSE, NULL);
	destroy_qp(0);
	destroy_qp(1);
	all_released(test);
}

/* Removing a device aborts pending connection requests, but no request that was accepted */
static void pending_requests_are_stopped(struct kunit *test)
{
	struct ib_qp *held;

	rnic_pending_abort(&stubs.dev);
	KUNIT_EXPECT_TRUE(test, stubs.stopped);
	stubs.stopped = false;
	KUNIT_EXPECT_EQ(test, 0, accept_with(0, &held));
	rnic_pending_abort(&stubs.dev);
	KUNIT_EXPECT_FALSE(test, stubs.stopped);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_ABORT, NULL);
	release_all(test, held);
}

/* An accept after the end of the session reports ESTABLISHED and CLOSE during the call */
static void accept_after_session_end(struct kunit *test)
{
	struct ib_qp *held;

	rnic_session_user.closed(&stubs.ss, IW_PEER_RESET, NULL);
	KUNIT_EXPECT_EQ(test, 0, accept_with(0, &held));
	KUNIT_EXPECT_EQ(test, stubs.qp_error[0], IW_PEER_RESET);
	KUNIT_EXPECT_EQ(test, stubs.events, 2);
	KUNIT_EXPECT_EQ(test, stubs.event[0], IW_CM_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, stubs.event[1], IW_CM_EVENT_CLOSE);
	release_all(test, held);
}

/*
 * If the lower layer cannot accept, the peer gets a reject at once: iw_cm has forgotten the
 * request, so the program cannot reject it
 */
static void failed_accept_rejects(struct kunit *test)
{
	struct ib_qp *held;

	stubs.accept_err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, -ENOMEM, accept_with(0, &held));
	KUNIT_EXPECT_TRUE(test, stubs.rejected);
	KUNIT_EXPECT_FALSE(test, stubs.stopped);
	rnic_session_user.closed(&stubs.ss, IW_LOCAL_CLOSE, NULL);
	KUNIT_EXPECT_EQ(test, stubs.events, 0);
	release_all(test, held);
}

/*
 * RFC 6581 9.3 (MPA2-57): when the Reply arrives, the initiator first adjusts IRD and ORD.
 * Only then the queue pair has an RTR to send.
 */
static void depths_adjusted_before_rtr(struct kunit *test)
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

	neg_build_request(&ep.me, &ep.request);
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
	all_released(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(accepted_conn_closes),
	KUNIT_CASE(reject_gives_no_event),
	KUNIT_CASE(reject_after_accept_ends_conn),
	KUNIT_CASE(reject_after_accept_before_close),
	KUNIT_CASE(established_conn_reports_close_once),
	KUNIT_CASE(second_accept_same_or_other_qp),
	KUNIT_CASE(revoked_qp_is_not_found),
	KUNIT_CASE(pending_requests_are_stopped),
	KUNIT_CASE(accept_after_session_end),
	KUNIT_CASE(failed_accept_rejects),
	KUNIT_CASE(depths_adjusted_before_rtr),
	{}
};

static struct kunit_suite suite = {
	.name = "rnic_cm",
	.init = test_init,
	.test_cases = cases,
};
kunit_test_suite(suite);
