// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/path.c and stall.c: detecting that SCTP packets
 * do not arrive at the peer. The association is a stub.
 */
#include <kunit/test.h>
#include <linux/sctp.h>
#include <net/sctp/structs.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"

#define LOOK	(SDDP_STALL_INTERVAL * HZ)

static struct {
	struct sddp_assoc	a;
	struct sctp_association	asoc;
	struct sctp_transport	t;
	struct sock		sk;
	struct socket		sock;
	u64			now;		/* current time, ms */
	bool			armed;		/* a check is scheduled */
	u32			heartbeats;		/* number of heartbeats; the peer replies */
	u32			rested;		/* number of checks with no data in flight */
} stubs;

struct workqueue_struct *sddp_wq;

u64 host_get_time_ns(void)
{
	return stubs.now * NSEC_PER_MSEC;
}

bool host_queue_delayed(struct delayed_work *d, unsigned long ms)
{
	bool before = stubs.armed;

	stubs.armed = d == &stubs.a.stall_timer && ms == LOOK;
	return !before;
}

int sddp_sock_set_opt(struct socket *sock, int name, void *value, int len)
{
	const struct sctp_paddrparams *p = value;

	stubs.heartbeats += name == SCTP_PEER_ADDR_PARAMS && p->spp_flags == SPP_HB_DEMAND;
	stubs.t.last_time_heard = host_get_time_ns() + 1;
	return 0;
}

/* Create an association with ten chunks, in large packets, in flight */
static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.sock.sk = &stubs.sk;
	stubs.sk.asoc = &stubs.asoc;
	stubs.a.sock = &stubs.sock;
	INIT_LIST_HEAD(&stubs.asoc.peer.transport_addr_list);
	list_add_tail(&stubs.t.transports, &stubs.asoc.peer.transport_addr_list);
	stubs.asoc.peer.primary_path = &stubs.t;
	stubs.t.ipaddr.sa.sa_family = AF_INET;
	stubs.t.pathmtu = 9000;
	stubs.asoc.ctsn_ack_point = 0xfffffffb;
	stubs.asoc.next_tsn = 6;
	sddp_path_schedule_check(&stubs.a);
	return 0;
}

/*
 * Run up to @most checks. Return: the number of checks until the association is
 * aborted, or 0 if it is not.
 */
static u32 run_checks(struct kunit *test, u32 most)
{
	enum sddp_path_state state;
	u32 i;

	for (i = 0; i < most; i++) {
		KUNIT_ASSERT_TRUE(test, stubs.armed);
		stubs.armed = false;
		stubs.now += LOOK;
		state = sddp_path_act_on_stall(&stubs.a);
		stubs.rested += state == SDDP_PATH_IDLE;
		if (state == SDDP_PATH_DEAD)
			return i + 1;
	}
	return 0;
}

/* Checks run as long as data is in flight */
static void checks_run_while_data_is_in_flight(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0u, run_checks(test, 1));
	stubs.asoc.ctsn_ack_point = 0;
	KUNIT_EXPECT_EQ(test, 0u, run_checks(test, 1));
	stubs.asoc.ctsn_ack_point = 5;
	KUNIT_EXPECT_EQ(test, 0u, stubs.rested);
	KUNIT_EXPECT_EQ(test, 0u, run_checks(test, 1));
	KUNIT_EXPECT_EQ(test, 1u, stubs.rested);
	KUNIT_EXPECT_FALSE(test, stubs.armed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.heartbeats);
}

/*
 * If large packets are lost, the path MTU is lowered, and the association ends
 * after a minute
 */
static void lost_large_packets_lower_pmtu(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0u, run_checks(test, 3));
	KUNIT_EXPECT_EQ(test, 1u, stubs.heartbeats);
	KUNIT_EXPECT_EQ(test, 1500u, stubs.t.pathmtu);
	KUNIT_EXPECT_EQ(test, 13u, run_checks(test, 100));
	KUNIT_EXPECT_EQ(test, 576u, stubs.t.pathmtu);
}

/*
 * However long the peer's window stays closed, the association must not end.
 * After the peer opens the window, losses are detected again.
 */
static void closed_window_keeps_assoc(struct kunit *test)
{
	stubs.asoc.peer.zero_window_announced = true;
	KUNIT_EXPECT_EQ(test, 0u, run_checks(test, 1000));
	KUNIT_EXPECT_EQ(test, 0u, stubs.heartbeats);
	KUNIT_EXPECT_EQ(test, 9000u, stubs.t.pathmtu);
	stubs.asoc.peer.zero_window_announced = false;
	KUNIT_EXPECT_EQ(test, 0u, run_checks(test, 2));
	KUNIT_EXPECT_EQ(test, 1500u, stubs.t.pathmtu);
	KUNIT_EXPECT_EQ(test, 13u, run_checks(test, 100));
}

/* If SCTP has ended the association, the check does nothing: the worker handles the end */
static void ended_assoc_is_not_checked(struct kunit *test)
{
	stubs.sk.asoc = NULL;
	KUNIT_EXPECT_EQ(test, 0u, run_checks(test, 1));
	KUNIT_EXPECT_FALSE(test, stubs.armed);
}

static struct kunit_case sddp_path_cases[] = {
	KUNIT_CASE(checks_run_while_data_is_in_flight),
	KUNIT_CASE(lost_large_packets_lower_pmtu),
	KUNIT_CASE(closed_window_keeps_assoc),
	KUNIT_CASE(ended_assoc_is_not_checked),
	{}
};

static struct kunit_suite sddp_path_suite = {
	.name = "sddp_path",
	.init = test_init,
	.test_cases = sddp_path_cases,
};

kunit_test_suite(sddp_path_suite);
