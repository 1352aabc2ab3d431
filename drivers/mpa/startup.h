/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA start-up, RFC 5044 section 7.1 and RFC 6581: a state machine that
 * consumes bytes and returns the caller's next step. The caller reads, sends and
 * closes.
 *
 * Order of the calls (mpa_startup_...) and the step that ends start-up:
 *	initiator: init, offer, output, sent, input ... ENTER, CLOSE or RETRY
 *	responder: init, input ..., offer or reject, output, sent, ENTER or CLOSE
 */
#ifndef _MPA_STARTUP_H
#define _MPA_STARTUP_H

#include <ddp/offer.h>
#include <ddp/pure.h>
#include <ddp/reason.h>
#include "wire.h"

/**
 * enum mpa_want - next step of the caller
 * @MPA_WANT_OFFER: call mpa_startup_offer(). A responder may call
 *	mpa_startup_reject() instead; the peer's offer is in mpa_startup.peer
 * @MPA_WANT_WRITE: send the frame of mpa_startup_output(), then call
 *	mpa_startup_handle_sent()
 * @MPA_WANT_READ: pass mpa_startup_need() more bytes to mpa_startup_input()
 * @MPA_WANT_ENTER: enter Full Operation with the results, start-up is complete
 * @MPA_WANT_CLOSE: end the connection for the reason mpa_startup.why
 * @MPA_WANT_RETRY: end the connection, because the peer may not support revision
 *	2. Then call mpa_startup_fall_back() and use a new connection, or end the
 *	session for the reason mpa_startup.why
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
	MPA_SU_HEADER,		/* the 20-byte header of the peer's frame is expected */
	MPA_SU_DATA,		/* the data after the peer's header is expected */
	MPA_SU_ENTER,		/* start-up has succeeded */
	MPA_SU_CLOSE,		/* start-up has failed, or a side has rejected */
	MPA_SU_RETRY,		/* start-up has failed, but revision 1 may succeed */
};

/**
 * struct mpa_startup - start-up state machine of one side of a connection
 * @initiator: true if this side sends the Request
 * @rev_max: highest MPA revision that this side uses
 * @want_crc: true if this side requests CRC
 * @rx_markers: true if the peer must insert markers (our M flag); also a result
 * @state: current state
 * @got: bytes of the peer's frame received so far
 * @data_len: PD_Length of the peer's frame, valid once its header is complete
 * @hdr: header of the peer's frame
 * @mine: our offer
 * @why: reason for MPA_WANT_CLOSE and MPA_WANT_RETRY
 * @revision: MPA revision of our frame, later the revision in use
 * @tx_markers: true if this side must insert markers (the peer's M flag)
 * @crc: our C flag, later true if CRC is in use (C flag of either side)
 * @enhanced: true if our frame is enhanced (RFC 6581), later true if both sides are
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

	/* used during start-up only */
	enum mpa_startup_state	state;
	u16			got;
	u16			data_len;
	u8			hdr[MPA_HDR_LEN];
	struct ddp_offer	mine;

	/* results of start-up; some are also used during start-up */
	enum iw_reason		why;
	u8			revision;
	bool			tx_markers;
	bool			crc;
	bool			enhanced;
	struct ddp_offer	peer;
};

void mpa_startup_init(struct mpa_startup *su, bool initiator, u8 revision,
		      bool crc, bool markers);
enum mpa_want mpa_startup_want(const struct mpa_startup *su);

int mpa_startup_offer(struct mpa_startup *su, const struct ddp_offer *o);
int mpa_startup_reject(struct mpa_startup *su, const struct ddp_offer *o);
size_t mpa_startup_output(const struct mpa_startup *su, u8 *buf, size_t size);
void mpa_startup_handle_sent(struct mpa_startup *su);

size_t mpa_startup_need(const struct mpa_startup *su);
ssize_t mpa_startup_input(struct mpa_startup *su, const u8 *p, size_t n);
void mpa_startup_eof(struct mpa_startup *su);
void mpa_startup_fall_back(struct mpa_startup *su);

#endif
