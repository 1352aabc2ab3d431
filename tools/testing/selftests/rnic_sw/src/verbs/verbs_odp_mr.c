// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ODP MRs as objects: capabilities, registration, advice, reregistration, no pinned memory. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "verbs_odp.h"

#define PAGES	8u
#define MIB	(1024ul * 1024)

/* The reported capabilities must be those of RC; other transports have none */
static void test_caps(void)
{
	const uint32_t rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
			    IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
			    IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
	struct ibv_device_attr_ex attr = {};
	struct pair p;

	odp_pair_open(&p, &(struct opts){});
	CHECK(!ibv_query_device_ex(p.c.id->verbs, NULL, &attr), "%m");
	CHECK(attr.odp_caps.general_caps == (IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT),
	      "%llx", (unsigned long long)attr.odp_caps.general_caps);
	CHECK(attr.odp_caps.per_transport_caps.rc_odp_caps == rc, "%x",
	      attr.odp_caps.per_transport_caps.rc_odp_caps);
	CHECK(!attr.odp_caps.per_transport_caps.uc_odp_caps &&
	      !attr.odp_caps.per_transport_caps.ud_odp_caps, "no ODP for UC and UD");
	pair_close(&p);
}

/* No page is present: sinks must be faulted in, and sources must read as 0 */
static void test_absent_pages_faulted_in(void)
{
	struct fixture d;
	size_t i;

	odp_fixture_open_private(&d, PAGES);
	memset(d.c.at, 0xaa, get_page_size());
	CHECK(!is_page_present(d.s.at + get_page_size()), "the page must not be present yet");
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c,
		.len = 3000, .raddr = (uintptr_t)d.s.at + get_page_size() * 5 - 1500,
		.rkey = d.s.mr->rkey });
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_READ);
	for (i = 0; i < 3000; i++)
		CHECK(!d.c.at[i], "byte %zu is %x", i, d.c.at[i]);
	buf_fill(&d.c, 0, get_page_size() * 3, 8);
	post_job(&d.p.c, &(struct job){
		.id = 2, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d.c,
		.len = get_page_size() * 3, .raddr = (uintptr_t)d.s.at + get_page_size(),
		.rkey = d.s.mr->rkey });
	expect_success(d.p.c.scq, 2, IBV_WC_RDMA_WRITE);
	wait_all_placed_by_read(&d);
	buf_expect_pattern(&d.s, get_page_size(), get_page_size() * 3, 8);
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	odp_fixture_close(&d);
}

/* Transfer data between an ODP MR at one end and a pinned MR at the other end */
static void test_beside_pinned(void)
{
	struct fixture d;

	odp_fixture_open(&d, PAGES);
	CHECK(!ibv_dereg_mr(d.c.mr), "%m");
	buf_reg(&d.c, d.p.c.pd, RIGHTS_ALL);
	exchange_all_message_types(&d, d.s.len, 5, NULL);
	CHECK(!ibv_dereg_mr(d.c.mr) && !ibv_dereg_mr(d.s.mr), "%m");
	buf_reg(&d.c, d.p.c.pd, RIGHTS_ODP);
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
	exchange_all_message_types(&d, d.s.len, 6, NULL);
	odp_fixture_close(&d);
}

/* A Send must be placed into pages that are not present, for a receive from an SRQ */
static void test_srq(void)
{
	struct ibv_sge sge = { .length = 3 * get_page_size() };
	struct ibv_recv_wr *bad, wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };
	struct fixture d;
	int i;

	odp_pair_open(&d.p, &(struct opts){ .srq = 16 });
	pages_create(&d.c, PAGES);
	pages_create(&d.s, PAGES);
	buf_reg(&d.c, d.p.c.pd, RIGHTS_ODP);
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ODP);
	sge.addr = (uintptr_t)d.s.at + 100;
	sge.lkey = d.s.mr->lkey;
	for (i = 0; i < 20; i++) {
		CHECK(!ibv_post_srq_recv(d.p.s.srq, &wr, &bad), "%m");
		buf_fill(&d.c, 7, sge.length, i);
		CHECK(!madvise(d.s.at, d.s.len, MADV_DONTNEED), "%m");
		post_send(&d.p.c, 6, &d.c, 7, sge.length);
		expect_recv(d.p.s.rcq, 5, sge.length);
		expect_success(d.p.c.scq, 6, IBV_WC_SEND);
		buf_expect_pattern(&d.s, 100, sge.length, i);
	}
	odp_fixture_close(&d);
}

/* Both ends use scatter/gather lists whose pages are far apart */
static void test_sges_on_distant_pages(void)
{
	struct ibv_sge from[4], to[4];
	struct ibv_send_wr *bad, wr = { .wr_id = 1, .sg_list = from, .num_sge = 4,
					.opcode = IBV_WR_SEND, .send_flags = SIG };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 2, .sg_list = to, .num_sge = 4 };
	const size_t page = get_page_size();
	struct fixture d;
	int i;

	odp_pair_open(&d.p, &(struct opts){ .ssge = 4, .rsge = 4 });
	pages_create(&d.c, PAGES);
	pages_create(&d.s, PAGES);
	buf_reg(&d.c, d.p.c.pd, RIGHTS_ODP);
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ODP);
	for (i = 0; i < 4; i++) {
		buf_fill(&d.c, 2 * i * page + 5, page, i);
		from[i] = (struct ibv_sge){ (uintptr_t)d.c.at + 2 * i * page + 5, page,
					    d.c.mr->lkey };
		to[i] = (struct ibv_sge){ (uintptr_t)d.s.at + 2 * (3 - i) * page + 77, page,
					  d.s.mr->lkey };
	}
	CHECK(!ibv_post_recv(d.p.s.qp, &recv, &bad_recv), "%m");
	CHECK(!ibv_post_send(d.p.c.qp, &wr, &bad), "%m");
	expect_recv(d.p.s.rcq, 2, 4 * page);
	expect_success(d.p.c.scq, 1, IBV_WC_SEND);
	for (i = 0; i < 4; i++)
		buf_expect_pattern(&d.s, 2 * (3 - i) * page + 77, page, i);
	odp_fixture_close(&d);
}

/*
 * An ODP MR far larger than RAM pins nothing, and neither do messages that use it, so
 * RLIMIT_MEMLOCK does not apply
 */
static void test_odp_pins_no_memory(void)
{
	const size_t pages = (sizeof(long) == 8 ? 4096 : 256) * MIB / get_page_size();
	struct ibv_mr *pinned;
	struct fixture d;

	drop_ipc_lock();
	limit_locked_memory(0);
	odp_fixture_open_private(&d, PAGES);
	pinned = ibv_reg_mr(d.p.c.pd, d.c.at, d.c.len, RIGHTS_ALL);
	CHECK(!pinned && (errno == ENOMEM || errno == EPERM), "a pinned MR must be refused: %m");
	pages_free(&d.s);
	pages_create(&d.s, pages);
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ODP);
	exchange_all_message_types(&d, d.c.len, 3, NULL);
	CHECK(!read_number_in("/proc/self/status", "VmPin:"), "no memory must be pinned");
	odp_fixture_close(&d);
}

/* The whole address space -------------------------------------------------- */

/* Register the whole address space */
static struct ibv_mr *reg_whole_space(struct ibv_pd *pd)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, NULL, SIZE_MAX, RIGHTS_ODP);

	CHECK(mr, "%m");
	return mr;
}

static void implicit_fixture_open(struct fixture *d)
{
	odp_pair_open(&d->p, &(struct opts){});
	pages_create(&d->c, PAGES);
	pages_create(&d->s, PAGES);
	d->c.mr = reg_whole_space(d->p.c.pd);
	d->s.mr = reg_whole_space(d->p.s.pd);
}

/* The MR must cover memory that is mapped later, and memory that replaces another mapping */
static void test_implicit(void)
{
	struct ibv_mr *mr;
	struct fixture d;
	int i;

	implicit_fixture_open(&d);
	for (i = 0; i < 4; i++) {
		exchange_all_message_types(&d, d.c.len, i, NULL);
		mr = d.s.mr;
		CHECK(!munmap(d.s.map, d.s.map_len), "%m");
		pages_create(&d.s, PAGES + i * 100);
		d.s.mr = mr;
		/* replace the client's memory at the same address */
		CHECK(mmap(d.c.at, d.c.len, PROT_READ | PROT_WRITE, MAP_FIXED |
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == d.c.at, "%m");
	}
	odp_fixture_close(&d);
}

#define SOME	(3 * 4096)

/* The MR must cover the stack, the heap and static data of the program */
static void test_implicit_mr_covers_stack_and_heap(void)
{
	static uint8_t data[SOME];
	uint8_t stack[SOME], *heap = malloc(SOME);
	uint8_t *const at[] = { data, stack, heap };
	struct fixture d, to;
	size_t i;

	implicit_fixture_open(&d);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		to = d;
		to.s.at = at[i];
		to.s.len = SOME;
		odp_write_and_check(&to, 11, SOME - 11, i, NULL);
		exchange_read(&to, 11, SOME - 11, i + 5, NULL);
	}
	odp_fixture_close(&d);
	free(heap);
}

/* An MR of the whole address space must be an ODP MR and start at 0 */
static void test_implicit_arguments(void)
{
	struct pair p;

	odp_pair_open(&p, &(struct opts){});
	CHECK(!ibv_reg_mr(p.c.pd, NULL, SIZE_MAX, RIGHTS_ALL), "a pinned MR must be refused");
	CHECK(!ibv_reg_mr(p.c.pd, (void *)get_page_size(), SIZE_MAX, RIGHTS_ODP),
	      "an address above 0 must be refused");
	CHECK(!ibv_reg_mr(p.c.pd, NULL, 0, RIGHTS_ODP), "an empty range must be refused");
	CHECK(!ibv_reg_mr(p.c.pd, NULL, get_page_size(),
			  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ON_DEMAND),
	      "remote write without local write must be refused");
	pair_close(&p);
}

/* Advice -------------------------------------------------------------------- */

static int try_advise(struct ibv_pd *pd, enum ibv_advise_mr_advice what, uint32_t flags,
		      const struct buf *b, size_t off, size_t len)
{
	struct ibv_sge sge = { (uintptr_t)b->at + off, len, b->mr->lkey };

	return ibv_advise_mr(pd, what, flags, &sge, 1);
}

#define FETCH		IBV_ADVISE_MR_ADVICE_PREFETCH
#define FETCH_WRITE	IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
#define NO_FAULT	IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT
#define FLUSH		IBV_ADVISE_MR_FLAG_FLUSH

static void wait_page_present(const void *at)
{
	const uint64_t until = now_ms() + scale_timeout(WC_MS);

	while (!is_page_present(at)) {
		CHECK(now_ms() < until, "the page must be faulted in");
		sleep_ms(5);
	}
}

/* Advice must fault pages in: with the flag FLUSH before the call returns, else later */
static void test_advice(void)
{
	const size_t page = get_page_size();
	struct fixture d;

	odp_fixture_open_private(&d, PAGES);
	CHECK(!try_advise(d.p.s.pd, NO_FAULT, FLUSH, &d.s, 0, d.s.len), "%m");
	CHECK(!is_page_present(d.s.at), "NO_FAULT must not fault pages in");
	CHECK(!try_advise(d.p.s.pd, FETCH_WRITE, FLUSH, &d.s, 10, 2 * page), "%m");
	CHECK(is_page_present(d.s.at) && is_page_present(d.s.at + 2 * page),
	      "the pages must be present");
	CHECK(!is_page_present(d.s.at + 3 * page),
	      "pages outside the range must not be faulted in");
	CHECK(!try_advise(d.p.s.pd, FETCH, FLUSH, &d.s, 3 * page, 1), "%m");
	CHECK(is_page_present(d.s.at + 3 * page), "the page must be present");
	CHECK(!try_advise(d.p.s.pd, FETCH_WRITE, 0, &d.s, 5 * page, page), "%m");
	wait_page_present(d.s.at + 5 * page);
	CHECK(!try_advise(d.p.s.pd, NO_FAULT, FLUSH, &d.s, 0, d.s.len), "%m");
	exchange_all_message_types(&d, d.s.len, 9, NULL);
	CHECK(!try_advise(d.p.s.pd, NO_FAULT, 0, &d.s, 0, d.s.len), "%m");
	exchange_all_message_types(&d, d.s.len, 10, NULL);
	odp_fixture_close(&d);
}

struct seen {
	uint64_t	faults, taken;
};

static struct seen read_fault_counts(const struct fixture *d)
{
	return (struct seen){
		.faults = read_counter(&d->p.s, "odp_faults"),
		.taken = read_counter(&d->p.s, "odp_invalidations"),
	};
}

/* Check that there was no page fault since @was, unless the kernel has invalidated pages since */
static void expect_no_faults(const struct fixture *d, struct seen was)
{
	const struct seen now = read_fault_counts(d);

	CHECK(now.faults == was.faults || now.taken > was.taken,
	      "%llu page faults", (unsigned long long)(now.faults - was.faults));
}

/* After advice, which has made or found the pages present, no message may need a page fault */
static void test_no_page_faults_after_advice(void)
{
	struct seen was;
	struct fixture d;

	odp_fixture_open_private(&d, PAGES);
	CHECK(!try_advise(d.p.s.pd, FETCH_WRITE, FLUSH, &d.s, 0, d.s.len), "%m");
	CHECK(!try_advise(d.p.c.pd, FETCH_WRITE, FLUSH, &d.c, 0, d.c.len), "%m");
	was = read_fault_counts(&d);
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	expect_no_faults(&d, was);
	odp_fixture_close(&d);
	odp_fixture_open_private(&d, PAGES);
	buf_fill(&d.s, 0, d.s.len, 2);
	CHECK(!try_advise(d.p.s.pd, NO_FAULT, 0, &d.s, 0, d.s.len), "%m");
	CHECK(!try_advise(d.p.c.pd, FETCH_WRITE, FLUSH, &d.c, 0, d.c.len), "%m");
	was = read_fault_counts(&d);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c, .len = d.c.len,
		.raddr = (uintptr_t)d.s.at, .rkey = d.s.mr->rkey });
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_READ);
	expect_no_faults(&d, was);
	buf_expect_pattern(&d.c, 0, d.c.len, 2);
	odp_fixture_close(&d);
}

static void check_error(int got, int want, int line)
{
	CHECK(got == want, "line %d: %s, want %s", line, strerror(got), strerror(want));
}

#define REFUSED(want, ...)	check_error(try_advise(__VA_ARGS__), want, __LINE__)

/* Errors must be those of the manual page ibv_advise_mr(3), as far as it defines them */
static void test_advice_refused(void)
{
	struct buf pinned, hole, dead, odd;
	const size_t page = get_page_size();
	struct ibv_mr wrong;
	struct ibv_pd *pd;
	struct fixture d;

	odp_fixture_open_private(&d, PAGES);
	pd = d.p.s.pd;
	REFUSED(EOPNOTSUPP, pd, 77, 0, &d.s, 0, page);
	REFUSED(EINVAL, pd, FETCH, 1u << 20, &d.s, 0, page);
	odd = d.s;
	wrong = *d.s.mr;
	wrong.lkey ^= 0x5a5a5a00;
	odd.mr = &wrong;
	REFUSED(ENOENT, pd, FETCH, FLUSH, &odd, 0, page);
	REFUSED(ENOENT, pd, FETCH, 0, &odd, 0, page);
	/*
	 * for an MR of another PD the error must be that for an unknown lkey, so that a program
	 * cannot detect the lkeys of other PDs
	 */
	REFUSED(ENOENT, d.p.c.pd, FETCH, FLUSH, &d.s, 0, page);
	/* try ranges beyond either end of the MR, and one that wraps around */
	CHECK(try_advise(pd, FETCH, FLUSH, &d.s, 1, d.s.len), "past the end must be refused");
	CHECK(try_advise(pd, FETCH, FLUSH, &d.s, -page, page), "before the start must be refused");
	/* a pinned MR has no pages to fault in */
	pages_create(&pinned, 2);
	buf_reg(&pinned, pd, RIGHTS_ALL);
	CHECK(try_advise(pd, FETCH, FLUSH, &pinned, 0, page), "a pinned MR must be refused");
	pages_free(&pinned);
	/* an MR without write access cannot be prefetched for writing */
	pages_create(&dead, 2);
	buf_reg(&dead, pd, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	REFUSED(EPERM, pd, FETCH_WRITE, FLUSH, &dead, 0, page);
	REFUSED(0, pd, FETCH, FLUSH, &dead, 0, page);
	pages_free(&dead);
	/* for a page that is not mapped, the error is returned only with FLUSH */
	pages_create(&hole, 2);
	buf_reg(&hole, pd, RIGHTS_ODP);
	CHECK(!munmap(hole.at + page, page), "%m");
	REFUSED(EFAULT, pd, FETCH, FLUSH, &hole, 0, 2 * page);
	REFUSED(0, pd, FETCH, 0, &hole, 0, 2 * page);
	REFUSED(0, pd, FETCH_WRITE, FLUSH, &hole, 0, page);
	CHECK(!ibv_dereg_mr(hole.mr) && !munmap(hole.at, page), "%m");
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	odp_fixture_close(&d);
}

/* Tagged addresses ---------------------------------------------------------- */

#define TAG	((uintptr_t)(0x15ull << 57))

/* MRs that are in, or extend to, addresses of the kernel must be refused */
static void register_kernel_ranges_and_expect_refusal(struct ibv_pd *pd, uint8_t *at)
{
	const size_t page = get_page_size();
	struct ibv_mr *mr = ibv_reg_mr(pd, (void *)-page, page / 2, RIGHTS_ODP);

	CHECK(!mr && errno == EINVAL, "an address of the kernel must be refused: %m");
	mr = ibv_reg_mr(pd, at, (size_t)-2 * page - (uintptr_t)at, RIGHTS_ODP);
	CHECK(!mr && errno == EINVAL, "a range up to the kernel's must be refused: %m");
}

/* The client writes to @odd, which has a tagged address, and the server sends the data back */
static void exchange_by_tagged_address(struct fixture *d, const struct buf *odd)
{
	buf_fill(&d->c, 0, d->c.len, 3);
	post_job(&d->p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d->c,
		.len = d->c.len, .raddr = (uintptr_t)odd->at, .rkey = odd->mr->rkey });
	expect_success(d->p.c.scq, 1, IBV_WC_RDMA_WRITE);
	post_recv(&d->p.c, 2, &d->c, 0, d->c.len);
	post_send(&d->p.s, 3, odd, 0, odd->len);
	expect_success(d->p.s.scq, 3, IBV_WC_SEND);
	expect_recv(d->p.c.rcq, 2, odd->len);
	buf_expect_pattern(&d->s, 0, d->s.len, 3);
	buf_expect_pattern(&d->c, 0, d->c.len, 3);
	REFUSED(0, d->p.s.pd, FETCH_WRITE, FLUSH, odd, 0, odd->len);
}

/*
 * If the kernel accepts tagged addresses for registration, tagged and untagged addresses must work
 * with ODP, too.  Otherwise it must refuse registration and advice.
 */
static void test_tagged_addresses(void)
{
	struct buf odd, all;
	struct ibv_mr *mr;
	struct fixture d;

	if (sizeof(void *) < 8)
		skip("addresses have 32 bits");
	odp_fixture_open_private(&d, PAGES);
	register_kernel_ranges_and_expect_refusal(d.p.s.pd, d.s.at);
	odd = d.s;
	odd.at = (uint8_t *)((uintptr_t)d.s.at | TAG);
	all = odd;
	all.mr = reg_whole_space(d.p.s.pd);
	mr = ibv_reg_mr(d.p.s.pd, odd.at, odd.len, RIGHTS_ALL);
	if (mr) {
		CHECK(!ibv_dereg_mr(mr), "%m");
		buf_reg(&odd, d.p.s.pd, RIGHTS_ODP);
		exchange_by_tagged_address(&d, &odd);
		exchange_by_tagged_address(&d, &all);
		CHECK(!ibv_dereg_mr(odd.mr), "%m");
	} else {
		mr = ibv_reg_mr(d.p.s.pd, odd.at, odd.len, RIGHTS_ODP);
		CHECK(!mr && errno == EINVAL, "a tagged address must be refused: %m");
		REFUSED(EFAULT, d.p.s.pd, FETCH, 0, &all, 0, 1);
	}
	CHECK(!ibv_dereg_mr(all.mr), "%m");
	odp_fixture_close(&d);
}

/* Reregistration ------------------------------------------------------------ */

/* Move the server's MR to the memory of @b.  @access: the new rights, or 0 to keep the rights */
static void rereg_and_swap_bufs(struct fixture *d, struct buf *b, int access)
{
	int what = IBV_REREG_MR_CHANGE_TRANSLATION;
	struct buf was = d->s;

	if (access)
		what |= IBV_REREG_MR_CHANGE_ACCESS;
	CHECK(!ibv_rereg_mr(d->s.mr, what, NULL, b->at, b->len, access), "%m");
	d->s = *b;
	d->s.mr = was.mr;
	was.mr = NULL;
	*b = was;
}

/* Reregister to other memory, to pinned memory and back; messages must use the new memory */
static void test_rereg_mr(void)
{
	struct buf other;
	struct fixture d;

	odp_fixture_open_private(&d, PAGES);
	pages_create(&other, PAGES);
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	rereg_and_swap_bufs(&d, &other, 0);
	exchange_all_message_types(&d, d.s.len, 2, NULL);
	rereg_and_swap_bufs(&d, &other, RIGHTS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(read_number_in("/proc/self/status", "VmPin:") > 0, "memory must be pinned");
	exchange_all_message_types(&d, d.s.len, 3, NULL);
	rereg_and_swap_bufs(&d, &other, RIGHTS_ODP);
	CHECK(!read_number_in("/proc/self/status", "VmPin:"), "no memory must be pinned");
	exchange_all_message_types(&d, d.s.len, 4, NULL);
	CHECK(!munmap(other.map, other.map_len), "%m");
	exchange_all_message_types(&d, d.s.len, 5, NULL);
	odp_fixture_close(&d);
}

/* Change only the rights: reading must still work, writing must not */
static void test_rereg_rights(void)
{
	struct fixture d;
	uint64_t was;

	odp_fixture_open(&d, PAGES);
	was = read_counter(&d.p.s, "end_ddp_tagged_stag");
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	CHECK(!ibv_rereg_mr(d.s.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND), "%m");
	exchange_read(&d, 5, 2 * get_page_size(), 2, NULL);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .b = &d.c, .len = 10,
		.raddr = (uintptr_t)d.s.at, .rkey = d.s.mr->rkey });
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&d.p.s, "end_ddp_tagged_stag", was, 1);
	odp_fixture_free(&d);
}

const struct test odp_mr_tests[] = {
	CASE("odp_caps", test_caps, 0, ""),
	CASE("odp_untouched", test_absent_pages_faulted_in, 0, ""),
	CASE("odp_beside_pinned", test_beside_pinned, 0, ""),
	CASE("odp_srq", test_srq, 0, ""),
	CASE("odp_lists", test_sges_on_distant_pages, 0, ""),
	CASE("odp_unpinned", test_odp_pins_no_memory, 0, ""),
	CASE("odp_implicit", test_implicit, 0, ""),
	CASE("odp_implicit_all", test_implicit_mr_covers_stack_and_heap, 0, ""),
	CASE("odp_implicit_arguments", test_implicit_arguments, 0, ""),
	CASE("odp_advice", test_advice, 0, ""),
	CASE("odp_advice_taken", test_no_page_faults_after_advice, 0, ""),
	CASE("odp_advice_refused", test_advice_refused, 0, ""),
	CASE("odp_tagged", test_tagged_addresses, 0, ""),
	CASE("odp_rereg", test_rereg_mr, 0, ""),
	CASE("odp_rereg_rights", test_rereg_rights, 0, ""),
	{}
};
