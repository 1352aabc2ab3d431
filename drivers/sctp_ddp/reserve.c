// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of associations, and on which of them a session of ours goes.
 *
 * Who connects enters one that leads there, or puts a new one in, without a
 * socket: that is its worker's to make.  So no program does anything that takes
 * long for others to wait for, and the lock, under which nobody sleeps and no
 * list is followed far, is a spinlock: who holds it is not stopped.
 */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "internal.h"

#define STEPS	64	/* associations looked at with the lock held */

static LIST_HEAD(all);
static DEFINE_HASHTABLE(ways, 10);	/* open ones of ours, by where they lead */
static DEFINE_SPINLOCK(assocs_lock);

/* Nobody can choose many ways that have one number */
static u32 way_of(const struct ddp_connect *args)
{
	static u32 seed;
	struct sockaddr_storage mine = *args->local;
	u32 to;

	get_random_once(&seed, sizeof(seed));
	ddp_addr_set_port(&mine, 0);
	to = ddp_addr_hash(args->net, args->remote, seed);
	return ddp_addr_hash(args->net, &mine, to) ^ args->tos;
}

/**
 * sddp_table_add - an association that its peer has made
 * @a: the association; it is found no more once it is closed
 */
void sddp_table_add(struct sddp_assoc *a)
{
	spin_lock(&assocs_lock);
	list_add_tail(&a->list, &all);
	spin_unlock(&assocs_lock);
}

static void __close(struct sddp_assoc *a)
{
	lockdep_assert_held(&assocs_lock);
	hash_del(&a->way);
	list_del_init(&a->list);
}

/**
 * sddp_table_close - it can be found by new sessions no more
 * @a: the association; worker
 */
void sddp_table_close(struct sddp_assoc *a)
{
	spin_lock(&assocs_lock);
	__close(a);
	spin_unlock(&assocs_lock);
}

/**
 * sddp_table_leave_way - no session of ours comes to it any more; those that are there stay
 * @a: the association; worker
 */
void sddp_table_leave_way(struct sddp_assoc *a)
{
	spin_lock(&assocs_lock);
	hash_del(&a->way);
	spin_unlock(&assocs_lock);
}

/**
 * sddp_table_close_idle - the same, unless it carries a session, or is to
 * @a: the association; worker
 *
 * Return: whether it does not, and is closed.
 */
bool sddp_table_close_idle(struct sddp_assoc *a)
{
	bool idle;

	spin_lock(&assocs_lock);
	idle = !atomic_read(&a->live);
	if (idle)
		__close(a);
	spin_unlock(&assocs_lock);
	return idle;
}

/**
 * sddp_table_take - take the first one out
 *
 * Return: it, held, closed to new sessions; NULL if there is none.
 */
struct sddp_assoc *sddp_table_take(void)
{
	struct sddp_assoc *a;

	spin_lock(&assocs_lock);
	a = list_first_entry_or_null(&all, struct sddp_assoc, list);
	if (a) {
		sddp_assoc_get(a);
		__close(a);
	}
	spin_unlock(&assocs_lock);
	return a;
}

/*
 * Any port of ours will do: programs have one each and share what is below.  One that
 * was made before the interface came into its VRF leads elsewhere
 */
static bool leads_there(const struct sddp_assoc *a,
			const struct ddp_connect *args, int domain)
{
	struct sockaddr_storage mine = *args->local, its = a->from;

	ddp_addr_set_port(&mine, 0);
	ddp_addr_set_port(&its, 0);
	return a->tos == args->tos && net_eq(a->net, args->net) &&
	       a->ifindex == args->ifindex && a->domain == domain &&
	       !memcmp(a->paths, args->policy->paths, sizeof(a->paths)) &&
	       ddp_addr_same(&a->to, args->remote) &&
	       ddp_addr_same(&mine, &its);
}

/*
 * A number below the limit; its worker sees to those that the peer forbids.
 * Return: 0; -EBUSY: all are taken; or -ENOMEM.
 */
static int take_number(struct sddp_assoc *a, u16 *id, gfp_t gfp)
{
	u32 n = 0;
	int err;

	err = xa_alloc(&a->streams, &n, NULL,
		       XA_LIMIT(0, READ_ONCE(a->limit) - 1), gfp);
	*id = n;
	return err;
}

/*
 * One that leads there and has a number free, which is then taken.  To the
 * others nobody comes, not even to look: they end when they carry nothing.
 */
static struct sddp_assoc *__sddp_find_assoc(const struct ddp_connect *args,
					    u32 way, int domain, u16 *id)
{
	struct sddp_assoc *a;
	int steps = 0;

	lockdep_assert_held(&assocs_lock);
	hash_for_each_possible(ways, a, way, way) {
		if (steps++ == STEPS)
			break;
		if (leads_there(a, args, domain) &&
		    !take_number(a, id, GFP_NOWAIT | __GFP_NOWARN))
			return a;
	}
	return NULL;
}

/*
 * Into one that leads there, or else into @fresh, which is then found by others.
 * Return: it, held, and it stays open until it is left again.
 */
static struct sddp_assoc *sddp_reserve_add(const struct ddp_connect *args,
					   u16 *id, struct sddp_assoc *fresh)
{
	u32 way = way_of(args);
	struct sddp_assoc *a;

	spin_lock(&assocs_lock);
	a = __sddp_find_assoc(args, way, fresh->domain, id);
	if (!a) {
		a = fresh;
		*id = 0;
		list_add_tail(&a->list, &all);
		hash_add(ways, &a->way, way);
	}
	atomic_inc(&a->live);
	sddp_assoc_get(a);
	spin_unlock(&assocs_lock);
	return a;
}

/* With the first of its numbers */
static struct sddp_assoc *new_way(const struct ddp_connect *args)
{
	struct sddp_assoc *a = sddp_assoc_new(args->net, true);
	u16 first;

	if (!a)
		return NULL;
	a->ifindex = args->ifindex;
	a->domain = ddp_sock_domain(args->net, args->ifindex);
	a->tos = args->tos;
	a->to = *args->remote;
	a->from = *args->local;
	a->asked = args->policy->streams ?: SDDP_STREAMS;
	memcpy(a->paths, args->policy->paths, sizeof(a->paths));
	a->limit = a->asked;
	if (!take_number(a, &first, GFP_KERNEL))
		return a;
	sddp_assoc_put(a);
	return NULL;
}

/**
 * sddp_assoc_reserve - a free pair of streams to where a session is to go
 * @args: from where to where
 * @id: set to its number
 *
 * On an association that there is, if it has one free, or on a new one.  Does
 * not wait for anybody.
 *
 * Return: the association, held; or an error pointer.
 */
struct sddp_assoc *sddp_assoc_reserve(const struct ddp_connect *args, u16 *id)
{
	struct sddp_assoc *fresh = new_way(args), *a;

	if (!fresh)
		return ERR_PTR(-ENOMEM);
	a = sddp_reserve_add(args, id, fresh);
	if (a == fresh)
		sddp_assoc_kick(a);
	else
		sddp_assoc_put(fresh);
	return a;
}

/**
 * sddp_assoc_another - as sddp_assoc_reserve(), for a session that finds no room
 * @a: an association to the same place; worker
 * @ss: the session
 * @id: set to the streams' number
 *
 * A new one asks for as many streams as the peer has allowed here.
 *
 * Return: the association, held; or an error pointer.
 */
struct sddp_assoc *sddp_assoc_another(const struct sddp_assoc *a,
				      const struct ddp_session *ss, u16 *id)
{
	struct ddp_policy policy = { .streams = a->limit };
	const struct ddp_connect args = {
		.net = a->net, .ifindex = a->ifindex, .tos = a->tos,
		.policy = &policy,
		.local = &ss->local, .remote = &ss->remote,
	};

	memcpy(policy.paths, a->paths, sizeof(policy.paths));
	return sddp_assoc_reserve(&args, id);
}

/**
 * sddp_assoc_unreserve - it is not needed after all
 * @a: the association, held
 * @id: from sddp_assoc_reserve()
 */
void sddp_assoc_unreserve(struct sddp_assoc *a, u16 id)
{
	xa_erase(&a->streams, id);
	/* nobody may come back to tell its worker */
	if (atomic_dec_and_test(&a->live)) {
		WRITE_ONCE(a->left, true);
		sddp_assoc_kick(a);
	}
}
