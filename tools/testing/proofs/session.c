// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State machine of a DDP Stream Session. In a step, a chunk is received, sent or
 * acknowledged. This file proves that a step in any state that satisfies the invariant
 * is_sound() keeps the invariant and obeys RFC 5043 section 6. So any sequence of steps does.
 *
 * Files: sctp_ddp/session.c
 * Bound: 1, there is no loop
 * Mutation: sctp_ddp/session.c s/s->state != SDDP_IDLE || s->active/s->state != SDDP_IDLE/
 * Mutation: sctp_ddp/session.c s/s->state == SDDP_OPEN \&\& !s->own_done/s->state == SDDP_OPEN/
 * Mutation: sctp_ddp/session.c s/if (s->peer_done)/if (0)/
 * Mutation: sctp_ddp/session.c s/if (s->own_done || s->control_unacked)/if (s->own_done)/
 * Mutation: sctp_ddp/session.c s/sddp_session_is_over(s) \&\& !s->control_unacked/sddp_session_is_over(s)/
 */
#include "../../../drivers/sctp_ddp/session.h"
#include "proof.h"

static bool is_sound(const struct sddp_session *s)
{
	switch (s->state) {
	case SDDP_IDLE:
		return !s->peer_done && !s->own_done && !s->control_unacked;
	case SDDP_INITIATED:
		return s->active && !s->peer_done && !s->own_done;
	case SDDP_REQUESTED:
		return !s->active && !s->peer_done && !s->own_done &&
		       !s->control_unacked;
	default:
		return true;
	}
}

static struct sddp_session any_session(void)
{
	struct sddp_session s;

	GIVEN((u32)s.state <= SDDP_OVER);
	s.active = any_bool();
	s.enhanced = any_bool();
	s.peer_done = any_bool();
	s.own_done = any_bool();
	s.control_unacked = any_bool();
	GIVEN(is_sound(&s));
	return s;
}

static enum sddp_chunk_kind any_chunk_kind(void)
{
	enum sddp_chunk_kind what;

	GIVEN((u32)what <= SDDP_KIND_TERMINATE);
	return what;
}

/*
 * Check whether a received chunk is legal in this state (RFC 5043 6.2 to 6.4, RFC 6581 7)
 */
static bool is_chunk_legal_in_state(const struct sddp_session *s, enum sddp_chunk_kind what,
				    bool enhanced)
{
	if (s->peer_done || s->state == SDDP_OVER)
		return false;
	switch (what) {
	case SDDP_KIND_INITIATE:
		return !s->active && s->state == SDDP_IDLE;
	case SDDP_KIND_ACCEPT:
		return s->state == SDDP_INITIATED && enhanced == s->enhanced;
	case SDDP_KIND_REJECT:
		return s->state == SDDP_INITIATED && (!enhanced || s->enhanced);
	case SDDP_KIND_TERMINATE:
		return s->state == SDDP_INITIATED || s->state == SDDP_OPEN;
	default:
		return s->state == SDDP_OPEN;
	}
}

static enum sddp_do get_expected_action(const struct sddp_session *s, enum sddp_chunk_kind what)
{
	switch (what) {
	case SDDP_KIND_INITIATE:
		return SDDP_DO_REQUEST;
	case SDDP_KIND_ACCEPT:
		return SDDP_DO_ENTER;
	case SDDP_KIND_REJECT:
		return SDDP_DO_REJECTED;
	case SDDP_KIND_TERMINATE:
		return s->state == SDDP_OPEN ? SDDP_DO_PEER_DONE : SDDP_DO_REFUSED;
	default:
		return SDDP_DO_DELIVER;
	}
}

void prove_init(void)
{
	struct sddp_session s;

	sddp_session_init(&s, any_bool());
	MUST("the invariant holds at the beginning", is_sound(&s) && s.state == SDDP_IDLE);
	REACHED("end");
}

void prove_session_receive(void)
{
	struct sddp_session s = any_session(), was = s;
	enum sddp_chunk_kind what = any_chunk_kind();
	bool enhanced = any_bool();
	enum sddp_do does = sddp_session_receive_chunk(&s, what, enhanced);

	MUST("the invariant holds again", is_sound(&s));
	MUST("SCTPDDP-28: a legal chunk has its effect, another one ends the session",
	     is_chunk_legal_in_state(&was, what, enhanced) ?
	     does == get_expected_action(&was, what)
	     : does == (was.state == SDDP_OVER ? SDDP_DO_IGNORE : SDDP_DO_END));
	MUST("SCTPDDP-28: after an illegal chunk the session is over",
	     does != SDDP_DO_END || s.state == SDDP_OVER);
	MUST("SCTPDDP-29, DDP-10: segments are delivered only in an open session",
	     does != SDDP_DO_DELIVER || (was.state == SDDP_OPEN && !was.peer_done));
	MUST("SCTPDDP-30: after the peer's Terminate no chunk is legal",
	     !was.peer_done || does == SDDP_DO_END || does == SDDP_DO_IGNORE);
	MUST("a side that is done stays done", (!was.peer_done || s.peer_done) &&
	     (!was.own_done || s.own_done));
	MUST("SCTPDDP-28: a session that is over stays over", was.state != SDDP_OVER ||
	     s.state == SDDP_OVER);
	MUST("SCTPDDP-43, SCTPDDP-46: when over, a received chunk acknowledges nothing",
	     !was.control_unacked || s.control_unacked || was.state != SDDP_OVER);
	if (does == SDDP_DO_ENTER)
		REACHED("accepted");
	if (does == SDDP_DO_END)
		REACHED("illegal");
	if (does == SDDP_DO_DELIVER && !s.active)
		REACHED("delivered");
}

/* A chunk is sent only in the states that RFC 5043 section 6 allows */
void prove_session_send(void)
{
	struct sddp_session s = any_session(), was = s;
	enum sddp_chunk_kind what = any_chunk_kind();
	bool enhanced = any_bool();

	if (!sddp_session_may_send(&s, what))
		return;
	MUST("SCTPDDP-30: nothing is sent after our last chunk", !was.own_done);
	MUST("SCTPDDP-44: no segment is sent before the Accept",
	     what != SDDP_KIND_SEGMENT || was.state == SDDP_OPEN);
	MUST("SCTPDDP-43: no Terminate is sent before the last control chunk is acknowledged",
	     what != SDDP_KIND_TERMINATE || !was.control_unacked);
	MUST("SCTPDDP-29: only the active side sends an Initiate, once",
	     what != SDDP_KIND_INITIATE || (was.active && was.state == SDDP_IDLE));
	MUST("SCTPDDP-34: only the passive side sends Accept or Reject, once",
	     (what != SDDP_KIND_ACCEPT && what != SDDP_KIND_REJECT) ||
	     (!was.active && was.state == SDDP_REQUESTED));
	sddp_session_record_chunk_sent(&s, what, enhanced);
	MUST("the invariant holds again", is_sound(&s));
	MUST("SCTPDDP-43: a sent control chunk is unacknowledged", what == SDDP_KIND_SEGMENT
	     ? s.control_unacked == was.control_unacked : s.control_unacked);
	MUST("SCTPDDP-30: Reject and Terminate are the last chunk",
	     s.own_done == (what == SDDP_KIND_REJECT || what == SDDP_KIND_TERMINATE));
	MUST("SCTPDDP-30: after the last chunk nothing can be sent", !s.own_done ||
	     (!sddp_session_may_send(&s, SDDP_KIND_TERMINATE) &&
	      !sddp_session_may_send(&s, SDDP_KIND_SEGMENT) &&
	      !sddp_session_may_send(&s, SDDP_KIND_ACCEPT)));
	if (what == SDDP_KIND_SEGMENT)
		REACHED("segment");
	if (what == SDDP_KIND_TERMINATE && was.state == SDDP_REQUESTED)
		REACHED("Terminate for a request");
}

void prove_session_end(void)
{
	struct sddp_session s = any_session(), was = s;

	MUST("SCTPDDP-31: the session is over when both sides are done",
	     sddp_session_is_over(&s) == (s.peer_done && s.own_done));
	MUST("SCTPDDP-46: the stream is reusable when also nothing is unacknowledged",
	     sddp_session_is_reusable(&s) ==
	     (s.peer_done && s.own_done && !s.control_unacked));
	if (sddp_session_is_reusable(&s))
		REACHED("reusable");
	sddp_session_record_control_acked(&s);
	MUST("the invariant holds after an acknowledgment", is_sound(&s) && !s.control_unacked);
	sddp_session_abort(&was);
	MUST("SCTPDDP-28: an aborted session is over", is_sound(&was) &&
	     was.state == SDDP_OVER);
	MUST("SCTPDDP-29: an aborted session sends no segments",
	     !sddp_session_may_send(&was, SDDP_KIND_SEGMENT));
}
