// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Sends, Writes and Reads: all bytes arrive, and no other byte changes. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "verbs.h"

#define MTU_ISH		1500
#define MIB		(1024u * 1024)

/* Send @len bytes to a larger buffer, at another offset than in the source */
static void send_and_check_data(struct fixture *d, uint32_t len, uint32_t seed)
{
	size_t from = seed % 11, to = seed % 7;

	buf_fill(&d->c, from, len, seed);
	post_recv(&d->p.s, seed, &d->s, to, d->s.len - to);
	post_send(&d->p.c, seed, &d->c, from, len);
	expect_success(d->p.c.scq, seed, IBV_WC_SEND);
	expect_recv(d->p.s.rcq, seed, len);
	buf_expect_only_pattern(&d->s, to, len, seed);
	buf_clear(&d->s);
}

static void test_send_sizes(void)
{
	uint32_t len, seed = 0;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 3 * MTU_ISH + 100);
	for (len = 0; len < 70; len++)
		send_and_check_data(&d, len, seed++);
	for (; len <= 3 * MTU_ISH; len += 37)
		send_and_check_data(&d, len, seed++);
	fixture_close(&d);
}

static void test_send_lengths_around_mulpdu(void)
{
	uint32_t k, len, seed = 1000;
	struct fixture d;

	/* try lengths around the MULPDU, which is 40 to 100 bytes less than the MTU in all
	 * configurations
	 */
	fixture_open(&d, &(struct opts){}, 3 * MTU_ISH + 100);
	for (k = 1; k <= 2; k++)
		for (len = k * (MTU_ISH - 110); len < k * MTU_ISH; len++)
			send_and_check_data(&d, len, seed++);
	fixture_close(&d);
}

/* Wait for progress: a busy machine may be slow, but the transfer must continue */
static void wait_arrival_of_each_mib(const struct fixture *d, size_t to, uint32_t len)
{
	uint64_t until;
	uint32_t i;

	for (i = 0; i < len; i += MIB) {
		until = now_ms() + scale_timeout(10000);
		while (memcmp(d->s.at + to + i, d->c.at + i, 16)) {
			CHECK(now_ms() < until, "progress must continue from byte %u on",
			      i);
			usleep(1000);
		}
	}
}

static void send_huge_message(struct fixture *d, uint32_t len)
{
	buf_fill(&d->c, 0, len, 3);
	post_recv(&d->p.s, 3, &d->s, 1, d->s.len - 1);
	post_send(&d->p.c, 3, &d->c, 0, len);
	wait_arrival_of_each_mib(d, 1, len);
	expect_success(d->p.c.scq, 3, IBV_WC_SEND);
	expect_recv(d->p.s.rcq, 3, len);
	buf_expect_only_pattern(&d->s, 1, len, 3);
}

static void test_send_large(void)
{
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 64 * MIB + 16);
	send_and_check_data(&d, MIB, 1);
	send_and_check_data(&d, MIB - 1, 2);
	send_huge_message(&d, 64 * MIB - 3);
	fixture_close(&d);
}

/*
 * Map memory for a message of maximum length. Each end maps one MiB again and again, so that little
 * memory is needed. Each MiB that arrives therefore overwrites the one before, and the case can
 * check only the last one.
 */
static struct ibv_mr *map_and_register_2gib(struct ibv_pd *pd, uint8_t *page, uint32_t seed)
{
	const size_t len = 2048ull * MIB;
	struct ibv_mr *mr;
	uint8_t *at;
	size_t i;
	int fd = memfd_create("verbs", 0);

	CHECK(fd >= 0 && !ftruncate(fd, MIB), "%m");
	at = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		  MAP_NORESERVE, -1, 0);
	CHECK(at != MAP_FAILED, "%m");
	for (i = 0; i < len; i += MIB)
		CHECK(mmap(at + i, MIB, PROT_READ | PROT_WRITE, MAP_SHARED |
			   MAP_FIXED, fd, 0) == at + i, "%m");
	for (i = 0; page && i < MIB; i++)
		at[i] = compute_pattern_byte(seed, i);
	close(fd);
	mr = ibv_reg_mr(pd, at, len - 1, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr, "%m");
	return mr;
}

static void message_of_maximum_length_is_sent(void)
{
	struct buf from = {}, to = {};
	uint8_t mark = 1;
	const size_t most = scale_timeout(60);
	struct pair p;
	size_t i;

	pair_open(&p, &(struct opts){});
	from.mr = map_and_register_2gib(p.c.pd, &mark, 77);
	to.mr = map_and_register_2gib(p.s.pd, NULL, 0);
	from.at = from.mr->addr;
	to.at = to.mr->addr;
	post_recv(&p.s, 1, &to, 0, 0x7fffffff);
	post_send(&p.c, 1, &from, 0, 0x7fffffff);
	for (i = 0; i < most; i++) {
		struct ibv_wc wc;

		if (ibv_poll_cq(p.s.rcq, 1, &wc)) {
			CHECK(wc.byte_len == 0x7fffffff && !wc.status,
			      "%u bytes, %s", wc.byte_len,
			      ibv_wc_status_str(wc.status));
			break;
		}
		sleep(1);
	}
	CHECK(i < most, "no completion");
	expect_success(p.c.scq, 1, IBV_WC_SEND);
	for (i = 0; i < MIB - 1; i++)
		CHECK(to.at[i] == compute_pattern_byte(77, i), "byte %zu", i);
	CHECK(!ibv_dereg_mr(from.mr) && !ibv_dereg_mr(to.mr), "%m");
	pair_close(&p);
}

/*
 * Fill @sge with @n SGEs in @b, with gaps between them.  The length of each is an odd number.
 * Return: the sum of the lengths
 */
static uint32_t make_sges(const struct buf *b, struct ibv_sge *sge, int n,
			  uint32_t seed)
{
	uint32_t at = seed % 5, total = 0;
	int i;

	for (i = 0; i < n; i++) {
		sge[i].addr = (uintptr_t)(b->at + at);
		sge[i].length = (seed * 7 + i * 131) % 400 | 1;
		sge[i].lkey = b->mr->lkey;
		total += sge[i].length;
		at += sge[i].length + 3;
	}
	return total;
}

static void fill_sges(const struct ibv_sge *sge, int n, uint32_t seed)
{
	size_t at = 0;
	uint32_t j;
	int i;

	for (i = 0; i < n; i++)
		for (j = 0; j < sge[i].length; j++)
			*(uint8_t *)(uintptr_t)(sge[i].addr + j) =
				compute_pattern_byte(seed, at++);
}

/* Check that the SGEs contain @len bytes of the pattern, and that the other
 * bytes and the gaps are unchanged
 */
static void check_sges(struct buf *b, const struct ibv_sge *sge, int n,
		       uint32_t len)
{
	static struct buf want;
	size_t at = 0;
	int i;

	if (!want.at)
		buf_create(&want, b->len);
	buf_clear(&want);
	for (i = 0; i < n && at < len; i++) {
		uint32_t part = sge[i].length;

		if (part > len - at)
			part = len - at;
		for (uint32_t j = 0; j < part; j++)
			want.at[sge[i].addr - (uintptr_t)b->at + j] =
				compute_pattern_byte(n, at + j);
		at += part;
	}
	for (at = 0; at < b->len; at++)
		CHECK(b->at[at] == want.at[at], "byte %zu of the buffer", at);
	buf_check_guards(b);
}

static void send_and_check_sges(struct fixture *d, int from, int to)
{
	struct ibv_sge ss[16], rs[16];
	struct ibv_send_wr *sbad, swr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = SIG,
		.sg_list = ss, .num_sge = from,
	};
	struct ibv_recv_wr *rbad, rwr = {
		.wr_id = 2, .sg_list = rs, .num_sge = to,
	};
	uint32_t room, len;

	room = make_sges(&d->s, rs, to, from + 3);
	len = make_sges(&d->c, ss, from, to);
	while (len > room) {
		len -= ss[from - 1].length;
		ss[from - 1].length = len < room ? room - len : 0;
		len += ss[from - 1].length;
		if (len > room)
			from--;
	}
	swr.num_sge = from;
	fill_sges(ss, from, to);
	CHECK(!ibv_post_recv(d->p.s.qp, &rwr, &rbad), "recv");
	CHECK(!ibv_post_send(d->p.c.qp, &swr, &sbad), "send");
	expect_success(d->p.c.scq, 1, IBV_WC_SEND);
	expect_recv(d->p.s.rcq, 2, len);
	check_sges(&d->s, rs, to, len);
	buf_clear(&d->s);
}

static void test_send_with_odd_sges(void)
{
	struct fixture d;
	int from, to;

	fixture_open(&d, &(struct opts){ .ssge = 16, .rsge = 16 }, 8000);
	for (from = 1; from <= 16; from++)
		for (to = 1; to <= 16; to += from % 2 + 1)
			send_and_check_sges(&d, from, to);
	fixture_close(&d);
}

static void test_sge_write(void)
{
	struct ibv_sge ss[16];
	struct ibv_send_wr *bad, wr = {
		.wr_id = 3, .opcode = IBV_WR_RDMA_WRITE, .send_flags = SIG,
		.sg_list = ss,
	};
	struct fixture d;
	uint32_t len;
	int n;

	fixture_open(&d, &(struct opts){ .ssge = 16 }, 8000);
	for (n = 1; n <= 16; n++) {
		len = make_sges(&d.c, ss, n, n);
		fill_sges(ss, n, n);
		wr.num_sge = n;
		wr.wr.rdma.rkey = d.s.mr->rkey;
		wr.wr.rdma.remote_addr = (uintptr_t)(d.s.at + n);
		CHECK(!ibv_post_send(d.p.c.qp, &wr, &bad), "write");
		post_recv(&d.p.s, 9, NULL, 0, 0);
		post_send(&d.p.c, 9, NULL, 0, 0);
		expect_success(d.p.c.scq, 3, IBV_WC_RDMA_WRITE);
		expect_success(d.p.c.scq, 9, IBV_WC_SEND);
		expect_recv(d.p.s.rcq, 9, 0);
		buf_expect_only_pattern(&d.s, n, len, n);
		buf_clear(&d.s);
	}
	fixture_close(&d);
}

static void test_inline_sizes(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct fixture d;
	uint32_t len;

	fixture_open(&d, &(struct opts){ .inl = 200 }, 1000);
	CHECK(!ibv_query_qp(d.p.c.qp, &attr, IBV_QP_CAP, &init), "%m");
	CHECK(init.cap.max_inline_data >= 200, "%u",
	      init.cap.max_inline_data);
	for (len = 0; len <= init.cap.max_inline_data; len++) {
		struct buf unregistered = d.c;

		unregistered.mr = NULL;
		buf_fill(&d.c, 5, len, len);
		post_recv(&d.p.s, len, &d.s, 1, 900);
		post_job(&d.p.c, &(struct job){
			.id = len, .op = IBV_WR_SEND, .b = &unregistered,
			.off = 5, .len = len, .flags = SIG | IBV_SEND_INLINE });
		/* the data was copied when the request was posted */
		buf_clear(&d.c);
		expect_success(d.p.c.scq, len, IBV_WC_SEND);
		expect_recv(d.p.s.rcq, len, len);
		buf_expect_only_pattern(&d.s, 1, len, len);
		buf_clear(&d.s);
	}
	fixture_close(&d);
}

/* Send inline data in @n pieces of different lengths, posted by ibv_wr_*() or by ibv_post_send() */
static void send_inline_pieces(struct fixture *d, uint32_t n, bool by_wr)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(d->p.c.qp);
	struct ibv_data_buf piece[4];
	struct ibv_sge sge[4] = {};
	struct ibv_send_wr *bad, wr = {
		.wr_id = n, .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = n,
		.send_flags = SIG | IBV_SEND_INLINE,
	};
	uint32_t i, len, all = 0;

	for (i = 0; i < n; i++) {
		len = get_random_below(50);
		piece[i] = (struct ibv_data_buf){ .addr = d->c.at + all, .length = len };
		sge[i].addr = (uintptr_t)piece[i].addr;
		sge[i].length = len;
		all += len;
	}
	buf_fill(&d->c, 0, all, n);
	post_recv(&d->p.s, n, &d->s, 0, 200);
	if (by_wr) {
		ibv_wr_start(ex);
		ex->wr_id = n;
		ex->wr_flags = wr.send_flags;
		ibv_wr_send(ex);
		ibv_wr_set_inline_data_list(ex, n, piece);
		CHECK(!ibv_wr_complete(ex), "post");
	} else {
		CHECK(!ibv_post_send(d->p.c.qp, &wr, &bad), "post");
	}
	buf_clear(&d->c);
	expect_success(d->p.c.scq, n, IBV_WC_SEND);
	expect_recv(d->p.s.rcq, n, all);
	buf_expect_only_pattern(&d->s, 0, all, n);
	buf_clear(&d->s);
}

static void test_inline_pieces(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){
		     .inl = 200, .ssge = 4, .send_ops = IBV_QP_EX_WITH_SEND }, 1000);
	for (i = 0; i < 100; i++)
		send_inline_pieces(&d, 1 + i % 4, i & 4);
	fixture_close(&d);
}

/* If the length is 0, neither the key nor the address is checked */
static void test_zero_length(void)
{
	struct fixture d;
	int i;

	fixture_open(&d, &(struct opts){}, 100);
	for (i = 0; i < 20; i++) {
		post_job(&d.p.c, &(struct job){
			.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG,
			.raddr = ~0ull - i, .rkey = 0xdead0000 + i });
		post_job(&d.p.c, &(struct job){
			.id = 2, .op = IBV_WR_RDMA_READ, .flags = SIG,
			.raddr = ~0ull - i, .rkey = 0xdead0000 + i });
		post_recv(&d.p.s, 3, &d.s, 0, i);
		post_send(&d.p.c, 3, i & 1 ? &d.c : NULL, 0, 0);
		expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
		expect_success(d.p.c.scq, 2, IBV_WC_RDMA_READ);
		expect_success(d.p.c.scq, 3, IBV_WC_SEND);
		expect_recv(d.p.s.rcq, 3, 0);
	}
	expect_no_completion(d.p.s.rcq);
	buf_expect_clear(&d.s, 0, d.s.len);
	fixture_close(&d);
}

static const uint32_t offsets[] = { 0, 1, 3, 511, 4083, 4095, 4096, 8191 };
static const uint32_t lengths[] = { 1, 2, 17, 1447, 4096, 9001, 70001 };

/* Write, and then send: when the Send arrives, the Write must be placed */
static void write_and_check_data(struct fixture *d, uint32_t off, uint32_t len, uint32_t from)
{
	buf_fill(&d->c, from, len, off + len);
	post_recv(&d->p.s, 2, NULL, 0, 0);
	post_job(&d->p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d->c,
		.off = from, .len = len, .rkey = d->s.mr->rkey,
		.raddr = (uintptr_t)(d->s.at + off) });
	post_send(&d->p.c, 2, NULL, 0, 0);
	expect_success(d->p.c.scq, 1, IBV_WC_RDMA_WRITE);
	expect_success(d->p.c.scq, 2, IBV_WC_SEND);
	expect_recv(d->p.s.rcq, 2, 0);
	buf_expect_only_pattern(&d->s, off, len, off + len);
	buf_clear(&d->s);
}

/*
 * Read while the responder has posted a receive. The Read must not use that
 * receive; the Send after it must.
 */
static void read_and_check_data(struct fixture *d, uint32_t off, uint32_t len, uint32_t to)
{
	struct ibv_wc wc;

	buf_fill(&d->s, off, len, off + len);
	/* the length is not 0, because siw refuses that */
	post_recv(&d->p.s, 2, &d->s, 0, 1);
	post_job(&d->p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d->c,
		.off = to, .len = len, .rkey = d->s.mr->rkey,
		.raddr = (uintptr_t)(d->s.at + off) });
	wc = wait_next_wc(d->p.c.scq);
	CHECK(wc.wr_id == 1 && !wc.status && wc.opcode == IBV_WC_RDMA_READ,
	      "%s", ibv_wc_status_str(wc.status));
	CHECK(wc.byte_len == len, "%u bytes read of %u", wc.byte_len, len);
	buf_expect_only_pattern(&d->c, to, len, off + len);
	buf_clear(&d->c);
	post_send(&d->p.c, 2, &d->c, 0, 1);
	expect_success(d->p.c.scq, 2, IBV_WC_SEND);
	expect_recv(d->p.s.rcq, 2, 1);
}

static void transfer_at_all_offsets(void (*one)(struct fixture *d, uint32_t off, uint32_t len,
						uint32_t there))
{
	struct fixture d;
	size_t i, j;

	fixture_open(&d, &(struct opts){}, 100000);
	for (i = 0; i < ARRAY_SIZE(offsets); i++)
		for (j = 0; j < ARRAY_SIZE(lengths); j++)
			one(&d, offsets[i], lengths[j], offsets[j]);
	/* the whole buffer, and its last byte */
	one(&d, 0, d.s.len, 0);
	one(&d, d.s.len - 1, 1, d.s.len - 1);
	expect_no_completion(d.p.s.rcq);
	expect_no_completion_now(d.p.s.scq);
	fixture_close(&d);
}

static void test_write_offsets(void)
{
	transfer_at_all_offsets(write_and_check_data);
}

static void test_read_offsets(void)
{
	transfer_at_all_offsets(read_and_check_data);
}

/* A Read of any length must be one Read Request */
static void test_read_large(void)
{
	uint64_t asked, got;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 16 * MIB);
	asked = read_counter(&d.p.c, "tx_read_requests");
	got = read_counter(&d.p.s, "rx_read_requests");
	read_and_check_data(&d, 5, 16 * MIB - 9, 1);
	expect_counter_increase(&d.p.c, "tx_read_requests", asked, 1);
	expect_counter_increase(&d.p.s, "rx_read_requests", got, 1);
	buf_clear(&d.s);
	write_and_check_data(&d, 7, 16 * MIB - 7, 0);
	fixture_close(&d);
}

const struct test data_tests[] = {
	CASE("send_sizes", test_send_sizes, 0,
	  "DDP-4 DDP-8 DDP-16 DDP-50 DDP-67 RDMAP-8 RDMAP-91 RDMAP-92"),
	CASE("send_around_segments", test_send_lengths_around_mulpdu, 0,
	  "DDP-47 DDP-49 DDP-50 DDP-51"),
	CASE("send_large", test_send_large, 120, "DDP-49 DDP-50"),
	{ .name = "send_2g", .run = message_of_maximum_length_is_sent, .seconds = 120,
	  .asked = true, .shows = "" },
	CASE("sge_odd", test_send_with_odd_sges, 0, "DDP-50 RDMAP-91"),
	CASE("sge_write", test_sge_write, 0, "DDP-53 RDMAP-59"),
	CASE("inline_sizes", test_inline_sizes, 0, "DDP-50"),
	CASE("inline_pieces", test_inline_pieces, 0, "DDP-50"),
	CASE("zero_length", test_zero_length, 0,
	  "DDP-56 RDMAP-63 RDMAP-76 RDMAP-78 RDMAP-79 RDMAP-99 RDMAP-100"),
	CASE("write_offsets", test_write_offsets, 0,
	  "DDP-15 DDP-34 DDP-53 RDMAP-10 RDMAP-57 RDMAP-59 RDMAP-61"),
	CASE("read_offsets", test_read_offsets, 0,
	  "RDMAP-12 RDMAP-33 RDMAP-35 RDMAP-68 RDMAP-74 RDMAP-75 RDMAP-85"),
	CASE("read_large", test_read_large, 60, "RDMAP-64 RDMAP-83"),
	{}
};
