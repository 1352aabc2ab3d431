/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Interface to registered memory and its STags (RFC 5041 section 8).
 *
 * "MR" means any memory that an STag names: a memory region or a memory window.
 * An MR is either pinned and has a list of blocks, or has none: then it is
 * kernel memory used by its address, ODP memory or a dma-buf, whose pages may
 * be absent.
 */
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
#define DDP_LOCAL_READ		0x10	/* every region has it, no window */
/* Flag, not a right: a receive's memory, checked against recv_pd */
#define DDP_RECEIVED		0x20

#define DDP_STAG_KEY_MASK	0xffu	/* low byte: the consumer's key */
#define DDP_STAG_DMA		0x100u	/* all kernel memory, local use only */
/*
 * Never valid: stands in messages without payload where no STag is given. The receiver
 * must ignore it (RFC 5041 5.2), but some adapters refuse a tagged message with STag 0.
 */
#define DDP_STAG_NONE		1u

/**
 * struct ddp_extent - extent of present pages of an MR without blocks
 * @at: kernel address of the first byte
 * @len: number of contiguous bytes
 * @lock: lock that keeps the pages present, held for reading; NULL if none is
 *	needed
 */
struct ddp_extent {
	void		*at;
	u32		len;
	rwlock_t	*lock;
};

/**
 * struct ddp_fault - page-fault request of one direction of a stream
 * @mem: ODP memory or dma-buf with the missing pages; NULL before the first
 *	request
 * @ops: operations of @mem; NULL before the first request
 * @done: called by ddp_fault_done(); resumes the receive or transmit path
 * @entry: list entry, used by @mem's owner
 * @priv: private to @mem's owner
 * @at: start of the missing range, an address of @mem
 * @len: length of the missing range in bytes
 * @write: the range is to be written
 * @fault_failed: the last request failed: the pages cannot be faulted in
 * @pending: the request is pending; set by the receive or transmit path, cleared
 *	by ddp_fault_done() or ddp_mem_ops.cancel
 * @suppressed: do not raise a page fault; set by the receive or transmit path
 *
 * While @pending is set the request belongs to @mem's owner. Otherwise it belongs
 * to the stream's receive or transmit path.
 */
struct ddp_fault {
	void				*mem;
	const struct ddp_mem_ops	*ops;
	void				(*done)(struct ddp_fault *w);
	struct list_head		entry;
	void				*priv;
	u64				at;
	u32				len;
	bool				write;
	bool				fault_failed;
	bool				pending;
	bool				suppressed;
};

/**
 * struct ddp_mem_ops - operations of an MR whose pages come and go
 * @extent: find the present pages at @at, for reading or writing. @extent->len is the
 *	number of bytes wanted on entry, and of contiguous bytes present on
 *	return. Returns true with @extent->lock held for reading, or false if the
 *	first page is missing.
 * @fault_in: fault in the range that @w describes. The owner calls
 *	ddp_fault_done(), at once or later.
 * @cancel: cancel the request @w. On return ddp_fault_done() is not running for
 *	it and will not be called.
 *
 * No operation sleeps. @extent and @fault_in are called with an in-flight reference
 * to the MR and BH off.
 */
struct ddp_mem_ops {
	bool (*extent)(void *mem, u64 at, bool write, struct ddp_extent *extent);
	void (*fault_in)(void *mem, struct ddp_fault *w);
	void (*cancel)(struct ddp_fault *w);
};

/**
 * struct ddp_stags - table of the STags of one device
 * @regions: struct ddp_region by STag index; read under RCU
 */
struct ddp_stags {
	struct rhashtable regions;
};

/**
 * struct ddp_region - MR: memory that an STag names
 * @node: entry in the device's table
 * @index: STag index (STag >> 8), valid while the MR is in the table
 * @base: first valid TO, an address of the consumer's choosing
 * @length: number of bytes from @base; the bounds are exact
 * @stag: index and key
 * @rights: DDP_* access rights
 * @valid: false if the STag is allocated but may not be used: before a fast
 *	registration or bind, or after an invalidation
 * @pd: protection domain
 * @stream: id of the only stream that may use the MR, or 0
 * @may_invalidate: the MR may be invalidated by a work request or by the peer
 *	(fast-registered memory, type 2 windows)
 * @scope: id of the only stream whose peer may invalidate the MR, or 0 (N-5)
 * @block: kernel addresses of the blocks, or NULL if the MR has none
 * @shift: log2 of the block size
 * @skip: offset of @base in the first block, in bytes
 * @ops: for an MR without blocks, operations that find its pages; NULL if a TO
 *	is a kernel address
 * @mem: argument for @ops
 * @from: address of @base in @mem
 * @kind: type of the structure that embeds this one; private to the ULP
 * @users: 1, plus one for each access in flight and each cached reference.
 *	Written by every CPU that uses the MR, so it has a cache line of its
 *	own, apart from the fields above, which are only read.
 * @access_lock: held for each access in flight on PREEMPT_RT, where a BH-off section
 *	can be preempted
 *
 * The fields are constant while the MR is valid. They change only between
 * ddp_region_revoke() and ddp_region_validate().
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
	spinlock_t		access_lock;		/* PREEMPT_RT only */
};

#ifdef CONFIG_SMP
static_assert(DDP_CACHELINE_OF(struct ddp_region, users) >
	      DDP_CACHELINE_OF(struct ddp_region, kind));
#endif

void ddp_stags_init(struct ddp_stags *t);
void ddp_stags_destroy(struct ddp_stags *t);

/*
 * ddp_region_insert() gives @r an STag with an unpredictable index and the key
 * @key, and inserts it into the table. The MR is usable only if @r->valid. May
 * sleep.
 *
 * ddp_region_revoke() clears @r->valid and waits for all accesses in flight: on
 * return the network cannot access the memory any more (RFC 5041 8.3.1 (6)). It
 * waits for one segment or batch at most, plus the lookup of the next one.
 * Process or softirq context. Returns true if @r was valid, false if not.
 *
 * ddp_region_validate() makes @r valid with a new key.
 *
 * ddp_region_remove() revokes @r and takes it out of the table. The memory may
 * be unpinned at once; @r itself must be freed after an RCU grace period.
 */
int ddp_region_insert(struct ddp_stags *t, struct ddp_region *r, u8 key);
bool ddp_region_revoke(struct ddp_region *r);
void ddp_region_validate(struct ddp_region *r, u8 key);
void ddp_region_remove(struct ddp_stags *t, struct ddp_region *r);

/* End the page-fault request @w; any context that may not sleep */
void ddp_fault_done(struct ddp_fault *w, bool fault_failed);

#endif
