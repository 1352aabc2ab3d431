// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Chunks that arrive, in whatever order.
 *
 * What is due goes to the session or to DDP at once.  A tagged segment that is
 * early is placed at once, too, and of the chunk only its header is kept; any
 * other early chunk is kept whole.  Nothing is kept before its DDP-SSN has been
 * found to be within the window (RFC 5043 10).
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

/* Octets that early chunks of an association may cost at most */
#define KEPT_MOST	(8 * 1024 * 1024)
/* ... for a stream whose Initiate is not here: a well-behaved peer sends none */
#define KEPT_UNASKED	(64 * 1024)

#define DEADLINE_INITIATE	10	/* seconds: behind what came before it */

/* The longest segment that a Terminate can name */
#define SEGMENT_MOST	U16_MAX

/* An early chunk */
struct kept {
	struct list_head	list;
	u16			ssn;
	bool			control;
	bool			placed;		/* as @p says */
	struct ddp_placed	p;
	u32			len;
	u8			data[];
};

/* Of those that are there for their DDP-SSN alone there can be many, too */
static u32 cost(u32 len)
{
	return sizeof(struct kept) + len;
}

/* Octets of @src that are in memory of ours; returns how many */
static u32 read_ours(const struct sddp_src *src, u32 off, void *dst, u32 len)
{
	const u8 *from = src->arrived ? src->head : src->flat;
	u32 end = src->arrived ? src->head_len : src->len;
	u32 n = off < end ? min(len, end - off) : 0;

	memcpy(dst, from + off, n);
	return n;
}

static bool read(struct sddp_assoc *a, u32 off, void *dst, u32 len)
{
	struct sddp_src *src = &a->src;
	u32 n = read_ours(src, off, dst, len);

	if (n == len)
		return true;
	if (src->arrived &&
	    sddp_recv_read(src->arrived, off + n, dst + n, len - n))
		return true;
	memset(dst + n, 0, len - n);
	src->bad = true;
	return false;
}

/*
 * What is decided by is fetched once.  SCTP has made a packet linear, and so
 * its own, before it believes the checksum; the rules are the same as for TCP,
 * whose queue others may write.
 */
static bool fetch_head(struct sddp_assoc *a)
{
	u8 len = min_t(u32, a->src.len, SDDP_HEAD);

	if (!read(a, 0, a->src.head, len))
		return false;
	a->src.head_len = len;
	return true;
}

/**
 * sddp_rx_read - the next octets of the segment being handed up
 * @a: the association
 * @dst: where to
 * @len: how many
 *
 * Return: false if they cannot be read; zeros are in their place.
 */
bool sddp_rx_read(struct sddp_assoc *a, void *dst, u32 len)
{
	bool ok = read(a, a->src.off, dst, len);

	a->src.off += len;
	return ok;
}

/* The session cannot go on: the ULP is told, and the peer if it may be */
static void break_session(struct sddp_stream *st, enum iw_reason why)
{
	sddp_session_break(&st->s);
	st->rx_stopped = true;
	sddp_stream_end(st, why, NULL);
}

static bool wants_segments(const struct sddp_stream *st)
{
	return st->stream && !st->rx_stopped && st->s.state == SDDP_OPEN;
}

/* A segment whose turn it is.  @p: it has been placed */
static void deliver(struct sddp_stream *st, u32 len, const struct ddp_placed *p)
{
	enum iw_reason why;

	if (!wants_segments(st))
		return;
	st->a->src.off = SDDP_SEGMENT;
	local_bh_disable();
	if (p)
		why = ddp_rx_placed(st->stream, p);
	else
		why = ddp_rx_segment(st->stream, &st->llp, len - SDDP_SEGMENT);
	local_bh_enable();
	if (why)
		st->rx_stopped = true;
}

/* Both sides agree: Full Operation */
static void enter(struct sddp_stream *st, const struct ddp_offer *o)
{
	if (st->ended)
		return;
	sddp_stream_deadline(st, 0);
	/* a wrong answer starts the stream all the same: see session.h */
	ddp_session_established(&st->ss, o);
}

static void ask(struct sddp_stream *st, const struct ddp_offer *o)
{
	sddp_stream_deadline(st, 0);
	sddp_assoc_used(st->a);
	st->told = !sddp_listen_request(st, o);
	/* RFC 5043 6.4: nobody could be asked: Terminate, never Reject */
	if (!st->told)
		sddp_stream_end(st, IW_LOCAL_ABORT, NULL);
}

static void obey(struct sddp_stream *st, enum sddp_do what,
		 const struct sddp_control *c)
{
	switch (what) {
	case SDDP_DO_ASK:
		ask(st, &c->offer);
		break;
	case SDDP_DO_ENTER:
		enter(st, &c->offer);
		break;
	case SDDP_DO_REJECTED:
		sddp_stream_end(st, IW_PEER_REJECT, &c->offer);
		break;
	case SDDP_DO_REFUSED:
		sddp_stream_end(st, IW_PEER_REFUSED, NULL);
		break;
	case SDDP_DO_PEER_DONE:
		sddp_stream_peer_done(st);
		break;
	case SDDP_DO_END:
		break_session(st, IW_SCTP_SEQUENCE);
		break;
	default:
		break;
	}
	sddp_stream_event(st, SDDP_EV_TX);
}

/* A session control chunk whose turn it is */
static void take_control(struct sddp_stream *st, u32 len)
{
	struct sddp_control *c;
	enum iw_reason why = IW_SCTP_CONTROL;
	u8 *raw;

	/* RFC 5043 5.2.3: a Terminate may be longer, and is one all the same */
	len = min_t(u32, len, SDDP_CONTROL_MAX + 1);
	raw = kmalloc(len, GFP_KERNEL);
	c = kmalloc(sizeof(*c), GFP_KERNEL);
	if (!raw || !c) {
		why = IW_NO_MEMORY;
	} else if (!read(st->a, 0, raw, len)) {
		why = IW_UNREADABLE;
	} else {
		why = sddp_control_decode(c, raw, len);
	}
	if (why) {
		break_session(st, why);
	} else {
		trace_sddp_control(st, c, false);
		obey(st, sddp_session_receive(&st->s, c->what,
					      c->offer.enhanced), c);
	}
	kfree(raw);
	kfree(c);
}

static void take_segment(struct sddp_stream *st, u32 len,
			 const struct ddp_placed *p)
{
	enum sddp_do what;

	what = sddp_session_receive(&st->s, SDDP_SEGMENT_CHUNK, false);
	if (what == SDDP_DO_DELIVER)
		deliver(st, len, p);
	else
		obey(st, what, NULL);
}

static void take_kept(struct sddp_stream *st, struct kept *k)
{
	st->a->src = (struct sddp_src) { .flat = k->data, .len = k->len };
	if (k->control)
		take_control(st, k->len);
	else
		take_segment(st, k->len, k->placed ? &k->p : NULL);
}

static void drop_kept(struct sddp_stream *st, struct kept *k)
{
	st->a->kept -= cost(k->len);
	list_del(&k->list);
	kvfree(k);
}

/* Those kept whose turn has come */
static void take_due(struct sddp_stream *st)
{
	struct kept *k;

	while (sddp_ssn_advance(&st->rx)) {
		k = list_first_entry_or_null(&st->kept, struct kept, list);
		/* there was no memory to keep it, and the session has ended */
		if (!k || k->ssn != st->rx.next)
			continue;
		take_kept(st, k);
		drop_kept(st, k);
	}
}

static bool place_early(struct sddp_stream *st, u32 len, struct ddp_placed *p)
{
	bool placed;

	if (!wants_segments(st))
		return false;
	st->a->src.off = SDDP_SEGMENT;
	local_bh_disable();
	placed = ddp_rx_early(st->stream, &st->llp, len - SDDP_SEGMENT, p);
	local_bh_enable();
	return placed;
}

/* Behind those that come before it, which most often is last */
static void insert(struct sddp_stream *st, struct kept *k)
{
	u16 ahead = k->ssn - st->rx.next;
	struct kept *before;

	list_for_each_entry_reverse(before, &st->kept, list)
		if ((u16)(before->ssn - st->rx.next) < ahead)
			break;
	list_add(&k->list, &before->list);
}

static u32 may_keep(const struct sddp_stream *st)
{
	return st->s.state == SDDP_IDLE ? KEPT_UNASKED : KEPT_MOST;
}

/* Not even its octets are kept if it has been placed, or nobody wants it */
static struct kept *new_kept(struct sddp_stream *st, const struct sddp_in *in)
{
	bool control = in->ppid == SDDP_PPID_CONTROL;
	bool unwanted = !control && (st->rx_stopped || st->ended);
	struct ddp_placed p = {};
	bool placed = !control && place_early(st, in->len, &p);
	u32 len = placed || unwanted ? 0 : in->len;
	struct kept *k;

	if (st->a->kept + cost(len) > may_keep(st))
		return NULL;
	k = kvmalloc(struct_size(k, data, len), GFP_KERNEL);
	if (!k)
		return NULL;
	k->control = control;
	k->placed = placed;
	k->p = p;
	k->len = len;
	if (read(st->a, 0, k->data, len))
		return k;
	kvfree(k);
	return NULL;
}

static void keep(struct sddp_stream *st, const struct sddp_in *in, u16 ssn)
{
	struct kept *k = new_kept(st, in);

	if (!k) {
		break_session(st, st->a->src.bad ? IW_UNREADABLE
						 : IW_NO_MEMORY);
		return;
	}
	k->ssn = ssn;
	st->a->kept += cost(k->len);
	insert(st, k);
	trace_sddp_early(st, ssn, k->placed);
}

static void take_now(struct sddp_stream *st, const struct sddp_in *in)
{
	if (in->ppid == SDDP_PPID_CONTROL)
		take_control(st, in->len);
	else
		take_segment(st, in->len, NULL);
	take_due(st);
}

/* RFC 5043 5.1: no other kind of chunk is on such an association */
static bool makes_sense(const struct sddp_in *in)
{
	if (!in->legal)
		return false;
	if (in->ppid == SDDP_PPID_CONTROL)
		return true;
	return in->ppid == SDDP_PPID_SEGMENT &&
	       in->len <= SDDP_SEGMENT + SEGMENT_MOST;
}

static void take_chunk(struct sddp_stream *st, const struct sddp_in *in)
{
	u8 raw[SDDP_SSN_SIZE];
	u16 ssn;

	if (in->len < sizeof(raw) || !makes_sense(in)) {
		break_session(st, IW_SCTP_SEQUENCE);
		return;
	}
	if (!fetch_head(st->a)) {
		break_session(st, IW_UNREADABLE);
		return;
	}
	read(st->a, 0, raw, sizeof(raw));
	sddp_ssn_decode(&ssn, raw, sizeof(raw));
	switch (sddp_ssn_push(&st->rx, ssn)) {
	case SDDP_NOW:
		take_now(st, in);
		break;
	case SDDP_EARLY:
		keep(st, in, ssn);
		break;
	default:
		break_session(st, IW_SCTP_SSN);
		break;
	}
}

/*
 * A peer's chunk on streams without a session: its Initiate, if all is well.
 * -EBUSY: they are reserved for one of ours.
 */
static struct sddp_stream *new_stream(struct sddp_assoc *a, u16 id)
{
	struct sddp_stream *st = sddp_stream_new(NULL, NULL, false);
	int err;

	if (!st)
		return ERR_PTR(-ENOMEM);
	sddp_assoc_get(a);
	st->a = a;
	st->id = id;
	st->ss.local = a->local;
	st->ss.remote = a->remote;
	err = xa_insert(&a->streams, id, st, GFP_KERNEL);
	if (err) {
		ddp_session_put(&st->ss);
		return ERR_PTR(err);
	}
	atomic_inc(&a->live);
	sddp_stream_deadline(st, DEADLINE_INITIATE);
	return st;
}

/* Nothing of the session before can come any more, so it is the next one's */
static struct sddp_stream *current_session(struct sddp_assoc *a, u16 id)
{
	struct sddp_stream *st = xa_load(&a->streams, id);

	if (st && st->ended && sddp_session_over(&st->s)) {
		sddp_stream_drop(st);
		st = NULL;
	}
	return st ? st : new_stream(a, id);
}

/**
 * sddp_rx_chunk - a DATA chunk has arrived
 * @a: the association; its worker; the octets are in @a->src
 * @in: what it is
 *
 * Return: false if memory is short: it is to come again.
 */
bool sddp_rx_chunk(struct sddp_assoc *a, const struct sddp_in *in)
{
	struct sddp_stream *st;

	/* a stream that has no twin is in no pair */
	if (in->id >= a->limit)
		return true;
	st = current_session(a, in->id);
	if (IS_ERR(st))
		return PTR_ERR(st) != -ENOMEM;
	/* it may leave the table because of this */
	ddp_session_get(&st->ss);
	take_chunk(st, in);
	ddp_session_put(&st->ss);
	return true;
}

/**
 * sddp_rx_forget - what was kept for a session is of no use any more
 * @st: the stream
 */
void sddp_rx_forget(struct sddp_stream *st)
{
	struct kept *k, *next;

	list_for_each_entry_safe(k, next, &st->kept, list)
		drop_kept(st, k);
}
