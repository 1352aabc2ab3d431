/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_STDDEF_H
#define _HOST_LINUX_STDDEF_H

#include <stddef.h>

#define offsetofend(type, member)	(offsetof(type, member) + sizeof(((type *)0)->member))
#define sizeof_field(type, member)	sizeof(((type *)0)->member)

#endif
