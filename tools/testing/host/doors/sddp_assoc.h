/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A socket of the test's, and all that an association calls: see sddp_assoc_kunit.c */
#ifndef _HOST_DOORS_SDDP_ASSOC_H
#define _HOST_DOORS_SDDP_ASSOC_H

#include <net/net_namespace.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"

extern struct sddp_assoc_world {
	struct net		net;
	struct sddp_assoc	*a;
	bool			queued;		/* the worker is to run */
	enum sddp_fate		fate;
	int			more;		/* sddp_recv() says */
	bool			again;		/* there is more to send */
	u32			received;	/* how often it was asked to */
	u32			released, aborted;	/* the socket was */
	enum iw_reason		wrong;		/* with what SCTP has made */
	enum iw_reason		refused;	/* its listener is told so */
	bool			waits;		/* until it tries again: */
	unsigned long		due;
	bool			no_memory;	/* for what is to be sent, and nothing is */
	u32			sent;
	u32			acks;		/* looked for */
	u32			ended, left_way;
	bool			comes;		/* a session, the next time it takes what has arrived */
	bool			armed;		/* until it looks at its time: */
	unsigned long		look;
	bool			full;		/* of strangers */
	bool			holds;		/* SCTP: more than of a stranger */
	u32			rejoined, shrunk;
	bool			hasty;		/* the worker gets each mutex at once */
	int			left;		/* pieces of memory, after it had one */
} world;

#endif
