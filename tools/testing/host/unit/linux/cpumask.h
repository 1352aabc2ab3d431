/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_CPUMASK_H
#define _HOST_UNIT_CPUMASK_H

/* all CPU numbers count as possible CPUs */
#define cpu_possible_mask	0
#define cpumask_nth(n, mask)	((void)(mask), n)

/* A test may define this function, which returns the number of CPUs; 2 if it does not */
unsigned int host_count_cpus(void) __attribute__((weak));
#define num_online_cpus()	(host_count_cpus ? host_count_cpus() : 2u)

#endif
