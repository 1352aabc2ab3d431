/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User-space side of a ring shared with the kernel. */
#ifndef RNIC_SW_RING_H
#define RNIC_SW_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rnic_sw-abi.h>

/**
 * struct rnic_sw_queue - user-space state of a shared ring
 * @hdr: the shared header; NULL if there is no ring (queue of depth 0)
 * @slot0: first slot
 * @page: the mapping, if several small rings share it; NULL otherwise, or if
 *	another queue owns the mapping
 * @bytes: size from the header to the end of the mapping, in bytes; 0 if
 *	another queue owns the mapping
 * @slots: number of slots, a power of two
 * @stride: size of a slot in bytes
 * @prod: number of slots ever filled, modulo 2^32
 * @cons: number of slots ever emptied, modulo 2^32
 * @rung: prod at the last doorbell of a send queue
 * @lock: protects prod, cons and the slots between them
 * @unlocked: true if @lock is not taken, because the program uses a thread
 *	domain
 * @doorbell_err: errno of the last doorbell; 0 if it succeeded
 * @refs: number of doorbells in progress; incremented with @lock held
 *
 * This side owns @prod if it is the producer (SQ, RQ, SRQ), or @cons if it is
 * the consumer (CQ). The owned index may be ahead of the shared index by slots
 * that are not yet published. The other index is a cached copy of the kernel's
 * index.
 */
struct rnic_sw_queue {
	struct rnic_sw_ring	*hdr;
	uint8_t			*slot0;
	struct rnic_sw_page	*page;
	size_t			bytes;
	uint32_t		slots;
	uint32_t		stride;

	uint32_t		prod;
	uint32_t		cons;
	uint32_t		rung;
	pthread_spinlock_t	lock;
	bool			unlocked;
	atomic_int		doorbell_err;
	atomic_uint		refs;
};

static inline void ring_lock(struct rnic_sw_queue *q)
{
	if (!q->unlocked)
		pthread_spin_lock(&q->lock);
}

static inline void ring_unlock(struct rnic_sw_queue *q)
{
	if (!q->unlocked)
		pthread_spin_unlock(&q->lock);
}

static inline void *ring_slot(const struct rnic_sw_queue *q, uint32_t idx)
{
	return q->slot0 + (size_t)(idx & (q->slots - 1)) * q->stride;
}

/*
 * Check, as producer, whether the ring is full; read the kernel's index if
 * needed
 */
static inline bool ring_is_full(struct rnic_sw_queue *q)
{
	if (q->prod - q->cons < q->slots)
		return false;
	if (!q->hdr)
		return true;
	/*
	 * read cons before reusing the slots before it; pairs with the release
	 * in the kernel's rnic_ring_set_cons(); litmus: publish
	 */
	q->cons = __atomic_load_n(&q->hdr->cons, __ATOMIC_ACQUIRE);
	return q->prod - q->cons >= q->slots;
}

/*
 * Publish, as producer, the slots up to prod. Return: true if the caller must
 * ring the doorbell, false if not.
 *
 * The release orders the slots before prod. The barrier orders the write of
 * prod before the read of flags. The kernel writes flags, then reads prod, with
 * a barrier between them as well. So either the kernel reads the new prod, or
 * this function reads NEED_WAKEUP. Without the barriers both could read old
 * values, and the kernel would not process the request. litmus: publish, wakeup
 */
static inline bool ring_publish_prod(struct rnic_sw_queue *q)
{
	__atomic_store_n(&q->hdr->prod, q->prod, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&q->hdr->flags, __ATOMIC_RELAXED) &
	       RNIC_SW_RING_NEED_WAKEUP;
}

/* Read, as consumer, the kernel's producer index */
static inline void ring_read_prod(struct rnic_sw_queue *q)
{
	/*
	 * read prod before the slots that precede it; pairs with the kernel's
	 * release of the CQ's prod; litmus: publish
	 */
	q->prod = __atomic_load_n(&q->hdr->prod, __ATOMIC_ACQUIRE);
}

/*
 * Check, as consumer, whether the ring is empty; read the kernel's index if
 * needed
 */
static inline bool ring_is_empty(struct rnic_sw_queue *q)
{
	if (q->cons == q->prod)
		ring_read_prod(q);
	return q->cons == q->prod;
}

/* Release, as consumer, the slots before cons to the kernel */
static inline void ring_publish_cons(struct rnic_sw_queue *q)
{
	/*
	 * read the slots before the kernel may reuse them; pairs with the
	 * kernel's acquire of the CQ's cons; litmus: publish
	 */
	__atomic_store_n(&q->hdr->cons, q->cons, __ATOMIC_RELEASE);
}

/*
 * Request, as consumer, an event for the next completion. @bit: RNIC_SW_ARM_*.
 * The function only sets bits, so a request for any completion stays in force
 * after a request for solicited completions. The barrier orders the request
 * before the caller's next check of the CQ. It pairs with the kernel's barrier
 * between writing a completion and reading flags. Without these barriers the
 * caller could miss a completion for which the kernel raises no event.
 * litmus: arm
 */
static inline void ring_arm(struct rnic_sw_queue *q, uint32_t bit)
{
	__atomic_fetch_or(&q->hdr->flags, bit, __ATOMIC_SEQ_CST);
#if defined(__x86_64__) || defined(__i386__)
	/* on x86 the atomic operation is a full barrier; this only stops the compiler */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#endif
