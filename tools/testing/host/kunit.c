// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test runner: runs the registered suites and prints KTAP, one line for each case. */
#include <kunit/test.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SUITES_MAX	128

struct block {
	struct block *next;
	max_align_t data[];
};

static struct kunit_suite *suites[SUITES_MAX];
static size_t suites_nr;
static jmp_buf out_of_case;
static unsigned int passed, failed, skipped;

/* counts that the stubs of the unit tests maintain, see unit/linux/held.h */
_Thread_local int host_held, host_reads, host_bh_off;
/* number of calls of get_random_once(), see unit/linux/once.h */
_Thread_local int host_seeds;

void host_register_suites(struct kunit_suite *const *s, size_t n)
{
	while (n--) {
		if (suites_nr == SUITES_MAX)
			abort();
		suites[suites_nr++] = *s++;
	}
}

void host_abort_case(void)
{
	longjmp(out_of_case, 1);
}

void host_print_values(const char *left, long long l, const char *right,
		       long long r)
{
	printf("    # %s: %lld (0x%llx), %s: %lld (0x%llx)\n", left, l, l,
	       right, r, r);
}

void host_fail_case(struct kunit *test, const struct kunit_loc *loc,
		    const char *fmt, ...)
{
	va_list args;

	test->failed = true;
	printf("    # %s%s%s: failed at %s:%d\n    # expected %s\n", test->name,
	       *test->param ? " " : "", test->param, loc->file, loc->line,
	       loc->text);
	if (fmt) {
		printf("    # ");
		va_start(args, fmt);
		vprintf(fmt, args);
		va_end(args);
		printf("\n");
	}
	if (loc->fatal)
		host_abort_case();
}

void host_skip_case(struct kunit *test, const char *fmt, ...)
{
	va_list args;

	test->skipped = true;
	printf("    # %s: ", test->name);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

void *kunit_kmalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	struct block *b = malloc(sizeof(*b) + size);

	if (!b)
		abort();
	b->next = test->allocated;
	test->allocated = b;
	return b->data;
}

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	return memset(kunit_kmalloc(test, size, gfp), 0, size);
}

static void free_allocations(struct kunit *test)
{
	struct block *b, *next;

	for (b = test->allocated; b; b = next) {
		next = b->next;
		free(b);
	}
	test->allocated = NULL;
}

/*
 * Run a case once; a case with parameters is run once for each of them. Fail the
 * case if it ends inside a lock, an RCU read-side section or a BH-off section.
 */
static void run_case_once(struct kunit_suite *s, struct kunit_case *c,
			  struct kunit *test)
{
	test->priv = NULL;
	if (!setjmp(out_of_case)) {
		if (s->init && s->init(test))
			test->failed = true;
		else
			c->run_case(test);
	}
	if (s->exit && !setjmp(out_of_case))
		s->exit(test);
	free_allocations(test);
	if (host_held || host_reads || host_bh_off) {
		printf("    # %s: ends with %d locks, %d readers, BH off %d times\n",
		       test->name, host_held, host_reads, host_bh_off);
		test->failed = true;
	}
	host_held = 0;
	host_reads = 0;
	host_bh_off = 0;
}

static void run_case_with_params(struct kunit_suite *s, struct kunit_case *c,
				 struct kunit *test)
{
	char desc[KUNIT_PARAM_DESC_SIZE] = "";
	const void *p = NULL;

	test->param = desc;
	if (!c->generate_params) {
		run_case_once(s, c, test);
		return;
	}
	while ((p = c->generate_params(p, desc))) {
		test->param_value = p;
		run_case_once(s, c, test);
		desc[0] = 0;
	}
}

static void run_case(struct kunit_suite *s, struct kunit_case *c)
{
	struct kunit test = { .name = c->name };

	run_case_with_params(s, c, &test);
	if (test.failed)
		failed++;
	else if (test.skipped)
		skipped++;
	else
		passed++;
	printf("%s %u - %s.%s%s\n", test.failed ? "not ok" : "ok",
	       passed + failed + skipped, s->name, c->name,
	       test.skipped ? " # SKIP" : "");
	fflush(stdout);
}

static void run_suite(struct kunit_suite *s, const char *filter)
{
	struct kunit_case *c;
	char full[512];

	if (s->suite_init && s->suite_init(s)) {
		printf("not ok - %s: suite_init\n", s->name);
		failed++;
		return;
	}
	for (c = s->test_cases; c->run_case; c++) {
		snprintf(full, sizeof(full), "%s.%s", s->name, c->name);
		if (!fnmatch(filter, full, 0))
			run_case(s, c);
	}
	if (s->suite_exit)
		s->suite_exit(s);
}

int main(int argc, char **argv)
{
	size_t i;

	printf("KTAP version 1\n");
	for (i = 0; i < suites_nr; i++)
		run_suite(suites[i], argc > 1 ? argv[1] : "*");
	printf("1..%u\n", passed + failed + skipped);
	printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	/* a run without any test is a failure */
	return failed || !passed;
}
