/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Test fixture: a fake socket, and stubs of all that an association calls, see
 * sddp_assoc_kunit.c
 */
#ifndef _HOST_DOORS_SDDP_ASSOC_H
#define _HOST_DOORS_SDDP_ASSOC_H

#include <net/net_namespace.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"

extern struct sddp_assoc_stubs {
	struct net		net;
	struct ddp_sock_owner	owner;	/* task that connects */
	struct sddp_assoc	*a;
	bool			queued;		/* the worker is queued */
	enum sddp_sock_state		fate;
	int			more;		/* result of sddp_recv() */
	bool			again;		/* there is more to send */
	u32			received;	/* calls of sddp_recv() */
	u32			released, aborted;	/* releases of the socket, and aborts */
	enum iw_reason		wrong;		/* reason for which the association is unusable */
	enum iw_reason		refused;	/* reason reported to the listener */
	bool			waits;		/* the retry timer is running */
	unsigned long		due;
	bool			no_memory;	/* no memory to send; nothing is sent */
	u32			sent;
	u32			acks;		/* checks for acknowledgments */
	u32			ended, unhashed;
	bool			comes;		/* a session begins during the next receive */
	bool			armed;		/* the idle timer is running */
	unsigned long		idle_timeout;
	bool			sndbuf_full;		/* too many unaccepted associations */
	bool			holds;		/* SCTP holds too much data */
	u32			rejoined, shrunk;
	bool			locks_at_once;		/* the worker gets each mutex at once */
	int			left;		/* memory in use after that */
} stubs;

#endif
