// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* DDP-SSNs, against a list of what has arrived; and what comes after the end. */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../ssn.h"

#define MANY	6

/* RFC 5043 section 10, said in another way: what may be in flight at once */
#define IN_FLIGHT	32767

static u16 next;			/* whose turn it is */
static bool here[0x10000];		/* arrived, its turn has not come */

/* Where sessions that have gone on for a while may stand */
static const u16 starts[] = {
	0, 1, 31, 32, 32762, 32766, 32767, 32768, 65529, 65530, 65533, 65535,
};

static void begin_at(u16 ssn)
{
	next = ssn;
	memset(here, 0, sizeof(here));
}

static enum sddp_turn turn_ref(u16 ssn)
{
	u32 ahead = ssn >= next ? ssn - next : ssn + 0x10000 - next;

	if (ahead >= 0x8000)
		return SDDP_DUP;
	if (ahead >= IN_FLIGHT)
		return SDDP_FAR;
	return ahead ? SDDP_EARLY : SDDP_NOW;
}

/* A chunk arrives: those whose turn has come go */
static void push(struct kunit *test, u16 ssn)
{
	enum sddp_turn turn = sddp_ssn_turn(next, ssn);

	KUNIT_ASSERT_EQ(test, turn_ref(ssn), turn);
	if (turn == SDDP_NOW || turn == SDDP_EARLY)
		here[ssn] = true;
	for (; here[next]; next++)
		here[next] = false;
}

/* The @n-th of all orders of MANY things */
static void order_of(u32 n, u8 *order)
{
	u8 left[MANY] = { 0, 1, 2, 3, 4, 5 };
	u32 i, pick;

	for (i = 0; i < MANY; i++) {
		pick = n % (MANY - i);
		n /= MANY - i;
		order[i] = left[pick];
		memmove(left + pick, left + pick + 1, MANY - 1 - pick);
	}
}

/* SCTPDDP-27 and SCTPDDP-65: whatever the order of arrival */
static void every_permutation(struct kunit *test)
{
	u32 at, n, i;
	u8 order[MANY];

	for (at = 0; at < ARRAY_SIZE(starts); at++) {
		for (n = 0; n < 720; n++) {
			begin_at(starts[at]);
			order_of(n, order);
			for (i = 0; i < MANY; i++)
				push(test, starts[at] + order[i]);
			KUNIT_ASSERT_EQ(test, next, (u16)(starts[at] + MANY));
		}
		/* each of them has passed */
		for (i = 0; i < MANY; i++)
			push(test, starts[at] + i);
		KUNIT_ASSERT_EQ(test, next, (u16)(starts[at] + MANY));
	}
}

/* SCTPDDP-9: modulo 65536, and SCTPDDP-69: no gap longer than what may fly */
static void every_turn(struct kunit *test)
{
	u32 at, ssn;

	for (at = 0; at < ARRAY_SIZE(starts); at++) {
		begin_at(starts[at]);
		for (ssn = 0; ssn < 0x10000; ssn++)
			KUNIT_ASSERT_EQ(test, turn_ref(ssn),
					sddp_ssn_turn(next, ssn));
	}
}

/* SCTPDDP-69: all that a sender may have in flight is valid, last one first */
static void a_whole_window_backwards(struct kunit *test)
{
	u32 at, n;

	for (at = 0; at < ARRAY_SIZE(starts); at++) {
		begin_at(starts[at]);
		for (n = IN_FLIGHT - 1; n; n--)
			push(test, starts[at] + n);
		push(test, starts[at] + IN_FLIGHT);
		push(test, starts[at]);
		KUNIT_ASSERT_EQ(test, next, (u16)(starts[at] + IN_FLIGHT));
		push(test, starts[at] + IN_FLIGHT);
	}
}

/* SCTPDDP-9: several times round, in order */
static void round_and_round(struct kunit *test)
{
	u32 n;

	begin_at(0);
	for (n = 0; n < 200000; n++)
		push(test, n);
}

/* Ahead a little, ahead a lot, behind, again; all are in it in the end */
static void at_random(struct kunit *test)
{
	struct rnd_state rnd;
	u32 n, choice;

	prandom_seed_state(&rnd, 5043);
	begin_at(0);
	for (n = 0; n < 300000; n++) {
		choice = prandom_u32_state(&rnd);
		switch (choice & 7) {
		case 0:
			push(test, choice >> 16);
			break;
		case 1:
			push(test, next - (choice >> 28));
			break;
		default:
			push(test, next + (choice >> 26));
			break;
		}
	}
}

/* SCTPDDP-46: in whatever order the chunks of a session come, it is whole once */
static void whole_when_all_are_here(struct kunit *test)
{
	struct sddp_tally t;
	u32 at, n, i, last;
	u8 order[MANY];

	for (n = 0; n < 720; n++) {
		order_of(n, order);
		for (at = 0; at < ARRAY_SIZE(starts); at++) {
			/* those before were counted when it ended */
			t = (struct sddp_tally){ .n = starts[at] };
			last = starts[at] + MANY - 1;
			for (i = 0; i < MANY; i++) {
				KUNIT_ASSERT_FALSE(test, sddp_tally_whole(&t));
				sddp_tally_chunk(&t);
				if (order[i] == MANY - 1)
					sddp_tally_last(&t, last);
			}
			KUNIT_ASSERT_TRUE(test, sddp_tally_whole(&t));
		}
	}
}

/* A peer that goes on behind its Terminate, or says it twice */
static void never_whole(struct kunit *test)
{
	struct sddp_tally t = {};
	u32 n;

	sddp_tally_chunk(&t);
	KUNIT_EXPECT_FALSE(test, sddp_tally_whole(&t));
	sddp_tally_last(&t, 1);
	sddp_tally_last(&t, 0);
	KUNIT_EXPECT_FALSE(test, sddp_tally_whole(&t));
	for (n = 0; n < 0x10000; n++) {
		sddp_tally_chunk(&t);
		KUNIT_ASSERT_EQ(test, !n, sddp_tally_whole(&t));
	}
}

static struct kunit_case ssn_cases[] = {
	KUNIT_CASE(every_permutation),
	KUNIT_CASE(every_turn),
	KUNIT_CASE(a_whole_window_backwards),
	KUNIT_CASE(round_and_round),
	KUNIT_CASE(at_random),
	KUNIT_CASE(whole_when_all_are_here),
	KUNIT_CASE(never_whole),
	{}
};

static struct kunit_suite ssn_suite = {
	.name = "sctp_ddp_ssn",
	.test_cases = ssn_cases,
};

kunit_test_suite(ssn_suite);
