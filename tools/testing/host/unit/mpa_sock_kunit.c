// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/mpa/sock.c and sock_end.c with a fake TCP that can run out of memory */
#include "mpa_sock.h"

/*
 * mpa_sock_set_options() sets the options of a socket. TCP must not use the page
 * fragment of the current task, because iw_mpa sends with BH off in the context
 * of any task. MPA-64: Nagle's algorithm is off.
 */
static void socket_options_are_set(struct kunit *test)
{
	struct sock *sk = &stubs.tp.sk;

	sk->sk_use_task_frag = true;
	sk->sk_rcvbuf = 131072;
	mpa_sock_set_options(&stubs.sock);
	/* a lost peer is detected after a minute and a half */
	KUNIT_EXPECT_EQ(test, 90, stubs.tp.keepalive_time +
				  stubs.tp.keepalive_intvl * stubs.tp.keepalive_probes);
	KUNIT_EXPECT_FALSE(test, sk->sk_use_task_frag);
	KUNIT_EXPECT_TRUE(test, sk->flags & 1 << SOCK_URGINLINE);
	KUNIT_EXPECT_TRUE(test, sk->nodelay);
	/*
	 * the receive buffer becomes smaller later, but its size at this time determines TCP's
	 * window scale
	 */
	KUNIT_EXPECT_EQ(test, 131072, sk->sk_rcvbuf);
	KUNIT_EXPECT_EQ(test, 0, sk->sk_userlocks);
}

/*
 * SEC-25: before Full Operation the receive buffer is small, so that a peer can make TCP hold only
 * little data. In Full Operation it has space for complete FPDUs.
 */
static void rcvbuf_grows_at_full_operation(struct kunit *test)
{
	struct sock *sk = &stubs.tp.sk;

	sk->sk_rcvbuf = 131072;
	mpa_sock_limit_rcvbuf(&stubs.c);
	KUNIT_EXPECT_EQ(test, 16 * 1024, sk->sk_rcvbuf);
	KUNIT_EXPECT_EQ(test, SOCK_RCVBUF_LOCK, sk->sk_userlocks);
	stubs.tp.window_clamp = 8 * 1024;
	mpa_sock_enable_rx(&stubs.c);
	KUNIT_EXPECT_EQ(test, 512 * 1024, sk->sk_rcvbuf);
	KUNIT_EXPECT_EQ(test, 256u * 1024, stubs.tp.window_clamp);
	KUNIT_EXPECT_EQ(test, 0, sk->sk_userlocks);
}

static void connect_and_expect_result(struct kunit *test, int err, u32 made, u32 connects, u16 port)
{
	struct sockaddr_storage local = { .ss_family = AF_INET };

	ddp_addr_set_port(&local, htons(7));
	stubs.c.sock = NULL;
	stubs.made = 0;
	stubs.connects = 0;
	stubs.released = 0;
	KUNIT_EXPECT_EQ(test, err, mpa_sock_connect(&stubs.c, &local, NULL));
	KUNIT_EXPECT_EQ(test, made, stubs.made);
	KUNIT_EXPECT_EQ(test, connects, stubs.connects);
	KUNIT_EXPECT_EQ(test, port, stubs.port);
	/* all sockets are released, except the connection's socket */
	KUNIT_EXPECT_EQ(test, made - !err, stubs.released);
	KUNIT_EXPECT_EQ(test, !err, stubs.c.sock == &stubs.sock);
}

/*
 * The driver must connect from the port that the ULP chose, or from another port if TCP still uses
 * that one
 */
static void connect_tries_another_port(struct kunit *test)
{
	connect_and_expect_result(test, 0, 1, 1, 7);
	stubs.no_connect = -ENETUNREACH;
	connect_and_expect_result(test, -ENETUNREACH, 1, 1, 7);
	/* TCP still has an old connection between these ports */
	stubs.no_connect = -EADDRNOTAVAIL;
	connect_and_expect_result(test, 0, 2, 2, 0);
	/* no port is left, or the address was removed */
	stubs.no_any = -EADDRNOTAVAIL;
	connect_and_expect_result(test, -EADDRNOTAVAIL, 2, 2, 0);
	stubs.no_any = 0;
	/* a listener has this port */
	stubs.no_bind = -EADDRINUSE;
	connect_and_expect_result(test, 0, 2, 1, 0);
	stubs.no_bind = -EACCES;
	connect_and_expect_result(test, -EACCES, 1, 0, 7);
}

static void send_and_expect_result(struct kunit *test, int result, bool queued, int err,
				   int send_err)
{
	mpa_sock_test_init(test);
	stubs.c.out.len = 100;
	stubs.result = result;
	stubs.queued = queued;
	KUNIT_EXPECT_EQ(test, err, mpa_sock_send_batch(&stubs.c));
	KUNIT_EXPECT_EQ(test, send_err, stubs.c.send_err);
	KUNIT_EXPECT_EQ(test, 0, stubs.locked);
	KUNIT_EXPECT_EQ(test, result > 0 ? (u32)result : 0u, stubs.c.out.sent);
	KUNIT_EXPECT_TRUE(test, stubs.flags & MSG_EOR);
	KUNIT_EXPECT_FALSE(test, stubs.flags & MSG_MORE);
}

/*
 * -EAGAIN means to retry when TCP reports space, -ENOMEM to retry after a delay.
 * MPA-64: a batch ends a TCP segment, and does not wait for the next batch.
 */
static void send_error_selects_retry(struct kunit *test)
{
	send_and_expect_result(test, 100, true, 0, 0);
	send_and_expect_result(test, 60, true, -EAGAIN, 0);
	send_and_expect_result(test, -EAGAIN, true, -EAGAIN, 0);
	/* TCP has no data whose acknowledgment would free space, so memory is short */
	send_and_expect_result(test, -EAGAIN, false, -ENOMEM, 0);
	/* the connection has ended, with data queued or without */
	send_and_expect_result(test, -EPIPE, false, -EPIPE, 0);
	send_and_expect_result(test, -ECONNRESET, false, -ECONNRESET, -ECONNRESET);
	send_and_expect_result(test, -ETIMEDOUT, true, -ETIMEDOUT, -ETIMEDOUT);
}

/* If TCP accepts only a part of a batch, the next call sends the rest */
static void rest_of_batch_is_sent_next(struct kunit *test)
{
	send_and_expect_result(test, 60, true, -EAGAIN, 0);
	KUNIT_EXPECT_EQ(test, 0u, stubs.from);
	stubs.result = 40;
	KUNIT_EXPECT_EQ(test, 0, mpa_sock_send_batch(&stubs.c));
	KUNIT_EXPECT_EQ(test, 60u, stubs.from);
}

/*
 * Send after a reset. TCP has closed the socket and recorded the error. The
 * worker runs as soon as the sender unlocks the socket, and must find a lost
 * connection.
 */
static void expect_lost_after_reset(struct kunit *test, int err)
{
	mpa_sock_test_init(test);
	stubs.c.out.len = 100;
	stubs.tp.sk.sk_err = err;
	stubs.tp.sk.sk_state = TCP_CLOSE;
	stubs.tp.sk.sk_shutdown = RCV_SHUTDOWN | SEND_SHUTDOWN;
	stubs.result = -err;
	stubs.worker = true;
	KUNIT_EXPECT_EQ(test, -err, mpa_sock_send_batch(&stubs.c));
	KUNIT_EXPECT_EQ(test, MPA_SOCK_LOST, stubs.sock_state);
	KUNIT_EXPECT_EQ(test, -err, stubs.err);
	KUNIT_EXPECT_EQ(test, MPA_SOCK_LOST, mpa_sock_get_state(&stubs.c, &stubs.err));
	KUNIT_EXPECT_EQ(test, -err, stubs.err);
}

/* A reset is not reported as an orderly close, even if the sender reads the error first */
static void reset_is_not_orderly_close(struct kunit *test)
{
	expect_lost_after_reset(test, ECONNRESET);
	/* TCP reports a reset after the peer's FIN as EPIPE */
	expect_lost_after_reset(test, EPIPE);
}

/* If sending fails after both FINs, the connection is closed, not lost */
static void conn_is_closed_if_send_fails_after_fins(struct kunit *test)
{
	mpa_sock_test_init(test);
	stubs.c.out.len = 100;
	stubs.tp.sk.sk_state = TCP_CLOSE;
	stubs.tp.sk.sk_shutdown = RCV_SHUTDOWN | SEND_SHUTDOWN;
	stubs.result = -EPIPE;
	KUNIT_EXPECT_EQ(test, -EPIPE, mpa_sock_send_batch(&stubs.c));
	KUNIT_EXPECT_EQ(test, MPA_SOCK_CLOSED, mpa_sock_get_state(&stubs.c, &stubs.err));
}

/* Unread data after a FIN is an incomplete FPDU, unless reception has stopped */
static void unread_data_is_partial_fpdu(struct kunit *test)
{
	mpa_sock_test_init(test);
	stubs.tp.sk.sk_state = TCP_ESTABLISHED;
	KUNIT_EXPECT_FALSE(test, mpa_sock_has_partial_fpdu(&stubs.c));
	KUNIT_EXPECT_TRUE(test, mpa_sock_is_established_and_empty(&stubs.c));
	stubs.unread = 5;
	KUNIT_EXPECT_TRUE(test, mpa_sock_has_partial_fpdu(&stubs.c));
	KUNIT_EXPECT_FALSE(test, mpa_sock_is_established_and_empty(&stubs.c));
	stubs.c.rx_stopped = true;
	KUNIT_EXPECT_FALSE(test, mpa_sock_has_partial_fpdu(&stubs.c));
	stubs.c.rx_stopped = false;
	stubs.unread = 0;
	stubs.tp.sk.sk_state = TCP_SYN_RECV;
	KUNIT_EXPECT_FALSE(test, mpa_sock_is_established_and_empty(&stubs.c));
}

static void batch_waits_for_busy_socket(struct kunit *test)
{
	stubs.c.out.len = 100;
	stubs.result = 100;
	stubs.tp.sk.owned = true;
	KUNIT_EXPECT_FALSE(test, mpa_sock_trylock(&stubs.c));
	KUNIT_EXPECT_EQ(test, -EBUSY, mpa_sock_send_batch(&stubs.c));
	KUNIT_EXPECT_EQ(test, 0u, stubs.c.out.sent);
	KUNIT_EXPECT_EQ(test, 0, stubs.locked);
	mpa_sock_wait_unowned(&stubs.c);
	KUNIT_EXPECT_EQ(test, 0, mpa_sock_send_batch(&stubs.c));
}

/* Expect this result and this number of FINs from __mpa_sock_try_send_fin() in @state */
static void expect_try_send_fin_result(struct kunit *test, int state, bool ok, u32 fins)
{
	stubs.tp.sk.sk_state = state;
	stubs.fins = 0;
	mpa_sock_lock(&stubs.c);
	KUNIT_EXPECT_EQ(test, ok, __mpa_sock_try_send_fin(&stubs.c));
	mpa_sock_unlock(&stubs.c);
	KUNIT_EXPECT_EQ(test, fins, stubs.fins);
}

static void fin_is_sent_once(struct kunit *test)
{
	expect_try_send_fin_result(test, TCP_ESTABLISHED, true, 1);
	expect_try_send_fin_result(test, TCP_FIN_WAIT1, true, 0);
	expect_try_send_fin_result(test, TCP_CLOSE, true, 0);
	expect_try_send_fin_result(test, TCP_CLOSE_WAIT, true, 1);
	stubs.no_memory = true;
	expect_try_send_fin_result(test, TCP_ESTABLISHED, false, 0);
	expect_try_send_fin_result(test, TCP_FIN_WAIT1, true, 0);
	/* if data is queued, TCP adds the FIN to it, and needs no memory */
	stubs.queued = true;
	expect_try_send_fin_result(test, TCP_ESTABLISHED, true, 1);
}

static void expect_acked_result(struct kunit *test, u32 una, u32 written, bool all)
{
	bool got = !all;

	stubs.tp.snd_una = una;
	stubs.tp.write_seq = written;
	KUNIT_EXPECT_TRUE(test, mpa_sock_trylock(&stubs.c));
	KUNIT_EXPECT_EQ(test, una, __mpa_sock_get_acked_seq(&stubs.c, &got));
	mpa_sock_unlock(&stubs.c);
	KUNIT_EXPECT_EQ(test, all, got);
	KUNIT_EXPECT_EQ(test, 0, stubs.locked);
}

/*
 * All data counts as acknowledged even if the FIN is not acknowledged yet, because TCP itself
 * retransmits the FIN
 */
static void unacked_fin_does_not_count_as_data(struct kunit *test)
{
	expect_acked_result(test, 100, 200, false);
	expect_acked_result(test, -1, 0, false);
	expect_acked_result(test, 200, 200, true);
	expect_try_send_fin_result(test, TCP_ESTABLISHED, true, 1);
	expect_acked_result(test, 199, stubs.tp.write_seq, false);
	expect_acked_result(test, 200, stubs.tp.write_seq, true);
	expect_acked_result(test, 201, stubs.tp.write_seq, true);
}

static void release_and_expect_resets(struct kunit *test, bool abort, u32 resets)
{
	stubs.resets = 0;
	stubs.released = 0;
	stubs.c.sock = &stubs.sock;
	mpa_sock_release(&stubs.c, abort);
	KUNIT_EXPECT_EQ(test, resets, stubs.resets);
	KUNIT_EXPECT_EQ(test, 1u, stubs.released);
	KUNIT_EXPECT_NULL(test, stubs.c.sock);
	KUNIT_EXPECT_NULL(test, stubs.tp.sk.sk_user_data);
}

/* An orderly release sends a FIN if none was sent; an abort resets */
static void release_sends_fin_or_reset(struct kunit *test)
{
	release_and_expect_resets(test, false, 0);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
	/* the FIN was sent before */
	release_and_expect_resets(test, false, 0);
	stubs.tp.sk.sk_state = TCP_CLOSE;
	release_and_expect_resets(test, false, 0);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
	release_and_expect_resets(test, true, 1);
	mpa_sock_release(&stubs.c, true);
	KUNIT_EXPECT_EQ(test, 1u, stubs.released);
}

/*
 * DDP-3: a release discards unread data first, because TCP would otherwise reset
 * the connection, and lose data that was reported as sent
 */
static void release_discards_unread_data(struct kunit *test)
{
	stubs.queued = true;
	stubs.unread = 5;
	release_and_expect_resets(test, false, 0);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
	KUNIT_EXPECT_EQ(test, 0, stubs.locked);
}

/*
 * If a reset cannot lose sent data, a release leaves unread data in the queue, so that TCP resets
 * the connection
 */
static void release_resets_if_nothing_is_lost(struct kunit *test)
{
	stubs.unread = 5;
	release_and_expect_resets(test, false, 1);
	KUNIT_EXPECT_EQ(test, 5u, stubs.unread);
	/* a deferred FPDU has not been received, so the connection is reset too */
	stubs.queued = true;
	stubs.c.rx_deferred = true;
	release_and_expect_resets(test, false, 1);
	KUNIT_EXPECT_EQ(test, 5u, stubs.unread);
}

/* Without memory for the FIN the connection is reset, so that the peer notices */
static void release_resets_without_memory(struct kunit *test)
{
	stubs.no_memory = true;
	release_and_expect_resets(test, false, 1);
	stubs.no_memory = false;
	stubs.fin_lost = true;
	release_and_expect_resets(test, false, 1);
	KUNIT_EXPECT_EQ(test, 0u, stubs.fins);
}

/* Releasing a socket adds its retransmissions to the count of the connection */
static void release_adds_retransmissions(struct kunit *test)
{
	stubs.tp.total_retrans = 3;
	mpa_sock_release(&stubs.c, true);
	KUNIT_EXPECT_EQ(test, 3u, stubs.c.retransmits);
	/* retransmissions of the next socket are added */
	stubs.c.sock = &stubs.sock;
	stubs.tp.total_retrans = 2;
	mpa_sock_release(&stubs.c, true);
	KUNIT_EXPECT_EQ(test, 5u, stubs.c.retransmits);
}

static void receive_reports_fpdus_left_in_queue(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, mpa_sock_receive_fpdus(&stubs.c));
	stubs.more = true;
	KUNIT_EXPECT_TRUE(test, mpa_sock_receive_fpdus(&stubs.c));
	KUNIT_EXPECT_EQ(test, 2u, stubs.received);
	/* from now on the receive path discards data, and does not use the stream */
	stubs.c.stream = (void *)&stubs;
	mpa_sock_stop_rx(&stubs.c);
	KUNIT_EXPECT_TRUE(test, stubs.c.rx_stopped);
	KUNIT_EXPECT_NULL(test, stubs.c.stream);
}

/* The socket is created in the VRF of the connection's local address */
static void socket_is_created_in_vrf(struct kunit *test)
{
	stubs.c.ifindex = 3;
	connect_and_expect_result(test, 0, 1, 1, 7);
	KUNIT_EXPECT_EQ(test, 30, stubs.vrf);
}

/* Call data_ready() with the spinlock of the socket held, as a softirq does */
static void call_data_ready_in_softirq(void)
{
	local_bh_disable();
	bh_lock_sock(&stubs.tp.sk);
	stubs.calls->data_ready(&stubs.tp.sk);
	bh_unlock_sock(&stubs.tp.sk);
	local_bh_enable();
}

/*
 * A softirq receives directly, and leaves to the worker what it has not received. A process that
 * finds packets in the backlog leaves them to the worker, because BH is on. Nothing is received
 * after the callbacks were removed.
 */
static void callback_receives_only_in_softirq(struct kunit *test)
{
	call_data_ready_in_softirq();
	KUNIT_EXPECT_EQ(test, 0u, stubs.received);
	KUNIT_EXPECT_EQ(test, 1u << MPA_EV_RX, stubs.events);
	stubs.c.rx_in_callback = true;
	stubs.events = 0;
	call_data_ready_in_softirq();
	KUNIT_EXPECT_EQ(test, 1u, stubs.received);
	KUNIT_EXPECT_EQ(test, 0u, stubs.events);
	stubs.more = true;
	call_data_ready_in_softirq();
	KUNIT_EXPECT_EQ(test, 2u, stubs.received);
	KUNIT_EXPECT_EQ(test, 1u << MPA_EV_RX, stubs.events);
	stubs.events = 0;
	stubs.calls->data_ready(&stubs.tp.sk);
	KUNIT_EXPECT_EQ(test, 2u, stubs.received);
	KUNIT_EXPECT_EQ(test, 1u << MPA_EV_RX, stubs.events);
	mpa_sock_release(&stubs.c, true);
	stubs.events = 0;
	call_data_ready_in_softirq();
	KUNIT_EXPECT_EQ(test, 2u, stubs.received);
	KUNIT_EXPECT_EQ(test, 0u, stubs.events);
}

static struct kunit_case mpa_sock_cases[] = {
	KUNIT_CASE(socket_is_created_in_vrf),
	KUNIT_CASE(socket_options_are_set),
	KUNIT_CASE(rcvbuf_grows_at_full_operation),
	KUNIT_CASE(connect_tries_another_port),
	KUNIT_CASE(send_error_selects_retry),
	KUNIT_CASE(rest_of_batch_is_sent_next),
	KUNIT_CASE(reset_is_not_orderly_close),
	KUNIT_CASE(conn_is_closed_if_send_fails_after_fins),
	KUNIT_CASE(unread_data_is_partial_fpdu),
	KUNIT_CASE(batch_waits_for_busy_socket),
	KUNIT_CASE(fin_is_sent_once),
	KUNIT_CASE(unacked_fin_does_not_count_as_data),
	KUNIT_CASE(release_sends_fin_or_reset),
	KUNIT_CASE(release_discards_unread_data),
	KUNIT_CASE(release_resets_if_nothing_is_lost),
	KUNIT_CASE(release_resets_without_memory),
	KUNIT_CASE(release_adds_retransmissions),
	KUNIT_CASE(receive_reports_fpdus_left_in_queue),
	KUNIT_CASE(callback_receives_only_in_softirq),
	{}
};

static struct kunit_suite mpa_sock_suite = {
	.name = "mpa_sock",
	.init = mpa_sock_test_init,
	.test_cases = mpa_sock_cases,
};

kunit_test_suite(mpa_sock_suite);
