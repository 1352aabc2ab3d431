// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA start-up state machine: RFC 5044 section 7.1, RFC 6581 sections 6, 9, 10.
 *
 * The caller may pass a frame to mpa_startup_process_input() in pieces of any size; the result
 * is always the same. A wrong key is refused at its first wrong byte. The other fields of the
 * header are checked when the complete header has arrived.
 */
#include "startup.h"

static_assert(MPA_PD_MAX == DDP_PD_MAX);

/* End start-up: the next step of the caller is to close the connection, with reason @why */
static void end_startup(struct mpa_startup *su, enum iw_reason why)
{
	su->why = why;
	su->state = MPA_SU_CLOSE;
}

static u8 get_peer_flags(const struct mpa_startup *su)
{
	return su->hdr[MPA_HDR_FLAGS];
}

/*
 * Check whether the peer has sent a rejecting Reply (flag R). Flag R of a Request is
 * ignored (RFC 5044 7.1.1).
 */
static bool has_peer_rejected(const struct mpa_startup *su)
{
	return su->initiator && get_peer_flags(su) & MPA_FLAG_R;
}

/**
 * mpa_startup_init - initialize the state machine
 * @su: the state machine
 * @initiator: true if this side sends the Request
 * @revision: highest MPA revision to use, 1 or 2
 * @crc: true to request CRC
 * @markers: true to request that the peer inserts markers
 */
void mpa_startup_init(struct mpa_startup *su, bool initiator, u8 revision,
		      bool crc, bool markers)
{
	memset(su, 0, sizeof(*su));
	su->initiator = initiator;
	su->rev_max = revision;
	su->want_crc = crc;
	su->rx_markers = markers;
	su->crc = crc;
	su->state = initiator ? MPA_SU_OFFER : MPA_SU_HEADER;
}

/**
 * mpa_startup_get_next_step - get the step that the caller must do next
 * @su: the state machine
 *
 * Return: the next step, see enum mpa_want.
 */
enum mpa_want mpa_startup_get_next_step(const struct mpa_startup *su)
{
	switch (su->state) {
	case MPA_SU_OFFER:
		return MPA_WANT_OFFER;
	case MPA_SU_SEND:
	case MPA_SU_SEND_REJECT:
		return MPA_WANT_WRITE;
	case MPA_SU_HEADER:
	case MPA_SU_DATA:
		return MPA_WANT_READ;
	case MPA_SU_ENTER:
		return MPA_WANT_ENTER;
	case MPA_SU_RETRY:
		return MPA_WANT_RETRY;
	case MPA_SU_CLOSE:
		break;
	}
	return MPA_WANT_CLOSE;
}

/*
 * Set our offer. @enhanced: true if our frame will be enhanced; the IRD/ORD word then
 * uses 4 of the 512 bytes of Private Data (RFC 6581 section 9). Return: 0 if set;
 * -EINVAL if the Private Data, the IRD or the ORD of @o does not fit into a frame.
 */
static int store_offer(struct mpa_startup *su, const struct ddp_offer *o,
		       bool enhanced)
{
	u32 room = MPA_PD_MAX - (enhanced ? DDP_WORD_SIZE : 0);

	if (o->pd_len > room)
		return -EINVAL;
	if (o->enhanced && (o->ird | o->ord) & ~DDP_WORD_DEPTH)
		return -EINVAL;
	su->mine = *o;
	su->enhanced = enhanced;
	return 0;
}

/**
 * mpa_startup_set_offer - set the ULP's offer for our Request or accepting Reply
 * @su: the state machine; the next step should be MPA_WANT_OFFER
 * @o: the offer; copied
 *
 * A Request uses revision 2 only if @o is enhanced (RFC 6581 sections 6 and 10);
 * otherwise it uses revision 1, which every responder supports. If the Request was
 * enhanced, the Reply is enhanced as well, and @o must be enhanced. A Reply that is
 * not enhanced does not contain the IRD, ORD and RTR flags of @o.
 *
 * Return: 0 if the offer is set, and the next step is MPA_WANT_WRITE. -EINVAL if @o
 * does not fit into a frame, or is not enhanced although the Request was enhanced;
 * @su is then unchanged. -ENOTCONN if the next step is not MPA_WANT_OFFER.
 */
int mpa_startup_set_offer(struct mpa_startup *su, const struct ddp_offer *o)
{
	bool enhanced = su->enhanced;
	int err;

	if (su->state != MPA_SU_OFFER)
		return -ENOTCONN;
	if (su->initiator)
		enhanced = o->enhanced && su->rev_max >= MPA_REV_ENHANCED;
	else if (enhanced && !o->enhanced)
		return -EINVAL;
	err = store_offer(su, o, enhanced);
	if (err)
		return err;
	if (su->initiator)
		su->revision = enhanced ? MPA_REV_ENHANCED : MPA_REV_PLAIN;
	su->state = MPA_SU_SEND;
	return 0;
}

/**
 * mpa_startup_reject - reject the peer's Request
 * @su: the state machine of a responder; the next step should be MPA_WANT_OFFER
 * @o: Private Data of the Reply, and if enhanced the IRD and ORD that this side
 *	requires; copied
 *
 * The Reply to an enhanced Request is enhanced (RFC 6581 section 10). If @o is not
 * enhanced, the Reply has DDP_DEPTH_NONE ("not negotiated") as IRD and ORD.
 *
 * Return: 0 if the next step is MPA_WANT_WRITE; -EINVAL if @o does not fit into a
 * frame; -ENOTCONN if the next step is not MPA_WANT_OFFER, or this side is the
 * initiator.
 */
int mpa_startup_reject(struct mpa_startup *su, const struct ddp_offer *o)
{
	int err;

	if (su->state != MPA_SU_OFFER || su->initiator)
		return -ENOTCONN;
	err = store_offer(su, o, su->enhanced);
	if (err)
		return err;
	if (!o->enhanced) {
		su->mine.ird = DDP_DEPTH_NONE;
		su->mine.ord = DDP_DEPTH_NONE;
		su->mine.rtr = su->peer.rtr;
	}
	su->state = MPA_SU_SEND_REJECT;
	return 0;
}

/* Get the flags of our frame */
static u8 get_our_flags(const struct mpa_startup *su)
{
	u8 flags = 0;

	if (su->rx_markers)
		flags |= MPA_FLAG_M;
	if (su->crc)
		flags |= MPA_FLAG_C;
	if (su->state == MPA_SU_SEND_REJECT)
		flags |= MPA_FLAG_R;
	if (su->enhanced)
		flags |= MPA_FLAG_S;
	return flags;
}

/**
 * mpa_startup_encode_frame - encode our frame
 * @su: the state machine; the next step must be MPA_WANT_WRITE
 * @buf: destination
 * @size: size of @buf in bytes; MPA_FRAME_MAX is always enough
 *
 * Return: length of the frame in bytes; 0 if the next step is not MPA_WANT_WRITE,
 * or @buf is too small.
 */
size_t mpa_startup_encode_frame(const struct mpa_startup *su, u8 *buf, size_t size)
{
	u32 word = su->enhanced ? DDP_WORD_SIZE : 0;
	u32 data = word + su->mine.pd_len;
	u8 *p = buf + MPA_HDR_LEN;

	if (mpa_startup_get_next_step(su) != MPA_WANT_WRITE || size < MPA_HDR_LEN + data)
		return 0;
	memcpy(buf, su->initiator ? MPA_KEY_REQUEST : MPA_KEY_REPLY,
	       MPA_KEY_SIZE);
	buf[MPA_HDR_FLAGS] = get_our_flags(su);
	buf[MPA_HDR_REV] = su->revision;
	put_unaligned_be16(data, buf + MPA_HDR_PD_LENGTH);
	if (word)
		put_unaligned_be32(ddp_offer_encode_ird_ord(&su->mine), p);
	memcpy(p + word, su->mine.pd, su->mine.pd_len);
	return MPA_HDR_LEN + data;
}

/**
 * mpa_startup_record_frame_sent - record that TCP has accepted our whole frame
 * @su: the state machine; the next step must be MPA_WANT_WRITE
 */
void mpa_startup_record_frame_sent(struct mpa_startup *su)
{
	if (su->state == MPA_SU_SEND_REJECT)
		end_startup(su, IW_LOCAL_CLOSE);
	else if (su->state == MPA_SU_SEND)
		su->state = su->initiator ? MPA_SU_HEADER : MPA_SU_ENTER;
}

/**
 * mpa_startup_get_missing_len - get the number of bytes that the caller should read next
 * @su: the state machine
 *
 * These are the missing bytes of the header of the peer's frame, then those of the
 * data after the header. The caller must not read more bytes, because bytes after
 * the frame are FPDUs.
 *
 * Return: number of bytes; 0 if the next step is not MPA_WANT_READ.
 */
size_t mpa_startup_get_missing_len(const struct mpa_startup *su)
{
	if (su->state == MPA_SU_HEADER)
		return MPA_HDR_LEN - su->got;
	if (su->state == MPA_SU_DATA)
		return MPA_HDR_LEN + su->data_len - su->got;
	return 0;
}

/* Check the bytes of the key that have arrived (RFC 5044 section 7.1.2 (5) and (8)) */
static enum iw_reason check_key(const struct mpa_startup *su)
{
	const char *key = su->initiator ? MPA_KEY_REPLY : MPA_KEY_REQUEST;

	if (memcmp(su->hdr, key, min_t(size_t, su->got, MPA_KEY_SIZE)))
		return IW_MPA_STARTUP;
	return IW_OK;
}

/*
 * Evaluate the peer's header. In revision 1, the S flag is a reserved bit and is
 * ignored. Return: IW_OK if valid, IW_MPA_STARTUP if not.
 */
static enum iw_reason parse_header(struct mpa_startup *su)
{
	u8 rev = su->hdr[MPA_HDR_REV];

	su->data_len = get_unaligned_be16(su->hdr + MPA_HDR_PD_LENGTH);
	if (rev < MPA_REV_PLAIN || rev > su->rev_max)
		return IW_MPA_STARTUP;
	if (su->data_len > MPA_PD_MAX)
		return IW_MPA_STARTUP;

	su->peer.enhanced = rev >= MPA_REV_ENHANCED &&
			    get_peer_flags(su) & MPA_FLAG_S;
	if (su->peer.enhanced && su->data_len < DDP_WORD_SIZE) {
		/* a rejecting Reply is valid without the word with IRD and ORD */
		if (!has_peer_rejected(su))
			return IW_MPA_STARTUP;
		su->peer.enhanced = false;
	}
	if (su->initiator && su->peer.enhanced && !su->enhanced)
		return IW_MPA_STARTUP;	/* our Request was not enhanced (RFC 6581 10) */
	return IW_OK;
}

/* Decode the IRD/ORD word, if the peer's frame has one, and remove it from the Private Data */
static void parse_private_data(struct mpa_startup *su)
{
	struct ddp_offer *o = &su->peer;

	o->pd_len = su->data_len;
	if (!o->enhanced)
		return;
	ddp_offer_decode_ird_ord(o, get_unaligned_be32(o->pd));
	o->pd_len -= DDP_WORD_SIZE;
	memmove(o->pd, o->pd + DDP_WORD_SIZE, o->pd_len);
}

/*
 * Check whether the peer has misunderstood our enhanced Request. The peer's Reply is
 * then not enhanced, because the peer took the IRD/ORD word for Private Data. RFC 6581
 * section 10 lets a responder either send an enhanced Reply or close, and lets an initiator
 * use revision 1 after a close. So do not continue on this connection: the peer's program
 * has got four bytes of Private Data too many, and IRD, ORD and RTR are not negotiated. A
 * rejecting Reply with revision 2 is valid even if it is not enhanced.
 */
static bool is_request_misunderstood(const struct mpa_startup *su)
{
	if (!su->initiator || !su->enhanced || su->peer.enhanced)
		return false;
	return !has_peer_rejected(su) || su->hdr[MPA_HDR_REV] < MPA_REV_ENHANCED;
}

/* Evaluate the peer's complete frame and set the next state */
static void evaluate_peer_frame(struct mpa_startup *su)
{
	parse_private_data(su);
	if (is_request_misunderstood(su)) {
		su->why = IW_MPA_STARTUP;
		su->state = MPA_SU_RETRY;
		return;
	}
	su->revision = su->hdr[MPA_HDR_REV];
	su->peer.revision = su->revision;
	su->enhanced = su->peer.enhanced;
	su->tx_markers = get_peer_flags(su) & MPA_FLAG_M;
	su->crc = su->want_crc || get_peer_flags(su) & MPA_FLAG_C;
	if (has_peer_rejected(su)) {
		end_startup(su, IW_PEER_REJECT);
		return;
	}
	su->peer.crc = su->crc;
	su->peer.tx_markers = su->tx_markers;
	su->peer.rx_markers = su->rx_markers;
	su->state = su->initiator ? MPA_SU_ENTER : MPA_SU_OFFER;
}

/*
 * Evaluate the bytes of the peer's frame that have arrived. Return: IW_OK if they are
 * valid; the reason if they are invalid.
 */
static enum iw_reason mpa_startup_evaluate_input(struct mpa_startup *su)
{
	enum iw_reason why = IW_OK;

	if (su->state == MPA_SU_HEADER) {
		why = check_key(su);
		if (why || su->got < MPA_HDR_LEN)
			return why;
		why = parse_header(su);
		su->state = MPA_SU_DATA;
	}
	if (!why && !mpa_startup_get_missing_len(su))
		evaluate_peer_frame(su);
	return why;
}

/* End start-up because of invalid input. Return: @why, negated for mpa_startup_process_input(). */
static ssize_t refuse_input(struct mpa_startup *su, enum iw_reason why)
{
	end_startup(su, why);
	return -(ssize_t)why;
}

/**
 * mpa_startup_process_input - process bytes from the peer
 * @su: the state machine
 * @p: the bytes
 * @n: number of bytes
 *
 * The caller must call this function if the next step is MPA_WANT_READ. A responder
 * must also pass any bytes that arrive while the next step is MPA_WANT_OFFER. Such
 * bytes end start-up, because an initiator must not send between its Request and our
 * Reply.
 *
 * Return: number of bytes consumed, without bytes after the end of the frame; or a
 * negated enum iw_reason if the bytes are invalid, and the next step is
 * MPA_WANT_CLOSE.
 */
ssize_t mpa_startup_process_input(struct mpa_startup *su, const u8 *p, size_t n)
{
	enum iw_reason why;
	size_t eaten = 0;
	size_t take;
	u8 *to;

	if (su->state == MPA_SU_OFFER && !su->initiator && n)
		return refuse_input(su, IW_MPA_STARTUP);

	while (eaten < n && mpa_startup_get_next_step(su) == MPA_WANT_READ) {
		if (su->state == MPA_SU_HEADER)
			to = su->hdr + su->got;
		else
			to = su->peer.pd + (su->got - MPA_HDR_LEN);
		take = min(n - eaten, mpa_startup_get_missing_len(su));
		memcpy(to, p + eaten, take);
		su->got += take;
		eaten += take;
		why = mpa_startup_evaluate_input(su);
		if (why)
			return refuse_input(su, why);
	}
	return eaten;
}

/**
 * mpa_startup_record_eof - record that the peer has closed or reset the connection
 * @su: the state machine
 * @acked: true if the peer's TCP has acknowledged our whole frame
 *
 * A responder that only supports revision 1 closes the connection when it receives
 * an enhanced Request (RFC 6581 section 10). So if no byte of a Reply has arrived,
 * the next step of the initiator is to retry with revision 1.
 *
 * If @acked is false, the peer may have closed for another reason, for example because the
 * backlog of its listener is full. Such a peer may support revision 2, so the retry
 * repeats the enhanced Request, but only once: some adapters refuse an enhanced Request
 * with a reset, without having acknowledged the Request.
 *
 * A truncated frame is invalid (RFC 5044 section 7.1.1). A rejecting Reply that is not
 * sent yet is sent before the connection is closed.
 */
void mpa_startup_record_eof(struct mpa_startup *su, bool acked)
{
	enum mpa_want want = mpa_startup_get_next_step(su);

	if (want == MPA_WANT_READ && su->got) {
		end_startup(su, IW_MPA_STARTUP);
	} else if (want == MPA_WANT_READ || want == MPA_WANT_OFFER ||
		   su->state == MPA_SU_SEND) {
		end_startup(su, IW_MPA_LOST);
		if (su->initiator && su->enhanced) {
			su->state = MPA_SU_RETRY;
			su->repeat = !acked && !su->repeated;
		}
	}
}

/**
 * mpa_startup_retry - restart for a new TCP connection
 * @su: the state machine; the next step must be MPA_WANT_RETRY
 *
 * The next Request is the enhanced Request again if @su->repeat is set. Otherwise it
 * uses revision 1 and has the Private Data of our offer, without the IRD/ORD word (RFC
 * 6581 section 10). On return the next step is MPA_WANT_WRITE.
 */
void mpa_startup_retry(struct mpa_startup *su)
{
	if (su->repeat) {
		su->repeat = false;
		su->repeated = true;
	} else {
		su->revision = MPA_REV_PLAIN;
		su->enhanced = false;
	}
	su->got = 0;
	su->why = IW_OK;
	su->state = MPA_SU_SEND;
}
