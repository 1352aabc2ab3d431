// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Chunks that leave: a stream's turn, run by its association's worker.
 *
 * Segments are pulled as SCTP takes them; at most one is left over.
 */
#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

#define TURN		64	/* segments of one stream before the next one's turn */
#define TURN_OCTETS	(256 * 1024)
#define TOGETHER	(64 * 1024)	/* octets that SCTP gets to send at once */
#define DEADLINE_REPLY	60	/* seconds: the answer to our Initiate */

/* Wait until the peer has what was sent last */
static void doubt(struct sddp_stream *st)
{
	struct sddp_assoc *a = st->a;

	st->mark = sddp_sock_mark(a);
	list_move_tail(&st->doubt, &a->doubts);
	WRITE_ONCE(a->watch, true);
}

/**
 * sddp_tx_acks - control chunks that have been acknowledged meanwhile
 * @a: the association
 */
void sddp_tx_acks(struct sddp_assoc *a)
{
	struct sddp_stream *st, *next;

	list_for_each_entry_safe(st, next, &a->doubts, doubt) {
		if (!sddp_sock_acked(a, st->mark))
			continue;
		list_del_init(&st->doubt);
		sddp_session_acked(&st->s);
		sddp_stream_event(st, SDDP_EV_TX);
	}
	WRITE_ONCE(a->watch, !list_empty(&a->doubts));
}

/* Return: 0, or -EAGAIN, or the association is gone */
static int say(struct sddp_stream *st, struct sddp_control *c)
{
	u8 buf[SDDP_CONTROL_MAX];
	size_t len;
	int err;

	c->ssn = st->tx_ssn;
	len = sddp_control_encode(buf, sizeof(buf), c);
	/* what does not fit was refused when it was offered */
	if (WARN_ON_ONCE(!len))
		return -EINVAL;
	err = sddp_sock_send(st->a, st->id, SDDP_PPID_CONTROL, buf, len);
	if (err)
		return err;
	trace_sddp_control(st, c, true);
	st->tx_ssn++;
	sddp_session_sent(&st->s, c->what, c->offer.enhanced);
	doubt(st);
	return 0;
}

/* The Initiate, or what the ULP has decided */
static int say_prepared(struct sddp_stream *st)
{
	struct sddp_control *c = st->say;
	int err;

	if (!c || st->ended || !sddp_session_may(&st->s, c->what))
		return 0;
	err = say(st, c);
	if (err)
		return err;
	st->say = NULL;
	if (c->what == SDDP_SAY_INITIATE)
		sddp_stream_deadline(st, DEADLINE_REPLY);
	else if (c->what == SDDP_SAY_ACCEPT)
		ddp_session_established(&st->ss, NULL);
	else
		sddp_stream_end(st, IW_LOCAL_CLOSE, NULL);
	kfree(c);
	return 0;
}

static int say_terminate(struct sddp_stream *st)
{
	struct sddp_control c = { .what = SDDP_SAY_TERMINATE };

	/* RFC 5043 6.2: behind all else, RDMAP's Terminate included */
	if (!st->ended && !(READ_ONCE(st->closing) && st->drained))
		return 0;
	return sddp_session_may(&st->s, c.what) ? say(st, &c) : 0;
}

static void uncork(struct sddp_assoc *a)
{
	if (!a->corked)
		return;
	a->corked = 0;
	sddp_sock_uncork(a);
}

/*
 * The segments of a message: SCTP makes less work of many at once.  The last
 * of them must not be held back.  @last: no other one is sent in this turn
 */
static void cork(struct sddp_assoc *a, bool last)
{
	bool more = a->out_more && !last;
	u32 len = a->out_len;

	if (!a->corked) {
		if (more && 2 * len <= TOGETHER && sddp_sock_cork(a, TOGETHER))
			a->corked = len;
		return;
	}
	a->corked += len;
	if (!more || a->corked + len > TOGETHER)
		uncork(a);
}

static int send_out(struct sddp_assoc *a)
{
	struct sddp_stream *st = a->out_of;
	int err;

	err = sddp_sock_send(a, st->id, SDDP_PPID_SEGMENT, a->out, a->out_len);
	if (err)
		return err;
	st->tx_ssn++;
	a->out_len = 0;
	a->out_of = NULL;
	local_bh_disable();
	ddp_tx_taken(st->stream);
	local_bh_enable();
	return 0;
}

/* The next segment into the buffer; false: there is none */
static bool pull(struct sddp_stream *st, u32 mulpdu)
{
	struct sddp_assoc *a = st->a;
	struct ddp_txseg seg;
	bool ok;
	u8 *p;

	local_bh_disable();
	ddp_tx_begin(st->stream);
	do {
		ok = ddp_tx_next(st->stream, mulpdu, &seg);
		if (!ok)
			break;
		sddp_ssn_encode(a->out, st->tx_ssn);
		p = a->out + SDDP_SEGMENT;
		memcpy(p, seg.hdr, seg.hdr_len);
		a->out_len = SDDP_SEGMENT + seg.hdr_len + seg.len;
		a->out_more = seg.more;
		/* its memory may be gone: a Terminate comes next */
	} while (!ddp_tx_fill(st->stream, p + seg.hdr_len, seg.len));
	ddp_tx_end(st->stream);
	local_bh_enable();
	if (ok)
		a->out_of = st;
	else
		a->out_len = 0;
	return ok;
}

/* Return: 1: more may be left; 0: nothing; or an error */
static int send_segments(struct sddp_stream *st)
{
	u32 mulpdu = sddp_sock_fragment(st->a) - SDDP_SEGMENT;
	u32 octets = 0;
	bool closing;
	int n, err;

	for (n = 0; n < TURN && octets < TURN_OCTETS; n++) {
		/* if pulling itself fails the stream, its Terminate comes next */
		closing = READ_ONCE(st->closing);
		if (!st->stream || !pull(st, mulpdu)) {
			st->drained = closing && !ddp_tx_rests(st->stream);
			return 0;
		}
		octets += st->a->out_len;
		cork(st->a, n == TURN - 1 || octets >= TURN_OCTETS);
		err = send_out(st->a);
		if (err)
			return err;
	}
	return 1;
}

static int turn(struct sddp_stream *st)
{
	int err;

	/*
	 * A message was given up, or SCTP had no memory: what was held back
	 * leaves with what follows, if only the session's Terminate
	 */
	uncork(st->a);
	if (st->a->out_len) {
		err = send_out(st->a);
		if (err)
			return err;
	}
	err = say_prepared(st);
	if (!err && !st->ended && sddp_session_may(&st->s, SDDP_SEGMENT_CHUNK))
		err = send_segments(st);
	/* what is left to send comes before Terminate, unless nobody wants it */
	if (err)
		return err;
	return say_terminate(st);
}

/**
 * sddp_tx - a stream's turn to send
 * @st: the stream; worker
 *
 * Return: whether it wants another one.  An association that is gone is seen
 * by its worker.
 */
bool sddp_tx(struct sddp_stream *st)
{
	int err = turn(st);

	sddp_path_watch(st->a);
	if (err == -EAGAIN)
		sddp_assoc_retry(st->a);
	return err == 1 || err == -EAGAIN;
}

/**
 * sddp_tx_forget - nothing more of a stream's is sent
 * @st: the stream; worker, or the mutex is held
 */
void sddp_tx_forget(struct sddp_stream *st)
{
	if (st->a->out_of != st)
		return;
	st->a->out_len = 0;
	st->a->out_of = NULL;
}
