// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The idle timeout of an association: when it expires and the association has no session,
 * the worker (assoc_work.c) ends the association.
 *
 * Only a session that a local program has requested or was notified of prolongs the
 * timeout. So a peer cannot keep an association for ever by beginning other sessions.
 */
#include "internal.h"

/*
 * Compute the time, in jiffies, at which the idle timer must expire. If peer_accepted is
 * set, this is SDDP_IDLE_UNACCEPTED seconds after the end of the last accepted session: at
 * that time the peer becomes unaccepted. Otherwise it is the end of the idle timeout.
 */
static unsigned long sddp_assoc_get_idle_deadline(const struct sddp_assoc *a)
{
	if (!a->peer_accepted)
		return a->idle_until;
	return a->idle_until - (SDDP_IDLE_PASSIVE - SDDP_IDLE_UNACCEPTED) * HZ;
}

static void sddp_assoc_arm_idle_timer(struct sddp_assoc *a)
{
	unsigned long due = sddp_assoc_get_idle_deadline(a);

	mod_delayed_work(sddp_wq, &a->idle, time_after(due, jiffies) ?
			 due - jiffies : 0);
}

/**
 * sddp_assoc_start_idle_timer_if_unused - start the idle timer if no session is accepted
 * @a: the association
 *
 * If there is no session at all, also free the transmit buffer. If, in addition, the
 * peer is unaccepted, count the association as unaccepted. If a limit for unaccepted
 * associations is reached, request the end of the association instead. Do nothing if the
 * association is not established.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_assoc_start_idle_timer_if_unused(struct sddp_assoc *a)
{
	if (a->accepted_sessions || a->phase != SDDP_UP)
		return;
	if (!atomic_read(&a->live)) {
		sddp_tx_free_buf(a);
		if (!a->peer_accepted && !a->active && !sddp_unaccepted_try_add_again(a)) {
			a->end_reason = a->end_reason ?: IW_LOCAL_CLOSE;
			sddp_assoc_kick(a);
		}
	}
	sddp_assoc_arm_idle_timer(a);
}

/*
 * Compute the idle timeout, in seconds, that starts at the end of a session. A session that
 * the peer has begun and no program has accepted prolongs the timeout only if the peer has
 * also created the association, and a program was notified of the session. Return: the
 * timeout, or 0 if the session does not prolong it.
 */
static unsigned int sddp_assoc_get_idle_seconds(const struct sddp_assoc *a,
						const struct sddp_stream *st)
{
	if (st->accepted || st->s.active)
		return a->active ? SDDP_IDLE_ACTIVE : SDDP_IDLE_PASSIVE;
	return st->reported && !a->active ? SDDP_IDLE_UNACCEPTED : 0;
}

/**
 * sddp_assoc_account_session_end - stop counting a session, and update the idle timeout
 * @a: the association of the session, which has ended or moves to another association
 * @st: the session's stream
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_assoc_account_session_end(struct sddp_assoc *a, const struct sddp_stream *st)
{
	unsigned long idle_until = jiffies + sddp_assoc_get_idle_seconds(a, st) * HZ;

	if (time_after(idle_until, a->idle_until))
		a->idle_until = idle_until;
	a->accepted_sessions -= st->accepted;
	atomic_dec(&a->live);
	sddp_assoc_start_idle_timer_if_unused(a);
}

/*
 * Treat the peer as unaccepted again, with the buffer limits of an unaccepted peer.
 * Return: true on success; false if SCTP holds more received data than these limits
 * allow.
 */
static bool sddp_assoc_try_reset_to_unaccepted(struct sddp_assoc *a)
{
	if (!sddp_sock_try_shrink_buffers(a))
		return false;
	a->peer_accepted = false;
	a->violations = 0;
	sddp_assoc_start_idle_timer_if_unused(a);
	return true;
}

/**
 * sddp_assoc_handle_idle_timer - handle the expiry of the idle timer
 * @a: the association
 *
 * Context: worker, with the association's mutex held.
 * Return: true if the caller must end the association; false if the association has an
 * accepted session, if the timer has been started again, or if a session or a reserved
 * stream number remains.
 */
bool sddp_assoc_handle_idle_timer(struct sddp_assoc *a)
{
	if (a->accepted_sessions)
		return false;
	if (time_after(sddp_assoc_get_idle_deadline(a), jiffies)) {
		sddp_assoc_arm_idle_timer(a);
		return false;
	}
	if (a->peer_accepted)
		return !sddp_assoc_try_reset_to_unaccepted(a);
	return sddp_assoc_table_unhash_if_idle(a);
}
