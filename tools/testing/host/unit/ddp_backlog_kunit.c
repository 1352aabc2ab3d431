// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/backlog.c: connection requests that wait at a
 * listener, and which of them are evicted. The lower layer and the ULP are
 * stubs.
 */
#include <kunit/test.h>
#include <ddp/addr.h>

#include "../../../../drivers/ddp/backlog.h"

#define BOUND	20
#define MANY	(2 * BOUND + 1)
#define ALIKE(n)	((n) * DDP_SOURCES + 1)	/* source number n of those that share counter 1 */

static struct {
	struct ddp_port_listener l;
	struct ddp_conn_req	c[MANY];
	struct ddp_conn_req	*last_evicted;		/* last request evicted */
	u32			evicted;
	u32			refs_dropped;		/* number of references to the listener dropped */
	int			result;		/* return value of the ULP's request callback */
} stubs;

/*
 * Return the address as its own hash, so that the tests choose the counter of a
 * source
 */
u32 ddp_addr_hash_source(const struct sockaddr_storage *a, u32 seed)
{
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr;
}

void ddp_port_put_listener(struct ddp_port_listener *l)
{
	stubs.refs_dropped++;
	l->ref.refs--;
}

static void record_eviction(struct ddp_conn_req *c)
{
	stubs.last_evicted = c;
	stubs.evicted++;
}

static const struct ddp_port_ops sends_away = { .evict = record_eviction };
static const struct ddp_port_ops sends_nobody;

static int expect_one_upcall_on_request(struct ddp_listener *dl, struct ddp_session *ss,
					const struct ddp_offer *o)
{
	KUNIT_EXPECT_EQ((struct kunit *)dl->ctx, 1, stubs.l.upcalls);
	return stubs.result;
}

static void set_policy(struct ddp_listener *dl, struct ddp_policy *p)
{
	KUNIT_EXPECT_EQ((struct kunit *)dl->ctx, 1, stubs.l.upcalls);
	p->revision = 1;
}

static const struct ddp_session_user user = {
	.request = expect_one_upcall_on_request, .policy = set_policy,
};

static void fail_on_release(struct kref *ref)
{
	WARN_ON(true);
}

static const struct ddp_session_type type = { .release = fail_on_release };

static void init_listener(struct kunit *test, const struct ddp_port_ops *ops)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.l.ops = ops;
	stubs.l.limit = BOUND;
	stubs.l.dl.user = &user;
	stubs.l.dl.ctx = test;
	kref_init(&stubs.l.ref);
	ddp_backlog_init(&stubs.l);
}

static bool attach_request_from(int i, u32 source)
{
	struct sockaddr_storage a = { .ss_family = AF_INET };

	((struct sockaddr_in *)&a)->sin_addr.s_addr = source;
	return ddp_port_try_attach_request(&stubs.l, &stubs.c[i], &a);
}

static void detach_all_requests(void)
{
	int i;

	for (i = 0; i < MANY; i++)
		ddp_port_detach_request(&stubs.c[i]);
}

/*
 * The oldest request of the source with the most requests is evicted, even if
 * requests of other sources are older.
 */
static void backlog_evicts_from_largest_source(struct kunit *test)
{
	int i;

	init_listener(test, &sends_away);
	attach_request_from(0, 2);
	for (i = 1; i < BOUND; i++)
		attach_request_from(i, 3);
	KUNIT_EXPECT_EQ(test, 0u, stubs.evicted);
	KUNIT_EXPECT_TRUE(test, attach_request_from(BOUND, 4));
	KUNIT_EXPECT_EQ(test, 1u, stubs.evicted);
	KUNIT_EXPECT_PTR_EQ(test, &stubs.c[1], stubs.last_evicted);
	KUNIT_EXPECT_TRUE(test, stubs.c[1].evicted);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED,
			ddp_port_report_request(&stubs.c[1], NULL, NULL));
	detach_all_requests();
	KUNIT_EXPECT_EQ(test, BOUND + 1u, stubs.refs_dropped);
}

/*
 * The policy callback must not be called after the listener has ended, because
 * the ULP may have freed its data.
 */
static void ended_listener_makes_no_policy_upcall(struct kunit *test)
{
	struct ddp_policy p = {};

	init_listener(test, &sends_away);
	KUNIT_EXPECT_TRUE(test, ddp_port_get_policy(&stubs.l, &p));
	KUNIT_EXPECT_EQ(test, 1, p.revision);
	KUNIT_EXPECT_EQ(test, 0, stubs.l.upcalls);
	ddp_backlog_drain(&stubs.l);
	p.revision = 0;
	KUNIT_EXPECT_FALSE(test, ddp_port_get_policy(&stubs.l, &p));
	KUNIT_EXPECT_EQ(test, 0, p.revision);
}

/*
 * If two sources share a counter, a request of the source with more requests is
 * evicted. The other source keeps its only request, although that one is older.
 */
static void larger_of_sources_sharing_counter_is_evicted(struct kunit *test)
{
	int i;

	init_listener(test, &sends_away);
	attach_request_from(0, ALIKE(0));
	for (i = 1; i < BOUND; i++)
		attach_request_from(i, ALIKE(1));
	attach_request_from(BOUND, 4);
	KUNIT_EXPECT_PTR_EQ(test, &stubs.c[1], stubs.last_evicted);
	attach_request_from(BOUND + 1, ALIKE(2));
	KUNIT_EXPECT_PTR_EQ(test, &stubs.c[2], stubs.last_evicted);
	detach_all_requests();
}

/*
 * Evicted requests stay attached until they have ended. A listener must refuse a new request
 * when twice as many requests as its limit are attached.
 */
static void requests_never_exceed_twice_the_limit(struct kunit *test)
{
	int i;

	init_listener(test, &sends_away);
	for (i = 0; i < 2 * BOUND; i++)
		KUNIT_EXPECT_TRUE(test, attach_request_from(i, 2));
	KUNIT_EXPECT_EQ(test, (u32)BOUND, stubs.evicted);
	KUNIT_EXPECT_FALSE(test, attach_request_from(2 * BOUND, 5));
	ddp_port_detach_request(&stubs.c[0]);
	KUNIT_EXPECT_TRUE(test, attach_request_from(2 * BOUND, 5));
	detach_all_requests();
	KUNIT_EXPECT_EQ(test, 0u, stubs.l.npending);
	KUNIT_EXPECT_EQ(test, 0u, stubs.l.nattached);
	KUNIT_EXPECT_EQ(test, 0u, stubs.l.pending_from[2]);
	KUNIT_EXPECT_EQ(test, 1, stubs.l.ref.refs);
}

/*
 * If the lower layer cannot evict requests, a listener accepts up to a quarter
 * more requests than the limit, but only from sources with few requests
 */
static void limit_may_be_exceeded_without_eviction(struct kunit *test)
{
	int i;

	init_listener(test, &sends_nobody);
	for (i = 0; i < BOUND; i++)
		KUNIT_EXPECT_TRUE(test, attach_request_from(i, 2));
	KUNIT_EXPECT_FALSE(test, attach_request_from(BOUND, 2));
	KUNIT_EXPECT_TRUE(test, attach_request_from(BOUND, 3));
	detach_all_requests();
}

/*
 * A request that the ULP has taken over must no longer count, and must not
 * be evicted when the listener ends
 */
static void reported_request_is_not_counted(struct kunit *test)
{
	struct ddp_session ss = { .user = &user, .type = &type };

	init_listener(test, &sends_away);
	kref_init(&ss.ref);
	attach_request_from(0, 2);
	KUNIT_EXPECT_EQ(test, 0, ddp_port_report_request(&stubs.c[0], &ss, NULL));
	KUNIT_EXPECT_EQ(test, 2, ss.ref.refs);
	KUNIT_EXPECT_EQ(test, 0, stubs.l.upcalls);
	KUNIT_EXPECT_EQ(test, 0u, stubs.l.npending);
	KUNIT_EXPECT_EQ(test, 1u, stubs.l.nattached);
	attach_request_from(1, 2);
	stubs.result = -EBUSY;
	KUNIT_EXPECT_EQ(test, -EBUSY, ddp_port_report_request(&stubs.c[1], &ss, NULL));
	KUNIT_EXPECT_EQ(test, 2, ss.ref.refs);
	attach_request_from(2, 2);
	ddp_backlog_drain(&stubs.l);
	KUNIT_EXPECT_EQ(test, 1u, stubs.evicted);
	KUNIT_EXPECT_PTR_EQ(test, &stubs.c[2], stubs.last_evicted);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED,
			ddp_port_report_request(&stubs.c[2], &ss, NULL));
	KUNIT_EXPECT_FALSE(test, attach_request_from(3, 2));
	detach_all_requests();
}

static struct kunit_case caller_cases[] = {
	KUNIT_CASE(backlog_evicts_from_largest_source),
	KUNIT_CASE(larger_of_sources_sharing_counter_is_evicted),
	KUNIT_CASE(ended_listener_makes_no_policy_upcall),
	KUNIT_CASE(requests_never_exceed_twice_the_limit),
	KUNIT_CASE(limit_may_be_exceeded_without_eviction),
	KUNIT_CASE(reported_request_is_not_counted),
	{}
};

static struct kunit_suite ddp_backlog_suite = {
	.name = "ddp_backlog",
	.test_cases = caller_cases,
};

kunit_test_suite(ddp_backlog_suite);
