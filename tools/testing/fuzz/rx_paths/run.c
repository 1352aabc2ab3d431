// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive the stream of a plan in one way: through MPA from TCP's queue, in skbs of any size,
 * or through a lower layer that passes the segments to DDP itself. The linker replaces the
 * calls of the fast paths with calls of the functions __wrap_*() below, so that a run can
 * switch the fast paths off; the modules' files are compiled unchanged.
 */
#include "rx_paths.h"

#include "../../../../drivers/mpa/crc.h"
#include "../../../../drivers/mpa/fpdu.h"

/* The fast paths ------------------------------------------------------------------ */

struct paths paths;

bool __real_ddp_rx_get_expected(const struct ddp_stream *s, struct ddp_expected *e);
u32 __real_ddp_rx_batch(struct ddp_stream *s, const struct ddp_rx_batch *b, enum iw_reason *why);
bool __real_ddp_rx_try_tagged_fast_path(struct ddp_stream *s, struct ddp_llp *llp,
					const u8 *head, u32 len, enum iw_reason *why);

/* Count @n segments that a fast path has processed */
static void count_fast_segments(const struct ddp_stream *s, u32 n)
{
	if (!s->rx_seg.h.tagged && s->rx_seg.h.last)
		paths.whole_untagged += n;
	else if (!s->rx_seg.h.tagged)
		paths.untagged_next += n;
	else if (s->rx_seg.h.last)
		paths.repeat_write += n;
	else
		paths.tagged_next += n;
}

bool __wrap_ddp_rx_get_expected(const struct ddp_stream *s, struct ddp_expected *e)
{
	return world.fast && __real_ddp_rx_get_expected(s, e);
}

u32 __wrap_ddp_rx_batch(struct ddp_stream *s, const struct ddp_rx_batch *b, enum iw_reason *why)
{
	u32 done = __real_ddp_rx_batch(s, b, why);

	MUST("rx-batch-done", world.fast && done <= b->n && (done < b->n || !*why));
	count_fast_segments(s, done);
	if (b->n > 1)
		paths.batch += done;
	return done;
}

bool __wrap_ddp_rx_try_tagged_fast_path(struct ddp_stream *s, struct ddp_llp *llp,
					const u8 *head, u32 len, enum iw_reason *why)
{
	if (world.fast && __real_ddp_rx_try_tagged_fast_path(s, llp, head, len, why)) {
		count_fast_segments(s, 1);
		return true;
	}
	paths.general++;
	return false;
}

/* The lower layer: MPA, or a stub that passes segments to DDP ----------------------- */

static struct lower {
	struct dice	*rewrites;	/* draws how queued bytes change; NULL: they do not */
	struct mpa_conn	c;		/* its llp is the lower layer in either case */
	struct tcp_sock	tp;
	bool		mpa;
	bool		failed;		/* later segments are discarded */
	const u8	*at;		/* without MPA: next byte of the segment for DDP */
	u32		left;
} lower;

static void lower_kick(struct ddp_llp *llp, bool bulk)
{
	world.kicked = true;
}

static bool lower_read(struct ddp_llp *llp, void *dst, u32 len)
{
	if (lower.mpa)
		return mpa_rx_read(&lower.c, dst, len);
	MUST("rx-reads-segment", len <= lower.left);
	memcpy(dst, lower.at, len);
	lower.at += len;
	lower.left -= len;
	return true;
}

static void lower_close(struct ddp_llp *llp, enum iw_reason why)
{
	world_record_event(EV_CLOSE, why, 0, 0);
}

static void lower_resume(struct ddp_llp *llp)
{
	world.resumed = true;
}

static void lower_unbind(struct ddp_llp *llp) { }

static const struct ddp_llp_ops lower_ops = {
	.kick = lower_kick, .read = lower_read, .close = lower_close,
	.resume = lower_resume, .unbind = lower_unbind,
};

static void lower_init(const struct way *w)
{
	memset(&lower, 0, sizeof(lower));
	lower.mpa = w->mpa;
	lower.c.llp.ops = &lower_ops;
	lower.c.stream = &world.r.stream;
	lower.c.crc = w->crc;
	lower.c.rx_markers = w->markers;
	lower.c.tx_permitted = true;
	queue_init_tcp_sock(&lower.tp);
	if (ddp_stream_bind(&world.r.stream, &lower.c.llp))
		abort();
}

/*
 * Upper bound of the stream's bytes: markers add less than 1 %, and framing at most 9 bytes per
 * segment
 */
#define WIRE_MAX	(2 * PLAN_BYTES)

/* The stream of a plan in FPDUs, which most runs of the plan share */
static struct {
	u32		number;			/* number of the plan */
	bool	markers, crc;
	bool	marker_damaged;		/* the damaged FPDU has a marker */
	u32	unreadable, unreadable_end;	/* positions of unreadable bytes */
	u32	ends[PLAN_SEGS];	/* position of the end of each FPDU */
	u8	bytes[WIRE_MAX];
} wire;

/* Without MPA --------------------------------------------------------------------- */

/*
 * Get the reason why MPA must refuse the FPDU of segment @i; IW_OK if the FPDU is not damaged, or
 * if MPA cannot detect the damage
 */
static enum iw_reason get_damage_reason(const struct plan *p, const struct way *w, u32 i)
{
	if (i != p->damaged)
		return IW_OK;
	switch (p->damage) {
	case DAMAGE_CRC:
	case DAMAGE_BIT:
		return w->crc ? IW_MPA_CRC : IW_OK;
	case DAMAGE_MARKER:
		return wire.marker_damaged ? IW_MPA_MARKER : IW_OK;
	default:
		return IW_OK;
	}
}

/*
 * Pass a segment to DDP. If DDP reports a page fault, pass the segment again after the fault is
 * resolved.
 */
static enum iw_reason pass_segment(const struct plan_seg *seg, const u8 *bytes)
{
	u32 ahead = min_t(u32, seg->len, IW_DDP_T_HDR_LEN);
	enum iw_reason why;
	u8 *copy = malloc(seg->len);

	memcpy(copy, bytes + seg->at, seg->len);
	for (;;) {
		lower.at = copy + ahead;
		lower.left = seg->len - ahead;
		why = ddp_rx_segment(&world.r.stream, &lower.c.llp, copy, seg->len);
		if (why != IW_AGAIN)
			break;
		ddp_rx_end(&world.r.stream);
		MUST("rx-again-unasked", world_resolve_faults() || world.resumed);
		world.resumed = false;
		ddp_rx_begin(&world.r.stream);
	}
	free(copy);
	return why;
}

static void pass_segments(const struct plan *p, const struct way *w, u32 from, u32 to)
{
	enum iw_reason why;
	u32 i;

	for (i = from; i < to && !lower.failed; i++) {
		if (i == from || (i - from) % w->pass == 0)
			ddp_rx_begin(&world.r.stream);
		why = get_damage_reason(p, w, i);
		if (why)
			ddp_llp_report_error(&world.r.stream, why);
		else
			why = pass_segment(&p->seg[i], p->bytes);
		lower.failed = why;
		if (why || i + 1 == to || (i + 1 - from) % w->pass == 0)
			ddp_rx_end(&world.r.stream);
	}
}

/* With MPA ------------------------------------------------------------------------ */

/*
 * Put the content of an FPDU, and its markers, at the position @start. Return: the
 * position of the last four bytes, the CRC.
 */
static u32 write_fpdu_content(u32 start, const u8 *content, u32 len, bool damaged)
{
	u32 at = start, left, n;

	for (left = len; left; left -= n, content += n) {
		n = left;
		if (wire.markers && !mpa_compute_marker_distance(at)) {
			mpa_marker_encode(wire.bytes + at,
					  mpa_compute_fpduptr(start, at) ^ (damaged ? 4 : 0));
			wire.marker_damaged |= damaged;
			at += MPA_MARKER_SIZE;
		}
		if (wire.markers)
			n = min(left, mpa_compute_marker_distance(at));
		memcpy(wire.bytes + at, content, n);
		at += n;
	}
	/* the CRC is aligned, so no marker is in it */
	return at - MPA_CRC_SIZE;
}

/*
 * Check whether the FPDU before that of segment @i is so short, and thus invalid, that MPA also
 * reads bytes of the next FPDU. Whether MPA then fails because of the short FPDU or because these
 * bytes are unreadable depends on the queue.
 */
static bool follows_short_fpdu(u32 i)
{
	u32 start = i > 1 ? wire.ends[i - 2] : 0;

	return i && wire.ends[i - 1] - start < DDP_RX_HEAD_LEN;
}

/* Append the FPDU of segment @i at the position @at. Return: position of its end */
static u32 write_fpdu(const struct plan *p, u32 i, u32 at)
{
	static u8 content[MPA_CONTENT_MAX];
	const struct plan_seg *seg = &p->seg[i];
	enum plan_damage damage = i == p->damaged ? p->damage : DAMAGE_NONE;
	u32 len = mpa_fpdu_content_len(seg->len), crc;
	struct dice dice = { .state = p->seed };
	u8 *fpdu = wire.bytes + at;

	put_unaligned_be16(seg->len, content);
	memcpy(content + MPA_LEN_SIZE, p->bytes + seg->at, seg->len);
	memset(content + MPA_LEN_SIZE + seg->len, 0, len - MPA_LEN_SIZE - seg->len);
	crc = write_fpdu_content(at, content, len, damage == DAMAGE_MARKER) - at;
	if (wire.crc)
		mpa_crc_final(mpa_crc_update(mpa_crc_init(), fpdu, crc), fpdu + crc);
	if (damage == DAMAGE_CRC)
		fpdu[crc + draw_random_u32_below(&dice, MPA_CRC_SIZE)] ^=
			1 << draw_random_u32_below(&dice, 8);
	/* the bit is not in the length field, nor in a marker before it */
	if (damage == DAMAGE_BIT)
		fpdu[6 + draw_random_u32_below(&dice,
					       crc - 2)] ^= 1 << draw_random_u32_below(&dice, 8);
	if (damage == DAMAGE_RAW)
		fpdu[draw_random_u32_below(&dice, crc + 4)] ^= 1 << draw_random_u32_below(&dice, 8);
	if (damage == DAMAGE_UNREADABLE && !follows_short_fpdu(i)) {
		wire.unreadable = at + draw_random_u32_below(&dice, crc + MPA_CRC_SIZE);
		wire.unreadable_end = wire.unreadable + p->unreadable;
	}
	return at + crc + MPA_CRC_SIZE;
}

static void write_stream(const struct plan *p, const struct way *w)
{
	u32 i, at = 0;

	if (wire.number == p->number && wire.markers == w->markers && wire.crc == w->crc)
		return;
	wire.number = p->number;
	wire.markers = w->markers;
	wire.crc = w->crc;
	wire.marker_damaged = false;
	wire.unreadable = wire.unreadable_end = U32_MAX;
	for (i = 0; i < p->segs; i++) {
		at = write_fpdu(p, i, at);
		wire.ends[i] = at;
	}
	MUST("wire-fits", at <= WIRE_MAX);
}

/* Receive all queued data. If a page fault stops this, continue after the fault is resolved. */
static void receive_queued_data(void)
{
	bool more;

	do {
		world.resumed = false;
		more = mpa_rx_receive_or_discard(&lower.c, &lower.tp.sk);
		/* while a page fault is pending, nothing is received */
		if (world.fault[0])
			MUST("rx-while-pending", !mpa_rx_receive_or_discard(&lower.c,
									    &lower.tp.sk));
		if (lower.rewrites && (world.fault[0] || !draw_random_u32_below(lower.rewrites, 8)))
			queue_rewrite_bytes(&lower.tp, lower.rewrites);
		more |= world_resolve_faults();
	} while (more || world.resumed);
	lower.failed = lower.c.rx_stopped;
}

/* Let the bytes up to the position @to arrive, in skbs */
static void append_and_receive_stream_bytes(u32 *from, u32 to, struct cut *cut)
{
	u32 len;

	while (*from < to) {
		len = to - *from;
		if (cut->most)
			len = min(len, 1 + draw_random_u32_below(&cut->dice, cut->most));
		if (*from < wire.unreadable) {
			len = min(len, wire.unreadable - *from);
			queue_append_bytes(&lower.tp, wire.bytes + *from, len, cut);
		} else if (*from < wire.unreadable_end) {
			len = min(len, wire.unreadable_end - *from);
			queue_append_unreadable(&lower.tp, len);
		} else {
			queue_append_bytes(&lower.tp, wire.bytes + *from, len, cut);
		}
		*from += len;
		if (cut->most || *from == to)
			receive_queued_data();
	}
}

/* Steps --------------------------------------------------------------------------- */

/* Get the position up to which bytes have arrived at the end of a step */
static u32 get_step_end(const struct plan *p, const struct plan_step *step)
{
	u32 end = step->segs ? wire.ends[step->segs - 1] : 0;

	if (step->segs < p->segs)
		end += min(step->ahead, wire.ends[step->segs] - end - 1);
	return end;
}

static void run_actions(const struct plan *p, u32 from, u32 to)
{
	for (; from < to; from++)
		world_run_action(&p->action[from], from);
}

void run_way(const struct plan *p, const struct way *w, struct result *result)
{
	static const struct plan_step none;
	const struct plan_step *step, *last = &none;
	struct cut cut = w->cut;
	struct dice rewrites = cut.dice;
	u32 at = 0;

	world_begin_run(p, result, w->fast);
	lower_init(w);
	lower.rewrites = w->rewrite ? &rewrites : NULL;
	write_stream(p, w);
	for (step = p->step; step < p->step + p->steps; step++) {
		if (w->mpa)
			append_and_receive_stream_bytes(&at, get_step_end(p, step), &cut);
		else
			pass_segments(p, w, last->segs, step->segs);
		world_record_state();
		world_transmit();
		run_actions(p, last->actions, step->actions);
		world_transmit();
		last = step;
	}
	/* all complete FPDUs have been consumed, unless their lengths have changed */
	if (w->mpa && !w->rewrite && p->damage < DAMAGE_UNREADABLE)
		MUST("rx-consumes-all", lower.failed || !tcp_inq(&lower.tp.sk));
	queue_purge(&lower.tp);
	ddp_stream_unbind(&world.r.stream);
	world_end_run();
}
