/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory that is not pinned: it comes when it is wanted. */
#ifndef _RNIC_SW_BRING_H
#define _RNIC_SW_BRING_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/workqueue.h>
#include <ddp/mem.h>

#include "rnic.h"
#include "stats.h"

#define BRING_WORKERS	4	/* of one region, at most */

struct rnic_bring;

/**
 * struct rnic_wanted - what a worker is to bring
 * @at: the first octet
 * @end: behind the last one
 * @write: to be written
 */
struct rnic_wanted {
	u64	at;
	u64	end;
	bool	write;
};

/**
 * struct rnic_bring_ops - a kind of memory that comes when it is wanted
 * @name: as "rdma -dd resource" has it
 * @workers: of a region, at most BRING_WORKERS
 * @waits: counts who wanted it
 * @failed: counts what could not be had
 * @mem: what DDP asks; @run is the kind's, the others are rnic_bring_ask() and
 *	rnic_bring_forget()
 * @serve: has it come; sleeps.  Return: 0, or why it cannot be had
 * @served: whoever wanted it goes on; or NULL
 * @end: its region is gone, nobody can ask for it any more; or NULL
 * @release: frees it; nobody uses it any more, or works for it
 */
struct rnic_bring_ops {
	const char		*name;
	unsigned int		workers;
	enum rnic_counter	waits;
	enum rnic_counter	failed;
	struct ddp_mem_ops	mem;
	int (*serve)(struct rnic_bring *b, const struct rnic_wanted *want);
	void (*served)(struct rnic_bring *b, const struct rnic_wanted *want);
	void (*end)(struct rnic_bring *b);
	void (*release)(struct rnic_bring *b);
};

/* Brings memory for one stream at a time */
struct rnic_bringer {
	struct work_struct	work;
	struct rnic_bring	*b;

	/* the lock of those who wait */
	bool			busy;
	struct ddp_wait		*waits;	/* by whom it was asked, and who still wants it */
};

/**
 * struct rnic_bring - memory that a region names and nobody pins
 * @ref: the region's, each worker's that is at work, who else works for it
 * @ops: which kind
 * @mm: whose region it is; held, but not its memory
 * @owner: whose workers bring it
 * @start: where the region begins
 * @end: behind its last octet
 * @read_only: it may not be written, whatever rights are asked for
 * @no_atomics: nor changed by atomics
 * @dev: the device, unless @dead; from here on under the lock of those who wait
 * @dead: the region has gone
 * @pending: who waits, and no worker is at it
 * @worker: at most so many are at work
 */
struct rnic_bring {
	struct kref			ref;
	const struct rnic_bring_ops	*ops;
	struct mm_struct		*mm;
	struct rnic_bring_owner		*owner;
	u64				start;
	u64				end;
	bool				read_only;
	bool				no_atomics;

	struct rnic_dev			*dev;
	bool				dead;
	struct list_head		pending;
	struct rnic_bringer		worker[BRING_WORKERS];
};

int rnic_bring_init(void);
void rnic_bring_exit(void);
int rnic_bring_new(struct rnic_bring *b, const struct rnic_bring_ops *ops,
		   struct rnic_dev *dev, u64 start, u64 length);
void rnic_bring_name(struct ddp_region *r, struct rnic_bring *b);
void rnic_bring_end(struct rnic_bring *b);
void rnic_bring_put(struct rnic_bring *b);
void rnic_bring_free(struct rnic_bring *b);
void rnic_bring_count(struct rnic_bring *b, enum rnic_counter c);
struct workqueue_struct *rnic_bring_looks(struct rnic_bring *b);
void rnic_bring_await(struct rnic_bring *b, struct completion *done);

/* For the table of a kind */
void rnic_bring_ask(void *mem, struct ddp_wait *w);
void rnic_bring_forget(struct ddp_wait *w);

#endif
