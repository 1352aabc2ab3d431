// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connection's worker before Full Operation, and at the end: drivers/mpa/conn.c and
 * end.c between a socket and a listener of the test's.
 */
#include <kunit/test.h>
#include <linux/mm.h>

#include "../../../../drivers/mpa/internal.h"

static struct {
	struct mpa_conn		c;
	struct mpa_startup	su;
	u8			octets[MPA_HDR_LEN + 1];	/* the peer sends */
	size_t			len, read;
	int			err;		/* TCP's, told once */
	bool			closed;		/* so is the socket */
	bool			fin;		/* the peer's has come */
	bool			coming;		/* its handshake is not over */
	u32			asked;		/* the program */
	u32			refused, over;	/* ends it has not heard of, and has */
	enum iw_reason		why;		/* the last one */
	bool			reset;		/* so was the peer */
	bool			no_memory;	/* for a FIN */
	bool			cut;		/* the FIN is inside an FPDU */
	u32			fins;
	u32			written, acked;	/* TCP's sequence numbers */
} world;

unsigned long jiffies;
struct workqueue_struct *mpa_wq;

/* The kernel --------------------------------------------------------------- */

bool host_queue(struct work_struct *w)
{
	return false;
}

void host_cancel_delayed(struct delayed_work *d) {}

bool host_mod_delayed(struct delayed_work *d, unsigned long ms)
{
	return false;
}

struct page *alloc_page(gfp_t gfp)
{
	return NULL;
}

void *page_address(const struct page *p)
{
	return NULL;
}

void put_page(struct page *p) {}

/* The socket --------------------------------------------------------------- */

static int error_once(void)
{
	int err = world.err;

	world.err = 0;
	return err;
}

int mpa_sock_read(struct mpa_conn *c, void *buf, size_t len)
{
	len = min(len, world.len - world.read);
	if (len) {
		memcpy(buf, world.octets + world.read, len);
		world.read += len;
		return len;
	}
	if (world.err)
		return error_once();
	return world.fin ? 0 : -EAGAIN;
}

enum mpa_fate mpa_sock_fate(struct mpa_conn *c, int *err)
{
	*err = world.err;
	if (world.coming)
		return MPA_SOCK_COMING;
	if (*err)
		return MPA_SOCK_LOST;
	if (world.closed)
		return MPA_SOCK_CLOSED;
	return world.fin ? MPA_SOCK_PEER_DONE : MPA_SOCK_OPEN;
}

bool mpa_sock_cut(struct mpa_conn *c)
{
	return world.cut;
}

enum iw_reason ddp_sock_reason(int err, enum iw_reason otherwise)
{
	return err == -ECONNRESET ? IW_PEER_RESET : otherwise;
}

void ddp_sock_names(struct socket *sock, struct sockaddr_storage *local,
		    struct sockaddr_storage *remote)
{
}

int mpa_sock_connect(struct mpa_conn *c, const struct sockaddr_storage *local)
{
	return -ENOMEM;
}

int mpa_sock_write(struct mpa_conn *c, struct page *page, u32 from, u32 len)
{
	return -EAGAIN;
}

bool mpa_sock_shutdown(struct mpa_conn *c)
{
	if (world.no_memory)
		return false;
	world.fins++;
	world.written++;
	return true;
}

u32 mpa_sock_acked(struct mpa_conn *c, bool *all)
{
	*all = world.written - world.acked <= world.fins;
	return world.acked;
}

bool mpa_sock_receive(struct mpa_conn *c)
{
	return false;
}

void mpa_sock_release(struct mpa_conn *c, bool abort)
{
	world.reset = abort;
}

void mpa_sock_full(struct mpa_conn *c) {}
void mpa_sock_forget(struct mpa_conn *c) {}

/* The listener and its program --------------------------------------------- */

int ddp_port_request(struct ddp_caller *c, struct ddp_session *ss,
		     const struct ddp_offer *o)
{
	world.asked++;
	return 0;
}

void ddp_port_leave(struct ddp_caller *c)
{
	c->at = NULL;
}

void ddp_port_refused(struct ddp_port_listener *l, enum iw_reason why)
{
	world.refused++;
	world.why = why;
}

void ddp_session_closed(struct ddp_session *ss, enum iw_reason why,
			const struct ddp_offer *o)
{
	world.over++;
	world.why = why;
}

enum iw_reason ddp_session_established(struct ddp_session *ss,
				       const struct ddp_offer *o)
{
	return IW_OK;
}

void ddp_session_peer_closed(struct ddp_session *ss) {}

/* The rest ----------------------------------------------------------------- */

bool mpa_line_add(struct mpa_conn *c)
{
	return false;
}

int ddp_stream_bind(struct ddp_stream *s, struct ddp_llp *llp)
{
	return 0;
}

void ddp_llp_down(struct ddp_stream *s, enum iw_reason why) {}
void mpa_frame_drop(struct mpa_conn *c) {}
void mpa_tx_init(struct mpa_conn *c) {}
void mpa_tx_kick(struct mpa_conn *c, bool bulk) {}
void mpa_tx_stop(struct mpa_conn *c) {}
void mpa_tx_work(struct mpa_conn *c) {}

/* Cases -------------------------------------------------------------------- */

static void released(struct kref *ref)
{
	WARN_ON(true);
}

static const struct ddp_session_type type = { .release = released };

/* Somebody has connected to a listener, and sent a Request */
static struct mpa_conn *called(void)
{
	static const char key[] = "MPA ID Req Frame\x40\x01";
	struct mpa_conn *c = &world.c;

	memset(&world, 0, sizeof(world));
	memcpy(world.octets, key, sizeof(key) - 1);
	world.len = MPA_HDR_LEN;
	mpa_startup_init(&world.su, false, 2, true, false);
	c->su = &world.su;
	c->ss.type = &type;
	kref_init(&c->ss.ref);
	/* the callbacks' */
	ddp_session_get(&c->ss);
	c->caller.at = (void *)&world;
	mpa_conn_init(c);
	mpa_conn_begin(c);
	return c;
}

static void look(struct mpa_conn *c)
{
	mpa_conn_event(c, MPA_EV_STATE);
	mpa_conn_look(c);
}

static void expect(struct kunit *test, u32 asked, u32 refused, u32 over,
		   enum iw_reason why)
{
	KUNIT_EXPECT_EQ(test, asked, world.asked);
	KUNIT_EXPECT_EQ(test, refused, world.refused);
	KUNIT_EXPECT_EQ(test, over, world.over);
	KUNIT_EXPECT_EQ(test, why, world.why);
}

static void is_reset(void)
{
	world.err = -ECONNRESET;
	world.closed = true;
	world.fin = true;
}

/* The program is asked once, and hears of it if the caller goes */
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

/* It is gone before anybody has looked: nobody would say so once more */
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

/* What it has sent beyond its Request says more than that it has closed */
static void caller_talks_on(struct kunit *test)
{
	struct mpa_conn *c = called();

	world.len++;
	world.fin = true;
	look(c);
	expect(test, 0, 1, 0, IW_MPA_STARTUP);
}

/* Its Request is here before it is: the program is asked when it is, and not told before */
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

/* ... which it has as long for as for the Request */
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

/* In Full Operation, and so much is with TCP that the peer has not acknowledged */
static struct mpa_conn *sent(u32 octets)
{
	struct mpa_conn *c = called();

	c->su = NULL;
	c->phase = MPA_FULL;
	c->timed = false;
	c->told = true;
	/* the sequence number comes round on the way */
	world.acked = -(octets / 2);
	world.written = world.acked + octets;
	return c;
}

static void ends(struct mpa_conn *c, bool drained)
{
	c->closing = true;
	c->drained = drained;
	mpa_conn_event(c, MPA_EV_CLOSE);
	mpa_conn_look(c);
}

/* Whatever happens then happens no sooner */
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

/* What a FIN cuts short has not ended well */
static void end_inside_fpdu(struct kunit *test)
{
	struct mpa_conn *c = sent(1);

	world.fin = true;
	world.cut = true;
	look(c);
	expect_end(test, 1, false, IW_MPA_LOST);
}

/* What came before a reset is received before it */
static void end_behind_octets(struct kunit *test)
{
	struct mpa_conn *c = sent(1);

	world.err = -ECONNRESET;
	set_bit(MPA_EV_RX, &c->events);
	mpa_end_look(c);
	expect_end(test, 0, false, IW_OK);
	c->events = 0;
	mpa_end_look(c);
	expect_end(test, 1, false, IW_PEER_RESET);
}

/* What TCP has taken in front of our FIN arrives, however slowly */
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
	/* the FIN, too; the peer's follows at once */
	world.acked++;
	look(c);
	expect_end(test, 0, false, IW_OK);
	world.fin = true;
	world.closed = true;
	look(c);
	expect_end(test, 1, false, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
}

/* Each wait has an end: for the peer to take something, and for its FIN behind that */
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

	/* who looks meanwhile makes it no longer */
	c = sent(0);
	ends(c, true);
	world.acked = world.written;
	look(c);
	after(c, 9);
	expect_end(test, 0, false, IW_OK);
	after(c, 1);
	expect_end(test, 1, true, IW_TIMEOUT);
}

/* A peer may take it octet by octet, but not for ever */
static void end_is_too_slow(struct kunit *test)
{
	struct mpa_conn *c = sent(100);
	u32 n;

	/* as long as there is more to come than TCP has */
	ends(c, false);
	for (n = 0; n < 20; n++) {
		jiffies += 100 * HZ;
		world.acked++;
		look(c);
	}
	/* the time begins with who sees that there is not, whenever he looked before */
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

/* The peer has closed first: it is over when it has what was sent */
static void end_by_the_peer(struct kunit *test)
{
	struct mpa_conn *c = sent(4);

	world.fin = true;
	look(c);
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

/* Nothing of what was told as sent is at risk: a peer that is off has no minute */
static void end_with_nothing_sent(struct kunit *test)
{
	struct mpa_conn *c = sent(0);

	ends(c, true);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
	after(c, 10);
	expect_end(test, 1, true, IW_TIMEOUT);

	/* it has closed, and TCP has our FIN */
	c = sent(0);
	world.fin = true;
	look(c);
	ends(c, true);
	expect_end(test, 1, false, IW_PEER_CLOSED);
}

/* There is no memory for the FIN, and then there is: what is in front of it has time */
static void end_without_memory(struct kunit *test)
{
	struct mpa_conn *c = sent(4);

	world.no_memory = true;
	ends(c, true);
	after(c, 129);
	expect_end(test, 0, false, IW_OK);
	world.no_memory = false;
	look(c);
	KUNIT_EXPECT_EQ(test, 1u, world.fins);
	after(c, 130);
	expect_end(test, 1, true, IW_TIMEOUT);

	/* TCP has nothing, but an FPDU that waits for an answer may be to come */
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
