// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Orphaned sessions: sessions of a peer that no program knows, because the peer
 * has broken the rules or has been refused, or that have ended here first.
 *
 * What is left of such a session is a value in the association's table of
 * streams (RFC 5043 6.1, 6.4). It holds the number of chunks that have arrived,
 * whether the peer's Terminate was among them, and whether ours must be sent.
 */
#include "admission.h"
#include "internal.h"

#define LAST	BIT(16)			/* Terminate received; lower bits: count */
#define OWED	BIT(17)			/* our Terminate has to be sent */
#define MARK	XA_MARK_1		/* entries with OWED */

static void *sddp_orphan_entry(const struct sddp_tally *t, bool owed)
{
	return xa_mk_value(t->n | (t->last ? LAST : 0) | (owed ? OWED : 0));
}

static struct sddp_tally tally_of(unsigned long value)
{
	return (struct sddp_tally){ .n = value, .last = value & LAST };
}

/*
 * Update an entry that exists. If the session is complete, the number becomes
 * free for the peer's next session. On an association that this side has made,
 * the number stays in use: a local session could begin there although our
 * Terminate may not have arrived.
 */
static void sddp_orphan_put(struct sddp_assoc *a, u16 id,
			    const struct sddp_tally *t, bool owed)
{
	if (sddp_tally_complete(t) && !owed && !a->active) {
		xa_erase(&a->streams, id);
		return;
	}
	xa_store(&a->streams, id, sddp_orphan_entry(t, owed), GFP_KERNEL);
	if (owed)
		xa_set_mark(&a->streams, id, MARK);
	else
		xa_clear_mark(&a->streams, id, MARK);
}

/**
 * sddp_tally_head - count a chunk of a session that is over
 * @t: the session's tally
 * @h: the beginning of the chunk
 */
void sddp_tally_head(struct sddp_tally *t, const struct sddp_head *h)
{
	if (!h->numbered)
		return;
	sddp_tally_chunk(t);
	if (h->function == SDDP_TERMINATE)
		sddp_tally_last(t, h->ssn);
}

static bool in_window(const struct sddp_head *h)
{
	return h->numbered && sddp_ssn_compare(0, h->ssn) <= SDDP_SSN_EARLY;
}

static enum iw_reason violation_reason(const struct sddp_chunk_desc *in,
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
 * sddp_assoc_violation - count a protocol violation
 * @a: the association; worker context
 *
 * An unaccepted peer's association ends after SDDP_VIOLATIONS_MAX of them.
 */
void sddp_assoc_violation(struct sddp_assoc *a)
{
	if (!a->peer_accepted && !a->active && ++a->violations > SDDP_VIOLATIONS_MAX)
		a->end_reason = IW_SCTP_SEQUENCE;
}

/**
 * sddp_orphan_first_chunk - process a chunk that is no Initiate, on unused streams
 * @a: the association; worker context
 * @in: description of the chunk
 * @h: the beginning of the chunk
 *
 * A Terminate is sent in reply, unless the chunk is one.
 *
 * Return: 0; -EBUSY if the number is reserved for a local session, and the
 * chunk is dropped; -ENOMEM if the chunk has to be received again.
 */
int sddp_orphan_first_chunk(struct sddp_assoc *a, const struct sddp_chunk_desc *in,
			    const struct sddp_head *h)
{
	bool owed = h->function != SDDP_TERMINATE;
	struct sddp_tally t = {};
	int err;

	if (in_window(h))
		sddp_tally_head(&t, h);
	if (owed || !sddp_tally_complete(&t)) {
		err = xa_insert(&a->streams, in->id, sddp_orphan_entry(&t, owed),
				GFP_KERNEL);
		/* -EBUSY: reserved for a local session */
		if (err)
			return err;
		sddp_orphan_put(a, in->id, &t, owed);
	}
	sddp_assoc_violation(a);
	sddp_listen_refused(a, violation_reason(in, h));
	return 0;
}

/**
 * sddp_orphan_next_chunk - process a chunk of an orphaned session
 * @a: the association; worker context
 * @id: number of the streams
 * @value: the session's value in the table
 * @h: the beginning of the chunk
 */
void sddp_orphan_next_chunk(struct sddp_assoc *a, u16 id, unsigned long value,
			    const struct sddp_head *h)
{
	struct sddp_tally t = tally_of(value);

	sddp_assoc_violation(a);
	if (sddp_tally_complete(&t))
		return;
	sddp_tally_head(&t, h);
	sddp_orphan_put(a, id, &t, value & OWED);
}

/**
 * sddp_orphan_session - replace an ended session by its tally
 * @st: the stream of a peer's session, settled; worker context
 * @owed: true if our Terminate, the first chunk from here, has to be sent
 *
 * The stream leaves the table. The caller releases it.
 */
void sddp_orphan_session(struct sddp_stream *st, bool owed)
{
	struct sddp_tally t = st->tally;

	/* a Terminate in reply to a request ends the session (RFC 5043 6.4) */
	if (st->s.peer_done || st->s.state == SDDP_REQUESTED)
		t = (struct sddp_tally){ .last = true };
	sddp_orphan_put(st->a, st->id, &t, owed);
}

static int sddp_orphan_terminate(struct sddp_assoc *a, u16 id)
{
	struct sddp_control c = { .what = SDDP_SAY_TERMINATE };
	u8 buf[SDDP_CONTROL_LEN];
	size_t len = sddp_control_encode(buf, sizeof(buf), &c);

	return sddp_sock_send(a, id, SDDP_PPID_CONTROL, buf, len);
}

/**
 * sddp_orphan_send_terminates - send the Terminates of orphaned sessions
 * @a: the association; worker context
 *
 * Return: 0, or an error of sddp_sock_send(): those that are left are sent
 * later.
 */
int sddp_orphan_send_terminates(struct sddp_assoc *a)
{
	struct sddp_tally t;
	unsigned long id;
	void *at;
	int err;

	xa_for_each_marked(&a->streams, id, at, MARK) {
		err = sddp_orphan_terminate(a, id);
		if (err)
			return err;
		t = tally_of(xa_to_value(at));
		sddp_orphan_put(a, id, &t, false);
	}
	return 0;
}
