// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * STags: from a number on the wire to memory that may be used.
 *
 * They are in a hash table, for their indices are random: in a tree each would need
 * nodes of its own.
 *
 * A region is found under RCU and used under a count that its revocation
 * waits for.  A use lasts for one copy of a segment, a batch or a run, with BH
 * off, or until the next segment of the message, the next Write, or the next
 * message that is sent, is looked at within the same stretch of it.  So whoever
 * revokes may spin for it in any context: on this CPU none can be under way.
 * PREEMPT_RT: see begin_use().
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
#define STAG_INDEX_MIN		0x100	/* below: never on the wire */
#define STAG_TRIES		64

/* The use that is always there: a count of no more means that nobody copies */
#define VALIDITY		1

/* As the table's own, which has memcmp() called */
static int ddp_stag_differs(struct rhashtable_compare_arg *arg, const void *region)
{
	return ((const struct ddp_region *)region)->index != *(const u32 *)arg->key;
}

/*
 * By a hash that each table has a seed for: a program sees its STags and can give back
 * those that it has no use for, and would make a chain long if it knew which ones are
 * in it.
 */
static const struct rhashtable_params by_index = {
	.key_len = sizeof_field(struct ddp_region, index),
	.key_offset = offsetof(struct ddp_region, index),
	.head_offset = offsetof(struct ddp_region, node),
	.obj_cmpfn = ddp_stag_differs,
	.automatic_shrinking = true,
};

/**
 * ddp_stags_init - an empty table
 * @t: the table
 */
void ddp_stags_init(struct ddp_stags *t)
{
	/* with such parameters there is nothing that can fail */
	WARN_ON_ONCE(rhashtable_init(&t->regions, &by_index));
}
EXPORT_SYMBOL_GPL(ddp_stags_init);

/**
 * ddp_stags_destroy - the end of a table, all regions removed
 * @t: the table, which nobody looks into any more
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

/* Under RCU */
static struct ddp_region *region_at(struct ddp_stags *t, u32 stag)
{
	const u32 index = stag >> 8;

	return rhashtable_lookup(&t->regions, &index, by_index);
}

/**
 * ddp_region_publish - give a region an STag
 * @t: the device's table
 * @r: the region; @r->valid says whether it may be used at once
 * @key: low octet of the STag
 *
 * The index is unpredictable (RFC 5042 6.1.1).  May sleep.
 *
 * Return: 0, or -ENOMEM or -ENOSPC.
 */
int ddp_region_publish(struct ddp_stags *t, struct ddp_region *r, u8 key)
{
	int tries, err;

	refcount_set(&r->users, VALIDITY);
	spin_lock_init(&r->in_use);
	for (tries = 0; tries < STAG_TRIES; tries++) {
		r->index = random_index();
		r->stag = r->index << 8 | key;
		err = rhashtable_lookup_insert_fast(&t->regions, &r->node, by_index);
		if (!err)
			return 0;
		/* memory not to be had at once: a worker of the table's waits for it */
		if (err != -EEXIST)
			usleep_range(1000, 2000);
	}
	return err == -EEXIST ? -ENOSPC : -ENOMEM;
}
EXPORT_SYMBOL_GPL(ddp_region_publish);

/* Uses ---------------------------------------------------------------------- */

/*
 * Whoever waits for uses has none: lockdep keeps count, since what else would tell is a CPU
 * that spins for ever.
 */
#ifdef CONFIG_LOCKDEP
static struct lockdep_map ddp_uses = STATIC_LOCKDEP_MAP_INIT("ddp_uses", &ddp_uses);

static void note_use(void)
{
	lock_map_acquire_read(&ddp_uses);
}

static void note_end(void)
{
	lock_map_release(&ddp_uses);
}

static void note_wait(void)
{
	lockdep_assert(lock_is_held(&ddp_uses) != LOCK_STATE_HELD);
}
#else
static void note_use(void) {}
static void note_end(void) {}
static void note_wait(void) {}
#endif

/*
 * With PREEMPT_RT a use may be preempted, by whoever then waits for it, too.
 * There one use at a time has the region, under a lock that lends the waiting
 * one's priority.
 */
static void begin_use(struct ddp_region *r)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		spin_lock(&r->in_use);
	note_use();
}

static void end_use(struct ddp_region *r)
{
	note_end();
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		spin_unlock(&r->in_use);
}

/* It has been seen to be invalid */
static void wait_unused(struct ddp_region *r)
{
	note_wait();
	/* a use taken from here on finds it invalid and goes without a copy */
	smp_mb();	/* litmus: revoke */
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		begin_use(r);
		end_use(r);
		return;
	}
	while (refcount_read(&r->users) != VALIDITY)
		cpu_relax();
	/* what was copied is there */
	smp_acquire__after_ctrl_dep();
}

/**
 * ddp_region_find - the region an STag names, whatever its key
 * @t: the device's table
 * @stag: as it came
 *
 * Return: the region with a use taken, to be given back with
 * ddp_region_put(); NULL if there is none.  It may be invalid, or become so.
 */
struct ddp_region *ddp_region_find(struct ddp_stags *t, u32 stag)
{
	struct ddp_region *r;

	rcu_read_lock();
	r = region_at(t, stag);
	if (r)
		begin_use(r);
	if (r && !refcount_inc_not_zero(&r->users)) {
		end_use(r);
		r = NULL;
	}
	rcu_read_unlock();
	/* pairs with the barrier in revoke: count first, then look; litmus: revoke */
	smp_mb__after_atomic();
	return r;
}
EXPORT_SYMBOL_GPL(ddp_region_find);

/**
 * ddp_region_put - give back a use
 * @r: the region
 */
void ddp_region_put(struct ddp_region *r)
{
	/* the last one is revoke()'s, never ours: nothing is freed here */
	WARN_ON_ONCE(refcount_dec_and_test(&r->users));
	end_use(r);
}
EXPORT_SYMBOL_GPL(ddp_region_put);

/**
 * ddp_region_revoke - no network access from here on
 * @r: the region
 *
 * RFC 5041 8.3.1 (6).  Any context; waits for the copy of a segment, a batch or a run,
 * and for what comes next to be gathered, or chosen, at most.
 *
 * Return: whether it was valid; of several callers one is told so.
 */
bool ddp_region_revoke(struct ddp_region *r)
{
	bool was = xchg(&r->valid, false);	/* litmus: revoke */

	wait_unused(r);
	return was;
}
EXPORT_SYMBOL_GPL(ddp_region_revoke);

/**
 * ddp_region_allow - make a revoked region usable
 * @r: the region, its fields set
 * @key: low octet of its STag from now on
 */
void ddp_region_allow(struct ddp_region *r, u8 key)
{
	r->stag = (r->stag & ~DDP_STAG_KEY_MASK) | key;
	/* valid only after the other fields: ddp_bounds_check(); litmus: publish */
	smp_store_release(&r->valid, true);
}
EXPORT_SYMBOL_GPL(ddp_region_allow);

/**
 * ddp_region_remove - revoke a region and take its STag back
 * @t: the device's table
 * @r: the region; its memory may go at once, itself after a grace period
 */
void ddp_region_remove(struct ddp_stags *t, struct ddp_region *r)
{
	rhashtable_remove_fast(&t->regions, &r->node, by_index);
	ddp_region_revoke(r);
}
EXPORT_SYMBOL_GPL(ddp_region_remove);

/**
 * ddp_region_use - check a piece of memory and take a use of it
 * @s: the stream that wants it
 * @m: which memory
 * @rights: DDP_* it needs
 * @r: the region, on success
 *
 * Return: IW_OK, and ddp_region_put() is due; else why not.
 */
enum iw_reason ddp_region_use(struct ddp_stream *s, const struct ddp_sge *m,
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
 * ddp_hold_drop - nobody goes on with what was held: give back the use
 * @held: the region, or NULL
 *
 * Before anything that may revoke: it would wait for itself.
 */
void ddp_hold_drop(struct ddp_region **held)
{
	if (*held)
		ddp_region_put(*held);
	*held = NULL;
}

/**
 * ddp_hold_used - what was allowed has been copied
 * @held: the region
 */
void ddp_hold_used(struct ddp_region **held)
{
	/* a use there is a lock, which only a copy may have */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		ddp_hold_drop(held);
}

/**
 * ddp_hold_use - check a piece of memory, most likely of the region at hand
 * @s: the stream that wants it
 * @held: the region that the last piece was in, or NULL; in BH off since
 * @m: which memory
 * @rights: DDP_* it needs
 *
 * Return: IW_OK, and ddp_hold_used() is due; else why not, and nothing is held.
 */
enum iw_reason ddp_hold_use(struct ddp_stream *s, struct ddp_region **held,
			    const struct ddp_sge *m, u8 rights)
{
	enum iw_reason why;

	if (!*held || (*held)->stag != m->stag) {
		ddp_hold_drop(held);
		return ddp_region_use(s, m, rights, held);
	}
	/* whoever revokes it has cleared valid, and waits for us; litmus: hold */
	why = ddp_bounds_check(*held, s, m->stag, m->addr, m->len, rights);
	if (likely(!why))
		return why;
	ddp_hold_drop(held);
	/* its STag may be another's by now */
	return ddp_region_use(s, m, rights, held);
}

/**
 * ddp_mem_check - would an access be allowed right now?
 * @s: the stream
 * @stag: of the memory
 * @to: where
 * @len: how much
 * @rights: DDP_* it needs
 *
 * Return: IW_OK, or the DDP reason why not.
 */
enum iw_reason ddp_mem_check(struct ddp_stream *s, u32 stag, u64 to, u32 len,
			     u8 rights)
{
	const struct ddp_sge m = { .addr = to, .len = len, .stag = stag };
	struct ddp_region *r;
	enum iw_reason why;

	local_bh_disable();
	why = ddp_region_use(s, &m, rights, &r);
	if (!why)
		ddp_region_put(r);
	local_bh_enable();
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_check);

static enum iw_reason may_invalidate(const struct ddp_stream *s,
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
 * A use is held, as for a copy: whoever registers it anew, by another key or for another
 * stream, waits for its end.  So what is shut is what was looked at; litmus: invalidate
 */
static enum iw_reason shut_in_use(const struct ddp_stream *s, struct ddp_region *r,
				  u32 stag, bool remote)
{
	/* the other fields are of what is valid; litmus: publish */
	bool valid = smp_load_acquire(&r->valid);
	enum iw_reason why;

	if (remote && !valid)
		return IW_RDMAP_INVALIDATE;
	why = may_invalidate(s, r, stag, remote);
	if (why || !valid)
		return why;
	/* of several one is told that it was valid; litmus: invalidate */
	return xchg(&r->valid, false) || !remote ? IW_OK : IW_RDMAP_INVALIDATE;
}

/**
 * ddp_mem_invalidate - make an STag unusable
 * @s: the stream that asks
 * @stag: which
 * @remote: the peer asks, by Send with Invalidate (RFC 5040 5.3)
 *
 * A peer may invalidate only what was registered through its own stream, and
 * never an ordinary registration (N-4, N-5).  The owner may also invalidate what
 * is invalid already, as consumers do that begin with it.  Atomic.
 *
 * Return: IW_OK: it is quiet now.
 */
enum iw_reason ddp_mem_invalidate(struct ddp_stream *s, u32 stag, bool remote)
{
	enum iw_reason why = IW_RDMAP_INVALIDATE;
	struct ddp_region *r;

	rcu_read_lock();
	/* who revokes it here meanwhile would wait for us */
	local_bh_disable();
	r = ddp_region_find(s->stags, stag);
	if (r) {
		why = shut_in_use(s, r, stag, remote);
		ddp_region_put(r);
	}
	local_bh_enable();
	/* the others; it may go, but for its memory */
	if (!why)
		wait_unused(r);
	rcu_read_unlock();
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_invalidate);
