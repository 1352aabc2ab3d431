// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA start-up, except for receiving the peer's frame (startup_frame.c). Proved for any
 * state that satisfies the invariant is_sound(): initial state, the ULP's reply, the sent
 * frame, unexpected input, and the end of start-up. Each step keeps the invariant.
 *
 * Files: mpa/startup.c
 * Bound: 16, the bytes of a key
 * Mutation: mpa/startup.c s/if (su->state == MPA_SU_OFFER \&\& !su->initiator \&\& n)/if (0)/
 * Mutation: mpa/startup.c s/size < MPA_HDR_LEN + data)/size < data)/
 * Mutation: mpa/startup.c s/want == MPA_WANT_READ \&\& su->got/want == MPA_WANT_READ/
 * Mutation: mpa/startup.c s/su->got = 0;/(void)0;/
 */
#include "startup.h"

/* The initial states satisfy the invariant */
void prove_initial_state(void)
{
	struct mpa_startup su;
	bool initiator = any_bool();
	u8 rev = 1 + any_bool();

	mpa_startup_init(&su, initiator, rev, any_bool(), any_bool());
	MUST("the invariant holds at the beginning", is_sound(&su) && !su.got && !su.peer.pd_len);
	MUST("MPA-102: a responder waits for the Request's header", initiator ||
	     mpa_startup_get_missing_len(&su) == 20);
	MUST("MPA-100: an initiator waits for the ULP's offer", !initiator ||
	     mpa_startup_get_next_step(&su) == MPA_WANT_OFFER);
	REACHED("begun");
}

static void check_unexpected_input(enum mpa_startup_state state)
{
	struct mpa_startup su, was;
	size_t n = ANY(size_t);
	ssize_t eaten;

	init_any_startup(&su);
	su.state = state;
	GIVEN(is_sound(&su));
	GIVEN(n && n <= 1 << 16);
	was = su;
	eaten = mpa_startup_process_input(&su, any_bytes(n), n);
	if (state == MPA_SU_OFFER && !was.initiator) {
		MUST("MPA-97, MPA-102: data between Request and Reply is an error",
		     eaten == -IW_MPA_STARTUP && su.state == MPA_SU_CLOSE);
		REACHED("data too early");
		return;
	}
	MUST("MPA-74: the data is left for Full Operation",
	     !eaten && su.state == state && su.got == was.got);
	REACHED("data left");
}

/* Input is refused or not consumed in states that do not wait for the peer's frame */
void prove_unexpected_input(void)
{
	check_unexpected_input(MPA_SU_OFFER);
	check_unexpected_input(MPA_SU_SEND);
	check_unexpected_input(MPA_SU_SEND_REJECT);
	check_unexpected_input(MPA_SU_ENTER);
	check_unexpected_input(MPA_SU_CLOSE);
	check_unexpected_input(MPA_SU_RETRY);
}

static bool is_valid_offer(const struct ddp_offer *o, bool enhanced)
{
	return o->pd_len <= (enhanced ? 508 : 512) &&
	       (!o->enhanced || (o->ird <= 0x3fff && o->ord <= 0x3fff));
}

/* Any reply of the ULP is accepted if it is due and fits into a frame */
void prove_ulp_reply(void)
{
	struct mpa_startup su, was;
	struct ddp_offer o;
	bool rejects = any_bool(), asked, enhanced;
	int err;

	init_any_startup(&su);
	/* a responder is enhanced if it has received an enhanced Request */
	if (!su.initiator)
		su.enhanced = any_bool() && su.rev_max == 2;
	o.enhanced = any_bool();
	GIVEN(is_sound(&su));
	was = su;
	asked = su.state == MPA_SU_OFFER && !(rejects && su.initiator);
	enhanced = su.initiator ? o.enhanced && su.rev_max == 2 : su.enhanced;
	err = rejects ? mpa_startup_reject(&su, &o) : mpa_startup_set_offer(&su, &o);
	MUST("the invariant holds again", is_sound(&su));
	MUST("MPA-107: a reply is accepted only when it is due", (err == -ENOTCONN) == !asked);
	if (!asked)
		return;
	MUST("MPA-99, MPA2-15, MPA2-25: exactly a reply that fits is accepted", !err ==
	     (is_valid_offer(&o, enhanced) &&
	      (rejects || was.initiator || !was.enhanced || o.enhanced)));
	MUST("a reply that does not fit changes no state", !err || su.state == was.state);
	if (err) {
		REACHED("does not fit");
		return;
	}
	MUST("MPA-100, MPA-104, MPA-107: the frame is sent next", su.state ==
	     (rejects ? MPA_SU_SEND_REJECT : MPA_SU_SEND));
	MUST("MPA2-7, MPA2-62: an initiator uses revision 2 only if enhanced",
	     !was.initiator || (su.enhanced == enhanced &&
				su.revision == (enhanced ? 2 : 1)));
	REACHED("fits");
}

/* The sent frame is correct for any size of the output buffer */
void prove_encoded_frame(void)
{
	struct mpa_startup su;
	size_t size = ANY(size_t), len, word, at = ANY(size_t);
	bool reject = any_bool();
	u8 *p;

	init_any_startup(&su);
	su.enhanced = any_bool();
	su.state = reject ? MPA_SU_SEND_REJECT : MPA_SU_SEND;
	word = su.enhanced ? 4 : 0;
	GIVEN(su.mine.pd_len <= 512 - word);
	GIVEN(su.mine.ird <= 0x3fff && su.mine.ord <= 0x3fff);
	GIVEN(size <= 1024);
	p = any_bytes(size);
	len = mpa_startup_encode_frame(&su, p, size);
	MUST("MPA-96, MPA-99, MPA2-10: the whole frame is written or nothing",
	     len == (size < 20 + word + su.mine.pd_len ? 0
		     : 20 + word + su.mine.pd_len));
	if (!len) {
		REACHED("buffer too short");
		return;
	}
	MUST("MPA-90, MPA2-4: the flags are those of the start-up",
	     p[16] == ((su.rx_markers ? 0x80 : 0) | (su.crc ? 0x40 : 0) |
		       (reject ? 0x20 : 0) | (su.enhanced ? 0x10 : 0)));
	MUST("MPA-92, MPA2-6: the frame has the revision of the start-up", p[17] == su.revision);
	MUST("MPA-96, MPA2-10: PD_Length counts the bytes after the header",
	     decode_big_endian(p + 18, 2) == len - 20);
	if (word)
		MUST("MPA2-25: the frame has our IRD and ORD",
		     (decode_big_endian(p + 20, 2) & 0x3fff) == su.mine.ird &&
		     (decode_big_endian(p + 22, 2) & 0x3fff) == su.mine.ord);
	GIVEN(at < 16 || at < su.mine.pd_len);
	if (at < 16)
		MUST("MPA-79, MPA-81: the frame begins with the key of its type", p[at] == (u8)
		     (su.initiator ? "MPA ID Req Frame" : "MPA ID Rep Frame")[at]);
	if (at < su.mine.pd_len)
		MUST("MPA-101, MPA-105: the frame has the ULP's Private Data",
		     p[20 + word + at] == su.mine.pd[at]);
	REACHED("written");
}

/*
 * The end of the peer's data, the acceptance of our frame by TCP, and the retry with
 * revision 1 each lead to the right state
 */
void prove_states_after_eof_send_and_retry(void)
{
	struct mpa_startup su, was;
	bool acked = any_bool();

	init_any_startup(&su);
	GIVEN(is_sound(&su));
	was = su;
	mpa_startup_record_eof(&su, acked);
	MUST("the invariant holds after the end of the peer's data", is_sound(&su));
	MUST("MPA-132: start-up no longer waits for the peer or the ULP",
	     mpa_startup_get_next_step(&su) != MPA_WANT_READ &&
	     mpa_startup_get_next_step(&su) != MPA_WANT_OFFER);
	MUST("MPA-97: a partial frame is malformed",
	     mpa_startup_get_next_step(&was) != MPA_WANT_READ || !was.got ||
	     (su.state == MPA_SU_CLOSE && su.why == IW_MPA_STARTUP));
	MUST("MPA-132, MPA2-66, MPA2-67: if no byte has come, the connection is lost",
	     mpa_startup_get_next_step(&was) != MPA_WANT_READ || was.got ||
	     (su.why == IW_MPA_LOST && su.state ==
	      (was.initiator && was.enhanced ? MPA_SU_RETRY : MPA_SU_CLOSE)));
	MUST("MPA2-67: only an initiator with an enhanced Request retries",
	     su.state != MPA_SU_RETRY || was.state == MPA_SU_RETRY ||
	     (was.initiator && was.enhanced && !was.got) ||
	     mpa_startup_get_next_step(&was) != MPA_WANT_READ);
	MUST("MPA2-67: the Request is repeated only if unacknowledged, and only once",
	     su.state != MPA_SU_RETRY || was.state == MPA_SU_RETRY ||
	     su.repeat == (!acked && !was.repeated));
	if (su.state == MPA_SU_RETRY && was.state != MPA_SU_RETRY)
		REACHED("retry");
	su = was;
	mpa_startup_record_frame_sent(&su);
	MUST("the invariant holds after the frame is sent", is_sound(&su));
	MUST("MPA-108, MPA-109: after sending, the state is the next one", su.state ==
	     (was.state == MPA_SU_SEND_REJECT ? MPA_SU_CLOSE :
	      was.state != MPA_SU_SEND ? was.state :
	      was.initiator ? MPA_SU_HEADER : MPA_SU_ENTER));
	su = was;
	mpa_startup_retry(&su);
	MUST("the invariant holds for the retry", is_sound(&su));
	MUST("MPA2-67: the retry sends a Request", !su.got && su.state == MPA_SU_SEND &&
	     su.why == IW_OK && !su.repeat);
	MUST("MPA-92, MPA2-7, MPA2-67: the retry uses revision 1, or repeats the Request",
	     was.repeat ? su.repeated && su.revision == was.revision &&
			  su.enhanced == was.enhanced :
			  su.revision == 1 && !su.enhanced);
	REACHED("end");
}
