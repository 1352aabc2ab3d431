// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Stubs for the tests of a connection's worker: socket, listener, and memory
 * allocations that can fail.
 */
#include <ddp/owner.h>
#include <linux/mm.h>

#include "mpa_conn.h"

struct mpa_conn_stubs stubs;
unsigned long jiffies;
struct workqueue_struct *mpa_wq;
u32 host_rescheds;

/* The kernel --------------------------------------------------------------- */

bool host_queue_work(struct work_struct *w)
{
	stubs.queued++;
	if (!stubs.keep_work || stubs.work)
		return false;
	stubs.work = w;
	return true;
}

void host_cancel_delayed(struct delayed_work *d)
{
	stubs.disarmed++;
}

void host_on_mutex_unlock(struct mutex *m)
{
	if (m != &stubs.c.mutex)
		return;
	WARN_ON(stubs.c.holder_polls);
	if (stubs.unlocked)
		stubs.unlocked(&stubs.c);
}

bool host_mod_delayed(struct delayed_work *d, unsigned long delay)
{
	/* a connection that has ended must not start its timer, because it may be freed soon */
	WARN_ON(stubs.c.phase == MPA_ENDED);
	stubs.armed++;
	stubs.delay = delay;
	return false;
}

struct page *alloc_page(gfp_t gfp)
{
	return (struct page *)&stubs.frame;
}

void *page_address(const struct page *p)
{
	return stubs.frame;
}

void put_page(struct page *p) {}

/* The socket --------------------------------------------------------------- */

static int take_sock_error(void)
{
	int err = stubs.err;

	stubs.err = 0;
	return err;
}

int mpa_sock_read(struct mpa_conn *c, void *buf, size_t len)
{
	len = min(len, stubs.len - stubs.read);
	if (len) {
		memcpy(buf, stubs.octets + stubs.read, len);
		stubs.read += len;
		return len;
	}
	if (stubs.err)
		return take_sock_error();
	return stubs.fin ? 0 : -EAGAIN;
}

enum mpa_sock_state mpa_sock_get_state(struct mpa_conn *c, int *err)
{
	*err = stubs.err;
	if (stubs.coming)
		return MPA_SOCK_CONNECTING;
	if (*err)
		return MPA_SOCK_LOST;
	if (stubs.closed)
		return MPA_SOCK_CLOSED;
	return stubs.fin ? MPA_SOCK_PEER_DONE : MPA_SOCK_OPEN;
}

bool mpa_sock_has_partial_fpdu(struct mpa_conn *c)
{
	return stubs.cut;
}

enum iw_reason ddp_sock_err_to_reason(int err, enum iw_reason otherwise)
{
	return err == -ECONNRESET ? IW_PEER_RESET : otherwise;
}

void ddp_sock_get_addrs(struct socket *sock, struct sockaddr_storage *local,
			struct sockaddr_storage *remote)
{
}

void mpa_sock_limit_rcvbuf(struct mpa_conn *c) {}
void ddp_sock_owner_init_from_sock(struct ddp_sock_owner *o, const struct socket *sock) {}
void ddp_sock_owner_exit(struct ddp_sock_owner *o) {}

int mpa_sock_connect(struct mpa_conn *c, const struct sockaddr_storage *local,
		     const struct ddp_sock_owner *owner)
{
	return stubs.connects;
}

int mpa_sock_write(struct mpa_conn *c, struct page *page, u32 from, u32 len)
{
	return min(stubs.takes, (int)len);
}

void mpa_sock_lock(struct mpa_conn *c)
{
	stubs.locked++;
}

bool mpa_sock_trylock(struct mpa_conn *c)
{
	stubs.locked += !stubs.owned;
	return !stubs.owned;
}

void mpa_sock_unlock(struct mpa_conn *c)
{
	stubs.locked--;
}

bool __mpa_sock_try_send_fin(struct mpa_conn *c)
{
	WARN_ON(stubs.locked != 1);
	if (stubs.no_memory)
		return false;
	stubs.fins++;
	stubs.written++;
	return true;
}

u32 __mpa_sock_get_acked_seq(struct mpa_conn *c, bool *all)
{
	WARN_ON(stubs.locked != 1);
	*all = stubs.written - stubs.acked <= stubs.fins;
	return stubs.acked;
}

bool mpa_sock_receive_fpdus(struct mpa_conn *c)
{
	stubs.received++;
	if (stubs.events) {
		stubs.events--;
		mpa_conn_set_event(c, MPA_EV_RX);
	}
	return stubs.more;
}

void mpa_sock_release(struct mpa_conn *c, bool abort)
{
	stubs.reset = abort;
}

void mpa_sock_enable_rx(struct mpa_conn *c) {}
void mpa_sock_stop_rx(struct mpa_conn *c) {}

/* The listener and its program --------------------------------------------- */

int ddp_port_report_request(struct ddp_conn_req *c, struct ddp_session *ss,
			    const struct ddp_offer *o)
{
	stubs.requests++;
	return 0;
}

void ddp_port_detach_request(struct ddp_conn_req *c)
{
	c->listener = NULL;
}

void ddp_port_report_refused(struct ddp_port_listener *l, enum iw_reason why)
{
	stubs.refused++;
	stubs.why = why;
}

void ddp_session_report_closed(struct ddp_session *ss, enum iw_reason why,
			       const struct ddp_offer *o)
{
	stubs.ended++;
	stubs.why = why;
}

enum iw_reason ddp_session_report_established(struct ddp_session *ss,
					      const struct ddp_offer *o)
{
	return IW_OK;
}

void ddp_session_report_peer_closed(struct ddp_session *ss)
{
	stubs.half_closes++;
}

/* Other functions of iw_mpa and DDP ---------------------------------------- */

bool mpa_connq_add(struct mpa_conn *c)
{
	stubs.connq_queued++;
	return false;
}

int ddp_stream_bind(struct ddp_stream *s, struct ddp_llp *llp)
{
	return 0;
}

bool ddp_tx_has_failed(const struct ddp_stream *s)
{
	return stubs.stream_failed;
}

void ddp_llp_report_down(struct ddp_stream *s, enum iw_reason why) {}
void mpa_frame_drop_batch(struct mpa_conn *c) {}
void mpa_tx_init(struct mpa_conn *c) {}
void mpa_tx_stop(struct mpa_conn *c) {}

void mpa_tx_kick(struct mpa_conn *c, bool bulk)
{
	if (!stubs.drains)
		return;
	c->drained = true;
	mpa_conn_set_event(c, MPA_EV_CLOSE);
}

void mpa_tx_work(struct mpa_conn *c)
{
	stubs.full_passes++;
}

bool mpa_connq_has_pending_conn(const struct mpa_connq *line)
{
	return stubs.others;
}

struct mpa_conn *mpa_connq_pop(struct mpa_connq *line)
{
	struct mpa_conn *c = stubs.first;

	stubs.first = NULL;
	return c;
}

void mpa_connq_put(struct mpa_connq *line) {}
void mpa_connq_queue_work(struct mpa_connq *line) {}

/* Connections -------------------------------------------------------------- */

static void fail_on_release(struct kref *ref)
{
	WARN_ON(true);
}

static const struct ddp_session_type type = { .release = fail_on_release };

/* Open a connection of a peer that has connected to a listener and sent a Request */
struct mpa_conn *open_passive_conn(void)
{
	static const char key[] = "MPA ID Req Frame\x40\x01";
	struct mpa_conn *c = &stubs.c;

	memset(&stubs, 0, sizeof(stubs));
	memcpy(stubs.octets, key, sizeof(key) - 1);
	stubs.len = MPA_HDR_LEN;
	mpa_startup_init(&stubs.su, false, 2, true, false);
	c->su = &stubs.su;
	c->ss.type = &type;
	kref_init(&c->ss.ref);
	/* take the reference that the socket's callbacks use */
	ddp_session_get(&c->ss);
	c->conn_req.listener = (void *)&stubs;
	mpa_conn_init(c);
	mpa_conn_lock(c);
	mpa_conn_enter_first_phase(c);
	mpa_conn_unlock(c);
	return c;
}

/* Run the worker that is responsible in the connection's current phase */
void run_worker(struct mpa_conn *c)
{
	/* take the reference of a queued work item, which the worker drops */
	ddp_session_get(&c->ss);
	if (c->phase == MPA_FULL) {
		c->work.func(&c->work);
		return;
	}
	stubs.first = c;
	mpa_connq_work(&stubs.line.work);
}

void set_state_event_and_run_worker(struct mpa_conn *c)
{
	mpa_conn_set_event(c, MPA_EV_STATE);
	run_worker(c);
}

void let_peer_reset(void)
{
	stubs.err = -ECONNRESET;
	stubs.closed = true;
	stubs.fin = true;
}

/* Open a connection in Full Operation, with @octets bytes that the peer has not acknowledged */
struct mpa_conn *open_established_conn(u32 octets)
{
	struct mpa_conn *c = open_passive_conn();

	c->su = NULL;
	c->phase = MPA_FULL;
	c->has_deadline = false;
	c->reported = true;
	/* the sequence numbers of these bytes wrap around 2^32 */
	stubs.acked = -(octets / 2);
	stubs.written = stubs.acked + octets;
	return c;
}

void expect_reports(struct kunit *test, u32 requests, u32 refused, u32 ended, enum iw_reason why)
{
	KUNIT_EXPECT_EQ(test, requests, stubs.requests);
	KUNIT_EXPECT_EQ(test, refused, stubs.refused);
	KUNIT_EXPECT_EQ(test, ended, stubs.ended);
	KUNIT_EXPECT_EQ(test, why, stubs.why);
}
