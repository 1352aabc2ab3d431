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
	enum sddp_chunk_kind	kind;
	bool		enhanced;
};

static const struct chunk kinds[] = {
	{ .kind = SDDP_KIND_INITIATE },
	{ .kind = SDDP_KIND_INITIATE, .enhanced = true },
	{ .kind = SDDP_KIND_ACCEPT },
	{ .kind = SDDP_KIND_ACCEPT, .enhanced = true },
	{ .kind = SDDP_KIND_REJECT },
	{ .kind = SDDP_KIND_REJECT, .enhanced = true },
	{ .kind = SDDP_KIND_TERMINATE },
	{ .kind = SDDP_KIND_SEGMENT },
};

/* A sequence of sent and received chunks, and the state of the session according to the rules */
struct sequence {
	struct chunk	chunks[LONGEST + 1];
	int		n;
	bool		active;
	bool		broken;		/* an illegal chunk was received */
	bool		terminate_too_early; /* the illegal chunk was an early Terminate */
	bool		ack_missing;	/* the peer may not have received our last control chunk */
};

/* the running test, to which expect_rule() reports failures */
static struct kunit *test;
static u32 sequences;

/*
 * Format a sequence for a failure message, for example ">i'" for our Enhanced Initiate:
 * direction, then initial letter of the kind, then "'" if the chunk is enhanced
 */
static const char *format_sequence(const struct sequence *t)
{
	static char text[4 * (LONGEST + 1) + 1];
	char *p = text;
	int i;

	for (i = 0; i < t->n; i++) {
		*p++ = t->chunks[i].ours ? '>' : '<';
		*p++ = "siart"[t->chunks[i].kind];
		*p++ = t->chunks[i].enhanced ? '\'' : ' ';
	}
	*p = 0;
	return text;
}

static void expect_rule(const struct sequence *t, bool is, const char *what)
{
	if (!is)
		KUNIT_FAIL(test, "%s, %s: %s", t->active ? "active" : "passive",
			   format_sequence(t), what);
}

/* The rules -------------------------------------------------------------- */

static bool is_refusal(const struct chunk *c)
{
	return c->kind == SDDP_KIND_REJECT || c->kind == SDDP_KIND_TERMINATE;
}

/*
 * Check whether the chunks after the Accept are legal. RFC 5043 6.2: all of them are
 * segments, except that the last chunk of each side may be a Terminate.
 */
static bool is_legal_after_accept(const struct chunk *chunks, int n)
{
	bool done[2] = {};
	int i;

	for (i = 0; i < n; i++) {
		if (done[chunks[i].ours])
			return false;
		if (chunks[i].kind == SDDP_KIND_TERMINATE)
			done[chunks[i].ours] = true;
		else if (chunks[i].kind != SDDP_KIND_SEGMENT)
			return false;
	}
	return true;
}

/*
 * Check whether the whole sequence is legal (RFC 5043 6.2 to 6.4, RFC 6581 7). An Accept
 * or Reject is enhanced if the Initiate is enhanced, and otherwise not. But the Reject
 * of an Enhanced Initiate need not be enhanced.
 */
static bool is_legal_sequence(const struct sequence *t)
{
	const struct chunk *chunks = t->chunks;

	if (t->n > 0 && (chunks[0].ours != t->active ||
			 chunks[0].kind != SDDP_KIND_INITIATE))
		return false;
	if (t->n < 2)
		return true;
	if (chunks[1].ours == t->active)
		return false;
	if (is_refusal(&chunks[1]))
		return t->n == 2 && (!chunks[1].enhanced || chunks[0].enhanced);
	return chunks[1].kind == SDDP_KIND_ACCEPT &&
	       chunks[1].enhanced == chunks[0].enhanced &&
	       is_legal_after_accept(chunks + 2, t->n - 2);
}

static bool has_terminate(const struct sequence *t, bool ours)
{
	int i;

	for (i = 0; i < t->n; i++)
		if (t->chunks[i].ours == ours &&
		    t->chunks[i].kind == SDDP_KIND_TERMINATE)
			return true;
	return false;
}

/*
 * Check whether the second chunk is a legal reply that ends the session: a Reject or a
 * Terminate
 */
static bool is_initiate_refused(const struct sequence *t)
{
	struct sequence two = *t;

	two.n = 2;
	return t->n >= 2 && is_refusal(&t->chunks[1]) && is_legal_sequence(&two);
}

static bool is_sequence_over(const struct sequence *t)
{
	if (is_initiate_refused(t))
		return true;
	return has_terminate(t, false) && (t->terminate_too_early || has_terminate(t, true));
}

/* Get the action that the state machine must return for the last chunk of a legal sequence */
static enum sddp_do get_expected_action(const struct sequence *t)
{
	switch (t->chunks[t->n - 1].kind) {
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
static bool may_send_next(const struct sequence *t, const struct sequence *next)
{
	bool terminate = next->chunks[t->n].kind == SDDP_KIND_TERMINATE;

	if (terminate && t->ack_missing)
		return false;
	if (!t->broken)
		return is_legal_sequence(next);
	return terminate && !t->terminate_too_early && !has_terminate(t, true) &&
	       !is_initiate_refused(t);
}

/* All sequences ---------------------------------------------------------- */

static void try_all_next_chunks(const struct sddp_session *s, const struct sequence *t);

static void receive_chunk_and_check(struct sddp_session s, struct sequence t, const struct chunk *c)
{
	bool last = is_initiate_refused(&t);
	bool answered = t.n >= 2;
	enum sddp_do got = sddp_session_receive_chunk(&s, c->kind, c->enhanced);

	t.chunks[t.n++] = *c;
	if (t.broken || last) {
		expect_rule(&t, got == SDDP_DO_IGNORE, "must be ignored");
		t.broken = true;
	} else if (is_legal_sequence(&t)) {
		expect_rule(&t, got == get_expected_action(&t), "must cause the expected action");
		if (!has_terminate(&t, true))
			t.ack_missing = false;
	} else {
		expect_rule(&t, got == SDDP_DO_END, "must end the session");
		t.broken = true;
		t.terminate_too_early = c->kind == SDDP_KIND_TERMINATE && !answered;
	}
	try_all_next_chunks(&s, &t);
}

static void send_chunk_and_check(struct sddp_session s, struct sequence t, const struct chunk *c)
{
	struct sequence next = t;
	bool may = sddp_session_may_send(&s, c->kind);

	next.chunks[t.n] = *c;
	next.chunks[t.n].ours = true;
	next.n++;
	expect_rule(&next, may == may_send_next(&t, &next),
		    may ? "must not be sent" : "may be sent");
	if (!may)
		return;
	sddp_session_record_chunk_sent(&s, c->kind, c->enhanced);
	if (c->kind != SDDP_KIND_SEGMENT)
		next.ack_missing = true;
	try_all_next_chunks(&s, &next);
}

/*
 * Check whether a chunk that this side sends is enhanced as the Initiate requires. The
 * state machine does not check this, because its caller ensures it.
 */
static bool is_enhanced_as_initiate(const struct sequence *t, const struct chunk *c)
{
	if (c->kind == SDDP_KIND_ACCEPT || c->kind == SDDP_KIND_REJECT)
		return c->enhanced == (t->n > 0 && t->chunks[0].enhanced);
	return true;
}

static void try_all_next_chunks(const struct sddp_session *s, const struct sequence *t)
{
	struct sddp_session acked = *s;
	struct sequence sure = *t;
	u32 i;

	sequences++;
	expect_rule(t, sddp_session_is_over(s) == is_sequence_over(t),
		    "must be over exactly if the rules say so");
	expect_rule(t, sddp_session_is_reusable(s) == (is_sequence_over(t) && !t->ack_missing),
		    "must be reusable exactly if it is over and acknowledged");
	expect_rule(t, !sddp_session_last_chunk_is_acked(s) || !t->ack_missing,
		    "must not be acknowledged while an acknowledgment is missing");
	if (t->n == LONGEST)
		return;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		receive_chunk_and_check(*s, *t, &kinds[i]);
		if (is_enhanced_as_initiate(t, &kinds[i]))
			send_chunk_and_check(*s, *t, &kinds[i]);
	}
	if (!t->ack_missing)
		return;
	sure.ack_missing = false;
	sddp_session_record_control_acked(&acked);
	try_all_next_chunks(&acked, &sure);
}

static u32 check_all_sequences(struct kunit *now, bool active)
{
	struct sequence t = { .active = active };
	struct sddp_session s;

	test = now;
	sequences = 0;
	sddp_session_init(&s, active);
	try_all_next_chunks(&s, &t);
	return sequences;
}

/*
 * Show that the state machine of the active side agrees with SCTPDDP-27, SCTPDDP-28, SCTPDDP-30,
 * SCTPDDP-32, SCTPDDP-43, SCTPDDP-44, SCTPDDP-45, SCTPDDP-46 (RFC 5043 6.1, 6.2, 6.6) and MPA2-21
 * (RFC 6581 7), for every sequence of chunks and local actions that try_all_next_chunks() makes.
 */
static void every_active_sequence_matches_rfc(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, check_all_sequences(test, true), 10000u);
}

/*
 * Show that the state machine of the passive side agrees with SCTPDDP-1, SCTPDDP-27, SCTPDDP-28,
 * SCTPDDP-30, SCTPDDP-32, SCTPDDP-43 and MPA2-21 (RFC 5043 2, 6.1, 6.2, 6.6, RFC 6581 7), for every
 * sequence of chunks and local actions that try_all_next_chunks() makes.
 */
static void every_passive_sequence_matches_rfc(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, check_all_sequences(test, false), 10000u);
}

/* The sequences of the RFCs, one by one ----------------------------------- */

struct step {
	struct chunk	chunk;
	enum sddp_do	want;		/* expected action for a received chunk */
};

#define SEND_CTRL(w, e)		{ { true, SDDP_KIND_##w, e } }
#define RECV_CTRL(w, e, do)	{ { false, SDDP_KIND_##w, e }, SDDP_DO_##do }
#define SEND_SEG		{ { true, SDDP_KIND_SEGMENT } }
#define RECV_SEG		{ { false, SDDP_KIND_SEGMENT }, SDDP_DO_DELIVER }

static void check_steps(struct kunit *test, bool active, const struct step *step,
			int n)
{
	struct sddp_session s;

	sddp_session_init(&s, active);
	for (; n--; step++) {
		const struct chunk *c = &step->chunk;

		KUNIT_EXPECT_FALSE(test, sddp_session_is_over(&s));
		if (!c->ours) {
			KUNIT_EXPECT_EQ(test, step->want,
					sddp_session_receive_chunk(&s, c->kind,
								   c->enhanced));
			continue;
		}
		KUNIT_EXPECT_TRUE(test, sddp_session_may_send(&s, c->kind));
		sddp_session_record_chunk_sent(&s, c->kind, c->enhanced);
		sddp_session_record_control_acked(&s);
	}
	KUNIT_EXPECT_TRUE(test, sddp_session_is_reusable(&s));
}

#define CHECK_STEPS(test, active, ...) do {				\
	static const struct step steps[] = { __VA_ARGS__ };		\
									\
	check_steps(test, active, steps, ARRAY_SIZE(steps));		\
} while (0)

/* Show that an accepted session is over after both Terminates: RFC 5043 6.2 (SCTPDDP-29) */
static void accepted_session_ends_by_both_terminates(struct kunit *test)
{
	CHECK_STEPS(test, true, SEND_CTRL(INITIATE, false), RECV_CTRL(ACCEPT, false, ENTER),
		    SEND_SEG, RECV_SEG, SEND_SEG, SEND_CTRL(TERMINATE, false), RECV_SEG,
		    RECV_CTRL(TERMINATE, false, PEER_DONE));
	CHECK_STEPS(test, false, RECV_CTRL(INITIATE, true, REQUEST), SEND_CTRL(ACCEPT, true),
		    SEND_SEG, SEND_SEG, RECV_SEG, RECV_CTRL(TERMINATE, false, PEER_DONE), SEND_SEG,
		    SEND_CTRL(TERMINATE, false));
}

/*
 * Show that our Terminate counts as received by the peer only after its acknowledgment,
 * even if the peer's Terminate has been received first
 */
static void our_terminate_needs_acknowledgment(struct kunit *test)
{
	struct sddp_session s = {
		.state = SDDP_OPEN, .active = true, .peer_done = true,
	};

	KUNIT_EXPECT_FALSE(test, sddp_session_last_chunk_is_acked(&s));
	sddp_session_record_chunk_sent(&s, SDDP_KIND_TERMINATE, false);
	KUNIT_EXPECT_TRUE(test, sddp_session_is_over(&s));
	KUNIT_EXPECT_FALSE(test, sddp_session_last_chunk_is_acked(&s));
	sddp_session_record_control_acked(&s);
	KUNIT_EXPECT_TRUE(test, sddp_session_last_chunk_is_acked(&s));
}

/* Show that a rejected session is over after the Reject: RFC 5043 6.3 (SCTPDDP-34) */
static void reject_ends_session(struct kunit *test)
{
	CHECK_STEPS(test, true, SEND_CTRL(INITIATE, true), RECV_CTRL(REJECT, true, REJECTED));
	CHECK_STEPS(test, true, SEND_CTRL(INITIATE, true), RECV_CTRL(REJECT, false, REJECTED));
	CHECK_STEPS(test, false, RECV_CTRL(INITIATE, false, REQUEST), SEND_CTRL(REJECT, false));
}

/*
 * Show that a Terminate in reply to an Initiate ends the session: RFC 5043 5.2.3 and 6.4
 * (SCTPDDP-21, SCTPDDP-39)
 */
static void terminate_refuses_initiate(struct kunit *test)
{
	CHECK_STEPS(test, true, SEND_CTRL(INITIATE, false), RECV_CTRL(TERMINATE, false, REFUSED));
	CHECK_STEPS(test, false, RECV_CTRL(INITIATE, true, REQUEST), SEND_CTRL(TERMINATE, false));
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
			sddp_session_receive_chunk(&s, SDDP_KIND_INITIATE, false));
	sddp_session_record_chunk_sent(&s, SDDP_KIND_TERMINATE, false);
	KUNIT_EXPECT_FALSE(test, sddp_session_is_over(&s));
	sddp_session_receive_chunk(&s, SDDP_KIND_TERMINATE, false);
	KUNIT_EXPECT_TRUE(test, sddp_session_is_over(&s));
	KUNIT_EXPECT_FALSE(test, sddp_session_is_reusable(&s));
	sddp_session_record_control_acked(&s);
	KUNIT_EXPECT_TRUE(test, sddp_session_is_reusable(&s));
}

static struct kunit_case session_cases[] = {
	KUNIT_CASE(every_active_sequence_matches_rfc),
	KUNIT_CASE(every_passive_sequence_matches_rfc),
	KUNIT_CASE(accepted_session_ends_by_both_terminates),
	KUNIT_CASE(our_terminate_needs_acknowledgment),
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
