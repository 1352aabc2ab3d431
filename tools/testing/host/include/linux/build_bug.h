/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_BUILD_BUG_H
#define _HOST_LINUX_BUILD_BUG_H

#undef static_assert
#define static_assert(expr, ...) \
	host_static_assert(expr, ##__VA_ARGS__, #expr)
#define host_static_assert(expr, msg, ...) _Static_assert(expr, msg)
#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)
#define BUILD_BUG_ON_MSG(cond, msg) _Static_assert(!(cond), msg)

#endif
