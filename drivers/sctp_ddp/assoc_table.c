// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of associations, and the choice of an association for a new local session.
 *
 * A connect reserves a stream number of an association to the same destination,
 * or adds a new association with a socket. The connecting task creates the socket,
 * so that the task's control group and user apply to the socket. (If a worker moves a
 * session to a new association, the worker creates the socket.) The new association's
 * worker binds and connects the socket, so no program waits while another connects.
 *
 * assocs_lock is a spinlock and not a mutex: tasks of programs take the lock, and a task
 * that is stopped while it holds a mutex would block the others. At most STEPS
 * associations are checked with the lock held.
 */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "internal.h"

#define STEPS	64	/* maximum number of associations checked under the lock */

static LIST_HEAD(all);
static DEFINE_HASHTABLE(dests, 10);	/* associations that this side creates */
static DEFINE_SPINLOCK(assocs_lock);

/*
 * Hash the addresses, the TOS and the owner of a connect, with a random seed so that
 * programs cannot cause collisions on purpose
 */
static u32 hash_dest(const struct ddp_connect *args)
{
	static u32 seed;
	struct sockaddr_storage mine = *args->local;
	u32 to;

	get_random_once(&seed, sizeof(seed));
	ddp_addr_set_port(&mine, 0);
	to = ddp_addr_hash(args->net, args->remote, seed);
	return ddp_addr_hash(args->net, &mine, to) ^ args->tos ^
	       ddp_sock_owner_hash(args->owner);
}

/**
 * sddp_assoc_table_add_unshared - add an association that a peer has created
 * @a: the association; sddp_assoc_table_del() removes it
 *
 * Do not add the association to the hash table: local sessions must not use it.
 */
void sddp_assoc_table_add_unshared(struct sddp_assoc *a)
{
	spin_lock(&assocs_lock);
	list_add_tail(&a->list, &all);
	spin_unlock(&assocs_lock);
}

static void __assoc_table_del(struct sddp_assoc *a)
{
	lockdep_assert_held(&assocs_lock);
	hash_del(&a->dest_node);
	list_del_init(&a->list);
}

/**
 * sddp_assoc_table_del - remove an association from the table
 * @a: the association, whose socket the caller releases next
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_assoc_table_del(struct sddp_assoc *a)
{
	spin_lock(&assocs_lock);
	__assoc_table_del(a);
	spin_unlock(&assocs_lock);
}

/**
 * sddp_assoc_table_unhash - remove an association from the hash table
 * @a: the association
 *
 * No new local session can use the association afterwards. Its present sessions
 * continue.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_assoc_table_unhash(struct sddp_assoc *a)
{
	spin_lock(&assocs_lock);
	hash_del(&a->dest_node);
	spin_unlock(&assocs_lock);
}

/**
 * sddp_assoc_table_unhash_if_idle - remove an association from the hash table if it is idle
 * @a: the association
 *
 * Context: worker, with the association's mutex held.
 * Return: true if the association was idle, so that no new local session can use it any more;
 * false if it has a session or a reserved stream number.
 */
bool sddp_assoc_table_unhash_if_idle(struct sddp_assoc *a)
{
	bool idle;

	spin_lock(&assocs_lock);
	idle = !atomic_read(&a->live);
	if (idle)
		hash_del(&a->dest_node);
	spin_unlock(&assocs_lock);
	return idle;
}

/**
 * sddp_assoc_table_pop - remove the first association from the table
 *
 * Return: the association, referenced; NULL if the table is empty.
 */
struct sddp_assoc *sddp_assoc_table_pop(void)
{
	struct sddp_assoc *a;

	spin_lock(&assocs_lock);
	a = list_first_entry_or_null(&all, struct sddp_assoc, list);
	if (a) {
		sddp_assoc_get(a);
		__assoc_table_del(a);
	}
	spin_unlock(&assocs_lock);
	return a;
}

/*
 * Check whether an association leads to the destination of a connect, and may be
 * shared with the connecting task. The local ports are not compared, because programs
 * with different local ports share associations. The VRFs are compared, because an
 * association that was created before the interface joined its present VRF may lead
 * to another host. The owners are compared, because otherwise a program could use another
 * owner's socket to evade its own firewall rules, or to use a local port that only a
 * privileged program may use.
 */
static bool may_share_assoc(const struct sddp_assoc *a,
			    const struct ddp_connect *args, int vrf)
{
	struct sockaddr_storage mine = *args->local, its = a->from;

	ddp_addr_set_port(&mine, 0);
	ddp_addr_set_port(&its, 0);
	return a->tos == args->tos && net_eq(a->net, args->net) &&
	       a->ifindex == args->ifindex && a->vrf == vrf &&
	       ddp_sock_owner_equal(&a->owner, args->owner) &&
	       !memcmp(a->paths, args->policy->paths, sizeof(a->paths)) &&
	       ddp_addr_equal(&a->to, args->remote) &&
	       ddp_addr_equal(&mine, &its);
}

/*
 * Reserve a stream number below the association's limit. If the handshake shows later
 * that the peer allows fewer streams, the worker moves the session to another
 * association. Return: 0; -EBUSY if no number is free; -ENOMEM if memory is short.
 */
static int reserve_stream_number(struct sddp_assoc *a, u16 *id, gfp_t gfp)
{
	u32 n = 0;
	int err;

	err = xa_alloc(&a->streams, &n, NULL,
		       XA_LIMIT(0, READ_ONCE(a->limit) - 1), gfp);
	*id = n;
	return err;
}

/*
 * Find an association to the destination and reserve one of its stream numbers. Check only
 * the first STEPS associations of the hash bucket. Later associations in the bucket get no
 * new sessions, so they end when they are idle. Return: the association; NULL if none of
 * the checked associations is suitable and has a free number.
 */
static struct sddp_assoc *__sddp_reserve_stream_in_existing_assoc(const struct ddp_connect *args,
								  u32 hash, int vrf, u16 *id)
{
	struct sddp_assoc *a;
	int steps = 0;

	lockdep_assert_held(&assocs_lock);
	hash_for_each_possible(dests, a, dest_node, hash) {
		if (steps++ == STEPS)
			break;
		if (may_share_assoc(a, args, vrf) &&
		    !reserve_stream_number(a, id, GFP_NOWAIT | __GFP_NOWARN))
			return a;
	}
	return NULL;
}

/* Count a reserved stream number, which keeps the association open, and take a reference */
static struct sddp_assoc *__sddp_count_reservation_and_get(struct sddp_assoc *a)
{
	lockdep_assert_held(&assocs_lock);
	atomic_inc(&a->live);
	sddp_assoc_get(a);
	return a;
}

/*
 * Reserve a stream number of an existing association. Return: the association, referenced,
 * which stays open while the number is reserved; NULL if no association is suitable.
 */
static struct sddp_assoc *sddp_reserve_in_existing_assoc(const struct ddp_connect *args,
							 int vrf, u16 *id)
{
	struct sddp_assoc *a;

	spin_lock(&assocs_lock);
	a = __sddp_reserve_stream_in_existing_assoc(args, hash_dest(args), vrf, id);
	if (a)
		__sddp_count_reservation_and_get(a);
	spin_unlock(&assocs_lock);
	return a;
}

/*
 * Reserve a stream number. If another task has added an association to the same
 * destination since the caller looked for one, use that association. Otherwise add @fresh,
 * whose stream number 0 is already reserved, to the table. Return: the association,
 * referenced, which stays open while the number is reserved.
 */
static struct sddp_assoc *sddp_reserve_or_add_assoc(const struct ddp_connect *args,
						    u16 *id, struct sddp_assoc *fresh)
{
	u32 hash = hash_dest(args);
	struct sddp_assoc *a;

	spin_lock(&assocs_lock);
	a = __sddp_reserve_stream_in_existing_assoc(args, hash, fresh->vrf, id);
	if (!a) {
		a = fresh;
		*id = 0;
		list_add_tail(&a->list, &all);
		hash_add(dests, &a->dest_node, hash);
	}
	__sddp_count_reservation_and_get(a);
	spin_unlock(&assocs_lock);
	return a;
}

static void init_active_assoc(struct sddp_assoc *a, const struct ddp_connect *args, int vrf)
{
	a->ifindex = args->ifindex;
	a->vrf = vrf;
	a->tos = args->tos;
	a->to = *args->remote;
	a->from = *args->local;
	a->streams_requested = args->policy->streams ?: SDDP_STREAMS;
	memcpy(a->paths, args->policy->paths, sizeof(a->paths));
	a->limit = a->streams_requested;
}

/*
 * Create an association with a socket for a connect, and reserve its stream number 0.
 * Return: the association, or an error pointer.
 */
static struct sddp_assoc *new_active_assoc(const struct ddp_connect *args, int vrf,
					   work_func_t work)
{
	struct sddp_assoc *a = sddp_assoc_new(args->net, args->owner, work);
	u16 first;
	int err;

	if (!a)
		return ERR_PTR(-ENOMEM);
	init_active_assoc(a, args, vrf);
	err = reserve_stream_number(a, &first, GFP_KERNEL);
	if (!err)
		err = sddp_sock_create(a);
	if (!err)
		return a;
	sddp_assoc_put(a);
	return ERR_PTR(err);
}

/**
 * sddp_reserve_stream_pair - reserve a pair of streams for a new local session
 * @args: addresses, owner and policy
 * @work: worker function for a new association
 * @id: set to the stream number of the pair
 *
 * Use an association in the table if one is suitable and has a free number, otherwise create
 * an association.
 *
 * Context: may sleep to allocate memory, but does not wait for a peer or a program.
 * Return: the association, referenced, or an error pointer.
 */
struct sddp_assoc *sddp_reserve_stream_pair(const struct ddp_connect *args,
					    work_func_t work, u16 *id)
{
	int vrf = ddp_addr_get_vrf(args->net, args->ifindex, args->local);
	struct sddp_assoc *a = sddp_reserve_in_existing_assoc(args, vrf, id), *fresh;

	if (a)
		return a;
	fresh = new_active_assoc(args, vrf, work);
	if (IS_ERR(fresh))
		return fresh;
	a = sddp_reserve_or_add_assoc(args, id, fresh);
	if (a == fresh) {
		sddp_assoc_kick(a);
	} else {
		sddp_sock_release(fresh);
		sddp_assoc_put(fresh);
	}
	return a;
}

/**
 * sddp_reserve_other_stream_pair - reserve another pair of streams for a session
 * @a: the session's present association, which has too few streams
 * @ss: the session
 * @id: set to the stream number of the pair
 *
 * A new association requests only as many streams as the peer has allowed on @a.
 *
 * Context: worker, with the mutex of @a held.
 * Return: the association, referenced, or an error pointer.
 */
struct sddp_assoc *sddp_reserve_other_stream_pair(const struct sddp_assoc *a,
						  const struct ddp_session *ss, u16 *id)
{
	struct ddp_policy policy = { .streams = a->limit };
	const struct ddp_connect args = {
		.net = a->net, .ifindex = a->ifindex, .tos = a->tos,
		.policy = &policy, .owner = &a->owner,
		.local = &ss->local, .remote = &ss->remote,
	};

	memcpy(policy.paths, a->paths, sizeof(policy.paths));
	return sddp_reserve_stream_pair(&args, a->work.func, id);
}

/**
 * sddp_unreserve_stream_pair - release a reserved pair of streams that no session has used
 * @a: the association; the caller must hold a reference
 * @id: the stream number of the pair, from sddp_reserve_stream_pair()
 */
void sddp_unreserve_stream_pair(struct sddp_assoc *a, u16 id)
{
	xa_erase(&a->streams, id);
	/*
	 * if this was the last reservation and there is no session, let the worker start
	 * the idle timer
	 */
	if (atomic_dec_and_test(&a->live)) {
		WRITE_ONCE(a->unreserved, true);
		sddp_assoc_kick(a);
	}
}
