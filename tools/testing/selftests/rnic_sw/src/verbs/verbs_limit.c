// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Limits on the number of objects: limits of the device, and limits of a control group. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/wait.h>

#include "verbs.h"

/* A kind of object that is limited */
struct kind {
	void	*(*make)(struct end *e);
	int	(*destroy)(void *o);
	size_t	most;		/* offset of its limit in struct ibv_device_attr */
};

static void *make_pd(struct end *e)
{
	return ibv_alloc_pd(e->id->verbs);
}

static int destroy_pd(void *pd)
{
	return ibv_dealloc_pd(pd);
}

static void *make_cq(struct end *e)
{
	return ibv_create_cq(e->id->verbs, 1, NULL, NULL, 0);
}

static int destroy_cq(void *cq)
{
	return ibv_destroy_cq(cq);
}

static void *make_qp(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = e->scq, .recv_cq = e->rcq,
		.cap = { 1, 1, 1, 1, 0 },
	};

	return ibv_create_qp(e->pd, &attr);
}

static int destroy_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

static void *make_srq(struct end *e)
{
	struct ibv_srq_init_attr attr = { .attr = { 1, 1, 0 } };

	return ibv_create_srq(e->pd, &attr);
}

static int destroy_srq(void *srq)
{
	return ibv_destroy_srq(srq);
}

static void *make_mr(struct end *e)
{
	return ibv_reg_mr(e->pd, e, sizeof(*e), 0);
}

static int destroy_mr(void *mr)
{
	return ibv_dereg_mr(mr);
}

static void *make_mw(struct end *e)
{
	return ibv_alloc_mw(e->pd, IBV_MW_TYPE_2);
}

static int destroy_mw(void *mw)
{
	return ibv_dealloc_mw(mw);
}

#define MOST(field)	offsetof(struct ibv_device_attr, field)

static const struct kind pds = { make_pd, destroy_pd, MOST(max_pd) };
static const struct kind cqs = { make_cq, destroy_cq, MOST(max_cq) };
static const struct kind qps = { make_qp, destroy_qp, MOST(max_qp) };
static const struct kind srqs = { make_srq, destroy_srq, MOST(max_srq) };
static const struct kind mrs = { make_mr, destroy_mr, MOST(max_mr) };
static const struct kind mws = { make_mw, destroy_mw, MOST(max_mw) };

/* Check whether an object can be created and destroyed */
static bool create_and_destroy_one(const struct kind *k, struct end *e)
{
	void *o = k->make(e);

	return o && !k->destroy(o);
}

/* The device must provide as many objects as it reports, and no more */
static void create_objects_up_to_limit(struct end *e, const struct kind *k, int most)
{
	void **made;
	int n;

	CHECK(most > 0 && most <= 1 << 18, "%d", most);
	made = calloc(most + 1, sizeof(*made));
	CHECK(made, "%m");
	for (n = 0; n <= most; n++) {
		made[n] = k->make(e);
		if (!made[n])
			break;
	}
	CHECK(n <= most && errno == ENOMEM, "%d of %d: %m", n, most);
	/* the limit also counts a few objects that existed before */
	CHECK(n > most - 64, "%d of %d", n, most);
	while (n)
		CHECK(!k->destroy(made[--n]), "%m");
	CHECK(create_and_destroy_one(k, e), "%m");
	free(made);
}

static void create_objects_up_to_device_limit(const struct kind *k)
{
	struct ibv_device_attr dev;
	struct pair p = {};

	pair_prepare(&p, &(struct opts){});
	CHECK(!ibv_query_device(p.c.id->verbs, &dev), "%m");
	CHECK(dev.page_size_cap == ~(uint64_t)4095, "%llx",
	      (unsigned long long)dev.page_size_cap);
	create_objects_up_to_limit(&p.c, k, *(int *)((char *)&dev + k->most));
	pair_free(&p);
}

static void test_limit_pds(void)
{
	create_objects_up_to_device_limit(&pds);
}

static void srqs_are_limited(void)
{
	create_objects_up_to_device_limit(&srqs);
}

static void mrs_are_limited(void)
{
	create_objects_up_to_device_limit(&mrs);
}

static void mws_are_limited(void)
{
	create_objects_up_to_device_limit(&mws);
}

/* Limit the objects of the program's control group: a number, or "max" */
static void set_group_limit(const struct ibv_context *ctx, const char *n)
{
	const char *group = getenv("T_GROUP");
	char path[256];
	FILE *f;

	if (!group)
		skip("set T_GROUP to the directory of a control group");
	snprintf(path, sizeof(path), "%s/rdma.max", group);
	f = fopen(path, "w");
	CHECK(f, "%s: %m", path);
	fprintf(f, "%s hca_object=%s\n", ibv_get_device_name(ctx->device), n);
	CHECK(!fclose(f), "%s: %m", path);
}

/* The kernel must enforce the limit of the control group for each kind of object */
static void control_group_limits_objects(void)
{
	static const struct kind *const kinds[] = {
		&pds, &cqs, &qps, &srqs, &mrs, &mws,
	};
	struct pair p = {};
	size_t i;

	pair_prepare(&p, &(struct opts){});
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		set_group_limit(p.c.id->verbs, "0");
		errno = 0;
		CHECK(!create_and_destroy_one(kinds[i], &p.c), "%zu: must be refused", i);
		CHECK(errno == EAGAIN, "%zu: %m", i);
		set_group_limit(p.c.id->verbs, "max");
		CHECK(create_and_destroy_one(kinds[i], &p.c), "%zu: %m", i);
	}
	pair_free(&p);
}

/* Use several processes, because the number of mappings of one process is limited */
#define HOLDERS	8

struct held {
	int	made;
	int	error;		/* errno of the failure; 0: all requested CQs were created */
};

/* In a separate process: create @want CQs, report how many were created, and keep them */
static void create_cqs_and_wait(struct ibv_device *dev, int want, int tell, int wait)
{
	struct ibv_context *ctx = ibv_open_device(dev);
	struct ibv_cq **cq = calloc(want, sizeof(struct ibv_cq *));
	struct held h = {};
	char c;

	CHECK(ctx && cq, "%m");
	for (; h.made < want && !h.error; h.made += !h.error) {
		cq[h.made] = ibv_create_cq(ctx, 1, NULL, NULL, 0);
		if (!cq[h.made])
			h.error = errno;
	}
	CHECK(write(tell, &h, sizeof(h)) == sizeof(h), "%m");
	CHECK(read(wait, &c, 1) == 0, "the pipe must be at its end");
	while (h.made)
		CHECK(!ibv_destroy_cq(cq[--h.made]), "%m");
	CHECK(!ibv_close_device(ctx), "%m");
	_exit(0);
}

/* Start processes that together want a few more CQs than the limit */
static void start_cq_holders(struct ibv_device *dev, int most, int tell[2],
			     int wait[2])
{
	int i;

	for (i = 0; i < HOLDERS; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0, "%m");
		if (pid)
			continue;
		close(wait[1]);
		create_cqs_and_wait(dev, most / HOLDERS + 8, tell[1], wait[0]);
	}
	close(tell[1]);
}

static int read_and_sum_held_cqs(int from, int *refused)
{
	int i, sum = 0;
	struct held h;

	for (i = 0; i < HOLDERS; i++) {
		CHECK(read(from, &h, sizeof(h)) == sizeof(h), "%m");
		sum += h.made;
		CHECK(!h.error || h.error == ENOMEM, "%s", strerror(h.error));
		*refused += !!h.error;
	}
	return sum;
}

/* The device must provide as many CQs as it reports, and no more */
static void cqs_are_limited(void)
{
	int tell[2], wait_for[2], i, n, status, refused = 0;
	struct ibv_device_attr dev;
	struct pair p = {};

	CHECK(!pipe(tell) && !pipe(wait_for), "%m");
	pair_prepare(&p, &(struct opts){});
	CHECK(!ibv_query_device(p.c.id->verbs, &dev), "%m");
	start_cq_holders(p.c.id->verbs->device, dev.max_cq, tell, wait_for);
	n = read_and_sum_held_cqs(tell[0], &refused);
	/* the limit also counts a few CQs that existed before */
	CHECK(n < dev.max_cq && n > dev.max_cq - 64, "%d of %d", n, dev.max_cq);
	CHECK(refused > 0, "at least one must be refused");
	CHECK(!create_and_destroy_one(&cqs, &p.c) && errno == ENOMEM, "%m");
	close(wait_for[1]);
	for (i = 0; i < HOLDERS; i++) {
		CHECK(wait(&status) > 0, "%m");
		CHECK(!status, "ended with %#x", status);
	}
	CHECK(create_and_destroy_one(&cqs, &p.c), "%m");
	pair_free(&p);
}

/* Return: KiB of pages that belong to no process, slab, page table or stack */
static long read_kernel_pages_kib(void)
{
	static const char *const others[] = {
		"MemFree:", "Cached:", "Buffers:", "AnonPages:", "Slab:",
		"PageTables:", "KernelStack:", "Percpu:",
	};
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128], name[64];
	long n = 0, kib;
	size_t i;

	CHECK(f, "%m");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %ld", name, &kib) != 2)
			continue;
		if (!strcmp(name, "MemTotal:"))
			n += kib;
		for (i = 0; i < ARRAY_SIZE(others); i++)
			if (!strcmp(name, others[i]))
				n -= kib;
	}
	fclose(f);
	return n;
}

#define PAIRS		128
#define PAIR_PAGES	48	/* KiB per connection: 16 for the rings, and 32 as a margin */

/*
 * An established connection must use few pages besides its rings: no socket may keep the buffer of
 * its start-up frame
 */
static void test_pair_pages(void)
{
	static struct pair p[PAIRS];
	long before, each = 0;
	int i;

	/* in these kernels TCP copies data into pages that a socket keeps */
	if (is_kernel_before(6, 5))
		skip("TCP of this kernel copies data into pages of the socket");
	pair_open(&p[0], &(struct opts){ .sq = 16, .rq = 16 });
	before = read_kernel_pages_kib();
	for (i = 1; i < PAIRS; i++)
		pair_open_like(&p[i], &p[0]);
	/* retry, because TCP keeps data until the peer acknowledges it */
	for (i = 0; i < 100; i++) {
		each = (read_kernel_pages_kib() - before) / (PAIRS - 1);
		if (each < PAIR_PAGES)
			break;
		sleep_ms(100);
	}
	printf("# %ld KiB for each connection\n", each);
	CHECK(each < PAIR_PAGES, "%ld KiB for each connection", each);
	for (i = PAIRS - 1; i >= 0; i--)
		pair_close(&p[i]);
}

const struct test limit_tests[] = {
	CASE("pair_pages", test_pair_pages, 60, ""),
	CASE("limit_pds", test_limit_pds, 60, "RDMAP-185 SEC-24"),
	{ .name = "limit_srqs", .run = srqs_are_limited, .seconds = 300,
	  .shows = "RDMAP-185 SEC-24", .asked = true },
	{ .name = "limit_mrs", .run = mrs_are_limited, .seconds = 600,
	  .shows = "RDMAP-185 SEC-24", .asked = true },
	{ .name = "limit_mws", .run = mws_are_limited, .seconds = 600,
	  .shows = "RDMAP-185 SEC-24", .asked = true },
	{ .name = "limit_cqs", .run = cqs_are_limited, .seconds = 300,
	  .shows = "RDMAP-185 SEC-24", .asked = true },
	{ .name = "limit_objects", .run = control_group_limits_objects,
	  .shows = "DDP-121 DDP-131 RDMAP-185 SEC-5 SEC-24 SEC-30", .asked = true },
	{}
};
