/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_BUG_H
#define _HOST_LINUX_BUG_H

#include <stdio.h>
#include <stdlib.h>

/* Fail the running test if a pure file warns */
#define WARN_ON(cond) ({						\
	bool _c = !!(cond);						\
	if (_c) {							\
		fprintf(stderr, "WARN_ON(%s) at %s:%d\n", #cond,	\
			__FILE__, __LINE__);				\
		abort();						\
	}								\
	_c; })
#define WARN_ON_ONCE(cond)	WARN_ON(cond)
#define BUG_ON(cond)		WARN_ON(cond)

#endif
