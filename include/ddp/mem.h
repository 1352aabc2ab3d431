/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Interface to registered memory and its STags (RFC 5041 section 8).
 *
 * "MR" means any memory that an STag names: a memory region or a memory window.
 * A pinned MR has a table of blocks, which are contiguous ranges of kernel
 * addresses. An MR without blocks is kernel memory whose TOs are kernel
 * addresses, ODP memory, or a dma-buf. Pages of ODP memory and of a dma-buf may
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
#define DDP_LOCAL_READ		0x10	/* granted to every memory region, to no memory window */
/* Flag of an access, not a right: the memory is a receive buffer, so its PD must be recv_pd */
#define DDP_RECV_BUF		0x20

#define DDP_STAG_KEY_MASK	0xffu	/* key: low byte of an STag, chosen by the consumer */
#define DDP_STAG_DMA		0x100u	/* STag of all kernel memory; never valid for a peer */
/*
 * STag that no MR ever has. It is sent in a tagged message without payload if
 * the ULP has given no STag. The receiver must ignore the STag then (RFC 5041
 * 5.2), but some adapters refuse STag 0.
 */
#define DDP_STAG_NONE		1u

/**
 * struct ddp_extent - contiguous present memory of an MR without blocks
 * @at: kernel address of the first byte
 * @len: number of bytes
 * @lock: lock that keeps the pages present while it is held for reading; NULL
 *	if the pages cannot become absent
 */
struct ddp_extent {
	void		*at;
	u32		len;
	rwlock_t	*lock;
};

/**
 * struct ddp_fault - page-fault request of the receive or transmit path of a stream
 * @mem: ODP memory or dma-buf with the missing pages; NULL before the first
 *	request
 * @ops: operations of @mem; NULL before the first request
 * @done: function that ddp_fault_complete() calls to resume the path
 * @entry: list entry for the owner of @mem
 * @priv: private data of the owner of @mem
 * @at: first missing byte, as an address of @mem
 * @len: length of the missing range in bytes
 * @write: true if the path will write to the range, false if it will read
 * @fault_failed: true if the last request has failed: the pages cannot be
 *	faulted in
 * @pending: true while a request is pending; set by the path, cleared by
 *	ddp_fault_complete() or ddp_mem_ops.cancel
 * @suppressed: true if the path must not issue a request when a page is
 *	missing; set by the path
 *
 * The owner of @mem is the code that implements @ops. While @pending is set,
 * only the owner may access this structure; otherwise only the path may.
 * Exceptions: the path may read @pending and @fault_failed, and may access
 * @suppressed, at any time.
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
 * struct ddp_mem_ops - operations of an MR whose pages may be absent
 * @extent: find contiguous present memory from the address @at on. @write is
 *	true if it will be written. On entry @extent->len is the number of bytes
 *	wanted; on return it is the number of bytes found. Returns true with
 *	@extent->lock held for reading, or false if the first page is missing.
 * @fault_in: start to fault in the range that @w describes. The implementation
 *	must call ddp_fault_complete() when the range is present or cannot be
 *	faulted in; it may do so before it returns.
 * @cancel: cancel the request @w if it is pending. On return ddp_fault_complete()
 *	is not running for @w and will not be called for it.
 *
 * No operation may sleep. DDP calls @extent and @fault_in with an in-flight
 * reference to the MR and with BH off.
 */
struct ddp_mem_ops {
	bool (*extent)(void *mem, u64 at, bool write, struct ddp_extent *extent);
	void (*fault_in)(void *mem, struct ddp_fault *w);
	void (*cancel)(struct ddp_fault *w);
};

/**
 * struct ddp_stags - table of the STags of one device
 * @regions: hash table of struct ddp_region by STag index; looked up under RCU
 * @removals: number of MRs removed so far, see struct ddp_mr_hint
 */
struct ddp_stags {
	struct rhashtable	regions;
	atomic_long_t		removals;
};

/**
 * struct ddp_region - MR: memory that an STag names
 * @node: entry in the device's table
 * @index: STag index (STag >> 8); valid while the MR is in the table
 * @base: first valid TO, chosen by the consumer
 * @length: length in bytes; a peer can access no byte outside, even of the same
 *	page
 * @stag: STag: index and key
 * @rights: DDP_* access rights
 * @valid: true if the STag may be used. False before a fast registration or
 *	bind, and after an invalidation; the STag is then allocated, but every
 *	access through it fails.
 * @pd: protection domain
 * @stream: id of the only stream that may use the MR, or 0 if all streams of
 *	@pd may
 * @may_be_invalidated: true if a work request or the peer may invalidate the STag
 *	(fast-registered memory, type 2 windows)
 * @invalidate_stream: id of the only stream whose peer may invalidate the STag, or 0 if no
 *	peer may (RFC 5040 8.1.1 (7))
 * @block: table of the kernel address of each block, or NULL if the MR has no
 *	blocks
 * @shift: log2 of the block size
 * @skip: offset of @base in the first block, in bytes
 * @ops: operations that find and fault in the pages of an MR without blocks;
 *	NULL if the TOs are kernel addresses
 * @mem: argument of @ops: the ODP memory or dma-buf
 * @mem_base: address in @mem that corresponds to @base
 * @kind: type of the structure that embeds this one; private to the ULP
 * @users: reference count: 1, plus 1 for each in-flight reference, cached ones
 *	included. Every CPU that uses the MR writes this field, but only reads
 *	the fields above. So this field is in another cache line.
 * @access_lock: lock that each access in flight holds on PREEMPT_RT, where
 *	BH-disabled sections can be preempted
 *
 * While the MR is valid, the fields from @base to @kind are constant, except
 * for @valid. They change only between ddp_region_revoke() and
 * ddp_region_validate().
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
	bool			may_be_invalidated;
	u64			invalidate_stream;
	void			**block;
	u8			shift;
	u32			skip;
	const struct ddp_mem_ops *ops;
	void			*mem;
	u64			mem_base;
	u8			kind;

	refcount_t		users ____cacheline_aligned_in_smp;
	spinlock_t		access_lock;		/* used on PREEMPT_RT only */
};

#ifdef CONFIG_SMP
static_assert(DDP_CACHELINE_OF(struct ddp_region, users) >
	      DDP_CACHELINE_OF(struct ddp_region, kind));
#endif

void ddp_stags_init(struct ddp_stags *t);
void ddp_stags_destroy(struct ddp_stags *t);

/*
 * Register and revoke MRs:
 *
 * ddp_region_insert() assigns an STag with an unpredictable index and the key
 * @key to @r, and inserts @r into the table. May sleep.
 *
 * ddp_region_revoke() clears @r->valid and waits until no access is in flight.
 * On return the network can no longer access the memory (RFC 5041 8.3.1 (6)). A
 * receive or transmit path that is using @r delays the call for one segment or
 * batch at most, because it then finds the MR invalid. Process or softirq context.
 * Returns true if @r was valid, false if not.
 *
 * ddp_region_validate() validates @r with a new key.
 *
 * ddp_region_remove() revokes @r and removes it from the table. On return the
 * caller may unpin the memory, but must free @r only after an RCU grace period.
 */
int ddp_region_insert(struct ddp_stags *t, struct ddp_region *r, u8 key);
bool ddp_region_revoke(struct ddp_region *r);
void ddp_region_validate(struct ddp_region *r, u8 key);
void ddp_region_remove(struct ddp_stags *t, struct ddp_region *r);

/*
 * Complete the page-fault request @w, and resume the path that issued it. Any
 * context; does not sleep.
 */
void ddp_fault_complete(struct ddp_fault *w, bool fault_failed);

struct ddp_stream;

/*
 * Make the receive path wait for the ULP, as for a page fault; ddp_rx_cancel_wait() undoes
 * this. The ULP calls both functions in its admit upcall only.
 */
void ddp_rx_begin_wait(struct ddp_stream *s, const struct ddp_mem_ops *ops, void *owner);
void ddp_rx_cancel_wait(struct ddp_stream *s);

#endif
