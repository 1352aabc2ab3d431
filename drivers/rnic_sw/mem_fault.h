/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Interface to the page-fault workers of MRs whose memory is not pinned (ODP,
 * dma-buf).
 */
#ifndef _RNIC_SW_MEM_FAULT_H
#define _RNIC_SW_MEM_FAULT_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/workqueue.h>
#include <ddp/mem.h>

#include "counters.h"
#include "rnic.h"

#define RNIC_PF_WORKERS	4	/* maximum number of workers of one MR */

struct rnic_pf;

/**
 * struct rnic_pf_range - range of memory to be faulted in
 * @at: first byte, an address (ODP) or an offset in the buffer (dma-buf)
 * @end: first byte after the range
 * @write: true if the range is going to be written
 */
struct rnic_pf_range {
	u64	at;
	u64	end;
	bool	write;
};

/**
 * struct rnic_pf_ops - operations and parameters of a kind of memory that is
 * not pinned
 * @name: name of the kind in "rdma -dd resource"
 * @workers: number of workers for each MR, at most RNIC_PF_WORKERS
 * @faults: counter of page faults
 * @failed: counter of page faults that failed
 * @mem: operations that DDP calls; @mem.extent is specific to the kind, the
 *	others are rnic_pf_request() and rnic_pf_cancel()
 * @serve: fault in a range; may sleep. Return: 0, or a negative errno if the range
 *	cannot be faulted in
 * @post_fault: called by the worker after each successful page fault; may be
 *	NULL
 * @end: called by rnic_pf_end() when the MR has been destroyed and no new page
 *	fault can be raised; may be NULL
 * @release: free the memory object; called when its last reference is dropped
 */
struct rnic_pf_ops {
	const char		*name;
	unsigned int		workers;
	enum rnic_counter	faults;
	enum rnic_counter	failed;
	struct ddp_mem_ops	mem;
	int (*serve)(struct rnic_pf *b, const struct rnic_pf_range *want);
	void (*post_fault)(struct rnic_pf *b, const struct rnic_pf_range *want);
	void (*end)(struct rnic_pf *b);
	void (*release)(struct rnic_pf *b);
};

/* Page-fault worker; handles one page fault at a time */
struct rnic_pf_worker {
	struct work_struct	work;
	struct rnic_pf	*b;

	/* protected by faults_lock */
	bool			busy;
	/*
	 * request being served; NULL if there is none, or if it was cancelled
	 * or completed
	 */
	struct ddp_fault		*fault;
};

/**
 * struct rnic_pf - memory of an MR that is not pinned
 * @ref: reference count: one for the MR, one for each active worker, and those
 *	of other work items of the kind
 * @ops: kind of memory
 * @mm: address space of the process that registered the MR; mmgrab() reference
 * @owner: workqueues of the process that registered the MR
 * @start: first byte of the MR, an address (ODP) or an offset in the buffer
 *	(dma-buf)
 * @end: first byte after the MR
 * @read_only: true if the memory must not be written, whatever access is
 *	requested
 * @no_atomics: true if atomic operations on the memory are not possible
 * @dev: the device; must not be used once @dead is true
 * @dead: true once the MR has been destroyed; protected by faults_lock
 * @pending: page-fault requests that no worker has taken yet; protected by
 *	faults_lock
 * @worker: the workers; the first @ops->workers are used
 */
struct rnic_pf {
	struct kref			ref;
	const struct rnic_pf_ops	*ops;
	struct mm_struct		*mm;
	struct rnic_pf_owner		*owner;
	u64				start;
	u64				end;
	bool				read_only;
	bool				no_atomics;

	struct rnic_dev			*dev;
	bool				dead;
	struct list_head		pending;
	struct rnic_pf_worker		worker[RNIC_PF_WORKERS];
};

int rnic_pf_init(void);
void rnic_pf_exit(void);
int rnic_pf_setup(struct rnic_pf *b, const struct rnic_pf_ops *ops,
		  struct rnic_dev *dev, u64 start, u64 length);
void rnic_pf_set_region(struct ddp_region *r, struct rnic_pf *b);
void rnic_pf_end(struct rnic_pf *b);
void rnic_pf_put(struct rnic_pf *b);
void rnic_pf_teardown(struct rnic_pf *b);
void rnic_pf_count_event(struct rnic_pf *b, enum rnic_counter c);
struct workqueue_struct *rnic_pf_idle_wq(struct rnic_pf *b);
void rnic_pf_wait_released(struct rnic_pf *b, struct completion *done);

/* Entries of struct rnic_pf_ops.mem, common to all kinds */
void rnic_pf_request(void *mem, struct ddp_fault *w);
void rnic_pf_cancel(struct ddp_fault *w);

#endif
