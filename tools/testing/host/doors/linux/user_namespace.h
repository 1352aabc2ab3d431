/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_USER_NAMESPACE_H
#define _HOST_DOORS_USER_NAMESPACE_H

#include <linux/types.h>

typedef struct { u32 val; } kuid_t;
#define __kuid_val(uid)		((uid).val)

struct user_namespace {
	struct user_namespace	*parent;
	kuid_t			owner;
};

#endif
