// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Creating and destroying an object must cost as much with many objects on the
 * device as with none.  Both costs are measured alternately, so that other load
 * affects both in the same way.
 */
#define _GNU_SOURCE
#include <time.h>

#include "verbs.h"

#define MANY	32000
#define LOOKS	301

/* Times to create and to destroy a CQ of a device, in ns */
struct looks {
	struct ibv_context	*ctx;
	uint64_t		make[LOOKS], destroy[LOOKS];
};

/* CLOCK_MONOTONIC, because User-Mode Linux counts a thread's CPU time in ticks */
static uint64_t read_clock_ns(void)
{
	struct timespec t;

	CHECK(!clock_gettime(CLOCK_MONOTONIC, &t), "%m");
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static struct ibv_cq *create_cq(struct ibv_context *ctx)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);

	CHECK(cq, "%m");
	return cq;
}

static void measure_cq_cost(struct looks *l, int i)
{
	uint64_t begun = read_clock_ns(), made;
	struct ibv_cq *cq = create_cq(l->ctx);

	made = read_clock_ns();
	CHECK(!ibv_destroy_cq(cq), "%m");
	l->make[i] = made - begun;
	l->destroy[i] = read_clock_ns() - made;
}

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t get_median(uint64_t *of)
{
	qsort(of, LOOKS, sizeof(*of), compare_values);
	return of[LOOKS / 2];
}

/*
 * Check that the median costs are equal. The limit of 1.5 is above random
 * variation, and far below the cost of a walk through all objects.
 */
static void check_same_cost(const char *what, uint64_t *many, uint64_t *none)
{
	uint64_t a = get_median(many), b = get_median(none);

	printf("# %s: %llu ns with %d, %llu ns with none\n", what,
	       (unsigned long long)a, MANY, (unsigned long long)b);
	CHECK(a * 2 < b * 3, "%s must not cost more with many", what);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	CHECK(ctx, "%s: %m", name);
	ibv_free_device_list(list);
	return ctx;
}

static void cq_cost_is_independent_of_count(void)
{
	static struct ibv_cq *made[MANY];
	static struct looks many, none;
	int i;

	many.ctx = open_device(getenv("T_MANY"));
	none.ctx = open_device(getenv("T_NONE"));
	for (i = 0; i < MANY; i++)
		made[i] = create_cq(many.ctx);
	for (i = 0; i < LOOKS; i++) {
		measure_cq_cost(&many, i);
		measure_cq_cost(&none, i);
	}
	check_same_cost("creating a CQ", many.make, none.make);
	check_same_cost("destroying a CQ", many.destroy, none.destroy);
	for (i = 0; i < MANY; i++)
		CHECK(!ibv_destroy_cq(made[i]), "%m");
	CHECK(!ibv_close_device(many.ctx) && !ibv_close_device(none.ctx), "%m");
}

const struct test cost_tests[] = {
	{ .name = "cost_cqs", .run = cq_cost_is_independent_of_count, .seconds = 300, .shows = "",
	  .asked = true },
	{}
};
