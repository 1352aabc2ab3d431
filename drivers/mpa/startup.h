/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA start-up, RFC 5044 section 7.1 and RFC 6581: a state machine that
 * consumes bytes and returns the caller's next step. It does not read, send or
 * close anything.
 *
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
 * @MPA_WANT_OFFER: call mpa_startup_offer(); a responder may call
 *	mpa_startup_reject() instead, and has the peer's offer in @peer
 * @MPA_WANT_WRITE: send the frame of mpa_startup_output(), then call
 *	mpa_startup_sent()
 * @MPA_WANT_READ: pass mpa_startup_need() more bytes to mpa_startup_input()
 * @MPA_WANT_ENTER: start-up is complete: enter Full Operation with the results
 * @MPA_WANT_CLOSE: end the connection, for the reason @why
 * @MPA_WANT_RETRY: the peer does not know revision 2. End the connection; make
 *	a new one and call mpa_startup_fall_back(), or give up for the reason
 *	@why
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
	MPA_SU_OFFER,		/* the ULP has to supply our offer or reply */
	MPA_SU_SEND,		/* send our Request or accepting Reply */
	MPA_SU_SEND_REJECT,	/* send our rejecting Reply */
	MPA_SU_HEADER,		/* receive 20 bytes of the peer's frame */
	MPA_SU_DATA,		/* receive the peer's Private Data */
	MPA_SU_ENTER,		/* agreed */
	MPA_SU_CLOSE,		/* failed or rejected */
	MPA_SU_RETRY,		/* failed, but revision 1 may succeed */
};

/**
 * struct mpa_startup - start-up of one side of a connection
 * @initiator: this side sends the Request
 * @rev_max: highest revision that this side uses
 * @want_crc: this side requests CRC
 * @rx_markers: the peer is to insert markers (our M flag); also a result
 * @state: current state
 * @got: bytes of the peer's frame received so far
 * @data_len: PD_Length of the peer's frame, valid once its header is complete
 * @hdr: header of the peer's frame
 * @mine: our offer
 * @why: reason of MPA_WANT_CLOSE and MPA_WANT_RETRY
 * @revision: revision of the frame we send; result: revision in use
 * @tx_markers: result: this side inserts markers (the peer's M flag)
 * @crc: result: CRC is generated and checked (C flag of either side)
 * @enhanced: result: both sides use RFC 6581
 * @peer: result: the peer's offer, valid with MPA_WANT_OFFER (responder),
 *	MPA_WANT_ENTER, and MPA_WANT_CLOSE for IW_PEER_REJECT
 */
struct mpa_startup {
	/* fixed after mpa_startup_init() */
	bool			initiator;
	u8			rev_max;
	bool			want_crc;
	bool			rx_markers;

	/* during start-up */
	enum mpa_startup_state	state;
	u16			got;
	u16			data_len;
	u8			hdr[MPA_HDR_LEN];
	struct ddp_offer	mine;

	/* results */
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
void mpa_startup_sent(struct mpa_startup *su);

size_t mpa_startup_need(const struct mpa_startup *su);
ssize_t mpa_startup_input(struct mpa_startup *su, const u8 *p, size_t n);
void mpa_startup_eof(struct mpa_startup *su);
void mpa_startup_fall_back(struct mpa_startup *su);

#endif
