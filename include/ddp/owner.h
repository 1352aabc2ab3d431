/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Owners of sockets: the tasks on whose behalf lower layers create sockets. */
#ifndef _DDP_OWNER_H
#define _DDP_OWNER_H

#include <linux/cgroup-defs.h>
#include <linux/types.h>

struct cred;
struct net;

/**
 * struct ddp_sock_owner - the task on whose behalf a socket is created
 * @cred: credentials of the task, referenced; a firewall uses them to match
 *	rules for a user or group with the packets of the socket
 * @cgroups: control groups of the task, referenced; their network policies apply to
 *	the socket
 * @privileged: true if the task may bind to privileged ports (CAP_NET_BIND_SERVICE);
 *	always false for the owner of a listener and for an owner taken from a socket
 *
 * A worker has other credentials and control groups than the task for which it
 * creates a socket, so this structure saves those of the task.
 */
struct ddp_sock_owner {
	const struct cred		*cred;
	struct sock_cgroup_data		cgroups;
	bool				privileged;
};

void ddp_sock_owner_init(struct ddp_sock_owner *o, const struct net *net);
void ddp_sock_owner_copy(struct ddp_sock_owner *to, const struct ddp_sock_owner *from);
void ddp_sock_owner_exit(struct ddp_sock_owner *o);
bool ddp_sock_owner_equal(const struct ddp_sock_owner *a, const struct ddp_sock_owner *b);
u32 ddp_sock_owner_hash(const struct ddp_sock_owner *o);

#endif
