/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_CRED_H
#define _HOST_UNIT_CRED_H

#include <linux/user_namespace.h>

/* Credentials of the caller, set by the test */
struct cred {
	kuid_t			uid;
	struct user_namespace	*ns;
};

extern struct cred host_caller;

#define override_creds(c)	((const struct cred *)(c))
#define revert_creds(c)		((void)(c))
#define current_uid()		(host_caller.uid)
#define current_user_ns()	(host_caller.ns)

#endif
