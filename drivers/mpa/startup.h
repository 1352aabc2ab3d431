/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA start-up, RFC 5044 section 7.1 and RFC 6581: a machine that is fed
 * octets and says what it wants.  It reads, sends and closes nothing itself.
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
 * enum mpa_want - what start-up waits for
 * @MPA_WANT_ASK_ULP: mpa_startup_offer(); responder: or mpa_startup_reject(),
 *	the peer's offer is in @peer
 * @MPA_WANT_WRITE: send what mpa_startup_output() gives, then
 *	mpa_startup_sent()
 * @MPA_WANT_READ: mpa_startup_need() more octets for mpa_startup_input()
 * @MPA_WANT_ENTER: start-up is over: Full Operation with the results
 * @MPA_WANT_CLOSE: end the connection, because of @why
 * @MPA_WANT_RETRY: the peer does not know revision 2.  End the connection;
 *	make a new one and call mpa_startup_fall_back(), or give up because of
 *	@why
 */
enum mpa_want {
	MPA_WANT_ASK_ULP,
	MPA_WANT_WRITE,
	MPA_WANT_READ,
	MPA_WANT_ENTER,
	MPA_WANT_CLOSE,
	MPA_WANT_RETRY,
};

enum mpa_startup_state {
	MPA_SU_ASK,		/* the ULP has to say what we answer or offer */
	MPA_SU_SEND,		/* our Request or accepting Reply is to go out */
	MPA_SU_SEND_REJECT,	/* our rejecting Reply is to go out */
	MPA_SU_HEADER,		/* the peer's frame: its first 20 octets */
	MPA_SU_DATA,		/* the peer's frame: its Private Data */
	MPA_SU_ENTER,		/* agreed */
	MPA_SU_CLOSE,		/* failed or rejected */
	MPA_SU_RETRY,		/* failed, but the older revision may do */
};

/**
 * struct mpa_startup - one side's start-up
 * @initiator: we send the Request
 * @rev_max: the highest revision we speak
 * @want_crc: our wish
 * @rx_markers: the peer is to insert markers (our M); a result, too
 * @state: where we are
 * @got: octets of the peer's frame so far
 * @data_len: PD_Length of the peer's frame, once its header is complete
 * @hdr: the peer's header
 * @mine: what we offer
 * @why: for CLOSE and RETRY
 * @revision: of the frame we send; a result: the revision agreed on
 * @tx_markers: result: we are to insert markers (the peer's M)
 * @crc: result: CRC is generated and checked (either side's C)
 * @enhanced: result: RFC 6581 was used both ways
 * @peer: result: the peer's offer, valid with ASK_ULP (responder), ENTER, and
 *	CLOSE because of IW_PEER_REJECT
 */
struct mpa_startup {
	/* fixed after mpa_startup_init() */
	bool			initiator;
	u8			rev_max;
	bool			want_crc;
	bool			rx_markers;

	/* on the way */
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
