// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Batch of FPDUs whose payloads are copied back to back. Proved for one more FPDU: its
 * copy stays inside the buffer, and the bytes that its header overwrites are restored.
 *
 * Files: mpa/fpdu_verify.c mpa/fpdu.c mpa/crc.c
 * Bound: 17, the leading bytes of an FPDU
 * prove_batch_step: Bound 25
 * Mutation: mpa/fpdu_verify.c s/(MPA_FPDU_BATCH_SIZE - r->wire_len) \//MPA_FPDU_BATCH_SIZE \//
 * Mutation: mpa/fpdu_verify.c s/^\tmemcpy(fpdu, r->saved.*$/\t;/
 * Mutation: mpa/fpdu_verify.c s/r->wire_len - MPA_CRC_SIZE)/r->wire_len)/
 * Mutation: mpa/fpdu_verify.c s/are_headers_equal(head, fpdu)/1/
 * Mutation: mpa/fpdu_verify.c s/get_unaligned_be64(b + 8)/get_unaligned_be64(a + 8)/
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

/* mpa_fpdu_batch_begin() allows exactly as many FPDUs as the buffer can hold */
void prove_batch_capacity(void)
{
	u8 *memory = any_bytes(MPA_FPDU_BATCH_SIZE);
	struct mpa_fpdu_batch r;
	u32 ulpdu, end;

	GIVEN(ulpdu <= MPA_ULPDU_MAX);
	mpa_fpdu_batch_begin(&r, ulpdu, memory + 16);
	if (!r.left) {
		MUST("if no FPDU is allowed, it has no payload or is longer than the buffer",
		     ulpdu <= 14 ||
		     mpa_fpdu_content_len(ulpdu) > MPA_FPDU_BATCH_SIZE);
		REACHED("none");
		return;
	}
	MUST("number and length of the FPDUs are bounded",
	     r.left <= MPA_FPDU_BATCH_SIZE && ulpdu - 14 < MPA_FPDU_BATCH_SIZE);
	end = (r.left - 1) * (ulpdu - 14) + mpa_fpdu_content_len(ulpdu);
	MUST("the last FPDU ends inside the buffer", end <= MPA_FPDU_BATCH_SIZE);
	MUST("one more FPDU would not fit", end + (ulpdu - 14) > MPA_FPDU_BATCH_SIZE);
	REACHED("FPDUs are allowed");
}

/*
 * Copy and verify one FPDU. The proof uses a short FPDU, which suffices because the code
 * itself reads no byte between header and CRC.
 */
void prove_batch_step(void)
{
	const u32 ulpdu = 16, wire = mpa_fpdu_content_len(ulpdu), room = 2 + wire;
	u8 *memory = any_bytes(room), before[16], head[16], *to;
	const u32 first = ANY(u32), at = ANY(u32);
	struct mpa_fpdu_batch r;
	u8 octet;
	bool same, right, good;
	u32 i, field, left;

	GIVEN(first <= 2 && at < 16);
	mpa_fpdu_batch_begin(&r, ulpdu, memory + 16 + first);
	for (i = 0; i < 16; i++)
		before[i] = memory[first + i];
	left = r.left;
	to = mpa_fpdu_batch_prepare_dst(&r);
	MUST("the FPDU is copied so that its payload follows the previous one",
	     to == memory + first);
	MUST("the destination is inside the buffer", r.wire_len == wire && __CPROVER_w_ok(to, wire));
	for (i = 0; i < wire; i++)
		to[i] = ANY(u8);
	same = true;
	for (i = 0; i < 16; i++)
		same = same && head[i] == to[i];
	field = to[wire - 4] | to[wire - 3] << 8 | to[wire - 2] << 16 | (u32)to[wire - 1] << 24;
	sum = ANY(u32);
	right = field == (u32)~sum;
	octet = to[16];
	good = mpa_fpdu_batch_add_if_valid(&r, head);
	MUST("MPA-54, MPA-69, MPA-133: only the expected header with the right CRC is accepted",
	     good == (same && right));
	MUST("MPA-48, MPA-50: the CRC covers all bytes before the CRC field", !same ||
	     (summed == to && summed_len == wire - 4));
	MUST("the overwritten bytes are restored", memory[first + at] == before[at]);
	MUST("the payload stays in the buffer", memory[16 + first] == octet);
	MUST("the next payload goes after an accepted one, or replaces a refused one",
	     r.at == memory + 16 + first + (good ? ulpdu - 14 : 0) && r.left == left - good);
	if (good)
		REACHED("good");
	if (same && !right)
		REACHED("wrong CRC");
	if (!same)
		REACHED("another header than expected");
}
