/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Test fixture: a program's ring, RDMAP and a CQ, see rnic_sq_kunit.c */
#ifndef _HOST_UNIT_RNIC_SQ_H
#define _HOST_UNIT_RNIC_SQ_H

#include "../../../../drivers/rnic_sw/comp_cntr.h"
#include "../../../../drivers/rnic_sw/rnic.h"

#define SLOTS	512

extern struct rnic_sq_stubs {
	struct rnic_qp		qp;
	struct rnic_cq		cq;
	struct rnic_sw_ring	hdr;
	struct rnic_sw_sqe	slots[SLOTS];
	struct rnic_swqe	swqes[SLOTS];
	u32			completed;	/* number of completions */
	struct rnic_sw_cqe	last;		/* last completion */
	u8			status[SLOTS];	/* status of each completion */
	u32			failed;		/* calls of rdmap_fail() */
	u32			mr_refs;		/* MR references cached at rdmap_fail() */
	u32			worker_runs;	/* number of times the worker was queued */
	u32			early;		/* completions out of order */
	u32			locked;		/* completions generated under the queue's lock */
	u32			in_push;		/* completions being written */
	u32			concurrent;		/* calls that overlapped another call */
	bool			also_elsewhere;		/* run the worker during a completion */
	bool			full;		/* the CQ is full */
	bool			ends_in_sleep;		/* other context ends in next sleep */
	u32			sleeps;		/* number of sleeps */
	u64			now;		/* current time, ns */
	u32			kicks;		/* calls of ddp_kick() */
	u32			flushes;	/* calls of rnic_qp_schedule_flush() */
	u32			pushes;		/* calls of ddp_push() */
	struct rnic_comp_cntr	*cntr;		/* counter of the queue pair, or NULL */
	u32			uncounted;	/* completions generated before they were counted */
	struct hrtimer		*timer;		/* timer of coalesced posts */
} stubs;

/* Open a send queue of which @used slots have been used and freed */
void open_sq_at_index(u32 used);
void post_requests(u32 n);
/* Return: the number of completions, with and without error, that stubs.cntr has counted */
u64 get_counted_completions(void);
/* Send all requests that can be sent. Return: the number of requests. */
u32 send_all_requests(void);

#endif
