// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The idle timeout of an association: when one without sessions ends.
 *
 * Only sessions that a program here has requested or was notified of prolong
 * it, so that no peer can keep an association for ever. Ending the association
 * is up to the worker (assoc_work.c).
 */
#include "internal.h"

/*
 * Return: the time of the next idle check. A peer counts as unaccepted again
 * SDDP_IDLE_UNUSED seconds after its last accepted session.
 */
static unsigned long sddp_assoc_idle_at(const struct sddp_assoc *a)
{
	if (!a->peer_accepted)
		return a->idle_until;
	return a->idle_until - (SDDP_IDLE_PASSIVE - SDDP_IDLE_UNUSED) * HZ;
}

static void sddp_assoc_arm_idle(struct sddp_assoc *a)
{
	unsigned long due = sddp_assoc_idle_at(a);

	mod_delayed_work(sddp_wq, &a->idle, time_after(due, jiffies) ?
			 due - jiffies : 0);
}

/**
 * sddp_assoc_check_idle - start the idle timer if there is no accepted session
 * @a: the association; worker context
 *
 * If there is no session at all, free the transmit buffer and count the
 * association as unaccepted, unless a session was accepted recently.
 */
void sddp_assoc_check_idle(struct sddp_assoc *a)
{
	if (a->accepted_sessions || a->phase != SDDP_UP)
		return;
	if (!atomic_read(&a->live)) {
		sddp_tx_free_buf(a);
		if (!a->peer_accepted && !a->active && !sddp_unaccepted_rejoin(a)) {
			a->end_reason = a->end_reason ?: IW_LOCAL_CLOSE;
			sddp_assoc_kick(a);
		}
	}
	sddp_assoc_arm_idle(a);
}

/*
 * Return: the idle timeout that a session of this kind grants, seconds. One
 * that no program here requested or was notified of grants none: otherwise a
 * peer could keep an association for ever.
 */
static unsigned int sddp_assoc_idle_grant(const struct sddp_assoc *a,
					  const struct sddp_stream *st)
{
	if (st->up || st->s.active)
		return a->active ? SDDP_IDLE_ACTIVE : SDDP_IDLE_PASSIVE;
	return st->reported && !a->active ? SDDP_IDLE_UNUSED : 0;
}

/**
 * sddp_assoc_session_end - account for a session that has ended or moved away
 * @a: the association; worker context
 * @st: the session's stream
 */
void sddp_assoc_session_end(struct sddp_assoc *a, const struct sddp_stream *st)
{
	unsigned long idle_until = jiffies + sddp_assoc_idle_grant(a, st) * HZ;

	if (time_after(idle_until, a->idle_until))
		a->idle_until = idle_until;
	a->accepted_sessions -= st->up;
	atomic_dec(&a->live);
	sddp_assoc_check_idle(a);
}

/*
 * Limit the buffers to those of an unaccepted peer. Return: true if done, false
 * if SCTP holds more data than they allow.
 */
static bool sddp_assoc_unaccept(struct sddp_assoc *a)
{
	if (!sddp_sock_shrink_buffers(a))
		return false;
	a->peer_accepted = false;
	a->violations = 0;
	sddp_assoc_check_idle(a);
	return true;
}

/**
 * sddp_assoc_handle_idle - handle the expiry of the idle timer
 * @a: the association; worker context
 *
 * Return: true if the association has to end, false otherwise.
 */
bool sddp_assoc_handle_idle(struct sddp_assoc *a)
{
	if (a->accepted_sessions)
		return false;
	if (time_after(sddp_assoc_idle_at(a), jiffies)) {
		sddp_assoc_arm_idle(a);
		return false;
	}
	if (a->peer_accepted)
		return !sddp_assoc_unaccept(a);
	return sddp_table_del_if_idle(a);
}
