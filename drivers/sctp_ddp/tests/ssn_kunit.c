// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The window of DDP-SSNs, against a list of what has arrived. */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../ssn.h"

#define MANY	6

/* RFC 5043 section 10, said in another way: what may be in flight at once */
#define IN_FLIGHT	32767

static struct sddp_ssn w;		/* too big for the stack */
static bool here[0x10000];		/* arrived, its turn has not come */

/* Where sessions that have gone on for a while may stand */
static const u16 starts[] = {
	0, 1, 31, 32, 32762, 32766, 32767, 32768, 65529, 65530, 65533, 65535,
};

/* A window whose turn is @next, nothing early in it */
static void begin_at(u16 next)
{
	u32 n;

	sddp_ssn_init(&w);
	for (n = 0; n < next; n++)
		sddp_ssn_advance(&w);
	memset(here, 0, sizeof(here));
}

static enum sddp_turn turn_ref(u16 next, u16 ssn)
{
	u32 ahead = ssn >= next ? ssn - next : ssn + 0x10000 - next;

	if (ahead >= 0x8000)
		return SDDP_DUP;
	if (ahead >= IN_FLIGHT)
		return SDDP_FAR;
	if (here[ssn])
		return SDDP_DUP;
	return ahead ? SDDP_EARLY : SDDP_NOW;
}

/* A chunk arrives: is it taken when the list says so? */
static void push(struct kunit *test, u16 ssn)
{
	u16 next = w.next;
	enum sddp_turn want = turn_ref(next, ssn);

	KUNIT_ASSERT_EQ(test, want, sddp_ssn_turn(&w, ssn));
	KUNIT_ASSERT_EQ(test, want, sddp_ssn_push(&w, ssn));
	KUNIT_ASSERT_EQ(test, next, w.next);
	if (want == SDDP_EARLY)
		here[ssn] = true;
	if (want != SDDP_NOW)
		return;
	for (next++; here[next]; next++) {
		here[next] = false;
		KUNIT_ASSERT_TRUE(test, sddp_ssn_advance(&w));
	}
	KUNIT_ASSERT_FALSE(test, sddp_ssn_advance(&w));
	KUNIT_ASSERT_EQ(test, next, w.next);
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
			w.next = starts[at];
			order_of(n, order);
			for (i = 0; i < MANY; i++)
				push(test, starts[at] + order[i]);
			KUNIT_ASSERT_EQ(test, w.next, (u16)(starts[at] + MANY));
		}
		/* each of them has passed */
		for (i = 0; i < MANY; i++)
			push(test, starts[at] + i);
		KUNIT_ASSERT_EQ(test, w.next, (u16)(starts[at] + MANY));
	}
}

/* SCTPDDP-9: modulo 65536, and SCTPDDP-69: no gap longer than what may fly */
static void every_turn(struct kunit *test)
{
	u32 at, ssn;

	for (at = 0; at < ARRAY_SIZE(starts); at++) {
		begin_at(starts[at]);
		for (ssn = 0; ssn < 0x10000; ssn++)
			KUNIT_ASSERT_EQ(test, turn_ref(w.next, ssn),
					sddp_ssn_turn(&w, ssn));
	}
}

/* SCTPDDP-67: all that a sender may have in flight fits, last one first */
static void a_whole_window_backwards(struct kunit *test)
{
	u32 at, n;

	for (at = 0; at < ARRAY_SIZE(starts); at++) {
		begin_at(starts[at]);
		for (n = IN_FLIGHT - 1; n; n--)
			push(test, starts[at] + n);
		push(test, starts[at] + IN_FLIGHT);
		push(test, starts[at]);
		KUNIT_ASSERT_EQ(test, w.next, (u16)(starts[at] + IN_FLIGHT));
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
			push(test, w.next - (choice >> 28));
			break;
		default:
			push(test, w.next + (choice >> 26));
			break;
		}
	}
}

/* SCTPDDP-26: the next session begins at zero, with nothing left behind */
static void reset(struct kunit *test)
{
	u32 ssn;

	begin_at(40000);
	for (ssn = 40001; ssn < 60000; ssn++)
		push(test, ssn);
	sddp_ssn_init(&w);
	memset(here, 0, sizeof(here));
	KUNIT_EXPECT_EQ(test, w.next, (u16)0);
	for (ssn = 0; ssn < 0x10000; ssn++)
		KUNIT_ASSERT_EQ(test, turn_ref(0, ssn),
				sddp_ssn_turn(&w, ssn));
}

static struct kunit_case ssn_cases[] = {
	KUNIT_CASE(every_permutation),
	KUNIT_CASE(every_turn),
	KUNIT_CASE(a_whole_window_backwards),
	KUNIT_CASE(round_and_round),
	KUNIT_CASE(at_random),
	KUNIT_CASE(reset),
	{}
};

static struct kunit_suite ssn_suite = {
	.name = "sctp_ddp_ssn",
	.test_cases = ssn_cases,
};

kunit_test_suite(ssn_suite);
