// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory regions: addresses, deregistration, reregistration, keys. */
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "verbs.h"

#define MIB	(1024u * 1024)

/* Local and remote addresses of an MR with an IOVA are relative to the IOVA */
static void test_iova(void)
{
	static const uint64_t bases[] = {
		0x10000000, 0xfffffffffff00000ull, 0x7, 0,
	};
	uint64_t base;
	struct fixture d;
	size_t i;

	fixture_open(&d, &(struct opts){}, 9000);
	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		struct buf view = d.s;

		/* the IOVA must have the same page offset as the memory */
		base = (bases[i] & ~0xfffull) | ((uintptr_t)d.s.at & 0xfff);
		view.mr = ibv_reg_mr_iova(d.p.s.pd, d.s.at, d.s.len, base,
					  RIGHTS_ALL);
		CHECK(view.mr, "at %llx: %m", (unsigned long long)base);
		buf_fill(&d.c, 0, 5000, i);
		post_job(&d.p.c, &(struct job){
			.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG,
			.b = &d.c, .len = 5000, .rkey = view.mr->rkey,
			.raddr = base + 33 });
		/* the server also sends from this MR with its IOVA */
		post_recv(&d.p.c, 2, &d.c, 3, 8000);
		post_recv(&d.p.s, 3, NULL, 0, 0);
		post_send(&d.p.c, 3, NULL, 0, 0);
		expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
		expect_success(d.p.c.scq, 3, IBV_WC_SEND);
		expect_recv(d.p.s.rcq, 3, 0);
		buf_expect_only_pattern(&d.s, 33, 5000, i);
		view.at = (uint8_t *)(uintptr_t)base;
		post_send(&d.p.s, 4, &view, 33, 5000);
		expect_success(d.p.s.scq, 4, IBV_WC_SEND);
		expect_recv(d.p.c.rcq, 2, 5000);
		buf_expect_pattern(&d.c, 3, 5000, i);
		buf_clear(&d.s);
		CHECK(!ibv_dereg_mr(view.mr), "%m");
	}
	fixture_close(&d);
}

enum { FLOOD = 30 };

struct flood {
	struct fixture	*d;
	uint32_t	key;
	uint64_t	at;
};

/* Post Writes in another thread, because posting may take as long as the transfer */
static void *post_writes(void *arg)
{
	const struct flood *f = arg;
	uint32_t i;

	for (i = 0; i < FLOOD; i++)
		post_job(&f->d->p.c, &(struct job){
			.id = i, .op = IBV_WR_RDMA_WRITE, .b = &f->d->c,
			.len = MIB - i, .rkey = f->key, .raddr = f->at + i });
	return NULL;
}

/* Wait until the first byte has arrived */
static void wait_first_byte(const struct buf *there, const struct buf *from)
{
	uint64_t until = now_ms() + scale_timeout(10000);

	while (__atomic_load_n(there->at, __ATOMIC_RELAXED) != *from->at) {
		CHECK(now_ms() < until, "a Write must arrive");
		sched_yield();
	}
}

/*
 * No byte may arrive after dereg_mr has returned.  Return: true if dereg_mr was called between the
 * start of the first Write and the end of the last one.
 */
static bool dereg_during_writes(uint32_t round)
{
	static uint8_t after[MIB];
	struct buf flood;
	pthread_t thread;
	struct flood f;
	struct fixture d;
	uint64_t was;
	bool during;

	fixture_open(&d, &(struct opts){}, 100);
	buf_create(&flood, MIB);
	buf_reg(&flood, d.p.s.pd, RIGHTS_ALL);
	buf_free(&d.c);
	buf_create(&d.c, MIB);
	buf_reg(&d.c, d.p.c.pd, 0);
	buf_fill(&d.c, 0, MIB, round);
	was = read_counter(&d.p.s, "end_ddp_tagged_stag");
	f = (struct flood){ &d, flood.mr->rkey, (uintptr_t)flood.at };
	CHECK(!pthread_create(&thread, NULL, post_writes, &f), "%m");
	wait_first_byte(&flood, &d.c);
	CHECK(!ibv_dereg_mr(flood.mr), "%m");
	memcpy(after, flood.at, MIB);
	flood.mr = NULL;
	CHECK(!pthread_join(thread, NULL), "%m");
	/* post one more Write, which must end the stream if all others had already arrived */
	post_job(&d.p.c, &(struct job){
		.id = FLOOD, .op = IBV_WR_RDMA_WRITE, .b = &d.c, .len = 1,
		.rkey = f.key, .raddr = f.at });
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	CHECK(!memcmp(after, flood.at, MIB), "no byte may be written after dereg_mr");
	expect_counter_increase(&d.p.s, "end_ddp_tagged_stag", was, 1);
	during = after[0] == d.c.at[0] &&
	       memcmp(after + FLOOD - 1, d.c.at, MIB - FLOOD + 1);
	buf_free(&flood);
	fixture_free(&d);
	return during;
}

static void test_no_byte_written_after_dereg(void)
{
	const uint32_t n = scale_rounds(32);
	uint32_t i, during = 0;

	/* the scheduler decides how often dereg_mr is called during the Writes: retry */
	for (i = 0; i < n || (during < n / 4 && i < 8 * n); i++)
		during += dereg_during_writes(i);
	CHECK(during >= n / 4, "called during the Writes %u times of %u", during, i);
}

/*
 * Deregister the source of Reads. The requester must get an error, and its further requests must be
 * flushed. Return: true if the MR was deregistered before the end of the Reads, false otherwise.
 */
static bool dereg_source_once(void)
{
	bool failed = false;
	struct ibv_wc wc;
	uint64_t was;
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){}, MIB);
	was = read_counter(&d.p.s, "end_rdmap_stag");
	for (i = 0; i < 60; i++)
		post_job(&d.p.c, &(struct job){
			.id = i, .op = IBV_WR_RDMA_READ, .flags = SIG,
			.b = &d.c, .len = MIB, .rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)d.s.at });
	usleep(5000);
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	d.s.mr = NULL;
	for (i = 0; i < 60; i++) {
		enum ibv_wc_status want = failed ? IBV_WC_WR_FLUSH_ERR :
						   IBV_WC_REM_ACCESS_ERR;

		wc = wait_next_wc(d.p.c.scq);
		CHECK(wc.wr_id == i, "%llu", (unsigned long long)wc.wr_id);
		CHECK(wc.status == want || (!failed && !wc.status),
		      "%u: %s, vendor error %u", i,
		      ibv_wc_status_str(wc.status), wc.vendor_err);
		failed = wc.status;
	}
	expect_counter_increase(&d.p.s, "end_rdmap_stag", was, failed);
	if (failed) {
		expect_async_event(d.p.s.id->verbs, IBV_EVENT_QP_ACCESS_ERR, d.p.s.qp);
		pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	}
	fixture_free(&d);
	return failed;
}

/*
 * Deregister the sink of Reads: no byte may arrive there afterwards. Return: true if the MR was
 * deregistered before the end of the Reads, false otherwise.
 */
static bool dereg_sink_once(void)
{
	static uint8_t after[MIB];
	bool failed = false;
	struct ibv_wc wc;
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){}, MIB);
	buf_fill(&d.s, 0, MIB, 5);
	for (i = 0; i < 60; i++)
		post_job(&d.p.c, &(struct job){
			.id = i, .op = IBV_WR_RDMA_READ, .flags = SIG,
			.b = &d.c, .len = MIB - i, .off = i,
			.rkey = d.s.mr->rkey, .raddr = (uintptr_t)d.s.at });
	expect_success(d.p.c.scq, 0, IBV_WC_RDMA_READ);
	CHECK(!ibv_dereg_mr(d.c.mr), "%m");
	memcpy(after, d.c.at, MIB);
	d.c.mr = NULL;
	for (i = 1; i < 60; i++) {
		wc = wait_next_wc(d.p.c.scq);
		CHECK(wc.wr_id == i && !(failed && !wc.status), "%u: %s", i,
		      ibv_wc_status_str(wc.status));
		failed = wc.status;
	}
	if (failed)
		pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	CHECK(!memcmp(after, d.c.at, MIB), "no byte may be written after dereg_mr");
	fixture_free(&d);
	return failed;
}

/*
 * Call @goes until it returns true. It returns false if the deregistration was so late that all
 * Reads were done.
 */
static void retry_until_during_reads(bool (*goes)(void))
{
	int i;

	for (i = 0; i < 10; i++)
		if (goes())
			return;
	CHECK(false, "all Reads ended too early, %d times", i);
}

static void test_dereg_source(void)
{
	retry_until_during_reads(dereg_source_once);
}

static void test_dereg_sink_during_reads(void)
{
	retry_until_during_reads(dereg_sink_once);
}

/* The old address must not be part of the MR any longer */
static void write_to_old_address_and_expect_end(struct fixture *d)
{
	uint64_t was = read_counter(&d->p.s, "end_ddp_tagged_bounds");

	post_job(&d->p.c, &(struct job){
		.op = IBV_WR_RDMA_WRITE, .b = &d->c, .len = 1,
		.rkey = d->s.mr->rkey, .raddr = (uintptr_t)d->s.at });
	pair_expect_event(&d->p, d->p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d->p, d->p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&d->p.s, "end_ddp_tagged_bounds", was, 1);
	buf_expect_clear(&d->s, 0, 1000);
}

/* Reregister to other memory: the new memory must be accessible, the old memory must not */
static void test_rereg_mr(void)
{
	struct buf other;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 1000);
	buf_create(&other, 3000);
	/* move the MR; its rights do not change */
	CHECK(!ibv_rereg_mr(d.s.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			    other.at, 3000, 0), "%m");
	buf_fill(&d.c, 0, 900, 3);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d.c,
		.len = 900, .rkey = d.s.mr->rkey,
		.raddr = (uintptr_t)other.at + 2100 });
	post_recv(&d.p.s, 2, NULL, 0, 0);
	post_send(&d.p.c, 2, NULL, 0, 0);
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
	expect_success(d.p.c.scq, 2, IBV_WC_SEND);
	expect_recv(d.p.s.rcq, 2, 0);
	buf_expect_only_pattern(&other, 2100, 900, 3);
	write_to_old_address_and_expect_end(&d);
	buf_expect_only_pattern(&other, 2100, 900, 3);
	fixture_free(&d);
	buf_free(&other);
}

static void set_mr_access(struct fixture *d, int access)
{
	CHECK(!ibv_rereg_mr(d->s.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			    access), "%m");
}

/*
 * If memory is already pinned with sufficient rights, it must stay pinned, and the MR must keep its
 * STag
 */
static void test_rereg_rights(void)
{
	struct fixture d;
	uint32_t rkey;

	fixture_open(&d, &(struct opts){}, 1000);
	rkey = d.s.mr->rkey;
	buf_fill(&d.s, 0, 1000, 5);
	set_mr_access(&d, IBV_ACCESS_REMOTE_READ);
	CHECK(d.s.mr->rkey == rkey, "%#x became %#x", rkey, d.s.mr->rkey);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c,
		.len = 1000, .rkey = rkey, .raddr = (uintptr_t)d.s.at });
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_READ);
	buf_expect_only_pattern(&d.c, 0, 1000, 5);
	set_mr_access(&d, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(d.s.mr->rkey == rkey, "%#x became %#x", rkey, d.s.mr->rkey);
	fixture_free(&d);
}

/* If new rights require pinning again, peers must still find the memory at the old address */
static void test_rereg_base(void)
{
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 1000);
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	buf_reg(&d.s, d.p.s.pd, IBV_ACCESS_REMOTE_READ);
	set_mr_access(&d, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		  IBV_ACCESS_ZERO_BASED);
	buf_fill(&d.c, 0, 1000, 6);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d.c,
		.len = 1000, .rkey = d.s.mr->rkey, .raddr = (uintptr_t)d.s.at });
	post_recv(&d.p.s, 2, NULL, 0, 0);
	post_send(&d.p.c, 2, NULL, 0, 0);
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
	expect_success(d.p.c.scq, 2, IBV_WC_SEND);
	expect_recv(d.p.s.rcq, 2, 0);
	buf_expect_only_pattern(&d.s, 0, 1000, 6);
	fixture_free(&d);
}

/* State of a thread that binds a window */
struct binder {
	struct fixture	*d;
	struct ibv_mw	*mw;
	struct ibv_mr	*mr;
	bool		bound;
};

static void *bind_after_delay(void *arg)
{
	struct binder *b = arg;
	struct ibv_mw_bind bind = {
		.wr_id = 30, .send_flags = SIG, .bind_info = {
			.mr = b->mr, .addr = (uintptr_t)b->d->s.at, .length = 100,
			.mw_access_flags = IBV_ACCESS_REMOTE_READ,
		},
	};

	usleep(2000);
	CHECK(!ibv_bind_mw(b->d->p.s.qp, b->mw, &bind), "%m");
	if (!wait_next_wc(b->d->p.s.scq).status)
		__atomic_store_n(&b->bound, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Reregister to memory that takes long to pin, while a window is bound to the old memory: only one
 * of the two may succeed.  Return: true if the bind succeeded during the reregistration.
 */
static bool rereg_during_bind(struct fixture *d, void *far, size_t len)
{
	struct binder b = { .d = d };
	pthread_t thread;
	bool before, was;
	int err;

	b.mw = ibv_alloc_mw(d->p.s.pd, IBV_MW_TYPE_1);
	b.mr = ibv_reg_mr(d->p.s.pd, d->s.at, d->s.len,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	CHECK(b.mw && b.mr, "%m");
	CHECK(!pthread_create(&thread, NULL, bind_after_delay, &b), "%m");
	before = __atomic_load_n(&b.bound, __ATOMIC_ACQUIRE);
	err = ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, far, len, 0) ?
	      errno : 0;
	was = __atomic_load_n(&b.bound, __ATOMIC_ACQUIRE);
	CHECK(err == EBUSY || (!err && !was), "%s, %sbound", strerror(err),
	      was ? "" : "not ");
	CHECK(!pthread_join(thread, NULL), "%m");
	CHECK(b.bound == !!err, "%s, and then %sbound", strerror(err),
	      b.bound ? "" : "not ");
	CHECK(!err || ibv_dereg_mr(b.mr) == EBUSY, "must not be deregistered");
	CHECK(!ibv_dealloc_mw(b.mw) && !ibv_dereg_mr(b.mr), "%m");
	return err && !before;
}

static void test_rereg_during_bind_is_refused(void)
{
	const size_t len = 64 * MIB;
	bool busy = false;
	struct fixture d;
	void *far;
	int i;

	for (i = 0; i < 20 && !busy; i++) {
		fixture_open(&d, &(struct opts){}, 1000);
		far = mmap(NULL, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(far != MAP_FAILED, "%m");
		busy = rereg_during_bind(&d, far, len);
		CHECK(!munmap(far, len), "%m");
		fixture_free(&d);
	}
	CHECK(busy, "no window was bound in time, %d times", i);
}

/* Bits of an STag that the device chooses */
#define INDEX_BITS	24

/*
 * Check that keys use the whole range: each bit is set in about half of them, and each sixteenth of
 * the range is used
 */
static void check_keys_spread(const uint32_t *key, uint32_t n)
{
	uint32_t bits[INDEX_BITS] = {}, part[16] = {}, i, k;

	for (i = 0; i < n; i++) {
		part[key[i] >> 28]++;
		for (k = 0; k < INDEX_BITS; k++)
			bits[k] += key[i] >> (8 + k) & 1;
	}
	for (k = 0; k < INDEX_BITS; k++)
		CHECK(bits[k] > n / 3 && bits[k] < n - n / 3,
		      "bit %u is set in %u of %u keys", k, bits[k], n);
	for (k = 0; k < 16; k++)
		CHECK(part[k] > n / 48 && part[k] < n / 6,
		      "%u of %u keys in sixteenth %u", part[k], n, k);
}

static int compare_keys(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * Check that fewer than five differences between consecutive keys repeat; if @depth is not 0, check
 * the differences between these differences as well.  Among 3000 random values, three or more
 * repeat in about 3 of 1000 runs.
 */
static void check_keys_unpredictable(const uint32_t *key, uint32_t n, int depth)
{
	uint32_t *step = calloc(n, sizeof(*step)), i, twice = 0;

	CHECK(step, "%m");
	for (i = 0; i + 1 < n; i++)
		step[i] = (key[i + 1] - key[i]) & ((1u << INDEX_BITS) - 1);
	if (depth)
		check_keys_unpredictable(step, n - 1, depth - 1);
	qsort(step, n - 1, sizeof(*step), compare_keys);
	for (i = 1; i + 1 < n; i++)
		twice += step[i] == step[i - 1];
	CHECK(twice < 5, "%u differences of %u are repeated", twice, n);
	free(step);
}

/* A key must not be reused soon, and must not predict the next one */
static void test_keys(void)
{
	static uint32_t key[3000], index[ARRAY_SIZE(key)];
	const uint32_t n = scale_rounds(ARRAY_SIZE(key));
	uint32_t near = 0, i, k;
	struct pair p;
	struct buf b;

	pair_open(&p, &(struct opts){});
	buf_create(&b, 100);
	for (i = 0; i < n; i++) {
		buf_reg(&b, p.c.pd, 0);
		key[i] = b.mr->rkey;
		index[i] = key[i] >> 8;
		CHECK(!ibv_dereg_mr(b.mr), "%m");
		b.mr = NULL;
		for (k = 0; k < i; k++)
			CHECK(key[k] != key[i], "key %u is equal to key %u", i, k);
		if (i && key[i] - key[i - 1] + 0x400 < 0x800)
			near++;
	}
	CHECK(near < n / 20, "%u keys are close to the previous one", near);
	check_keys_spread(key, n);
	check_keys_unpredictable(index, n, 1);
	buf_free(&b);
	pair_close(&p);
}

/* MRs may overlap, and must be independent of each other */
static void test_overlap(void)
{
	struct ibv_mr *again;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 1000);
	again = ibv_reg_mr(d.p.s.pd, d.s.at + 100, 200,
			   IBV_ACCESS_REMOTE_READ);
	CHECK(again, "%m");
	CHECK(again->rkey != d.s.mr->rkey, "the keys must differ");
	buf_fill(&d.c, 0, 1000, 1);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .b = &d.c, .len = 1000,
		.rkey = d.s.mr->rkey, .raddr = (uintptr_t)d.s.at });
	post_job(&d.p.c, &(struct job){
		.id = 2, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c,
		.off = 500, .len = 200, .rkey = again->rkey,
		.raddr = (uintptr_t)d.s.at + 100 });
	expect_success(d.p.c.scq, 2, IBV_WC_RDMA_READ);
	CHECK(!memcmp(d.c.at + 500, d.s.at + 100, 200), "data");
	/* the rights of the other MR must not extend this one */
	post_job(&d.p.c, &(struct job){
		.id = 3, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c,
		.off = 500, .len = 201, .rkey = again->rkey,
		.raddr = (uintptr_t)d.s.at + 100 });
	expect_status(d.p.c.scq, 3, IBV_WC_REM_ACCESS_ERR);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	CHECK(!ibv_dereg_mr(again), "%m");
	fixture_free(&d);
}

void drop_ipc_lock(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	CHECK(!syscall(SYS_capget, &head, caps), "%m");
	caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &=
		~CAP_TO_MASK(CAP_IPC_LOCK);
	CHECK(!syscall(SYS_capset, &head, caps), "%m");
}

void limit_locked_memory(size_t octets)
{
	const struct rlimit limit = { octets, octets };

	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit), "%m");
}

/* RLIMIT_MEMLOCK limits how much a program can pin; exceeding it must affect nothing else */
static void test_memlock(void)
{
	struct ibv_mr *mr, *more;
	struct fixture d;
	struct buf b;

	/*
	 * Drop the capability before rdma_cm's file is opened, because the kernel refuses to use
	 * that file with other credentials than those of its open()
	 */
	drop_ipc_lock();
	fixture_open(&d, &(struct opts){}, 1000);
	buf_create(&b, 2 * MIB);
	limit_locked_memory(MIB + MIB / 2);
	mr = ibv_reg_mr(d.p.c.pd, b.at, MIB, RIGHTS_ALL);
	CHECK(mr, "%m");
	more = ibv_reg_mr(d.p.c.pd, b.at + MIB, MIB, RIGHTS_ALL);
	CHECK(!more && errno == ENOMEM, "%m");
	buf_fill(&d.c, 0, 1000, 7);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d.c,
		.len = 1000, .rkey = d.s.mr->rkey,
		.raddr = (uintptr_t)d.s.at });
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
	CHECK(!ibv_dereg_mr(mr), "%m");
	more = ibv_reg_mr(d.p.c.pd, b.at + MIB, MIB, RIGHTS_ALL);
	CHECK(more, "%m");
	CHECK(!ibv_dereg_mr(more), "%m");
	buf_free(&b);
	fixture_close(&d);
}

const struct test mr_tests[] = {
	CASE("mr_iova", test_iova, 0, "DDP-34 RDMAP-14"),
	CASE("mr_dereg_flood", test_no_byte_written_after_dereg, 120, "DDP-117 DDP-128 RDMAP-177 SEC-17"),
	CASE("mr_dereg_source", test_dereg_source, 0, "DDP-117 RDMAP-13"),
	CASE("mr_dereg_sink", test_dereg_sink_during_reads, 0, "DDP-117 DDP-128 SEC-17"),
	CASE("mr_rereg", test_rereg_mr, 0, "DDP-115 DDP-126 RDMAP-175"),
	CASE("mr_rereg_rights", test_rereg_rights, 0, ""),
	CASE("mr_rereg_base", test_rereg_base, 0, ""),
	CASE("mr_rereg_meets_bind", test_rereg_during_bind_is_refused, 0, ""),
	CASE("mr_keys", test_keys, 0, "RDMAP-179 SEC-13"),
	CASE("mr_overlap", test_overlap, 0, ""),
	CASE("mr_memlock", test_memlock, 0, "DDP-131 DDP-134"),
	{}
};
