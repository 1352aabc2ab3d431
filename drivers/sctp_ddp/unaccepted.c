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

static LIST_HEAD(crowd);		/* oldest first */
static DEFINE_MUTEX(crowd_lock);

static u32 source_of(const struct sddp_assoc *a)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return ddp_addr_source(&a->remote, seed);
}

static bool same_place(const struct sddp_assoc *a, const struct sddp_assoc *b)
{
	return net_eq(a->net, b->net) && ddp_addr_same(&a->local, &b->local);
}

/*
 * Check whether @other is in the group @among of @a, from which one is to be
 * evicted.
 */
static bool competes(const struct sddp_assoc *a, const struct sddp_assoc *other,
		     enum sddp_leaver among)
{
	switch (among) {
	case SDDP_LEAVE_PEER:
		return same_place(a, other) && a->source == other->source;
	case SDDP_LEAVE_PLACE:
		return same_place(a, other);
	case SDDP_LEAVE_NET:
		return net_eq(a->net, other->net);
	default:
		return false;
	}
}

static struct sddp_crowd __sddp_count(const struct sddp_assoc *a)
{
	const struct sddp_assoc *other;
	struct sddp_crowd there = {};

	list_for_each_entry(other, &crowd, crowd) {
		there.peer += competes(a, other, SDDP_LEAVE_PEER);
		there.place += competes(a, other, SDDP_LEAVE_PLACE);
		there.net += competes(a, other, SDDP_LEAVE_NET);
	}
	return there;
}

static struct sddp_assoc *__leaver(const struct sddp_assoc *a)
{
	const struct sddp_crowd there = __sddp_count(a);
	enum sddp_leaver among = sddp_share_leaver(&there);
	struct sddp_assoc *other;

	list_for_each_entry(other, &crowd, crowd)
		if (competes(a, other, among))
			return other;
	return NULL;
}

/**
 * sddp_crowd_join - count an association as unaccepted
 * @a: the association, new; its mutex is held
 *
 * Return: the association to evict in its favour, referenced, or NULL.
 */
struct sddp_assoc *sddp_crowd_join(struct sddp_assoc *a)
{
	struct sddp_assoc *other;

	a->source = source_of(a);
	mutex_lock(&crowd_lock);
	other = __leaver(a);
	if (other) {
		list_del_init(&other->crowd);
		other->evicted = true;
		sddp_assoc_get(other);
	}
	list_add_tail(&a->crowd, &crowd);
	mutex_unlock(&crowd_lock);
	return other;
}

/**
 * sddp_crowd_rejoin - count an association as unaccepted again
 * @a: the association, without a session; its mutex is held
 *
 * @a becomes the first candidate for eviction.
 *
 * Return: true if @a is counted now, was counted before, or is being evicted;
 * false if a limit is reached, so that @a has to end.
 */
bool sddp_crowd_rejoin(struct sddp_assoc *a)
{
	bool room = true;

	mutex_lock(&crowd_lock);
	if (!a->evicted && list_empty(&a->crowd)) {
		room = !__leaver(a);
		if (room)
			list_add(&a->crowd, &crowd);
	}
	mutex_unlock(&crowd_lock);
	return room;
}

/**
 * sddp_crowd_leave - stop counting an association as unaccepted
 * @a: the association, with an accepted session or a pending request, or at its
 *	end; its mutex is held
 *
 * A pending request is counted at its listener instead.
 */
void sddp_crowd_leave(struct sddp_assoc *a)
{
	mutex_lock(&crowd_lock);
	list_del_init(&a->crowd);
	mutex_unlock(&crowd_lock);
}

/**
 * sddp_crowd_guest - account for an accepted session
 * @a: the association; worker context
 *
 * Either a program has accepted a session of the peer's, or the peer one of
 * ours. The first one raises the buffer limits of an association that the peer
 * has made.
 */
void sddp_crowd_guest(struct sddp_assoc *a)
{
	a->guests++;
	if (a->used || a->active)
		return;
	a->used = true;
	sddp_crowd_leave(a);
	sddp_sock_widen(a);
}

/**
 * sddp_crowd_spare - check whether an eviction must be cancelled
 * @a: the association, chosen by sddp_crowd_join(); its mutex is held
 *
 * A request may have arrived since @a was chosen. If the program rejects that
 * request, @a is counted as unaccepted again.
 *
 * Return: true if the association has a session and must be kept, false if it
 * is to be ended.
 */
bool sddp_crowd_spare(struct sddp_assoc *a)
{
	if (!a->used && !atomic_read(&a->live))
		return false;
	mutex_lock(&crowd_lock);
	a->evicted = false;
	mutex_unlock(&crowd_lock);
	return true;
}
