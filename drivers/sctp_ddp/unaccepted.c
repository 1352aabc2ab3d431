// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unaccepted associations: a peer has established the association, no program has
 * accepted a session on it recently, and no Initiate is waiting for a program's reply.
 *
 * Each of them may use little memory, and their number is limited, see admission.h. A new
 * association is always admitted. If a limit is reached, the oldest association is
 * evicted, preferably one from the new association's own peer address.
 */
#include <linux/once.h>
#include <linux/random.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "admission.h"
#include "internal.h"

static LIST_HEAD(unaccepted);		/* oldest first */
static DEFINE_MUTEX(unaccepted_lock);

/* Hash the peer's address, for comparison with the addresses of other peers */
static u32 hash_peer(const struct sddp_assoc *a)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return ddp_addr_hash_source(&a->remote, seed);
}

static bool is_same_laddr(const struct sddp_assoc *a, const struct sddp_assoc *b)
{
	return net_eq(a->net, b->net) && ddp_addr_equal(&a->local, &b->local);
}

/*
 * Check whether @other belongs to the same group as @a. @among: the criterion, which is the
 * same peer and local address, the same local address, or the same network namespace.
 */
static bool is_in_group(const struct sddp_assoc *a, const struct sddp_assoc *other,
			enum sddp_evict_group among)
{
	switch (among) {
	case SDDP_EVICT_PEER:
		return is_same_laddr(a, other) && a->source == other->source;
	case SDDP_EVICT_LADDR:
		return is_same_laddr(a, other);
	case SDDP_EVICT_NET:
		return net_eq(a->net, other->net);
	default:
		return false;
	}
}

static struct sddp_unaccepted __sddp_count_unaccepted(const struct sddp_assoc *a)
{
	const struct sddp_assoc *other;
	struct sddp_unaccepted there = {};

	list_for_each_entry(other, &unaccepted, unaccepted) {
		there.peer += is_in_group(a, other, SDDP_EVICT_PEER);
		there.laddr += is_in_group(a, other, SDDP_EVICT_LADDR);
		there.net += is_in_group(a, other, SDDP_EVICT_NET);
	}
	return there;
}

/* Find the association to evict in favour of @a. Return: NULL if no limit is reached */
static struct sddp_assoc *__choose_assoc(const struct sddp_assoc *a)
{
	const struct sddp_unaccepted there = __sddp_count_unaccepted(a);
	enum sddp_evict_group among = sddp_choose_evict_group(&there);
	struct sddp_assoc *other;

	list_for_each_entry(other, &unaccepted, unaccepted)
		if (is_in_group(a, other, among))
			return other;
	return NULL;
}

/**
 * sddp_unaccepted_join - count an association as unaccepted
 * @a: the new association; the caller must hold its mutex
 *
 * Return: the association that the caller must evict because a limit is reached, with a
 * reference; NULL if no limit is reached.
 */
struct sddp_assoc *sddp_unaccepted_join(struct sddp_assoc *a)
{
	struct sddp_assoc *other;

	a->source = hash_peer(a);
	mutex_lock(&unaccepted_lock);
	other = __choose_assoc(a);
	if (other) {
		list_del_init(&other->unaccepted);
		other->evicted = true;
		sddp_assoc_get(other);
	}
	list_add_tail(&a->unaccepted, &unaccepted);
	mutex_unlock(&unaccepted_lock);
	return other;
}

/**
 * sddp_unaccepted_rejoin - count an association as unaccepted again
 * @a: the association, without a session; the caller must hold its mutex
 *
 * @a becomes the first candidate for eviction.
 *
 * Return: true if @a is counted now, or is being evicted; false if a limit is reached,
 * so that the caller must end @a.
 */
bool sddp_unaccepted_rejoin(struct sddp_assoc *a)
{
	bool room = true;

	mutex_lock(&unaccepted_lock);
	if (!a->evicted && list_empty(&a->unaccepted)) {
		room = !__choose_assoc(a);
		if (room)
			list_add(&a->unaccepted, &unaccepted);
	}
	mutex_unlock(&unaccepted_lock);
	return room;
}

/**
 * sddp_unaccepted_leave - stop counting an association as unaccepted
 * @a: the association, which has an accepted session or a pending connection request, or
 *	is ending; the caller must hold its mutex
 *
 * A pending connection request is counted at its listener instead.
 */
void sddp_unaccepted_leave(struct sddp_assoc *a)
{
	mutex_lock(&unaccepted_lock);
	list_del_init(&a->unaccepted);
	mutex_unlock(&unaccepted_lock);
}

/**
 * sddp_assoc_accepted_session - account for an accepted session
 * @a: the association
 *
 * The worker calls this when a program has accepted a session of the peer, or the peer a
 * session of ours. On an association that the peer has established, the first accepted
 * session raises the buffer limits.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_assoc_accepted_session(struct sddp_assoc *a)
{
	a->accepted_sessions++;
	if (a->peer_accepted || a->active)
		return;
	a->peer_accepted = true;
	sddp_unaccepted_leave(a);
	sddp_sock_grow_rcvbuf(a);
}

/**
 * sddp_unaccepted_cancel_evict - check whether an eviction must be cancelled
 * @a: the association that sddp_unaccepted_join() has chosen; the caller must hold its
 *	mutex
 *
 * An Initiate may have arrived after @a was chosen. If the program rejects the session,
 * @a is counted as unaccepted again.
 *
 * Return: true if the association has a session and must be kept, false if the caller
 * must end it.
 */
bool sddp_unaccepted_cancel_evict(struct sddp_assoc *a)
{
	if (!a->peer_accepted && !atomic_read(&a->live))
		return false;
	mutex_lock(&unaccepted_lock);
	a->evicted = false;
	mutex_unlock(&unaccepted_lock);
	return true;
}
