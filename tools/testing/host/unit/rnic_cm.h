/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The files drivers/rnic_sw/cm*.c, qp_cm.c and qp_conn.c for unit tests, with stubs of iw_cm, the
 * lower layer and the other files of the driver.  Included by one file of each test program.
 */
#ifndef _HOST_DOORS_RNIC_CM_H
#define _HOST_DOORS_RNIC_CM_H

#include <kunit/test.h>
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/socket.h>

/* Leave out compat/rdma.h, and define the parts of it that the driver needs */
#define _COMPAT_RDMA_H
struct ib_device_param { const char *name; };

/* The tests have one thread, so tables need no lock */
#define xa_lock(xa)	((void)(xa))
#define xa_unlock(xa)	((void)(xa))

#include "../../../../drivers/rnic_sw/cm.c"
#include "../../../../drivers/rnic_sw/cm_ep.c"
#include "../../../../drivers/rnic_sw/cm_event.c"
#include "../../../../drivers/rnic_sw/qp_cm.c"
#include "../../../../drivers/rnic_sw/qp_conn.c"

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
	int			accept_err;	/* result of record_accept() */
	struct {
		u16	ird, ord;
		u8	rtr;	/* type of RTR message that the QP has to send, at the call */
	} start;			/* last call of rnic_qp_start() */
	int			endpoints;
	u8			llp;	/* the only lower layer that rnic_get_llp() finds */
	struct mem_cgroup	*memcg;	/* control group that allocations are charged to */
	int			charges;	/* number of times @memcg was set */
} stubs;

/* The lower layer ------------------------------------------------------------------ */

static int record_accept(struct ddp_session *ss, struct ddp_stream *s, const struct ddp_offer *o)
{
	ss->accepted = !stubs.accept_err;
	return stubs.accept_err;
}

static int reject_session(struct ddp_session *ss, const struct ddp_offer *o)
{
	stubs.rejected = true;
	return 0;
}

static void stop_session(struct ddp_session *ss, bool abort)
{
	stubs.stopped = true;
}

static void release_session(struct kref *ref)
{
}

static const struct ddp_session_type type = {
	.accept = record_accept, .reject = reject_session, .stop = stop_session,
	.release = release_session,
};

void ddp_stream_close_if_failed(struct ddp_stream *s) {}
void ddp_session_sync_upcalls(void) {}
void ddp_sock_owner_init(struct ddp_sock_owner *o, const struct net *net) {}
void ddp_sock_owner_exit(struct ddp_sock_owner *o) {}

static struct rnic_ep *watched;	/* endpoint whose program is watched, or NULL */

void rnic_ep_watch_program(struct rnic_ep *ep)
{
	watched = ep;
}

void rnic_ep_unwatch_program(struct rnic_ep *ep)
{
	if (watched == ep)
		watched = NULL;
}

/* iw_cm ---------------------------------------------------------------------------- */

static int record_event(struct iw_cm_id *id, struct iw_cm_event *ev)
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

int rnic_charge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	stubs.endpoints++;
	return 0;
}

void rnic_uncharge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	stubs.endpoints--;
}

struct rnic_qp *rnic_qp_lookup_noref(struct rnic_dev *dev, u32 qpn)
{
	return &stubs.qp[qpn];
}

struct rnic_qp *rnic_qp_find_get(struct rnic_dev *dev, u32 qpn)
{
	kref_get(&stubs.qp[qpn].ref);
	return &stubs.qp[qpn];
}

static void ignore_release(struct kref *ref) {}

void rnic_qp_put(struct rnic_qp *qp)
{
	kref_put(&qp->ref, ignore_release);
}

bool rnic_current_may_connect_qp(struct rnic_qp *qp)
{
	return true;
}

bool rnic_qp_try_consume_connect_right(struct rnic_qp *qp)
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
void rnic_wait_objects_freed(struct rnic_dev *dev, enum rnic_kind kind) {}
void rdmap_fail(struct rdmap *r, enum iw_reason why) {}
void rnic_fill_llp_policy(const struct rnic_dev *dev, struct ddp_policy *p) {}
u8 rnic_get_tos(const struct iw_cm_id *id) { return 0; }
bool rnic_cm_id_is_in_netns(const struct net *net, const struct iw_cm_id *id) { return true; }
struct net *rnic_get_net(struct rnic_dev *dev) { return maybe_get_net(&stubs.net); }
int rnic_get_ifindex(struct rnic_dev *dev) { return 7; }

const struct ddp_session_type *rnic_get_llp(const struct rnic_dev *dev, u8 llp)
{
	return llp == stubs.llp ? &type : NULL;
}

/* The core ------------------------------------------------------------------------- */

struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg)
{
	struct mem_cgroup *old = stubs.memcg;

	stubs.memcg = memcg;
	stubs.charges += !!memcg;
	return old;
}

/* Helpers that act as iw_cm and the lower layer ------------------------------------ */

static int test_init(struct kunit *test)
{
	static const struct ddp_offer request = {
		.enhanced = true, .ird = 1, .ord = 1, .revision = 2, .pd_len = 3, .pd = "ask",
	};
	int i;

	memset(&stubs, 0, sizeof(stubs));
	stubs.llp = RNIC_SW_LLP_TCP;
	stubs.dev.default_set.value = stubs.counters;
	stubs.id.device = &stubs.dev.ib;
	stubs.id.event_handler = record_event;
	stubs.id.add_ref = add_ref;
	stubs.id.rem_ref = rem_ref;
	rnic_pending_reqs_init(&stubs.dev);
	stubs.lep.dev = &stubs.dev;
	stubs.lep.id = &stubs.id;
	stubs.listener.ctx = &stubs.lep;
	stubs.ss.type = &type;
	kref_init(&stubs.ss.ref);
	for (i = 0; i < QPS; i++) {
		stubs.qp[i].dev = &stubs.dev;
		stubs.qp[i].ib.qp_num = i;
		stubs.qp[i].ib.uobject = (struct ib_uqp_object *)&stubs;
		stubs.qp[i].owner.memcg = (struct mem_cgroup *)&stubs;
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
static int accept_with_qp(u32 qpn, struct ib_qp **held)
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
	kfree(stubs.qp[i].peer_msg);
}

static void expect_all_objects_released(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, watched);
	KUNIT_EXPECT_EQ(test, stubs.id_refs, 0);
	KUNIT_EXPECT_EQ(test, stubs.endpoints, 0);
	KUNIT_EXPECT_EQ(test, host_allocations, 0);
}

/* Drop iw_cm's reference to @held, destroy both QPs, and expect that nothing is left */
static void release_qps_and_expect_nothing_left(struct kunit *test, struct ib_qp *held)
{
	rnic_qp_rem_ref(held);
	destroy_qp(0);
	destroy_qp(1);
	expect_all_objects_released(test);
}

#endif
