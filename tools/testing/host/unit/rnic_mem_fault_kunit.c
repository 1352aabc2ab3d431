// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/mem_fault.c: limits on the number of processes with
 * ODP MRs.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <ddp/mem.h>
#include <rdma/uverbs_ioctl.h>

struct ib_device_attr;

#include "../../../../drivers/rnic_sw/mem_fault.h"
#include "../../../../drivers/rnic_sw/rnic.h"

#define MOST	4096	/* processes in all */
#define EACH	1024	/* processes of a user */

/* The caller ------------------------------------------------------------------- */

struct mm_struct { int held; };

static struct {
	bool			privileged;
	struct mm_struct	*mm;
	struct mm_struct	mms[MOST + 8];
	struct rnic_unpinned	b[MOST + 8];
	struct work_struct	*ended;
	bool			no_queues;
	int			waited;
	int			max_active;	/* concurrency limit of the last workqueue */
	void			(*while_making)(void);
} stubs;

static struct user_namespace first;
struct cred host_caller;

bool capable(int cap)
{
	return stubs.privileged;
}

#undef current
#define current			(&stubs)
#define mmgrab(mm)		((void)(mm)->held++)
#define mmdrop(mm)		((void)(mm)->held--)
#define try_module_get(m)	true
#define module_put(m)		((void)(m))
#define wait_for_completion_timeout(c, t)	((void)(t), (c)->done)

/* Stand-in for xarrays; the indices are addresses here -------------------------- */

static struct table {
	struct { unsigned long id; void *at; } row[MOST + 8];
	int rows;
	int held;
} tables[2];

#define XA_FLAGS_ACCOUNT	0
#define DEFINE_XARRAY_FLAGS(name, flags)	\
	struct table *const name = &tables[__COUNTER__]
#define xa_lock(t)		host_mark_lock_taken(&(*(t))->held)
#define xa_unlock(t)		host_mark_lock_released(&(*(t))->held)
#define xa_load(t, id)		table_load(*(t), id)
#define xa_insert(t, id, at, gfp)	(table_swap(*(t), id, NULL, at) ? -EBUSY : 0)
#undef __xa_erase
#define __xa_erase(t, id)	((void)table_swap(*(t), id, table_load(*(t), id), NULL))
#define xa_cmpxchg(t, id, was, at, gfp)	table_swap(*(t), id, was, at)
#define xa_is_err(at)		((void)(at), false)

static int find_row(const struct table *t, unsigned long id)
{
	int i;

	for (i = 0; i < t->rows && t->row[i].id != id; i++)
		;
	return i;
}

static inline void *table_load(const struct table *t, unsigned long id)
{
	int i = find_row(t, id);

	return i < t->rows ? t->row[i].at : NULL;
}

/*
 * Replace the entry @was with @at; change nothing if the entry is not @was. Return:
 * the previous entry.
 */
static inline void *table_swap(struct table *t, unsigned long id, void *was, void *at)
{
	void *now = table_load(t, id);
	int i = find_row(t, id);

	if (now != was)
		return now;
	if (!at)
		t->row[i] = t->row[--t->rows];
	else
		t->row[i] = (typeof(t->row[i])){ id, at };
	t->rows += i == t->rows && at;
	return now;
}

/*
 * Stub of the workqueues of a process. While one is created, the function in
 * while_making runs, for example to create an MR in another process.
 */

struct workqueue_struct { int unused; };

static void run_other_process(void)
{
	void (*then)(void) = stubs.while_making;

	stubs.while_making = NULL;
	if (then)
		then();
}

static struct workqueue_struct *make_workqueue(int max_active)
{
	static struct workqueue_struct any;

	stubs.max_active = max_active;
	run_other_process();
	return stubs.no_queues ? NULL : &any;
}

/* Stub of a killable wait: a caller that would have to wait is killed, and gets -EINTR */
static int wait_killable_stub(const struct completion *c)
{
	stubs.waited += !c->done;
	return c->done ? 0 : -EINTR;
}

#define wait_for_completion_killable(c)	wait_killable_stub(c)

static bool queue_end_work(struct work_struct *w)
{
	stubs.ended = w;
	return true;
}

#undef alloc_workqueue
#define alloc_workqueue(name, flags, n)	make_workqueue(n)
#undef queue_work
#define queue_work(q, w)	((void)(q), queue_end_work(w))

#include "../../../../drivers/rnic_sw/mem_fault.c"

void ddp_fault_complete(struct ddp_fault *w, bool denied) {}

/* Cases ------------------------------------------------------------------------- */

static const struct rnic_unpinned_ops kind;

static void become_user(u32 uid)
{
	host_caller = (struct cred){ { uid }, &first };
	stubs.privileged = !uid;
}

static void run_end_work(void)
{
	struct work_struct *w = stubs.ended;

	stubs.ended = NULL;
	if (w)
		w->func(w);
}

/* Create an MR of process @i; release what was created if that fails */
static int create_mr(int i)
{
	int err;

	stubs.mm = &stubs.mms[i];
	err = rnic_unpinned_init(&stubs.b[i], &kind, NULL, 0x1000, 0x1000);
	run_end_work();
	return err;
}

static void destroy_mr(int i)
{
	if (stubs.b[i].owner)
		rnic_unpinned_teardown(&stubs.b[i]);
	stubs.b[i].owner = NULL;
	run_end_work();
}

/*
 * Create an MR in each of @n processes, starting with number @i, until one is
 * refused. Return: the number of the refused process, or @i + @n.
 */
static int create_mrs(int i, int n)
{
	for (; n && !create_mr(i); n--)
		i++;
	return i;
}

static void destroy_mrs(int from, int to)
{
	while (to > from)
		destroy_mr(--to);
}

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	become_user(1000);
	return 0;
}

static void test_exit(struct kunit *test)
{
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, host_allocations);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&nr_owners));
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		KUNIT_EXPECT_EQ(test, 0, tables[i].rows);
	for (i = 0; i < ARRAY_SIZE(stubs.mms); i++)
		KUNIT_EXPECT_EQ(test, 0, stubs.mms[i].held);
}

/* A user has a quota of processes with ODP MRs; further MRs of a process do not count */
static void user_has_process_quota(struct kunit *test)
{
	struct rnic_unpinned more = {};

	KUNIT_EXPECT_EQ(test, EACH, create_mrs(0, EACH + 1));
	KUNIT_EXPECT_EQ(test, -ENOMEM, create_mr(EACH));
	stubs.mm = &stubs.mms[3];
	KUNIT_EXPECT_EQ(test, 0, rnic_unpinned_init(&more, &kind, NULL, 0, 1));
	rnic_unpinned_teardown(&more);
	become_user(1001);
	KUNIT_EXPECT_EQ(test, 0, create_mr(EACH));
	become_user(1000);
	destroy_mr(7);
	KUNIT_EXPECT_EQ(test, 0, create_mr(7));
	KUNIT_EXPECT_EQ(test, -ENOMEM, create_mr(EACH + 1));
	destroy_mrs(0, EACH + 1);
}

/*
 * While a user has 32 processes with ODP MRs, the workqueue of a further process
 * has one thread instead of 16
 */
static void new_workqueue_is_small_with_many_processes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 32, create_mrs(0, 32));
	KUNIT_EXPECT_EQ(test, 16, stubs.max_active);
	KUNIT_EXPECT_EQ(test, 0, create_mr(32));
	KUNIT_EXPECT_EQ(test, 1, stubs.max_active);
	become_user(1001);
	KUNIT_EXPECT_EQ(test, 0, create_mr(33));
	KUNIT_EXPECT_EQ(test, 16, stubs.max_active);
	destroy_mr(33);
	become_user(1000);
	destroy_mr(3);
	destroy_mr(4);
	KUNIT_EXPECT_EQ(test, 0, create_mr(3));
	KUNIT_EXPECT_EQ(test, 16, stubs.max_active);
	destroy_mrs(0, 33);
}

/* A privileged user has no quota, but the overall limit applies */
static void overall_limit_applies_to_root(struct kunit *test)
{
	become_user(0);
	KUNIT_EXPECT_EQ(test, MOST, create_mrs(0, MOST + 1));
	become_user(1000);
	KUNIT_EXPECT_EQ(test, -ENOMEM, create_mr(MOST));
	destroy_mr(0);
	KUNIT_EXPECT_EQ(test, 0, create_mr(0));
	destroy_mrs(0, MOST);
}

/*
 * A process is uncharged from the user that was charged for it, even if the
 * caller's user has changed
 */
static void charged_user_is_uncharged(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, EACH, create_mrs(0, EACH));
	become_user(1001);
	destroy_mr(0);
	become_user(1000);
	KUNIT_EXPECT_EQ(test, 0, create_mr(0));
	destroy_mrs(0, EACH);
}

/*
 * Processes in a user namespace, and in namespaces nested in it, are charged to
 * the owner of the outermost of these namespaces
 */
static void nested_userns_is_charged_to_owner(struct kunit *test)
{
	struct user_namespace outer = { .parent = &first, .owner = { 1000 } };
	struct user_namespace inner = { .parent = &outer, .owner = { 100000 } };

	KUNIT_EXPECT_EQ(test, 500, create_mrs(0, 500));
	become_user(100001);
	host_caller.ns = &outer;
	KUNIT_EXPECT_EQ(test, 1000, create_mrs(500, 500));
	become_user(100002);
	host_caller.ns = &inner;
	KUNIT_EXPECT_EQ(test, EACH, create_mrs(1000, 500));
	become_user(100002);
	KUNIT_EXPECT_EQ(test, 0, create_mr(EACH));
	destroy_mrs(0, EACH + 1);
}

/*
 * A user namespace of root that maps UID 0 to another UID has its own quota,
 * which the namespaces nested in it share
 */
static void mapped_root_has_own_quota(struct kunit *test)
{
	struct user_namespace one = { .parent = &first, .root = { 100000 } };
	struct user_namespace two = { .parent = &first, .root = { 200000 } };
	struct user_namespace within = { .parent = &one, .owner = { 100000 } };
	struct user_namespace same = { .parent = &first };
	struct user_namespace none = { .parent = &first, .root = { -1 } };

	become_user(100005);
	host_caller.ns = &one;
	KUNIT_EXPECT_EQ(test, EACH - 1, create_mrs(0, EACH - 1));
	host_caller.ns = &within;
	KUNIT_EXPECT_EQ(test, EACH, create_mrs(EACH - 1, 2));
	become_user(200005);
	host_caller.ns = &two;
	KUNIT_EXPECT_EQ(test, 2 * EACH, create_mrs(EACH, EACH + 1));
	/* processes in a namespace that maps UID 0 to root, or to no UID, are charged to root */
	become_user(0);
	stubs.privileged = false;
	host_caller.ns = &same;
	KUNIT_EXPECT_EQ(test, 3 * EACH - 1, create_mrs(2 * EACH, EACH - 1));
	host_caller.ns = &none;
	KUNIT_EXPECT_EQ(test, 3 * EACH, create_mrs(3 * EACH - 1, 2));
	destroy_mrs(0, 3 * EACH);
}

static void create_mr_of_other_process(void)
{
	create_mr(MOST + 1);
}

/* If two callers concurrently exceed the overall limit, one of them succeeds */
static void overall_limit_admits_one_of_two_callers(struct kunit *test)
{
	become_user(0);
	KUNIT_EXPECT_EQ(test, MOST - 1, create_mrs(0, MOST - 1));
	stubs.while_making = create_mr_of_other_process;
	KUNIT_EXPECT_EQ(test, 0, create_mr(MOST - 1));
	KUNIT_EXPECT_PTR_EQ(test, NULL, stubs.b[MOST + 1].owner);
	KUNIT_EXPECT_EQ(test, MOST, atomic_read(&nr_owners));
	destroy_mrs(0, MOST);
}

static void create_second_mr(void)
{
	stubs.mm = &stubs.mms[0];
	rnic_unpinned_init(&stubs.b[1], &kind, NULL, 0, 1);
}

/* If only one process is left in the quota, two threads of that process can both create MRs */
static void two_threads_share_last_process_of_quota(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, EACH + 1, create_mrs(2, EACH - 1));
	stubs.while_making = create_second_mr;
	KUNIT_EXPECT_EQ(test, 0, create_mr(0));
	/* the second thread waits instead of failing */
	KUNIT_EXPECT_EQ(test, 1, stubs.waited);
	create_second_mr();
	KUNIT_EXPECT_PTR_EQ(test, stubs.b[0].owner, stubs.b[1].owner);
	destroy_mrs(0, EACH + 1);
}

static void create_second_mr_then_fail(void)
{
	create_second_mr();
	stubs.no_queues = true;
}

/*
 * If one thread fails to create the workqueues, a thread that waits for them
 * fails too, no process is charged, and the next MR creates the workqueues
 */
static void failed_workqueue_fails_waiters(struct kunit *test)
{
	stubs.while_making = create_second_mr_then_fail;
	KUNIT_EXPECT_EQ(test, -ENOMEM, create_mr(0));
	KUNIT_EXPECT_EQ(test, 1, stubs.waited);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&nr_owners));
	stubs.no_queues = false;
	KUNIT_EXPECT_EQ(test, 0, create_mr(0));
	destroy_mrs(0, 1);
}

/* Two threads of a process are charged once; a failed creation is not charged */
static void process_is_charged_once(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, create_mr(0));
	create_second_mr();
	KUNIT_EXPECT_PTR_EQ(test, stubs.b[0].owner, stubs.b[1].owner);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&nr_owners));
	stubs.no_queues = true;
	KUNIT_EXPECT_EQ(test, -ENOMEM, create_mr(2));
	stubs.no_queues = false;
	host_alloc_fails = true;
	KUNIT_EXPECT_EQ(test, -ENOMEM, create_mr(2));
	host_alloc_fails = false;
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&nr_owners));
	destroy_mrs(0, 2);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(user_has_process_quota),
	KUNIT_CASE(new_workqueue_is_small_with_many_processes),
	KUNIT_CASE(overall_limit_applies_to_root),
	KUNIT_CASE(charged_user_is_uncharged),
	KUNIT_CASE(nested_userns_is_charged_to_owner),
	KUNIT_CASE(mapped_root_has_own_quota),
	KUNIT_CASE(overall_limit_admits_one_of_two_callers),
	KUNIT_CASE(two_threads_share_last_process_of_quota),
	KUNIT_CASE(failed_workqueue_fails_waiters),
	KUNIT_CASE(process_is_charged_once),
	{}
};

static struct kunit_suite suite = {
	.name = "rnic_mem_fault",
	.init = test_init,
	.exit = test_exit,
	.test_cases = cases,
};
kunit_test_suite(suite);
