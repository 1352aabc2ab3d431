/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_USER_NAMESPACE_H
#define _HOST_UNIT_USER_NAMESPACE_H

#include <linux/uidgid.h>

struct user_namespace {
	struct user_namespace	*parent;
	kuid_t			owner;
	kuid_t			root;		/* kernel UID of the namespace's UID 0 */
};

#define make_kuid(ns, uid)	((void)(uid), (ns)->root)

#endif
