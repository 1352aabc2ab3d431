/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The program's side of a ring that it shares with the kernel. */
#ifndef RNIC_SW_RING_H
#define RNIC_SW_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rnic_sw-abi.h>

/**
 * struct rnic_sw_queue - a ring as the program sees it
 * @hdr: the shared header; NULL if there is no ring (queue of depth 0)
 * @slot0: first slot
 * @page: the mapping, if it has others' rings, too
 * @bytes: from the header to the end of the mapping
 * @slots: a power of two
 * @stride: octets from slot to slot
 * @prod: slots ever filled
 * @cons: slots ever emptied
 * @lock: covers prod, cons and the slots between them
 * @unlocked: one thread only, says the program
 * @unheard: errno of the last doorbell, 0 if the kernel has heard it
 * @refs: of doorbells under way, each taken with the lock held
 *
 * One of @prod and @cons is our own and may be ahead of the shared one: what
 * is not published yet.  The other is the kernel's as last seen.
 */
struct rnic_sw_queue {
	struct rnic_sw_ring	*hdr;
	uint8_t			*slot0;
	struct rnic_sw_page	*page;
	size_t			bytes;		/* 0: behind another ring */
	uint32_t		slots;
	uint32_t		stride;

	uint32_t		prod;
	uint32_t		cons;
	pthread_spinlock_t	lock;
	bool			unlocked;
	atomic_int		unheard;
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

/* Producer: no slot is free, not even after a look at the kernel's index */
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
 * Producer: give the slots up to prod to the kernel.  True: it sleeps and
 * wants to be told.  The kernel sets the flag, then looks at prod once more;
 * with the barrier at least one of the two sees what the other wrote.
 * litmus: publish, wakeup
 */
static inline bool ring_publish_prod(struct rnic_sw_queue *q)
{
	__atomic_store_n(&q->hdr->prod, q->prod, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&q->hdr->flags, __ATOMIC_RELAXED) &
	       RNIC_SW_RING_NEED_WAKEUP;
}

/* Consumer: how far is the kernel? */
static inline void ring_look(struct rnic_sw_queue *q)
{
	/* litmus: publish */
	q->prod = __atomic_load_n(&q->hdr->prod, __ATOMIC_ACQUIRE);
}

/* Consumer: nothing to take, not even after a look at the kernel's index */
static inline bool ring_empty(struct rnic_sw_queue *q)
{
	if (q->cons == q->prod)
		ring_look(q);
	return q->cons == q->prod;
}

/* Consumer: give the slots up to cons back to the kernel */
static inline void ring_publish_cons(struct rnic_sw_queue *q)
{
	/* litmus: publish */
	__atomic_store_n(&q->hdr->cons, q->cons, __ATOMIC_RELEASE);
}

/*
 * Consumer: ask for an event.  Bits are only ever added: an arm for any
 * completion stands whatever is asked for after it.  The caller looks at the
 * queue after this, hence the barrier.  litmus: arm
 */
static inline void ring_arm(struct rnic_sw_queue *q, uint32_t bit)
{
	__atomic_fetch_or(&q->hdr->flags, bit, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
