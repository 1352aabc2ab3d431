/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The door to registered memory and its STags (RFC 5041 section 8). */
#ifndef _DDP_MEM_H
#define _DDP_MEM_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <ddp/lines.h>

struct ddp_stream;

#define DDP_LOCAL_WRITE		0x01
#define DDP_REMOTE_WRITE	0x02
#define DDP_REMOTE_READ		0x04
#define DDP_REMOTE_ATOMIC	0x08
#define DDP_REMOTE		(DDP_REMOTE_WRITE | DDP_REMOTE_READ | DDP_REMOTE_ATOMIC)
#define DDP_LOCAL_READ		0x10	/* every region has it */
/* No right: it is a receive's, whose protection domain may be another one */
#define DDP_RECEIVED		0x20

#define DDP_STAG_KEY_MASK	0xffu	/* low octet: the consumer's key */
#define DDP_STAG_DMA		0x100u	/* all kernel memory, local use only */

/**
 * struct ddp_run - octets of memory without blocks, which are there now
 * @at: where
 * @len: how many of them lie there together
 * @lock: held for reading: as long as it is they stay
 */
struct ddp_run {
	void		*at;
	u32		len;
	rwlock_t	*lock;
};

/**
 * struct ddp_wait - one of a stream's two runners waits for memory
 * @mem: whose octets, or NULL
 * @ops: @mem's; NULL: it never waited
 * @done: what goes on when it waits no more
 * @entry: for @mem's owner
 * @by: for @mem's owner
 * @at: where the octets begin, as @mem counts
 * @len: how many
 * @write: they are to be written
 * @denied: it has been told that they cannot be had
 * @waits: it does; set by the runner, cleared by ddp_wait_over()
 * @mute: what is missing is not asked for; the runner's
 */
struct ddp_wait {
	void				*mem;
	const struct ddp_mem_ops	*ops;
	void				(*done)(struct ddp_wait *w);
	struct list_head		entry;
	void				*by;
	u64				at;
	u32				len;
	bool				write;
	bool				denied;
	bool				waits;
	bool				mute;
};

/**
 * struct ddp_mem_ops - memory without blocks: it comes and goes
 * @run: are octets there at @at, to be read or written?  @run->len in: how many
 *	are wanted, out: how many there are.  True: @run->lock is held.
 * @bring: the octets that @w names are wanted; ddp_wait_over() comes, at once
 *	or later.
 * @forget: nobody waits by @w any more, and ddp_wait_over() comes no more.
 *
 * None sleeps.  @run and @bring: within a use of the region, BH off.
 */
struct ddp_mem_ops {
	bool (*run)(void *mem, u64 at, bool write, struct ddp_run *run);
	void (*bring)(void *mem, struct ddp_wait *w);
	void (*forget)(struct ddp_wait *w);
};

/**
 * struct ddp_stags - the STags of one device
 * @regions: struct ddp_region by STag index; read under RCU
 */
struct ddp_stags {
	struct rhashtable regions;
};

/**
 * struct ddp_region - memory that an STag names
 * @node: in the device's table
 * @index: of its STag (STag >> 8), as long as it has one
 * @base: first valid TO (an address of the consumer's choosing)
 * @length: octets from @base; the bounds are exact
 * @stag: index and key
 * @rights: DDP_*; 0 while revoked
 * @valid: false: allocated but not usable (before a fast registration, or
 *	after an invalidation)
 * @pd: the protection domain it belongs to
 * @stream: id of the only stream that may use it, or 0
 * @may_invalidate: work requests may invalidate it (fast registered memory,
 *	type 2 windows)
 * @scope: id of the only stream whose peer may invalidate it, or 0 (N-5)
 * @block: kernel addresses of the blocks that hold it, or NULL: it has none
 * @shift: log2 of the size of a block
 * @skip: where @base lies in the first block
 * @ops: without blocks: what knows where it is, or NULL: TO is a kernel address
 * @mem: for @ops
 * @from: where @base is, as @mem counts
 * @kind: what the ULP has embedded it in; its own business
 * @users: 1, plus one for each copy in flight and each hold; written by all CPUs that
 *	use it, which all read what is above
 * @in_use: where a copy in flight may be preempted (PREEMPT_RT): held for it
 *
 * Fields are fixed while the region is valid; they change only between
 * ddp_region_revoke() and ddp_region_allow().
 */
struct ddp_region {
	struct rhash_head	node;
	u32			index;
	u64			base;
	u64			length;
	u32			stag;
	u8			rights;
	bool			valid;
	void			*pd;
	u64			stream;
	bool			may_invalidate;
	u64			scope;
	void			**block;
	u8			shift;
	u32			skip;
	const struct ddp_mem_ops *ops;
	void			*mem;
	u64			from;
	u8			kind;

	refcount_t		users ____cacheline_aligned_in_smp;
	spinlock_t		in_use;		/* PREEMPT_RT's only */
};

#ifdef CONFIG_SMP
static_assert(DDP_LINE_OF(struct ddp_region, users) > DDP_LINE_OF(struct ddp_region, kind));
#endif

void ddp_stags_init(struct ddp_stags *t);
void ddp_stags_destroy(struct ddp_stags *t);

/*
 * ddp_region_publish() gives @r an STag with an unpredictable index and key
 * @key, findable from now on (usable only if @r->valid).  May sleep.
 * ddp_region_revoke() makes it invalid and returns once no copy into or out of
 * it is in flight: from then on the network cannot touch it (RFC 5041 8.3.1
 * (6)).  Any context; waits for the copy of a segment, a batch or a run, and for what
 * comes next to be gathered, at most.  Returns false if it was not valid.
 * ddp_region_allow() makes it valid (again) with a new key.
 * ddp_region_remove() revokes it and makes it unfindable; the memory may be
 * unpinned at once, @r itself is freed after an RCU grace period.
 */
int ddp_region_publish(struct ddp_stags *t, struct ddp_region *r, u8 key);
bool ddp_region_revoke(struct ddp_region *r);
void ddp_region_allow(struct ddp_region *r, u8 key);
void ddp_region_remove(struct ddp_stags *t, struct ddp_region *r);

/* What @w waits for is there, or cannot be had.  Any context that may not sleep */
void ddp_wait_over(struct ddp_wait *w, bool denied);

#endif
