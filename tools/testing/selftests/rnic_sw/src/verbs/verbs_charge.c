// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Accounting: kernel memory that is used for a program is charged to its control group. */
#include <arpa/inet.h>
#include <sys/mman.h>

#include "rings.h"
#include "verbs.h"
#include "verbs_odp.h"

#define MIB		(1 << 20)
#define CALLERS		512

/* Return: the kernel memory charged to the group, in KiB */
static unsigned long read_charge(void)
{
	const char *group = getenv("T_GROUP");
	unsigned long octets = 0;
	char line[256];
	FILE *f;

	if (!group)
		skip("set T_GROUP to the directory of a control group");
	snprintf(line, sizeof(line), "%s/memory.stat", group);
	f = fopen(line, "r");
	CHECK(f, "%s: %m", line);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "kernel %lu", &octets) == 1)
			break;
	fclose(f);
	CHECK(octets, "memory.stat must have a line 'kernel'");
	return octets / 1024;
}

/* Wait before reading: charges are batched per CPU, and the sum is updated every 2 s */
static unsigned long read_settled_charge(void)
{
	sleep_ms(2500);
	return read_charge();
}

/* Check that the charge has grown by at least @kib since @before */
static void expect_charged(const char *what, unsigned long before,
			   unsigned long kib)
{
	unsigned long grown = 0;
	int i;

	for (i = 0; i < 50; i++) {
		grown = read_charge() - before;
		if ((long)grown >= (long)kib)
			break;
		sleep_ms(100);
	}
	printf("# %s: %ld KiB, of at least %lu\n", what, (long)grown, kib);
	CHECK((long)grown >= (long)kib, "%s", what);
}

static unsigned long count_ring_kib(void)
{
	struct ring ring[64];
	size_t words = 0, n = rings_find_mapped(ring, ARRAY_SIZE(ring));

	while (n--)
		words += ring[n].words;
	return words * 4 / 1024;
}

/* The rings of QPs, CQs and SRQs must be charged */
static void rings_are_charged(void)
{
	const struct opts o = { .sq = 4096, .rq = 4096, .ssge = 8, .rsge = 8,
				.cqe = 65536, .srq = 4096 };
	unsigned long before = read_settled_charge();
	struct pair p = {};

	pair_prepare(&p, &o);
	pair_request(&p);
	pair_create_qp(&p, &p.s);
	expect_charged("rings", before, count_ring_kib());
	rdma_reject(p.s.id, NULL, 0);
	pair_expect_event(&p, p.c.ch, RDMA_CM_EVENT_REJECTED);
	pair_free(&p);
}

/* Memory windows must be charged; most of their memory is entries in the STag tables */
static void windows_are_charged(void)
{
	struct pair p = {};
	struct ibv_mw **mw;
	unsigned long before;
	int i, n = 20000;

	mw = calloc(n, sizeof(*mw));
	CHECK(mw, "%m");
	pair_prepare(&p, &(struct opts){});
	before = read_settled_charge();
	for (i = 0; i < n; i++) {
		mw[i] = ibv_alloc_mw(p.c.pd, IBV_MW_TYPE_2);
		CHECK(mw[i], "%m");
	}
	expect_charged("windows", before, n * 128 / 1024);
	for (i = 0; i < n; i++)
		CHECK(!ibv_dealloc_mw(mw[i]), "%m");
	free(mw);
	pair_free(&p);
}

/* The page lists of MRs must be charged */
static void page_lists_are_charged(void)
{
	const size_t page = get_page_size(), len = 16 * MIB, each = len / page * 8;
	struct ibv_mr *mr[16];
	struct pair p = {};
	unsigned long before;
	void *mem;
	size_t i;

	/* use small pages: each page needs one word in the page list, so the list is long */
	CHECK(!posix_memalign(&mem, page, len), "%m");
	madvise(mem, len, MADV_NOHUGEPAGE);
	memset(mem, 1, len);
	pair_prepare(&p, &(struct opts){});
	before = read_settled_charge();
	for (i = 0; i < ARRAY_SIZE(mr); i++) {
		mr[i] = ibv_reg_mr(p.c.pd, mem, len, RIGHTS_ALL);
		CHECK(mr[i], "%m");
	}
	expect_charged("regions", before, ARRAY_SIZE(mr) * each / 1024);
	for (i = 0; i < ARRAY_SIZE(mr); i++)
		CHECK(!ibv_dereg_mr(mr[i]), "%m");
	free(mem);
	pair_free(&p);
}

/* Open a TCP listener that accepts connections, but never sends an MPA Reply */
static int open_silent_listener(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	CHECK(inet_pton(AF_INET, setting.addr, &at->sin_addr) == 1, "address");
	CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)at, sizeof(*at)), "%m");
	CHECK(!listen(fd, CALLERS) &&
	      !getsockname(fd, (struct sockaddr *)at, &len), "%m");
	return fd;
}

static void expect_cm_event(struct rdma_event_channel *ch,
			    enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;

	CHECK(!rdma_get_cm_event(ch, &ev), "%m");
	CHECK(ev->event == type, "%s", rdma_event_str(ev->event));
	rdma_ack_cm_event(ev);
}

/* Connections that are being set up must be charged; their QPs are charged earlier */
static void starting_connections_are_charged(void)
{
	static struct rdma_cm_id *id[CALLERS];
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct rdma_conn_param param = {};
	struct rdma_event_channel *ch;
	struct sockaddr_in to;
	unsigned long before;
	struct pair p = {};
	int i, fd;

	pair_prepare(&p, &(struct opts){});
	fd = open_silent_listener(&to);
	ch = rdma_create_event_channel();
	CHECK(ch, "%m");
	attr.send_cq = p.c.scq;
	attr.recv_cq = p.c.rcq;
	for (i = 0; i < CALLERS; i++) {
		CHECK(!rdma_create_id(ch, &id[i], NULL, RDMA_PS_TCP), "%m");
		CHECK(!rdma_resolve_addr(id[i], NULL, (struct sockaddr *)&to,
					 2000), "%m");
		expect_cm_event(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
		CHECK(!rdma_resolve_route(id[i], 2000), "%m");
		expect_cm_event(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
		CHECK(!rdma_create_qp(id[i], p.c.pd, &attr), "%m");
	}
	before = read_settled_charge();
	for (i = 0; i < CALLERS; i++)
		CHECK(!rdma_connect(id[i], &param), "%m");
	expect_charged("connections", before, CALLERS * 6);
	for (i = 0; i < CALLERS; i++) {
		rdma_destroy_qp(id[i]);
		CHECK(!rdma_destroy_id(id[i]), "%m");
	}
	close(fd);
	rdma_destroy_event_channel(ch);
	pair_free(&p);
}

/*
 * A worker serves page faults of an ODP MR, and the memory that it allocates must be charged to the
 * program. The Writes access pages that are far apart, so that each page fault needs a new page
 * table of the process and a new table of the driver.
 */
static void page_fault_memory_is_charged(void)
{
	const size_t apart = 512, n = 512;
	unsigned long before;
	struct fixture d;
	size_t i;

	odp_fixture_open_private(&d, apart * n);
	madvise(d.s.at, d.s.len, MADV_NOHUGEPAGE);
	memset(d.c.at, 1, get_page_size());
	before = read_settled_charge();
	for (i = 0; i < n; i++) {
		post_job(&d.p.c, &(struct job){ .id = i, .op = IBV_WR_RDMA_WRITE, .flags = SIG,
			.b = &d.c, .len = 8, .rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)d.s.at + i * apart * get_page_size() });
		expect_success(d.p.c.scq, i, IBV_WC_RDMA_WRITE);
	}
	wait_all_placed_by_read(&d);
	expect_charged("page tables", before, n * 2 * get_page_size() / 1024);
	odp_fixture_close(&d);
}

#define CHARGE(n, fn)	{ .name = n, .run = fn, .seconds = 60, \
			  .shows = "SEC-24", .asked = true }

const struct test charge_tests[] = {
	CHARGE("charge_rings", rings_are_charged),
	CHARGE("charge_windows", windows_are_charged),
	CHARGE("charge_regions", page_lists_are_charged),
	CHARGE("charge_connects", starting_connections_are_charged),
	CHARGE("charge_brought", page_fault_memory_is_charged),
	{}
};
