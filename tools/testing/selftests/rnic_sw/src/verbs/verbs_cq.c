// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Completion queues: events, extended polling, resizing, overrun. */
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "verbs.h"

bool has_event_within(struct end *e, int ms)
{
	struct pollfd pfd = { .fd = e->cc->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *ctx;

	if (poll(&pfd, 1, ms) != 1)
		return false;
	CHECK(!ibv_get_cq_event(e->cc, &cq, &ctx), "%m");
	CHECK(cq == e->rcq || cq == e->scq, "the event must be for a known CQ");
	ibv_ack_cq_events(cq, 1);
	return true;
}

void wait_all_placed_by_read(const struct fixture *d)
{
	post_job(&d->p.c, &(struct job){
		.id = 77, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d->c,
		.len = 1, .raddr = (uintptr_t)d->s.at,
		.rkey = d->s.mr->rkey });
	expect_success(d->p.c.scq, 77, IBV_WC_RDMA_READ);
}

static void send_one_message(struct fixture *d, uint64_t id, unsigned int flags)
{
	post_recv(&d->p.s, id, &d->s, 0, 50);
	post_job(&d->p.c, &(struct job){
		.id = id, .op = IBV_WR_SEND, .flags = SIG | flags,
		.b = &d->c, .len = 9 });
	expect_success(d->p.c.scq, id, IBV_WC_SEND);
}

static void test_events(void)
{
	struct fixture d;
	int i;

	fixture_open(&d, &(struct opts){ .events = true }, 100);
	for (i = 0; i < 20; i++) {
		/* there must be one event for each time that the CQ is armed, and no other event */
		send_one_message(&d, 1, 0);
		expect_recv(d.p.s.rcq, 1, 9);
		wait_all_placed_by_read(&d);
		CHECK(!has_event_within(&d.p.s, 0), "no event may arrive unless the CQ is armed");
		CHECK(!ibv_req_notify_cq(d.p.s.rcq, 0), "arm");
		send_one_message(&d, 2, 0);
		send_one_message(&d, 3, 0);
		CHECK(has_event_within(&d.p.s, scale_timeout(WC_MS)), "an event must arrive");
		wait_all_placed_by_read(&d);
		CHECK(!has_event_within(&d.p.s, 0), "only one event may arrive");
		expect_recv(d.p.s.rcq, 2, 9);
		expect_recv(d.p.s.rcq, 3, 9);
	}
	CHECK(!has_event_within(&d.p.c, 0), "no event may arrive at the sender");
	fixture_close(&d);
}

static void test_events_solicited(void)
{
	struct fixture d;
	int i;

	fixture_open(&d, &(struct opts){ .events = true }, 100);
	for (i = 0; i < 20; i++) {
		CHECK(!ibv_req_notify_cq(d.p.s.rcq, 1), "arm");
		send_one_message(&d, 1, 0);
		wait_all_placed_by_read(&d);
		CHECK(!has_event_within(&d.p.s, 0), "no event without the flag");
		send_one_message(&d, 2, IBV_SEND_SOLICITED);
		CHECK(has_event_within(&d.p.s, scale_timeout(WC_MS)), "an event must arrive");
		expect_recv(d.p.s.rcq, 1, 9);
		expect_recv(d.p.s.rcq, 2, 9);
		/* a request for all completions overrides one for solicited completions */
		CHECK(!ibv_req_notify_cq(d.p.s.rcq, 0), "arm");
		CHECK(!ibv_req_notify_cq(d.p.s.rcq, 1), "arm");
		send_one_message(&d, 3, 0);
		CHECK(has_event_within(&d.p.s, scale_timeout(WC_MS)), "an event must arrive");
		expect_recv(d.p.s.rcq, 3, 9);
	}
	fixture_close(&d);
}

/* A completion with an error must count as solicited */
static void test_failed_completion_is_solicited(void)
{
	struct fixture d;

	fixture_open(&d, &(struct opts){ .events = true }, 100);
	post_recv(&d.p.s, 1, &d.s, 0, 50);
	CHECK(!ibv_req_notify_cq(d.p.s.rcq, 1), "arm");
	pair_disconnect(&d.p);
	CHECK(has_event_within(&d.p.s, scale_timeout(WC_MS)), "an event must arrive");
	expect_status(d.p.s.rcq, 1, IBV_WC_WR_FLUSH_ERR);
	fixture_free(&d);
}

static void wait_recv(struct end *e, uint64_t id)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(e->rcq, 1, &wc)) {
		CHECK(!ibv_req_notify_cq(e->rcq, 0), "arm");
		if (ibv_poll_cq(e->rcq, 1, &wc))
			break;
		CHECK(has_event_within(e, scale_timeout(WC_MS)), "an event was lost, round %llu",
		      (unsigned long long)id);
		while (has_event_within(e, 0))
			;
	}
	CHECK(!wc.status && wc.wr_id == id, "round %llu: %llu, %s",
	      (unsigned long long)id, (unsigned long long)wc.wr_id,
	      ibv_wc_status_str(wc.status));
}

/*
 * Answer each message with an empty one. Each end waits for completion events in poll(), so
 * threads sleep and wake up in each round.
 */
static void *answer_messages(void *arg)
{
	const uint32_t turns = scale_rounds(4000);
	struct fixture *d = arg;
	uint64_t i;

	for (i = 0; i < turns; i++) {
		wait_recv(&d->p.s, i);
		post_recv(&d->p.s, i + 1, &d->s, 0, 8);
		post_job(&d->p.s, &(struct job){
			.id = i, .op = IBV_WR_SEND, .flags = i % 8 ? 0 : SIG });
		if (i % 8 == 0)
			expect_success(d->p.s.scq, i, IBV_WC_SEND);
	}
	return NULL;
}

static void test_events_ping_pong(void)
{
	const uint32_t turns = scale_rounds(4000);
	pthread_t other;
	struct fixture d;
	uint64_t i;

	fixture_open(&d, &(struct opts){ .events = true }, 16);
	post_recv(&d.p.s, 0, &d.s, 0, 8);
	CHECK(!pthread_create(&other, NULL, answer_messages, &d), "%m");
	for (i = 0; i < turns; i++) {
		post_recv(&d.p.c, i, NULL, 0, 0);
		post_send(&d.p.c, i, &d.c, 0, 8);
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
		wait_recv(&d.p.c, i);
	}
	CHECK(!pthread_join(other, NULL), "%m");
	fixture_close(&d);
}

/* A resize must keep completions that have not been polled, in order */
static void test_resize(void)
{
	static const int sizes[] = { 64, 9, 1000, 16, 8, 300 };
	struct fixture d;
	size_t i;
	int k;

	fixture_open(&d, &(struct opts){ .cqe = 8 }, 100);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (k = 0; k < 8; k++)
			send_one_message(&d, i * 10 + k, 0);
		wait_all_placed_by_read(&d);
		CHECK(!ibv_resize_cq(d.p.s.rcq, sizes[i]), "to %d: %m",
		      sizes[i]);
		CHECK(d.p.s.rcq->cqe >= sizes[i], "%d", d.p.s.rcq->cqe);
		CHECK(ibv_resize_cq(d.p.s.rcq, 4), "8 completions do not fit in 4 entries");
		for (k = 0; k < 8; k++)
			expect_recv(d.p.s.rcq, i * 10 + k, 9);
		expect_no_completion(d.p.s.rcq);
	}
	fixture_close(&d);
}

/*
 * Post one more receive to the server's QP, which is in the error state. The kernel then flushes
 * the receive queue, so when the call returns, all receives posted before have completed.
 */
static void flush_all_recvs(struct fixture *d, uint64_t first, uint64_t last)
{
	expect_status(d->p.s.rcq, first, IBV_WC_WR_FLUSH_ERR);
	post_recv(&d->p.s, last, NULL, 0, 0);
}

/* Resize a CQ with so many completions that they are moved in several steps */
static void test_resize_with_many_completions(void)
{
	static const int sizes[] = { 3000, 1500, 1024, 5000 };
	struct fixture d;
	uint32_t i, k;

	fixture_open(&d, &(struct opts){ .cqe = 1024, .rq = 1024 }, 100);
	post_recv(&d.p.s, 1001, NULL, 0, 0);
	for (k = 0; k < 1000; k++)
		post_recv(&d.p.s, k, NULL, 0, 0);
	move_to_error(&d.p.s);
	flush_all_recvs(&d, 1001, 1000);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		/* poll some, so that the remaining ones start at another entry of the ring */
		for (k = 0; k < 100; k++)
			expect_status(d.p.s.rcq, i * 100 + k,
				      IBV_WC_WR_FLUSH_ERR);
		CHECK(!ibv_resize_cq(d.p.s.rcq, sizes[i]), "to %d: %m",
		      sizes[i]);
		CHECK(ibv_resize_cq(d.p.s.rcq, 200), "a size too small must be refused");
	}
	for (k = 400; k <= 1000; k++)
		expect_status(d.p.s.rcq, k, IBV_WC_WR_FLUSH_ERR);
	expect_no_completion(d.p.s.rcq);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	fixture_free(&d);
}

/* Resize the CQ repeatedly, while the main thread uses it */
static void *keep_resizing(void *arg)
{
	struct fixture *d = arg;
	uint32_t i;

	for (i = 0; i < scale_rounds(400); i++)
		CHECK(!ibv_resize_cq(d->p.s.rcq, 200 + i % 7 * 100), "%m");
	return NULL;
}

static void test_resize_in_use(void)
{
	pthread_t other;
	uint32_t i, k;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 100);
	CHECK(!pthread_create(&other, NULL, keep_resizing, &d), "%m");
	for (i = 0; i < scale_rounds(160); i++) {
		for (k = 0; k < 40; k++)
			send_one_message(&d, k, 0);
		for (k = 0; k < 40; k++)
			expect_recv(d.p.s.rcq, k, 9);
	}
	CHECK(!pthread_join(other, NULL), "%m");
	fixture_close(&d);
}

static uint64_t read_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Poll all completions through the extended interface; their timestamps must not precede @begun */
static uint32_t poll_all_completions_ex(struct ibv_cq_ex *ex, uint32_t next, uint64_t begun,
					uint64_t *when)
{
	struct ibv_poll_cq_attr attr = {};
	int err = ibv_start_poll(ex, &attr);

	if (err == ENOENT)
		return next;
	for (; !err; err = ibv_next_poll(ex)) {
		CHECK(ex->wr_id == next && !ex->status, "%llu, want %u",
		      (unsigned long long)ex->wr_id, next);
		CHECK(ibv_wc_read_opcode(ex) == IBV_WC_RECV, "opcode");
		CHECK(ibv_wc_read_byte_len(ex) == 9, "length");
		CHECK(ibv_wc_read_completion_ts(ex) >= *when, "time");
		*when = ibv_wc_read_completion_ts(ex);
		CHECK(*when >= begun && *when <= read_clock_ns(), "the timestamp must be in range");
		next++;
	}
	CHECK(err == ENOENT, "%s", strerror(err));
	ibv_end_poll(ex);
	return next;
}

/* Poll often, so that the CQ does not overrun on a slow host */
static void test_poll_cq_ex(void)
{
	uint64_t begun = read_clock_ns(), when = 0;
	uint64_t until = now_ms() + scale_timeout(WC_MS);
	struct ibv_cq_ex *ex;
	uint32_t i, got = 0;
	struct fixture d;

	fixture_open(&d, &(struct opts){ .cq_ex = true }, 100);
	ex = (struct ibv_cq_ex *)d.p.s.rcq;
	for (i = 0; i < 200; i++) {
		send_one_message(&d, i, 0);
		if (i % 3)
			continue;
		do {
			got = poll_all_completions_ex(ex, got, begun, &when);
		} while (i + 1 - got > 30 && now_ms() < until);
	}
	while (got < 200 && now_ms() < until) {
		got = poll_all_completions_ex(ex, got, begun, &when);
		sleep_ms(1);
	}
	CHECK(got == 200, "%u", got);
	fixture_close(&d);
}

static void request_bad_cqe_and_expect_failure(struct ibv_cq *has, int cqe)
{
	int err, was = has->cqe;

	errno = 0;
	CHECK(!ibv_create_cq(has->context, cqe, NULL, NULL, 0), "%d must be refused", cqe);
	CHECK(errno == EINVAL, "create, %d: %m", cqe);
	err = ibv_resize_cq(has, cqe);
	CHECK(err == EINVAL, "resize, %d: %s", cqe, strerror(err));
	CHECK(has->cqe == was, "%d, was %d", has->cqe, was);
}

/* The kernel must enforce the maximum number of entries */
static void test_arguments(void)
{
	struct ibv_device_attr dev;
	struct pair p;

	pair_open(&p, &(struct opts){});
	CHECK(!ibv_query_device(p.c.id->verbs, &dev), "%m");
	CHECK(dev.max_cqe >= 1 << 16 && dev.max_cqe <= 1 << 20, "%d",
	      dev.max_cqe);
	request_bad_cqe_and_expect_failure(p.c.scq, dev.max_cqe + 1);
	request_bad_cqe_and_expect_failure(p.c.scq, INT_MAX);
	pair_close(&p);
}

/*
 * If a CQ overruns, the CQ and its QP go to error, and the peer gets a Terminate.  Other
 * connections continue.
 */
static void test_overrun(void)
{
	uint64_t sent, was, peer;
	struct fixture d, other;
	int i, room;

	fixture_open(&other, &(struct opts){}, 100);
	fixture_open(&d, &(struct opts){ .cqe = 8 }, 100);
	room = d.p.c.scq->cqe;
	was = read_counter(&d.p.c, "end_local_cq_overrun");
	sent = read_counter(&d.p.c, "tx_terminates");
	peer = read_counter(&d.p.s, "end_peer_terminate");
	for (i = 0; i <= room && i < 60; i++) {
		post_recv(&d.p.s, i, &d.s, 0, 50);
		post_send(&d.p.c, i, &d.c, 0, 9);
		if (i < room)
			expect_recv(d.p.s.rcq, i, 9);
	}
	expect_async_event(d.p.c.id->verbs, IBV_EVENT_CQ_ERR, d.p.c.scq);
	expect_async_event(d.p.c.id->verbs, IBV_EVENT_QP_FATAL, d.p.c.qp);
	expect_async_event(d.p.s.id->verbs, IBV_EVENT_QP_REQ_ERR, d.p.s.qp);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	CHECK(query_qp_state(&d.p.c) == IBV_QPS_ERR, "%d", query_qp_state(&d.p.c));
	expect_counter_increase(&d.p.c, "end_local_cq_overrun", was, 1);
	expect_counter_increase(&d.p.c, "tx_terminates", sent, 1);
	expect_counter_increase(&d.p.s, "end_peer_terminate", peer, 1);
	for (i = 0; i < room; i++)
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
	send_one_message(&other, 5, 0);
	expect_recv(other.p.s.rcq, 5, 9);
	fixture_free(&d);
	fixture_close(&other);
}

const struct test cq_tests[] = {
	CASE("cq_events", test_events, 0, "RDMAP-8"),
	CASE("cq_events_solicited", test_events_solicited, 0, "RDMAP-95"),
	CASE("cq_events_failed", test_failed_completion_is_solicited, 0, "RDMAP-95"),
	CASE("cq_events_ping_pong", test_events_ping_pong, 60, "RDMAP-95"),
	CASE("cq_resize", test_resize, 0, "the ABI"),
	CASE("cq_resize_many", test_resize_with_many_completions, 0, "the ABI"),
	CASE("cq_resize_in_use", test_resize_in_use, 0, "the ABI"),
	CASE("cq_poll_ex", test_poll_cq_ex, 0, "the ABI"),
	CASE("cq_arguments", test_arguments, 0, "RDMAP-188 SEC-30"),
	CASE("cq_overrun", test_overrun, 0, "RDMAP-152 RDMAP-181 SEC-37"),
	{}
};
