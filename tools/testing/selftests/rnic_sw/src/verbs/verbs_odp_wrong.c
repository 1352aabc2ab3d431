// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Pages of an ODP MR that cannot be faulted in: a stream that accesses such a page must end as if
 * the MR were deregistered.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "verbs_odp.h"

#define PAGES	6u

/* State of the third and all later pages */
enum lack {
	HOLE,		/* not mapped */
	SHUT,		/* PROT_NONE */
	NO_WRITE,	/* PROT_READ */
	CUT,		/* beyond the end of the file */
};

static void make_pages_unusable(struct buf *b, enum lack lack, int fd)
{
	uint8_t *at = b->at + 2 * get_page_size();
	size_t len = b->len - 2 * get_page_size();

	if (lack == HOLE)
		CHECK(!munmap(at, len), "%m");
	if (lack == SHUT)
		CHECK(!mprotect(at, len, PROT_NONE), "%m");
	if (lack == NO_WRITE)
		CHECK(!mprotect(at, len, PROT_READ), "%m");
	if (lack == CUT)
		CHECK(!ftruncate(fd, 2 * get_page_size()), "%m");
}

/*
 * Open a fixture and remove pages of its buffer @b, although they are present.  If @q is not NULL,
 * open another connection before that: its rings and buffers must not be mapped into the hole.
 */
static void fixture_open_without_pages(struct fixture *d, struct buf *b, enum lack lack, struct pair *q)
{
	int fd = create_memfd_of_pages(PAGES);

	odp_pair_open(&d->p, &(struct opts){});
	pages_map(&d->c, PAGES, b == &d->c ? fd : create_memfd_of_pages(PAGES));
	pages_map(&d->s, PAGES, b == &d->s ? fd : create_memfd_of_pages(PAGES));
	buf_reg(&d->c, d->p.c.pd, RIGHTS_ODP);
	buf_reg(&d->s, d->p.s.pd, RIGHTS_ODP);
	exchange_all_message_types(d, d->s.len, lack, NULL);
	if (q)
		pair_open_like(q, &d->p);
	make_pages_unusable(b, lack, fd);
	/* the pages before the hole must still work */
	exchange_all_message_types(d, 2 * get_page_size(), lack + 1, NULL);
	CHECK(!close(fd), "%m");
}

/* Access by a peer ---------------------------------------------------------- */

struct remote {
	enum lack		lack;
	enum ibv_wr_opcode	op;
	const char		*ends;	/* counter of the reason why the stream ends */
};

struct counts read_counts(const struct fixture *d, const char *ends)
{
	return (struct counts){
		.end = read_counter(&d->p.s, ends),
		.sent = read_counter(&d->p.s, "tx_terminates"),
		.got = read_counter(&d->p.c, "rx_terminates"),
	};
}

void check_terminate_counts(const struct fixture *d, const char *ends, const struct counts *was)
{
	expect_counter_increase(&d->p.s, ends, was->end, 1);
	expect_counter_increase(&d->p.s, "tx_terminates", was->sent, 1);
	expect_counter_increase(&d->p.c, "rx_terminates", was->got, 1);
}

void expect_both_qps_in_error(struct fixture *d)
{
	expect_async_event(d->p.s.id->verbs, IBV_EVENT_QP_ACCESS_ERR, d->p.s.qp);
	expect_async_event(d->p.c.id->verbs, IBV_EVENT_QP_REQ_ERR, d->p.c.qp);
	pair_expect_event(&d->p, d->p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d->p, d->p.lch, RDMA_CM_EVENT_DISCONNECTED);
	CHECK(query_qp_state(&d->p.c) == IBV_QPS_ERR, "%d", query_qp_state(&d->p.c));
	CHECK(query_qp_state(&d->p.s) == IBV_QPS_ERR, "%d", query_qp_state(&d->p.s));
}

/* Access the second and the third page; an atomic accesses only the third */
static void post_page_access(struct fixture *d, enum ibv_wr_opcode op)
{
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		post_atomic(&d->p.c, &(struct atom){
			.id = 1, .op = op, .flags = SIG, .value = 1, .sink = &d->c,
			.target = &d->s, .to = 2 * get_page_size() / sizeof(uint64_t) });
	else
		post_job(&d->p.c, &(struct job){
			.id = 1, .op = op, .flags = SIG, .b = &d->c, .off = 3,
			.len = get_page_size(), .rkey = d->s.mr->rkey,
			.raddr = (uintptr_t)d->s.at + get_page_size() + 5 });
}

static void access_by_peer_and_expect_failure(const struct remote *r)
{
	struct counts was;
	struct ibv_wc wc;
	struct pair q;
	struct fixture d;

	fixture_open_without_pages(&d, &d.s, r->lack, &q);
	was = read_counts(&d, r->ends);
	post_recv(&d.p.s, 7, NULL, 0, 0);
	post_page_access(&d, r->op);
	wc = wait_next_wc(d.p.c.scq);
	CHECK(wc.wr_id == 1, "%llu", (unsigned long long)wc.wr_id);
	/* a Write may have completed before the Terminate arrives */
	if (r->op != IBV_WR_RDMA_WRITE)
		CHECK(wc.status == IBV_WC_REM_ACCESS_ERR, "%s", ibv_wc_status_str(wc.status));
	expect_status(d.p.s.rcq, 7, IBV_WC_WR_FLUSH_ERR);
	expect_both_qps_in_error(&d);
	check_terminate_counts(&d, r->ends, &was);
	/* another connection must still be able to use the MR */
	d.p.c.qp = q.c.qp;
	d.p.s.qp = q.s.qp;
	odp_write_and_check(&d, 0, 2 * get_page_size(), 4, NULL);
	exchange_read(&d, 0, 2 * get_page_size(), 4, NULL);
}

#define REMOTE(name, ...)						\
	static void test_##name(void)						\
	{								\
		access_by_peer_and_expect_failure(&(struct remote){ __VA_ARGS__ });		\
	}

#define W IBV_WR_RDMA_WRITE
#define R IBV_WR_RDMA_READ
#define A IBV_WR_ATOMIC_FETCH_AND_ADD
REMOTE(write_hole, HOLE, W, "end_ddp_tagged_stag")
REMOTE(write_shut, SHUT, W, "end_ddp_tagged_stag")
REMOTE(write_no_write, NO_WRITE, W, "end_ddp_tagged_stag")
REMOTE(write_cut, CUT, W, "end_ddp_tagged_stag")
REMOTE(read_hole, HOLE, R, "end_rdmap_stag")
REMOTE(read_shut, SHUT, R, "end_rdmap_stag")
REMOTE(read_cut, CUT, R, "end_rdmap_stag")
REMOTE(atomic_hole, HOLE, A, "end_rdmap_stag")
REMOTE(atomic_no_write, NO_WRITE, A, "end_rdmap_stag")
REMOTE(atomic_cut, CUT, A, "end_rdmap_stag")

/* A Read by the peer needs no write access to the pages */
static void test_read_no_write(void)
{
	struct fixture d;

	fixture_open_without_pages(&d, &d.s, NO_WRITE, NULL);
	post_page_access(&d, R);
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_READ);
	odp_fixture_close(&d);
}

/* Access by the program's own work requests --------------------------------- */

static void post_own_request_and_expect_failure(enum lack lack, enum ibv_wr_opcode op)
{
	struct ibv_wc wc;
	struct fixture d;
	uint64_t was;

	fixture_open_without_pages(&d, &d.c, lack, NULL);
	was = read_counter(&d.p.c, "end_ddp_tagged_stag");
	post_recv(&d.p.s, 7, &d.s, 0, d.s.len);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = op, .flags = SIG, .b = &d.c, .off = get_page_size() + 9,
		.len = get_page_size(), .raddr = (uintptr_t)d.s.at, .rkey = d.s.mr->rkey });
	/* the fence makes the Send wait for the Read */
	post_job(&d.p.c, &(struct job){ .id = 2, .op = IBV_WR_SEND, .flags = IBV_SEND_FENCE });
	wc = wait_next_wc(d.p.c.scq);
	/* an unusable sink is detected when the response arrives; the Read is then flushed */
	CHECK(wc.wr_id == 1 && wc.status == (op == R ? IBV_WC_WR_FLUSH_ERR :
						       IBV_WC_LOC_PROT_ERR),
	      "%s", ibv_wc_status_str(wc.status));
	if (op == R)
		expect_counter_increase(&d.p.c, "end_ddp_tagged_stag", was, 1);
	wc = wait_next_wc(d.p.c.scq);
	CHECK(wc.wr_id == 2 && wc.status == IBV_WC_WR_FLUSH_ERR, "%llu: %s",
	      (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_status(d.p.s.rcq, 7, IBV_WC_WR_FLUSH_ERR);
	CHECK(query_qp_state(&d.p.c) == IBV_QPS_ERR, "%d", query_qp_state(&d.p.c));
}

static void receive_and_expect_failure(enum lack lack)
{
	struct fixture d;

	fixture_open_without_pages(&d, &d.s, lack, NULL);
	post_recv(&d.p.s, 1, &d.s, get_page_size() + 9, get_page_size());
	post_recv(&d.p.s, 2, NULL, 0, 0);
	post_job(&d.p.c, &(struct job){
		.op = IBV_WR_SEND, .b = &d.c, .len = get_page_size() });
	expect_status(d.p.s.rcq, 1, IBV_WC_LOC_PROT_ERR);
	expect_status(d.p.s.rcq, 2, IBV_WC_WR_FLUSH_ERR);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
}

#define OWN(name, ...)	\
	static void test_##name(void) { post_own_request_and_expect_failure(__VA_ARGS__); }
#define RECEIVED(name, lack)	static void test_##name(void) { receive_and_expect_failure(lack); }

OWN(send_hole, HOLE, IBV_WR_SEND)
OWN(send_shut, SHUT, IBV_WR_SEND)
OWN(send_cut, CUT, IBV_WR_SEND)
OWN(source_hole, HOLE, W)
OWN(sink_hole, HOLE, R)
OWN(sink_shut, SHUT, R)
OWN(sink_no_write, NO_WRITE, R)
OWN(sink_cut, CUT, R)
RECEIVED(recv_hole, HOLE)
RECEIVED(recv_no_write, NO_WRITE)
RECEIVED(recv_cut, CUT)

/* Kernel addresses must not be part of the implicit MR */
static void test_implicit_kernel(void)
{
	static const uint64_t at[] = { 0, 0xffff888000000000ull, 0x8000000000000000ull,
				       0xfffffffffffff000ull, 0x7ffffffff000ull };
	struct ibv_mr *all;
	struct ibv_wc wc;
	struct fixture d;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		odp_pair_open(&d.p, &(struct opts){});
		pages_create(&d.c, 1);
		buf_reg(&d.c, d.p.c.pd, RIGHTS_ODP);
		all = ibv_reg_mr(d.p.s.pd, NULL, SIZE_MAX, RIGHTS_ODP);
		CHECK(all, "%m");
		post_job(&d.p.c, &(struct job){
			.id = 1, .op = R, .flags = SIG, .b = &d.c, .len = 64,
			.raddr = at[i], .rkey = all->rkey });
		wc = wait_next_wc(d.p.c.scq);
		CHECK(wc.status == IBV_WC_REM_ACCESS_ERR, "at %llx: %s",
		      (unsigned long long)at[i], ibv_wc_status_str(wc.status));
		pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
		pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
		CHECK(!ibv_dereg_mr(all), "%m");
		memset(&d.s, 0, sizeof(d.s));
		odp_fixture_free(&d);
	}
}

/* Return: the lowest address of the stack in its present mapping */
static uintptr_t read_stack_start(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from = 0;
	char line[512];

	CHECK(maps, "%m");
	while (fgets(line, sizeof(line), maps) && !strstr(line, "[stack]"))
		;
	CHECK(sscanf(line, "%lx-", &from) == 1, "no stack in /proc/self/maps: %s", line);
	fclose(maps);
	return from;
}

/*
 * Only the process itself can grow its stack.  A peer's access below the stack must fail without a
 * message in the kernel's log, because otherwise peers could fill the log.
 */
static void test_peer_cannot_grow_stack(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct ibv_mr *all;
	char line[1024];
	struct fixture d;
	ssize_t n;

	CHECK(log >= 0 && lseek(log, 0, SEEK_END) >= 0, "/dev/kmsg: %m");
	odp_pair_open(&d.p, &(struct opts){});
	pages_create(&d.c, 1);
	buf_reg(&d.c, d.p.c.pd, RIGHTS_ODP);
	all = ibv_reg_mr(d.p.s.pd, NULL, SIZE_MAX, RIGHTS_ODP);
	CHECK(all, "%m");
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = R, .flags = SIG, .b = &d.c, .len = 64,
		.raddr = read_stack_start() - 64, .rkey = all->rkey });
	expect_status(d.p.c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	while ((n = read(log, line, sizeof(line) - 1)) > 0) {
		line[n] = 0;
		CHECK(!strstr(line, "grows the stack"), "%s", line);
	}
	CHECK(!close(log) && !ibv_dereg_mr(all), "%m");
}

#define T(fn)	CASE("odp_" #fn, test_##fn, 0, "")

const struct test odp_wrong_tests[] = {
	T(write_hole), T(write_shut), T(write_no_write), T(write_cut),
	T(read_hole), T(read_shut), T(read_cut), T(read_no_write),
	T(atomic_hole), T(atomic_no_write), T(atomic_cut),
	T(send_hole), T(send_shut), T(send_cut), T(source_hole),
	T(sink_hole), T(sink_shut), T(sink_no_write), T(sink_cut),
	T(recv_hole), T(recv_no_write), T(recv_cut),
	T(implicit_kernel),
	CASE("odp_implicit_stack", test_peer_cannot_grow_stack, 0, ""),
	{}
};
