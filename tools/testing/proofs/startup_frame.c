// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The MPA start-up state machine receives the peer's frame. The frame has any contents, and
 * arrives in input buffers of any size.
 *
 * The proof processes one input buffer, called a piece, of any length. The state machine
 * begins in any state that waits for input and satisfies this invariant: all earlier
 * bytes of the frame are stored. After the piece the invariant must hold again, or start-up
 * must be over. The result must depend only on the bytes of the frame that have been
 * received, not on the boundaries of the pieces. By induction, the proof of one piece then
 * holds for all sequences of pieces.
 *
 * The contents of a piece are not modelled in memory. memcpy() is a stub that checks
 * source and destination: each byte of the frame must be stored in its field. The stub
 * stores the bytes of the header and of the IRD/ORD word. After the word, the proof
 * follows one arbitrary byte, which memmove() moves.
 *
 * Files: mpa/startup.c
 * Bound: 20, the bytes of a header; two iterations of the loop over the piece, one
 *        for the header, one for the data after it
 * Options: --unwindset mpa_startup_process_input.0:3
 * Mutation: mpa/startup.c s/su->data_len > MPA_PD_MAX/su->data_len > MPA_PD_MAX + 1/
 * Mutation: mpa/startup.c s/to = su->hdr + su->got/to = su->hdr/
 * Mutation: mpa/startup.c s/memcpy(to, p + eaten, take)/memcpy(to, p, take)/
 * Mutation: mpa/startup.c s/take = min(n - eaten, mpa_startup_get_missing_len(su))/take = n - eaten/
 * Mutation: mpa/startup.c s/memmove(o->pd, o->pd + DDP_WORD_SIZE, o->pd_len)/(void)o/
 * Mutation: mpa/startup.c s/o->pd_len -= DDP_WORD_SIZE/(void)o/
 * Mutation: mpa/startup.c s/if (why || su->got < MPA_HDR_LEN)/if (why)/
 * Mutation: mpa/startup.c s/min_t(size_t, su->got, MPA_KEY_SIZE)/su->got - 1/
 * Mutation: mpa/startup.c s/su->want_crc || get_peer_flags/get_peer_flags/
 * Mutation: mpa/startup.c s/\&\& su->data_len < DDP_WORD_SIZE/\&\& !su->data_len/
 * Mutation, big-endian: mpa/startup.c s/get_unaligned_be16(su->hdr + MPA_HDR_PD_LENGTH)/__builtin_bswap16(*(u16 *)(su->hdr + MPA_HDR_PD_LENGTH))/
 */
#include "startup.h"

#define NONE	(~(size_t)0)

static struct mpa_startup su, was;

/*
 * Header and IRD/ORD word of an arbitrary frame from the peer, and the piece that is
 * processed
 */
static u8 hdr[20], word[4];
static const u8 *in;

/*
 * at_data is an arbitrary index in su.peer.pd. 'here' is the offset in the frame of the
 * byte that is stored at that index, and 'behind' that of the byte stored 4 bytes later.
 */
static size_t at_data, here, behind;

static bool is_in_range(size_t to, size_t n, size_t i)
{
	return i >= to && i - to < n;
}

static void copy_header(size_t to, size_t n)
{
	size_t i;

	for (i = 0; i < 20; i++)
		if (is_in_range(to, n, i))
			su.hdr[i] = hdr[i];
}

static void copy_frame_data(size_t to, size_t n)
{
	size_t i;

	for (i = 0; i < 4; i++)
		if (is_in_range(to, n, i))
			su.peer.pd[i] = word[i];
	if (is_in_range(to, n, at_data))
		here = 20 + at_data;
	if (is_in_range(to, n, at_data + 4))
		behind = 20 + at_data + 4;
}

/* Copy a number of 2 or 4 bytes for get_unaligned_be16() or get_unaligned_be32() */
static void copy_number(u8 *to, const u8 *from, size_t n)
{
	MUST("a number of 2 or 4 bytes is copied", (n == 2 || n == 4) && __CPROVER_w_ok(to, n) &&
	     __CPROVER_r_ok(from, n));
	to[0] = from[0];
	to[1] = from[1];
	if (n == 4) {
		to[2] = from[2];
		to[3] = from[3];
	}
}

/*
 * Stub of memcpy(), which checks that each byte of the frame is stored in the right field.
 * CBMC itself would only check that the byte is inside the struct.
 */
void *memcpy(void *to, const void *from, size_t n)
{
	size_t at = __CPROVER_POINTER_OFFSET(to);
	size_t which = was.got + __CPROVER_POINTER_OFFSET(from);
	size_t pd = offsetof(struct mpa_startup, peer.pd);
	size_t head = offsetof(struct mpa_startup, hdr);

	if (!__CPROVER_same_object(to, &su)) {
		copy_number(to, from, n);
		return to;
	}
	MUST("only bytes of the piece are read", __CPROVER_same_object(from, in) &&
	     __CPROVER_r_ok(from, n));
	if (at < pd) {
		MUST("the destination is inside the header", at >= head && at - head <= 20 &&
		     n <= 20 - (at - head));
		MUST("each byte of the header is stored at its offset", which == at - head);
		copy_header(at - head, n);
	} else {
		MUST("the destination is inside the Private Data", at - pd <= 512 &&
		     n <= 512 - (at - pd));
		MUST("each byte of the Private Data is stored at its offset",
		     which == 20 + at - pd);
		copy_frame_data(at - pd, n);
	}
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	MUST("the bytes after the IRD/ORD word replace the word", to == su.peer.pd &&
	     from == su.peer.pd + 4 && n <= 508);
	if (at_data < n)
		here = behind;
	return to;
}

static size_t get_frame_len(void)
{
	return 20 + decode_big_endian(hdr + 18, 2);
}

/* Check whether each received byte of the frame is stored in the right field */
static bool is_frame_stored_correctly(const struct mpa_startup *s)
{
	size_t i;

	for (i = 0; i < 20; i++)
		if (i < s->got && s->hdr[i] != hdr[i])
			return false;
	for (i = 0; i < 4; i++)
		if (20 + i < s->got && s->peer.pd[i] != word[i])
			return false;
	return (20 + at_data >= s->got || here == 20 + at_data) &&
	       (24 + at_data >= s->got || behind == 24 + at_data);
}

static bool is_invariant_true(const struct mpa_startup *s)
{
	return is_reading_frame(s) && is_sound(s) && is_frame_stored_correctly(s);
}

/* Get the expected state, and the reason in @why, after the first @len bytes of the frame */
static enum mpa_startup_state get_expected_state(size_t len, enum iw_reason *why)
{
	*why = IW_MPA_STARTUP;
	if (!has_key_prefix(hdr, len, was.initiator))
		return MPA_SU_CLOSE;
	if (len >= 20 && !is_legal_header(hdr, was.initiator, was.rev_max, was.enhanced))
		return MPA_SU_CLOSE;
	*why = IW_OK;
	if (len < 20)
		return MPA_SU_HEADER;
	if (len < get_frame_len())
		return MPA_SU_DATA;
	if (!was.initiator)
		return MPA_SU_OFFER;
	/*
	 * RFC 6581 10: retry with revision 1 if the reply to an enhanced Request has
	 * no IRD/ORD word and is not a reject of revision 2
	 */
	*why = IW_MPA_STARTUP;
	if (was.enhanced && !has_ird_ord_word(hdr) && !(is_reject(hdr, true) && hdr[17] == 2))
		return MPA_SU_RETRY;
	*why = is_reject(hdr, true) ? IW_PEER_REJECT : IW_OK;
	return *why ? MPA_SU_CLOSE : MPA_SU_ENTER;
}

/* Get the DDP_RTR_* flags of the IRD/ORD word */
static u8 get_rtr_flags(u32 w)
{
	if (!(w >> 31))
		return 0;
	return 1 | (w >> 30 & 1) << 1 | (w >> 15 & 1) << 2 | (w >> 14 & 1) << 3;
}

/* Assert that start-up has decoded the frame correctly, and negotiated CRC and markers */
static void check_decoded_frame(void)
{
	bool enhanced = has_ird_ord_word(hdr);
	size_t skip = enhanced ? 4 : 0;
	u32 w = decode_big_endian(word, 4);

	MUST("MPA-93, MPA2-64, MPA2-65: the revision is that of the peer's frame",
	     su.revision == hdr[17]);
	MUST("MPA-86: CRC is used if either side requests it",
	     su.crc == (su.want_crc || hdr[16] & 0x40));
	MUST("MPA-83, MPA-84: markers are sent exactly if the peer requests them",
	     su.tx_markers == !!(hdr[16] & 0x80) &&
	     su.rx_markers == was.rx_markers);
	MUST("unless the peer has rejected, the ULP gets the options in use",
	     su.state == MPA_SU_CLOSE ||
	     (su.peer.crc == su.crc && su.peer.tx_markers == su.tx_markers &&
	      su.peer.rx_markers == su.rx_markers));
	MUST("MPA2-9: the IRD/ORD word is found if and only if it is present",
	     su.enhanced == enhanced && su.peer.enhanced == enhanced);
	MUST("MPA2-25, MPA2-26: IRD, ORD and flags are those of the word", !enhanced ||
	     (su.peer.ird == (w >> 16 & 0x3fff) && su.peer.ord == (w & 0x3fff) &&
	      su.peer.rtr == get_rtr_flags(w)));
	MUST("MPA-96, MPA-98, MPA2-10: the Private Data fills the rest of the frame",
	     su.peer.pd_len == get_frame_len() - 20 - skip);
	MUST("MPA-97, MPA-99: the Private Data fits into the struct",
	     su.peer.pd_len <= 512 - skip);
	MUST("MPA-98: contents of the Private Data", at_data >= su.peer.pd_len ||
	     here == 20 + skip + at_data);
	if (at_data < su.peer.pd_len && enhanced)
		REACHED("Private Data after the word");
	if (su.state == MPA_SU_ENTER)
		REACHED("start-up succeeds");
}

static void init_any_state(enum mpa_startup_state state)
{
	size_t i;

	su = ANY(struct mpa_startup);
	init_any_startup(&su);
	su.state = state;
	for (i = 0; i < 20; i++)
		hdr[i] = ANY(u8);
	for (i = 0; i < 4; i++)
		word[i] = ANY(u8);
	at_data = ANY(size_t);
	here = ANY(size_t);
	behind = ANY(size_t);
	GIVEN(at_data < 512 && is_invariant_true(&su));
	was = su;
}

/* Process one piece in @state. Return: true if the piece is refused, false if not */
static bool process_and_check_piece(enum mpa_startup_state state)
{
	size_t n = ANY(size_t);
	enum iw_reason why;
	enum mpa_startup_state then;
	ssize_t eaten;

	init_any_state(state);
	GIVEN(n && n <= 1 << 20);
	in = any_bytes(n);
	eaten = mpa_startup_process_input(&su, in, n);
	then = get_expected_state(was.got + n, &why);
	MUST("MPA-80, MPA-82, MPA-94, MPA-97, MPA-103, MPA-110 to MPA-112, MPA2-66: next state",
	     su.state == then && su.why == why);
	if (then == MPA_SU_CLOSE && why == IW_MPA_STARTUP) {
		MUST("MPA-97: an illegal frame is refused", eaten == -IW_MPA_STARTUP);
		return true;
	}
	MUST("MPA-74: no byte after the frame is consumed", eaten == (ssize_t)
	     (was.got + n < 20 ? n : min(n, get_frame_len() - was.got)));
	MUST("the consumed bytes are counted", su.got == was.got + eaten);
	MUST("mpa_startup_get_missing_len() is the rest of header or frame",
	     mpa_startup_get_missing_len(&su) ==
	     (!is_reading_frame(&su) ? 0 : (su.got < 20 ? 20 : get_frame_len()) - su.got));
	MUST("the invariant holds again", !is_reading_frame(&su) || is_invariant_true(&su));
	if (is_reading_frame(&su))
		REACHED("more to come");
	else if (su.state != MPA_SU_RETRY)
		check_decoded_frame();
	return false;
}

void prove_header_decoding(void)
{
	if (process_and_check_piece(MPA_SU_HEADER))
		REACHED("refused");
}

void prove_data_decoding(void)
{
	MUST("data after a legal header is never refused",
	     !process_and_check_piece(MPA_SU_DATA));
}
