// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Strangers: associations that peers have made, and on which no program has
 * accepted a session, or not of late, nor is asked to.
 *
 * They cost little, are not to be many, and leave none of their kind outside:
 * when there are too many the oldest one makes room, first of those from the
 * newcomer's own address.  See share.h for the numbers.
 */
#include <linux/once.h>
#include <linux/random.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "internal.h"
#include "share.h"

static LIST_HEAD(crowd);		/* the oldest first */
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

/* Is that one of those who may have to leave for it? */
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
 * sddp_crowd_join - one stranger more
 * @a: the association; its mutex is held
 *
 * Return: one that has to end for it, held; or NULL.
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
 * sddp_crowd_rejoin - no program was willing, or is asked any more, for a while
 * @a: the association; its mutex is held.  The first to make room
 *
 * Return: false: there is none, so it has to go.
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
 * sddp_crowd_leave - it is no stranger, or at its end
 * @a: the association; its mutex is held
 *
 * One that a program is asked about counts at its listener.
 */
void sddp_crowd_leave(struct sddp_assoc *a)
{
	mutex_lock(&crowd_lock);
	list_del_init(&a->crowd);
	mutex_unlock(&crowd_lock);
}

/**
 * sddp_crowd_guest - a program has accepted a session on it, or the peer one of ours
 * @a: the association; worker
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
 * sddp_crowd_spare - the one that was to make room: has it left by itself?
 * @a: the association, from sddp_crowd_join(); its mutex is held
 *
 * Its request may have come meanwhile.  If the program says no to that, it is a
 * stranger as before.
 *
 * Return: whether, and so it is not to end.
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
