// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit tests of the state machine of a session. This file expresses the legal sequences
 * of RFC 5043 section 6 and RFC 6581 section 7 as rules about a list of chunks. The
 * tests compare the state machine of each side with these rules for every list of up to
 * five chunks.
 */
#include <kunit/test.h>

#include "../session.h"

#define LONGEST	5

/* A chunk that this side sends (if ours is set) or receives */
struct chunk {
	bool		ours;
	enum sddp_chunk_kind	what;
	bool		enhanced;
};

static const struct chunk kinds[] = {
	{ .what = SDDP_KIND_INITIATE },
	{ .what = SDDP_KIND_INITIATE, .enhanced = true },
	{ .what = SDDP_KIND_ACCEPT },
	{ .what = SDDP_KIND_ACCEPT, .enhanced = true },
	{ .what = SDDP_KIND_REJECT },
	{ .what = SDDP_KIND_REJECT, .enhanced = true },
	{ .what = SDDP_KIND_TERMINATE },
	{ .what = SDDP_KIND_SEGMENT },
};

/* A sequence of sent and received chunks, and the state of the session according to the rules */
struct story {
	struct chunk	said[LONGEST + 1];
	int		n;
	bool		active;
	bool		broken;		/* an illegal chunk was received */
	bool		terminate_too_early; /* the illegal chunk: a Terminate before any reply */
	bool		ack_missing;	/* the peer may not have received our last control chunk */
};

/* the test that is running; expect_rule() reports failures to it */
static struct kunit *test;
static u32 stories;

/*
 * Format a sequence for a failure message, for example ">i'" for our Enhanced Initiate:
 * direction, then initial letter of the kind, then "'" if the chunk is enhanced
 */
static const char *format_story(const struct story *t)
{
	static char text[4 * (LONGEST + 1) + 1];
	char *p = text;
	int i;

	for (i = 0; i < t->n; i++) {
		*p++ = t->said[i].ours ? '>' : '<';
		*p++ = "siart"[t->said[i].what];
		*p++ = t->said[i].enhanced ? '\'' : ' ';
	}
	*p = 0;
	return text;
}

static void expect_rule(const struct story *t, bool is, const char *what)
{
	if (!is)
		KUNIT_FAIL(test, "%s, %s: %s", t->active ? "active" : "passive",
			   format_story(t), what);
}

/* The rules -------------------------------------------------------------- */

static bool is_no(const struct chunk *c)
{
	return c->what == SDDP_KIND_REJECT || c->what == SDDP_KIND_TERMINATE;
}

/*
 * Check whether the chunks after the Accept are legal. RFC 5043 6.2: all of them are
 * segments, except that the last chunk of each side may be a Terminate.
 */
static bool legal_open(const struct chunk *said, int n)
{
	bool done[2] = {};
	int i;

	for (i = 0; i < n; i++) {
		if (done[said[i].ours])
			return false;
		if (said[i].what == SDDP_KIND_TERMINATE)
			done[said[i].ours] = true;
		else if (said[i].what != SDDP_KIND_SEGMENT)
			return false;
	}
	return true;
}

/*
 * Check whether the whole sequence is legal (RFC 5043 6.2 to 6.4, RFC 6581 7). An Accept
 * or Reject is enhanced if the Initiate is enhanced, and otherwise not. But the Reject
 * of an Enhanced Initiate need not be enhanced.
 */
static bool legal(const struct story *t)
{
	const struct chunk *said = t->said;

	if (t->n > 0 && (said[0].ours != t->active ||
			 said[0].what != SDDP_KIND_INITIATE))
		return false;
	if (t->n < 2)
		return true;
	if (said[1].ours == t->active)
		return false;
	if (is_no(&said[1]))
		return t->n == 2 && (!said[1].enhanced || said[0].enhanced);
	return said[1].what == SDDP_KIND_ACCEPT &&
	       said[1].enhanced == said[0].enhanced &&
	       legal_open(said + 2, t->n - 2);
}

static bool has_terminate(const struct story *t, bool ours)
{
	int i;

	for (i = 0; i < t->n; i++)
		if (t->said[i].ours == ours &&
		    t->said[i].what == SDDP_KIND_TERMINATE)
			return true;
	return false;
}

/*
 * Check whether the second chunk is a legal reply that ends the session: a Reject or a
 * Terminate
 */
static bool was_refused(const struct story *t)
{
	struct story two = *t;

	two.n = 2;
	return t->n >= 2 && is_no(&t->said[1]) && legal(&two);
}

static bool session_is_over(const struct story *t)
{
	if (was_refused(t))
		return true;
	return has_terminate(t, false) && (t->terminate_too_early || has_terminate(t, true));
}

/* Get the action that the state machine must return for the last chunk of a legal sequence */
static enum sddp_do expected_action(const struct story *t)
{
	switch (t->said[t->n - 1].what) {
	case SDDP_KIND_INITIATE:
		return SDDP_DO_REQUEST;
	case SDDP_KIND_ACCEPT:
		return SDDP_DO_ENTER;
	case SDDP_KIND_REJECT:
		return SDDP_DO_REJECTED;
	case SDDP_KIND_TERMINATE:
		return t->n == 2 ? SDDP_DO_REFUSED : SDDP_DO_PEER_DONE;
	default:
		return SDDP_DO_DELIVER;
	}
}

/*
 * Check whether this side may send the last chunk of @next. RFC 5043 6.6: a Terminate
 * must not overtake a control chunk. RFC 5043 6.1: after a violation, only a Terminate
 * may be sent.
 */
static bool may_send_next(const struct story *t, const struct story *next)
{
	bool terminate = next->said[t->n].what == SDDP_KIND_TERMINATE;

	if (terminate && t->ack_missing)
		return false;
	if (!t->broken)
		return legal(next);
	return terminate && !t->terminate_too_early && !has_terminate(t, true) &&
	       !was_refused(t);
}

/* All sequences ---------------------------------------------------------- */

static void try_all_next_chunks(const struct sddp_session *s, const struct story *t);

static void receive_and_check(struct sddp_session s, struct story t, const struct chunk *c)
{
	bool last = was_refused(&t);
	bool answered = t.n >= 2;
	enum sddp_do got = sddp_session_receive(&s, c->what, c->enhanced);

	t.said[t.n++] = *c;
	if (t.broken || last) {
		expect_rule(&t, got == SDDP_DO_IGNORE, "not ignored");
		t.broken = true;
	} else if (legal(&t)) {
		expect_rule(&t, got == expected_action(&t), "asks for something else");
		if (!has_terminate(&t, true))
			t.ack_missing = false;
	} else {
		expect_rule(&t, got == SDDP_DO_END, "should end it");
		t.broken = true;
		t.terminate_too_early = c->what == SDDP_KIND_TERMINATE && !answered;
	}
	try_all_next_chunks(&s, &t);
}

static void send_and_check(struct sddp_session s, struct story t, const struct chunk *c)
{
	struct story next = t;
	bool may = sddp_session_may_send(&s, c->what);

	next.said[t.n] = *c;
	next.said[t.n].ours = true;
	next.n++;
	expect_rule(&next, may == may_send_next(&t, &next), may ? "may not" : "may");
	if (!may)
		return;
	sddp_session_record_sent(&s, c->what, c->enhanced);
	if (c->what != SDDP_KIND_SEGMENT)
		next.ack_missing = true;
	try_all_next_chunks(&s, &next);
}

/*
 * Check whether a chunk that this side sends is enhanced as the Initiate requires. The
 * state machine does not check this, because its caller ensures it.
 */
static bool our_kind(const struct story *t, const struct chunk *c)
{
	if (c->what == SDDP_KIND_ACCEPT || c->what == SDDP_KIND_REJECT)
		return c->enhanced == (t->n > 0 && t->said[0].enhanced);
	return true;
}

static void try_all_next_chunks(const struct sddp_session *s, const struct story *t)
{
	struct sddp_session acked = *s;
	struct story sure = *t;
	u32 i;

	stories++;
	expect_rule(t, sddp_session_is_over(s) == session_is_over(t), "over, or not");
	expect_rule(t, sddp_session_is_reusable(s) == (session_is_over(t) && !t->ack_missing),
		    "to be used again, or not");
	expect_rule(t, !sddp_session_is_acked(s) || !t->ack_missing, "heard, or not");
	if (t->n == LONGEST)
		return;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		receive_and_check(*s, *t, &kinds[i]);
		if (our_kind(t, &kinds[i]))
			send_and_check(*s, *t, &kinds[i]);
	}
	if (!t->ack_missing)
		return;
	sure.ack_missing = false;
	sddp_session_record_acked(&acked);
	try_all_next_chunks(&acked, &sure);
}

static u32 all_stories(struct kunit *now, bool active)
{
	struct story t = { .active = active };
	struct sddp_session s;

	test = now;
	stories = 0;
	sddp_session_init(&s, active);
	try_all_next_chunks(&s, &t);
	return stories;
}

/*
 * Show for every sequence of chunks and local actions that try_all_next_chunks()
 * makes that the state machine of the active side agrees with SCTPDDP-27,
 * SCTPDDP-28, SCTPDDP-30, SCTPDDP-32, SCTPDDP-43, SCTPDDP-44, SCTPDDP-45, SCTPDDP-46
 * (RFC 5043 6.1, 6.2, 6.6) and MPA2-21 (RFC 6581 7).
 */
static void every_story_active(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, all_stories(test, true), 10000u);
}

/*
 * Show for every sequence of chunks and local actions that try_all_next_chunks()
 * makes that the state machine of the passive side agrees with SCTPDDP-1,
 * SCTPDDP-27, SCTPDDP-28, SCTPDDP-30, SCTPDDP-32, SCTPDDP-43 and MPA2-21 (RFC 5043
 * 2, 6.1, 6.2, 6.6, RFC 6581 7).
 */
static void every_story_passive(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, all_stories(test, false), 10000u);
}

/* The sequences of the RFCs, one by one ----------------------------------- */

struct step {
	struct chunk	chunk;
	enum sddp_do	asks;		/* expected action for a received chunk */
};

#define SAY(w, e)	{ { true, SDDP_KIND_##w, e } }
#define HEAR(w, e, do)	{ { false, SDDP_KIND_##w, e }, SDDP_DO_##do }
#define SEND		{ { true, SDDP_KIND_SEGMENT } }
#define TAKE		{ { false, SDDP_KIND_SEGMENT }, SDDP_DO_DELIVER }

static void walk(struct kunit *test, bool active, const struct step *step,
		 int n)
{
	struct sddp_session s;

	sddp_session_init(&s, active);
	for (; n--; step++) {
		const struct chunk *c = &step->chunk;

		KUNIT_EXPECT_FALSE(test, sddp_session_is_over(&s));
		if (!c->ours) {
			KUNIT_EXPECT_EQ(test, step->asks,
					sddp_session_receive(&s, c->what,
							     c->enhanced));
			continue;
		}
		KUNIT_EXPECT_TRUE(test, sddp_session_may_send(&s, c->what));
		sddp_session_record_sent(&s, c->what, c->enhanced);
		sddp_session_record_acked(&s);
	}
	KUNIT_EXPECT_TRUE(test, sddp_session_is_reusable(&s));
}

#define WALK(test, active, ...) do {					\
	static const struct step steps[] = { __VA_ARGS__ };		\
									\
	walk(test, active, steps, ARRAY_SIZE(steps));			\
} while (0)

/* Show that an accepted session is over after both Terminates: RFC 5043 6.2 (SCTPDDP-29) */
static void accepted_ends_by_both_terminates(struct kunit *test)
{
	WALK(test, true, SAY(INITIATE, false), HEAR(ACCEPT, false, ENTER),
	     SEND, TAKE, SEND, SAY(TERMINATE, false), TAKE,
	     HEAR(TERMINATE, false, PEER_DONE));
	WALK(test, false, HEAR(INITIATE, true, REQUEST), SAY(ACCEPT, true),
	     SEND, SEND, TAKE, HEAR(TERMINATE, false, PEER_DONE), SEND,
	     SAY(TERMINATE, false));
}

/*
 * Show that our Terminate counts as received by the peer only after its acknowledgment,
 * even if the peer's Terminate has been received first
 */
static void acked_only_by_sack(struct kunit *test)
{
	struct sddp_session s = {
		.state = SDDP_OPEN, .active = true, .peer_done = true,
	};

	KUNIT_EXPECT_FALSE(test, sddp_session_is_acked(&s));
	sddp_session_record_sent(&s, SDDP_KIND_TERMINATE, false);
	KUNIT_EXPECT_TRUE(test, sddp_session_is_over(&s));
	KUNIT_EXPECT_FALSE(test, sddp_session_is_acked(&s));
	sddp_session_record_acked(&s);
	KUNIT_EXPECT_TRUE(test, sddp_session_is_acked(&s));
}

/* Show that a rejected session is over after the Reject: RFC 5043 6.3 (SCTPDDP-34) */
static void reject_ends_session(struct kunit *test)
{
	WALK(test, true, SAY(INITIATE, true), HEAR(REJECT, true, REJECTED));
	WALK(test, true, SAY(INITIATE, true), HEAR(REJECT, false, REJECTED));
	WALK(test, false, HEAR(INITIATE, false, REQUEST), SAY(REJECT, false));
}

/*
 * Show that a Terminate in reply to an Initiate ends the session: RFC 5043 5.2.3 and 6.4
 * (SCTPDDP-21, SCTPDDP-39)
 */
static void terminate_refuses_initiate(struct kunit *test)
{
	WALK(test, true, SAY(INITIATE, false), HEAR(TERMINATE, false, REFUSED));
	WALK(test, false, HEAR(INITIATE, true, REQUEST), SAY(TERMINATE, false));
}

/*
 * Show that a chunk that cannot be decoded ends the session, and that only a Terminate
 * may be sent afterwards: RFC 5043 5.1 and 5.2.3 (SCTPDDP-6, SCTPDDP-13)
 */
static void undecodable_chunk_ends_session(struct kunit *test)
{
	struct sddp_session s;

	sddp_session_init(&s, false);
	sddp_session_abort(&s);
	KUNIT_EXPECT_TRUE(test, sddp_session_may_send(&s, SDDP_KIND_TERMINATE));
	KUNIT_EXPECT_FALSE(test, sddp_session_may_send(&s, SDDP_KIND_SEGMENT));
	KUNIT_EXPECT_EQ(test, SDDP_DO_IGNORE,
			sddp_session_receive(&s, SDDP_KIND_INITIATE, false));
	sddp_session_record_sent(&s, SDDP_KIND_TERMINATE, false);
	KUNIT_EXPECT_FALSE(test, sddp_session_is_over(&s));
	sddp_session_receive(&s, SDDP_KIND_TERMINATE, false);
	KUNIT_EXPECT_TRUE(test, sddp_session_is_over(&s));
	KUNIT_EXPECT_FALSE(test, sddp_session_is_reusable(&s));
	sddp_session_record_acked(&s);
	KUNIT_EXPECT_TRUE(test, sddp_session_is_reusable(&s));
}

static struct kunit_case session_cases[] = {
	KUNIT_CASE(every_story_active),
	KUNIT_CASE(every_story_passive),
	KUNIT_CASE(accepted_ends_by_both_terminates),
	KUNIT_CASE(acked_only_by_sack),
	KUNIT_CASE(reject_ends_session),
	KUNIT_CASE(terminate_refuses_initiate),
	KUNIT_CASE(undecodable_chunk_ends_session),
	{}
};

static struct kunit_suite session_suite = {
	.name = "sctp_ddp_session",
	.test_cases = session_cases,
};

kunit_test_suite(session_suite);
