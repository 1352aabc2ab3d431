// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Batch of FPDUs whose payloads are copied back to back. Proved for one more FPDU with a tagged or
 * an untagged header: its copy stays inside the buffer, and the bytes that its header overwrites
 * are restored.
 *
 * Files: mpa/fpdu_verify.c mpa/fpdu.c mpa/crc.c
 * Bound: 21, the leading bytes of an FPDU
 * prove_batch_step: Bound 31
 * Mutation: mpa/fpdu_verify.c s/(MPA_FPDU_BATCH_SIZE - r->wire_len) \//MPA_FPDU_BATCH_SIZE \//
 * Mutation: mpa/fpdu_verify.c s/r->payload = ulpdu_len - hdr_len/r->payload = ulpdu_len - 14/
 * Mutation: mpa/fpdu_verify.c s/r->head_len = MPA_LEN_SIZE + hdr_len/r->head_len = 16/
 * Mutation: mpa/fpdu_verify.c s/r->saved, r->at - DDP_RX_HEAD_LEN/r->saved, r->at - r->head_len/
 * Mutation: mpa/fpdu_verify.c s/^\tmemcpy(r->at - DDP_RX_HEAD_LEN, r->saved.*$/\t;/
 * Mutation: mpa/fpdu_verify.c s/return r->at - r->head_len/return r->at - DDP_RX_HEAD_LEN/
 * Mutation: mpa/fpdu_verify.c s/r->wire_len - MPA_CRC_SIZE)/r->wire_len)/
 * Mutation: mpa/fpdu_verify.c s/has_header(fpdu, head)/1/
 * Mutation: mpa/fpdu_verify.c s/copy.start == head->start/1/
 * Mutation: mpa/fpdu_verify.c s/copy.field == head->field/1/
 * Mutation: mpa/fpdu_verify.c s/copy.mo == head->mo/1/
 * Mutation: mpa/fpdu_verify.c s/return mpa_crc_matches/return !mpa_crc_matches/
 * Mutation: mpa/fpdu_verify.c s/^\tif (good)/\tif (1)/
 */
#include "../../../drivers/mpa/fpdu_verify.h"
#include "proof.h"

/* Arguments of the last call of crc32c(), and its result */
static const u8 *summed;
static u32 summed_len, sum;

/* Stub of the kernel's CRC function, which stores its arguments and returns sum */
u32 crc32c(u32 crc, const void *p, size_t len)
{
	MUST("the CRC covers only memory of the copy", __CPROVER_r_ok(p, len));
	summed = p;
	summed_len = len;
	return sum;
}

/* The length of a tagged or an untagged header, in bytes */
static u32 any_hdr_len(void)
{
	return any_bool() ? 14 : 18;
}

/*
 * mpa_fpdu_batch_begin() allows exactly as many FPDUs as MPA_FPDU_BATCH_SIZE bytes can hold. These
 * bytes begin with the header of the first FPDU.
 */
void prove_batch_capacity(void)
{
	u8 *memory = any_bytes(20);
	const u32 hdr = any_hdr_len();
	struct mpa_fpdu_batch r;
	u32 ulpdu, end;

	GIVEN(ulpdu <= MPA_ULPDU_MAX);
	mpa_fpdu_batch_begin(&r, ulpdu, hdr, memory + 20);
	if (!r.left) {
		MUST("if no FPDU is allowed, it has no payload or is longer than the buffer",
		     ulpdu <= hdr ||
		     mpa_fpdu_content_len(ulpdu) > MPA_FPDU_BATCH_SIZE);
		REACHED("none");
		return;
	}
	MUST("number and length of the FPDUs are bounded",
	     r.left <= MPA_FPDU_BATCH_SIZE && ulpdu - hdr < MPA_FPDU_BATCH_SIZE);
	end = (r.left - 1) * (ulpdu - hdr) + mpa_fpdu_content_len(ulpdu);
	MUST("the last FPDU ends inside the buffer", end <= MPA_FPDU_BATCH_SIZE);
	MUST("one more FPDU would not fit", end + (ulpdu - hdr) > MPA_FPDU_BATCH_SIZE);
	if (hdr == 14)
		REACHED("FPDUs with tagged headers are allowed");
	else
		REACHED("FPDUs with untagged headers are allowed");
}

/*
 * Copy and verify one FPDU. The proof uses a short FPDU, which suffices because the code
 * itself reads no byte between header and CRC.
 */
void prove_batch_step(void)
{
	const u32 hdr = any_hdr_len(), ulpdu = hdr + 2, wire = hdr + 10;
	/* the saved bytes, and the rest of the FPDU after its header */
	const u32 room = 2 + 20 + 8;
	u8 *memory = any_bytes(room), before[20], *to;
	const u32 first = ANY(u32), at = ANY(u32);
	const struct ddp_rx_head head = ANY(struct ddp_rx_head);
	struct mpa_fpdu_batch r;
	u8 octets[2];
	bool same, right, good;
	u32 i, field, left;

	GIVEN(first <= 2 && at < 20);
	mpa_fpdu_batch_begin(&r, ulpdu, hdr, memory + 20 + first);
	for (i = 0; i < 20; i++)
		before[i] = memory[first + i];
	left = r.left;
	to = mpa_fpdu_batch_prepare_dst(&r);
	MUST("the FPDU is copied so that its payload follows the previous one",
	     to + 2 + hdr == memory + 20 + first);
	MUST("the destination is inside the buffer",
	     r.wire_len == wire && __CPROVER_w_ok(to, wire));
	for (i = 0; i < wire; i++)
		to[i] = ANY(u8);
	same = head.start == decode_big_endian(to, 8) &&
	       head.field == decode_big_endian(to + 8, 8) &&
	       head.mo == decode_big_endian(to + 16, 4);
	field = to[wire - 4] | to[wire - 3] << 8 | to[wire - 2] << 16 | (u32)to[wire - 1] << 24;
	sum = ANY(u32);
	right = field == (u32)~sum;
	octets[0] = to[2 + hdr];
	octets[1] = to[3 + hdr];
	good = mpa_fpdu_batch_add_if_valid(&r, &head);
	MUST("MPA-54, MPA-69, MPA-133: only the expected header with the right CRC is accepted",
	     good == (same && right));
	MUST("MPA-48, MPA-50: the CRC covers all bytes before the CRC field", !same ||
	     (summed == to && summed_len == wire - 4));
	MUST("the overwritten bytes are restored", memory[first + at] == before[at]);
	MUST("the payload stays in the buffer", memory[20 + first] == octets[0] &&
	     memory[21 + first] == octets[1]);
	MUST("the next payload goes after an accepted one, or replaces a refused one",
	     r.at == memory + 20 + first + (good ? 2 : 0) && r.left == left - good);
	if (good && hdr == 14)
		REACHED("good, tagged");
	if (good && hdr == 18)
		REACHED("good, untagged");
	if (same && !right)
		REACHED("wrong CRC");
	if (!same)
		REACHED("another header than expected");
}
