/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The kernel that the provider's tests play: what it is told to do, and did. */
#ifndef PLAYED_H
#define PLAYED_H

#include <stdio.h>

#include "../rnic_sw.h"

#define SLOTS		4
#define STRIDE		256
#define CQE_STRIDE	64		/* a later kernel's */
#define MAX_SGE		3
#define MAX_INLINE	48
#define RING		(RNIC_SW_RING_HDR + SLOTS * STRIDE)
#define AREA		0x10000		/* of the file, for each ring */

#define CHECK(x)							\
	do {								\
		if (!(x)) {						\
			fprintf(stderr, "%s:%d: %s\n", __func__,	\
				__LINE__, #x);				\
			failures++;					\
		}							\
	} while (0)

extern int failures;
extern unsigned int areas;	/* of the file, given away */
extern unsigned int kicks;	/* of either queue */
extern unsigned int ioctls;	/* in their place */
extern bool deaf;		/* no doorbell is heard */
extern unsigned int short_of_memory;	/* ... nor so many of the next */
extern void (*_Atomic in_bell)(void);	/* while the next one is on its way */
extern bool other_creds;	/* than those that opened the device */
extern int refuse_create;	/* errno of whatever makes something */
extern atomic_uint ended;	/* queues: what was made and is destroyed */
extern uint64_t cq_flags;	/* of the last one made */
extern uint32_t rate_asked;
extern uint32_t llp_asked;
extern uint32_t rq_offset;	/* where the kernel says that a receive queue is */

/* Where a ring is and how large, as the kernel answers; a queue pair has two */
struct played_ring {
	uint64_t	key;
	uint64_t	bytes;
	uint32_t	slots, stride;
	uint64_t	number;
	uint32_t	offset;
};

/* The page of those that may be packed, as the kernel answers */
extern struct played_page {
	uint64_t	key, number;
	uint32_t	bytes;
	uint32_t	used;
} page;

extern void (*spoil[2])(struct played_ring *r);
extern uint32_t qp_num;		/* that of the next queue pair */
extern uint32_t next_qp_num;	/* that of all after it */
extern atomic_uint destroyed;	/* queue pairs */
extern unsigned int asked;	/* to destroy a completion queue or domain */
extern int refusal;		/* errno of whatever destroys, or registers again */
extern void *(*acker)(void *);	/* a thread that the next destruction awaits, */
extern void *acked;		/* its argument, and then what it returned */
extern uint64_t made;		/* key of the ring that the last resize made */
extern bool bad_key;		/* one that cannot be mapped */
extern unsigned int switches;	/* asked for */
extern bool refuse_switch;
extern unsigned int resize_pages;	/* that the next ring has at least */
extern void (*resizing)(bool step2);	/* while a ring is made, while it is changed */
extern struct played_region {	/* the last one registered, and what was advised */
	void		*at;
	size_t		len;
	uint64_t	iova;
	int		access;
	int		fd;
	uint32_t	advice, flags, num_sge;
	struct ibv_sge	*sg;
} region;
extern bool refuse_buffer;	/* of another driver's */
extern int bad_advice;		/* what the kernel says to any */
extern struct rnic_sw_context own;

#endif
