/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The legal sequences of a DDP Stream Session (RFC 5043 section 6, RFC 6581
 * section 7) as a machine.  It is told what arrives, in the order of the
 * DDP-SSNs, and asked what may be sent; it sends and ends nothing itself.
 *
 *	active:  INITIATE ->, <- ACCEPT, segments <->, TERMINATE either way
 *		 INITIATE ->, <- REJECT			the ULP said no
 *		 INITIATE ->, <- TERMINATE		nobody could ask the ULP
 *
 * A machine serves one session.  The next one on the same pair of streams gets
 * a new one, once sddp_session_reusable() says that nothing of this one can
 * still arrive.
 */
#ifndef _SDDP_SESSION_H
#define _SDDP_SESSION_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include "chunk.h"

/**
 * enum sddp_state - where a session stands
 * @SDDP_IDLE: not begun: Initiate is to be sent, or to come
 * @SDDP_INITIATED: active: our Initiate is out, no answer yet
 * @SDDP_REQUESTED: passive: the peer's Initiate is here, not yet answered
 * @SDDP_OPEN: accepted: segments go both ways
 * @SDDP_OVER: not accepted, or against the rules
 *
 * An accepted session is over when both sides are done, see
 * sddp_session_over(): that is no state of its own.
 */
enum sddp_state {
	SDDP_IDLE,
	SDDP_INITIATED,
	SDDP_REQUESTED,
	SDDP_OPEN,
	SDDP_OVER,
};

/**
 * enum sddp_do - what a chunk that arrived asks for
 * @SDDP_DO_ASK: a request: the ULP has to accept or reject it
 * @SDDP_DO_ENTER: our request was accepted
 * @SDDP_DO_REJECTED: the peer's ULP said no
 * @SDDP_DO_REFUSED: our request ended without its being asked (RFC 5043 6.4)
 * @SDDP_DO_DELIVER: hand the segment to DDP
 * @SDDP_DO_PEER_DONE: the peer's Terminate: it will send no more
 * @SDDP_DO_IGNORE: nothing: the session was ended before
 * @SDDP_DO_END: no legal sequence has this here: end the session, with a
 *	Terminate if one may be sent (RFC 5043 6.1)
 */
enum sddp_do {
	SDDP_DO_ASK,
	SDDP_DO_ENTER,
	SDDP_DO_REJECTED,
	SDDP_DO_REFUSED,
	SDDP_DO_DELIVER,
	SDDP_DO_PEER_DONE,
	SDDP_DO_IGNORE,
	SDDP_DO_END,
};

/**
 * struct sddp_session - one session, seen from one side
 * @state: where it stands
 * @active: this side sent the Initiate
 * @enhanced: the Initiate was of the enhanced kind, and so is the Accept
 * @peer_done: the peer has said its last: Terminate, or a no
 * @we_done: so have we
 * @in_doubt: our last control chunk may not have arrived yet
 */
struct sddp_session {
	enum sddp_state	state;
	bool		active;
	bool		enhanced;
	bool		peer_done;
	bool		we_done;
	bool		in_doubt;
};

void sddp_session_init(struct sddp_session *s, bool active);

enum sddp_do sddp_session_receive(struct sddp_session *s, enum sddp_what what,
				  bool enhanced);
void sddp_session_break(struct sddp_session *s);
bool sddp_session_may(const struct sddp_session *s, enum sddp_what what);
void sddp_session_sent(struct sddp_session *s, enum sddp_what what,
		       bool enhanced);
void sddp_session_acked(struct sddp_session *s);

bool sddp_session_heard(const struct sddp_session *s);
bool sddp_session_over(const struct sddp_session *s);
bool sddp_session_reusable(const struct sddp_session *s);

#endif
