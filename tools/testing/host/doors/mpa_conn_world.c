// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Stubs of the tests of a connection's worker: socket, listener, and memory
 * that may be short.
 */
#include <linux/mm.h>

#include "mpa_conn.h"

struct mpa_conn_world world;
unsigned long jiffies;
struct workqueue_struct *mpa_wq;
u32 host_rescheds;

/* The kernel --------------------------------------------------------------- */

bool host_queue(struct work_struct *w)
{
	world.queued++;
	if (!world.keeps || world.work)
		return false;
	world.work = w;
	return true;
}

void host_cancel_delayed(struct delayed_work *d)
{
	world.disarmed++;
}

void host_unlocked(struct mutex *m)
{
	if (m != &world.c.mutex)
		return;
	WARN_ON(world.c.seen_to);
	if (world.unlocked)
		world.unlocked(&world.c);
}

bool host_mod_delayed(struct delayed_work *d, unsigned long delay)
{
	/* a connection that has ended must not start a timer: it may be freed */
	WARN_ON(world.c.phase == MPA_ENDED);
	world.armed++;
	world.delay = delay;
	return false;
}

struct page *alloc_page(gfp_t gfp)
{
	return (struct page *)&world.frame;
}

void *page_address(const struct page *p)
{
	return world.frame;
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
	return world.connects;
}

int mpa_sock_write(struct mpa_conn *c, struct page *page, u32 from, u32 len)
{
	return min(world.takes, (int)len);
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
	world.received++;
	if (world.events) {
		world.events--;
		mpa_conn_event(c, MPA_EV_RX);
	}
	return world.more;
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

void ddp_session_peer_closed(struct ddp_session *ss)
{
	world.halves++;
}

/* The rest ----------------------------------------------------------------- */

bool mpa_line_add(struct mpa_conn *c)
{
	world.lined++;
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

void mpa_tx_work(struct mpa_conn *c)
{
	world.worked++;
}

bool mpa_line_waits(const struct mpa_line *line)
{
	return world.others;
}

struct mpa_conn *mpa_line_take_first(struct mpa_line *line)
{
	struct mpa_conn *c = world.first;

	world.first = NULL;
	return c;
}

void mpa_line_put(struct mpa_line *line) {}
void mpa_line_kick(struct mpa_line *line) {}

/* Connections -------------------------------------------------------------- */

static void released(struct kref *ref)
{
	WARN_ON(true);
}

static const struct ddp_session_type type = { .release = released };

/* A peer has connected to a listener and sent a Request */
struct mpa_conn *called(void)
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
	/* reference of the socket's callbacks */
	ddp_session_get(&c->ss);
	c->caller.at = (void *)&world;
	mpa_conn_init(c);
	mpa_conn_lock(c);
	mpa_conn_begin(c);
	mpa_conn_unlock(c);
	return c;
}

/* Run the worker that is responsible in the connection's current phase */
void turn(struct mpa_conn *c)
{
	/* the worker drops a reference */
	ddp_session_get(&c->ss);
	if (c->phase == MPA_FULL) {
		c->work.func(&c->work);
		return;
	}
	world.first = c;
	mpa_line_work(&world.line.work);
}

void look(struct mpa_conn *c)
{
	mpa_conn_event(c, MPA_EV_STATE);
	turn(c);
}

void is_reset(void)
{
	world.err = -ECONNRESET;
	world.closed = true;
	world.fin = true;
}

/* A connection in Full Operation, with data not yet acknowledged by the peer */
struct mpa_conn *sent(u32 octets)
{
	struct mpa_conn *c = called();

	c->su = NULL;
	c->phase = MPA_FULL;
	c->timed = false;
	c->told = true;
	/* the sequence number wraps on the way */
	world.acked = -(octets / 2);
	world.written = world.acked + octets;
	return c;
}

void expect(struct kunit *test, u32 asked, u32 refused, u32 over, enum iw_reason why)
{
	KUNIT_EXPECT_EQ(test, asked, world.asked);
	KUNIT_EXPECT_EQ(test, refused, world.refused);
	KUNIT_EXPECT_EQ(test, over, world.over);
	KUNIT_EXPECT_EQ(test, why, world.why);
}
