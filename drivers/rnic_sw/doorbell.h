/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Interface to doorbell.c and sq_coalesce.c: doorbells of the send queues of programs */
#ifndef _RNIC_SW_DOORBELL_H
#define _RNIC_SW_DOORBELL_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <rdma/uverbs_ioctl.h>

#include "db_moderation.h"

struct rnic_qp;
struct rnic_uctx;

/**
 * struct rnic_doorbell - doorbell of a program's send queue
 * @file_id: number of the doorbell's file, unique among the files of @uctx; constant
 * @number: number of the doorbell in that file; 0 if it is in no file; constant
 * @qp: the queue pair
 * @uctx: context of the program
 * @users: number of calls that are ringing the doorbell; plus INT_MIN before
 *	rnic_doorbell_enable() and after rnic_doorbell_disable()
 * @unused: completed when the last of these calls has ended; see rnic_doorbell_disable()
 * @entry: entry in the file's list of idle doorbells, if no QP uses the doorbell
 * @rcu: frees the doorbell after an RCU grace period, because lookups by number take no lock
 * @timer: end of the coalescing period; armed, or its handler is running, while sq.coalescing
 *	is set
 * @db_mod: decides whether to coalesce; needs no lock
 * @period: the coalescing period; protected by the lock of the send queue
 */
struct rnic_doorbell {
	u64			file_id;
	u32			number;
	struct rnic_qp		*qp;
	struct rnic_uctx	*uctx;
	atomic_t		users;
	struct completion	unused;
	union {
		struct list_head	entry;
		struct rcu_head		rcu;
	};

	struct hrtimer		timer;
	struct db_mod		db_mod;
	struct db_period	period;
};

/* doorbell.c */
extern const struct uapi_definition rnic_doorbell_defs[];
int rnic_doorbell_create(struct rnic_qp *qp, struct rnic_uctx *uctx);
void rnic_doorbell_enable(struct rnic_qp *qp);
void rnic_doorbell_disable(struct rnic_qp *qp);
void rnic_doorbell_free(struct rnic_qp *qp);

/* sq_coalesce.c */
void rnic_sq_coalesce_init(struct rnic_doorbell *bell);
void rnic_sq_coalesce_stop(struct rnic_doorbell *bell);
void rnic_sq_transmit_or_coalesce(struct rnic_qp *qp);

#endif
