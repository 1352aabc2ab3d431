// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Pages that stay absent until the program serves them (userfaultfd): only the stream that needs
 * such a page may wait.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "verbs_odp.h"

#define PAGES	6u
#define STUCK	3u		/* index of the first unserved page */

int open_userfaultfd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && errno == ENOSYS)
		skip("no userfaultfd: CONFIG_USERFAULTFD");
	CHECK(fd >= 0 && !ioctl(fd, UFFDIO_API, &api), "%m");
	return fd;
}

static uint8_t *get_stuck_address(const struct buf *b)
{
	return b->at + STUCK * get_page_size();
}

/* Make the pages from index STUCK on absent until they are served */
static void withhold_pages(int fd, struct buf *b)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)get_stuck_address(b), b->len - STUCK * get_page_size() },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	CHECK(!madvise(get_stuck_address(b), reg.range.len, MADV_DONTNEED), "%m");
	CHECK(!ioctl(fd, UFFDIO_REGISTER, &reg), "%m");
}

/* Wait for the page fault at the first unserved page */
static void wait_fault(int fd, const struct buf *b)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct uffd_msg msg;
	uint64_t at;

	CHECK(poll(&pfd, 1, scale_timeout(WC_MS)) == 1, "the page must be faulted");
	CHECK(read(fd, &msg, sizeof(msg)) == sizeof(msg), "%m");
	CHECK(msg.event == UFFD_EVENT_PAGEFAULT, "event %x", msg.event);
	at = msg.arg.pagefault.address & ~(get_page_size() - 1);
	CHECK(at == (uintptr_t)get_stuck_address(b), "fault at %llx", (unsigned long long)at);
}

/* Serve all absent pages, with the pattern of @seed counted from the buffer's start */
static void serve_pages(int fd, struct buf *b, uint32_t seed)
{
	const size_t from = STUCK * get_page_size(), len = b->len - from;
	uint8_t *page = malloc(len);
	struct uffdio_copy copy = {
		.dst = (uintptr_t)get_stuck_address(b), .src = (uintptr_t)page, .len = len,
	};
	size_t i;

	CHECK(page, "%m");
	for (i = 0; i < len; i++)
		page[i] = compute_pattern_byte(seed, from + i);
	CHECK(!ioctl(fd, UFFDIO_COPY, &copy), "%m");
	free(page);
}

/* Check for the pattern of @seed, counted from the buffer's start */
static void check_pattern(const struct buf *b, size_t off, size_t len, uint32_t seed)
{
	size_t i;

	for (i = off; i < off + len; i++)
		CHECK(b->at[i] == compute_pattern_byte(seed, i), "byte %zu is %x", i, b->at[i]);
}

static struct buf *get_stalled_buf(struct stall *s)
{
	return s->at_client ? &s->d.c : &s->d.s;
}

static void stall_open(struct stall *s, bool at_client)
{
	memset(s, 0, sizeof(*s));
	s->at_client = at_client;
	odp_fixture_open_private(&s->d, PAGES);
	s->fd = open_userfaultfd();
	pair_open(&s->q, &(struct opts){});
	buf_create(&s->own, 20000);
	buf_reg(&s->own, s->q.c.pd, RIGHTS_ALL);
	buf_fill(&s->d.c, 0, s->d.c.len, 1);
	buf_fill(&s->d.s, 0, s->d.s.len, 2);
	withhold_pages(s->fd, get_stalled_buf(s));
}

/* Check that the other connection is not delayed */
static void exchange_on_other_connection(struct stall *s)
{
	const uint32_t n = scale_rounds(200);
	struct buf to;
	uint32_t i;

	buf_create(&to, 20000);
	buf_reg(&to, s->q.s.pd, RIGHTS_ALL);
	for (i = 0; i < n; i++) {
		buf_fill(&s->own, 0, 20000, i);
		post_recv(&s->q.s, 1, &to, 0, 20000);
		post_send(&s->q.c, 2, &s->own, 0, 20000);
		expect_recv(s->q.s.rcq, 1, 20000);
		expect_success(s->q.c.scq, 2, IBV_WC_SEND);
		buf_expect_pattern(&to, 0, 20000, i);
	}
	buf_free(&to);
}

static void stall_close(struct stall *s)
{
	buf_free(&s->own);
	pair_close(&s->q);
	close(s->fd);
	odp_fixture_close(&s->d);
}

static struct job make_stalled_job(struct stall *s, enum ibv_wr_opcode op)
{
	const size_t page = get_page_size();

	return (struct job){
		.id = 1, .op = op, .flags = SIG, .b = &s->d.c, .off = page,
		.len = (PAGES - 1) * page, .rkey = s->d.s.mr->rkey,
		.raddr = (uintptr_t)s->d.s.at + page };
}

/* Start a message that waits for the page, and check that only its stream waits */
void stall_start(struct stall *s, bool at_client, enum ibv_wr_opcode op)
{
	struct job j;

	stall_open(s, at_client);
	j = make_stalled_job(s, op);
	if (op == IBV_WR_SEND)
		post_recv(&s->d.p.s, 3, &s->d.s, get_page_size(), s->d.s.len - get_page_size());
	post_job(&s->d.p.c, &j);
	wait_fault(s->fd, get_stalled_buf(s));
	exchange_on_other_connection(s);
	if (op == IBV_WR_RDMA_READ || at_client)
		expect_no_completion_now(s->d.p.c.scq);
	expect_no_completion_now(s->d.p.s.rcq);
}

/*
 * Start a message that needs an unserved page, in the sink at the server or in the source at the
 * client. Then serve the page, and check that the message completes.
 */
static void stall_and_serve_message(bool at_client, enum ibv_wr_opcode op)
{
	const size_t page = get_page_size(), len = (PAGES - 1) * page;
	struct stall s;

	stall_start(&s, at_client, op);
	serve_pages(s.fd, at_client ? &s.d.c : &s.d.s, at_client ? 1 : 9);
	if (op == IBV_WR_SEND)
		expect_recv(s.d.p.s.rcq, 3, len);
	expect_success(s.d.p.c.scq, 1, op == IBV_WR_SEND ? IBV_WC_SEND : IBV_WC_RDMA_WRITE);
	wait_all_placed_by_read(&s.d);
	CHECK(!memcmp(s.d.s.at + page, s.d.c.at + page, len), "what was sent must have arrived");
	if (at_client)
		check_pattern(&s.d.s, page, len, 1);
	stall_close(&s);
}

static void test_stuck_write(void)
{
	stall_and_serve_message(false, IBV_WR_RDMA_WRITE);
}

static void test_stuck_recv(void)
{
	stall_and_serve_message(false, IBV_WR_SEND);
}

static void test_stuck_send(void)
{
	stall_and_serve_message(true, IBV_WR_SEND);
}

static void test_stuck_write_source(void)
{
	stall_and_serve_message(true, IBV_WR_RDMA_WRITE);
}

static void stall_and_serve_read(bool at_client)
{
	const size_t page = get_page_size(), len = (PAGES - 1) * page;
	struct stall s;

	stall_start(&s, at_client, IBV_WR_RDMA_READ);
	serve_pages(s.fd, get_stalled_buf(&s), 7);
	expect_success(s.d.p.c.scq, 1, IBV_WC_RDMA_READ);
	CHECK(!memcmp(s.d.c.at + page, s.d.s.at + page, len), "must be what the server has");
	stall_close(&s);
}

static void test_stuck_read_source(void)
{
	stall_and_serve_read(false);
}

static void test_stuck_read_sink(void)
{
	stall_and_serve_read(true);
}

static void test_stuck_atomic(void)
{
	const uint32_t at = STUCK * get_page_size() / sizeof(uint64_t);
	struct stall s;
	uint64_t was;

	stall_open(&s, false);
	post_atomic(&s.d.p.c, &(struct atom){
		.id = 1, .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .flags = SIG, .value = 5,
		.sink = &s.d.c, .target = &s.d.s, .to = at });
	wait_fault(s.fd, &s.d.s);
	exchange_on_other_connection(&s);
	expect_no_completion_now(s.d.p.c.scq);
	serve_pages(s.fd, &s.d.s, 3);
	expect_atomic(s.d.p.c.scq, 1, IBV_WR_ATOMIC_FETCH_AND_ADD);
	was = *get_word(&s.d.c, 0);
	CHECK(*get_word(&s.d.s, at) == was + 5, "the value must have been added");
	stall_close(&s);
}

/*
 * Messages that follow a waiting one must be delivered in order, whatever their number. No data
 * that is queued in the socket may be lost, and no message may overtake another.
 */
static void test_messages_behind_stuck_one_in_order(void)
{
	const size_t page = get_page_size();
	struct stall s;
	uint32_t i;

	stall_open(&s, false);
	post_job(&s.d.p.c, &(struct job){
		.id = 100, .op = IBV_WR_RDMA_WRITE, .b = &s.d.c, .off = STUCK * page,
		.len = page, .rkey = s.d.s.mr->rkey,
		.raddr = (uintptr_t)s.d.s.at + STUCK * page });
	for (i = 0; i < 40; i++)
		post_recv(&s.d.p.s, i, &s.d.s, 0, page);
	for (i = 0; i < 40; i++)
		post_send(&s.d.p.c, i, &s.d.c, 0, page - i);
	wait_fault(s.fd, &s.d.s);
	exchange_on_other_connection(&s);
	expect_no_completion_now(s.d.p.s.rcq);
	serve_pages(s.fd, &s.d.s, 3);
	for (i = 0; i < 40; i++)
		expect_recv(s.d.p.s.rcq, i, page - i);
	for (i = 0; i < 40; i++)
		expect_success(s.d.p.c.scq, i, IBV_WC_SEND);
	stall_close(&s);
}

/*
 * While a message waits, more data is sent than the receiver can buffer. The excess data stays at
 * the sender; over SCTP so does data of other streams of the association. After the page is served,
 * all data must arrive.
 */
static void test_stuck_flood(void)
{
	const uint32_t len = 128 * 1024, n = 56;
	struct buf from, to;
	struct ibv_wc wc;
	struct stall s;
	uint32_t i;

	stall_open(&s, false);
	buf_create(&from, len);
	buf_create(&to, n * len);
	buf_reg(&from, s.d.p.c.pd, 0);
	buf_reg(&to, s.d.p.s.pd, RIGHTS_ALL);
	buf_fill(&from, 0, len, 4);
	post_job(&s.d.p.c, &(struct job){
		.id = 100, .op = IBV_WR_RDMA_WRITE, .b = &s.d.c, .len = get_page_size(),
		.rkey = s.d.s.mr->rkey, .raddr = (uintptr_t)get_stuck_address(&s.d.s) });
	for (i = 0; i < n; i++)
		post_recv(&s.d.p.s, i, &to, i * len, len);
	for (i = 0; i < n; i++)
		post_send(&s.d.p.c, i, &from, 0, len);
	wait_fault(s.fd, &s.d.s);
	sleep_ms(100);
	buf_expect_clear(&to, 0, to.len);
	/* the socket's buffers may contain some of the data, but not all */
	for (i = 0; i < n && ibv_poll_cq(s.d.p.c.scq, 1, &wc) == 1; i++)
		CHECK(!wc.status, "%s", ibv_wc_status_str(wc.status));
	CHECK(i < n, "the sender must not be able to send all");
	serve_pages(s.fd, &s.d.s, 3);
	for (; i < n; i++)
		expect_success(s.d.p.c.scq, i, IBV_WC_SEND);
	for (i = 0; i < n; i++) {
		expect_recv(s.d.p.s.rcq, i, len);
		buf_expect_pattern(&to, i * len, len, 4);
	}
	exchange_on_other_connection(&s);
	buf_free(&from);
	buf_free(&to);
	stall_close(&s);
}

/* Write-protected pages: reading must not wait ---------------------------------------- */

static void set_page_write_protection(int fd, struct buf *b, bool shut)
{
	struct uffdio_writeprotect p = {
		.range = { (uintptr_t)get_stuck_address(b), b->len - STUCK * get_page_size() },
		.mode = shut ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	CHECK(!ioctl(fd, UFFDIO_WRITEPROTECT, &p), "%m");
}

static void write_protect_or_skip(int fd, struct buf *b)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)get_stuck_address(b), b->len - STUCK * get_page_size() },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	if (ioctl(fd, UFFDIO_REGISTER, &reg)) {
		CHECK(errno == EINVAL, "%m");
		skip("userfaultfd has no write protection here");
	}
	set_page_write_protection(fd, b, true);
}

static void test_stuck_protected(void)
{
	const size_t page = get_page_size(), len = (PAGES - 1) * page;
	struct uffdio_range range;
	struct stall s;
	struct job j;

	stall_open(&s, false);
	range = (struct uffdio_range){ (uintptr_t)get_stuck_address(&s.d.s),
				       s.d.s.len - STUCK * page };
	CHECK(!ioctl(s.fd, UFFDIO_UNREGISTER, &range), "%m");
	exchange_all_message_types(&s.d, s.d.s.len, 1, NULL);
	write_protect_or_skip(s.fd, &s.d.s);
	exchange_read(&s.d, 0, STUCK * page, 2, NULL);
	j = make_stalled_job(&s, IBV_WR_RDMA_READ);
	post_job(&s.d.p.c, &j);
	expect_success(s.d.p.c.scq, 1, IBV_WC_RDMA_READ);
	CHECK(!memcmp(s.d.c.at + page, s.d.s.at + page, len), "must be what the server has");
	buf_fill(&s.d.c, 0, s.d.c.len, 5);
	j = make_stalled_job(&s, IBV_WR_RDMA_WRITE);
	post_job(&s.d.p.c, &j);
	wait_fault(s.fd, &s.d.s);
	exchange_on_other_connection(&s);
	CHECK(memcmp(get_stuck_address(&s.d.s), s.d.c.at + STUCK * page, page),
	      "protected pages must be unchanged");
	set_page_write_protection(s.fd, &s.d.s, false);
	expect_success(s.d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
	wait_all_placed_by_read(&s.d);
	CHECK(!memcmp(s.d.s.at + page, s.d.c.at + page, len), "what was sent must have arrived");
	stall_close(&s);
}

/*
 * The program unregisters the range from the userfaultfd. The kernel must then serve the fault with
 * zero pages.
 */
static void test_stuck_unregistered(void)
{
	struct uffdio_range range;
	struct stall s;

	stall_start(&s, false, IBV_WR_RDMA_WRITE);
	range = (struct uffdio_range){ (uintptr_t)get_stuck_address(&s.d.s),
				       (PAGES - STUCK) * get_page_size() };
	CHECK(!ioctl(s.fd, UFFDIO_UNREGISTER, &range), "%m");
	CHECK(!ioctl(s.fd, UFFDIO_WAKE, &range), "%m");
	expect_success(s.d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
	wait_all_placed_by_read(&s.d);
	CHECK(!memcmp(s.d.s.at + get_page_size(), s.d.c.at + get_page_size(), 5 * get_page_size()),
	      "what was sent must have arrived");
	stall_close(&s);
}

/* If the memory is unmapped during the fault, the waiting stream must end */
static void test_stuck_unmapped(void)
{
	struct uffdio_range range;
	struct stall s;
	uint64_t was;

	stall_start(&s, false, IBV_WR_RDMA_WRITE);
	was = read_counter(&s.d.p.s, "end_ddp_tagged_stag");
	range = (struct uffdio_range){ (uintptr_t)get_stuck_address(&s.d.s),
				       (PAGES - STUCK) * get_page_size() };
	CHECK(!munmap(get_stuck_address(&s.d.s), range.len), "%m");
	CHECK(!ioctl(s.fd, UFFDIO_WAKE, &range), "%m");
	pair_expect_event(&s.d.p, s.d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&s.d.p, s.d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&s.d.p.s, "end_ddp_tagged_stag", was, 1);
	exchange_on_other_connection(&s);
}

/* Deregistration of the MR and destruction of the QP during a page fault -------- */

struct ender {
	struct stall	*s;
	bool		done;
};

static void *deregister_stalled_mr(void *arg)
{
	struct ender *e = arg;

	CHECK(!ibv_dereg_mr(e->s->d.s.mr), "%m");
	__atomic_store_n(&e->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void *destroy_stalled_qp(void *arg)
{
	struct ender *e = arg;

	rdma_destroy_qp(e->s->d.p.s.id);
	__atomic_store_n(&e->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Check that @run returns although the page is not served */
static void run_and_expect_return(struct stall *s, void *(*run)(void *))
{
	const uint64_t until = now_ms() + scale_timeout(WC_MS);
	struct ender e = { .s = s };
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, run, &e), "%m");
	while (!__atomic_load_n(&e.done, __ATOMIC_ACQUIRE)) {
		CHECK(now_ms() < until, "the call must not wait for the page");
		sleep_ms(5);
	}
	CHECK(!pthread_join(thread, NULL), "%m");
}

/* Deregistration removes the access to the memory: the stream must end and write nothing */
static void test_stuck_dereg(void)
{
	struct stall s;
	uint64_t was;

	stall_start(&s, false, IBV_WR_RDMA_WRITE);
	was = read_counter(&s.d.p.s, "end_ddp_tagged_stag");
	run_and_expect_return(&s, deregister_stalled_mr);
	serve_pages(s.fd, &s.d.s, 5);
	pair_expect_event(&s.d.p, s.d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&s.d.p.s, "end_ddp_tagged_stag", was, 1);
	check_pattern(&s.d.s, STUCK * get_page_size(), get_page_size(), 5);
	exchange_on_other_connection(&s);
}

static void test_stuck_destroy(void)
{
	struct stall s;

	stall_start(&s, false, IBV_WR_RDMA_WRITE);
	run_and_expect_return(&s, destroy_stalled_qp);
	exchange_on_other_connection(&s);
	serve_pages(s.fd, &s.d.s, 5);
	check_pattern(&s.d.s, STUCK * get_page_size(), get_page_size(), 5);
}

static void test_stuck_destroy_read_responder(void)
{
	struct stall s;

	stall_start(&s, false, IBV_WR_RDMA_READ);
	run_and_expect_return(&s, destroy_stalled_qp);
	exchange_on_other_connection(&s);
	serve_pages(s.fd, &s.d.s, 5);
}

const struct test odp_stuck_tests[] = {
	CASE("odp_stuck_write", test_stuck_write, 0, ""),
	CASE("odp_stuck_recv", test_stuck_recv, 0, ""),
	CASE("odp_stuck_send", test_stuck_send, 0, ""),
	CASE("odp_stuck_write_source", test_stuck_write_source, 0, ""),
	CASE("odp_stuck_read_source", test_stuck_read_source, 0, ""),
	CASE("odp_stuck_read_sink", test_stuck_read_sink, 0, ""),
	CASE("odp_stuck_atomic", test_stuck_atomic, 0, ""),
	CASE("odp_stuck_behind", test_messages_behind_stuck_one_in_order, 0, ""),
	CASE("odp_stuck_flood", test_stuck_flood, 0, ""),
	CASE("odp_stuck_protected", test_stuck_protected, 0, ""),
	CASE("odp_stuck_unregistered", test_stuck_unregistered, 0, ""),
	CASE("odp_stuck_unmapped", test_stuck_unmapped, 0, ""),
	CASE("odp_stuck_dereg", test_stuck_dereg, 0, ""),
	CASE("odp_stuck_destroy", test_stuck_destroy, 0, ""),
	CASE("odp_stuck_destroy_reader", test_stuck_destroy_read_responder, 0, ""),
	{}
};
