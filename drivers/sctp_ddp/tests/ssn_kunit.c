// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit tests of the arithmetic on DDP-SSNs: of sddp_ssn_compare(), against a model of
 * the receive path, and of the count of received chunks of an ended session.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../ssn.h"

#define MANY	6

/*
 * Maximum number of chunks in flight (RFC 5043 section 10); not taken from wire.h, so
 * that an error there is found
 */
#define IN_FLIGHT	32767

static u16 next;			/* next expected DDP-SSN */
static bool here[0x10000];		/* true for each DDP-SSN received out of order */

/* Values of the next expected DDP-SSN at the beginning of a test */
static const u16 starts[] = {
	0, 1, 31, 32, 32762, 32766, 32767, 32768, 65529, 65530, 65533, 65535,
};

static void begin_at_ssn(u16 ssn)
{
	next = ssn;
	memset(here, 0, sizeof(here));
}

static enum sddp_ssn_order get_expected_order(u16 ssn)
{
	u32 ahead = ssn >= next ? ssn - next : ssn + 0x10000 - next;

	if (ahead >= 0x8000)
		return SDDP_SSN_DUP;
	if (ahead >= IN_FLIGHT)
		return SDDP_SSN_FAR;
	return ahead ? SDDP_SSN_EARLY : SDDP_SSN_NEXT;
}

/*
 * Model of the receive path: receive a chunk, then process all received chunks that are
 * next in order
 */
static void receive_ssn(struct kunit *test, u16 ssn)
{
	enum sddp_ssn_order turn = sddp_ssn_compare(next, ssn);

	KUNIT_ASSERT_EQ(test, get_expected_order(ssn), turn);
	if (turn == SDDP_SSN_NEXT || turn == SDDP_SSN_EARLY)
		here[ssn] = true;
	for (; here[next]; next++)
		here[next] = false;
}

/* Set @order to the @n-th permutation of the numbers 0 to MANY - 1 */
static void set_nth_permutation(u32 n, u8 *order)
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

/*
 * Show that chunks are processed in the order of their DDP-SSNs, in whatever order they
 * are received: RFC 5043 6.1 and 10 (SCTPDDP-27, SCTPDDP-65).
 */
static void chunks_are_processed_in_ssn_order(struct kunit *test)
{
	u32 at, n, i;
	u8 order[MANY];

	for (at = 0; at < ARRAY_SIZE(starts); at++) {
		for (n = 0; n < 720; n++) {
			begin_at_ssn(starts[at]);
			set_nth_permutation(n, order);
			for (i = 0; i < MANY; i++)
				receive_ssn(test, starts[at] + order[i]);
			KUNIT_ASSERT_EQ(test, next, (u16)(starts[at] + MANY));
		}
		/* received once more, the chunks are duplicates and have no effect */
		for (i = 0; i < MANY; i++)
			receive_ssn(test, starts[at] + i);
		KUNIT_ASSERT_EQ(test, next, (u16)(starts[at] + MANY));
	}
}

/*
 * Show that DDP-SSNs are compared modulo 65536: RFC 5043 5.2.1 (SCTPDDP-9). Show that a
 * gap larger than the maximum number of chunks in flight is detected: RFC 5043 10
 * (SCTPDDP-69).
 */
static void ssns_are_compared_modulo_65536(struct kunit *test)
{
	u32 at, ssn;

	for (at = 0; at < ARRAY_SIZE(starts); at++) {
		begin_at_ssn(starts[at]);
		for (ssn = 0; ssn < 0x10000; ssn++)
			KUNIT_ASSERT_EQ(test, get_expected_order(ssn),
					sddp_ssn_compare(next, ssn));
	}
}

/*
 * Show that all chunks that a sender may have in flight are valid, even if they are
 * received in reverse order: RFC 5043 10 (SCTPDDP-69).
 */
static void reversed_window_is_valid(struct kunit *test)
{
	u32 at, n;

	for (at = 0; at < ARRAY_SIZE(starts); at++) {
		begin_at_ssn(starts[at]);
		for (n = IN_FLIGHT - 1; n; n--)
			receive_ssn(test, starts[at] + n);
		receive_ssn(test, starts[at] + IN_FLIGHT);
		receive_ssn(test, starts[at]);
		KUNIT_ASSERT_EQ(test, next, (u16)(starts[at] + IN_FLIGHT));
		receive_ssn(test, starts[at] + IN_FLIGHT);
	}
}

/*
 * Show that chunks in order are accepted while the DDP-SSN wraps three times: RFC 5043
 * 5.2.1 (SCTPDDP-9)
 */
static void ssn_wraps(struct kunit *test)
{
	u32 n;

	begin_at_ssn(0);
	for (n = 0; n < 200000; n++)
		receive_ssn(test, n);
}

/*
 * Show that sddp_ssn_compare() agrees with get_expected_order() for random DDP-SSNs: near the next
 * expected DDP-SSN, far ahead of it, and before it.
 */
static void random_ssns_match_reference(struct kunit *test)
{
	struct rnd_state rnd;
	u32 n, choice;

	prandom_seed_state(&rnd, 5043);
	begin_at_ssn(0);
	for (n = 0; n < 300000; n++) {
		choice = prandom_u32_state(&rnd);
		switch (choice & 7) {
		case 0:
			receive_ssn(test, choice >> 16);
			break;
		case 1:
			receive_ssn(test, next - (choice >> 28));
			break;
		default:
			receive_ssn(test, next + (choice >> 26));
			break;
		}
	}
}

/*
 * Show that a session is complete as soon as all of its chunks have been received, and
 * not before, in whatever order they are received: RFC 5043 6.6 (SCTPDDP-46).
 */
static void session_is_complete_after_all_chunks(struct kunit *test)
{
	struct sddp_tally t;
	u32 at, n, i, last;
	u8 order[MANY];

	for (n = 0; n < 720; n++) {
		set_nth_permutation(n, order);
		for (at = 0; at < ARRAY_SIZE(starts); at++) {
			/*
			 * the chunks with DDP-SSNs below starts[at] were counted when
			 * the session ended
			 */
			t = (struct sddp_tally){ .n = starts[at] };
			last = starts[at] + MANY - 1;
			for (i = 0; i < MANY; i++) {
				KUNIT_ASSERT_FALSE(test, sddp_tally_is_complete(&t));
				sddp_tally_increment(&t);
				if (order[i] == MANY - 1)
					sddp_tally_set_last(&t, last);
			}
			KUNIT_ASSERT_TRUE(test, sddp_tally_is_complete(&t));
		}
	}
}

/*
 * Show that a session is complete only if the number of received chunks is the number
 * that the first Terminate gives: neither further chunks nor a second Terminate make it
 * complete.
 */
static void session_is_complete_only_with_right_count(struct kunit *test)
{
	struct sddp_tally t = {};
	u32 n;

	sddp_tally_increment(&t);
	KUNIT_EXPECT_FALSE(test, sddp_tally_is_complete(&t));
	sddp_tally_set_last(&t, 1);
	sddp_tally_set_last(&t, 0);
	KUNIT_EXPECT_FALSE(test, sddp_tally_is_complete(&t));
	for (n = 0; n < 0x10000; n++) {
		sddp_tally_increment(&t);
		KUNIT_ASSERT_EQ(test, !n, sddp_tally_is_complete(&t));
	}
}

static struct kunit_case ssn_cases[] = {
	KUNIT_CASE(chunks_are_processed_in_ssn_order),
	KUNIT_CASE(ssns_are_compared_modulo_65536),
	KUNIT_CASE(reversed_window_is_valid),
	KUNIT_CASE(ssn_wraps),
	KUNIT_CASE(random_ssns_match_reference),
	KUNIT_CASE(session_is_complete_after_all_chunks),
	KUNIT_CASE(session_is_complete_only_with_right_count),
	{}
};

static struct kunit_suite ssn_suite = {
	.name = "sctp_ddp_ssn",
	.test_cases = ssn_cases,
};

kunit_test_suite(ssn_suite);
