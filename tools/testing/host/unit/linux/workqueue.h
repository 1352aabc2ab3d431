/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_WORKQUEUE_H
#define _HOST_UNIT_WORKQUEUE_H

#include <linux/container_of.h>
#include <linux/jiffies.h>
#include <linux/types.h>

struct workqueue_struct;
struct work_struct;
typedef void (*work_func_t)(struct work_struct *w);
/* as long as in the kernel, because other structs depend on its length */
struct work_struct { work_func_t func; void *unused[3]; };
struct timer_list { unsigned long expires; };
struct delayed_work { struct work_struct work; struct timer_list timer; };

#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
#define INIT_WORK(w, f)		((w)->func = (f))
/* Work on the stack runs at once */
#define INIT_WORK_ONSTACK(w, f)	INIT_WORK(w, f)
#define schedule_work(w)	(w)->func(w)
#define flush_work(w)		((void)(w))
#define destroy_work_on_stack(w)	((void)(w))
#define INIT_DELAYED_WORK(d, f)	((d)->work.func = (f))

/*
 * The test defines these functions, and calls the functions of the work items
 * itself
 */
bool host_queue_work(struct work_struct *w);
#define queue_work(q, w)		((void)(q), host_queue_work(w))
void host_cancel_work(struct work_struct *w);
#define cancel_work_sync(w)		host_cancel_work(w)
bool host_queue_delayed(struct delayed_work *d, unsigned long ms);
#define queue_delayed_work(q, d, j)	((void)(q), host_queue_delayed(d, j))
void host_cancel_delayed(struct delayed_work *d);
#define cancel_delayed_work(d)		host_cancel_delayed(d)
#define cancel_delayed_work_sync(d)	host_cancel_delayed(d)
void host_flush_delayed(struct delayed_work *d);
#define flush_delayed_work(d)		host_flush_delayed(d)
bool host_mod_delayed(struct delayed_work *d, unsigned long ms);
#define mod_delayed_work(q, d, j)	((void)(q), host_mod_delayed(d, j))
bool host_is_work_pending(const struct delayed_work *d);
#define delayed_work_pending(d)		host_is_work_pending(d)
#define WQ_UNBOUND			1
#define WQ_MEM_RECLAIM			2
struct workqueue_struct *host_alloc_workqueue(void);
#define alloc_workqueue(name, flags, n)	host_alloc_workqueue()
#define destroy_workqueue(q)		((void)(q))
#define msecs_to_jiffies(ms)		(ms)
#define jiffies_to_msecs(j)		(j)

#endif
