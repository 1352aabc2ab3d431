// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * When an association over SCTP ends, and what comes before: the worker of
 * drivers/sctp_ddp/assoc.c over a socket of the test's.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "sddp_assoc.h"

/* Cases ------------------------------------------------------------------------- */

/* The worker, once.  Return: whether it wants to run again */
static bool works(void)
{
	sddp_assoc_kick(world.a);
	world.queued = false;
	world.a->work.func(&world.a->work);
	return world.queued;
}

static int begin(struct kunit *test)
{
	memset(&world, 0, sizeof(world));
	jiffies = 1;
	world.a = sddp_assoc_new(&world.net, true);
	world.fate = SDDP_SOCK_OPEN;
	sddp_assoc_get(world.a);
	works();
	KUNIT_EXPECT_EQ(test, (int)SDDP_UP, (int)world.a->phase);
	KUNIT_EXPECT_EQ(test, 1u, world.received);
	return 0;
}

static void expect_up(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)SDDP_UP, (int)world.a->phase);
	KUNIT_EXPECT_EQ(test, 0u, world.released);
}

static void expect_over(struct kunit *test, enum iw_reason why, bool abort)
{
	KUNIT_EXPECT_EQ(test, (int)SDDP_ENDED, (int)world.a->phase);
	KUNIT_EXPECT_EQ(test, (int)why, (int)world.a->why);
	KUNIT_EXPECT_EQ(test, 1u, world.released);
	KUNIT_EXPECT_EQ(test, (u32)abort, world.aborted);
}

static void leave(struct kunit *test)
{
	if (world.queued)	/* the worker's */
		sddp_assoc_put(world.a);
	sddp_assoc_put(world.a);
	KUNIT_EXPECT_EQ(test, 0, host_pieces);
	KUNIT_EXPECT_EQ(test, 0, world.net.held);
}

/* What has arrived is taken first, however much it is */
static void taken_first(struct kunit *test)
{
	world.fate = SDDP_SOCK_LOST;
	world.more = 1;
	KUNIT_EXPECT_TRUE(test, works());
	expect_up(test);
	world.more = 0;
	works();
	expect_over(test, IW_PEER_RESET, true);
}

/* Whoever is at the other end may not be the one any more that it was for */
static void lost_sends_nothing(struct kunit *test)
{
	u32 sent = world.sent, acks = world.acks;

	world.again = true;
	world.fate = SDDP_SOCK_LOST;
	world.more = 1;
	KUNIT_EXPECT_TRUE(test, works());
	expect_up(test);
	KUNIT_EXPECT_EQ(test, sent, world.sent);
	KUNIT_EXPECT_EQ(test, acks, world.acks);
	world.more = 0;
	works();
	expect_over(test, IW_PEER_RESET, true);
	KUNIT_EXPECT_EQ(test, sent, world.sent);
}

/* The same while a stream waits for memory, which is then no reason to go on */
static void lost_while_put_off(struct kunit *test)
{
	world.a->put_off = 1;
	world.fate = SDDP_SOCK_LOST;
	world.more = 1;
	KUNIT_EXPECT_TRUE(test, works());
	expect_up(test);
	world.more = 0;
	works();
	expect_over(test, IW_PEER_RESET, true);
}

/* Memory that is short holds up no end of that kind */
static void lost_without_memory(struct kunit *test)
{
	world.a->put_off = 1;
	world.fate = SDDP_SOCK_LOST;
	world.more = -ENOMEM;
	works();
	expect_over(test, IW_PEER_RESET, true);
}

/* ... but what has arrived, where no stream waits, is taken when there is some again */
static void without_memory(struct kunit *test)
{
	world.fate = SDDP_SOCK_LOST;
	world.more = -ENOMEM;
	KUNIT_EXPECT_FALSE(test, works());
	expect_up(test);
	KUNIT_EXPECT_TRUE(test, world.waits);
	KUNIT_EXPECT_EQ(test, jiffies + 10, world.due);
	world.more = 0;
	works();
	expect_over(test, IW_PEER_RESET, true);
}

/* A peer that is done has said all: whatever of it waits comes before its end */
static void done_while_put_off(struct kunit *test)
{
	world.a->put_off = 1;
	world.fate = SDDP_SOCK_PEER_DONE;
	KUNIT_EXPECT_FALSE(test, works());
	expect_up(test);
	world.a->put_off = 0;
	works();
	expect_over(test, IW_PEER_CLOSED, false);
}

/* ... but nobody else waits for that memory, nor comes there any more */
static void others_are_done(struct kunit *test)
{
	static struct sddp_stream waits = { .id = 1, .put_off = true }, other = { .id = 2 };

	xa_store(&world.a->streams, 1, &waits, GFP_KERNEL);
	xa_store(&world.a->streams, 2, &other, GFP_KERNEL);
	world.a->put_off = 1;
	works();
	world.fate = SDDP_SOCK_PEER_DONE;
	/* what has arrived is taken first */
	world.more = -ENOMEM;
	works();
	KUNIT_EXPECT_EQ(test, 0u, world.ended);
	KUNIT_EXPECT_EQ(test, 1u, world.left_way);
	world.more = 0;
	works();
	expect_up(test);
	KUNIT_EXPECT_EQ(test, 1u, world.ended);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&waits, xa_load(&world.a->streams, 1));
	KUNIT_EXPECT_NULL(test, xa_load(&world.a->streams, 2));
	world.a->put_off = 0;
	works();
	expect_over(test, IW_PEER_CLOSED, false);
	KUNIT_EXPECT_EQ(test, 2u, world.ended);
}

/* Programs that go on asking whether something can be sent hold up no end */
static void always_more_to_send(struct kunit *test)
{
	world.again = true;
	KUNIT_EXPECT_TRUE(test, works());
	expect_up(test);
	world.fate = SDDP_SOCK_LOST;
	works();
	expect_over(test, IW_PEER_RESET, true);
}

/* A peer that is done takes nothing more either */
static void done_while_sending(struct kunit *test)
{
	world.again = true;
	world.fate = SDDP_SOCK_PEER_DONE;
	world.more = 1;
	KUNIT_EXPECT_TRUE(test, works());
	expect_up(test);
	world.more = 0;
	works();
	expect_over(test, IW_PEER_CLOSED, false);
}

/* Until then, with something for the worker to look at each so many ms */
static void pass_until(unsigned long then, u32 each)
{
	struct work_struct *w = &world.a->retry.work;

	for (; jiffies != then; jiffies++) {
		if (world.waits && jiffies == world.due) {
			world.waits = false;
			w->func(w);
			works();
		}
		if (jiffies % each == 0)
			works();
	}
}

/* Whatever else the worker has to look at, and a session that waits for memory */
static void not_put_off(struct kunit *test)
{
	world.a->put_off = 1;
	world.more = -ENOMEM;
	world.no_memory = true;
	world.sent = 0;
	pass_until(jiffies + 5000, 400);
	KUNIT_EXPECT_EQ(test, 0u, world.sent);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(world.a->full));
	world.no_memory = false;
	pass_until(jiffies + 1000, 400);
	KUNIT_EXPECT_GT(test, world.sent, 0u);
	WRITE_ONCE(world.a->stop, true);
	works();
}

/* Memory that is short is looked for soon, although sending waits for longer */
static void sooner(struct kunit *test)
{
	world.no_memory = true;
	works();
	KUNIT_EXPECT_EQ(test, jiffies + 500, world.due);
	world.more = -ENOMEM;
	works();
	KUNIT_EXPECT_EQ(test, jiffies + 10, world.due);
	/* the wait gets longer when it is over, not when somebody looks */
	works();
	KUNIT_EXPECT_EQ(test, 10u, world.a->delay);
	pass_until(jiffies + 11, 1000000);
	KUNIT_EXPECT_EQ(test, 20u, world.a->delay);
	WRITE_ONCE(world.a->stop, true);
	works();
}

/* One that ends at once is there for as long as who accepts it looks at it */
static void accepted(struct kunit *test)
{
	struct sddp_assoc *a = sddp_assoc_new(&world.net, false);
	int both = host_pieces;

	world.hasty = true;
	KUNIT_EXPECT_EQ(test, 0, sddp_assoc_accepted(a));
	KUNIT_EXPECT_EQ(test, 1u, world.released);
	KUNIT_EXPECT_EQ(test, both, world.left);
	KUNIT_EXPECT_EQ(test, both - 1, host_pieces);
	/* the case's own */
	WRITE_ONCE(world.a->stop, true);
	works();
}

/* One that no session may be on: who calls is told, who listens counts it */
static void unfit(struct kunit *test)
{
	struct sddp_assoc *a = sddp_assoc_new(&world.net, false);

	world.wrong = IW_SCTP_ADDRESSES;
	KUNIT_EXPECT_EQ(test, -EPROTO, sddp_assoc_accepted(a));
	KUNIT_EXPECT_EQ(test, (int)IW_SCTP_ADDRESSES, (int)world.refused);
	world.refused = IW_OK;
	world.wrong = IW_PEER_RESET;
	KUNIT_EXPECT_EQ(test, -EPROTO, sddp_assoc_accepted(a));
	KUNIT_EXPECT_EQ(test, (int)IW_OK, (int)world.refused);
	KUNIT_EXPECT_FALSE(test, world.queued);
	sddp_assoc_put(a);
	world.wrong = IW_SCTP_ADDRESSES;
	world.a->phase = SDDP_CONNECTING;
	works();
	expect_over(test, IW_SCTP_ADDRESSES, true);
}

/* When it may end ---------------------------------------------------------------- */

static struct sddp_stream unasked, asked = { .told = true },
	accepted_one = { .told = true, .up = true }, ours = { .told = true, .s.active = true };

/* A peer's, instead of the one of ours */
static void of_a_peer(void)
{
	WRITE_ONCE(world.a->stop, true);
	works();
	sddp_assoc_put(world.a);
	world.a = sddp_assoc_new(&world.net, false);
	sddp_assoc_get(world.a);
	sddp_assoc_accepted(world.a);
	works();
	world.released = 0;
	world.aborted = 0;
	world.rejoined = 0;
}

static void enters(const struct sddp_stream *st)
{
	atomic_inc(&world.a->live);
	world.a->guests += st->up;
	world.a->used |= st->up && !world.a->active;
}

static void leaves(const struct sddp_stream *st)
{
	sddp_assoc_left(world.a, st);
	if (world.queued || world.a->idle_due)
		works();
}

static void comes_and_goes(const struct sddp_stream *st)
{
	enters(st);
	leaves(st);
}

static bool is_up(void)
{
	return world.a->phase == SDDP_UP;
}

/* So much time passes, in milliseconds; its timer runs when it is its turn */
static void passes(u32 ms)
{
	while (ms--) {
		jiffies++;
		if (!world.armed || jiffies < world.look)
			continue;
		world.armed = false;
		world.a->idle.work.func(&world.a->idle.work);
		/* the timer's reference */
		works();
		while (world.queued)
			works();
	}
}

/* The clock stands just before, then just after: it goes then, and no earlier */
static void expect_end_in(struct kunit *test, u32 seconds)
{
	passes(seconds * 1000 - 1);
	KUNIT_EXPECT_TRUE(test, is_up());
	passes(1);
	KUNIT_EXPECT_FALSE(test, is_up());
	expect_over(test, IW_LOCAL_CLOSE, !world.a->active);
}

/* Nobody asks anything of it */
static void silent(struct kunit *test)
{
	of_a_peer();
	expect_end_in(test, 10);
}

/* There is no room for it as a stranger any more, and a session comes before it goes */
static void wanted_again(struct kunit *test)
{
	of_a_peer();
	world.full = true;
	enters(&asked);
	sddp_assoc_left(world.a, &asked);
	world.comes = true;
	works();
	expect_up(test);
	leaves(&asked);
	expect_over(test, IW_LOCAL_CLOSE, true);
}

/* One that has broken the rules has no such luck */
static void unwanted_for_good(struct kunit *test)
{
	of_a_peer();
	world.full = true;
	enters(&asked);
	world.a->unwanted = IW_SCTP_SEQUENCE;
	sddp_assoc_left(world.a, &asked);
	world.comes = true;
	works();
	expect_over(test, IW_SCTP_SEQUENCE, true);
}

/* Whose session is over is a stranger again after a while, and has a minute in all */
static void was_a_guest(struct kunit *test)
{
	of_a_peer();
	comes_and_goes(&accepted_one);
	world.a->strays = 7;
	passes(9999);
	KUNIT_EXPECT_EQ(test, 0u, world.shrunk + world.rejoined);
	passes(1);
	KUNIT_EXPECT_EQ(test, 1u, world.shrunk);
	KUNIT_EXPECT_EQ(test, 1u, world.rejoined);
	KUNIT_EXPECT_TRUE(test, !world.a->used && !world.a->strays);
	expect_end_in(test, 50);
}

/* What nobody here wanted, nor was asked about, gives it no time */
static void refused_calls(struct kunit *test)
{
	int n;

	of_a_peer();
	comes_and_goes(&accepted_one);
	for (n = 0; n < 11; n++) {
		passes(5000);
		comes_and_goes(&unasked);
	}
	KUNIT_EXPECT_FALSE(test, world.a->used);
	expect_end_in(test, 5);
}

/* A no gives it as much as a stranger has, and takes nothing from it */
static void turned_away(struct kunit *test)
{
	of_a_peer();
	passes(5000);
	enters(&asked);
	passes(100000);
	KUNIT_EXPECT_TRUE(test, is_up());
	leaves(&asked);
	KUNIT_EXPECT_EQ(test, 1u, world.rejoined);
	passes(5000);
	comes_and_goes(&accepted_one);
	comes_and_goes(&asked);
	expect_end_in(test, 60);
}

/* The next one comes in time, and is accepted: all begins anew */
static void next_guest(struct kunit *test)
{
	static const u32 after[] = { 9999, 10000, 59999 };
	int n;

	of_a_peer();
	comes_and_goes(&accepted_one);
	for (n = 0; n < ARRAY_SIZE(after); n++) {
		passes(after[n]);
		enters(&accepted_one);
		passes(100000);
		KUNIT_EXPECT_TRUE(test, world.a->used);
		leaves(&accepted_one);
	}
	KUNIT_EXPECT_EQ(test, 2u, world.shrunk);
	expect_end_in(test, 60);
}

/* It is asked about when its time is up; the program says yes later */
static void accepted_late(struct kunit *test)
{
	of_a_peer();
	comes_and_goes(&accepted_one);
	passes(59999);
	enters(&asked);
	passes(60000);
	KUNIT_EXPECT_TRUE(test, is_up());
	world.a->guests++;
	world.a->used = true;
	passes(60000);
	KUNIT_EXPECT_TRUE(test, is_up() && world.a->used);
	leaves(&accepted_one);
	expect_end_in(test, 60);
}

/* A session came and went between the timer and who looks */
static void in_time(struct kunit *test)
{
	of_a_peer();
	world.a->idle_due = true;
	comes_and_goes(&accepted_one);
	KUNIT_EXPECT_FALSE(test, world.a->idle_due);
	KUNIT_EXPECT_TRUE(test, is_up() && world.a->used);
	passes(10000);
	world.a->idle_due = true;
	works();
	expect_end_in(test, 50);
}

/* Of many sessions the last that ends counts */
static void several(struct kunit *test)
{
	of_a_peer();
	enters(&accepted_one);
	enters(&accepted_one);
	leaves(&accepted_one);
	passes(70000);
	KUNIT_EXPECT_TRUE(test, is_up() && world.a->used);
	leaves(&accepted_one);
	expect_end_in(test, 60);
}

/* It has to go where there is no room for strangers, or as it holds too much for one */
static void no_stranger(struct kunit *test)
{
	bool *const why[] = { &world.holds, &world.full };
	int n;

	for (n = 0; n < ARRAY_SIZE(why); n++) {
		of_a_peer();
		comes_and_goes(&accepted_one);
		*why[n] = true;
		expect_end_in(test, 10);
		*why[n] = false;
	}
}

/* Of ours a session of ours counts, whatever the peer said to it, and none of the peer's */
static void our_own(struct kunit *test)
{
	passes(4999);
	comes_and_goes(&ours);
	passes(4999);
	comes_and_goes(&accepted_one);
	passes(3000);
	comes_and_goes(&unasked);
	comes_and_goes(&asked);
	expect_end_in(test, 2);
	KUNIT_EXPECT_EQ(test, 0u, world.shrunk + world.rejoined);
}

static struct kunit_case sddp_assoc_cases[] = {
	KUNIT_CASE(silent),
	KUNIT_CASE(wanted_again),
	KUNIT_CASE(unwanted_for_good),
	KUNIT_CASE(was_a_guest),
	KUNIT_CASE(refused_calls),
	KUNIT_CASE(turned_away),
	KUNIT_CASE(next_guest),
	KUNIT_CASE(accepted_late),
	KUNIT_CASE(in_time),
	KUNIT_CASE(several),
	KUNIT_CASE(no_stranger),
	KUNIT_CASE(our_own),
	KUNIT_CASE(taken_first),
	KUNIT_CASE(lost_sends_nothing),
	KUNIT_CASE(lost_while_put_off),
	KUNIT_CASE(lost_without_memory),
	KUNIT_CASE(without_memory),
	KUNIT_CASE(done_while_put_off),
	KUNIT_CASE(others_are_done),
	KUNIT_CASE(always_more_to_send),
	KUNIT_CASE(done_while_sending),
	KUNIT_CASE(not_put_off),
	KUNIT_CASE(sooner),
	KUNIT_CASE(accepted),
	KUNIT_CASE(unfit),
	{}
};

static struct kunit_suite sddp_assoc_suite = {
	.name = "sddp_assoc",
	.init = begin,
	.exit = leave,
	.test_cases = sddp_assoc_cases,
};

kunit_test_suite(sddp_assoc_suite);
