// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The chunks of an SCTP stream in order of arrival: decoding and encoding of
 * control messages, ordering by DDP-SSN, and the session state machine.
 *
 * Input: a byte of flags (1: active side, 2: each control message is
 * acknowledged immediately); then chunks. Each chunk begins with a byte: its bit
 * 7 is 1 for a segment and 0 for a control message, and its low bits are the
 * length of the chunk. If they are 127, a 2-byte length follows.
 */
#include "../../../drivers/sctp_ddp/chunk.h"
#include "../../../drivers/sctp_ddp/session.h"
#include "../../../drivers/sctp_ddp/ssn.h"
#include "fuzz.h"

#define SSNS	0x10000

/* An out-of-order chunk; belongs to the current input only if @run equals the global run */
struct kept {
	u32			run;
	bool			wrong;
	bool			enhanced;
	enum sddp_chunk_kind		kind;
};

struct scene {
	struct sddp_session	session;
	u16			next;		/* next expected DDP-SSN */
	bool			acks;
	bool			open;
	bool			ended;
};

static struct scene sc;
static struct kept kept[SSNS];		/* indexed by DDP-SSN */
static u32 run;

static void check_control_encoding(const struct sddp_control *c, const u8 *p, size_t len)
{
	u8 again[SDDP_CONTROL_MAX];
	size_t n = sddp_control_encode(again, sizeof(again), c);
	bool cut = p[3] == 7 && len < 8;	/* a Reject without the IRD/ORD word */

	if (c->kind == SDDP_KIND_TERMINATE)
		len = 4;
	MUST("sctp-again-length", n == len);
	if (cut)
		again[3] = 7;
	/* without A the other flags have no meaning (RFC 6581 9.2) */
	if (c->offer.enhanced && !(p[4] & 0x80)) {
		MUST("sctp-flags", !c->offer.rtr);
		again[4] |= p[4] & 0x40;
		again[6] |= p[6] & 0xc0;
	}
	MUST("sctp-again", !memcmp(again, p, n));
}

static bool decode_and_check_control_chunk(struct kept *k, const u8 *p, size_t len)
{
	struct sddp_control c;
	enum iw_reason why = sddp_control_decode(&c, p, len);
	u16 code = len < 4 ? 0 : p[2] << 8 | p[3];

	MUST("sctp-reason", why == IW_OK || why == IW_SCTP_CONTROL);
	MUST("sctp-code", why || (code >= 1 && code <= 7));
	MUST("sctp-long", why || code == 4 || len <= 516);
	MUST("sctp-known", !why || code < 1 || code > 7 || len > 516 ||
	     (len < 8 && (code == 5 || code == 6)));
	if (why)
		return false;
	MUST("sctp-data", c.offer.pd_len <= DDP_PD_MAX && c.offer.ird <= 0x3fff &&
	     c.offer.ord <= 0x3fff);
	check_control_encoding(&c, p, len);
	k->kind = c.kind;
	k->enhanced = c.offer.enhanced;
	return true;
}

/* Send a chunk of each kind that may be sent now, a Terminate last */
static void send_allowed_chunks(void)
{
	static const enum sddp_chunk_kind says[] = {
		SDDP_KIND_INITIATE, SDDP_KIND_ACCEPT, SDDP_KIND_SEGMENT,
	};
	struct sddp_session *s = &sc.session;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(says); i++)
		if (sddp_session_may_send(s, says[i]))
			sddp_session_record_chunk_sent(s, says[i], s->enhanced);
	if (sc.ended && sddp_session_may_send(s, SDDP_KIND_TERMINATE))
		sddp_session_record_chunk_sent(s, SDDP_KIND_TERMINATE, false);
	if (sc.acks)
		sddp_session_record_control_acked(s);
}

static void receive_in_order_chunk(const struct kept *k)
{
	bool over = sddp_session_is_over(&sc.session);
	enum sddp_do what;

	if (k->wrong) {
		sddp_session_abort(&sc.session);
		sc.ended = true;
		send_allowed_chunks();
		return;
	}
	what = sddp_session_receive_chunk(&sc.session, k->kind, k->enhanced);
	if (sc.ended)
		MUST("sctp-ended", what == SDDP_DO_IGNORE || what == SDDP_DO_END);
	if (over)
		MUST("sctp-over", what == SDDP_DO_IGNORE || what == SDDP_DO_END);
	if (what == SDDP_DO_DELIVER)
		MUST("sctp-deliver", k->kind == SDDP_KIND_SEGMENT && sc.open);
	if (what == SDDP_DO_REQUEST || what == SDDP_DO_ENTER) {
		MUST("sctp-once", !sc.open);
		sc.open = true;
	}
	if (what == SDDP_DO_END)
		sc.ended = true;
	send_allowed_chunks();
	MUST("sctp-stays-over", !over || sddp_session_is_over(&sc.session));
}

static void receive_consecutive_chunks(const struct kept *k)
{
	receive_in_order_chunk(k);
	for (sc.next++; kept[sc.next].run == run; sc.next++) {
		receive_in_order_chunk(&kept[sc.next]);
		kept[sc.next].run = 0;
	}
}

static void receive_chunk(bool segment, const u8 *p, size_t len)
{
	struct kept k = { .kind = SDDP_KIND_SEGMENT };
	u16 ssn, ahead;

	if (!sddp_ssn_decode(&ssn, p, len)) {
		MUST("sctp-no-ssn", len < 2);
		return;
	}
	MUST("sctp-ssn", ssn == (p[0] << 8 | p[1]));
	if (!segment)
		k.wrong = !decode_and_check_control_chunk(&k, p, len);
	ahead = ssn - sc.next;
	switch (sddp_ssn_compare(sc.next, ssn)) {
	case SDDP_SSN_NEXT:
		MUST("sctp-now", !ahead);
		receive_consecutive_chunks(&k);
		break;
	case SDDP_SSN_EARLY:
		MUST("sctp-early", ahead && ahead < 32767);
		if (kept[ssn].run == run)
			break;
		k.run = run;
		kept[ssn] = k;
		break;
	case SDDP_SSN_DUP:
		MUST("sctp-dup", ahead >= 0x8000);
		break;
	default:
		MUST("sctp-far", ahead == 32767);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u8 flags = read_u8(&in), head;
	size_t len;
	u8 *p;

	memset(&sc, 0, sizeof(sc));
	run++;
	sddp_session_init(&sc.session, flags & 1);
	sc.acks = flags & 2;
	send_allowed_chunks();
	while (in.left) {
		head = read_u8(&in);
		len = head & 0x7f;
		if (len == 0x7f)
			len = read_u16(&in);
		p = read_bytes(&in, &len);
		receive_chunk(head & 0x80, p, len);
		free(p);
	}
	return 0;
}
