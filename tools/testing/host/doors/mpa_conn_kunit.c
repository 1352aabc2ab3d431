// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/conn.c and conn_start.c: a connection's worker during
 * start-up and at the end. Socket and listener are stubs.
 */
#include "mpa_conn.h"

/*
 * The program gets one connection request, and is notified if the peer then
 * closes or resets
 */
static void caller_waits(struct kunit *test)
{
	struct mpa_conn *c = called();

	look(c);
	look(c);
	expect(test, 1, 0, 0, IW_OK);
	is_reset();
	look(c);
	expect(test, 1, 0, 1, IW_PEER_RESET);

	c = called();
	look(c);
	world.fin = true;
	look(c);
	expect(test, 1, 0, 1, IW_PEER_CLOSED);
}

/*
 * A peer that has closed before its request is processed is not reported to the
 * program
 */
static void caller_was_there(struct kunit *test)
{
	struct mpa_conn *c = called();

	is_reset();
	look(c);
	expect(test, 0, 1, 0, IW_PEER_RESET);
	KUNIT_EXPECT_EQ(test, MPA_ENDED, c->phase);

	c = called();
	world.fin = true;
	look(c);
	expect(test, 0, 1, 0, IW_PEER_CLOSED);
	KUNIT_EXPECT_EQ(test, MPA_ENDED, c->phase);
}

/* Data after the Request is an error, even if the peer has closed as well */
static void caller_talks_on(struct kunit *test)
{
	struct mpa_conn *c = called();

	world.len++;
	world.fin = true;
	look(c);
	expect(test, 0, 1, 0, IW_MPA_STARTUP);
}

/*
 * A Request that arrives before the TCP handshake ends is reported only after
 * it
 */
static void caller_is_coming(struct kunit *test)
{
	struct mpa_conn *c = called();

	world.coming = true;
	look(c);
	look(c);
	expect(test, 0, 0, 0, IW_OK);
	world.coming = false;
	look(c);
	expect(test, 1, 0, 0, IW_OK);

	c = called();
	world.coming = true;
	look(c);
	world.coming = false;
	is_reset();
	look(c);
	expect(test, 0, 1, 0, IW_PEER_RESET);
}

/* The TCP handshake has the same time limit as the Request */
static void caller_never_comes(struct kunit *test)
{
	struct mpa_conn *c = called();

	world.coming = true;
	look(c);
	jiffies += 10 * HZ - 1;
	look(c);
	expect(test, 0, 0, 0, IW_OK);
	jiffies++;
	look(c);
	expect(test, 0, 1, 0, IW_TIMEOUT);
}

static void ends(struct mpa_conn *c, bool drained)
{
	c->closing = true;
	c->drained = drained;
	mpa_conn_event(c, MPA_EV_CLOSE);
	turn(c);
}

/* The connection ends after @seconds, not earlier */
static void after(struct mpa_conn *c, unsigned int seconds)
{
	jiffies += seconds * HZ - 1;
	look(c);
	WARN_ON(c->phase == MPA_ENDED);
	jiffies++;
	look(c);
}

static void expect_end(struct kunit *test, u32 over, bool reset, enum iw_reason why)
{
	expect(test, 0, 0, over, why);
	KUNIT_EXPECT_EQ(test, reset, world.reset);
}

/* An active connection that has a Request to send */
static struct mpa_conn *calling(struct kunit *test, int takes)
{
	static const struct ddp_offer offer = {
		.enhanced = true, .ird = 1, .ord = 1,
	};
	struct mpa_conn *c = called();

	mpa_startup_init(&world.su, true, 2, true, false);
	KUNIT_EXPECT_EQ(test, 0, mpa_startup_offer(&world.su, &offer));
	c->caller.at = NULL;
	c->told = true;
	c->timed = false;
	world.len = 0;
	world.takes = takes;
	return c;
}

/* The Reply has a minute from the time at which TCP accepts the Request */
static void request_goes(struct kunit *test)
{
	struct mpa_conn *c = calling(test, INT_MAX);

	look(c);
	after(c, 60);
	expect_end(test, 1, true, IW_TIMEOUT);
}

/* Sending the Request is retried while memory is short, up to a time limit */
static void request_without_memory(struct kunit *test)
{
	struct mpa_conn *c = calling(test, -ENOMEM);

	look(c);
	KUNIT_EXPECT_EQ(test, msecs_to_jiffies((unsigned long)MPA_RETRY_LEAST), world.delay);
	world.takes = 3;
	look(c);
	KUNIT_EXPECT_EQ(test, 3u, c->written);
	world.takes = -EAGAIN;
	after(c, MPA_DEADLINE_MEMORY);
	expect_end(test, 1, true, IW_TIMEOUT);
}

/*
 * An error of TCP while sending the Request ends the connection with that
 * reason
 */
static void request_is_lost(struct kunit *test)
{
	struct mpa_conn *c = calling(test, -ECONNRESET);

	look(c);
	expect_end(test, 1, true, IW_PEER_RESET);
	c = calling(test, -EPIPE);
	look(c);
	expect_end(test, 1, true, IW_MPA_LOST);
}

/*
 * After a reset of an enhanced Request the connection is made again with
 * revision 1. A failure to connect is reported.
 */
static void older_cannot_connect(struct kunit *test)
{
	static const struct {
		int		err;
		enum iw_reason	why;
	} ways[] = {
		{ -ENOMEM,	IW_NO_MEMORY },
		{ -ENETUNREACH,	IW_UNREACHABLE },
	};
	struct mpa_conn *c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		c = calling(test, INT_MAX);
		look(c);
		world.connects = ways[i].err;
		is_reset();
		look(c);
		KUNIT_EXPECT_EQ(test, 1u, world.over);
		KUNIT_EXPECT_EQ(test, ways[i].why, world.why);
	}
}

/* A FIN inside an FPDU is an error */
static void end_inside_fpdu(struct kunit *test)
{
	struct mpa_conn *c = sent(1);

	world.fin = true;
	world.cut = true;
	look(c);
	expect_end(test, 1, false, IW_MPA_LOST);
}

/* Data that arrived before a reset is received first */
static void end_behind_octets(struct kunit *test)
{
	struct mpa_conn *c = sent(1);

	world.err = -ECONNRESET;
	/* data arrives after each receive call */
	world.events = 100;
	look(c);
	expect_end(test, 0, false, IW_OK);
	world.events = 0;
	look(c);
	expect_end(test, 1, false, IW_PEER_RESET);
}

/*
 * Data that TCP has accepted before the FIN has time as long as the peer
 * acknowledges some of it
 */
static void end_is_slow(struct kunit *test)
{
	struct mpa_conn *c = sent(4);
	u32 n;

	ends(c, false);
	KUNIT_EXPECT_EQ(test, 0u, world.fins);
	c->drained = true;
	look(c);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
	for (n = 0; n < 4; n++) {
		jiffies += 130 * HZ - 1;
		world.acked++;
		look(c);
		expect_end(test, 0, false, IW_OK);
	}
	/* the FIN is acknowledged as well; the peer's FIN follows at once */
	world.acked++;
	look(c);
	expect_end(test, 0, false, IW_OK);
	world.fin = true;
	world.closed = true;
	look(c);
	expect_end(test, 1, false, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
	/* a complete close is not reported as a half-close first */
	KUNIT_EXPECT_EQ(test, 0u, world.halves);
}

/*
 * There is a time limit for the next acknowledgment, and one for the peer's FIN
 * after it
 */
static void end_never_comes(struct kunit *test)
{
	struct mpa_conn *c = sent(4);

	ends(c, true);
	world.acked++;
	look(c);
	after(c, 130);
	expect_end(test, 1, true, IW_TIMEOUT);

	c = sent(4);
	ends(c, true);
	after(c, 129);
	world.acked = world.written;
	look(c);
	after(c, 10);
	expect_end(test, 1, true, IW_TIMEOUT);

	/* polling does not extend the limit */
	c = sent(0);
	ends(c, true);
	world.acked = world.written;
	look(c);
	after(c, 9);
	expect_end(test, 0, false, IW_OK);
	after(c, 1);
	expect_end(test, 1, true, IW_TIMEOUT);
}

/* There is a limit for all acknowledgments together, however regular they are */
static void end_is_too_slow(struct kunit *test)
{
	struct mpa_conn *c = sent(100);
	u32 n;

	/* the limit does not run while the transmit path has more to send */
	ends(c, false);
	for (n = 0; n < 20; n++) {
		jiffies += 100 * HZ;
		world.acked++;
		look(c);
	}
	/* the limit begins when the worker finds the transmit path drained */
	jiffies += 100 * HZ;
	c->drained = true;
	look(c);
	for (n = 0; n < 8; n++) {
		jiffies += 100 * HZ;
		world.acked++;
		look(c);
	}
	expect_end(test, 0, false, IW_OK);
	jiffies += 100 * HZ - 1;
	world.acked++;
	look(c);
	expect_end(test, 0, false, IW_OK);
	jiffies++;
	world.acked++;
	look(c);
	expect_end(test, 1, true, IW_TIMEOUT);
}

/*
 * If the peer has closed first, the connection ends when the peer has
 * acknowledged all data
 */
static void end_by_the_peer(struct kunit *test)
{
	struct mpa_conn *c = sent(4);

	world.fin = true;
	look(c);
	look(c);
	KUNIT_EXPECT_EQ(test, 1u, world.halves);
	ends(c, true);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
	expect_end(test, 0, false, IW_OK);
	jiffies += 30 * HZ;
	world.acked = world.written - 2;
	look(c);
	jiffies += 129 * HZ;
	look(c);
	expect_end(test, 0, false, IW_OK);
	world.acked++;
	look(c);
	expect_end(test, 1, false, IW_PEER_CLOSED);
}

/* If no data is unacknowledged, a silent peer gets the short limit */
static void end_with_nothing_sent(struct kunit *test)
{
	struct mpa_conn *c = sent(0);

	ends(c, true);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
	after(c, 10);
	expect_end(test, 1, true, IW_TIMEOUT);

	/*
	 * if the peer has closed and TCP has the FIN, the connection ends at
	 * once
	 */
	c = sent(0);
	world.fin = true;
	look(c);
	ends(c, true);
	expect_end(test, 1, false, IW_PEER_CLOSED);
}

/*
 * If there is no memory for the FIN it is retried; unacknowledged data keeps
 * its full time limit
 */
static void end_without_memory(struct kunit *test)
{
	struct mpa_conn *c = sent(4);

	world.no_memory = true;
	ends(c, true);
	KUNIT_EXPECT_EQ(test, HZ / 10ul, world.delay);
	after(c, 129);
	expect_end(test, 0, false, IW_OK);
	world.no_memory = false;
	look(c);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
	after(c, 130);
	expect_end(test, 1, true, IW_TIMEOUT);

	/* TCP has no data, but an FPDU that is blocked on a response may follow */
	c = sent(0);
	world.no_memory = true;
	ends(c, false);
	after(c, 129);
	expect_end(test, 0, false, IW_OK);
	c->drained = true;
	look(c);
	after(c, 10);
	expect_end(test, 1, true, IW_TIMEOUT);
}

static struct kunit_case mpa_conn_cases[] = {
	KUNIT_CASE(caller_waits),
	KUNIT_CASE(caller_was_there),
	KUNIT_CASE(caller_talks_on),
	KUNIT_CASE(caller_is_coming),
	KUNIT_CASE(caller_never_comes),
	KUNIT_CASE(request_goes),
	KUNIT_CASE(request_without_memory),
	KUNIT_CASE(request_is_lost),
	KUNIT_CASE(older_cannot_connect),
	KUNIT_CASE(end_inside_fpdu),
	KUNIT_CASE(end_behind_octets),
	KUNIT_CASE(end_is_slow),
	KUNIT_CASE(end_is_too_slow),
	KUNIT_CASE(end_never_comes),
	KUNIT_CASE(end_by_the_peer),
	KUNIT_CASE(end_with_nothing_sent),
	KUNIT_CASE(end_without_memory),
	{}
};

static struct kunit_suite mpa_conn_suite = {
	.name = "mpa_conn",
	.test_cases = mpa_conn_cases,
};

kunit_test_suite(mpa_conn_suite);
