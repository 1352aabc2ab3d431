// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Races that need two CPUs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "verbs.h"

#define ADD	IBV_WR_ATOMIC_FETCH_AND_ADD
#define RIGHTS	(RIGHTS_ALL | IBV_ACCESS_REMOTE_ATOMIC)
#define SIZE	4000u

/* Pin the calling thread to the first or the second CPU */
static void pin_to_cpu(int which)
{
	static cpu_set_t all;
	cpu_set_t one;
	int cpu;

	/* a new thread inherits the affinity of its creator */
	if (!CPU_COUNT(&all))
		CHECK(!sched_getaffinity(0, sizeof(all), &all), "%m");
	if (CPU_COUNT(&all) < 2)
		skip("needs two CPUs");
	for (cpu = 0; !CPU_ISSET(cpu, &all) || which--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(!pthread_setaffinity_np(pthread_self(), sizeof(one), &one), "%m");
}

/*
 * Run @run concurrently with the case, in another process: User-Mode Linux runs only one thread of
 * a process at a time in user mode.
 */
static pid_t start_concurrent_child(void (*run)(void *arg), void *arg)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run(arg);
	_exit(PASS);
}

/* Allocate memory that this process shares with its children */
static void *alloc_shared_memory(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED, "%m");
	return at;
}

static void create_and_register_buf(struct buf *b, const struct end *e)
{
	buf_create(b, SIZE);
	buf_reg(b, e->pd, RIGHTS);
}

/* Two streams count in one word --------------------------------------------- */

enum { RACERS = 2, BURST = 60, MOST = 1 << 22, TURNS = 60,
       MEETINGS = 100 };

struct racer {
	struct pair	p;
	struct buf	sink, target;
	int		nr;
	uint64_t	done;
};

static uint8_t seen[MOST];		/* values that atomics have returned */
static uint32_t turns[RACERS];		/* number of bursts */
static uint32_t met[RACERS];		/* number of interleavings with the other racer */
static uint64_t until;

static void run_burst(struct racer *r)
{
	uint64_t found, before = 0;
	uint32_t i;

	for (i = 0; i < BURST; i++)
		post_atomic(&r->p.c, &(struct atom){
			.id = i, .op = ADD, .flags = SIG, .value = 1,
			.sink = &r->sink, .at = i, .target = &r->target });
	for (i = 0; i < BURST; i++)
		expect_atomic(r->p.c.scq, i, ADD);
	for (i = 0; i < BURST; i++, before = found) {
		found = *get_word(&r->sink, i);
		CHECK(found < MOST, "%llu", (unsigned long long)found);
		CHECK(!__atomic_exchange_n(&seen[found], 1, __ATOMIC_RELAXED),
		      "%llu was returned twice", (unsigned long long)found);
		if (i && found != before + 1)
			__atomic_add_fetch(&met[r->nr], 1, __ATOMIC_RELAXED);
	}
	r->done += BURST;
}

static uint32_t get_minimum(const uint32_t *each)
{
	uint32_t one = __atomic_load_n(&each[0], __ATOMIC_RELAXED);
	uint32_t two = __atomic_load_n(&each[1], __ATOMIC_RELAXED);

	return one < two ? one : two;
}

/* Check whether a racer must continue: until both racers have run and interleaved often enough,
 * because each of them can interleave only with a running racer
 */
static bool must_continue_after_turn(const struct racer *r)
{
	uint32_t turn = __atomic_add_fetch(&turns[r->nr], 1, __ATOMIC_RELAXED);

	if (turn > MOST / BURST / RACERS || now_ms() > until)
		return false;
	return get_minimum(turns) < TURNS || get_minimum(met) < MEETINGS;
}

static void *run_racer(void *arg)
{
	struct racer *r = arg;

	pin_to_cpu(r->nr);
	do {
		run_burst(r);
	} while (must_continue_after_turn(r));
	return NULL;
}

static void open_racer(struct racer *r, int nr, const struct racer *first)
{
	r->nr = nr;
	pair_open(&r->p, &(struct opts){ .ord = BURST, .ird = BURST });
	create_and_register_buf(&r->sink, &r->p.c);
	if (nr) {
		/* register the memory of the first racer for the server of this one, too */
		r->target = first->target;
		buf_reg(&r->target, r->p.s.pd, RIGHTS);
	} else {
		create_and_register_buf(&r->target, &r->p.s);
		*get_word(&r->target, 0) = 0;
	}
}

static void test_atomic_race(void)
{
	struct racer r[RACERS] = {};
	pthread_t thread[RACERS];
	uint64_t sum = 0;
	int i;

	pin_to_cpu(0);
	until = now_ms() + scale_timeout(25000);
	for (i = 0; i < RACERS; i++)
		open_racer(&r[i], i, &r[0]);
	for (i = 0; i < RACERS; i++)
		CHECK(!pthread_create(&thread[i], NULL, run_racer, &r[i]), "%m");
	for (i = 0; i < RACERS; i++)
		CHECK(!pthread_join(thread[i], NULL), "%m");
	for (i = 0; i < RACERS; i++) {
		printf("# %llu atomics, interleaved with the other %u times\n",
		       (unsigned long long)r[i].done, met[i]);
		CHECK(met[i] >= MEETINGS, "they must interleave often enough");
		sum += r[i].done;
	}
	CHECK(*get_word(&r[0].target, 0) == sum, "%llu, not %llu",
	      (unsigned long long)*get_word(&r[0].target, 0),
	      (unsigned long long)sum);
	CHECK(!ibv_dereg_mr(r[1].target.mr), "%m");
	for (i = RACERS; i--;) {
		buf_free(&r[i].sink);
		if (!i)
			buf_free(&r[i].target);
		pair_close(&r[i].p);
	}
}

/* Streams and a CPU count in one word ---------------------------------------- */

struct adder {
	uint8_t		memory[SIZE];
	uint64_t	*at;
	uint64_t	n;
	bool		stop;
};

static void keep_adding(void *arg)
{
	struct adder *a = arg;

	pin_to_cpu(1);
	for (; !__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE); a->n++)
		__atomic_fetch_add(a->at, 1, __ATOMIC_SEQ_CST);
}

enum { EACH = 16, ENCOUNTERS = 20 };

/* Count with atomics of both ends. Return: how often the CPU has counted between two atomics */
static uint32_t add_and_count_interleavings(struct fixture *d, const struct buf *theirs)
{
	uint32_t k, met = 0;

	for (k = 0; k < EACH; k++) {
		post_atomic(&d->p.c, &(struct atom){
			.id = k, .op = ADD, .flags = SIG, .value = 1,
			.sink = &d->c, .at = k, .target = &d->s });
		post_atomic(&d->p.s, &(struct atom){
			.id = k, .op = ADD, .flags = SIG, .value = 1,
			.sink = &d->s, .at = 1 + k, .target = theirs });
	}
	for (k = 0; k < EACH; k++) {
		expect_atomic(d->p.c.scq, k, ADD);
		expect_atomic(d->p.s.scq, k, ADD);
		met += k && *get_word(&d->c, k) - *get_word(&d->c, k - 1) > 2 * EACH;
	}
	return met;
}

/* Count from both ends, which may be two devices, while a CPU counts continuously */
static void test_atomic_global(void)
{
	uint32_t n = 0, met = 0;
	struct buf theirs;
	struct adder *hand;
	struct fixture d;
	uint64_t want;
	pid_t pid;

	pin_to_cpu(0);
	until = now_ms() + scale_timeout(25000);
	hand = alloc_shared_memory(sizeof(*hand));
	pair_open(&d.p, &(struct opts){});
	create_and_register_buf(&d.c, &d.p.c);
	d.s = (struct buf){ .at = hand->memory, .len = SIZE };
	buf_reg(&d.s, d.p.s.pd, RIGHTS);
	/* register the server's memory for the client's end, too */
	theirs = d.s;
	buf_reg(&theirs, d.p.c.pd, RIGHTS);
	hand->at = get_word(&d.s, 0);
	pid = start_concurrent_child(keep_adding, hand);
	/* the scheduler decides how often atomics and the CPU interleave: repeat often enough */
	for (; n < 100 || (met < ENCOUNTERS && now_ms() < until); n++)
		met += add_and_count_interleavings(&d, &theirs);
	__atomic_store_n(&hand->stop, true, __ATOMIC_RELEASE);
	CHECK(waitpid(pid, NULL, 0) == pid, "%m");
	want = hand->n + 2 * EACH * n;
	printf("# %u times %u atomics, interleaved with the CPU %u times\n", n,
	       2 * EACH, met);
	CHECK(met >= ENCOUNTERS, "they must interleave often enough");
	CHECK(*hand->at == want, "%llu, not %llu: %llu by the CPU",
	      (unsigned long long)*hand->at, (unsigned long long)want,
	      (unsigned long long)hand->n);
	CHECK(!ibv_dereg_mr(theirs.mr) && !ibv_dereg_mr(d.s.mr), "%m");
	buf_free(&d.c);
	pair_close(&d.p);
}

/* Memory that is invalidated while a segment is copied to it ------------------ */

enum { AT_ONCE = 32, LONG = 60000, TAIL = 1000 };

struct gone {
	struct fixture	d;
	struct ibv_mw	*mw;	/* type 2; if NULL, use the rkey of the MR, and deregister the MR */
	uint32_t	rkey;
};

/* Write continuously, each time with different bytes, until the connection ends */
static void *keep_writing(void *arg)
{
	struct gone *g = arg;
	struct fixture *d = &g->d;
	uint32_t posted = 0, done = 0;
	struct ibv_wc wc;

	pin_to_cpu(1);
	for (;;) {
		for (; posted < done + AT_ONCE; posted++)
			post_job(&d->p.c, &(struct job){
				.id = posted, .op = IBV_WR_RDMA_WRITE,
				.b = &d->c, .off = posted % AT_ONCE,
				.len = LONG, .rkey = g->rkey,
				.flags = SIG,
				.raddr = (uintptr_t)d->s.at });
		while (ibv_poll_cq(d->p.c.scq, 1, &wc)) {
			if (wc.status)
				return NULL;
			done++;
		}
	}
}

static void post_wr_and_wait(const struct gone *g, struct ibv_send_wr *wr, enum ibv_wc_opcode done)
{
	struct ibv_send_wr *bad;

	wr->wr_id = 1;
	wr->send_flags = SIG;
	CHECK(!ibv_post_send(g->d.p.s.qp, wr, &bad), "%m");
	expect_success(g->d.p.s.scq, 1, done);
}

static void bind_window_to_memory(struct gone *g)
{
	struct buf *b = &g->d.s;

	CHECK(!ibv_dereg_mr(b->mr), "%m");
	buf_reg(b, g->d.p.s.pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	g->mw = ibv_alloc_mw(g->d.p.s.pd, IBV_MW_TYPE_2);
	CHECK(g->mw, "%m");
	g->rkey = g->mw->rkey + 1;
	post_wr_and_wait(g, &(struct ibv_send_wr){
			 .opcode = IBV_WR_BIND_MW,
			 .bind_mw = { .mw = g->mw, .rkey = g->rkey, .bind_info = {
			 .mr = b->mr, .addr = (uintptr_t)b->at, .length = LONG,
			 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } } },
			 IBV_WC_BIND_MW);
}

static void open_revocable_fixture(struct gone *g, uint32_t round, bool window)
{
	fixture_open(&g->d, &(struct opts){}, LONG + AT_ONCE);
	buf_fill(&g->d.c, 0, LONG + AT_ONCE, round);
	g->mw = NULL;
	g->rkey = g->d.s.mr->rkey;
	if (window)
		bind_window_to_memory(g);
}

static void revoke_memory(struct gone *g)
{
	if (g->mw)
		post_wr_and_wait(g, &(struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV,
				 .invalidate_rkey = g->rkey },
				 IBV_WC_LOCAL_INV);
	else
		CHECK(!ibv_dereg_mr(g->d.s.mr), "%m");
}

static void free_revocable_fixture(struct gone *g)
{
	if (g->mw)
		CHECK(!ibv_dealloc_mw(g->mw), "%m");
	else
		g->d.s.mr = NULL;
	fixture_free(&g->d);
}

/*
 * The MR is as long as a segment, so a copy in progress ends at the end of the MR.  The copy must
 * have ended when dereg_mr has returned or the Local Invalidate has completed.  A copy is too short
 * for a reliable test here: ddp_stag_kunit.c and the litmus test revoke.litmus show it.
 */
static void revoke_during_copy(uint32_t round, bool window)
{
	const uint64_t end = now_ms() + scale_timeout(WC_MS);
	uint8_t after[TAIL], *tail, first;
	volatile uint32_t spin;
	pthread_t thread;
	struct gone g;
	struct fixture *d = &g.d;
	uint64_t was;

	open_revocable_fixture(&g, round, window);
	was = read_counter(&d->p.s, "end_ddp_tagged_stag");
	first = d->s.at[0];
	tail = d->s.at + LONG - TAIL;
	CHECK(!pthread_create(&thread, NULL, keep_writing, &g), "%m");
	while (*(volatile uint8_t *)d->s.at == first)
		CHECK(now_ms() < end, "a Write must arrive");
	for (spin = get_random_below(20000); spin; spin--)
		;
	revoke_memory(&g);
	memcpy(after, tail, TAIL);
	CHECK(!pthread_join(thread, NULL), "%m");
	CHECK(!memcmp(after, tail, TAIL), "no byte may be written after invalidation, round %u",
	      round);
	expect_counter_increase(&d->p.s, "end_ddp_tagged_stag", was, 1);
	pair_expect_event(&d->p, d->p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	free_revocable_fixture(&g);
}

static void dereg_waits_for_copies(void)
{
	uint32_t i;

	pin_to_cpu(0);
	for (i = 0; i < 24; i++)
		revoke_during_copy(i, false);
}

static void invalidate_waits_for_copies(void)
{
	uint32_t i;

	pin_to_cpu(0);
	for (i = 0; i < 24; i++)
		revoke_during_copy(i, true);
}

/* If the last byte of a Write is visible, all its bytes are visible --------------- */

/*
 * Each round posts many Writes of one segment: after a round the writer and the reader wait for
 * each other, which takes long on a busy machine.
 */
enum { LOOKS = 64, FEWEST = 64, SHORT = 1200, PLACES = 256,
       ROOM = SHORT + PLACES };

#define LOOK_MS		3000	/* duration of the case in ms */

struct look {
	uint8_t		from[LOOKS * ROOM], to[LOOKS * ROOM];
	struct {
		size_t		at;
		uint32_t	len;
	} w[LOOKS];
	uint32_t	begun, seen;	/* current round; last round compared */
	bool		over;
};

/* Poll only the last byte until it changes, and then compare all bytes */
static void wait_and_compare_write(const struct look *k, uint32_t i)
{
	const uint8_t *from = k->from + i * ROOM, *to = k->to + k->w[i].at;
	uint32_t len = k->w[i].len;

	while (__atomic_load_n(&to[len - 1], __ATOMIC_ACQUIRE) != from[len - 1])
		;
	CHECK(!memcmp(to, from, len),
	      "the last of %u bytes was visible before others, at %zu, round %u",
	      len, k->w[i].at, k->begun);
}

/* Wait for the start of a round.  Return: false if there is no further round. */
static bool wait_round_or_end(const struct look *k, uint32_t turn)
{
	while (__atomic_load_n(&k->begun, __ATOMIC_ACQUIRE) != turn)
		if (__atomic_load_n(&k->over, __ATOMIC_RELAXED))
			return false;
	return true;
}

static void watch_writes(void *arg)
{
	struct look *k = arg;
	uint32_t i, turn;

	pin_to_cpu(1);
	for (turn = 1; wait_round_or_end(k, turn); turn++) {
		for (i = 0; i < LOOKS; i++)
			wait_and_compare_write(k, i);
		__atomic_store_n(&k->seen, turn, __ATOMIC_RELEASE);
	}
}

static uint32_t choose_random_length(void) { return FEWEST + get_random_below(SHORT - FEWEST); }

/* Prepare Write number @i at a random offset, because copying depends on the alignment */
static void prepare_write(struct look *k, uint32_t i, uint32_t len)
{
	size_t at = i * ROOM + get_random_below(PLACES);
	uint32_t j;

	k->w[i].at = at;
	k->w[i].len = len;
	for (j = 0; j < len; j++)
		k->from[i * ROOM + j] = ~k->to[at + j];
}

/* Post all Writes in one list, so that many arrive together */
static void post_all_writes_and_wait(struct fixture *d, const struct look *k)
{
	struct ibv_send_wr wr[LOOKS], *bad;
	struct ibv_sge sge[LOOKS];
	uint32_t i;

	for (i = 0; i < LOOKS; i++) {
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)(d->c.at + i * ROOM),
			.length = k->w[i].len, .lkey = d->c.mr->lkey };
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .opcode = IBV_WR_RDMA_WRITE, .send_flags = SIG,
			.sg_list = &sge[i], .num_sge = 1,
			.next = i + 1 < LOOKS ? &wr[i + 1] : NULL,
			.wr.rdma = { .rkey = d->s.mr->rkey,
				.remote_addr = (uintptr_t)(k->to + k->w[i].at) } };
	}
	CHECK(!ibv_post_send(d->p.c.qp, wr, &bad), "%m");
	for (i = 0; i < LOOKS; i++)
		expect_success(d->p.c.scq, i, IBV_WC_RDMA_WRITE);
}

static void run_round(struct fixture *d, struct look *k, uint32_t turn, pid_t pid)
{
	uint32_t i, len = choose_random_length();

	/* in odd rounds the Writes have equal lengths: the receiver handles those differently */
	for (i = 0; i < LOOKS; i++)
		prepare_write(k, i, turn % 2 ? len : choose_random_length());
	__atomic_store_n(&k->begun, turn, __ATOMIC_RELEASE);
	post_all_writes_and_wait(d, k);
	until = now_ms() + scale_timeout(WC_MS);
	while (__atomic_load_n(&k->seen, __ATOMIC_ACQUIRE) != turn) {
		CHECK(!waitpid(pid, NULL, WNOHANG), "the other process has failed, see above");
		CHECK(now_ms() < until, "all Writes must arrive in round %u", turn);
		sched_yield();
	}
}

static void open_fixture_in_shared_memory(struct fixture *d, struct look *k)
{
	pair_open(&d->p, &(struct opts){ .sq = LOOKS, .cqe = LOOKS });
	d->c = (struct buf){ .at = k->from, .len = sizeof(k->from) };
	d->s = (struct buf){ .at = k->to, .len = sizeof(k->to) };
	buf_reg(&d->c, d->p.c.pd, RIGHTS_ALL);
	buf_reg(&d->s, d->p.s.pd, RIGHTS_ALL);
}

static void test_last_octet_becomes_visible_last(void)
{
	const uint64_t end = now_ms() + LOOK_MS;
	uint32_t turn = 0;
	struct fixture d = {};
	struct look *k;
	pid_t pid;

	pin_to_cpu(0);
	k = alloc_shared_memory(sizeof(*k));
	open_fixture_in_shared_memory(&d, k);
	pid = start_concurrent_child(watch_writes, k);
	do {
		run_round(&d, k, ++turn, pid);
	} while (now_ms() < end);
	__atomic_store_n(&k->over, true, __ATOMIC_RELAXED);
	CHECK(waitpid(pid, NULL, 0) == pid, "%m");
	printf("# compared %u Writes\n", turn * LOOKS);
	CHECK(!ibv_dereg_mr(d.c.mr) && !ibv_dereg_mr(d.s.mr), "%m");
	pair_close(&d.p);
}

/* A program rewrites memory while it is sent ---------------------------------- */

enum { SENT = 200000 };

static void keep_rewriting(void *arg)
{
	pin_to_cpu(1);
	for (int with = 0;; with++)
		memset(arg, with, SENT);
}

/* The CRC must be that of the bytes that are sent, or the peer would end the connection */
static void test_source_rewritten(void)
{
	struct buf ours, theirs;
	uint32_t i, len = SENT;
	struct fixture d;
	pid_t pid;

	pin_to_cpu(0);
	fixture_open(&d, &(struct opts){}, len);
	ours = theirs = (struct buf){ .at = alloc_shared_memory(len), .len = len };
	buf_reg(&ours, d.p.c.pd, RIGHTS_ALL);
	buf_reg(&theirs, d.p.s.pd, RIGHTS_ALL);
	pid = start_concurrent_child(keep_rewriting, ours.at);
	for (i = 0; i < scale_rounds(400); i++) {
		post_job(&d.p.c, &(struct job){ 1, IBV_WR_RDMA_WRITE, SIG, &ours, 0, len,
					      (uintptr_t)d.s.at, d.s.mr->rkey });
		expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
		post_job(&d.p.c, &(struct job){ 2, IBV_WR_RDMA_READ, SIG, &d.c, 0, len,
					      (uintptr_t)theirs.at, theirs.mr->rkey });
		expect_success(d.p.c.scq, 2, IBV_WC_RDMA_READ);
	}
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid, "%m");
	CHECK(!ibv_dereg_mr(ours.mr) && !ibv_dereg_mr(theirs.mr), "%m");
	fixture_close(&d);
}

const struct test race_tests[] = {
	CASE("atomic_race", test_atomic_race, 60, "EXT-9 EXT-58 EXT-60"),
	CASE("atomic_global", test_atomic_global, 60, "EXT-9 EXT-11 EXT-60"),
	CASE("last_octet", test_last_octet_becomes_visible_last, 60, ""),
	CASE("source_rewritten", test_source_rewritten, 60, ""),
	{ .name = "dereg_race", .run = dereg_waits_for_copies, .seconds = 60,
	  .asked = true, .shows = "DDP-128 RDMAP-177 SEC-17" },
	{ .name = "inval_race", .run = invalidate_waits_for_copies, .seconds = 60,
	  .asked = true, .shows = "DDP-128 RDMAP-177 SEC-17" },
	{}
};
