/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_KUNIT_TEST_H
#define _HOST_KUNIT_TEST_H

/*
 * The part of KUnit that the unit tests use, for a user-space process. Names,
 * arguments and type checks are those of the oldest supported kernel, so that a
 * test which builds with this header also builds with that kernel. Therefore
 * KUNIT_EXPECT_MEMEQ and kunit_add_action are missing.
 */
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

#define KUNIT_PARAM_DESC_SIZE	128

struct kunit {
	void		*priv;
	const void	*param_value;
	/* the following fields are private to the test runner, kunit.c */
	const char	*name;
	const char	*param;
	bool		failed;
	bool		skipped;
	void		*allocated;
};

struct kunit_case {
	void		(*run_case)(struct kunit *test);
	const char	*name;
	const void	*(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char	name[256];
	int		(*suite_init)(struct kunit_suite *suite);
	void		(*suite_exit)(struct kunit_suite *suite);
	int		(*init)(struct kunit *test);
	void		(*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

/* position of an expectation in the source, and its text */
struct kunit_loc {
	const char	*file;
	int		line;
	bool		fatal;
	const char	*text;
};

void host_register_suites(struct kunit_suite *const *suites, size_t n);
void __printf(3, 4) host_fail_case(struct kunit *test, const struct kunit_loc *loc,
				   const char *fmt, ...);
void __printf(2, 3) host_skip_case(struct kunit *test, const char *fmt, ...);
void host_print_values(const char *left, long long l, const char *right,
		       long long r);
void host_abort_case(void) __attribute__((__noreturn__));
void *kunit_kmalloc(struct kunit *test, size_t size, gfp_t gfp);
void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp);

#define KUNIT_CASE(fn)			{ .run_case = fn, .name = #fn }
#define KUNIT_CASE_SLOW(fn)		KUNIT_CASE(fn)
#define KUNIT_CASE_PARAM(fn, gen)	{ .run_case = fn, .name = #fn,	\
					  .generate_params = gen }

#define KUNIT_ARRAY_PARAM(id, array, get_desc)				\
static const void *id##_gen_params(const void *prev, char *desc)	\
{									\
	typeof((array)[0]) *next = prev ? (typeof(next))prev + 1 : (array); \
	void (*describe)(typeof(next), char *) = get_desc;		\
									\
	if (next - (array) >= (ptrdiff_t)ARRAY_SIZE(array))		\
		return NULL;						\
	if (describe)							\
		describe(next, desc);					\
	return next;							\
}

#define kunit_test_suites(suites...)					\
static void __attribute__((constructor)) register_suites(void)		\
{									\
	static struct kunit_suite *const all[] = { suites };		\
									\
	host_register_suites(all, ARRAY_SIZE(all));				\
}
#define kunit_test_suite(suite)	kunit_test_suites(&suite)

#define kunit_kmalloc_array(test, n, size, gfp) \
	kunit_kmalloc(test, (n) * (size), gfp)
#define kunit_kcalloc(test, n, size, gfp) \
	kunit_kzalloc(test, (n) * (size), gfp)

#define kunit_info(test, fmt, ...) \
	printf("    # %s: " fmt "\n", (test)->name, ##__VA_ARGS__)
#define kunit_mark_skipped(test, fmt, ...) \
	host_skip_case(test, fmt, ##__VA_ARGS__)
#define kunit_skip(test, fmt, ...) do {					\
	host_skip_case(test, fmt, ##__VA_ARGS__);				\
	host_abort_case();							\
} while (0)

#define host_fail_at(test, fatal, text, fmt, ...) do {			\
	static const struct kunit_loc _loc = {				\
		__FILE__, __LINE__, fatal, text				\
	};								\
									\
	host_fail_case(test, &_loc, fmt, ##__VA_ARGS__);			\
} while (0)

#define host_unary(test, fatal, cond, text, fmt, ...) do {		\
	if (!(cond))							\
		host_fail_at(test, fatal, text, fmt, ##__VA_ARGS__);	\
} while (0)

#define host_binary(test, fatal, left, op, right, fmt, ...) do {	\
	const typeof(left) _l = (left);					\
	const typeof(right) _r = (right);				\
									\
	if (_l op _r)							\
		break;							\
	host_print_values(#left, _l, #right, _r);				\
	host_fail_at(test, fatal, #left " " #op " " #right, fmt,	\
		     ##__VA_ARGS__);					\
} while (0)

#define host_ptr(test, fatal, left, op, right, fmt, ...) \
	host_unary(test, fatal, (left) op (right), #left " " #op " " #right, \
		   fmt, ##__VA_ARGS__)
#define host_str(test, fatal, left, op, right, fmt, ...) \
	host_unary(test, fatal, strcmp(left, right) op 0, \
		   #left " " #op " " #right, fmt, ##__VA_ARGS__)

#define KUNIT_SUCCEED(test)	do { } while (0)
#define KUNIT_FAIL(test, fmt, ...) \
	host_fail_at(test, false, "not to reach this line", fmt, ##__VA_ARGS__)

/* each macro exists as EXPECT and as ASSERT, with and without _MSG */
#define KUNIT_EXPECT_TRUE_MSG(test, c, fmt, ...) \
	host_unary(test, false, c, #c, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_TRUE(test, c) \
	KUNIT_EXPECT_TRUE_MSG(test, c, NULL)
#define KUNIT_EXPECT_FALSE_MSG(test, c, fmt, ...) \
	host_unary(test, false, !(c), "!(" #c ")", fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_FALSE(test, c) \
	KUNIT_EXPECT_FALSE_MSG(test, c, NULL)
#define KUNIT_EXPECT_NULL_MSG(test, p, fmt, ...) \
	host_unary(test, false, !(p), "!(" #p ")", fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NULL(test, p) \
	KUNIT_EXPECT_NULL_MSG(test, p, NULL)
#define KUNIT_EXPECT_NOT_NULL_MSG(test, p, fmt, ...) \
	host_unary(test, false, p, #p, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NOT_NULL(test, p) \
	KUNIT_EXPECT_NOT_NULL_MSG(test, p, NULL)
#define KUNIT_EXPECT_NOT_ERR_OR_NULL_MSG(test, p, fmt, ...) \
	host_unary(test, false, !IS_ERR_OR_NULL(p), #p, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NOT_ERR_OR_NULL(test, p) \
	KUNIT_EXPECT_NOT_ERR_OR_NULL_MSG(test, p, NULL)
#define KUNIT_EXPECT_EQ_MSG(test, l, r, fmt, ...) \
	host_binary(test, false, l, ==, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_EQ(test, l, r) \
	KUNIT_EXPECT_EQ_MSG(test, l, r, NULL)
#define KUNIT_EXPECT_NE_MSG(test, l, r, fmt, ...) \
	host_binary(test, false, l, !=, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_NE(test, l, r) \
	KUNIT_EXPECT_NE_MSG(test, l, r, NULL)
#define KUNIT_EXPECT_LT_MSG(test, l, r, fmt, ...) \
	host_binary(test, false, l, <, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_LT(test, l, r) \
	KUNIT_EXPECT_LT_MSG(test, l, r, NULL)
#define KUNIT_EXPECT_LE_MSG(test, l, r, fmt, ...) \
	host_binary(test, false, l, <=, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_LE(test, l, r) \
	KUNIT_EXPECT_LE_MSG(test, l, r, NULL)
#define KUNIT_EXPECT_GT_MSG(test, l, r, fmt, ...) \
	host_binary(test, false, l, >, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_GT(test, l, r) \
	KUNIT_EXPECT_GT_MSG(test, l, r, NULL)
#define KUNIT_EXPECT_GE_MSG(test, l, r, fmt, ...) \
	host_binary(test, false, l, >=, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_GE(test, l, r) \
	KUNIT_EXPECT_GE_MSG(test, l, r, NULL)
#define KUNIT_EXPECT_PTR_EQ_MSG(test, l, r, fmt, ...) \
	host_ptr(test, false, l, ==, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_PTR_EQ(test, l, r) \
	KUNIT_EXPECT_PTR_EQ_MSG(test, l, r, NULL)
#define KUNIT_EXPECT_PTR_NE_MSG(test, l, r, fmt, ...) \
	host_ptr(test, false, l, !=, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_PTR_NE(test, l, r) \
	KUNIT_EXPECT_PTR_NE_MSG(test, l, r, NULL)
#define KUNIT_EXPECT_STREQ_MSG(test, l, r, fmt, ...) \
	host_str(test, false, l, ==, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_STREQ(test, l, r) \
	KUNIT_EXPECT_STREQ_MSG(test, l, r, NULL)
#define KUNIT_EXPECT_STRNEQ_MSG(test, l, r, fmt, ...) \
	host_str(test, false, l, !=, r, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_STRNEQ(test, l, r) \
	KUNIT_EXPECT_STRNEQ_MSG(test, l, r, NULL)

#define KUNIT_ASSERT_TRUE_MSG(test, c, fmt, ...) \
	host_unary(test, true, c, #c, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_TRUE(test, c) \
	KUNIT_ASSERT_TRUE_MSG(test, c, NULL)
#define KUNIT_ASSERT_FALSE_MSG(test, c, fmt, ...) \
	host_unary(test, true, !(c), "!(" #c ")", fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_FALSE(test, c) \
	KUNIT_ASSERT_FALSE_MSG(test, c, NULL)
#define KUNIT_ASSERT_NULL_MSG(test, p, fmt, ...) \
	host_unary(test, true, !(p), "!(" #p ")", fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NULL(test, p) \
	KUNIT_ASSERT_NULL_MSG(test, p, NULL)
#define KUNIT_ASSERT_NOT_NULL_MSG(test, p, fmt, ...) \
	host_unary(test, true, p, #p, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NOT_NULL(test, p) \
	KUNIT_ASSERT_NOT_NULL_MSG(test, p, NULL)
#define KUNIT_ASSERT_NOT_ERR_OR_NULL_MSG(test, p, fmt, ...) \
	host_unary(test, true, !IS_ERR_OR_NULL(p), #p, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p) \
	KUNIT_ASSERT_NOT_ERR_OR_NULL_MSG(test, p, NULL)
#define KUNIT_ASSERT_EQ_MSG(test, l, r, fmt, ...) \
	host_binary(test, true, l, ==, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_EQ(test, l, r) \
	KUNIT_ASSERT_EQ_MSG(test, l, r, NULL)
#define KUNIT_ASSERT_NE_MSG(test, l, r, fmt, ...) \
	host_binary(test, true, l, !=, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_NE(test, l, r) \
	KUNIT_ASSERT_NE_MSG(test, l, r, NULL)
#define KUNIT_ASSERT_LT_MSG(test, l, r, fmt, ...) \
	host_binary(test, true, l, <, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_LT(test, l, r) \
	KUNIT_ASSERT_LT_MSG(test, l, r, NULL)
#define KUNIT_ASSERT_LE_MSG(test, l, r, fmt, ...) \
	host_binary(test, true, l, <=, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_LE(test, l, r) \
	KUNIT_ASSERT_LE_MSG(test, l, r, NULL)
#define KUNIT_ASSERT_GT_MSG(test, l, r, fmt, ...) \
	host_binary(test, true, l, >, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_GT(test, l, r) \
	KUNIT_ASSERT_GT_MSG(test, l, r, NULL)
#define KUNIT_ASSERT_GE_MSG(test, l, r, fmt, ...) \
	host_binary(test, true, l, >=, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_GE(test, l, r) \
	KUNIT_ASSERT_GE_MSG(test, l, r, NULL)
#define KUNIT_ASSERT_PTR_EQ_MSG(test, l, r, fmt, ...) \
	host_ptr(test, true, l, ==, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_PTR_EQ(test, l, r) \
	KUNIT_ASSERT_PTR_EQ_MSG(test, l, r, NULL)
#define KUNIT_ASSERT_PTR_NE_MSG(test, l, r, fmt, ...) \
	host_ptr(test, true, l, !=, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_PTR_NE(test, l, r) \
	KUNIT_ASSERT_PTR_NE_MSG(test, l, r, NULL)
#define KUNIT_ASSERT_STREQ_MSG(test, l, r, fmt, ...) \
	host_str(test, true, l, ==, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_STREQ(test, l, r) \
	KUNIT_ASSERT_STREQ_MSG(test, l, r, NULL)
#define KUNIT_ASSERT_STRNEQ_MSG(test, l, r, fmt, ...) \
	host_str(test, true, l, !=, r, fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_STRNEQ(test, l, r) \
	KUNIT_ASSERT_STRNEQ_MSG(test, l, r, NULL)

#endif
