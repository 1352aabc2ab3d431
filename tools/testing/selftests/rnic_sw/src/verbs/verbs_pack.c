// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Small rings that share a mapping. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rings.h"
#include "verbs.h"

#define PACKED	24

static size_t count_mappings(void)
{
	struct ring ring[64];

	return rings_find_mapped(ring, ARRAY_SIZE(ring));
}

/* Check that a message arrives only at the peer of its sender */
static void send_over_packed_pairs(struct pair *p, size_t from, size_t step, struct fixture *d)
{
	size_t i;

	for (i = from; i < PACKED; i += step) {
		CHECK(!try_post_recv(&p[i].s, i, &d->s, i, 50), "recv %zu", i);
		CHECK(!try_post_job(&p[i].c, &(struct job){ .id = i, .op = IBV_WR_SEND,
			.b = &d->c, .flags = SIG, .len = 50 }), "send %zu", i);
		expect_success(d->p.c.scq, i, IBV_WC_SEND);
		expect_recv(d->p.s.rcq, i, 50);
	}
	expect_no_completion(d->p.c.scq);
	expect_no_completion(d->p.s.rcq);
}

/* Small rings of one program must share pages, and reuse the space of rings that were destroyed */
static void test_rings_packed(void)
{
	struct pair p[PACKED];
	struct fixture d;
	size_t n, i;

	fixture_open(&d, &(struct opts){ .sq = 4, .rq = 4, .cqe = 16 }, 100);
	n = count_mappings();
	for (i = 0; i < PACKED; i++)
		pair_open_like(&p[i], &d.p);
	printf("# %zu mappings, then %zu for %d more pairs\n", n, count_mappings(), PACKED);
	CHECK(count_mappings() < n + PACKED, "rings must share mappings");
	send_over_packed_pairs(p, 0, 1, &d);
	n = count_mappings();
	for (i = 0; i < PACKED; i += 2)
		pair_close(&p[i]);
	send_over_packed_pairs(p, 1, 2, &d);
	for (i = 0; i < PACKED; i += 2)
		pair_open_like(&p[i], &d.p);
	CHECK(count_mappings() <= n, "%zu mappings, were %zu", count_mappings(), n);
	send_over_packed_pairs(p, 0, 1, &d);
	for (i = 0; i < PACKED; i++)
		pair_close(&p[i]);
	fixture_close(&d);
}

static struct ibv_qp *create_qp(struct fixture *d)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.send_cq = d->p.c.scq,
		.recv_cq = d->p.c.rcq,
	};
	struct ibv_qp *qp = ibv_create_qp(d->p.c.pd, &attr);

	CHECK(qp, "%m");
	return qp;
}

/* A child must not see rings that its parent creates after the fork */
static void test_rings_packed_fork(void)
{
	struct ibv_qp *qp;
	int status = 0;
	struct fixture d;
	pid_t pid;
	size_t n;

	/* create rings on a page that has space for those of one more QP */
	fixture_open(&d, &(struct opts){ .sq = 4, .rq = 4, .cqe = 8 }, 100);
	n = count_mappings();
	qp = create_qp(&d);
	CHECK(count_mappings() == n, "the ring must share a page");
	CHECK(!ibv_destroy_qp(qp), "%m");
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (!pid) {
		sleep_ms(60000);
		_exit(0);
	}
	qp = create_qp(&d);
	CHECK(count_mappings() == n + 1, "the ring must not be on a page that a child has mapped");
	CHECK(!ibv_destroy_qp(qp), "%m");
	CHECK(count_mappings() == n, "the mapping must be removed");
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid, "%m");
	qp = create_qp(&d);
	CHECK(count_mappings() == n, "the ring must share a page again");
	CHECK(!ibv_destroy_qp(qp), "%m");
	fixture_close(&d);
}

/* In the child: check that the ring is still empty in the mapping inherited at the fork */
static int wait_and_check_ring_empty(const struct ring *r, int go)
{
	uint8_t octet;
	size_t i;

	if (read(go, &octet, 1) != 1)
		return 2;
	for (i = 0; i < r->words; i++)
		if (r->at[i])
			return 1;
	return 0;
}

/*
 * A child must not see rings that its parent creates later on a page that the child has inherited.
 * After the fork the parent destroys the last ring on this page, which unmaps the page.
 */
static void test_rings_packed_orphan(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct sockaddr_storage sa;
	struct rdma_cm_id *id;
	int go[2], status = 0;
	struct ring ring[4];
	struct ibv_cq *cq;
	pid_t pid;

	parse_addr(setting.addr, &sa);
	CHECK(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "%m");
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&sa) && id->verbs, "%m");
	cq = ibv_create_cq(id->verbs, 4, NULL, NULL, 0);
	CHECK(cq, "%m");
	CHECK(rings_find_mapped(ring, ARRAY_SIZE(ring)) == 1, "there must be one ring");
	CHECK(!pipe(go), "%m");
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (!pid)
		_exit(wait_and_check_ring_empty(&ring[0], go[0]));
	CHECK(!ibv_destroy_cq(cq), "%m");
	cq = ibv_create_cq(id->verbs, 4, NULL, NULL, 0);
	CHECK(cq && !ibv_req_notify_cq(cq, 0), "%m");
	CHECK(write(go[1], "", 1) == 1, "%m");
	CHECK(waitpid(pid, &status, 0) == pid, "%m");
	CHECK(!status, "the child must not see the ring: 0x%x", status);
	CHECK(!ibv_destroy_cq(cq) && !rdma_destroy_id(id), "%m");
}

struct maker {
	pthread_t	thread;
	struct fixture	*d;
	atomic_bool	*enough;
	atomic_uint	made;
};

/* Create and destroy rings, and check that a new ring contains no entry of a destroyed one */
static void *create_and_destroy_rings(void *arg)
{
	struct maker *m = arg;
	struct ibv_qp *qp[3];
	struct ibv_cq *cq;
	struct ibv_wc wc;
	size_t i;

	for (; !atomic_load(m->enough); atomic_fetch_add(&m->made, 1)) {
		cq = ibv_create_cq(m->d->p.c.id->verbs, 1 + atomic_load(&m->made) % 7, NULL, NULL, 0);
		CHECK(cq && !ibv_poll_cq(cq, 1, &wc), "%m");
		for (i = 0; i < ARRAY_SIZE(qp); i++)
			qp[i] = create_qp(m->d);
		for (i = ARRAY_SIZE(qp); i--;)
			CHECK(!ibv_destroy_qp(qp[i]), "%m");
		CHECK(!ibv_destroy_cq(cq), "%m");
	}
	return NULL;
}

static bool has_each_made_rings(struct maker *m, size_t n)
{
	while (n && atomic_load(&m[n - 1].made))
		n--;
	return !n;
}

/*
 * Several threads create and destroy rings while other rings are in use. On a busy machine a thread
 * may not run for long, so messages are sent until each thread has created some rings.
 */
static void test_rings_packed_threads(void)
{
	atomic_bool enough = false;
	struct maker m[3];
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = 4, .rq = 4, .cqe = 16 }, 1000);
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		m[i] = (struct maker){ .d = &d, .enough = &enough };
		CHECK(!pthread_create(&m[i].thread, NULL, create_and_destroy_rings, &m[i]), "%m");
	}
	for (i = 0; i < scale_rounds(2000) || !has_each_made_rings(m, ARRAY_SIZE(m)); i++) {
		post_recv(&d.p.s, i, &d.s, 0, 1000);
		post_send(&d.p.c, i, &d.c, 0, 1000);
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
		expect_recv(d.p.s.rcq, i, 1000);
	}
	enough = true;
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		CHECK(!pthread_join(m[i].thread, NULL), "%m");
		printf("# one thread created three QPs %u times\n", atomic_load(&m[i].made));
	}
	fixture_close(&d);
}

const struct test pack_tests[] = {
	CASE("rings_packed", test_rings_packed, 60, "the ABI"),
	CASE("rings_packed_fork", test_rings_packed_fork, 0, "the ABI"),
	CASE("rings_packed_orphan", test_rings_packed_orphan, 0, "the ABI"),
	CASE("rings_packed_threads", test_rings_packed_threads, 60, "the ABI"),
	{}
};
