/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A program's ring, RDMAP's runner and a completion queue: see rnic_sq_kunit.c */
#ifndef _HOST_DOORS_RNIC_SQ_H
#define _HOST_DOORS_RNIC_SQ_H

#include "../../../../drivers/rnic_sw/rnic.h"

#define SLOTS	512

extern struct rnic_sq_world {
	struct rnic_qp		qp;
	struct rnic_cq		cq;
	struct rnic_sw_ring	hdr;
	struct rnic_sw_sqe	slots[SLOTS];
	struct rnic_sq_note	notes[SLOTS];
	u32			completed;
	struct rnic_sw_cqe	last;		/* the last that was */
	u8			status[SLOTS];	/* of each that was */
	u32			failed;
	u32			held;		/* memory, when it did */
	u32			works;
	u32			early;		/* told before one that was posted first */
	u32			locked;		/* told under the queue's lock */
	u32			inside;		/* rnic_cq_push() */
	u32			twice;		/* so often there by two */
	bool			again;		/* others come while it is told */
	bool			full;		/* the completion queue is */
	bool			at_it;		/* who completes has gone on, at last */
	u32			sleeps;
	u64			now;
	u32			kicks;
	u32			pushes;
	struct hrtimer		*timer;
} world;

/* The queue has been in use: @used slots of it are done with */
void begin_at(u32 used);
void post(u32 n);
/* How many the runner can have, all of them sent */
u32 pull_all(void);

#endif
