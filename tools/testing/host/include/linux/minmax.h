/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_MINMAX_H
#define _HOST_LINUX_MINMAX_H

/*
 * Check types as strictly as the oldest supported kernel does: arguments of
 * different types do not compile, because the macro compares pointers to them
 */
#define host_pick(x, y, op) ({				\
	__auto_type _x = (x);				\
	__auto_type _y = (y);				\
	(void)(&_x == &_y);				\
	_x op _y ? _x : _y; })

#define min(x, y)	host_pick(x, y, <)
#define max(x, y)	host_pick(x, y, >)
#define min3(x, y, z)	min(min(x, y), z)
#define max3(x, y, z)	max(max(x, y), z)
#define min_t(t, x, y)	min((t)(x), (t)(y))
#define max_t(t, x, y)	max((t)(x), (t)(y))
/*
 * Return the same result as the kernel's clamp_t(), even if the bounds are
 * swapped
 */
#define clamp_t(t, v, lo, hi) ({				\
	t _v = (v), _lo = (lo), _hi = (hi);			\
	_v >= _hi ? _hi : _v <= _lo ? _lo : _v; })
#define clamp(v, lo, hi) clamp_t(typeof(v), v, lo, hi)
#define swap(a, b) do {					\
	typeof(a) _t = (a);				\
	(a) = (b);					\
	(b) = _t;					\
} while (0)

#endif
