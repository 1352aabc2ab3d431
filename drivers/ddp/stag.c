// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * STag table of a device, and in-flight references to MRs.
 *
 * The STags are in a hash table and not in a radix tree. Their indices are
 * random, so nearly every STag would need separate tree nodes.
 *
 * An MR is looked up under RCU and accessed under an in-flight reference.
 * Revocation spins until all in-flight references are dropped. A stream's receive
 * or transmit path holds its reference for the copy of one segment or batch, with
 * BH off. The path may cache the reference for its next segment, but drops it
 * before BH is enabled again. So revocation may spin in process and in softirq
 * context: no context that was interrupted on this CPU can hold a reference. For
 * PREEMPT_RT see region_access_begin().
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
#define STAG_INDEX_MIN		0x100	/* lowest index of an MR */
#define STAG_TRIES		64	/* maximum number of random indices to try */

/* Initial value of ddp_region.users: no access is in flight */
#define USERS_INITIAL		1

/* Compare the index directly, which is faster than the default function with its memcmp() */
static int ddp_stag_cmp(struct rhashtable_compare_arg *arg, const void *region)
{
	return ((const struct ddp_region *)region)->index != *(const u32 *)arg->key;
}

/*
 * Parameters of the hash table. The hash has a random seed for each table,
 * because a program sees the STags of its MRs: if the program knew the hash, it
 * could keep only MRs that fall into the same hash chain, and so make every
 * lookup in this chain slow.
 */
static const struct rhashtable_params region_params = {
	.key_len = sizeof_field(struct ddp_region, index),
	.key_offset = offsetof(struct ddp_region, index),
	.head_offset = offsetof(struct ddp_region, node),
	.obj_cmpfn = ddp_stag_cmp,
	.automatic_shrinking = true,
};

/**
 * ddp_stags_init - initialize an empty STag table
 * @t: the table
 */
void ddp_stags_init(struct ddp_stags *t)
{
	/* rhashtable_init() cannot fail with these parameters */
	WARN_ON_ONCE(rhashtable_init(&t->regions, &region_params));
	atomic_long_set(&t->removals, 0);
}
EXPORT_SYMBOL_GPL(ddp_stags_init);

/**
 * ddp_stags_destroy - free an STag table
 * @t: the table; the caller must have removed all MRs, and must ensure that no
 *	lookup is in progress
 *
 * May sleep.
 */
void ddp_stags_destroy(struct ddp_stags *t)
{
	WARN_ON_ONCE(atomic_read(&t->regions.nelems));
	rhashtable_destroy(&t->regions);
}
EXPORT_SYMBOL_GPL(ddp_stags_destroy);

static u32 pick_random_index(void)
{
	u32 index = get_random_u32() >> (32 - STAG_INDEX_BITS);

	return index < STAG_INDEX_MIN ? index + STAG_INDEX_MIN : index;
}

/*
 * Find an MR by the index of @stag. The caller must hold the RCU read lock or have BH off; each of
 * them delays the release of the MR. rhashtable_lookup() itself needs the RCU read lock: with only
 * BH off, lockdep would report it.
 */
static struct ddp_region *region_lookup(struct ddp_stags *t, u32 stag)
{
	const u32 index = stag >> 8;
	struct ddp_region *r;

	rcu_read_lock();
	r = rhashtable_lookup(&t->regions, &index, region_params);
	rcu_read_unlock();
	return r;
}

/*
 * Like region_lookup(), but look into the hash table only if @hint is stale or names another
 * MR. The caller must have BH off until it has taken a reference to the MR, or does not use it
 * any more. The kernel frees an MR only after an RCU grace period, which a section with BH off
 * delays. If @t->removals, read with BH off, equals @hint->removals, no MR was removed since
 * the hint was stored. So the MR of the hint stays allocated at least until BH is on again.
 */
static struct ddp_region *region_lookup_with_hint(struct ddp_stags *t, struct ddp_mr_hint *hint,
						  u32 stag)
{
	/*
	 * Read the number before the table; pairs with ddp_region_remove(), which counts after it
	 * has changed the table. Otherwise this function could find a removed MR, and store it with
	 * a number that includes the removal. litmus: hint
	 */
	const long removals = atomic_long_read_acquire(&t->removals);

	RCU_LOCKDEP_WARN(!rcu_read_lock_bh_held(), "MR used with BH on");
	if (hint->mr && hint->removals == removals && hint->mr->index == stag >> 8)
		return hint->mr;
	*hint = (struct ddp_mr_hint) { .mr = region_lookup(t, stag), .removals = removals };
	return hint->mr;
}

/**
 * ddp_region_insert - assign an STag to an MR and insert it into the table
 * @t: the device's table
 * @r: the MR; streams may access it from now on if @r->valid is set
 * @key: low byte of the STag
 *
 * The index is unpredictable (RFC 5042 6.1.1). May sleep.
 *
 * Return: 0 on success; -ENOSPC if no free index was found; -ENOMEM if the
 * table cannot grow.
 */
int ddp_region_insert(struct ddp_stags *t, struct ddp_region *r, u8 key)
{
	int tries, err;

	refcount_set(&r->users, USERS_INITIAL);
	spin_lock_init(&r->access_lock);
	for (tries = 0; tries < STAG_TRIES; tries++) {
		r->index = pick_random_index();
		r->stag = r->index << 8 | key;
		err = rhashtable_lookup_insert_fast(&t->regions, &r->node, region_params);
		if (!err)
			return 0;
		/* the table is full: wait until its worker has enlarged it */
		if (err != -EEXIST)
			usleep_range(1000, 2000);
	}
	return err == -EEXIST ? -ENOSPC : -ENOMEM;
}
EXPORT_SYMBOL_GPL(ddp_region_insert);

/* In-flight references ----------------------------------------------------- */

/*
 * Track in-flight references with lockdep. A context must not wait for
 * in-flight references while it holds one, because it would spin forever;
 * lockdep reports this mistake.
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
 * Begin an access to an MR. On PREEMPT_RT, a context that waits for the end of the access may
 * itself have preempted the access, so it must not spin. Therefore each access holds
 * access_lock there, and the waiting context acquires access_lock: the preempted access then
 * inherits the priority of the waiting context.
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

/*
 * Wait until no access to @r is in flight. The caller must have found @r invalid, or have
 * invalidated @r.
 */
static void region_wait_unused(struct ddp_region *r)
{
	assert_no_access();
	/*
	 * r->valid was cleared before r->users is read; pairs with region_try_get().
	 * So a path that takes a reference too late to be counted below finds @r
	 * invalid, and does not access the memory.
	 */
	smp_mb();	/* litmus: revoke */
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		region_access_begin(r);
		region_access_end(r);
		return;
	}
	while (refcount_read(&r->users) != USERS_INITIAL)
		cpu_relax();
	/*
	 * Read users before all later accesses of the caller, so that the
	 * copies made under the dropped references are complete
	 */
	smp_acquire__after_ctrl_dep();
}

/**
 * ddp_region_peek - find an MR by the index of an STag, without a reference
 * @t: the device's table
 * @stag: STag as received or posted; the key is not compared
 *
 * The caller must be in an RCU read-side section. The MR stays allocated until that
 * section ends, but may be invalid, or be removed at any time.
 *
 * Return: the MR; NULL if no MR has this index.
 */
struct ddp_region *ddp_region_peek(struct ddp_stags *t, u32 stag)
{
	return region_lookup(t, stag);
}
EXPORT_SYMBOL_GPL(ddp_region_peek);

/*
 * Take an in-flight reference to an MR found under RCU, unless the MR is invalid. A
 * revoked MR gets no more references, so that a program or peer that keeps using its
 * STag cannot delay the revocation. Return: true if the reference is taken; the MR may
 * have become invalid meanwhile.
 */
static bool region_try_get(struct ddp_region *r)
{
	if (!READ_ONCE(r->valid))
		return false;
	region_access_begin(r);
	refcount_inc(&r->users);
	/*
	 * Take the reference before the caller reads valid; pairs with
	 * region_wait_unused(). Otherwise revocation could miss the reference
	 * although the caller finds the MR valid. litmus: revoke
	 */
	smp_mb__after_atomic();
	return true;
}

static struct ddp_region *region_find_get_with_hint(struct ddp_stags *t, struct ddp_mr_hint *hint,
						    u32 stag)
{
	struct ddp_region *r = region_lookup_with_hint(t, hint, stag);

	return r && region_try_get(r) ? r : NULL;
}

/**
 * ddp_region_find_get - find a valid MR by the index of an STag; the key is not compared
 * @t: the device's table
 * @stag: STag as received or posted
 *
 * The caller must keep BH off until it drops the reference.
 *
 * Return: the MR with an in-flight reference, which the caller must drop with
 * ddp_region_put(); NULL if no valid MR has this index. The MR may become invalid at
 * any time, so the caller must check it again.
 */
struct ddp_region *ddp_region_find_get(struct ddp_stags *t, u32 stag)
{
	struct ddp_mr_hint unused = {};

	return region_find_get_with_hint(t, &unused, stag);
}
EXPORT_SYMBOL_GPL(ddp_region_find_get);

/**
 * ddp_region_put - drop an in-flight reference to an MR
 * @r: the MR
 */
void ddp_region_put(struct ddp_region *r)
{
	/* the initial reference is never dropped, so the count cannot become 0 */
	WARN_ON_ONCE(refcount_dec_and_test(&r->users));
	region_access_end(r);
}
EXPORT_SYMBOL_GPL(ddp_region_put);

/**
 * ddp_region_revoke - invalidate an MR and wait for accesses in flight
 * @r: the MR
 *
 * On return the network can no longer access the memory (RFC 5041 8.3.1 (6)).
 * A receive or transmit path that is using the MR delays the call for one segment or
 * batch at most, because it then finds the MR invalid.
 *
 * Context: process or softirq. The caller must hold no in-flight reference.
 *
 * Return: true if this call has invalidated the MR; false if the MR was
 * invalid before. Only one of several concurrent calls returns true.
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
 * @r: the MR; the caller must have set all fields but stag and valid
 * @key: new low byte of its STag
 */
void ddp_region_validate(struct ddp_region *r, u8 key)
{
	/*
	 * WRITE_ONCE(), because check_may_invalidate() may read stag at the same
	 * time: a consumer may invalidate an MR that is already invalid
	 */
	WRITE_ONCE(r->stag, (r->stag & ~DDP_STAG_KEY_MASK) | key);
	/*
	 * Set all other fields before valid; pairs with ddp_bounds_check_access(),
	 * which would otherwise check old fields. litmus: publish
	 */
	smp_store_release(&r->valid, true);
}
EXPORT_SYMBOL_GPL(ddp_region_validate);

/**
 * ddp_region_remove - revoke an MR and remove its STag
 * @t: the device's table
 * @r: the MR; on return the caller may unpin the memory, but must free @r only
 *	after an RCU grace period
 *
 * Context: process or softirq. The caller must hold no in-flight reference.
 */
void ddp_region_remove(struct ddp_stags *t, struct ddp_region *r)
{
	rhashtable_remove_fast(&t->regions, &r->node, region_params);
	/* count after the table is changed; pairs with region_lookup_with_hint(); litmus: hint */
	smp_mb__before_atomic();
	atomic_long_inc(&t->removals);
	ddp_region_revoke(r);
}
EXPORT_SYMBOL_GPL(ddp_region_remove);

static enum iw_reason region_check_and_get_with_hint(struct ddp_stream *s, const struct ddp_sge *m,
						     u8 rights,
				    struct ddp_mr_hint *hint, struct ddp_region **r)
{
	struct ddp_region *found = region_find_get_with_hint(s->stags, hint, m->stag);
	enum iw_reason why;

	if (!found)
		return IW_DDP_T_STAG;
	why = ddp_bounds_check_access(found, s, m->stag, m->addr, m->len, rights);
	if (why)
		ddp_region_put(found);
	else
		*r = found;
	return why;
}

/**
 * ddp_region_check_and_get - check an access to an SGE, and take an in-flight reference
 * @s: stream that requests the access
 * @m: the SGE
 * @rights: DDP_* rights that the access needs
 * @r: set to the MR on success
 *
 * Return: IW_OK if the access is allowed, and the caller must call
 * ddp_region_put(); otherwise the reason why it is not allowed, and no
 * reference is held.
 */
enum iw_reason ddp_region_check_and_get(struct ddp_stream *s, const struct ddp_sge *m,
					u8 rights, struct ddp_region **r)
{
	struct ddp_mr_hint unused = {};

	return region_check_and_get_with_hint(s, m, rights, &unused, r);
}

/**
 * ddp_mr_cache_drop - drop the cached MR reference
 * @held: the cached MR, or NULL; set to NULL
 *
 * The calling path must call this function before it revokes an MR, or calls a
 * function that may revoke an MR: revocation would wait for the reference
 * forever.
 */
void ddp_mr_cache_drop(struct ddp_region **held)
{
	if (*held)
		ddp_region_put(*held);
	*held = NULL;
}

/**
 * ddp_mr_cache_end_copy - end a copy under the cached MR reference
 * @held: the cached MR; set to NULL on PREEMPT_RT
 */
void ddp_mr_cache_end_copy(struct ddp_region **held)
{
	/* on PREEMPT_RT a reference holds access_lock, so drop it directly after the copy */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		ddp_mr_cache_drop(held);
}

/**
 * ddp_mr_cache_check_and_get - check an access to an SGE, and cache the MR reference
 * @s: stream that requests the access
 * @held: cached MR, or NULL; BH must have been off since the reference was
 *	taken. Set to the MR of the SGE on success, to NULL on failure.
 * @hint: MR that the calling path has looked up last; updated
 * @m: the SGE
 * @rights: DDP_* rights that the access needs
 *
 * Skips the lookup if the STag of the cached MR is that of the SGE.
 *
 * Return: IW_OK if the access is allowed, and the caller must call
 * ddp_mr_cache_end_copy() after the copy; otherwise the reason why it is not
 * allowed, and no reference is held.
 */
enum iw_reason ddp_mr_cache_check_and_get(struct ddp_stream *s, struct ddp_region **held,
					  struct ddp_mr_hint *hint, const struct ddp_sge *m,
					  u8 rights)
{
	enum iw_reason why;

	if (!*held || (*held)->stag != m->stag) {
		ddp_mr_cache_drop(held);
		return region_check_and_get_with_hint(s, m, rights, hint, held);
	}
	/*
	 * The MR may have been revoked since the last copy, so check it again.
	 * If this check finds valid set, ddp_region_revoke() waits for the
	 * copy, because it clears valid before it waits for references.
	 * litmus: hold
	 */
	why = ddp_bounds_check_access(*held, s, m->stag, m->addr, m->len, rights);
	if (likely(!why))
		return why;
	ddp_mr_cache_drop(held);
	/* the STag may belong to another MR now, if the cached MR has been removed */
	return region_check_and_get_with_hint(s, m, rights, hint, held);
}

/**
 * ddp_mem_check_access - check whether an access is allowed now
 * @s: stream that requests the access
 * @stag: STag of the memory
 * @to: TO of the first byte
 * @len: number of bytes
 * @rights: DDP_* rights that the access needs
 *
 * The result may be out of date on return, because no reference is held.
 *
 * Return: IW_OK if the access is allowed; otherwise the DDP reason why it is not
 * allowed.
 */
enum iw_reason ddp_mem_check_access(struct ddp_stream *s, u32 stag, u64 to, u32 len,
				    u8 rights)
{
	const struct ddp_sge m = { .addr = to, .len = len, .stag = stag };
	struct ddp_region *r;
	enum iw_reason why;

	local_bh_disable();
	why = ddp_region_check_and_get(s, &m, rights, &r);
	if (!why)
		ddp_region_put(r);
	local_bh_enable();
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_check_access);

/* Check whether @s, or its peer if @remote, may invalidate @r */
static enum iw_reason check_may_invalidate(const struct ddp_stream *s,
					   const struct ddp_region *r, u32 stag,
					   bool remote)
{
	if (READ_ONCE(r->stag) != stag)
		return IW_RDMAP_INVALIDATE;
	if (READ_ONCE(r->pd) != s->pd || (READ_ONCE(r->stream) && r->stream != s->id))
		return IW_RDMAP_P_INVALIDATE;
	if (!r->may_be_invalidated)
		return IW_RDMAP_INVALIDATE;
	if (remote && r->invalidate_stream != s->id)
		return IW_RDMAP_P_INVALIDATE;
	return IW_OK;
}

/*
 * Check the invalidation of an STag that is already invalid: only the local consumer
 * may request this. Needs no reference: another request may make the MR valid again
 * meanwhile, but the order of such concurrent requests is not defined.
 */
static enum iw_reason check_may_invalidate_again(const struct ddp_stream *s,
						 const struct ddp_region *r, u32 stag, bool remote)
{
	return remote ? IW_RDMAP_INVALIDATE : check_may_invalidate(s, r, stag, remote);
}

/*
 * Check whether @r may be invalidated, and invalidate it. The caller must hold
 * an in-flight reference: a new registration of @r with another key or stream
 * waits for this reference, and so cannot happen between the check and the
 * invalidation. litmus: invalidate
 */
static enum iw_reason region_invalidate(const struct ddp_stream *s, struct ddp_region *r,
					u32 stag, bool remote)
{
	/*
	 * Read valid before the other fields; pairs with ddp_region_validate();
	 * litmus: publish
	 */
	bool valid = smp_load_acquire(&r->valid);
	enum iw_reason why;

	if (!valid)
		return check_may_invalidate_again(s, r, stag, remote);
	why = check_may_invalidate(s, r, stag, remote);
	if (why)
		return why;
	/* only one of several concurrent callers finds valid set; litmus: invalidate */
	return xchg(&r->valid, false) || !remote ? IW_OK : IW_RDMAP_INVALIDATE;
}

/**
 * ddp_mem_invalidate - invalidate an STag
 * @s: stream through which the invalidation is requested
 * @stag: the STag
 * @remote: true if the peer requests the invalidation with a Send with
 *	Invalidate (RFC 5040 5.3); false if a work request of the local consumer
 *	does
 *
 * A peer may invalidate only memory that was registered or bound through its
 * own stream, and never an ordinary memory region (RFC 5040 4.8, 8.1.1 (7)).
 * The local consumer may also invalidate an STag that is already
 * invalid, because some consumers invalidate an STag before its first use.
 *
 * Context: process or softirq; does not sleep. The caller must hold no
 * in-flight reference.
 *
 * Return: IW_OK if the STag is invalid now, and no access is in flight;
 * otherwise the reason why the STag may not be invalidated.
 */
enum iw_reason ddp_mem_invalidate(struct ddp_stream *s, u32 stag, bool remote)
{
	enum iw_reason why = IW_RDMAP_INVALIDATE;
	struct ddp_region *r;

	rcu_read_lock();
	/*
	 * Disable BH. Otherwise a softirq on this CPU that revokes the MR would
	 * spin forever, because this context holds a reference.
	 */
	local_bh_disable();
	r = region_lookup(s->stags, stag);
	if (r && region_try_get(r)) {
		why = region_invalidate(s, r, stag, remote);
		ddp_region_put(r);
	} else if (r) {
		why = check_may_invalidate_again(s, r, stag, remote);
	}
	local_bh_enable();
	/* wait until others drop their references; meanwhile RCU keeps @r allocated */
	if (!why)
		region_wait_unused(r);
	rcu_read_unlock();
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_invalidate);
