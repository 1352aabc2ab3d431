// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/inval_lock.h: writers, which invalidate or map pages,
 * compete for the lock with readers, which are CPUs that copy.
 */
#include <kunit/test.h>
#include <linux/processor.h>
#include <linux/spinlock.h>

static struct {
	u32	tries;
	u32	gap_at;		/* number of the try at which no reader has the lock; 0: none */
	u32	waits;		/* number of waits for the lock with BH off */
	bool	made_way;	/* true if new readers backed off during the wait */
} stubs;

/*
 * Try to take the lock for writing. It is free only at try number gap_at, because readers with BH
 * off overtake a waiting writer.
 */
static bool try_write_lock(rwlock_t *l)
{
	l->readers = -(++stubs.tries == stubs.gap_at);
	return l->readers;
}

static void wait_for_write_lock(rwlock_t *l);

#define rwlock_init(l)		((void)((l)->readers = 0))
#define write_trylock(l)	try_write_lock(l)
#define write_lock(l)		wait_for_write_lock(l)
#define write_unlock(l)		((void)((l)->readers = 0))
#undef cpu_relax
#define cpu_relax()		WARN_ON(host_bh_off)

#include "../../../../drivers/rnic_sw/inval_lock.h"

static struct rnic_inval_lock gate;

static void wait_for_write_lock(rwlock_t *l)
{
	stubs.waits++;
	stubs.made_way = !rnic_inval_read_trylock(&gate);
	l->readers = -1;
}

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	rnic_inval_lock_init(&gate);
	return 0;
}

static void release_write_lock_and_expect_free(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 1, host_bh_off);
	KUNIT_EXPECT_EQ(test, -1, gate.lock.readers);
	rnic_inval_write_unlock(&gate);
	KUNIT_EXPECT_EQ(test, 0, host_bh_off);
	KUNIT_EXPECT_TRUE(test, rnic_inval_read_trylock(&gate));
	rnic_inval_read_unlock(&gate);
}

static void write_lock_excludes_readers(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, rnic_inval_write_lock(&gate, true));
	KUNIT_EXPECT_EQ(test, 1u, stubs.waits);
	KUNIT_EXPECT_TRUE(test, stubs.made_way);
	release_write_lock_and_expect_free(test);
}

/*
 * A writer that only records new pages gets the lock between two readers
 * without waiting
 */
static void write_lock_when_free_is_taken_between_readers(struct kunit *test)
{
	stubs.gap_at = 10;
	rnic_inval_write_lock_when_free(&gate);
	KUNIT_EXPECT_EQ(test, 10u, stubs.tries);
	KUNIT_EXPECT_EQ(test, 0u, stubs.waits);
	release_write_lock_and_expect_free(test);
}

/*
 * If there is always a reader, rnic_inval_write_lock_when_free() makes new readers back
 * off. Otherwise it could wait for ever.
 */
static void write_lock_when_free_stops_new_readers(struct kunit *test)
{
	rnic_inval_write_lock_when_free(&gate);
	KUNIT_EXPECT_EQ(test, 1u, stubs.waits);
	KUNIT_EXPECT_TRUE(test, stubs.made_way);
	release_write_lock_and_expect_free(test);
}

static struct kunit_case gate_cases[] = {
	KUNIT_CASE(write_lock_excludes_readers),
	KUNIT_CASE(write_lock_when_free_is_taken_between_readers),
	KUNIT_CASE(write_lock_when_free_stops_new_readers),
	{}
};

static struct kunit_suite rnic_inval_lock_suite = {
	.name = "rnic_inval_lock",
	.init = test_init,
	.test_cases = gate_cases,
};

kunit_test_suite(rnic_inval_lock_suite);
