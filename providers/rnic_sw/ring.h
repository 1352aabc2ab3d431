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
 * @page: the shared mapping that holds the ring; NULL if the mapping is not
 *	shared
 * @bytes: size from the header to the end of the mapping
 * @slots: number of slots, a power of two
 * @stride: bytes from slot to slot
 * @prod: number of slots ever filled
 * @cons: number of slots ever emptied
 * @lock: protects prod, cons and the slots between them
 * @unlocked: do not take @lock; the program uses a thread domain
 * @doorbell_err: errno of the last doorbell, 0 if it succeeded
 * @refs: doorbells in progress, each counted with @lock held
 *
 * One of @prod and @cons belongs to this side. It may be ahead of the shared
 * index by what is not yet published. The other is a cached copy of the
 * kernel's index.
 */
struct rnic_sw_queue {
	struct rnic_sw_ring	*hdr;
	uint8_t			*slot0;
	struct rnic_sw_page	*page;
	size_t			bytes;		/* 0 if the ring follows another queue's */
	uint32_t		slots;
	uint32_t		stride;

	uint32_t		prod;
	uint32_t		cons;
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

/* Producer: check whether no slot is free; update cons if needed */
static inline bool ring_full(struct rnic_sw_queue *q)
{
	if (q->prod - q->cons < q->slots)
		return false;
	if (!q->hdr)
		return true;
	/* litmus: publish */
	q->cons = __atomic_load_n(&q->hdr->cons, __ATOMIC_ACQUIRE);
	return q->prod - q->cons >= q->slots;
}

/*
 * Producer: publish the slots up to prod. Return: true if the kernel waits for
 * a doorbell. The kernel sets NEED_WAKEUP and then reads prod again. With a
 * full barrier on both sides at least one of them sees what the other wrote.
 * litmus: publish, wakeup
 */
static inline bool ring_publish_prod(struct rnic_sw_queue *q)
{
	__atomic_store_n(&q->hdr->prod, q->prod, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&q->hdr->flags, __ATOMIC_RELAXED) &
	       RNIC_SW_RING_NEED_WAKEUP;
}

/* Consumer: read the kernel's index */
static inline void ring_read_prod(struct rnic_sw_queue *q)
{
	/* litmus: publish */
	q->prod = __atomic_load_n(&q->hdr->prod, __ATOMIC_ACQUIRE);
}

/* Consumer: check whether the ring is empty; update prod if needed */
static inline bool ring_empty(struct rnic_sw_queue *q)
{
	if (q->cons == q->prod)
		ring_read_prod(q);
	return q->cons == q->prod;
}

/* Consumer: return the slots up to cons to the kernel */
static inline void ring_publish_cons(struct rnic_sw_queue *q)
{
	/* litmus: publish */
	__atomic_store_n(&q->hdr->cons, q->cons, __ATOMIC_RELEASE);
}

/*
 * Consumer: request an event. Bits are only added, so a request for any
 * completion stays in force after a request for solicited ones. The barrier
 * orders this before the caller's next check of the queue. litmus: arm
 */
static inline void ring_arm(struct rnic_sw_queue *q, uint32_t bit)
{
	__atomic_fetch_or(&q->hdr->flags, bit, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
