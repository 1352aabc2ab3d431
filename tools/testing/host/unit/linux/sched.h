/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SCHED_H
#define _HOST_UNIT_SCHED_H

#include <linux/types.h>
#include <sys/types.h>

/* The current task; defined by the test */
struct task_struct { pid_t tgid; u64 start_time; };
extern struct task_struct *current;

/* Number of calls of cond_resched() */
extern u32 host_rescheds;
#ifndef cond_resched
#define cond_resched()	((void)host_rescheds++)
#endif

#endif
