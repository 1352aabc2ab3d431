/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_COMPILER_H
#define _HOST_LINUX_COMPILER_H

#include <linux/stddef.h>
#include <stddef.h>

/* For the tests, no kernel option is set */
#define IS_ENABLED(option)	0

#define __used			__attribute__((__used__))
#define __rcu
#define __user
#define __force
#define __iomem
#define __init
#define __exit
#define __must_check	__attribute__((__warn_unused_result__))
/* sparse annotation of a function that releases a lock; without effect here */
#define __releases(x)
#define __maybe_unused	__attribute__((__unused__))
/* the tests fill these variables with a pattern, too */
#define __uninitialized
#define __printf(a, b)	__attribute__((__format__(printf, a, b)))
#define __aligned(x)	__attribute__((__aligned__(x)))
#define __packed	__attribute__((__packed__))
#define noinline	__attribute__((__noinline__))
#define fallthrough	__attribute__((__fallthrough__))

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define barrier()	__asm__ __volatile__("" ::: "memory")
#define READ_ONCE(x)	(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

#endif
