// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/rdv.c, rdv_session.c, rdv_port.c and qp_modify.c: queue pairs that
 * a program connects with ibv_modify_qp(). stubs.qp[0] connects, stubs.qp[1] listens.
 */
#include "rnic_rdv.h"

/*
 * Let a peer's Request arrive from 10.0.0.@host.  Return: result of the upcall, or -ECONNREFUSED if
 * the port is closed.
 */
static int deliver_request_with_msg(const struct rdv_msg *m, u16 len, u32 host,
				    const struct ddp_session_type *via)
{
	struct ddp_offer o = {
		.enhanced = true, .ird = 4, .ord = 4, .rtr = NEG_RTR_P2P | NEG_RTR_WRITE,
		.pd_len = len,
	};
	struct session *s;
	int err;

	if (!stubs.listening)
		return -ECONNREFUSED;
	s = create_fake_session();
	s->ss.type = via;
	set_ipv4_addr(&s->ss.local, 1);
	set_ipv4_addr(&s->ss.remote, host);
	rdv_msg_encode(m, o.pd);
	ddp_session_get(&s->ss);
	err = rdv_session_user.request(&stubs.listener, &s->ss, &o);
	if (err) {
		/* drop the references of the ULP and of the lower layer */
		ddp_session_put(&s->ss);
		ddp_session_put(&s->ss);
	}
	return err;
}

static int deliver_request(u32 to, u32 from, u32 rq_psn, u32 host)
{
	const struct rdv_msg m = { .qpn = from, .dest_qpn = to, .rq_psn = rq_psn };

	return deliver_request_with_msg(&m, RDV_MSG_LEN, host, &type);
}

/* Active side --------------------------------------------------------------------------------- */

/* While the peer is not in RTR, it refuses each attempt, and the pauses grow up to a limit */
static void pauses_between_connects_grow_to_limit(struct kunit *test)
{
	static const u32 pauses[] = { 1, 2, 4, 8, 16, 32, 64, 128, 250, 250, 250 };
	unsigned long at = jiffies;
	int i;

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_EXPECT_EQ(test, 0, stubs.listening);
	advance_ms(0);
	for (i = 0; i < ARRAY_SIZE(pauses); i++) {
		KUNIT_ASSERT_EQ(test, i + 1, stubs.sessions);
		KUNIT_EXPECT_EQ(test, at, get_last_session()->at);
		at += pauses[i];
		end_session(get_last_session(), IW_PEER_RESET);
		advance_ms(pauses[i]);
	}
	/* while an attempt is in progress, no other attempt begins */
	advance_ms(100000);
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(pauses) + 1, stubs.sessions);
	KUNIT_EXPECT_EQ(test, 2, stubs.qp[0].ref.refs);
	KUNIT_EXPECT_EQ(test, QP_IDLE, stubs.qp[0].state);
	end_all_and_expect_released(test);
}

/*
 * If an attempt cannot create a session, for example because memory is short, another attempt must
 * follow
 */
static void connect_without_memory_is_repeated(struct kunit *test)
{
	stubs.connect_err = -ENOMEM;
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	advance_ms(10);
	KUNIT_EXPECT_EQ(test, 0, stubs.sessions);
	KUNIT_EXPECT_EQ(test, 1, stubs.qp[0].ref.refs);
	stubs.connect_err = 0;
	advance_ms(1000);
	KUNIT_EXPECT_EQ(test, 1, stubs.sessions);
	end_all_and_expect_released(test);
}

/* The Reply binds the stream, which starts with the negotiated depths and RTR */
static void reply_binds_and_starts_stream(struct kunit *test)
{
	const struct rdv_msg m = make_peer_msg(0, 0);
	struct rdv_msg said;

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	advance_ms(0);
	KUNIT_EXPECT_NULL(test, get_last_session()->bound);
	KUNIT_ASSERT_TRUE(test, rdv_msg_decode(&said, get_last_session()->said.pd,
					       get_last_session()->said.pd_len));
	KUNIT_EXPECT_EQ(test, ACTIVE, said.qpn);
	KUNIT_EXPECT_EQ(test, PEER, said.dest_qpn);
	KUNIT_EXPECT_EQ(test, 0x111u, said.rq_psn);
	KUNIT_EXPECT_FALSE(test, said.has_sq_psn);
	deliver_reply(get_last_session(), &m);
	KUNIT_EXPECT_PTR_EQ(test, &stubs.qp[0].rdmap.stream, get_last_session()->bound);
	KUNIT_EXPECT_EQ(test, QP_RTS, stubs.qp[0].state);
	KUNIT_EXPECT_EQ(test, 3, (int)stubs.start.ird);
	KUNIT_EXPECT_EQ(test, 4, (int)stubs.start.ord);
	KUNIT_EXPECT_EQ(test, NEG_RTR_READ, (int)stubs.qp[0].rdmap.rtr);
	KUNIT_EXPECT_EQ(test, 1ull, stubs.counters[RNIC_CONNECTS]);
	/* the program is still in RTR */
	KUNIT_EXPECT_EQ(test, IB_QPS_RTR, query_qp(0).qp_state);
	advance_ms(100000);
	KUNIT_EXPECT_EQ(test, 1, stubs.sessions);
	end_session(get_last_session(), IW_PEER_CLOSED);
	advance_ms(100000);
	KUNIT_EXPECT_EQ(test, 1, stubs.sessions);
	end_all_and_expect_released(test);
}

/*
 * If no RTR was negotiated, the first message is a Write of length 0, because the peer must not
 * send before it has received a message
 */
static void empty_write_is_sent_if_no_rtr_is_negotiated(struct kunit *test)
{
	const struct rdv_msg m = make_peer_msg(0, 0);

	stubs.plain = true;
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	advance_ms(0);
	deliver_reply(get_last_session(), &m);
	KUNIT_EXPECT_EQ(test, QP_RTS, stubs.qp[0].state);
	KUNIT_EXPECT_EQ(test, NEG_RTR_WRITE, (int)stubs.qp[0].rdmap.rtr);
	end_all_and_expect_released(test);
}

/*
 * A Reply without a rendezvous message, or with a wrong one, binds no stream, and another attempt
 * follows
 */
static void wrong_reply_causes_another_connect(struct kunit *test)
{
	struct rdv_msg m = make_peer_msg(0, 0);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	advance_ms(0);
	deliver_reply(get_last_session(), NULL);
	advance_ms(1);
	KUNIT_ASSERT_EQ(test, 2, stubs.sessions);
	m.qpn++;
	deliver_reply(get_last_session(), &m);
	advance_ms(2);
	KUNIT_ASSERT_EQ(test, 3, stubs.sessions);
	m = make_peer_msg(0, 0);
	m.sq_psn++;
	deliver_reply(get_last_session(), &m);
	advance_ms(4);
	KUNIT_ASSERT_EQ(test, 4, stubs.sessions);
	KUNIT_EXPECT_EQ(test, QP_IDLE, stubs.qp[0].state);
	m = make_peer_msg(0, 0);
	deliver_reply(get_last_session(), &m);
	KUNIT_EXPECT_EQ(test, QP_RTS, stubs.qp[0].state);
	end_all_and_expect_released(test);
}

/* The Reply does not bind the stream of a queue pair that has failed */
static void failed_qp_is_not_bound(struct kunit *test)
{
	const struct rdv_msg m = make_peer_msg(0, 0);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	advance_ms(0);
	fail_qp(&stubs.qp[0], IW_LOCAL_ABORT);
	stop_and_try_defer_flush(0);
	KUNIT_EXPECT_TRUE(test, get_last_session()->stopped);
	deliver_reply(get_last_session(), &m);
	KUNIT_EXPECT_NULL(test, get_last_session()->bound);
	KUNIT_EXPECT_EQ(test, 1, stubs.qp[0].ref.refs);
	end_all_and_expect_released(test);
}

/* If the queue pair is destroyed just before the Reply arrives, the stream cannot be bound */
static void stream_that_cannot_be_bound_ends_session(struct kunit *test)
{
	const struct rdv_msg m = make_peer_msg(0, 0);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	advance_ms(0);
	stubs.bind_err = -ENOTCONN;
	deliver_reply(get_last_session(), &m);
	KUNIT_EXPECT_EQ(test, QP_IDLE, stubs.qp[0].state);
	KUNIT_EXPECT_EQ(test, 1, stubs.qp[0].ref.refs);
	end_all_and_expect_released(test);
}

/*
 * If the queue pair fails after the stream has started, the rendezvous does not stop the session,
 * because the failed stream ends it
 */
static void session_of_started_stream_is_not_stopped(struct kunit *test)
{
	const struct rdv_msg m = make_peer_msg(0, 0);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	advance_ms(0);
	deliver_reply(get_last_session(), &m);
	fail_qp(&stubs.qp[0], IW_LOCAL_ABORT);
	stop_and_try_defer_flush(0);
	KUNIT_EXPECT_FALSE(test, get_last_session()->stopped);
	end_all_and_expect_released(test);
}

/* Passive side ---------------------------------------------------------------------------------- */

/* Check that a Request is refused and counted, and that no reference is left */
static void expect_request_refused_and_counted(struct kunit *test, int err, u64 count)
{
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, err);
	KUNIT_EXPECT_EQ(test, count, stubs.counters[RNIC_RDV_REFUSED]);
	KUNIT_EXPECT_TRUE(test, get_last_session()->freed);
	KUNIT_EXPECT_EQ(test, 1, stubs.qp[0].ref.refs);
	KUNIT_EXPECT_EQ(test, 1, stubs.qp[1].ref.refs);
}

/*
 * A Request is refused if a QP number, its PSN, address, length or LLP is wrong, or if the queue
 * pair is not the listening side
 */
static void wrong_requests_are_refused(struct kunit *test)
{
	struct rdv_msg m = make_peer_msg(1, 0x222);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	KUNIT_ASSERT_EQ(test, 0, move_to_rts(1, 0x222));
	KUNIT_EXPECT_EQ(test, 1, stubs.listening);
	expect_request_refused_and_counted(test, deliver_request(PASSIVE + 1, PEER, 0x222, 2), 1);
	expect_request_refused_and_counted(test, deliver_request(PASSIVE, PEER + 1, 0x222, 2), 2);
	expect_request_refused_and_counted(test, deliver_request(PASSIVE, PEER, 0x223, 2), 3);
	expect_request_refused_and_counted(test, deliver_request(PASSIVE, PEER, 0x222, 3), 4);
	expect_request_refused_and_counted(test, deliver_request_with_msg(&m, RDV_MSG_LEN - 1, 2, &type), 5);
	expect_request_refused_and_counted(test, deliver_request_with_msg(&m, RDV_MSG_LEN, 2, &sctp_type), 6);
	m.sq_psn++;
	expect_request_refused_and_counted(test, deliver_request_with_msg(&m, RDV_MSG_LEN, 2, &type), 7);
	/*
	 * refuse Requests for a queue pair without a rendezvous, and for one that is the connecting
	 * side
	 */
	expect_request_refused_and_counted(test, deliver_request(ACTIVE, PEER, 0x222, 2), 8);
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	expect_request_refused_and_counted(test, deliver_request(ACTIVE, PEER, 0x222, 2), 9);
	KUNIT_EXPECT_EQ(test, 0, deliver_request(PASSIVE, PEER, 0x222, 2));
	end_all_and_expect_released(test);
}

/* The first Request is accepted, a second one is refused, and the port is closed */
static void request_is_accepted_once(struct kunit *test)
{
	struct rdv_msg said;
	struct session *s;

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	KUNIT_ASSERT_EQ(test, 0, deliver_request(PASSIVE, PEER, 0, 2));
	s = get_last_session();
	KUNIT_EXPECT_FALSE(test, s->accepted);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, deliver_request(PASSIVE, PEER, 0, 2));
	KUNIT_EXPECT_EQ(test, 2, stubs.qp[1].ref.refs);
	advance_ms(0);
	KUNIT_EXPECT_TRUE(test, s->accepted);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&stubs.qp[1].rdv->owner, (void *)s->owner);
	KUNIT_EXPECT_EQ(test, 0, stubs.listening);
	KUNIT_EXPECT_EQ(test, 1ull, stubs.counters[RNIC_ACCEPTS]);
	KUNIT_ASSERT_TRUE(test, rdv_msg_decode(&said, s->said.pd, s->said.pd_len));
	KUNIT_EXPECT_EQ(test, PASSIVE, said.qpn);
	KUNIT_EXPECT_EQ(test, PEER, said.dest_qpn);
	/* a second accept fails, and does not abort the session */
	KUNIT_EXPECT_EQ(test, -ECANCELED, rdv_accept(stubs.qp[1].rdv));
	KUNIT_EXPECT_FALSE(test, s->stopped);
	rdv_session_user.established(&s->ss, NULL);
	KUNIT_EXPECT_EQ(test, QP_RTS, stubs.qp[1].state);
	/* after the peer has closed, the queue pair stays in RTS, but sends nothing posted later */
	rdv_session_user.peer_closed(&s->ss);
	KUNIT_EXPECT_EQ(test, QP_RTS, stubs.qp[1].state);
	KUNIT_EXPECT_EQ(test, 1u, stubs.sq_closed);
	KUNIT_EXPECT_TRUE(test, s->stopped);
	end_all_and_expect_released(test);
}

/* If the peer closes before its Request is accepted, the next Request is accepted */
static void request_after_closed_one_is_accepted(struct kunit *test)
{
	struct session *first, *second;

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	KUNIT_ASSERT_EQ(test, 0, deliver_request(PASSIVE, PEER, 5, 2));
	first = get_last_session();
	end_session(first, IW_PEER_RESET);
	KUNIT_ASSERT_EQ(test, 0, deliver_request(PASSIVE, PEER, 6, 2));
	second = get_last_session();
	KUNIT_EXPECT_TRUE(test, first->freed);
	advance_ms(1000);
	KUNIT_EXPECT_FALSE(test, first->accepted);
	KUNIT_EXPECT_TRUE(test, second->accepted);
	KUNIT_EXPECT_FALSE(test, second->stopped);
	/* the PSN is compared with that of the second Request */
	KUNIT_EXPECT_EQ(test, -EINVAL, move_to_rts(1, 5));
	KUNIT_EXPECT_EQ(test, 0, move_to_rts(1, 6));
	end_all_and_expect_released(test);
}

/* If the session ends while it is being accepted, the port stays open for the next Request */
static void failed_accept_keeps_port_open(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	KUNIT_ASSERT_EQ(test, 0, deliver_request(PASSIVE, PEER, 0, 2));
	stubs.accept_err = -ENOMEM;
	advance_ms(0);
	KUNIT_EXPECT_TRUE(test, get_last_session()->stopped);
	end_session(get_last_session(), IW_LOCAL_ABORT);
	KUNIT_EXPECT_EQ(test, 1, stubs.listening);
	KUNIT_EXPECT_EQ(test, 1, stubs.qp[1].ref.refs);
	stubs.accept_err = 0;
	KUNIT_ASSERT_EQ(test, 0, deliver_request(PASSIVE, PEER, 0, 2));
	advance_ms(0);
	KUNIT_EXPECT_TRUE(test, get_last_session()->accepted);
	KUNIT_EXPECT_EQ(test, 0, stubs.listening);
	end_all_and_expect_released(test);
}

/* A queue pair that fails while it waits, or after a Request, closes the port once */
static void failed_qp_closes_port(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	KUNIT_ASSERT_EQ(test, 0, deliver_request(PASSIVE, PEER, 0, 2));
	fail_qp(&stubs.qp[1], IW_LOCAL_ABORT);
	stop_and_try_defer_flush(1);
	KUNIT_EXPECT_TRUE(test, get_last_session()->stopped);
	KUNIT_EXPECT_EQ(test, 0, stubs.listening);
	stop_and_try_defer_flush(1);
	KUNIT_EXPECT_EQ(test, 0, stubs.listening);
	advance_ms(1000);
	KUNIT_EXPECT_FALSE(test, get_last_session()->accepted);
	end_all_and_expect_released(test);
}

static void waiting_qp_can_be_destroyed(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	KUNIT_ASSERT_EQ(test, 0, move_to_rts(1, 1));
	end_all_and_expect_released(test);
}

/* Two queue pairs on one address share the port; the last one closes it */
static void port_is_shared(struct kunit *test)
{
	struct ib_qp_attr a = make_rtr_attr(PEER - 450, 2);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr_with_attr(0, a));
	KUNIT_EXPECT_EQ(test, 1, stubs.listening);
	fail_qp(&stubs.qp[1], IW_LOCAL_ABORT);
	stop_and_try_defer_flush(1);
	KUNIT_EXPECT_EQ(test, 1, stubs.listening);
	KUNIT_EXPECT_EQ(test, 0, deliver_request(ACTIVE, PEER - 450, 0, 2));
	advance_ms(0);
	KUNIT_EXPECT_EQ(test, 0, stubs.listening);
	end_all_and_expect_released(test);
}

/* Entering RTR fails if the port cannot be opened, and can be repeated */
static void rtr_without_port_fails(struct kunit *test)
{
	stubs.listen_err = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, move_to_rtr(1));
	KUNIT_EXPECT_EQ(test, IB_QPS_INIT, query_qp(1).qp_state);
	KUNIT_EXPECT_EQ(test, RDMAP_DEPTH_MAX, (int)query_qp(1).max_dest_rd_atomic);
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_READ, query_qp(1).qp_access_flags);
	stubs.listen_err = 0;
	KUNIT_EXPECT_EQ(test, 0, move_to_rtr(1));
	end_all_and_expect_released(test);
}

static int early_err;

static void deliver_early_request(void)
{
	early_err = deliver_request(PASSIVE, PEER, 0, 2);
}

/* A peer may be so fast that its Request arrives before the call that opens the port has returned */
static void request_during_rtr_is_accepted(struct kunit *test)
{
	stubs.at_listen = deliver_early_request;
	early_err = 1;
	KUNIT_EXPECT_EQ(test, 0, move_to_rtr(1));
	KUNIT_EXPECT_EQ(test, 0, early_err);
	KUNIT_EXPECT_EQ(test, 1, stubs.listening);
	advance_ms(0);
	KUNIT_EXPECT_TRUE(test, get_last_session()->accepted);
	KUNIT_EXPECT_EQ(test, 0, stubs.listening);
	end_all_and_expect_released(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(request_during_rtr_is_accepted),
	KUNIT_CASE(pauses_between_connects_grow_to_limit),
	KUNIT_CASE(connect_without_memory_is_repeated),
	KUNIT_CASE(reply_binds_and_starts_stream),
	KUNIT_CASE(empty_write_is_sent_if_no_rtr_is_negotiated),
	KUNIT_CASE(wrong_reply_causes_another_connect),
	KUNIT_CASE(failed_qp_is_not_bound),
	KUNIT_CASE(stream_that_cannot_be_bound_ends_session),
	KUNIT_CASE(session_of_started_stream_is_not_stopped),
	KUNIT_CASE(wrong_requests_are_refused),
	KUNIT_CASE(request_is_accepted_once),
	KUNIT_CASE(request_after_closed_one_is_accepted),
	KUNIT_CASE(failed_accept_keeps_port_open),
	KUNIT_CASE(failed_qp_closes_port),
	KUNIT_CASE(waiting_qp_can_be_destroyed),
	KUNIT_CASE(port_is_shared),
	KUNIT_CASE(rtr_without_port_fails),
	{}
};

static struct kunit_suite suite = {
	.name = "rnic_rdv",
	.init = test_init,
	.test_cases = cases,
};
kunit_test_suite(suite);
