// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Streams on which a peer has broken the rules, or been refused, and that no
 * program knows of.
 *
 * What is left of such a session is a number in the association's table: how
 * many of its chunks have come, whether the peer's Terminate was among them,
 * and whether ours is still to be sent (RFC 5043 6.1, 6.4).
 */
#include "internal.h"
#include "share.h"

#define LAST	BIT(16)			/* above the count */
#define OWED	BIT(17)			/* our Terminate */
#define MARK	XA_MARK_1		/* where it is owed */

static void *sddp_stray_entry(const struct sddp_tally *t, bool owed)
{
	return xa_mk_value(t->n | (t->last ? LAST : 0) | (owed ? OWED : 0));
}

static struct sddp_tally tally_of(unsigned long value)
{
	return (struct sddp_tally){ .n = value, .last = value & LAST };
}

/*
 * Into a slot that is there.  Over: the next session may begin; but not one of
 * ours, for nobody knows whether our Terminate has arrived.
 */
static void sddp_stray_put(struct sddp_assoc *a, u16 id,
			   const struct sddp_tally *t, bool owed)
{
	if (sddp_tally_whole(t) && !owed && !a->active) {
		xa_erase(&a->streams, id);
		return;
	}
	xa_store(&a->streams, id, sddp_stray_entry(t, owed), GFP_KERNEL);
	if (owed)
		xa_set_mark(&a->streams, id, MARK);
	else
		xa_clear_mark(&a->streams, id, MARK);
}

/**
 * sddp_stray_count - a chunk of a session that is over
 * @t: the session's tally
 * @h: what the chunk begins with
 */
void sddp_stray_count(struct sddp_tally *t, const struct sddp_head *h)
{
	if (!h->numbered)
		return;
	sddp_tally_chunk(t);
	if (h->function == SDDP_TERMINATE)
		sddp_tally_last(t, h->ssn);
}

static bool in_window(const struct sddp_head *h)
{
	return h->numbered && sddp_ssn_turn(0, h->ssn) <= SDDP_EARLY;
}

static enum iw_reason what_is_wrong(const struct sddp_in *in,
				    const struct sddp_head *h)
{
	if (!h->sane)
		return IW_SCTP_SEQUENCE;
	if (!in_window(h))
		return IW_SCTP_SSN;
	if (in->ppid == SDDP_PPID_CONTROL &&
	    (!h->function || h->function > SDDP_REJECT_ENHANCED))
		return IW_SCTP_CONTROL;
	return IW_SCTP_SEQUENCE;
}

/**
 * sddp_stray_note - a peer breaks the rules
 * @a: the association; worker
 *
 * If it does so again and again no program here cares.
 */
void sddp_stray_note(struct sddp_assoc *a)
{
	if (!a->used && !a->active && ++a->strays > SDDP_STRAYS_MOST)
		a->unwanted = IW_SCTP_SEQUENCE;
}

/**
 * sddp_stray_first - a chunk that begins no session, on streams without one
 * @a: the association; worker
 * @in: the chunk
 * @h: what it begins with
 *
 * It is answered with a Terminate, unless it is one.
 *
 * Return: 0, or -ENOMEM: it is to come again.
 */
int sddp_stray_first(struct sddp_assoc *a, const struct sddp_in *in,
		     const struct sddp_head *h)
{
	bool owed = h->function != SDDP_TERMINATE;
	struct sddp_tally t = {};
	int err;

	if (in_window(h))
		sddp_stray_count(&t, h);
	if (owed || !sddp_tally_whole(&t)) {
		err = xa_insert(&a->streams, in->id, sddp_stray_entry(&t, owed),
				GFP_KERNEL);
		/* -EBUSY: they are reserved for a session of ours */
		if (err)
			return err;
		sddp_stray_put(a, in->id, &t, owed);
	}
	sddp_stray_note(a);
	sddp_listen_refused(a, what_is_wrong(in, h));
	return 0;
}

/**
 * sddp_stray_more - one more chunk where only a number is left
 * @a: the association; worker
 * @id: the streams
 * @value: the number
 * @h: what the chunk begins with
 */
void sddp_stray_more(struct sddp_assoc *a, u16 id, unsigned long value,
		     const struct sddp_head *h)
{
	struct sddp_tally t = tally_of(value);

	sddp_stray_note(a);
	if (sddp_tally_whole(&t))
		return;
	sddp_stray_count(&t, h);
	sddp_stray_put(a, id, &t, value & OWED);
}

/**
 * sddp_stray_leave - a session has ended that the peer has not
 * @st: the stream, of the peer's session, settled; worker.  It is dropped
 * @owed: our Terminate is still to be sent, our first chunk
 */
void sddp_stray_leave(struct sddp_stream *st, bool owed)
{
	struct sddp_tally t = st->tally;
	struct sddp_assoc *a = st->a;
	u16 id = st->id;

	/* to a request our Terminate is the last word of all (RFC 5043 6.4) */
	if (st->s.peer_done || st->s.state == SDDP_REQUESTED)
		t = (struct sddp_tally){ .last = true };
	sddp_stray_put(a, id, &t, owed);
	sddp_stream_forget(st);
}

static int sddp_stray_terminate(struct sddp_assoc *a, u16 id)
{
	struct sddp_control c = { .what = SDDP_SAY_TERMINATE };
	u8 buf[SDDP_CONTROL_LEN];
	size_t len = sddp_control_encode(buf, sizeof(buf), &c);

	return sddp_sock_send(a, id, SDDP_PPID_CONTROL, buf, len);
}

/**
 * sddp_stray_answer - send the Terminates that are owed
 * @a: the association; worker
 *
 * Return: 0, or an error: SCTP takes no more.
 */
int sddp_stray_answer(struct sddp_assoc *a)
{
	struct sddp_tally t;
	unsigned long id;
	void *at;
	int err;

	xa_for_each_marked(&a->streams, id, at, MARK) {
		err = sddp_stray_terminate(a, id);
		if (err)
			return err;
		t = tally_of(xa_to_value(at));
		sddp_stray_put(a, id, &t, false);
	}
	return 0;
}
