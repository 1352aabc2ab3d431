// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Orphaned sessions: sessions of a peer that no local program uses, because the peer has
 * violated the protocol, because this side has refused the session, or because this side
 * has ended the session before the peer's Terminate has arrived.
 *
 * To save memory, the association's table of streams has a value in place of such a
 * session's stream (RFC 5043 6.1, 6.4). The value consists of the number of received
 * chunks, whether the peer's Terminate was among them, and whether our Terminate must be
 * sent.
 */
#include "admission.h"
#include "internal.h"

/* Bits of an orphaned session's value; bits 0 to 15 are the number of received chunks */
#define LAST	BIT(16)			/* the peer's Terminate has been received */
#define OWED	BIT(17)			/* our Terminate must still be sent */
#define MARK	XA_MARK_1		/* mark of the table entries that have OWED set */

static void *make_orphan_entry(const struct sddp_tally *t, bool owed)
{
	return xa_mk_value(t->n | (t->last ? LAST : 0) | (owed ? OWED : 0));
}

static struct sddp_tally value_to_tally(unsigned long value)
{
	return (struct sddp_tally){ .n = value, .last = value & LAST };
}

/*
 * Update the value of an orphaned session. If all chunks have been received and our
 * Terminate has been sent, free the stream number for the peer's next session.
 *
 * If this side has created the association, keep the number in use instead: otherwise a
 * local session could begin with this number before the peer has received our Terminate.
 *
 * The table must already have an entry for @id, so that xa_store() needs no memory.
 */
static void sddp_orphan_update_entry(struct sddp_assoc *a, u16 id,
				     const struct sddp_tally *t, bool owed)
{
	if (sddp_tally_is_complete(t) && !owed && !a->active) {
		xa_erase(&a->streams, id);
		return;
	}
	xa_store(&a->streams, id, make_orphan_entry(t, owed), GFP_KERNEL);
	if (owed)
		xa_set_mark(&a->streams, id, MARK);
	else
		xa_clear_mark(&a->streams, id, MARK);
}

/**
 * sddp_tally_count_chunk - count a received chunk of an ended or orphaned session
 * @t: the session's count of chunks; updated
 * @h: the decoded first bytes of the chunk
 */
void sddp_tally_count_chunk(struct sddp_tally *t, const struct sddp_head *h)
{
	if (!h->has_ssn)
		return;
	sddp_tally_increment(t);
	if (h->function == SDDP_TERMINATE)
		sddp_tally_set_last(t, h->ssn);
}

static bool is_ssn_in_window(const struct sddp_head *h)
{
	return h->has_ssn && sddp_ssn_compare(0, h->ssn) <= SDDP_SSN_EARLY;
}

static enum iw_reason get_violation_reason(const struct sddp_chunk_desc *in,
					   const struct sddp_head *h)
{
	if (!h->well_formed)
		return IW_SCTP_SEQUENCE;
	if (!is_ssn_in_window(h))
		return IW_SCTP_SSN;
	if (in->ppid == SDDP_PPID_CONTROL &&
	    (!h->function || h->function > SDDP_REJECT_ENHANCED))
		return IW_SCTP_CONTROL;
	return IW_SCTP_SEQUENCE;
}

/**
 * sddp_assoc_count_violation - count a protocol violation
 * @a: the association
 *
 * If the peer is unaccepted and has committed more than SDDP_VIOLATIONS_MAX violations,
 * request the end of the association.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_assoc_count_violation(struct sddp_assoc *a)
{
	if (!a->peer_accepted && !a->active && ++a->violations > SDDP_VIOLATIONS_MAX)
		a->end_reason = IW_SCTP_SEQUENCE;
}

/**
 * sddp_orphan_process_first_chunk - process a chunk that begins a session without an Initiate
 * @a: the association
 * @in: description of the chunk; no session uses the chunk's stream number
 * @h: the decoded first bytes of the chunk
 *
 * Count a protocol violation, and reply with a Terminate unless the chunk is a
 * Terminate.
 *
 * Context: worker, with the association's mutex held.
 * Return: 0 if the chunk has been processed; -EBUSY if the caller must discard the
 * chunk, because the stream number is reserved for a local session; -ENOMEM if the chunk
 * must stay in SCTP's queue, because memory is short.
 */
int sddp_orphan_process_first_chunk(struct sddp_assoc *a, const struct sddp_chunk_desc *in,
				    const struct sddp_head *h)
{
	bool owed = h->function != SDDP_TERMINATE;
	struct sddp_tally t = {};
	int err;

	if (is_ssn_in_window(h))
		sddp_tally_count_chunk(&t, h);
	if (owed || !sddp_tally_is_complete(&t)) {
		err = xa_insert(&a->streams, in->id, make_orphan_entry(&t, owed),
				GFP_KERNEL);
		if (err)
			return err;
		sddp_orphan_update_entry(a, in->id, &t, owed);
	}
	sddp_assoc_count_violation(a);
	sddp_listen_report_refused(a, get_violation_reason(in, h));
	return 0;
}

/**
 * sddp_orphan_process_next_chunk - process a chunk of an orphaned session
 * @a: the association
 * @id: stream number of the session
 * @value: the session's value in the table
 * @h: the decoded first bytes of the chunk
 *
 * Count the chunk as one of the session's received chunks and as a protocol violation.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_orphan_process_next_chunk(struct sddp_assoc *a, u16 id, unsigned long value,
				    const struct sddp_head *h)
{
	struct sddp_tally t = value_to_tally(value);

	sddp_assoc_count_violation(a);
	if (sddp_tally_is_complete(&t))
		return;
	sddp_tally_count_chunk(&t, h);
	sddp_orphan_update_entry(a, id, &t, value & OWED);
}

/**
 * sddp_stream_make_orphan - replace the table entry of an ended session with a value
 * @st: the stream, for which may_orphan_session() has returned true
 * @owed: true if this side must still send a Terminate, its only chunk of the session
 *
 * The caller must release the stream afterwards.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_stream_make_orphan(struct sddp_stream *st, bool owed)
{
	struct sddp_tally t = st->tally;

	/*
	 * Mark the count as complete if no more chunks are expected from the peer: it has
	 * sent its last chunk, or gets a Terminate in reply to its Initiate (RFC 5043 6.4).
	 */
	if (st->s.peer_done || st->s.state == SDDP_REQUESTED)
		t = (struct sddp_tally){ .last = true };
	sddp_orphan_update_entry(st->a, st->id, &t, owed);
}

static int sddp_orphan_send_terminate(struct sddp_assoc *a, u16 id)
{
	struct sddp_control c = { .kind = SDDP_KIND_TERMINATE };
	u8 buf[SDDP_CONTROL_LEN];
	size_t len = sddp_control_encode(buf, sizeof(buf), &c);

	return sddp_sock_send_chunk(a, id, SDDP_PPID_CONTROL, buf, len);
}

/**
 * sddp_orphan_send_all_terminates - send the Terminates of orphaned sessions
 * @a: the association
 *
 * Context: worker, with the association's mutex held.
 * Return: 0 if SCTP has accepted all of them; otherwise an error of sddp_sock_send_chunk(),
 * and a later call sends the remaining Terminates.
 */
int sddp_orphan_send_all_terminates(struct sddp_assoc *a)
{
	struct sddp_tally t;
	unsigned long id;
	void *at;
	int err;

	xa_for_each_marked(&a->streams, id, at, MARK) {
		err = sddp_orphan_send_terminate(a, id);
		if (err)
			return err;
		t = value_to_tally(xa_to_value(at));
		sddp_orphan_update_entry(a, id, &t, false);
	}
	return 0;
}
