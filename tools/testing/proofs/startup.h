/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Invariants of MPA start-up, for startup.c and startup_frame.c. */
#ifndef PROOF_STARTUP_H
#define PROOF_STARTUP_H

#include "../../../drivers/mpa/startup.h"
#include "proof.h"

static inline bool has_key_prefix(const u8 *p, size_t len, bool reply)
{
	const char *key = reply ? "MPA ID Rep Frame" : "MPA ID Req Frame";
	size_t i;

	for (i = 0; i < 16 && i < len; i++)
		if (p[i] != (u8)key[i])
			return false;
	return true;
}

/* Check whether a frame has the IRD/ORD word (RFC 5044 7.1.1, RFC 6581 6, 9, 10) */
static inline bool has_ird_ord_word(const u8 *hdr)
{
	return hdr[17] == 2 && hdr[16] & 0x10 && decode_big_endian(hdr + 18, 2) >= 4;
}

static inline bool is_reject(const u8 *hdr, bool reply)
{
	return reply && hdr[16] & 0x20;
}

/*
 * Check whether a header is legal. @asked: our Request had the IRD/ORD word.
 */
static inline bool is_legal_header(const u8 *hdr, bool reply, u8 rev_max, bool asked)
{
	if (hdr[17] < 1 || hdr[17] > rev_max || decode_big_endian(hdr + 18, 2) > 512)
		return false;
	if (hdr[17] == 2 && hdr[16] & 0x10 && !has_ird_ord_word(hdr))
		return is_reject(hdr, reply);	/* a reject needs no IRD/ORD word */
	return !reply || asked || !has_ird_ord_word(hdr);
}

static inline bool is_reading_frame(const struct mpa_startup *su)
{
	return su->state == MPA_SU_HEADER || su->state == MPA_SU_DATA;
}

/* Check whether the received part of the peer's frame is valid */
static inline bool is_frame_sound(const struct mpa_startup *su)
{
	if (su->state == MPA_SU_HEADER)
		return su->got < 20 &&
		       has_key_prefix(su->hdr, su->got, su->initiator);
	return su->got >= 20 && su->got < 20 + su->data_len &&
	       su->data_len == decode_big_endian(su->hdr + 18, 2) &&
	       has_key_prefix(su->hdr, 16, su->initiator) &&
	       is_legal_header(su->hdr, su->initiator, su->rev_max, su->enhanced) &&
	       su->peer.enhanced == has_ird_ord_word(su->hdr);
}

/* Check whether this side is an initiator that has not sent its Request yet */
static inline bool is_before_request(const struct mpa_startup *su)
{
	return su->initiator && (su->state == MPA_SU_OFFER ||
				 su->state == MPA_SU_SEND);
}

static inline bool is_sound(const struct mpa_startup *su)
{
	if (su->rev_max != 1 && su->rev_max != 2)
		return false;
	if ((u32)su->state > MPA_SU_RETRY || (su->enhanced && su->rev_max == 1))
		return false;
	if (is_before_request(su))
		return !su->got;
	return !is_reading_frame(su) || (is_frame_sound(su) &&
					 (su->initiator || !su->enhanced));
}

static inline void init_any_startup(struct mpa_startup *su)
{
	su->initiator = any_bool();
	su->want_crc = any_bool();
	su->rx_markers = any_bool();
	su->enhanced = any_bool();
	su->crc = any_bool();
	su->tx_markers = any_bool();
	su->repeat = any_bool();
	su->repeated = any_bool();
	su->mine.enhanced = any_bool();
	su->peer.enhanced = any_bool();
	su->why = IW_OK;
}

#endif
