// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/bring.c: limits on the number of processes with
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

#include "../../../../drivers/rnic_sw/bring.h"
#include "../../../../drivers/rnic_sw/rnic.h"

#define MOST	4096	/* processes in all */
#define EACH	1024	/* processes of a user */

/* The caller ------------------------------------------------------------------- */

struct mm_struct { int held; };

static struct {
	bool			privileged;
	struct mm_struct	*mm;
	struct mm_struct	mms[MOST + 8];
	struct rnic_bring	b[MOST + 8];
	struct work_struct	*ended;
	bool			no_queues;
	int			waited;
	int			at_work;	/* concurrency limit of the last workqueue */
	void			(*while_making)(void);
} world;

static struct user_namespace first;
struct cred host_caller;

bool capable(int cap)
{
	return world.privileged;
}

#undef current
#define current			(&world)
#define mmgrab(mm)		((void)(mm)->held++)
#define mmdrop(mm)		((void)(mm)->held--)
#define try_module_get(m)	true
#define module_put(m)		((void)(m))
#define wait_for_completion_timeout(c, t)	((void)(t), (c)->done)

/* Tables with arbitrary keys ------------------------------------------------------- */

static struct table {
	struct { unsigned long id; void *at; } row[MOST + 8];
	int rows;
	int held;
} tables[2];

#define XA_FLAGS_ACCOUNT	0
#define DEFINE_XARRAY_FLAGS(name, flags)	\
	struct table *const name = &tables[__COUNTER__]
#define xa_lock(t)		host_take(&(*(t))->held)
#define xa_unlock(t)		host_let_go(&(*(t))->held)
#define xa_load(t, id)		table_load(*(t), id)
#define xa_insert(t, id, at, gfp)	(table_swap(*(t), id, NULL, at) ? -EBUSY : 0)
#define __xa_erase(t, id)	((void)table_swap(*(t), id, table_load(*(t), id), NULL))
#define xa_cmpxchg(t, id, was, at, gfp)	table_swap(*(t), id, was, at)
#define xa_is_err(at)		((void)(at), false)

static int table_row(const struct table *t, unsigned long id)
{
	int i;

	for (i = 0; i < t->rows && t->row[i].id != id; i++)
		;
	return i;
}

static inline void *table_load(const struct table *t, unsigned long id)
{
	int i = table_row(t, id);

	return i < t->rows ? t->row[i].at : NULL;
}

/* Return: the previous entry */
static inline void *table_swap(struct table *t, unsigned long id, void *was, void *at)
{
	void *now = table_load(t, id);
	int i = table_row(t, id);

	if (now != was)
		return now;
	if (!at)
		t->row[i] = t->row[--t->rows];
	else
		t->row[i] = (typeof(t->row[i])){ id, at };
	t->rows += i == t->rows && at;
	return now;
}

/* Workqueues of a process: another process may come while they are created */

struct workqueue_struct { int unused; };

static void let_another(void)
{
	void (*then)(void) = world.while_making;

	world.while_making = NULL;
	if (then)
		then();
}

static struct workqueue_struct *make_queue(int at_work)
{
	static struct workqueue_struct any;

	world.at_work = at_work;
	let_another();
	return world.no_queues ? NULL : &any;
}

/* A caller that would wait is killed instead */
static int await(const struct completion *c)
{
	world.waited += !c->done;
	return c->done ? 0 : -EINTR;
}

#define wait_for_completion_killable(c)	await(c)

static bool end_later(struct work_struct *w)
{
	world.ended = w;
	return true;
}

#undef alloc_workqueue
#define alloc_workqueue(name, flags, n)	make_queue(n)
#undef queue_work
#define queue_work(q, w)	((void)(q), end_later(w))

#include "../../../../drivers/rnic_sw/bring.c"

void ddp_wait_over(struct ddp_wait *w, bool denied) {}

/* Cases ------------------------------------------------------------------------- */

static const struct rnic_bring_ops kind;

static void as(u32 uid)
{
	host_caller = (struct cred){ { uid }, &first };
	world.privileged = !uid;
}

static void run_ended(void)
{
	struct work_struct *w = world.ended;

	world.ended = NULL;
	if (w)
		w->func(w);
}

/* Create an MR of process @i; release what was created if that fails */
static int region(int i)
{
	int err;

	world.mm = &world.mms[i];
	err = rnic_bring_new(&world.b[i], &kind, NULL, 0x1000, 0x1000);
	run_ended();
	return err;
}

static void gone(int i)
{
	if (world.b[i].owner)
		rnic_bring_free(&world.b[i]);
	world.b[i].owner = NULL;
	run_ended();
}

/*
 * Create MRs of up to @n processes from @i on. Return: the first one refused,
 * or @i + @n.
 */
static int processes(int i, int n)
{
	for (; n && !region(i); n--)
		i++;
	return i;
}

static void all_gone(int from, int to)
{
	while (to > from)
		gone(--to);
}

static int begin(struct kunit *test)
{
	memset(&world, 0, sizeof(world));
	as(1000);
	return 0;
}

static void leave(struct kunit *test)
{
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, host_pieces);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&existing));
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		KUNIT_EXPECT_EQ(test, 0, tables[i].rows);
	for (i = 0; i < ARRAY_SIZE(world.mms); i++)
		KUNIT_EXPECT_EQ(test, 0, world.mms[i].held);
}

/* A user has a quota of processes; further MRs of a process do not count */
static void of_a_user(struct kunit *test)
{
	struct rnic_bring more = {};

	KUNIT_EXPECT_EQ(test, EACH, processes(0, EACH + 1));
	KUNIT_EXPECT_EQ(test, -ENOMEM, region(EACH));
	world.mm = &world.mms[3];
	KUNIT_EXPECT_EQ(test, 0, rnic_bring_new(&more, &kind, NULL, 0, 1));
	rnic_bring_free(&more);
	as(1001);
	KUNIT_EXPECT_EQ(test, 0, region(EACH));
	as(1000);
	gone(7);
	KUNIT_EXPECT_EQ(test, 0, region(7));
	KUNIT_EXPECT_EQ(test, -ENOMEM, region(EACH + 1));
	all_gone(0, EACH + 1);
}

/*
 * Beyond the first 32 processes of a user a process has one thread, until some
 * of the 32 are gone
 */
static void threads_of_a_user(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 32, processes(0, 32));
	KUNIT_EXPECT_EQ(test, 16, world.at_work);
	KUNIT_EXPECT_EQ(test, 0, region(32));
	KUNIT_EXPECT_EQ(test, 1, world.at_work);
	as(1001);
	KUNIT_EXPECT_EQ(test, 0, region(33));
	KUNIT_EXPECT_EQ(test, 16, world.at_work);
	gone(33);
	as(1000);
	gone(3);
	gone(4);
	KUNIT_EXPECT_EQ(test, 0, region(3));
	KUNIT_EXPECT_EQ(test, 16, world.at_work);
	all_gone(0, 33);
}

/* A privileged user has no quota, but the overall limit applies */
static void of_all(struct kunit *test)
{
	as(0);
	KUNIT_EXPECT_EQ(test, MOST, processes(0, MOST + 1));
	as(1000);
	KUNIT_EXPECT_EQ(test, -ENOMEM, region(MOST));
	gone(0);
	KUNIT_EXPECT_EQ(test, 0, region(0));
	all_gone(0, MOST);
}

/* A process is released for the user that it was charged to */
static void another_by_then(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, EACH, processes(0, EACH));
	as(1001);
	gone(0);
	as(1000);
	KUNIT_EXPECT_EQ(test, 0, region(0));
	all_gone(0, EACH);
}

/*
 * Processes in a user namespace, or in one nested in it, are charged to the
 * owner of the outer one
 */
static void of_a_namespace(struct kunit *test)
{
	struct user_namespace outer = { .parent = &first, .owner = { 1000 } };
	struct user_namespace inner = { .parent = &outer, .owner = { 100000 } };

	KUNIT_EXPECT_EQ(test, 500, processes(0, 500));
	as(100001);
	host_caller.ns = &outer;
	KUNIT_EXPECT_EQ(test, 1000, processes(500, 500));
	as(100002);
	host_caller.ns = &inner;
	KUNIT_EXPECT_EQ(test, EACH, processes(1000, 500));
	as(100002);
	KUNIT_EXPECT_EQ(test, 0, region(EACH));
	all_gone(0, EACH + 1);
}

/*
 * A container of root with its own UIDs has its own quota, which its nested
 * namespaces share
 */
static void of_containers(struct kunit *test)
{
	struct user_namespace one = { .parent = &first, .root = { 100000 } };
	struct user_namespace two = { .parent = &first, .root = { 200000 } };
	struct user_namespace within = { .parent = &one, .owner = { 100000 } };
	struct user_namespace same = { .parent = &first };
	struct user_namespace none = { .parent = &first, .root = { -1 } };

	as(100005);
	host_caller.ns = &one;
	KUNIT_EXPECT_EQ(test, EACH - 1, processes(0, EACH - 1));
	host_caller.ns = &within;
	KUNIT_EXPECT_EQ(test, EACH, processes(EACH - 1, 2));
	as(200005);
	host_caller.ns = &two;
	KUNIT_EXPECT_EQ(test, 2 * EACH, processes(EACH, EACH + 1));
	/* a namespace without its own UIDs is charged to root */
	as(0);
	world.privileged = false;
	host_caller.ns = &same;
	KUNIT_EXPECT_EQ(test, 3 * EACH - 1, processes(2 * EACH, EACH - 1));
	host_caller.ns = &none;
	KUNIT_EXPECT_EQ(test, 3 * EACH, processes(3 * EACH - 1, 2));
	all_gone(0, 3 * EACH);
}

static void another(void)
{
	region(MOST + 1);
}

/* The last free process of the overall limit goes to one of two concurrent callers */
static void at_once(struct kunit *test)
{
	as(0);
	KUNIT_EXPECT_EQ(test, MOST - 1, processes(0, MOST - 1));
	world.while_making = another;
	KUNIT_EXPECT_EQ(test, 0, region(MOST - 1));
	KUNIT_EXPECT_PTR_EQ(test, NULL, world.b[MOST + 1].owner);
	KUNIT_EXPECT_EQ(test, MOST, atomic_read(&existing));
	all_gone(0, MOST);
}

static void own_thread(void)
{
	world.mm = &world.mms[0];
	rnic_bring_new(&world.b[1], &kind, NULL, 0, 1);
}

/* Two threads of a process can share the last free one of their user */
static void last_for_two(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, EACH + 1, processes(2, EACH - 1));
	world.while_making = own_thread;
	KUNIT_EXPECT_EQ(test, 0, region(0));
	/* the second thread waits instead of failing */
	KUNIT_EXPECT_EQ(test, 1, world.waited);
	own_thread();
	KUNIT_EXPECT_PTR_EQ(test, world.b[0].owner, world.b[1].owner);
	all_gone(0, EACH + 1);
}

static void own_thread_waits(void)
{
	own_thread();
	world.no_queues = true;
}

/*
 * If creation fails, the waiting thread fails too, nothing is charged, and the
 * next attempt starts anew
 */
static void not_made(struct kunit *test)
{
	world.while_making = own_thread_waits;
	KUNIT_EXPECT_EQ(test, -ENOMEM, region(0));
	KUNIT_EXPECT_EQ(test, 1, world.waited);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&existing));
	world.no_queues = false;
	KUNIT_EXPECT_EQ(test, 0, region(0));
	all_gone(0, 1);
}

/* Two threads of a process are charged once; a failed creation is not charged */
static void gives_back(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, region(0));
	own_thread();
	KUNIT_EXPECT_PTR_EQ(test, world.b[0].owner, world.b[1].owner);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&existing));
	world.no_queues = true;
	KUNIT_EXPECT_EQ(test, -ENOMEM, region(2));
	world.no_queues = false;
	host_short = true;
	KUNIT_EXPECT_EQ(test, -ENOMEM, region(2));
	host_short = false;
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&existing));
	all_gone(0, 2);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(of_a_user),
	KUNIT_CASE(threads_of_a_user),
	KUNIT_CASE(of_all),
	KUNIT_CASE(another_by_then),
	KUNIT_CASE(of_a_namespace),
	KUNIT_CASE(of_containers),
	KUNIT_CASE(at_once),
	KUNIT_CASE(last_for_two),
	KUNIT_CASE(not_made),
	KUNIT_CASE(gives_back),
	{}
};

static struct kunit_suite suite = {
	.name = "rnic_bring",
	.init = begin,
	.exit = leave,
	.test_cases = cases,
};
kunit_test_suite(suite);
