/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * State machine of a DDP Stream Session: checks that the sequence of chunks is legal
 * (RFC 5043 section 6, RFC 6581 section 7). The legal sequences, as the active side sees
 * them, are:
 *
 *	INITIATE ->, <- ACCEPT, segments <->, one TERMINATE in each direction
 *	INITIATE ->, <- REJECT			rejected by the ULP
 *	INITIATE ->, <- TERMINATE		refused without the ULP
 *
 * The caller passes received chunks in the order of their DDP-SSNs, and calls
 * sddp_session_may_send() before it sends a chunk. The state machine only keeps the
 * state: the caller sends the chunks and ends the session.
 *
 * A state machine serves one session. The caller must not begin the next session on the
 * same pair of streams before sddp_session_is_reusable() returns true: until then a
 * chunk of this session can still arrive.
 */
#ifndef _SDDP_SESSION_H
#define _SDDP_SESSION_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include "chunk.h"

/**
 * enum sddp_state - state of a session
 * @SDDP_IDLE: no Initiate sent (active side) or received (passive side) yet
 * @SDDP_INITIATED: active side: Initiate sent, no reply received yet
 * @SDDP_REQUESTED: passive side: Initiate received, no reply sent yet
 * @SDDP_OPEN: accepted: segments may be sent and received
 * @SDDP_OVER: rejected, refused, or ended by a protocol violation
 *
 * An accepted session remains in SDDP_OPEN even after both sides have sent their
 * Terminate. sddp_session_is_over() detects that both have.
 */
enum sddp_state {
	SDDP_IDLE,
	SDDP_INITIATED,
	SDDP_REQUESTED,
	SDDP_OPEN,
	SDDP_OVER,
};

/**
 * enum sddp_do - action that the caller must take for a received chunk
 * @SDDP_DO_REQUEST: pass the Initiate to the ULP, which accepts or rejects the session
 * @SDDP_DO_ENTER: enter Full Operation: the peer has accepted the session
 * @SDDP_DO_REJECTED: end the session: the peer's ULP has rejected it
 * @SDDP_DO_REFUSED: end the session: the peer has refused the Initiate without passing
 *	the Initiate to its ULP (RFC 5043 6.4)
 * @SDDP_DO_DELIVER: pass the segment to DDP
 * @SDDP_DO_PEER_DONE: process the peer's Terminate: the peer sends no further chunk
 * @SDDP_DO_IGNORE: discard the chunk: the session has ended already
 * @SDDP_DO_END: end the session, with a Terminate if sddp_session_may_send() allows one:
 *	the chunk is not legal in the session's state (RFC 5043 6.1)
 */
enum sddp_do {
	SDDP_DO_REQUEST,
	SDDP_DO_ENTER,
	SDDP_DO_REJECTED,
	SDDP_DO_REFUSED,
	SDDP_DO_DELIVER,
	SDDP_DO_PEER_DONE,
	SDDP_DO_IGNORE,
	SDDP_DO_END,
};

/**
 * struct sddp_session - state of one session, as one side sees it
 * @state: current state
 * @active: true if this side sends the Initiate
 * @enhanced: true if the Initiate was an Enhanced Initiate (RFC 6581), so that the
 *	Accept must be enhanced, too
 * @peer_done: true if the peer sends no further chunk of the session
 * @own_done: true if this side sends no further chunk of the session
 * @control_unacked: true if this side has sent a control chunk and does not know yet
 *	that the peer has received the last one
 */
struct sddp_session {
	enum sddp_state	state;
	bool		active;
	bool		enhanced;
	bool		peer_done;
	bool		own_done;
	bool		control_unacked;
};

void sddp_session_init(struct sddp_session *s, bool active);

enum sddp_do sddp_session_receive_chunk(struct sddp_session *s, enum sddp_chunk_kind what,
					bool enhanced);
void sddp_session_abort(struct sddp_session *s);
bool sddp_session_may_send(const struct sddp_session *s, enum sddp_chunk_kind what);
void sddp_session_record_chunk_sent(struct sddp_session *s, enum sddp_chunk_kind what,
				    bool enhanced);
void sddp_session_record_control_acked(struct sddp_session *s);

bool sddp_session_last_chunk_is_acked(const struct sddp_session *s);
bool sddp_session_is_over(const struct sddp_session *s);
bool sddp_session_is_reusable(const struct sddp_session *s);

#endif
