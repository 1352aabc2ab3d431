/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_CONTAINER_OF_H
#define _HOST_LINUX_CONTAINER_OF_H

#include <stddef.h>

#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))

#endif
