// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/{llp,alloc}.c: connect, accept, reject and query. The
 * connection's socket and worker are stubs that can fail.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <net/busy_poll.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "../../../../drivers/mpa/internal.h"

static struct {
	struct net	net;
	int		connect, bind;	/* results of these functions */
	struct mpa_conn	*c;		/* connection that is queued for the worker */
	u32		events;		/* number of events raised */
	u32		holder_polls;	/* number of events raised with the mutex held */
	u32		unlocks;		/* number of unlocks */
	u32		begun;		/* calls of mpa_conn_enter_first_phase() */
	u32		sockets;	/* number of open sockets */
	bool		reset;		/* true if the last release was an abort */
	u32		timed, timed_for;
} stubs;

static int dont_care;
struct workqueue_struct *mpa_wq;

/* Queue the connection for the worker, with a reference */
void mpa_conn_set_event(struct mpa_conn *c, enum mpa_event ev)
{
	stubs.events++;
	stubs.holder_polls += c->mutex.held;
	if (stubs.c)
		return;
	ddp_session_get(&c->ss);
	stubs.c = c;
}

void mpa_conn_lock(struct mpa_conn *c)
{
	mutex_lock(&c->mutex);
}

void mpa_conn_unlock(struct mpa_conn *c)
{
	mutex_unlock(&c->mutex);
	stubs.unlocks++;
}

static void drop_worker_ref(void)
{
	if (stubs.c)
		ddp_session_put(&stubs.c->ss);
	stubs.c = NULL;
}

/* Other functions of iw_mpa ------------------------------------------------ */

void ddp_sock_set_owner(struct socket *sock, const struct ddp_sock_owner *owner) {}

int mpa_sock_connect(struct mpa_conn *c, const struct sockaddr_storage *local,
		     const struct ddp_sock_owner *owner)
{
	if (stubs.connect)
		return stubs.connect;
	c->sock = (void *)&dont_care;
	stubs.sockets++;
	/* on loopback the connection may be established before connect() returns */
	mpa_conn_set_event(c, MPA_EV_STATE);
	return 0;
}

void mpa_sock_release(struct mpa_conn *c, bool abort)
{
	if (!c->sock)
		return;
	c->sock = NULL;
	stubs.sockets--;
	stubs.reset = abort;
}

int mpa_conn_bind(struct mpa_conn *c, struct ddp_stream *s)
{
	if (stubs.bind)
		return stubs.bind;
	c->bound_stream = s;
	ddp_session_get(&c->ss);
	return 0;
}

void mpa_conn_enter_first_phase(struct mpa_conn *c)
{
	c->phase = MPA_CONNECTING;
	stubs.begun++;
}

void mpa_conn_set_deadline(struct mpa_conn *c, unsigned int seconds)
{
	stubs.timed++;
	stubs.timed_for = seconds;
}

struct mpa_connq *mpa_connq_get(const void *listener, work_func_t work)
{
	return kzalloc(1, GFP_KERNEL);
}

void mpa_connq_put(struct mpa_connq *line)
{
	kfree(line);
}

/* Not called by these tests */
void mpa_conn_init(struct mpa_conn *c) {}
void mpa_connq_work(struct work_struct *work) {}
void mpa_conn_unbind(struct mpa_conn *c) {}
void mpa_conn_request_close(struct mpa_conn *c, enum iw_reason why) {}
void mpa_tx_kick(struct mpa_conn *c, bool bulk) {}
void mpa_tx_push(struct mpa_conn *c) {}
void ddp_port_unlisten(struct ddp_listener *l) {}

bool mpa_rx_read(struct mpa_conn *c, void *dst, u32 len)
{
	return false;
}

struct ddp_listener *mpa_listen(const struct ddp_listen *l,
				const struct ddp_session_user *user, void *ctx)
{
	return NULL;
}

/* The program ---------------------------------------------------------------- */

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	return mpa_alloc_init();
}

static void test_exit(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, host_allocations);
	KUNIT_EXPECT_EQ(test, 0, stubs.net.held);
	KUNIT_EXPECT_EQ(test, 0u, stubs.sockets);
	mpa_conn_wait_all_released();
}

static struct ddp_session *connect_stream(struct ddp_stream *stream, u16 private_data)
{
	static const struct sockaddr_storage at;
	static const struct ddp_policy policy;
	const struct ddp_offer offer = {
		.pd_len = private_data,
	};
	const struct ddp_connect args = {
		.net = &stubs.net, .local = &at, .remote = &at, .offer = &offer,
		.policy = &policy, .stream = stream,
	};

	return mpa_session_type.connect(&args, NULL, NULL);
}

static struct ddp_session *connect_with_private_data(u16 private_data)
{
	return connect_stream((void *)&dont_care, private_data);
}

/*
 * Expect that connecting fails with @err, and that afterwards the only reference
 * is that of a worker that is still queued
 */
static void connect_and_expect_failure(struct kunit *test, u16 private_data, int err)
{
	struct ddp_session *ss = connect_with_private_data(private_data);

	KUNIT_EXPECT_EQ(test, (long)err, PTR_ERR(ss));
	KUNIT_EXPECT_EQ(test, 0u, stubs.begun);
	KUNIT_EXPECT_EQ(test, 0u, stubs.sockets);
	if (stubs.c)
		KUNIT_EXPECT_EQ(test, MPA_ENDED, stubs.c->phase);
	drop_worker_ref();
}

static void too_long_private_data_is_refused(struct kunit *test)
{
	connect_and_expect_failure(test, MPA_PD_MAX + 1, -EINVAL);
	KUNIT_EXPECT_EQ(test, 0u, stubs.events);
}

static void connect_without_route_fails(struct kunit *test)
{
	stubs.connect = -ENETUNREACH;
	connect_and_expect_failure(test, 0, -ENETUNREACH);
}

/* If binding the stream fails, the socket is released, although it has already queued the worker */
static void failed_bind_releases_socket(struct kunit *test)
{
	stubs.bind = -EISCONN;
	connect_and_expect_failure(test, 0, -EISCONN);
	KUNIT_EXPECT_EQ(test, 1u, stubs.events);
	KUNIT_EXPECT_TRUE(test, stubs.reset);
}

/* Events before the stream is bound are handled when the connection is unlocked */
static void connect_takes_three_refs(struct kunit *test)
{
	struct ddp_session *ss = connect_with_private_data(MPA_PD_MAX);
	struct mpa_conn *c = ss_to_conn(ss);

	KUNIT_ASSERT_FALSE(test, IS_ERR(ss));
	KUNIT_EXPECT_EQ(test, 1u, stubs.begun);
	KUNIT_EXPECT_EQ(test, 1u, stubs.events);
	KUNIT_EXPECT_EQ(test, 1u, stubs.unlocks);
	KUNIT_EXPECT_EQ(test, 1, stubs.net.held);
	KUNIT_EXPECT_TRUE(test, c->reported);
	drop_worker_ref();
	/* references of the program, the stream and the socket's callbacks */
	KUNIT_EXPECT_EQ(test, 3, ss->ref.refs);
	mpa_sock_release(c, false);
	ddp_session_put(ss);
	ddp_session_put(ss);
	ddp_session_put(ss);
}

/* The ULP may connect without a stream, and bind the stream in the established upcall */
static void stream_may_be_bound_after_connect(struct kunit *test)
{
	struct ddp_session *ss = connect_stream(NULL, 0);
	struct mpa_conn *c = ss_to_conn(ss);

	KUNIT_ASSERT_FALSE(test, IS_ERR(ss));
	KUNIT_EXPECT_EQ(test, 1u, stubs.begun);
	KUNIT_EXPECT_NULL(test, c->bound_stream);
	drop_worker_ref();
	/* references of the program and the socket's callbacks */
	KUNIT_EXPECT_EQ(test, 2, ss->ref.refs);
	mpa_conn_lock(c);
	KUNIT_EXPECT_EQ(test, 0, mpa_session_type.bind(ss, (void *)&dont_care));
	mpa_conn_unlock(c);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&dont_care, (void *)c->bound_stream);
	mpa_sock_release(c, false);
	ddp_session_put(ss);
	ddp_session_put(ss);
	ddp_session_put(ss);
}

/* Open a connection of a peer whose connection request the program has received */
static struct mpa_conn *open_requested_conn(struct kunit *test)
{
	static const struct ddp_policy policy;
	struct mpa_conn *c = mpa_conn_new(NULL, NULL, &policy, &stubs);

	KUNIT_EXPECT_EQ(test, 0, mpa_conn_alloc_startup(c, false));
	c->su->state = MPA_SU_OFFER;
	c->phase = MPA_STARTUP;
	stubs.timed_for = 1;
	return c;
}

static void drop_requested_conn(struct mpa_conn *c, bool bound)
{
	drop_worker_ref();
	if (bound)
		ddp_session_put(&c->ss);
	ddp_session_put(&c->ss);
}

/*
 * When the program accepts or rejects, the time limit for its decision is
 * removed, and the worker is queued to send the Reply
 */
static void accept_and_reject_queue_worker(struct kunit *test)
{
	static const struct ddp_offer o;
	struct mpa_conn *c = open_requested_conn(test);

	KUNIT_EXPECT_EQ(test, 0, mpa_session_type.accept(&c->ss, (void *)&dont_care, &o));
	KUNIT_EXPECT_EQ(test, MPA_SU_SEND, c->su->state);
	KUNIT_EXPECT_TRUE(test, c->ss.accepted);
	KUNIT_EXPECT_EQ(test, 1u, stubs.timed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.timed_for);
	KUNIT_EXPECT_EQ(test, 1u, stubs.holder_polls);
	KUNIT_EXPECT_EQ(test, 1u, stubs.unlocks);
	drop_requested_conn(c, true);

	c = open_requested_conn(test);
	KUNIT_EXPECT_EQ(test, 0, mpa_session_type.reject(&c->ss, &o));
	KUNIT_EXPECT_EQ(test, MPA_SU_SEND_REJECT, c->su->state);
	KUNIT_EXPECT_FALSE(test, c->ss.accepted);
	KUNIT_EXPECT_EQ(test, 2u, stubs.holder_polls);
	drop_requested_conn(c, false);
}

/* Accept and reject fail if the peer has closed; accept fails if the QP is in use */
static void reply_fails_if_peer_closed_or_qp_in_use(struct kunit *test)
{
	static const struct ddp_offer o;
	struct mpa_conn *c = open_requested_conn(test);

	c->phase = MPA_ENDED;
	KUNIT_EXPECT_EQ(test, -ECONNRESET,
			mpa_session_type.accept(&c->ss, (void *)&dont_care, &o));
	KUNIT_EXPECT_EQ(test, -ECONNRESET, mpa_session_type.reject(&c->ss, &o));
	drop_requested_conn(c, false);

	c = open_requested_conn(test);
	stubs.bind = -EISCONN;
	KUNIT_EXPECT_EQ(test, -EISCONN,
			mpa_session_type.accept(&c->ss, (void *)&dont_care, &o));
	KUNIT_EXPECT_EQ(test, MPA_SU_OFFER, c->su->state);
	KUNIT_EXPECT_FALSE(test, c->ss.accepted);
	KUNIT_EXPECT_EQ(test, 0u, stubs.timed);
	KUNIT_EXPECT_EQ(test, 3u, stubs.unlocks);
	drop_requested_conn(c, false);
}

/* If a second reply fails, the session remains accepted */
static void accepted_session_stays_accepted(struct kunit *test)
{
	static const struct ddp_offer o;
	struct mpa_conn *c = open_requested_conn(test);

	KUNIT_EXPECT_EQ(test, 0, mpa_session_type.accept(&c->ss, (void *)&dont_care, &o));
	KUNIT_EXPECT_EQ(test, -ENOTCONN, mpa_session_type.reject(&c->ss, &o));
	KUNIT_EXPECT_TRUE(test, c->ss.accepted);
	drop_requested_conn(c, true);
}

/* A query returns the socket's state, and also counts retransmissions of earlier sockets */
static void query_returns_socket_state(struct kunit *test)
{
	static struct tcp_sock tp;
	struct socket sock = { .sk = &tp.sk };
	static struct mpa_conn c;
	struct ddp_query q = {};

	c.phase = MPA_FULL;
	c.sock = &sock;
	tp.sk.sk_state = TCP_ESTABLISHED;
	tp.total_retrans = 3;
	tp.mss_cache = 1448;
	tp.snd_una = 100;
	tp.snd_nxt = 150;
	tp.write_seq = 350;
	tp.copied_seq = 7;
	tp.rcv_nxt = 10;
	mpa_llp_ops.query(&c.llp, &q);
	KUNIT_EXPECT_EQ(test, 1442u, q.mulpdu);
	KUNIT_EXPECT_EQ(test, 50u, (u32)q.unacked);
	KUNIT_EXPECT_EQ(test, 200u, (u32)q.unsent);
	KUNIT_EXPECT_EQ(test, 3u, (u32)q.unread);
	KUNIT_EXPECT_EQ(test, 3u, (u32)q.retransmits);
	c.retransmits = 3;
	c.sock = NULL;
	mpa_llp_ops.query(&c.llp, &q);
	KUNIT_EXPECT_EQ(test, 3u, (u32)q.retransmits);
	/* retransmissions of the next socket are added */
	c.sock = &sock;
	tp.total_retrans = 2;
	mpa_llp_ops.query(&c.llp, &q);
	KUNIT_EXPECT_EQ(test, 5u, (u32)q.retransmits);
}

static unsigned int polled_napi_id;

void napi_busy_loop(unsigned int napi_id, bool (*loop_end)(void *, unsigned long),
		    void *loop_end_arg, bool prefer_busy_poll, u16 budget)
{
	/* with a function that ends the loop, the loop could sleep */
	WARN_ON(loop_end);
	polled_napi_id = napi_id;
}

/* Busy polling polls the NAPI instance of the socket, if there is one */
static void busy_poll_polls_napi_of_socket(struct kunit *test)
{
	static struct tcp_sock tp;
	struct socket sock = { .sk = &tp.sk };
	static struct mpa_conn c;

	polled_napi_id = 0;
	KUNIT_EXPECT_FALSE(test, mpa_llp_ops.busy_poll(&c.llp));
	c.sock = &sock;
	/* smaller values are numbers of CPUs */
	tp.sk.sk_napi_id = MIN_NAPI_ID - 1;
	KUNIT_EXPECT_FALSE(test, mpa_llp_ops.busy_poll(&c.llp));
	KUNIT_EXPECT_EQ(test, 0u, polled_napi_id);
	tp.sk.sk_napi_id = MIN_NAPI_ID;
	KUNIT_EXPECT_TRUE(test, mpa_llp_ops.busy_poll(&c.llp));
	KUNIT_EXPECT_EQ(test, (unsigned int)MIN_NAPI_ID, polled_napi_id);
}

static struct kunit_case mpa_llp_cases[] = {
	KUNIT_CASE(too_long_private_data_is_refused),
	KUNIT_CASE(connect_without_route_fails),
	KUNIT_CASE(failed_bind_releases_socket),
	KUNIT_CASE(connect_takes_three_refs),
	KUNIT_CASE(stream_may_be_bound_after_connect),
	KUNIT_CASE(accept_and_reject_queue_worker),
	KUNIT_CASE(reply_fails_if_peer_closed_or_qp_in_use),
	KUNIT_CASE(accepted_session_stays_accepted),
	KUNIT_CASE(query_returns_socket_state),
	KUNIT_CASE(busy_poll_polls_napi_of_socket),
	{}
};

static struct kunit_suite mpa_llp_suite = {
	.name = "mpa_llp",
	.init = test_init,
	.exit = test_exit,
	.test_cases = mpa_llp_cases,
};

kunit_test_suite(mpa_llp_suite);
