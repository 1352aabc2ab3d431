// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The machine of a DDP Stream Session: see session.h. */
#include "session.h"

/**
 * sddp_session_init - a session not yet begun
 * @s: the session
 * @active: this side is to send the Initiate
 */
void sddp_session_init(struct sddp_session *s, bool active)
{
	*s = (struct sddp_session){ .active = active };
}

/*
 * RFC 5043 6.1.  What the peer goes on to send is of no interest, but its
 * Terminate still tells when it is done.
 */
static enum sddp_do against_the_rules(struct sddp_session *s)
{
	s->state = SDDP_OVER;
	return SDDP_DO_END;
}

static enum sddp_do receive_initiate(struct sddp_session *s, bool enhanced)
{
	if (s->state != SDDP_IDLE || s->active)
		return against_the_rules(s);
	s->state = SDDP_REQUESTED;
	s->enhanced = enhanced;
	return SDDP_DO_ASK;
}

/* An Accept is of the Initiate's kind (RFC 6581 section 7) */
static enum sddp_do receive_accept(struct sddp_session *s, bool enhanced)
{
	if (s->state != SDDP_INITIATED || s->enhanced != enhanced)
		return against_the_rules(s);
	s->state = SDDP_OPEN;
	s->in_doubt = false;
	return SDDP_DO_ENTER;
}

/* The end of a request: nobody sends anything more (RFC 5043 6.3, 6.4) */
static enum sddp_do receive_no(struct sddp_session *s, enum sddp_do which)
{
	s->state = SDDP_OVER;
	s->peer_done = true;
	s->we_done = true;
	s->in_doubt = false;
	return which;
}

/* A plain no to an enhanced Initiate is a no */
static enum sddp_do receive_reject(struct sddp_session *s, bool enhanced)
{
	if (s->state != SDDP_INITIATED || (enhanced && !s->enhanced))
		return against_the_rules(s);
	return receive_no(s, SDDP_DO_REJECTED);
}

static enum sddp_do receive_terminate(struct sddp_session *s)
{
	switch (s->state) {
	case SDDP_INITIATED:
		return receive_no(s, SDDP_DO_REFUSED);
	case SDDP_OPEN:
		s->peer_done = true;
		s->in_doubt = s->in_doubt && s->we_done;
		return SDDP_DO_PEER_DONE;
	default:
		/* a Terminate that ends nothing is not answered with one */
		s->peer_done = true;
		s->we_done = true;
		return against_the_rules(s);
	}
}

/* The active side sends nothing behind its Initiate before it has the Accept */
static enum sddp_do receive_segment(struct sddp_session *s)
{
	if (s->state != SDDP_OPEN)
		return against_the_rules(s);
	if (!s->active && !s->we_done)
		s->in_doubt = false;
	return SDDP_DO_DELIVER;
}

/* After the end only the peer's Terminate counts */
static enum sddp_do receive_late(struct sddp_session *s, enum sddp_what what)
{
	if (what == SDDP_SAY_TERMINATE)
		s->peer_done = true;
	return SDDP_DO_IGNORE;
}

/**
 * sddp_session_receive - a chunk's turn has come
 * @s: the session
 * @what: the chunk; one that makes no sense at all is sddp_session_break()'s
 * @enhanced: it is of the enhanced kind
 *
 * Return: what it asks for, see enum sddp_do.
 */
enum sddp_do sddp_session_receive(struct sddp_session *s, enum sddp_what what,
				  bool enhanced)
{
	if (s->state == SDDP_OVER)
		return receive_late(s, what);
	/* RFC 5043 6.2: its Terminate was the peer's final chunk */
	if (s->peer_done)
		return against_the_rules(s);
	switch (what) {
	case SDDP_SAY_INITIATE:
		return receive_initiate(s, enhanced);
	case SDDP_SAY_ACCEPT:
		return receive_accept(s, enhanced);
	case SDDP_SAY_REJECT:
		return receive_reject(s, enhanced);
	case SDDP_SAY_TERMINATE:
		return receive_terminate(s);
	default:
		return receive_segment(s);
	}
}

/**
 * sddp_session_break - a chunk came that no session can have
 * @s: the session; over from here on, but for a Terminate of ours
 */
void sddp_session_break(struct sddp_session *s)
{
	s->state = SDDP_OVER;
}

/*
 * Not as long as it could overtake our Accept (RFC 5043 6.6).  The active side
 * says nothing more behind an Initiate that is not answered: no legal sequence
 * has it.
 */
static bool may_terminate(const struct sddp_session *s)
{
	if (s->we_done || s->in_doubt)
		return false;
	return s->state != SDDP_IDLE && s->state != SDDP_INITIATED;
}

/**
 * sddp_session_may - may this be sent now?
 * @s: the session
 * @what: what
 *
 * Return: whether a legal sequence goes on like that, and it cannot overtake a
 * control chunk of ours.
 */
bool sddp_session_may(const struct sddp_session *s, enum sddp_what what)
{
	switch (what) {
	case SDDP_SAY_INITIATE:
		return s->active && s->state == SDDP_IDLE;
	case SDDP_SAY_ACCEPT:
	case SDDP_SAY_REJECT:
		return s->state == SDDP_REQUESTED;
	case SDDP_SAY_TERMINATE:
		return may_terminate(s);
	default:
		return s->state == SDDP_OPEN && !s->we_done;
	}
}

/**
 * sddp_session_sent - it has been sent
 * @s: the session; sddp_session_may() said yes
 * @what: what
 * @enhanced: it was of the enhanced kind
 */
void sddp_session_sent(struct sddp_session *s, enum sddp_what what,
		       bool enhanced)
{
	if (what == SDDP_SEGMENT_CHUNK)
		return;
	s->in_doubt = true;
	switch (what) {
	case SDDP_SAY_INITIATE:
		s->state = SDDP_INITIATED;
		s->enhanced = enhanced;
		break;
	case SDDP_SAY_ACCEPT:
		s->state = SDDP_OPEN;
		break;
	case SDDP_SAY_REJECT:
		s->state = SDDP_OVER;
		s->we_done = true;
		s->peer_done = true;
		break;
	default:
		/* to a request it is the last word of all (RFC 5043 6.4) */
		if (s->state == SDDP_REQUESTED) {
			s->state = SDDP_OVER;
			s->peer_done = true;
		}
		s->we_done = true;
		break;
	}
}

/**
 * sddp_session_acked - SCTP has word that our last control chunk arrived
 * @s: the session
 */
void sddp_session_acked(struct sddp_session *s)
{
	s->in_doubt = false;
}

/**
 * sddp_session_heard - has the peer all that we had to say?
 * @s: the session
 *
 * Return: if so, what is still to come is the peer's last.
 */
bool sddp_session_heard(const struct sddp_session *s)
{
	return s->we_done && !s->in_doubt;
}

/**
 * sddp_session_over - have both sides said their last?
 * @s: the session
 *
 * Return: if so, neither sends another chunk of this session.
 */
bool sddp_session_over(const struct sddp_session *s)
{
	return s->peer_done && s->we_done;
}

/**
 * sddp_session_reusable - may the next session begin on these streams?
 * @s: the session
 *
 * Only when no chunk of this one can still be on its way (RFC 5043 6.6).  The
 * peer's are all here with its last; of ours the caller knows whether the
 * segments arrived, this is about the last control chunk.
 *
 * Return: whether it is over and nothing of it is in doubt.
 */
bool sddp_session_reusable(const struct sddp_session *s)
{
	return sddp_session_over(s) && !s->in_doubt;
}
