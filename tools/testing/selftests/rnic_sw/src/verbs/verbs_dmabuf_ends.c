// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dma-bufs that are revoked, or whose exporter blocks.  A stream that needs such a buffer ends
 * as if its MR were deregistered, or waits, but not longer than a timeout.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "verbs_dmabuf.h"

#define PAGES	16u

/* limit for a deregistration, which waits at most one second for the exporter */
#define SOON_MS	5000

/* Revoked buffers --------------------------------------------------------------- */

static void post_operation(struct fixture *d, enum ibv_wr_opcode op)
{
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		post_atomic(&d->p.c, &(struct atom){
			.id = 1, .op = op, .flags = SIG, .value = 1, .sink = &d->c,
			.target = &d->s });
	else
		post_job(&d->p.c, &(struct job){
			.id = 1, .op = op, .flags = SIG, .b = &d->c, .len = d->s.len,
			.rkey = d->s.mr->rkey, .raddr = (uintptr_t)d->s.at });
}

/* Let the peer access a revoked buffer, and expect that the stream ends for the reason @ends */
static void access_revoked_and_expect_failure(enum ibv_wr_opcode op, const char *ends)
{
	struct counts was;
	struct ibv_wc wc;
	struct fixture d;

	shared_fixture_open(&d, PAGES, EXPORTER_MOVES);
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	was = read_counts(&d, ends);
	buffer_revoke(get_shared_fd(&d, &d.s));
	post_recv(&d.p.s, 7, NULL, 0, 0);
	post_operation(&d, op);
	wc = wait_next_wc(d.p.c.scq);
	/* a Write may have completed before the Terminate arrives */
	CHECK(op == IBV_WR_RDMA_WRITE || wc.status == IBV_WC_REM_ACCESS_ERR, "%s",
	      ibv_wc_status_str(wc.status));
	expect_status(d.p.s.rcq, 7, IBV_WC_WR_FLUSH_ERR);
	expect_both_qps_in_error(&d);
	check_terminate_counts(&d, ends, &was);
	odp_fixture_free(&d);
}

static void test_revoked_write(void)
{
	access_revoked_and_expect_failure(IBV_WR_RDMA_WRITE, "end_ddp_tagged_stag");
}

static void test_revoked_read(void)
{
	access_revoked_and_expect_failure(IBV_WR_RDMA_READ, "end_rdmap_stag");
}

static void test_revoked_atomic(void)
{
	access_revoked_and_expect_failure(IBV_WR_ATOMIC_FETCH_AND_ADD, "end_rdmap_stag");
}

/* A Send whose source is a revoked buffer must fail */
static void test_revoked_send(void)
{
	struct fixture d;

	shared_fixture_open(&d, PAGES, EXPORTER_MOVES);
	buffer_revoke(get_shared_fd(&d, &d.c));
	post_send(&d.p.c, 1, &d.c, 5, 5000);
	expect_status(d.p.c.scq, 1, IBV_WC_LOC_PROT_ERR);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	odp_fixture_free(&d);
}

static void test_revoked_recv(void)
{
	struct fixture d;

	shared_fixture_open(&d, PAGES, EXPORTER_MOVES);
	buffer_revoke(get_shared_fd(&d, &d.s));
	post_recv(&d.p.s, 1, &d.s, 5, 5000);
	post_send(&d.p.c, 2, &d.c, 5, 5000);
	expect_status(d.p.s.rcq, 1, IBV_WC_LOC_PROT_ERR);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	odp_fixture_free(&d);
}

static void *revoke_after_delay(void *fd)
{
	sleep_ms(20);
	buffer_revoke(*(int *)fd);
	return NULL;
}

/* Revoke a buffer while many messages use it */
static void revoke_during_messages(enum ibv_wr_opcode op, const char *ends)
{
	struct counts was;
	pthread_t thread;
	struct ibv_wc wc;
	struct fixture d;
	int fd;

	shared_fixture_open(&d, PAGES, EXPORTER_MOVES);
	was = read_counts(&d, ends);
	fd = get_shared_fd(&d, &d.s);
	CHECK(!pthread_create(&thread, NULL, revoke_after_delay, &fd), "%m");
	do {
		struct job j = { .id = 1, .op = op, .flags = SIG, .b = &d.c,
				 .len = d.s.len, .rkey = d.s.mr->rkey,
				 .raddr = (uintptr_t)d.s.at };

		if (try_post_job(&d.p.c, &j))
			break;
		wc = wait_next_wc(d.p.c.scq);
	} while (!wc.status);
	CHECK(!pthread_join(thread, NULL), "%m");
	expect_both_qps_in_error(&d);
	check_terminate_counts(&d, ends, &was);
	odp_fixture_free(&d);
}

static void test_revoked_amid_writes(void)
{
	revoke_during_messages(IBV_WR_RDMA_WRITE, "end_ddp_tagged_stag");
}

static void test_revoked_amid_reads(void)
{
	revoke_during_messages(IBV_WR_RDMA_READ, "end_rdmap_stag");
}

/* A revoked buffer must not be registered */
static void test_revoked_buffer_is_not_registered(void)
{
	int fd = buffer_create(2, 0);
	struct ibv_mr *mr;
	struct pair p;

	buffer_revoke(fd);
	pair_open(&p, &(struct opts){});
	mr = ibv_reg_dmabuf_mr(p.c.pd, 0, get_page_size(), 0, fd, RIGHTS_SHARED);
	CHECK(!mr && errno == ENODEV, "%m");
	buffer_wait_detached(fd);
	pair_close(&p);
}

/* Exporters that block ------------------------------------------------------------ */

struct held {
	struct fixture	d;
	int		fd;
};

/* Start a Write that waits for the exporter of the server's buffer */
static void open_fixture_and_hold_write(struct held *h, enum exporter_hold how, uint32_t flags)
{
	shared_fixture_open(&h->d, PAGES, flags);
	h->fd = get_shared_fd(&h->d, &h->d.s);
	buffer_wait_unused(h->fd);
	buffer_set_hold(h->fd, how);
	buf_fill(&h->d.c, 0, h->d.c.len, 1);
	post_operation(&h->d, IBV_WR_RDMA_WRITE);
	buffer_wait_blocked(h->fd);
}

/*
 * Check that a blocked exporter does not delay another connection, and that the Write completes
 * when the exporter continues
 */
static void hold_write_and_use_other_connection(enum exporter_hold how)
{
	struct held h;
	struct pair q;

	open_fixture_and_hold_write(&h, how, EXPORTER_MOVES);
	pair_open(&q, &(struct opts){});
	post_recv(&q.s, 1, NULL, 0, 0);
	post_job(&q.c, &(struct job){ .id = 2, .op = IBV_WR_SEND, .flags = SIG });
	expect_recv(q.s.rcq, 1, 0);
	expect_success(q.c.scq, 2, IBV_WC_SEND);
	pair_close(&q);
	buffer_set_hold(h.fd, EXPORTER_FREE);
	expect_success(h.d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
	wait_all_placed_by_read(&h.d);
	CHECK(!memcmp(h.d.c.at + 1, h.d.s.at + 1, h.d.s.len - 1), "must be what was sent");
	shared_fixture_close(&h.d);
}

static void test_held_begin(void)
{
	hold_write_and_use_other_connection(EXPORTER_HOLD_BEGIN);
}

static void test_held_map(void)
{
	hold_write_and_use_other_connection(EXPORTER_HOLD_MAP);
}

/* Check that the MR can be deregistered, and that the waiting stream then finds no MR */
static void hold_write_and_deregister_mr(enum exporter_hold how)
{
	struct counts was;
	struct held h;
	uint64_t t;

	open_fixture_and_hold_write(&h, how, 0);
	was = read_counts(&h.d, "end_ddp_tagged_stag");
	t = now_ms();
	CHECK(!ibv_dereg_mr(h.d.s.mr), "%m");
	t = now_ms() - t;
	CHECK(t < scale_timeout(SOON_MS), "it took %llu ms", (unsigned long long)t);
	h.d.s.mr = NULL;
	expect_both_qps_in_error(&h.d);
	check_terminate_counts(&h.d, "end_ddp_tagged_stag", &was);
	CHECK(buffer_get_info(h.fd).attached, "the blocked call must still be in the exporter");
	buffer_set_hold(h.fd, EXPORTER_FREE);
	buffer_wait_detached(h.fd);
	odp_fixture_free(&h.d);
}

static void test_dereg_during_held_begin(void)
{
	hold_write_and_deregister_mr(EXPORTER_HOLD_BEGIN);
}

static void test_dereg_during_held_map(void)
{
	hold_write_and_deregister_mr(EXPORTER_HOLD_MAP);
}

#define MANY	17	/* one more than the number of page-fault workers of a process */

static void open_pair_with_blocked_exporter(struct fixture *d, struct pair *q, struct buf *b,
					    int *fd)
{
	*fd = buffer_create(2, 0);
	map_shared_buf(b, *fd, 0, 2 * get_page_size());
	register_shared_buf(b, d->p.s.pd, *fd, 0, RIGHTS_SHARED);
	buffer_wait_unused(*fd);
	buffer_set_hold(*fd, EXPORTER_HOLD_BEGIN);
	pair_open_like(q, &d->p);
	post_job(&q->c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .b = &d->c, .len = b->len,
		.raddr = (uintptr_t)b->at, .rkey = b->mr->rkey });
}

static void deregister_mrs_within_time(struct ibv_mr **mr, size_t n)
{
	uint64_t t = now_ms();

	while (n--)
		CHECK(!ibv_dereg_mr(mr[n]), "%m");
	t = now_ms() - t;
	CHECK(t < scale_timeout(SOON_MS), "it took %llu ms", (unsigned long long)t);
}

/*
 * Exporters block all workers of the process.  Other buffers must still be released immediately,
 * and the blocked workers must share one timeout, instead of waiting one after the other.
 */
static void test_held_many(void)
{
	struct ibv_mr *mr[MANY];
	struct pair q[MANY];
	struct buf b[MANY];
	struct fixture d;
	int fd[MANY], i;

	shared_fixture_open(&d, 2, 0);
	for (i = 0; i < MANY; i++) {
		open_pair_with_blocked_exporter(&d, &q[i], &b[i], &fd[i]);
		mr[i] = b[i].mr;
		if (i < MANY - 1)
			buffer_wait_blocked(fd[i]);
	}
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	register_shared_buf(&d.s, d.p.s.pd, get_shared_fd(&d, &d.s), 0, RIGHTS_SHARED);
	buffer_wait_unused(get_shared_fd(&d, &d.s));
	register_shared_buf(&d.s, d.p.s.pd, get_shared_fd(&d, &d.s), 0, RIGHTS_SHARED);
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	CHECK(!buffer_get_info(get_shared_fd(&d, &d.s)).mapped,
	      "the buffer must be released at once");
	deregister_mrs_within_time(mr, MANY);
	for (i = 0; i < MANY; i++) {
		buffer_set_hold(fd[i], EXPORTER_FREE);
		buffer_wait_detached(fd[i]);
	}
}

/* A QP can be destroyed while its stream waits for the exporter */
static void test_held_destroyed(void)
{
	struct held h;

	open_fixture_and_hold_write(&h, EXPORTER_HOLD_BEGIN, 0);
	rdma_destroy_qp(h.d.p.s.id);
	h.d.p.s.qp = NULL;
	buffer_set_hold(h.fd, EXPORTER_FREE);
	odp_fixture_free(&h.d);
	buffer_wait_detached(h.fd);
}

/* A program may be killed while its stream waits for an exporter, which then moves the buffer */
static void test_held_killed(void)
{
	int fd = buffer_create(PAGES, 0), status;
	struct fixture d;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (!pid) {
		shared_fixture_open(&d, PAGES, 0);
		CHECK(!ibv_dereg_mr(d.s.mr), "%m");
		register_shared_buf(&d.s, d.p.s.pd, fd, 0, RIGHTS_SHARED);
		buffer_wait_unused(fd);
		buffer_set_hold(fd, EXPORTER_HOLD_BEGIN);
		post_operation(&d, IBV_WR_RDMA_WRITE);
		buffer_wait_blocked(fd);
		raise(SIGKILL);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "%x", status);
	buffer_move(fd);
	buffer_set_hold(fd, EXPORTER_FREE);
	buffer_wait_detached(fd);
}

/* Removal of the device ------------------------------------------------------------ */

static bool stop;

static void *keep_moving_buffer(void *fd)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		buffer_move(*(int *)fd);
	return NULL;
}

/* Notify the script, which then deletes the device */
static void print_ready(void)
{
	printf("# under way\n");
	fflush(stdout);
}

static void expect_device_fatal_and_wait_detached(struct fixture *d)
{
	expect_async_event(d->p.c.id->verbs, IBV_EVENT_DEVICE_FATAL, NULL);
	buffer_wait_detached(get_shared_fd(d, &d->c));
	buffer_wait_detached(get_shared_fd(d, &d->s));
}

/*
 * Check whether a message succeeds. A message that is posted after the removal of the QP never
 * completes, but there is an event for the end of the QP.
 */
static bool wait_and_check_request_success(struct fixture *d)
{
	struct pollfd pfd = { .fd = d->p.c.id->verbs->async_fd, .events = POLLIN };
	const uint64_t until = now_ms() + scale_timeout(SOON_MS);
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(d->p.c.scq, 1, &wc);
		CHECK(n >= 0, "poll_cq: %d", n);
		if (n)
			return !wc.status;
		sched_yield();
	} while (!poll(&pfd, 1, 0) && now_ms() < until);
	return false;
}

/* The device is deleted while buffers move and messages use them */
static void device_removal_ends_messages(void)
{
	pthread_t thread;
	struct fixture d;
	int fd, n;

	shared_fixture_open(&d, PAGES, EXPORTER_MOVES);
	fd = get_shared_fd(&d, &d.s);
	CHECK(!pthread_create(&thread, NULL, keep_moving_buffer, &fd), "%m");
	for (n = 0;; n++) {
		post_operation(&d, IBV_WR_RDMA_WRITE);
		if (n == 10)
			print_ready();
		if (!wait_and_check_request_success(&d))
			break;
	}
	expect_device_fatal_and_wait_detached(&d);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	CHECK(!pthread_join(thread, NULL), "%m");
}

static void wait_device_deleted(const struct fixture *d)
{
	const uint64_t until = now_ms() + scale_timeout(SOON_MS);
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s",
		 ibv_get_device_name(d->p.c.id->verbs->device));
	while (!access(path, F_OK)) {
		CHECK(now_ms() < until, "the device must be deleted");
		sleep_ms(20);
	}
}

/* A blocked exporter must not block the removal of the device */
static void held_exporter_does_not_block_removal(void)
{
	struct held h;

	open_fixture_and_hold_write(&h, EXPORTER_HOLD_BEGIN, EXPORTER_MOVES);
	print_ready();
	wait_device_deleted(&h.d);
	CHECK(buffer_get_info(h.fd).attached, "the blocked call must still be in the exporter");
	buffer_set_hold(h.fd, EXPORTER_FREE);
	buffer_wait_detached(h.fd);
}

#define T(fn)	CASE("dmabuf_" #fn, test_##fn, 0, "")
#define ASKED(n, fn)	{ .name = n, .run = fn, .shows = "", .asked = true }

const struct test dmabuf_ends_tests[] = {
	T(revoked_write), T(revoked_read), T(revoked_atomic), T(revoked_send),
	T(revoked_recv), T(revoked_amid_writes), T(revoked_amid_reads),
	CASE("dmabuf_revoked_before", test_revoked_buffer_is_not_registered, 0, ""),
	T(held_begin), T(held_map),
	CASE("dmabuf_held_begin_goes", test_dereg_during_held_begin, 0, ""),
	CASE("dmabuf_held_map_goes", test_dereg_during_held_map, 0, ""),
	T(held_destroyed),
	T(held_killed), T(held_many),
	ASKED("dmabuf_device_goes", device_removal_ends_messages),
	ASKED("dmabuf_device_goes_held", held_exporter_does_not_block_removal),
	{}
};
