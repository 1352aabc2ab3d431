// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A program that corrupts its own rings must not harm other programs. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <rdma/ib_user_verbs.h>

#include "rings.h"
#include "verbs.h"

/* Find the rings that this process has mapped */
static size_t find_rings(struct ring *ring, size_t max)
{
	size_t n = rings_find_mapped(ring, max);

	CHECK(n, "a ring must be mapped");
	return n;
}

/* Return a random number that may be used as index, length or key */
static uint32_t get_random_value(void)
{
	switch (get_random_below(5)) {
	case 0:
		return get_random_below(20);
	case 1:
		return -get_random_below(20);
	case 2:
		return 1u << get_random_below(32);
	default:
		return get_random_below(0x7fffffff) * 2;
	}
}

#define BELL_SEND	IB_USER_VERBS_CMD_POST_SEND
#define BELL_RECV	IB_USER_VERBS_CMD_POST_RECV

/*
 * Ring the doorbell with the uverbs command that the provider uses without a doorbell file, whether
 * or not anything was posted
 */
static bool try_ring_doorbell(const struct ibv_qp *qp, uint32_t command)
{
	struct ib_uverbs_post_send_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr	hdr;
		struct ib_uverbs_post_send	cmd;
	} bell = {
		.hdr = {
			.command = command,
			.in_words = sizeof(bell) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)&resp,
			.qp_handle = qp->handle,
			.wqe_size = command == BELL_SEND ?
				sizeof(struct ib_uverbs_send_wr) :
				sizeof(struct ib_uverbs_recv_wr),
		},
	};

	return write(qp->context->cmd_fd, &bell, sizeof(bell)) == sizeof(bell);
}

static void ring_doorbell(const struct ibv_qp *qp, uint32_t command)
{
	CHECK(try_ring_doorbell(qp, command), "%m");
}

static uint32_t *scribbled;	/* number of words that all children have overwritten */

static void corrupt_ring(const struct ring *r)
{
	uint32_t i, n = 1 + get_random_below(40);
	size_t header[8], headers = ring_find_headers(r, header, ARRAY_SIZE(header));

	for (i = 0; i < n; i++) {
		/* write mostly to the ring headers and the entries after them */
		size_t at = header[get_random_below(headers)] + get_random_below(48);

		if (get_random_below(2) || at >= r->words)
			at = get_random_below(r->words);
		r->at[at] = get_random_value();
		__atomic_fetch_add(scribbled, 1, __ATOMIC_RELAXED);
	}
}

/* Let the kernel read the queues; it may return an error */
static void ring_all_doorbells(const struct fixture *d)
{
	try_ring_doorbell(d->p.c.qp, BELL_SEND);
	try_ring_doorbell(d->p.s.qp, BELL_RECV);
	try_ring_doorbell(d->p.s.qp, BELL_SEND);
}

/* Act as a program that corrupts its rings and then exits */
static void corrupt_own_rings(uint32_t seed)
{
	struct ring ring[16];
	struct fixture d;
	size_t n, i, k;

	while (seed--)
		get_random_below(10);
	fixture_open(&d, &(struct opts){ .sq = 8, .rq = 8, .ssge = 4 }, 5000);
	n = find_rings(ring, ARRAY_SIZE(ring));
	for (k = 0; k < 40; k++) {
		try_post_recv(&d.p.s, k, &d.s, 0, 5000);
		try_post_job(&d.p.c, &(struct job){
			.id = k, .op = k % 3 ? IBV_WR_SEND : IBV_WR_RDMA_READ,
			.b = &d.c, .flags = SIG, .len = k * 100,
			.raddr = (uintptr_t)d.s.at, .rkey = d.s.mr->rkey });
		for (i = 0; i < n; i++)
			corrupt_ring(&ring[i]);
		ring_all_doorbells(&d);
	}
	buf_check_guards(&d.s);
	buf_check_guards(&d.c);
	if (get_random_below(2))
		rdma_disconnect(d.p.c.id);
}

static void corrupt_rings_in_children(void)
{
	uint32_t i, before;
	int status;
	pid_t pid;

	for (i = 0; i < scale_rounds(100); i++) {
		before = *scribbled;
		pid = fork();
		CHECK(pid >= 0, "%m");
		if (!pid) {
			alarm(scale_timeout(20));
			corrupt_own_rings(i);
			_exit(PASS);
		}
		CHECK(waitpid(pid, &status, 0) == pid, "%m");
		/* the child may die of SIGSEGV in its library, but must not hang */
		CHECK(!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM,
		      "child %u hangs", i);
		CHECK(!WIFEXITED(status) || !WEXITSTATUS(status), "%u", i);
		CHECK(*scribbled != before, "child %u must have written to its rings", i);
	}
	printf("# %u words were overwritten\n", *scribbled);
	fflush(stdout);
}

/* While a program corrupts its rings, the connection of another program must work */
static void test_corrupt_rings_harm_no_others(void)
{
	int status = 0;
	struct fixture d;
	uint32_t i;
	pid_t pid;

	scribbled = mmap(NULL, sizeof(*scribbled), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(scribbled != MAP_FAILED, "%m");
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (!pid) {
		corrupt_rings_in_children();
		_exit(PASS);
	}
	fixture_open(&d, &(struct opts){}, 5000);
	for (i = 0; !waitpid(pid, &status, WNOHANG); i++) {
		buf_fill(&d.c, 0, 4000, i);
		post_recv(&d.p.s, i, &d.s, 7, 4000);
		post_send(&d.p.c, i, &d.c, 0, 4000);
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
		expect_recv(d.p.s.rcq, i, 4000);
		buf_expect_only_pattern(&d.s, 7, 4000, i);
		buf_clear(&d.s);
		sleep_ms(5);
	}
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "a child has failed, see above");
	fixture_close(&d);
}

/* Both rings of a QP must be one mapping, even large ones: the number of mappings is limited */
static void test_rings_of_qp_are_one_mapping(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 2000, .max_recv_wr = 2000,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ring ring[32];
	struct ibv_qp *qp;
	struct fixture d;
	size_t n;

	fixture_open(&d, &(struct opts){}, 100);
	n = find_rings(ring, ARRAY_SIZE(ring));
	attr.send_cq = d.p.c.scq;
	attr.recv_cq = d.p.c.rcq;
	qp = ibv_create_qp(d.p.c.pd, &attr);
	CHECK(qp, "%m");
	CHECK(find_rings(ring, ARRAY_SIZE(ring)) == n + 1, "both rings must be one mapping");
	CHECK(!ibv_destroy_qp(qp), "%m");
	CHECK(find_rings(ring, ARRAY_SIZE(ring)) == n, "the mapping must be removed");
	fixture_close(&d);
}

/* Unmapping a ring must harm only this program */
static void test_rings_unmapped(void)
{
	struct ring ring[16];
	struct fixture d;
	size_t n, i;

	fixture_open(&d, &(struct opts){}, 100);
	post_recv(&d.p.s, 1, &d.s, 0, 100);
	post_send(&d.p.c, 1, &d.c, 0, 100);
	expect_recv(d.p.s.rcq, 1, 100);
	n = find_rings(ring, ARRAY_SIZE(ring));
	for (i = 0; i < n; i++)
		CHECK(!munmap((void *)ring[i].at, ring[i].words * 4), "%m");
	rdma_disconnect(d.p.c.id);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	/* the process exits without cleaning up */
}

/* Values that the kernel must not trust -------------------------------------- */

#define FAR	(1u << 31)

size_t find_rings_with_prod(uint32_t prod, volatile uint32_t **last)
{
	struct ring ring[32];
	size_t i, at, found = 0, n = find_rings(ring, ARRAY_SIZE(ring));

	for (i = 0; i < n; i++) {
		for (at = 0; at < ring[i].words; at += RING_HEADER) {
			if (ring[i].at[at] != prod || !is_ring_header(ring[i].at + at))
				continue;
			*last = ring[i].at + at;
			found++;
		}
	}
	return found;
}

/* Return the only ring of the process into which @prod entries have been written */
volatile uint32_t *find_only_ring_with_prod(uint32_t prod)
{
	volatile uint32_t *found = NULL;
	size_t n = find_rings_with_prod(prod, &found);

	CHECK(n == 1, "%zu rings with %u entries", n, prod);
	return found;
}

static void wait_both_disconnected(struct pair *p)
{
	pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(p, p->lch, RDMA_CM_EVENT_DISCONNECTED);
}

/* Fill the send queue with slow Reads */
static void post_reads(struct fixture *d, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		post_job(&d->p.c, &(struct job){
			.id = i, .op = IBV_WR_RDMA_READ, .b = &d->c,
			.len = d->c.len, .raddr = (uintptr_t)d->s.at,
			.rkey = d->s.mr->rkey });
}

/* Ring the doorbell and wait until the kernel has read the ring; over SCTP a worker reads it */
static void ring_doorbell_and_wait(const struct ibv_qp *qp, volatile uint32_t *sq,
				   uint32_t prod)
{
	uint32_t ms;

	/*
	 * the order of the stores matters: the context that sets the flags reads the producer index
	 * afterwards
	 */
	sq[RING_PROD] = prod;
	sq[RING_FLAGS] = 0;
	ring_doorbell(qp, BELL_SEND);
	for (ms = 0; ms < scale_timeout(5000) && !sq[RING_FLAGS]; ms++)
		sleep_ms(1);
	CHECK(sq[RING_FLAGS], "the kernel must read the ring");
}

#define READ_LEAST	(16u << 20)
#define READ_MOST	(128u << 20)

static void double_read_length(size_t *len)
{
	if (*len < READ_MOST)
		*len *= 2;
}

/*
 * Fill the send queue with Reads. If a Read has already completed by then, retry with longer Reads.
 */
static volatile uint32_t *open_fixture_with_busy_sq(struct fixture *d, size_t *len)
{
	volatile uint32_t *sq;
	uint64_t reads;
	int i;

	for (i = 0; i < 10; i++) {
		fixture_open(d, &(struct opts){ .sq = 8, .ord = 8 }, *len);
		reads = read_counter(&d->p.c, "tx_read_requests");
		post_reads(d, 8);
		expect_counter_increase(&d->p.c, "tx_read_requests", reads, 8);
		sq = find_only_ring_with_prod(8);
		if (!sq[RING_CONS])
			return sq;
		printf("# %u Reads have completed\n", sq[RING_CONS]);
		fixture_close(d);
		double_read_length(len);
	}
	CHECK(false, "Reads completed too early, %d times", i);
	return NULL;
}

/*
 * Set an index that is one entry too far, and then a far larger one. Return: true if no Read had
 * completed when the first index was set; false if one had, in which case the index was valid.
 */
static bool set_bad_sq_index_and_check(size_t *len)
{
	volatile uint32_t *sq;
	uint64_t was, first;
	struct fixture d;
	uint32_t i;

	sq = open_fixture_with_busy_sq(&d, len);
	was = read_counter(&d.p.c, "end_local_protection");
	ring_doorbell_and_wait(d.p.c.qp, sq, 9);
	sq[RING_PROD] = 9 + FAR;
	expect_async_event(d.p.c.id->verbs, IBV_EVENT_QP_FATAL, d.p.c.qp);
	expect_counter_increase(&d.p.c, "end_local_protection", was, 1);
	move_to_error(&d.p.c);
	first = wait_next_wc(d.p.c.scq).wr_id;
	if (!first) {
		for (i = 1; i < 8; i++)
			CHECK(wait_next_wc(d.p.c.scq).wr_id == i, "%u", i);
		expect_no_completion(d.p.c.scq);
	}
	wait_both_disconnected(&d.p);
	fixture_free(&d);
	return !first;
}

/*
 * An index that is one entry too far must end the QP immediately.  If a far larger index is set
 * then, it must not extend the flush: only entries in use are flushed.
 */
static void test_sq_index_one_too_far(void)
{
	size_t len = READ_LEAST;
	int i;

	for (i = 0; i < 10; i++) {
		if (set_bad_sq_index_and_check(&len))
			return;
		double_read_length(&len);
	}
	CHECK(false, "Reads completed too early, %d times", i);
}

static void set_bad_rq_index_and_check(uint32_t prod)
{
	volatile uint32_t *rq;
	struct fixture d;
	uint64_t was;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .rq = 8 }, 1000);
	was = read_counter(&d.p.s, "end_rdmap_catastrophic");
	for (i = 0; i < 5; i++)
		post_recv(&d.p.s, i, &d.s, 0, 10);
	rq = find_only_ring_with_prod(5);
	rq[RING_PROD] = prod;
	post_send(&d.p.c, 1, &d.c, 0, 10);
	expect_async_event(d.p.s.id->verbs, IBV_EVENT_QP_FATAL, d.p.s.qp);
	expect_counter_increase(&d.p.s, "end_rdmap_catastrophic", was, 1);
	expect_no_completion(d.p.s.rcq);
	wait_both_disconnected(&d.p);
	fixture_free(&d);
}

static void test_rq_far_ahead(void)
{
	set_bad_rq_index_and_check(5 + FAR);
}

static void test_rq_one_too_many(void)
{
	set_bad_rq_index_and_check(9);
}

/* Queues that a thread refills continuously ---------------------------------- */

struct refill {
	volatile uint32_t	*ring;
	uint32_t		slots;
	const struct ibv_qp	*qp;
	volatile bool		stop;
	pthread_t		filler, ringer;
};

/* Post as many entries as the kernel has consumed, continuously */
static void *keep_ring_full(void *arg)
{
	struct refill *r = arg;

	while (!r->stop)
		r->ring[RING_PROD] = r->ring[RING_CONS] + r->slots;
	return NULL;
}

static void *keep_ringing_doorbells(void *arg)
{
	struct refill *r = arg;

	while (!r->stop)
		ring_doorbell(r->qp, BELL_SEND);
	return NULL;
}

static void refill_start(struct refill *r, void *(*fill)(void *))
{
	CHECK(!pthread_create(&r->filler, NULL, fill, r), "%m");
	if (r->qp)
		CHECK(!pthread_create(&r->ringer, NULL, keep_ringing_doorbells, r), "%m");
}

static void refill_stop(struct refill *r)
{
	r->stop = true;
	CHECK(!pthread_join(r->filler, NULL), "%m");
	if (r->qp)
		CHECK(!pthread_join(r->ringer, NULL), "%m");
}

/* A flush must end, however many receives are posted during the flush */
static void test_rq_refilled(void)
{
	struct refill r = { .slots = 64 };
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .rq = 64 }, 1000);
	for (i = 0; i < 37; i++)
		post_recv(&d.p.s, i, &d.s, 0, 10);
	r.ring = find_only_ring_with_prod(37);
	refill_start(&r, keep_ring_full);
	move_to_error(&d.p.s);
	wait_both_disconnected(&d.p);
	/* the doorbell must return when all entries that were present have been flushed */
	for (i = 0; i < scale_rounds(100); i++)
		ring_doorbell(d.p.s.qp, BELL_RECV);
	refill_stop(&r);
	fixture_free(&d);
}

static void send_and_check_message(struct fixture *d, uint32_t id)
{
	buf_fill(&d->c, 0, 4000, id);
	post_recv(&d->p.s, id, &d->s, 7, 4000);
	post_send(&d->p.c, id, &d->c, 0, 4000);
	expect_success(d->p.c.scq, id, IBV_WC_SEND);
	expect_recv(d->p.s.rcq, id, 4000);
	buf_expect_only_pattern(&d->s, 7, 4000, id);
	buf_clear(&d->s);
}

/*
 * A thread posts invalidations faster than they can be processed.  The processing context must
 * yield, so that another connection is not delayed.
 */
static void test_refilled_sq_delays_no_others(void)
{
	struct ibv_mw_bind bind = {};
	struct refill r = { .slots = 1024 };
	struct fixture d, other;
	struct ibv_mw *mw;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = r.slots }, 1000);
	fixture_open(&other, &(struct opts){}, 5000);
	mw = ibv_alloc_mw(d.p.c.pd, IBV_MW_TYPE_1);
	CHECK(mw, "%m");
	for (i = 0; i < r.slots; i++)
		CHECK(!ibv_bind_mw(d.p.c.qp, mw, &bind), "%m");
	r.ring = find_only_ring_with_prod(r.slots);
	r.qp = d.p.c.qp;
	refill_start(&r, keep_ring_full);
	/* continue at least until the refilling thread has been scheduled often enough */
	for (i = 0; i < scale_rounds(400) || r.ring[RING_CONS] < 10 * r.slots; i++)
		send_and_check_message(&other, i);
	refill_stop(&r);
	fixture_close(&other);
	CHECK(!ibv_dealloc_mw(mw), "%m");
	fixture_close(&d);
}

/*
 * Where keep_changing_consumer_index() continues after a fault: a resize unmaps the old ring during
 * the access
 */
static sigjmp_buf unmapped;

static void on_unmapped_access(int sig)
{
	siglongjmp(unmapped, sig);
}

static void *keep_changing_consumer_index(void *arg)
{
	struct refill *r = arg;

	if (!sigsetjmp(unmapped, 1))
		while (!r->stop)
			r->ring[RING_CONS] = get_random_value();
	return NULL;
}

/* A resize must end, whatever consumer index the program writes during the resize */
static void test_resize_while_cq_index_jumps(void)
{
	uint64_t until = now_ms() + scale_timeout(WC_MS);
	volatile uint32_t *rq, *any;
	struct refill r = {};
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .cqe = 4096, .rq = 1000 }, 1000);
	for (i = 0; i < 700; i++)
		post_recv(&d.p.s, i, &d.s, 0, 0);
	rq = find_only_ring_with_prod(700);
	move_to_error(&d.p.s);
	wait_both_disconnected(&d.p);
	/* poll, because no event shows the end of the flush */
	while (find_rings_with_prod(700, &any) < 2 && now_ms() < until)
		sleep_ms(1);
	rq[RING_PROD] = 0;
	signal(SIGSEGV, on_unmapped_access);
	for (i = 0; i < scale_rounds(200); i++) {
		r.ring = find_only_ring_with_prod(700);
		r.stop = false;
		refill_start(&r, keep_changing_consumer_index);
		ibv_resize_cq(d.p.s.rcq, 1000 + i % 3 * 2000);
		refill_stop(&r);
	}
	fixture_free(&d);
}

const struct test rings_tests[] = {
	CASE("rings_spoilt", test_corrupt_rings_harm_no_others, 60,
	     "DDP-130 DDP-132 RDMAP-184 RDMAP-186 SEC-4 SEC-6"),
	CASE("rings_in_one", test_rings_of_qp_are_one_mapping, 0, NULL),
	CASE("rings_unmapped", test_rings_unmapped, 0, "DDP-130"),
	CASE("rings_sq_too_many", test_sq_index_one_too_far, 0, "DDP-130 DDP-132"),
	CASE("rings_rq_far_ahead", test_rq_far_ahead, 0, "DDP-130 DDP-132"),
	CASE("rings_rq_one_too_many", test_rq_one_too_many, 0, "DDP-130 DDP-132"),
	CASE("rings_rq_refilled", test_rq_refilled, 0, "DDP-130 DDP-132"),
	CASE("rings_binds_refilled", test_refilled_sq_delays_no_others, 60, "DDP-130 DDP-132 SEC-4"),
	CASE("rings_cq_jumps", test_resize_while_cq_index_jumps, 60, "DDP-130 DDP-132"),
	{}
};
