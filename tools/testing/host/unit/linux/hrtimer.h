/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_HRTIMER_H
#define _HOST_UNIT_HRTIMER_H

#include <linux/container_of.h>
#include <linux/ktime.h>
#include <linux/types.h>

enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };

struct hrtimer {
	enum hrtimer_restart	(*fn)(struct hrtimer *timer);
	bool			queued;
	u32			started;
	u64			after;
};

#define CLOCK_MONOTONIC			1
#define HRTIMER_MODE_REL_PINNED	1
#define ns_to_ktime(ns)			((u64)(ns))

extern unsigned int hrtimer_resolution;

/* Called when a timer is set up; defined by the test, which later fires the timer */
void host_setup_hrtimer(struct hrtimer *timer);

#define hrtimer_setup(t, f, clock, mode) \
	((t)->fn = (f), (void)(clock), (void)(mode), host_setup_hrtimer(t))
#define hrtimer_start(t, time, mode) \
	((t)->queued = true, (t)->started++, (t)->after = (time), (void)(mode))
#define hrtimer_cancel(t)		((void)((t)->queued = false))

#define hrtimer_forward_now(t, time)	((void)((t)->after = (time)))

static inline void host_hrtimer_fire(struct hrtimer *t)
{
	t->queued = false;
	if (t->fn(t) == HRTIMER_RESTART)
		t->queued = true;
}

#endif
