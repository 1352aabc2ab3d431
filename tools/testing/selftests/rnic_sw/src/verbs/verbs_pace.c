// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Rate limits of QPs, and how long messages of one connection wait for those of another. */
#include <pthread.h>

#include "verbs.h"

#define LEN	(2 << 20)
#define KBPS	32000
#define TAKES	(LEN / (KBPS / 8))	/* ms */
#define TRIES	20
#define WINDOW	64	/* Writes in flight */
#define TURNS	200
#define LEAST_MS	200

static int set_rate_limit(const struct end *e, uint32_t kbps)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = kbps };

	return ibv_modify_qp_rate_limit(e->qp, &attr);
}

/* Return: the time until a Write is placed, in ms */
static uint64_t measure_write_ms(const struct fixture *d)
{
	uint64_t start = now_ms();

	post_job(&d->p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d->c,
		.len = LEN, .raddr = (uintptr_t)d->s.at,
		.rkey = d->s.mr->rkey });
	expect_success(d->p.c.scq, 1, IBV_WC_RDMA_WRITE);
	wait_all_placed_by_read(d);
	return now_ms() - start;
}

/*
 * Return: the minimum time of several tries in ms, because other programs may delay a try.  Stop
 * when a try takes at most @enough.  Each try must take at least @least.
 */
static uint64_t measure_min_write_ms(const struct fixture *d, uint64_t least, uint64_t enough)
{
	uint64_t best = UINT64_MAX, ms;
	int i;

	for (i = 0; i < TRIES; i++) {
		ms = measure_write_ms(d);
		printf("# %llu ms\n", (unsigned long long)ms);
		CHECK(ms >= least, "%llu ms, too fast for the limit", (unsigned long long)ms);
		if (ms < best)
			best = ms;
		if (best <= enough)
			break;
	}
	return best;
}

static void test_pace_rate(void)
{
	struct fixture d;
	uint64_t ms;

	fixture_open(&d, &(struct opts){ 0 }, LEN);
	if (is_over_sctp())
		skip("rate limits do not apply to SCTP");
	CHECK(!set_rate_limit(&d.p.c, KBPS), "%m");
	ms = measure_min_write_ms(&d, TAKES * 7 / 10, TAKES * 3 / 2);
	CHECK(ms <= TAKES * 3, "%llu ms, too slow for the limit", (unsigned long long)ms);
	CHECK(!set_rate_limit(&d.p.c, 2 * KBPS), "%m");
	measure_min_write_ms(&d, TAKES * 7 / 20, TAKES);
	CHECK(!set_rate_limit(&d.p.c, 0), "%m");
	ms = measure_min_write_ms(&d, 0, TAKES / 2);
	CHECK(ms <= TAKES / 2, "%llu ms, too slow without a limit", (unsigned long long)ms);
	fixture_close(&d);
}

static void test_pace_caps(void)
{
	struct ibv_packet_pacing_caps *caps;
	struct ibv_device_attr_ex attr;
	struct pair p = { 0 };

	pair_open(&p, &(struct opts){ 0 });
	CHECK(!ibv_query_device_ex(p.c.id->verbs, NULL, &attr), "%m");
	caps = &attr.packet_pacing_caps;
	CHECK(caps->supported_qpts == 1 << IBV_QPT_RC, "%x",
	      caps->supported_qpts);
	if (!is_over_sctp()) {
		CHECK(!set_rate_limit(&p.c, caps->qp_rate_limit_min), "%m");
		CHECK(!set_rate_limit(&p.c, caps->qp_rate_limit_max), "%m");
		CHECK(set_rate_limit(&p.c, caps->qp_rate_limit_min - 1) == EINVAL,
		      "a rate below the minimum must be refused");
	}
	pair_close(&p);
}

static void test_pace_refused(void)
{
	struct ibv_qp_rate_limit_attr bursts = {
		.rate_limit = KBPS, .max_burst_sz = 4096,
	}, sizes = {
		.rate_limit = KBPS, .typical_pkt_sz = 512,
	};
	struct ibv_qp_attr attr = { .rate_limit = KBPS };
	int want = is_over_sctp() ? EOPNOTSUPP : 0, err;
	struct pair p = { 0 };

	pair_prepare(&p, &(struct opts){ 0 });
	err = set_rate_limit(&p.c, KBPS);
	CHECK(err == EINVAL, "not connected: %d", err);
	pair_free(&p);
	pair_open(&p, &(struct opts){ 0 });
	err = ibv_modify_qp_rate_limit(p.c.qp, &bursts);
	CHECK(err == EOPNOTSUPP, "with a burst size: %d", err);
	err = ibv_modify_qp_rate_limit(p.c.qp, &sizes);
	CHECK(err == EOPNOTSUPP, "with a packet size: %d", err);
	err = set_rate_limit(&p.c, KBPS);
	CHECK(err == want, "%d, want %d", err, want);
	err = ibv_modify_qp(p.c.qp, &attr, IBV_QP_RATE_LIMIT);
	CHECK(err == want, "by ibv_modify_qp: %d, want %d", err, want);
	move_to_error(&p.c);
	err = set_rate_limit(&p.c, KBPS);
	CHECK(err == EINVAL, "in error: %d", err);
	pair_free(&p);
}

struct busy {
	struct fixture	d;
	uint64_t	writes;		/* Writes completed */
	bool		stop;
};

static void post_one_write(const struct busy *b, uint64_t id)
{
	post_job(&b->d.p.c, &(struct job){
		.id = id, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &b->d.c,
		.len = b->d.c.len, .raddr = (uintptr_t)b->d.s.at,
		.rkey = b->d.s.mr->rkey });
}

/* Keep WINDOW Writes in flight */
static void *keep_writing(void *arg)
{
	struct busy *b = arg;
	uint64_t i;

	for (i = 0; i < WINDOW; i++)
		post_one_write(b, i);
	for (i = 0; !__atomic_load_n(&b->stop, __ATOMIC_ACQUIRE); i++) {
		expect_success(b->d.p.c.scq, i, IBV_WC_RDMA_WRITE);
		__atomic_store_n(&b->writes, i + 1, __ATOMIC_RELEASE);
		post_one_write(b, i + WINDOW);
	}
	while (i < b->writes + WINDOW)
		expect_success(b->d.p.c.scq, i++, IBV_WC_RDMA_WRITE);
	return NULL;
}

static uint64_t get_write_count(const struct busy *b)
{
	return __atomic_load_n(&b->writes, __ATOMIC_ACQUIRE);
}

/* Return: the round trip time of a message, in ms */
static uint64_t measure_round_trip_ms(const struct fixture *d, uint64_t id)
{
	uint64_t start;

	post_recv(&d->p.s, id, &d->s, 0, d->s.len);
	post_recv(&d->p.c, id, &d->c, 0, d->c.len);
	start = now_ms();
	post_send(&d->p.c, id, &d->c, 0, d->c.len);
	expect_recv(d->p.s.rcq, id, d->c.len);
	post_send(&d->p.s, id, &d->s, 0, d->s.len);
	expect_recv(d->p.c.rcq, id, d->s.len);
	start = now_ms() - start;
	expect_success(d->p.c.scq, id, IBV_WC_SEND);
	expect_success(d->p.s.scq, id, IBV_WC_SEND);
	return start;
}

/* Run a ping-pong and a bulk sender concurrently; over SCTP both use one association */
static void test_ping_pong_beside_bulk_writes(void)
{
	static struct busy b;
	uint64_t begin, ms, most = 0, id, was, writes;
	pthread_t neighbour;
	struct fixture d;

	fixture_open(&b.d, &(struct opts){ .sq = WINDOW }, 65536);
	fixture_open(&d, &(struct opts){ .sq = 4, .rq = 4 }, 64);
	CHECK(!pthread_create(&neighbour, NULL, keep_writing, &b), "%m");
	while (get_write_count(&b) < WINDOW)
		sleep_ms(1);
	was = get_write_count(&b);
	begin = now_ms();
	/* on one CPU the bulk sender runs only after some ticks, which are 10 ms long in UML */
	for (id = 0; id < TURNS || now_ms() - begin < LEAST_MS; id++) {
		ms = measure_round_trip_ms(&d, id);
		if (ms > most)
			most = ms;
	}
	writes = get_write_count(&b) - was;
	printf("# at most %llu ms in %llu turns and %llu ms, during %llu Writes\n",
	       (unsigned long long)most, (unsigned long long)id,
	       (unsigned long long)(now_ms() - begin), (unsigned long long)writes);
	CHECK(most <= scale_timeout(500), "%llu ms, too long", (unsigned long long)most);
	CHECK(writes, "the bulk sender must make progress");
	__atomic_store_n(&b.stop, true, __ATOMIC_RELEASE);
	CHECK(!pthread_join(neighbour, NULL), "%m");
	fixture_close(&d);
	fixture_close(&b.d);
}

const struct test pace_tests[] = {
	CASE("pace_rate", test_pace_rate, 240, ""),
	CASE("pace_caps", test_pace_caps, 0, ""),
	CASE("pace_refused", test_pace_refused, 0, ""),
	CASE("pace_beside", test_ping_pong_beside_bulk_writes, 0, ""),
	{}
};
