/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_ATOMIC_H
#define _HOST_UNIT_ATOMIC_H

#include <linux/compiler.h>
#include <linux/types.h>

#define smp_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
/* Called at each write barrier, so that a test can check the memory at that time; may be NULL */
extern void (*host_at_wmb)(void);
#define wmb()		smp_wmb()
#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_mb__after_atomic()		smp_mb()
#define smp_mb__before_atomic()		smp_mb()
#define smp_acquire__after_ctrl_dep()	smp_rmb()

/* a statement expression, because callers may ignore the value */
#define xchg(p, v)	({ __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); })
#define cmpxchg(p, old, new) ({						\
	typeof(*(p)) _old = (old);					\
	__atomic_compare_exchange_n(p, &_old, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	_old; })
#define try_cmpxchg(p, old, new)					\
	__atomic_compare_exchange_n(p, old, new, false,			\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define smp_wmb() ({							\
	__atomic_thread_fence(__ATOMIC_RELEASE);			\
	if (host_at_wmb)						\
		host_at_wmb(); })

#define test_bit(nr, p)		(READ_ONCE(*(p)) >> (nr) & 1)
#define set_bit(nr, p)		((void)__atomic_fetch_or(p, 1ul << (nr), \
							 __ATOMIC_SEQ_CST))
#define clear_bit(nr, p)	((void)__atomic_fetch_and(p, ~(1ul << (nr)), \
							  __ATOMIC_SEQ_CST))
#define test_and_set_bit(nr, p) ({					\
	bool was = __atomic_fetch_or(p, 1ul << (nr), __ATOMIC_SEQ_CST) >> (nr) & 1;	\
	was; })

typedef struct { int v; } atomic_t;
#define ATOMIC_INIT(n)		{ n }
#define atomic_inc(a)		\
	((void)__atomic_add_fetch(&(a)->v, 1, __ATOMIC_SEQ_CST))
#define atomic_dec(a)		\
	((void)__atomic_sub_fetch(&(a)->v, 1, __ATOMIC_SEQ_CST))
#define atomic_add_unless(a, n, unless)					\
	((a)->v != (unless) && (__atomic_add_fetch(&(a)->v, n, __ATOMIC_SEQ_CST), true))
#define atomic_dec_and_test(a)	\
	(!__atomic_sub_fetch(&(a)->v, 1, __ATOMIC_SEQ_CST))
#define atomic_read(a)		READ_ONCE((a)->v)
#define atomic_set(a, n)	((void)((a)->v = (n)))
#define atomic_read_acquire(a)	__atomic_load_n(&(a)->v, __ATOMIC_ACQUIRE)
#define atomic_fetch_or(bits, a)	\
	__atomic_fetch_or(&(a)->v, bits, __ATOMIC_SEQ_CST)
#define atomic_fetch_andnot_acquire(bits, a)	\
	__atomic_fetch_and(&(a)->v, ~(bits), __ATOMIC_ACQUIRE)
#define atomic_fetch_andnot_release(bits, a)	\
	__atomic_fetch_and(&(a)->v, ~(bits), __ATOMIC_RELEASE)
#define host_try_cmpxchg(a, old, new, order)				\
	__atomic_compare_exchange_n(&(a)->v, old, new, false, order,	\
				    __ATOMIC_RELAXED)
#define atomic_try_cmpxchg(a, old, new)		\
	host_try_cmpxchg(a, old, new, __ATOMIC_SEQ_CST)
#define atomic_try_cmpxchg_acquire(a, old, new)	\
	host_try_cmpxchg(a, old, new, __ATOMIC_ACQUIRE)
#define atomic_try_cmpxchg_release(a, old, new)	\
	host_try_cmpxchg(a, old, new, __ATOMIC_RELEASE)

#define ATOMIC_LONG_INIT(n)	{ n }
#define atomic_long_read(a)	READ_ONCE((a)->v)
#define atomic_long_read_acquire(a)	__atomic_load_n(&(a)->v, __ATOMIC_ACQUIRE)
#define atomic_long_set(a, n)	((void)((a)->v = (n)))
#define atomic_long_inc(a)	atomic_long_add(1, a)
#define atomic_long_add(n, a)	((void)__atomic_add_fetch(&(a)->v, n, __ATOMIC_SEQ_CST))
#define atomic_long_sub(n, a)	((void)__atomic_sub_fetch(&(a)->v, n, __ATOMIC_SEQ_CST))

typedef struct { s64 v; } atomic64_t;
#define ATOMIC64_INIT(n)	{ n }
#define atomic64_add(n, a)	((void)__atomic_add_fetch(&(a)->v, n, __ATOMIC_SEQ_CST))
#define atomic64_read_acquire(a)	__atomic_load_n(&(a)->v, __ATOMIC_ACQUIRE)
#define atomic64_set(a, n)	((void)((a)->v = (n)))
#define atomic64_inc_return(a)	__atomic_add_fetch(&(a)->v, 1, __ATOMIC_SEQ_CST)

#endif
