// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The MPA start-up state machine: input split at any place, both roles, every
 * configuration and every answer of the ULP.
 *
 * Input: the fields of struct plan, then the bytes that the peer sends before
 * it closes.
 */
#include "../../../drivers/mpa/startup.h"
#include "fuzz.h"

#define STEPS_MAX	(4 * MPA_FRAME_MAX)

struct plan {
	bool			initiator;
	u8			revision;
	bool			crc;
	bool			markers;
	bool			reject;
	bool			fall_back;
	bool			unacked;	/* peer closes before it acknowledges our frame */
	bool			early;		/* the peer sends bytes before our Reply */
	struct ddp_offer	offer;
};

static void read_plan(struct plan *p, struct input *in)
{
	u8 flags = read_u8(in), more = read_u8(in);

	memset(p, 0, sizeof(*p));
	p->initiator = flags & 1;
	p->revision = flags & 2 ? 2 : 1;
	p->crc = flags & 4;
	p->markers = flags & 8;
	p->reject = flags & 16;
	p->fall_back = flags & 32;
	p->offer.enhanced = flags & 64;
	p->early = more & 16;
	p->unacked = more & 32;
	p->offer.rtr = more & 15;
	p->offer.ird = read_u16(in);
	p->offer.ord = read_u16(in);
	p->offer.pd_len = read_u16(in) % (DDP_PD_MAX + 2);
	memset(p->offer.pd, more, min_t(u16, p->offer.pd_len, DDP_PD_MAX));
}

/* Check how the other end's state machine handles the frame that is sent */
static void check_peer_accepts_frame(const struct mpa_startup *su, const u8 *frame, size_t len)
{
	struct mpa_startup other;
	struct ddp_offer o = { .enhanced = su->enhanced };
	u8 buf[MPA_FRAME_MAX];

	mpa_startup_init(&other, !su->initiator, MPA_REV_ENHANCED, false, false);
	if (other.initiator) {
		MUST("startup-mirror-offer", !mpa_startup_set_offer(&other, &o));
		MUST("startup-mirror-output",
		     mpa_startup_encode_frame(&other, buf, sizeof(buf)));
		mpa_startup_record_frame_sent(&other);
	}
	MUST("startup-mirror-eats",
	     mpa_startup_process_input(&other, frame, len) == len);
	MUST("startup-mirror-done", mpa_startup_get_next_step(&other) != MPA_WANT_READ);
	MUST("startup-mirror-reject", (other.why == IW_PEER_REJECT) ==
	     (su->state == MPA_SU_SEND_REJECT));
	MUST("startup-mirror-pd", other.peer.pd_len == su->mine.pd_len &&
	     !memcmp(other.peer.pd, su->mine.pd, su->mine.pd_len));
	MUST("startup-mirror-form", other.peer.enhanced == su->enhanced);
	if (su->enhanced)
		MUST("startup-mirror-word",
		     ddp_offer_encode_ird_ord(&other.peer) == ddp_offer_encode_ird_ord(&su->mine));
	MUST("startup-mirror-flags", other.tx_markers == su->rx_markers &&
	     other.crc == su->crc);
}

static void send_frame(struct mpa_startup *su)
{
	u8 *buf = malloc(MPA_FRAME_MAX);
	size_t len = mpa_startup_encode_frame(su, buf, MPA_FRAME_MAX);

	MUST("startup-frame-length", len >= MPA_HDR_LEN && len <= MPA_FRAME_MAX);
	free(buf);
	buf = malloc(len - 1);
	MUST("startup-frame-small", !mpa_startup_encode_frame(su, buf, len - 1));
	buf = realloc(buf, len);
	MUST("startup-frame-same", mpa_startup_encode_frame(su, buf, len) == len);
	check_peer_accepts_frame(su, buf, len);
	free(buf);
	mpa_startup_record_frame_sent(su);
}

/* Pass the ULP's reply. Return: false if the reply does not fit into a frame */
static bool pass_ulp_reply(struct mpa_startup *su, const struct plan *p)
{
	int err;

	if (!su->initiator && p->reject)
		err = mpa_startup_reject(su, &p->offer);
	else
		err = mpa_startup_set_offer(su, &p->offer);
	MUST("startup-answer", !err || err == -EINVAL);
	MUST("startup-answer-changes-nothing",
	     !err == (mpa_startup_get_next_step(su) == MPA_WANT_WRITE));
	return !err;
}

/*
 * Check that input is refused now: an initiator must not send anything before
 * our Reply
 */
static void check_early_input_is_refused(struct mpa_startup *su, const struct input *in)
{
	MUST("startup-too-soon", mpa_startup_process_input(su, in->p, in->left) < 0 &&
	     mpa_startup_get_next_step(su) == MPA_WANT_CLOSE);
}

/*
 * Pass the next @split bytes of input, or all that is left if @split is 0. If nothing is left, report
 * the end of the input. Return: false if nothing was left, true otherwise
 */
static bool pass_input_or_eof(struct mpa_startup *su, const struct plan *p, struct input *in,
			      u32 split)
{
	size_t need = mpa_startup_get_missing_len(su);
	size_t give = split ? min_t(size_t, split, in->left) : in->left;
	ssize_t eaten;

	MUST("startup-need", need && su->got + need <= MPA_FRAME_MAX);
	if (!give) {
		mpa_startup_record_eof(su, !p->unacked);
		MUST("startup-eof", mpa_startup_get_next_step(su) != MPA_WANT_READ);
		return false;
	}
	eaten = mpa_startup_process_input(su, in->p, give);
	MUST("startup-eaten", eaten <= (ssize_t)give);
	if (eaten < 0) {
		MUST("startup-refused", su->state == MPA_SU_CLOSE &&
		     su->why == -eaten);
		return true;
	}
	MUST("startup-eats", eaten > 0);
	MUST("startup-too-much", su->got <= MPA_HDR_LEN + su->data_len &&
	     su->data_len <= MPA_PD_MAX);
	in->p += eaten;
	in->left -= eaten;
	return true;
}

/* Do the step that start-up waits for. Return: true if start-up is over, false otherwise */
static bool run_step(struct mpa_startup *su, const struct plan *p,
		     struct input *in, u32 split)
{
	switch (mpa_startup_get_next_step(su)) {
	case MPA_WANT_OFFER:
		if (p->early && !su->initiator && in->left) {
			check_early_input_is_refused(su, in);
			return true;
		}
		return !pass_ulp_reply(su, p);
	case MPA_WANT_WRITE:
		send_frame(su);
		return false;
	case MPA_WANT_READ:
		pass_input_or_eof(su, p, in, split);
		return false;
	case MPA_WANT_RETRY:
		if (!p->fall_back)
			return true;
		MUST("startup-retry-once", su->initiator && su->enhanced);
		MUST("startup-repeat-once", !su->repeat || !su->repeated);
		mpa_startup_retry(su);
		return false;
	default:
		return true;
	}
}

/* Check that the result matches the peer's frame (RFC 5044 7.1, 6581 9) */
static void check_agreed_parameters(const struct mpa_startup *su, const struct plan *p)
{
	const char *key = p->initiator ? MPA_KEY_REPLY : MPA_KEY_REQUEST;
	u8 flags = su->hdr[MPA_HDR_FLAGS], rev = su->hdr[MPA_HDR_REV];
	u16 length = get_unaligned_be16(su->hdr + MPA_HDR_PD_LENGTH);
	u32 word = su->peer.enhanced ? DDP_WORD_SIZE : 0;

	MUST("startup-key", !memcmp(su->hdr, key, MPA_KEY_SIZE));
	MUST("startup-revision", rev && rev <= p->revision &&
	     su->revision == rev);
	MUST("startup-length", length <= MPA_PD_MAX &&
	     su->peer.pd_len + word == length);
	MUST("startup-crc", su->crc == (p->crc || flags & MPA_FLAG_C));
	MUST("startup-markers", su->tx_markers == !!(flags & MPA_FLAG_M) &&
	     su->rx_markers == p->markers);
	MUST("startup-enhanced", su->enhanced ==
	     (rev >= MPA_REV_ENHANCED && flags & MPA_FLAG_S));
	MUST("startup-rejected", !p->initiator || !(flags & MPA_FLAG_R));
}

static void run_startup(struct mpa_startup *su, const struct plan *p, struct input in,
			u32 split)
{
	u32 steps = 0;

	mpa_startup_init(su, p->initiator, p->revision, p->crc, p->markers);
	while (!run_step(su, p, &in, split))
		MUST("startup-ends", ++steps < STEPS_MAX);
	MUST("startup-why", (su->why != IW_OK) ==
	     (su->state == MPA_SU_CLOSE || su->state == MPA_SU_RETRY));
	if (su->state == MPA_SU_ENTER)
		check_agreed_parameters(su, p);
	MUST("startup-after", su->state == MPA_SU_OFFER ||
	     !mpa_startup_process_input(su, (const u8 *)"more", 4));
	MUST("startup-after-offer", su->state == MPA_SU_OFFER ||
	     mpa_startup_set_offer(su, &p->offer) == -ENOTCONN);
}

/*
 * Check whether the input begins with a complete Request that RFC 5044 7.1.1 and RFC 6581
 * section 6 allow
 */
static bool is_legal_request(const struct plan *p, const struct input *in)
{
	const u8 *h = in->p;
	u16 length;

	if (in->left < 20 || memcmp(h, "MPA ID Req Frame", 16))
		return false;
	length = get_unaligned_be16(h + 18);
	if (!h[17] || h[17] > p->revision || length > 512)
		return false;
	if (h[17] == 2 && h[16] & 0x10 && length < 4)
		return false;
	return in->left >= 20 + length;
}

/* Check that exactly a legal Request is accepted, whatever its reserved bits are */
static void check_request(const struct plan *p, const struct input *in)
{
	struct mpa_startup su;

	mpa_startup_init(&su, false, p->revision, p->crc, p->markers);
	mpa_startup_process_input(&su, in->p, in->left);
	MUST("startup-takes-legal", is_legal_request(p, in) ==
	     (mpa_startup_get_next_step(&su) == MPA_WANT_OFFER));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct mpa_startup all, pieces;
	struct plan p;
	u8 split;

	read_plan(&p, &in);
	split = read_u8(&in);
	check_request(&p, &in);
	run_startup(&all, &p, in, 0);
	run_startup(&pieces, &p, in, 1 + split % 64);
	/*
	 * The whole input and the input in pieces must lead to the same state and reason. In
	 * pieces, a wrong key may be found earlier.
	 */
	MUST("startup-pieces", all.state == pieces.state &&
	     all.why == pieces.why);
	if (all.state == MPA_SU_ENTER)
		MUST("startup-pieces-agreed",
		     !memcmp(all.hdr, pieces.hdr, sizeof(all.hdr)) &&
		     !memcmp(&all.peer, &pieces.peer, sizeof(all.peer)) &&
		     all.crc == pieces.crc && all.revision == pieces.revision);
	return 0;
}
