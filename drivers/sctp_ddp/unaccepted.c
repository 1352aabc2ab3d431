// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unaccepted associations: those that a peer has established, on which no program has
 * accepted a session recently and no Initiate waits for a program's reply.
 *
 * An unaccepted association may use only little memory, and the number of unaccepted
 * associations is limited, see admission.h. A new association is always admitted: if a
 * limit is reached, the work item of the listening socket evicts the oldest unaccepted
 * association of the group that sddp_choose_evict_group() chooses.
 */
#include <linux/once.h>
#include <linux/random.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "admission.h"
#include "internal.h"

static LIST_HEAD(unaccepted);		/* oldest first */
static DEFINE_MUTEX(unaccepted_lock);

/* Hash the peer's address without its port, to compare it with the addresses of other peers */
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
 * Check whether @other is in the same group as @a. SDDP_EVICT_PEER groups associations
 * with the same peer and local address, SDDP_EVICT_LADDR those with the same local
 * address, and SDDP_EVICT_NET those in the same network namespace.
 */
static bool is_in_group(const struct sddp_assoc *a, const struct sddp_assoc *other,
			enum sddp_evict_group group)
{
	switch (group) {
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
	struct sddp_unaccepted counts = {};

	list_for_each_entry(other, &unaccepted, unaccepted) {
		counts.peer += is_in_group(a, other, SDDP_EVICT_PEER);
		counts.laddr += is_in_group(a, other, SDDP_EVICT_LADDR);
		counts.net += is_in_group(a, other, SDDP_EVICT_NET);
	}
	return counts;
}

/* Find the association to evict if @a is added. Return: NULL if no limit is reached. */
static struct sddp_assoc *__choose_assoc_to_evict(const struct sddp_assoc *a)
{
	const struct sddp_unaccepted counts = __sddp_count_unaccepted(a);
	enum sddp_evict_group group = sddp_choose_evict_group(&counts);
	struct sddp_assoc *other;

	list_for_each_entry(other, &unaccepted, unaccepted)
		if (is_in_group(a, other, group))
			return other;
	return NULL;
}

/**
 * sddp_unaccepted_add_assoc - count a new association as unaccepted
 * @a: the association
 *
 * Context: the association's mutex held.
 * Return: the association that the caller must evict because a limit is reached, with a
 * reference; NULL if no limit is reached.
 */
struct sddp_assoc *sddp_unaccepted_add_assoc(struct sddp_assoc *a)
{
	struct sddp_assoc *other;

	a->source = hash_peer(a);
	mutex_lock(&unaccepted_lock);
	other = __choose_assoc_to_evict(a);
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
 * sddp_unaccepted_try_add_again - count an association as unaccepted again
 * @a: the association, without a session
 *
 * Treat @a as the oldest unaccepted association, so that it is the first to be evicted.
 *
 * Context: worker, with the association's mutex held.
 * Return: true if @a is counted now, or is being evicted; false if the caller must end
 * @a, because a limit is reached.
 */
bool sddp_unaccepted_try_add_again(struct sddp_assoc *a)
{
	bool room = true;

	mutex_lock(&unaccepted_lock);
	if (!a->evicted && list_empty(&a->unaccepted)) {
		room = !__choose_assoc_to_evict(a);
		if (room)
			list_add(&a->unaccepted, &unaccepted);
	}
	mutex_unlock(&unaccepted_lock);
	return room;
}

/**
 * sddp_unaccepted_remove - stop counting an association as unaccepted
 * @a: the association, which has an accepted session or a pending connection request, or
 *	is ending
 *
 * A listener limits its pending connection requests separately.
 *
 * Context: the association's mutex held.
 */
void sddp_unaccepted_remove(struct sddp_assoc *a)
{
	mutex_lock(&unaccepted_lock);
	list_del_init(&a->unaccepted);
	mutex_unlock(&unaccepted_lock);
}

/**
 * sddp_assoc_record_accepted_session - count a session that has been accepted
 * @a: the association
 *
 * The worker calls this function when a program has accepted a session that the peer
 * requested, or the peer has accepted a session that a program requested. On an
 * association that the peer has established, the first accepted session raises the
 * buffer limits.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_assoc_record_accepted_session(struct sddp_assoc *a)
{
	a->accepted_sessions++;
	if (a->peer_accepted || a->active)
		return;
	a->peer_accepted = true;
	sddp_unaccepted_remove(a);
	sddp_sock_grow_buffers(a);
}

/**
 * sddp_unaccepted_try_cancel_evict - cancel an eviction if the association is in use now
 * @a: the association that sddp_unaccepted_add_assoc() has chosen
 *
 * An Initiate may have arrived after @a was chosen. If the program then rejects the
 * session, sddp_unaccepted_try_add_again() counts @a again.
 *
 * Context: the association's mutex held.
 * Return: true if the eviction is cancelled, because the association has a session or a
 * program has accepted one recently; false if the caller must end the association.
 */
bool sddp_unaccepted_try_cancel_evict(struct sddp_assoc *a)
{
	if (!a->peer_accepted && !atomic_read(&a->live))
		return false;
	mutex_lock(&unaccepted_lock);
	a->evicted = false;
	mutex_unlock(&unaccepted_lock);
	return true;
}
