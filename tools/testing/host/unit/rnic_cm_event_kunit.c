// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/rnic_sw/cm_event.c: events for iw_cm, which is a stub. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/socket.h>

/* leave out compat/rdma.h, and define the parts of it that the driver needs */
#define _COMPAT_RDMA_H
struct ib_device_param { const char *name; };

#include "../../../../drivers/rnic_sw/cm_event.c"

static struct {
	struct iw_cm_event	reported[4];
	u8			pd[U8_MAX];	/* private data of the last event */
	int			count;
	int			fails;		/* the first @fails events of a case fail */
	int			held;
	struct iw_cm_id		id;
	struct ddp_session	ss;
	struct rnic_ep		ep;
	struct ddp_offer	offer;
} stubs;

static int record_event(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	stubs.reported[stubs.count++] = *ev;
	memcpy(stubs.pd, ev->private_data ?: stubs.pd, ev->private_data_len);
	return stubs.count <= stubs.fails ? -ENOMEM : 0;
}

static void add_ref(struct iw_cm_id *id)
{
	stubs.held++;
}

static void rem_ref(struct iw_cm_id *id)
{
	stubs.held--;
}

const char *iwcm_reject_msg(int reason)
{
	return "";
}

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.id.event_handler = record_event;
	stubs.id.add_ref = add_ref;
	stubs.id.rem_ref = rem_ref;
	stubs.ep.ss = &stubs.ss;
	stubs.ep.id = &stubs.id;
	stubs.ep.number = 77;
	stubs.ep.result.ird = 3;
	stubs.ep.result.ord = 4;
	stubs.offer = (struct ddp_offer){
		.enhanced = true, .ird = 20, .ord = 30, .pd_len = 5, .pd = "peer",
	};
	return 0;
}

/* MPA2-26, MPA2-35: a Reject reports the peer's IRD and ORD, like a Reply */
static void reject_reports_ird_and_ord(struct kunit *test)
{
	rnic_ep_report_connect_failure(&stubs.ep, -ECONNREFUSED, &stubs.offer);
	KUNIT_EXPECT_EQ(test, stubs.count, 1);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].event, IW_CM_EVENT_CONNECT_REPLY);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].status, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].ird, 20);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].ord, 30);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].private_data_len, 5);
	KUNIT_EXPECT_STREQ(test, (char *)stubs.pd, "peer");
}

static void accept_reports_ird_and_ord(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rnic_ep_report_event(&stubs.ep, IW_CM_EVENT_CONNECT_REPLY, 0,
						      &stubs.offer));
	KUNIT_EXPECT_EQ(test, stubs.reported[0].ird, 20);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].ord, 30);
}

/*
 * If the peer has sent no IRD and ORD, a Reply event has the negotiated values,
 * and a connection request event has the maximum values
 */
static void plain_peer_gives_negotiated_or_max_depths(struct kunit *test)
{
	stubs.offer.enhanced = false;
	rnic_ep_report_connect_failure(&stubs.ep, -ECONNREFUSED, &stubs.offer);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].ird, 4);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].ord, 3);
	KUNIT_EXPECT_EQ(test, 0, rnic_ep_report_request(&stubs.ep, &stubs.id, &stubs.offer));
	KUNIT_EXPECT_EQ(test, stubs.reported[1].event, IW_CM_EVENT_CONNECT_REQUEST);
	KUNIT_EXPECT_EQ(test, stubs.reported[1].ird, min_t(int, RDMAP_DEPTH_MAX, U8_MAX));
	KUNIT_EXPECT_PTR_EQ(test, stubs.reported[1].provider_data, xa_mk_value(77));
}

/* Values that exceed the 8 bits of their field in an event are reported as 255 */
static void large_values_are_reported_as_255(struct kunit *test)
{
	stubs.offer.ird = 256;
	stubs.offer.ord = U16_MAX;
	stubs.offer.pd_len = 300;
	rnic_ep_report_connect_failure(&stubs.ep, -ECONNREFUSED, &stubs.offer);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].ird, U8_MAX);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].ord, U8_MAX);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].private_data_len, U8_MAX);
}

/* If there is no memory for the peer's private data, the Reject is reported without the data */
static void reject_without_memory_lacks_private_data(struct kunit *test)
{
	stubs.fails = 1;
	rnic_ep_report_connect_failure(&stubs.ep, -ECONNREFUSED, &stubs.offer);
	KUNIT_EXPECT_EQ(test, stubs.count, 2);
	KUNIT_EXPECT_EQ(test, stubs.reported[1].status, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, stubs.reported[1].private_data_len, 0);
}

/*
 * If the peer has disconnected before the accept, iw_cm gets ESTABLISHED and then CLOSE, and the
 * cm_id reference is dropped
 */
static void accept_of_gone_peer_reports_close(struct kunit *test)
{
	rnic_cm_report_established_and_close(&stubs.id);
	KUNIT_EXPECT_EQ(test, stubs.count, 2);
	KUNIT_EXPECT_EQ(test, stubs.reported[0].event, IW_CM_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, stubs.reported[1].event, IW_CM_EVENT_CLOSE);
	KUNIT_EXPECT_EQ(test, stubs.held, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(reject_reports_ird_and_ord),
	KUNIT_CASE(accept_reports_ird_and_ord),
	KUNIT_CASE(plain_peer_gives_negotiated_or_max_depths),
	KUNIT_CASE(large_values_are_reported_as_255),
	KUNIT_CASE(reject_without_memory_lacks_private_data),
	KUNIT_CASE(accept_of_gone_peer_reports_close),
	{}
};

static struct kunit_suite suite = {
	.name = "rnic_cm_event",
	.init = test_init,
	.test_cases = cases,
};
kunit_test_suite(suite);
