/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SCHED_MM_H
#define _HOST_UNIT_SCHED_MM_H

#define memalloc_noio_save()		0u
#define memalloc_noio_restore(flags)	((void)(flags))

struct mem_cgroup;

/* Set the control group to charge, and return the previous one; defined by the test */
struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg);

#endif
