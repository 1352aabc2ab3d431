/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_PERCPU_H
#define _HOST_UNIT_PERCPU_H

/* per-CPU variables of a machine with one CPU */
#define __percpu
#define DEFINE_PER_CPU(type, name)	type name
#define this_cpu_ptr(p)			(p)
#define this_cpu_read(v)		(v)
#define this_cpu_inc(v)			((void)(v)++)
#define this_cpu_add(v, n)		((void)((v) += (n)))
#define per_cpu(v, cpu)			(*((void)(cpu), &(v)))
#define per_cpu_ptr(p, cpu)		((void)(cpu), p)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)

#endif
