/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA start-up, RFC 5044 section 7.1 and RFC 6581: a state machine that
 * consumes received bytes and returns the caller's next step. The caller reads from
 * the socket, sends, and closes the connection.
 *
 * Order of the calls of mpa_startup_*(), and the MPA_WANT_* step with which start-up ends:
 *	initiator: init, set_offer, encode_frame, record_sent, process_input; ENTER, CLOSE or RETRY
 *	responder: init, process_input, set_offer or reject, encode_frame, record_sent;
 *		ENTER or CLOSE
 * process_input is called once for each piece of the frame that arrives.
 */
#ifndef _MPA_STARTUP_H
#define _MPA_STARTUP_H

#include <ddp/offer.h>
#include <ddp/pure.h>
#include <ddp/reason.h>
#include "wire.h"

/**
 * enum mpa_want - next step of the caller
 * @MPA_WANT_OFFER: call mpa_startup_set_offer(). A responder, which finds the peer's
 *	offer in mpa_startup.peer, may call mpa_startup_reject() instead
 * @MPA_WANT_WRITE: send the frame of mpa_startup_encode_frame(), then call
 *	mpa_startup_record_frame_sent()
 * @MPA_WANT_READ: pass mpa_startup_get_missing_len() more bytes to mpa_startup_process_input()
 * @MPA_WANT_ENTER: enter Full Operation, because start-up has succeeded
 * @MPA_WANT_CLOSE: close the connection for the reason mpa_startup.why
 * @MPA_WANT_RETRY: close the TCP connection, because the peer may not support
 *	revision 2, or may not have received our Request. Then either call
 *	mpa_startup_retry() and continue on a new TCP connection, or end the session
 *	for the reason mpa_startup.why
 */
enum mpa_want {
	MPA_WANT_OFFER,
	MPA_WANT_WRITE,
	MPA_WANT_READ,
	MPA_WANT_ENTER,
	MPA_WANT_CLOSE,
	MPA_WANT_RETRY,
};

enum mpa_startup_state {
	MPA_SU_OFFER,		/* the ULP must supply our offer or a rejection */
	MPA_SU_SEND,		/* our Request or accepting Reply must be sent */
	MPA_SU_SEND_REJECT,	/* our rejecting Reply must be sent */
	MPA_SU_HEADER,		/* waiting for the 20-byte header of the peer's frame */
	MPA_SU_DATA,		/* waiting for the data after the peer's header */
	MPA_SU_ENTER,		/* start-up has succeeded */
	MPA_SU_CLOSE,		/* start-up has failed, or one side has rejected */
	MPA_SU_RETRY,		/* start-up has failed, but another attempt may succeed */
};

/**
 * struct mpa_startup - start-up state machine of one side of a connection
 * @initiator: true if this side sends the Request
 * @rev_max: highest MPA revision that this side uses
 * @want_crc: true if this side requests CRC
 * @rx_markers: true if this side requires that the peer inserts markers (our M flag)
 * @state: current state
 * @got: number of bytes of the peer's frame that have arrived
 * @data_len: PD_Length of the peer's frame, valid once its header is complete
 * @hdr: header of the peer's frame
 * @mine: our offer, which our frame contains
 * @repeat: true if the next attempt repeats the enhanced Request, false if it uses
 *	revision 1; valid if the next step is MPA_WANT_RETRY
 * @repeated: true if the enhanced Request has been repeated
 * @why: reason to close the connection; valid if the next step is MPA_WANT_CLOSE or
 *	MPA_WANT_RETRY
 * @revision: MPA revision of our frame; the revision in use once the peer's frame has
 *	been evaluated
 * @tx_markers: true if this side must insert markers (the peer's M flag)
 * @crc: our C flag; once the peer's frame has been evaluated, true if CRC is in use,
 *	because either side has set flag C
 * @enhanced: true if our frame is enhanced (RFC 6581); once the peer's frame has been
 *	evaluated, true if the frames of both sides are enhanced
 * @peer: the peer's offer; valid if the next step of a responder is
 *	MPA_WANT_OFFER, or the next step of either side is MPA_WANT_ENTER, or
 *	MPA_WANT_CLOSE with @why IW_PEER_REJECT
 */
struct mpa_startup {
	/* fixed after mpa_startup_init() */
	bool			initiator;
	u8			rev_max;
	bool			want_crc;
	bool			rx_markers;

	/* used only during start-up */
	enum mpa_startup_state	state;
	u16			got;
	u16			data_len;
	u8			hdr[MPA_HDR_LEN];
	struct ddp_offer	mine;
	bool			repeat;
	bool			repeated;

	/* results of start-up, some of which are also used before start-up is complete */
	enum iw_reason		why;
	u8			revision;
	bool			tx_markers;
	bool			crc;
	bool			enhanced;
	struct ddp_offer	peer;
};

void mpa_startup_init(struct mpa_startup *su, bool initiator, u8 revision,
		      bool crc, bool markers);
enum mpa_want mpa_startup_get_next_step(const struct mpa_startup *su);

int mpa_startup_set_offer(struct mpa_startup *su, const struct ddp_offer *o);
int mpa_startup_reject(struct mpa_startup *su, const struct ddp_offer *o);
size_t mpa_startup_encode_frame(const struct mpa_startup *su, u8 *buf, size_t size);
void mpa_startup_record_frame_sent(struct mpa_startup *su);

size_t mpa_startup_get_missing_len(const struct mpa_startup *su);
ssize_t mpa_startup_process_input(struct mpa_startup *su, const u8 *p, size_t n);
void mpa_startup_record_eof(struct mpa_startup *su, bool acked);
void mpa_startup_retry(struct mpa_startup *su);

#endif
