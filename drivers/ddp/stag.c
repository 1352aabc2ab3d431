// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * STags: from a number on the wire to memory that may be accessed.
 *
 * STags are in a hash table, because their indices are random: in a tree each
 * would need nodes of its own.
 *
 * An MR is found under RCU and accessed under an in-flight reference, for which
 * revocation waits. A reference lasts for one copy of a segment or batch, with
 * BH off. It may be cached for the next segment, the next Write or the next
 * message to send, until that is checked. But it is dropped before BH is
 * enabled again. So a revoker may spin in process and in softirq context: no
 * reference can be held on its own CPU. For PREEMPT_RT see region_access_begin().
 */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/lockdep.h>
#include <linux/processor.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>

#include "bounds.h"
#include "internal.h"

#define STAG_INDEX_BITS		24
#define STAG_INDEX_MIN		0x100	/* smaller ones are never on the wire */
#define STAG_TRIES		64

/* Initial value of users: if it is not larger, no access is in flight */
#define USERS_INITIAL		1

/* Like the default of the table, but without a call of memcmp() */
static int ddp_stag_cmp(struct rhashtable_compare_arg *arg, const void *region)
{
	return ((const struct ddp_region *)region)->index != *(const u32 *)arg->key;
}

/*
 * The hash has a seed for each table. A program sees its STags and can release
 * those that it does not want. If it knew the hash it could make a chain long.
 */
static const struct rhashtable_params region_params = {
	.key_len = sizeof_field(struct ddp_region, index),
	.key_offset = offsetof(struct ddp_region, index),
	.head_offset = offsetof(struct ddp_region, node),
	.obj_cmpfn = ddp_stag_cmp,
	.automatic_shrinking = true,
};

/**
 * ddp_stags_init - initialize an empty table
 * @t: the table
 */
void ddp_stags_init(struct ddp_stags *t)
{
	/* cannot fail with these parameters */
	WARN_ON_ONCE(rhashtable_init(&t->regions, &region_params));
}
EXPORT_SYMBOL_GPL(ddp_stags_init);

/**
 * ddp_stags_destroy - free a table from which all MRs have been removed
 * @t: the table; no lookup may be in progress
 *
 * May sleep.
 */
void ddp_stags_destroy(struct ddp_stags *t)
{
	WARN_ON_ONCE(atomic_read(&t->regions.nelems));
	rhashtable_destroy(&t->regions);
}
EXPORT_SYMBOL_GPL(ddp_stags_destroy);

static u32 random_index(void)
{
	u32 index = get_random_u32() >> (32 - STAG_INDEX_BITS);

	return index < STAG_INDEX_MIN ? index + STAG_INDEX_MIN : index;
}

/* The caller holds the RCU read lock */
static struct ddp_region *region_lookup(struct ddp_stags *t, u32 stag)
{
	const u32 index = stag >> 8;

	return rhashtable_lookup(&t->regions, &index, region_params);
}

/**
 * ddp_region_insert - assign an STag to an MR and insert it into the table
 * @t: the device's table
 * @r: the MR; usable at once if @r->valid is set
 * @key: low byte of the STag
 *
 * The index is unpredictable (RFC 5042 6.1.1). May sleep.
 *
 * Return: 0; -ENOSPC if no free index was found; -ENOMEM.
 */
int ddp_region_insert(struct ddp_stags *t, struct ddp_region *r, u8 key)
{
	int tries, err;

	refcount_set(&r->users, USERS_INITIAL);
	spin_lock_init(&r->access_lock);
	for (tries = 0; tries < STAG_TRIES; tries++) {
		r->index = random_index();
		r->stag = r->index << 8 | key;
		err = rhashtable_lookup_insert_fast(&t->regions, &r->node, region_params);
		if (!err)
			return 0;
		/* out of memory: wait until the table's worker has grown it */
		if (err != -EEXIST)
			usleep_range(1000, 2000);
	}
	return err == -EEXIST ? -ENOSPC : -ENOMEM;
}
EXPORT_SYMBOL_GPL(ddp_region_insert);

/* In-flight references ----------------------------------------------------- */

/*
 * A context that waits for in-flight references must hold none. lockdep tracks
 * them, because otherwise a mistake would only show as a CPU that spins
 * forever.
 */
#ifdef CONFIG_LOCKDEP
static struct lockdep_map ddp_uses = STATIC_LOCKDEP_MAP_INIT("ddp_uses", &ddp_uses);

static void track_access_begin(void)
{
	lock_map_acquire_read(&ddp_uses);
}

static void track_access_end(void)
{
	lock_map_release(&ddp_uses);
}

static void assert_no_access(void)
{
	lockdep_assert(lock_is_held(&ddp_uses) != LOCK_STATE_HELD);
}
#else
static void track_access_begin(void) {}
static void track_access_end(void) {}
static void assert_no_access(void) {}
#endif

/*
 * On PREEMPT_RT an access may be preempted, even by the context that then waits
 * for it. So one access at a time holds the lock of the MR, through which the
 * holder inherits the priority of the waiter.
 */
static void region_access_begin(struct ddp_region *r)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		spin_lock(&r->access_lock);
	track_access_begin();
}

static void region_access_end(struct ddp_region *r)
{
	track_access_end();
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		spin_unlock(&r->access_lock);
}

/* Wait until no access to @r is in flight; @r->valid was seen to be clear */
static void region_wait_unused(struct ddp_region *r)
{
	assert_no_access();
	/* a reference taken later finds @r invalid and copies nothing */
	smp_mb();	/* litmus: revoke */
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		region_access_begin(r);
		region_access_end(r);
		return;
	}
	while (refcount_read(&r->users) != USERS_INITIAL)
		cpu_relax();
	/* order after what those references have copied */
	smp_acquire__after_ctrl_dep();
}

/**
 * ddp_region_find - find the MR that an STag names, whatever its key
 * @t: the device's table
 * @stag: STag as received or posted
 *
 * BH off until the reference is dropped.
 *
 * Return: the MR with an in-flight reference, to be dropped with
 * ddp_region_put(); NULL if there is none. The MR may be invalid, or become
 * invalid.
 */
struct ddp_region *ddp_region_find(struct ddp_stags *t, u32 stag)
{
	struct ddp_region *r;

	rcu_read_lock();
	r = region_lookup(t, stag);
	if (r)
		region_access_begin(r);
	if (r && !refcount_inc_not_zero(&r->users)) {
		region_access_end(r);
		r = NULL;
	}
	rcu_read_unlock();
	/*
	 * reference first, then valid; pairs with region_wait_unused(); litmus: revoke
	 */
	smp_mb__after_atomic();
	return r;
}
EXPORT_SYMBOL_GPL(ddp_region_find);

/**
 * ddp_region_put - drop an in-flight reference
 * @r: the MR
 */
void ddp_region_put(struct ddp_region *r)
{
	/* the initial reference is never dropped, so nothing is freed here */
	WARN_ON_ONCE(refcount_dec_and_test(&r->users));
	region_access_end(r);
}
EXPORT_SYMBOL_GPL(ddp_region_put);

/**
 * ddp_region_revoke - invalidate an MR and wait for accesses in flight
 * @r: the MR
 *
 * On return the network cannot access the memory any more (RFC 5041 8.3.1 (6)).
 * Waits for the copy of one segment or batch at most, and for the lookup of the
 * next one.
 *
 * Context: process or softirq, without an in-flight reference.
 *
 * Return: true if the MR was valid; only one of several concurrent callers gets
 * true. False otherwise.
 */
bool ddp_region_revoke(struct ddp_region *r)
{
	bool was = xchg(&r->valid, false);	/* litmus: revoke */

	region_wait_unused(r);
	return was;
}
EXPORT_SYMBOL_GPL(ddp_region_revoke);

/**
 * ddp_region_validate - make a revoked MR valid
 * @r: the MR; all other fields are set
 * @key: low byte of its STag from now on
 */
void ddp_region_validate(struct ddp_region *r, u8 key)
{
	r->stag = (r->stag & ~DDP_STAG_KEY_MASK) | key;
	/* set valid last; pairs with ddp_bounds_check(); litmus: publish */
	smp_store_release(&r->valid, true);
}
EXPORT_SYMBOL_GPL(ddp_region_validate);

/**
 * ddp_region_remove - revoke an MR and remove its STag
 * @t: the device's table
 * @r: the MR; its memory may be unpinned at once, @r itself freed after an RCU
 *	grace period
 */
void ddp_region_remove(struct ddp_stags *t, struct ddp_region *r)
{
	rhashtable_remove_fast(&t->regions, &r->node, region_params);
	ddp_region_revoke(r);
}
EXPORT_SYMBOL_GPL(ddp_region_remove);

/**
 * ddp_region_get - check a piece of memory and take an in-flight reference
 * @s: stream that requests the access
 * @m: piece of memory
 * @rights: DDP_* rights that are needed
 * @r: set to the MR on success
 *
 * Return: IW_OK, and the caller must call ddp_region_put(); or the reason for
 * which the access is not allowed.
 */
enum iw_reason ddp_region_get(struct ddp_stream *s, const struct ddp_sge *m,
			      u8 rights, struct ddp_region **r)
{
	struct ddp_region *found = ddp_region_find(s->stags, m->stag);
	enum iw_reason why;

	if (!found)
		return IW_DDP_T_STAG;
	why = ddp_bounds_check(found, s, m->stag, m->addr, m->len, rights);
	if (why)
		ddp_region_put(found);
	else
		*r = found;
	return why;
}

/**
 * ddp_mr_cache_drop - drop the cached MR reference
 * @held: the MR, or NULL; set to NULL
 *
 * Must be called before anything that may revoke the MR: the revoker would wait
 * for this reference.
 */
void ddp_mr_cache_drop(struct ddp_region **held)
{
	if (*held)
		ddp_region_put(*held);
	*held = NULL;
}

/**
 * ddp_mr_cache_done - finish a copy through the cached MR reference
 * @held: the MR
 */
void ddp_mr_cache_done(struct ddp_region **held)
{
	/* a reference is a lock there, and may be held for a copy only */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		ddp_mr_cache_drop(held);
}

/**
 * ddp_mr_cache_get - check a piece of memory, preferably in the cached MR
 * @s: stream that requests the access
 * @held: cached MR, or NULL; BH has been off since the reference was taken
 * @m: piece of memory
 * @rights: DDP_* rights that are needed
 *
 * Return: IW_OK, and the caller must call ddp_mr_cache_done() after the copy; or
 * the reason for which the access is not allowed, with no reference held.
 */
enum iw_reason ddp_mr_cache_get(struct ddp_stream *s, struct ddp_region **held,
				const struct ddp_sge *m, u8 rights)
{
	enum iw_reason why;

	if (!*held || (*held)->stag != m->stag) {
		ddp_mr_cache_drop(held);
		return ddp_region_get(s, m, rights, held);
	}
	/* a revoker clears valid before it waits; litmus: hold */
	why = ddp_bounds_check(*held, s, m->stag, m->addr, m->len, rights);
	if (likely(!why))
		return why;
	ddp_mr_cache_drop(held);
	/* the STag may name another MR by now */
	return ddp_region_get(s, m, rights, held);
}

/**
 * ddp_mem_check - check whether an access is allowed right now
 * @s: stream that requests the access
 * @stag: STag of the memory
 * @to: TO of the first byte
 * @len: number of bytes
 * @rights: DDP_* rights that are needed
 *
 * Return: IW_OK, or the DDP reason for which the access is not allowed.
 */
enum iw_reason ddp_mem_check(struct ddp_stream *s, u32 stag, u64 to, u32 len,
			     u8 rights)
{
	const struct ddp_sge m = { .addr = to, .len = len, .stag = stag };
	struct ddp_region *r;
	enum iw_reason why;

	local_bh_disable();
	why = ddp_region_get(s, &m, rights, &r);
	if (!why)
		ddp_region_put(r);
	local_bh_enable();
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_check);

static enum iw_reason check_invalidate(const struct ddp_stream *s,
				       const struct ddp_region *r, u32 stag,
				       bool remote)
{
	if (r->stag != stag)
		return IW_RDMAP_INVALIDATE;
	if (r->pd != s->pd || (r->stream && r->stream != s->id))
		return IW_RDMAP_P_INVALIDATE;
	if (!r->may_invalidate)
		return IW_RDMAP_INVALIDATE;
	if (remote && r->scope != s->id)
		return IW_RDMAP_P_INVALIDATE;
	return IW_OK;
}

/*
 * Invalidate @r, to which the caller holds an in-flight reference. A new
 * registration, with another key or for another stream, waits for the
 * reference. So what is invalidated is what has been checked;
 * litmus: invalidate
 */
static enum iw_reason region_invalidate(const struct ddp_stream *s, struct ddp_region *r,
					u32 stag, bool remote)
{
	/* read the other fields after valid; litmus: publish */
	bool valid = smp_load_acquire(&r->valid);
	enum iw_reason why;

	if (remote && !valid)
		return IW_RDMAP_INVALIDATE;
	why = check_invalidate(s, r, stag, remote);
	if (why || !valid)
		return why;
	/* only one of several callers finds it valid; litmus: invalidate */
	return xchg(&r->valid, false) || !remote ? IW_OK : IW_RDMAP_INVALIDATE;
}

/**
 * ddp_mem_invalidate - invalidate an STag
 * @s: stream on which the invalidation is requested
 * @stag: the STag
 * @remote: the peer requests it, by Send with Invalidate (RFC 5040 5.3)
 *
 * A peer may invalidate only what was registered through its own stream, and
 * never an ordinary memory region (N-4, N-5). The local consumer may also
 * invalidate what is invalid already, because some consumers begin with an
 * invalidation.
 *
 * Context: atomic, without an in-flight reference.
 *
 * Return: IW_OK, and no access is in flight any more; or the reason for which
 * the STag may not be invalidated.
 */
enum iw_reason ddp_mem_invalidate(struct ddp_stream *s, u32 stag, bool remote)
{
	enum iw_reason why = IW_RDMAP_INVALIDATE;
	struct ddp_region *r;

	rcu_read_lock();
	/* a softirq that revokes on this CPU would wait forever */
	local_bh_disable();
	r = ddp_region_find(s->stags, stag);
	if (r) {
		why = region_invalidate(s, r, stag, remote);
		ddp_region_put(r);
	}
	local_bh_enable();
	/* wait for other references; RCU keeps @r itself allocated */
	if (!why)
		region_wait_unused(r);
	rcu_read_unlock();
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_invalidate);
