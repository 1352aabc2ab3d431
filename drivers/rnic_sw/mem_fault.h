/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Interface of mem_fault.c: MRs whose memory is not pinned (ODP, dma-buf), and the page-fault
 * workers of these MRs.
 */
#ifndef _RNIC_SW_MEM_FAULT_H
#define _RNIC_SW_MEM_FAULT_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/workqueue.h>
#include <ddp/mem.h>

#include "counters.h"
#include "rnic.h"

#define RNIC_FAULT_WORKERS	4	/* maximum number of workers of one MR */

struct rnic_unpinned;

/**
 * struct rnic_fault_range - range of memory to be faulted in
 * @at: first byte, an address (ODP) or an offset in the buffer (dma-buf)
 * @end: first byte after the range
 * @write: true if a copy will write to the range, false if a copy will only read it
 */
struct rnic_fault_range {
	u64	at;
	u64	end;
	bool	write;
};

/**
 * struct rnic_unpinned_ops - operations and parameters of a kind of memory: ODP or dma-buf
 * @name: name of the kind in "rdma -dd resource show"
 * @workers: number of page-fault workers of each MR, at most RNIC_FAULT_WORKERS
 * @faults: counter of page faults, including failed ones
 * @failed: counter of failed page faults
 * @mem: operations that DDP calls. @mem.extent is specific to the kind; @mem.fault_in and
 *	@mem.cancel are rnic_fault_queue_request() and rnic_fault_cancel_request() for all kinds.
 * @serve: fault in a range. Returns 0, or a negative errno if the range cannot be faulted in.
 *	May sleep.
 * @post_fault: called by the worker after each successful page fault, when the request is
 *	complete; may be NULL
 * @shutdown: called by rnic_unpinned_shutdown() when the MR has been destroyed and no stream
 *	can raise a page fault for it; may be NULL
 * @release: free the struct rnic_unpinned, whose last reference has been dropped
 */
struct rnic_unpinned_ops {
	const char		*name;
	unsigned int		workers;
	enum rnic_counter	faults;
	enum rnic_counter	failed;
	struct ddp_mem_ops	mem;
	int (*serve)(struct rnic_unpinned *b, const struct rnic_fault_range *want);
	void (*post_fault)(struct rnic_unpinned *b, const struct rnic_fault_range *want);
	void (*shutdown)(struct rnic_unpinned *b);
	void (*release)(struct rnic_unpinned *b);
};

/* Page-fault worker: serves page-fault requests of one MR, one after the other */
struct rnic_fault_worker {
	struct work_struct	work;
	struct rnic_unpinned	*b;

	/* protected by faults_lock */
	bool			busy;	/* @work is queued, or serves a request */
	/* request being served; NULL if none is, or if it was cancelled or completed meanwhile */
	struct ddp_fault	*fault;
};

/**
 * struct rnic_unpinned - memory of an MR, if the memory is not pinned
 * @ref: reference count: one for the MR, one for each busy worker, and those that the kind of
 *	memory takes, for example for idle checks
 * @ops: kind of memory
 * @mm: address space of the process that registered the MR, with an mmgrab() reference
 * @owner: that process, with its workqueues
 * @start: first byte of the MR, an address (ODP) or an offset in the buffer (dma-buf)
 * @end: first byte after the MR
 * @read_only: true if the memory cannot be written, so that no MR may grant write access
 * @no_atomics: true if atomic operations on the memory are not possible
 * @dev: the device; must not be used if @dead is true, because the device may have been freed
 * @dead: true after the MR has been destroyed; protected by faults_lock
 * @pending: page-fault requests that no worker serves yet; protected by faults_lock
 * @worker: the workers, of which only the first @ops->workers are used
 */
struct rnic_unpinned {
	struct kref			ref;
	const struct rnic_unpinned_ops	*ops;
	struct mm_struct		*mm;
	struct rnic_fault_owner		*owner;
	u64				start;
	u64				end;
	bool				read_only;
	bool				no_atomics;

	struct rnic_dev			*dev;
	bool				dead;
	struct list_head		pending;
	struct rnic_fault_worker		worker[RNIC_FAULT_WORKERS];
};

int rnic_fault_init(void);
void rnic_fault_exit(void);
int rnic_unpinned_init(struct rnic_unpinned *b, const struct rnic_unpinned_ops *ops,
		       struct rnic_dev *dev, u64 start, u64 length);
void rnic_unpinned_set_region_mem(struct ddp_region *r, struct rnic_unpinned *b);
void rnic_unpinned_shutdown(struct rnic_unpinned *b);
void rnic_unpinned_put(struct rnic_unpinned *b);
void rnic_unpinned_teardown(struct rnic_unpinned *b);
void rnic_unpinned_count_event(struct rnic_unpinned *b, enum rnic_counter c);
struct workqueue_struct *rnic_unpinned_get_idle_wq(struct rnic_unpinned *b);
void rnic_unpinned_wait_released(struct rnic_unpinned *b, struct completion *done);

/* Members fault_in and cancel of struct ddp_mem_ops, for ODP memory and for dma-buf memory */
void rnic_fault_queue_request(void *mem, struct ddp_fault *w);
void rnic_fault_cancel_request(struct ddp_fault *w);

#endif
