// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/rnic_sw/cm_event.c: events for iw_cm, which is a stub. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/socket.h>

/* replaces compat/rdma.h */
#define _COMPAT_RDMA_H
struct ib_device_param { const char *name; };

#include "../../../../drivers/rnic_sw/cm_event.c"

static struct {
	struct iw_cm_event	told[4];
	u8			pd[U8_MAX];	/* private data of the last event */
	int			count;
	int			fails;		/* number of events that fail at first */
	int			held;
	struct iw_cm_id		id;
	struct ddp_session	ss;
	struct rnic_ep		ep;
	struct ddp_offer	offer;
} world;

static int handler(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	world.told[world.count++] = *ev;
	memcpy(world.pd, ev->private_data ?: world.pd, ev->private_data_len);
	return world.count <= world.fails ? -ENOMEM : 0;
}

static void add_ref(struct iw_cm_id *id)
{
	world.held++;
}

static void rem_ref(struct iw_cm_id *id)
{
	world.held--;
}

const char *iwcm_reject_msg(int reason)
{
	return "";
}

static int begin(struct kunit *test)
{
	memset(&world, 0, sizeof(world));
	world.id.event_handler = handler;
	world.id.add_ref = add_ref;
	world.id.rem_ref = rem_ref;
	world.ep.ss = &world.ss;
	world.ep.id = &world.id;
	world.ep.number = 77;
	world.ep.result.ird = 3;
	world.ep.result.ord = 4;
	world.offer = (struct ddp_offer){
		.enhanced = true, .ird = 20, .ord = 30, .pd_len = 5, .pd = "peer",
	};
	return 0;
}

/* MPA2-26, MPA2-35: a Reject reports the peer's IRD and ORD, like a Reply */
static void depths_of_a_reject(struct kunit *test)
{
	rnic_ep_refusal(&world.ep, -ECONNREFUSED, &world.offer);
	KUNIT_EXPECT_EQ(test, world.count, 1);
	KUNIT_EXPECT_EQ(test, world.told[0].event, IW_CM_EVENT_CONNECT_REPLY);
	KUNIT_EXPECT_EQ(test, world.told[0].status, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, world.told[0].ird, 20);
	KUNIT_EXPECT_EQ(test, world.told[0].ord, 30);
	KUNIT_EXPECT_EQ(test, world.told[0].private_data_len, 5);
	KUNIT_EXPECT_STREQ(test, (char *)world.pd, "peer");
}

static void depths_of_an_accept(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rnic_ep_event(&world.ep, IW_CM_EVENT_CONNECT_REPLY, 0,
					       &world.offer));
	KUNIT_EXPECT_EQ(test, world.told[0].ird, 20);
	KUNIT_EXPECT_EQ(test, world.told[0].ord, 30);
}

/*
 * If the peer has sent no IRD and ORD, a Reply reports what was agreed, and a
 * request the maximum
 */
static void no_depths(struct kunit *test)
{
	world.offer.enhanced = false;
	rnic_ep_refusal(&world.ep, -ECONNREFUSED, &world.offer);
	KUNIT_EXPECT_EQ(test, world.told[0].ird, 4);
	KUNIT_EXPECT_EQ(test, world.told[0].ord, 3);
	KUNIT_EXPECT_EQ(test, 0, rnic_ep_request(&world.ep, &world.id, &world.offer));
	KUNIT_EXPECT_EQ(test, world.told[1].event, IW_CM_EVENT_CONNECT_REQUEST);
	KUNIT_EXPECT_EQ(test, world.told[1].ird, min_t(int, RDMAP_DEPTH_MAX, U8_MAX));
	KUNIT_EXPECT_PTR_EQ(test, world.told[1].provider_data, xa_mk_value(77));
}

/* An event has 8 bits for each value (N-22) */
static void more_than_fits(struct kunit *test)
{
	world.offer.ird = 256;
	world.offer.ord = U16_MAX;
	world.offer.pd_len = 300;
	rnic_ep_refusal(&world.ep, -ECONNREFUSED, &world.offer);
	KUNIT_EXPECT_EQ(test, world.told[0].ird, U8_MAX);
	KUNIT_EXPECT_EQ(test, world.told[0].ord, U8_MAX);
	KUNIT_EXPECT_EQ(test, world.told[0].private_data_len, U8_MAX);
}

/* Without memory for the peer's data the Reject is reported without it */
static void no_memory(struct kunit *test)
{
	world.fails = 1;
	rnic_ep_refusal(&world.ep, -ECONNREFUSED, &world.offer);
	KUNIT_EXPECT_EQ(test, world.count, 2);
	KUNIT_EXPECT_EQ(test, world.told[1].status, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, world.told[1].private_data_len, 0);
}

/* ESTABLISHED and CLOSE are reported in this order, with a reference to the cm_id */
static void gone(struct kunit *test)
{
	rnic_id_gone(&world.id);
	KUNIT_EXPECT_EQ(test, world.count, 2);
	KUNIT_EXPECT_EQ(test, world.told[0].event, IW_CM_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, world.told[1].event, IW_CM_EVENT_CLOSE);
	KUNIT_EXPECT_EQ(test, world.held, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(depths_of_a_reject),
	KUNIT_CASE(depths_of_an_accept),
	KUNIT_CASE(no_depths),
	KUNIT_CASE(more_than_fits),
	KUNIT_CASE(no_memory),
	KUNIT_CASE(gone),
	{}
};

static struct kunit_suite suite = {
	.name = "rnic_told",
	.init = begin,
	.test_cases = cases,
};
kunit_test_suite(suite);
