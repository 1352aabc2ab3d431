// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The state machine of a DDP Stream Session: see session.h. */
#include "session.h"

/**
 * sddp_session_init - initialize a session
 * @s: the session
 * @active: true if this side sends the Initiate
 */
void sddp_session_init(struct sddp_session *s, bool active)
{
	*s = (struct sddp_session){ .active = active };
}

/*
 * End the session because of an illegal chunk (RFC 5043 6.1). Later chunks from the peer
 * are ignored, except its Terminate, which shows that the peer sends no further chunk.
 */
static enum sddp_do end_session_on_violation(struct sddp_session *s)
{
	s->state = SDDP_OVER;
	return SDDP_DO_END;
}

static enum sddp_do receive_initiate(struct sddp_session *s, bool enhanced)
{
	if (s->state != SDDP_IDLE || s->active)
		return end_session_on_violation(s);
	s->state = SDDP_REQUESTED;
	s->enhanced = enhanced;
	return SDDP_DO_REQUEST;
}

/*
 * Process an Accept. The Accept must be enhanced if the Initiate was enhanced, and must
 * not be otherwise (RFC 6581 section 7).
 */
static enum sddp_do receive_accept(struct sddp_session *s, bool enhanced)
{
	if (s->state != SDDP_INITIATED || s->enhanced != enhanced)
		return end_session_on_violation(s);
	s->state = SDDP_OPEN;
	s->control_unacked = false;
	return SDDP_DO_ENTER;
}

/*
 * End a session that the peer has rejected or refused: neither side sends another
 * chunk (RFC 5043 6.3, 6.4).
 */
static enum sddp_do end_session_on_refusal(struct sddp_session *s, enum sddp_do which)
{
	s->state = SDDP_OVER;
	s->peer_done = true;
	s->own_done = true;
	s->control_unacked = false;
	return which;
}

/* Process a Reject. The reply to an Enhanced Initiate may be a Reject or an Enhanced Reject. */
static enum sddp_do receive_reject(struct sddp_session *s, bool enhanced)
{
	if (s->state != SDDP_INITIATED || (enhanced && !s->enhanced))
		return end_session_on_violation(s);
	return end_session_on_refusal(s, SDDP_DO_REJECTED);
}

static enum sddp_do receive_terminate(struct sddp_session *s)
{
	switch (s->state) {
	case SDDP_INITIATED:
		return end_session_on_refusal(s, SDDP_DO_REFUSED);
	case SDDP_OPEN:
		s->peer_done = true;
		s->control_unacked = s->control_unacked && s->own_done;
		return SDDP_DO_PEER_DONE;
	default:
		/*
		 * The Terminate is a violation, because no session is open. No chunk may
		 * follow it in either direction, so do not send a Terminate in reply.
		 */
		s->peer_done = true;
		s->own_done = true;
		return end_session_on_violation(s);
	}
}

/*
 * Process a segment. A segment from the active side shows that the peer has received our
 * Accept, because the active side sends no segment before the Accept.
 */
static enum sddp_do receive_segment(struct sddp_session *s)
{
	if (s->state != SDDP_OPEN)
		return end_session_on_violation(s);
	if (!s->active && !s->own_done)
		s->control_unacked = false;
	return SDDP_DO_DELIVER;
}

/* Process a chunk after the end of the session: only record a Terminate from the peer */
static enum sddp_do receive_chunk_after_end(struct sddp_session *s, enum sddp_chunk_kind what)
{
	if (what == SDDP_KIND_TERMINATE)
		s->peer_done = true;
	return SDDP_DO_IGNORE;
}

/**
 * sddp_session_receive_chunk - process a received chunk
 * @s: the session
 * @what: kind of the chunk
 * @enhanced: true if the chunk is enhanced (RFC 6581)
 *
 * The caller must pass chunks in the order of their DDP-SSNs. For a chunk that is in error
 * or cannot be kept, the caller must call sddp_session_abort() instead.
 *
 * Return: the action that the caller must take, see enum sddp_do.
 */
enum sddp_do sddp_session_receive_chunk(struct sddp_session *s, enum sddp_chunk_kind what,
					bool enhanced)
{
	if (s->state == SDDP_OVER)
		return receive_chunk_after_end(s, what);
	/* RFC 5043 6.2: no chunk may follow the peer's Terminate */
	if (s->peer_done)
		return end_session_on_violation(s);
	switch (what) {
	case SDDP_KIND_INITIATE:
		return receive_initiate(s, enhanced);
	case SDDP_KIND_ACCEPT:
		return receive_accept(s, enhanced);
	case SDDP_KIND_REJECT:
		return receive_reject(s, enhanced);
	case SDDP_KIND_TERMINATE:
		return receive_terminate(s);
	default:
		return receive_segment(s);
	}
}

/**
 * sddp_session_abort - end a session because of a chunk that is in error or cannot be kept
 * @s: the session; afterwards this side may send only a Terminate
 */
void sddp_session_abort(struct sddp_session *s)
{
	s->state = SDDP_OVER;
}

/*
 * Check whether a Terminate may be sent. The Terminate must not overtake our Accept (RFC
 * 5043 6.6). The active side must not send a Terminate before it has the reply to its
 * Initiate.
 */
static bool may_send_terminate(const struct sddp_session *s)
{
	if (s->own_done || s->control_unacked)
		return false;
	return s->state != SDDP_IDLE && s->state != SDDP_INITIATED;
}

/**
 * sddp_session_may_send - check whether a chunk may be sent now
 * @s: the session
 * @what: kind of the chunk
 *
 * Return: true if the chunk continues a legal sequence and cannot overtake one of our
 * control chunks, false otherwise.
 */
bool sddp_session_may_send(const struct sddp_session *s, enum sddp_chunk_kind what)
{
	switch (what) {
	case SDDP_KIND_INITIATE:
		return s->active && s->state == SDDP_IDLE;
	case SDDP_KIND_ACCEPT:
	case SDDP_KIND_REJECT:
		return s->state == SDDP_REQUESTED;
	case SDDP_KIND_TERMINATE:
		return may_send_terminate(s);
	default:
		return s->state == SDDP_OPEN && !s->own_done;
	}
}

/**
 * sddp_session_record_chunk_sent - record that a chunk has been sent
 * @s: the session; sddp_session_may_send() must have returned true for the chunk
 * @what: kind of the chunk
 * @enhanced: true if the chunk was enhanced (RFC 6581)
 */
void sddp_session_record_chunk_sent(struct sddp_session *s, enum sddp_chunk_kind what,
				    bool enhanced)
{
	if (what == SDDP_KIND_SEGMENT)
		return;
	s->control_unacked = true;
	switch (what) {
	case SDDP_KIND_INITIATE:
		s->state = SDDP_INITIATED;
		s->enhanced = enhanced;
		break;
	case SDDP_KIND_ACCEPT:
		s->state = SDDP_OPEN;
		break;
	case SDDP_KIND_REJECT:
		s->state = SDDP_OVER;
		s->own_done = true;
		s->peer_done = true;
		break;
	default:
		/*
		 * a Terminate in reply to an Initiate is a refusal and ends the session
		 * (RFC 5043 6.4)
		 */
		if (s->state == SDDP_REQUESTED) {
			s->state = SDDP_OVER;
			s->peer_done = true;
		}
		s->own_done = true;
		break;
	}
}

/**
 * sddp_session_record_control_acked - record that the peer has received our last control chunk
 * @s: the session
 */
void sddp_session_record_control_acked(struct sddp_session *s)
{
	s->control_unacked = false;
}

/**
 * sddp_session_last_chunk_is_acked - check whether the peer has received our last chunk
 * @s: the session
 *
 * Return: true if our last chunk has been sent and acknowledged, so that only the peer
 * may still send chunks of this session; false otherwise.
 */
bool sddp_session_last_chunk_is_acked(const struct sddp_session *s)
{
	return s->own_done && !s->control_unacked;
}

/**
 * sddp_session_is_over - check whether both sides have sent their last chunk
 * @s: the session
 *
 * Return: true if neither side sends another chunk of this session, false
 * otherwise.
 */
bool sddp_session_is_over(const struct sddp_session *s)
{
	return s->peer_done && s->own_done;
}

/**
 * sddp_session_is_reusable - check whether the next session may use the streams
 * @s: the session
 *
 * The next session must not begin while a chunk of this session can still arrive at
 * either side (RFC 5043 6.6). The peer's last chunk is processed after all of its other
 * chunks, so this side has received all of them. The state machine does not track our
 * segments. Therefore the caller must call sddp_session_record_control_acked() for our last control
 * chunk only after the peer has received all of our chunks.
 *
 * Return: true if the session is over and the peer has received our last control chunk,
 * false otherwise.
 */
bool sddp_session_is_reusable(const struct sddp_session *s)
{
	return sddp_session_is_over(s) && !s->control_unacked;
}
