// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unaccepted associations: made by a peer, without a session that a program has
 * accepted, or not recently, and without a pending request.
 *
 * Each of them costs little memory and their number is limited, see admission.h. A
 * new one is always admitted: if a limit is reached, the oldest one is evicted,
 * if possible one from the new association's own peer address.
 */
#include <linux/once.h>
#include <linux/random.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "admission.h"
#include "internal.h"

static LIST_HEAD(unaccepted);		/* oldest first */
static DEFINE_MUTEX(unaccepted_lock);

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
 * Check whether @other is in the group @among of @a, from which one is to be
 * evicted.
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
 * @a: the association, new; its mutex is held
 *
 * Return: the association to evict in its favour, referenced, or NULL.
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
 * @a: the association, without a session; its mutex is held
 *
 * @a becomes the first candidate for eviction.
 *
 * Return: true if @a is counted now, was counted before, or is being evicted;
 * false if a limit is reached, so that @a has to end.
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
 * @a: the association, with an accepted session or a pending request, or at its
 *	end; its mutex is held
 *
 * A pending request is counted at its listener instead.
 */
void sddp_unaccepted_leave(struct sddp_assoc *a)
{
	mutex_lock(&unaccepted_lock);
	list_del_init(&a->unaccepted);
	mutex_unlock(&unaccepted_lock);
}

/**
 * sddp_assoc_accepted_session - account for an accepted session
 * @a: the association; worker context
 *
 * Either a program has accepted a session of the peer's, or the peer one of
 * ours. The first one raises the buffer limits of an association that the peer
 * has made.
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
 * @a: the association, chosen by sddp_unaccepted_join(); its mutex is held
 *
 * A request may have arrived since @a was chosen. If the program rejects that
 * request, @a is counted as unaccepted again.
 *
 * Return: true if the association has a session and must be kept, false if it
 * is to be ended.
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
