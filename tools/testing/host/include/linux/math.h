/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_MATH_H
#define _HOST_LINUX_MATH_H

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define round_up(x, y)		((((x) - 1) | ((typeof(x))((y) - 1))) + 1)
#define round_down(x, y)	((x) & ~((typeof(x))((y) - 1)))
#define roundup(x, y)		((((x) + (y) - 1) / (y)) * (y))

#endif
