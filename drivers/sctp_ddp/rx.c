// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Chunks that arrive, in whatever order.
 *
 * What is due goes to the session or to DDP at once.  A tagged segment that is
 * early is placed at once, too, and of the chunk only its header is kept; any
 * other early chunk is kept whole.  Nothing is kept before its DDP-SSN has been
 * found to be within the window (RFC 5043 10), and nothing of a session that is
 * over: of its chunks the number is enough.
 *
 * A segment whose memory has to come first is put off: it is kept, the first of
 * those that are early, and what is behind it is early as well.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

/* The session cannot go on: the ULP is told, and the peer if it may be */
static void break_session(struct sddp_stream *st, enum iw_reason why)
{
	sddp_session_break(&st->s);
	sddp_stray_note(st->a);
	st->rx_stopped = true;
	sddp_stream_end(st, why, NULL);
}

static bool wants_segments(const struct sddp_stream *st)
{
	return st->stream && !st->rx_stopped && st->s.state == SDDP_OPEN;
}

/* What DDP is to know of a segment of @len octets before it reads the others */
static bool read_segment_head(struct sddp_assoc *a, u8 *head, u32 len)
{
	a->src.off = SDDP_SEGMENT;
	return sddp_src_next(a, head, min_t(u32, len, IW_DDP_T_HDR_LEN));
}

/* BH off */
static enum iw_reason sddp_rx_hand_up(struct sddp_stream *st, u32 len)
{
	u8 head[IW_DDP_T_HDR_LEN];

	if (read_segment_head(st->a, head, len))
		return ddp_rx_segment(st->stream, &st->llp, head, len);
	ddp_llp_error(st->stream, IW_UNREADABLE);
	return IW_UNREADABLE;
}

/*
 * A segment whose turn it is.  @p: it has been placed.  Return: false: not now, it is
 * to be kept
 */
static bool deliver(struct sddp_stream *st, u32 len, const struct ddp_placed *p)
{
	enum iw_reason why;

	if (!wants_segments(st))
		return true;
	local_bh_disable();
	if (p)
		why = ddp_rx_placed(st->stream, p);
	else
		why = sddp_rx_hand_up(st, len - SDDP_SEGMENT);
	local_bh_enable();
	if (why == IW_NOT_NOW)
		return false;
	if (why)
		st->rx_stopped = true;
	return true;
}

/* Both sides agree: Full Operation */
static void sddp_rx_enter(struct sddp_stream *st, const struct ddp_offer *o)
{
	if (st->ended)
		return;
	sddp_stream_deadline(st, 0);
	st->up = true;
	sddp_crowd_guest(st->a);
	/* a wrong answer starts the stream all the same: see session.h */
	ddp_session_established(&st->ss, o);
}

static void sddp_rx_ask(struct sddp_stream *st, const struct ddp_offer *o)
{
	sddp_stream_deadline(st, DDP_ANSWER_TIME);
	st->told = !sddp_listen_request(st, o);
	if (st->told)
		sddp_crowd_leave(st->a);
	/* RFC 5043 6.4: nobody could be asked: Terminate, never Reject */
	if (!st->told)
		sddp_stream_end(st, IW_LOCAL_ABORT, NULL);
}

static void obey(struct sddp_stream *st, enum sddp_do what,
		 const struct sddp_control *c)
{
	switch (what) {
	case SDDP_DO_ASK:
		sddp_rx_ask(st, &c->offer);
		break;
	case SDDP_DO_ENTER:
		sddp_rx_enter(st, &c->offer);
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

/* However little memory there is: without it its number would never be free */
static void take_terminate(struct sddp_stream *st)
{
	struct sddp_control c = { .what = SDDP_SAY_TERMINATE, .ssn = st->rx_next };

	trace_sddp_control(st, &c, false);
	obey(st, sddp_session_receive(&st->s, c.what, false), &c);
}

static bool is_terminate(struct sddp_assoc *a, u32 len)
{
	u8 head[SDDP_CONTROL_LEN];

	len = min_t(u32, len, sizeof(head));
	return sddp_src_read(a, 0, head, len) &&
	       sddp_control_function(head, len) == SDDP_TERMINATE;
}

/* A session control chunk whose turn it is */
static void take_control(struct sddp_stream *st, u32 len)
{
	struct sddp_control *c;
	enum iw_reason why = IW_SCTP_CONTROL;
	u8 *raw;

	/* RFC 5043 5.2.3: it may be longer, and is one all the same */
	if (is_terminate(st->a, len)) {
		take_terminate(st);
		return;
	}
	len = min_t(u32, len, SDDP_CONTROL_MAX + 1);
	raw = kmalloc(len, GFP_KERNEL);
	c = kmalloc(sizeof(*c), GFP_KERNEL);
	if (!raw || !c)
		why = IW_NO_MEMORY;
	else if (!sddp_src_read(st->a, 0, raw, len))
		why = IW_UNREADABLE;
	else
		why = sddp_control_decode(c, raw, len);
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

/* Return: as deliver() */
static bool take_segment(struct sddp_stream *st, u32 len,
			 const struct ddp_placed *p)
{
	enum sddp_do what;

	what = sddp_session_receive(&st->s, SDDP_SEGMENT_CHUNK, false);
	if (what == SDDP_DO_DELIVER)
		return deliver(st, len, p);
	obey(st, what, NULL);
	return true;
}

/* Return: as deliver() */
static bool take_kept(struct sddp_stream *st, struct sddp_kept *k)
{
	st->a->src = (struct sddp_src) { .flat = k->data, .len = k->len };
	if (!k->control)
		return take_segment(st, k->len, k->placed ? &k->p : NULL);
	take_control(st, k->len);
	return true;
}

static void note_put_off(struct sddp_stream *st, bool put_off)
{
	if (st->put_off == put_off)
		return;
	st->put_off = put_off;
	st->a->put_off += put_off ? 1 : -1;
	/* there may be some that have stayed with SCTP for that */
	if (!put_off)
		sddp_assoc_kick(st->a);
}

/* Those kept whose turn has come */
static void take_due(struct sddp_stream *st)
{
	struct sddp_kept *k;

	while ((k = sddp_early_take(st))) {
		if (!take_kept(st, k)) {
			sddp_early_add(st, k);
			note_put_off(st, true);
			return;
		}
		st->rx_next++;
		sddp_early_free(st, k);
		/* they may be as many as the peer may have under way */
		cond_resched();
	}
	note_put_off(st, false);
}

/**
 * sddp_rx_resume - memory that a segment was put off for may have come
 * @st: the stream; worker
 */
void sddp_rx_resume(struct sddp_stream *st)
{
	if (st->put_off && !(st->stream && ddp_rx_waits(st->stream)))
		take_due(st);
}

/**
 * sddp_rx_forget - what was kept is of no use any more
 * @st: the stream; worker
 */
void sddp_rx_forget(struct sddp_stream *st)
{
	note_put_off(st, false);
	sddp_early_forget(st);
}

static bool place_early(struct sddp_stream *st, u32 len, struct ddp_placed *p)
{
	u8 head[IW_DDP_T_HDR_LEN];
	bool placed;

	len -= SDDP_SEGMENT;
	if (!wants_segments(st) || !read_segment_head(st->a, head, len))
		return false;
	local_bh_disable();
	placed = ddp_rx_early(st->stream, &st->llp, head, len, p);
	local_bh_enable();
	return placed;
}

/* Not even its octets are kept if it has been placed, or nobody wants it */
static bool keep(struct sddp_stream *st, const struct sddp_in *in, u16 ssn)
{
	bool control = in->ppid == SDDP_PPID_CONTROL;
	bool unwanted = !control && (st->rx_stopped || st->ended);
	struct ddp_placed p = {};
	bool placed = !control && place_early(st, in->len, &p);
	u32 len = placed || unwanted ? 0 : in->len;
	struct sddp_kept *k;

	/* of a longer one it is enough to know that it is */
	if (control)
		len = min_t(u32, len, SDDP_CONTROL_MAX + 1);
	k = sddp_early_new(st, ssn, len);
	if (!k)
		return false;
	k->control = control;
	k->placed = placed;
	k->p = p;
	if (!sddp_src_read(st->a, 0, k->data, len)) {
		sddp_early_free(st, k);
		return false;
	}
	sddp_early_add(st, k);
	trace_sddp_early(st, ssn, placed);
	return true;
}

/* Behind its Initiate a peer sends nothing before it has our answer */
static bool may_be_early(const struct sddp_stream *st)
{
	return st->s.state != SDDP_IDLE && st->s.state != SDDP_REQUESTED;
}

/* A segment that is due and put off; false: it stays with SCTP for now */
static bool keep_due(struct sddp_stream *st, u32 len)
{
	struct sddp_kept *k = NULL;

	note_put_off(st, true);
	if (sddp_early_may_wait(st))
		k = sddp_early_new(st, st->rx_next, len);
	if (!k)
		return false;
	k->control = false;
	k->placed = false;
	if (!sddp_src_read(st->a, 0, k->data, len)) {
		sddp_early_free(st, k);
		return false;
	}
	sddp_early_add(st, k);
	return true;
}

/* Return: false: it is to come again */
static bool take_now(struct sddp_stream *st, const struct sddp_in *in)
{
	if (in->ppid == SDDP_PPID_CONTROL)
		take_control(st, in->len);
	else if (!take_segment(st, in->len, NULL))
		return keep_due(st, in->len);
	st->rx_next++;
	take_due(st);
	return true;
}

/* After the end only the peer's Terminate counts, once all before it is here */
static void note_whole(struct sddp_stream *st)
{
	if (!sddp_tally_whole(&st->tally))
		return;
	sddp_session_receive(&st->s, SDDP_SAY_TERMINATE, false);
	sddp_stream_event(st, SDDP_EV_TX);
}

static void count(struct sddp_stream *st, const struct sddp_in *in,
		  const struct sddp_head *h)
{
	/* one that shows that our Accept has arrived */
	if (in->ppid == SDDP_PPID_SEGMENT && st->s.state == SDDP_OPEN)
		sddp_session_receive(&st->s, SDDP_SEGMENT_CHUNK, false);
	sddp_stray_count(&st->tally, h);
	note_whole(st);
}

/**
 * sddp_rx_settle - nobody wants what a session gets from here on
 * @st: the stream; worker
 *
 * Once it has ended: what was kept goes, and what comes is but counted.
 */
void sddp_rx_settle(struct sddp_stream *st)
{
	/* what the peer says to our Initiate still decides how it ends */
	if (!st->ended || st->counting || st->s.state == SDDP_IDLE ||
	    st->s.state == SDDP_INITIATED)
		return;
	st->counting = true;
	st->tally = sddp_early_tally(st);
	sddp_rx_forget(st);
	note_whole(st);
}

/* The session ends, whatever comes before this chunk; it counts all the same */
static void refuse_chunk(struct sddp_stream *st, const struct sddp_in *in,
			 const struct sddp_head *h, enum iw_reason why)
{
	break_session(st, st->a->src.bad ? IW_UNREADABLE : why);
	sddp_rx_settle(st);
	count(st, in, h);
}

/* Return: false: it is to come again */
static bool take_early(struct sddp_stream *st, const struct sddp_in *in,
		       const struct sddp_head *h)
{
	if (!may_be_early(st)) {
		refuse_chunk(st, in, h, IW_SCTP_SEQUENCE);
		return true;
	}
	if (sddp_early_here(st, h->ssn)) {
		/* counted once, as SCTP delivers once */
		break_session(st, IW_SCTP_SSN);
		return true;
	}
	if ((!st->put_off || sddp_early_may_wait(st)) && keep(st, in, h->ssn))
		return true;
	/* nor is it the peer's fault that there is no room because of us */
	if (st->a->put_off)
		return false;
	refuse_chunk(st, in, h, IW_NO_MEMORY);
	return true;
}

/* Return: false: it is to come again */
static bool take_chunk(struct sddp_stream *st, const struct sddp_in *in,
		       const struct sddp_head *h)
{
	enum sddp_turn turn = sddp_ssn_turn(st->rx_next, h->ssn);

	if (!h->sane) {
		refuse_chunk(st, in, h, IW_SCTP_SEQUENCE);
		return true;
	}
	/* one that is put off is here already, or comes again */
	if (turn == SDDP_NOW && !sddp_early_here(st, h->ssn))
		return take_now(st, in);
	if (turn == SDDP_EARLY)
		return take_early(st, in, h);
	break_session(st, IW_SCTP_SSN);
	return true;
}

/* For a session of the peer's */
static struct sddp_stream *make_stream(struct sddp_assoc *a, u16 id)
{
	struct sddp_stream *st = sddp_stream_new(NULL, NULL, false);

	if (!st)
		return NULL;
	sddp_assoc_get(a);
	st->a = a;
	st->id = id;
	st->ss.local = a->local;
	st->ss.remote = a->remote;
	return st;
}

/* A session begins; ERR_PTR(-EBUSY): the streams are reserved for one of ours */
static struct sddp_stream *new_stream(struct sddp_assoc *a, u16 id)
{
	struct sddp_stream *st = make_stream(a, id);
	int err;

	if (!st)
		return ERR_PTR(-ENOMEM);
	err = xa_insert(&a->streams, id, st, GFP_KERNEL);
	if (err) {
		ddp_session_put(&st->ss);
		return ERR_PTR(err);
	}
	atomic_inc(&a->live);
	return st;
}

/* Return: false: it is to come again */
static bool take_on(struct sddp_stream *st, const struct sddp_in *in,
		    const struct sddp_head *h)
{
	bool taken = true;

	/* it may leave the table because of this */
	ddp_session_get(&st->ss);
	if (st->counting)
		count(st, in, h);
	else
		taken = take_chunk(st, in, h);
	sddp_rx_settle(st);
	ddp_session_put(&st->ss);
	return taken;
}

static bool begins_session(const struct sddp_head *h)
{
	return !h->ssn && (h->function == SDDP_INITIATE ||
			   h->function == SDDP_INITIATE_ENHANCED);
}

/*
 * RFC 5043 6: an Initiate, and behind it the peer sends nothing before it has
 * our answer.  So whatever else comes first, or comes early, is against the
 * rules, and none of it is kept.
 */
static int sddp_rx_take_first(struct sddp_assoc *a, const struct sddp_in *in,
			      const struct sddp_head *h)
{
	struct sddp_stream *st;

	if (!begins_session(h))
		return sddp_stray_first(a, in, h);
	st = new_stream(a, in->id);
	if (IS_ERR(st))
		return PTR_ERR(st);
	/* an Initiate is not put off */
	take_on(st, in, h);
	return 0;
}

/*
 * Nothing of the session before can come any more, so it is the next one's.  A
 * peer that begins that on its own association has our last word.
 */
static bool is_over(const struct sddp_stream *st)
{
	return sddp_session_over(&st->s) && (st->ended || !st->a->active);
}

static void make_way(struct sddp_stream *st)
{
	sddp_session_acked(&st->s);
	sddp_stream_close(st);
	sddp_stream_drop(st);
}

/*
 * The peer has our last word, and all that it says of the session is here, though some
 * of it waits for memory of ours: it may begin the next one (RFC 5043 6.6).
 */
static bool is_next(const struct sddp_stream *st, const struct sddp_head *h)
{
	struct sddp_tally t;

	if (st->next || st->counting || st->a->active || !st->s.we_done ||
	    !begins_session(h))
		return false;
	t = sddp_early_tally(st);
	return sddp_tally_whole(&t);
}

/* The next session's Initiate waits until this one leaves.  Return: as take_on() */
static bool keep_next(struct sddp_stream *st, const struct sddp_in *in)
{
	struct sddp_stream *next = make_stream(st->a, in->id);

	if (!next)
		return false;
	if (!keep(next, in, 0)) {
		ddp_session_put(&next->ss);
		return false;
	}
	atomic_inc(&st->a->live);
	st->next = next;
	sddp_session_acked(&st->s);
	return true;
}

/**
 * sddp_rx_begin - the session before has left its number
 * @st: the one that has waited for that, in the table; worker
 */
void sddp_rx_begin(struct sddp_stream *st)
{
	take_due(st);
	sddp_stream_event(st, SDDP_EV_TX);
}

/**
 * sddp_rx_chunk - a DATA chunk has arrived
 * @a: the association; its worker; the octets are in @a->src
 * @in: what it is
 *
 * Return: false if memory is short, or has to come first: it is to come again.
 */
bool sddp_rx_chunk(struct sddp_assoc *a, const struct sddp_in *in)
{
	struct sddp_stream *st;
	struct sddp_head h;
	void *at;

	/* a stream that has no twin is in no pair */
	if (in->id >= a->limit)
		return true;
	sddp_src_head(a, in, &h);
	at = xa_load(&a->streams, in->id);
	if (xa_is_value(at)) {
		sddp_stray_more(a, in->id, xa_to_value(at), &h);
		return true;
	}
	if (at && is_over(at)) {
		make_way(at);
		at = NULL;
	}
	if (!at)
		return sddp_rx_take_first(a, in, &h) != -ENOMEM;
	st = at;
	if (is_next(st, &h))
		return keep_next(st, in);
	return take_on(st->next ?: st, in, &h);
}
